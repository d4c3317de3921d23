//! Masses and springs by several ranks, each with some of the units.
//!
//! After each step a rank sends the displacements of the particles that others read. The leader puts work and dissipation
//! together in the order of a single stepper, so the results have the same bits for any number of ranks. Every rank has the
//! tables and arrays of the whole model: the work is divided, memory is not.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::springs::Springs;
use super::{Change, Energies, SpringError, SpringProblem, SpringStepper, State};
use crate::device::DeviceError;
use crate::dynamics::{Advance, PartStepper, Parts, RankPart, Stepper, Steps, order_of_sum};
use crate::ranks::{Member, Ranks, Reader, Serves, Team, Writer, serve};

/// A stepper of a part of a model of springs.
pub trait SpringPart: PartStepper + Stepper<State = State> {
    /// Lets all ranks know of the springs that broke. Collective.
    fn share_changes(&mut self);

    /// All springs that came and went so far, in order, as far as they were shared.
    fn shared_changes(&self) -> &[Change];

    /// The entries of external work and of dissipation that are this part's, as numbers in the order in which one stepper
    /// sums them; none unless work is followed.
    fn work_entries(&self) -> [Vec<u32>; 2];

    /// Those entries, J.
    fn work(&self) -> [Vec<f64>; 2];
}

/// What the leader orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Make steps; the number of steps, signals and steps to record follow.
    Advance = 0,
    /// Send u and Δu of own particles, and own entries of work and dissipation.
    State = 1,
}

/// The part of one rank, in either precision.
trait Rank: Member {
    /// What the leader has to know: the columns of own monitors, and which entries of work and dissipation there are.
    fn about(&self) -> Vec<u8>;
    /// As [`SpringPart::shared_changes`].
    fn shared_changes(&self) -> &[Change];
}

impl<S: SpringPart> Rank for RankPart<S> {
    fn about(&self) -> Vec<u8> {
        let mut about = Writer::default();
        about.put(&self.monitors.columns);
        self.stepper.work_entries().iter().for_each(|entries| about.put(entries));
        about.into_bytes()
    }

    fn shared_changes(&self) -> &[Change] {
        self.stepper.shared_changes()
    }
}

impl<S: SpringPart> Member for RankPart<S> {
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let (mut order, mut answer) = (Reader::new(order), Writer::default());
        if order.one::<u8>() == Order::Advance as u8 {
            let recording = self.advance(&Advance::take(&mut order), |_| ());
            self.stepper.share_changes();
            answer.put(&recording?);
        } else {
            let state = self.stepper.state()?;
            answer.put(&state.displacement);
            answer.put(&state.increment);
            self.stepper.work().iter().for_each(|work| answer.put(work));
        }
        Ok(answer.into_bytes())
    }
}

/// The part of one rank.
pub struct PartMember<'a>(Box<dyn Rank + 'a>);

impl<'a> PartMember<'a> {
    /// The stepper of this rank's sub-domain.
    pub(super) fn new(
        problem: &SpringProblem,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        stepper: impl SpringPart + 'a,
    ) -> Self {
        Self(Box::new(RankPart::new(stepper, domains, ranks, &problem.monitors, 3)))
    }
}

impl Serves for PartMember<'_> {
    fn serve(self, ranks: &dyn Ranks) {
        ranks.gather(self.0.about());
        serve(ranks, self);
    }
}

impl Member for PartMember<'_> {
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        self.0.execute(order)
    }
}

/// Steps a model of springs with all ranks, as the leader.
pub struct TeamStepper<'a> {
    team: Team<PartMember<'a>>,
    parts: Parts,
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    changes: Vec<Change>,
    /// Rank and entry of external work and of dissipation, in the order in which they are summed.
    work: [Vec<(usize, usize)>; 2],
    /// External work and dissipated energy at the start, J.
    before: [f64; 2],
    step: u64,
}

impl<'a> TeamStepper<'a> {
    /// The leader's stepper, from the state that all ranks began with. The other ranks [serve](Serves::serve).
    ///
    /// # Errors
    /// A model that contradicts itself. The other ranks have been told to end.
    pub fn new(
        problem: SpringProblem<'a>,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        member: PartMember<'a>,
        state: &State,
    ) -> Result<Self, SpringError> {
        let (mut monitors, mut entries) = (Vec::new(), [Vec::new(), Vec::new()]);
        for about in ranks.gather(member.0.about()) {
            let mut about = Reader::new(&about);
            monitors.push(about.take());
            entries.iter_mut().for_each(|entries| entries.push(about.take()));
        }
        let team = Team::new(ranks.clone(), member);
        let mut springs = Springs::prepare(&problem, state)?;
        springs.replay(&problem, &state.changes, |_, _| ());
        Ok(Self {
            team,
            parts: Parts::new(domains, monitors, problem.monitors.len()),
            springs,
            changes: state.changes.clone(),
            work: entries.map(|entries| order_of_sum(entries.iter())),
            before: [state.external_work, state.dissipated],
            step: state.step,
            problem,
        })
    }
}

impl Stepper for TeamStepper<'_> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        self.problem.check_signals(steps.signals);
        let answers = self.team.order_of_kind(Order::Advance as u8, |order| Advance::put(order, steps))?;
        let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader::new(answer)).collect();
        self.parts.join_recordings(&mut answers, steps.record.len(), recording);
        self.step += steps.n as u64;
        let new = &self.team.member().0.shared_changes()[self.changes.len()..];
        self.springs.replay(&self.problem, new, |_, _| ());
        self.changes.extend_from_slice(new);
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        let answers = self.team.order_of_kind(Order::State as u8, |_| ())?;
        let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader::new(answer)).collect();
        let [displacement, increment] = self.parts.join_motion(&mut answers, 3);
        let [external, dissipated] = self.work.each_ref().map(|order| {
            let of_ranks: Vec<Vec<f64>> = answers.iter_mut().map(|answer| answer.take()).collect();
            order.iter().map(|&(rank, entry)| of_ranks[rank][entry]).sum::<f64>()
        });
        Ok(State {
            step: self.step,
            displacement,
            increment,
            external_work: self.before[0] + external,
            dissipated: self.before[1] + dissipated,
            changes: self.changes.clone(),
        })
    }
}

impl<'a> SpringStepper<'a> for TeamStepper<'a> {
    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        Ok(super::energies::energies(&self.problem, &self.springs, &self.state()?, signals))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'a> {
        &self.springs
    }
}
