//! Tables of the CPU as the kernels read them.

use std::collections::HashMap;

use pogo_formats::spring::N_DIRECTIONS;

use super::GpuNumber;
use super::params::Params;
use crate::cuda::{Buffer, DeviceError};
use crate::spring::SpringProblem;
use crate::spring::cpu::lists::Rules;
use crate::spring::law::Constants;

/// Lists of ids in which blocks that are alike share a table, and the slots before each block's.
pub(super) fn share_tables(ids: &[u16], table: usize, slots: u32) -> (Vec<u16>, Vec<u32>) {
    let mut found: HashMap<&[u16], u32> = HashMap::new();
    let (mut shared, mut first) = (Vec::new(), Vec::new());
    for table in ids.chunks_exact(table.max(1)) {
        let next = found.len() as u32;
        let number = *found.entry(table).or_insert(next);
        if number == next {
            shared.extend_from_slice(table);
        }
        first.push(number * slots);
    }
    (shared, first)
}

/// Rest vectors of lists, from columns to records.
pub(super) fn records<T: Copy + Default>(rest: &[T], block: usize) -> Vec<T> {
    let mut out = vec![T::default(); rest.len()];
    for (rows, out) in rest.chunks_exact(4 * block).zip(out.chunks_exact_mut(4 * block)) {
        for at in 0..block {
            for c in 0..4 {
                out[4 * at + c] = rows[c * block + at];
            }
        }
    }
    out
}

/// Bytes of rest vectors and classes.
pub(super) fn rest_bytes<T>(rules: &Rules<T>, entries: usize) -> f64 {
    match rules {
        Rules::Lattice { .. } => 0.0,
        Rules::Each { .. } => (entries * (4 * size_of::<T>() + 2)) as f64,
    }
}

/// Puts the constants of lists on the device.
pub(super) fn take_rules<T: GpuNumber>(
    rules: &Rules<T>,
    params: &mut Params<T>,
    constants: &mut Vec<Constants<T>>,
    numbers: &mut Vec<Buffer<T>>,
    halves: &mut Vec<Buffer<u16>>,
    bytes: &mut Vec<Buffer<u8>>,
    block: usize,
) -> Result<(), DeviceError> {
    match rules {
        Rules::Lattice { constants: all, material, .. } => {
            constants.clone_from(all);
            if !material.is_empty() {
                bytes.push(Buffer::of(material)?);
                params.material = bytes[0].pointer();
            }
        }
        Rules::Each { rest, class, classes } => {
            constants.clone_from(classes);
            numbers.push(Buffer::of(&records(rest, block))?);
            params.rest = numbers[0].pointer();
            halves.push(Buffer::of(class)?);
            params.class = halves[halves.len() - 1].pointer();
        }
    }
    Ok(())
}

/// Directions that some mask has, or an addition may bring.
pub(super) fn directions(problem: &SpringProblem) -> u32 {
    if !problem.additions.is_empty() {
        return N_DIRECTIONS as u32;
    }
    let used = problem.mesh.lists.mask.iter().fold(0, |any, mask| any | mask) & 0x3ff_ffff;
    32 - used.leading_zeros()
}
