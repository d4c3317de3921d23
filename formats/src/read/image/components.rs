//! Parts of a grid that are connected through faces, found on runs of voxels along x.
//!
//! A bit a voxel says what is solid; a run is a stretch of set (or clear) bits of a row. Runs are numbered row by row and
//! joined by union-find where they share a face, first within groups of layers at the same time, then between the groups.
//! Memory: 1 bit a voxel, 4 B a run and 4 B a row. The result does not depend on the number of threads.

use std::collections::TryReserveError;

use super::report::{Dropped, Filled};
use super::voxel_grid::{VoxelGrid, VoxelModuli};
use crate::memory::filled;
use crate::system::parallel::iterate::*;

/// Keeps the part with the most voxels (the first of equals) and makes the others void.
pub(super) fn keep_largest(grid: &mut VoxelGrid) -> Result<Dropped, String> {
    let parts = Parts::new(grid, true)?;
    let sizes = parts.sizes()?;
    let Some(largest) = (0..sizes.len()).rev().max_by_key(|&part| sizes[part]) else {
        return Ok(Dropped { parts: 0, voxels: 0 });
    };
    let voxels: u64 = sizes.iter().sum::<u64>() - sizes[largest];
    if voxels > 0 {
        let is_loose = |part: u32| part as usize != largest;
        match &mut grid.moduli {
            VoxelModuli::Classes { class, .. } => parts.set(class, is_loose, |_, _| 0),
            VoxelModuli::Each(modulus) => parts.set(modulus, is_loose, |_, _| 0.0),
        };
    }
    Ok(Dropped { parts: sizes.len() as u64 - 1, voxels })
}

/// Makes void that is not connected to a face of the grid solid: each run gets the material of the voxel before it
/// in its row.
pub(super) fn fill_cavities(grid: &mut VoxelGrid) -> Result<Filled, String> {
    let parts = Parts::new(grid, false)?;
    let mut is_outside = filled(parts.count, false).map_err(no_memory)?;
    let [nx, ny, nz] = grid.size;
    for row in 0..ny * nz {
        let (j, k) = (row % ny, row / ny);
        let is_border = j == 0 || j == ny - 1 || k == 0 || k == nz - 1;
        parts.for_each(row, |start, end, part| {
            if is_border || start == 0 || end == nx {
                is_outside[part as usize] = true;
            }
        });
    }
    let cavities = is_outside.iter().filter(|&&outside| !outside).count() as u64;
    if cavities == 0 {
        return Ok(Filled { cavities: 0, voxels: 0 });
    }
    let is_cavity = |part: u32| !is_outside[part as usize];
    // A cavity does not touch x = 0: there is a voxel before each of its runs.
    let voxels = match &mut grid.moduli {
        VoxelModuli::Classes { class, .. } => parts.set(class, is_cavity, |row, start| row[start - 1]),
        VoxelModuli::Each(modulus) => parts.set(modulus, is_cavity, |row, start| row[start - 1]),
    };
    Ok(Filled { cavities, voxels })
}

fn no_memory(_: TryReserveError) -> String {
    "the connected parts do not fit in memory: crop or downsample the stack".to_owned()
}

/// Runs of a grid and the part that each belongs to.
struct Parts {
    size: [usize; 3],
    words_per_row: usize,
    /// A bit a voxel: set where a run of interest is.
    words: Vec<u64>,
    /// First run of each row, and their number.
    first: Vec<u32>,
    /// Part of each run; parts are numbered in the order of their first runs.
    part: Vec<u32>,
    count: usize,
}

impl Parts {
    /// Parts of the solid voxels, or of the void.
    fn new(grid: &VoxelGrid, solid: bool) -> Result<Self, String> {
        let [nx, ny, nz] = grid.size;
        let words_per_row = nx.div_ceil(64);
        let mut words = filled(words_per_row * ny * nz, 0).map_err(no_memory)?;
        words.par_chunks_mut(words_per_row).enumerate().for_each(|(row, words)| match &grid.moduli {
            VoxelModuli::Classes { class, .. } => pack(words, &class[row * nx..(row + 1) * nx], |&c| (c != 0) == solid),
            VoxelModuli::Each(modulus) => pack(words, &modulus[row * nx..(row + 1) * nx], |&m| (m != 0.0) == solid),
        });
        let mut parts = Self { size: grid.size, words_per_row, words, first: Vec::new(), part: Vec::new(), count: 0 };
        parts.number()?;
        parts.join();
        parts.renumber();
        Ok(parts)
    }

    fn runs(&self, row: usize) -> Runs<'_> {
        Runs { words: &self.words[row * self.words_per_row..(row + 1) * self.words_per_row], at: 0, n: self.size[0] }
    }

    /// Calls with start, end and part of each run of a row.
    fn for_each(&self, row: usize, mut call: impl FnMut(usize, usize, u32)) {
        let first = self.first[row] as usize;
        for ((start, end), &part) in self.runs(row).zip(&self.part[first..]) {
            call(start, end, part);
        }
    }

    /// Gives all voxels of the parts that `is_chosen` names a value: `value` gets the row of the grid and the start of the
    /// run. Returns their number.
    fn set<T: Copy + Send>(
        &self,
        voxels: &mut [T],
        is_chosen: impl Fn(u32) -> bool + Sync,
        value: impl Fn(&[T], usize) -> T + Sync,
    ) -> u64 {
        let set_row = |(row, voxels): (usize, &mut [T])| {
            let mut n = 0;
            self.for_each(row, |start, end, part| {
                if is_chosen(part) {
                    let value = value(voxels, start);
                    voxels[start..end].fill(value);
                    n += (end - start) as u64;
                }
            });
            n
        };
        voxels.par_chunks_mut(self.size[0]).enumerate().map(set_row).sum()
    }

    /// Numbers the runs.
    fn number(&mut self) -> Result<(), String> {
        let rows = self.size[1] * self.size[2];
        let mut first = filled(rows + 1, 0).map_err(no_memory)?;
        first[..rows].par_iter_mut().enumerate().for_each(|(row, count)| *count = self.runs(row).count() as u32);
        let mut total = 0u32;
        for count in &mut first {
            let here = *count;
            *count = total;
            total =
                total.checked_add(here).ok_or("more than 4 billion runs of voxels: crop or downsample the stack")?;
        }
        self.first = first;
        self.part = filled(total as usize, 0).map_err(no_memory)?;
        self.part.iter_mut().zip(0..total).for_each(|(part, run)| *part = run);
        Ok(())
    }

    /// Joins runs that share a face.
    fn join(&mut self) {
        let [_, ny, nz] = self.size;
        let layers = nz.div_ceil(4 * rayon::current_num_threads()).max(1);
        let mut part = std::mem::take(&mut self.part);
        let mut groups = Vec::new();
        let mut rest = part.as_mut_slice();
        for k in (0..nz).step_by(layers) {
            let end = (k + layers).min(nz);
            let n = (self.first[end * ny] - self.first[k * ny]) as usize;
            let (group, after) = std::mem::take(&mut rest).split_at_mut(n);
            groups.push((k, end, group));
            rest = after;
        }
        groups.into_par_iter().for_each(|(start, end, group)| {
            let base = self.first[start * ny];
            for k in start..end {
                for j in 0..ny {
                    let row = k * ny + j;
                    if j > 0 {
                        self.join_rows(group, base, row - 1, row);
                    }
                    if k > start {
                        self.join_rows(group, base, row - ny, row);
                    }
                }
            }
        });
        for k in (layers..nz).step_by(layers) {
            for row in k * ny..(k + 1) * ny {
                self.join_rows(&mut part, 0, row - ny, row);
            }
        }
        self.part = part;
    }

    /// Joins runs of two neighbouring rows that overlap; `part` starts with run `base`.
    fn join_rows(&self, part: &mut [u32], base: u32, low: usize, high: usize) {
        let (mut a, mut b) = (self.runs(low), self.runs(high));
        let (mut run_a, mut run_b) = (self.first[low], self.first[high]);
        let (mut next_a, mut next_b) = (a.next(), b.next());
        while let (Some((start_a, end_a)), Some((start_b, end_b))) = (next_a, next_b) {
            if start_a < end_b && start_b < end_a {
                unite(part, base, run_a, run_b);
            }
            if end_a <= end_b {
                next_a = a.next();
                run_a += 1;
            } else {
                next_b = b.next();
                run_b += 1;
            }
        }
    }

    /// Replaces the tree of runs by numbers of parts. A run's parent is never after it.
    fn renumber(&mut self) {
        let mut count = 0;
        for run in 0..self.part.len() {
            let parent = self.part[run] as usize;
            self.part[run] = if parent == run {
                count += 1;
                count - 1
            } else {
                self.part[parent]
            };
        }
        self.count = count as usize;
    }

    /// Voxels of each part.
    fn sizes(&self) -> Result<Vec<u64>, String> {
        let mut sizes = filled(self.count, 0).map_err(no_memory)?;
        for row in 0..self.size[1] * self.size[2] {
            self.for_each(row, |start, end, part| sizes[part as usize] += (end - start) as u64);
        }
        Ok(sizes)
    }
}

/// Sets a bit for each voxel of a row that `is_set` names.
fn pack<T>(words: &mut [u64], voxels: &[T], is_set: impl Fn(&T) -> bool) {
    for (word, voxels) in words.iter_mut().zip(voxels.chunks(64)) {
        *word = voxels.iter().enumerate().fold(0, |word, (bit, voxel)| word | u64::from(is_set(voxel)) << bit);
    }
}

fn find(part: &mut [u32], base: u32, mut run: u32) -> u32 {
    loop {
        let parent = part[(run - base) as usize];
        if parent == run {
            return run;
        }
        let above = part[(parent - base) as usize];
        part[(run - base) as usize] = above;
        run = above;
    }
}

/// The lower root becomes the parent, so that a parent is never after its child.
fn unite(part: &mut [u32], base: u32, a: u32, b: u32) {
    let (a, b) = (find(part, base, a), find(part, base, b));
    let (low, high) = (a.min(b), a.max(b));
    part[(high - base) as usize] = low;
}

/// Stretches of set bits of a row, as start and end.
struct Runs<'a> {
    words: &'a [u64],
    at: usize,
    n: usize,
}

impl Runs<'_> {
    /// First position from `at` on whose bit differs from those of `mask` (0 looks for a set bit, !0 for a clear one).
    fn seek(&self, at: usize, mask: u64) -> usize {
        let mut word = at / 64;
        if word >= self.words.len() {
            return self.n;
        }
        let mut bits = (self.words[word] ^ mask) & (!0 << (at % 64));
        while bits == 0 {
            word += 1;
            if word == self.words.len() {
                return self.n;
            }
            bits = self.words[word] ^ mask;
        }
        (64 * word + bits.trailing_zeros() as usize).min(self.n)
    }
}

impl Iterator for Runs<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.seek(self.at, 0);
        if start >= self.n {
            return None;
        }
        self.at = self.seek(start, !0);
        Some((start, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(size: [usize; 3], class: Vec<u8>) -> VoxelGrid {
        let materials = vec![("A".to_owned(), 1.0), ("B".to_owned(), 2.0)];
        VoxelGrid { size, spacing: 1.0, origin: [0.0; 3], moduli: VoxelModuli::Classes { class, materials } }
    }

    fn class(grid: &VoxelGrid) -> &[u8] {
        match &grid.moduli {
            VoxelModuli::Classes { class, .. } => class,
            VoxelModuli::Each(_) => unreachable!("grids of these tests have classes"),
        }
    }

    /// Parts by flooding from each voxel: slow and plain.
    fn flood(size: [usize; 3], is_in: &dyn Fn(usize) -> bool) -> Vec<Option<usize>> {
        let [nx, ny, nz] = size;
        let mut part = vec![None; nx * ny * nz];
        let mut count = 0;
        for seed in 0..part.len() {
            if !is_in(seed) || part[seed].is_some() {
                continue;
            }
            let mut stack = vec![seed];
            part[seed] = Some(count);
            while let Some(v) = stack.pop() {
                let (i, j, k) = (v % nx, v / nx % ny, v / nx / ny);
                let mut visit = |there: bool, w: usize| {
                    if there && is_in(w) && part[w].is_none() {
                        part[w] = Some(count);
                        stack.push(w);
                    }
                };
                visit(i > 0, v.wrapping_sub(1));
                visit(i + 1 < nx, v + 1);
                visit(j > 0, v.wrapping_sub(nx));
                visit(j + 1 < ny, v + nx);
                visit(k > 0, v.wrapping_sub(nx * ny));
                visit(k + 1 < nz, v + nx * ny);
            }
            count += 1;
        }
        part
    }

    proptest! {
        #[test]
        fn parts_are_those_of_flooding(
            size in prop::array::uniform3(1usize..9), long in prop::bool::ANY, seed in any::<u64>(), fill in 1u64..8,
        ) {
            let size = if long { [size[0] * 20, size[1], size[2]] } else { size };
            let n: usize = size.iter().product();
            let mut state = seed | 1;
            let voxels: Vec<u8> = (0..n).map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if (state >> 33) % 8 < fill { 1 + (state >> 60) as u8 % 2 } else { 0 }
            }).collect();
            let mut kept = grid(size, voxels.clone());
            let dropped = keep_largest(&mut kept).unwrap();
            let part = flood(size, &|v| voxels[v] != 0);
            let count = part.iter().flatten().max().map_or(0, |&last| last + 1);
            let mut sizes = vec![0u64; count];
            part.iter().flatten().for_each(|&p| sizes[p] += 1);
            let largest = (0..count).find(|&p| Some(&sizes[p]) == sizes.iter().max());
            prop_assert_eq!(dropped.parts, count.saturating_sub(1) as u64);
            for v in 0..n {
                let expected = if part[v].is_some() && part[v] == largest { voxels[v] } else { 0 };
                prop_assert_eq!(class(&kept)[v], expected);
            }

            let mut filled = grid(size, voxels.clone());
            let report = fill_cavities(&mut filled).unwrap();
            let void = flood(size, &|v| voxels[v] == 0);
            let [nx, ny, nz] = size;
            let is_border = |v: usize| {
                let (i, j, k) = (v % nx, v / nx % ny, v / nx / ny);
                i == 0 || j == 0 || k == 0 || i == nx - 1 || j == ny - 1 || k == nz - 1
            };
            let outside: std::collections::HashSet<usize> = (0..n).filter(|&v| is_border(v)).filter_map(|v| void[v]).collect();
            let mut voxels_filled = 0;
            for v in 0..n {
                let is_cavity = void[v].is_some_and(|p| !outside.contains(&p));
                prop_assert_eq!(class(&filled)[v] == 0, voxels[v] == 0 && !is_cavity);
                voxels_filled += u64::from(is_cavity);
            }
            prop_assert_eq!(report.voxels, voxels_filled);
        }
    }

    #[test]
    fn a_full_grid_is_one_part_and_an_empty_one_none() {
        let mut full = grid([130, 3, 2], vec![1; 780]);
        assert_eq!(keep_largest(&mut full).unwrap(), Dropped { parts: 0, voxels: 0 });
        assert_eq!(fill_cavities(&mut full).unwrap(), Filled { cavities: 0, voxels: 0 });
        let mut empty = grid([130, 3, 2], vec![0; 780]);
        assert_eq!(keep_largest(&mut empty).unwrap(), Dropped { parts: 0, voxels: 0 });
        assert_eq!(fill_cavities(&mut empty).unwrap(), Filled { cavities: 0, voxels: 0 });
    }
}
