//! Which voxels of a stack each voxel of the model is made of. All triples of this file are by the axes of the stack's file,
//! the fastest first.

use std::ops::Range;

use super::sample::SampleType;
use super::{Header, ImageError, Stack};
use crate::system::parallel::iterate::*;

/// Bytes of stack that are converted at a time.
pub(super) const SLAB: usize = 32 << 20;

/// How voxels of the model come from voxels of the stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sampling {
    /// One of each.
    Direct,
    /// The voxel round the middle of the new one, whose edge this is.
    Nearest(f64),
    /// Between the eight voxels round the middle of the new one, whose edge this is.
    Trilinear(f64),
    /// The mean of cubes of so many voxels an edge.
    Mean(usize),
    /// The class of most voxels of such cubes.
    Majority(usize),
}

/// How a stack is read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) sampling: Sampling,
    pub(super) sample: SampleType,
    /// Voxels of a layer of the file.
    layer: [usize; 2],
    /// First voxel that is kept.
    start: [usize; 3],
    /// Voxels that are kept.
    pub(super) kept: [usize; 3],
    /// Voxels of the model.
    pub(super) out: [usize; 3],
    /// Kept voxels that no voxel of the model is made of.
    pub(super) rest: [usize; 3],
    /// New edge over old edge.
    ratio: [f64; 3],
    /// Edge of the model's voxels.
    pub(super) spacing: f64,
}

impl Plan {
    /// `crop` and `edges` are by x, y, z.
    pub(super) fn new(
        header: &Header,
        crop: Option<[[usize; 3]; 2]>,
        edges: [f64; 3],
        sampling: Sampling,
    ) -> Result<Self, String> {
        let [low, high] = crop.unwrap_or([[0; 3], header.size]);
        if (0..3).any(|axis| high[axis] > header.size[axis] || low[axis] >= high[axis]) {
            let [x, y, z] = header.size;
            return Err(format!("`crop` reaches beyond the stack, which has {x} × {y} × {z} voxels"));
        }
        let (start, end, size) = (header.by_file(low), header.by_file(high), header.file_size());
        let edges = header.by_file(edges);
        let kept = [0, 1, 2].map(|axis| end[axis] - start[axis]);
        let (mut out, mut rest, mut ratio) = (kept, [0; 3], [1.0; 3]);
        // The edges of a cube may differ by rounding.
        let is_exact = edges[0] == edges[1] && edges[1] == edges[2];
        let mut spacing = if is_exact { edges[0] } else { (edges[0] + edges[1] + edges[2]) / 3.0 };
        match sampling {
            Sampling::Direct => {}
            Sampling::Nearest(h) | Sampling::Trilinear(h) => {
                spacing = h;
                for axis in 0..3 {
                    ratio[axis] = h / edges[axis];
                    let n = (kept[axis] as f64 / ratio[axis]).round();
                    if n < 1.0 {
                        return Err(format!("`resample` {h} leaves no voxel of a stack this thin"));
                    }
                    if n > 1e9 {
                        return Err(format!(
                            "`resample` {h} would give {n:.0} voxels along an axis: choose a larger edge"
                        ));
                    }
                    out[axis] = n as usize;
                }
                if out.iter().try_fold(1usize, |product, &n| product.checked_mul(n)).is_none() {
                    return Err(format!(
                        "`resample` {h} would give more voxels than can be counted: choose a larger edge"
                    ));
                }
            }
            Sampling::Mean(factor) | Sampling::Majority(factor) => {
                spacing *= factor as f64;
                for axis in 0..3 {
                    out[axis] = kept[axis] / factor;
                    rest[axis] = kept[axis] % factor;
                }
                if out.contains(&0) {
                    return Err(format!("`downsample` by {factor} leaves no voxel of a stack this thin"));
                }
            }
        }
        Ok(Self { sampling, sample: header.sample, layer: [size[0], size[1]], start, kept, out, rest, ratio, spacing })
    }

    /// The same for the values that classes come from, before those of most voxels are chosen.
    pub(super) fn before_majority(&self) -> Self {
        match self.sampling {
            Sampling::Majority(_) => Self { sampling: Sampling::Direct, out: self.kept, ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Bytes of a layer of the file.
    fn layer_bytes(&self) -> usize {
        self.layer[0] * self.layer[1] * self.sample.bytes()
    }

    /// Layers of the model that are made at a time.
    pub(super) fn layers_at_a_time(&self) -> usize {
        let each = match self.sampling {
            Sampling::Mean(factor) | Sampling::Majority(factor) => factor as f64,
            _ => self.ratio[2],
        };
        ((SLAB as f64 / (self.layer_bytes() as f64 * each)) as usize).clamp(1, self.out[2])
    }

    /// Kept voxel (index) round the middle of voxel `at` of the model.
    fn nearest(&self, axis: usize, at: usize) -> usize {
        (((at as f64 + 0.5) * self.ratio[axis]) as usize).min(self.kept[axis] - 1)
    }

    /// The two kept voxels on either side of the middle of voxel `at`, and the weight of the second.
    fn between(&self, axis: usize, at: usize) -> (usize, usize, f64) {
        let position = ((at as f64 + 0.5) * self.ratio[axis] - 0.5).clamp(0.0, (self.kept[axis] - 1) as f64);
        let low = position as usize;
        (low, (low + 1).min(self.kept[axis] - 1), position - low as f64)
    }

    /// Kept layers that layers `out` of the model are made of.
    fn needed(&self, out: Range<usize>) -> Range<usize> {
        match self.sampling {
            Sampling::Direct => out,
            Sampling::Mean(factor) | Sampling::Majority(factor) => factor * out.start..factor * out.end,
            Sampling::Nearest(_) => self.nearest(2, out.start)..self.nearest(2, out.end - 1) + 1,
            Sampling::Trilinear(_) => self.between(2, out.start).0..self.between(2, out.end - 1).1 + 1,
        }
    }

    /// Fills `window` with what layers `out` of the model need; layers that `before` has are copied from it.
    pub(super) fn load(
        &self,
        stack: &mut Stack,
        out: Range<usize>,
        before: &Window,
        window: &mut Window,
    ) -> Result<(), ImageError> {
        let needed = self.needed(out);
        let bytes = self.layer_bytes();
        let there = before.first + before.bytes.len() / bytes;
        let shared =
            if (before.first..there).contains(&needed.start) { needed.start..there.min(needed.end) } else { 0..0 };
        let fresh = if shared.is_empty() { needed.clone() } else { shared.end..needed.end };
        window.first = needed.start;
        let from_file = self.start[2] + fresh.start..self.start[2] + fresh.end;
        stack.read_layers(from_file, &mut window.bytes)?;
        if !shared.is_empty() {
            let old = &before.bytes[(shared.start - before.first) * bytes..(shared.end - before.first) * bytes];
            window.bytes.splice(0..0, old.iter().copied());
        }
        Ok(())
    }

    /// Samples of row (j, k) of the kept voxels.
    pub(super) fn row<'a>(&self, window: &'a Window, j: usize, k: usize) -> &'a [u8] {
        let bytes = self.sample.bytes();
        let row = (k - window.first) * self.layer[1] + self.start[1] + j;
        let start = (row * self.layer[0] + self.start[0]) * bytes;
        &window.bytes[start..start + self.kept[0] * bytes]
    }

    /// The first kept voxel of a window whose value is infinite or no number: its indices in the stack, by the axes of the
    /// file, and the value.
    pub(super) fn not_finite(&self, window: &Window) -> Option<([usize; 3], f64)> {
        if !self.sample.is_float() {
            return None;
        }
        let n_layers = window.bytes.len() / self.layer_bytes();
        let find = |k: usize| {
            let mut values = vec![0.0; self.kept[0]];
            (0..self.kept[1]).find_map(|j| {
                self.sample.decode(self.row(window, j, k), &mut values);
                let i = values.iter().position(|value| !value.is_finite())?;
                Some(([self.start[0] + i, self.start[1] + j, self.start[2] + k], values[i]))
            })
        };
        (window.first..window.first + n_layers).into_par_iter().find_map_first(find)
    }

    /// Values of row (j, k) of the model, for every way of sampling but by majority (which has classes, not values).
    pub(super) fn values(&self, window: &Window, j: usize, k: usize, out: &mut [f64], scratch: &mut Scratch) {
        match self.sampling {
            Sampling::Direct | Sampling::Majority(_) => self.sample.decode(self.row(window, j, k), out),
            Sampling::Nearest(_) => {
                let line = scratch.line(self.kept[0]);
                self.sample.decode(self.row(window, self.nearest(1, j), self.nearest(2, k)), line);
                for (i, value) in out.iter_mut().enumerate() {
                    *value = line[self.nearest(0, i)];
                }
            }
            Sampling::Trilinear(_) => {
                let (line, sum) = scratch.lines(self.kept[0]);
                sum.fill(0.0);
                let (j0, j1, v) = self.between(1, j);
                let (k0, k1, w) = self.between(2, k);
                for (j, k, weight) in
                    [(j0, k0, (1.0 - v) * (1.0 - w)), (j1, k0, v * (1.0 - w)), (j0, k1, (1.0 - v) * w), (j1, k1, v * w)]
                {
                    if weight != 0.0 {
                        self.sample.decode(self.row(window, j, k), line);
                        sum.iter_mut().zip(&*line).for_each(|(sum, value)| *sum += weight * value);
                    }
                }
                for (i, value) in out.iter_mut().enumerate() {
                    let (i0, i1, u) = self.between(0, i);
                    *value = if u == 0.0 { sum[i0] } else { (1.0 - u) * sum[i0] + u * sum[i1] };
                }
            }
            Sampling::Mean(factor) => {
                let (line, sum) = scratch.lines(self.kept[0]);
                sum.fill(0.0);
                for k in factor * k..factor * (k + 1) {
                    for j in factor * j..factor * (j + 1) {
                        self.sample.decode(self.row(window, j, k), line);
                        sum.iter_mut().zip(&*line).for_each(|(sum, value)| *sum += value);
                    }
                }
                let n = (factor * factor * factor) as f64;
                for (value, group) in out.iter_mut().zip(sum.chunks_exact(factor)) {
                    *value = group.iter().sum::<f64>() / n;
                }
            }
        }
    }
}

/// Whole layers of the file, little-endian.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Index of the first among the kept layers.
    first: usize,
    bytes: Vec<u8>,
}

/// The rows of values that a thread works on.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    line: Vec<f64>,
    sum: Vec<f64>,
}

impl Scratch {
    pub(super) fn line(&mut self, n: usize) -> &mut [f64] {
        self.line.resize(n, 0.0);
        &mut self.line
    }

    fn lines(&mut self, n: usize) -> (&mut [f64], &mut [f64]) {
        self.line.resize(n, 0.0);
        self.sum.resize(n, 0.0);
        (&mut self.line, &mut self.sum)
    }
}
