//! What the inner loop reads, laid out block by block for a given number of lanes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use pogo_formats::mesh::{ElementKind, ElementLaw};
use pogo_formats::system::parallel::iterate::*;

use super::block::{BlockTables, Layout, Run};
use super::ground::NodeDashpot;
use super::law::{Law, force_stride, n_dummies, record_stride};
use crate::dynamics::Part;
use crate::explicit::dashpot::DashpotStep;
use crate::explicit::groups::{computes_once, groups_of};
use crate::explicit::problem::{Problem, StepperError};
use crate::explicit::units::{Material, Units};
use crate::simd::Real;

/// A block, or several of the file's as one, and where its rows stand in the tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    /// Its nodes, by their numbers in the part, in local order. A block that only passes forces on has none.
    pub own: Vec<Range<usize>>,
    pub n_own: usize,
    /// Into [`Tables::boundary`]: the nodes that other blocks read.
    pub boundary: Range<usize>,
    /// Into [`Tables::halo`].
    pub halo: Range<usize>,
    /// First row of its own, halo and dummy nodes among those of all blocks.
    pub first_row: usize,
    /// Into [`Tables::runs`].
    pub runs: Range<usize>,
    /// First row in [`Tables::decay`] and [`Tables::dissipation`].
    pub damped: Option<usize>,
    pub forces: Range<usize>,
    pub constraints: Range<usize>,
    pub monitors: Range<usize>,
    pub dashpots: Range<usize>,
    /// Into [`Tables::incoming`].
    pub incoming: Range<usize>,
    /// Into [`Tables::wet`].
    pub wet: Range<usize>,
    /// Row in the table of energies where forces, moving supports or damping exchange energy; with a lag everywhere.
    pub energy_row: Option<usize>,
}

impl Block {
    pub fn n_local(&self, dimension: usize) -> usize {
        self.n_own + self.halo.len() + n_dummies(dimension)
    }

    /// Its nodes, by their numbers in the part, in local order.
    #[inline(always)]
    pub fn nodes(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.own.iter().flat_map(Range::clone)
    }

    /// Local index of the first node and numbers of each run of own nodes.
    #[inline(always)]
    pub fn pieces(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        self.own.iter().scan(0, |next, own| Some((std::mem::replace(next, *next + own.len()), own.clone())))
    }
}

/// A degree of freedom of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dof {
    /// Local index of the node.
    pub local: usize,
    /// Number of the node in the part.
    pub node: usize,
    pub component: usize,
}

/// F = value × signal on a degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Force {
    pub dof: Dof,
    pub signal: usize,
    pub value: f64,
}

/// u = value × signal + const on a degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Support {
    pub dof: Dof,
    pub signal: usize,
    pub value: f64,
    /// m, for the reaction.
    pub mass: f64,
    /// c = α m.
    pub damping: f64,
}

/// A recorded degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Monitor {
    pub dof: Dof,
    /// Position in the problem's list.
    pub column: usize,
    /// The mechanism whose z_l is recorded.
    pub memory: Option<usize>,
}

/// A node of a fluid and one of a solid at the same place; see [`WetPair`](crate::explicit::WetPair).
#[derive(Debug, Clone, Copy)]
pub(super) struct Wet {
    pub fluid: Dof,
    pub solid: Dof,
    /// A/Δt in units of force.
    pub area: [f64; 3],
    /// Among the block's constraints, those of the solid's components.
    pub supports: [Option<u32>; 3],
}

/// A force that another block has computed on a node of this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    /// Local index of the node.
    pub node: u32,
    /// Row of the other block.
    pub row: u32,
}

/// The constant tables of the blocks of a part of a model. Lengths are in units of a power of two near the element size, so
/// that single precision never under- or overflows; D carries the rest. Nodes have their numbers in the [`Part`].
#[derive(Debug, Default)]
pub(super) struct Tables<T> {
    pub dimension: usize,
    /// Elements of a batch.
    pub lanes: usize,
    /// Where all elements are triangles in the plane, the kind of strips in which solids stand; without solids, that of fluids.
    pub strips: Option<Law>,
    /// Own nodes of the part.
    pub n_nodes: usize,
    pub n_halo: usize,
    pub blocks: Vec<Block>,
    /// Positions of own, halo and dummy nodes relative to the block, (n_rows, dimension); in the plane they move on into
    /// the state, but for those of strips; none where strips have their edges.
    pub coordinates: Vec<T>,
    /// Row in the boundary arrays of each halo node; where elements are computed once, its number in the part.
    pub halo: Vec<u32>,
    /// Forces from other blocks, in the order in which they are added; empty where each block computes all elements that
    /// it touches.
    pub incoming: Vec<Incoming>,
    /// Own, halo and dummy nodes of all blocks.
    pub n_rows: usize,
    /// Local index of each boundary node, block by block, in the order of the boundary arrays; empty where elements are
    /// computed once. Rows of the part's halo follow in those arrays.
    pub boundary: Vec<u16>,
    /// Row in the boundary arrays of own nodes that other parts read, as they list them.
    pub rows_read_by_others: Vec<u32>,
    pub runs: Vec<Run>,
    /// Local node indices times [`grain`](super::law::grain), run by run, (n_batches, nodes, lanes).
    pub offsets: Vec<u16>,
    /// See [`Batches`](super::forces::Batches), run by run.
    pub factors: Vec<T>,
    pub materials: Vec<Material<T>>,
    /// p = Δt² / (m (1 + q)), (n_nodes,); 0 without mass.
    pub inertia: Vec<T>,
    /// r = (1 − q) / (1 + q) of the nodes of damped blocks, in local order.
    pub decay: Vec<T>,
    /// c / (4 Δt) of the same nodes.
    pub dissipation: Vec<T>,
    pub forces: Vec<Force>,
    pub constraints: Vec<Support>,
    pub monitors: Vec<Monitor>,
    pub wet: Vec<Wet>,
    pub dashpots: Vec<NodeDashpot>,
    /// Monitors of the problem; those of other parts' nodes are recorded as 0.
    pub n_monitors: usize,
    pub n_energy_rows: usize,
    pub time_increment: f64,
    /// Some runs have a lag, or may have one.
    pub is_lagged: bool,
    /// 1 − a and b of each relaxation mechanism; see [`Relaxation`](crate::explicit::Relaxation).
    pub mechanisms: Vec<[T; 2]>,
    /// Unit of D, of forces and of 1/p, N.
    pub force_unit: f64,
    /// Largest number of local nodes of a block.
    pub max_local: usize,
    /// Largest number of forces, constraints and monitors of a block.
    pub max_special: usize,
}

/// Numbers a node that a step moves where strips have their edges, and the most bytes that it may move so. Edges save work
/// where a mesh stays in the cache, and cost bandwidth where it does not.
const NUMBERS_WITH_EDGES: usize = 17;
const MOST_WITH_EDGES: usize = 32 << 20;
/// Blocks that are laid out side by side: all of them would double the memory.
const WINDOW: usize = 128;

/// The kind of strips for the solids of a mesh, if it consists of triangles in the plane; that of fluids, if it has fluids alone.
fn strips_of<T>(problem: &Problem) -> Option<Law> {
    let blocks = &problem.blocks;
    let mut laws = (0..blocks.n_blocks()).flat_map(|b| blocks.runs(b)).map(|run| run.kind.law());
    let fits = problem.mesh.n_nodes() * NUMBERS_WITH_EDGES * size_of::<T>() <= MOST_WITH_EDGES;
    let mut strips = Law::FluidStrip;
    let all = laws.all(|law| {
        if law == ElementLaw::Triangle {
            strips = if fits { Law::EdgeStrip } else { Law::Strip };
        }
        matches!(law, ElementLaw::Triangle | ElementLaw::AcousticTriangle)
    });
    (problem.mesh.dimension == 2 && all).then_some(strips)
}

/// Items in the order of their blocks, those of a block in the order given, and where the items of each block stand.
fn by_block<I>(n_blocks: usize, items: impl Iterator<Item = (usize, I)>) -> (Vec<I>, Vec<Range<usize>>) {
    let mut items: Vec<(usize, I)> = items.collect();
    items.sort_by_key(|&(block, _)| block);
    let first = |block| items.partition_point(|&(other, _)| other < block);
    let ranges = (0..n_blocks).map(|block| first(block)..first(block + 1)).collect();
    (items.into_iter().map(|(_, item)| item).collect(), ranges)
}

impl<T: Real> Tables<T> {
    /// Lays a part of the problem out for `lanes` elements at once. Units, groups and strips are those of the whole
    /// problem, so that all parts compute as one stepper with the whole does.
    pub fn new(problem: &Problem, part: &Part, lanes: usize) -> Result<Self, StepperError> {
        let (blocks, dimension) = (&problem.blocks, problem.mesh.dimension);
        let groups = groups_of(blocks, dimension);
        let strips = strips_of::<T>(problem);
        let n_rounded = if strips.is_none_or(Law::reads_positions) { groups.len() } else { 0 };
        let units = Units::new::<T>(problem, n_rounded, &|group, visit| {
            for &b in &groups[group] {
                blocks.own_nodes(b).for_each(&mut *visit);
                blocks.halo(b).iter().for_each(|&node| visit(node as usize));
            }
        });
        let narrow = |factors: [f64; 2]| factors.map(T::from_f64);
        let mut tables = Self {
            dimension,
            lanes,
            strips,
            n_nodes: part.n_own(),
            n_halo: part.halo().len(),
            inertia: part.select(&units.inertia(problem)?, 1),
            n_monitors: problem.monitors.len(),
            time_increment: problem.time_increment,
            is_lagged: problem.is_viscous(),
            mechanisms: problem.relaxation.factors(problem.time_increment).into_iter().map(narrow).collect(),
            force_unit: units.force,
            ..Self::default()
        };
        let material_of = tables.set_materials(problem, &units);
        let layout = Layout { problem, units, strips, material_of, lanes };
        tables.add_blocks(&layout, part, &groups)?;
        if computes_once(dimension) {
            tables.set_incoming();
        } else {
            tables.set_boundary(part);
        }
        tables.set_forces_and_supports(problem, part);
        tables.set_wet(problem, part)?;
        Ok(tables)
    }

    /// One material a pair of kind and section, which are numbered in the order of the blocks.
    fn set_materials(&mut self, problem: &Problem, units: &Units) -> HashMap<(ElementKind, usize), usize> {
        let mut material_of = HashMap::new();
        for run in (0..problem.blocks.n_blocks()).flat_map(|b| problem.blocks.runs(b)) {
            material_of.entry((run.kind, run.section)).or_insert_with(|| {
                self.materials.push(units.material(problem, run.kind, run.section).narrow());
                self.materials.len() - 1
            });
        }
        material_of
    }

    /// Lays out the groups of the part, and what blocks of other parts compute of elements with own nodes.
    fn add_blocks(&mut self, layout: &Layout, part: &Part, groups: &[Vec<usize>]) -> Result<(), StepperError> {
        let blocks = &layout.problem.blocks;
        let is_own = |node: usize| part.local_own(node).is_some();
        let mut passes_to_part = vec![false; blocks.n_blocks()];
        if computes_once(self.dimension) {
            for &node in part.halo() {
                passes_to_part[blocks.block_of(node)] = true;
            }
        }
        let first_node = |group: &[usize]| group.iter().find_map(|&b| blocks.own_nodes(b).next());
        let is_of_part = |group: &&Vec<usize>| passes_to_part[group[0]] || first_node(group).is_none_or(is_own);
        let groups: Vec<_> = groups.iter().filter(is_of_part).collect();
        let lay_out = |group: &&Vec<usize>| {
            let tables = BlockTables::new(layout, group)?;
            Ok(match passes_to_part[group[0]] {
                true => tables.only_passing(layout.lanes, is_own),
                false => Some(tables),
            })
        };
        for window in groups.chunks(WINDOW) {
            let laid_out: Vec<Result<_, StepperError>> = window.par_iter().map(lay_out).collect();
            for block in laid_out {
                block?.into_iter().for_each(|block| self.add_block(part, block));
            }
        }
        Ok(())
    }

    /// See [`computes_once`].
    pub fn computes_once(&self) -> bool {
        computes_once(self.dimension)
    }

    /// Phases of a step: after each, blocks read what their neighbours have written in it.
    pub fn phases_per_step(&self) -> usize {
        if self.computes_once() { 2 } else { 1 }
    }

    /// Numbers from node to node in the state: u, or in the plane (u, x) where elements do not stand in strips.
    pub fn state_stride(&self) -> usize {
        if self.computes_once() {
            3
        } else if self.strips.is_some() {
            2
        } else {
            record_stride(2)
        }
    }

    /// Numbers the own nodes that other blocks or parts read, then the part's halo, and names them in the lists of halos.
    fn set_boundary(&mut self, part: &Part) {
        let mut row = vec![u32::MAX; self.n_nodes + self.n_halo];
        let read_by_others = || part.read_by_others().iter().filter_map(|&node| part.local_own(node as usize));
        self.halo.iter().for_each(|&node| row[node as usize] = 0);
        read_by_others().for_each(|node| row[node] = 0);
        for block in &mut self.blocks {
            let first = self.boundary.len();
            for (local, node) in block.nodes().enumerate() {
                if row[node] != u32::MAX {
                    row[node] = self.boundary.len() as u32;
                    self.boundary.push(local as u16);
                }
            }
            block.boundary = first..self.boundary.len();
        }
        let rows_of_halo = (self.boundary.len() as u32..).zip(&mut row[self.n_nodes..]);
        rows_of_halo.for_each(|(number, row)| *row = number);
        self.halo.iter_mut().for_each(|node| *node = row[*node as usize]);
        self.rows_read_by_others = read_by_others().map(|node| row[node]).collect();
    }

    /// The node of each row of the boundary arrays, by its number in the part; the halo's alone where elements are computed once.
    pub fn nodes_of_boundary(&self) -> Vec<usize> {
        let of_block = |block: &Block| {
            let nodes: Vec<usize> = block.nodes().collect();
            let rows = self.boundary[block.boundary.clone()].iter();
            rows.map(|&local| nodes[usize::from(local)]).collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(of_block).chain(self.n_nodes..self.n_nodes + self.n_halo).collect()
    }

    /// The node of each entry of `halo`, by its number in the part.
    pub fn halo_nodes(&self) -> Vec<usize> {
        let of_row = self.nodes_of_boundary();
        let node = |&entry: &u32| if self.computes_once() { entry as usize } else { of_row[entry as usize] };
        self.halo.iter().map(node).collect()
    }

    /// The block that owns a halo entry; none where another part does.
    pub fn owner(&self) -> impl Fn(u32) -> Option<usize> + '_ {
        let with_nodes: Vec<usize> = (0..self.blocks.len()).filter(|&b| self.blocks[b].n_own > 0).collect();
        move |entry| {
            let ends_before = |&b: &usize| match self.computes_once() {
                true => self.blocks[b].own[0].end <= entry as usize,
                false => self.blocks[b].boundary.end <= entry as usize,
            };
            with_nodes.get(with_nodes.partition_point(ends_before)).copied()
        }
    }

    /// Lists the forces that each block receives, by ascending row.
    fn set_incoming(&mut self) {
        let owner = self.owner();
        let of_block = |block: &Block| {
            let rows = (block.first_row + block.n_own) as u32..;
            self.halo[block.halo.clone()].iter().zip(rows).map(|(&node, row)| (node, row)).collect::<Vec<_>>()
        };
        let incoming = self.blocks.iter().flat_map(of_block).filter_map(|(node, row)| {
            let receiver = owner(node)?;
            Some((receiver, Incoming { node: node - self.blocks[receiver].own[0].start as u32, row }))
        });
        let (incoming, ranges) = by_block(self.blocks.len(), incoming);
        drop(owner);
        self.incoming = incoming;
        self.blocks.iter_mut().zip(ranges).for_each(|(block, range)| block.incoming = range);
    }

    /// Appends a block.
    fn add_block(&mut self, part: &Part, mut block: BlockTables<T>) {
        let (halo_first, run_first) = (self.halo.len(), self.runs.len());
        let local = |node: usize| part.local(node).expect("a node of the part or of its halo");
        self.halo.extend(block.halo.iter().map(|&node| local(node as usize) as u32));
        for run in block.runs {
            self.runs.push(Run {
                offsets: run.offsets.start + self.offsets.len()..run.offsets.end + self.offsets.len(),
                factors: run.factors.start + self.factors.len()..run.factors.end + self.factors.len(),
                ..run
            });
        }
        let own_of = |own: &Range<usize>| match own.is_empty() {
            true => 0..0,
            false => local(own.start)..local(own.start) + own.len(),
        };
        let row = Block {
            n_own: block.own.iter().map(Range::len).sum(),
            own: block.own.iter().map(own_of).collect(),
            halo: halo_first..self.halo.len(),
            first_row: self.n_rows,
            runs: run_first..self.runs.len(),
            damped: (!block.decay.is_empty()).then_some(self.decay.len()),
            ..Block::default()
        };
        self.coordinates.append(&mut block.coordinates);
        self.offsets.append(&mut block.offsets);
        self.factors.append(&mut block.factors);
        self.decay.append(&mut block.decay);
        self.dissipation.append(&mut block.dissipation);
        self.n_rows += row.n_local(self.dimension);
        self.max_local = self.max_local.max(row.n_local(self.dimension));
        self.blocks.push(row);
    }

    /// Gives the forces, constraints and monitors of own nodes to the blocks that have these, in the order given.
    fn set_forces_and_supports(&mut self, problem: &Problem, part: &Part) {
        // Block and local index of each node.
        let mut place = vec![(0u32, 0u32); self.n_nodes];
        for (b, block) in (0..).zip(&self.blocks) {
            block.nodes().zip(0..).for_each(|(node, local)| place[node] = (b, local));
        }
        let (dimension, n_blocks) = (self.dimension as u64, self.blocks.len());
        let n_dofs = problem.lumped_mass.len() as u64 * dimension;
        let find = |dof: u64| {
            let node = part.local_own((dof / dimension) as usize)?;
            let (b, local) = place[node];
            Some((b as usize, Dof { local: local as usize, node, component: (dof % dimension) as usize }))
        };
        let forces = problem.forces.iter().filter_map(|force| {
            let (b, dof) = find(force.dof)?;
            Some((b, Force { dof, signal: force.signal as usize, value: force.value }))
        });
        let constraints = problem.constraints.iter().filter_map(|constraint| {
            let (b, dof) = find(constraint.dof)?;
            let node = (constraint.dof / dimension) as usize;
            let mass = problem.lumped_mass[node];
            let damping = mass * problem.damping_rate_of(node);
            Some((b, Support { dof, signal: constraint.signal as usize, value: constraint.value, mass, damping }))
        });
        let monitors = problem.monitors.iter().enumerate().filter_map(|(column, &dof)| {
            // Beyond memory variables are forces of linear constraints, which no block records.
            let beyond = Some(dof / n_dofs).filter(|beyond| *beyond <= self.mechanisms.len() as u64)?;
            let (b, dof) = find(dof - beyond * n_dofs)?;
            Some((b, Monitor { dof, column, memory: (beyond as usize).checked_sub(1) }))
        });
        let (forces, of_forces) = by_block(n_blocks, forces);
        let (constraints, of_constraints) = by_block(n_blocks, constraints);
        let (monitors, of_monitors) = by_block(n_blocks, monitors);
        self.set_dashpots(problem, &constraints, &of_constraints, find);
        let ranges = of_forces.into_iter().zip(of_constraints).zip(of_monitors);
        for (block, ((forces, constraints), monitors)) in self.blocks.iter_mut().zip(ranges) {
            // A support that holds still does work once, where the start has a velocity there.
            let works = (self.is_lagged && block.n_own > 0) || !block.dashpots.is_empty();
            if works || block.damped.is_some() || !forces.is_empty() || !constraints.is_empty() {
                block.energy_row = Some(self.n_energy_rows);
                self.n_energy_rows += 1;
            }
            self.max_special = self.max_special.max(forces.len() + constraints.len() + monitors.len());
            (block.forces, block.constraints, block.monitors) = (forces, constraints, monitors);
        }
        (self.forces, self.constraints, self.monitors) = (forces, constraints, monitors);
    }

    /// Gives the pairs of nodes of fluids and solids to the blocks that have them, after the constraints.
    fn set_wet(&mut self, problem: &Problem, part: &Part) -> Result<(), StepperError> {
        if problem.wet.is_empty() {
            return Ok(());
        }
        let mut place = vec![(0usize, 0usize); self.n_nodes];
        for (b, block) in self.blocks.iter().enumerate() {
            block.nodes().enumerate().for_each(|(local, node)| place[node] = (b, local));
        }
        let apart = |node: u32| StepperError::Blocks {
            block: problem.blocks.block_of(node),
            what: "nodes of a fluid and a solid at one place are in two blocks",
        };
        let mut found = Vec::new();
        for pair in &problem.wet {
            let own = [pair.fluid, pair.solid].map(|node| part.local_own(node as usize));
            let (fluid, solid) = match own {
                [None, None] => continue,
                [Some(fluid), Some(solid)] => (fluid, solid),
                _ => return Err(apart(pair.fluid)),
            };
            let ([(b, fluid_local), (other, solid_local)], dof) =
                ([place[fluid], place[solid]], |local, node| Dof { local, node, component: 0 });
            if b != other {
                return Err(apart(pair.fluid));
            }
            let constraints = &self.constraints[self.blocks[b].constraints.clone()];
            let held = |component| {
                let same = |support: &Support| support.dof.node == solid && support.dof.component == component;
                constraints.iter().position(same).map(|at| at as u32)
            };
            let area = pair.area.map(|area| area / (self.time_increment * self.force_unit));
            let (fluid, solid) = (dof(fluid_local, fluid), dof(solid_local, solid));
            found.push((b, Wet { fluid, solid, area, supports: [0, 1, 2].map(held) }));
        }
        let (wet, ranges) = by_block(self.blocks.len(), found.into_iter());
        self.wet = wet;
        self.blocks.iter_mut().zip(ranges).for_each(|(block, range)| block.wet = range);
        Ok(())
    }

    /// Gives the dashpots of own nodes to the blocks that have these. `find` gives the block and place of a degree of freedom,
    /// `of_block` the supports of each block.
    fn set_dashpots(
        &mut self,
        problem: &Problem,
        supports: &[Support],
        of_block: &[Range<usize>],
        find: impl Fn(u64) -> Option<(usize, Dof)>,
    ) {
        let wet: HashSet<u32> = problem.wet.iter().map(|pair| pair.fluid).collect();
        let dashpots = problem.dashpots.iter().filter_map(|dashpot| {
            let index = dashpot.node as usize;
            let (b, Dof { local, node, .. }) = find(u64::from(dashpot.node) * self.dimension as u64)?;
            let supports = NodeDashpot::supports(node, &supports[of_block[b].clone()]);
            let matter = (problem.lumped_mass[index], problem.damping_rate_of(index));
            let is_held = supports.map(|support| support.is_some());
            let step = DashpotStep::new(dashpot, matter, is_held, problem.time_increment);
            Some((b, NodeDashpot { local, node, step, is_wet: wet.contains(&dashpot.node), supports }))
        });
        let (dashpots, ranges) = by_block(self.blocks.len(), dashpots);
        self.dashpots = dashpots;
        self.blocks.iter_mut().zip(ranges).for_each(|(block, range)| block.dashpots = range);
    }

    /// Bytes that one step must move at least: u and Δu read and written, positions, inertia, damping, connectivity, halo
    /// indices and boundary copies, each once. In the plane positions are written too, unless triangles stand in strips: they
    /// share cache lines with u, as copies of the halo do. Where forces pass from block to block, their rows are written and read, those of the halo
    /// with their indices, and u is read again.
    pub fn bytes_per_step(&self) -> u64 {
        let (number, stride) = (size_of::<T>(), force_stride(self.dimension));
        let state = if self.computes_once() {
            (5 * self.n_nodes * self.dimension + self.n_rows * (self.dimension + 2 * stride)) * number
                + self.incoming.len() * size_of::<Incoming>()
        } else {
            (2 * self.n_nodes * self.dimension + 2 * self.n_rows * self.state_stride()) * number
        };
        let boundary = self.boundary.len() * (2 * self.dimension * number + 2) + self.halo.len() * 4;
        let constant = (self.inertia.len() + self.decay.len() + self.dissipation.len() + self.factors.len()) * number
            + self.offsets.len() * 2
            + if self.strips.is_some() { self.coordinates.len() * number } else { 0 };
        let memory = 2 * self.mechanisms.len() * self.n_rows * self.dimension * number;
        (state + boundary + constant + memory) as u64
    }
}
