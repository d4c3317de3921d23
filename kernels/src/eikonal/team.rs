//! One solve by several ranks, each with a part of the nodes.
//!
//! All ranks make the same sweeps. In each sweep a rank takes over the new times of its own nodes, sends those that others
//! read, and solves its elements for their corners among its own nodes. Then all agree on the earliest time that fell. So
//! every local solve of one process is made by one rank, in the same sweep and from the same times.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use pogo_formats::domains::{SubDomains, SubDomainsView, ranges_of};
use pogo_formats::eikonal::{EikonalMesh, EikonalMeshView};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads;
use rayon::ThreadPool;

use super::problem::{
    Arrival, BLOCKED, EikonalError, EikonalProblem, EikonalSettings, Metrics, Statistics, first_time,
};
use super::products::StoredElements;
use super::sweep::{Others, Pieces, Starts, State};
use super::{Sweeps, check, edge_time};
use crate::device::DeviceError;
use crate::dynamics::Part;
use crate::ranks::{Member, Parcel, Ranks, Reader, Serves, Team, Writer, serve};
use crate::simd::Real;

/// A bit beside the place of a node in a message: the node is fresh.
const FRESH: u32 = 1 << 31;

/// Sub-domains for ranks: `first` cuts the nodes into pieces, (n_pieces + 1,), `domain` is the sub-domain of each piece. A
/// sub-domain need not hang together.
pub fn cut(mesh: &EikonalMeshView, first: &[u32], domain: &[u32], n_domains: usize) -> SubDomains {
    let mut of_node = Vec::with_capacity(mesh.n_nodes());
    for (nodes, &domain) in first.windows(2).zip(domain) {
        of_node.resize(nodes[1] as usize, domain);
    }
    let needed_by = |reader| {
        let own = first.par_windows(2).zip(domain).filter(|(_, domain)| **domain == reader);
        let others = own.flat_map_iter(|(nodes, _)| {
            let others = (nodes[0]..nodes[1]).flat_map(|node| mesh.neighbours_of(node as usize));
            others.filter(|&&other| of_node[other as usize] != reader)
        });
        let mut nodes: Vec<u32> = others.copied().collect();
        nodes.par_sort_unstable();
        nodes.dedup();
        nodes
    };
    let needed = (0..n_domains as u32).map(needed_by).collect();
    SubDomains::new("metis", &ranges_of(first, domain, n_domains), needed)
}

/// Nodes whose times travel between this rank and another.
struct Message<T> {
    rank: usize,
    /// Local numbers; both ends have the same order.
    nodes: Vec<u32>,
    /// What was sent last.
    sent: Vec<T>,
}

/// The part of one rank.
pub struct EikonalPart<T: Real> {
    ranks: Arc<dyn Ranks>,
    part: Part,
    /// Own nodes, the halo, and the elements with an own node.
    mesh: EikonalMesh,
    stored: StoredElements<T>,
    /// Own nodes by the sub-domains of the block file.
    pieces: Pieces,
    settings: EikonalSettings,
    edge_time: f64,
    /// Messages to readers of own nodes.
    outgoing: Vec<Message<T>>,
    /// Messages from owners of the halo.
    incoming: Vec<Message<T>>,
    /// None if this rank has one thread.
    pool: Option<ThreadPool>,
}

impl<T: Real> EikonalPart<T> {
    /// The part of the rank's sub-domain of `domains`, which has one for each rank.
    ///
    /// # Errors
    /// As for [`EikonalSolver::new`](super::EikonalSolver::new).
    pub fn new(
        problem: &EikonalProblem,
        settings: &EikonalSettings,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        n_threads: usize,
    ) -> Result<Self, EikonalError> {
        check(problem)?;
        let part = Part::of(domains, ranks.rank());
        let local = |node: u32| part.local(node as usize).unwrap_or(0) as u32;
        let message = |rank: u32, items: &[u32]| Message {
            rank: rank as usize,
            nodes: items.iter().map(|&node| local(node)).collect(),
            sent: vec![T::INFINITY; items.len()],
        };
        let (mesh, metrics) = part_of(problem, &part);
        let of_part = EikonalProblem { mesh: mesh.view(), domains: None, metrics: Metrics::Each(&metrics) };
        let stored = StoredElements::new(&of_part, settings.local_solver);
        let starts = problem.domains.as_ref().map_or_else(|| vec![0, problem.mesh.n_nodes() as u32], |d| d.starts());
        let own: Vec<u32> = part.own().map(|node| node as u32).collect();
        let first: Vec<u32> = starts.iter().map(|&start| own.partition_point(|&node| node < start) as u32).collect();
        Ok(Self {
            outgoing: domains.sent(ranks.rank()).map(|sent| message(sent.reader, sent.items)).collect(),
            incoming: domains.received(ranks.rank()).map(|came| message(came.owner, came.items)).collect(),
            ranks: ranks.clone(),
            stored,
            pieces: Pieces::new(&first),
            settings: *settings,
            edge_time: edge_time(problem),
            pool: threads::pool(n_threads)?,
            mesh,
            part,
        })
    }

    /// Times of own nodes.
    fn solve(&mut self, starts: &Starts<'_>) -> (Arrival<T>, Writer) {
        let Self { ranks, mesh, stored, pieces, settings, edge_time, outgoing, incoming, pool, .. } = self;
        outgoing.iter_mut().for_each(|message| message.sent.fill(T::INFINITY));
        let mut neighbours = Neighbours { ranks: &**ranks, outgoing, incoming, active: Writer::default() };
        let mesh = mesh.view();
        let sweeps = Sweeps { mesh: &mesh, pieces, settings, edge_time: *edge_time };
        let mut run = |share| sweeps.run(stored, starts, share, &mut neighbours);
        let arrival = match pool {
            Some(pool) => pool.install(|| run(true)),
            None => run(false),
        };
        (arrival, neighbours.active)
    }
}

/// The elements with an own node of a part, in local numbers, and their metrics.
fn part_of(problem: &EikonalProblem, part: &Part) -> (EikonalMesh, Vec<[f64; 6]>) {
    let whole = &problem.mesh;
    let mut has = vec![false; whole.n_elements()];
    part.own().for_each(|node| whole.round(node).iter().for_each(|&entry| has[entry as usize / 4] = true));
    let elements: Vec<u32> = (0..).zip(has).filter_map(|(element, has)| has.then_some(element)).collect();
    let mut local = vec![0; whole.n_nodes()];
    let nodes: Vec<usize> = part.own().chain(part.halo().iter().map(|&node| node as usize)).collect();
    (0..).zip(&nodes).for_each(|(at, &node)| local[node] = at);
    let mut mesh = EikonalMesh {
        corners: whole.corners as u32,
        coordinates: nodes.iter().flat_map(|&node| whole.point(node)).collect(),
        elements: elements
            .iter()
            .flat_map(|&element| whole.nodes(element as usize).iter().map(|&node| local[node as usize]))
            .collect(),
        original_node: vec![0; nodes.len()],
        original_element: vec![0; elements.len()],
        ..EikonalMesh::default()
    };
    // Who neighbours whom is of no use to sweeps.
    mesh.find_incident(nodes.len());
    let metric = |&element: &u32| problem.metrics.of(element as usize).unwrap_or(BLOCKED);
    (mesh, elements.iter().map(metric).collect())
}

/// The ranks with the rest of the mesh.
struct Neighbours<'a, T> {
    ranks: &'a dyn Ranks,
    outgoing: &'a mut [Message<T>],
    incoming: &'a [Message<T>],
    /// Sub-domains of the block file that were active, a list for each sweep.
    active: Writer,
}

impl<T: Real> Others<T> for Neighbours<'_, T> {
    fn exchange(&mut self, state: &State<T>, sweep: u32, active: &[u32]) -> Vec<u32> {
        self.active.put(active);
        let send = |message: &mut Message<T>| {
            let (mut places, mut times) = (Vec::new(), Vec::new());
            for (place, (&node, sent)) in (0..).zip(message.nodes.iter().zip(&mut message.sent)) {
                let time = T::get(&state.time[node as usize]);
                let is_fresh = state.fresh_in[node as usize].load(Relaxed) == sweep;
                // A node that waits for the window has a new time, too.
                if is_fresh || time != *sent {
                    places.push(if is_fresh { place | FRESH } else { place });
                    times.push(time);
                    *sent = time;
                }
            }
            let mut writer = Writer::default();
            writer.put::<u32>(&places);
            writer.put(&times);
            Parcel { rank: message.rank, bytes: writer.into_bytes() }
        };
        let outgoing = self.outgoing.iter_mut().map(send).collect();
        let room = |message: &Message<T>| Parcel {
            rank: message.rank,
            bytes: vec![0; 2 * size_of::<u64>() + message.nodes.len() * (size_of::<u32>() + size_of::<T>())],
        };
        let [_, came] = self.ranks.start(outgoing, self.incoming.iter().map(room).collect()).finish();
        let mut fresh = Vec::new();
        for (message, parcel) in self.incoming.iter().zip(&came) {
            let mut reader = Reader::new(&parcel.bytes);
            let (places, times): (Vec<u32>, Vec<T>) = (reader.take(), reader.take());
            for (place, time) in places.into_iter().zip(times) {
                let node = message.nodes[(place & !FRESH) as usize];
                T::set(&state.time[node as usize], time);
                if place & FRESH != 0 {
                    state.fresh_in[node as usize].store(sweep, Relaxed);
                    fresh.push(node);
                }
            }
        }
        fresh
    }

    fn least(&mut self, least: T) -> T {
        let mut writer = Writer::default();
        writer.put(&[least]);
        let all = self.ranks.all_gather(writer.into_bytes());
        let times = all.iter().map(|bytes| Reader::new(bytes).one::<T>());
        times.fold(T::INFINITY, |least, time| if time < least { time } else { least })
    }
}

impl<T: Real> Member for EikonalPart<T> {
    /// The order: nodes and times of the starts of all ranks. The answer: times of own nodes; the numbers of sweeps, of local
    /// solves and of nodes passed on; the active sub-domains of each sweep.
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut order = Reader::new(order);
        let (first, nodes, times) = (order.one::<f64>(), order.take::<u32>(), order.take::<f64>());
        let own = |(&node, &time): (&u32, &f64)| Some((self.part.local_own(node as usize)? as u32, time));
        let own: Vec<(u32, f64)> = nodes.iter().zip(&times).filter_map(own).collect();
        let (arrival, active) = self.solve(&Starts { nodes: &own, first });
        let statistics = &arrival.statistics;
        let mut answer = Writer::default();
        answer.put(&arrival.time);
        answer.put(&[statistics.sweeps.into(), statistics.local_solves, statistics.passed_on]);
        Ok([answer.into_bytes(), active.into_bytes()].concat())
    }
}

impl<T: Real + 'static> Serves for EikonalPart<T> {
    fn serve(self, ranks: &dyn Ranks) {
        serve(ranks, self);
    }
}

/// The part of one rank, whose order has nodes and times of the starts of all ranks, and whose answer times of own nodes.
pub trait ArrivalPart: Member {
    /// The precision of times.
    type Time: Real;
}

impl<T: Real> ArrivalPart for EikonalPart<T> {
    type Time = T;
}

/// Solves with all ranks, as the leader. The results have the bits of [`EikonalSolver`](super::EikonalSolver), or of devices
/// ([`GpuPart`](super::GpuPart)) those of [`GpuSolver`](super::GpuSolver).
pub struct TeamSolver<M> {
    team: Team<M>,
    parts: Vec<Part>,
    n_nodes: usize,
    /// Sub-domains of the block file.
    n_domains: usize,
}

impl<M: ArrivalPart> TeamSolver<M> {
    /// The leader's solver, with its own part. The other ranks [serve](Serves::serve).
    pub fn new(problem: &EikonalProblem, domains: &SubDomainsView, ranks: &Arc<dyn Ranks>, member: M) -> Self {
        Self {
            team: Team::new(ranks.clone(), member),
            parts: (0..ranks.n_ranks()).map(|domain| Part::of(domains, domain)).collect(),
            n_nodes: problem.mesh.n_nodes(),
            n_domains: problem.domains.as_ref().map_or(1, SubDomainsView::n_domains),
        }
    }

    /// Solves for one set of starts.
    ///
    /// # Errors
    /// No start, a start at no node or at no time.
    pub fn solve(&self, starts: &[(u32, f64)]) -> Result<Arrival<M::Time>, EikonalError> {
        let begin = Instant::now();
        let first = first_time(starts, self.n_nodes)?;
        let (nodes, times): (Vec<u32>, Vec<f64>) = starts.iter().copied().unzip();
        let mut order = Writer::default();
        order.put(&[first]);
        order.put(&nodes);
        order.put(&times);
        let answers = self.team.order(&order.into_bytes())?;
        let mut readers: Vec<Reader<'_>> = answers.iter().map(|answer| Reader::new(answer)).collect();
        let mut time = vec![M::Time::INFINITY; self.n_nodes];
        let mut statistics = Statistics { active_sweeps: vec![0; self.n_domains], ..Statistics::default() };
        let mut of_sweeps = None;
        for (part, reader) in self.parts.iter().zip(&mut readers) {
            part.own().zip(reader.take()).for_each(|(node, of_node)| time[node] = of_node);
            let numbers: Vec<u64> = reader.take();
            statistics.sweeps = numbers[0] as u32;
            statistics.local_solves += numbers[1];
            statistics.passed_on += numbers[2];
            // Of devices that which takes longest counts, and not the copies.
            of_sweeps = numbers.get(3).map(|&bits| f64::from_bits(bits).max(of_sweeps.unwrap_or(0.0)));
        }
        for _ in 0..statistics.sweeps {
            // A sub-domain of the block file may belong to several ranks.
            let mut active: Vec<u32> = readers.iter_mut().flat_map(Reader::take::<u32>).collect();
            active.sort_unstable();
            active.dedup();
            statistics.active_domains.push(active.len() as u32);
            active.into_iter().for_each(|domain| statistics.active_sweeps[domain as usize] += 1);
        }
        let unreached = time.iter().filter(|&&time| !(time < M::Time::INFINITY)).count();
        statistics.seconds = of_sweeps.unwrap_or_else(|| begin.elapsed().as_secs_f64());
        Ok(Arrival { time, unreached, statistics })
    }
}
