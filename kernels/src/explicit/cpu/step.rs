//! One step of one block.

pub(crate) use super::forces::force_stride;
use super::forces::record_stride;
use super::lanes::{Real, Vector};
use super::tables::{Block, Tables, n_dummies};

/// Working memory of one thread, reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    /// (u, x) of own, halo and dummy nodes, (max_local, record stride).
    pub records: Aligned<T>,
    /// f_int − F, (max_local, force stride), where there is no array of the whole mesh.
    pub forces: Aligned<T>,
    /// u_n and Δu_n of forces, constraints and monitors.
    pub saved: Vec<[T; 2]>,
}

impl<T: Real> Scratch<T> {
    pub fn new(tables: &Tables<T>) -> Self {
        Self {
            records: Aligned::new(tables.max_local * record_stride(tables.dimension)),
            forces: Aligned::new(tables.max_local * force_stride(tables.dimension)),
            saved: vec![[T::default(); 2]; tables.max_special],
        }
    }
}

/// Numbers that start on a cache line, so that no record crosses one.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
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
pub(crate) struct Arrays<T> {
    /// u, (n_nodes, dimension).
    pub displacement: *mut T,
    /// Δu, (n_nodes, dimension).
    pub increment: *mut T,
    /// Forces of all blocks, (n_force_rows, force stride), where blocks pass them on: each writes its rows, and reads
    /// those of others in the second half of the step, when nobody writes those that are passed on.
    pub forces: *mut T,
    /// u_n of the boundary nodes, (n_boundary, dimension), read; u_n itself where blocks pass forces on.
    pub boundary: *const T,
    /// u_{n+1} of the boundary nodes, written.
    pub next_boundary: *mut T,
    /// External work and damped energy of this step, (n_energy_rows, 2).
    pub energies: *mut f64,
    /// Where this step's monitors go, (n_monitors, 3), or null.
    pub recording: *mut f64,
}

/// Signals of this step and of the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals<'a> {
    pub now: &'a [f64],
    pub next: &'a [f64],
}

/// Copies (u, x) of a block into records: own rows of `displacement`, halo rows of `boundary`.
///
/// # Safety
/// The pointers must hold the rows that the tables name.
#[inline(always)]
unsafe fn fill_records<T: Real, const D: usize>(
    tables: &Tables<T>,
    block: &Block,
    displacement: *const T,
    boundary: *const T,
    records: &mut [T],
) {
    let stride = record_stride(D);
    let n_own = block.n_own();
    // SAFETY: the caller's promise; the records hold max_local rows.
    unsafe {
        let x = tables.coordinates.as_ptr().add(block.coordinates_first);
        let records = records.as_mut_ptr();
        let own = displacement.add(block.own.start * D);
        for i in 0..n_own {
            for c in 0..D {
                *records.add(i * stride + c) = *own.add(i * D + c);
                *records.add(i * stride + stride / 2 + c) = *x.add(i * D + c);
            }
        }
        for (i, &row) in (n_own..).zip(&tables.halo[block.halo.clone()]) {
            for c in 0..D {
                *records.add(i * stride + c) = *boundary.add(row as usize * D + c);
                *records.add(i * stride + stride / 2 + c) = *x.add(i * D + c);
            }
        }
        let n_real = n_own + block.halo.len();
        for i in n_real..n_real + n_dummies(D) {
            for c in 0..D {
                *records.add(i * stride + c) = T::default();
                *records.add(i * stride + stride / 2 + c) = *x.add(i * D + c);
            }
        }
    }
}

/// Prepares the records and zero forces, (n_local, force stride), of one block.
///
/// # Safety
/// As for `fill_records`.
#[inline(always)]
pub(crate) unsafe fn open_block<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    displacement: *const T,
    boundary: *const T,
    records: &mut [T],
    forces: *mut T,
) {
    let n_local = block.n_local(tables.dimension);
    // SAFETY: the caller's promise.
    unsafe {
        std::slice::from_raw_parts_mut(forces, n_local * force_stride(tables.dimension)).fill(T::default());
        if tables.dimension == 2 {
            fill_records::<T, 2>(tables, block, displacement, boundary, records);
        } else {
            fill_records::<T, 3>(tables, block, displacement, boundary, records);
        }
    }
}

/// u_n → u_{n+1} and Δu_n → Δu_{n+1} of one block, once its forces are there.
///
/// # Safety
/// As for `fill_records`; nobody else may touch the block's rows.
#[inline(always)]
pub(crate) unsafe fn update_block<V: Vector>(
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

/// The nodal update, with forces, supports, energies and monitors.
#[inline(always)]
unsafe fn update<V: Vector<Scalar = T>, T: Real, const D: usize>(
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
    let n_own = block.n_own();
    // SAFETY: rows of this block only; monitors have a column each.
    unsafe {
        let u = arrays.displacement.add(block.own.start * D);
        let du = arrays.increment.add(block.own.start * D);
        let dofs = loads.iter().map(|f| f.node * D + f.component);
        let dofs = dofs.chain(supports.iter().map(|s| s.node * D + s.component));
        let dofs = dofs.chain(monitors.iter().map(|m| m.node * D + m.component));
        for (saved, dof) in saved.iter_mut().zip(dofs) {
            *saved = [*u.add(dof), *du.add(dof)];
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
            let entry = f.add(force.node * stride + force.component);
            *entry = *entry - T::from_f64(force.value * signals.now[force.signal] / tables.force_unit);
        }
        let p = tables.inertia.as_ptr().add(block.own.start);
        let mut damped_energy = 0.0;
        if let Some(first) = block.damped {
            let r = tables.decay.as_ptr().add(first);
            let dissipation = tables.dissipation.as_ptr().add(first);
            for i in 0..n_own {
                let mut squares = T::default();
                for c in 0..D {
                    let old = *du.add(i * D + c);
                    let new = *r.add(i) * old - *p.add(i) * *f.add(i * stride + c);
                    *du.add(i * D + c) = new;
                    *u.add(i * D + c) = *u.add(i * D + c) + new;
                    squares = squares + (old + new) * (old + new);
                }
                damped_energy += (*dissipation.add(i) * squares).to_f64();
            }
        } else {
            let mut first = 0;
            let nodes = V::LANES / 2;
            if D == 2 && nodes > 0 {
                // A compiler left alone takes x and y apart and puts them together again.
                while first + nodes <= n_own {
                    let (u, du) = (u.add(2 * first), du.add(2 * first));
                    let new = V::load(du) - V::load_twice(p.add(first)) * V::load(f.add(2 * first));
                    new.store(du);
                    (V::load(u) + new).store(u);
                    first += nodes;
                }
            }
            for i in first..n_own {
                for c in 0..D {
                    let new = *du.add(i * D + c) - *p.add(i) * *f.add(i * stride + c);
                    *du.add(i * D + c) = new;
                    *u.add(i * D + c) = *u.add(i * D + c) + new;
                }
            }
        }
        let mut work = 0.0;
        let dt = tables.time_increment;
        for (k, support) in supports.iter().enumerate() {
            let dof = support.node * D + support.component;
            let [start, old] = saved[loads.len() + k];
            let old = old.to_f64();
            let free = (*du.add(dof)).to_f64();
            let new = T::from_f64(support.value * (signals.next[support.signal] - signals.now[support.signal]));
            // The free update of this node is not made: neither its motion nor its dissipation.
            *u.add(dof) = start + new;
            *du.add(dof) = new;
            let new = new.to_f64();
            let rate = support.damping / (4.0 * dt);
            if block.damped.is_some() {
                damped_energy += rate * ((old + new) * (old + new) - (old + free) * (old + free));
            }
            // R = m a + c v + f_int − F.
            let net = (*f.add(support.node * stride + support.component)).to_f64() * tables.force_unit;
            let reaction = support.mass * (new - old) / (dt * dt) + 2.0 * rate * (old + new) + net;
            work += reaction * 0.5 * (old + new);
        }
        for (k, force) in loads.iter().enumerate() {
            let new = (*du.add(force.node * D + force.component)).to_f64();
            work += force.value * signals.now[force.signal] * 0.5 * (saved[k][1].to_f64() + new);
        }
        for (k, monitor) in monitors.iter().enumerate() {
            let dof = monitor.node * D + monitor.component;
            let row = arrays.recording.add(3 * monitor.column);
            let [start, old] = saved[loads.len() + supports.len() + k];
            *row = start.to_f64();
            *row.add(1) = old.to_f64();
            *row.add(2) = (*du.add(dof)).to_f64();
        }
        if let Some(row) = block.energy_row {
            *arrays.energies.add(2 * row) = work;
            *arrays.energies.add(2 * row + 1) = damped_energy;
        }
        std::ptr::copy_nonoverlapping(u, arrays.next_boundary.add(block.boundary_first * D), block.n_boundary * D);
    }
}
