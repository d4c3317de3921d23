//! Fluids that `*TIE` joins to solids, and those that touch what linear constraints move: after each step, one thread adds what they
//! put on each other ([`ties`](crate::explicit::ties)). Blocks that have or read these nodes wait for that, and no others do
//! ([`Meeting`](super::schedule::Meeting)).
//!
//! The step has taken energies, and what monitors record, from the motion without these forces. Both are corrected here.
//!
//! A stepper with a part of a model has the areas of the whole model. Ranks tell each other the motion of the nodes, and each of
//! them computes all of it: the same numbers in the same order, so the same bits.

use std::collections::HashMap;
use std::ops::Range;

use super::copies::{Places, Row};
use super::correction::{Owners, Team, move_by};
use super::step::{Arrays, Signals};
use super::tables::Tables;
use crate::dynamics::Part;
use crate::explicit::dashpot;
use crate::explicit::problem::Problem;
use crate::explicit::ties::{TieArea, TieNode, TieNodes};
use crate::simd::Real;

/// Areas that take about as long as a corner of an element. It weighs this turn against those of blocks.
const AREAS_OF_CORNER: usize = 2;

/// A node of a fluid or of a solid at a tie.
#[derive(Debug)]
struct Node {
    tie: TieNode,
    /// None where another rank has the node.
    row: Option<Row>,
    /// Where its components stand in `before`, `free` and `after`.
    places: Range<usize>,
    /// First place of the other node of each of its areas.
    others: Vec<usize>,
}

/// A force on a degree of freedom at a tie.
#[derive(Debug)]
struct Load {
    place: usize,
    signal: usize,
    /// N at signal 1.
    value: f64,
}

/// What a step adds to the external work and to the damped energy, J.
#[derive(Debug, Default)]
struct Added {
    work: f64,
    damped: f64,
}

/// The ties of fluids of a stepper.
#[derive(Debug)]
pub(super) struct Ties {
    /// Nodes of solids, then those of fluids.
    nodes: Vec<Node>,
    n_solids: usize,
    dimension: usize,
    time_increment: f64,
    /// The damped energy holds the work of all internal forces.
    is_lagged: bool,
    /// Of a stepper with a part of the model.
    owners: Option<Owners>,
    loads: Vec<Load>,
    /// Column of a record, and the node and the place whose Δu_{n+1} it holds.
    monitors: Vec<(usize, usize, usize)>,
    /// Δu_n, Δu_{n+1} as blocks leave it, and as it is by now.
    before: Vec<f64>,
    free: Vec<f64>,
    after: Vec<f64>,
    /// Force on each place, N, and Δu_{n+1} with it, where `is_lagged`.
    pushed: Vec<[f64; 2]>,
}

impl Ties {
    /// Those of a part, whose team has the others. Linear constraints move the degrees of freedom `moved`. None where nothing is
    /// tied, and no fluid touches what is moved.
    pub fn new<T: Real>(
        tables: &Tables<T>,
        problem: &Problem,
        (part, team): (&Part, Option<Team<'_>>),
        moved: impl Iterator<Item = u64>,
    ) -> Option<Self> {
        let d = tables.dimension;
        let TieNodes { solids, fluids } = TieNodes::new(problem, moved)?;
        let n_solids = solids.len();
        let places = Places::new(tables);
        let (mut first, mut nodes, mut node_of_places) = (HashMap::new(), Vec::new(), Vec::new());
        for tie in solids.into_iter().chain(fluids) {
            let begin = node_of_places.len();
            first.insert(tie.node, begin);
            node_of_places.extend(std::iter::repeat_n(tie.node as usize, tie.n));
            let row = part.local_own(tie.node as usize).map(|local| places.row(local));
            nodes.push(Node { places: begin..node_of_places.len(), row, tie, others: Vec::new() });
        }
        for Node { tie, others, .. } in &mut nodes {
            *others = tie.areas.iter().map(|area| first[&area.other]).collect();
        }
        let find = |dof: u64| {
            let (node, component) = ((dof / d as u64) as u32, (dof % d as u64) as usize);
            let place = first.get(&node)? + component;
            (node_of_places.get(place) == Some(&(node as usize))).then_some(place)
        };
        let load = |dof, signal: u32, value| Some(Load { place: find(dof)?, signal: signal as usize, value });
        let columns = problem.monitors.iter().enumerate();
        let n_dofs = (problem.mesh.n_nodes() * d) as u64;
        let monitors =
            columns.filter(|&(_, &dof)| problem.force_of_monitor(dof).is_none()).filter_map(|(column, dof)| {
                // Those of memory variables record the motion, too.
                let place = find(dof % n_dofs)?;
                Some((column, nodes.partition_point(|node: &Node| node.places.end <= place), place))
            });
        Some(Self {
            owners: team.map(|team| Owners::new(team, &node_of_places)),
            loads: problem.forces.iter().filter_map(|f| load(f.dof, f.signal, f.value)).collect(),
            monitors: monitors.collect(),
            n_solids,
            dimension: d,
            time_increment: problem.time_increment,
            is_lagged: tables.is_lagged,
            before: vec![0.0; node_of_places.len()],
            free: vec![0.0; node_of_places.len()],
            after: vec![0.0; node_of_places.len()],
            pushed: Vec::new(),
            nodes,
        })
    }

    /// Own nodes at ties, by their numbers in the part.
    pub fn nodes(&self, dimension: usize) -> impl Iterator<Item = usize> {
        self.nodes.iter().filter_map(move |node| Some(node.row?.increment / dimension))
    }

    /// What the turn of the ties costs, as the corners of elements.
    pub fn weight(&self) -> usize {
        self.nodes.iter().map(|node| node.tie.areas.len()).sum::<usize>() / AREAS_OF_CORNER
    }

    /// Keeps Δu_n.
    pub fn keep<T: Real>(&mut self, increment: &[T]) {
        for node in &self.nodes {
            if let Some(row) = node.row {
                let values = &increment[row.increment..][..node.places.len()];
                self.before[node.places.clone()].iter_mut().zip(values).for_each(|(to, from)| *to = from.to_f64());
            }
        }
    }

    /// Takes Δu_{n+1} of these nodes into `after`.
    ///
    /// # Safety
    /// As for [`press`](Self::press).
    unsafe fn take<T: Real>(&mut self, nodes: Range<usize>, arrays: &Arrays<T>) {
        for node in &self.nodes[nodes] {
            if let Some(row) = node.row {
                for (component, place) in node.places.clone().enumerate() {
                    // SAFETY: the caller's promise.
                    self.after[place] = unsafe { *arrays.increment.add(row.increment + component) }.to_f64();
                }
            }
        }
    }

    /// Adds what fluids put on solids in the step from n to n + 1. Returns what is added to the external work and to the damped
    /// energy of the whole model, J. Collective.
    ///
    /// # Safety
    /// The pointers must hold the rows that the tables name. Nobody else may touch those of nodes at ties, nor what has been
    /// recorded of them.
    pub unsafe fn press<T: Real>(&mut self, signals: Signals<'_>, arrays: &Arrays<T>) -> [f64; 2] {
        // SAFETY: the caller's promise.
        unsafe { self.take(0..self.nodes.len(), arrays) };
        if let Some(owners) = &self.owners {
            owners.complete(&mut [&mut self.before, &mut self.after]);
        }
        self.free.copy_from_slice(&self.after);
        let mut added = Added::default();
        self.pushed.clear();
        for at in 0..self.n_solids {
            // A p, p = −Δq_n/Δt.
            let mut force = [0.0; 3];
            let Node { tie, others, .. } = &self.nodes[at];
            for (&other, TieArea { area, .. }) in others.iter().zip(&tie.areas) {
                let dq = self.before[other];
                force.iter_mut().zip(area).for_each(|(force, area)| *force -= area * dq);
            }
            if !self.nodes[at].others.is_empty() {
                // SAFETY: the caller's promise.
                unsafe { self.push(at, force, arrays, &mut added) };
            }
            self.keep_pushed(at, force);
        }
        self.add_work_of_loads(0..self.first_of_fluids(), signals, &mut added);
        [added.work, added.damped]
    }

    /// Adds what solids let flow out of fluids in that step, and corrects what has been recorded of it. The solids may have been moved
    /// meanwhile by linear constraints. Returns what is added, as [`press`](Self::press) does. Collective.
    ///
    /// # Safety
    /// As for [`press`](Self::press).
    pub unsafe fn follow<T: Real>(&mut self, were_moved: bool, signals: Signals<'_>, arrays: &Arrays<T>) -> [f64; 2] {
        if were_moved {
            // SAFETY: the caller's promise.
            unsafe { self.take(0..self.n_solids, arrays) };
            if let Some(owners) = &self.owners {
                owners.complete(&mut [&mut self.after]);
            }
        }
        let mut added = Added::default();
        if were_moved {
            added.damped += self.work_on_moved(0..self.first_of_fluids());
        }
        for at in self.n_solids..self.nodes.len() {
            // A · Δu_{n+1}/Δt.
            let mut flow = 0.0;
            let Node { tie, others, .. } = &self.nodes[at];
            for (&other, &TieArea { area, is_stepped, .. }) in others.iter().zip(&tie.areas) {
                let known = |place: usize| if is_stepped { self.free[place] } else { 0.0 };
                let moved = (other..other + self.dimension).map(|place| self.after[place] - known(place));
                flow += area.iter().zip(moved).map(|(area, du)| area * du).sum::<f64>();
            }
            // SAFETY: the caller's promise.
            unsafe { self.push(at, [flow, 0.0, 0.0], arrays, &mut added) };
            self.keep_pushed(at, [flow, 0.0, 0.0]);
        }
        self.add_work_of_loads(self.first_of_fluids()..self.after.len(), signals, &mut added);
        if !arrays.recording.is_null() {
            for &(column, node, place) in &self.monitors {
                if self.nodes[node].row.is_some() {
                    // SAFETY: the caller's promise; there is a row of all monitors.
                    unsafe { *arrays.recording.add(3 * column + 2) = self.after[place] };
                }
            }
        }
        [added.work, added.damped]
    }

    /// Ends the step. The fluids may have been moved meanwhile by linear constraints. Returns what is added, as
    /// [`press`](Self::press) does. Collective.
    ///
    /// # Safety
    /// As for [`press`](Self::press).
    pub unsafe fn finish<T: Real>(&mut self, were_moved: bool, arrays: &Arrays<T>) -> [f64; 2] {
        let mut damped = 0.0;
        if were_moved {
            // SAFETY: the caller's promise.
            unsafe { self.take(self.n_solids..self.nodes.len(), arrays) };
            if let Some(owners) = &self.owners {
                owners.complete(&mut [&mut self.after]);
            }
            damped = self.work_on_moved(self.first_of_fluids()..self.after.len());
        }
        std::mem::swap(&mut self.before, &mut self.after);
        [0.0, damped]
    }

    /// Keeps the force on a node, and its motion with it.
    fn keep_pushed(&mut self, at: usize, force: [f64; 3]) {
        if self.is_lagged {
            let after = &self.after[self.nodes[at].places.clone()];
            self.pushed.extend(force.into_iter().zip(after).map(|(force, &pushed)| [force, pushed]));
        }
    }

    /// The work of the forces of ties on what linear constraints have added to the motion of some places, J, where `is_lagged`: these
    /// have counted what holds against internal forces less the forces of ties.
    fn work_on_moved(&self, places: Range<usize>) -> f64 {
        let pushed = self.pushed.get(places.clone()).into_iter().flatten();
        let moved = pushed.zip(&self.after[places]).map(|([force, pushed], after)| force * (after - pushed));
        0.5 * moved.sum::<f64>()
    }

    /// First place of a fluid.
    fn first_of_fluids(&self) -> usize {
        self.nodes[self.n_solids].places.start
    }

    /// The work of loads at some places on what was added to the motion there.
    fn add_work_of_loads(&self, places: Range<usize>, signals: Signals<'_>, added: &mut Added) {
        for load in self.loads.iter().filter(|load| places.contains(&load.place)) {
            // The step has counted the motion without ties.
            let work = 0.5 * load.value * signals.now[load.signal] * (self.after[load.place] - self.free[load.place]);
            added.work += work;
            added.damped += if self.is_lagged { work } else { 0.0 };
        }
    }

    /// Moves a node by what a force does to it in this step.
    ///
    /// # Safety
    /// As for [`press`](Self::press).
    unsafe fn push<T: Real>(&mut self, at: usize, force: [f64; 3], arrays: &Arrays<T>, added: &mut Added) {
        let node = &self.nodes[at];
        let response =
            node.tie.response.map(|row| row.iter().zip(force).map(|(response, force)| response * force).sum::<f64>());
        let [mut old, mut free, mut new] = [[0.0; 3]; 3];
        for (c, place) in node.places.clone().enumerate() {
            (old[c], free[c]) = (self.before[place], self.free[place]);
            new[c] = free[c];
            if !node.tie.is_held[c] {
                let rounded = T::from_f64(free[c] + response[c]);
                new[c] = rounded.to_f64();
                if let Some(row) = node.row {
                    // SAFETY: the caller's promise.
                    unsafe {
                        *arrays.increment.add(row.increment + c) = rounded;
                        move_by((row, c), response[c], arrays);
                        if let Some(boundary) = row.boundary.filter(|_| self.is_lagged) {
                            *arrays.next_boundary_increment.add(boundary + c) = rounded;
                        }
                    }
                }
            }
            self.after[place] = new[c];
        }
        node.tie.account([old, free, new], (force, self.time_increment), self.is_lagged, added);
    }
}

impl TieNode {
    /// What the step has not counted: Δu_n, and Δu_{n+1} without and with the force.
    fn account(
        &self,
        [old, free, new]: [[f64; 3]; 3],
        (force, dt): ([f64; 3], f64),
        is_lagged: bool,
        added: &mut Added,
    ) {
        let [without, with] = [free, new].map(|next| dashpot::force(&self.matrix, dt, old, next));
        for c in 0..self.n {
            added.damped += 0.5 * (with[c] * (old[c] + new[c]) - without[c] * (old[c] + free[c]));
            if self.is_held[c] {
                // R = m a + c v + G v + f_int − F, and the force of the tie is part of F.
                added.work += 0.5 * (with[c] - without[c] - force[c]) * (old[c] + new[c]);
            } else {
                added.damped += self.dissipation * ((old[c] + new[c]).powi(2) - (old[c] + free[c]).powi(2));
                if is_lagged {
                    // f_int − F, from the equation of motion of the step without the force.
                    let internal = self.inertia[0] * old[c] - self.inertia[1] * free[c] - without[c];
                    added.damped += 0.5 * internal * (new[c] - free[c]);
                }
            }
        }
    }
}
