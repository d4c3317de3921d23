//! Steppers as objects, in either precision. They are compiled with this crate and not again with each of its users.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::team::HaloMember;
use super::{
    CpuOptions, CpuStepper, ElementStepper, GpuError, GpuMember, GpuOptions, GpuReport, GpuStepper, PartMember,
    Problem, Seat, StepperError,
};
use crate::dynamics::signals::Signals;
use crate::dynamics::{Exchange, Part, State};
use crate::ranks::Ranks;
use crate::simd::{Precision, Real};

/// A stepper on the CPU, and the bytes that a step must move through memory at least, a node.
///
/// # Errors
/// As for [`CpuStepper::new`].
pub fn cpu_stepper(
    precision: Precision,
    problem: &Problem,
    state: &State,
    options: CpuOptions,
) -> Result<(Box<dyn ElementStepper>, f64), StepperError> {
    fn of<T: Real + 'static>(
        problem: &Problem,
        state: &State,
        options: CpuOptions,
    ) -> Result<(Box<dyn ElementStepper>, f64), StepperError> {
        let stepper = CpuStepper::<T>::new(problem, state, options)?;
        let bytes = stepper.bytes_per_node_step();
        Ok((Box::new(stepper), bytes))
    }
    match precision {
        Precision::F32 => of::<f32>(problem, state, options),
        Precision::F64 => of::<f64>(problem, state, options),
    }
}

/// A stepper on a device, and what it runs on.
///
/// # Errors
/// As for [`GpuStepper::new`].
pub fn gpu_stepper(
    precision: Precision,
    problem: &Problem,
    state: &State,
    signals: &Signals<'_>,
    options: GpuOptions,
) -> Result<(Box<dyn ElementStepper>, GpuReport), GpuError> {
    fn of<T: Real + 'static>(stepper: GpuStepper<T>) -> (Box<dyn ElementStepper>, GpuReport) {
        let report = stepper.report().clone();
        (Box::new(stepper), report)
    }
    Ok(match precision {
        Precision::F32 => of(GpuStepper::<f32>::new(problem, state, signals, options)?),
        Precision::F64 => of(GpuStepper::<f64>::new(problem, state, signals, options)?),
    })
}

/// A stepper on a device that steps with those of other shots, what it runs on, and how many step at once. Waits for their steppers.
///
/// # Errors
/// As for [`GpuStepper::new`].
pub fn gpu_shot(
    precision: Precision,
    problem: &Problem,
    state: &State,
    signals: &Signals<'_>,
    options: GpuOptions,
    seat: Seat,
) -> Result<(Box<dyn ElementStepper>, GpuReport, usize), GpuError> {
    fn of<T: Real + 'static>(
        stepper: GpuStepper<T>,
        seat: Seat,
    ) -> Result<(Box<dyn ElementStepper>, GpuReport, usize), GpuError> {
        let report = stepper.report().clone();
        let (stepper, n_at_once) = seat.join(stepper)?;
        Ok((Box::new(stepper), report, n_at_once))
    }
    match precision {
        Precision::F32 => of(GpuStepper::<f32>::new(problem, state, signals, options)?, seat),
        Precision::F64 => of(GpuStepper::<f64>::new(problem, state, signals, options)?, seat),
    }
}

impl PartMember {
    /// The part of a rank that computes on cores, from the state of the whole model, and the bytes that a step must move
    /// through memory at least, a node. Collective.
    ///
    /// # Errors
    /// As for [`CpuStepper::of_part`].
    pub fn on_cores(
        precision: Precision,
        problem: &Problem,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        options: CpuOptions,
    ) -> Result<(Self, f64), StepperError> {
        let (part, d) = (Part::of(domains, ranks.rank()), problem.mesh.dimension);
        let [displacement, increment] = [&state.displacement, &state.increment].map(|values| part.select(values, d));
        let memory = part.select_local(&state.memory, state.displacement.len(), d);
        let own = State { displacement, increment, memory, ..*state };
        fn of<T: Real + 'static>(
            (problem, domains, ranks): (&Problem, &SubDomainsView, &Arc<dyn Ranks>),
            stepper: CpuStepper<T>,
        ) -> (PartMember, f64) {
            let bytes = stepper.bytes_per_node_step();
            (PartMember::new(HaloMember::new(problem, domains, ranks, stepper)), bytes)
        }
        let of_rank = (problem, domains, ranks);
        Ok(match precision {
            Precision::F32 => {
                of(of_rank, CpuStepper::<f32>::of_part(problem, (part, Some((ranks, domains))), &own, options)?)
            }
            Precision::F64 => {
                of(of_rank, CpuStepper::<f64>::of_part(problem, (part, Some((ranks, domains))), &own, options)?)
            }
        })
    }

    /// The part of a rank that computes on a device, from the state of the whole model, and what it runs on. `domain` is
    /// the sub-domain of each block. All ranks exchange in the same way, which [`Exchange::settled`] gives. Collective.
    ///
    /// # Errors
    /// As for [`GpuStepper::new`]; no connection between the devices.
    pub fn on_device(
        precision: Precision,
        model: (&Problem, &SubDomainsView, &[u32]),
        ranks: &Arc<dyn Ranks>,
        state: &State,
        signals: &Signals<'_>,
        (options, exchange): (GpuOptions, Exchange),
    ) -> Result<(Self, GpuReport), GpuError> {
        fn of<T: Real + 'static>(member: GpuMember<T>) -> (PartMember, GpuReport) {
            let report = member.report().clone();
            (PartMember::new(member), report)
        }
        Ok(match precision {
            Precision::F32 => of(GpuMember::<f32>::new(model, ranks, state, signals, options, exchange)?),
            Precision::F64 => of(GpuMember::<f64>::new(model, ranks, state, signals, options, exchange)?),
        })
    }
}
