//! CPU or device, as the command line says.

use std::sync::{Mutex, PoisonError};

use pogo_formats::timings;
use pogo_kernels::device::{DeviceError, Starting};

use crate::config::DeviceChoice;
use crate::error::SolveError;
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

impl MayBeDevice for SolveError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}

/// All that was made, or the first error: that of the device itself, not of those that wait for it.
pub(crate) fn all_or_the_cause<T, E: MayBeDevice>(made: Vec<Result<T, E>>) -> Result<Vec<T>, E> {
    let (made, errors): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    let of_others = |error: &E| matches!(error.device_error(), Some(DeviceError::OnRank { .. }));
    let first = errors.into_iter().filter_map(Result::err).min_by_key(of_others);
    first.map_or_else(|| made.into_iter().collect(), Err)
}

/// The devices of the command line, which are started while the host does something else.
pub(crate) struct Device {
    /// At least one.
    choices: Vec<DeviceChoice>,
    /// One each.
    starting: Mutex<Vec<Starting>>,
}

impl Device {
    /// Has the driver make its contexts and load the modules that the run is likely to need, so that they are there when
    /// the devices are opened.
    pub fn start(choices: Vec<DeviceChoice>, modules: Vec<&'static str>) -> Self {
        let start = |choice: &DeviceChoice| match *choice {
            DeviceChoice::Cpu => Starting::nothing(),
            DeviceChoice::Auto => Starting::new(0, modules.clone()),
            DeviceChoice::Cuda(ordinal) => Starting::new(ordinal, modules.clone()),
        };
        let starting = Mutex::new(choices.iter().map(start).collect());
        Self { choices, starting }
    }

    /// Number of devices that compute together.
    pub fn n_parts(&self) -> usize {
        self.choices.len()
    }

    /// Each device.
    pub fn choices(&self) -> &[DeviceChoice] {
        &self.choices
    }

    /// Numbers of the CUDA devices, if all are named.
    pub fn ordinals(&self) -> Option<Vec<u32>> {
        let ordinal =
            |choice: &DeviceChoice| if let DeviceChoice::Cuda(ordinal) = choice { Some(*ordinal) } else { None };
        self.choices.iter().map(ordinal).collect()
    }

    /// Each device by itself, where each computes what the others do not. It is called once.
    pub fn split(&self) -> Vec<Self> {
        let mut starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |(&choice, starting)| Self { choices: vec![choice], starting: Mutex::new(vec![starting]) };
        self.choices.iter().zip(starting.drain(..)).map(one).collect()
    }

    /// # Errors
    /// There is no such device, or it could not be started.
    pub fn wait(&self) -> Result<(), DeviceError> {
        let _wait = timings::stage("wait for the device");
        let mut starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        starting.iter_mut().try_for_each(Starting::wait)
    }

    /// Whether the user named the device.
    pub fn is_named(&self) -> bool {
        matches!(self.choices[0], DeviceChoice::Cuda(_))
    }

    /// What `cpu` or `gpu` (with its ordinal) make. `auto` takes the first device. Where that cannot be used, it takes
    /// the CPU, with a warning unless there is just no driver or no device.
    pub fn choose<T, E: MayBeDevice>(
        &self,
        observer: &mut dyn Observer,
        cpu: impl FnOnce(&mut dyn Observer) -> Result<T, E>,
        gpu: impl FnOnce(u32, &mut dyn Observer) -> Result<T, E>,
    ) -> Result<T, E> {
        let ordinal = match self.choices[0] {
            DeviceChoice::Cpu => return cpu(observer),
            DeviceChoice::Cuda(ordinal) => ordinal,
            DeviceChoice::Auto => 0,
        };
        let error = match self.wait().map_err(E::from).and_then(|()| gpu(ordinal, observer)) {
            Err(error) if self.choices[0] == DeviceChoice::Auto => error,
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
