//! CUDA's driver library, opened when it is first needed and only if it is there.
//!
//! Each function looks up its namesake in `libcuda.so.1` and passes the call on. So the same program starts on machines
//! without a driver, where every call says so, and is built on machines without CUDA. Names, types and numbers are those of
//! `cuda.h`, whose binary interface does not change.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// `CUresult`.
pub(crate) type Status = c_uint;
pub(crate) const SUCCESS: Status = 0;
pub(crate) const NO_DEVICE: Status = 100;
pub(crate) const PEER_ACCESS_ENABLED: Status = 704;
/// The driver cannot use an image of code: `CUDA_ERROR_INVALID_IMAGE`, `CUDA_ERROR_NO_BINARY_FOR_GPU`.
pub(crate) const UNKNOWN_CODE: [Status; 2] = [200, 209];
const NOT_SUPPORTED: Status = 801;

/// `CUdevice`.
pub(crate) type Device = c_int;
/// `CUdeviceptr`: an address in the device's memory.
pub(crate) type Address = u64;
/// `CUmemGenericAllocationHandle`: memory of a device that has no address yet.
pub(crate) type Memory = u64;

/// `CUmemLocation` of a device.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Location {
    kind: c_uint,
    device: Device,
}

impl Location {
    pub fn of(device: Device) -> Self {
        /// `CU_MEM_LOCATION_TYPE_DEVICE`.
        const DEVICE: c_uint = 1;
        Self { kind: DEVICE, device }
    }
}

/// `CUmemAllocationProp`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Properties {
    kind: c_uint,
    handle_types: c_uint,
    location: Location,
    windows: *mut c_void,
    flags: [u8; 8],
}

impl Properties {
    /// Memory that stays on a device, for this process alone.
    pub fn of(device: Device) -> Self {
        /// `CU_MEM_ALLOCATION_TYPE_PINNED`.
        const PINNED: c_uint = 1;
        let location = Location::of(device);
        Self { kind: PINNED, handle_types: 0, location, windows: std::ptr::null_mut(), flags: [0; 8] }
    }
}

/// `CUmemAccessDesc`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Access {
    location: Location,
    flags: c_uint,
}

impl Access {
    /// The device may read and write.
    pub fn of(device: Device) -> Self {
        /// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
        const READ_AND_WRITE: c_uint = 3;
        Self { location: Location::of(device), flags: READ_AND_WRITE }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) type $name = *mut c_void;
    )*};
}

handles! {
    /// `CUcontext`.
    Context;
    /// `CUmodule`.
    ModuleHandle;
    /// `CUfunction`.
    Function;
    /// `CUstream`; null is the default stream.
    StreamHandle;
    /// `CUevent`.
    EventHandle;
    /// `CUgraph`.
    GraphHandle;
    /// `CUgraphExec`.
    GraphExec;
}

/// `CUdevice_attribute`.
pub(crate) mod attribute {
    pub const MULTIPROCESSOR_COUNT: u32 = 16;
    pub const COMPUTE_CAPABILITY_MAJOR: u32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: u32 = 76;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: u32 = 97;
    pub const VIRTUAL_MEMORY_MANAGEMENT: u32 = 102;
}

/// `CUfunction_attribute`.
pub(crate) mod function_attribute {
    pub const MAX_THREADS_PER_BLOCK: u32 = 0;
    pub const SHARED_SIZE_BYTES: u32 = 1;
    pub const NUM_REGS: u32 = 4;
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: u32 = 8;
}

/// `CUipcMemHandle`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryHandle(pub [u8; 64]);

/// `CUDA_ERROR_NOT_READY`: a stream has work to do.
pub(crate) const NOT_READY: Status = 600;

/// `CUuuid`.
pub(crate) type Uuid = [u8; 16];
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
pub(crate) const IPC_PEER_ACCESS: c_uint = 1;

/// `CU_MEMHOSTALLOC_PORTABLE` and `CU_MEMHOSTALLOC_DEVICEMAP`: all devices read and write the memory at the host's address.
pub(crate) const HOST_MEMORY_OF_DEVICES: c_uint = 1 | 2;
/// `CU_STREAM_NON_BLOCKING`: the stream does not wait for the default stream.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEM_ALLOC_GRANULARITY_MINIMUM`.
pub(crate) const LEAST_GRANULARITY: c_uint = 0;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
pub(crate) const CAPTURE_THREAD_LOCAL: c_uint = 1;

fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let open = || {
        // SAFETY: the driver's library, by the name that NVIDIA gives it; its initialisers have no conditions.
        unsafe { Library::new("libcuda.so.1") }.ok()
    };
    LIBRARY.get_or_init(open).as_ref()
}

/// Whether the machine has a CUDA driver.
pub(crate) fn is_there() -> bool {
    library().is_some()
}

macro_rules! forward {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        /// The driver's function of this name.
        ///
        /// # Safety
        /// As NVIDIA's manual of the driver says.
        #[allow(clippy::too_many_arguments)]
        pub(crate) unsafe fn $name($($argument: $type),*) -> Status {
            type Driver = unsafe extern "C" fn($($type),*) -> Status;
            static FUNCTION: OnceLock<Option<Driver>> = OnceLock::new();
            let look_up = || {
                // SAFETY: the driver's function of this name has this type (cuda.h).
                unsafe { library()?.get::<Driver>(concat!(stringify!($name), "\0").as_bytes()) }
                    .ok()
                    .map(|symbol| *symbol)
            };
            match FUNCTION.get_or_init(look_up) {
                // SAFETY: the caller's promise to the driver.
                Some(function) => unsafe { function($($argument),*) },
                None if is_there() => NOT_SUPPORTED,
                None => NO_DEVICE,
            }
        }
    )*};
}

forward! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorString(error: Status, string: *mut *const c_char);
    fn cuDeviceGet(device: *mut Device, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: Device);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: Device);
    fn cuDevicePrimaryCtxRetain(context: *mut Context, device: Device);
    fn cuCtxSetCurrent(context: Context);
    fn cuCtxGetCurrent(context: *mut Context);
    fn cuCtxEnablePeerAccess(peer: Context, flags: c_uint);
    fn cuDeviceGetUuid(uuid: *mut Uuid, device: Device);
    fn cuMemGetAddressRange_v2(base: *mut Address, bytes: *mut usize, pointer: Address);
    fn cuIpcGetMemHandle(handle: *mut MemoryHandle, pointer: Address);
    fn cuIpcOpenMemHandle_v2(pointer: *mut Address, handle: MemoryHandle, flags: c_uint);
    fn cuIpcCloseMemHandle(pointer: Address);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(pointer: *mut Address, bytes: usize);
    fn cuMemFree_v2(pointer: Address);
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: *mut c_void);
    fn cuMemGetAllocationGranularity(bytes: *mut usize, properties: *const Properties, option: c_uint);
    fn cuMemAddressReserve(start: *mut Address, bytes: usize, alignment: usize, wish: Address, flags: u64);
    fn cuMemAddressFree(start: Address, bytes: usize);
    fn cuMemCreate(memory: *mut Memory, bytes: usize, properties: *const Properties, flags: u64);
    fn cuMemRelease(memory: Memory);
    fn cuMemMap(start: Address, bytes: usize, offset: usize, memory: Memory, flags: u64);
    fn cuMemUnmap(start: Address, bytes: usize);
    fn cuMemSetAccess(start: Address, bytes: usize, access: *const Access, n: usize);
    fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, bytes: usize, stream: StreamHandle);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, stream: StreamHandle);
    fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: StreamHandle);
    fn cuMemsetD8Async(to: Address, value: u8, bytes: usize, stream: StreamHandle);
    fn cuMemsetD8_v2(to: Address, value: u8, bytes: usize);
    fn cuModuleLoadData(module: *mut ModuleHandle, image: *const c_void);
    fn cuModuleGetGlobal_v2(pointer: *mut Address, bytes: *mut usize, module: ModuleHandle, name: *const c_char);
    fn cuModuleGetFunction(function: *mut Function, module: ModuleHandle, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Function);
    fn cuFuncSetAttribute(function: Function, attribute: c_uint, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: Function, threads: c_int, shared: usize);
    fn cuStreamCreateWithPriority(stream: *mut StreamHandle, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(stream: StreamHandle);
    fn cuStreamQuery(stream: StreamHandle);
    fn cuStreamSynchronize(stream: StreamHandle);
    fn cuStreamBeginCapture_v2(stream: StreamHandle, mode: c_uint);
    fn cuStreamEndCapture(stream: StreamHandle, graph: *mut GraphHandle);
    fn cuGraphInstantiateWithFlags(exec: *mut GraphExec, graph: GraphHandle, flags: u64);
    fn cuGraphLaunch(exec: GraphExec, stream: StreamHandle);
    fn cuGraphDestroy(graph: GraphHandle);
    fn cuGraphExecDestroy(exec: GraphExec);
    fn cuEventCreate(event: *mut EventHandle, flags: c_uint);
    fn cuEventDestroy_v2(event: EventHandle);
    fn cuStreamWaitEvent(stream: StreamHandle, event: EventHandle, flags: c_uint);
    fn cuEventRecord(event: EventHandle, stream: StreamHandle);
    fn cuEventSynchronize(event: EventHandle);
    fn cuLaunchKernel(
        function: Function, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: StreamHandle, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn cuLaunchCooperativeKernel(
        function: Function, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: StreamHandle, parameters: *mut *mut c_void,
    );
}
