//! The parts of a step, compiled for each instruction set.

use pogo_formats::mesh::ElementLaw;

use super::block::Run;
use super::fluid::{
    self, AcousticHexahedron, AcousticQuadrilateral, AcousticReducedHexahedron, AcousticReducedQuadrilateral,
    AcousticTetrahedron, AcousticTriangle, AcousticWedge,
};
use super::forces::{self, Batches};
use super::lag::{self, Lag};
use super::law::Law;
use super::memory;
use super::plane::{self, Quadrilateral, ReducedQuadrilateral, Triangle};
use super::solid::{FullWedge, Hexahedron, ReducedHexahedron, Tetrahedron, Wedge};
use super::step::{self, Arrays, Signals};
use super::tables::{Block, Tables};
use crate::simd::{InstructionSet, Kernel, Level, Real};

/// Prepares a block; see [`step::open_block`].
struct OpenBlock<'a, T> {
    tables: &'a Tables<T>,
    block: &'a Block,
    displacement: *mut T,
    boundary: *const T,
    records: *mut T,
    forces: *mut T,
}

impl<T: Real> Kernel for OpenBlock<'_, T> {
    type Output = *const T;
    #[inline(always)]
    fn run<I: InstructionSet>(self) -> *const T {
        let Self { tables, block, displacement, boundary, records, forces } = self;
        // SAFETY: the promise of `block_forces`.
        unsafe { step::open_block(tables, block, displacement, boundary, records, forces) }
    }
}

/// Makes records of what elements with a lag feel; see [`lag::fill_lagged`]. `clears`: the forces are set to zero, too.
struct FillLagged<'a, T> {
    tables: &'a Tables<T>,
    block: &'a Block,
    arrays: &'a Arrays<T>,
    lag: Lag,
    clears: bool,
    records: *mut T,
    forces: *mut T,
}

impl<T: Real> Kernel for FillLagged<'_, T> {
    type Output = *const T;
    #[inline(always)]
    fn run<I: InstructionSet>(self) -> *const T {
        let Self { tables, block, arrays, lag, clears, records, forces } = self;
        // SAFETY: the promise of `block_forces`.
        unsafe {
            if clears {
                step::clear(tables, block, forces);
            }
            lag::fill_lagged(tables, block, arrays, lag, records);
        }
        records
    }
}

/// Brings the memory of a block to the step; see [`memory::advance`].
struct MoveMemory<'a, T> {
    tables: &'a Tables<T>,
    block: &'a Block,
    arrays: &'a Arrays<T>,
}

impl<T: Real> Kernel for MoveMemory<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: the promise of `block_forces`.
        unsafe { memory::advance(self.tables, self.block, self.arrays) }
    }
}

/// Adds f_int of a run of elements with the law of number `LAW`. `ALIGNED`: the material does not couple shear with the
/// rest. Where the stress is a small part of the work, one form serves all materials.
struct AddElements<'a, T, const LAW: u8, const ALIGNED: bool> {
    batches: &'a Batches<'a, T>,
    records: *const T,
    forces: *mut T,
}

impl<T: Real, const LAW: u8, const ALIGNED: bool> Kernel for AddElements<'_, T, LAW, ALIGNED> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        type V<I, T> = <I as InstructionSet>::Narrow<T>;
        let Self { batches, records, forces: out } = self;
        // SAFETY: the promise of `add_forces` below.
        unsafe {
            match ElementLaw::ALL[LAW as usize] {
                ElementLaw::Triangle => {
                    forces::add_forces::<V<I, T>, 2, 2, Triangle<V<I, T>, ALIGNED>>(batches, records, out)
                }
                ElementLaw::Quadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, Quadrilateral<V<I, T>, ALIGNED>>(batches, records, out)
                }
                ElementLaw::ReducedQuadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, ReducedQuadrilateral<V<I, T>>>(batches, records, out)
                }
                ElementLaw::Tetrahedron => {
                    forces::add_forces::<V<I, T>, 3, 3, Tetrahedron<V<I, T>, ALIGNED>>(batches, records, out)
                }
                ElementLaw::Wedge => forces::add_forces::<V<I, T>, 3, 5, Wedge<V<I, T>>>(batches, records, out),
                ElementLaw::FullWedge => forces::add_forces::<V<I, T>, 3, 5, FullWedge<V<I, T>>>(batches, records, out),
                ElementLaw::Hexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, Hexahedron<V<I, T>, ALIGNED>>(batches, records, out)
                }
                ElementLaw::ReducedHexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, ReducedHexahedron<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticTriangle => {
                    forces::add_forces::<V<I, T>, 2, 2, AcousticTriangle<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticQuadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, AcousticQuadrilateral<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticReducedQuadrilateral => {
                    forces::add_forces::<V<I, T>, 2, 3, AcousticReducedQuadrilateral<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticTetrahedron => {
                    forces::add_forces::<V<I, T>, 3, 3, AcousticTetrahedron<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticWedge => {
                    forces::add_forces::<V<I, T>, 3, 5, AcousticWedge<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticHexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, AcousticHexahedron<V<I, T>>>(batches, records, out)
                }
                ElementLaw::AcousticReducedHexahedron => {
                    forces::add_forces::<V<I, T>, 3, 7, AcousticReducedHexahedron<V<I, T>>>(batches, records, out)
                }
            }
        }
    }
}

/// Adds f_int of a run of triangles in strips.
struct AddStrips<'a, T, const ISOTROPIC: bool, const EDGES: bool> {
    batches: &'a Batches<'a, T>,
    displacements: *const T,
    forces: *mut T,
}

impl<T: Real, const ISOTROPIC: bool, const EDGES: bool> Kernel for AddStrips<'_, T, ISOTROPIC, EDGES> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: the promise of `add_forces` below.
        unsafe { plane::add_strips::<I::Narrow<T>, ISOTROPIC, EDGES>(self.batches, self.displacements, self.forces) }
    }
}

/// Adds f_int of a run of AC2D3 in strips.
struct AddFluidStrips<'a, T> {
    batches: &'a Batches<'a, T>,
    unknowns: *const T,
    forces: *mut T,
}

impl<T: Real> Kernel for AddFluidStrips<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: see `add_forces`.
        unsafe { fluid::add_fluid_strips::<I::Narrow<T>>(self.batches, self.unknowns, self.forces) }
    }
}

/// Adds f_int of a run's batches.
///
/// # Safety
/// As for [`forces::add_forces`].
pub(super) unsafe fn add_forces<T: Real>(
    level: Level,
    law: Law,
    batches: &Batches<T>,
    records: *const T,
    forces: *mut T,
) {
    macro_rules! elements {
        ($law:ident, $aligned:expr) => {
            level.run(AddElements::<T, { ElementLaw::$law as u8 }, $aligned> { batches, records, forces })
        };
        ($law:ident) => {
            if batches.material.aligned { elements!($law, true) } else { elements!($law, false) }
        };
    }
    macro_rules! strips {
        ($isotropic:expr, $edges:expr) => {
            level.run(AddStrips::<T, $isotropic, $edges> { batches, displacements: records, forces })
        };
    }
    match (law, batches.material.isotropic) {
        (Law::Strip, true) => strips!(true, false),
        (Law::Strip, false) => strips!(false, false),
        (Law::EdgeStrip, true) => strips!(true, true),
        (Law::EdgeStrip, false) => strips!(false, true),
        (Law::FluidStrip, _) => level.run(AddFluidStrips { batches, unknowns: records, forces }),
        (Law::Element(law), _) => match law {
            ElementLaw::Triangle => elements!(Triangle),
            ElementLaw::Quadrilateral => elements!(Quadrilateral),
            ElementLaw::ReducedQuadrilateral => elements!(ReducedQuadrilateral, false),
            ElementLaw::Tetrahedron => elements!(Tetrahedron),
            ElementLaw::Wedge => elements!(Wedge, false),
            ElementLaw::FullWedge => elements!(FullWedge, false),
            ElementLaw::Hexahedron => elements!(Hexahedron),
            ElementLaw::ReducedHexahedron => elements!(ReducedHexahedron, false),
            ElementLaw::AcousticTriangle => elements!(AcousticTriangle, false),
            ElementLaw::AcousticQuadrilateral => elements!(AcousticQuadrilateral, false),
            ElementLaw::AcousticReducedQuadrilateral => elements!(AcousticReducedQuadrilateral, false),
            ElementLaw::AcousticTetrahedron => elements!(AcousticTetrahedron, false),
            ElementLaw::AcousticWedge => elements!(AcousticWedge, false),
            ElementLaw::AcousticHexahedron => elements!(AcousticHexahedron, false),
            ElementLaw::AcousticReducedHexahedron => elements!(AcousticReducedHexahedron, false),
        },
    }
}

/// Moves the nodes of a block; see [`step::update_block`].
pub(super) struct UpdateBlock<'a, T> {
    pub tables: &'a Tables<T>,
    pub block: &'a Block,
    pub arrays: &'a Arrays<T>,
    pub signals: Signals<'a>,
    pub saved: &'a mut [[T; 2]],
    pub forces: *mut T,
}

impl<T: Real> Kernel for UpdateBlock<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { tables, block, arrays, signals, saved, forces } = self;
        // SAFETY: the caller's promise, where it is made.
        unsafe { step::update_block::<I::Narrow<T>>(tables, block, arrays, signals, saved, forces) }
    }
}

/// f_int of one block into `forces`, (n_local, force stride), while the memory of the block after it is asked for. Where
/// `arrays` have no increments of boundary nodes or no memory, it is that without them.
///
/// # Safety
/// The pointers must hold the rows that the tables name. In the plane nobody else may touch the block's rows of
/// `displacement`.
pub(super) unsafe fn block_forces<T: Real>(
    level: Level,
    tables: &Tables<T>,
    [block, next]: [&Block; 2],
    arrays: &Arrays<T>,
    records: &mut [T],
    forces: *mut T,
) {
    let scratch = records.as_mut_ptr();
    let (displacement, boundary) = (arrays.displacement, arrays.boundary);
    let lag_of = |run: &Run| if tables.is_lagged { run.lag.in_arrays(arrays) } else { Lag::default() };
    let fill =
        |lag: Lag, clears: bool| level.run(FillLagged { tables, block, arrays, lag, clears, records: scratch, forces });
    if arrays.moves_memory {
        level.run(MoveMemory { tables, block, arrays });
    }
    let runs = &tables.runs[block.runs.clone()];
    let [positions, mut positions_ahead] =
        [block, next].map(|block| tables.coordinates.as_ptr().wrapping_add(2 * block.first_row));
    let batches = |run: &Run| run.offsets.len() / (run.law.n_nodes() * tables.lanes);
    let record = tables.state_stride();
    let mut ahead = displacement.cast_const().wrapping_add(next.first_row * record);
    let step = (next.n_local(tables.dimension) * record * size_of::<T>())
        .div_ceil(runs.iter().map(batches).sum::<usize>().max(1));
    let mut lag = runs.first().map_or(Lag::default(), lag_of);
    let mut records = match lag == Lag::default() {
        true => level.run(OpenBlock { tables, block, displacement, boundary, records: scratch, forces }),
        false => fill(lag, true),
    };
    for run in runs {
        if lag_of(run) != lag {
            lag = lag_of(run);
            records = fill(lag, false);
        }
        let material = &tables.materials[run.material];
        let offsets = &tables.offsets[run.offsets.clone()];
        let factors = &tables.factors[run.factors.clone()];
        let rows = Batches { offsets, factors, positions, material, ahead: (ahead, step), positions_ahead };
        // SAFETY: the caller's promise; offsets were checked when the tables were made.
        unsafe { add_forces(level, run.law, &rows, records, forces) };
        positions_ahead = positions_ahead.wrapping_byte_add(batches(run) * step);
        ahead = ahead.wrapping_byte_add(batches(run) * step);
    }
}
