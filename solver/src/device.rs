//! CPU or device, as the command line says.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pogo_kernels::device::{DeviceError, device_name};

use crate::config::DeviceChoice;
use crate::observe::Observer;

/// An error that may come from the device.
pub(crate) trait MayBeDevice: From<DeviceError> {
    /// What went wrong with the device, if that is it.
    fn device_error(&self) -> Option<&DeviceError>;
}

impl MayBeDevice for DeviceError {
    fn device_error(&self) -> Option<&DeviceError> {
        Some(self)
    }
}

/// The device of the command line. It is started while the host does something else; dropped, it has been started.
pub(crate) struct Device {
    choice: DeviceChoice,
    starting: Mutex<Option<JoinHandle<Result<(), DeviceError>>>>,
}

impl Device {
    /// Has the driver make its context, which takes it some tenths of a second, so that it is there when the device is
    /// opened.
    pub fn start(choice: DeviceChoice) -> Self {
        let ordinal = match choice {
            DeviceChoice::Cpu => None,
            DeviceChoice::Auto => Some(0),
            DeviceChoice::Cuda(ordinal) => Some(ordinal),
        };
        let starting = ordinal.map(|ordinal| thread::spawn(move || device_name(ordinal).map(drop)));
        Self { choice, starting: Mutex::new(starting) }
    }

    /// # Errors
    /// There is no such device, or it could not be started.
    fn wait(&self) -> Result<(), DeviceError> {
        let starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic there has been reported; opening the device will tell what is wrong.
        starting.map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }

    /// Whether the user named the device.
    pub fn is_named(&self) -> bool {
        matches!(self.choice, DeviceChoice::Cuda(_))
    }

    /// What `cpu` or `gpu` (with its ordinal) make. `auto` takes the first device. Where that cannot be used, it takes
    /// the CPU, with a warning unless there is just no driver or no device.
    pub fn choose<T, E: MayBeDevice>(
        &self,
        observer: &mut dyn Observer,
        cpu: impl FnOnce(&mut dyn Observer) -> Result<T, E>,
        gpu: impl FnOnce(u32, &mut dyn Observer) -> Result<T, E>,
    ) -> Result<T, E> {
        let ordinal = match self.choice {
            DeviceChoice::Cpu => return cpu(observer),
            DeviceChoice::Cuda(ordinal) => ordinal,
            DeviceChoice::Auto => 0,
        };
        let error = match self.wait().map_err(E::from).and_then(|()| gpu(ordinal, observer)) {
            Err(error) if self.choice == DeviceChoice::Auto => error,
            made => return made,
        };
        match error.device_error() {
            None => return Err(error),
            // No driver and no device are no news; a device that cannot be used is.
            Some(DeviceError::NoDriver | DeviceError::NoDevice { .. }) => {}
            Some(reason) => observer.note(&format!("warning: running on the CPU: {reason}")),
        }
        cpu(observer)
    }
}

impl Drop for Device {
    /// The process must not end while the driver starts.
    fn drop(&mut self) {
        let _ = self.wait();
    }
}
