//! Elements that feel more than u_n: K (u_n + β/Δt Δu_n − Σ_l Y_l z_l), with damping in proportion to the stiffness and with
//! [relaxation](super::memory).
//!
//! Elements read u and Δu of nodes that others may have with another β, or without. So a block makes records of
//! that sum for the runs of each β and Y; the elements then cost what they always cost. Between blocks Δu goes the way of u.

use super::law::{force_stride, n_dummies, record_stride};
use super::memory;
use super::step::{Arrays, own_rows};
use super::tables::{Block, Tables};
use crate::explicit::problem::Problem;
use crate::explicit::relaxation::MOST_MECHANISMS;
use crate::simd::Real;

/// What elements feel beside u_n; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Lag {
    /// β/Δt, the factor on Δu_n.
    pub of_increment: f64,
    /// Y_l, the factors on −z_l.
    pub of_memory: [f64; MOST_MECHANISMS],
}

impl Lag {
    /// That of a section.
    pub fn of(problem: &Problem, section: usize) -> Self {
        Self { of_increment: problem.lag_of(section), of_memory: problem.relaxation.of_section(section) }
    }

    /// As far as `arrays` have what is to be felt.
    pub fn in_arrays<T>(self, arrays: &Arrays<T>) -> Self {
        Self {
            of_increment: if arrays.boundary_increment.is_null() { 0.0 } else { self.of_increment },
            of_memory: if arrays.memory.is_null() { Default::default() } else { self.of_memory },
        }
    }
}

/// Records of u + `lag` Δu less what `memory` takes of it, and x of own, halo and dummy nodes, (n_local, record stride); of
/// strips without x.
///
/// # Safety
/// The pointers must hold the rows that the tables name, and nobody may write those that are read.
#[inline(always)]
pub(super) unsafe fn fill_lagged<T: Real>(
    tables: &Tables<T>,
    block: &Block,
    arrays: &Arrays<T>,
    lag: Lag,
    records: *mut T,
) {
    let d = tables.dimension;
    let of_increment = T::from_f64(lag.of_increment);
    let (u_first, u_stride) = own_rows(tables, block);
    let stride = if d == 2 { u_stride } else { record_stride(3) };
    // SAFETY: the caller's promise; the records hold max_local rows.
    unsafe {
        let put = |i: usize, u: *const T, du: *const T| {
            for c in 0..d {
                *records.add(i * stride + c) = of_increment * *du.add(c) + *u.add(c);
            }
        };
        for (local, own) in block.pieces() {
            for (i, node) in (local..).zip(own) {
                put(i, arrays.displacement.add(u_first + i * u_stride), arrays.increment.add(node * d));
            }
        }
        for (i, &row) in (block.n_own..).zip(&tables.halo[block.halo.clone()]) {
            put(i, arrays.boundary.add(row as usize * d), arrays.boundary_increment.add(row as usize * d));
        }
        let (n_real, rest) = (block.n_own + block.halo.len(), [T::default(); 3]);
        (n_real..n_real + n_dummies(d)).for_each(|i| put(i, rest.as_ptr(), rest.as_ptr()));
        if lag.of_memory != Lag::default().of_memory {
            memory::subtract(tables, block, arrays, lag, (records, stride));
        }
        if d == 2 && stride == force_stride(2) {
            return;
        }
        // In the plane positions stand in the state.
        let (x, x_stride) = match d {
            2 => (arrays.displacement.add(u_first + stride / 2).cast_const(), stride),
            _ => (tables.coordinates.as_ptr().add(block.first_row * 3), 3),
        };
        for i in 0..block.n_local(d) {
            for c in 0..d {
                *records.add(i * stride + stride / 2 + c) = *x.add(i * x_stride + c);
            }
        }
    }
}

/// Σ f·Δu over own nodes, in units of force times m. Nodes without inertia do not move by themselves: copies of others.
///
/// # Safety
/// As for [`fill_lagged`]; `forces` are those of the block, (n_own, force stride).
#[inline(always)]
pub(super) unsafe fn work_of_forces<T: Real, const D: usize>(
    tables: &Tables<T>,
    block: &Block,
    arrays: &Arrays<T>,
    forces: *const T,
) -> f64 {
    let mut sum = 0.0;
    for (local, own) in block.pieces() {
        for (i, node) in (local..).zip(own) {
            // SAFETY: the caller's promise.
            unsafe {
                if tables.inertia[node] == T::default() {
                    continue;
                }
                for c in 0..D {
                    let (f, du) = (*forces.add(i * force_stride(D) + c), *arrays.increment.add(node * D + c));
                    sum += f.to_f64() * du.to_f64();
                }
            }
        }
    }
    sum
}

/// Passes Δu_{n+1} of boundary nodes on.
///
/// # Safety
/// As for [`fill_lagged`].
#[inline(always)]
pub(super) unsafe fn pass_increments<T: Real>(tables: &Tables<T>, block: &Block, arrays: &Arrays<T>) {
    let d = tables.dimension;
    for row in block.boundary.clone() {
        let node = node_of(block, usize::from(tables.boundary[row]));
        for c in 0..d {
            // SAFETY: the caller's promise.
            unsafe { *arrays.next_boundary_increment.add(row * d + c) = *arrays.increment.add(node * d + c) };
        }
    }
}

/// Δu of the boundary nodes out of that of own nodes, and room for the part's halo; empty where elements are computed once.
pub(super) fn boundary_increments<T: Real>(tables: &Tables<T>, increment: &[T]) -> Vec<T> {
    let d = tables.dimension;
    if tables.computes_once() || !tables.is_lagged {
        return Vec::new();
    }
    let mut out = Vec::with_capacity((tables.boundary.len() + tables.n_halo) * d);
    for block in &tables.blocks {
        for &local in &tables.boundary[block.boundary.clone()] {
            let node = node_of(block, usize::from(local));
            out.extend_from_slice(&increment[node * d..(node + 1) * d]);
        }
    }
    out.resize(out.len() + tables.n_halo * d, T::default());
    out
}

/// Number in the part of an own node of a block.
fn node_of(block: &Block, mut local: usize) -> usize {
    for own in &block.own {
        if local < own.len() {
            return own.start + local;
        }
        local -= own.len();
    }
    unreachable!("boundary nodes are own nodes")
}
