//! The layouts that the kernels of the explicit step share with the host. The header `layout.cuh` is generated from
//! them.
//!
//! An array has the same name as the field that points to it. Shapes are given as (rows, columns) and stored row by
//! row.

use pogo_formats::explicit::block::{DeviceTables, FanRecord, corner};
use pogo_formats::mesh::ElementLaw;

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "explicit/gpu/layout.cuh", numbers template;

    constants {
        /// No block, no row or no curve.
        NONE: u32 = u32::MAX;
        /// `material` of a block that has fans in which several materials meet.
        MIXED: u32 = DeviceTables::MIXED as u32;
        /// Maximum number of own, halo and outer nodes of a block that the fan kernels compute.
        MOST_LOCAL: u32 = FanRecord::LOCAL_NODES as u32;
        /// Maximum number of actions of a block that the fan kernels keep in shared memory.
        MOST_KEPT: u32 = 64;
        /// Bytes of `Extra` without materials and actions (fans.cuh), and bytes of an `Action` (step.cuh).
        EXTRA_BYTES: u32 = 16 + MOST_LOCAL / 8;
        ACTION_BYTES: u32 = 24;
        /// Threads of a thread block of `solids`, `march` and `act`. It is also the number of elements or rings in a
        /// batch.
        THREADS: u32 = corner::BATCH as u32;
        /// Marks an empty corner in a connectivity row of the solid kernels.
        ABSENT: u32 = corner::ABSENT as u32;
        /// Node slots of one plane of a tile. Some slots may be empty.
        SLOTS: u32 = THREADS + 64;
        /// Number of planes of a tile whose words are in shared memory.
        PLANES_OF_WORDS: u32 = 8;
        /// Bits of a tile word that hold the node number.
        TILE_NODE: u32 = (1 << 29) - 1;
        /// Bit of a tile word: the node is the lowest corner of an element.
        PRESENT: u32 = 1 << 29;
        /// Bit of a tile word: the tile updates the node.
        MOVED: u32 = 1 << 30;
        /// Bit of a tile word: the kernel `act` updates the node, because the node has a load, a constraint, a monitor
        /// or damping. The tile stores f_int of this node in its Δu slot.
        BY_ACT: u32 = 1 << 31;
        /// Element laws, each with its own force computation (laws.cuh).
        TRIANGLE: u32 = ElementLaw::Triangle as u32;
        QUADRILATERAL: u32 = ElementLaw::Quadrilateral as u32;
        REDUCED_QUADRILATERAL: u32 = ElementLaw::ReducedQuadrilateral as u32;
        TETRAHEDRON: u32 = ElementLaw::Tetrahedron as u32;
        WEDGE: u32 = ElementLaw::Wedge as u32;
        FULL_WEDGE: u32 = ElementLaw::FullWedge as u32;
        HEXAHEDRON: u32 = ElementLaw::Hexahedron as u32;
        REDUCED_HEXAHEDRON: u32 = ElementLaw::ReducedHexahedron as u32;
        /// C3D8 whose opposite edges are equal. It needs a third of the arithmetic.
        PARALLELEPIPED: u32 = ElementLaw::ReducedHexahedron as u32 + 1;
        /// Those of fluids. Their numbers are one higher than in `ElementLaw`.
        ACOUSTIC_TRIANGLE: u32 = ElementLaw::AcousticTriangle as u32 + 1;
        ACOUSTIC_QUADRILATERAL: u32 = ElementLaw::AcousticQuadrilateral as u32 + 1;
        ACOUSTIC_REDUCED_QUADRILATERAL: u32 = ElementLaw::AcousticReducedQuadrilateral as u32 + 1;
        ACOUSTIC_TETRAHEDRON: u32 = ElementLaw::AcousticTetrahedron as u32 + 1;
        ACOUSTIC_WEDGE: u32 = ElementLaw::AcousticWedge as u32 + 1;
        ACOUSTIC_HEXAHEDRON: u32 = ElementLaw::AcousticHexahedron as u32 + 1;
        ACOUSTIC_REDUCED_HEXAHEDRON: u32 = ElementLaw::AcousticReducedHexahedron as u32 + 1;
        /// AC3D8 whose opposite edges are equal.
        ACOUSTIC_PARALLELEPIPED: u32 = ElementLaw::AcousticReducedHexahedron as u32 + 2;
        /// Values of the kind of a `Special`.
        FORCE: u32 = 0;
        SUPPORT: u32 = 1;
        MONITOR: u32 = 2;
        /// Bits of `Special::kind` that hold the kind.
        KIND: u32 = 255;
        /// Bit of `Special::kind`: this is the last entry of its node.
        LAST: u32 = 1 << 16;
        /// Lowest bit of the local node number in `Special::kind`.
        LOCAL_AT: u32 = 20;
        /// Number of steps whose signals are evaluated together.
        WINDOW: u32 = 64;
        /// Values of `Curve::shape`.
        TABULAR: u32 = 0;
        SMOOTH_STEP: u32 = 1;
        PERIODIC: u32 = 2;
        HANN_BURST: u32 = 3;
        GAUSSIAN_BURST: u32 = 4;
        RECTANGULAR_BURST: u32 = 5;
        RICKER: u32 = 6;
        GAUSSIAN_PULSE: u32 = 7;
        /// Values of `Column::kind`. The column is the value of a curve, or the displacement that results from the
        /// curve as a velocity or as an acceleration, or the sum of the values of the curve at the steps.
        VALUE: u32 = 0;
        VELOCITY: u32 = 1;
        ACCELERATION: u32 = 2;
        SUM: u32 = 3;
    }

    opaque {}

    /// One block of the mesh, with the positions of its rows in the tables.
    struct Block align(16) {
        node_first: u32,
        n_own: u32,
        halo_first: u32,
        n_halo: u32,
        outer_first: u32,
        n_outer: u32,
        /// First node position of the block.
        local_first: u32,
        material: u32,
        /// First entry of the block in `special_first`, or NONE.
        special_first: u32,
        /// 1 if any node of the block is damped.
        damped: u32,
        /// Row of the block in `energies`, or NONE.
        energy_row: u32,
        further_first: u32,
        n_further: u32,
        colour_first: u32,
        n_colours: u32,
        n_boundary: u32,
        boundary_first: u32,
        /// First row of the block in `connectivity`, counted in units of 16 bytes.
        rows_first: u32,
        n_rows: u32,
        /// First entry of the block in `specials`.
        special_base: u32,
        n_special: u32,
        source_first: u32,
        n_sources: u32,
        /// 1 if tiles update the nodes of the block. The block then only passes forces on to other blocks.
        moved_by_tiles: u32,
        /// First entry in `fan_planes` of the materials that meet in the block's fans, and how many there are if several do.
        plane_first: u32,
        n_planes: u32,
        reserved: [u32; 2],
    }

    /// Elasticity in the units of the tables, as on the CPU. In two dimensions it is the leading 3 × 3 part times the
    /// thickness.
    struct Material<T> {
        d: [T; 36],
        hourglass: T,
        reserved: T,
    }

    /// A tile of a grid: `width` × `height` columns of hexahedra, or of cells of six tetrahedra. The tile updates its
    /// nodes except the first ones along each axis.
    struct Tile align(16) {
        /// First word of the tile.
        first: u64,
        n_layers: u32,
        width: u32,
        height: u32,
        n_slots: u32,
        reserved: [u32; 2],
    }

    /// A batch of elements of one type. In two dimensions no two elements of a batch share an own node. In three
    /// dimensions it is a run of elements or of rings of tetrahedra.
    struct Colour align(16) {
        connectivity_first: u64,
        element_first: u32,
        n_elements: u32,
        law: u32,
        /// Material of all elements, unless they have one each.
        material: u32,
        /// First entry in `element_materials`, or NONE.
        materials_first: u32,
        reserved: u32,
    }

    /// A force, a constraint or a monitor on one degree of freedom.
    struct Special {
        /// For a force: its value in N at signal 1. For a constraint: the factor of the signal, in m.
        value: f64,
        /// For a constraint: the lumped mass in kg, and α m in kg/s.
        mass: f64,
        damping: f64,
        kind: u32,
        component: u32,
        signal: u32,
        /// For a monitor: its column in the recorded values.
        column: u32,
    }

    /// Parameters of a launch of the step kernels.
    struct Params<T> {
        /// Displacements and their last increments, (n_nodes, dimension). A step reads the first array and writes the
        /// second.
        u: [Out<T>; 2],
        du: [Out<T>; 2],
        /// Positions of own, halo and outer nodes, block by block.
        x: In<T>,
        /// Δt²/m/(1 + q), (n_nodes,).
        inertia: In<T>,
        /// (1 − q)/(1 + q), (n_nodes,). It is read in damped blocks only.
        decay: In<T>,
        /// α m / 4Δt, (n_nodes,).
        dissipation: In<T>,
        blocks: In<Block>,
        /// Blocks or tiles of this launch. Null means all blocks.
        list: In<u32>,
        halo_nodes: In<u32>,
        outer_nodes: In<u32>,
        /// Fan records of own nodes and of halo nodes: three words each. In single precision the fourth word is the
        /// inertia.
        fan: In<[u32; 4]>,
        halo_fan: In<[u32; 4]>,
        fan_planes: In<u32>,
        fan_materials: In<u32>,
        halo_fan_materials: In<u32>,
        further_node: In<u16>,
        further_fan: In<u32>,
        further_materials: In<u32>,
        materials: In<Material<T>>,
        colours: In<Colour>,
        /// Material of each element or ring of batches with several materials.
        element_materials: In<u32>,
        connectivity: In<u16>,
        /// Stiffness factor of each element, or null.
        factors: In<T>,
        /// First entry in `specials` of each own and halo node, followed by the end of the last one. Only blocks that
        /// have specials have rows here.
        special_first: In<u32>,
        specials: In<Special>,
        /// Signals at t_n, starting with the first step of the graph, (WINDOW + 2, n_signals).
        signals: In<f64>,
        /// Row of `recording` for each step, or −1 if the step is not recorded.
        record: In<i32>,
        /// u and Δu before the step and Δu after it, (n_recorded, n_monitors, 3).
        recording: Out<f64>,
        /// External work and damped energy up to now, (n_energy_rows, 2).
        energies: Out<f64>,
        /// Row of `record` at which the graph starts.
        row: In<u32>,
        /// First row in `passed` of each boundary node, block by block.
        passed_first: In<u32>,
        /// Row in `passed` of each entry of halo_nodes.
        passed_row: In<u32>,
        /// Forces of elements that several blocks share, for the blocks that own the nodes, (n, 3).
        passed: Out<T>,
        /// Blocks that pass forces on to each block. For the fan kernels: the block itself, the blocks that it reads
        /// and the blocks that read it, in rows of n_neighbours entries. NONE fills the rest of a row.
        sources: In<u32>,
        /// Number of launches that have stored the forces of each block. For the fan kernels: number of completed
        /// passes of this launch.
        done: Out<u32>,
        /// If not null, f_int in N is stored here, (n_nodes, dimension), and no step is made.
        force_out: Out<f64>,
        n_nodes: u64,
        /// Unit of force in N, the inverse of that unit, and 1/Δt.
        force_unit: f64,
        per_force_unit: f64,
        per_time_increment: f64,
        n_signals: u32,
        n_monitors: u32,
        n_blocks: u32,
        /// Solid kernels: the maximum over all blocks of the number of own and later nodes, and of the number of later
        /// nodes. A later node belongs to a block with a higher number.
        near_room: u32,
        later_room: u32,
        tiles: In<Tile>,
        /// One word for each node of each plane of each tile.
        words: In<u32>,
        /// Positions of the nodes in `words`, tile by tile, (planes, 3, SLOTS).
        tile_x: In<T>,
        /// Nodes that the kernel `act` updates, (n_act_nodes,).
        act_nodes: In<u32>,
        n_act_nodes: u32,
        /// Entry of the first of these nodes in special_first, and the first row of `energies` that `act` uses.
        act_special: u32,
        act_energy: u32,
        /// 1 if any node is damped.
        damped: u32,
        /// Fan kernels: number of entries in a row of `sources`.
        n_neighbours: u32,
        /// Fan kernels: maximum number of actions of a block that are kept in shared memory.
        n_kept: u32,
    }

    /// A curve of the form scale × shape(t − delay). The shape determines the meaning of a, b and c. Some shapes also
    /// have n pairs of `numbers`, starting at `first`: points (t, a), or terms (A, B).
    struct Curve {
        shape: u32,
        n: u32,
        first: u64,
        scale: f64,
        delay: f64,
        a: f64,
        b: f64,
        c: f64,
    }

    /// Signal of one column of the table. Without a curve, a = 1.
    struct Column {
        kind: u32,
        curve: u32,
    }

    /// Definitions of the signals, and the rows that are evaluated in advance.
    struct SignalTables {
        curves: In<Curve>,
        columns: In<Column>,
        numbers: In<[f64; 2]>,
        /// Values, (WINDOW + 2, n_signals).
        rows: Out<f64>,
        /// Increments of the integrated columns, (WINDOW + 1, n_signals).
        increments: Out<f64>,
        /// Number of the step of row 0.
        step: Out<u64>,
        time_increment: f64,
        n_signals: u32,
    }
}
