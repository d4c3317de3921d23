//! A CUDA device: what can go wrong with it, its memory, modules, launches.

mod driver;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUdeviceptr, CUfunction, CUgraphExec, CUresult};

/// Why a device cannot be used, or cannot go on.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum DeviceError {
    /// No `libcuda.so.1`.
    #[error("there is no CUDA driver on this machine; use --device cpu")]
    NoDriver,
    /// A driver without devices, or with fewer than were asked for.
    #[error("there is no CUDA device {ordinal}: the driver has {found} (0 counts first); use --device cpu")]
    NoDevice {
        /// Asked for.
        ordinal: u32,
        /// How many there are.
        found: u32,
    },
    /// Too old.
    #[error("{name} has compute capability {major}.{minor}; 8.0 or later is needed: use --device cpu")]
    Old {
        /// Device.
        name: String,
        /// Capability.
        major: i32,
        /// Capability.
        minor: i32,
    },
    /// More memory than is free.
    #[error(
        "the run needs {:.2} GB of memory on {name}, where {:.2} GB are free: use {advice}",
        *needed as f64 / 1e9, *free as f64 / 1e9
    )]
    Memory {
        /// Device.
        name: String,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
        /// What to use instead.
        advice: &'static str,
    },
    /// A block that a multiprocessor cannot hold.
    #[error(
        "a block needs {needed} B of shared memory and a multiprocessor of {name} has {available}: block the model with \
         a smaller --block-nodes"
    )]
    Shared {
        /// Device.
        name: String,
        /// Bytes.
        needed: u32,
        /// Bytes.
        available: u32,
    },
    /// The block file was made without tables for devices.
    #[error("the blocks have no tables for devices; write the block file again, or use --device cpu")]
    NoTables,
    /// The driver reports an error.
    #[error("CUDA cannot {what}: {reason}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// The driver's words.
        reason: String,
    },
}

/// Waits for everything that a stream has been given.
pub(crate) fn synchronize(stream: &Stream) -> Result<(), DeviceError> {
    // SAFETY: a live stream.
    check("finish its work", unsafe { sys::cuStreamSynchronize(stream.as_inner()) })
}

/// Turns the driver's code into an error that says what was tried.
pub(crate) fn check(what: &'static str, code: CUresult) -> Result<(), DeviceError> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: the driver gives a pointer to a constant string.
    let reason = unsafe {
        if sys::cuGetErrorString(code, &mut text) == CUresult::CUDA_SUCCESS && !text.is_null() {
            std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned()
        } else {
            format!("error {}", code as u32)
        }
    };
    Err(DeviceError::Failed { what, reason })
}

fn failed(what: &'static str) -> impl Fn(CudaError) -> DeviceError {
    move |error| DeviceError::Failed { what, reason: error.to_string() }
}

/// A device with its context; cheap to make again, as the driver keeps one context a process.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub name: String,
    /// Bytes of shared memory that one thread block may have.
    pub shared_limit: u32,
    pub multiprocessors: u32,
    context: Context,
}

impl Gpu {
    /// Device `ordinal`, current on this thread.
    pub fn open(ordinal: u32) -> Result<Self, DeviceError> {
        if !driver::is_there() {
            return Err(DeviceError::NoDriver);
        }
        match cust::init(cust::CudaFlags::empty()) {
            Ok(()) => {}
            Err(CudaError::NoDevice) => return Err(DeviceError::NoDevice { ordinal, found: 0 }),
            Err(error) => return Err(failed("start")(error)),
        }
        let found = Device::num_devices().map_err(failed("count the devices"))?;
        if ordinal >= found {
            return Err(DeviceError::NoDevice { ordinal, found });
        }
        let device = Device::get_device(ordinal).map_err(failed("open the device"))?;
        let attribute = |attribute| device.get_attribute(attribute).map_err(failed("read the device's properties"));
        let name = device.name().map_err(failed("read the device's name"))?;
        let (major, minor) =
            (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
        if major < 8 {
            return Err(DeviceError::Old { name, major, minor });
        }
        let multiprocessors = attribute(DeviceAttribute::MultiprocessorCount)? as u32;
        let mut shared_limit = 0;
        // SAFETY: plain query into a local.
        check("read the device's properties", unsafe {
            sys::cuDeviceGetAttribute(
                &mut shared_limit,
                sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                device.as_raw(),
            )
        })?;
        let context = Context::new(device).map_err(failed("make a context"))?;
        keep_context(ordinal, device)?;
        Ok(Self { name, shared_limit: shared_limit as u32, multiprocessors, context })
    }

    /// Makes the device current on the calling thread.
    pub fn enter(&self) -> Result<(), DeviceError> {
        CurrentContext::set_current(&self.context).map_err(failed("enter the device's context"))
    }

    /// Bytes free.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: plain query into locals.
        check("ask for its memory", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    /// Loads PTX.
    pub fn module(&self, ptx: &str) -> Result<Module, DeviceError> {
        Module::from_ptx(ptx, &[]).map_err(failed("load the kernels"))
    }
}

/// Holds the device's context until the process ends: made anew for every case of a study, it costs more than a small case.
fn keep_context(ordinal: u32, device: Device) -> Result<(), DeviceError> {
    static KEPT: Mutex<Vec<(u32, Context)>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.iter().all(|&(kept, _)| kept != ordinal) {
        kept.push((ordinal, Context::new(device).map_err(failed("make a context"))?));
    }
    Ok(())
}

/// The name of a device that can be used.
///
/// # Errors
/// There is none of this number, or it is too old.
pub fn device_name(ordinal: u32) -> Result<String, DeviceError> {
    Gpu::open(ordinal).map(|gpu| gpu.name)
}

/// The name of the first device, if there is a driver and a device.
pub fn first_device() -> Option<String> {
    Gpu::open(0).ok().map(|gpu| gpu.name)
}

/// Numbers that may lie on a device as they lie here.
///
/// # Safety
/// Every bit pattern is valid, and there is no padding whose value matters.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: numbers.
unsafe impl Plain for u8 {}
// SAFETY: numbers.
unsafe impl Plain for u16 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for u64 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}

/// An array on the device.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    pointer: CUdeviceptr,
    len: usize,
    kind: PhantomData<T>,
}

// SAFETY: a device address; the driver's calls are thread-safe.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T: Plain> Buffer<T> {
    /// `len` numbers, all bits zero.
    pub fn zeros(len: usize) -> Result<Self, DeviceError> {
        let mut pointer = 0;
        let bytes = len.max(1) * size_of::<T>();
        // SAFETY: the pointer is kept for `drop`; the memory is as long as is cleared.
        unsafe {
            check("allocate memory", sys::cuMemAlloc_v2(&mut pointer, bytes))?;
            let buffer = Self { pointer, len, kind: PhantomData };
            check("clear memory", sys::cuMemsetD8_v2(pointer, 0, bytes))?;
            Ok(buffer)
        }
    }

    /// A copy of a slice, which may lie in a mapped file.
    pub fn of(values: &[T]) -> Result<Self, DeviceError> {
        let mut pointer = 0;
        // SAFETY: the pointer is kept for `drop`.
        check("allocate memory", unsafe { sys::cuMemAlloc_v2(&mut pointer, size_of_val(values).max(size_of::<T>())) })?;
        let mut buffer = Self { pointer, len: values.len(), kind: PhantomData };
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Makes room for at least `len` numbers; true if it is new, and what was there is lost.
    pub fn grow(&mut self, len: usize) -> Result<bool, DeviceError> {
        if self.len >= len {
            return Ok(false);
        }
        *self = Self::zeros(len.next_power_of_two())?;
        Ok(true)
    }

    /// Overwrites the first numbers.
    ///
    /// # Panics
    /// If there are more values than the buffer holds.
    pub fn write(&mut self, values: &[T]) -> Result<(), DeviceError> {
        assert!(values.len() <= self.len, "more values than the buffer holds");
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides are as long as is copied.
        check("copy to the device", unsafe {
            sys::cuMemcpyHtoD_v2(self.pointer, values.as_ptr().cast::<c_void>(), size_of_val(values))
        })
    }

    /// Copies the first numbers back.
    ///
    /// # Panics
    /// If more are asked for than the buffer holds.
    pub fn read(&self, values: &mut [T]) -> Result<(), DeviceError> {
        assert!(values.len() <= self.len, "more values than the buffer holds");
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: both sides are as long as is copied.
        check("copy from the device", unsafe {
            sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast::<c_void>(), self.pointer, size_of_val(values))
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes all numbers zero, in the order of the stream.
    pub fn clear(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        if self.len == 0 {
            return Ok(());
        }
        // SAFETY: as long as is written.
        check("clear memory", unsafe { sys::cuMemsetD8Async(self.pointer, 0, self.len * size_of::<T>(), stream) })
    }

    /// A part of the memory as numbers of their own, which are not to be used once this is gone.
    ///
    /// # Panics
    /// If it is not inside.
    pub fn part<U: Plain>(&self, first: usize, len: usize) -> ManuallyDrop<Buffer<U>> {
        assert!((first + len) * size_of::<U>() <= self.len * size_of::<T>(), "a part is not inside");
        let pointer = self.pointer + (first * size_of::<U>()) as u64;
        ManuallyDrop::new(Buffer { pointer, len, kind: PhantomData })
    }

    /// Address on the device.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by this type, freed once. A lost device has freed everything already.
        let _ = unsafe { sys::cuMemFree_v2(self.pointer) };
    }
}

/// A function of a loaded module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    function: CUfunction,
    pub threads: u32,
    pub registers: u32,
    pub resident: u32,
    shared: u32,
}

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Kernel {}

impl Kernel {
    /// A kernel whose thread blocks have as many threads as it was compiled for, and `shared` bytes of dynamic shared memory.
    pub fn new(gpu: &Gpu, module: &Module, name: &str, shared: u32) -> Result<Self, DeviceError> {
        let function = module.get_function(name).map_err(failed("find a kernel"))?.to_raw();
        use sys::CUfunction_attribute_enum as Attribute;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: plain query into a local.
            check("read a kernel's properties", unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) })?;
            Ok(value as u32)
        };
        let fixed = get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        if shared + fixed > gpu.shared_limit {
            return Err(DeviceError::Shared {
                name: gpu.name.clone(),
                needed: shared + fixed,
                available: gpu.shared_limit,
            });
        }
        let threads = get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let registers = get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        let mut resident = 0;
        // SAFETY: plain calls on a valid function.
        unsafe {
            check(
                "give a kernel its shared memory",
                sys::cuFuncSetAttribute(
                    function,
                    Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    shared as i32,
                ),
            )?;
            check(
                "ask for a kernel's occupancy",
                sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut resident,
                    function,
                    threads as i32,
                    shared as usize,
                ),
            )?;
        }
        Ok(Self { function, threads, registers, resident: resident as u32, shared })
    }

    /// As [`launch`](Self::launch), with as many thread blocks as the device holds at once, at most `most`, which may wait for
    /// each other.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch_together(
        &self,
        gpu: &Gpu,
        stream: sys::CUstream,
        most: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let blocks = most.min(self.resident * gpu.multiprocessors);
        // SAFETY: the caller's promise.
        check("start a kernel", unsafe {
            sys::cuLaunchCooperativeKernel(
                self.function,
                blocks,
                1,
                1,
                self.threads,
                1,
                1,
                self.shared,
                stream,
                arguments.as_mut_ptr(),
            )
        })
    }

    /// Starts `blocks` thread blocks.
    ///
    /// # Safety
    /// `arguments` point to what the kernel takes, and every address in them is good for what it does.
    pub unsafe fn launch(
        &self,
        stream: sys::CUstream,
        blocks: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        check("start a kernel", unsafe {
            sys::cuLaunchKernel(
                self.function,
                blocks,
                1,
                1,
                self.threads,
                1,
                1,
                self.shared,
                stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }
}

impl Kernel {
    /// Starts a grid of thread blocks of `threads`; where they wait for each other, all at once or not at all.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_grid(
        &self,
        stream: sys::CUstream,
        [x, y, z]: [u32; 3],
        threads: u32,
        wait_for_each_other: bool,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let (function, shared, arguments) = (self.function, self.shared, arguments.as_mut_ptr());
        // SAFETY: the caller's promise.
        check("start a kernel", unsafe {
            if wait_for_each_other {
                sys::cuLaunchCooperativeKernel(function, x, y, z, threads, 1, 1, shared, stream, arguments)
            } else {
                sys::cuLaunchKernel(function, x, y, z, threads, 1, 1, shared, stream, arguments, std::ptr::null_mut())
            }
        })
    }
}

/// Launches recorded once and replayed.
#[derive(Debug)]
pub(crate) struct Graph(CUgraphExec);

// SAFETY: a handle that the driver lets any one thread at a time use.
unsafe impl Send for Graph {}

/// A point in a stream that another one waits for.
#[derive(Debug)]
pub(crate) struct Event(sys::CUevent);

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Event {}

impl Event {
    pub fn new() -> Result<Self, DeviceError> {
        let mut event = std::ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: a context is current.
        check("make an event", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        Ok(Self(event))
    }

    /// What is started in `after` from here on waits for all that was started in `before`.
    pub fn order(&self, before: sys::CUstream, after: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: an event and streams of the current context.
        unsafe {
            check("record an event", sys::cuEventRecord(self.0, before))?;
            check("wait for an event", sys::cuStreamWaitEvent(after, self.0, 0))
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is not used again.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

impl Graph {
    /// Records what `launches` starts on the stream.
    pub fn record(
        stream: sys::CUstream,
        launches: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let mut graph = std::ptr::null_mut();
        let mut exec = std::ptr::null_mut();
        // SAFETY: capture begins and ends on the same stream; the graph is destroyed once it has been instantiated.
        unsafe {
            let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            check("record launches", sys::cuStreamBeginCapture_v2(stream, mode))?;
            let launched = launches();
            let ended = check("record launches", sys::cuStreamEndCapture(stream, &mut graph));
            launched?;
            ended?;
            let made = check("prepare launches", sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            let _ = sys::cuGraphDestroy(graph);
            made?;
        }
        Ok(Self(exec))
    }

    /// Replays the launches.
    pub fn launch(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: an instantiated graph.
        check("replay launches", unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `record`, destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// Bytes a second, read and written, of the fastest of a few large copies inside the device.
///
/// # Errors
/// No device, or too little memory on it.
pub fn copy_bandwidth() -> Result<f64, DeviceError> {
    const BYTES: usize = 1 << 30;
    let _gpu = Gpu::open(0)?;
    let (from, to) = (Buffer::<u32>::zeros(BYTES / 4)?, Buffer::<u32>::zeros(BYTES / 4)?);
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = std::time::Instant::now();
        for _ in 0..20 {
            // SAFETY: both arrays are as long as is copied; the null stream is always there.
            check("copy on the device", unsafe {
                sys::cuMemcpyDtoDAsync_v2(to.pointer(), from.pointer(), BYTES, std::ptr::null_mut())
            })?;
        }
        // SAFETY: the null stream is always there.
        check("copy on the device", unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) })?;
        best = best.min(start.elapsed().as_secs_f64() / 20.0);
    }
    Ok(2.0 * BYTES as f64 / best)
}
