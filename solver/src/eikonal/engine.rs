//! Where the times are computed: the CPU or a CUDA device, in f32 or f64.

use pogo_kernels::device::DeviceError;
use pogo_kernels::eikonal::{
    Arrival, EikonalError, EikonalProblem, EikonalSettings, EikonalSolver, GpuSettings, GpuSolver,
};
use pogo_kernels::simd::Real;

use crate::config::DeviceChoice;
use crate::device::{MayBeDevice, on_chosen};
use crate::observe::Observer;

/// A mesh that is ready to be solved on some machine.
pub(super) trait Engine<T> {
    /// `cpu`, or the name of the device.
    fn name(&self) -> String;
    /// One set of starts.
    fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError>;
    /// Many sets of starts; results come in any order, perhaps from several threads.
    fn solve_many(
        &mut self,
        sets: &[Vec<(u32, f64)>],
        each: &(dyn Fn(usize, Arrival<T>) + Sync),
    ) -> Result<(), EikonalError>;
}

impl<T: Real> Engine<T> for EikonalSolver<'_, T> {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        Self::solve(self, starts)
    }

    fn solve_many(
        &mut self,
        sets: &[Vec<(u32, f64)>],
        each: &(dyn Fn(usize, Arrival<T>) + Sync),
    ) -> Result<(), EikonalError> {
        Self::solve_many(self, sets, each)
    }
}

impl<T: Real> Engine<T> for GpuSolver<T> {
    fn name(&self) -> String {
        self.device().to_owned()
    }

    fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        Self::solve(self, starts)
    }

    fn solve_many(
        &mut self,
        sets: &[Vec<(u32, f64)>],
        each: &(dyn Fn(usize, Arrival<T>) + Sync),
    ) -> Result<(), EikonalError> {
        Self::solve_many(self, sets, each)
    }
}

impl MayBeDevice for EikonalError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}

/// The engine of a choice. `auto` takes the first device that can do it, else the CPU.
///
/// # Errors
/// Of the CPU's tables; a device that was asked for and cannot be used.
pub(super) fn choose<'a, T: Real>(
    problem: &EikonalProblem<'a>,
    settings: &EikonalSettings,
    choice: DeviceChoice,
    observer: &mut dyn Observer,
) -> Result<Box<dyn Engine<T> + 'a>, EikonalError> {
    on_chosen::<Box<dyn Engine<T> + 'a>, _>(
        choice,
        observer,
        |_| Ok(Box::new(EikonalSolver::<T>::new(problem, settings)?)),
        |ordinal, _| {
            let on_device = GpuSettings { ordinal, ..GpuSettings::default() };
            Ok(Box::new(GpuSolver::<T>::new(problem, settings, &on_device)?))
        },
    )
}
