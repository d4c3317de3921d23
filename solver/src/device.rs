//! CPU or device, as the command line says.

use std::thread::{self, JoinHandle};

use pogo_kernels::device::{DeviceError, device_name};

use crate::config::DeviceChoice;
use crate::observe::Observer;

/// An error that may come from the device.
pub(crate) trait MayBeDevice {
    /// What went wrong with the device, if that is it.
    fn device_error(&self) -> Option<&DeviceError>;
}

/// A device that is being started while the host does something else; dropped, it has been.
pub(crate) struct Starting(Option<JoinHandle<Result<(), DeviceError>>>);

/// Has the driver make its context, which takes it some tenths of a second, so that it is there when the device is opened.
pub(crate) fn start(choice: DeviceChoice) -> Starting {
    let ordinal = match choice {
        DeviceChoice::Cpu => return Starting(None),
        DeviceChoice::Auto => 0,
        DeviceChoice::Cuda(ordinal) => ordinal,
    };
    Starting(Some(thread::spawn(move || device_name(ordinal).map(drop))))
}

impl Starting {
    /// # Errors
    /// There is no such device, or it could not be started.
    pub(crate) fn wait(&mut self) -> Result<(), DeviceError> {
        // A panic there has been said; opening the device will tell what is wrong.
        self.0.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }
}

impl Drop for Starting {
    /// The process must not end while the driver starts.
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// What `cpu` or `gpu` (with its ordinal) make. `auto` takes the first device, and the CPU where there is none or where it
/// cannot be used, which is said unless there is just no driver or no device.
///
/// # Errors
/// Those of what was chosen.
pub(crate) fn on_chosen<T, E: MayBeDevice>(
    choice: DeviceChoice,
    observer: &mut dyn Observer,
    cpu: impl FnOnce(&mut dyn Observer) -> Result<T, E>,
    gpu: impl FnOnce(u32, &mut dyn Observer) -> Result<T, E>,
) -> Result<T, E> {
    match choice {
        DeviceChoice::Cpu => cpu(observer),
        DeviceChoice::Cuda(ordinal) => gpu(ordinal, observer),
        DeviceChoice::Auto => {
            let error = match gpu(0, observer) {
                Err(error) => error,
                made => return made,
            };
            match error.device_error() {
                None => return Err(error),
                // No driver and no device are no news; what is there and cannot be used is.
                Some(DeviceError::NoDriver | DeviceError::NoDevice { .. }) => {}
                Some(reason) => observer.note(&format!("warning: running on the CPU: {reason}")),
            }
            cpu(observer)
        }
    }
}
