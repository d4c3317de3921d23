//! Tiles of the finest level: which nodes and elements each warp of `brick.cuh` has.

use std::cmp::Reverse;
use std::ops::Range;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::BricksView;

use super::super::Moduli;
use super::super::bricks::in_rows;
use super::super::share::sorted;
use super::layout::*;
use crate::device::Plain as _;
use pogo_formats::system::parallel::Shared;

/// Columns of nodes along an edge of a tile.
pub(super) const TILE: usize = 15;
/// Warps of a thread block.
pub(super) const WARPS: usize = N_WARPS as usize;
/// Planes of a stretch at most: of kernels in f32, of that for two smoothing steps, and of those in f64.
pub(super) fn longest(moduli: bool) -> [usize; 3] {
    let longest = if moduli { [LONGEST_MODULI; 3] } else { [LONGEST_SINGLE, LONGEST_PAIR, LONGEST_DOUBLE] };
    longest.map(|planes| planes as usize)
}

/// Stretches there should be, where the planes are that many: a few rounds of a large device.
const STRETCHES: usize = 2560;
/// What a stretch more in each tile costs, in planes of the last ones, which run alone in the end (measured, EXPERIMENTS.md); and how
/// many the last ones must have, so that it is they that end last.
const STRETCH_COST: usize = 56;
const LEAST: usize = 20;

/// The finest level cut into tiles.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    pub planes: Vec<Plane>,
    /// Nodes of other tiles that each tile reads.
    pub halo: Vec<u32>,
    /// Fixed degrees of freedom of the planes that have some, by warp and direction.
    pub fixed: Vec<[[u32; 3]; WARPS]>,
    /// The tiles' number of each node of the bricks.
    pub order: Vec<u32>,
    /// Elements of the tiles, those of two tiles in both.
    pub n_elements: usize,
    pub n_tiles: [usize; 2],
    /// First plane of each tile, and its z.
    first: Vec<(u32, i64)>,
}

/// Rows of bits of a grid, x fastest.
struct Bits {
    words: usize,
    size: [usize; 3],
    bits: Vec<u64>,
}

impl Bits {
    /// Of the nodes or the elements of all bricks.
    fn new(bricks: &BricksView, masks: &[u64], bricks_along: [usize; 3]) -> Self {
        let size = bricks_along.map(|n| 8 * n);
        let words = size[0].div_ceil(64) + 1;
        let mut bits = vec![0_u64; words * size[1] * size[2]];
        // A brick's row of eight is a byte.
        // SAFETY: any bytes are valid, and bytes may lie anywhere. (Devices are used on little-endian machines.)
        let (_, bytes, _) = unsafe { bits.align_to_mut::<u8>() };
        let shared = Shared::new(bytes);
        parallel::for_each(bricks.n_bricks(), &|brick| {
            let corner = bricks.corner(brick).map(|c| c as usize);
            let rows = in_rows(&masks[8 * brick..8 * brick + 8]).map(u64::to_le_bytes);
            for (row, &bits) in rows.as_flattened().iter().enumerate() {
                let at = 8 * words * ((corner[2] + row / 8) * size[1] + corner[1] + row % 8) + corner[0] / 8;
                // SAFETY: each brick has bytes of its own.
                unsafe { shared.part(at..at + 1)[0] = bits };
            }
        });
        Self { words, size, bits }
    }

    /// 17 bits of row (y, z) from x on; those outside the grid are 0.
    fn row(&self, x: i64, y: i64, z: i64) -> u32 {
        let inside = |v: i64, n: usize| usize::try_from(v).ok().filter(|&v| v < n);
        let (Some(y), Some(z)) = (inside(y, self.size[1]), inside(z, self.size[2])) else { return 0 };
        let row = &self.bits[self.words * (z * self.size[1] + y)..][..self.words];
        let (shift, x) = if x < 0 { ((-x) as u32, 0) } else { (0, x as usize) };
        if x / 64 + 1 >= self.words {
            return 0;
        }
        let both = u128::from(row[x / 64]) | u128::from(row[x / 64 + 1]) << 64;
        (((both >> (x % 64)) as u32) << shift) & 0x1ffff
    }
}

/// Position of node h of the 64 round a tile's own, in 17 × 17.
pub(super) fn ring(h: usize) -> (usize, usize) {
    match h {
        0..34 => (if h < 17 { 0 } else { 16 }, h % 17),
        34..49 => (h - 33, 0),
        _ => (h - 48, 16),
    }
}

/// Warp and bit of column (x, y) of 16 × 16.
fn place(x: usize, y: usize) -> (usize, u32) {
    (y / 4 * 2 + x / 8, (y % 4 * 8 + x % 8) as u32)
}

/// Bits of 16 rows of 16, by warp.
fn warps(rows: &[u32; 16]) -> [u32; WARPS] {
    std::array::from_fn(|warp| {
        let (y, x) = (warp / 2 * 4, warp % 2 * 8);
        (0..4).fold(0, |bits, row| bits | (rows[y + row] >> x & 255) << (8 * row))
    })
}

impl Tiles {
    /// Cuts the grid. `fixed`: degrees of freedom 3 node + direction, by the bricks' numbers.
    pub fn new(bricks: &BricksView, fixed: &[u32]) -> Self {
        let n_bricks = bricks.n_bricks();
        let mut along = [0_usize; 3];
        for brick in 0..n_bricks {
            let corner = bricks.corner(brick);
            for a in 0..3 {
                along[a] = along[a].max(corner[a] as usize / 8 + 1);
            }
        }
        let nodes = Bits::new(bricks, bricks.node_mask, along);
        let elements = Bits::new(bricks, bricks.element_mask, along);
        let n_tiles = [along[0], along[1]].map(|n| (8 * n).div_ceil(TILE));
        // The planes of each tile, numbered within it.
        let tiles: Vec<(i64, Vec<Plane>)> = (0..n_tiles[0] * n_tiles[1])
            .into_par_iter()
            .map(|tile| tile_planes(&nodes, &elements, tile % n_tiles[0], tile / n_tiles[0]))
            .collect();
        let mut out = Self { n_tiles, ..Self::default() };
        // Before the first tile there is an empty plane.
        let (mut node, mut element, mut end) = (0, 0, 1);
        let count = |planes: &[Plane], bits: fn(&Word) -> u32| -> u32 {
            planes.iter().flat_map(|plane| &plane.word).map(|word| bits(word).count_ones()).sum()
        };
        let counts: Vec<[u32; 2]> = tiles
            .par_iter()
            .map(|(_, planes)| [count(planes, |word| word.nodes), count(planes, |word| word.elements)])
            .collect();
        let mut begins = Vec::with_capacity(tiles.len());
        for ((z, planes), [n_nodes, n_elements]) in tiles.iter().zip(counts) {
            out.first.push((end as u32, *z));
            begins.push((node, element));
            (node, element, end) = (node + n_nodes, element + n_elements, end + planes.len());
        }
        out.planes = (0..end).into_par_iter().map(|_| Plane::zeroed()).collect();
        {
            let all = Shared::new(&mut out.planes);
            tiles.par_iter().zip(&out.first).zip(begins).for_each(
                |(((_, planes), &(first, _)), (mut node, mut element))| {
                    // SAFETY: each tile has planes of its own.
                    let to = unsafe { all.part(first as usize..first as usize + planes.len()) };
                    to.copy_from_slice(planes);
                    for word in to.iter_mut().flat_map(|plane| &mut plane.word) {
                        (word.node_at, word.element_at) = (node, element);
                        node += word.nodes.count_ones();
                        element += word.elements.count_ones();
                    }
                },
            );
        }
        out.n_elements = element as usize;
        drop((nodes, elements));
        out.fill_halo();
        out.order = vec![0; bricks.n_nodes()];
        {
            let order = Shared::new(&mut out.order);
            let (first, planes) = (&out.first, &out.planes);
            parallel::for_each(n_bricks, &|brick| {
                let range = bricks.node_first[brick] as usize..bricks.node_first[brick + 1] as usize;
                // SAFETY: each brick has nodes of its own.
                let order = unsafe { order.part(range) };
                for (order, at) in order.iter_mut().zip(bricks.node_positions(brick)) {
                    *order = number(first, planes, n_tiles, at.map(|v| v as usize)).0;
                }
            });
        }
        out.fix(bricks, fixed);
        out
    }

    /// Cuts the tiles into stretches of up to `longest` planes, each within one share, those of one height one after another, so that
    /// neighbours run at the same time; of the last two heights those first that take longest, so that all multiprocessors end at the
    /// same time.
    pub fn cut(&self, longest: usize, shares: &Shares) -> Vec<Stretch> {
        let most = self.planes.len().div_ceil(shares.n_parts() * STRETCHES).clamp(8, longest);
        // The first and the last plane of a tile are empty.
        let tops = (0..self.first.len()).map(|tile| self.first[tile].1 + self.planes_of(tile).len() as i64 - 1);
        let top = tops.max().unwrap_or(1).max(1) as usize;
        let cost = |n: usize| {
            let heights = top.div_ceil(n);
            let last = top - (heights - 1) * n;
            STRETCH_COST * heights + if last < LEAST { n } else { last }
        };
        let n = (most.div_ceil(2)..=most).rev().min_by_key(|&n| cost(n)).unwrap_or(most);
        let mut stretches = Vec::new();
        for (tile, &(first, z)) in self.first.iter().enumerate() {
            let end = self.planes_of(tile).end as u32 - 1;
            let mut at = first + 1;
            while at < end {
                // Cuts lie at multiples of n in all tiles.
                let height = (z + i64::from(at - first)) as usize;
                let length = ((n - height % n) as u32).min(end - at).min(shares.end_after(at) - at);
                stretches.push((height / n, Stretch { at, n: length }));
                at += length;
            }
        }
        let last = stretches.iter().map(|&(height, _)| height).max().unwrap_or(0);
        stretches.sort_by_cached_key(|&(height, ref stretch)| {
            (height, Reverse(if height + 2 > last { self.work(stretch) } else { 0 }))
        });
        stretches.into_iter().map(|(_, stretch)| stretch).collect()
    }

    /// What each of so many parts has of planes and nodes: equal work. A part begins with a node whose number is a multiple of four.
    pub fn shares(&self, n_parts: usize) -> Shares {
        let works: Vec<usize> = self.planes.iter().map(work).collect();
        let all: usize = works.iter().sum();
        let (mut planes, mut sum) = (vec![0], 0);
        for (plane, work) in works.iter().enumerate() {
            let may_begin = self.planes[plane].word[0].node_at.is_multiple_of(4);
            while may_begin && planes.len() < n_parts && sum * n_parts >= all * planes.len() {
                planes.push(plane);
            }
            sum += work;
        }
        planes.resize(n_parts, self.planes.len());
        let node = |&plane: &usize| match self.planes.get(plane) {
            Some(plane) => plane.word[0].node_at as usize / 4 * 4,
            None => self.order.len() / 4 * 4,
        };
        let mut nodes: Vec<usize> = planes.iter().map(node).collect();
        planes.push(self.planes.len());
        nodes.push(self.order.len());
        Shares { planes, nodes }
    }

    /// The nodes of some planes, and the first and the last tile of these.
    pub fn nodes_of(&self, planes: Range<usize>) -> (Range<u32>, [u32; 2]) {
        let node = |plane: usize| self.planes.get(plane).map_or(self.order.len() as u32, |plane| plane.word[0].node_at);
        let tile = |plane: usize| self.first.partition_point(|&(first, _)| first as usize <= plane).max(1) as u32 - 1;
        (node(planes.start)..node(planes.end), [tile(planes.start), tile(planes.end.saturating_sub(1))])
    }

    /// Places of the nodes of other parts that the stretches of some planes read, ascending.
    pub fn read_by(&self, planes: Range<usize>) -> Vec<u32> {
        let own = self.nodes_of(planes.clone()).0;
        // The planes before and after may be of another tile, which costs some numbers more.
        let around = planes.start.saturating_sub(1)..(planes.end + 1).min(self.planes.len());
        let of_plane = |plane: usize| {
            let plane = &self.planes[plane];
            let word = |word: &Word| word.node_at..word.node_at + word.nodes.count_ones();
            let n_halo = plane.halo[0].count_ones() + plane.halo[1].count_ones();
            let halo = &self.halo[plane.halo_at as usize..(plane.halo_at + n_halo) as usize];
            plane.word.iter().flat_map(word).chain(halo.iter().copied())
        };
        let read = around.into_par_iter().flat_map_iter(of_plane);
        sorted(read.filter(|node| !own.contains(node)).collect())
    }

    /// The planes of a tile.
    fn planes_of(&self, tile: usize) -> Range<usize> {
        self.first[tile].0 as usize..self.first.get(tile + 1).map_or(self.planes.len(), |next| next.0 as usize)
    }

    /// How long a stretch takes.
    fn work(&self, stretch: &Stretch) -> usize {
        self.planes[stretch.at as usize..(stretch.at + stretch.n) as usize].iter().map(work).sum()
    }

    /// Numbers of the nodes round each tile.
    fn fill_halo(&mut self) {
        let mut n = 0_u32;
        for plane in &mut self.planes {
            plane.halo_at = n;
            n += plane.halo[0].count_ones() + plane.halo[1].count_ones();
        }
        let mut halo = vec![0_u32; n as usize];
        let out = Shared::new(&mut halo);
        let (first, planes, n_tiles) = (&self.first, &self.planes, self.n_tiles);
        parallel::for_each(first.len(), &|tile| {
            let z = first[tile].1;
            let corner = [tile % n_tiles[0] * TILE, tile / n_tiles[0] * TILE];
            for (i, plane) in planes[self.planes_of(tile)].iter().enumerate() {
                let mut to = plane.halo_at as usize;
                for h in 0..64 {
                    if plane.halo[h / 32] >> (h % 32) & 1 == 1 {
                        let (x, y) = ring(h);
                        let position = [corner[0] + x - 1, corner[1] + y - 1, (z + i as i64) as usize];
                        // SAFETY: each plane has entries of its own.
                        unsafe { out.part(to..to + 1)[0] = number(first, planes, n_tiles, position).0 };
                        to += 1;
                    }
                }
            }
        });
        self.halo = halo;
    }

    /// Marks fixed degrees of freedom.
    fn fix(&mut self, bricks: &BricksView, fixed: &[u32]) {
        let (mut brick, mut positions) = (usize::MAX, Vec::new());
        for &dof in fixed {
            let (node, direction) = (dof / 3, dof as usize % 3);
            if brick == usize::MAX || node >= bricks.node_first[brick + 1] || node < bricks.node_first[brick] {
                brick = bricks.node_first.partition_point(|&first| first <= node) - 1;
                positions = bricks.node_positions(brick).collect();
            }
            let at = positions[(node - bricks.node_first[brick]) as usize].map(|v| v as usize);
            let (_, plane, warp, bit) = number(&self.first, &self.planes, self.n_tiles, at);
            let plane = &mut self.planes[plane];
            if plane.fixed == 0 {
                self.fixed.push([[0; 3]; WARPS]);
                plane.fixed = self.fixed.len() as u32;
                plane.word.iter_mut().for_each(|word| word.element_at |= HAS_FIXED);
            }
            self.fixed[plane.fixed as usize - 1][warp][direction] |= 1 << bit;
        }
    }

    /// Values of the bricks' elements in the order of the tiles'.
    pub fn of_elements<V: Copy + Default + Send + Sync>(&self, bricks: &BricksView, values: &[V]) -> Vec<V> {
        let mut out = vec![V::default(); self.n_elements];
        let to = Shared::new(&mut out);
        parallel::for_each(bricks.n_bricks(), &|brick| {
            let first = bricks.element_first[brick] as usize;
            for (i, at) in bricks.element_positions(brick).enumerate() {
                // Element (x, y) is in column x + 1 − 15 tile, those of column 15 are also in column 0 of the next tile.
                let [x, y, z] = at.map(|v| v as usize);
                for tile_x in x / TILE..=(x + 1) / TILE {
                    for tile_y in y / TILE..=(y + 1) / TILE {
                        if tile_x >= self.n_tiles[0] || tile_y >= self.n_tiles[1] {
                            continue;
                        }
                        let (first_plane, z0) = self.first[tile_y * self.n_tiles[0] + tile_x];
                        let (warp, bit) = place(x + 1 - TILE * tile_x, y + 1 - TILE * tile_y);
                        let word = self.planes[plane_of(first_plane, z0, z)].word[warp];
                        let before = (word.elements & ((1 << bit) - 1)).count_ones();
                        let at = ((word.element_at & !HAS_FIXED) + before) as usize;
                        // SAFETY: each element has places of its own.
                        unsafe { to.part(at..at + 1)[0] = values[first + i] };
                    }
                }
            }
        });
        out
    }

    /// First plane of each tile, and its z: `Tile` in grid.cuh.
    pub fn firsts(&self) -> Vec<Tile> {
        self.first.iter().map(|&(plane, z)| Tile { plane, z: z as i32 }).collect()
    }

    /// Bytes on the device, without moduli.
    pub fn bytes(&self) -> u64 {
        let sum = size_of_val(&self.planes[..]) + size_of_val(&self.halo[..]);
        (sum + size_of_val(&self.fixed[..]) + 2 * self.order.len()) as u64
    }
}

/// How long a plane takes: words with elements, and something for each plane.
fn work(plane: &Plane) -> usize {
    4 + plane.word.iter().filter(|word| word.elements != 0).count()
}

/// What each of several parts has of the finest level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shares {
    /// First plane of each part, and the number of planes.
    planes: Vec<usize>,
    /// First node of each part, a multiple of four, and the number of nodes.
    nodes: Vec<usize>,
}

impl Shares {
    pub fn n_parts(&self) -> usize {
        self.planes.len() - 1
    }

    pub fn planes(&self, part: usize) -> Range<usize> {
        self.planes[part]..self.planes[part + 1]
    }

    /// Where the part that has a plane ends.
    fn end_after(&self, plane: u32) -> u32 {
        self.planes[self.planes.partition_point(|&first| first <= plane as usize)] as u32
    }

    pub fn nodes(&self, part: usize) -> Range<usize> {
        self.nodes[part]..self.nodes[part + 1]
    }

    /// First node of each part, and the number of nodes.
    pub fn firsts(&self) -> &[usize] {
        &self.nodes
    }

    /// The first of each part but the first one, of values of which plane p has those from `first(p)` on.
    pub fn cuts(&self, first: impl Fn(usize) -> usize) -> Vec<usize> {
        self.planes[1..self.n_parts()].iter().map(|&plane| first(plane)).collect()
    }

    /// The same for values of which each node has `n`.
    pub fn node_cuts(&self, n: usize) -> Vec<usize> {
        self.nodes[1..self.n_parts()].iter().map(|node| n * node).collect()
    }

    /// The stretches that a part computes: those of its planes.
    pub fn stretches(&self, part: usize, all: &[Stretch]) -> Vec<Stretch> {
        let planes = self.planes(part);
        all.iter().filter(|stretch| planes.contains(&(stretch.at as usize))).copied().collect()
    }
}

fn plane_of(first: u32, z0: i64, z: usize) -> usize {
    (i64::from(first) + z as i64 - z0) as usize
}

/// The tiles' number of a node that is there, its plane, warp and bit.
fn number(
    first: &[(u32, i64)],
    planes: &[Plane],
    n_tiles: [usize; 2],
    [x, y, z]: [usize; 3],
) -> (u32, usize, usize, u32) {
    let (at, z0) = first[y / TILE * n_tiles[0] + x / TILE];
    let plane = plane_of(at, z0, z);
    let (warp, bit) = place(x % TILE + 1, y % TILE + 1);
    let word = &planes[plane].word[warp];
    let rank = (word.nodes & ((1 << bit) - 1)).count_ones();
    (word.node_at + rank, plane, warp, bit)
}

/// z of the first plane of a tile, and its planes, an empty one at either end; or none.
fn tile_planes(nodes: &Bits, elements: &Bits, tile_x: usize, tile_y: usize) -> (i64, Vec<Plane>) {
    let (x, y) = ((tile_x * TILE) as i64 - 1, (tile_y * TILE) as i64 - 1);
    let plane = |z: i64| {
        let mut rows = [0_u32; 17];
        for (j, row) in rows.iter_mut().enumerate() {
            *row = nodes.row(x, y + j as i64, z);
        }
        let own: [u32; 16] = std::array::from_fn(|j| if j == 0 { 0 } else { rows[j] & 0xfffe });
        let mut plane = Plane::zeroed();
        let any = own.iter().any(|&row| row != 0);
        let node_bits = warps(&own);
        let element_bits = warps(&std::array::from_fn(|j| elements.row(x, y + j as i64, z) & 0xffff));
        for (warp, word) in plane.word.iter_mut().enumerate() {
            (word.nodes, word.elements) = (node_bits[warp], element_bits[warp]);
        }
        for h in 0..64 {
            let (i, j) = ring(h);
            plane.halo[h / 32] |= (rows[j] >> i & 1) << (h % 32);
        }
        (any, plane)
    };
    let end = nodes.size[2] as i64;
    let mut planes = Vec::new();
    let (mut first, mut last) = (0, 0);
    for z in 0..end {
        let (any, plane) = plane(z);
        if any && planes.is_empty() {
            first = z;
            planes.push(Plane::zeroed());
        }
        if !planes.is_empty() {
            planes.push(plane);
        }
        if any {
            last = planes.len();
        }
    }
    planes.truncate(last);
    if !planes.is_empty() {
        planes.push(Plane::zeroed());
    }
    (first - 1, planes)
}

/// Classes or moduli as the device has them, in the order of the tiles: kind, classes, moduli. The kernels of elements that may
/// differ in Poisson's ratio (`ratios`) read classes in any case.
pub(super) fn moduli(tiles: &Tiles, bricks: &BricksView, moduli: &Moduli, ratios: bool) -> (u32, Vec<u8>, Vec<f32>) {
    match *moduli {
        Moduli::Classes { class, .. } if !ratios && class.iter().all(|&c| c == class[0]) => {
            (ONE, Vec::new(), Vec::new())
        }
        Moduli::Classes { class, .. } => (CLASSES, tiles.of_elements(bricks, class), Vec::new()),
        Moduli::Each { modulus, .. } => (EACH_ELEMENT, Vec::new(), tiles.of_elements(bricks, modulus)),
    }
}
