//! Explicit addressing: lists of neighbours, stored vertically, blocks that fit the cache.
//!
//! Displacements lie as records (x, y, z, unused). With local ids a block copies its own records and those of its halo side by
//! side; with global ids it reads them where they are. A slot without a spring names the particle itself, at which nothing pulls: it
//! needs no test. In a lattice slot d is for the neighbour in direction d, as in the mask, so that a slot's springs are alike and no
//! rest vector is stored; otherwise each entry has its rest vector, and a class of the other constants.

use std::collections::HashMap;
use std::ops::Range;

use pogo_formats::spring::{DIRECTION_BITS, DIRECTIONS, N_DIRECTIONS, SpringGridView, SpringMeshView};
use pogo_formats::system::parallel::iterate::*;

use super::halos::halos;
use super::lattice::Lattice;
use super::pull::{Stretched, difference};
use super::{Arrays, Layout, RECORD, Task};
use crate::dynamics::Part;
use crate::simd::{Index, InstructionSet, Kernel, Lanes, Level, Real, Records};
use crate::spring::law::{Constants, Law};
use crate::spring::springs::Springs;
use crate::spring::{SpringError, SpringProblem};

/// What the springs of the entries are.
#[derive(Debug, Clone)]
pub(crate) enum Rules<T> {
    /// The mesh is a lattice: a spring follows from its direction and its ends' materials.
    Lattice(Lattice<T>),
    /// x, y, z and 1/L² of each entry, (entries / block, 4, block); class of each; constants of each class, whose first number is
    /// E A × rest factor, see [`class_of`].
    Each { rest: Vec<T>, class: Vec<u16>, classes: Vec<Constants<T>> },
}

/// The springs of each particle as lists of the particles at their other ends, in blocks of particles.
#[derive(Debug, Clone)]
pub(crate) struct Lists<T, I> {
    lanes: usize,
    /// Particles, and those with padding to whole blocks.
    pub n: usize,
    pub padded: usize,
    pub block: usize,
    /// Slots before those of each block; blocks of other parts have none.
    pub first: Vec<usize>,
    pub ids: Vec<I>,
    /// Slots in use, by chunk: bits in a lattice, else their number.
    any: Vec<u32>,
    pub rules: Rules<T>,
    /// A spring at rest may pull, so an entry without a spring must be told from one with a spring.
    pub stressed: bool,
    /// Whether some spring has an axial stiffness E A.
    axial: bool,
    /// 0, 1, … below the block size.
    own_ids: Vec<I>,
    pub halo_first: Vec<usize>,
    pub halo: Vec<u32>,
    pub inertia: Vec<T>,
    /// Constants of springs that may be added: particles (ascending), group, law.
    additions: Vec<([u32; 2], u32, Law)>,
    time_increment: f64,
    /// Entries that changes of springs have altered.
    pub touched: Vec<usize>,
}

/// Memory of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch<T> {
    u: Vec<T>,
    du: Vec<T>,
    force: Vec<T>,
}

impl<T: Real, I: Index> Lists<T, I> {
    /// Of the springs of a problem at the particles of a part, which are whole blocks of `block` particles, with room for those
    /// that will be added. Blocks of other parts have no slots and no halo.
    pub fn new(
        problem: &SpringProblem,
        springs: &Springs,
        (lanes, block): (usize, usize),
        part: &Part,
    ) -> Result<Self, SpringError> {
        let mesh = &problem.mesh;
        let n = mesh.n_particles();
        let n_blocks = n.div_ceil(block);
        let additions: Vec<([u32; 2], u32)> =
            problem.added().map(|([i, j], group)| ([i.min(j), i.max(j)], group)).collect();
        let lattice = mesh.grid.filter(|_| problem.added_outside_grid().is_none());
        let local = size_of::<I>() == 2;
        let mut is_own = vec![false; n_blocks];
        for range in part.own_ranges().iter().filter(|range| !range.is_empty()) {
            is_own[range.start / block..range.end.div_ceil(block)].fill(true);
        }
        let (halo_first, halo) = if local { halos(mesh, block, &additions, &is_own)? } else { (vec![0], Vec::new()) };
        let factor = problem.inertia_factor();
        let mut inertia: Vec<T> = problem.mass.iter().map(|mass| T::from_f64(factor / mass)).collect();
        if inertia.len() > 1 {
            inertia.resize(n_blocks * block, T::default());
        }
        let first = first_slots(problem, block, lattice.is_some(), &additions, &is_own);
        let mut ids = vec![I::new(0); first[n_blocks] * block];
        let own = |b: usize, at: usize| I::new(if local { at } else { b * block + at });
        let fill = |(b, table): (usize, &mut [I])| {
            table.iter_mut().enumerate().for_each(|(entry, id)| *id = own(b, entry % block));
        };
        tables_of(&first, block, &mut ids).into_par_iter().enumerate().for_each(fill);
        let law = |&(pair, group): &([u32; 2], u32)| (pair, group, springs.law_of_added(pair, group));
        let mut made = Self {
            lanes,
            n,
            padded: n_blocks * block,
            block,
            first,
            ids,
            any: vec![0; n_blocks * block / lanes],
            rules: Rules::Each { rest: Vec::new(), class: Vec::new(), classes: Vec::new() },
            stressed: problem.is_stressed(),
            axial: problem.groups.iter().any(|group| group.axial_stiffness != 0.0),
            own_ids: (0..block).map(I::new).collect(),
            halo_first,
            halo,
            inertia,
            additions: additions.iter().map(law).collect(),
            time_increment: problem.time_increment,
            touched: Vec::new(),
        };
        match lattice {
            Some(grid) => made.fill_lattice(problem, &grid),
            None => made.fill_each(mesh, springs, part)?,
        }
        Ok(made)
    }

    /// Enters the springs of a lattice: slot d is for the neighbour in direction d.
    fn fill_lattice(&mut self, problem: &SpringProblem, grid: &SpringGridView) {
        let (mesh, block, lanes, n) = (&problem.mesh, self.block, self.lanes, self.n);
        let (mut ids, mut any) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.any));
        let tables = tables_of(&self.first, block, &mut ids).into_par_iter();
        tables.zip(any.par_chunks_mut(block / lanes)).enumerate().for_each(|(b, (ids, any))| {
            if ids.is_empty() {
                return;
            }
            // Where the halo's particle of the last spring in each direction stands: that of the next one is mostly the next.
            let mut last = [0; 32];
            for at in 0..block.min(n - b * block) {
                for spring in mesh.springs(b * block + at) {
                    let direction = usize::from(spring.direction.unwrap_or(0));
                    ids[direction * block + at] = self.id_near(b, spring.other as usize, &mut last[direction]);
                    any[at / lanes] |= 1 << direction;
                }
            }
        });
        (self.ids, self.any) = (ids, any);
        let several = problem.groups.len() > 3;
        let material =
            if several { mesh.material.iter().map(|&material| material as u8).collect() } else { Vec::new() };
        let mut lattice = Lattice::new(problem, grid, material);
        if several {
            let this = &*self;
            let others = |i: usize| {
                let b = i / block;
                (0..this.first[b + 1] - this.first[b]).map(move |slot| this.particle(b, this.ids[this.entry(i, slot)]))
            };
            lattice.find_chunk_materials(this.padded / lanes, |chunk| {
                let own = chunk * lanes..((chunk + 1) * lanes).min(n);
                own.flat_map(move |i| std::iter::once(i).chain(others(i)))
            });
        }
        self.rules = Rules::Lattice(lattice);
    }

    /// Enters springs that each have a rest vector and a class.
    fn fill_each(&mut self, mesh: &SpringMeshView, springs: &Springs, part: &Part) -> Result<(), SpringError> {
        let (block, dt, entries) = (self.block, self.time_increment, self.ids.len());
        let (mut rest, mut class) = (vec![T::default(); 4 * entries], vec![0; entries]);
        let mut classes = Classes { all: Vec::new(), of_bits: HashMap::new() };
        // 1/L² where there is no spring.
        rest.chunks_exact_mut(block).skip(3).step_by(4).for_each(|inverse| inverse.fill(T::from_f64(1.0)));
        for i in part.own() {
            for (slot, spring) in mesh.springs(i).enumerate() {
                self.set(i, slot, spring.other as usize);
                let any = &mut self.any[i / self.lanes];
                *any = (*any).max(slot as u32 + 1);
                let at = self.entry(i, slot);
                let law = springs.law(i, &spring);
                class[at] = classes.of(&law, dt);
                put_rest(&mut rest, at, block, &law, dt);
            }
        }
        // There is a class for what may be added.
        for (_, _, law) in &self.additions {
            classes.of(law, dt);
        }
        let mut classes = classes.all;
        if classes.is_empty() {
            classes.push(Constants::default());
        }
        if classes.len() > usize::from(u16::MAX) {
            return Err(SpringError::Kinds { n: classes.len() });
        }
        self.rules = Rules::Each { rest, class, classes };
        Ok(())
    }

    fn entry(&self, particle: usize, slot: usize) -> usize {
        let (block, at) = (particle / self.block, particle % self.block);
        (self.first[block] + slot) * self.block + at
    }

    /// Id by which the block of one particle knows another.
    fn id(&self, from: usize, to: usize) -> I {
        if size_of::<I>() == 4 {
            return I::new(to);
        }
        let b = from / self.block;
        if to / self.block == b {
            return I::new(to % self.block);
        }
        let halo = &self.halo[self.halo_first[b]..self.halo_first[b + 1]];
        // The mesh's halo is ascending; particles that come with additions follow it.
        let at = halo.binary_search(&(to as u32)).ok().or_else(|| halo.iter().position(|&j| j as usize == to));
        I::new(self.block + at.unwrap_or(0))
    }

    /// The same for a particle of a block whose halo may have the other next to entry `last`; where it is, it becomes the last.
    fn id_near(&self, b: usize, to: usize, last: &mut usize) -> I {
        if size_of::<I>() == 4 || to / self.block == b {
            return self.id(b * self.block, to);
        }
        let halo = &self.halo[self.halo_first[b]..self.halo_first[b + 1]];
        if halo.get(*last + 1) == Some(&(to as u32)) {
            *last += 1;
            return I::new(self.block + *last);
        }
        let id = self.id(b * self.block, to);
        *last = id.at() - self.block;
        id
    }

    /// Particle that an id of a block names.
    fn particle(&self, block: usize, id: I) -> usize {
        if size_of::<I>() == 4 {
            return id.at();
        }
        match id.at().checked_sub(self.block) {
            None => block * self.block + id.at(),
            Some(entry) => self.halo[self.halo_first[block] + entry] as usize,
        }
    }

    fn set(&mut self, from: usize, slot: usize, to: usize) {
        let (entry, id) = (self.entry(from, slot), self.id(from, to));
        self.ids[entry] = id;
    }

    /// Slot of a spring.
    fn slot(&self, from: usize, to: usize) -> Option<usize> {
        let (b, id) = (from / self.block, self.id(from, to));
        (0..self.first[b + 1] - self.first[b]).find(|&slot| self.ids[self.entry(from, slot)] == id)
    }

    /// The constants of a chunk of a lattice with one material.
    #[inline(always)]
    fn uniform(&self, chunk: usize) -> Option<&[Constants<T>; N_DIRECTIONS]> {
        if let Rules::Lattice(lattice) = &self.rules { lattice.uniform(chunk) } else { None }
    }

    /// Whether two chunks of a lattice have the same constants.
    #[inline(always)]
    fn are_alike(&self, chunk: usize, other: usize) -> bool {
        matches!(&self.rules, Rules::Lattice(lattice) if lattice.are_alike(chunk, other))
    }

    /// Constants of the lanes of a chunk of a lattice where they differ.
    #[inline(never)]
    fn mixed_constants(&self, first: usize, slot: usize) -> [Constants<T>; 16] {
        let mut out = [Constants::default(); 16];
        let Rules::Lattice(lattice) = &self.rules else { return out };
        for (lane, out) in out.iter_mut().enumerate().take(self.lanes) {
            let i = first + lane;
            let other = self.particle(i / self.block, self.ids[self.entry(i, slot)]);
            *out = lattice.between(i, other, slot);
        }
        out
    }
}

/// The entries of each block, given the slots before those of each block.
fn tables_of<'a, I>(first: &[usize], block: usize, mut ids: &'a mut [I]) -> Vec<&'a mut [I]> {
    let table = |slots: &[usize]| {
        let table;
        (table, ids) = std::mem::take(&mut ids).split_at_mut((slots[1] - slots[0]) * block);
        table
    };
    first.windows(2).map(table).collect()
}

/// Slots before those of each block, and all: of a lattice the directions in use, else as many as its particle with the most
/// springs has. Blocks of other parts have none.
fn first_slots(
    problem: &SpringProblem,
    block: usize,
    lattice: bool,
    additions: &[([u32; 2], u32)],
    is_own: &[bool],
) -> Vec<usize> {
    let (lists, n) = (problem.mesh.lists, problem.n_particles());
    let mut n_added = vec![0; n];
    additions.iter().flat_map(|(pair, _)| pair).for_each(|&i| n_added[i as usize] += 1);
    let directions = if additions.is_empty() { problem.directions_in_use() } else { DIRECTION_BITS };
    let last = 32 - directions.leading_zeros() as usize;
    let mut first = vec![0];
    for b in 0..n.div_ceil(block) {
        let slots = if !is_own[b] {
            0
        } else if lattice {
            [0, 6, 18].into_iter().find(|&slots| last <= slots).unwrap_or(N_DIRECTIONS)
        } else {
            let springs = |i: usize| usize::from(lists.count[i]) + n_added[i];
            (b * block..n.min((b + 1) * block)).map(springs).max().unwrap_or(0)
        };
        first.push(first[b] + slots);
    }
    first
}

/// The class of a law, which a spring's length does not change: k without the part of E A, E A × rest factor in place of the rest
/// vector, and c / Δt.
fn class_of<T: Real>(law: &Law, dt: f64) -> Constants<T> {
    let [stiffness, axial] = law.parts.map(T::from_f64);
    let (rest, damping) = ([axial, T::default(), T::default()], T::from_f64(law.damping / dt));
    Constants { rest, inverse: T::default(), stiffness, damping, ..Constants::new(law, dt) }
}

/// Classes while they are collected.
struct Classes<T> {
    all: Vec<Constants<T>>,
    of_bits: HashMap<[u64; 5], usize>,
}

impl<T: Real> Classes<T> {
    /// Number of the class of a law, made if it is new; of no use where there are too many.
    fn of(&mut self, law: &Law, dt: f64) -> u16 {
        let class = class_of::<T>(law, dt);
        let numbers = [class.rest[0], class.offset, class.stiffness, class.damping, class.limit];
        let bits = numbers.map(|x| x.to_f64().to_bits());
        let next = self.all.len();
        let found = *self.of_bits.entry(bits).or_insert(next);
        if found == next {
            self.all.push(class);
        }
        found.min(usize::from(u16::MAX)) as u16
    }
}

/// Writes the rest vector of an entry and its 1/L².
fn put_rest<T: Real>(rest: &mut [T], entry: usize, block: usize, law: &Law, dt: f64) {
    let constants = Constants::<T>::new(law, dt);
    let (row, at) = (entry / block, entry % block);
    for (c, value) in constants.rest.into_iter().chain([constants.inverse]).enumerate() {
        rest[(4 * row + c) * block + at] = value;
    }
}

/// Advances the blocks of a share.
///
/// # Safety
/// The arrays must have the lists' length; the blocks are this thread's.
#[inline(always)]
unsafe fn blocks<T: Real, I: Index, V: Lanes<Scalar = T>>(lists: &Lists<T, I>, task: &mut Task<T>) {
    let mut scratch = std::mem::take(&mut task.scratch);
    let local = size_of::<I>() == 2;
    let most = lists.halo_first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) + lists.block;
    scratch.force.resize(lists.block * RECORD, T::default());
    if local {
        scratch.u.resize(most * RECORD, T::default());
        scratch.du.resize(if task.factors.damped { most * RECORD } else { 0 }, T::default());
    }
    for block in task.units.iter().cloned().flatten() {
        let start = block * lists.block * RECORD;
        let (mut u, mut du) = (task.arrays.u, task.arrays.du);
        // SAFETY: the caller's promise; ids are below the block's own and halo particles, or below the particles.
        unsafe {
            if local {
                copy_records(lists, block, u, &mut scratch.u);
                u = scratch.u.as_ptr();
                if task.factors.damped {
                    copy_records(lists, block, du, &mut scratch.du);
                    du = scratch.du.as_ptr();
                }
            }
            let own = if local { 0 } else { start };
            let mut at = 0;
            let plain = !(task.factors.damped || task.factors.breaks || lists.stressed);
            while at < lists.block.min(lists.n - block * lists.block) {
                let first = block * lists.block + at;
                if let (true, Some(constants)) = (plain, lists.uniform(first / V::N)) {
                    let ids = task.arrays.ids.cast::<I>().add(lists.first[block] * lists.block + at);
                    let (own_ids, records) =
                        (lists.own_ids.as_ptr().add(at), scratch.force.as_mut_ptr().add(at * RECORD));
                    let two = at + 2 * V::N <= lists.block && lists.are_alike(first / V::N, first / V::N + 1);
                    let mut slots = lists.any[first / V::N];
                    if two {
                        slots |= lists.any[first / V::N + 1];
                        plain_forces::<T, I, V, 2>(constants, slots, ids, lists.block, u.add(own), own_ids, records, u);
                    } else {
                        plain_forces::<T, I, V, 1>(constants, slots, ids, lists.block, u.add(own), own_ids, records, u);
                    }
                    at += if two { 2 * V::N } else { V::N };
                    continue;
                }
                chunk_forces::<T, I, V>(lists, task, block, at, [u, du], own, &mut scratch.force);
                at += V::N;
            }
            update(lists, task, start, &scratch.force);
        }
    }
    task.scratch = scratch;
}

/// Own and halo records of a block side by side.
///
/// # Safety
/// The records must be there.
#[inline(always)]
unsafe fn copy_records<T: Real, I: Index>(lists: &Lists<T, I>, block: usize, from: *const T, to: &mut [T]) {
    let own = lists.block * RECORD;
    // SAFETY: the caller's promise; `to` is long enough for every block.
    unsafe {
        std::ptr::copy_nonoverlapping(from.add(block * own), to.as_mut_ptr(), own);
        let halo = &lists.halo[lists.halo_first[block]..lists.halo_first[block + 1]];
        for (entry, &particle) in halo.iter().enumerate() {
            let record: [T; RECORD] = from.add(RECORD * particle as usize).cast::<[T; RECORD]>().read();
            to.as_mut_ptr().add(own + RECORD * entry).cast::<[T; RECORD]>().write(record);
        }
    }
}

/// Components of the records that N consecutive ids name.
///
/// # Safety
/// The ids and the records must be readable.
#[inline(always)]
unsafe fn gather<V: Lanes, I: Index>(records: *const V::Scalar, ids: *const I) -> [V; 3] {
    // SAFETY: the caller's promise.
    let rows =
        unsafe { V::rows(Records { base: records.cast_mut(), index: ids, bytes: RECORD * size_of::<V::Scalar>() }) };
    let [x, y, z, _] = V::columns(rows);
    [x, y, z]
}

/// Components into N consecutive records.
///
/// # Safety
/// They must be writable.
#[inline(always)]
unsafe fn scatter<V: Lanes>(values: [V; 3], records: *mut V::Scalar) {
    let mut columns = [[V::Scalar::default(); 16]; 3];
    for c in 0..3 {
        // SAFETY: a column has more numbers than any lanes.
        unsafe { values[c].store(columns[c].as_mut_ptr()) };
    }
    for lane in 0..V::N {
        let record = [columns[0][lane], columns[1][lane], columns[2][lane], V::Scalar::default()];
        // SAFETY: the caller's promise.
        unsafe { records.add(RECORD * lane).cast::<[V::Scalar; RECORD]>().write(record) };
    }
}

/// Pulls at the particles of K chunks of a lattice, of one material, where springs do nothing else: a loop that lasts in registers.
///
/// # Safety
/// As for [`blocks`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn plain_forces<T: Real, I: Index, V: Lanes<Scalar = T>, const K: usize>(
    constants: &[Constants<T>; N_DIRECTIONS],
    mut slots: u32,
    ids: *const I,
    block: usize,
    own: *const T,
    own_ids: *const I,
    records: *mut T,
    u: *const T,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut force = [[V::splat(T::default()); 3]; K];
        let mut x = force;
        for k in 0..K {
            x[k] = gather::<V, _>(own, own_ids.add(k * V::N));
        }
        while slots != 0 {
            let slot = slots.trailing_zeros() as usize;
            slots &= slots - 1;
            let rule = Constants::<V>::splat(&constants[slot]);
            for k in 0..K {
                let other = gather::<V, _>(u, ids.add(slot * block + k * V::N));
                let spring = Stretched::new(difference(other, x[k]), &rule);
                force[k] = spring.add(spring.pull, force[k]);
            }
        }
        for k in 0..K {
            scatter(force[k], records.add(k * V::N * RECORD));
        }
    }
}

/// Forces on the particles of a chunk, into records.
///
/// # Safety
/// As for [`blocks`].
#[inline(always)]
unsafe fn chunk_forces<T: Real, I: Index, V: Lanes<Scalar = T>>(
    lists: &Lists<T, I>,
    task: &mut Task<T>,
    block: usize,
    at: usize,
    [u, du]: [*const T; 2],
    own: usize,
    force_records: &mut [T],
) {
    let factors = task.factors;
    let first = block * lists.block + at;
    let chunk = first / V::N;
    // SAFETY: the caller's promise.
    unsafe {
        let zero = V::splat(T::default());
        let ids = task.arrays.ids.cast::<I>().add(lists.first[block] * lists.block + at);
        let own_ids = lists.own_ids.as_ptr().add(at);
        let x = gather::<V, _>(u.add(own), own_ids);
        let x_rate = if factors.damped { gather::<V, _>(du.add(own), own_ids) } else { [zero; 3] };
        let (mut force, mut dragging) = ([zero; 3], [zero; 3]);
        let uniform = lists.uniform(chunk);
        let lattice = matches!(lists.rules, Rules::Lattice(_));
        let mut left = lists.any[chunk];
        let mut slot = 0;
        loop {
            if lattice {
                if left == 0 {
                    break;
                }
                slot = left.trailing_zeros() as usize;
                left &= left - 1;
            } else if slot == left as usize {
                break;
            }
            let rule = match (uniform, &lists.rules) {
                (Some(constants), _) => Constants::<V>::splat(&constants[slot]),
                (None, Rules::Lattice(_)) => Constants::<V>::of_lanes(&lists.mixed_constants(first, slot)),
                (None, Rules::Each { rest, class, classes }) => {
                    let entry = (lists.first[block] + slot) * lists.block + at;
                    let rest = rest.as_ptr().add(4 * (entry - at) + at);
                    own_constants::<T, V>(lists, rest, classes, &class[entry..])
                }
            };
            let slot_ids = ids.add(slot * lists.block);
            let spring = Stretched::new(difference(gather::<V, _>(u, slot_ids), x), &rule);
            let mut strength = spring.pull;
            let mut rate = zero;
            if factors.damped {
                rate = spring.drag(difference(gather::<V, _>(du, slot_ids), x_rate), &rule);
            }
            if factors.breaks || lists.stressed {
                let mut bits = 0;
                for lane in 0..V::N {
                    let own_id = lists.own_ids[at + lane].at() + own / RECORD;
                    bits |= u32::from((*slot_ids.add(lane)).at() != own_id) << lane;
                }
                if factors.breaks {
                    let over = spring.w.greater(rule.limit) & bits;
                    if over != 0 {
                        bits &= !over;
                        for lane in (0..V::N).filter(|lane| over >> lane & 1 == 1) {
                            task.broke((first + lane) as u32, lists.particle(block, *slot_ids.add(lane)) as u32);
                            *slot_ids.add(lane) = I::new(lists.own_ids[at + lane].at() + own / RECORD);
                        }
                    }
                }
                strength = strength.keep(V::mask(bits));
                rate = rate.keep(V::mask(bits));
            }
            if factors.damped {
                dragging = spring.add(rate, dragging);
            }
            force = spring.add(strength, force);
            if !lattice {
                slot += 1;
            }
        }
        if factors.damped {
            for c in 0..3 {
                force[c] = force[c] + dragging[c];
            }
        }
        scatter(force, force_records.as_mut_ptr().add(RECORD * at));
        if !task.arrays.drag.is_null() {
            scatter(dragging, task.arrays.drag.add(RECORD * first));
        }
    }
}

/// The constants of springs of their own: those of their classes, with their rest vectors and lengths. `rest` is the first number
/// of the x components.
///
/// # Safety
/// `rest` and the three rows behind it must be readable.
#[inline(always)]
unsafe fn own_constants<T: Real, V: Lanes<Scalar = T>>(
    lists: &Lists<T, impl Index>,
    rest: *const T,
    classes: &[Constants<T>],
    class: &[u16],
) -> Constants<V> {
    let mut rule = match classes {
        [one] => Constants::<V>::splat(one),
        _ => Constants::<V>::gather(classes, class),
    };
    // SAFETY: the caller's promise.
    unsafe {
        rule.rest[1] = V::load(rest.add(lists.block));
        rule.rest[2] = V::load(rest.add(2 * lists.block));
        rule.inverse = V::load(rest.add(3 * lists.block));
        // E A and c / Δt of the class times the spring's own 1/L and 1/L².
        if lists.axial {
            rule.stiffness = rule.stiffness + rule.rest[0] * rule.inverse.sqrt();
        }
        rule.rest[0] = V::load(rest);
        rule.damping = rule.damping * rule.inverse;
    }
    rule
}

/// Moves the particles of a block.
///
/// # Safety
/// As for [`blocks`].
#[inline(always)]
unsafe fn update<T: Real, I: Index>(lists: &Lists<T, I>, task: &mut Task<T>, start: usize, force: &[T]) {
    let (arrays, factors) = (task.arrays, task.factors);
    let gravity = [factors.gravity[0], factors.gravity[1], factors.gravity[2], T::default()];
    let n = (lists.n * RECORD - start).min(lists.block * RECORD);
    // SAFETY: the caller's promise.
    unsafe {
        let (u, du) = (arrays.u.add(start), arrays.du.add(start));
        let (next_u, next_du) = (arrays.next_u.add(start), arrays.next_du.add(start));
        if lists.inertia.len() == 1 {
            let inertia = lists.inertia[0];
            for at in 0..n {
                let increment = factors.decay * *du.add(at) + (inertia * force[at] + gravity[at % RECORD]);
                *next_du.add(at) = increment;
                *next_u.add(at) = *u.add(at) + increment;
            }
        } else {
            for at in 0..n {
                let inertia = lists.inertia[(start + at) / RECORD];
                let increment = factors.decay * *du.add(at) + (inertia * force[at] + gravity[at % RECORD]);
                *next_du.add(at) = increment;
                *next_u.add(at) = *u.add(at) + increment;
            }
        }
    }
}

/// See [`blocks`].
struct AdvanceBlocks<'a, 'r, T, X> {
    lists: &'a Lists<T, X>,
    task: &'a mut Task<'r, T>,
}

impl<T: Real, X: Index> Kernel for AdvanceBlocks<'_, '_, T, X> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: the promise of `Layout::advance`.
        unsafe { blocks::<T, X, I::Wide<T>>(self.lists, self.task) };
    }
}

impl<T: Real, I: Index> Layout<T> for Lists<T, I> {
    fn len(&self) -> usize {
        self.padded * RECORD
    }

    fn index(&self, particle: usize, component: usize) -> usize {
        particle * RECORD + component
    }

    fn n_units(&self) -> usize {
        self.first.len() - 1
    }

    fn unit_of(&self, particle: usize) -> usize {
        particle / self.block
    }

    fn weight(&self, unit: usize) -> usize {
        let chunks = unit * self.block / self.lanes..(unit + 1) * self.block / self.lanes;
        let lattice = matches!(self.rules, Rules::Lattice(_));
        let slots = |any: &u32| 1 + if lattice { any.count_ones() as usize } else { *any as usize };
        self.any[chunks].iter().map(slots).sum()
    }

    fn spans(&self, unit: usize) -> Vec<Range<usize>> {
        let first = unit * self.block;
        let span = first * RECORD..self.n.min(first + self.block) * RECORD;
        std::iter::once(span).collect()
    }

    fn inertia(&self, index: usize) -> T {
        if self.inertia.len() == 1 { self.inertia[0] } else { self.inertia[index / RECORD] }
    }

    fn pointers(&mut self, arrays: &mut Arrays<T>) {
        arrays.ids = self.ids.as_mut_ptr().cast();
        self.touched.clear();
    }

    unsafe fn advance(&self, level: Level, task: &mut Task<T>) {
        level.run(AdvanceBlocks { lists: self, task });
    }

    fn change(&mut self, [i, j]: [u32; 2], group: Option<u32>) {
        for (from, to) in [(i as usize, j as usize), (j as usize, i as usize)] {
            match group {
                Some(group) => self.add(from, to, group),
                None => self.erase(from, to),
            }
        }
    }

    fn bytes_per_step(&self, n_own: usize) -> f64 {
        let id = size_of::<I>();
        let entry = match self.rules {
            Rules::Lattice(_) => id,
            Rules::Each { .. } => id + 4 * size_of::<T>() + 2,
        };
        (self.ids.len() * entry + n_own * 4 * RECORD * size_of::<T>() + self.halo.len() * (4 + RECORD * size_of::<T>()))
            as f64
    }
}

impl<T: Real, I: Index> Lists<T, I> {
    /// Takes a spring away from its first end.
    fn erase(&mut self, from: usize, to: usize) {
        if let Some(slot) = self.slot(from, to) {
            self.set(from, slot, from);
            self.touched.push(self.entry(from, slot));
        }
    }

    /// Puts a spring of the additions at its first end.
    fn add(&mut self, from: usize, to: usize, group: u32) {
        let b = from / self.block;
        let slots = 0..self.first[b + 1] - self.first[b];
        let slot = match &self.rules {
            Rules::Lattice(_) => self.direction_of(from, to).filter(|slot| slots.contains(slot)),
            Rules::Each { .. } => {
                let own = self.id(from, from);
                slots.rev().find(|&slot| self.ids[self.entry(from, slot)] == own)
            }
        };
        let Some(slot) = slot else { return };
        self.set(from, slot, to);
        let (entry, block, dt, chunk) = (self.entry(from, slot), self.block, self.time_increment, from / self.lanes);
        let pair = [from.min(to) as u32, from.max(to) as u32];
        let law = self.additions.iter().find(|each| each.0 == pair && each.1 == group).map(|each| each.2);
        self.touched.push(entry);
        match (&mut self.rules, law) {
            (Rules::Lattice(_), _) => self.any[chunk] |= 1 << slot,
            (Rules::Each { rest, class, classes }, Some(mut law)) => {
                if from > to {
                    law.rest = law.rest.map(|d| -d);
                }
                put_rest(rest, entry, block, &law, dt);
                let of = class_of(&law, dt);
                class[entry] = classes.iter().position(|each| *each == of).unwrap_or(0) as u16;
                self.any[chunk] = self.any[chunk].max(slot as u32 + 1);
            }
            _ => {}
        }
    }

    /// Direction from a particle to a neighbour in the grid, by their rest vectors.
    fn direction_of(&self, from: usize, to: usize) -> Option<usize> {
        let pair = [from.min(to) as u32, from.max(to) as u32];
        let law = self.additions.iter().find(|each| each.0 == pair)?.2;
        let sign = if from < to { 1.0 } else { -1.0 };
        let Rules::Lattice(Lattice { constants, .. }) = &self.rules else { return None };
        let step = |d: f64, spacing: f64| (sign * d / spacing).round() as i32;
        // Directions 0, 2 and 4 are the axes.
        let spacing: [f64; 3] = std::array::from_fn(|c| constants[2 * c].rest[c].to_f64());
        DIRECTIONS.iter().position(|each| (0..3).all(|c| each[c] == step(law.rest[c], spacing[c])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spring_support::{deck, group, lattice, problem};

    /// A part has the tables of its own blocks, as a whole model has them, and none of others.
    #[test]
    fn a_part_has_the_tables_of_its_own_blocks() {
        let grid = lattice([21, 9, 8], [1.0; 3], 18, 64, |place| (place[0] % 7 != 3).then_some(0));
        let points: Vec<[f64; 3]> = (0..500).map(|i| [f64::from(i), 0.1 * f64::from(i % 7), 0.0]).collect();
        let springs: Vec<_> = (0..493).flat_map(|i| [(i, i + 1, 0), (i, i + 7, 1)]).collect();
        let chain = deck(&points, &springs, 64);
        for mesh in [grid, chain] {
            let problem = problem(&mesh, vec![group(10.0); 3], 1.0, 0.01);
            let springs = Springs::new(&problem).unwrap();
            let n = problem.n_particles();
            let lists = |part: &Part| Lists::<f64, u16>::new(&problem, &springs, (8, 64), part).unwrap();
            let whole = lists(&Part::whole(n));
            let part = lists(&Part::new(vec![128..192, 320..n], Vec::new(), Vec::new()));
            for b in 0..n.div_ceil(64) {
                let of = |lists: &Lists<f64, u16>| {
                    let ids = &lists.ids[lists.first[b] * 64..lists.first[b + 1] * 64];
                    let rest = match &lists.rules {
                        Rules::Each { rest, .. } => &rest[lists.first[b] * 256..lists.first[b + 1] * 256],
                        Rules::Lattice(_) => &[],
                    };
                    let halo = &lists.halo[lists.halo_first[b]..lists.halo_first[b + 1]];
                    (ids.to_vec(), rest.to_vec(), halo.to_vec(), lists.any[b * 8..(b + 1) * 8].to_vec())
                };
                let expected =
                    if b == 2 || b >= 5 { of(&whole) } else { (Vec::new(), Vec::new(), Vec::new(), vec![0; 8]) };
                assert_eq!(of(&part), expected, "block {b}");
                assert!(!of(&whole).0.is_empty());
            }
        }
    }
}
