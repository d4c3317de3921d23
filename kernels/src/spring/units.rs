//! What a stepper moves as one, and how a model is cut into parts of whole units.

use std::ops::Range;

use pogo_formats::domains::SubDomains;
use pogo_formats::system::parallel::iterate::*;

use super::{Addressing, SpringError, SpringProblem};

/// Particles that a thread looks at together.
const CHUNK: usize = 4096;

/// The units of a model: what sub-domains must not divide. On the CPU a grid has a unit a row, and lists have one a
/// block; a device has one a thread block of its step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    /// Unit of each particle, (n,).
    pub of_particle: Vec<u32>,
    /// How many have particles; only these are counted.
    pub n: usize,
}

impl Units {
    /// From a number for each particle, the same for those of a unit.
    pub(crate) fn of(mut of_particle: Vec<u32>) -> Self {
        let mut number = vec![u32::MAX; of_particle.par_iter().max().map_or(0, |&most| most as usize + 1)];
        of_particle.iter().for_each(|&of| number[of as usize] = 0);
        let mut n = 0;
        for number in number.iter_mut().filter(|number| **number == 0) {
            (*number, n) = (n, n + 1);
        }
        of_particle.par_iter_mut().for_each(|of| *of = number[*of as usize]);
        Self { of_particle, n: n as usize }
    }
}

impl SpringProblem<'_> {
    /// The units of an addressing.
    ///
    /// # Errors
    /// An addressing that the model cannot have.
    pub fn units(&self, addressing: Addressing) -> Result<Units, SpringError> {
        let n_particles = self.n_particles();
        let grid = match addressing.choose(self)? {
            Addressing::Implicit => self.mesh.grid,
            _ => None,
        };
        let Some(grid) = grid else {
            let block = self.mesh.lists.block_size.max(1);
            let of_particle = (0..n_particles).map(|particle| (particle / block) as u32).collect();
            return Ok(Units { of_particle, n: n_particles.div_ceil(block) });
        };
        Ok(Units::of(grid.place.par_iter().map(|place| place / grid.size[0].max(1)).collect()))
    }

    /// Calls `visit` with the other end of each spring of a particle that there is or will be; at times more than once.
    fn other_ends(&self, particle: usize, added: &[[u32; 2]], mut visit: impl FnMut(u32)) {
        self.mesh.springs(particle).for_each(|spring| visit(spring.other));
        let first = added.partition_point(|pair| (pair[0] as usize) < particle);
        added[first..].iter().take_while(|pair| pair[0] as usize == particle).for_each(|pair| visit(pair[1]));
    }

    /// Springs that will be added, from both ends, ascending.
    fn added_ends(&self) -> Vec<[u32; 2]> {
        let n = self.n_particles() as u32;
        let there = self.added().filter(|(pair, _)| pair.iter().all(|&end| end < n));
        let mut added: Vec<[u32; 2]> = there.flat_map(|([i, j], _)| [[i, j], [j, i]]).collect();
        added.sort_unstable();
        added
    }

    /// What a step of each unit costs: its particles and the springs of each.
    pub fn cost(&self, units: &Units) -> Vec<i32> {
        let mut cost = vec![0; units.n];
        for (particle, &unit) in units.of_particle.iter().enumerate() {
            cost[unit as usize] += 1 + i32::from(self.mesh.lists.count[particle]);
        }
        cost
    }

    /// Pairs of different units that springs join, each with how many particles of one unit the other one reads. A pair may
    /// come several times, and then its counts add up.
    pub fn joined(&self, units: &Units) -> Vec<((u32, u32), i32)> {
        let (n, added) = (self.n_particles(), self.added_ends());
        let chunks = (0..n.div_ceil(CHUNK)).into_par_iter();
        let pairs = chunks.flat_map_iter(|chunk| {
            let (mut pairs, mut others) = (Vec::new(), Vec::new());
            for particle in chunk * CHUNK..n.min((chunk + 1) * CHUNK) {
                let own = units.of_particle[particle];
                self.other_ends(particle, &added, |other| {
                    let unit = units.of_particle[other as usize];
                    if unit > own && !others.contains(&unit) {
                        others.push(unit);
                    }
                });
                pairs.extend(others.drain(..).map(|unit| (own, unit)));
            }
            pairs.sort_unstable();
            pairs.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as i32)).collect::<Vec<_>>()
        });
        pairs.collect()
    }

    /// The parts of a model that is cut into `n_domains` sub-domains, given that of each unit, (n_units,), and what they
    /// send each other.
    pub fn domains(&self, units: &Units, domain: &[u32], n_domains: usize, method: &str) -> SubDomains {
        let of_particle = |particle: usize| domain[units.of_particle[particle] as usize];
        let mut own = vec![Vec::new(); n_domains];
        let mut first = 0;
        for particle in 1..=self.n_particles() {
            if particle == self.n_particles() || of_particle(particle) != of_particle(first) {
                own[of_particle(first) as usize].push(first as u32..particle as u32);
                first = particle;
            }
        }
        let added = self.added_ends();
        let needed = own.par_iter().zip(0..n_domains as u32).map(|(ranges, reader)| {
            let chunks = ranges.par_iter().flat_map_iter(|range| {
                range.clone().step_by(CHUNK).map(|first| first..range.end.min(first + CHUNK as u32))
            });
            let of_chunk = |chunk: Range<u32>| {
                let mut needed = Vec::new();
                for particle in chunk {
                    self.other_ends(particle as usize, &added, |other| {
                        if of_particle(other as usize) != reader {
                            needed.push(other);
                        }
                    });
                }
                needed.sort_unstable();
                needed.dedup();
                needed
            };
            chunks.flat_map_iter(of_chunk).collect()
        });
        let needed = needed.collect();
        SubDomains::new(method, &own, needed)
    }
}
