//! Dashpots between nodes and the ground, as impedance boundaries have them.
//!
//! A node with G, symmetric and positive semidefinite, feels −G v with the centred velocity. Only its own components meet, so
//! that a step solves a small system a node:
//!
//! ```text
//! [(1 + q) I + Ĝ] Δu_{n+1} = [(1 − q) I − Ĝ] Δu_n − Δt²/m (f_int − F),   Ĝ = Δt/2m G
//! ```
//!
//! Like the centred damping of the mass this takes (Δu_n + Δu_{n+1})·G (Δu_n + Δu_{n+1})/4Δt ≥ 0 in each step and leaves the
//! stable increment as it is.

/// A dashpot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dashpot {
    /// Solver index of the node.
    pub node: u32,
    /// G, N s/m; in the plane its leading 2 × 2.
    pub matrix: [[f64; 3]; 3],
}

/// A dashpot that is stepped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DashpotStep {
    matrix: [[f64; 3]; 3],
    /// [(1 + q) I + Ĝ]⁻¹ of the components that are free; 0 of those that are prescribed.
    pub(super) solve: [[f64; 3]; 3],
    /// 1 − q.
    decay: f64,
    /// Δt²/m, s²/kg.
    inertia: f64,
    time_increment: f64,
}

fn product(a: &[[f64; 3]; 3], x: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2])
}

impl DashpotStep {
    /// Of a node with this mass, kg, and damping rate α, 1/s, some of whose components are prescribed.
    pub fn new(dashpot: &Dashpot, (mass, rate): (f64, f64), is_held: [bool; 3], time_increment: f64) -> Self {
        let q = 0.5 * rate * time_increment;
        let half = 0.5 * time_increment / mass;
        let mut system = dashpot.matrix.map(|row| row.map(|value| half * value));
        (0..3).for_each(|i| system[i][i] += 1.0 + q);
        let solve = inverse_of_free(system, is_held);
        let inertia = time_increment * time_increment / mass;
        Self { matrix: dashpot.matrix, solve, decay: 1.0 - q, inertia, time_increment }
    }

    /// Δu_{n+1} from Δu_n, f_int − F (N) and the next increments of prescribed components, 0 of the others.
    #[inline(always)]
    pub fn next(&self, old: [f64; 3], force: [f64; 3], prescribed: [f64; 3]) -> [f64; 3] {
        let half = 0.5 * self.inertia / self.time_increment;
        let taken = product(&self.matrix, [0, 1, 2].map(|i| old[i] + prescribed[i]));
        let right = [0, 1, 2].map(|i| self.decay * old[i] - self.inertia * force[i] - half * taken[i]);
        let free = product(&self.solve, right);
        [0, 1, 2].map(|i| free[i] + prescribed[i])
    }

    /// G v of the velocity between two increments, N.
    #[inline(always)]
    pub fn force(&self, old: [f64; 3], next: [f64; 3]) -> [f64; 3] {
        force(&self.matrix, self.time_increment, old, next)
    }
}

/// G v of the velocity between two increments, N.
#[inline(always)]
pub(super) fn force(matrix: &[[f64; 3]; 3], time_increment: f64, old: [f64; 3], next: [f64; 3]) -> [f64; 3] {
    let scale = 0.5 / time_increment;
    product(matrix, [0, 1, 2].map(|i| scale * (old[i] + next[i])))
}

/// A matrix row by row, as devices have it.
pub(super) fn flat(matrix: [[f64; 3]; 3]) -> [f64; 9] {
    std::array::from_fn(|at| matrix[at / 3][at % 3])
}

/// The inverse of a symmetric positive definite matrix over the components that are free; 0 of those that are prescribed.
pub(super) fn inverse_of_free(mut matrix: [[f64; 3]; 3], is_held: [bool; 3]) -> [[f64; 3]; 3] {
    for i in 0..3 {
        for k in 0..3 {
            if i != k && (is_held[i] || is_held[k]) {
                matrix[i][k] = 0.0;
            }
        }
    }
    let mut out = inverse(&matrix);
    (0..3).filter(|&i| is_held[i]).for_each(|i| out[i] = [0.0; 3]);
    out
}

/// The inverse of a symmetric positive definite matrix, by its cofactors.
fn inverse(a: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |i: usize, k: usize| {
        let ([r, s], [t, u]) = ([(i + 1) % 3, (i + 2) % 3], [(k + 1) % 3, (k + 2) % 3]);
        a[r][t] * a[s][u] - a[r][u] * a[s][t]
    };
    let determinant: f64 = (0..3).map(|k| a[0][k] * minor(0, k)).sum();
    [0, 1, 2].map(|i| [0, 1, 2].map(|k| minor(k, i) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [[f64; 3]; 3] = [[5.0, 1.0, -2.0], [1.0, 3.0, 0.5], [-2.0, 0.5, 4.0]];

    #[test]
    fn the_next_increment_satisfies_the_equation_of_motion() {
        let (mass, rate, dt) = (2.0, 0.7, 0.3);
        let dashpot = Dashpot { node: 0, matrix: MATRIX };
        let (old, force) = ([0.3, -1.0, 0.2], [4.0, 1.0, -3.0]);
        for held in [[false; 3], [false, true, false], [true, false, true]] {
            let prescribed = [0.7, -0.4, 0.1].map(|value| value);
            let prescribed = [0, 1, 2].map(|i| if held[i] { prescribed[i] } else { 0.0 });
            let step = DashpotStep::new(&dashpot, (mass, rate), held, dt);
            let next = step.next(old, force, prescribed);
            let taken = step.force(old, next);
            for i in 0..3 {
                let (a, v) = ((next[i] - old[i]) / (dt * dt), (next[i] + old[i]) / (2.0 * dt));
                let rest = mass * (a + rate * v) + taken[i] + force[i];
                assert!(if held[i] { next[i] == prescribed[i] } else { rest.abs() < 1e-12 }, "{held:?} {i}: {rest}");
            }
        }
    }
}
