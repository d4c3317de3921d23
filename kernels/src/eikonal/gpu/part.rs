//! One solve by several devices: each lists the nodes of its part, and has records of all (team.cuh).
//!
//! The sweeps are those of one device, from the same times and with the same window, so the times have its bits. A device
//! computes the elements round its fresh nodes. What it lowers it lowers on all devices that read the node, and after a sweep
//! all devices meet. Devices that do not reach each other's memory exchange messages at the meeting (post.rs).

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::layout::{Meeting, Post, TeamParams};
use super::post::{Border, Postman};
use super::{EikonalError, EikonalProblem, EikonalSettings, FormParams, GpuSettings, GpuSolver, Statistics};
use crate::device::{DeviceError, HostBuffer, Opened, Plain as _, Slice, Stream};
use crate::dynamics::{Exchange, MOST_DEVICES, Part};
use crate::eikonal::ArrivalPart;
use crate::ranks::{Accord, Member, Ranks, Reader, Serves, Writer, exchange_arrays, serve};
use crate::simd::Real;

/// Numbers that a device tells the others of a sweep.
const ROW: usize = 4;
/// Bits of a node's place that name the devices that read it.
pub(super) const READER_BITS: u32 = 8;
const _: () = assert!(MOST_DEVICES <= READER_BITS as usize);

/// The part of one rank on a device.
pub struct GpuPart<T: Real> {
    solver: GpuSolver<T>,
    part: Part,
    accord: Accord,
    counters: Slice<u32>,
    link: Link<T>,
}

/// How a device reaches the others.
enum Link<T> {
    /// By their memory, of other processes too; with the meetings that they have come to.
    Memory { arrived: Slice<u32>, _opened: Opened },
    /// By messages; with the marks of entries that are to be sent.
    Messages { postman: Box<Postman<T>>, marks: Slice<u32>, _shared: Vec<HostBuffer<u8>> },
}

impl<T: Real> Link<T> {
    /// Forgets the solve before. Nothing runs on the device.
    fn reset(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        match self {
            Self::Memory { arrived, .. } => arrived.clear(stream)?,
            Self::Messages { postman, marks, .. } => {
                postman.reset();
                marks.clear(stream)?;
            }
        }
        stream.synchronize()
    }

    /// Waits for the kernel, and answers it until it ends.
    fn wait(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let Self::Messages { postman, .. } = self else { return stream.synchronize() };
        let served = postman.serve(&mut || stream.is_done());
        if served.is_err() {
            // The kernel uses the host's memory until it has ended.
            let _ = stream.synchronize();
        }
        served
    }
}

/// What each node is to the devices: a bit for each that reads it, and above these the one that has it.
pub(super) fn places(domains: &SubDomainsView, n_ranks: usize, n_nodes: usize) -> Vec<u32> {
    let mut places = vec![0; n_nodes];
    for rank in 0..n_ranks {
        let part = Part::of(domains, rank);
        part.own().for_each(|node| places[node] |= (rank as u32) << READER_BITS | 1 << rank);
        part.halo().iter().for_each(|&node| places[node as usize] |= 1 << rank);
    }
    places
}

impl<T: Real> GpuPart<T> {
    /// The part of the rank's sub-domain of `domains`, which has one for each rank. Collective.
    ///
    /// # Errors
    /// As for [`GpuSolver::new`]; no connection between the devices.
    pub fn new(
        problem: &EikonalProblem,
        settings: &EikonalSettings,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        ordinal: u32,
        exchange: Exchange,
    ) -> Result<Self, EikonalError> {
        let accord = Accord::new(ranks);
        let device = GpuSettings { ordinal, sets: 1, ..GpuSettings::default() };
        let mut solver = accord.agree(GpuSolver::with(problem, settings, &device, true))?;
        // Parts on one device run at the same time, and wait for each other.
        let identity = accord.agree(solver.gpu.uuid())?;
        let all = ranks.all_gather(identity.to_vec());
        let here = all.iter().filter(|of_rank| **of_rank == identity).count() as u32;
        solver.most_blocks = solver.kernel.resident * solver.gpu.multiprocessors / here;
        let part = Part::of(domains, ranks.rank());
        let connected = match exchange {
            Exchange::Messages => write(&mut solver, ranks, domains, &part),
            _ => join(&mut solver, ranks, domains),
        };
        let (counters, link) = accord.agree(connected)?;
        solver.memory = solver.arena.report();
        Ok(Self { solver, part, accord, counters, link })
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        self.solver.device()
    }

    /// Times of own nodes, and what the sweeps came to.
    fn solve(&mut self, starts: &[(u32, f64)], first: f64) -> Result<(Vec<T>, Statistics), EikonalError> {
        let mut place = || {
            self.solver.gpu.enter()?;
            self.counters.write(&vec![0; self.counters.len()])?;
            self.link.reset(&self.solver.stream)?;
            self.solver.place_starts(&[starts], &[first])
        };
        let placed = place();
        // Nobody begins before all are cleared, and no copy waits for a part that runs.
        self.accord.agree(placed)?;
        let found = self.solver.run(&[starts], |stream| self.link.wait(stream));
        let statistics = self.accord.agree(found)?;
        let mut time = vec![T::default(); self.solver.n_nodes];
        self.solver.time.read(&mut time)?;
        let mut own = self.part.select(&time, 1);
        let first = T::from_f64(first);
        own.iter_mut().for_each(|time| *time += first);
        Ok((own, statistics))
    }
}

/// Makes room for messages to the other devices. Returns the counters of this device.
fn write<T: Real>(
    solver: &mut GpuSolver<T>,
    ranks: &Arc<dyn Ranks>,
    domains: &SubDomainsView,
    part: &Part,
) -> Result<(Slice<u32>, Link<T>), DeviceError> {
    solver.gpu.enter()?;
    let border = Border::of(domains, ranks.rank(), ranks.n_ranks(), solver.n_nodes);
    let sweep = solver.sweep();
    let arena = &mut solver.arena;
    let counters = arena.zeros::<u32>("counters of several devices", super::COUNTERS)?;
    let place = arena.copy("devices of nodes", &border.places(part, solver.n_nodes))?;
    let changed = arena.zeros::<u32>("entries for other devices", border.len())?;
    // The number of these entries stands before the marks.
    let marks = arena.zeros::<u32>("marks of entries for other devices", 1 + (1 << sweep.shift))?;
    let own = [changed.pointer(), marks.pointer(), marks.part::<u32>(1, 1 << sweep.shift).pointer()];
    let mut shared = Vec::new();
    let postman = Box::new(Postman::new(ranks, border, own, &mut shared)?);
    let meeting = Meeting { place: place.at(), n_devices: 2, ..Meeting::zeroed() };
    solver.form = FormParams::Together(Box::new(TeamParams { sweep, meeting, post: postman.post() }), counters);
    Ok((counters, Link::Messages { postman, marks, _shared: shared }))
}

/// Learns where the other devices have their arrays. Returns the counters of this device. Collective.
fn join<T: Real>(
    solver: &mut GpuSolver<T>,
    ranks: &Arc<dyn Ranks>,
    domains: &SubDomainsView,
) -> Result<(Slice<u32>, Link<T>), DeviceError> {
    let n = ranks.n_ranks();
    let arrays = solver.gpu.enter().and_then(|()| {
        let arena = &mut solver.arena;
        let counters = arena.zeros::<u32>("counters of several devices", super::COUNTERS)?;
        let arrived = arena.zeros::<u32>("meetings of several devices", n)?;
        let gathered = arena.zeros::<u64>("what several devices have found", 2 * n * ROW)?;
        let place = arena.copy("devices of nodes", &places(domains, n, solver.n_nodes))?;
        Ok((counters, arrived, gathered, place))
    });
    let sweep = solver.sweep();
    let offered = arrays.as_ref().map_err(DeviceError::clone).map(|(counters, arrived, gathered, _)| {
        let [records, lists] = [sweep.record.map(|at| at.address()), sweep.list.map(|at| at.address())];
        [records[0], records[1], lists[0], lists[1], counters.pointer(), gathered.pointer(), arrived.pointer()]
    });
    let offered = offered.as_ref().map(|offered| &offered[..]).map_err(DeviceError::clone);
    let mut opened = Opened::default();
    let all = exchange_arrays(ranks, &solver.gpu, offered, &mut opened)?;
    let (counters, arrived, _, place) = arrays?;
    let mut meeting = Meeting { place: place.at(), n_devices: n as u32, me: ranks.rank() as u32, ..Meeting::zeroed() };
    for (device, of) in all.iter().enumerate() {
        let at = &of.addresses;
        meeting.record[device] = [super::pointer(at[0]), super::pointer(at[1])];
        meeting.list[device] = [super::pointer(at[2]), super::pointer(at[3])];
        meeting.counters[device] = super::pointer(at[4]);
        meeting.gathered[device] = super::pointer(at[5]);
        meeting.arrived[device] = super::pointer(at[6]);
    }
    solver.form = FormParams::Together(Box::new(TeamParams { sweep, meeting, post: Post::zeroed() }), counters);
    Ok((counters, Link::Memory { arrived, _opened: opened }))
}

impl<T: Real> Member for GpuPart<T> {
    /// The order and the answer are those of [`EikonalPart`](crate::eikonal::EikonalPart), but for the time of the sweeps, s,
    /// behind their numbers. No list of active sub-domains has any.
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
        let mut order = Reader::new(order);
        let (first, nodes, times) = (order.one::<f64>(), order.take::<u32>(), order.take::<f64>());
        let starts: Vec<(u32, f64)> = nodes.into_iter().zip(times).collect();
        let (time, statistics) = self.solve(&starts, first).map_err(|error| match error {
            EikonalError::Device(error) => error,
            error => DeviceError::Failed { what: "solve for arrival times", reason: error.to_string() },
        })?;
        let mut answer = Writer::default();
        answer.put(&time);
        let Statistics { sweeps, local_solves, passed_on, seconds, .. } = statistics;
        answer.put(&[sweeps.into(), local_solves, passed_on, seconds.to_bits()]);
        (0..sweeps).for_each(|_| answer.put::<u32>(&[]));
        Ok(answer.into_bytes())
    }
}

impl<T: Real> ArrivalPart for GpuPart<T> {
    type Time = T;
}

impl<T: Real + 'static> Serves for GpuPart<T> {
    fn serve(self, ranks: &dyn Ranks) {
        serve(ranks, self);
    }
}
