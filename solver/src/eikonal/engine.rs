//! Where the times are computed: the CPU or a CUDA device, in f32 or f64.

use pogo_kernels::device::DeviceError;
use pogo_kernels::eikonal::{
    Arrival, EikonalError, EikonalProblem, EikonalSettings, EikonalSolver, GpuSettings, GpuSolver,
};
use pogo_kernels::simd::Real;

use crate::device::{Device, MayBeDevice};
use crate::observe::Observer;

/// A mesh that is ready to be solved on some machine.
pub(super) enum Engine<'a, T: Real> {
    Cpu(Box<EikonalSolver<'a, T>>),
    Gpu(Box<GpuSolver<T>>),
}

impl MayBeDevice for EikonalError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}

impl<'a, T: Real> Engine<'a, T> {
    /// # Errors
    /// Of the CPU's tables; a device that was asked for and cannot be used.
    pub fn new(
        problem: &EikonalProblem<'a>,
        settings: &EikonalSettings,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<Self, EikonalError> {
        let cpu = |_: &mut dyn Observer| Ok(Self::Cpu(Box::new(EikonalSolver::new(problem, settings)?)));
        let gpu = |ordinal, _: &mut dyn Observer| {
            let on_device = GpuSettings { ordinal, ..GpuSettings::default() };
            Ok(Self::Gpu(Box::new(GpuSolver::new(problem, settings, &on_device)?)))
        };
        device.choose(observer, cpu, gpu)
    }

    /// `cpu`, or the name of the device.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(_) => "cpu".into(),
            Self::Gpu(solver) => solver.device().to_owned(),
        }
    }

    /// Solves for one set of starts.
    pub fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        match self {
            Self::Cpu(solver) => solver.solve(starts),
            Self::Gpu(solver) => solver.solve(starts),
        }
    }

    /// Solves for many sets of starts; results come in any order, perhaps from several threads.
    pub fn solve_many(
        &mut self,
        sets: &[Vec<(u32, f64)>],
        each: &(dyn Fn(usize, Arrival<T>) + Sync),
    ) -> Result<(), EikonalError> {
        match self {
            Self::Cpu(solver) => solver.solve_many(sets, each),
            Self::Gpu(solver) => solver.solve_many(sets, each),
        }
    }
}
