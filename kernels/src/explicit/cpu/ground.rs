//! Dashpots at nodes of a block.

use super::law::force_stride;
use super::step::{Arrays, Signals};
use super::tables::{Dof, Support, Tables};
use crate::explicit::dashpot::DashpotStep;
use crate::simd::Real;

/// A dashpot at a node of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeDashpot {
    /// Local index of the node.
    pub local: usize,
    /// Number of the node in the part.
    pub node: usize,
    pub step: DashpotStep,
    /// The node is one of a fluid that a solid moves: what flows in through the solid comes first.
    pub is_wet: bool,
    /// The support of each component that has one.
    pub supports: [Option<Support>; 3],
}

impl NodeDashpot {
    /// The supports of a node among those of its block.
    pub fn supports(node: usize, supports: &[Support]) -> [Option<Support>; 3] {
        let at = |component: usize| {
            let is_it = |dof: &Dof| dof.node == node && dof.component == component;
            supports.iter().find(|support| is_it(&support.dof)).copied()
        };
        [0, 1, 2].map(at)
    }

    /// Adds the dashpot's force of this step to that of its node, (n_local, force stride), which holds f_int − F. Returns
    /// the energy that it takes, J.
    ///
    /// # Safety
    /// The pointers must hold the rows of the node.
    #[inline(always)]
    pub unsafe fn act<T: Real, const D: usize>(
        &self,
        tables: &Tables<T>,
        arrays: &Arrays<T>,
        signals: Signals,
        forces: *mut T,
    ) -> f64 {
        let mut prescribed = [0.0; 3];
        for (increment, support) in prescribed.iter_mut().zip(&self.supports) {
            if let Some(Support { value, signal, .. }) = *support {
                *increment = value * (signals.next[signal] - signals.now[signal]);
            }
        }
        let (mut old, mut net) = ([0.0; 3], [0.0; 3]);
        // SAFETY: the caller's promise.
        unsafe {
            let (du, f) = (arrays.increment.add(self.node * D), forces.add(self.local * force_stride(D)));
            for c in 0..D {
                old[c] = (*du.add(c)).to_f64();
                net[c] = (*f.add(c)).to_f64() * tables.force_unit;
            }
            let next = self.step.next(old, net, prescribed);
            let force = self.step.force(old, next);
            let mut taken = 0.0;
            for c in 0..D {
                *f.add(c) = *f.add(c) + T::from_f64(force[c] / tables.force_unit);
                taken += 0.5 * force[c] * (old[c] + next[c]);
            }
            taken
        }
    }
}
