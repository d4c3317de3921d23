//! Hexahedra and cells of six tetrahedra that stand in grids, cut into tiles for march.cuh, and what is left for the blocks.

use pogo_formats::explicit::block::DeviceView;
use pogo_formats::explicit::block::grid;
use pogo_formats::explicit::block::grid::{CORNERS, Grid, NOTHING, WHOLE};
use pogo_formats::mesh::ElementKind;
use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

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
#[derive(Default)]
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
        let rest: Vec<bool> = parallel::map(n_blocks, &all_free);
        for b in (0..n_blocks).filter(|&b| !rest[b]) {
            free[blocks.own_nodes(b)].fill(false);
        }
        let role = |b: usize| match rest[b] {
            false => Role::Steps,
            true if device.later(b).iter().any(|&node| !free[node as usize]) => Role::PassesOn,
            true => Role::Rests,
        };
        let roles: Vec<Role> = parallel::map(n_blocks, &role);
        let computed = (0..n_blocks).filter(|&b| roles[b] != Role::Rests).map(|b| blocks.own_nodes(b).len());
        if 2 * computed.sum::<usize>() > n_nodes {
            return None;
        }
        let mut tiles = Self { roles, ..Self::default() };
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

    /// What one of several devices moves, in pieces of the tiles of one device, so that a node has the bits that it has there. Lists
    /// what tiles of this device and of others read of each other. Numbers have so many bytes.
    pub fn of_part(
        &self,
        devices: &Devices,
        coordinates: &[f64],
        (number, multiprocessors): (usize, usize),
        sent: &mut Senders,
    ) -> Self {
        let tiles = || (0..self.rows.len()).into_par_iter();
        let read: Vec<Vec<(u32, u32)>> = tiles().map(|tile| self.read_of(tile, devices)).collect();
        read.into_iter().flatten().for_each(|(device, node)| sent.add(device, node));
        let is_sent = sent.marks(devices.n_nodes());
        let moved: Vec<Option<[usize; 2]>> = tiles().map(|tile| self.planes_moved(tile, devices)).collect();
        let n_resident = self.launches.iter().map(|launch| resident(number, launch.law)).max().unwrap_or(1);
        let most = most_planes(moved.iter().flatten().map(|[first, end]| end - first), n_resident * multiprocessors);

        let (roles, n_act_rows) = (self.roles.clone(), self.n_act_rows + 1);
        let mut part = Self { roles, n_act_rows, ..Self::default() };
        let mut in_border = vec![false; devices.n_nodes()];
        for launch in &self.launches {
            let cut = |&tile: &u32| {
                let planes = moved[tile as usize];
                planes.map_or_else(Vec::new, |planes| self.pieces(tile as usize, planes, most, devices, coordinates))
            };
            let pieces: Vec<(Tile, Vec<u32>)> = launch.tiles.par_iter().flat_map_iter(cut).collect();
            let mut of_launch = [true, false].map(|is_border| Launched { tiles: Vec::new(), is_border, ..*launch });
            for (row, words) in pieces {
                let moved = || words.iter().filter(|&&word| word & MOVED != 0).map(|word| (word & TILE_NODE) as usize);
                let reads_others = |words: [u32; 8]| {
                    words.iter().any(|word| word & MOVED != 0)
                        && !words.iter().all(|word| devices.is_own(word & TILE_NODE))
                };
                let is_border = moved().any(|node| is_sent[node]) || elements_of(&row, &words).any(reads_others);
                if is_border {
                    moved().for_each(|node| in_border[node] = true);
                }
                of_launch[usize::from(!is_border)].tiles.push(part.rows.len() as u32);
                part.n_moved += moved().count();
                part.rows.push(Tile { first: part.words.len() as u64, ..row });
                part.words.extend(words);
            }
            part.launches.extend(of_launch.into_iter().filter(|launch| !launch.tiles.is_empty()));
        }
        part.launches.sort_by_key(|launch| !launch.is_border);
        part.act_nodes = self.act_nodes.iter().copied().filter(|&node| devices.is_own(node)).collect();
        part.act_nodes.sort_by_key(|&node| !in_border[node as usize]);
        part.n_border_act = part.act_nodes.partition_point(|&node| in_border[node as usize]);
        part
    }

    /// Nodes of this device that others read for what they move in a tile, and the devices that read them.
    fn read_of(&self, tile: usize, devices: &Devices) -> Vec<(u32, u32)> {
        let words = &self.words[self.range(tile)];
        let is_own = |word: &u32| devices.is_own(word & TILE_NODE);
        if words.iter().all(is_own) || !words.iter().any(is_own) {
            return Vec::new();
        }
        let mut read = Vec::new();
        for element in elements_of(&self.rows[tile], words) {
            let moves_for =
                |device: u32| element.iter().any(|word| word & MOVED != 0 && devices.of(word & TILE_NODE) == device);
            for reader in (0..devices.n as u32).filter(|&device| device != devices.me && moves_for(device)) {
                let own = element.iter().filter(|word| is_own(word));
                read.extend(own.map(|word| (reader, word & TILE_NODE)));
            }
        }
        read.sort_unstable();
        read.dedup();
        read
    }

    /// The first plane of a tile with nodes that this device moves, and the one after the last.
    fn planes_moved(&self, tile: usize, devices: &Devices) -> Option<[usize; 2]> {
        let is_moved = |word: &u32| word & MOVED != 0 && devices.is_own(word & TILE_NODE);
        let planes = || self.words[self.range(tile)].chunks_exact(SLOTS).map(|plane| plane.iter().any(is_moved));
        Some([planes().position(|moved| moved)?, planes().rposition(|moved| moved)? + 1])
    }

    /// Cuts the planes of a tile that this device moves into pieces of at most so many. A piece has the origin of the tile, as
    /// slots that nothing reads have the nodes at its ends.
    fn pieces(
        &self,
        tile: usize,
        [first, end]: [usize; 2],
        most: usize,
        devices: &Devices,
        coordinates: &[f64],
    ) -> Vec<(Tile, Vec<u32>)> {
        let (row, words) = (&self.rows[tile], &self.words[self.range(tile)]);
        let x = |word: u32, axis: usize| coordinates[3 * (word & TILE_NODE) as usize + axis];
        let ends = (0..3).flat_map(|axis| {
            let by = move |a: &&u32, b: &&u32| x(**a, axis).total_cmp(&x(**b, axis));
            [words.iter().min_by(by), words.iter().max_by(by)]
        });
        let ends: Vec<u32> = ends.flatten().map(|word| word & TILE_NODE).collect();
        let free = SLOTS - row.n_slots as usize;
        // From the plane below the first that is moved to the one above the last.
        let piece = |planes: [usize; 2]| {
            let mut of_piece = words[(planes[0] - 1) * SLOTS..(planes[1] + 1) * SLOTS].to_vec();
            let n_planes = of_piece.len() / SLOTS;
            for (at, word) in of_piece.iter_mut().enumerate() {
                if at < SLOTS || at >= (n_planes - 1) * SLOTS || !devices.is_own(*word & TILE_NODE) {
                    *word &= !(MOVED | BY_ACT);
                }
            }
            for (k, &node) in ends.iter().enumerate() {
                of_piece[k / free * SLOTS + row.n_slots as usize + k % free] = node;
            }
            (Tile { first: 0, n_layers: n_planes as u32 - 1, ..*row }, of_piece)
        };
        // Three planes have room for the ends, or the tile stays whole.
        if 3 * free < ends.len() {
            let mut whole = words.to_vec();
            whole
                .iter_mut()
                .filter(|word| !devices.is_own(**word & TILE_NODE))
                .for_each(|word| *word &= !(MOVED | BY_ACT));
            return vec![(*row, whole)];
        }
        let (n, n_pieces) = (end - first, (end - first).div_ceil(most));
        (0..n_pieces).map(|at| piece([at, at + 1].map(|at| first + n * at / n_pieces))).collect()
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
        let words = elements_of(&self.rows[tile], &self.words[self.range(tile)]);
        words.map(|words| words.map(|word| (word & TILE_NODE) as usize))
    }
}

/// The elements of a tile, by the words of their nodes.
fn elements_of(row: &Tile, words: &[u32]) -> impl Iterator<Item = [u32; 8]> {
    let (w, h) = (row.width as usize, row.height as usize);
    (0..row.n_layers as usize * w * h).filter_map(move |at| {
        let (k, i, j) = (at / (w * h), at % w, at / w % h);
        let word = |[a, b, c]: [usize; 3]| words[(k + c) * SLOTS + slot(w, h, i + a, j + b)];
        (words[k * SLOTS + slot(w, h, i, j)] & PRESENT != 0).then(|| CORNERS.map(word))
    })
}

/// Planes that a piece of a tile moves, at most: those that cost least, as `shape` counts, where tiles move so many.
fn most_planes(moved: impl Iterator<Item = usize>, n_resident: usize) -> usize {
    let mut tiles = vec![0; LAYERS[1] + 1];
    moved.for_each(|planes| tiles[planes.min(LAYERS[1])] += 1);
    let cost = |most: usize| {
        let pieces: usize = (1..).zip(&tiles[1..]).map(|(planes, n): (usize, &usize)| n * planes.div_ceil(most)).sum();
        pieces.div_ceil(n_resident) * (most + 3)
    };
    // The longest of those that cost the same.
    (LAYERS[0]..=LAYERS[1]).rev().min_by_key(|&most| cost(most)).unwrap_or(LAYERS[1])
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
