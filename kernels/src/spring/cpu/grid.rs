//! Implicit addressing: rows of a grid, several places of a row at once, neighbours at fixed distances in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pogo_formats::spring::{DIRECTION_BITS, DIRECTIONS, N_DIRECTIONS, opposite};
use pogo_formats::system::parallel::iterate::*;

use super::lattice::Lattice;
use super::pull::{Stretched, difference};
use super::{Arrays, Layout, StepFactors, Task};
use crate::dynamics::Part;
use crate::simd::{InstructionSet, Kernel, Lanes, Level, Real};
use crate::spring::law::Constants;
use crate::spring::{SpringError, SpringProblem};
use pogo_formats::system::parallel::Shared;

/// Bit of `any` and `all` for a place with a particle.
const ACTIVE: u32 = 1 << 31;
/// Bytes of displacements that are to stay near the core.
const CACHE: usize = 512 << 10;

/// A grid in memory: rows padded to whole registers, a plane and more of padding at both ends.
#[derive(Debug, Clone)]
pub(crate) struct Grid<T> {
    lanes: usize,
    pub size: [usize; 3],
    /// Numbers of a row and of a plane.
    pub row: usize,
    pub plane: usize,
    /// Padding at each end.
    pub pad: usize,
    /// Number of places, padding included.
    pub len: usize,
    /// A bit for each direction in which a place of the part has a spring.
    pub mask: Vec<u32>,
    /// Bits of any and of all places of each register's worth.
    any: Vec<u32>,
    all: Vec<u32>,
    /// Constants of the springs; materials by place.
    pub lattice: Lattice<T>,
    pub stride: [isize; N_DIRECTIONS],
    /// BΔt²/m: one, or one a place.
    pub inertia: Vec<T>,
    /// Place of each particle, and the reverse for those of the part and of its halo.
    pub place: Vec<u32>,
    pub particle: Vec<u32>,
}

impl<T: Real> Grid<T> {
    /// With whole registers of `lanes` numbers, and room for `beyond` rows more after the last than neighbours need. The rows of
    /// other parts have no springs.
    pub fn new(problem: &SpringProblem, lanes: usize, beyond: usize, part: &Part) -> Result<Self, SpringError> {
        let grid = problem.mesh.grid.ok_or(SpringError::NoGrid)?;
        let size = grid.size.map(|s| s as usize);
        if size.iter().product::<usize>() != grid.mask.len() {
            return Err(SpringError::Mesh { what: "the grid and its masks have different sizes" });
        }
        if !are_distinct(grid.place, grid.mask.len()) {
            return Err(SpringError::Mesh { what: "two particles have one place of the grid" });
        }
        let row = row_length(size[0], lanes);
        let plane = row * size[1];
        let pad = (plane + (1 + beyond) * row + 1).next_multiple_of(lanes);
        let len = 2 * pad + plane * size[2];
        let at = |place: usize| {
            let (x, rest) = (place % size[0], place / size[0]);
            pad + x + row * (rest % size[1]) + plane * (rest / size[1])
        };
        let place: Vec<u32> = grid.place.par_iter().map(|&place| at(place as usize) as u32).collect();
        let (mut mask, mut particle) = (vec![0; len], vec![0; len]);
        let several = problem.groups.len() > 3;
        let mut material = vec![0; if several { len } else { 0 }];
        let (masks, particles, materials) =
            (Shared::new(&mut mask), Shared::new(&mut particle), Shared::new(&mut material));
        let set = |i: usize, springs: u32| {
            let at = place[i] as usize..place[i] as usize + 1;
            // SAFETY: each particle has a place of its own, as was checked.
            unsafe {
                masks.part(at.clone())[0] = springs | ACTIVE;
                particles.part(at.clone())[0] = i as u32;
                if several {
                    materials.part(at)[0] = problem.mesh.material[i] as u8;
                }
            }
        };
        for own in part.own_ranges() {
            let springs = |i: usize| grid.mask[grid.place[i] as usize] & DIRECTION_BITS;
            own.clone().into_par_iter().with_min_len(1 << 12).for_each(|i| set(i, springs(i)));
        }
        part.halo().iter().for_each(|&i| set(i as usize, 0));
        let stride = DIRECTIONS.map(|step| {
            let [x, y, z] = step.map(|s| s as isize);
            x + y * row as isize + z * plane as isize
        });
        let mut made = Self {
            lanes,
            size,
            row,
            plane,
            pad,
            len,
            mask,
            any: vec![0; len / lanes],
            all: vec![0; len / lanes],
            lattice: Lattice::new(problem, &grid, material),
            stride,
            inertia: inertia(problem, len, &place),
            place,
            particle,
        };
        let chunks = made.mask.par_chunks(lanes).zip(&mut made.any).zip(&mut made.all);
        chunks.with_min_len(1 << 10).for_each(|((words, any), all)| (*any, *all) = any_and_all(words));
        if several {
            let (mask, stride) = (&made.mask, made.stride);
            let ends = |at: usize| {
                let own = (mask[at] & ACTIVE != 0).then_some(at);
                let directions = (0..N_DIRECTIONS).filter(move |&d| mask[at] >> d & 1 == 1);
                own.into_iter().chain(directions.map(move |d| at.wrapping_add_signed(stride[d])))
            };
            made.lattice.find_chunk_materials(len / lanes, |chunk| (chunk * lanes..(chunk + 1) * lanes).flat_map(ends));
        }
        Ok(made)
    }

    /// `any` and `all` of a chunk.
    fn summarise(&mut self, chunk: usize) {
        (self.any[chunk], self.all[chunk]) = any_and_all(&self.mask[chunk * self.lanes..(chunk + 1) * self.lanes]);
    }

    /// The constants of the lanes of a chunk of several materials.
    #[inline(never)]
    fn mixed_constants(&self, at: usize, direction: usize) -> [Constants<T>; 16] {
        let mut out = [Constants::default(); 16];
        for (lane, out) in out.iter_mut().enumerate().take(self.lanes) {
            let other = (at + lane).wrapping_add_signed(self.stride[direction]);
            *out = self.lattice.between(at + lane, other, direction);
        }
        out
    }

    /// Direction from one particle to another, if they are neighbours in the grid.
    fn direction(&self, from: u32, to: u32) -> Option<usize> {
        let [a, b] = [from, to].map(|i| {
            let at = self.place[i as usize] as usize - self.pad;
            [at % self.row, at / self.row % self.size[1], at / self.plane].map(|x| x as i32)
        });
        DIRECTIONS.iter().position(|step| (0..3).all(|c| b[c] - a[c] == step[c]))
    }
}

/// Numbers of a row of so many places.
pub(crate) fn row_length(n_x: usize, lanes: usize) -> usize {
    (n_x + 1).next_multiple_of(lanes)
}

/// Whether no place of `n` is there twice.
fn are_distinct(places: &[u32], n: usize) -> bool {
    let taken: Vec<AtomicU64> = (0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    places.par_iter().with_min_len(1 << 12).all(|&place| {
        let bit = 1 << (place % 64);
        taken[place as usize / 64].fetch_or(bit, Relaxed) & bit == 0
    })
}

/// Bits of any and of all words.
fn any_and_all(words: &[u32]) -> (u32, u32) {
    words.iter().fold((0, u32::MAX), |(any, all), word| (any | word, all & word))
}

/// BΔt²/m: one where the mass is uniform, else one for each of `len` places.
fn inertia<T: Real>(problem: &SpringProblem, len: usize, place: &[u32]) -> Vec<T> {
    let factor = problem.inertia_factor();
    if let [mass] = problem.mass[..] {
        return vec![T::from_f64(factor / mass)];
    }
    let mut all = vec![T::default(); len];
    for (&at, mass) in place.iter().zip(&problem.mass) {
        all[at as usize] = T::from_f64(factor / mass);
    }
    all
}

/// Pulls at the places of a chunk of one material where springs do nothing else: a loop that lasts in registers.
///
/// # Safety
/// As for [`advance_chunk`].
#[inline(always)]
unsafe fn plain_forces<T: Real, V: Lanes<Scalar = T>>(
    grid: &Grid<T>,
    constants: &[Constants<T>; N_DIRECTIONS],
    [mut any, all]: [u32; 2],
    mask: *const u32,
    u: *const T,
    own: [V; 3],
) -> [V; 3] {
    let mut force = [V::splat(T::default()); 3];
    while any != 0 {
        let direction = any.trailing_zeros() as usize;
        any &= any - 1;
        let rule = Constants::<V>::splat(&constants[direction]);
        // SAFETY: the caller's promise.
        unsafe {
            let there = u.offset(grid.stride[direction]);
            let other = [V::load(there), V::load(there.add(grid.len)), V::load(there.add(2 * grid.len))];
            let spring = Stretched::new(difference(other, own), &rule);
            let mut pull = spring.pull;
            if all >> direction & 1 == 0 {
                pull = pull.keep(V::mask(V::bits(mask, direction)));
            }
            force = spring.add(pull, force);
        }
    }
    force
}

/// Advances the places of a chunk.
///
/// # Safety
/// The arrays must have the grid's length; the chunk is this thread's.
#[inline(always)]
unsafe fn advance_chunk<T: Real, V: Lanes<Scalar = T>>(grid: &Grid<T>, task: &mut Task<T>, at: usize) {
    let (arrays, factors) = (task.arrays, task.factors);
    let Arrays { u, du, drag, mask, any, all, .. } = arrays;
    let (chunk, len) = (at / V::N, grid.len);
    // SAFETY: the caller's promise; a neighbour is at most a plane, a row and a place away, which is the padding.
    unsafe {
        let (any_bits, all_bits) = (*any.add(chunk), *all.add(chunk));
        if any_bits == 0 {
            return;
        }
        let load = |from: *const T, at: usize| {
            [V::load(from.add(at)), V::load(from.add(len + at)), V::load(from.add(2 * len + at))]
        };
        let zero = V::splat(T::default());
        let own = load(u, at);
        let own_rate = if factors.damped { load(du, at) } else { [zero; 3] };
        let (mut force, mut dragging) = ([zero; 3], [zero; 3]);
        let uniform = grid.lattice.uniform(chunk);
        let mut left = any_bits & DIRECTION_BITS;
        if let (Some(constants), false) = (uniform, factors.damped || factors.breaks) {
            force = plain_forces::<T, V>(grid, constants, [left, all_bits], mask.add(at), u.add(at), own);
            left = 0;
        }
        while left != 0 {
            let direction = left.trailing_zeros() as usize;
            left &= left - 1;
            let there = at.wrapping_add_signed(grid.stride[direction]);
            let rule = match uniform {
                Some(constants) => Constants::<V>::splat(&constants[direction]),
                None => Constants::<V>::of_lanes(&grid.mixed_constants(at, direction)),
            };
            let spring = Stretched::new(difference(load(u, there), own), &rule);
            let mut strength = spring.pull;
            let mut rate = zero;
            if factors.damped {
                rate = spring.drag(difference(load(du, there), own_rate), &rule);
            }
            let full = all_bits >> direction & 1 == 1;
            if !full || factors.breaks {
                let mut bits = V::bits(mask.add(at), direction);
                if factors.breaks {
                    let over = spring.w.greater(rule.limit) & bits;
                    if over != 0 {
                        bits &= !over;
                        break_springs(grid, task, at, direction, over);
                    }
                }
                strength = strength.keep(V::mask(bits));
                rate = rate.keep(V::mask(bits));
            }
            if factors.damped {
                dragging = spring.add(rate, dragging);
            }
            force = spring.add(strength, force);
        }
        for c in 0..3 {
            if factors.damped {
                force[c] = force[c] + dragging[c];
                if !drag.is_null() {
                    dragging[c].store(drag.add(c * len + at));
                }
            }
        }
        move_places(grid, arrays, &factors, at, [own, force]);
    }
}

/// Moves the places of a chunk from their displacements by their forces.
///
/// # Safety
/// As for [`advance_chunk`].
#[inline(always)]
unsafe fn move_places<T: Real, V: Lanes<Scalar = T>>(
    grid: &Grid<T>,
    Arrays { du, next_du, next_u, mask, all, .. }: Arrays<T>,
    factors: &StepFactors<T>,
    at: usize,
    [own, force]: [[V; 3]; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let inertia =
            if grid.inertia.len() == 1 { V::splat(grid.inertia[0]) } else { V::load(grid.inertia.as_ptr().add(at)) };
        let everywhere = *all.add(at / V::N) & ACTIVE != 0;
        let active = V::mask(if everywhere { u32::MAX } else { V::bits(mask.add(at), 31) });
        let decay = V::splat(factors.decay);
        for c in 0..3 {
            let place = c * grid.len + at;
            let acceleration = (inertia * force[c] + V::splat(factors.gravity[c])).keep(active);
            let increment = decay * V::load(du.add(place)) + acceleration;
            increment.store(next_du.add(place));
            (own[c] + increment).store(next_u.add(place));
        }
    }
}

/// Takes springs away from the lanes of a chunk, as the other end does.
///
/// # Safety
/// As for [`advance_chunk`].
#[cold]
#[inline(never)]
unsafe fn break_springs<T: Real>(grid: &Grid<T>, task: &mut Task<T>, at: usize, direction: usize, over: u32) {
    let Arrays { mask, any, all, .. } = task.arrays;
    // SAFETY: the caller's promise.
    unsafe {
        for lane in (0..grid.lanes).filter(|lane| over >> lane & 1 == 1) {
            *mask.add(at + lane) &= !(1 << direction);
            let other = (at + lane).wrapping_add_signed(grid.stride[direction]);
            task.broke(grid.particle[at + lane], grid.particle[other]);
        }
        let (mut some, mut every) = (0, u32::MAX);
        for lane in 0..grid.lanes {
            some |= *mask.add(at + lane);
            every &= *mask.add(at + lane);
        }
        *any.add(at / grid.lanes) = some;
        *all.add(at / grid.lanes) = every;
    }
}

/// Advances the rows of a share, in tiles whose displacements stay near the core.
///
/// # Safety
/// As for [`advance_chunk`].
#[inline(always)]
unsafe fn rows<T: Real, V: Lanes<Scalar = T>>(grid: &Grid<T>, task: &mut Task<T>) {
    let units = task.units;
    let (Some(first_unit), Some(last_unit)) = (units.first(), units.last()) else { return };
    let n_y = grid.size[1];
    let tile = (CACHE / (9 * grid.row * size_of::<T>())).clamp(4, n_y.max(4));
    let planes = first_unit.start / n_y..(last_unit.end - 1) / n_y + 1;
    let mut first = 0;
    while first < n_y {
        for z in planes.clone() {
            let here = z * n_y + first..z * n_y + (first + tile).min(n_y);
            let from = units.partition_point(|rows| rows.end <= here.start);
            for rows in units[from..].iter().take_while(|rows| rows.start < here.end) {
                for row in rows.start.max(here.start)..rows.end.min(here.end) {
                    let start = grid.pad + row * grid.row;
                    let mut at = start;
                    while at < start + grid.size[0] {
                        // SAFETY: the caller's promise.
                        unsafe { advance_chunk::<T, V>(grid, task, at) };
                        at += V::N;
                    }
                }
            }
        }
        first += tile;
    }
}

/// See [`rows`].
struct AdvanceRows<'a, 'r, T> {
    grid: &'a Grid<T>,
    task: &'a mut Task<'r, T>,
}

impl<T: Real> Kernel for AdvanceRows<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        // SAFETY: the promise of `Layout::advance`.
        unsafe { rows::<T, I::Wide<T>>(self.grid, self.task) };
    }
}

impl<T: Real> Layout<T> for Grid<T> {
    fn len(&self) -> usize {
        3 * self.len
    }

    fn index(&self, particle: usize, component: usize) -> usize {
        component * self.len + self.place[particle] as usize
    }

    fn n_units(&self) -> usize {
        self.size[1] * self.size[2]
    }

    fn unit_of(&self, particle: usize) -> usize {
        (self.place[particle] as usize - self.pad) / self.row
    }

    fn weight(&self, unit: usize) -> usize {
        let first = (self.pad + unit * self.row) / self.lanes;
        let springs = |any: &u32| 1 + (any & DIRECTION_BITS).count_ones() as usize * usize::from(*any != 0);
        self.any[first..first + self.row / self.lanes].iter().map(springs).sum()
    }

    fn spans(&self, unit: usize) -> Vec<Range<usize>> {
        let first = self.pad + unit * self.row;
        (0..3).map(|c| c * self.len + first..c * self.len + first + self.size[0]).collect()
    }

    fn inertia(&self, index: usize) -> T {
        if self.inertia.len() == 1 { self.inertia[0] } else { self.inertia[index % self.len] }
    }

    fn pointers(&mut self, arrays: &mut Arrays<T>) {
        arrays.mask = self.mask.as_mut_ptr();
        arrays.any = self.any.as_mut_ptr();
        arrays.all = self.all.as_mut_ptr();
    }

    unsafe fn advance(&self, level: Level, task: &mut Task<T>) {
        level.run(AdvanceRows { grid: self, task });
    }

    fn change(&mut self, [i, j]: [u32; 2], group: Option<u32>) {
        let Some(direction) = self.direction(i, j) else { return };
        for (particle, direction) in [(i, direction), (j, opposite(direction))] {
            let at = self.place[particle as usize] as usize;
            match group {
                Some(_) => self.mask[at] |= 1 << direction,
                None => self.mask[at] &= !(1 << direction),
            }
            self.summarise(at / self.lanes);
        }
    }

    fn bytes_per_step(&self, n_own: usize) -> f64 {
        // u, Δu read and written, the mask.
        (n_own * (12 * size_of::<T>() + 4)) as f64
    }
}
