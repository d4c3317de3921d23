//! The coarse levels as `levels.cuh` reads them.

use pogo_formats::voxel::BricksView;
use rayon::prelude::*;

use super::super::Moduli;
use super::super::blocks::Packed;
use super::super::multigrid::{Coarse, Level, Operator};
use super::super::number::Shared;
use super::super::split::PLACES;
use crate::cuda::{Buffer, DeviceError, Plain};

const MAX_LEVELS: usize = 24;

/// `Level` in levels.cuh. Addresses are of the device.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct LevelRow {
    residual: u64,
    direction: u64,
    product: u64,
    solution: u64,
    z: u64,
    t: u64,
    d: u64,
    inverse: u64,
    scale: u64,
    row_first: u64,
    column: u64,
    value: u64,
    n_blocks: u64,
    nodes: u64,
    owner: u64,
    gather_first: u64,
    gather: u64,
    n: u32,
    n_finer: u32,
    steps: u32,
    step: f32,
    cost: f64,
}

/// `Tables` in levels.cuh.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Tables {
    levels: [LevelRow; MAX_LEVELS],
    bottom: u64,
    pub fine_residual: u64,
    pub fine_z: u64,
    pub fixed: u64,
    child: u64,
    octants: u64,
    own: u64,
    list_first: u64,
    list: u64,
    place: u64,
    pub material: u64,
    pub young: u64,
    pub modulus: u64,
    pub partial: u64,
    pub arrived: u64,
    pub work: u64,
    tolerance: f64,
    pub modulus_unit: f32,
    n_levels: u32,
    degree: u32,
    pub n_fixed: u32,
    colour_first: [u32; 9],
}
// SAFETY: numbers; what there may be between them is read by nobody.
unsafe impl Plain for Tables {}

/// Where arrays are put.
pub(super) trait Memory {
    /// Address of a copy.
    fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError>;
    /// Address of zeros.
    fn zeros<T: Plain>(&mut self, len: usize) -> Result<u64, DeviceError>;
}

/// Memory of a device, kept until this goes.
#[derive(Debug, Default)]
pub(super) struct DeviceMemory {
    kept: Vec<Buffer<u8>>,
    /// Bytes in use.
    pub bytes: u64,
}

impl Memory for DeviceMemory {
    fn put<T: Plain>(&mut self, values: &[T]) -> Result<u64, DeviceError> {
        // SAFETY: plain numbers seen as bytes.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        self.keep(Buffer::of(bytes)?)
    }

    fn zeros<T: Plain>(&mut self, len: usize) -> Result<u64, DeviceError> {
        self.keep(Buffer::zeros(len * size_of::<T>())?)
    }
}

impl DeviceMemory {
    fn keep(&mut self, buffer: Buffer<u8>) -> Result<u64, DeviceError> {
        let address = buffer.pointer();
        self.bytes += buffer.len() as u64;
        self.kept.push(buffer);
        Ok(address)
    }
}

/// Numbers of a vector of `n` nodes: a multiple of four.
pub(super) fn padded(n: usize) -> usize {
    (3 * n).next_multiple_of(4)
}

/// Vectors of a level.
fn n_vectors(level: usize, degree: usize, last: bool) -> usize {
    if level == 0 || degree != 2 || last { 7 } else { 6 }
}

/// Vectors of level 1 that find room in `scratch` bytes.
fn n_lent(coarse: &Coarse, scratch: u64) -> usize {
    coarse.levels.first().map_or(0, |level| (scratch as usize / (4 * padded(level.n / 3)).max(1)).min(6))
}

/// Bytes of everything that [`tables`] puts.
pub(super) fn bytes(coarse: &Coarse, scratch: u64) -> u64 {
    let degree = coarse.settings.degree[1];
    let mut sum = size_of::<Tables>();
    for (l, level) in coarse.levels.iter().enumerate() {
        let n = level.n / 3;
        let last = l + 1 == coarse.levels.len();
        let lent = if l == 0 { n_lent(coarse, scratch) } else { 0 };
        sum += 4 * padded(n) * (n_vectors(l, degree, last) + 1 - lent) + 32 * level.nodes.len();
        sum += match &level.operator {
            Operator::First(first) => {
                let list = 4 * level.nodes.len() + 5 * level.transfer.fine.len();
                5 * level.nodes.len() + 4 * 576 * first.matrices.len() + list
            }
            Operator::Assembled(blocks) => {
                let gather: usize = level.transfer.place.iter().map(|&p| usize::from(PLACES[usize::from(p)].n)).sum();
                28 * blocks.column.len() + 4 * n + 4 * n + 4 * gather + 4 * level.transfer.fine.len()
            }
        };
    }
    let n = if coarse.bottom.is_empty() { 0 } else { coarse.levels.last().map_or(0, |level| level.n) };
    (sum + 4 * n * n) as u64
}

/// The elements of level 1, those of one colour after those of another; and the first of each colour.
///
/// The colour of a cell is the parity of its position, the lowest bits of its Morton code. Cells of one colour have no
/// corner in common. (On level 1 no cell falls apart: its voxels all have the node in its middle.)
fn colours(bricks: &BricksView) -> (Vec<u32>, [u32; 9]) {
    let mut of = [const { Vec::new() }; 8];
    let mut element = 0_u32;
    for word in bricks.element_mask {
        for (cell, octants) in word.to_le_bytes().into_iter().enumerate() {
            if octants != 0 {
                of[cell].push(element);
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

/// Puts the coarse levels into a memory. What belongs to the finest level is left to the caller.
///
/// `number` gives the place of each of the bricks' nodes in the finest level's vectors; `scratch` is memory, address and
/// bytes, that nobody else uses during a correction once the residual has been restricted.
///
/// # Errors
/// Too little memory, or too many levels.
pub(super) fn tables(
    bricks: &BricksView,
    coarse: &Coarse,
    number: &(impl Fn(u32) -> u32 + Sync),
    scratch: (u64, u64),
    memory: &mut impl Memory,
) -> Result<Tables, DeviceError> {
    let settings = &coarse.settings;
    let n_levels = coarse.levels.len();
    if n_levels > MAX_LEVELS {
        let reason = format!("{n_levels} levels; set solver.levels to {MAX_LEVELS} or less");
        return Err(DeviceError::Failed { what: "hold the coarse levels", reason });
    }
    let (order, colour_first) = colours(bricks);
    let mut out = Tables {
        colour_first,
        tolerance: settings.inner_tolerance.powi(2),
        n_levels: n_levels as u32,
        degree: settings.degree[1] as u32,
        ..Tables::default()
    };
    for (l, level) in coarse.levels.iter().enumerate() {
        let n = level.n / 3;
        let last = l + 1 == n_levels;
        let is_bottom = last && !coarse.bottom.is_empty();
        let vectors = n_vectors(l, settings.degree[1], last);
        let lent = if l == 0 { n_lent(coarse, scratch.1) } else { 0 };
        let first = memory.zeros::<f32>(padded(n) * (vectors - lent))?;
        let size = 4 * padded(n) as u64;
        let vector = |i: usize| match i {
            _ if i >= vectors => 0,
            _ if i >= vectors - lent => scratch.0 + size * (i + lent - vectors) as u64,
            _ => first + size * i as u64,
        };
        let mut row = LevelRow {
            residual: vector(0),
            direction: vector(1),
            product: vector(2),
            solution: vector(3),
            z: vector(4),
            t: vector(5),
            d: vector(6),
            n: n as u32,
            n_finer: level.transfer.fine.len() as u32,
            steps: *settings.inner.get(l).or(settings.inner.last()).unwrap_or(&1) as u32,
            step: (1.0 / level.lambda) as f32,
            cost: level.cost,
            ..LevelRow::default()
        };
        let mut diagonal = level.inverse.clone();
        match &level.operator {
            Operator::First(operator) => {
                let nodes: Vec<u32> = order.iter().flat_map(|&e| level.nodes[e as usize]).collect();
                row.nodes = memory.put(&nodes)?;
                drop(nodes);
                let child = |&e: &u32| match operator.child[e as usize] {
                    (_, 0) => operator.own.partition_point(|&own| own < e) as u32,
                    (child, _) => child,
                };
                out.child = memory.put(&order.iter().map(child).collect::<Vec<u32>>())?;
                let octants: Vec<u8> = order.iter().map(|&e| operator.child[e as usize].1).collect();
                out.octants = memory.put(&octants)?;
                out.own = memory.put(operator.matrices.as_flattened())?;
                put_list(level, &order, number, memory, &mut out)?;
                diagonal.resize(padded(n), 0.0);
                row.inverse = memory.put(&diagonal)?;
            }
            Operator::Assembled(blocks) => {
                // The bottom is solved as it is.
                let scale = |&inverse: &f32| if is_bottom { 1.0 } else { inverse.sqrt() };
                let mut scale: Vec<f32> = diagonal.iter().map(scale).collect();
                row.nodes = memory.put(level.nodes.as_flattened())?;
                if !is_bottom {
                    row.row_first = memory.put(&blocks.first)?;
                    row.column = memory.put(&blocks.column)?;
                    row.value = memory.put(&scaled(blocks, &scale))?;
                    row.n_blocks = blocks.column.len() as u64;
                }
                scale.resize(padded(n), 0.0);
                row.scale = memory.put(&scale)?;
                put_transfer(level, n, memory, &mut row)?;
            }
        }
        out.levels[l] = row;
    }
    if !coarse.bottom.is_empty() {
        out.bottom = memory.put(&inverse(&coarse.bottom))?;
    }
    Ok(out)
}

/// The finest nodes of each element of level 1.
fn put_list(
    level: &Level,
    order: &[u32],
    number: &(impl Fn(u32) -> u32 + Sync),
    memory: &mut impl Memory,
    out: &mut Tables,
) -> Result<(), DeviceError> {
    let transfer = &level.transfer;
    let range = |&e: &u32| transfer.first[e as usize] as usize..transfer.first[e as usize + 1] as usize;
    let mut first = vec![0_u32];
    let (mut list, mut place) = (Vec::with_capacity(transfer.fine.len()), Vec::with_capacity(transfer.fine.len()));
    for range in order.iter().map(range) {
        list.extend(transfer.fine[range.clone()].iter().map(|&node| number(node)));
        place.extend_from_slice(&transfer.place[range]);
        first.push(list.len() as u32);
    }
    out.list_first = memory.put(&first)?;
    out.list = memory.put(&list)?;
    out.place = memory.put(&place)?;
    Ok(())
}

/// Where each finer node stands, and which finer nodes each node has to do with.
fn put_transfer(level: &Level, n: usize, memory: &mut impl Memory, row: &mut LevelRow) -> Result<(), DeviceError> {
    let transfer = &level.transfer;
    let mut owner = vec![0_u32; transfer.fine.len()];
    let mut first = vec![0_u32; n + 1];
    let each = |act: &mut dyn FnMut(u32, u32, u8)| {
        for element in 0..level.nodes.len() {
            for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                act(element as u32, transfer.fine[i], transfer.place[i]);
            }
        }
    };
    let corners = |element: u32, place: u8| {
        let place = &PLACES[usize::from(place)];
        let nodes = &level.nodes[element as usize];
        place.corners[..usize::from(place.n)].iter().map(|&c| nodes[usize::from(c)] as usize)
    };
    each(&mut |element, fine, place| {
        owner[fine as usize] = element << 5 | u32::from(place);
        corners(element, place).for_each(|node| first[node + 1] += 1);
    });
    (0..n).for_each(|i| first[i + 1] += first[i]);
    let mut next = first.clone();
    let mut gather = vec![0_u32; first[n] as usize];
    each(&mut |element, fine, place| {
        let k = PLACES[usize::from(place)].n.trailing_zeros();
        for node in corners(element, place) {
            gather[next[node] as usize] = fine << 2 | k;
            next[node] += 1;
        }
    });
    row.owner = memory.put(&owner)?;
    row.gather_first = memory.put(&first)?;
    row.gather = memory.put(&gather)?;
    Ok(())
}

/// D^-1/2 A D^-1/2: rows of blocks, (3, n_blocks), three numbers of 21 bits each.
fn scaled(blocks: &Packed, scale: &[f32]) -> Vec<u64> {
    /// `UNIT` in levels.cuh.
    const UNIT: f32 = 1_048_575.0;
    let n_blocks = blocks.column.len();
    let mut out = vec![0_u64; 3 * n_blocks];
    let shared = Shared::new(&mut out);
    (0..blocks.first.len() - 1).into_par_iter().for_each(|row| {
        for at in blocks.first[row] as usize..blocks.first[row + 1] as usize {
            let column = blocks.column[at] as usize;
            for a in 0..3 {
                let entry = |b: usize| {
                    let value = blocks.value[9 * at + 3 * b + a] * scale[3 * row + a] * scale[3 * column + b];
                    (((value * UNIT).round().clamp(-UNIT, UNIT) as i64 as u64) & 0x1f_ffff) << (21 * b)
                };
                // SAFETY: each block has numbers of its own.
                unsafe { shared.part(a * n_blocks + at..a * n_blocks + at + 1)[0] = entry(0) | entry(1) | entry(2) };
            }
        }
    });
    out
}

/// The inverse of L Lᵀ; rows without a pivot are left out.
fn inverse(factor: &[f32]) -> Vec<f32> {
    let n = factor.len().isqrt();
    let mut out = vec![0.0_f32; n * n];
    out.par_chunks_mut(n.max(1)).enumerate().for_each(|(column, out)| {
        let mut x = vec![0.0_f64; n];
        for i in column..n {
            let row = &factor[i * n..i * n + i + 1];
            let sum: f64 = (column..i).map(|j| f64::from(row[j]) * x[j]).sum();
            let right = if i == column { 1.0 } else { 0.0 };
            x[i] = if row[i] > 0.0 { (right - sum) / f64::from(row[i]) } else { 0.0 };
        }
        for i in (0..n).rev() {
            let row = &factor[i * n..i * n + i + 1];
            x[i] = if row[i] > 0.0 { x[i] / f64::from(row[i]) } else { 0.0 };
            let xi = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, a)| *x -= f64::from(*a) * xi);
        }
        // Symmetric: columns are rows.
        out.iter_mut().zip(&x).for_each(|(out, x)| *out = *x as f32);
    });
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
                _ => out.material = memory.put(class)?,
            }
            out.young = memory.put(&young)?;
        }
        Moduli::Each { modulus, scale } => {
            out.modulus = memory.put(modulus)?;
            out.modulus_unit = (scale * spacing) as f32;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pogo_formats::voxel::bricks_of;

    use super::super::super::first::fine_elements;
    use super::super::super::tests::random;
    use super::super::super::{Cube, CycleSettings};
    use super::*;

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
    fn twin(folder: &std::path::Path) -> Option<libloading::Library> {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/voxel/gpu/levels.cuh");
        let code = format!(
            "#include \"{source}\"\n#include <cstring>\nextern \"C\" void twin(const Tables* tables, const float* cell) \
             {{ std::memcpy(CELL, cell, sizeof CELL); Grid g(*tables); correct(g, *tables); }}\n\
             extern \"C\" unsigned long long bytes() {{ return sizeof(Tables); }}\n"
        );
        std::fs::write(folder.join("twin.cpp"), code).expect("can write");
        let mut compiler = std::process::Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", "twin.so", "twin.cpp"]).current_dir(folder);
        match compiler.status() {
            Ok(status) => assert!(status.success(), "levels.cuh does not compile for the host"),
            Err(_) => {
                eprintln!("SKIPPED: no C++ compiler for the twin of levels.cuh");
                return None;
            }
        }
        // SAFETY: compiled just now; it has no initialisers.
        Some(unsafe { libloading::Library::new(folder.join("twin.so")) }.expect("loads"))
    }

    #[test]
    fn the_correction_on_a_device_is_that_of_the_cpu() {
        let folder = std::env::temp_dir().join(format!("pogo-twin-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("can make a folder");
        let Some(library) = twin(&folder) else { return };
        // SAFETY: declared above.
        let (run, size) = unsafe {
            let run: libloading::Symbol<unsafe extern "C" fn(*const Tables, *const f32)> =
                library.get(b"twin\0").expect("defined above");
            let size: libloading::Symbol<unsafe extern "C" fn() -> u64> =
                library.get(b"bytes\0").expect("defined above");
            (run, size())
        };
        assert_eq!(size, size_of::<Tables>() as u64);
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
            let mut coarse = Coarse::new(&cube, fine_elements(&view), &mask, &stiffness, &settings);
            coarse.make_matrices(&stiffness);
            let mut memory = HostMemory::default();
            let mut tables = tables(&view, &coarse, &|node| node, (0, 0), &mut memory).expect("fits");
            put_moduli(&moduli, 0.1, false, &mut memory, &mut tables).expect("fits");
            let z = memory.zeros::<f32>(3 * n_nodes).expect("fits");
            tables.fine_residual = memory.put(&r).expect("fits");
            tables.fine_z = z;
            tables.fixed = memory.put(&fixed).expect("fits");
            tables.n_fixed = fixed.len() as u32;
            tables.work = memory.zeros::<f64>(1).expect("fits");
            // SAFETY: addresses of this process, of arrays as long as the tables say.
            unsafe { run(&tables, coarse.cell().as_ptr()) };
            // SAFETY: as long as was asked for.
            let found = unsafe { std::slice::from_raw_parts(z as *const f32, 3 * n_nodes) }.to_vec();
            // SAFETY: one number.
            let work = unsafe { *(tables.work as *const f64) };
            let mut expected = vec![0.0_f32; 3 * n_nodes];
            coarse.correct(&mut r.clone(), &mut expected, &stiffness);
            fixed.iter().for_each(|&dof| expected[dof as usize] = 0.0);
            let norm = |v: &mut dyn Iterator<Item = f32>| v.map(|v| f64::from(v * v)).sum::<f64>().sqrt();
            let size = norm(&mut expected.iter().copied());
            let error = norm(&mut found.iter().zip(&expected).map(|(a, b)| a - b)) / size;
            eprintln!("{} levels, {n_nodes} nodes: difference {error:.1e}", coarse.levels.len());
            assert!((work - coarse.products).abs() < 0.1 * work, "{work} {}", coarse.products);
            // Blocks of assembled levels are rounded to 21 bits.
            assert!(error < 1e-4 && size > 0.0, "{settings:?}: {error}");
        }
        drop(library);
        std::fs::remove_dir_all(&folder).expect("can remove");
    }
}
