//! The Eikonal equation on a CUDA device: one launch from the starts to the times, the host does not take part.
//!
//! The *active list* (active.cu; wide.cu, faster, for tetrahedra in single precision) takes the nodes of a sweep from the whole
//! mesh, for several sets of starts at once; it gives the same bits on every run, and by several devices together (part.rs). The paper's approaches to sub-domains
//! (domains.cu) are set up by [`papers::eikonal`](crate::papers::eikonal). See README.md beside this file.

pub(crate) mod layout;
mod part;
mod post;
#[cfg(test)]
mod twin;

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Instant;

use pogo_formats::eikonal::EikonalMeshView;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads;

use super::problem::{Arrival, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Statistics, first_time};
use super::products::{Eighteen, OnTheFly, Squares, StoredElements};
use super::{check, edge_time};
use crate::device::layout::{Out, Pointer};
use crate::device::{
    Arena, Buffer, DeviceError, Gpu, HostBuffer, Kernel, MemoryReport, Module, Plain as _, Slice, Stream, arguments,
};
use crate::simd::Real;
use layout::*;
pub use part::GpuPart;

/// Most sweeps before a solve is given up: more than any mesh needs.
const MOST_SWEEPS: u32 = 1 << 24;
/// Memory kept free, bytes.
const RESERVE: u64 = 256 << 20;

/// What helps where memory does not suffice.
const ADVICE: &str = "a larger device, or --device cpu";

/// Settings of the solver on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuSettings {
    /// Number of the device.
    pub ordinal: u32,
    /// Most sets of starts that are solved at once.
    pub sets: usize,
    /// Whether what a node needs of its elements may be stored once for each of their corners, which is the fastest form;
    /// otherwise elements are stored once, as where memory is short.
    pub wide: bool,
    /// As in [`EikonalSettings::window`]; more sweeps cost more here than more local solves.
    pub window: f64,
    /// Largest number of active nodes of a set of starts, for each multiprocessor, for which a sweep ignores the time window.
    /// Only in the fastest form.
    pub window_free: u32,
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { ordinal: 0, sets: 8, wide: true, window: 4.0, window_free: 32 }
    }
}

/// Counters that the kernels share, and behind them the earliest times and lengths of lists.
const COUNTERS: usize = 8;
const LISTS: usize = 6 * MOST_SETS as usize;

/// What a form has beside the elements.
pub(crate) enum FormParams<T: Real> {
    /// An active list of the whole mesh.
    Active(Box<SweepParams<T>>),
    /// The same, by several devices, and the counters that others write to.
    Together(Box<TeamParams<T>>, Slice<u32>),
    /// The sub-domains of the block file.
    Domains(Box<DomainParams<T>>),
}

/// A mesh on the device, ready to be solved for one or many sets of starts.
pub struct GpuSolver<T: Real> {
    gpu: Gpu,
    stream: Stream,
    _module: Module,
    kernel: Kernel,
    form: FormParams<T>,
    /// Most thread blocks of a launch.
    most_blocks: u32,
    arena: Arena,
    /// Counters, lists, work (two numbers of 64 bits), and the starts.
    small: Buffer<u32>,
    time: Slice<T>,
    /// Memory of the host that results of many sets are fetched to, once it was needed.
    fetched: [Option<HostBuffer<T>>; 2],
    n_nodes: usize,
    sets: usize,
    keep: T,
    /// Computing and copying what is stored, s.
    pub setup_seconds: f64,
    /// Arrays on the device.
    pub memory: MemoryReport,
}

/// Modules that a run is likely to need, for [`Starting`](crate::device::Starting).
pub fn gpu_modules(single: bool) -> Vec<&'static str> {
    if single { vec!["eikonal_wide"] } else { vec!["eikonal_active_f64"] }
}

/// Elements on a device.
pub(crate) struct DeviceElements<T> {
    pub stored: Stored<T>,
    /// First of the elements round each node in `incident`, and the end.
    pub incident_first: Slice<u32>,
    pub incident: Slice<u32>,
    nodes: Slice<u32>,
    numbers: Slice<T>,
}

impl<T: Real> DeviceElements<T> {
    /// Puts elements on the device.
    pub fn new(problem: &EikonalProblem, solver: LocalSolver, arena: &mut Arena) -> Result<Self, DeviceError> {
        let mesh = &problem.mesh;
        let nodes = arena.copy("nodes of elements", mesh.elements)?;
        let mut stored = Stored { nodes: nodes.at(), ..Stored::zeroed() };
        let of_mesh = StoredElements::<T>::new(problem, solver);
        let numbers = match &of_mesh {
            StoredElements::Three(Squares(numbers)) => numbers.as_flattened(),
            StoredElements::Six(Squares(numbers)) => numbers.as_flattened(),
            StoredElements::Eighteen(Eighteen(numbers)) => numbers.as_flattened(),
            StoredElements::OnTheFly(OnTheFly { point, metric }) => {
                let point: Vec<T> = point.iter().flat_map(|&[x, y, z]| [x, y, z, T::default()]).collect();
                stored.point = arena.copy("positions", &point)?.at();
                metric.as_flattened()
            }
        };
        let numbers = arena.copy("numbers of elements", numbers)?;
        stored.numbers = numbers.at();
        let incident = arena.copy("incident elements", mesh.incident)?;
        let incident_first = arena.copy("first incident elements", mesh.incident_first)?;
        Ok(Self { stored, incident_first, incident, nodes, numbers })
    }

    /// Bytes that they take.
    pub fn bytes(mesh: &EikonalMeshView, solver: LocalSolver) -> u64 {
        let (n, number) = (mesh.n_nodes(), size_of::<T>());
        let numbers_of_element = match (mesh.corners, solver) {
            (3, _) => 3,
            (_, LocalSolver::Eighteen) => 18,
            _ => 6,
        };
        let element_bytes = 4 * mesh.corners + number * numbers_of_element;
        let points = if solver == LocalSolver::OnTheFly { 4 * number * n } else { 0 };
        (element_bytes * mesh.n_elements() + 4 * mesh.incident.len() + 4 * n + points) as u64
    }
}

/// A device that a mesh is being put on.
pub(crate) struct Setup {
    begin: Instant,
    pub gpu: Gpu,
    pub arena: Arena,
    stream: Stream,
    /// Bytes that are free there.
    free: u64,
}

impl Setup {
    pub fn new(ordinal: u32) -> Result<Self, DeviceError> {
        let begin = Instant::now();
        let gpu = Gpu::open(ordinal)?;
        let free = gpu.free_memory()?.saturating_sub(RESERVE);
        Ok(Self { begin, arena: Arena::default(), stream: Stream::new()?, gpu, free })
    }

    /// Checks that there is room for so many bytes.
    pub fn require(&self, needed: u64) -> Result<(), DeviceError> {
        if needed <= self.free {
            return Ok(());
        }
        Err(DeviceError::Memory { name: self.gpu.name.clone(), needed, free: self.free, advice: ADVICE })
    }

    /// A solver of up to `sets` sets of starts at once.
    pub fn finish<T: Real>(
        mut self,
        (module, kernel): (Module, Kernel),
        form: FormParams<T>,
        (sets, n_nodes): (usize, usize),
        tolerance: f64,
    ) -> Result<GpuSolver<T>, DeviceError> {
        Ok(GpuSolver {
            small: Buffer::zeros(COUNTERS + LISTS + 4 + 64)?,
            time: self.arena.zeros("times", sets * n_nodes)?,
            fetched: [None, None],
            n_nodes,
            sets,
            keep: T::from_f64(1.0 - tolerance),
            setup_seconds: self.begin.elapsed().as_secs_f64(),
            memory: self.arena.report(),
            _module: module,
            kernel,
            form,
            most_blocks: u32::MAX,
            arena: self.arena,
            stream: self.stream,
            gpu: self.gpu,
        })
    }
}

impl<T: Real> GpuSolver<T> {
    /// Copies everything to the device.
    ///
    /// # Errors
    /// Arrays that do not fit the mesh; no device, or too little memory on it.
    pub fn new(
        problem: &EikonalProblem,
        settings: &EikonalSettings,
        device: &GpuSettings,
    ) -> Result<Self, EikonalError> {
        Self::with(problem, settings, device, false)
    }

    /// The same, or one of several devices that solve together.
    fn with(
        problem: &EikonalProblem,
        settings: &EikonalSettings,
        device: &GpuSettings,
        of_several: bool,
    ) -> Result<Self, EikonalError> {
        check(problem)?;
        let mut setup = Setup::new(device.ordinal)?;
        let (mesh, solver) = (&problem.mesh, settings.local_solver);
        let (n, number) = (mesh.n_nodes(), size_of::<T>());
        let shift = n.next_power_of_two().trailing_zeros();
        let most_sets = (MOST_SETS as usize).min(1 << (32 - shift).min(16));
        let mut sets = device.sets.clamp(1, most_sets);
        let of_set = ((4 * number + 8) << shift) + number * n;
        let needed = |sets: usize| DeviceElements::<T>::bytes(mesh, solver) + (sets * of_set) as u64;
        while sets > 1 && needed(sets) > setup.free {
            sets /= 2;
        }
        setup.require(needed(sets))?;
        // The fastest form takes 36 B more for each corner of an element.
        let wide = device.wide
            && number == 4
            && mesh.corners == 4
            && solver == LocalSolver::Six
            && fits_wide(mesh, sets)
            && needed(sets) + 36 * mesh.incident.len() as u64 <= setup.free;

        let elements = DeviceElements::<T>::new(problem, solver, &mut setup.arena)?;
        let (module, kernel) = sweep_kernel::<T>(&setup.gpu, mesh.corners, solver, (wide, of_several))?;
        let slots = sets << shift;
        let arena = &mut setup.arena;
        let mut record = || arena.zeros::<u32>("records", slots * 2 * number / 4);
        let record = [record()?, record()?].map(|record| Out::<Record>::from_address(record.pointer()));
        let mut params = SweepParams {
            stored: elements.stored,
            incident_first: elements.incident_first.at(),
            incident: elements.incident.at(),
            record,
            list: [arena.zeros::<u32>("lists", slots)?.at(), arena.zeros::<u32>("lists", slots)?.at()],
            shift,
            window: T::from_f64(device.window * edge_time(problem)),
            window_free: device.window_free * setup.gpu.multiprocessors,
            ..SweepParams::zeroed()
        };
        if wide {
            params.wide = widen(&mut setup, &module, &elements)?.at();
            params.n_incident = elements.incident.len() as u64;
        }
        Ok(setup.finish((module, kernel), FormParams::Active(Box::new(params)), (sets, n), settings.tolerance)?)
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        &self.gpu.name
    }

    /// Solves for one set of starts, as [`EikonalSolver::solve`](super::EikonalSolver::solve). `seconds` of the result counts from the starts
    /// to the times on the device; fetching them comes on top.
    ///
    /// # Errors
    /// No start, a start at no node or at no time; what the device reports.
    pub fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        let first = first_time(starts, self.n_nodes)?;
        self.gpu.enter()?;
        let statistics = self.solve_group(&[starts], &[first])?;
        let mut times = vec![T::zeroed(); self.n_nodes];
        self.time.read(&mut times)?;
        Ok(arrival(&times, first, statistics))
    }

    /// The parameters of an active list.
    fn sweep(&self) -> SweepParams<T> {
        match &self.form {
            FormParams::Active(params) => **params,
            FormParams::Together(params, _) => params.sweep,
            FormParams::Domains(_) => unreachable!("a solver of an active list"),
        }
    }

    /// Most sets of starts that it solves at once.
    pub fn sets(&self) -> usize {
        self.sets
    }

    /// Solves for those of many sets of starts that `take` gives, until it gives none, several at a time. Hands each result over
    /// with its number, in no order, from all threads of the pool. Meanwhile the device solves the next sets. Sweeps and work in
    /// the statistics are those of all sets that were solved together; `seconds` is shared out evenly.
    ///
    /// # Errors
    /// As for `solve`.
    pub fn solve_many<S: AsRef<[(u32, f64)]> + Sync>(
        &mut self,
        sets: &[S],
        take: impl Fn() -> Option<Range<usize>> + Sync,
        each: impl Fn(usize, Arrival<T>) + Sync,
    ) -> Result<(), EikonalError> {
        let first: Vec<f64> =
            sets.iter().map(|starts| first_time(starts.as_ref(), self.n_nodes)).collect::<Result<_, _>>()?;
        self.gpu.enter()?;
        // Two buffers: the device's results go to one while the host takes those in the other.
        let (give_back, free) = mpsc::channel();
        for at in 0..2 {
            let buffer = self.fetched[at].take().map_or_else(|| HostBuffer::zeros(self.sets * self.n_nodes), Ok)?;
            // The receiver lives on.
            let _ = give_back.send(buffer);
        }
        let (hand_over, solved) = mpsc::sync_channel(1);
        let n_nodes = self.n_nodes;
        let (solver, first, take) = (&mut *self, &first, &take);
        let (ended, free) = thread::scope(|scope| {
            let device = threads::spawn_scoped(scope, "device", move || {
                let ended = solver.solve_groups((sets, first), take, &free, &hand_over);
                (ended, free)
            });
            let device = device.map_err(DeviceError::Threads)?;
            // It goes with this closure, whatever `each` does: the device does not wait for a buffer that nobody gives back.
            let give_back = give_back;
            for Group { range, buffer, statistics } in solved {
                let times = buffer.values()[..range.len() * n_nodes].par_chunks_exact(n_nodes);
                times.zip(range).for_each(|(times, case)| each(case, arrival(times, first[case], statistics.clone())));
                let _ = give_back.send(buffer);
            }
            Ok::<_, EikonalError>(device.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        let places = self.fetched.iter_mut().filter(|kept| kept.is_none());
        places.zip(free.try_iter()).for_each(|(place, buffer)| *place = Some(buffer));
        ended
    }

    /// Solves group after group, each into a free buffer, until there are no more or nobody takes the results.
    fn solve_groups<S: AsRef<[(u32, f64)]>>(
        &mut self,
        (sets, first): (&[S], &[f64]),
        take: &impl Fn() -> Option<Range<usize>>,
        free: &Receiver<HostBuffer<T>>,
        hand_over: &SyncSender<Group<T>>,
    ) -> Result<(), EikonalError> {
        self.gpu.enter()?;
        let mut taken = 0..0;
        // Another device may take sets while this one waits for a buffer.
        while let Ok(mut buffer) = free.recv() {
            if taken.is_empty() {
                let Some(next) = take() else {
                    self.fetched[0] = Some(buffer);
                    break;
                };
                taken = next;
            }
            let range = taken.start..taken.end.min(taken.start + self.sets);
            taken.start = range.end;
            let statistics = self.solve_group(&sets[range.clone()], &first[range.clone()])?;
            self.time.fetch(&mut buffer, range.len() * self.n_nodes)?;
            if hand_over.send(Group { range, buffer, statistics }).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Solves for sets of starts at once, whose times stay on the device, set by set: those of all nodes after the first start.
    fn solve_group<S: AsRef<[(u32, f64)]>>(&mut self, sets: &[S], first: &[f64]) -> Result<Statistics, EikonalError> {
        self.place_starts(sets, first)?;
        self.run(sets, Stream::synchronize)
    }

    /// What a solve begins with: counters, the earliest times and lengths of lists, the work, and the starts.
    fn counters_and_starts<S: AsRef<[(u32, f64)]>>(&self, sets: &[S], first: &[f64]) -> Vec<u32> {
        let shift = if let FormParams::Active(params) = &self.form { params.shift } else { 0 };
        let mut small = vec![0; COUNTERS];
        for _ in 0..LISTS / 2 * 4 / size_of::<T>() {
            push_bits(&mut small, T::INFINITY);
        }
        small.resize(COUNTERS + LISTS + 4, 0);
        for (set, (list, first)) in sets.iter().zip(first).enumerate() {
            for &(node, time) in list.as_ref() {
                // A `Start` in local.cuh: the time at a multiple of its size.
                small.push((set << shift) as u32 | node);
                small.resize(small.len() + size_of::<T>() / 4 - 1, 0);
                push_bits(&mut small, T::from_f64(time - first));
            }
        }
        small
    }

    /// Puts starts on the device, and clears what is counted.
    fn place_starts<S: AsRef<[(u32, f64)]>>(&mut self, sets: &[S], first: &[f64]) -> Result<(), DeviceError> {
        let small = self.counters_and_starts(sets, first);
        if small.len() > self.small.len() {
            self.small = Buffer::zeros(small.len())?;
        }
        self.small.write(&small)
    }

    /// Times of the sets of starts that were placed, which stay on the device. `wait` returns when all that was started is done.
    fn run<S: AsRef<[(u32, f64)]>>(
        &mut self,
        sets: &[S],
        wait: impl FnOnce(&Stream) -> Result<(), DeviceError>,
    ) -> Result<Statistics, EikonalError> {
        let begin = Instant::now();
        let n_starts = sets.iter().map(|list| list.as_ref().len() as u32).sum();
        let counters = self.small.pointer();
        let earliest = counters + 4 * COUNTERS as u64;
        let work = earliest + 4 * LISTS as u64;
        let (counters, earliest, work, starts) =
            (pointer(counters), pointer(earliest), pointer(work), pointer(work + 16));
        let (time, n_nodes) = (self.time.at(), self.n_nodes as u32);
        let sweeps = |params: &SweepParams<T>| SweepParams {
            counters,
            earliest,
            work,
            starts,
            time,
            n_starts,
            n_nodes,
            n_sets: sets.len() as u32,
            keep: self.keep,
            most_sweeps: MOST_SWEEPS,
            ..*params
        };
        match &self.form {
            // SAFETY: what the kernel takes, and every array is as long as it asks for.
            FormParams::Active(params) => unsafe { self.launch(sweeps(params)) }?,
            FormParams::Together(params, counters) => {
                let sweep = SweepParams { counters: counters.at(), ..sweeps(&params.sweep) };
                // SAFETY: as above.
                unsafe { self.launch(TeamParams { sweep, ..**params }) }?;
            }
            FormParams::Domains(params) => {
                let params = DomainParams {
                    counters,
                    work,
                    starts,
                    time,
                    n_starts,
                    n_nodes,
                    keep: self.keep,
                    most_rounds: MOST_SWEEPS,
                    ..**params
                };
                // SAFETY: as above.
                unsafe { self.launch(params) }?;
            }
        }
        wait(&self.stream)?;
        let seconds = begin.elapsed().as_secs_f64() / sets.len() as f64;
        let mut counters = [0; COUNTERS + LISTS + 4];
        self.small.read(&mut counters)?;
        if let FormParams::Together(_, of_team) = &self.form {
            of_team.read(&mut counters[..COUNTERS])?;
        }
        let long = |at: usize| u64::from(counters[at]) | u64::from(counters[at + 1]) << 32;
        Ok(Statistics {
            sweeps: counters[7].saturating_sub(1),
            local_solves: long(COUNTERS + LISTS),
            passed_on: long(COUNTERS + LISTS + 2),
            seconds,
            ..Default::default()
        })
    }

    /// Starts the kernel on all of the device.
    ///
    /// # Safety
    /// `P` has the layout of the kernel's parameters, and what they point to is as long as the kernel takes.
    unsafe fn launch<P>(&self, params: P) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.kernel.launch_resident(&self.gpu, &self.stream, self.most_blocks, &mut arguments![params]) }
    }
}

/// Sets of starts that were solved at once.
struct Group<T> {
    /// Their numbers.
    range: Range<usize>,
    /// Times after the first start, (sets, nodes).
    buffer: HostBuffer<T>,
    statistics: Statistics,
}

/// What a set of starts gives, from its times after the first start.
fn arrival<T: Real>(times: &[T], first: f64, statistics: Statistics) -> Arrival<T> {
    let mut unreached = 0;
    let first = T::from_f64(first);
    let take = |&time: &T| {
        unreached += usize::from(time == T::INFINITY);
        time + first
    };
    let time = times.iter().map(take).collect();
    Arrival { time, unreached, statistics }
}

/// An address as the kernels' structures hold it.
fn pointer<T, P: Pointer<T>>(address: u64) -> P {
    P::from_address(address)
}

/// The kernel of an active list.
fn sweep_kernel<T>(
    gpu: &Gpu,
    corners: usize,
    solver: LocalSolver,
    (wide, of_several): (bool, bool),
) -> Result<(Module, Kernel), DeviceError> {
    let module = gpu.module(match (wide, of_several, size_of::<T>()) {
        (true, false, _) => "eikonal_wide",
        (true, true, _) => "eikonal_wide_of_devices",
        (false, false, 8) => "eikonal_active_f64",
        (false, false, _) => "eikonal_active_f32",
        (false, true, 8) => "eikonal_active_of_devices_f64",
        (false, true, _) => "eikonal_active_of_devices_f32",
    })?;
    let name = match (corners, solver) {
        (3, _) => "active_three_8",
        _ if wide => "wide_six",
        (_, LocalSolver::Six) => "active_six_16",
        (_, LocalSolver::Eighteen) => "active_eighteen_16",
        (_, LocalSolver::OnTheFly) => "active_fly_16",
    };
    let kernel = Kernel::new(gpu, &module, name, if wide { WIDE_SHARED } else { 0 })?;
    Ok((module, kernel))
}

/// The bits of a number, low word first.
fn push_bits<T: Real>(to: &mut Vec<u32>, value: T) {
    if size_of::<T>() == 8 {
        let bits = value.to_f64().to_bits();
        to.extend([bits as u32, (bits >> 32) as u32]);
    } else {
        to.push((value.to_f64() as f32).to_bits());
    }
}

/// Whether the elements round any nodes that a thread block of wide.cu may take at once find places on its list, 32 a place.
fn fits_wide(mesh: &EikonalMeshView, sets: usize) -> bool {
    let mut places: Vec<usize> =
        mesh.incident_first.windows(2).map(|pair| ((pair[1] - pair[0]) as usize).div_ceil(32)).collect();
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.iter().flat_map(|places| std::iter::repeat_n(places, sets)).take(WIDE_THREADS as usize).sum::<usize>()
        <= WIDE_ITEMS as usize
}

/// What each node needs of the elements round it, put together on the device.
fn widen<T: Real>(setup: &mut Setup, module: &Module, elements: &DeviceElements<T>) -> Result<Slice<u32>, DeviceError> {
    let n = elements.incident.len();
    let wide = setup.arena.zeros::<u32>("elements by corner", 9 * n)?;
    let kernel = Kernel::new(&setup.gpu, module, "widen", 0)?;
    let (incident, nodes) = (elements.incident.pointer(), elements.nodes.pointer());
    let (numbers, to, n_incident) = (elements.numbers.pointer(), wide.pointer(), n as u64);
    let blocks = n.div_ceil(256).max(1) as u32;
    // SAFETY: what `widen` takes, in its order; `wide` is as long as it writes.
    unsafe { kernel.launch(&setup.stream, blocks, &mut arguments![incident, nodes, numbers, to, n_incident])? };
    setup.stream.synchronize()?;
    Ok(wide)
}
