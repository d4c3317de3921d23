//! Memory variables of relaxation mechanisms ([`Relaxation`](crate::explicit::Relaxation)): one z_l a degree of freedom.
//!
//! Each block has those of its own nodes and of its halo, side by side, and brings both to step n when it begins it. The copies
//! in several blocks have the same bits, since they are made of the same u and Δu in the same way.

use super::lag::Lag;
use super::step::{Arrays, own_rows};
use super::tables::{Block, Dof, Tables};
use crate::simd::Real;

/// z^n from z^{n−1}, u^n and Δu^n. `factors` are 1 − a and b.
#[inline(always)]
fn next<T: Real>(z: T, u: T, du: T, factors: [T; 2]) -> T {
    z + (factors[0] * (u - z) - factors[1] * du)
}

/// Numbers of one mechanism, and the first of a block's.
#[inline(always)]
fn places<T: Real>(tables: &Tables<T>, block: &Block) -> (usize, usize) {
    (tables.n_rows * tables.dimension, block.first_row * tables.dimension)
}

/// z_l of own nodes and halo at step n, from those at step n − 1.
///
/// # Safety
/// The pointers must hold the rows that the tables name, nobody else may touch the block's rows of `memory`, and nobody may write
/// those of u and Δu that are read.
#[inline(always)]
pub(super) unsafe fn advance<T: Real>(tables: &Tables<T>, block: &Block, arrays: &Arrays<T>) {
    // SAFETY: the caller's promise.
    unsafe {
        match tables.dimension {
            2 => advance_in::<T, 2>(tables, block, arrays),
            _ => advance_in::<T, 3>(tables, block, arrays),
        }
    }
}

#[inline(always)]
unsafe fn advance_in<T: Real, const D: usize>(tables: &Tables<T>, block: &Block, arrays: &Arrays<T>) {
    let (u_first, u_stride) = own_rows(tables, block);
    let (n_of_mechanism, first) = places(tables, block);
    let halo = &tables.halo[block.halo.clone()];
    for (mechanism, &factors) in tables.mechanisms.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let z = arrays.memory.add(mechanism * n_of_mechanism + first);
            let move_row = |z: *mut T, u: *const T, du: *const T| {
                for c in 0..D {
                    *z.add(c) = next(*z.add(c), *u.add(c), *du.add(c), factors);
                }
            };
            for (local, own) in block.pieces() {
                let (z, du) = (z.add(local * D), arrays.increment.add(own.start * D));
                let u = arrays.displacement.add(u_first + local * u_stride);
                if u_stride == D {
                    // One loop over numbers that stand side by side: a compiler makes vectors of it.
                    for i in 0..own.len() * D {
                        *z.add(i) = next(*z.add(i), *u.add(i), *du.add(i), factors);
                    }
                } else {
                    (0..own.len()).for_each(|i| move_row(z.add(i * D), u.add(i * u_stride), du.add(i * D)));
                }
            }
            for (i, &row) in (block.n_own..).zip(halo) {
                let from = row as usize * D;
                move_row(z.add(i * D), arrays.boundary.add(from), arrays.boundary_increment.add(from));
            }
        }
    }
}

/// Subtracts Σ_l Y_l z_l from the displacements of own nodes and halo in `records`, which are `stride` numbers apart.
///
/// # Safety
/// As for [`advance`].
#[inline(always)]
pub(super) unsafe fn subtract<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    arrays: &Arrays<T>,
    lag: Lag,
    (records, stride): (*mut T, usize),
) {
    let (d, n_real) = (tables.dimension, block.n_own + block.halo.len());
    let (n_of_mechanism, first) = places(tables, block);
    for (mechanism, strength) in lag.of_memory.into_iter().enumerate().take(tables.mechanisms.len()) {
        let strength = T::from_f64(strength);
        // SAFETY: the caller's promise.
        unsafe {
            let z = arrays.memory.add(mechanism * n_of_mechanism + first);
            for i in 0..n_real {
                for c in 0..d {
                    let u = records.add(i * stride + c);
                    *u = *u - strength * *z.add(i * d + c);
                }
            }
        }
    }
}

/// z_l of an own degree of freedom.
///
/// # Safety
/// As for [`advance`].
#[inline(always)]
pub(super) unsafe fn at<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    arrays: &Arrays<T>,
    mechanism: usize,
    dof: Dof,
) -> T {
    let (n_of_mechanism, first) = places(tables, block);
    // SAFETY: the caller's promise.
    unsafe { *arrays.memory.add(mechanism * n_of_mechanism + first + dof.local * tables.dimension + dof.component) }
}

/// The rows of all blocks, (n_mechanisms, n_rows, dimension), from z_l of own nodes and of the part's halo,
/// (n_mechanisms, n_local, dimension).
pub(super) fn rows<T: Real>(tables: &Tables<T>, memory: &[f64]) -> Vec<T> {
    let d = tables.dimension;
    let (n_rows, n_nodes) = (tables.n_rows * d, (tables.n_nodes + tables.n_halo) * d);
    let mut out = vec![T::default(); tables.mechanisms.len() * n_rows];
    if out.is_empty() {
        return out;
    }
    let halo_nodes = tables.halo_nodes();
    for block in &tables.blocks {
        let halo = halo_nodes[block.halo.clone()].iter().copied();
        for (row, node) in (block.first_row..).zip(block.nodes().chain(halo)) {
            for (rows, nodes) in out.chunks_exact_mut(n_rows).zip(memory.chunks_exact(n_nodes)) {
                for c in 0..d {
                    rows[row * d + c] = T::from_f64(nodes[node * d + c]);
                }
            }
        }
    }
    out
}

/// z_l of own nodes at step n, (n_mechanisms × n_nodes × dimension,). `rows` have them; or those of step n − 1, which u and Δu
/// (n_nodes, dimension) bring to step n.
pub(super) fn of_nodes<T: Real>(tables: &Tables<T>, rows: &[T], motion: Option<(&[f64], &[T])>) -> Vec<f64> {
    let d = tables.dimension;
    let (n_rows, n_nodes) = (tables.n_rows * d, tables.n_nodes * d);
    let mut out = vec![0.0; tables.mechanisms.len() * n_nodes];
    let of_mechanisms = rows.chunks_exact(n_rows.max(1)).zip(out.chunks_exact_mut(n_nodes.max(1)));
    for (&factors, (rows, out)) in tables.mechanisms.iter().zip(of_mechanisms) {
        for block in &tables.blocks {
            for (row, node) in (block.first_row..).zip(block.nodes()) {
                for (from, to) in (row * d..).zip(node * d..(node + 1) * d) {
                    out[to] = match motion {
                        Some((u, du)) => next(rows[from], T::from_f64(u[to]), du[to], factors).to_f64(),
                        None => rows[from].to_f64(),
                    };
                }
            }
        }
    }
    out
}
