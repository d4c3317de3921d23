//! What the inner loop reads, laid out block by block for a given number of lanes.

use std::collections::HashMap;
use std::ops::Range;

use pogo_formats::block::Run as ModelRun;
use pogo_formats::model::ElementKind;
use rayon::prelude::*;

use super::super::{Problem, State, StepperError};
use super::forces::{force_stride, grain};
use super::join::keep_first;
use super::lanes::Real;
use super::pairs::pair_triangles;
use super::scale::Scale;

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
}

/// How the forces of a run are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    Triangle,
    TrianglePair,
    Quadrilateral,
    ReducedQuadrilateral,
    Tetrahedron,
    Wedge,
    Hexahedron,
    ReducedHexahedron,
}

impl Law {
    /// How many there are.
    pub const N: usize = 8;
    /// The first so many are in the plane.
    pub const N_PLANE: usize = 4;

    fn of(kind: ElementKind) -> Self {
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

    fn dimension(self) -> usize {
        match self {
            Self::Triangle | Self::TrianglePair | Self::Quadrilateral | Self::ReducedQuadrilateral => 2,
            Self::Tetrahedron | Self::Wedge | Self::Hexahedron | Self::ReducedHexahedron => 3,
        }
    }

    fn n_nodes(self) -> usize {
        match self {
            Self::Triangle => 3,
            Self::TrianglePair | Self::Quadrilateral | Self::ReducedQuadrilateral | Self::Tetrahedron => 4,
            Self::Wedge => 6,
            Self::Hexahedron | Self::ReducedHexahedron => 8,
        }
    }

    /// Nodes of an element that fills a batch: a valid shape on the corners of the unit square or cube.
    fn dummy_nodes(self) -> &'static [u16] {
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

/// A block and where its rows stand in the tables.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Solver indices of its nodes.
    pub own: Range<usize>,
    /// The first so many of them are read by other blocks.
    pub n_boundary: usize,
    /// First row of its boundary nodes in the boundary arrays.
    pub boundary_first: usize,
    /// Into [`Tables::halo`].
    pub halo: Range<usize>,
    /// First number in [`Tables::coordinates`].
    pub coordinates_first: usize,
    /// Into [`Tables::runs`].
    pub runs: Range<usize>,
    /// First row in [`Tables::decay`] and [`Tables::dissipation`].
    pub damped: Option<usize>,
    pub forces: Range<usize>,
    pub constraints: Range<usize>,
    pub monitors: Range<usize>,
    /// First row of its own, halo and dummy nodes in the array of forces of the whole mesh, where there is one.
    pub force_first: usize,
    /// Into [`Tables::incoming`].
    pub incoming: Range<usize>,
    /// Row in the table of energies, where forces, moving supports or damping exchange energy.
    pub energy_row: Option<usize>,
}

impl Block {
    pub fn n_own(&self) -> usize {
        self.own.len()
    }

    pub fn n_local(&self, dimension: usize) -> usize {
        self.own.len() + self.halo.len() + n_dummies(dimension)
    }
}

/// F = value × signal on a local degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Force {
    pub node: usize,
    pub component: usize,
    pub signal: usize,
    pub value: f64,
}

/// u = value × signal + const on a local degree of freedom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Support {
    pub node: usize,
    pub component: usize,
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
    pub node: usize,
    pub component: usize,
    /// Position in the problem's list.
    pub column: usize,
}

/// A force that another block has computed on a node of this one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    /// Local index of the node.
    pub node: u32,
    /// Row in the array of forces.
    pub row: u32,
}

/// Everything constant. Lengths are in units of a power of two near the element size, so that single precision never
/// under- or overflows; D carries the rest.
#[derive(Debug)]
pub(crate) struct Tables<T> {
    pub dimension: usize,
    pub n_nodes: usize,
    pub blocks: Vec<Block>,
    /// Positions of own, halo and dummy nodes relative to the block, (Σ n_local, dimension).
    pub coordinates: Vec<T>,
    /// Row in the boundary arrays of each halo node, or its solver index where elements are computed once.
    pub halo: Vec<u32>,
    /// Forces from other blocks, in the order in which they are added; empty where each block computes all elements that
    /// it touches.
    pub incoming: Vec<Incoming>,
    /// Rows of the array of forces; 0 for none.
    pub n_force_rows: usize,
    /// Solver index of each boundary row.
    pub boundary_nodes: Vec<u32>,
    pub runs: Vec<Run>,
    /// Local node indices times [`grain`], run by run, (n_batches, nodes, lanes).
    pub offsets: Vec<u16>,
    pub factors: Vec<T>,
    pub materials: Vec<Material<T>>,
    /// p = Δt² / (m (1 + q)), (n_nodes,); 0 without mass.
    pub inertia: Vec<T>,
    /// r = (1 − q) / (1 + q) of the nodes of damped blocks.
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
    /// Largest number of own and of local nodes of a block.
    pub max_own: usize,
    pub max_local: usize,
    /// Largest number of forces, constraints and monitors of a block together.
    pub max_special: usize,
}

/// Nodes of the element that fills the last batch of a run: a unit square or cube that never moves.
pub(crate) const fn n_dummies(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// As [`Tables::computes_once`].
fn computes_once(dimension: usize) -> bool {
    dimension == 3
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), StepperError> {
    if expected == found { Ok(()) } else { Err(StepperError::Length { what, expected, found }) }
}

impl<T: Real> Tables<T> {
    /// Lays the problem out for `lanes` elements at once.
    pub fn new(problem: &Problem, state: &State, lanes: usize) -> Result<Self, StepperError> {
        let (mesh, blocks) = (&problem.mesh, &problem.blocks);
        let (dimension, n_nodes) = (mesh.dimension, mesh.n_nodes());
        check_lengths(problem, state)?;
        let mut tables = Self {
            dimension,
            n_nodes,
            blocks: Vec::with_capacity(blocks.n_blocks()),
            coordinates: Vec::new(),
            halo: Vec::with_capacity(blocks.halo_nodes.len()),
            incoming: Vec::new(),
            n_force_rows: 0,
            boundary_nodes: Vec::new(),
            runs: Vec::with_capacity(blocks.run_kind.len()),
            offsets: Vec::with_capacity(blocks.connectivity.len() + 8 * lanes * blocks.run_kind.len()),
            factors: Vec::new(),
            materials: Vec::new(),
            inertia: Vec::new(),
            decay: Vec::new(),
            dissipation: Vec::new(),
            forces: Vec::new(),
            constraints: Vec::new(),
            monitors: Vec::new(),
            n_monitors: problem.monitors.len(),
            n_energy_rows: 0,
            time_increment: problem.time_increment,
            force_unit: 1.0,
            max_own: 0,
            max_local: 0,
            max_special: 0,
        };
        let boundary_row = tables.number_boundary(problem)?;
        let scale = Scale::new::<T>(problem);
        tables.force_unit = scale.force;
        tables.inertia = scale.inertia(problem)?;
        let mut material_of = HashMap::new();
        for b in 0..blocks.n_blocks() {
            for run in blocks.runs(b) {
                material_of.entry((run.kind, run.section)).or_insert_with(|| {
                    let exact = scale.material(problem, run.kind, run.section);
                    tables.materials.push(Material {
                        elasticity: exact.elasticity.map(T::from_f64),
                        hourglass: T::from_f64(exact.hourglass),
                        aligned: exact.aligned,
                    });
                    tables.materials.len() - 1
                });
            }
        }
        // A window at a time: all parts together would double the memory.
        for window in (0..blocks.n_blocks()).step_by(WINDOW) {
            let window = window..(window + WINDOW).min(blocks.n_blocks());
            let part = |b| Part::new(problem, b, &scale, &material_of, &boundary_row, lanes);
            let parts: Vec<_> = window.clone().into_par_iter().map(part).collect();
            for (b, part) in window.zip(parts) {
                tables.add_block(problem, b, part?);
            }
        }
        tables.set_incoming();
        tables.set_forces_and_supports(problem)?;
        Ok(tables)
    }

    /// Whether an element on a join is computed by one block alone, which passes forces on. Solids cost more than that;
    /// plane elements do not, and most of them lie inside.
    pub fn computes_once(&self) -> bool {
        computes_once(self.dimension)
    }

    /// Row in the boundary arrays of each node, `u32::MAX` where no other block reads it.
    fn number_boundary(&mut self, problem: &Problem) -> Result<Vec<u32>, StepperError> {
        let blocks = &problem.blocks;
        let mut row = vec![u32::MAX; self.n_nodes];
        for b in 0..blocks.n_blocks() {
            for node in blocks.own_nodes(b).take(blocks.n_boundary[b] as usize) {
                row[node] = self.boundary_nodes.len() as u32;
                self.boundary_nodes.push(node as u32);
            }
        }
        for b in 0..blocks.n_blocks() {
            for &node in blocks.halo(b) {
                if row.get(node as usize).is_none_or(|&row| row == u32::MAX) {
                    return Err(StepperError::Blocks {
                        block: b,
                        what: "a halo node is no boundary node of its block",
                    });
                }
            }
        }
        if self.computes_once() {
            self.boundary_nodes.clear();
        }
        Ok(row)
    }

    /// Lists the forces that each block receives, by ascending row.
    fn set_incoming(&mut self) {
        if !self.computes_once() {
            return;
        }
        let mut received = vec![Vec::new(); self.blocks.len()];
        for block in &self.blocks {
            for (k, &node) in self.halo[block.halo.clone()].iter().enumerate() {
                let owner = self.blocks.partition_point(|other| other.own.end <= node as usize);
                let node = node - self.blocks[owner].own.start as u32;
                received[owner].push(Incoming { node, row: (block.force_first + block.n_own() + k) as u32 });
            }
        }
        for (block, mut received) in self.blocks.iter_mut().zip(received) {
            block.incoming = self.incoming.len()..self.incoming.len() + received.len();
            self.incoming.append(&mut received);
        }
    }

    /// Appends a block.
    fn add_block(&mut self, problem: &Problem, b: usize, mut part: Part<T>) {
        let own = problem.blocks.own_nodes(b);
        let n_boundary = if self.computes_once() { 0 } else { problem.blocks.n_boundary[b] as usize };
        let boundary_first = self.blocks.last().map_or(0, |block| block.boundary_first + block.n_boundary);
        let halo_first = self.halo.len();
        self.halo.append(&mut part.halo);
        let run_first = self.runs.len();
        for run in part.runs {
            self.runs.push(Run {
                offsets: run.offsets.start + self.offsets.len()..run.offsets.end + self.offsets.len(),
                factors: run.factors.start + self.factors.len()..run.factors.end + self.factors.len(),
                ..run
            });
        }
        let block = Block {
            own,
            n_boundary,
            boundary_first,
            halo: halo_first..self.halo.len(),
            coordinates_first: self.coordinates.len(),
            runs: run_first..self.runs.len(),
            damped: (!part.decay.is_empty()).then_some(self.decay.len()),
            forces: 0..0,
            constraints: 0..0,
            monitors: 0..0,
            force_first: self.n_force_rows,
            incoming: 0..0,
            energy_row: None,
        };
        if self.computes_once() {
            self.n_force_rows += block.n_local(self.dimension);
        }
        self.coordinates.append(&mut part.coordinates);
        self.offsets.append(&mut part.offsets);
        self.factors.append(&mut part.factors);
        self.decay.append(&mut part.decay);
        self.dissipation.append(&mut part.dissipation);
        self.max_own = self.max_own.max(block.n_own());
        self.max_local = self.max_local.max(block.n_local(self.dimension));
        self.blocks.push(block);
    }

    /// Gives forces, constraints and monitors to the blocks that own their nodes, in the order given.
    fn set_forces_and_supports(&mut self, problem: &Problem) -> Result<(), StepperError> {
        let dimension = self.dimension;
        let n_dofs = self.n_nodes * dimension;
        let mut block_of = vec![0u32; self.n_nodes];
        for (b, block) in self.blocks.iter().enumerate() {
            block_of[block.own.clone()].fill(b as u32);
        }
        let owner = |dof: u64, what: &'static str| {
            if dof < n_dofs as u64 {
                Ok(block_of[dof as usize / dimension] as usize)
            } else {
                Err(StepperError::Dof { what, dof, n_dofs })
            }
        };
        let n_blocks = self.blocks.len();
        let mut forces = vec![Vec::new(); n_blocks];
        let mut constraints = vec![Vec::new(); n_blocks];
        let mut monitors = vec![Vec::new(); n_blocks];
        let mut held = vec![false; n_dofs];
        for force in &problem.forces {
            let b = owner(force.dof, "force")?;
            let node = force.dof as usize / dimension;
            if problem.lumped_mass[node] == 0.0 {
                return Err(StepperError::Massless { node });
            }
            forces[b].push(Force {
                node: node - self.blocks[b].own.start,
                component: force.dof as usize % dimension,
                signal: force.signal as usize,
                value: force.value,
            });
        }
        for constraint in &problem.constraints {
            let b = owner(constraint.dof, "constraint")?;
            let node = constraint.dof as usize / dimension;
            if std::mem::replace(&mut held[constraint.dof as usize], true) {
                return Err(StepperError::Twice { dof: constraint.dof });
            }
            let mass = problem.lumped_mass[node];
            constraints[b].push(Support {
                node: node - self.blocks[b].own.start,
                component: constraint.dof as usize % dimension,
                signal: constraint.signal as usize,
                value: constraint.value,
                mass,
                damping: mass * problem.damping_rate.get(node).copied().unwrap_or(0.0),
            });
        }
        for (column, &dof) in problem.monitors.iter().enumerate() {
            let b = owner(dof, "monitor")?;
            let node = dof as usize / dimension - self.blocks[b].own.start;
            monitors[b].push(Monitor { node, component: dof as usize % dimension, column });
        }
        for (b, block) in self.blocks.iter_mut().enumerate() {
            let moves = constraints[b].iter().any(|support| support.value != 0.0);
            if block.damped.is_some() || !forces[b].is_empty() || moves {
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

    /// Bytes that one step must move at least: u and Δu read and written, positions, inertia, damping, connectivity,
    /// halo indices and boundary copies, each once; and where forces pass from block to block, their rows written and
    /// read, those of the halo with their indices, and u read again.
    pub fn bytes_per_step(&self) -> u64 {
        let number = size_of::<T>();
        let mut state = 4 * self.n_nodes * self.dimension * number;
        if self.computes_once() {
            state +=
                self.n_nodes * self.dimension * number + 2 * self.n_force_rows * force_stride(self.dimension) * number;
            state += self.incoming.len() * size_of::<Incoming>();
        }
        let boundary = 2 * self.boundary_nodes.len() * self.dimension * number + self.halo.len() * 4;
        let constant = (self.coordinates.len()
            + self.inertia.len()
            + self.decay.len()
            + self.dissipation.len()
            + self.factors.len())
            * number
            + self.offsets.len() * 2;
        (state + boundary + constant) as u64
    }
}

/// Blocks that are laid out side by side.
const WINDOW: usize = 512;

/// What one block adds to the tables.
struct Part<T> {
    coordinates: Vec<T>,
    halo: Vec<u32>,
    /// With ranges in `offsets` and `factors` of the part.
    runs: Vec<Run>,
    offsets: Vec<u16>,
    factors: Vec<T>,
    decay: Vec<T>,
    dissipation: Vec<T>,
}

impl<T: Real> Part<T> {
    fn new(
        problem: &Problem,
        b: usize,
        scale: &Scale,
        material_of: &HashMap<(ElementKind, usize), usize>,
        boundary_row: &[u32],
        lanes: usize,
    ) -> Result<Self, StepperError> {
        let (blocks, dimension) = (&problem.blocks, problem.mesh.dimension);
        let own = blocks.own_nodes(b);
        let (mut halo, mut runs) = (blocks.halo(b).to_vec(), Vec::new());
        for run in blocks.runs(b) {
            check_run(problem, b, &run, own.len() + halo.len())?;
            runs.push((run, run.elements.to_vec(), run.connectivity.to_vec()));
        }
        if computes_once(dimension) {
            keep_first(&own, &mut halo, &mut runs);
        }
        let n_real = own.len() + halo.len();
        if (n_real + n_dummies(dimension)) * grain(dimension) > usize::from(u16::MAX) {
            return Err(StepperError::BlockTooLarge { block: b, nodes: n_real });
        }
        let mut part = Self {
            coordinates: Vec::with_capacity((n_real + n_dummies(dimension)) * dimension),
            halo: Vec::new(),
            runs: Vec::new(),
            offsets: Vec::new(),
            factors: Vec::new(),
            decay: Vec::new(),
            dissipation: Vec::new(),
        };
        let local = own.clone().chain(halo.iter().map(|&node| node as usize));
        scale.add_coordinates(problem.mesh.coordinates, dimension, local, &mut part.coordinates);
        for (run, elements, connectivity) in &runs {
            let run = ModelRun { elements, connectivity, ..*run };
            part.add_run(problem, &run, material_of[&(run.kind, run.section)], n_real, lanes);
        }
        if !computes_once(dimension) {
            halo.iter_mut().for_each(|node| *node = boundary_row[*node as usize]);
        }
        part.halo = halo;
        let damping = |node: usize| problem.damping_rate.get(node).copied().unwrap_or(0.0);
        if own.clone().any(|node| damping(node) != 0.0) {
            for node in own {
                let (alpha, dt) = (damping(node), problem.time_increment);
                let q = 0.5 * alpha * dt;
                part.decay.push(T::from_f64((1.0 - q) / (1.0 + q)));
                part.dissipation.push(T::from_f64(alpha * problem.lumped_mass[node] / (4.0 * dt)));
            }
        }
        Ok(part)
    }

    /// Lays a run out.
    fn add_run(&mut self, problem: &Problem, run: &ModelRun, material: usize, n_real: usize, lanes: usize) {
        let factor = |e: u32| problem.stiffness_factor.get(e as usize).copied().unwrap_or(1.0);
        let factors: Vec<f64> = run.elements.iter().map(|&e| factor(e)).collect();
        let law = Law::of(run.kind);
        if factors.iter().any(|&factor| factor != 1.0) {
            self.add_batches(law, material, run.connectivity, &factors, n_real, lanes);
        } else if law == Law::Triangle {
            let (pairs, single) = pair_triangles(run.connectivity);
            self.add_batches(Law::TrianglePair, material, &pairs, &[], n_real, lanes);
            self.add_batches(Law::Triangle, material, &single, &[], n_real, lanes);
        } else {
            self.add_batches(law, material, run.connectivity, &[], n_real, lanes);
        }
    }

    /// Lays elements out in batches. Lane l takes the l-th part of them, so that elements that share nodes, which stand
    /// near each other, come in different batches: their force updates need not wait for each other.
    fn add_batches(
        &mut self,
        law: Law,
        material: usize,
        connectivity: &[u16],
        factors: &[f64],
        n_real: usize,
        lanes: usize,
    ) {
        let nodes = law.n_nodes();
        let n = connectivity.len() / nodes;
        if n == 0 {
            return;
        }
        let n_batches = n.div_ceil(lanes);
        let grain = grain(law.dimension()) as u16;
        let dummy = law.dummy_nodes();
        let (offsets_first, factors_first) = (self.offsets.len(), self.factors.len());
        for batch in 0..n_batches {
            let entry = |lane: usize| lane * n_batches + batch;
            for node in 0..nodes {
                self.offsets.extend((0..lanes).map(|lane| {
                    let local = connectivity.get(entry(lane) * nodes + node);
                    grain * local.copied().unwrap_or(n_real as u16 + dummy[node])
                }));
            }
            if !factors.is_empty() {
                self.factors.extend((0..lanes).map(|lane| T::from_f64(*factors.get(entry(lane)).unwrap_or(&1.0))));
            }
        }
        self.runs.push(Run {
            law,
            material,
            offsets: offsets_first..self.offsets.len(),
            factors: factors_first..self.factors.len(),
        });
    }
}

/// Whether a run fits its block.
fn check_run(problem: &Problem, block: usize, run: &ModelRun, n_real: usize) -> Result<(), StepperError> {
    let wrong = |what| StepperError::Blocks { block, what };
    if run.connectivity.len() != run.elements.len() * run.kind.n_nodes() {
        return Err(wrong("a run's connectivity has the wrong length"));
    }
    if run.connectivity.iter().any(|&local| usize::from(local) >= n_real) {
        return Err(wrong("a run refers to a node that the block does not have"));
    }
    if run.kind.dimension() != problem.mesh.dimension {
        return Err(wrong("a run's elements have another dimension than the mesh"));
    }
    Ok(())
}

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
