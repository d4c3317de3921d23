//! The explicit step by several ranks, each with a sub-domain.
//!
//! After each step a rank sends the displacements of the nodes that others read. Loads, constraints, monitors and energies
//! belong to the owner of their node. The leader puts them together in the order of a single stepper, so the results have
//! the same bits for any number of ranks.

use std::sync::{Arc, Mutex, PoisonError};

use pogo_formats::domains::SubDomainsView;

use super::{ElementStepper, Problem};
use crate::device::DeviceError;
use crate::dynamics::{Part, PartStepper, SignalTable, State, Stepper, update_halo};
use crate::exchange::Exchange;
use crate::ranks::{Member, Ranks, Reader, Serves, Team, Writer, serve};

/// A stepper of a part of a mesh.
pub trait ElementPart: PartStepper + Stepper<State = State> {
    /// First own node of each block that keeps energies, by ascending solver index: the order in which they are summed.
    fn energy_nodes(&self) -> Vec<u32>;

    /// External work and damped energy of the last step, J, (n_energy_nodes, 2).
    fn energies(&self) -> &[f64];

    /// f_int on own nodes, N, (n_own × dimension,), for displacements of own nodes and halo, (n_local × dimension,).
    ///
    /// # Errors
    /// The device is lost.
    fn part_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError>;
}

/// What the leader orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Make steps; the number of steps, signals and steps to record follow.
    Advance = 0,
    /// Send u and Δu of own nodes.
    State = 1,
    /// Send f_int of own nodes; the displacement of all nodes follows.
    Force = 2,
}

/// The part of one rank.
pub struct PartMember<S> {
    stepper: S,
    exchange: Exchange,
    rank: usize,
    dimension: usize,
    /// Columns of the monitors that stand on own nodes, of so many.
    monitors: Vec<u32>,
    n_monitors: usize,
}

impl<S: ElementPart> PartMember<S> {
    /// The stepper of this rank's sub-domain.
    pub fn new(problem: &Problem, domains: &SubDomainsView, ranks: &Arc<dyn Ranks>, stepper: S) -> Self {
        let dimension = problem.mesh.dimension;
        let is_own = |dof: u64| stepper.part().local_own((dof / dimension as u64) as usize).is_some();
        let columns = (0..).zip(&problem.monitors).filter(|&(_, &dof)| is_own(dof));
        Self {
            exchange: Exchange::over(ranks, domains, |node| stepper.rows(node)),
            rank: ranks.rank(),
            dimension,
            monitors: columns.map(|(column, _)| column).collect(),
            n_monitors: problem.monitors.len(),
            stepper,
        }
    }

    /// What the leader has to know: the columns of own monitors, and which blocks keep energies.
    fn about(&self) -> Vec<u8> {
        let mut about = Writer::default();
        about.put(&self.monitors);
        about.put(&self.stepper.energy_nodes());
        about.into_bytes()
    }

    /// Steps one by one. The answer: recorded values of own monitors, and energies of each step.
    fn advance(&mut self, order: &mut Reader<'_>) -> Result<Writer, DeviceError> {
        let n_steps = order.one::<u64>() as usize;
        let (n_signals, values) = (order.one::<u64>() as usize, order.take::<f64>());
        let record: Vec<u64> = order.take();
        let (mut recording, mut energies) = (Vec::<f64>::new(), Vec::<f64>::new());
        let mut table = SignalTable { n_signals, values: Vec::new() };
        let mut outcome = Ok(());
        for k in 0..n_steps {
            update_halo(&self.exchange, self.rank, &mut self.stepper);
            table.values.clear();
            table.values.extend_from_slice(&values[k * n_signals..(k + 2) * n_signals]);
            let step = [self.stepper.step()];
            let record = if record.binary_search(&step[0]).is_ok() { &step[..] } else { &[] };
            let mut row = Vec::new();
            // A rank whose device is lost goes on sending, as others wait for its messages.
            outcome = outcome.and_then(|()| self.stepper.advance(1, &table, record, &mut row));
            debug_assert!(row.len() == record.len() * 3 * self.n_monitors || outcome.is_err());
            if !row.is_empty() {
                let of_column = |&column: &u32| row[3 * column as usize..3 * (column as usize + 1)].iter();
                recording.extend(self.monitors.iter().flat_map(of_column));
            }
            energies.extend_from_slice(self.stepper.energies());
        }
        outcome?;
        let mut answer = Writer::default();
        answer.put(&recording);
        answer.put(&energies);
        Ok(answer)
    }
}

impl<S: ElementPart + 'static> Serves for PartMember<S> {
    fn serve(self, ranks: &dyn Ranks) {
        ranks.gather(self.about());
        serve(ranks, self);
    }
}

impl<S: ElementPart> Member for PartMember<S> {
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut order = Reader::new(order);
        let kind = order.one::<u8>();
        let answer = if kind == Order::Advance as u8 {
            self.advance(&mut order)?
        } else if kind == Order::State as u8 {
            let state = self.stepper.state()?;
            let mut answer = Writer::default();
            answer.put(&state.displacement);
            answer.put(&state.increment);
            answer
        } else {
            let (displacement, d) = (order.take::<f64>(), self.dimension);
            let part = self.stepper.part();
            let halo = part.halo().iter().flat_map(|&node| &displacement[node as usize * d..][..d]).copied();
            let local: Vec<f64> = part.select(&displacement, d).into_iter().chain(halo).collect();
            let mut answer = Writer::default();
            answer.put(&self.stepper.part_force(&local)?);
            answer
        };
        Ok(answer.into_bytes())
    }
}

/// Steps a mesh with all ranks, as the leader.
pub struct TeamStepper<S> {
    team: Mutex<Team<PartMember<S>>>,
    parts: Vec<Part>,
    /// Columns of the monitors of each rank.
    monitors: Vec<Vec<u32>>,
    n_monitors: usize,
    /// Rows of energies of each rank, and the rank and row of each in the order in which they are summed.
    n_energies: Vec<usize>,
    energies: Vec<(usize, usize)>,
    n_nodes: usize,
    dimension: usize,
    step: u64,
    external_work: f64,
    damped_energy: f64,
}

impl<S: ElementPart> TeamStepper<S> {
    /// The leader's stepper, from the state that all ranks began with. The other ranks [serve](Serves::serve).
    pub fn new(
        problem: &Problem,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        member: PartMember<S>,
        state: &State,
    ) -> Self {
        let about: Vec<[Vec<u32>; 2]> = ranks
            .gather(member.about())
            .iter()
            .map(|bytes| {
                let mut reader = Reader::new(bytes);
                [reader.take(), reader.take()]
            })
            .collect();
        let of_rank = |(rank, [_, nodes]): (usize, &[Vec<u32>; 2])| {
            nodes.iter().enumerate().map(|(row, &node)| (node, rank, row)).collect::<Vec<_>>()
        };
        let mut rows: Vec<_> = about.iter().enumerate().flat_map(of_rank).collect();
        rows.sort_unstable();
        Self {
            team: Mutex::new(Team::new(ranks.clone(), member)),
            parts: (0..ranks.n_ranks()).map(|domain| Part::of(domains, domain)).collect(),
            n_energies: about.iter().map(|[_, nodes]| nodes.len()).collect(),
            monitors: about.into_iter().map(|[monitors, _]| monitors).collect(),
            n_monitors: problem.monitors.len(),
            energies: rows.into_iter().map(|(_, rank, row)| (rank, row)).collect(),
            n_nodes: problem.mesh.n_nodes(),
            dimension: problem.mesh.dimension,
            step: state.step,
            external_work: state.external_work,
            damped_energy: state.damped_energy,
        }
    }

    fn order(&self, kind: Order, content: impl FnOnce(&mut Writer)) -> Result<Vec<Vec<u8>>, DeviceError> {
        let mut order = Writer::default();
        order.put(&[kind as u8]);
        content(&mut order);
        self.team.lock().unwrap_or_else(PoisonError::into_inner).order(&order.into_bytes())
    }

    /// Numbers of nodes, (n_nodes × dimension,), from those of the own nodes of each rank.
    fn join(&self, of_ranks: Vec<Vec<f64>>) -> Vec<f64> {
        let d = self.dimension;
        let mut all = vec![0.0; self.n_nodes * d];
        for (part, values) in self.parts.iter().zip(of_ranks) {
            for (node, row) in part.own().zip(values.chunks_exact(d)) {
                all[node * d..(node + 1) * d].copy_from_slice(row);
            }
        }
        all
    }
}

impl<S: ElementPart> Stepper for TeamStepper<S> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn advance(
        &mut self,
        n_steps: usize,
        signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        crate::dynamics::check_advance(self.step, n_steps, signals, record);
        let answers = self.order(Order::Advance, |order| {
            order.put(&[n_steps as u64]);
            order.put(&[signals.n_signals as u64]);
            order.put(&signals.values);
            order.put(record);
        })?;
        let first = recording.len();
        recording.resize(first + record.len() * 3 * self.n_monitors, 0.0);
        let mut energies: Vec<Vec<f64>> = Vec::new();
        for (answer, columns) in answers.iter().zip(&self.monitors) {
            let mut answer = Reader::new(answer);
            let recorded: Vec<f64> = answer.take();
            let mut triples = recorded.chunks_exact(3);
            for row in recording[first..].chunks_exact_mut(3 * self.n_monitors.max(1)) {
                for (&column, triple) in columns.iter().zip(&mut triples) {
                    row[3 * column as usize..3 * (column as usize + 1)].copy_from_slice(triple);
                }
            }
            energies.push(answer.take());
        }
        for k in 0..n_steps {
            let mut sums = [0.0; 2];
            for &(rank, row) in &self.energies {
                let at = 2 * (k * self.n_energies[rank] + row);
                sums.iter_mut().zip(&energies[rank][at..at + 2]).for_each(|(sum, energy)| *sum += energy);
            }
            self.external_work += sums[0];
            self.damped_energy += sums[1];
        }
        self.step += n_steps as u64;
        Ok(())
    }

    fn state(&self) -> Result<State, DeviceError> {
        let answers = self.order(Order::State, |_| ())?;
        let (displacement, increment) = answers
            .iter()
            .map(|answer| {
                let mut answer = Reader::new(answer);
                (answer.take(), answer.take())
            })
            .unzip();
        Ok(State {
            step: self.step,
            displacement: self.join(displacement),
            increment: self.join(increment),
            external_work: self.external_work,
            damped_energy: self.damped_energy,
        })
    }
}

impl<S: ElementPart> ElementStepper for TeamStepper<S> {
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        let answers = self.order(Order::Force, |order| order.put(displacement))?;
        Ok(self.join(answers.iter().map(|answer| Reader::new(answer).take()).collect()))
    }
}
