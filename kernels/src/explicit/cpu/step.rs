//! One step of one block.

use super::lag::{pass_increments, work_of_forces};
use super::law::{force_stride, n_dummies, record_stride};
use super::memory;
use super::tables::{Block, Dof, Support, Tables};
use crate::simd::{Real, ScatterLanes};

/// Working memory of one thread, reused for every block.
#[derive(Debug)]
pub(super) struct Scratch<T> {
    /// (u, x) of own, halo and dummy nodes in space, (max_local, record stride); in the plane only where there is a lag.
    pub records: Aligned<T>,
    /// f_int − F, (max_local, force stride), where there is no array of the whole mesh.
    pub forces: Aligned<T>,
    /// u_n and Δu_n of forces, constraints and monitors.
    pub saved: Vec<[T; 2]>,
}

impl<T: Real> Scratch<T> {
    pub fn new(tables: &Tables<T>) -> Self {
        Self {
            records: Aligned::new(tables.max_local * records_stride(tables)),
            forces: Aligned::new(tables.max_local * force_stride(tables.dimension)),
            saved: vec![[T::default(); 2]; tables.max_special],
        }
    }
}

/// Numbers of a node's record in the working memory.
fn records_stride<T: Real>(tables: &Tables<T>) -> usize {
    match (tables.dimension, tables.is_lagged) {
        (2, false) => 0,
        (2, true) => tables.state_stride(),
        _ => record_stride(3),
    }
}

/// Numbers that start on a cache line, so that no record crosses one.
#[derive(Debug)]
pub(super) struct Aligned<T> {
    numbers: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    pub fn new(len: usize) -> Self {
        let numbers = vec![T::default(); len + 64 / size_of::<T>()];
        let first = numbers.as_ptr().align_offset(64).min(64 / size_of::<T>());
        Self { numbers, first, len }
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.numbers[self.first..self.first + self.len]
    }
}

impl<T> std::ops::DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.first..self.first + self.len]
    }
}

/// The arrays of the state, shared by the threads of one `advance`: each block writes its own rows, and reads other
/// blocks' only from the boundary array of the step, which nobody writes meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays<T> {
    /// u, (n_nodes, 3), in space; in the plane u or (u, x) of own, halo and dummy nodes block by block, (n_rows, 2 or 4).
    pub displacement: *mut T,
    /// Δu, (n_nodes, dimension); with a lag in space that of the halo, too.
    pub increment: *mut T,
    /// Forces of all blocks, (n_force_rows, force stride), where blocks pass them on: each writes its rows, and reads
    /// those of others in the second half of the step, when nobody writes those that are passed on.
    pub forces: *mut T,
    /// u_n of the boundary nodes, (n_boundary, dimension), read; u_n itself where blocks pass forces on.
    pub boundary: *const T,
    /// u_{n+1} of the boundary nodes, written.
    pub next_boundary: *mut T,
    /// Δu_n of the rows of `boundary`, read where there is a lag; null for f_int without it.
    pub boundary_increment: *const T,
    /// Δu_{n+1} of the boundary nodes, written where there is a lag.
    pub next_boundary_increment: *mut T,
    /// z_l of all mechanisms, (n_mechanisms, n_rows, dimension); null without relaxation, and for f_int without it.
    pub memory: *mut T,
    /// The step begins with z_l of the step before.
    pub moves_memory: bool,
    /// External work and damped energy of this step, (n_energy_rows, 2).
    pub energies: *mut f64,
    /// Where this step's monitors go, (n_monitors, 3), or null.
    pub recording: *mut f64,
}

impl<T> Arrays<T> {
    pub fn none() -> Self {
        Self {
            displacement: std::ptr::null_mut(),
            increment: std::ptr::null_mut(),
            forces: std::ptr::null_mut(),
            boundary: std::ptr::null(),
            next_boundary: std::ptr::null_mut(),
            boundary_increment: std::ptr::null(),
            next_boundary_increment: std::ptr::null_mut(),
            memory: std::ptr::null_mut(),
            moves_memory: false,
            energies: std::ptr::null_mut(),
            recording: std::ptr::null_mut(),
        }
    }
}

/// Signals of this step and of the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signals<'a> {
    pub now: &'a [f64],
    pub next: &'a [f64],
}

/// Where the displacements of a block's own nodes stand: the first number, and the numbers from node to node.
#[inline(always)]
pub(super) fn own_rows<T: Real>(tables: &Tables<T>, block: &Block) -> (usize, usize) {
    let stride = tables.state_stride();
    (stride * if tables.computes_once() { block.own[0].start } else { block.first_row }, stride)
}

/// Copies (u, x) of a block in space into records: own rows of `displacement`, halo rows of `boundary`.
///
/// # Safety
/// The pointers must hold the rows that the tables name.
#[inline(always)]
unsafe fn fill_records<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    displacement: *const T,
    boundary: *const T,
    records: *mut T,
) {
    let stride = record_stride(3);
    // SAFETY: the caller's promise; the records hold max_local rows.
    unsafe {
        let x = tables.coordinates.as_ptr().add(block.first_row * 3);
        let fill = |i: usize, u: *const T| {
            for c in 0..3 {
                *records.add(i * stride + c) = *u.add(c);
                *records.add(i * stride + stride / 2 + c) = *x.add(i * 3 + c);
            }
        };
        let own = displacement.add(block.own[0].start * 3);
        (0..block.n_own).for_each(|i| fill(i, own.add(i * 3)));
        for (i, &row) in (block.n_own..).zip(&tables.halo[block.halo.clone()]) {
            fill(i, boundary.add(row as usize * 3));
        }
        let (n_real, rest) = (block.n_own + block.halo.len(), [T::default(); 3]);
        (n_real..n_real + n_dummies(3)).for_each(|i| fill(i, rest.as_ptr()));
    }
}

/// Sets the forces of a block, (n_local, force stride), to zero.
///
/// # Safety
/// There must be so many.
#[inline(always)]
pub(super) unsafe fn clear<T: Real>(tables: &Tables<T>, block: &Block, forces: *mut T) {
    let n = block.n_local(tables.dimension) * force_stride(tables.dimension);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(forces, n) }.fill(T::default());
}

/// Prepares the records, which are returned, and zero forces, (n_local, force stride), of one block.
///
/// # Safety
/// As for `fill_records`; in the plane nobody else may touch the block's rows of `displacement`.
#[inline(always)]
pub(super) unsafe fn open_block<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    displacement: *mut T,
    boundary: *const T,
    records: *mut T,
    forces: *mut T,
) -> *const T {
    // SAFETY: the caller's promise.
    unsafe {
        clear(tables, block, forces);
        if tables.dimension == 2 {
            // The block's own records are in place, and so are all positions.
            let stride = tables.state_stride();
            let records = displacement.add(block.first_row * stride);
            for (i, &row) in (block.n_own..).zip(&tables.halo[block.halo.clone()]) {
                let u = boundary.add(row as usize * 2).cast::<[T; 2]>();
                *records.add(i * stride).cast::<[T; 2]>() = *u;
            }
            records
        } else {
            fill_records(tables, block, displacement, boundary, records);
            records
        }
    }
}

/// u_n → u_{n+1} and Δu_n → Δu_{n+1} of one block, once its forces are there.
///
/// # Safety
/// As for `fill_records`; nobody else may touch the block's rows.
#[inline(always)]
pub(super) unsafe fn update_block<V: ScatterLanes>(
    tables: &Tables<V::Scalar>,
    block: &Block,
    arrays: &Arrays<V::Scalar>,
    signals: Signals,
    saved: &mut [[V::Scalar; 2]],
    forces: *mut V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if tables.dimension == 2 {
            update::<V, V::Scalar, 2>(tables, block, arrays, signals, saved, forces);
        } else {
            update::<V, V::Scalar, 3>(tables, block, arrays, signals, saved, forces);
        }
    }
}

/// Adds to the forces on solids what fluids put on them, where they touch: the pressure at t_n is −Δq_n/Δt, so that the solid feels
/// −A Δq_n/Δt.
///
/// # Safety
/// As for `update`.
#[inline(always)]
unsafe fn press<T: Real, const D: usize>(tables: &Tables<T>, block: &Block, increment: *mut T, forces: *mut T) {
    let stride = force_stride(D);
    // SAFETY: the caller's promise; the tables' nodes are of this block.
    unsafe {
        for pair in &tables.wet[block.wet.clone()] {
            let dq = *increment.add(pair.fluid.node * D);
            for c in 0..D {
                let force = forces.add(pair.solid.local * stride + c);
                *force += T::from_f64(pair.area[c]) * dq;
            }
        }
    }
}

/// Adds to the forces of fluids what solids move in them, where they touch: the fluid lets A · Δu_{n+1}/Δt flow out. Δu_{n+1} is known
/// once all forces on the solid are: the update to come gives it the same bits.
///
/// # Safety
/// As for `update`; the forces on solids must be complete.
#[inline(always)]
unsafe fn flow<T: Real, const D: usize>(
    tables: &Tables<T>,
    block: &Block,
    increment: *mut T,
    (supports, signals): (&[Support], Signals),
    forces: *mut T,
) {
    let stride = force_stride(D);
    // SAFETY: the caller's promise; the tables' nodes are of this block.
    unsafe {
        for pair in &tables.wet[block.wet.clone()] {
            let (solid, mut flow) = (pair.solid, T::default());
            for c in 0..D {
                let new = match pair.supports[c].and_then(|at| supports.get(at as usize)) {
                    Some(support) => {
                        T::from_f64(support.value * (signals.next[support.signal] - signals.now[support.signal]))
                    }
                    None => {
                        let old = *increment.add(solid.node * D + c);
                        let kept = match block.damped {
                            Some(first) => tables.decay[first + solid.local] * old,
                            None => old,
                        };
                        kept - tables.inertia[solid.node] * *forces.add(solid.local * stride + c)
                    }
                };
                flow += T::from_f64(pair.area[c]) * new;
            }
            let force = forces.add(pair.fluid.local * stride);
            *force = *force - flow;
        }
    }
}

/// The nodal update, with forces, supports, energies and monitors.
#[inline(always)]
unsafe fn update<V: ScatterLanes<Scalar = T>, T: Real, const D: usize>(
    tables: &Tables<T>,
    block: &Block,
    arrays: &Arrays<T>,
    signals: Signals,
    saved: &mut [[T; 2]],
    forces: *mut T,
) {
    let stride = force_stride(D);
    let loads = &tables.forces[block.forces.clone()];
    let supports = &tables.constraints[block.constraints.clone()];
    let monitors: &[_] = if arrays.recording.is_null() { &[] } else { &tables.monitors[block.monitors.clone()] };
    // SAFETY: rows of this block only; monitors have a column each.
    unsafe {
        let (u_first, u_stride) = own_rows(tables, block);
        let u = arrays.displacement.add(u_first);
        let u_of = |dof: Dof| u.add(dof.local * u_stride + dof.component);
        let du_of = |dof: Dof| arrays.increment.add(dof.node * D + dof.component);
        let dofs = loads.iter().map(|f| f.dof).chain(supports.iter().map(|s| s.dof));
        for (saved, dof) in saved.iter_mut().zip(dofs.chain(monitors.iter().map(|m| m.dof))) {
            *saved = [*u_of(dof), *du_of(dof)];
        }
        let f = forces;
        for incoming in &tables.incoming[block.incoming.clone()] {
            let (to, from) =
                (f.add(incoming.node as usize * stride), arrays.forces.add(incoming.row as usize * stride));
            for c in 0..D {
                *to.add(c) = *to.add(c) + *from.add(c);
            }
        }
        for force in loads {
            let entry = f.add(force.dof.local * stride + force.dof.component);
            *entry = *entry - T::from_f64(force.value * signals.now[force.signal] / tables.force_unit);
        }
        let mut damped_energy = 0.0;
        let mut damp = |is_wet: bool| {
            for dashpot in tables.dashpots[block.dashpots.clone()].iter().filter(|dashpot| dashpot.is_wet == is_wet) {
                let taken = dashpot.act::<T, D>(tables, arrays, signals, f);
                // With lags the work of all forces is in the account.
                damped_energy += if tables.is_lagged { 0.0 } else { taken };
            }
        };
        // A dashpot takes part in the motion that it damps, so it acts when all other forces on its node are there.
        if block.wet.is_empty() {
            damp(false);
        } else {
            press::<T, D>(tables, block, arrays.increment, f);
            damp(false);
            flow::<T, D>(tables, block, arrays.increment, (supports, signals), f);
            damp(true);
        }
        // Of the forces' mean motion in this step: half before, half after.
        let mut lagged_work = if tables.is_lagged { work_of_forces::<T, D>(tables, block, arrays, f) } else { 0.0 };
        for (local, own) in block.pieces() {
            let (u, f) = (u.add(local * u_stride), f.add(local * stride));
            let (du, p) = (arrays.increment.add(own.start * D), tables.inertia.as_ptr().add(own.start));
            if let Some(first) = block.damped {
                let r = tables.decay.as_ptr().add(first + local);
                let dissipation = tables.dissipation.as_ptr().add(first + local);
                for i in 0..own.len() {
                    let mut squares = T::default();
                    for c in 0..D {
                        let old = *du.add(i * D + c);
                        let new = *r.add(i) * old - *p.add(i) * *f.add(i * stride + c);
                        *du.add(i * D + c) = new;
                        *u.add(i * u_stride + c) = *u.add(i * u_stride + c) + new;
                        squares += (old + new) * (old + new);
                    }
                    damped_energy += (*dissipation.add(i) * squares).to_f64();
                }
                continue;
            }
            let mut first = 0;
            let nodes = V::N / 2;
            if D == 2 && nodes > 0 {
                // A compiler left alone takes x and y apart and puts them together again.
                while first + nodes <= own.len() {
                    let du = du.add(2 * first);
                    let new = V::load(du) - V::load_twice(p.add(first)) * V::load(f.add(2 * first));
                    new.store(du);
                    let u = u.add(u_stride * first);
                    if u_stride == 2 {
                        (V::load(u) + new).store(u);
                    } else {
                        new.add_to_record_starts(u);
                    }
                    first += nodes;
                }
            }
            for i in first..own.len() {
                for c in 0..D {
                    let new = *du.add(i * D + c) - *p.add(i) * *f.add(i * stride + c);
                    *du.add(i * D + c) = new;
                    *u.add(i * u_stride + c) = *u.add(i * u_stride + c) + new;
                }
            }
        }
        let mut work = 0.0;
        let dt = tables.time_increment;
        for (k, support) in supports.iter().enumerate() {
            let [start, old] = saved[loads.len() + k];
            let old = old.to_f64();
            let free = (*du_of(support.dof)).to_f64();
            let new = T::from_f64(support.value * (signals.next[support.signal] - signals.now[support.signal]));
            // The free update of this node is not made: neither its motion nor its dissipation.
            *u_of(support.dof) = start + new;
            *du_of(support.dof) = new;
            let new = new.to_f64();
            let rate = support.damping / (4.0 * dt);
            if block.damped.is_some() {
                damped_energy += rate * ((old + new) * (old + new) - (old + free) * (old + free));
            }
            // R = m a + c v + f_int − F.
            let net = (*f.add(support.dof.local * stride + support.dof.component)).to_f64() * tables.force_unit;
            let reaction = support.mass * (new - old) / (dt * dt) + 2.0 * rate * (old + new) + net;
            work += reaction * 0.5 * (old + new);
        }
        let mut work_of_loads = 0.0;
        for (k, force) in loads.iter().enumerate() {
            let new = (*du_of(force.dof)).to_f64();
            let of_load = force.value * signals.now[force.signal] * 0.5 * (saved[k][1].to_f64() + new);
            work += of_load;
            work_of_loads += of_load;
        }
        if tables.is_lagged {
            // The internal forces' work: what is stored, and what damping takes. f has the loads, too.
            lagged_work += work_of_forces::<T, D>(tables, block, arrays, f);
            damped_energy += 0.5 * tables.force_unit * lagged_work + work_of_loads;
            pass_increments(tables, block, arrays);
        }
        for (k, monitor) in monitors.iter().enumerate() {
            let row = arrays.recording.add(3 * monitor.column);
            let [start, old] = saved[loads.len() + supports.len() + k];
            *row = match monitor.memory {
                Some(mechanism) => memory::at(tables, block, arrays, mechanism, monitor.dof).to_f64(),
                None => start.to_f64(),
            };
            *row.add(1) = old.to_f64();
            *row.add(2) = (*du_of(monitor.dof)).to_f64();
        }
        if let Some(row) = block.energy_row {
            *arrays.energies.add(2 * row) = work;
            *arrays.energies.add(2 * row + 1) = damped_energy;
        }
        for row in block.boundary.clone() {
            let u = u.add(usize::from(tables.boundary[row]) * u_stride);
            for c in 0..D {
                *arrays.next_boundary.add(row * D + c) = *u.add(c);
            }
        }
    }
}
