//! The explicit step by several ranks, each with a sub-domain.
//!
//! After each step a rank sends the displacements of the nodes that others read. Loads, constraints, monitors and energies
//! belong to the owner of their node. The leader puts them together in the order of a single stepper, so the results have
//! the same bits for any number of ranks. Kinetic and strain energy on devices are the exception: a device sums those of
//! its own nodes, so the last digits (some 1e-15 of the sum) depend on the number of devices.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::dynamics::CopiedDisplacements;

use super::{ElementStepper, EnergySums, Problem};
use crate::device::DeviceError;
use crate::dynamics::{Advance, PartStepper, Parts, RankPart, State, Stepper, Steps, order_of_sum};
use crate::ranks::{Member, Ranks, Reader, Serves, Team, Writer, serve};

/// A stepper of a part of a mesh that leaves messages to its caller.
/// Its [`viscous_force`](ElementStepper::viscous_force) takes values of own nodes and halo, (n_local × dimension,), and gives that on own
/// nodes.
pub trait ElementPart: PartStepper + ElementStepper {
    /// First own node of each block that keeps energies, by ascending solver index: the order in which they are summed.
    fn energy_nodes(&self) -> Vec<u32>;

    /// External work and damped energy of the last step, J, (n_energy_nodes, 2).
    fn energies(&self) -> &[f64];

    /// What linear constraints, or ties of fluids, added to the external work and the damped energy of the whole model in the last step, J.
    fn work_of_rows(&self) -> [f64; 2];
}

/// What the leader orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Make steps; an [`Advance`] follows.
    Advance = 0,
    /// Send u, Δu and z_l of own nodes.
    State = 1,
    /// Send f_int of own nodes; displacement, increment and memory of all nodes follow, or none of the last two.
    Force = 2,
    /// Send Σ m Δu² and Σ (u − Δu) f_int of own nodes.
    Sums = 3,
}

/// What came of some steps.
pub(super) struct Answer {
    /// Of own monitors, (n_recorded, n_own_monitors, 3).
    pub recording: Vec<f64>,
    /// Of each step, (n_steps, n_energy_nodes, 2), unless the member keeps their sums.
    pub energies: Vec<f64>,
    /// Of each step, (n_steps, 2): see [`ElementPart::work_of_rows`]. All ranks have the same; none without these.
    pub of_rows: Vec<f64>,
}

/// The part of one rank, as the leader's orders see it.
pub(super) trait ElementMember: Send {
    /// Columns of own monitors; see [`ElementPart::energy_nodes`].
    fn about(&self) -> (Vec<u32>, Vec<u32>);
    fn advance(&mut self, order: &Advance) -> Result<Answer, DeviceError>;
    /// u, Δu and z_l of own nodes, and the energies of all steps where they are kept, (n_energy_rows, 2).
    fn own_state(&mut self) -> Result<Writer, DeviceError>;
    /// f_int of own nodes, given displacement, increment and memory of all, or none of the last two.
    fn own_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError>;
    /// Σ m Δu² and Σ (u − Δu) f_int of own nodes, and the energies that are kept; none where the state is to be sent instead.
    fn own_sums(&mut self) -> Result<Option<Writer>, DeviceError>;
}

/// A [`Member`] that carries out the leader's orders for one part of a mesh.
pub struct PartMember(Box<dyn ElementMember>);

impl PartMember {
    pub(super) fn new(member: impl ElementMember + 'static) -> Self {
        Self(Box::new(member))
    }

    fn about(&self) -> Vec<u8> {
        let (monitors, nodes) = self.0.about();
        let mut about = Writer::default();
        about.put(&monitors);
        about.put(&nodes);
        about.into_bytes()
    }
}

impl Serves for PartMember {
    fn serve(self, ranks: &dyn Ranks) {
        ranks.gather(self.about());
        serve(ranks, self);
    }
}

impl Member for PartMember {
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut order = Reader::new(order);
        let kind = order.one::<u8>();
        let mut answer = Writer::default();
        if kind == Order::Advance as u8 {
            let Answer { recording, energies, of_rows } = self.0.advance(&Advance::take(&mut order))?;
            answer.put(&recording);
            answer.put(&energies);
            answer.put(&of_rows);
        } else if kind == Order::State as u8 {
            answer = self.0.own_state()?;
        } else if kind == Order::Force as u8 {
            let motion: [Vec<f64>; 3] = [order.take(), order.take(), order.take()];
            answer.put(&self.0.own_force(motion.each_ref().map(Vec::as_slice))?);
        } else {
            answer = self.0.own_sums()?.unwrap_or_default();
        }
        Ok(answer.into_bytes())
    }
}

/// The part of one rank with a stepper that leaves messages to its caller.
pub(super) struct HaloMember<S> {
    part: RankPart<S>,
    dimension: usize,
    has_rows: bool,
}

impl<S: ElementPart> HaloMember<S> {
    /// The stepper of this rank's sub-domain.
    pub fn new(problem: &Problem, domains: &SubDomainsView, ranks: &Arc<dyn Ranks>, stepper: S) -> Self {
        let (dimension, has_rows) = (problem.mesh.dimension, problem.has_correction());
        // What records the force of constraints on a degree of freedom belongs to the owner of its node, too.
        let n_dofs = (problem.mesh.n_nodes() * dimension) as u64;
        let monitors: Vec<u64> = problem.monitors.iter().map(|dof| dof % n_dofs).collect();
        Self { part: RankPart::new(stepper, domains, ranks, &monitors, dimension), dimension, has_rows }
    }
}

impl<S: ElementPart> ElementMember for HaloMember<S> {
    fn about(&self) -> (Vec<u32>, Vec<u32>) {
        (self.part.monitors.columns.clone(), self.part.stepper.energy_nodes())
    }

    fn advance(&mut self, order: &Advance) -> Result<Answer, DeviceError> {
        let (mut energies, mut of_rows) = (Vec::new(), Vec::new());
        let recording = self.part.advance(order, |stepper| {
            energies.extend_from_slice(stepper.energies());
            if self.has_rows {
                of_rows.extend(stepper.work_of_rows());
            }
        })?;
        Ok(Answer { recording, energies, of_rows })
    }

    fn own_state(&mut self) -> Result<Writer, DeviceError> {
        let state = self.part.stepper.state()?;
        let mut answer = Writer::default();
        answer.put(&state.displacement);
        answer.put(&state.increment);
        answer.put(&state.memory);
        answer.put::<f64>(&[]);
        Ok(answer)
    }

    fn own_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        let n_numbers = motion[0].len();
        let local = motion.map(|values| self.part.stepper.part().select_local(values, n_numbers, self.dimension));
        self.part.stepper.viscous_force(local.each_ref().map(Vec::as_slice))
    }

    fn own_sums(&mut self) -> Result<Option<Writer>, DeviceError> {
        Ok(None)
    }
}

/// Steps a mesh with all ranks, as the leader.
pub struct TeamStepper {
    team: Team<PartMember>,
    parts: Parts,
    /// Rows of energies of each rank, and the rank and row of each in the order in which they are summed.
    n_energies: Vec<usize>,
    energies: Vec<(usize, usize)>,
    reads_table: bool,
    n_mechanisms: usize,
    copied: CopiedDisplacements,
    dimension: usize,
    step: u64,
    external_work: f64,
    damped_energy: f64,
}

impl TeamStepper {
    /// The leader's stepper, from the state that all ranks began with. The other ranks [serve](Serves::serve). Unless it
    /// `reads_table`, each rank evaluates signals itself.
    pub fn new(
        problem: &Problem,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        member: PartMember,
        state: &State,
        reads_table: bool,
    ) -> Self {
        let about: Vec<[Vec<u32>; 2]> = ranks
            .gather(member.about())
            .iter()
            .map(|bytes| {
                let mut reader = Reader::new(bytes);
                [reader.take(), reader.take()]
            })
            .collect();
        let (monitors, nodes): (Vec<_>, Vec<_>) = about.into_iter().map(|[monitors, nodes]| (monitors, nodes)).unzip();
        Self {
            team: Team::new(ranks.clone(), member),
            parts: Parts::new(domains, monitors, problem.monitors.len()),
            n_energies: nodes.iter().map(Vec::len).collect(),
            energies: order_of_sum(nodes.iter()),
            reads_table,
            n_mechanisms: problem.relaxation.rates.len(),
            copied: problem.copied.clone(),
            dimension: problem.mesh.dimension,
            step: state.step,
            external_work: state.external_work,
            damped_energy: state.damped_energy,
        }
    }

    fn force(&self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        let answers =
            self.team.order_of_kind(Order::Force as u8, |order| motion.iter().for_each(|values| order.put(values)))?;
        let of_ranks = answers.iter().map(|answer| Reader::new(answer).take()).collect();
        Ok(self.parts.join(of_ranks, self.dimension))
    }

    /// Adds the energies of steps, step by step and in each step block by block, then of linear constraints, as one stepper
    /// does.
    fn add_energies(&mut self, n_steps: usize, of_ranks: &[Vec<f64>], of_rows: &[f64]) {
        for k in 0..n_steps {
            let mut sums = [0.0; 2];
            for &(rank, row) in &self.energies {
                let at = 2 * (k * self.n_energies[rank] + row);
                sums.iter_mut().zip(&of_ranks[rank][at..at + 2]).for_each(|(sum, energy)| *sum += energy);
            }
            self.external_work += sums[0];
            self.damped_energy += sums[1];
            if let Some(&[work, damped]) = of_rows.as_chunks().0.get(k) {
                self.external_work += work;
                self.damped_energy += damped;
            }
        }
    }

    /// External work and damped energy so far, J. `kept` are the rows that members keep, which are 0 but at one of them.
    fn work(&self, kept: &[Vec<f64>]) -> [f64; 2] {
        let row = |at: usize| kept.iter().map(|rows| rows[at]).sum::<f64>();
        let column = |first: usize| (first..kept[0].len()).step_by(2).map(row).sum::<f64>();
        [column(0) + self.external_work, column(1) + self.damped_energy]
    }
}

impl Stepper for TeamStepper {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn reads_table(&self) -> bool {
        self.reads_table
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let answers = self.team.order_of_kind(Order::Advance as u8, |order| Advance::put(order, steps))?;
        let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader::new(answer)).collect();
        self.parts.join_recordings(&mut answers, steps.record.len(), recording);
        let energies: Vec<Vec<f64>> = answers.iter_mut().map(|answer| answer.take()).collect();
        self.add_energies(steps.n, &energies, &answers[0].take::<f64>());
        self.step += steps.n as u64;
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        let answers = self.team.order_of_kind(Order::State as u8, |_| ())?;
        let mut answers: Vec<Reader> = answers.iter().map(|answer| Reader::new(answer)).collect();
        let [mut displacement, mut increment] = self.parts.join_motion(&mut answers, self.dimension);
        let of_ranks: Vec<Vec<f64>> = answers.iter_mut().map(|answer| answer.take()).collect();
        let mut memory = self.parts.join_tables(&of_ranks, self.n_mechanisms, self.dimension);
        // A rank may not have what its nodes are copied from until it makes the next step.
        for values in [&mut displacement, &mut increment].into_iter().chain(&mut memory) {
            self.copied.copy(values, self.dimension);
        }
        let memory = memory.concat();
        let kept: Vec<Vec<f64>> = answers.iter_mut().map(|answer| answer.take()).collect();
        let [external_work, damped_energy] = self.work(&kept);
        Ok(State { step: self.step, displacement, increment, external_work, damped_energy, memory })
    }
}

impl ElementStepper for TeamStepper {
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        self.force([displacement, &[], &[]])
    }

    fn viscous_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        self.force(motion)
    }

    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        let answers = self.team.order_of_kind(Order::Sums as u8, |_| ())?;
        if answers.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        let (mut sums, mut kept) = (EnergySums::default(), Vec::new());
        for answer in &answers {
            let mut answer = Reader::new(answer);
            let of_rank: Vec<f64> = answer.take();
            sums.kinetic += of_rank[0];
            sums.strain += of_rank[1];
            kept.push(answer.take());
        }
        [sums.external_work, sums.damped_energy] = self.work(&kept);
        Ok(Some(sums))
    }
}
