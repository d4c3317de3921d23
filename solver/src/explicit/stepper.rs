//! The stepper of a problem, on the CPU or a device, and the largest stable increment.

use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::State;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::explicit::elements::{StableIncrement, global_stable_increment};
use pogo_kernels::explicit::{CpuOptions, CpuStepper, ElementStepper, GpuError, GpuOptions, GpuStepper, Problem};
use pogo_kernels::simd::Real;

use crate::call::Call;
use crate::config::Precision;
use crate::device::MayBeDevice;
use crate::error::SolveError;
use crate::observe::Observer;

/// Iterations of the estimate of the whole model's limit; they leave it under 1 % too high.
const LIMIT_ITERATIONS: usize = 100;
/// Factor on that estimate.
const LIMIT_MARGIN: f64 = 0.98;

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) => None,
        }
    }
}

/// A stepper, and the device on which it runs.
pub(super) struct Engine {
    pub stepper: Box<dyn ElementStepper>,
    pub bytes_per_node_step: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    pub n_threads: usize,
}

impl Engine {
    pub fn new(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, SolveError> {
        let made = match call.settings.precision {
            Precision::F32 => Self::in_precision::<f32>(problem, state, signals, call, observer),
            Precision::F64 => Self::in_precision::<f64>(problem, state, signals, call, observer),
        };
        made.map_err(|error| match error {
            GpuError::Problem(error) => call.refuse(error),
            GpuError::Device(error) => SolveError::Device(error),
        })
    }

    fn in_precision<T: Real + 'static>(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, GpuError> {
        let cpu = |_: &mut dyn Observer| {
            let n_threads = call.settings.n_threads();
            let stepper = CpuStepper::<T>::new(problem, state, CpuOptions::new(n_threads))?;
            let bytes_per_node_step = stepper.bytes_per_node_step();
            Ok(Self { stepper: Box::new(stepper), bytes_per_node_step, device: "cpu".into(), n_threads })
        };
        let gpu = |ordinal, observer: &mut dyn Observer| {
            let options = GpuOptions { ordinal };
            let stepper = GpuStepper::<T>::new(problem, state, signals, options)?;
            let report = stepper.report();
            observer.note(&format!(
                "{}: {:.2} GB in use, {:.2} GB uploaded in {:.2} s ({:.1} GB/s)",
                report.device,
                report.memory.bytes() as f64 / 1e9,
                report.uploaded as f64 / 1e9,
                report.upload_seconds,
                report.uploaded as f64 / 1e9 / report.upload_seconds.max(1e-9)
            ));
            let (bytes_per_node_step, device) = (report.bytes_per_node_step, report.device.clone());
            Ok(Self { stepper: Box::new(stepper), bytes_per_node_step, device, n_threads: 1 })
        };
        call.device.choose(observer, cpu, gpu)
    }
}

/// A lower bound of the largest stable increment, s. The bound of the elements is cheap and on the safe side, so the limit of
/// the whole model is estimated only for an increment beyond it.
pub(super) fn stable_increment(problem: &Problem<'_>, bound: StableIncrement, n_threads: usize) -> f64 {
    if problem.time_increment <= bound.increment {
        return bound.increment;
    }
    let n_dofs = problem.lumped_mass.len() * problem.mesh.dimension;
    let rest = State { displacement: vec![0.0; n_dofs], increment: vec![0.0; n_dofs], ..State::default() };
    CpuStepper::<f64>::new(problem, &rest, CpuOptions::new(n_threads))
        .ok()
        .and_then(|stepper| {
            let constrained: Vec<u64> = problem.constraints.iter().map(|constraint| constraint.dof).collect();
            let (mass, dimension) = (&problem.lumped_mass, problem.mesh.dimension);
            let force = |u: &[f64]| stepper.internal_force(u);
            global_stable_increment(mass, dimension, &constrained, LIMIT_ITERATIONS, force).ok()
        })
        .map_or(bound.increment, |limit| (LIMIT_MARGIN * limit).max(bound.increment))
}
