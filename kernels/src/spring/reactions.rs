//! Reaction forces: what supports exert on fixed and driven components, from recorded motion.

use super::springs::Springs;
use super::{Change, SpringError, SpringProblem};
use crate::dynamics::NodalForce;

/// Reaction forces at some fixed or driven components,
///
/// ```text
/// RF_n = m (Δu_{n+1} − A Δu_n) / B Δt² − Σ_j f_ij − F(t_n) − m g(t_n)
/// ```
///
/// in double precision from motion that a stepper has recorded: the force of the support on the particle.
#[derive(Debug, Clone)]
pub struct Reactions<'a> {
    problem: SpringProblem<'a>,
    /// Those that are there at the step that was asked for last.
    springs: Springs<'a>,
    dofs: Vec<u64>,
    /// Forces on these components, which their supports take.
    forces: Vec<NodalForce>,
    changes: Vec<Change>,
    /// How many of `changes` the springs have.
    n_made: usize,
}

impl<'a> Reactions<'a> {
    /// Reactions at `dofs` (increasing), on which `forces` act beside those of the problem.
    ///
    /// # Errors
    /// Entries or groups of the mesh out of range.
    pub fn new(problem: SpringProblem<'a>, dofs: Vec<u64>, forces: Vec<NodalForce>) -> Result<Self, SpringError> {
        let springs = Springs::new(&problem)?;
        Ok(Self { problem, springs, dofs, forces, changes: Vec::new(), n_made: 0 })
    }

    /// Degrees of freedom at which reactions are computed, increasing.
    pub fn dofs(&self) -> &[u64] {
        &self.dofs
    }

    /// Degrees of freedom whose motion is needed, increasing: of the particles, and of all to which a spring leads or will lead.
    pub fn monitors(&self) -> Vec<u64> {
        let particles: Vec<u32> = self.dofs.iter().map(|dof| (dof / 3) as u32).collect();
        let mut all = particles.clone();
        for &particle in &particles {
            all.extend(self.problem.mesh.springs(particle as usize).map(|spring| spring.other));
        }
        for &[i, j] in self.problem.additions.iter().flat_map(|addition| &addition.springs) {
            if [i, j].iter().any(|end| particles.binary_search(end).is_ok()) {
                all.extend([i, j]);
            }
        }
        all.sort_unstable();
        all.dedup();
        all.into_iter().flat_map(|particle| (0..3).map(move |c| 3 * u64::from(particle) + c)).collect()
    }

    /// Learns all changes of a stepper so far.
    pub fn learn(&mut self, changes: &[Change]) {
        self.changes.extend_from_slice(&changes[self.changes.len().min(changes.len())..]);
    }

    /// Reactions at step n, N, one a component, given u_n, Δu_n and Δu_{n+1} by degree of freedom and the signals at t_n. Steps
    /// must not go back.
    pub fn at(&mut self, step: u64, signals: &[f64], motion: impl Fn(u64) -> [f64; 3], reactions: &mut Vec<f64>) {
        let due = self.n_made + self.changes[self.n_made..].partition_point(|change| change.step <= step);
        self.springs.replay(&self.problem, &self.changes[self.n_made..due], |_, _| ());
        self.n_made = due;
        let dt = self.problem.time_increment;
        let [a, b] = self.problem.damping_factors();
        let gravity = self.problem.gravity_at(signals);
        let mut last = None;
        reactions.clear();
        for &dof in &self.dofs {
            let (i, c) = ((dof / 3) as usize, (dof % 3) as usize);
            let force = match last {
                Some((particle, force)) if particle == i => force,
                _ => {
                    let mut sum = [0.0; 3];
                    let of = |particle: usize, c: usize| motion(3 * particle as u64 + c as u64);
                    self.springs.ends(i..i + 1, |_, j, _, law| {
                        let both: [[[f64; 3]; 2]; 3] = std::array::from_fn(|c| [of(i, c), of(j, c)]);
                        let e = both.map(|[from, to]| to[0] - from[0]);
                        let (force, _, _) = law.force(e, both.map(|[from, to]| (to[1] - from[1]) / dt));
                        (0..3).for_each(|c| sum[c] += force[c]);
                    });
                    last = Some((i, sum));
                    sum
                }
            };
            let [_, before, after] = motion(dof);
            let mass = self.problem.mass_of(i);
            reactions.push(mass * ((after - a * before) / (b * dt * dt) - gravity[c]) - force[c]);
        }
        for force in self.forces.iter().chain(&self.problem.forces) {
            if let Ok(row) = self.dofs.binary_search(&force.dof) {
                reactions[row] -= force.value * signals[force.signal as usize];
            }
        }
    }
}
