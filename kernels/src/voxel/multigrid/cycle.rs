//! The cycle through the coarse levels.

use super::hierarchy::Coarse;
use super::level::Vectors;
use super::settings::CycleKind;
use crate::simd::Real;
use crate::voxel::problem::Stiffness;
use crate::voxel::share::Share;

/// Steps of conjugate gradients on a last level that is not factorised. They need no bound on the spectrum.
const BOTTOM_STEPS: usize = 20;

impl<T: Real> Coarse<T> {
    /// x += P (solution of the coarse levels for the residual r), x and r of the finest level.
    ///
    /// The coarse levels work in the memory of r and in `further`, as long as
    /// [`Host`](super::hierarchy::Host) was told.
    pub fn correct(&mut self, r: &mut [T], x: &mut [T], further: [&mut [T]; 2], stiffness: &Stiffness) {
        self.levels[0].restrict(r);
        let [second, third] = further;
        let mut memory = [r, second, third];
        self.levels.iter_mut().for_each(|level| level.lend(&mut memory));
        let mut products = 0.0;
        self.solve(0, self.settings.kind, stiffness, &mut products);
        self.products += products;
        self.levels[0].prolong(x);
        self.levels.iter_mut().for_each(|level| level.take_back());
    }

    /// x of a level for its b, roughly.
    fn solve(&mut self, level: usize, kind: CycleKind, stiffness: &Stiffness, products: &mut f64) {
        if level + 1 == self.levels.len() {
            let here = &mut self.levels[level];
            let Some(factor) = &self.bottom else {
                return here.jacobi(self.settings.bottom_steps.unwrap_or(BOTTOM_STEPS), stiffness, products);
            };
            *products += here.cost;
            return factor.solve(&here.vectors.b, &mut here.vectors.x);
        }
        let second = match kind {
            CycleKind::K => return self.conjugate(level, stiffness, products),
            CycleKind::V => None,
            CycleKind::W => Some(CycleKind::W),
            CycleKind::F => Some(CycleKind::V),
        };
        self.cycle(level, kind, stiffness, products);
        let here = &mut self.levels[level];
        let Some(second) = second else {
            std::mem::swap(&mut here.vectors.x, &mut here.vectors.z);
            return;
        };
        here.multiply_z(stiffness, products);
        let Vectors { b, x, z, product, .. } = &mut here.vectors;
        let share = &here.share;
        share.copy(x, z);
        share.for_parts(b, |first, b| b.iter_mut().zip(&product[first..]).for_each(|(b, &y)| *b = *b - y));
        self.cycle(level, second, stiffness, products);
        let here = &mut self.levels[level];
        here.share.add(&mut here.vectors.x, &here.vectors.z);
    }

    /// x of a level by flexible conjugate gradients, as the cycle is not quite the same operator every time.
    fn conjugate(&mut self, level: usize, stiffness: &Stiffness, products: &mut f64) {
        let steps = *self.settings.inner.get(level).or(self.settings.inner.last()).unwrap_or(&1);
        if steps <= 1 {
            self.cycle(level, CycleKind::K, stiffness, products);
            let Vectors { x, z, .. } = &mut self.levels[level].vectors;
            std::mem::swap(x, z);
            return;
        }
        let here = &self.levels[level];
        let start = here.share.dot(&here.vectors.b, &here.vectors.b);
        let (mut before, mut alpha) = (0.0, 0.0);
        for step in 0..steps {
            self.cycle(level, CycleKind::K, stiffness, products);
            let here = &mut self.levels[level];
            let (share, Vectors { b, x, z, p, q, .. }) = (&here.share, &mut here.vectors);
            // ρ = z · r, β = −α z · q / ρ of the step before, p ← z + β p
            let rho = share.dot(z, b);
            if !(rho > 0.0) {
                if step == 0 {
                    share.copy(x, z);
                }
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { -alpha * share.dot(z, q) / before });
            combine(share, p, z, (step > 0).then_some(beta));
            here.multiply_p(stiffness, products);
            // α = ρ / p · q; p · r = z · r, for r is orthogonal to the direction before.
            let (share, Vectors { b, x, z, p, q, .. }) = (&here.share, &mut here.vectors);
            let curvature = share.dot(p, q);
            if !(curvature > 0.0) {
                if step == 0 {
                    share.copy(x, z);
                }
                break;
            }
            alpha = rho / curvature;
            before = rho;
            // x ← x + α p, r ← r − α q
            let a = T::from_f64(alpha);
            share.for_parts(x, |first, x| {
                let p = &p[first..first + x.len()];
                for i in 0..x.len() {
                    x[i] = if step == 0 { a * p[i] } else { x[i] + a * p[i] };
                }
            });
            if step + 1 == steps {
                break;
            }
            share.for_parts(b, |first, r| {
                let q = &q[first..first + r.len()];
                for i in 0..r.len() {
                    r[i] = r[i] - a * q[i];
                }
            });
            if share.dot(b, b) <= self.settings.inner_tolerance.powi(2) * start {
                break;
            }
        }
    }

    /// z of a level: one cycle on A z = b.
    fn cycle(&mut self, level: usize, kind: CycleKind, stiffness: &Stiffness, products: &mut f64) {
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        let here = &mut upper[level];
        here.smooth(&self.smoother, true, stiffness, products);
        here.multiply_z(stiffness, products);
        let Vectors { b, product, .. } = &mut here.vectors;
        here.share.for_parts(product, |first, t| t.iter_mut().zip(&b[first..]).for_each(|(t, &b)| *t = b - *t));
        lower[0].restrict(&mut here.vectors.product);
        self.solve(level + 1, kind, stiffness, products);
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        let here = &mut upper[level];
        lower[0].prolong(&mut here.vectors.z);
        here.smooth(&self.smoother, false, stiffness, products);
    }
}

/// p ← z + β p, or z.
fn combine<T: Real>(share: &Share, p: &mut [T], z: &[T], beta: Option<T>) {
    share.for_parts(p, |first, p| {
        let z = &z[first..first + p.len()];
        for i in 0..p.len() {
            p[i] = beta.map_or(z[i], |beta| z[i] + beta * p[i]);
        }
    });
}
