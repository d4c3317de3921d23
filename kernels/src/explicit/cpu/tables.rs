//! What the inner loop reads, laid out block by block for a given number of lanes.

use std::collections::HashMap;
use std::ops::Range;

use pogo_formats::mesh::ElementKind;
use rayon::prelude::*;

use super::super::{Problem, State, StepperError};
use super::forces::{force_stride, record_stride};
use super::groups::group_blocks;
use super::part::Part;
use super::scale::Scale;
use crate::simd::Real;

/// Elasticity of one section for one kind, in the units of the tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Material<T> {
    /// D, 6 × 6; in 2D its leading 3 × 3 holds the plane part times the thickness. In the unit of force, and times the
    /// quadrature weight where that is no power of two.
    pub elasticity: [T; 36],
    /// κ without its geometric part.
    pub hourglass: T,
    /// No coupling between normal and shear strains, nor among the shears.
    pub aligned: bool,
    /// In the plane: D11 = D22 = D12 + 2 D66, D66 is positive, and aligned.
    pub isotropic: bool,
}

/// How the forces of a run are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    Triangle,
    /// Triangles side by side, computed from positions.
    Strip,
    /// The same, with their edges in the tables.
    EdgeStrip,
    Quadrilateral,
    ReducedQuadrilateral,
    Tetrahedron,
    Wedge,
    Hexahedron,
    ReducedHexahedron,
}

impl Law {
    pub const ALL: [Self; 9] = [
        Self::Triangle,
        Self::Strip,
        Self::EdgeStrip,
        Self::Quadrilateral,
        Self::ReducedQuadrilateral,
        Self::Tetrahedron,
        Self::Wedge,
        Self::Hexahedron,
        Self::ReducedHexahedron,
    ];

    pub fn of(kind: ElementKind) -> Self {
        match kind {
            ElementKind::Cpe3 | ElementKind::Cps3 => Self::Triangle,
            ElementKind::Cpe4 | ElementKind::Cps4 => Self::Quadrilateral,
            ElementKind::Cpe4r | ElementKind::Cps4r => Self::ReducedQuadrilateral,
            ElementKind::C3d4 => Self::Tetrahedron,
            ElementKind::C3d6 => Self::Wedge,
            ElementKind::C3d8 => Self::Hexahedron,
            ElementKind::C3d8r => Self::ReducedHexahedron,
        }
    }

    pub fn dimension(self) -> usize {
        match self {
            Self::Triangle | Self::Strip | Self::EdgeStrip | Self::Quadrilateral | Self::ReducedQuadrilateral => 2,
            Self::Tetrahedron | Self::Wedge | Self::Hexahedron | Self::ReducedHexahedron => 3,
        }
    }

    /// Nodes of an element; of strips, of each row.
    pub fn n_nodes(self) -> usize {
        match self {
            Self::Strip | Self::EdgeStrip => 1,
            Self::Triangle => 3,
            Self::Quadrilateral | Self::ReducedQuadrilateral | Self::Tetrahedron => 4,
            Self::Wedge => 6,
            Self::Hexahedron | Self::ReducedHexahedron => 8,
        }
    }

    /// Nodes of an element that fills a batch: a valid shape on the corners of the unit square or cube.
    pub fn dummy_nodes(self) -> &'static [u16] {
        match self {
            Self::Tetrahedron => &[0, 1, 3, 4],
            Self::Wedge => &[0, 1, 3, 4, 5, 7],
            law => &[0, 1, 2, 3, 4, 5, 6, 7][..law.n_nodes()],
        }
    }
}

/// Elements of one kind and material in one block, in batches of as many as there are lanes.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub law: Law,
    pub material: usize,
    /// Into [`Tables::offsets`].
    pub offsets: Range<usize>,
    /// Into [`Tables::factors`], or empty.
    pub factors: Range<usize>,
}

/// A block, or several of the file's as one, and where its rows stand in the tables.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Solver indices of its nodes, in local order.
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
    /// Into [`Tables::incoming`].
    pub incoming: Range<usize>,
    /// Row in the table of energies, where forces, moving supports or damping exchange energy.
    pub energy_row: Option<usize>,
}

impl Block {
    pub fn n_local(&self, dimension: usize) -> usize {
        self.n_own + self.halo.len() + n_dummies(dimension)
    }

    /// Local index of the first node and solver indices of each run of own nodes.
    #[inline(always)]
    pub fn pieces(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        self.own.iter().scan(0, |next, own| Some((std::mem::replace(next, *next + own.len()), own.clone())))
    }
}

/// A degree of freedom of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dof {
    /// Local index of the node.
    pub local: usize,
    /// Solver index of the node.
    pub node: usize,
    pub component: usize,
}

/// F = value × signal on a degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Force {
    pub dof: Dof,
    pub signal: usize,
    pub value: f64,
}

/// u = value × signal + const on a degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Support {
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
pub(crate) struct Monitor {
    pub dof: Dof,
    /// Position in the problem's list.
    pub column: usize,
}

/// A force that another block has computed on a node of this one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    /// Local index of the node.
    pub node: u32,
    /// Row of the other block.
    pub row: u32,
}

/// Everything constant. Lengths are in units of a power of two near the element size, so that single precision never
/// under- or overflows; D carries the rest.
#[derive(Debug)]
pub(crate) struct Tables<T> {
    pub dimension: usize,
    /// Elements of a batch.
    pub lanes: usize,
    /// Where all elements are triangles in the plane, the kind of strips in which they stand.
    pub strips: Option<Law>,
    pub n_nodes: usize,
    pub blocks: Vec<Block>,
    /// Positions of own, halo and dummy nodes relative to the block, (n_rows, dimension); in the plane they move on into
    /// the state, but for those of strips; none where strips have their edges.
    pub coordinates: Vec<T>,
    /// Row in the boundary arrays of each halo node, or its solver index where elements are computed once.
    pub halo: Vec<u32>,
    /// Forces from other blocks, in the order in which they are added; empty where each block computes all elements that
    /// it touches.
    pub incoming: Vec<Incoming>,
    /// Own, halo and dummy nodes of all blocks.
    pub n_rows: usize,
    /// Local index of each boundary node, block by block, in the order of the boundary arrays; empty where elements are
    /// computed once.
    pub boundary: Vec<u16>,
    pub runs: Vec<Run>,
    /// Local node indices times [`grain`](super::forces::grain), run by run, (n_batches, nodes, lanes).
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
    pub n_monitors: usize,
    pub n_energy_rows: usize,
    pub time_increment: f64,
    /// Unit of D, of forces and of 1/p, N.
    pub force_unit: f64,
    /// Largest number of local nodes of a block.
    pub max_local: usize,
    /// Largest number of forces, constraints and monitors of a block together.
    pub max_special: usize,
}

/// Numbers a node that a step moves where strips have their edges, and bytes that may be moved so at most: edges save work
/// where a mesh stays in the cache, and cost bandwidth where it does not.
const NUMBERS_WITH_EDGES: usize = 17;
const MOST_WITH_EDGES: usize = 32 << 20;

/// Nodes of the element that fills the last batch of a run: a unit square or cube that never moves.
pub(crate) const fn n_dummies(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// As [`Tables::computes_once`].
pub(super) fn computes_once(dimension: usize) -> bool {
    dimension == 3
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), StepperError> {
    if expected == found { Ok(()) } else { Err(StepperError::Length { what, expected, found }) }
}

impl<T: Real> Tables<T> {
    /// Lays the problem out for `lanes` elements at once.
    pub fn new(problem: &Problem, state: &State, lanes: usize) -> Result<Self, StepperError> {
        check_lengths(problem, state)?;
        let (blocks, dimension) = (&problem.blocks, problem.mesh.dimension);
        // Solids gain little from larger blocks: they are bound by arithmetic.
        let groups = if computes_once(dimension) {
            (0..blocks.n_blocks()).map(|b| vec![b]).collect()
        } else {
            group_blocks(blocks)
        };
        let triangle = |&kind: &ElementKind| Law::of(kind) == Law::Triangle;
        let triangles =
            dimension == 2 && (0..blocks.n_blocks()).flat_map(|b| blocks.runs(b)).all(|run| triangle(&run.kind));
        let near = problem.mesh.n_nodes() * NUMBERS_WITH_EDGES * size_of::<T>() <= MOST_WITH_EDGES;
        let strips = triangles.then_some(if near { Law::EdgeStrip } else { Law::Strip });
        let exact = strips == Some(Law::EdgeStrip);
        let scale = if exact { Scale::exact::<T>(problem) } else { Scale::new::<T>(problem, &groups) };
        let mut tables = Self {
            dimension,
            lanes,
            strips,
            n_nodes: problem.mesh.n_nodes(),
            blocks: Vec::with_capacity(groups.len()),
            coordinates: Vec::new(),
            halo: Vec::with_capacity(blocks.halo_nodes.len()),
            incoming: Vec::new(),
            n_rows: 0,
            boundary: Vec::new(),
            runs: Vec::with_capacity(blocks.run_kind.len()),
            offsets: Vec::with_capacity(blocks.connectivity.len() + 8 * lanes * blocks.run_kind.len()),
            factors: Vec::new(),
            materials: Vec::new(),
            inertia: scale.inertia(problem)?,
            decay: Vec::new(),
            dissipation: Vec::new(),
            forces: Vec::new(),
            constraints: Vec::new(),
            monitors: Vec::new(),
            n_monitors: problem.monitors.len(),
            n_energy_rows: 0,
            time_increment: problem.time_increment,
            force_unit: scale.force,
            max_local: 0,
            max_special: 0,
        };
        let mut material_of = HashMap::new();
        for b in 0..blocks.n_blocks() {
            for run in blocks.runs(b) {
                material_of.entry((run.kind, run.section)).or_insert_with(|| {
                    let exact = scale.material(problem, run.kind, run.section);
                    tables.materials.push(Material {
                        elasticity: exact.elasticity.map(T::from_f64),
                        hourglass: T::from_f64(exact.hourglass),
                        aligned: exact.aligned,
                        isotropic: exact.isotropic,
                    });
                    tables.materials.len() - 1
                });
            }
        }
        // A window at a time: all parts together would double the memory.
        for window in groups.chunks(WINDOW) {
            let part = |group: &Vec<usize>| Part::new(problem, group, &scale, strips, &material_of, lanes);
            let parts: Vec<_> = window.par_iter().map(part).collect();
            for part in parts {
                tables.add_block(part?);
            }
        }
        if tables.computes_once() {
            tables.set_incoming();
        } else {
            tables.set_boundary();
        }
        tables.set_forces_and_supports(problem)?;
        Ok(tables)
    }

    /// Whether an element on a join is computed by one block alone, which passes forces on. Solids cost more than that;
    /// plane elements do not, and most of them lie inside.
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

    /// Numbers the nodes that other blocks read, and names them in the lists of halos.
    fn set_boundary(&mut self) {
        let mut row = vec![u32::MAX; self.n_nodes];
        self.halo.iter().for_each(|&node| row[node as usize] = 0);
        for block in &mut self.blocks {
            let first = self.boundary.len();
            for (local, node) in block.own.iter().flat_map(Range::clone).enumerate() {
                if row[node] != u32::MAX {
                    row[node] = self.boundary.len() as u32;
                    self.boundary.push(local as u16);
                }
            }
            block.boundary = first..self.boundary.len();
        }
        self.halo.iter_mut().for_each(|node| *node = row[*node as usize]);
    }

    /// Lists the forces that each block receives, by ascending row.
    fn set_incoming(&mut self) {
        let mut received = vec![Vec::new(); self.blocks.len()];
        for block in &self.blocks {
            for (k, &node) in self.halo[block.halo.clone()].iter().enumerate() {
                let owner = self.blocks.partition_point(|other| other.own[0].end <= node as usize);
                let node = node - self.blocks[owner].own[0].start as u32;
                received[owner].push(Incoming { node, row: (block.first_row + block.n_own + k) as u32 });
            }
        }
        for (block, mut received) in self.blocks.iter_mut().zip(received) {
            block.incoming = self.incoming.len()..self.incoming.len() + received.len();
            self.incoming.append(&mut received);
        }
    }

    /// Appends a block.
    fn add_block(&mut self, mut part: Part<T>) {
        let (halo_first, run_first) = (self.halo.len(), self.runs.len());
        self.halo.append(&mut part.halo);
        for run in part.runs {
            self.runs.push(Run {
                offsets: run.offsets.start + self.offsets.len()..run.offsets.end + self.offsets.len(),
                factors: run.factors.start + self.factors.len()..run.factors.end + self.factors.len(),
                ..run
            });
        }
        let block = Block {
            n_own: part.own.iter().map(Range::len).sum(),
            own: part.own,
            boundary: 0..0,
            halo: halo_first..self.halo.len(),
            first_row: self.n_rows,
            runs: run_first..self.runs.len(),
            damped: (!part.decay.is_empty()).then_some(self.decay.len()),
            forces: 0..0,
            constraints: 0..0,
            monitors: 0..0,
            incoming: 0..0,
            energy_row: None,
        };
        self.coordinates.append(&mut part.coordinates);
        self.offsets.append(&mut part.offsets);
        self.factors.append(&mut part.factors);
        self.decay.append(&mut part.decay);
        self.dissipation.append(&mut part.dissipation);
        self.n_rows += block.n_local(self.dimension);
        self.max_local = self.max_local.max(block.n_local(self.dimension));
        self.blocks.push(block);
    }

    /// Gives forces, constraints and monitors to the blocks that own their nodes, in the order given.
    fn set_forces_and_supports(&mut self, problem: &Problem) -> Result<(), StepperError> {
        let dimension = self.dimension;
        let n_dofs = self.n_nodes * dimension;
        // Block and local index of each node.
        let mut place = vec![(0u32, 0u32); self.n_nodes];
        for (b, block) in self.blocks.iter().enumerate() {
            for (local, node) in block.own.iter().flat_map(Range::clone).enumerate() {
                place[node] = (b as u32, local as u32);
            }
        }
        let find = |dof: u64, what: &'static str| {
            let (node, component) = ((dof / dimension as u64) as usize, (dof % dimension as u64) as usize);
            match place.get(node) {
                Some(&(b, local)) => Ok((b as usize, Dof { local: local as usize, node, component })),
                None => Err(StepperError::Dof { what, dof, n_dofs }),
            }
        };
        let n_blocks = self.blocks.len();
        let mut forces = vec![Vec::new(); n_blocks];
        let mut constraints = vec![Vec::new(); n_blocks];
        let mut monitors = vec![Vec::new(); n_blocks];
        let mut held = vec![false; n_dofs];
        for force in &problem.forces {
            let (b, dof) = find(force.dof, "force")?;
            if problem.lumped_mass[dof.node] == 0.0 {
                return Err(StepperError::Massless { node: dof.node });
            }
            forces[b].push(Force { dof, signal: force.signal as usize, value: force.value });
        }
        for constraint in &problem.constraints {
            let (b, dof) = find(constraint.dof, "constraint")?;
            if std::mem::replace(&mut held[constraint.dof as usize], true) {
                return Err(StepperError::Twice { dof: constraint.dof });
            }
            let mass = problem.lumped_mass[dof.node];
            constraints[b].push(Support {
                dof,
                signal: constraint.signal as usize,
                value: constraint.value,
                mass,
                damping: mass * problem.damping_rate.get(dof.node).copied().unwrap_or(0.0),
            });
        }
        for (column, &dof) in problem.monitors.iter().enumerate() {
            let (b, dof) = find(dof, "monitor")?;
            monitors[b].push(Monitor { dof, column });
        }
        for (b, block) in self.blocks.iter_mut().enumerate() {
            // A support that holds still does work once, where the start has a velocity there.
            if block.damped.is_some() || !forces[b].is_empty() || !constraints[b].is_empty() {
                block.energy_row = Some(self.n_energy_rows);
                self.n_energy_rows += 1;
            }
            self.max_special = self.max_special.max(forces[b].len() + constraints[b].len() + monitors[b].len());
            block.forces = self.forces.len()..self.forces.len() + forces[b].len();
            self.forces.append(&mut forces[b]);
            block.constraints = self.constraints.len()..self.constraints.len() + constraints[b].len();
            self.constraints.append(&mut constraints[b]);
            block.monitors = self.monitors.len()..self.monitors.len() + monitors[b].len();
            self.monitors.append(&mut monitors[b]);
        }
        Ok(())
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
        (state + boundary + constant) as u64
    }
}

/// Blocks that are laid out side by side.
const WINDOW: usize = 128;

pub(in crate::explicit) fn check_lengths(problem: &Problem, state: &State) -> Result<(), StepperError> {
    let (mesh, blocks) = (&problem.mesh, &problem.blocks);
    let n_nodes = mesh.n_nodes();
    let n_dofs = n_nodes * mesh.dimension;
    if !matches!(mesh.dimension, 2 | 3) {
        return Err(StepperError::Length { what: "dimension", expected: 2, found: mesh.dimension });
    }
    check("coordinates", n_dofs, mesh.coordinates.len())?;
    check("displacement", n_dofs, state.displacement.len())?;
    check("increment", n_dofs, state.increment.len())?;
    check("lumped mass", n_nodes, problem.lumped_mass.len())?;
    check("nodes of the blocks", n_nodes, blocks.node_first.last().map_or(0, |&n| n as usize))?;
    for b in 0..blocks.n_blocks() {
        let own = blocks.own_nodes(b);
        if blocks.halo(b).iter().any(|&node| node as usize >= n_nodes || own.contains(&(node as usize))) {
            return Err(StepperError::Blocks { block: b, what: "a halo node is no node of another block" });
        }
    }
    if !problem.damping_rate.is_empty() {
        check("damping rate", n_nodes, problem.damping_rate.len())?;
    }
    if !problem.stiffness_factor.is_empty() {
        check("stiffness factors", mesh.n_elements(), problem.stiffness_factor.len())?;
    }
    if !(problem.time_increment > 0.0 && problem.time_increment.is_finite()) {
        return Err(StepperError::Increment { increment: problem.time_increment });
    }
    if let Some(&section) = blocks.run_section.iter().find(|&&s| s as usize >= problem.sections.len()) {
        return Err(StepperError::Length {
            what: "sections",
            expected: section as usize + 1,
            found: problem.sections.len(),
        });
    }
    if let Some(&e) = blocks.elements.iter().find(|&&e| e as usize >= mesh.n_elements()) {
        return Err(StepperError::Length { what: "elements", expected: e as usize + 1, found: mesh.n_elements() });
    }
    Ok(())
}
