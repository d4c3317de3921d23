//! Forces at displacements that are given, beside the steps.

use std::borrow::Cow;

use super::dispatch;
use super::lag;
use super::law::force_stride;
use super::memory;
use super::step::{Aligned, Arrays, Scratch};
use super::tables::Block;
use super::{CpuStepper, boundary_rows, set_rows};
use crate::simd::Real;

/// Pointers that may go to other threads: the blocks' rows are disjoint.
#[derive(Clone, Copy)]
struct Shared<T>(Arrays<T>);

// SAFETY: each block's rows are written by the one thread that has it; see `Arrays`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Real> CpuStepper<T> {
    /// As [`ElementStepper::internal_force`](crate::explicit::ElementStepper::internal_force). Nodes that are copies count
    /// with the displacement of the others, and feel no force. Of a part: displacements of own nodes and halo,
    /// (n_local × dimension,), and the forces on own nodes.
    ///
    /// # Panics
    /// If the displacement has the wrong length.
    pub fn internal_force(&self, displacement: &[f64]) -> Vec<f64> {
        self.force([displacement, &[], &[]])
    }

    /// The same with the lags of an increment and with memory variables, (n_mechanisms × n_local × dimension,), which may be empty.
    pub(super) fn force(&self, [displacement, increment, memory]: [&[f64]; 3]) -> Vec<f64> {
        let (tables, d) = (&self.tables, self.tables.dimension);
        assert_eq!(displacement.len(), self.part.n_local() * d, "displacement has the wrong length");
        let is_lagged = tables.is_lagged && !increment.is_empty();
        assert!(!is_lagged || increment.len() == displacement.len(), "increment has the wrong length");
        let (mut displacement, mut increment) = (Cow::Borrowed(displacement), Cow::Borrowed(increment));
        if !self.copied.is_empty() {
            self.copied.copy(displacement.to_mut(), d);
            if is_lagged {
                self.copied.copy(increment.to_mut(), d);
            }
        }
        let (own, halo) = displacement.split_at(tables.n_nodes * d);
        let mut u = Aligned::new(self.displacement.len());
        u.copy_from_slice(&self.displacement);
        set_rows(tables, &mut u, own);
        let mut boundary_u = boundary_rows(tables, &u);
        let rows_of_halo = match tables.computes_once() {
            true => &mut u[tables.n_nodes * d..],
            false => &mut boundary_u[tables.boundary.len() * d..],
        };
        rows_of_halo.iter_mut().zip(halo).for_each(|(to, &from)| *to = T::from_f64(from));
        let mut du: Vec<T> = Vec::new();
        let mut boundary_du = Vec::new();
        if is_lagged {
            du = increment.iter().map(|&value| T::from_f64(value)).collect();
            boundary_du = lag::boundary_increments(tables, &du);
            if let Some(of_halo) = boundary_du.get_mut(tables.boundary.len() * d..) {
                of_halo.iter_mut().zip(&du[tables.n_nodes * d..]).for_each(|(to, &from)| *to = from);
            }
        }
        let mut z = Vec::new();
        if !memory.is_empty() {
            let n_memories = tables.mechanisms.len() * displacement.len();
            assert!(memory.len() == n_memories && is_lagged, "memory or increment has the wrong length");
            let mut memory = Cow::Borrowed(memory);
            if !self.copied.is_empty() {
                memory.to_mut().chunks_exact_mut(displacement.len()).for_each(|memory| self.copied.copy(memory, d));
            }
            z = memory::rows(tables, &memory);
        }
        let rows = self.block_forces((&mut u, &boundary_u), (&mut du, &boundary_du), &mut z);
        self.of_own_nodes(rows)
    }

    /// Forces on own nodes, N, (n_nodes × dimension,), of the rows of all blocks.
    fn of_own_nodes(&self, mut rows: Aligned<T>) -> Vec<f64> {
        let (tables, d) = (&self.tables, self.tables.dimension);
        let stride = force_stride(d);
        let mut out = vec![0.0; tables.n_nodes * d];
        for block in &tables.blocks {
            for incoming in &tables.incoming[block.incoming.clone()] {
                let (to, from) = (block.first_row + incoming.node as usize, incoming.row as usize);
                for c in 0..d {
                    rows[to * stride + c] = rows[to * stride + c] + rows[from * stride + c];
                }
            }
            for (row, node) in rows[block.first_row * stride..].chunks_exact(stride).zip(block.nodes()) {
                for c in 0..d {
                    out[node * d + c] = row[c].to_f64() * tables.force_unit;
                }
            }
        }
        let own_copies = self.copied.pairs().map(|(_, to)| to).filter(|&to| to < tables.n_nodes);
        own_copies.for_each(|to| out[to * d..(to + 1) * d].fill(0.0));
        out
    }

    /// The forces that each block computes, (n_rows, force stride), at the displacements `u` and, in the plane, those of the
    /// boundary nodes; with the lags of the increments `du` and those of boundary nodes, or without where `du` is empty; with the
    /// memory `z` of all rows, or without where that is empty.
    fn block_forces(
        &self,
        (u, boundary): (&mut Aligned<T>, &[T]),
        (du, boundary_du): (&mut [T], &[T]),
        z: &mut [T],
    ) -> Aligned<T> {
        let (tables, stride) = (&self.tables, force_stride(self.tables.dimension));
        let mut rows = Aligned::new(tables.n_rows * stride);
        let (displacement, increment) = (u.as_mut_ptr(), du.as_mut_ptr());
        let boundary_increment = match (du.is_empty(), tables.computes_once()) {
            (true, _) => std::ptr::null(),
            (false, true) => increment.cast_const(),
            (false, false) => boundary_du.as_ptr(),
        };
        let shared = Shared(Arrays {
            displacement,
            increment,
            forces: rows.as_mut_ptr(),
            boundary: if tables.computes_once() { displacement } else { boundary.as_ptr() },
            boundary_increment,
            memory: if z.is_empty() { std::ptr::null_mut() } else { z.as_mut_ptr() },
            ..Arrays::none()
        });
        let shared = &shared;
        let each = |share: &[Block]| {
            let Shared(arrays) = *shared;
            let mut scratch = Scratch::new(tables);
            for block in share {
                // SAFETY: the arrays have the rows that the tables name, and the block's are its own.
                unsafe {
                    let forces = arrays.forces.add(block.first_row * stride);
                    dispatch::block_forces(self.level, tables, [block; 2], &arrays, &mut scratch.records, forces);
                }
            }
        };
        match &self.pool {
            None => each(&tables.blocks),
            Some(pool) => pool.scope(|scope| {
                for share in tables.blocks.chunks(tables.blocks.len().div_ceil(self.schedule.turns.len()).max(1)) {
                    scope.spawn(move |_| each(share));
                }
            }),
        }
        rows
    }
}
