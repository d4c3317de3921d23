//! The stepper of a problem, on the CPU or a device.

use pogo_formats::spring::SpringSetup;
use pogo_kernels::device::DeviceError;
use pogo_kernels::simd::{Level, Real};
use pogo_kernels::spring::{
    Addressing, CpuStepper, GpuError, GpuOptions, GpuStepper, SpringProblem, SpringStepper, State,
};

use super::report;
use crate::call::Call;
use crate::config::{AddressingChoice, Precision};
use crate::device::MayBeDevice;
use crate::error::SolveError;
use crate::observe::Observer;

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) | Self::Scheme { .. } => None,
        }
    }
}

/// What steps a problem, and on what.
pub(super) struct Engine<'a> {
    pub stepper: Box<dyn SpringStepper<'a> + 'a>,
    /// `cpu`, or the name of the device.
    pub device: String,
    pub n_threads: usize,
    /// The one in use, never [`Addressing::Automatic`].
    pub addressing: Addressing,
    pub bytes_per_particle_step: f64,
}

impl<'a> Engine<'a> {
    pub fn new(
        problem: &SpringProblem<'a>,
        state: &State,
        setup: &SpringSetup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, SolveError> {
        let made = match call.settings.precision {
            Precision::F32 => Self::in_precision::<f32>(problem, state, setup, call, observer),
            Precision::F64 => Self::in_precision::<f64>(problem, state, setup, call, observer),
        };
        made.map_err(|error| match error {
            GpuError::Problem(error) => call.refuse(report::explain(&error, &problem.mesh)),
            GpuError::Device(error) => SolveError::Device(error),
            error @ GpuError::Scheme { .. } => call.refuse(error),
        })
    }

    fn in_precision<T: Real + 'a>(
        problem: &SpringProblem<'a>,
        state: &State,
        setup: &SpringSetup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, GpuError> {
        let choice = call.settings.addressing;
        let cpu = |observer: &mut dyn Observer| {
            let automatic = || on_cpu(problem.mesh.grid.is_some(), setup, observer);
            let addressing = named(choice).unwrap_or_else(automatic);
            let n_threads = call.settings.n_threads();
            let stepper = CpuStepper::<T>::new(problem.clone(), state, addressing, n_threads, Level::detect())?;
            let bytes_per_particle_step = stepper.bytes_per_particle_step();
            let (stepper, device) = (Box::new(stepper), "cpu".into());
            Ok(Self { stepper, device, n_threads, addressing, bytes_per_particle_step })
        };
        let gpu = |ordinal, _: &mut dyn Observer| {
            // On a device the fastest addressing depends on the size, too.
            let addressing = named(choice).unwrap_or(Addressing::Automatic);
            let options = GpuOptions { ordinal, ..GpuOptions::default() };
            let stepper = GpuStepper::<T>::new(problem.clone(), state, addressing, options)?;
            let report = stepper.report();
            let (device, addressing) = (report.device.clone(), report.addressing);
            let bytes_per_particle_step = report.bytes_per_particle_step;
            Ok(Self { stepper: Box::new(stepper), device, n_threads: 1, addressing, bytes_per_particle_step })
        };
        call.device.choose(observer, cpu, gpu)
    }
}

/// The addressing that the user named.
fn named(choice: AddressingChoice) -> Option<Addressing> {
    match choice {
        AddressingChoice::Auto => None,
        AddressingChoice::Implicit => Some(Addressing::Implicit),
        AddressingChoice::Explicit => Some(Addressing::Explicit),
        AddressingChoice::ExplicitGlobal => Some(Addressing::ExplicitGlobal),
    }
}

/// What `auto` means on the CPU: implicit addressing where there is a grid, unless springs are added, which it may not have.
fn on_cpu(has_grid: bool, setup: &SpringSetup, observer: &mut dyn Observer) -> Addressing {
    if !has_grid {
        return Addressing::Explicit;
    }
    if setup.additions.is_empty() {
        return Addressing::Implicit;
    }
    observer.note("springs are added: explicit addressing");
    Addressing::Explicit
}

pub(super) const fn name_of(addressing: Addressing) -> &'static str {
    match addressing {
        Addressing::Automatic => "automatic",
        Addressing::Implicit => "implicit",
        Addressing::Explicit => "explicit",
        Addressing::ExplicitGlobal => "explicit-global",
    }
}
