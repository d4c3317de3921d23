//! What the kernels of the explicit step and the host share; `layout.cuh` is written from it.
//!
//! Arrays are named as the fields that point to them. Shapes are (rows, columns), rows one behind the other.

use pogo_formats::explicit::block::{DeviceTables, FanRecord, corner};
use pogo_formats::mesh::ElementLaw;

use crate::device::layout::{In, Out, layouts};

layouts! {
    header "explicit/gpu/layout.cuh", numbers template;

    constants {
        /// No block, row or curve.
        NONE: u32 = u32::MAX;
        /// `material` of a block in whose fans materials meet.
        MIXED: u32 = DeviceTables::MIXED as u32;
        /// Most own, halo and outer nodes of a block that goes by fans.
        MOST_LOCAL: u32 = FanRecord::LOCAL_NODES as u32;
        /// Actions of a block that fans keep in shared memory, at most.
        MOST_KEPT: u32 = 64;
        /// Bytes of `Extra` without materials and actions, and of an `Action` (fans.cuh, step.cuh).
        EXTRA_BYTES: u32 = 16 + MOST_LOCAL / 8;
        ACTION_BYTES: u32 = 24;
        /// Threads of a thread block of `solids`, `march` and `act`; elements or rings of a batch.
        THREADS: u32 = corner::BATCH as u32;
        /// A corner that is not there, in rows of solids.
        ABSENT: u32 = corner::ABSENT as u32;
        /// Slots of a plane of a tile; some may be empty.
        SLOTS: u32 = THREADS + 64;
        /// Planes of a tile whose words are in shared memory.
        PLANES_OF_WORDS: u32 = 8;
        /// In a word of a tile: the node.
        TILE_NODE: u32 = (1 << 29) - 1;
        /// In a word of a tile: the node is the lowest corner of an element.
        PRESENT: u32 = 1 << 29;
        /// In a word of a tile: the tile updates the node.
        MOVED: u32 = 1 << 30;
        /// In a word of a tile: `act` updates the node, because it carries a load, a constraint, a monitor or damping. The tile
        /// stores f_int where Δu will be.
        BY_ACT: u32 = 1 << 31;
        /// Force laws (laws.cuh).
        TRIANGLE: u32 = ElementLaw::Triangle as u32;
        QUADRILATERAL: u32 = ElementLaw::Quadrilateral as u32;
        REDUCED_QUADRILATERAL: u32 = ElementLaw::ReducedQuadrilateral as u32;
        TETRAHEDRON: u32 = ElementLaw::Tetrahedron as u32;
        WEDGE: u32 = ElementLaw::Wedge as u32;
        HEXAHEDRON: u32 = ElementLaw::Hexahedron as u32;
        REDUCED_HEXAHEDRON: u32 = ElementLaw::ReducedHexahedron as u32;
        /// C3D8 whose opposite edges are equal: a third of the arithmetic.
        PARALLELEPIPED: u32 = 7;
        /// Kinds of `Special`.
        FORCE: u32 = 0;
        SUPPORT: u32 = 1;
        MONITOR: u32 = 2;
        /// In `Special::kind`: mask of the kind.
        KIND: u32 = 255;
        /// In `Special::kind`: it is the last one of its node.
        LAST: u32 = 1 << 16;
        /// In `Special::kind`: lowest bit of the local number of its node.
        LOCAL_AT: u32 = 20;
        /// Steps whose signals are made at a time.
        WINDOW: u32 = 64;
        /// Shapes of a `Curve`.
        TABULAR: u32 = 0;
        SMOOTH_STEP: u32 = 1;
        PERIODIC: u32 = 2;
        HANN_BURST: u32 = 3;
        GAUSSIAN_BURST: u32 = 4;
        RECTANGULAR_BURST: u32 = 5;
        RICKER: u32 = 6;
        GAUSSIAN_PULSE: u32 = 7;
        /// Kinds of a `Column`: the value of a curve, or the displacement under it as a velocity or an acceleration.
        VALUE: u32 = 0;
        VELOCITY: u32 = 1;
        ACCELERATION: u32 = 2;
    }

    opaque {}

    /// One block of the mesh: where its rows stand in the tables.
    struct Block align(16) {
        node_first: u32,
        n_own: u32,
        halo_first: u32,
        n_halo: u32,
        outer_first: u32,
        n_outer: u32,
        /// First of its positions.
        local_first: u32,
        material: u32,
        /// First of its entries of `special_first`, or NONE.
        special_first: u32,
        /// 1 if some node of it is damped.
        damped: u32,
        /// Row of `energies`, or NONE.
        energy_row: u32,
        further_first: u32,
        n_further: u32,
        colour_first: u32,
        n_colours: u32,
        n_boundary: u32,
        boundary_first: u32,
        /// Its rows of `connectivity`, in pieces of 16 bytes.
        rows_first: u32,
        n_rows: u32,
        /// First of its entries of `specials`.
        special_base: u32,
        n_special: u32,
        source_first: u32,
        n_sources: u32,
        /// 1 if tiles update its nodes, and it only passes forces on.
        moved_by_tiles: u32,
    }

    /// Elasticity in the units of the tables, as on the CPU: in the plane the leading 3 × 3 times the thickness.
    struct Material<T> {
        d: [T; 36],
        hourglass: T,
        reserved: T,
    }

    /// A tile of a grid: `width` × `height` columns of hexahedra or of cells of six tetrahedra, and the nodes that it updates,
    /// which are not the first ones along any axis.
    struct Tile align(16) {
        /// First of its words.
        first: u64,
        n_layers: u32,
        width: u32,
        height: u32,
        n_slots: u32,
        reserved: [u32; 2],
    }

    /// A batch of elements of one law and material: in the plane, no two of them share an own node; in space, a run of
    /// elements or of rings of tetrahedra.
    struct Colour align(16) {
        connectivity_first: u64,
        element_first: u32,
        n_elements: u32,
        law: u32,
        material: u32,
        reserved: [u32; 2],
    }

    /// A force on, or the constraint of, one degree of freedom, or that it is recorded.
    struct Special {
        /// N of a force at signal 1, m of a constraint.
        value: f64,
        /// Lumped mass, kg, and α m, kg/s, of a constraint.
        mass: f64,
        damping: f64,
        kind: u32,
        component: u32,
        signal: u32,
        /// Column of the recorded values of a monitor.
        column: u32,
    }

    /// What a launch of step kernels is told.
    struct Params<T> {
        /// Displacements and their last increments, (n_nodes, dimension): a step reads the first array and writes the second.
        u: [Out<T>; 2],
        du: [Out<T>; 2],
        /// Positions, (own, halo, outer) block by block.
        x: In<T>,
        /// Δt²/m/(1 + q), (n_nodes,).
        inertia: In<T>,
        /// (1 − q)/(1 + q), (n_nodes,), read in damped blocks.
        decay: In<T>,
        /// α m / 4Δt, (n_nodes,).
        dissipation: In<T>,
        blocks: In<Block>,
        /// Blocks or tiles of this launch, or null for all blocks.
        list: In<u32>,
        halo_nodes: In<u32>,
        outer_nodes: In<u32>,
        /// Three words of a fan record, and in single precision the inertia, of own nodes and of halos.
        fan: In<[u32; 4]>,
        halo_fan: In<[u32; 4]>,
        fan_materials: In<u32>,
        halo_fan_materials: In<u32>,
        further_node: In<u16>,
        further_fan: In<u32>,
        further_materials: In<u32>,
        materials: In<Material<T>>,
        colours: In<Colour>,
        connectivity: In<u16>,
        /// Stiffness factor of each entry of a colour, or null.
        factors: In<T>,
        /// First entry of `specials` of each own and halo node, and their end, of the blocks that have any.
        special_first: In<u32>,
        specials: In<Special>,
        /// Signals at t_n from the first step of the graph on, (WINDOW + 2, n_signals).
        signals: In<f64>,
        /// Row of `recording` of each step, or −1.
        record: In<i32>,
        /// u, Δu before and after the step, (n_recorded, n_monitors, 3).
        recording: Out<f64>,
        /// External work and damped energy so far, (n_energy_rows, 2).
        energies: Out<f64>,
        /// Row of `record` with which the graph began.
        row: In<u32>,
        /// First row of `passed` of each boundary node, block by block.
        passed_first: In<u32>,
        /// Row of `passed` of each entry of halo_nodes.
        passed_row: In<u32>,
        /// Forces of elements on joins, for the blocks that own the nodes, (n, 3).
        passed: Out<T>,
        /// Blocks that pass forces on to each block. By fans: the block itself and those that it reads or that read it, in rows of
        /// n_neighbours that end with NONE.
        sources: In<u32>,
        /// Number of launches that have stored the forces of each block; by fans, number of passes of this launch.
        done: Out<u32>,
        /// f_int instead of a step, N, (n_nodes, dimension), or null.
        force_out: Out<f64>,
        n_nodes: u64,
        /// Unit of forces, N, its inverse, and 1/Δt.
        force_unit: f64,
        per_force_unit: f64,
        per_time_increment: f64,
        n_signals: u32,
        n_monitors: u32,
        n_materials: u32,
        n_blocks: u32,
        /// In space: own and later nodes of a block, and later nodes, at most.
        near_room: u32,
        later_room: u32,
        tiles: In<Tile>,
        /// A word a node of each plane of each tile.
        words: In<u32>,
        /// Positions of these nodes, (planes, 3, SLOTS) tile by tile.
        tile_x: In<T>,
        /// Nodes that `act` updates, (n_act_nodes,).
        act_nodes: In<u32>,
        n_act_nodes: u32,
        /// Entry of special_first and row of energies of the first of them.
        act_special: u32,
        act_energy: u32,
        /// 1 if any node is damped.
        damped: u32,
        /// Entries of a row of `sources`, by fans.
        n_neighbours: u32,
        /// Actions of a block that are kept in shared memory, at most, by fans.
        n_kept: u32,
    }

    /// scale × shape(t − delay). What a, b and c are depends on the shape; n pairs of `numbers` from `first` on are points (t, a)
    /// or terms (A, B).
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

    /// Signal of a column of the table; without a curve a = 1.
    struct Column {
        kind: u32,
        curve: u32,
    }

    /// Signals, and the rows of them that are made ahead.
    struct SignalTables {
        curves: In<Curve>,
        columns: In<Column>,
        numbers: In<[f64; 2]>,
        /// (WINDOW + 2, n_signals).
        rows: Out<f64>,
        /// Of integrated columns, (WINDOW + 1, n_signals).
        increments: Out<f64>,
        /// Step of row 0.
        step: Out<u64>,
        time_increment: f64,
        n_signals: u32,
    }
}
