//! Fluids that `*TIE` joins to solids: after each step, one thread adds what they put on each other.
//!
//! Nodes of a fluid and of a solid do not coincide there, so that an area A_fs belongs to each pair of a fluid's node f and a
//! solid's node s whose shape functions overlap. The step of the blocks leaves these areas out. Then
//!
//! ```text
//! Δu_s ← Δu_s + Δt²/M (Σ_f A_fs p_f),          p_f = −Δq_f/Δt before the step
//! Δq_f ← Δq_f + Δt²/m (Σ_s A_fs · Δu_s)/Δt,    Δu_s after the first line
//! ```
//!
//! are the same two lines of the scheme as where nodes are shared ([`step`](super::step)). Blocks that have or read these nodes wait
//! for that, and no others do ([`Meeting`]).
//!
//! The step has taken energies, and what monitors record, from the motion without these forces. Both are corrected here.
//!
//! A stepper with a part of a model has the areas of the whole model. Ranks tell each other the motion of the nodes, and each of
//! them computes all of it: the same numbers in the same order, so the same bits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::copies::{Places, Row};
use super::correction::{Owners, Team, move_by};
use super::schedule::Meeting;
use super::step::{Arrays, Signals};
use super::tables::Tables;
use crate::dynamics::Part;
use crate::explicit::dashpot::{Dashpot, DashpotStep};
use crate::explicit::problem::Problem;
use crate::simd::Real;

/// Areas that take about as long as a corner of an element. It weighs this turn against those of blocks.
const AREAS_OF_CORNER: usize = 2;

/// A node of a fluid or of a solid at a tie.
#[derive(Debug)]
struct Node {
    /// None where another rank has the node.
    row: Option<Row>,
    /// Where its components stand in `before` and `free`: those of a solid, or the first one of a fluid.
    places: Range<usize>,
    /// Δt²/(m (1 + q)), s²/kg.
    inertia: f64,
    /// α m / 4Δt, kg/s².
    dissipation: f64,
    /// Components that are prescribed.
    is_held: [bool; 3],
    dashpot: Option<DashpotStep>,
    /// Into [`Ties::areas`].
    areas: Range<usize>,
}

/// A part of the surface that a node shares with one of the other matter.
#[derive(Debug)]
struct Area {
    /// First place of the other node.
    other: usize,
    /// A/Δt, m²/s.
    area: [f64; 3],
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
    areas: Vec<Area>,
    /// Of a stepper with a part of the model.
    owners: Option<Owners>,
    loads: Vec<Load>,
    /// Column of a record, and the node and the place whose Δu_{n+1} it holds.
    monitors: Vec<(usize, usize, usize)>,
    /// Δu_n, and Δu_{n+1} without what passes through ties.
    before: Vec<f64>,
    free: Vec<f64>,
}

/// Areas by node of the first kind, each with the node of the other kind.
type Rows = BTreeMap<u32, Vec<(u32, [f64; 3])>>;

fn rows(problem: &Problem) -> [Rows; 2] {
    let [mut of_solids, mut of_fluids] = [Rows::new(), Rows::new()];
    let scale = 1.0 / problem.time_increment;
    for pair in &problem.tied {
        let area = pair.area.map(|area| scale * area);
        of_solids.entry(pair.solid).or_default().push((pair.fluid, area));
        of_fluids.entry(pair.fluid).or_default().push((pair.solid, area));
    }
    // In an order that does not depend on that of the list.
    for row in of_solids.values_mut().chain(of_fluids.values_mut()) {
        row.sort_by_key(|(other, _)| *other);
    }
    [of_solids, of_fluids]
}

impl Ties {
    /// Those of a part, whose team has the others.
    pub fn new<T: Real>(tables: &Tables<T>, problem: &Problem, (part, team): (&Part, Option<Team<'_>>)) -> Self {
        let d = tables.dimension;
        let [of_solids, of_fluids] = rows(problem);
        let all = of_solids.keys().map(|&node| (node, d)).chain(of_fluids.keys().map(|&node| (node, 1)));
        let mut first = BTreeMap::new();
        let mut node_of_places = Vec::new();
        for (node, n) in all {
            first.insert(node, node_of_places.len());
            node_of_places.extend(std::iter::repeat_n(node as usize, n));
        }
        let places = Places::new(tables);
        let conditions = Conditions::new(problem);
        let (mut nodes, mut areas) = (Vec::new(), Vec::new());
        for ((&node, row), n) in
            of_solids.iter().map(|entry| (entry, d)).chain(of_fluids.iter().map(|entry| (entry, 1)))
        {
            let begin = areas.len();
            areas.extend(row.iter().map(|&(other, area)| Area { other: first[&other], area }));
            let row = part.local_own(node as usize).map(|local| places.row(local));
            nodes.push(Node::new(&conditions, node, row, first[&node]..first[&node] + n, begin..areas.len()));
        }
        let find = |dof: u64| {
            let (node, component) = ((dof / d as u64) as u32, (dof % d as u64) as usize);
            let place = first.get(&node)? + component;
            (node_of_places.get(place) == Some(&(node as usize))).then_some(place)
        };
        let load = |dof, signal: u32, value| Some(Load { place: find(dof)?, signal: signal as usize, value });
        let columns = problem.monitors.iter().enumerate();
        let monitors = columns.filter_map(|(column, &dof)| {
            let place = find(dof)?;
            Some((column, nodes.partition_point(|node: &Node| node.places.end <= place), place))
        });
        Self {
            owners: team.map(|team| Owners::new(team, &node_of_places)),
            loads: problem.forces.iter().filter_map(|f| load(f.dof, f.signal, f.value)).collect(),
            monitors: monitors.collect(),
            n_solids: of_solids.len(),
            dimension: d,
            before: vec![0.0; node_of_places.len()],
            free: vec![0.0; node_of_places.len()],
            nodes,
            areas,
        }
    }

    /// The blocks that wait for a step to be corrected.
    pub fn meeting<T: Real>(&self, tables: &Tables<T>) -> Meeting {
        let rows = self.nodes.iter().filter_map(|node| node.row);
        Meeting::at(tables, rows.map(|row| row.increment / tables.dimension), self.areas.len() / AREAS_OF_CORNER)
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

    /// Adds what fluids and solids put on each other in the step from n to n + 1, and corrects what has been recorded of it. Returns
    /// what is added to the external work and to the damped energy of the whole model, J. Collective.
    ///
    /// # Safety
    /// The pointers must hold the rows that the tables name. Nobody else may touch those of nodes at ties, nor what has been
    /// recorded of them.
    pub unsafe fn pass<T: Real>(&mut self, signals: Signals<'_>, arrays: &Arrays<T>) -> [f64; 2] {
        for node in &self.nodes {
            if let Some(row) = node.row {
                for (component, place) in node.places.clone().enumerate() {
                    // SAFETY: the caller's promise.
                    self.free[place] = unsafe { *arrays.increment.add(row.increment + component) }.to_f64();
                }
            }
        }
        if let Some(owners) = &self.owners {
            owners.complete(&mut [&mut self.before, &mut self.free]);
        }
        let mut added = Added::default();
        for at in 0..self.nodes.len() {
            let mut force = [0.0; 3];
            for Area { other, area } in &self.areas[self.nodes[at].areas.clone()] {
                if at < self.n_solids {
                    // A p, p = −Δq_n/Δt.
                    let dq = self.before[*other];
                    force.iter_mut().zip(area).for_each(|(force, area)| *force -= area * dq);
                } else {
                    // A · Δu_{n+1}/Δt.
                    let moved = &self.before[*other..][..self.dimension];
                    force[0] += area.iter().zip(moved).map(|(area, du)| area * du).sum::<f64>();
                }
            }
            // SAFETY: the caller's promise.
            unsafe { self.push(at, force, arrays, &mut added) };
        }
        for load in &self.loads {
            // The step has counted the motion without ties.
            added.work += 0.5 * load.value * signals.now[load.signal] * self.free[load.place];
        }
        if !arrays.recording.is_null() {
            for &(column, node, place) in &self.monitors {
                if self.nodes[node].row.is_some() {
                    // SAFETY: the caller's promise; there is a row of all monitors.
                    unsafe { *arrays.recording.add(3 * column + 2) = self.before[place] };
                }
            }
        }
        [added.work, added.damped]
    }

    /// Moves a node by what a force does to it in this step. `before` then holds Δu_{n+1}, and `free` what was added to it.
    ///
    /// # Safety
    /// As for [`pass`](Self::pass).
    unsafe fn push<T: Real>(&mut self, at: usize, force: [f64; 3], arrays: &Arrays<T>, added: &mut Added) {
        let node = &self.nodes[at];
        let response = match &node.dashpot {
            None => force.map(|force| node.inertia * force),
            Some(dashpot) => dashpot.response(force),
        };
        let [mut old, mut free, mut new] = [[0.0; 3]; 3];
        for (c, place) in node.places.clone().enumerate() {
            (old[c], free[c]) = (self.before[place], self.free[place]);
            new[c] = free[c];
            if !node.is_held[c] {
                let rounded = T::from_f64(free[c] + response[c]);
                new[c] = rounded.to_f64();
                if let Some(row) = node.row {
                    // SAFETY: the caller's promise.
                    unsafe {
                        *arrays.increment.add(row.increment + c) = rounded;
                        move_by((row, c), response[c], arrays);
                    }
                }
            }
            (self.before[place], self.free[place]) = (new[c], new[c] - free[c]);
        }
        node.account([old, free, new], force, added);
    }
}

/// What is prescribed, and which nodes have dashpots.
struct Conditions<'a, 'b> {
    problem: &'a Problem<'b>,
    held: HashSet<u64>,
    dashpots: HashMap<u32, &'a Dashpot>,
}

impl<'a, 'b> Conditions<'a, 'b> {
    fn new(problem: &'a Problem<'b>) -> Self {
        let held = problem.constraints.iter().map(|constraint| constraint.dof).collect();
        let dashpots = problem.dashpots.iter().map(|dashpot| (dashpot.node, dashpot)).collect();
        Self { problem, held, dashpots }
    }
}

impl Node {
    fn new(of: &Conditions<'_, '_>, node: u32, row: Option<Row>, places: Range<usize>, areas: Range<usize>) -> Self {
        let Conditions { problem, held, dashpots } = of;
        let (index, dt) = (node as usize, problem.time_increment);
        let (mass, rate) = (problem.lumped_mass[index], problem.damping_rate_of(index));
        let first = u64::from(node) * problem.mesh.dimension as u64;
        let is_held = [0, 1, 2].map(|c| (c as usize) < problem.mesh.dimension && held.contains(&(first + c)));
        let dashpot = dashpots.get(&node);
        Self {
            row,
            places,
            inertia: if mass > 0.0 { dt * dt / (mass * (1.0 + 0.5 * rate * dt)) } else { 0.0 },
            dissipation: problem.damping(index)[1],
            is_held,
            dashpot: dashpot.map(|dashpot| DashpotStep::new(dashpot, (mass, rate), is_held, dt)),
            areas,
        }
    }

    /// What the step has not counted: Δu_n, and Δu_{n+1} without and with the force.
    fn account(&self, [old, free, new]: [[f64; 3]; 3], force: [f64; 3], added: &mut Added) {
        let mut of_dashpot = [0.0; 3];
        if let Some(dashpot) = &self.dashpot {
            let [without, with] = [free, new].map(|next| dashpot.force(old, next));
            for c in 0..3 {
                added.damped += 0.5 * (with[c] * (old[c] + new[c]) - without[c] * (old[c] + free[c]));
                of_dashpot[c] = with[c] - without[c];
            }
        }
        for c in 0..self.places.len() {
            if self.is_held[c] {
                // R = m a + c v + G v + f_int − F, and the force of the tie is part of F.
                added.work += 0.5 * (of_dashpot[c] - force[c]) * (old[c] + new[c]);
            } else {
                added.damped += self.dissipation * ((old[c] + new[c]).powi(2) - (old[c] + free[c]).powi(2));
            }
        }
    }
}
