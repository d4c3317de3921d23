//! One device with its context; streams, events and recorded launches.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use super::driver::{self, attribute};
use super::ptx::{DRIVER, Module};
use super::{DeviceError, check};

/// A device. Opening it again is cheap: its context is kept until the process ends, because a context made anew for every
/// case of a study costs more than a small case.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub name: String,
    /// Number of the device, from 0.
    pub ordinal: u32,
    /// Bytes of shared memory that one thread block may have.
    pub shared_limit: u32,
    pub multiprocessors: u32,
    /// Compute capability: the numbers before and after the dot.
    pub capability: (i32, i32),
    /// Whether the driver can map memory of several devices into one range of addresses.
    pub maps_memory: bool,
    context: driver::Context,
}

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Device `ordinal`, current on this thread.
    ///
    /// # Errors
    /// No driver, no device of this number, or either is too old.
    pub fn open(ordinal: u32) -> Result<Self, DeviceError> {
        let device = find_device(ordinal)?;
        let read = |which: u32| {
            let mut value = 0;
            // SAFETY: plain query into a local.
            check("read the device's properties", unsafe { driver::cuDeviceGetAttribute(&mut value, which, device) })?;
            Ok(value)
        };
        let mut name = [0 as c_char; 256];
        // SAFETY: the driver writes a string that ends within these bytes.
        let name = unsafe {
            check("read the device's name", driver::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        let (major, minor) = (read(attribute::COMPUTE_CAPABILITY_MAJOR)?, read(attribute::COMPUTE_CAPABILITY_MINOR)?);
        if major < 8 {
            return Err(DeviceError::Old { name, major, minor });
        }
        let gpu = Self {
            name,
            ordinal,
            shared_limit: read(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
            multiprocessors: read(attribute::MULTIPROCESSOR_COUNT)? as u32,
            capability: (major, minor),
            maps_memory: read(attribute::VIRTUAL_MEMORY_MANAGEMENT)? != 0,
            context: kept_context(ordinal, device)?,
        };
        gpu.enter()?;
        Ok(gpu)
    }

    /// Makes the device current on the calling thread.
    pub fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: a context that is kept until the process ends.
        check("enter the device's context", unsafe { driver::cuCtxSetCurrent(self.context) })
    }

    /// Lets kernels of this device read and write the memory of another. This device is current on the thread afterwards.
    ///
    /// # Errors
    /// There is no connection between the devices.
    pub fn reach(&self, other: u32) -> Result<(), DeviceError> {
        let peer = kept_context(other, find_device(other)?)?;
        self.enter()?;
        // SAFETY: contexts that are kept until the process ends.
        match unsafe { driver::cuCtxEnablePeerAccess(peer, 0) } {
            driver::PEER_ACCESS_ENABLED => Ok(()),
            status => check("reach the memory of another device", status),
        }
    }

    /// See [`identity`].
    pub fn uuid(&self) -> Result<driver::Uuid, DeviceError> {
        identity(self.ordinal)
    }

    /// Bytes that are free.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: plain query into locals.
        check("ask for its memory", unsafe { driver::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    /// Checks that so many bytes are free; `advice` says what to use instead.
    pub fn require(&self, needed: u64, advice: &'static str) -> Result<(), DeviceError> {
        let free = self.free_memory()?;
        if needed > free {
            return Err(DeviceError::Memory { name: self.name.clone(), needed, free, advice });
        }
        Ok(())
    }

    /// A compiled module of kernels, by its name in `kernels/ptx/modules.txt`.
    pub fn module(&self, name: &str) -> Result<Module, DeviceError> {
        Module::load(self, name)
    }
}

/// The driver's device of a number, if the driver is new enough.
pub(super) fn find_device(ordinal: u32) -> Result<driver::Device, DeviceError> {
    let (found, mut device) = (n_devices()?, 0);
    if ordinal >= found {
        return Err(DeviceError::NoDevice { ordinal, found });
    }
    // SAFETY: plain query into a local.
    check("open the device", unsafe { driver::cuDeviceGet(&mut device, ordinal as c_int) })?;
    Ok(device)
}

/// What tells a device from all others, whatever numbers processes give them.
///
/// # Errors
/// No driver, one that is too old, or no device of this number.
pub fn identity(ordinal: u32) -> Result<[u8; 16], DeviceError> {
    let mut uuid = [0; 16];
    // SAFETY: plain query into a local.
    check("ask for the device's identity", unsafe { driver::cuDeviceGetUuid(&mut uuid, find_device(ordinal)?) })?;
    Ok(uuid)
}

/// Bytes that are free on a device.
///
/// # Errors
/// No driver, no device of this number, or either is too old.
pub fn free_memory(ordinal: u32) -> Result<u64, DeviceError> {
    let gpu = Gpu::open(ordinal)?;
    gpu.enter()?;
    gpu.free_memory()
}

/// Number of devices, some of which may be too old.
///
/// # Errors
/// No driver, or one that is too old.
pub fn n_devices() -> Result<u32, DeviceError> {
    if !driver::is_there() {
        return Err(DeviceError::NoDriver);
    }
    let (mut version, mut found) = (0, 0);
    // SAFETY: plain queries into locals.
    unsafe {
        check("tell its version", driver::cuDriverGetVersion(&mut version))?;
        if (version as u32) < DRIVER.cuda {
            return Err(DeviceError::OldDriver { found: version as u32 });
        }
        match driver::cuInit(0) {
            driver::NO_DEVICE => return Ok(0),
            status => check("start", status)?,
        }
        check("count the devices", driver::cuDeviceGetCount(&mut found))?;
    }
    Ok(found as u32)
}

/// The device's primary context.
fn kept_context(ordinal: u32, device: driver::Device) -> Result<driver::Context, DeviceError> {
    struct Kept(u32, driver::Context);
    // SAFETY: a handle that the driver lets any thread use.
    unsafe impl Send for Kept {}
    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Kept(_, context)) = kept.iter().find(|kept| kept.0 == ordinal) {
        return Ok(*context);
    }
    let mut context = std::ptr::null_mut();
    // SAFETY: never released, so that it stays valid.
    check("make a context", unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, device) })?;
    kept.push(Kept(ordinal, context));
    Ok(context)
}

/// Launches and copies in a stream run one after the other.
#[derive(Debug)]
pub(crate) struct Stream(driver::StreamHandle);

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of the current context that does not wait for the default stream.
    pub fn new() -> Result<Self, DeviceError> {
        Self::with_priority(0)
    }

    /// The lowest number is the highest priority; the driver takes the nearest that it has.
    pub fn with_priority(priority: i32) -> Result<Self, DeviceError> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: a context is current; the stream is destroyed once, in `drop`.
        check("make a stream", unsafe {
            driver::cuStreamCreateWithPriority(&mut stream, driver::STREAM_NON_BLOCKING, priority)
        })?;
        Ok(Self(stream))
    }

    pub fn handle(&self) -> driver::StreamHandle {
        self.0
    }

    /// Waits for everything that the stream has been given.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: a live stream.
        check("finish its work", unsafe { driver::cuStreamSynchronize(self.0) })
    }

    /// Whether everything that the stream has been given is done.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        // SAFETY: a live stream.
        match unsafe { driver::cuStreamQuery(self.0) } {
            driver::NOT_READY => Ok(false),
            status => check("finish its work", status).map(|()| true),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is not used again.
        let _ = unsafe { driver::cuStreamDestroy_v2(self.0) };
    }
}

/// A point in one stream that another one waits for.
#[derive(Debug)]
pub(crate) struct Event(driver::EventHandle);

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Event {}

impl Event {
    pub fn new() -> Result<Self, DeviceError> {
        let mut event = std::ptr::null_mut();
        // SAFETY: a context is current.
        check("make an event", unsafe { driver::cuEventCreate(&mut event, driver::EVENT_DISABLE_TIMING) })?;
        Ok(Self(event))
    }

    /// What is started in `after` from here on waits for all that was started in `before`.
    pub fn order(&self, before: &Stream, after: &Stream) -> Result<(), DeviceError> {
        self.record(before)?;
        self.precede(after)
    }

    /// Stands for all that was started in a stream of the current context.
    pub fn record(&self, before: &Stream) -> Result<(), DeviceError> {
        // SAFETY: an event and a stream of the current context.
        check("record an event", unsafe { driver::cuEventRecord(self.0, before.0) })
    }

    /// Waits for what was recorded last.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: a live event.
        check("finish its work", unsafe { driver::cuEventSynchronize(self.0) })
    }

    /// What is started in `after` from here on waits for what was recorded last. The stream is of the current context; the
    /// event may be of another.
    pub fn precede(&self, after: &Stream) -> Result<(), DeviceError> {
        // SAFETY: a live event, and a stream of the current context.
        check("wait for an event", unsafe { driver::cuStreamWaitEvent(after.0, self.0, 0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is not used again.
        let _ = unsafe { driver::cuEventDestroy_v2(self.0) };
    }
}

/// Launches that were recorded once and are replayed.
#[derive(Debug)]
pub(crate) struct Graph(driver::GraphExec);

// SAFETY: a handle that the driver lets any one thread at a time use.
unsafe impl Send for Graph {}

impl Graph {
    /// Records what `launches` starts on the stream.
    pub fn record(stream: &Stream, launches: impl FnOnce() -> Result<(), DeviceError>) -> Result<Self, DeviceError> {
        let mut graph = std::ptr::null_mut();
        let mut exec = std::ptr::null_mut();
        // SAFETY: capture begins and ends on the same stream; the graph is destroyed once it has been instantiated.
        unsafe {
            check("record launches", driver::cuStreamBeginCapture_v2(stream.0, driver::CAPTURE_THREAD_LOCAL))?;
            let launched = launches();
            let ended = check("record launches", driver::cuStreamEndCapture(stream.0, &mut graph));
            launched?;
            ended?;
            let made = check("prepare launches", driver::cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            let _ = driver::cuGraphDestroy(graph);
            made?;
        }
        Ok(Self(exec))
    }

    /// Replays the launches.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        // SAFETY: an instantiated graph.
        check("replay launches", unsafe { driver::cuGraphLaunch(self.0, stream.0) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `record`, destroyed once.
        let _ = unsafe { driver::cuGraphExecDestroy(self.0) };
    }
}
