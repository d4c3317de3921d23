//! Masses and springs by several ranks, each with some of the units.
//!
//! After each step a rank sends the displacements of the particles that others read. The leader puts work and dissipation
//! together in the order of a single stepper, so the results have the same bits for any number of ranks. (Energies of more than
//! 1,024 thread blocks on devices are sums of the devices' sums: they differ in the last digits.) On CPUs a rank has tables and
//! numbers of its part; on a device it has those of the whole model: there the work is divided, memory is not.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::springs::Springs;
use super::{Cause, Change, Energies, SpringError, SpringProblem, SpringStepper, State};
use crate::device::DeviceError;
use crate::dynamics::{Advance, PartStepper, Parts, RankPart, Stepper, Steps, order_of_sum};
use crate::ranks::{Member, Ranks, Reader, Serves, Team, Writer, serve};

/// A stepper of a part of a model of springs that leaves messages to its caller.
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
    /// Send sums of energies over own particles, and own entries of work and dissipation; signals follow.
    Sums = 2,
}

/// What a rank tells the leader before the first order.
#[derive(Debug, Default)]
pub(super) struct About {
    /// Columns of own monitors.
    pub monitors: Vec<u32>,
    /// Entries of external work, of dissipation, and of what supports and forces change of that, as numbers in the order in
    /// which one stepper sums them; none unless work is followed.
    pub work: [Vec<u32>; 3],
    /// Unit of length of those entries and of sums, m: they are J over its square.
    pub unit: f64,
}

/// The part of one rank, in either precision, as the leader's orders see it.
pub(super) trait SpringMember: Send {
    fn about(&self) -> About;
    /// Makes steps and lets all ranks know of the springs that broke. Gives the recorded values of own monitors.
    fn advance(&mut self, order: &Advance) -> Result<Vec<f64>, DeviceError>;
    /// As [`SpringPart::shared_changes`].
    fn shared_changes(&self) -> &[Change];
    /// State of own particles.
    fn own_state(&self) -> Result<State, DeviceError>;
    /// The entries of [`About::work`].
    fn work(&self) -> Result<[Vec<f64>; 3], DeviceError>;
    /// Sums of energies as [`Energies::of_sums`] takes them, (n, [`N_SUMS`]); none where the state is to be sent instead.
    fn own_sums(&self, signals: &[f64]) -> Result<Option<Vec<f64>>, DeviceError>;
}

impl<S: SpringPart> SpringMember for RankPart<S> {
    fn about(&self) -> About {
        let [external, dissipated] = self.stepper.work_entries();
        About { monitors: self.monitors.columns.clone(), work: [external, dissipated, Vec::new()], unit: 1.0 }
    }

    fn advance(&mut self, order: &Advance) -> Result<Vec<f64>, DeviceError> {
        let recording = RankPart::advance(self, order, |_| ());
        self.stepper.share_changes();
        recording
    }

    fn shared_changes(&self) -> &[Change] {
        self.stepper.shared_changes()
    }

    fn own_state(&self) -> Result<State, DeviceError> {
        self.stepper.state()
    }

    fn work(&self) -> Result<[Vec<f64>; 3], DeviceError> {
        let [external, dissipated] = self.stepper.work();
        Ok([external, dissipated, Vec::new()])
    }

    fn own_sums(&self, _: &[f64]) -> Result<Option<Vec<f64>>, DeviceError> {
        Ok(None)
    }
}

/// Springs that broke in all parts, given those of this one. Collective.
pub(super) fn share_broken(ranks: &dyn Ranks, own: Vec<Change>) -> Vec<Change> {
    let mut message = Writer::default();
    message.put(&own.iter().map(|change| change.step).collect::<Vec<_>>());
    message.put(&own.iter().flat_map(|change| change.particles).collect::<Vec<_>>());
    let mut broken = Vec::new();
    for bytes in ranks.all_gather(message.into_bytes()) {
        let mut message = Reader::new(&bytes);
        let (steps, ends): (Vec<u64>, Vec<u32>) = (message.take(), message.take());
        let pairs = steps.into_iter().zip(ends.as_chunks().0);
        broken.extend(pairs.map(|(step, &particles)| Change { step, particles, cause: Cause::Broken }));
    }
    broken
}

/// The part of one rank.
pub struct PartMember<'a>(Box<dyn SpringMember + 'a>);

impl<'a> PartMember<'a> {
    /// The stepper of this rank's sub-domain, on cores.
    pub(super) fn new(
        problem: &SpringProblem,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        stepper: impl SpringPart + 'a,
    ) -> Self {
        Self::of(RankPart::new(stepper, domains, ranks, &problem.monitors, 3))
    }

    /// Any member.
    pub(super) fn of(member: impl SpringMember + 'a) -> Self {
        Self(Box::new(member))
    }

    fn about(&self) -> Vec<u8> {
        let (about, mut message) = (self.0.about(), Writer::default());
        message.put(&about.monitors);
        about.work.iter().for_each(|entries| message.put(entries));
        message.put(&[about.unit]);
        message.into_bytes()
    }
}

impl Serves for PartMember<'_> {
    fn serve(self, ranks: &dyn Ranks) {
        ranks.gather(self.about());
        serve(ranks, self);
    }
}

impl Member for PartMember<'_> {
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let (mut order, mut answer) = (Reader::new(order), Writer::default());
        let (kind, member) = (order.one::<u8>(), &mut self.0);
        if kind == Order::Advance as u8 {
            answer.put(&member.advance(&Advance::take(&mut order))?);
            return Ok(answer.into_bytes());
        }
        if kind == Order::State as u8 {
            let state = member.own_state()?;
            answer.put(&state.displacement);
            answer.put(&state.increment);
        } else {
            let Some(sums) = member.own_sums(&order.take::<f64>())? else { return Ok(Vec::new()) };
            answer.put(&sums);
        }
        member.work()?.iter().for_each(|entries| answer.put(entries));
        Ok(answer.into_bytes())
    }
}

/// Steps a model of springs with all ranks, as the leader.
pub struct TeamStepper<'a> {
    team: Team<PartMember<'a>>,
    parts: Parts,
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    changes: Vec<Change>,
    /// Rank and entry of [`About::work`], in the order in which they are summed, and their unit of length, m.
    work: [Vec<(usize, usize)>; 3],
    unit: f64,
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
        let (mut monitors, mut entries, mut unit) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()], 1.0);
        for about in ranks.gather(member.about()) {
            let mut about = Reader::new(&about);
            monitors.push(about.take());
            entries.iter_mut().for_each(|entries| entries.push(about.take()));
            unit = about.one();
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
            unit,
            before: [state.external_work, state.dissipated],
            step: state.step,
            problem,
        })
    }

    /// External work and dissipated energy so far, J, from what all ranks have answered.
    fn work(&self, answers: &mut [Reader<'_>]) -> [f64; 2] {
        let [external, dissipated, changed] = self.work.each_ref().map(|order| {
            let of_ranks: Vec<Vec<f64>> = answers.iter_mut().map(|answer| answer.take()).collect();
            order.iter().map(|&(rank, entry)| of_ranks[rank][entry]).sum::<f64>()
        });
        let square = self.unit * self.unit;
        [self.before[0] + square * external, self.before[1] + square * (dissipated + changed)]
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
        let [external_work, dissipated] = self.work(&mut answers);
        let changes = self.changes.clone();
        Ok(State { step: self.step, displacement, increment, external_work, dissipated, changes })
    }
}

impl<'a> SpringStepper<'a> for TeamStepper<'a> {
    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        let answers = self.team.order_of_kind(Order::Sums as u8, |order| order.put(signals))?;
        if answers.iter().any(Vec::is_empty) {
            return Ok(super::energies::energies(&self.problem, &self.springs, &self.state()?, signals));
        }
        let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader::new(answer)).collect();
        // Each rank has 0 where the sums are those of particles of others.
        let mut sums = Vec::<f64>::new();
        for answer in &mut answers {
            let own: Vec<f64> = answer.take();
            sums.resize(own.len(), 0.0);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        let work = self.work(&mut answers);
        Ok(Energies::of_sums(&sums, self.unit, work, self.springs.len()))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'a> {
        &self.springs
    }
}
