//! Sub-domains on a CPU.
//!
//! A sub-domain keeps the times of its own nodes and of its halo. It computes the times of its own nodes out of the
//! elements round them. Where the time of an own node falls, the owner sends it to the sub-domains that read the node;
//! these look at their own neighbours of it in the next sweep. Times have the same bits for every number of threads.

use std::ops::Range;
use std::time::Instant;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;
use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use crate::device::{append, read};
use crate::eikonal::problem::first_time;
use crate::eikonal::products::{Elements, StoredElements};
use crate::eikonal::{Arrival, EikonalError, EikonalProblem, EikonalSettings, Statistics, check};
use crate::exchange::{Exchange, Receivers};
use crate::simd::{Portable, Real};

/// How threads share the sub-domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approach {
    /// Threads share the active nodes of all sub-domains. A sweep uses the times of the sweep before.
    First,
    /// A sub-domain stays with one thread, which uses its own new times at once.
    Second,
}

/// A mesh in sub-domains that is ready to be solved for one or many sets of starts.
pub struct SubDomainSolver<'a, T: Real> {
    mesh: EikonalMeshView<'a>,
    domains: SubDomainsView<'a>,
    stored: StoredElements<T>,
    tolerance: f64,
    approach: Approach,
}

impl<'a, T: Real> SubDomainSolver<'a, T> {
    /// Computes what is stored of the elements.
    ///
    /// # Errors
    /// As for [`EikonalSolver::new`](crate::eikonal::EikonalSolver::new); a problem without sub-domains.
    pub fn new(
        problem: &EikonalProblem<'a>,
        settings: &EikonalSettings,
        approach: Approach,
    ) -> Result<Self, EikonalError> {
        check(problem)?;
        let domains = problem.domains.ok_or(EikonalError::Length { what: "sub-domains", found: 0, expected: 1 })?;
        let stored = StoredElements::new(problem, settings.local_solver);
        Ok(Self { mesh: problem.mesh.clone(), domains, stored, tolerance: settings.tolerance, approach })
    }

    /// Solves for one set of starts: nodes with their times.
    ///
    /// # Errors
    /// No start, a start at no node or at no time.
    pub fn solve(&self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        match &self.stored {
            StoredElements::Six(elements) => Domains::<_, _, 4>::new(self, elements).run(starts),
            StoredElements::Eighteen(elements) => Domains::<_, _, 4>::new(self, elements).run(starts),
            StoredElements::OnTheFly(elements) => Domains::<_, _, 4>::new(self, elements).run(starts),
            StoredElements::Three(elements) => Domains::<_, _, 3>::new(self, elements).run(starts),
        }
    }
}

/// First approach: active nodes that one task takes.
const NODES_OF_TASK: usize = 64;

/// A mesh cut into sub-domains, with what is stored of its elements.
struct Domains<'a, T: Real, E: Elements<T, N>, const N: usize> {
    mesh: &'a EikonalMeshView<'a>,
    nodes: &'a [[u32; N]],
    elements: &'a E,
    domains: SubDomainsView<'a>,
    /// A time counts as fallen below this factor of the old one: 1 − tolerance.
    keep: T,
    approach: Approach,
    exchange: Exchange,
}

/// The state of one sub-domain. Local numbers: own nodes, then the halo.
struct Part<T> {
    own: Range<usize>,
    /// Times of own nodes and halo nodes.
    time: Vec<T>,
    /// Sweep in which the time of each own node last fell.
    fell_in: Vec<u32>,
    /// Own nodes of the mesh to look at in the next sweep, each once.
    active: Vec<u32>,
    /// Sweep after which each own node was last put there.
    marked: Vec<u32>,
}

impl<T> Part<T> {
    /// Puts an own node on the list for the sweep after `sweep`.
    fn activate(&mut self, sweep: u32, node: u32) {
        let local = node as usize - self.own.start;
        if self.marked[local] != sweep {
            self.marked[local] = sweep;
            self.active.push(node);
        }
    }

    /// Puts the own nodes among some on that list.
    fn activate_own(&mut self, sweep: u32, nodes: &[u32]) {
        for &node in nodes {
            if self.own.contains(&(node as usize)) {
                self.activate(sweep, node);
            }
        }
    }
}

/// What one task of a sweep found.
struct Found<T> {
    domain: usize,
    /// Own nodes whose time fell, once each, and what it is now.
    fell: Vec<(u32, T)>,
    solves: u64,
}

impl<'a, T: Real, E: Elements<T, N>, const N: usize> Domains<'a, T, E, N> {
    fn new(solver: &'a SubDomainSolver<'a, T>, elements: &'a E) -> Self {
        let SubDomainSolver { mesh, domains, tolerance, approach, .. } = solver;
        Self {
            mesh,
            nodes: mesh.elements.as_chunks::<N>().0,
            elements,
            domains: *domains,
            keep: T::from_f64(1.0 - tolerance),
            approach: *approach,
            exchange: Exchange::of(domains),
        }
    }

    /// Solves for the starts.
    fn run(&self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        let begin = Instant::now();
        let first = first_time(starts, self.mesh.n_nodes())?;
        let n_domains = self.domains.n_domains();
        let mut parts: Vec<Part<T>> = (0..n_domains).map(|domain| self.start(domain, starts, first)).collect();
        let mut statistics = Statistics { active_sweeps: vec![0; n_domains], ..Default::default() };
        loop {
            let active: Vec<usize> = (0..n_domains).filter(|&domain| !parts[domain].active.is_empty()).collect();
            if active.is_empty() {
                break;
            }
            statistics.sweeps += 1;
            let sweep = statistics.sweeps;
            statistics.active_domains.push(active.len() as u32);
            active.iter().for_each(|&domain| statistics.active_sweeps[domain] += 1);
            let found = self.sweep(&parts, &active);
            active.iter().for_each(|&domain| parts[domain].active.clear());
            for Found { domain, fell, solves } in found {
                statistics.local_solves += solves;
                statistics.passed_on += fell.len() as u64;
                let part = &mut parts[domain];
                for (node, time) in fell {
                    let local = node as usize - part.own.start;
                    (part.time[local], part.fell_in[local]) = (time, sweep);
                    part.activate_own(sweep, self.mesh.neighbours_of(node as usize));
                }
            }
            parallel::for_each(parts.len(), &|domain| self.send(domain, &parts[domain], sweep));
            self.exchange.deliver(Receivers::Readers);
            parts.par_iter_mut().enumerate().for_each(|(domain, part)| self.receive(domain, part, sweep));
        }
        let first = T::from_f64(first);
        let time: Vec<T> =
            parts.iter().flat_map(|part| part.time[..part.own.len()].iter().map(|&time| time + first)).collect();
        let unreached = time.iter().filter(|&&time| !(time < T::INFINITY)).count();
        statistics.seconds = begin.elapsed().as_secs_f64();
        Ok(Arrival { time, unreached, statistics })
    }

    /// A sub-domain before the first sweep. Times count from the first start.
    fn start(&self, domain: usize, starts: &[(u32, f64)], first: f64) -> Part<T> {
        let own = self.domains.span(domain);
        let n_own = own.len();
        let mut part = Part {
            time: vec![T::INFINITY; n_own + self.domains.halo_of(domain).len()],
            fell_in: vec![0; n_own],
            active: Vec::new(),
            marked: vec![u32::MAX; n_own],
            own,
        };
        for &(node, time) in starts {
            let time = T::from_f64(time - first);
            if let Some(local) = self.local(domain, node)
                && time < part.time[local]
            {
                part.time[local] = time;
            }
            part.activate_own(0, self.mesh.neighbours_of(node as usize));
        }
        part
    }

    /// Local number of a node of the mesh, if the sub-domain has it.
    #[inline(always)]
    fn local(&self, domain: usize, node: u32) -> Option<usize> {
        let own = self.domains.span(domain);
        if own.contains(&(node as usize)) {
            return Some(node as usize - own.start);
        }
        self.domains.halo_of(domain).binary_search(&node).ok().map(|place| own.len() + place)
    }

    /// Computes the active nodes of all sub-domains once.
    fn sweep(&self, parts: &[Part<T>], active: &[usize]) -> Vec<Found<T>> {
        if self.approach == Approach::Second {
            return parallel::map(active.len(), &|at| self.in_turn(active[at], &parts[active[at]]));
        }
        let tasks = active.iter().flat_map(|&domain| {
            let part = &parts[domain];
            part.active.chunks(NODES_OF_TASK).map(move |nodes| (domain, part, nodes))
        });
        let tasks: Vec<(usize, &Part<T>, &[u32])> = tasks.collect();
        parallel::map(tasks.len(), &|at| {
            let (domain, part, nodes) = tasks[at];
            self.at_once(domain, part, nodes)
        })
    }

    /// First approach: some active nodes, with the times of the sweep before.
    fn at_once(&self, domain: usize, part: &Part<T>, nodes: &[u32]) -> Found<T> {
        let mut found = Found { domain, fell: Vec::new(), solves: 0 };
        for &node in nodes {
            let before = part.time[node as usize - part.own.start];
            let new = self.compute(domain, node, &part.time, &mut found.solves);
            if new < before * self.keep {
                found.fell.push((node, new));
            }
        }
        found
    }

    /// Second approach: all active nodes of a sub-domain one after the other, with the halo of the sweep before.
    fn in_turn(&self, domain: usize, part: &Part<T>) -> Found<T> {
        let mut time = part.time.clone();
        let mut found = Found { domain, fell: Vec::new(), solves: 0 };
        for &node in &part.active {
            let local = node as usize - part.own.start;
            let new = self.compute(domain, node, &time, &mut found.solves);
            if new < time[local] * self.keep {
                time[local] = new;
                found.fell.push((node, new));
            }
        }
        found
    }

    /// The least time that the elements round an own node give; +∞ where none of their other corners is earlier.
    fn compute(&self, domain: usize, node: u32, time: &[T], solves: &mut u64) -> T {
        let at = |node| self.local(domain, node).map_or(T::INFINITY, |local| time[local]);
        let (before, mut least) = (at(node), T::INFINITY);
        for &entry in self.mesh.round(node as usize) {
            let (element, corner) = ((entry / 4) as usize, (entry % 4) as usize);
            let nodes = &self.nodes[element];
            let times: [T; N] = nodes.map(at);
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
            let time = E::solve::<Portable>(phi, numbers);
            *solves += 1;
            if time < least {
                least = time;
            }
        }
        least
    }

    /// Sends the new times of own nodes that others read: place in the message and time of each.
    fn send(&self, domain: usize, part: &Part<T>, sweep: u32) {
        for (number, message) in self.exchange.owned_by(domain) {
            self.exchange.transport().send(number, &mut |bytes| {
                bytes.clear();
                for (place, &local) in (0_u32..).zip(&message.owned) {
                    if part.fell_in[local as usize] == sweep {
                        append(&[place], bytes);
                        append(&part.time[local as usize..=local as usize], bytes);
                    }
                }
            });
        }
    }

    /// Receives new times of the halo; own neighbours of these nodes become active.
    fn receive(&self, domain: usize, part: &mut Part<T>, sweep: u32) {
        let halo = self.domains.halo_of(domain);
        for (number, message) in self.exchange.read_by(domain) {
            self.exchange.transport().receive(number, &mut |bytes| {
                for entry in bytes.chunks_exact(size_of::<u32>() + size_of::<T>()) {
                    let (place, time) = entry.split_at(size_of::<u32>());
                    let local = message.halo[read::<u32>(place) as usize] as usize;
                    // Messages lead to halo nodes alone.
                    let Some(&node) = local.checked_sub(part.own.len()).and_then(|place| halo.get(place)) else {
                        continue;
                    };
                    part.time[local] = read(time);
                    part.activate_own(sweep, self.mesh.neighbours_of(node as usize));
                }
            });
        }
    }
}
