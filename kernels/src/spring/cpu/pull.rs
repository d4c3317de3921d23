//! The force of a spring on several particles at once: `law` in lanes.

use crate::simd::{Lanes, Real};
use crate::spring::law::Constants;

impl<V: Lanes> Constants<V> {
    /// The same spring in all lanes.
    #[inline(always)]
    pub fn splat(constants: &Constants<V::Scalar>) -> Self {
        Self {
            rest: [V::splat(constants.rest[0]), V::splat(constants.rest[1]), V::splat(constants.rest[2])],
            inverse: V::splat(constants.inverse),
            offset: V::splat(constants.offset),
            stiffness: V::splat(constants.stiffness),
            damping: V::splat(constants.damping),
            limit: V::splat(constants.limit),
        }
    }

    /// Of the class of each lane; there must be as many as lanes. A class has one number in place of the rest vector.
    #[inline(always)]
    pub fn gather(classes: &[Constants<V::Scalar>], of: &[u16]) -> Self {
        let mut columns = [[V::Scalar::default(); 16]; 5];
        for (lane, &of) in of[..V::N].iter().enumerate() {
            let each = &classes[usize::from(of)];
            let numbers = [each.rest[0], each.offset, each.stiffness, each.damping, each.limit];
            for (column, number) in columns.iter_mut().zip(numbers) {
                column[lane] = number;
            }
        }
        // SAFETY: a column has more numbers than any lanes.
        let [axial, offset, stiffness, damping, limit] = columns.map(|column| unsafe { V::load(column.as_ptr()) });
        let zero = V::splat(V::Scalar::default());
        Self { rest: [axial, zero, zero], inverse: zero, offset, stiffness, damping, limit }
    }

    /// A spring a lane; there are at least as many as lanes.
    #[inline(always)]
    pub fn of_lanes(constants: &[Constants<V::Scalar>; 16]) -> Self {
        let mut columns = [[V::Scalar::default(); 16]; 8];
        for lane in 0..V::N {
            let each = &constants[lane];
            let [x, y, z] = each.rest;
            let numbers = [x, y, z, each.inverse, each.offset, each.stiffness, each.damping, each.limit];
            for (column, number) in columns.iter_mut().zip(numbers) {
                column[lane] = number;
            }
        }
        // SAFETY: a column has more numbers than any lanes.
        unsafe {
            Self {
                rest: [V::load(columns[0].as_ptr()), V::load(columns[1].as_ptr()), V::load(columns[2].as_ptr())],
                inverse: V::load(columns[3].as_ptr()),
                offset: V::load(columns[4].as_ptr()),
                stiffness: V::load(columns[5].as_ptr()),
                damping: V::load(columns[6].as_ptr()),
                limit: V::load(columns[7].as_ptr()),
            }
        }
    }
}

/// A spring at the displacements of its ends.
#[derive(Clone, Copy)]
pub(super) struct Stretched<V> {
    /// Vector between the ends, d + e.
    pub along: [V; 3],
    /// Square of the stretch, l² / L².
    pub w: V,
    /// k ε / (w + √w).
    pub pull: V,
}

impl<V: Lanes> Stretched<V> {
    /// With e = u_j − u_i.
    #[inline(always)]
    pub fn new(e: [V; 3], rule: &Constants<V>) -> Self {
        let twice = |d: V| d + d;
        let q = (e[0] + twice(rule.rest[0])) * e[0]
            + (e[1] + twice(rule.rest[1])) * e[1]
            + (e[2] + twice(rule.rest[2])) * e[2];
        let measure = q * rule.inverse + rule.offset;
        let w = V::splat(V::Scalar::from_f64(1.0)) + measure;
        let pull = rule.stiffness * (measure / (w + w.sqrt()));
        Self { along: [rule.rest[0] + e[0], rule.rest[1] + e[1], rule.rest[2] + e[2]], w, pull }
    }

    /// c (Δe · D) / l² Δt, with Δe = Δu_j − Δu_i.
    #[inline(always)]
    pub fn drag(&self, rate: [V; 3], rule: &Constants<V>) -> V {
        let closing = rate[0] * self.along[0] + rate[1] * self.along[1] + rate[2] * self.along[2];
        closing * rule.damping / self.w
    }

    /// sum + strength × D.
    #[inline(always)]
    pub fn add(&self, strength: V, sum: [V; 3]) -> [V; 3] {
        [sum[0] + strength * self.along[0], sum[1] + strength * self.along[1], sum[2] + strength * self.along[2]]
    }
}

/// a − b.
#[inline(always)]
pub(super) fn difference<V: Lanes>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
