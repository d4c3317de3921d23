//! A device that is prepared while the host does something else.

use std::thread::JoinHandle;

use pogo_formats::system::threads;

use super::DeviceError;
use super::context::Gpu;

/// A device that is being started on a thread of its own; dropped, it has been.
///
/// The driver takes some tenths of a second to make its context, and more to compile a module that it has not seen yet.
#[derive(Debug, Default)]
pub struct Starting(Option<JoinHandle<Result<(), DeviceError>>>);

impl Starting {
    /// Starts device `ordinal`, and has the driver compile the modules that a run will ask for. Each physics names its own
    /// (`gpu_modules`).
    pub fn new(ordinal: u32, modules: Vec<&'static str>) -> Self {
        let start = move || {
            let gpu = Gpu::open(ordinal)?;
            // Dropped, a module is kept for the solver that asks for it.
            modules.iter().try_for_each(|name| gpu.module(name).map(drop))
        };
        // Where the system makes no thread, the device starts when it is opened.
        Self(threads::spawn("device", start).ok())
    }

    /// Nothing to start.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Waits until the device has been started.
    ///
    /// # Errors
    /// There is no such device, or it could not be started.
    pub fn wait(&mut self) -> Result<(), DeviceError> {
        // A panic there has been reported; opening the device will tell what is wrong.
        self.0.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }
}

impl Drop for Starting {
    /// The process must not end while the driver starts.
    fn drop(&mut self) {
        let _ = self.wait();
    }
}
