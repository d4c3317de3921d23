//! Hexahedra and cells of six tetrahedra that stand in grids, cut into tiles for march.cuh, and what is left for the blocks.

use pogo_formats::explicit::block::DeviceView;
use pogo_formats::explicit::block::grid;
use pogo_formats::explicit::block::grid::{CORNERS, Grid, NOTHING, WHOLE};
use pogo_formats::mesh::ElementKind;
use rayon::prelude::*;

use super::super::Problem;
use super::halo::{Devices, Senders};
use super::laws::law_number;
use super::layout::*;
use crate::explicit::units::is_aligned;

/// Slots of a plane, and threads of a thread block.
const SLOTS: usize = super::layout::SLOTS as usize;
const THREADS: usize = super::layout::THREADS as usize;
/// Nodes that a tile moves along a grid's third axis: fewer and its first layer, which it computes beside others, counts
/// for more; more and its positions, which have one origin, have fewer digits.
const LAYERS: [usize; 2] = [4, 32];

/// What a block does where tiles move nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Moves its nodes.
    Steps,
    /// Has nodes that tiles move, and elements that act on those of others.
    PassesOn,
    /// Tiles do all of it.
    Rests,
}

/// Tiles of one launch.
pub(super) struct Launched {
    /// As `laws.cuh` numbers them.
    pub law: u32,
    /// Entry of the device's materials.
    pub material: usize,
    pub tiles: Vec<u32>,
    /// Its tiles read nodes of other devices, or move nodes that others read.
    pub is_border: bool,
}

/// The tiles of all grids.
pub(super) struct Tiles {
    pub roles: Vec<Role>,
    pub rows: Vec<Tile>,
    pub words: Vec<u32>,
    pub launches: Vec<Launched>,
    /// Nodes that they or `act` update.
    pub n_moved: usize,
    /// Nodes that `act` updates instead: they carry a load, a constraint, a monitor or damping.
    pub act_nodes: Vec<u32>,
    /// The first so many of them are in tiles of the border.
    pub n_border_act: usize,
    /// Rows of energies of `act`.
    pub n_act_rows: usize,
}

/// Thread blocks of `march` that a multiprocessor holds, with numbers of so many bytes (march.cu).
fn resident(number: usize, law: u32) -> usize {
    match (number, law) {
        (4, ACOUSTIC_TRIANGLE..) => 6,
        (_, ACOUSTIC_HEXAHEDRON) => 3,
        (_, ACOUSTIC_TRIANGLE..) => 4,
        (4, _) => 4,
        (_, HEXAHEDRON) => 2,
        _ => 3,
    }
}

/// Bytes of dynamic shared memory of `march` (`MarchRooms`) with numbers of so many bytes, and so many unknowns of a node.
pub(super) fn room(number: usize, unknowns: usize) -> u32 {
    let motion = (7 * unknowns + 1) * THREADS;
    (number * (3 * (3 + unknowns) * SLOTS + motion) + 4 * 8 * SLOTS) as u32
}

impl Tiles {
    /// None if there are no grids, or they have too few of the nodes. Blocks of nodes that are in no grid, or beside elements
    /// with a stiffness factor, are stepped by themselves. `acts` says on which nodes something acts, or which are recorded or damped;
    /// numbers have so many bytes.
    pub fn new(
        problem: &Problem,
        device: &DeviceView,
        acts: &(dyn Fn(usize) -> bool + Sync),
        number: usize,
        multiprocessors: usize,
    ) -> Option<Self> {
        let (blocks, n_nodes) = (&problem.blocks, problem.mesh.n_nodes());
        let aligned = |grid: &Grid| {
            let section = device.material_section[grid.material] as usize;
            problem.sections.get(section).is_some_and(|section| is_aligned(&section.elasticity))
        };
        let grids: Vec<Grid> = device.grids().filter(aligned).collect();
        if grids.is_empty() || n_nodes > TILE_NODE as usize {
            return None;
        }
        let mut free = vec![false; n_nodes];
        for grid in &grids {
            for &word in grid.places.iter().filter(|&&word| word & WHOLE != 0) {
                free[(word & grid::NODE) as usize] = true;
            }
        }
        let all_free = |b: usize| {
            blocks.own_nodes(b).all(|node| free[node])
                && blocks.runs(b).all(|run| run.elements.iter().all(|&e| problem.stiffness_factor_of(e) == 1.0))
        };
        let n_blocks = blocks.n_blocks();
        let rest: Vec<bool> = (0..n_blocks).into_par_iter().with_min_len(16).map(all_free).collect();
        for b in (0..n_blocks).filter(|&b| !rest[b]) {
            free[blocks.own_nodes(b)].fill(false);
        }
        let role = |b: usize| match rest[b] {
            false => Role::Steps,
            true if device.later(b).iter().any(|&node| !free[node as usize]) => Role::PassesOn,
            true => Role::Rests,
        };
        let roles: Vec<Role> = (0..n_blocks).into_par_iter().with_min_len(16).map(role).collect();
        let computed = (0..n_blocks).filter(|&b| roles[b] != Role::Rests).map(|b| blocks.own_nodes(b).len());
        if 2 * computed.sum::<usize>() > n_nodes {
            return None;
        }
        let mut tiles = Self {
            roles,
            rows: Vec::new(),
            words: Vec::new(),
            launches: Vec::new(),
            n_moved: 0,
            act_nodes: Vec::new(),
            n_border_act: 0,
            n_act_rows: 0,
        };
        for grid in &grids {
            let law = ElementKind::from_code(device.material_kind[grid.material]).map_or(HEXAHEDRON, law_number);
            tiles.cut(grid, law, &free, acts, resident(number, law) * multiprocessors);
        }
        tiles.act_nodes = (0..n_nodes)
            .into_par_iter()
            .with_min_len(4096)
            .filter(|&node| free[node] && acts(node))
            .map(|node| node as u32)
            .collect();
        tiles.n_act_rows = tiles.act_nodes.len().div_ceil(THREADS);
        Some(tiles)
    }

    /// Keeps what one of several devices moves, and lists what its tiles and those of others read of each other. Every
    /// device has the tiles of the whole model, so that a node moves with the bits that it has on one device. A tile with nodes of
    /// several devices is computed by each of them.
    pub fn keep_part(&mut self, devices: &Devices, sent: &mut Senders) {
        let n_tiles = self.rows.len();
        let seen: Vec<(Use, Vec<(u32, u32)>)> =
            (0..n_tiles).into_par_iter().map(|tile| self.use_of(tile, devices)).collect();
        for &(device, node) in seen.iter().flat_map(|(_, read)| read) {
            sent.add(device, node);
        }
        let mut uses: Vec<Use> = seen.into_iter().map(|(used, _)| used).collect();
        let is_own_moved = |word: &u32| word & MOVED != 0 && devices.is_own(word & TILE_NODE);
        let is_sent = sent.marks(devices.n_nodes());
        let mut in_border = vec![false; devices.n_nodes()];
        self.n_moved = 0;
        for (tile, used) in uses.iter_mut().enumerate().filter(|(_, used)| **used != Use::Nothing) {
            let range = self.range(tile);
            let moved =
                || self.words[range.clone()].iter().filter(|word| is_own_moved(word)).map(|word| word & TILE_NODE);
            self.n_moved += moved().count();
            if moved().any(|node| is_sent[node as usize]) {
                *used = Use::Border;
            }
            if *used == Use::Border {
                moved().for_each(|node| in_border[node as usize] = true);
            }
        }
        self.words.iter_mut().filter(|word| !is_own_moved(word)).for_each(|word| *word &= !(MOVED | BY_ACT));
        let launches = std::mem::take(&mut self.launches);
        for is_border in [true, false] {
            let wanted = if is_border { Use::Border } else { Use::Inside };
            let of = |tiles: &[u32]| tiles.iter().copied().filter(|&tile| uses[tile as usize] == wanted).collect();
            self.launches.extend(launches.iter().map(|launch| Launched {
                tiles: of(&launch.tiles),
                is_border,
                ..*launch
            }));
        }
        self.launches.retain(|launch| !launch.tiles.is_empty());
        self.act_nodes.retain(|&node| devices.is_own(node));
        self.act_nodes.sort_by_key(|&node| !in_border[node as usize]);
        self.n_border_act = self.act_nodes.partition_point(|&node| in_border[node as usize]);
        // As many on all devices: those of the whole model, and one for a row of the border that is not full.
        self.n_act_rows += 1;
    }

    /// What a tile is for one of several devices, and which nodes of this device others read for what it computes.
    fn use_of(&self, tile: usize, devices: &Devices) -> (Use, Vec<(u32, u32)>) {
        let words = &self.words[self.range(tile)];
        let is_own = |word: &u32| devices.is_own(word & TILE_NODE);
        if words.iter().all(is_own) {
            return (Use::Inside, Vec::new());
        }
        if !words.iter().any(is_own) {
            return (Use::Nothing, Vec::new());
        }
        let mut used = match words.iter().any(|word| word & MOVED != 0 && is_own(word)) {
            true => Use::Inside,
            false => Use::Nothing,
        };
        let mut read = Vec::new();
        for element in self.element_words(tile) {
            let moves_for =
                |device: u32| element.iter().any(|word| word & MOVED != 0 && devices.of(word & TILE_NODE) == device);
            if moves_for(devices.me) && !element.iter().all(is_own) {
                used = Use::Border;
            }
            for reader in (0..devices.n as u32).filter(|&device| device != devices.me && moves_for(device)) {
                let own = element.iter().filter(|word| is_own(word));
                read.extend(own.map(|word| (reader, word & TILE_NODE)));
            }
        }
        read.sort_unstable();
        read.dedup();
        (used, read)
    }

    /// Where the words of a tile are.
    fn range(&self, tile: usize) -> std::ops::Range<usize> {
        let row = &self.rows[tile];
        let first = row.first as usize;
        first..first + (row.n_layers as usize + 1) * SLOTS
    }

    fn cut(&mut self, grid: &Grid, law: u32, free: &[bool], acts: &(dyn Fn(usize) -> bool + Sync), n_resident: usize) {
        let number = shape(grid.size, n_resident);
        let n_tiles = number.iter().product();
        let made: Vec<(Tile, Vec<u32>, usize)> = (0..n_tiles)
            .into_par_iter()
            .filter_map(|tile| {
                let at = [tile % number[0], tile / number[0] % number[1], tile / (number[0] * number[1])];
                let range = |i: usize| [at[i], at[i] + 1].map(|part| grid.size[i] * part / number[i]);
                cut(grid, [range(0), range(1), range(2)], free, acts)
            })
            .collect();
        let mut launch = Launched { law, material: grid.material, tiles: Vec::new(), is_border: false };
        for (row, words, n_moved) in made {
            launch.tiles.push(self.rows.len() as u32);
            self.rows.push(Tile { first: self.words.len() as u64, ..row });
            self.words.extend(words);
            self.n_moved += n_moved;
        }
        let same = |other: &&mut Launched| other.law == launch.law && other.material == launch.material;
        match self.launches.iter_mut().find(same) {
            Some(other) => other.tiles.extend(launch.tiles),
            None if launch.tiles.is_empty() => {}
            None => self.launches.push(launch),
        }
    }

    /// Nodes of a tile.
    pub fn nodes(&self, tile: usize) -> impl Iterator<Item = usize> {
        self.words[self.range(tile)].iter().map(|word| (word & TILE_NODE) as usize)
    }

    /// Words that the tiles of the launches read.
    pub fn n_read(&self) -> usize {
        let rows = self.launches.iter().flat_map(|launch| &launch.tiles).map(|&tile| &self.rows[tile as usize]);
        rows.map(|row| (row.n_layers as usize + 1) * row.n_slots as usize).sum()
    }

    /// The elements of a tile, by their nodes.
    pub fn elements(&self, tile: usize) -> impl Iterator<Item = [usize; 8]> {
        self.element_words(tile).map(|words| words.map(|word| (word & TILE_NODE) as usize))
    }

    /// The elements of a tile, by the words of their nodes.
    fn element_words(&self, tile: usize) -> impl Iterator<Item = [u32; 8]> {
        let row = &self.rows[tile];
        let (w, h) = (row.width as usize, row.height as usize);
        let words = &self.words[self.range(tile)];
        (0..row.n_layers as usize * w * h).filter_map(move |at| {
            let (k, i, j) = (at / (w * h), at % w, at / w % h);
            let word = |[a, b, c]: [usize; 3]| words[(k + c) * SLOTS + slot(w, h, i + a, j + b)];
            (words[k * SLOTS + slot(w, h, i, j)] & PRESENT != 0).then(|| CORNERS.map(word))
        })
    }
}

/// What a tile is for one of several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It moves nodes of others alone.
    Nothing,
    /// It moves nodes of this device, and reads none of others.
    Inside,
    /// It reads nodes of others for those that it moves, or moves some that others read.
    Border,
}

/// Where the node (i, j) of a plane is.
fn slot(w: usize, h: usize, i: usize, j: usize) -> usize {
    match (i < w, j < h) {
        (true, true) => j * w + i,
        (false, _) => w * h + j,
        (true, false) => w * h + h + 1 + i,
    }
}

/// How many tiles a grid is cut into along each axis: those that cost least, by rounds of thread blocks and planes of each.
fn shape(size: [usize; 3], n_resident: usize) -> [usize; 3] {
    let mut best = (f64::INFINITY, [1; 3]);
    for a in 1..=size[0] {
        let w = size[0].div_ceil(a) + 1;
        // The fewest rows of tiles for this width.
        let most = (THREADS / w).min((SLOTS - THREADS - 1).saturating_sub(w));
        if most < 2 {
            continue;
        }
        let b = size[1].div_ceil(most - 1);
        let [fewest, layers] = LAYERS;
        for c in size[2].div_ceil(layers)..=size[2].div_ceil(fewest) {
            let rounds = ((a * b * c) as f64 / n_resident as f64).ceil();
            // A little for narrow tiles, whose rows share lines of memory with others.
            let cost = rounds * (size[2].div_ceil(c) as f64 + 3.0) * (1.0 + 0.05 / w as f64);
            if cost < best.0 {
                best = (cost, [a, b, c]);
            }
        }
    }
    best.1
}

/// The tile that moves the free nodes in a range of places, and how many; none if there are none.
fn cut(
    grid: &Grid,
    range: [[usize; 2]; 3],
    free: &[bool],
    acts: &(dyn Fn(usize) -> bool + Sync),
) -> Option<(Tile, Vec<u32>, usize)> {
    let [w, h, n_layers] = range.map(|[first, last]| last - first + 1);
    let n_slots = (w + 1) * (h + 1);
    let mut words = vec![NOTHING; (n_layers + 1) * SLOTS];
    let mut n_moved = 0;
    for k in 0..=n_layers {
        for j in 0..=h {
            for i in 0..=w {
                // From the place before the range to the one after it.
                let local = [i, j, k];
                let at: [usize; 3] = std::array::from_fn(|axis| (range[axis][0] + local[axis]).wrapping_sub(1));
                if (0..3).any(|axis| at[axis] >= grid.size[axis]) {
                    continue;
                }
                let place = grid.places[grid.place(at)];
                let node = place & grid::NODE;
                if node == NOTHING {
                    continue;
                }
                let inside = i < w && j < h && k < n_layers;
                let moved = inside && i > 0 && j > 0 && k > 0 && place & WHOLE != 0 && free[node as usize];
                n_moved += usize::from(moved);
                words[k * SLOTS + slot(w, h, i, j)] = node
                    | if inside && place & grid::PRESENT != 0 { PRESENT } else { 0 }
                    | if moved { MOVED } else { 0 }
                    | if moved && acts(node as usize) { BY_ACT } else { 0 };
            }
        }
    }
    // What is not there reads some node that is.
    let some = words.iter().find(|&&word| word & MOVED != 0)? & TILE_NODE;
    words.iter_mut().filter(|word| **word == NOTHING).for_each(|word| *word = some);
    let row = Tile {
        first: 0,
        n_layers: n_layers as u32,
        width: w as u32,
        height: h as u32,
        n_slots: n_slots as u32,
        reserved: [0; 2],
    };
    Some((row, words, n_moved))
}
