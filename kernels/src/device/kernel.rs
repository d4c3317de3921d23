//! Functions of a module, and how they are launched.

use std::ffi::{CString, c_void};

use super::context::{Gpu, Stream};
use super::driver::{self, function_attribute};
use super::ptx::Module;
use super::{DeviceError, check};

/// A function of a loaded module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    function: driver::Function,
    /// Threads of a thread block that it was compiled for.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Thread blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// Dynamic shared memory of a thread block, bytes.
    shared: u32,
}

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Kernel {}

/// Pointers to copies of values, as a launch takes them; they live until the end of the statement.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => {
        [$(std::ptr::from_mut(&mut { $value }).cast::<std::ffi::c_void>()),*]
    };
}
pub(crate) use arguments;

impl Kernel {
    /// A kernel whose thread blocks have as many threads as it was compiled for, and `shared` bytes of dynamic shared memory.
    pub fn new(gpu: &Gpu, module: &Module, name: &str, shared: u32) -> Result<Self, DeviceError> {
        let missing = |_| DeviceError::Failed { what: "find a kernel", reason: format!("`{name}` is no name") };
        let symbol = CString::new(name).map_err(missing)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: a loaded module, a string that ends.
        check("find a kernel", unsafe {
            driver::cuModuleGetFunction(&mut function, module.handle(), symbol.as_ptr())
        })?;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: plain query into a local.
            check("read a kernel's properties", unsafe {
                driver::cuFuncGetAttribute(&mut value, attribute, function)
            })?;
            Ok(value as u32)
        };
        let needed = shared + get(function_attribute::SHARED_SIZE_BYTES)?;
        if needed > gpu.shared_limit {
            return Err(DeviceError::Shared { name: gpu.name.clone(), needed, available: gpu.shared_limit });
        }
        let threads = get(function_attribute::MAX_THREADS_PER_BLOCK)?;
        let registers = get(function_attribute::NUM_REGS)?;
        let mut resident = 0;
        // SAFETY: plain calls on a valid function.
        unsafe {
            let which = function_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES;
            check("give a kernel its shared memory", driver::cuFuncSetAttribute(function, which, shared as i32))?;
            let (threads, shared) = (threads as i32, shared as usize);
            check(
                "ask for a kernel's occupancy",
                driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut resident, function, threads, shared),
            )?;
        }
        Ok(Self { function, threads, registers, resident: resident as u32, shared })
    }

    /// Starts `blocks` thread blocks.
    ///
    /// # Safety
    /// `arguments` point to what the kernel takes, and every address in them is good for what it does.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        blocks: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_grid(stream, [blocks, 1, 1], self.threads, arguments) }
    }

    /// Starts a grid of thread blocks of `threads`.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_grid(
        &self,
        stream: &Stream,
        [x, y, z]: [u32; 3],
        threads: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let (stream, arguments) = (stream.handle(), arguments.as_mut_ptr());
        let none = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        check("start a kernel", unsafe {
            driver::cuLaunchKernel(self.function, x, y, z, threads, 1, 1, self.shared, stream, arguments, none)
        })
    }

    /// Starts `blocks` thread blocks of `threads` that may wait for each other: all are resident at once, or none is started
    /// (a cooperative launch).
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_cooperative(
        &self,
        stream: &Stream,
        blocks: u32,
        threads: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let (stream, arguments) = (stream.handle(), arguments.as_mut_ptr());
        // SAFETY: the caller's promise.
        check("start a kernel", unsafe {
            driver::cuLaunchCooperativeKernel(
                self.function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                self.shared,
                stream,
                arguments,
            )
        })
    }

    /// As [`launch_cooperative`](Self::launch_cooperative), with as many thread blocks as the device holds at once, at most
    /// `most`.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_resident(
        &self,
        gpu: &Gpu,
        stream: &Stream,
        most: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let blocks = most.min(self.resident * gpu.multiprocessors);
        // SAFETY: the caller's promise.
        unsafe { self.launch_cooperative(stream, blocks, self.threads, arguments) }
    }
}
