//! Sub-domains that are computed apart and exchange what changed, by the precomputed interfaces of the block file (Section 6.3).
//!
//! A sub-domain computes the times of its own nodes out of the elements round them. Where the time of an own node falls, an interface says
//! which node of whose halo that is, and the reader looks at its own neighbours of it. In the *first* approach any thread takes a part of any
//! sub-domain's active nodes, with the times of the sweep before, and then all pairs of sub-domains are gone through. In the *second* a
//! sub-domain stays with one thread, which takes its own new times at once, and sends along its own pairs.
//!
//! Times have the same bits for every number of threads. On a CPU this is for comparison: [`sweep`](super::sweep) is faster.

use std::time::Instant;

use rayon::prelude::*;

use super::number::Real;
use super::problem::{Arrival, EikonalError, Statistics, first_time};
use super::products::Elements;
use pogo_formats::eikonal::{Boundary, EikonalDomainsView, EikonalMeshView};

/// First approach: active nodes that one task takes.
const PART: usize = 64;

/// What the sweeps need to know.
pub(super) struct Exchange<'a, T: Real, E: Elements<T, N>, const N: usize> {
    mesh: &'a EikonalMeshView<'a>,
    nodes: &'a [[u32; N]],
    elements: &'a E,
    domains: EikonalDomainsView<'a>,
    /// 1 − tolerance.
    keep: T,
    first_approach: bool,
}

/// Nodes that have to be looked at, by sub-domain, each once.
struct Active {
    round: u32,
    of: Vec<Vec<u32>>,
    /// Round for which a node was last put there.
    marked: Vec<u32>,
}

impl Active {
    fn add(&mut self, domain: usize, node: u32) {
        if self.marked[node as usize] != self.round {
            self.marked[node as usize] = self.round;
            self.of[domain].push(node);
        }
    }
}

/// What one task found.
struct Found<T> {
    domain: usize,
    /// Nodes whose time fell, once each, and what it is now.
    fell: Vec<(u32, T)>,
    /// Own nodes that have to be looked at next.
    left: Vec<u32>,
    solves: u64,
}

impl<'a, T: Real, E: Elements<T, N>, const N: usize> Exchange<'a, T, E, N> {
    pub fn new(
        mesh: &'a EikonalMeshView<'a>,
        elements: &'a E,
        domains: EikonalDomainsView<'a>,
        tolerance: f64,
        first_approach: bool,
    ) -> Self {
        let nodes = mesh.elements.as_chunks::<N>().0;
        Self { mesh, nodes, elements, domains, keep: T::from_f64(1.0 - tolerance), first_approach }
    }

    /// Solves for the starts.
    pub fn run(&self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        let begin = Instant::now();
        let (n, n_domains) = (self.mesh.n_nodes(), self.domains.n_domains());
        let first = first_time(starts, n)?;
        let mut time = vec![T::INFINITY; n];
        let mut active = Active { round: 1, of: vec![Vec::new(); n_domains], marked: vec![0; n] };
        for &(node, at) in starts {
            let at = T::from_f64(at - first);
            if at < time[node as usize] {
                time[node as usize] = at;
            }
            for &other in self.mesh.neighbours_of(node as usize) {
                active.add(self.domains.owner(other) as usize, other);
            }
        }
        let mut statistics = Statistics { active_sweeps: vec![0; n_domains], ..Default::default() };
        // Round in which a node's time last fell.
        let mut fell = vec![0_u32; n];
        loop {
            let now: Vec<usize> = (0..n_domains).filter(|&domain| !active.of[domain].is_empty()).collect();
            if now.is_empty() {
                break;
            }
            statistics.sweeps += 1;
            statistics.active_domains.push(now.len() as u32);
            now.iter().for_each(|&domain| statistics.active_sweeps[domain] += 1);
            let found: Vec<Found<T>> = if self.first_approach {
                let parts =
                    now.iter().flat_map(|&domain| active.of[domain].chunks(PART).map(move |part| (domain, part)));
                let parts: Vec<(usize, &[u32])> = parts.collect();
                parts.into_par_iter().map(|(domain, part)| self.part(domain, part, &time)).collect()
            } else {
                now.par_iter().map(|&domain| self.whole(domain, &active.of[domain], &time)).collect()
            };
            active.round += 1;
            let round = active.round;
            now.iter().for_each(|&domain| active.of[domain].clear());
            let mut changed = vec![false; n_domains];
            for Found { domain, fell: fallen, left, solves } in found {
                statistics.local_solves += solves;
                statistics.passed_on += fallen.len() as u64;
                left.into_iter().for_each(|node| active.add(domain, node));
                changed[domain] |= !fallen.is_empty();
                for (node, new) in fallen {
                    time[node as usize] = new;
                    fell[node as usize] = round;
                }
            }
            // The second approach takes the pairs of each owner, the first all pairs; nobody but their owners writes times.
            if self.first_approach {
                let boundaries = (0..self.domains.n_pairs()).map(|pair| self.domains.boundary(pair));
                boundaries
                    .filter(|boundary| changed[boundary.owner as usize])
                    .for_each(|boundary| self.tell(boundary, &fell, &mut active));
            } else {
                for domain in (0..n_domains).filter(|&domain| changed[domain]) {
                    self.domains.sent(domain).for_each(|boundary| self.tell(boundary, &fell, &mut active));
                }
            }
        }
        let first = T::from_f64(first);
        time.iter_mut().for_each(|time| *time = *time + first);
        let unreached = time.iter().filter(|&&time| !(time < T::INFINITY)).count();
        statistics.seconds = begin.elapsed().as_secs_f64();
        Ok(Arrival { time, unreached, statistics })
    }

    /// The reader looks at its own neighbours of what fell.
    fn tell(&self, boundary: Boundary, fell: &[u32], active: &mut Active) {
        let (owner, reader) = (boundary.owner as usize, boundary.reader as usize);
        let (own, halo) = (self.domains.own(reader), self.domains.halo_of(reader));
        for &[at, there] in boundary.nodes {
            if fell[self.domains.own(owner).start + at as usize] != active.round {
                continue;
            }
            // Interfaces lead to halo nodes alone.
            let Some(&node) = (there as usize).checked_sub(own.len()).and_then(|place| halo.get(place)) else {
                continue;
            };
            for &other in self.mesh.neighbours_of(node as usize) {
                if own.contains(&(other as usize)) {
                    active.add(reader, other);
                }
            }
        }
    }

    /// First approach: the nodes of a part once, with the times of the sweep before.
    fn part(&self, domain: usize, part: &[u32], time: &[T]) -> Found<T> {
        let own = self.domains.own(domain);
        let mut found = Found { domain, fell: Vec::new(), left: Vec::new(), solves: 0 };
        for &node in part {
            let before = time[node as usize];
            let new = self.compute(node, before, |node| time[node as usize], &mut found.solves);
            if new < before * self.keep {
                self.fell(&mut found, &own, node, new);
            }
        }
        found
    }

    /// Second approach: all active nodes of a sub-domain once, one after the other, with the halo as it is.
    fn whole(&self, domain: usize, active: &[u32], time: &[T]) -> Found<T> {
        let own = self.domains.own(domain);
        let mut mine = time[own.clone()].to_vec();
        let mut found = Found { domain, fell: Vec::new(), left: Vec::new(), solves: 0 };
        for &node in active {
            let local = node as usize - own.start;
            let before = mine[local];
            let at = |node: u32| match (node as usize).checked_sub(own.start).and_then(|local| mine.get(local)) {
                Some(&time) => time,
                None => time[node as usize],
            };
            let new = self.compute(node, before, at, &mut found.solves);
            if new < before * self.keep {
                mine[local] = new;
                self.fell(&mut found, &own, node, new);
            }
        }
        found
    }

    /// A time fell: own neighbours have to be looked at.
    fn fell(&self, found: &mut Found<T>, own: &std::ops::Range<usize>, node: u32, time: T) {
        found.fell.push((node, time));
        let round = self.mesh.neighbours_of(node as usize).iter().copied();
        found.left.extend(round.filter(|&other| own.contains(&(other as usize))));
    }

    /// The least time that the elements round a node give; +∞ where none of their other corners is earlier.
    fn compute(&self, node: u32, before: T, at: impl Fn(u32) -> T, solves: &mut u64) -> T {
        let mut least = T::INFINITY;
        for &entry in self.mesh.round(node as usize) {
            let (element, corner) = ((entry / 4) as usize, (entry % 4) as usize);
            let nodes = &self.nodes[element];
            let times: [T; N] = std::array::from_fn(|k| at(nodes[k]));
            if !(0..N).any(|k| k != corner && times[k] < before) {
                continue;
            }
            let mut phi = [T::default(); 3];
            let others = (0..N).filter(|&k| k != corner);
            phi.iter_mut().zip(others).for_each(|(phi, k)| *phi = times[k]);
            let data = self.elements.data(element, nodes);
            let numbers = match corner {
                0 => E::at::<0>(&data),
                1 => E::at::<1>(&data),
                2 => E::at::<2>(&data),
                _ => E::at::<3>(&data),
            };
            let time = E::solve::<false>(phi, numbers);
            *solves += 1;
            if time < least {
                least = time;
            }
        }
        least
    }
}
