//! Porous samples made of Perlin noise, such as perlin1 of Arbenz, Flaig and Kellenberger: the intersection of two noise
//! functions above a threshold, mirrored in all three directions; larger samples are the same functions on finer grids.

use std::path::Path;

use pogo_formats::system::parallel::iterate::*;

use super::stack::{SOLID, StackSummary, save_stack};
use super::triangles::scattered;
use super::{GenerateError, one_or_three, refuse};

/// What makes a point solid, of two noise functions n1 and n2 and a threshold t.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Texture {
    /// n1 > t and n2 > t: as the paper.
    Bone,
    /// |n1| < t: curved plates.
    Plates,
    /// |n1| < t and |n2| < t: thin struts.
    Struts,
}

/// What a sample is like. The same options give the same bits.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct PerlinOptions {
    /// Voxels along x, y and z; one number for a cube.
    #[arg(long, num_args = 1..=3, default_values_t = [550], value_name = "N")]
    pub size: Vec<usize>,
    /// Share of solid voxels, met within about 0.001.
    #[arg(long, default_value_t = 0.18)]
    pub fraction: f64,
    /// What is solid.
    #[arg(long, value_enum, default_value_t = Texture::Bone)]
    pub texture: Texture,
    /// Cells of the noise along the longest side: the same number on a finer grid gives the same sample.
    #[arg(long, default_value_t = 20.0, value_name = "N")]
    pub cells: f64,
    /// Edge of a cell in voxels, instead of --cells: the same thickness of struts at any size.
    #[arg(long, value_name = "VOXELS", conflicts_with = "cells")]
    pub cell: Option<f64>,
    /// Which of many samples.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Evaluate the noise everywhere, instead of mirroring an eighth.
    #[arg(long)]
    pub no_mirror: bool,
    /// Edge of a voxel, mm.
    #[arg(long, default_value_t = 0.02, value_name = "MM")]
    pub spacing: f64,
}

/// Points that the threshold is found from.
const POINTS: usize = 1 << 20;
/// Where the second function's lattice lies against the first's, so that their zeros do not meet.
const SHIFT: [f64; 3] = [0.37, 0.59, 0.71];

/// Writes a sample; solid voxels are 255.
///
/// # Errors
/// [`GenerateError::Option`] for numbers out of range and a name with an unknown extension; [`GenerateError::Write`].
pub fn save_perlin(options: &PerlinOptions, path: &Path) -> Result<StackSummary, GenerateError> {
    let size = one_or_three("--size", &options.size)?;
    if size.iter().any(|n| !(1..=100_000).contains(n)) {
        return refuse("--size must be 1 to 100000");
    }
    if !(options.fraction > 0.0 && options.fraction < 1.0) {
        return refuse("--fraction must lie between 0 and 1");
    }
    let longest = size.into_iter().max().unwrap_or(1) as f64;
    let cell = options.cell.unwrap_or(longest / options.cells);
    if !(1.0..=1e6).contains(&cell) {
        return refuse("a cell of the noise must be at least 1 voxel: use fewer --cells, or a larger --cell");
    }
    let sample = Sample::new(options, size, cell);
    let [nx, ny, _] = size;
    save_stack(path, size, options.spacing, |first, voxels| {
        voxels.par_chunks_mut(nx).enumerate().for_each_init(Vec::new, |work, (row, voxels)| {
            sample.row(row % ny, first + row / ny, voxels, work);
        });
    })
}

struct Sample {
    size: [usize; 3],
    /// Cells a voxel.
    step: f64,
    texture: Texture,
    threshold: f64,
    noise: [Perlin; 2],
    mirrored: bool,
}

impl Sample {
    fn new(options: &PerlinOptions, size: [usize; 3], cell: f64) -> Self {
        let noise = [Perlin { seed: mix(options.seed) }, Perlin { seed: mix(options.seed ^ 0x5eed_0000_0000_0001) }];
        let mut sample = Self {
            size,
            step: 1.0 / cell,
            texture: options.texture,
            threshold: 0.0,
            noise,
            mirrored: !options.no_mirror,
        };
        let mut values: Vec<f64> = (0..POINTS)
            .into_par_iter()
            .map(|point| {
                let at = [0, 1, 2].map(|axis| {
                    let random = mix(options.seed ^ mix((3 * point + axis) as u64 + 1)) >> 11;
                    let n = sample.distinct(axis) as f64;
                    ((random as f64 / (1u64 << 53) as f64 * n).floor() + 0.5) * sample.step
                });
                let shifted = [0, 1, 2].map(|axis| at[axis] + SHIFT[axis]);
                sample.value(sample.noise[0].at(at), sample.noise[1].at(shifted))
            })
            .collect();
        let rank = ((POINTS as f64 * (1.0 - options.fraction)) as usize).min(POINTS - 1);
        sample.threshold = *values.select_nth_unstable_by(rank, f64::total_cmp).1;
        sample
    }

    /// Voxels along an axis that are not mirrored ones.
    fn distinct(&self, axis: usize) -> usize {
        if self.mirrored { self.size[axis].div_ceil(2) } else { self.size[axis] }
    }

    fn value(&self, n1: f64, n2: f64) -> f64 {
        match self.texture {
            Texture::Bone => n1.min(n2),
            Texture::Plates => -n1.abs(),
            Texture::Struts => -n1.abs().max(n2.abs()),
        }
    }

    fn row(&self, j: usize, k: usize, voxels: &mut [u8], work: &mut Vec<f64>) {
        let middle = |axis: usize, at: usize| {
            let at = if at < self.distinct(axis) { at } else { self.size[axis] - 1 - at };
            (at as f64 + 0.5) * self.step
        };
        let (y, z, n) = (middle(1, j), middle(2, k), self.distinct(0));
        work.resize(2 * n, 0.0);
        let (first, second) = work.split_at_mut(n);
        self.noise[0].row(0.5 * self.step, self.step, y, z, first);
        if self.texture != Texture::Plates {
            self.noise[1].row(0.5 * self.step + SHIFT[0], self.step, y + SHIFT[1], z + SHIFT[2], second);
        }
        for ((voxel, &n1), &n2) in voxels.iter_mut().zip(&*first).zip(&*second) {
            *voxel = if self.value(n1, n2) > self.threshold { SOLID } else { 0 };
        }
        for i in n..voxels.len() {
            voxels[i] = voxels[voxels.len() - 1 - i];
        }
    }
}

/// Gradient noise (Perlin 2002) on the lattice of whole numbers.
struct Perlin {
    seed: u64,
}

/// A pseudo-random number from a number (splitmix64).
fn mix(n: u64) -> u64 {
    scattered(n.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

impl Perlin {
    /// Gradient at a lattice point: to the middle of one of the twelve edges of a cube.
    fn gradient(&self, point: [i64; 3]) -> [f64; 3] {
        let hash = point.into_iter().fold(self.seed, |hash, x| mix(hash ^ x as u64));
        let (a, b) = (if hash & 1 == 0 { 1.0 } else { -1.0 }, if hash & 2 == 0 { 1.0 } else { -1.0 });
        match (hash >> 2) % 3 {
            0 => [a, b, 0.0],
            1 => [a, 0.0, b],
            _ => [0.0, a, b],
        }
    }

    /// The noise on the edge of a cell at y, z: c + d (x − i), i the lattice point.
    fn line(&self, i: i64, y: f64, z: f64) -> (f64, f64) {
        let (j, k) = (y.floor(), z.floor());
        let (fy, fz) = (y - j, z - k);
        let (v, w) = (fade(fy), fade(fz));
        let (mut c, mut d) = (0.0, 0.0);
        for (dj, weight_y) in [(0, 1.0 - v), (1, v)] {
            for (dk, weight_z) in [(0, 1.0 - w), (1, w)] {
                let [gx, gy, gz] = self.gradient([i, j as i64 + dj, k as i64 + dk]);
                let weight = weight_y * weight_z;
                c += weight * (gy * (fy - dj as f64) + gz * (fz - dk as f64));
                d += weight * gx;
            }
        }
        (c, d)
    }

    /// The noise at a point.
    fn at(&self, [x, y, z]: [f64; 3]) -> f64 {
        let mut value = [0.0];
        self.row(x, 0.0, y, z, &mut value);
        value[0]
    }

    /// The noise at x, x + step, …: within a cell the eight corners make two lines, which are blended.
    fn row(&self, start: f64, step: f64, y: f64, z: f64, out: &mut [f64]) {
        let mut cell = start.floor();
        let (mut low, mut high) = (self.line(cell as i64, y, z), self.line(cell as i64 + 1, y, z));
        for (i, out) in out.iter_mut().enumerate() {
            let x = start + step * i as f64;
            let here = x.floor();
            if here != cell {
                low = if here == cell + 1.0 { high } else { self.line(here as i64, y, z) };
                high = self.line(here as i64 + 1, y, z);
                cell = here;
            }
            let f = x - cell;
            let (a, b) = (low.0 + low.1 * f, high.0 + high.1 * (f - 1.0));
            *out = a + fade(f) * (b - a);
        }
    }
}
