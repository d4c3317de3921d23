//! Where the times are computed: the CPU or a CUDA device, in f32 or f64.

use pogo_formats::eikonal::setup::Decomposition;
use pogo_kernels::device::DeviceError;
use pogo_kernels::eikonal::{
    Arrival, EikonalError, EikonalProblem, EikonalSettings, EikonalSolver, GpuSettings, GpuSolver,
};
use pogo_kernels::papers::eikonal::{Approach, GpuDomainSettings, SubDomainSolver, sub_domains_on_gpu};
use pogo_kernels::simd::Real;
use rayon::prelude::*;

use crate::device::{Device, MayBeDevice};
use crate::observe::Observer;

/// A mesh that is ready to be solved on some machine.
pub(super) enum Engine<'a, T: Real> {
    Cpu(Box<EikonalSolver<'a, T>>),
    /// The paper's approaches.
    SubDomains(Box<SubDomainSolver<'a, T>>),
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
        decomposition: Decomposition,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<Self, EikonalError> {
        let approach = match decomposition {
            Decomposition::Automatic | Decomposition::Whole => None,
            Decomposition::First => Some(Approach::First),
            Decomposition::Second => Some(Approach::Second),
        };
        let cpu = |_: &mut dyn Observer| match approach {
            None => Ok(Self::Cpu(Box::new(EikonalSolver::new(problem, settings)?))),
            Some(approach) => Ok(Self::SubDomains(Box::new(SubDomainSolver::new(problem, settings, approach)?))),
        };
        let gpu = |ordinal, _: &mut dyn Observer| {
            let solver = match approach {
                None => GpuSolver::new(problem, settings, &GpuSettings { ordinal, ..GpuSettings::default() })?,
                Some(approach) => {
                    sub_domains_on_gpu(problem, settings, &GpuDomainSettings { ordinal, approach, inner: 1 })?
                }
            };
            Ok(Self::Gpu(Box::new(solver)))
        };
        device.choose(observer, cpu, gpu)
    }

    /// `cpu`, or the name of the device.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(_) | Self::SubDomains(_) => "cpu".into(),
            Self::Gpu(solver) => solver.device().to_owned(),
        }
    }

    /// Solves for one set of starts.
    pub fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        match self {
            Self::Cpu(solver) => solver.solve(starts),
            Self::SubDomains(solver) => solver.solve(starts),
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
            Self::SubDomains(solver) => sets.par_iter().enumerate().try_for_each(|(case, starts)| {
                each(case, solver.solve(starts)?);
                Ok(())
            }),
            Self::Gpu(solver) => solver.solve_many(sets, each),
        }
    }
}
