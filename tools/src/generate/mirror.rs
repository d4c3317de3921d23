//! Larger stacks made of a small one by repeated mirroring, as the ParOSol papers make their bone samples.

use std::path::{Path, PathBuf};

use pogo_formats::read::image::{self, ImageOptions, SampleType};

use pogo_formats::system::parallel::iterate::*;

use super::stack::{SOLID, StackSummary, save_stack};
use super::{GenerateError, one_or_three, refuse};

/// Stack to mirror, and number of copies.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct MirrorOptions {
    /// Stack to start from: any that Pogo reads.
    #[arg(value_name = "STACK")]
    pub stack: PathBuf,
    /// Number of copies along x, y and z, every other one mirrored; one number for all.
    #[arg(long, num_args = 1..=3, default_values_t = [2], value_name = "N")]
    pub times: Vec<usize>,
    /// Cut the result to this many voxels along x, y and z; one number for a cube.
    #[arg(long, num_args = 1..=3, value_name = "N")]
    pub crop: Vec<usize>,
    /// Write 255 where values reach this, else 0; needed where values do not fit into 8 bits.
    #[arg(long, value_name = "VALUE")]
    pub threshold: Option<f64>,
    /// Edge of a voxel, mm [default: the stack's].
    #[arg(long, value_name = "MM")]
    pub spacing: Option<f64>,
}

/// Reads a stack and writes it mirrored.
///
/// # Errors
/// [`GenerateError::Image`] for a stack that cannot be read; [`GenerateError::Option`] for numbers out of range, voxels
/// that are no cubes or of unknown size, and values of more than 8 bits; [`GenerateError::Write`].
pub fn save_mirror(options: &MirrorOptions, path: &Path) -> Result<StackSummary, GenerateError> {
    let times = one_or_three("--times", &options.times)?;
    let mut stack = image::open(&options.stack, &ImageOptions::default())?;
    let header = stack.header().clone();
    let base = header.size;
    let spacing = match (options.spacing, header.spacing) {
        (Some(spacing), _) => spacing,
        (None, Some([x, y, z])) if (y / x - 1.0).abs() < 1e-4 && (z / x - 1.0).abs() < 1e-4 => x,
        (None, Some(_)) => return refuse("the stack's voxels are not cubes: give --spacing if they should be"),
        (None, None) => return refuse("the stack does not say how large its voxels are: give --spacing (mm)"),
    };
    let mut size = [0; 3];
    for axis in 0..3 {
        let n = base[axis].checked_mul(times[axis]).filter(|&n| n > 0);
        size[axis] = n.map_or_else(|| refuse("--times must be 1 or more"), Ok)?;
    }
    if !options.crop.is_empty() {
        let crop = one_or_three("--crop", &options.crop)?;
        if (0..3).any(|axis| crop[axis] == 0 || crop[axis] > size[axis]) {
            return refuse(format!("--crop must be 1 to {} × {} × {}: raise --times", size[0], size[1], size[2]));
        }
        size = crop;
    }
    if header.reversed {
        return refuse("the axes of this array run z, y, x: save it with the last index along x");
    }
    let voxels = read(&mut stack, options.threshold)?;
    let mirrored = |axis: usize, at: usize| {
        let (period, at) = (at / base[axis], at % base[axis]);
        if period % 2 == 0 { at } else { base[axis] - 1 - at }
    };
    let columns: Vec<usize> = (0..size[0]).map(|i| mirrored(0, i)).collect();
    save_stack(path, size, spacing, |first, out| {
        out.par_chunks_mut(size[0]).enumerate().for_each(|(row, out)| {
            let (j, k) = (mirrored(1, row % size[1]), mirrored(2, first + row / size[1]));
            let from = &voxels[(k * base[1] + j) * base[0]..][..base[0]];
            out.iter_mut().zip(&columns).for_each(|(out, &i)| *out = from[i]);
        });
    })
}

/// All voxels, 8 bits each.
fn read(stack: &mut image::Stack, threshold: Option<f64>) -> Result<Vec<u8>, GenerateError> {
    let sample = stack.header().sample;
    if threshold.is_none() && sample != SampleType::Uint8 {
        let samples = sample.name();
        return refuse(format!("the stack's samples are {samples}: give --threshold, above which voxels are solid"));
    }
    let n: usize = stack.header().size.iter().product();
    let mut voxels = Vec::new();
    voxels.try_reserve_exact(n).or_else(|_| refuse(format!("{n} voxels do not fit in memory")))?;
    let mut layers = Vec::new();
    let layer = stack.header().size[0] * stack.header().size[1] * sample.bytes();
    let step = ((16 << 20) / layer).max(1);
    for first in (0..stack.n_layers()).step_by(step) {
        stack.read_layers(first..(first + step).min(stack.n_layers()), &mut layers)?;
        match threshold {
            None => voxels.extend_from_slice(&layers),
            Some(threshold) => {
                let mut values = vec![0.0; layers.len() / sample.bytes()];
                sample.decode(&layers, &mut values);
                voxels.extend(values.iter().map(|&value| if value >= threshold { SOLID } else { 0 }));
            }
        }
    }
    Ok(voxels)
}
