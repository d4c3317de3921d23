//! The Eikonal equation on a CUDA device: one launch from the starts to the times, the host does not take part.
//!
//! There are two forms. The *active list* (active.cu; wide.cu, faster, for tetrahedra in single precision) takes the nodes of a
//! sweep from the whole mesh, for several sets of starts at once; it gives the same bits on every run. *Sub-domains*
//! (domains.cu) are the paper's two approaches; their last bits may differ from run to run. See README.md beside this file.

mod layout;

use std::time::Instant;

use super::problem::{
    Arrival, Decomposition, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Statistics, first_time,
};
use super::products::{Eighteen, OnTheFly, Six, Three};
use super::{check, edge_time};
use crate::simd::Real;
use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;

use crate::device::layout::{Out, Pointer};
use crate::device::{
    Arena, Buffer, DeviceError, Gpu, Kernel, MemoryReport, Module, Plain as _, Slice, Stream, arguments,
};
use layout::*;

/// Most sweeps before a solve is given up: more than any mesh needs.
const MOST_SWEEPS: u32 = 1 << 24;
/// Memory kept free, bytes.
const RESERVE: u64 = 256 << 20;

/// What helps where memory does not suffice.
const ADVICE: &str = "a larger device, or --device cpu";

/// How to use the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuSettings {
    /// Which device.
    pub ordinal: u32,
    /// Most sets of starts that are solved at once.
    pub sets: usize,
    /// Whether what a node needs of its elements may be stored once for each of their corners, which is the fastest form;
    /// otherwise elements are stored once, as where memory is short.
    pub wide: bool,
    /// As in [`EikonalSettings::window`]; more sweeps cost more here than more local solves.
    pub window: f64,
    /// Sweeps of a sub-domain between two exchanges, in the second approach.
    pub inner: u32,
    /// Largest number of active nodes of a set of starts, for each multiprocessor, for which a sweep ignores the time window.
    /// Only in the fastest form.
    pub window_free: u32,
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { ordinal: 0, sets: 8, wide: true, window: 4.0, inner: 1, window_free: 32 }
    }
}

/// Counters that the kernels share, and behind them the earliest times and lengths of lists.
const COUNTERS: usize = 8;
const LISTS: usize = 6 * MOST_SETS as usize;

/// What a form has beside the elements.
enum FormParams<T: Real> {
    /// An active list of the whole mesh.
    Active(Box<SweepParams<T>>),
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
    _arena: Arena,
    /// Counters, lists, work (two numbers of 64 bits), and the starts.
    small: Buffer<u32>,
    time: Slice<T>,
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

/// What a mesh needs on a device, bytes.
struct Needs {
    /// Elements, and the tables of sub-domains.
    fixed: u64,
    /// A set of starts.
    set: u64,
    /// What a node needs of its elements, once for each of their corners.
    wide: u64,
}

impl Needs {
    fn new<T>(mesh: &EikonalMeshView, domains: Option<&SubDomainsView>, solver: LocalSolver, shift: u32) -> Self {
        let (n, number) = (mesh.n_nodes(), size_of::<T>());
        let numbers_of_element = match (mesh.corners, solver) {
            (3, _) => 3,
            (_, LocalSolver::Eighteen) => 18,
            _ => 6,
        };
        let element_bytes = 4 * mesh.corners + number * numbers_of_element;
        let of_domains =
            domains.map_or(0, |domains| 4 * (mesh.neighbours.len() + 3 * domains.halo.len() + 4 * n) + number * n);
        let points = if solver == LocalSolver::OnTheFly { 4 * number * n } else { 0 };
        let set = if domains.is_some() { number * n } else { ((4 * number + 8) << shift) + number * n };
        Self {
            fixed: (element_bytes * mesh.n_elements() + 4 * mesh.incident.len() + 4 * n + of_domains + points) as u64,
            set: set as u64,
            wide: 36 * mesh.incident.len() as u64,
        }
    }
}

/// Nodes and numbers of elements, and which elements touch each node.
type Elements<T> = (Slice<u32>, Slice<T>, Slice<u32>);

/// Puts elements on the device.
fn store<T: Real>(
    problem: &EikonalProblem,
    solver: LocalSolver,
    arena: &mut Arena,
) -> Result<(Stored<T>, Elements<T>), DeviceError> {
    let (mesh, metrics) = (&problem.mesh, &problem.metrics);
    let nodes = arena.copy("nodes of elements", mesh.elements)?;
    let mut stored = Stored { nodes: nodes.at(), ..Stored::zeroed() };
    let numbers = match (mesh.corners, solver) {
        (3, _) => arena.copy("numbers of elements", Three::<T>::new(mesh, metrics).0.as_flattened())?,
        (_, LocalSolver::Six) => arena.copy("numbers of elements", Six::<T>::new(mesh, metrics).0.as_flattened())?,
        (_, LocalSolver::Eighteen) => {
            arena.copy("numbers of elements", Eighteen::<T>::new(mesh, metrics).0.as_flattened())?
        }
        (_, LocalSolver::OnTheFly) => {
            let of_mesh = OnTheFly::<T>::new(mesh, metrics);
            let point: Vec<T> = of_mesh.point.iter().flat_map(|&[x, y, z]| [x, y, z, T::default()]).collect();
            stored.point = arena.copy("positions", &point)?.at();
            arena.copy("numbers of elements", of_mesh.metric.as_flattened())?
        }
    };
    stored.numbers = numbers.at();
    Ok((stored, (nodes, numbers, arena.copy("incident elements", mesh.incident)?)))
}

impl<T: Real> GpuSolver<T> {
    /// Copies everything to the device.
    ///
    /// # Errors
    /// Arrays that do not fit the mesh; no device, too little memory on it, sub-domains too large for its shared memory.
    pub fn new(
        problem: &EikonalProblem,
        settings: &EikonalSettings,
        device: &GpuSettings,
    ) -> Result<Self, EikonalError> {
        check(problem)?;
        let begin = Instant::now();
        let gpu = Gpu::open(device.ordinal)?;
        let mesh = &problem.mesh;
        let n = mesh.n_nodes();
        let domains = problem.domains.as_ref().filter(|_| settings.decomposition.by_domains());
        // Tables of sub-domains have six products.
        let solver = if domains.is_some() { LocalSolver::Six } else { settings.local_solver };
        let shift = n.next_power_of_two().trailing_zeros();
        let most_sets = (MOST_SETS as usize).min(1 << (32 - shift).min(16));
        let mut sets = if domains.is_some() { 1 } else { device.sets.clamp(1, most_sets) };

        let needs = Needs::new::<T>(mesh, domains, solver, shift);
        let free = gpu.free_memory()?.saturating_sub(RESERVE);
        while sets > 1 && needs.fixed + sets as u64 * needs.set > free {
            sets /= 2;
        }
        let needed = needs.fixed + sets as u64 * needs.set;
        if needed > free {
            return Err(DeviceError::Memory { name: gpu.name.clone(), needed, free, advice: ADVICE }.into());
        }
        let wide = device.wide
            && size_of::<T>() == 4
            && mesh.corners == 4
            && solver == LocalSolver::Six
            && domains.is_none()
            && fits_wide(mesh, sets)
            && needed + needs.wide <= free;

        let stream = Stream::new()?;
        let mut arena = Arena::default();
        let (stored, (nodes, numbers, incident)) = store::<T>(problem, solver, &mut arena)?;
        let incident_first = arena.copy("first incident elements", mesh.incident_first)?;
        let (module, kernel, form) = if let Some(domains) = domains {
            let first = settings.decomposition == Decomposition::First;
            let (module, kernel, most_own) = domain_kernel::<T>(&gpu, mesh.corners, domains, first)?;
            let most = DomainParams {
                stored,
                incident_first: incident_first.at(),
                incident: incident.at(),
                most_own,
                inner: device.inner.max(1),
                ..DomainParams::zeroed()
            };
            (module, kernel, FormParams::Domains(Box::new(put_domains(mesh, domains, first, most, &mut arena)?)))
        } else {
            let (module, kernel) = sweep_kernel::<T>(&gpu, mesh.corners, solver, wide)?;
            let slots = sets << shift;
            let words = slots * 2 * size_of::<T>() / 4;
            let mut record = || arena.zeros::<u32>("records", words);
            let record = [record()?, record()?].map(|record| Out::<Record>::from_address(record.pointer()));
            let mut list = || arena.zeros::<u32>("lists", slots);
            let list = [list()?.at(), list()?.at()];
            let mut params = SweepParams {
                stored,
                incident_first: incident_first.at(),
                incident: incident.at(),
                record,
                list,
                shift,
                window: T::from_f64(device.window * edge_time(problem)),
                window_free: device.window_free * gpu.multiprocessors,
                ..SweepParams::zeroed()
            };
            if wide {
                let tables = widen((&gpu, &stream), &module, (nodes, numbers, incident), &mut arena)?;
                (params.wide, params.n_incident) = (tables.at(), incident.len() as u64);
            }
            (module, kernel, FormParams::Active(Box::new(params)))
        };
        Ok(Self {
            small: Buffer::zeros(COUNTERS + LISTS + 4 + 64)?,
            time: arena.zeros("times", sets * n)?,
            n_nodes: n,
            sets,
            keep: T::from_f64(1.0 - settings.tolerance),
            setup_seconds: begin.elapsed().as_secs_f64(),
            memory: arena.report(),
            _module: module,
            kernel,
            form,
            _arena: arena,
            stream,
            gpu,
        })
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
        let mut found = None;
        self.solve_many(&[starts], |_, arrival| found = Some(arrival))?;
        found.ok_or(EikonalError::NoStart)
    }

    /// Solves for many sets of starts, several at a time, and hands each result over with its number, in order. Sweeps and work in the statistics
    /// are those of all that were solved together; `seconds` is shared out evenly.
    ///
    /// # Errors
    /// As for `solve`.
    pub fn solve_many<S: AsRef<[(u32, f64)]>>(
        &mut self,
        sets: &[S],
        mut each: impl FnMut(usize, Arrival<T>),
    ) -> Result<(), EikonalError> {
        let first: Vec<f64> =
            sets.iter().map(|starts| first_time(starts.as_ref(), self.n_nodes)).collect::<Result<_, _>>()?;
        self.gpu.enter()?;
        let mut times = Vec::new();
        for begin in (0..sets.len()).step_by(self.sets) {
            let some = begin..sets.len().min(begin + self.sets);
            let statistics = self.run(&sets[some.clone()], &first[some.clone()])?;
            times.resize(some.len() * self.n_nodes, T::default());
            self.time.read(&mut times)?;
            for (time, case) in times.chunks_exact(self.n_nodes).zip(some) {
                let mut unreached = 0;
                let first = T::from_f64(first[case]);
                let take = |&time: &T| {
                    unreached += usize::from(time == T::INFINITY);
                    time + first
                };
                let time = time.iter().map(take).collect();
                each(case, Arrival { time, unreached, statistics: statistics.clone() });
            }
        }
        Ok(())
    }

    /// Times of some sets of starts, which stay on the device.
    fn run<S: AsRef<[(u32, f64)]>>(&mut self, sets: &[S], first: &[f64]) -> Result<Statistics, EikonalError> {
        let begin = Instant::now();
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
        if small.len() > self.small.len() {
            self.small = Buffer::zeros(small.len())?;
        }
        self.small.write(&small)?;
        let n_starts = sets.iter().map(|list| list.as_ref().len() as u32).sum();
        let counters = self.small.pointer();
        let earliest = counters + 4 * COUNTERS as u64;
        let work = earliest + 4 * LISTS as u64;
        let (counters, earliest, work, starts) =
            (pointer(counters), pointer(earliest), pointer(work), pointer(work + 16));
        let (time, n_nodes) = (self.time.at(), self.n_nodes as u32);
        match &self.form {
            FormParams::Active(params) => {
                let params = SweepParams {
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
                    ..**params
                };
                // SAFETY: what the kernel takes, and every array is as long as it asks for.
                unsafe { self.launch(params) }?;
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
        self.stream.synchronize()?;
        let seconds = begin.elapsed().as_secs_f64() / sets.len() as f64;
        let mut counters = [0; COUNTERS + LISTS + 4];
        self.small.read(&mut counters)?;
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
        unsafe { self.kernel.launch_resident(&self.gpu, &self.stream, u32::MAX, &mut arguments![params]) }
    }
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
    wide: bool,
) -> Result<(Module, Kernel), DeviceError> {
    let module = gpu.module(match (wide, size_of::<T>()) {
        (true, _) => "eikonal_wide",
        (false, 8) => "eikonal_active_f64",
        (false, _) => "eikonal_active_f32",
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

/// The kernel of sub-domains in the first or the second approach, and the most own nodes of one.
fn domain_kernel<T>(
    gpu: &Gpu,
    corners: usize,
    domains: &SubDomainsView,
    first: bool,
) -> Result<(Module, Kernel, u32), EikonalError> {
    let module = gpu.module(if size_of::<T>() == 8 { "eikonal_domains_f64" } else { "eikonal_domains_f32" })?;
    let most_own = (0..domains.n_domains()).map(|d| domains.n_own(d) as u32).max().unwrap_or(0);
    let (name, shared) = match (first, corners) {
        (true, 3) => ("first_three", 0),
        (true, _) => ("first_six", 0),
        (false, 3) => ("second_three", second_shared::<T>(most_own)),
        (false, _) => ("second_six", second_shared::<T>(most_own)),
    };
    let kernel = Kernel::new(gpu, &module, name, shared).map_err(|error| match error {
        DeviceError::Shared { name, .. } => EikonalError::DomainSize { name, nodes: most_own },
        error => error.into(),
    })?;
    Ok((module, kernel, most_own))
}

/// Tables of the block file as they are, and the state of the sweeps. `parts`: the first approach, whose lists are of parts of
/// sub-domains.
fn put_domains<T: Real>(
    mesh: &EikonalMeshView,
    domains: &SubDomainsView,
    parts: bool,
    params: DomainParams<T>,
    arena: &mut Arena,
) -> Result<DomainParams<T>, DeviceError> {
    let (n, n_domains) = (mesh.n_nodes(), domains.n_domains());
    let node_first = domains.starts();
    let halo_first: Vec<u32> = (0..=n_domains).map(|domain| domains.halo_first(domain) as u32).collect();
    // Messages by owner: owner and reader, and of each node its local number at both.
    let (mut pairs, mut pair_first, mut entries) = (Vec::new(), vec![0_u32], Vec::new());
    for message in (0..n_domains).flat_map(|domain| domains.sent(domain)) {
        pairs.push([message.owner, message.reader]);
        let first = (domains.n_own(message.reader as usize) + message.halo_first) as u32;
        let owner = node_first[message.owner as usize];
        entries.extend(message.items.iter().zip(first..).map(|(node, there)| [node - owner, there]));
        pair_first.push(entries.len() as u32);
    }
    // Two words a part.
    let list = if parts { 2 * (n / PART as usize + n_domains) } else { n_domains };
    Ok(DomainParams {
        neighbour_first: arena.copy("first neighbours", mesh.neighbour_first)?.at(),
        neighbours: arena.copy("neighbours", mesh.neighbours)?.at(),
        node_first: arena.copy("first own nodes", &node_first)?.at(),
        halo_first: arena.copy("first halo nodes", &halo_first)?.at(),
        halo: arena.copy("halo", domains.halo)?.at(),
        sent_first: arena.copy("first pairs", domains.sent_first)?.at(),
        pair_first: arena.copy("first entries of pairs", &pair_first)?.at(),
        pair: arena.copy("pairs", &pairs)?.at(),
        entries: arena.copy("entries of pairs", &entries)?.at(),
        bits: arena.zeros::<T>("times as words", n)?.at(),
        news: arena.zeros::<u32>("news", (n + domains.halo.len()).div_ceil(32))?.at(),
        changed: arena.zeros::<u32>("changed", n + n_domains)?.at(),
        active: arena.zeros::<u32>("active nodes", if parts { 2 * n } else { 0 })?.at(),
        n_active: arena.zeros::<u32>("numbers of active nodes", 2 * n_domains)?.at(),
        list: [arena.zeros::<u32>("lists", list)?.at(), arena.zeros::<u32>("lists", list)?.at()],
        mark: arena.zeros::<u32>("marks", n_domains)?.at(),
        n_domains: n_domains as u32,
        n_pairs: domains.n_messages() as u32,
        ..params
    })
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

/// Shared memory of the second approach, bytes: times, list, and two bits a node (domains.cu).
fn second_shared<T>(most_own: u32) -> u32 {
    most_own.saturating_mul(size_of::<T>() as u32 + 4).saturating_add(8 * most_own.div_ceil(32))
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
fn widen<T: Real>(
    (gpu, stream): (&Gpu, &Stream),
    module: &Module,
    (nodes, numbers, incident): Elements<T>,
    arena: &mut Arena,
) -> Result<Slice<u32>, DeviceError> {
    let n = incident.len();
    let wide = arena.zeros::<u32>("elements by corner", 9 * n)?;
    let kernel = Kernel::new(gpu, module, "widen", 0)?;
    let (incident, nodes, numbers) = (incident.pointer(), nodes.pointer(), numbers.pointer());
    let (to, n_incident, blocks) = (wide.pointer(), n as u64, n.div_ceil(256).max(1) as u32);
    // SAFETY: what `widen` takes, in its order; `wide` is as long as it writes.
    unsafe { kernel.launch(stream, blocks, &mut arguments![incident, nodes, numbers, to, n_incident])? };
    stream.synchronize()?;
    Ok(wide)
}
