//! Tables of the CPU as the kernels read them.

use std::collections::HashMap;

use pogo_formats::spring::N_DIRECTIONS;

use super::GpuNumber;
use super::features::Features;
use super::host::Host;
use super::options::GpuError;
use super::params::{Params, Special};
use crate::cuda::{Buffer, DeviceError, Plain};
use crate::spring::cpu::lists::Rules;
use crate::spring::law::Constants;
use crate::spring::{SpringError, SpringProblem};

/// Arrays of the device that steps read, kept for their memory.
#[derive(Debug)]
pub(super) struct Tables<T> {
    pub rest: Buffer<T>,
    pub class: Buffer<u16>,
    _rules: Buffer<Constants<T>>,
    _specials: Buffer<Special>,
    _numbers: Vec<Buffer<T>>,
    _words: Vec<Buffer<u32>>,
    _halves: Vec<Buffer<u16>>,
    _bytes: Vec<Buffer<u8>>,
    /// Bytes of all that a particle's step reads of them.
    pub bytes_per_particle: f64,
}

/// Puts values on the device, and keeps their memory.
fn put<A: Plain>(kept: &mut Vec<Buffer<A>>, values: &[A]) -> Result<u64, DeviceError> {
    let buffer = Buffer::of(values)?;
    let pointer = buffer.pointer();
    kept.push(buffer);
    Ok(pointer)
}

fn narrow(values: &[usize]) -> Vec<u32> {
    values.iter().map(|&value| value as u32).collect()
}

impl<T: GpuNumber> Tables<T> {
    /// Of a problem and its tables, in blocks of `block` particles; `params` learns where they are. Local ids are times
    /// `id_bytes`.
    pub fn new(
        problem: &SpringProblem,
        host: &Host<T>,
        features: Features,
        block: usize,
        id_bytes: usize,
        params: &mut Params<T>,
    ) -> Result<Self, GpuError> {
        let (mut numbers, mut words, mut halves, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut table_bytes = 4 * problem.n_particles();
        let mut constants: &[Constants<T>] = &[];
        match host {
            Host::Grid(grid) => {
                (params.row_length, params.plane, params.pad) = (grid.row as u32, grid.plane as u32, grid.pad as u32);
                params.size = grid.size.map(|s| s as u32);
                params.stride = grid.stride.map(|s| s as i32);
                params.n_directions = directions(problem);
                params.mask = put(&mut words, &grid.mask)?;
                params.particle = put(&mut words, &grid.particle)?;
                if !grid.material.is_empty() {
                    params.material = put(&mut bytes, &grid.material)?;
                }
                constants = &grid.constants;
            }
            Host::Local(lists) => {
                let most = host.most_halo();
                params.halo_most = most as u32;
                params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
                if (block + most) * id_bytes > usize::from(u16::MAX) {
                    return Err(SpringError::BlockTooLarge { block: 0, particles: block + most }.into());
                }
                let ids: Vec<u16> = lists.ids.iter().map(|&id| id * id_bytes as u16).collect();
                let (ids, first) = if features.lattice && !features.breaks && !features.events {
                    share_tables(&ids, block * params.n_directions as usize, params.n_directions)
                } else {
                    (ids, narrow(&lists.first))
                };
                table_bytes = 2 * ids.len() + 4 * lists.halo.len();
                params.ids = put(&mut halves, &ids)?;
                params.first = put(&mut words, &first)?;
                params.halo_first = put(&mut words, &narrow(&lists.halo_first))?;
                params.halo = put(&mut words, &lists.halo)?;
            }
            Host::Global(lists) => {
                table_bytes = 4 * lists.ids.len();
                params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
                params.first = put(&mut words, &narrow(&lists.first))?;
                params.global_ids = put(&mut words, &lists.ids)?;
            }
        }
        let (mut rest, mut class) = (Buffer::zeros(0)?, Buffer::zeros(0)?);
        match host.rules() {
            None => {}
            Some((Rules::Lattice { constants: all, material, .. }, _)) => {
                constants = all;
                if !material.is_empty() {
                    params.material = put(&mut bytes, material)?;
                }
            }
            Some((Rules::Each { rest: vectors, class: classes_of, classes }, block)) => {
                constants = classes;
                table_bytes += host.entries() * (4 * size_of::<T>() + 2);
                (rest, class) = (Buffer::of(&records(vectors, block))?, Buffer::of(classes_of)?);
                (params.rest, params.class) = (rest.pointer(), class.pointer());
            }
        }
        if features.lattice {
            params.rule.copy_from_slice(&constants[..N_DIRECTIONS]);
            params.pull = params.rule.map(|rule| rule.stiffness * rule.inverse);
        }
        match host.inertia() {
            [one] => params.uniform_inertia = *one,
            each => params.inertia = put(&mut numbers, each)?,
        }
        if features.damped && features.follow {
            let drag = Buffer::zeros(3 * host.len())?;
            params.drag = drag.pointer();
            numbers.push(drag);
        }
        let rules = Buffer::of(constants)?;
        params.rules = rules.pointer();

        let Specials { all, first, of } = Specials::new(problem, host);
        params.n_specials = first.len() as u32 - 1;
        let specials = Buffer::of(&all)?;
        params.specials = specials.pointer();
        params.special_first = put(&mut words, &first)?;
        if params.n_specials > 0 {
            params.special_of = put(&mut words, &of)?;
        }
        let monitors: Vec<u32> = problem.monitors.iter().map(|&dof| host.index(dof as usize) as u32).collect();
        params.monitors = put(&mut words, &monitors)?;
        Ok(Self {
            rest,
            class,
            _rules: rules,
            _specials: specials,
            _numbers: numbers,
            _words: words,
            _halves: halves,
            _bytes: bytes,
            bytes_per_particle: table_bytes as f64 / problem.n_particles().max(1) as f64,
        })
    }
}

/// Forces and supports by degree of freedom, forces first.
struct Specials {
    all: Vec<Special>,
    /// First of each degree of freedom that has some, and their end.
    first: Vec<u32>,
    /// Degrees of freedom with some before each particle's, and all.
    of: Vec<u32>,
}

impl Specials {
    fn new<T: GpuNumber>(problem: &SpringProblem, host: &Host<T>) -> Self {
        let forces = problem.forces.iter().map(|f| (f.dof, 0, f.signal, f.value));
        let supports = problem.constraints.iter().map(|c| (c.dof, 1, c.signal, c.value));
        let mut sorted: Vec<_> = forces.chain(supports).collect();
        sorted.sort_by_key(|each| (each.0, each.1));
        let (mut all, mut first, mut of) = (Vec::new(), Vec::new(), vec![0; problem.n_particles() + 1]);
        for (i, &(dof, kind, signal, value)) in sorted.iter().enumerate() {
            if i == 0 || sorted[i - 1].0 != dof {
                first.push(i as u32);
                of[dof as usize / 3 + 1] += 1;
            }
            all.push(Special { index: host.index(dof as usize) as u32, signal, kind, unused: 0, value });
        }
        first.push(all.len() as u32);
        for i in 1..of.len() {
            of[i] += of[i - 1];
        }
        Self { all, first, of }
    }
}

/// Lists of ids in which blocks that are alike share a table, and the slots before each block's.
fn share_tables(ids: &[u16], table: usize, slots: u32) -> (Vec<u16>, Vec<u32>) {
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

/// Directions that some mask has, or an addition may bring.
fn directions(problem: &SpringProblem) -> u32 {
    if !problem.additions.is_empty() {
        return N_DIRECTIONS as u32;
    }
    let used = problem.mesh.lists.mask.iter().fold(0, |any, mask| any | mask) & 0x3ff_ffff;
    32 - used.leading_zeros()
}
