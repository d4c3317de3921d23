//! From a stack to a grid of moduli, slab by slab.

use std::path::Path;

use super::compile::Rule;
use super::convert::{Conversion, survey};
use super::law::{Law, MaterialLaw};
use super::options::{Downsampling, ImageOptions};
use super::plan::{Plan, SLAB, Sampling};
use super::report::{MaterialCount, Report};
use super::voxel_grid::{VoxelGrid, VoxelModuli};
use super::{Format, Header, ImageError, Stack, components, open};
use crate::memory::filled;
use crate::system::memory::Need;
use crate::system::parallel::iterate::*;
use crate::words::Choice;

/// Why a stack gives no grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GridError {
    /// The stack cannot be read.
    Stack(ImageError),
    /// The options do not fit the stack, or each other.
    Options(String),
    /// The law does not fit the stack.
    Law(String),
}

impl From<ImageError> for GridError {
    fn from(error: ImageError) -> Self {
        Self::Stack(error)
    }
}

/// Edges that differ by less than this share are those of a cube.
const CUBE: f64 = 1e-4;

/// Reads a stack. `origin` of the grid is where the model's first voxel is: the header's or the options' origin (or 0),
/// moved by the crop.
///
/// Peak memory is the grid (1 B a voxel with classes, 4 B with a modulus each) and, with `keep_largest` or
/// `fill_cavities`, a bit a voxel and 4 B a run of voxels; plus some 100 MB. The result does not depend on the number of
/// threads.
///
/// # Errors
/// [`GridError`].
pub fn voxel_grid(path: &Path, options: &ImageOptions, law: &MaterialLaw) -> Result<(VoxelGrid, Report), GridError> {
    let mut stack = open(path, options)?;
    let header = stack.header().clone();
    check_format(&header, options).map_err(GridError::Options)?;
    let edges = edges(&header, options).map_err(|message| stack.error(message))?;
    let mut notes = header.notes.clone();
    notes.extend(other_edges(&header, options, edges));
    let sampling = sampling(options, law, edges).map_err(GridError::Options)?;
    let plan = Plan::new(&header, options.crop, edges, sampling).map_err(GridError::Options)?;
    let rule = Rule::new(law, &header).map_err(GridError::Law)?;
    let rounding = if law.is_table() { None } else { survey(&mut stack, &plan, &rule, law.classes())? };
    if matches!(plan.sampling, Sampling::Majority(_)) && !law.is_table() && rounding.is_none() {
        let message = "downsample_by = \"majority\" needs classes: give `classes`, or downsample_by = \"mean\"";
        return Err(GridError::Options(message.to_owned()));
    }
    let is_rounded = rounding.is_some();
    let (mut moduli, stored) = Conversion::new(&plan, &rule, rounding).run(&mut stack)?;
    // What a crop leaves out is read, too: a checksum stands behind the last voxel.
    stack.finish()?;
    if header.reversed {
        moduli = transpose(moduli, plan.out).map_err(|message| stack.error(message))?;
    }
    for (axis, rest) in header.by_file(plan.rest).into_iter().enumerate().filter(|(_, rest)| *rest > 0) {
        notes.push(format!(
            "{rest} layers of voxels at the upper end of {} are cut off: no whole group is left for them",
            ["x", "y", "z"][axis]
        ));
    }
    let origin = origin(&header, options, edges);
    let mut grid = VoxelGrid { size: header.by_file(plan.out), spacing: plan.spacing, origin, moduli };
    let error = |message| stack.error(message);
    let dropped = options.keep_largest.then(|| components::keep_largest(&mut grid)).transpose().map_err(error)?;
    let filled = options.fill_cavities.then(|| components::fill_cavities(&mut grid)).transpose().map_err(error)?;
    let (materials, moduli, solid) = count(&mut grid, is_rounded);
    let values = stored.map(|range| native(&header, range));
    if solid == 0 {
        let range = values.map_or(String::new(), |[low, high]| format!("; values run from {low} to {high}"));
        return Err(GridError::Law(format!("no voxel of {} is solid by this law{range}", path.display())));
    }
    let report = Report {
        file: path.display().to_string(),
        format: header.format.name(),
        stack_size: header.size,
        stack_spacing: edges,
        sample: header.sample.name(),
        values,
        unit: options.unit.word(),
        size: grid.size,
        spacing: grid.spacing,
        law: law.name(),
        solid,
        void: grid.n_voxels() as u64 - solid,
        materials,
        moduli,
        dropped,
        filled,
        notes,
        warnings: stack.header().warnings.clone(),
    };
    Ok((grid, report))
}

/// Estimate of the memory that [`voxel_grid`] and the bricks of its model need, from the header of the stack alone.
///
/// # Errors
/// As for [`voxel_grid`].
pub fn memory_of(path: &Path, options: &ImageOptions, law: &MaterialLaw) -> Result<Need, GridError> {
    let stack = open(path, options)?;
    let header = stack.header();
    let edges = edges(header, options).map_err(|message| stack.error(message))?;
    let sampling = sampling(options, law, edges).map_err(GridError::Options)?;
    let plan = Plan::new(header, options.crop, edges, sampling).map_err(GridError::Options)?;
    let n = |size: [usize; 3]| size.iter().map(|&n| n as f64).product::<f64>();
    let (stored, voxels) = (n(header.size) * header.sample.bytes() as f64, n(plan.out));
    let each = if law.is_table() || law.classes().is_some() { 1.0 } else { 4.0 };
    let mut need = Need::default();
    need.add("for the program", 10e6);
    need.add("for the layers that are read at a time", stored.min(SLAB as f64));
    need.add("for the grid of voxels", each * voxels);
    need.add("for the bricks of the model", 0.7 * each * voxels);
    Ok(need)
}

/// Refuses options that are for other formats.
fn check_format(header: &Header, options: &ImageOptions) -> Result<(), String> {
    for (key, given, formats) in [
        ("array", options.array.is_some(), &[Format::Npz][..]),
        ("axes", options.axes.is_some(), &[Format::Npy, Format::Npz]),
    ] {
        if given && !formats.contains(&header.format) {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let (wanted, found) = (names.join(" and "), header.format.name());
            return Err(format!("`{key}` is for {wanted}, this stack is {found}: leave it out"));
        }
    }
    Ok(())
}

/// Least and greatest native value, from a range of stored ones.
fn native(header: &Header, range: [f64; 2]) -> [f64; 2] {
    let [slope, intercept] = header.rescale.unwrap_or([1.0, 0.0]);
    let [a, b] = range.map(|value| slope * value + intercept);
    [a.min(b), a.max(b)]
}

/// Where the model's first voxel begins.
fn origin(header: &Header, options: &ImageOptions, edges: [f64; 3]) -> [f64; 3] {
    options.origin.unwrap_or_else(|| {
        let start = header.origin.map_or([0.0; 3], |origin| origin.map(|x| x * options.unit.per_millimetre()));
        let low = options.crop.map_or([0; 3], |crop| crop[0]);
        [0, 1, 2].map(|axis| start[axis] + low[axis] as f64 * edges[axis])
    })
}

/// Edges of the stack's voxels in the job's unit.
fn edges(header: &Header, options: &ImageOptions) -> Result<[f64; 3], String> {
    match (options.spacing, header.spacing) {
        (Some(edges), _) => Ok(edges),
        (None, Some(spacing)) => Ok(spacing.map(|edge| edge * options.unit.per_millimetre())),
        (None, None) => Err(format!(
            "this stack does not say how large its voxels are: give `spacing` (in {}) in [image] of the job",
            options.unit.word()
        )),
    }
}

/// The note on edges that replace those of the header.
fn other_edges(header: &Header, options: &ImageOptions, edges: [f64; 3]) -> Option<String> {
    let [x, y, z] = header.spacing?.map(|edge| (edge * options.unit.per_millimetre() * 1e9).round() / 1e9);
    let differ = edges.into_iter().zip([x, y, z]).any(|(a, b)| (a / b - 1.0).abs() > 1e-3);
    let unit = options.unit.word();
    differ.then(|| format!("`spacing` takes the place of {x} × {y} × {z} {unit} in the stack's header"))
}

/// How voxels of the model come from voxels of the stack.
fn sampling(options: &ImageOptions, law: &MaterialLaw, edges: [f64; 3]) -> Result<Sampling, String> {
    let least = edges.into_iter().fold(f64::INFINITY, f64::min);
    let greatest = edges.into_iter().fold(0.0, f64::max);
    let is_cube = greatest <= least * (1.0 + CUBE);
    let factor = options.downsample.unwrap_or(1);
    match options.resample {
        Some(_) if factor > 1 => {
            Err("give `resample` or `downsample`, not both: resample to the edge that you want".to_owned())
        }
        Some(h) if is_cube && (h / least - 1.0).abs() <= CUBE => Ok(Sampling::Direct),
        Some(h) if matches!(law.law, Law::Labels { .. } | Law::Modulus { .. }) => Ok(Sampling::Nearest(h)),
        Some(h) => Ok(Sampling::Trilinear(h)),
        None if !is_cube => Err(format!(
            "the stack's voxels are {} × {} × {} {}, not cubes: give `resample` (e.g. {least}), or `spacing` if the stack is wrong",
            edges[0],
            edges[1],
            edges[2],
            options.unit.word()
        )),
        None if factor == 1 => Ok(Sampling::Direct),
        None => {
            match options.downsample_by.unwrap_or(if law.is_table() {
                Downsampling::Majority
            } else {
                Downsampling::Mean
            }) {
                Downsampling::Mean if matches!(law.law, Law::Labels { .. }) => {
                    Err("the mean of labels is no label: leave `downsample_by` out".to_owned())
                }
                Downsampling::Mean => Ok(Sampling::Mean(factor)),
                Downsampling::Majority => Ok(Sampling::Majority(factor)),
            }
        }
    }
}

/// Swaps the first and last axis of an array of the given size, fastest axis first.
fn transpose(moduli: VoxelModuli, size: [usize; 3]) -> Result<VoxelModuli, String> {
    fn swap<T: Copy + Default + Send + Sync>(from: &[T], [nz, ny, nx]: [usize; 3]) -> Result<Vec<T>, String> {
        let mut to = filled(from.len(), T::default()).map_err(|_| "turning the array round does not fit in memory")?;
        to.par_chunks_mut(nx * ny).enumerate().for_each(|(z, layer)| {
            for (y, row) in layer.chunks_exact_mut(nx).enumerate() {
                for (x, value) in row.iter_mut().enumerate() {
                    *value = from[z + nz * (y + ny * x)];
                }
            }
        });
        Ok(to)
    }
    Ok(match moduli {
        VoxelModuli::Classes { class, materials } => VoxelModuli::Classes { class: swap(&class, size)?, materials },
        VoxelModuli::Each(modulus) => VoxelModuli::Each(swap(&modulus, size)?),
    })
}

/// Counts voxels by class; classes made by rounding that no voxel has are removed. Gives the classes, the range of moduli
/// and the number of solid voxels.
fn count(grid: &mut VoxelGrid, is_rounded: bool) -> (Vec<MaterialCount>, [f64; 2], u64) {
    const PIECE: usize = 1 << 20;
    match &mut grid.moduli {
        VoxelModuli::Classes { class, materials } => {
            let counts = class
                .par_chunks(PIECE)
                .map(|piece| {
                    let mut counts = [0u64; 256];
                    piece.iter().for_each(|&c| counts[usize::from(c)] += 1);
                    counts
                })
                .reduce(
                    || [0; 256],
                    |mut a, b| {
                        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                        a
                    },
                );
            let mut reported: Vec<MaterialCount> = materials
                .iter()
                .zip(&counts[1..])
                .map(|((name, young), &voxels)| MaterialCount { name: name.clone(), young: *young, voxels })
                .collect();
            if is_rounded && reported.iter().any(|material| material.voxels == 0) {
                let mut new = [0u8; 256];
                let mut used = 0;
                for (old, _) in reported.iter().enumerate().filter(|(_, material)| material.voxels > 0) {
                    used += 1;
                    new[old + 1] = used;
                }
                class.par_chunks_mut(PIECE).for_each(|piece| piece.iter_mut().for_each(|c| *c = new[usize::from(*c)]));
                reported.retain(|material| material.voxels > 0);
                for (i, material) in reported.iter_mut().enumerate() {
                    material.name = format!("MATERIAL-{}", i + 1);
                }
                *materials = reported.iter().map(|material| (material.name.clone(), material.young)).collect();
            }
            let solid: u64 = reported.iter().map(|material| material.voxels).sum();
            let moduli = reported.iter().filter(|m| m.voxels > 0).map(|m| m.young);
            let range = moduli.fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], m| [low.min(m), high.max(m)]);
            (reported, range, solid)
        }
        VoxelModuli::Each(modulus) => {
            let (low, high, solid) = modulus
                .par_chunks(PIECE)
                .map(|piece| {
                    let mut range = (f32::INFINITY, 0f32, 0u64);
                    for &m in piece.iter().filter(|&&m| m != 0.0) {
                        range = (range.0.min(m), range.1.max(m), range.2 + 1);
                    }
                    range
                })
                .reduce(|| (f32::INFINITY, 0.0, 0), |a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2));
            (Vec::new(), [f64::from(low), f64::from(high)], solid)
        }
    }
}

impl Stack {
    /// Voxel (i, j, k) of the model, by the axes of the file.
    pub(super) fn name_voxel(&self, at: [usize; 3]) -> String {
        let [i, j, k] = self.header().by_file(at);
        format!("voxel ({i}, {j}, {k})")
    }
}
