//! Steppers as objects, in either precision. They are compiled with this crate and not again with each of its users.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::gpu::GpuMember;
use super::{
    Addressing, CpuStepper, GpuError, GpuOptions, GpuPlan, GpuReport, GpuStepper, PartMember, SpringError,
    SpringProblem, SpringStepper, State,
};
use crate::dynamics::{Exchange, Part};
use crate::ranks::Ranks;
use crate::simd::{Level, Precision, Real};

/// A stepper of any kind.
type Boxed<'a> = Box<dyn SpringStepper<'a> + 'a>;

/// A stepper on the CPU with so many threads, and the bytes that a step must move through memory at least, a particle.
///
/// # Errors
/// As for [`CpuStepper::new`].
pub fn cpu_stepper<'a>(
    precision: Precision,
    problem: SpringProblem<'a>,
    state: &State,
    addressing: Addressing,
    threads: usize,
) -> Result<(Boxed<'a>, f64), SpringError> {
    fn of<'a, T: Real + 'a>(stepper: CpuStepper<'a, T>) -> (Boxed<'a>, f64) {
        let bytes = stepper.bytes_per_particle_step();
        (Box::new(stepper), bytes)
    }
    let level = Level::detect();
    Ok(match precision {
        Precision::F32 => of(CpuStepper::<f32>::new(problem, state, addressing, threads, level)?),
        Precision::F64 => of(CpuStepper::<f64>::new(problem, state, addressing, threads, level)?),
    })
}

/// A stepper on a device, and what it runs on.
///
/// # Errors
/// As for [`GpuStepper::new`].
pub fn gpu_stepper<'a>(
    precision: Precision,
    problem: SpringProblem<'a>,
    state: &State,
    addressing: Addressing,
    options: GpuOptions,
) -> Result<(Boxed<'a>, GpuReport), GpuError> {
    fn of<'a, T: Real + 'a>(stepper: GpuStepper<'a, T>) -> (Boxed<'a>, GpuReport) {
        let report = stepper.report().clone();
        (Box::new(stepper), report)
    }
    Ok(match precision {
        Precision::F32 => of(GpuStepper::<f32>::new(problem, state, addressing, options)?),
        Precision::F64 => of(GpuStepper::<f64>::new(problem, state, addressing, options)?),
    })
}

impl<'a> PartMember<'a> {
    /// The part of a rank that computes on so many cores, from the state of the whole model, and the bytes that a step must
    /// move through memory at least, a particle. Collective.
    ///
    /// # Errors
    /// As for [`CpuStepper::of_part`].
    pub fn on_cores(
        precision: Precision,
        problem: &SpringProblem<'a>,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        (addressing, threads): (Addressing, usize),
    ) -> Result<(Self, f64), SpringError> {
        let (part, level) = (Part::of(domains, ranks.rank()), Level::detect());
        let (of_rank, own) = ((problem, domains, ranks), problem.clone());
        fn of<'a, T: Real + 'a>(
            (problem, domains, ranks): (&SpringProblem<'a>, &SubDomainsView, &Arc<dyn Ranks>),
            stepper: CpuStepper<'a, T>,
        ) -> (PartMember<'a>, f64) {
            let bytes = stepper.bytes_per_particle_step();
            (PartMember::new(problem, domains, ranks, stepper), bytes)
        }
        Ok(match precision {
            Precision::F32 => {
                of(of_rank, CpuStepper::<f32>::of_part(own, part, ranks, state, addressing, threads, level)?)
            }
            Precision::F64 => {
                of(of_rank, CpuStepper::<f64>::of_part(own, part, ranks, state, addressing, threads, level)?)
            }
        })
    }

    /// The part of a rank that computes on a device, by its number, from the state of the whole model, and what it runs on.
    /// The parts consist of whole [units](GpuPlan::units) of the plan. All ranks exchange in the same way, which
    /// [`Exchange::settled`] gives. Collective.
    ///
    /// # Errors
    /// As for [`GpuStepper::new`]; no connection between the devices.
    pub fn on_device(
        precision: Precision,
        problem: &SpringProblem<'a>,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        (plan, ordinal, exchange): (GpuPlan, u32, Exchange),
    ) -> Result<(Self, GpuReport), GpuError> {
        fn of<'a, T: Real + 'a>(member: GpuMember<'a, T>) -> (PartMember<'a>, GpuReport) {
            let report = member.report().clone();
            (PartMember::of(member), report)
        }
        let on = (ordinal, exchange);
        Ok(match precision {
            Precision::F32 => of(GpuMember::<f32>::new(problem, domains, ranks, state, plan, on)?),
            Precision::F64 => of(GpuMember::<f64>::new(problem, domains, ranks, state, plan, on)?),
        })
    }
}
