//! Energies, the start of a run, and the bound on the increment: one pass over all springs in double precision.

use std::collections::HashSet;

use pogo_formats::spring::{SpringDamping, SpringGroup};
use pogo_formats::system::parallel::iterate::*;

use super::events::Schedule;
use super::springs::Springs;
use super::{Cause, Change, Energies, SpringError, SpringProblem, State};

/// Particles that one task goes through; sums are taken in the order of the tasks.
const CHUNK: usize = 4096;

/// What springs do to the particles of a chunk.
struct Pull {
    /// Force of all springs on each particle, N.
    forces: Vec<[f64; 3]>,
    /// The dampers' part of it, N.
    drag: Vec<[f64; 3]>,
    /// Half of the elastic energy, J.
    elastic: f64,
}

/// Whether all springs have their rest lengths and no damper works: then they pull nowhere, as at the start of most runs.
fn is_slack(problem: &SpringProblem, state: &State) -> bool {
    let is_slack = |group: &SpringGroup| group.rest_factor == 1.0 && group.damping == 0.0;
    problem.groups.iter().all(is_slack) && state.displacement.par_iter().all(|&u| u == 0.0)
}

/// What the springs do to a chunk; nothing where they are `slack`.
fn pull(problem: &SpringProblem, springs: &Springs, state: &State, slack: bool, chunk: usize) -> Pull {
    let first = chunk * CHUNK;
    let range = first..problem.n_particles().min(first + CHUNK);
    let (mut forces, mut drag) = (vec![[0.0; 3]; range.len()], vec![[0.0; 3]; range.len()]);
    let mut elastic = 0.0;
    if slack {
        return Pull { forces, drag, elastic };
    }
    let (u, du) = (&state.displacement, &state.increment);
    springs.ends(range, |i, j, _, law| {
        let difference = |a: &[f64]| std::array::from_fn(|c| a[3 * j + c] - a[3 * i + c]);
        let rate = difference(du).map(|x: f64| x / problem.time_increment);
        let (force, damper, energy) = law.force(difference(u), rate);
        for c in 0..3 {
            forces[i - first][c] += force[c];
            drag[i - first][c] += damper[c];
        }
        elastic += 0.5 * energy;
    });
    Pull { forces, drag, elastic }
}

/// As [`SpringStepper::energies`](super::SpringStepper::energies). Steppers count work from the middle of a step to the middle of
/// the next; the half step up to t_n is added here.
pub(crate) fn energies(problem: &SpringProblem, springs: &Springs, state: &State, signals: &[f64]) -> Energies {
    let mut total = sums(problem, springs, state, signals);
    total.external_work = state.external_work + 0.5 * total.external_work;
    total.dissipated = state.dissipated + 0.5 * total.dissipated;
    total
}

/// Energies and momentum at t_n; of work and dissipation what the step from t_{n−½} to t_{n+½} adds, 0 unless followed.
fn sums(problem: &SpringProblem, springs: &Springs, state: &State, signals: &[f64]) -> Energies {
    let dt = problem.time_increment;
    let [a, _] = problem.damping_factors();
    let (factor, friction) = (problem.inertia_factor(), problem.friction());
    let (now, next_signals) = signals.split_at(signals.len() / 2);
    let gravity = problem.gravity_at(now);
    let (mut dofs, mut held) = (problem.forces.clone(), problem.constraints.clone());
    dofs.sort_by_key(|force| force.dof);
    held.sort_by_key(|constraint| constraint.dof);
    let (n, slack) = (problem.n_particles(), is_slack(problem, state));
    let chunks: Vec<Energies> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let first = chunk * CHUNK;
            let range = 3 * first..3 * n.min(first + CHUNK);
            let last = range.end as u64;
            let from = dofs.partition_point(|force| force.dof < range.start as u64);
            let dofs = dofs[from..].iter().take_while(|force| force.dof < last);
            let from = held.partition_point(|each| each.dof < range.start as u64);
            let mut held = held[from..].iter().take_while(|each| each.dof < last).peekable();
            let acts = dofs.clone().next().is_some() || held.peek().is_some() || gravity != [0.0; 3];
            if slack && !acts && state.increment[range].iter().all(|&du| du == 0.0) {
                return Energies::default();
            }
            let Pull { forces, drag, elastic } = pull(problem, springs, state, slack, chunk);
            let mut pushes = vec![[0.0; 3]; forces.len()];
            for force in dofs {
                let at = force.dof as usize;
                pushes[at / 3 - first][at % 3] += force.value * now[force.signal as usize];
            }
            let mut sum = Energies { elastic, ..Energies::default() };
            for (at, force) in forces.iter().enumerate() {
                let i = first + at;
                let mass = problem.mass_of(i);
                let inertia = factor / mass;
                for c in 0..3 {
                    let dof = 3 * i + c;
                    let du = state.increment[dof];
                    let free = a * du + inertia * (force[c] + pushes[at][c]) + factor * gravity[c];
                    let next = held.next_if(|each| each.dof == dof as u64).map_or(free, |support| {
                        let signal = support.signal as usize;
                        support.value * (next_signals[signal] - now[signal])
                    });
                    let motion = 0.5 * (du + next);
                    let v = motion / dt;
                    sum.kinetic += 0.5 * mass * v * v;
                    sum.momentum[c] += mass * v;
                    sum.gravity -= mass * gravity[c] * state.displacement[dof];
                    if problem.follow_work {
                        sum.external_work += (pushes[at][c] + (next - free) / inertia) * motion;
                        sum.dissipated += friction.energy(du, next) / inertia - drag[at][c] * motion;
                    }
                }
            }
            sum
        })
        .collect();
    let mut total = Energies { n_springs: springs.len(), ..Energies::default() };
    for each in chunks {
        total.kinetic += each.kinetic;
        total.elastic += each.elastic;
        total.gravity += each.gravity;
        total.external_work += each.external_work;
        total.dissipated += each.dissipated;
        for c in 0..3 {
            total.momentum[c] += each.momentum[c];
        }
    }
    total
}

/// Numbers of a row of sums: kinetic, elastic and gravity's energy, work and dissipation of a step, momentum.
pub(crate) const N_SUMS: usize = 8;

impl Energies {
    /// From rows of sums with a unit of length, m, (n, [`N_SUMS`]), and from external work and dissipated energy so far, J.
    /// Steps count work from the middle of one to the middle of the next; the half step up to t_n is added here.
    pub(crate) fn of_sums(rows: &[f64], unit: f64, [external, dissipated]: [f64; 2], n_springs: u64) -> Self {
        let mut total = [0.0; N_SUMS];
        for row in rows.chunks_exact(N_SUMS) {
            (0..N_SUMS).for_each(|k| total[k] += row[k]);
        }
        let [kinetic, elastic, gravity, work, taken] = [0, 1, 2, 3, 4].map(|k| unit * unit * total[k]);
        Self {
            kinetic,
            elastic,
            gravity,
            external_work: external + 0.5 * work,
            dissipated: dissipated + 0.5 * taken,
            momentum: [5, 6, 7].map(|k| unit * total[k]),
            n_springs,
        }
    }
}

impl SpringProblem<'_> {
    /// The state at n = 0 from displacements and velocities, (n, 3) each, and the signals at −Δt and at 0: Δu_0 is such that the
    /// first step is u_1 = u_0 + Δt v_0 + Δt²/2 a_0, and of fixed and driven components their signal's. What is cut, erased and
    /// added at t = 0, and what breaks then, is among the changes of the state, so that a_0 is that of the springs which are left.
    ///
    /// # Errors
    /// What a stepper refuses.
    ///
    /// # Panics
    /// If there are too few signals.
    pub fn start(
        &self,
        displacement: Vec<f64>,
        velocity: &[f64],
        before: &[f64],
        signals: &[f64],
    ) -> Result<State, SpringError> {
        let dt = self.time_increment;
        // What is zero is not written: most models begin at rest but for some particles, and much memory would be touched.
        let mut increment = vec![0.0; velocity.len()];
        increment.par_iter_mut().zip(velocity).filter(|(_, v)| **v != 0.0).for_each(|(du, v)| *du = dt * v);
        let mut state = State { displacement, increment, ..State::default() };
        let mut springs = Springs::prepare(self, &state)?;
        state.changes = Schedule::new(self, 0).apply(self, &mut springs, 0, &state.displacement, None);
        state.changes.extend(self.break_at_start(&mut springs, &state));
        let drive = |increment: &mut [f64]| {
            for held in &self.constraints {
                let signal = held.signal as usize;
                increment[held.dof as usize] = held.value * (signals[signal] - before[signal]);
            }
        };
        // Dampers feel how fast supports move.
        drive(&mut state.increment);
        let gravity = self.gravity_at(signals);
        let rate = match self.damping {
            SpringDamping::Lambda(lambda) => lambda / dt,
            SpringDamping::Alpha(alpha) => alpha,
        };
        let slack = is_slack(self, &state);
        let mut acceleration = vec![[0.0; 3]; self.n_particles()];
        let chunks = acceleration.par_chunks_mut(CHUNK).enumerate();
        chunks.filter(|_| !slack || gravity != [0.0; 3]).for_each(|(chunk, acceleration)| {
            let forces = pull(self, &springs, &state, slack, chunk).forces;
            for (at, (to, force)) in acceleration.iter_mut().zip(forces).enumerate() {
                let mass = self.mass_of(chunk * CHUNK + at);
                *to = std::array::from_fn(|c| force[c] / mass + gravity[c]);
            }
        });
        let acceleration = acceleration.as_flattened_mut();
        for force in &self.forces {
            let dof = force.dof as usize;
            acceleration[dof] += force.value * signals[force.signal as usize] / self.mass_of(dof / 3);
        }
        state.increment.par_iter_mut().zip(&*acceleration).zip(velocity).for_each(|((du, a), v)| {
            let change = 0.5 * dt * dt * (a - rate * v);
            if change != 0.0 {
                *du -= change;
            }
        });
        drive(&mut state.increment);
        // What the first step will count of the time before t = 0, in which supports move as after it.
        let after: Vec<f64> = signals.iter().zip(before).map(|(now, before)| 2.0 * now - before).collect();
        if self.follow_work {
            let first = sums(self, &springs, &state, &[signals, &after].concat());
            (state.external_work, state.dissipated) = (-0.5 * first.external_work, -0.5 * first.dissipated);
        }
        Ok(state)
    }

    /// Breaks the springs that are stretched too far at the start; those that have just been added are left to the first step.
    fn break_at_start(&self, springs: &mut Springs, state: &State) -> Vec<Change> {
        let u = &state.displacement;
        let added: HashSet<[u32; 2]> = state.changes.iter().map(|change| change.particles).collect();
        let n = self.n_particles();
        if !self.may_break() {
            return Vec::new();
        }
        let of_chunk = |chunk: usize| {
            let mut broken = Vec::new();
            springs.ends(chunk * CHUNK..n.min((chunk + 1) * CHUNK), |i, j, _, law| {
                let e = std::array::from_fn(|c| u[3 * j + c] - u[3 * i + c]);
                let pair = [i as u32, j as u32];
                if i < j && 1.0 + law.strain_measure(e) > law.limit && !added.contains(&pair) {
                    broken.push(pair);
                }
            });
            broken
        };
        let mut broken: Vec<[u32; 2]> = (0..n.div_ceil(CHUNK)).into_par_iter().flat_map_iter(of_chunk).collect();
        broken.sort_unstable();
        broken.retain(|&pair| springs.erase(pair));
        broken.into_iter().map(|particles| Change { step: 0, particles, cause: Cause::Broken }).collect()
    }
}

/// A bound on the stable increment for small strains: Δt ≤ (√(γ² + 4ω²) − γ) / ω², where ω² and γ bound the eigenvalues of M⁻¹K
/// and M⁻¹C by Gershgorin's circles in blocks of 3 × 3 (the dampers act with the velocity of the step before). Infinite without
/// springs. The mass and the springs of `problem` count, its increment does not.
///
/// # Errors
/// What a stepper refuses of the mesh.
pub fn stable_increment(problem: &SpringProblem) -> Result<f64, SpringError> {
    let springs = Springs::new(problem)?;
    let n = problem.n_particles();
    // ω² m and γ m of a particle.
    let bounds = |i: usize| {
        let mut rows = [[0.0; 7]; 2];
        springs.ends(i..i + 1, |_, _, _, law| {
            let square: f64 = law.rest.iter().map(|d| d * d).sum();
            // Across the spring a stretched one has k (1 − L/l).
            let across = law.stiffness * (1.0 - (law.length_squared / square).sqrt()).abs();
            for (row, [along, across]) in rows.iter_mut().zip([[law.stiffness, across], [law.damping, 0.0]]) {
                for (entry, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)].into_iter().enumerate() {
                    row[entry] += (along - across) * law.rest[a] * law.rest[b] / square + f64::from(a == b) * across;
                }
                row[6] += along.max(across);
            }
        });
        rows.map(|row| largest_eigenvalue(&row) + row[6])
    };
    // In a lattice of one material particles with the same mask are alike.
    let masks = if problem.groups.len() == 3 { problem.mesh.lists.mask } else { &[] };
    let [stiffest, most_damped] = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut last: Option<(u32, [f64; 2])> = None;
            (chunk * CHUNK..n.min((chunk + 1) * CHUNK)).fold([0.0f64; 2], |most, i| {
                let here = match (last, masks.get(i)) {
                    (Some((mask, bounds)), Some(&same)) if mask == same => bounds,
                    _ => bounds(i),
                };
                last = masks.get(i).map(|&mask| (mask, here));
                let mass = problem.mass_of(i);
                std::array::from_fn(|k| most[k].max(here[k] / mass))
            })
        })
        .reduce(|| [0.0; 2], |a, b| [a[0].max(b[0]), a[1].max(b[1])]);
    // The same with the difference of square roots turned into a sum.
    Ok(4.0 / ((most_damped * most_damped + 4.0 * stiffest).sqrt() + most_damped))
}

/// A bound, sharp to rounding, on the largest eigenvalue of a positive semi-definite matrix xx, yy, zz, xy, yz, zx.
fn largest_eigenvalue(m: &[f64; 7]) -> f64 {
    let mean = (m[0] + m[1] + m[2]) / 3.0;
    let [a, b, c] = [m[0] - mean, m[1] - mean, m[2] - mean];
    let off = m[3] * m[3] + m[4] * m[4] + m[5] * m[5];
    let p = ((a * a + b * b + c * c + 2.0 * off) / 6.0).sqrt();
    if p <= 1e-14 * mean {
        return mean;
    }
    let determinant = a * (b * c - m[4] * m[4]) - m[3] * (m[3] * c - m[4] * m[5]) + m[5] * (m[3] * m[4] - b * m[5]);
    let angle = (0.5 * determinant / (p * p * p)).clamp(-1.0, 1.0).acos() / 3.0;
    mean + 2.0 * p * angle.cos()
}
