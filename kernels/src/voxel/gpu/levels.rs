//! The coarse levels as `levels.cuh` reads them.

use std::cmp::Ordering;

use pogo_formats::voxel::{BricksView, morton_position};
use rayon::prelude::*;

use super::super::Moduli;
use super::super::multigrid::{Coarse, Factor, First, Level, Operator, PLACES, Packed, exponent, rounded, transposed};
use super::super::number::Shared;
use super::layout::*;
use crate::device::layout::{In, Out, Pointer};
use crate::device::{Arena, DeviceError, Plain};

/// Nodes of an assembled level, at most.
const COLUMNS: usize = 1 << COLUMN_BITS;

/// Where arrays are put.
pub(super) trait Memory {
    /// Copies `values` to the device; the address of the copy.
    fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError>;
    /// Address of `len` zeros on the device.
    fn zeros<T: Plain>(&mut self, len: usize) -> Result<u64, DeviceError>;
}

impl Memory for Arena {
    fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError> {
        Ok(self.copy("tables of coarse levels", values)?.pointer())
    }

    fn zeros<T: Plain>(&mut self, len: usize) -> Result<u64, DeviceError> {
        Ok(Arena::zeros::<T>(self, "vectors of coarse levels", len)?.pointer())
    }
}

/// Numbers of a vector of `n` nodes: a multiple of four.
pub(super) fn padded(n: usize) -> usize {
    (3 * n).next_multiple_of(4)
}

/// Vectors of a level: residual, direction, product, solution, z, t and, where a smoother's step asks for it, d.
fn n_vectors(level: usize, degree: usize, last: bool) -> usize {
    if level == 0 || degree != 2 || last { 7 } else { 6 }
}

/// Memory that the finest level has no use for during a correction: where it has its z, and its t.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lent {
    /// Addresses, multiples of 16.
    pub z: u64,
    pub t: u64,
    /// Bytes of each of the two.
    pub bytes: u64,
}

/// Finds places for vectors.
struct Places {
    lent: Lent,
    used: [u64; 2],
}

impl Places {
    /// Place of a vector of `bytes` bytes in z or t, if there is one. What the finest level's residual is added up in must not lie
    /// there (in t), nor what its z is corrected with where that is.
    fn find(&mut self, level: usize, vector: usize, bytes: u64) -> Option<u64> {
        let allowed: &[usize] = match (level, vector) {
            (0, 0) => &[0],
            (0, 3 | 4) => &[1],
            _ => &[0, 1],
        };
        let place = *allowed.iter().find(|&&place| self.used[place] + bytes <= self.lent.bytes)?;
        let at = [self.lent.z, self.lent.t][place] + self.used[place];
        self.used[place] += bytes;
        Some(at)
    }
}

/// Calls `act(level, vector, numbers)` for every vector, those of level 1 that may not lie everywhere first.
fn for_vectors(
    coarse: &Coarse,
    mut act: impl FnMut(usize, usize, usize) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    for (l, level) in coarse.levels.iter().enumerate() {
        let last = l + 1 == coarse.levels.len();
        for vector in [0, 3, 4, 1, 2, 5, 6].into_iter().filter(|&v| v < n_vectors(l, coarse.settings.degree[1], last)) {
            act(l, vector, padded(level.n / 3))?;
        }
    }
    Ok(())
}

/// Bytes of everything that [`tables`] puts.
pub(super) fn bytes(coarse: &Coarse, lent: Lent) -> u64 {
    let mut sum = size_of::<Tables>() as u64;
    let mut places = Places { lent, used: [0; 2] };
    let _ = for_vectors(coarse, |level, vector, n| {
        if places.find(level, vector, 4 * n as u64).is_none() {
            sum += 4 * n as u64;
        }
        Ok(())
    });
    for level in &coarse.levels {
        let n = level.n / 3;
        let size = 4 * padded(n) + 32 * level.nodes.len();
        let size = size
            + match &level.operator {
                Operator::First(first) => (4 + size_of::<Cell>()) * level.nodes.len() + 4 * 300 * first.matrices.len(),
                Operator::Assembled(blocks) => {
                    let gather: usize =
                        level.transfer.place.iter().map(|&p| PLACES[usize::from(p)].corners().len()).sum();
                    22 * blocks.column.len() + 8 * n + 4 * gather + 4 * level.transfer.fine.len()
                }
                Operator::Half(_) => unreachable!("only on the CPU"),
            };
        sum += size as u64;
    }
    let n = if coarse.is_factorised() { coarse.levels.last().map_or(0, |level| level.n) } else { 0 };
    sum + 4 * (n * n) as u64
}

/// The elements of level 1 and their positions, those of one colour after those of another; and the first of each colour.
///
/// The colour of a cell is the parity of its position, the lowest bits of its Morton code. Cells of one colour have no
/// corner in common. (On level 1 no cell falls apart: its voxels all have the node in its middle.)
fn colours(bricks: &BricksView) -> (Vec<(u32, [u16; 3])>, [u32; 9]) {
    let mut of = [const { Vec::new() }; 8];
    let mut element = 0_u32;
    for (at, word) in bricks.element_mask.iter().enumerate() {
        let (brick, part) = (bricks.corner(at / 8), morton_position(at as u64 % 8));
        for (cell, octants) in word.to_le_bytes().into_iter().enumerate() {
            if octants != 0 {
                let within = morton_position(cell as u64);
                of[cell].push((element, [0, 1, 2].map(|a| (brick[a] / 2 + 2 * part[a] + within[a]) as u16)));
                element += 1;
            }
        }
    }
    let mut first = [0; 9];
    for (colour, elements) in of.iter().enumerate() {
        first[colour + 1] = first[colour] + elements.len() as u32;
    }
    (of.concat(), first)
}

/// An address as the kernels' structures hold it.
fn at<T>(address: u64) -> In<T> {
    In::from_address(address)
}

/// Puts the coarse levels into a memory. What belongs to the finest level is left to the caller.
///
/// # Errors
/// Too little memory, too many levels, or a level too large for the blocks' columns.
pub(super) fn tables(
    bricks: &BricksView,
    coarse: &Coarse,
    lent: Lent,
    memory: &mut impl Memory,
) -> Result<Tables, DeviceError> {
    let settings = &coarse.settings;
    let n_levels = coarse.levels.len();
    let most = coarse.levels.iter().skip(1).fold(0, |most, level| most.max(level.n / 3));
    if n_levels > MAX_LEVELS as usize || most > COLUMNS {
        let reason = format!("{n_levels} levels, the second of {most} nodes: there may be {MAX_LEVELS} and {COLUMNS}");
        return Err(DeviceError::Failed { what: "hold the coarse levels", reason });
    }
    let (order, colour_first) = colours(bricks);
    let mut out = Tables {
        colour_first,
        tolerance: settings.inner_tolerance.powi(2),
        n_levels: n_levels as u32,
        degree: settings.degree[1] as u32,
        ..Tables::zeroed()
    };
    put_vectors(coarse, lent, memory, &mut out)?;
    for (l, level) in coarse.levels.iter().enumerate() {
        let n = level.n / 3;
        let is_bottom = l + 1 == n_levels && coarse.is_factorised();
        let row = &mut out.levels[l];
        row.n = n as u32;
        row.n_finer = level.transfer.fine.len() as u32;
        row.steps = *settings.inner.get(l).or(settings.inner.last()).unwrap_or(&1) as u32;
        row.step = (1.0 / level.lambda) as f32;
        row.cost = level.cost;
        let mut inverse = level.inverse.clone();
        match &level.operator {
            Operator::First(operator) => put_first(level, operator, &order, memory, &mut out)?,
            Operator::Assembled(blocks) => {
                row.nodes = at(memory.put(level.nodes.as_flattened())?);
                if is_bottom {
                    // Solved as it is.
                    inverse.fill(1.0);
                } else {
                    let rounded = Rounded::new(blocks);
                    row.row_first = at(memory.put(&blocks.first)?);
                    row.column = at(memory.put(&rounded.column)?);
                    row.value = at(memory.put(rounded.value.as_flattened())?);
                    row.ninth = at(memory.put(&rounded.ninth)?);
                    row.unit = rounded.unit;
                }
                put_transfer(level, n, memory, row)?;
            }
            Operator::Half(_) => unreachable!("only on the CPU"),
        }
        inverse.resize(padded(n), 0.0);
        out.levels[l].inverse = at(memory.put(&inverse)?);
    }
    if let (Some(factor), Some(last)) = (&coarse.bottom, coarse.levels.last()) {
        out.bottom = at(memory.put(&inverse(factor, last.n))?);
    }
    Ok(out)
}

/// Finds places for the vectors of all levels: in memory that is lent, or of their own.
fn put_vectors(coarse: &Coarse, lent: Lent, memory: &mut impl Memory, out: &mut Tables) -> Result<(), DeviceError> {
    let mut places = Places { lent, used: [0; 2] };
    for_vectors(coarse, |level, vector, n| {
        let at = match places.find(level, vector, 4 * n as u64) {
            Some(at) => at,
            None => memory.zeros::<f32>(n)?,
        };
        let super::layout::Level { residual, direction, product, solution, z, t, d, .. } = &mut out.levels[level];
        *[residual, direction, product, solution, z, t, d][vector] = Out::<f32>::from_address(at);
        Ok(())
    })
}

/// The operator of level 1, whose elements come in this order.
fn put_first(
    level: &Level,
    operator: &First,
    order: &[(u32, [u16; 3])],
    memory: &mut impl Memory,
    out: &mut Tables,
) -> Result<(), DeviceError> {
    let nodes: Vec<u32> = order.iter().flat_map(|&(e, _)| level.nodes[e as usize]).collect();
    out.levels[0].nodes = at(memory.put(&nodes)?);
    drop(nodes);
    let child = |&(e, _): &(u32, _)| match operator.child[e as usize] {
        (_, 0) => operator.own.partition_point(|&own| own < e) as u32,
        (child, _) => child,
    };
    out.child = at(memory.put(&order.iter().map(child).collect::<Vec<u32>>())?);
    let cell = |&(e, [x, y, z]): &(u32, [u16; 3])| {
        let places = level.transfer.of(e as usize).fold(0, |bits, (_, place)| bits | 1 << place);
        Cell { places, x, y, z, octants: operator.child[e as usize].1.into() }
    };
    out.cells = at(memory.put(&order.iter().map(cell).collect::<Vec<Cell>>())?);
    let lower = |matrix: &[f32; 576]| -> [f32; 300] {
        let mut rows = (0..24).flat_map(|i| matrix[24 * i..24 * i + i + 1].iter());
        std::array::from_fn(|_| *rows.next().unwrap_or(&0.0))
    };
    let own: Vec<[f32; 300]> = operator.matrices.iter().map(lower).collect();
    out.own = at(memory.put(own.as_flattened())?);
    Ok(())
}

/// Where each finer node stands, and which finer nodes each node has to do with.
fn put_transfer(
    level: &Level,
    n: usize,
    memory: &mut impl Memory,
    row: &mut super::layout::Level,
) -> Result<(), DeviceError> {
    let transfer = &level.transfer;
    let mut owner = vec![0_u32; transfer.fine.len()];
    let mut first = vec![0_u32; n + 1];
    let corners = |element: usize, place: usize| {
        PLACES[place].corners().iter().map(move |&c| level.nodes[element][usize::from(c)] as usize)
    };
    for element in 0..level.nodes.len() {
        for (fine, place) in transfer.of(element) {
            owner[fine] = (element << 5 | place) as u32;
            corners(element, place).for_each(|node| first[node + 1] += 1);
        }
    }
    (0..n).for_each(|i| first[i + 1] += first[i]);
    let mut next = first.clone();
    let mut gather = vec![0_u32; first[n] as usize];
    for element in 0..level.nodes.len() {
        for (fine, place) in transfer.of(element) {
            let k = PLACES[place].corners().len().trailing_zeros();
            for node in corners(element, place) {
                gather[next[node] as usize] = (fine as u32) << 2 | k;
                next[node] += 1;
            }
        }
    }
    row.owner = at(memory.put(&owner)?);
    row.gather_first = at(memory.put(&first)?);
    row.gather = at(memory.put(&gather)?);
    Ok(())
}

/// Blocks as `Level` in grid.cuh has them.
struct Rounded {
    column: Vec<u32>,
    value: Vec<[u16; 8]>,
    ninth: Vec<u16>,
    unit: f32,
}

impl Rounded {
    /// Both blocks of a pair of nodes are made of one: what is not quite symmetric turns differences of displacement into
    /// forces on the whole, and a few last bits are enough for that to count.
    fn new(blocks: &Packed) -> Self {
        /// Sums below this share of the largest number in a row are what rounding in f32 leaves of numbers that cancel.
        const NOTHING: f64 = 4e-6;
        let n_blocks = blocks.column.len();
        let most = blocks.value.par_iter().map(|v| f64::from(v.abs())).reduce(|| 0.0, f64::max);
        // A power of two whose 32767-fold no number exceeds, nor a sum of so many: where a node is held in one direction, that of
        // its row is as large as all other blocks together.
        const SUMMANDS: f64 = 256.0;
        let top = exponent(SUMMANDS * most);
        let (mut column, mut value, mut ninth) =
            (vec![0_u32; n_blocks], vec![[0_u16; 8]; n_blocks], vec![0_u16; n_blocks]);
        let parts = (Shared::new(&mut column), Shared::new(&mut value), Shared::new(&mut ninth));
        (0..blocks.first.len() - 1).into_par_iter().for_each(|row| {
            let range = blocks.first[row] as usize..blocks.first[row + 1] as usize;
            // Columns of blocks become rows.
            let block = |at: usize| -> [f64; 9] {
                std::array::from_fn(|i| f64::from(blocks.value[9 * at + 3 * (i % 3) + i / 3]))
            };
            // Of the node itself, the sum of all.
            let (mut sum, mut large) = ([0.0; 9], 0.0_f64);
            for at in range.clone() {
                for (sum, v) in sum.iter_mut().zip(block(at)) {
                    *sum += v;
                    large = large.max(v.abs());
                }
            }
            let sum = sum.map(|v| if v.abs() > NOTHING * large { v } else { 0.0 });
            // SAFETY: each row has blocks of its own.
            let (column, value, ninth) =
                unsafe { (parts.0.part(range.clone()), parts.1.part(range.clone()), parts.2.part(range.clone())) };
            for (i, at) in range.enumerate() {
                let node = blocks.column[at];
                let block = match (node as usize).cmp(&row) {
                    Ordering::Equal => sum,
                    Ordering::Greater => block(at),
                    Ordering::Less => {
                        let there = blocks.first[node as usize] as usize..blocks.first[node as usize + 1] as usize;
                        let of_row = blocks.column[there.clone()].partition_point(|&column| (column as usize) < row);
                        transposed(&block(there.start + of_row))
                    }
                };
                let (power, whole) = rounded(&block, top);
                let whole = whole.map(|v| v as u16);
                column[i] = node | power << COLUMN_BITS;
                value[i].copy_from_slice(&whole[..8]);
                ninth[i] = whole[8];
            }
        });
        Self { column, value, ninth, unit: f32::from_bits(((127 + top) as u32) << 23) }
    }
}

/// The inverse of L Lᵀ, (n, n); rows without a pivot are left out.
fn inverse(factor: &Factor, n: usize) -> Vec<f32> {
    let mut out = vec![0.0_f32; n * n];
    // Symmetric: columns are rows.
    out.par_chunks_mut(n.max(1)).enumerate().for_each_init(
        || vec![0.0_f32; n],
        |unit, (column, out)| {
            unit[column] = 1.0;
            factor.solve(unit, out);
            unit[column] = 0.0;
        },
    );
    out
}

/// The moduli of the finest level; `one`: that of the first voxel is that of all.
pub(super) fn put_moduli(
    moduli: &Moduli,
    spacing: f64,
    one: bool,
    memory: &mut impl Memory,
    out: &mut Tables,
) -> Result<(), DeviceError> {
    match *moduli {
        Moduli::Classes { class, young } => {
            let mut young: Vec<f32> = young.iter().map(|&e| (e * spacing) as f32).collect();
            match class.first() {
                Some(&first) if one => young = vec![young[usize::from(first)]],
                _ => out.material = at(memory.put(class)?),
            }
            out.young = at(memory.put(&young)?);
        }
        Moduli::Each { modulus, scale } => {
            out.modulus = at(memory.put(modulus)?);
            out.modulus_unit = (scale * spacing) as f32;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pogo_formats::voxel::bricks_of;

    use super::super::super::elements::Elements;
    use super::super::super::multigrid::Host;
    use super::super::super::tests::random;
    use super::super::super::{Cube, CycleSettings};
    use super::super::tiles::Tiles;
    use super::*;
    use crate::simd::Real;

    /// Memory of the host.
    #[derive(Default)]
    struct HostMemory(Vec<Vec<u128>>);

    impl Memory for HostMemory {
        fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError> {
            let address = self.zeros::<T>(values.len())?;
            // SAFETY: made just now, as long as is copied.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), address as *mut T, values.len()) };
            Ok(address)
        }

        fn zeros<T: Plain>(&mut self, len: usize) -> Result<u64, DeviceError> {
            self.0.push(vec![0; (len * size_of::<T>()).div_ceil(16) + 1]);
            Ok(self.0.last().expect("just pushed").as_ptr() as u64)
        }
    }

    /// levels.cuh compiled for the host, with one thread.
    struct Twin {
        library: libloading::Library,
        folder: std::path::PathBuf,
    }

    impl Drop for Twin {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    impl Twin {
        fn new(name: &str) -> Option<Self> {
            let folder = std::env::temp_dir().join(format!("pogo-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("can make a folder");
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/voxel/gpu/levels.cuh");
            let code = format!(
                "#include \"{source}\"\n#include <cstring>\n\
                 extern \"C\" void twin(const Tables* tables, const float* cell) {{ std::memcpy(CELL, cell, sizeof CELL); \
                 Grid g(*tables); correct(g, *tables); prolong_first(g, *tables); clear_fixed(g, *tables); }}\n\
                 extern \"C\" unsigned long long bytes() {{ return sizeof(Tables); }}\n"
            );
            std::fs::write(folder.join("twin.cpp"), code).expect("can write");
            let mut compiler = std::process::Command::new("c++");
            compiler.args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", "twin.so", "twin.cpp"]);
            match compiler.current_dir(&folder).status() {
                Ok(status) => assert!(status.success(), "levels.cuh does not compile for the host"),
                Err(_) => {
                    pogo_tests::skip("there is no C++ compiler for the twin of levels.cuh");
                    return None;
                }
            }
            // SAFETY: compiled just now; it has no initialisers.
            let library = unsafe { libloading::Library::new(folder.join("twin.so")) }.expect("loads");
            // SAFETY: declared above.
            let size = unsafe { library.get::<unsafe extern "C" fn() -> u64>(b"bytes\0").expect("defined above")() };
            assert_eq!(size, size_of::<Tables>() as u64);
            Some(Self { library, folder })
        }

        /// z of a correction for r, and its work.
        fn correct(
            &self,
            coarse: &Coarse,
            (view, moduli, spacing): (&BricksView, &Moduli, f64),
            fixed: &[u32],
            r: &[f32],
        ) -> (Vec<f32>, f64) {
            let n = padded(view.n_nodes());
            let tiles = Tiles::new(view, fixed);
            let mut memory = HostMemory::default();
            let places = || {
                let dofs = tiles.order.iter().flat_map(|&node| [3 * node, 3 * node + 1, 3 * node + 2]);
                dofs.map(|dof| dof as usize)
            };
            let mut moved = vec![f32::NAN; n];
            places().zip(r).for_each(|(to, &r)| moved[to] = r);
            let t = memory.put(&moved).expect("fits");
            let lent = memory.put(&vec![f32::NAN; n]).expect("fits");
            let lent = Lent { z: lent, t, bytes: 4 * n as u64 };
            let mut tables = tables(view, coarse, lent, &mut memory).expect("fits");
            put_moduli(moduli, spacing, false, &mut memory, &mut tables).expect("fits");
            let z = memory.zeros::<f32>(n).expect("fits");
            tables.fine_residual = at(t);
            tables.fine_z = Out::<f32>::from_address(z);
            tables.planes = at(memory.put(&tiles.planes).expect("fits"));
            tables.tiles = at(memory.put(&tiles.firsts()).expect("fits"));
            tables.n_tiles = tiles.n_tiles[0] as u32;
            let fixed: Vec<u32> = fixed.iter().map(|dof| 3 * tiles.order[*dof as usize / 3] + dof % 3).collect();
            tables.fixed = at(memory.put(&fixed).expect("fits"));
            tables.n_fixed = fixed.len() as u32;
            let work = memory.zeros::<f64>(1).expect("fits");
            tables.work = Out::<f64>::from_address(work);
            // SAFETY: declared above; addresses of this process, of arrays as long as the tables say.
            unsafe {
                let run: libloading::Symbol<unsafe extern "C" fn(*const Tables, *const f32)> =
                    self.library.get(b"twin\0").expect("defined above");
                run(&tables, coarse.cell().as_ptr());
            }
            // SAFETY: as long as was asked for.
            let found = unsafe { std::slice::from_raw_parts(z as *const f32, n) };
            // SAFETY: one number.
            let work = unsafe { *(work as *const f64) };
            (places().map(|at| found[at]).collect(), work)
        }
    }

    /// ‖a − b‖ / ‖b‖.
    fn apart<T: Real>(a: &[f32], b: &[T]) -> f64 {
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
        let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - b.to_f64()));
        difference / norm(&mut b.iter().map(|b| b.to_f64()))
    }

    #[test]
    fn the_correction_on_a_device_is_that_of_the_cpu() {
        let Some(twin) = Twin::new("twin") else { return };
        // Thin floors on pillars: no part is loose.
        let bricks = bricks_of([45, 33, 41], |[x, y, z]| z % 5 == 0 || (x % 4 < 2 && y % 5 == 1));
        let view = bricks.view();
        let n_nodes = view.n_nodes();
        let cube = Cube::new(0.3);
        let class: Vec<u8> = (0..view.n_elements()).map(|e| u8::from(random(e as u64) < 0.5)).collect();
        let young = [10.0, 30.0];
        let moduli = Moduli::Classes { class: &class, young: &young };
        let stiffness = |e: usize| 0.1 * moduli.young(e);
        let positions: Vec<[u32; 3]> = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).collect();
        let mask: Vec<u8> = positions.iter().map(|p| if p[2] == 0 { 7 } else { u8::from(p[0] == 0) }).collect();
        let fixed: Vec<u32> =
            (0..3 * n_nodes as u32).filter(|&dof| mask[dof as usize / 3] >> (dof % 3) & 1 == 1).collect();
        let mut r: Vec<f32> = (0..3 * n_nodes).map(|i| random(i as u64 + 5) as f32 - 0.3).collect();
        fixed.iter().for_each(|&dof| r[dof as usize] = 0.0);
        let usual = CycleSettings { bottom: 200, ..CycleSettings::default() };
        for settings in [
            usual.clone(),
            CycleSettings { inner: vec![1], ..usual.clone() },
            CycleSettings { degree: [1, 1], ..usual.clone() },
            CycleSettings { degree: [3, 3], inner_tolerance: 1e-3, ..usual },
        ] {
            let mut coarse =
                Coarse::new(&cube, Elements::of_bricks(&view), &mask, &stiffness, &settings, Host::Device, None);
            coarse.make_matrices(&stiffness);
            let (found, work) = twin.correct(&coarse, (&view, &moduli, 0.1), &fixed, &r);
            let mut expected = vec![0.0_f32; 3 * n_nodes];
            coarse.correct(&mut r.clone(), &mut expected, Default::default(), &stiffness);
            fixed.iter().for_each(|&dof| expected[dof as usize] = 0.0);
            let error = apart(&found, &expected);
            eprintln!("{} levels, {n_nodes} nodes: difference {error:.1e}", coarse.levels.len());
            assert!((work - coarse.products).abs() < 0.1 * work, "{work} {}", coarse.products);
            // Blocks of assembled levels are rounded to 16 bits.
            assert!(error < 1e-3 && expected.iter().any(|&v| v != 0.0), "{settings:?}: {error}");
        }
    }

    #[test]
    fn slow_motions_of_long_samples_are_corrected() {
        // A bar held at both ends gives way in its middle far more than anything short: what is there moves nearly as a whole.
        let Some(twin) = Twin::new("bar") else { return };
        let length = 1000;
        let bricks = bricks_of([9, 9, length], |_| true);
        let view = bricks.view();
        let cube = Cube::new(0.3);
        let class = vec![0; view.n_elements()];
        let moduli = Moduli::Classes { class: &class, young: &[1.0] };
        let positions = || (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
        let mask: Vec<u8> = positions().map(|p| if p[2] % length == 0 { 7 } else { 0 }).collect();
        let fixed: Vec<u32> =
            (0..3 * mask.len() as u32).filter(|&dof| mask[dof as usize / 3] >> (dof % 3) & 1 == 1).collect();
        let r: Vec<f32> = (0..3 * mask.len()).map(|i| if i % 3 == 2 && mask[i / 3] == 0 { 1.0 } else { 0.0 }).collect();
        let mut wide: Vec<f64> = r.iter().map(|&r| r.into()).collect();
        let settings = CycleSettings { bottom: 200, ..CycleSettings::default() };
        let mut coarse =
            Coarse::<f32>::new(&cube, Elements::of_bricks(&view), &mask, &|_| 1.0, &settings, Host::Device, None);
        coarse.make_matrices(&|_| 1.0);
        let (found, _) = twin.correct(&coarse, (&view, &moduli, 1.0), &fixed, &r);
        let mut coarse =
            Coarse::<f64>::new(&cube, Elements::of_bricks(&view), &mask, &|_| 1.0, &settings, Host::Device, None);
        let mut expected = vec![0.0_f64; r.len()];
        coarse.correct(&mut wide, &mut expected, Default::default(), &|_| 1.0);
        fixed.iter().for_each(|&dof| expected[dof as usize] = 0.0);
        let error = apart(&found, &expected);
        eprintln!("a bar of {length}: difference {error:.1e}");
        // Blocks that act on displacements lose such a motion altogether.
        assert!(error < 0.1, "{error}");
    }
}
