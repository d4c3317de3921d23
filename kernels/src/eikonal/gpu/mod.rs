//! The Eikonal equation on a CUDA device: one launch from the starts to the times, the host does not take part.
//!
//! Two forms. The *active list* (active.cu; wide.cu, faster, for tetrahedra in single precision) takes the nodes of a sweep from the whole mesh, and of several
//! sets of starts at once, so that these share the waiting at barriers; its bits do not depend on the run. *Sub-domains* (domains.cu) are the paper's
//! two approaches, with the interfaces of the block file; there the last bits may.

use std::ffi::c_void;
use std::time::Instant;

use cust::module::Module;

use super::problem::{
    Arrival, Decomposition, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Statistics, first_time,
};
use super::products::{Eighteen, OnTheFly, Six, Three};
use super::{check, edge_time};
use crate::simd::Real;
use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;

use crate::device::{Buffer, DeviceError, Gpu, Kernel, check as checked};

/// The kernels' code, compiled from the .cu files beside this one (`kernels/ptx/build.sh`).
mod ptx {
    pub const WIDE: &str = include_str!("../../../ptx/eikonal_wide.ptx");
    const ACTIVE_F32: &str = include_str!("../../../ptx/eikonal_active_f32.ptx");
    const ACTIVE_F64: &str = include_str!("../../../ptx/eikonal_active_f64.ptx");
    const DOMAINS_F32: &str = include_str!("../../../ptx/eikonal_domains_f32.ptx");
    const DOMAINS_F64: &str = include_str!("../../../ptx/eikonal_domains_f64.ptx");

    pub fn active<T>() -> &'static str {
        if size_of::<T>() == 8 { ACTIVE_F64 } else { ACTIVE_F32 }
    }

    pub fn domains<T>() -> &'static str {
        if size_of::<T>() == 8 { DOMAINS_F64 } else { DOMAINS_F32 }
    }
}

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
    /// 0: the fastest form. 8, 16, 32: lanes that work on the elements of one node where these are stored once; for comparison.
    pub lanes: u32,
    /// As in [`EikonalSettings::window`]; more sweeps cost more here than more local solves.
    pub window: f64,
    /// Sweeps of a sub-domain between two exchanges, in the second approach.
    pub inner: u32,
    /// Nodes of a set of starts, a multiprocessor, up to which none of a sweep waits for the window: there is room for all. In the fastest form alone.
    pub few: u32,
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { ordinal: 0, sets: 8, lanes: 0, window: 4.0, inner: 1, few: 32 }
    }
}

/// The same layout as `Stored` in local.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
struct StoredParams {
    nodes: u64,
    numbers: u64,
    point: u64,
}

/// The same layout as `Sweeps` in local.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
struct SweepParams<T> {
    record: [u64; 2],
    list: [u64; 2],
    counters: u64,
    earliest: u64,
    work: u64,
    starts: u64,
    time: u64,
    n_starts: u32,
    shift: u32,
    n_nodes: u32,
    n_sets: u32,
    window: T,
    keep: T,
    most_sweeps: u32,
    few: u32,
}

/// The same layout as `Params` in active.cu.
#[repr(C)]
struct ActiveParams<T> {
    sweeps: SweepParams<T>,
    stored: StoredParams,
    incident_first: u64,
    incident: u64,
}

/// The same layout as `Params` in wide.cu.
#[repr(C)]
struct WideParams<T> {
    sweeps: SweepParams<T>,
    incident_first: u64,
    wide: u64,
    n_incident: u64,
}

/// Most sets of starts at once (wide.cu).
const MOST_SETS: usize = 32;
/// Counters that the kernels share, and behind them the earliest times and lengths of lists.
const COUNTERS: usize = 8;
const LISTS: usize = 6 * MOST_SETS;
/// Places of `items` in wide.cu, and its threads: so many entries are listed at once.
const ITEMS: usize = 1024;
const WIDE_THREADS: usize = 512;
/// Shared memory of `wide_six`, bytes: `Block` in wide.cu.
const WIDE_SHARED: u32 = 4 * (2560 + 3 * ITEMS as u32 + 11 * 16 * 96 + 2 * MOST_SETS as u32 + 6);

/// The same layout as `Params` in domains.cu.
#[repr(C)]
struct DomainParams<T> {
    stored: StoredParams,
    incident_first: u64,
    incident: u64,
    tables: [u64; 9],
    bits: u64,
    news: u64,
    changed: u64,
    active: u64,
    n_active: u64,
    list: [u64; 2],
    mark: u64,
    counters: u64,
    work: u64,
    starts: u64,
    time: u64,
    n_starts: u32,
    n_nodes: u32,
    n_domains: u32,
    most_own: u32,
    keep: T,
    inner: u32,
    most_rounds: u32,
    n_pairs: u32,
    reserved: u32,
}

/// What one form has beside the elements.
enum Form<T> {
    /// With `wide`: what a node needs of its elements, once for each of their corners.
    Active {
        record: [Buffer<u32>; 2],
        list: [Buffer<u32>; 2],
        shift: u32,
        window: T,
        few: u32,
        wide: Option<Buffer<u32>>,
    },
    Domains(Box<Domains<T>>),
}

/// Tables of the block file as they are, and the state of the sweeps.
struct Domains<T> {
    /// Neighbours of nodes, own nodes, halos and pairs, in the order of `DomainParams`.
    tables: [Buffer<u32>; 9],
    bits: Buffer<T>,
    news: Buffer<u32>,
    changed: Buffer<u32>,
    active: Buffer<u32>,
    n_active: Buffer<u32>,
    list: [Buffer<u32>; 2],
    mark: Buffer<u32>,
    n_domains: u32,
    most_own: u32,
    n_pairs: u32,
    inner: u32,
}

impl<T: Real> Domains<T> {
    /// `parts`: the first approach, whose lists are of parts of sub-domains.
    fn new(
        mesh: &EikonalMeshView,
        domains: &SubDomainsView,
        most_own: u32,
        parts: bool,
        inner: u32,
    ) -> Result<Self, DeviceError> {
        let (n, n_domains) = (mesh.n_nodes(), domains.n_domains());
        let node_first = domains.starts();
        let halo_first: Vec<u32> = (0..=n_domains).map(|domain| domains.halo_first(domain) as u32).collect();
        // Messages by owner: owner and reader, and of each node its local number at both.
        let (mut pair, mut pair_first, mut interface) = (Vec::new(), vec![0_u32], Vec::new());
        for message in (0..n_domains).flat_map(|domain| domains.sent(domain)) {
            pair.extend([message.owner, message.reader]);
            let first = (domains.n_own(message.reader as usize) + message.halo_first) as u32;
            let owner = node_first[message.owner as usize];
            interface.extend(message.items.iter().zip(first..).flat_map(|(node, there)| [node - owner, there]));
            pair_first.push((interface.len() / 2) as u32);
        }
        let tables = [
            mesh.neighbour_first,
            mesh.neighbours,
            &node_first,
            &halo_first,
            domains.halo,
            domains.sent_first,
            &pair_first,
            &pair,
            &interface,
        ]
        .map(Buffer::of);
        let [a, b, c, d, e, f, g, h, i] = tables;
        // PART in domains.cu; two words a part.
        let list = if parts { 2 * (n / 64 + n_domains) } else { n_domains };
        Ok(Self {
            tables: [a?, b?, c?, d?, e?, f?, g?, h?, i?],
            bits: Buffer::zeros(n)?,
            news: Buffer::zeros((n + domains.halo.len()).div_ceil(32))?,
            changed: Buffer::zeros(n + n_domains)?,
            active: Buffer::zeros(if parts { 2 * n } else { 0 })?,
            n_active: Buffer::zeros(2 * n_domains)?,
            list: [Buffer::zeros(list)?, Buffer::zeros(list)?],
            mark: Buffer::zeros(n_domains)?,
            n_domains: n_domains as u32,
            most_own,
            n_pairs: domains.n_messages() as u32,
            inner: inner.max(1),
        })
    }
}

/// A mesh on the device, ready to be solved for one or many sets of starts.
pub struct GpuSolver<T: Real> {
    gpu: Gpu,
    _module: Module,
    kernel: Kernel,
    form: Form<T>,
    nodes: Buffer<u32>,
    numbers: Buffer<T>,
    point: Buffer<T>,
    incident_first: Buffer<u32>,
    incident: Buffer<u32>,
    /// Counters, lists, work (two numbers of 64 bits), and the starts.
    small: Buffer<u32>,
    time: Buffer<T>,
    n_nodes: usize,
    sets: usize,
    keep: T,
    /// Computing and copying what is stored, s.
    pub setup_seconds: f64,
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
        let (n, metrics) = (mesh.n_nodes(), &problem.metrics);
        let domains = problem.domains.as_ref().filter(|_| settings.decomposition.by_domains());
        // Tables of sub-domains have six products.
        let solver = if domains.is_some() { LocalSolver::Six } else { settings.local_solver };
        let shift = n.next_power_of_two().trailing_zeros();
        let mut sets =
            if domains.is_some() { 1 } else { device.sets.clamp(1, MOST_SETS.min(1 << (32 - shift).min(16))) };

        let number = size_of::<T>();
        let numbers_of_element = match (mesh.corners, solver) {
            (3, _) => 3,
            (_, LocalSolver::Eighteen) => 18,
            _ => 6,
        };
        let element_bytes = 4 * mesh.corners + number * numbers_of_element;
        let of_domains =
            domains.map_or(0, |domains| 4 * (mesh.neighbours.len() + 3 * domains.halo.len() + 4 * n) + number * n);
        let fixed = (element_bytes * mesh.n_elements() + 4 * mesh.incident.len() + 4 * n + of_domains) as u64
            + if solver == LocalSolver::OnTheFly { (4 * number * n) as u64 } else { 0 };
        let a_set = if domains.is_some() {
            (number * n) as u64
        } else {
            ((4 * number as u64 + 8) << shift) + (number * n) as u64
        };
        let free = gpu.free_memory()?.saturating_sub(RESERVE);
        while sets > 1 && fixed + sets as u64 * a_set > free {
            sets /= 2;
        }
        let wide_bytes = 36 * mesh.incident.len() as u64;
        let wide = device.lanes == 0
            && number == 4
            && mesh.corners == 4
            && solver == LocalSolver::Six
            && domains.is_none()
            && fits_wide(mesh, sets)
            && fixed + wide_bytes + sets as u64 * a_set <= free;
        let needed = fixed + sets as u64 * a_set;
        if needed > free {
            return Err(DeviceError::Memory { name: gpu.name.clone(), needed, free, advice: ADVICE }.into());
        }

        let (numbers, point) = match (mesh.corners, solver) {
            (3, _) => (Buffer::of(Three::<T>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?),
            (_, LocalSolver::Six) => (Buffer::of(Six::<T>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?),
            (_, LocalSolver::Eighteen) => {
                (Buffer::of(Eighteen::<T>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?)
            }
            (_, LocalSolver::OnTheFly) => {
                let stored = OnTheFly::<T>::new(mesh, metrics);
                let point: Vec<T> = stored.point.iter().flat_map(|&[x, y, z]| [x, y, z, T::default()]).collect();
                (Buffer::of(stored.metric.as_flattened())?, Buffer::of(&point)?)
            }
        };
        let (nodes, incident) = (Buffer::of(mesh.elements)?, Buffer::of(mesh.incident)?);
        let (module, kernel, form) = if let Some(domains) = domains {
            let module = gpu.module(ptx::domains::<T>())?;
            let most_own = (0..domains.n_domains()).map(|d| domains.n_own(d) as u32).max().unwrap_or(0);
            let first = settings.decomposition == Decomposition::First;
            let (name, shared) = match (first, mesh.corners) {
                (true, 3) => ("first_three", 0),
                (true, _) => ("first_six", 0),
                (false, 3) => ("second_three", second_shared::<T>(most_own)),
                (false, _) => ("second_six", second_shared::<T>(most_own)),
            };
            let kernel = Kernel::new(&gpu, &module, name, shared).map_err(|error| match error {
                DeviceError::Shared { name, .. } => EikonalError::DomainSize { name, nodes: most_own },
                error => error.into(),
            })?;
            let domains = Domains::new(mesh, domains, most_own, first, device.inner)?;
            (module, kernel, Form::Domains(Box::new(domains)))
        } else {
            let module = gpu.module(if wide { ptx::WIDE } else { ptx::active::<T>() })?;
            let name = match (mesh.corners, solver, device.lanes) {
                (3, ..) => "active_three_8",
                _ if wide => "wide_six",
                (_, LocalSolver::Six, 8) => "active_six_8",
                (_, LocalSolver::Six, 32) => "active_six_32",
                (_, LocalSolver::Six, _) => "active_six_16",
                (_, LocalSolver::Eighteen, _) => "active_eighteen_16",
                (_, LocalSolver::OnTheFly, _) => "active_fly_16",
            };
            let kernel = Kernel::new(&gpu, &module, name, if wide { WIDE_SHARED } else { 0 })?;
            let slots = sets << shift;
            let words = slots * 2 * number / 4;
            let record = [Buffer::zeros(words)?, Buffer::zeros(words)?];
            let list = [Buffer::zeros(slots)?, Buffer::zeros(slots)?];
            let window = T::from_f64(device.window * edge_time(problem));
            let few = device.few * gpu.multiprocessors;
            let wide = if wide { Some(widen(&gpu, &module, mesh, &nodes, &numbers, &incident)?) } else { None };
            (module, kernel, Form::Active { record, list, shift, window, few, wide })
        };
        Ok(Self {
            nodes,
            numbers,
            point,
            incident_first: Buffer::of(mesh.incident_first)?,
            incident,
            small: Buffer::zeros(COUNTERS + LISTS + 4 + 64)?,
            time: Buffer::zeros(sets * n)?,
            n_nodes: n,
            sets,
            keep: T::from_f64(1.0 - settings.tolerance),
            setup_seconds: begin.elapsed().as_secs_f64(),
            _module: module,
            kernel,
            form,
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
        let shift = if let Form::Active { shift, .. } = self.form { shift } else { 0 };
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
        let starts = work + 16;
        let time = self.time.pointer();
        let n_nodes = self.n_nodes as u32;
        let stored =
            StoredParams { nodes: self.nodes.pointer(), numbers: self.numbers.pointer(), point: self.point.pointer() };
        let (incident_first, incident) = (self.incident_first.pointer(), self.incident.pointer());
        match &self.form {
            Form::Active { record, list, shift, window, few, wide } => {
                let sweeps = SweepParams {
                    record: [record[0].pointer(), record[1].pointer()],
                    list: [list[0].pointer(), list[1].pointer()],
                    counters,
                    earliest,
                    work,
                    starts,
                    time,
                    n_starts,
                    shift: *shift,
                    n_nodes,
                    n_sets: sets.len() as u32,
                    window: *window,
                    keep: self.keep,
                    most_sweeps: MOST_SWEEPS,
                    few: *few,
                };
                match wide {
                    Some(wide) => {
                        let n_incident = (wide.len() / 9) as u64;
                        let params = WideParams { sweeps, incident_first, wide: wide.pointer(), n_incident };
                        // SAFETY: the layout is the kernel's, and every array is as long as it takes.
                        unsafe { self.launch(params) }?;
                    }
                    None => {
                        let params = ActiveParams { sweeps, stored, incident_first, incident };
                        // SAFETY: as above.
                        unsafe { self.launch(params) }?;
                    }
                }
            }
            Form::Domains(domains) => {
                let params = DomainParams {
                    stored,
                    incident_first,
                    incident,
                    tables: std::array::from_fn(|i| domains.tables[i].pointer()),
                    bits: domains.bits.pointer(),
                    news: domains.news.pointer(),
                    changed: domains.changed.pointer(),
                    active: domains.active.pointer(),
                    n_active: domains.n_active.pointer(),
                    list: [domains.list[0].pointer(), domains.list[1].pointer()],
                    mark: domains.mark.pointer(),
                    counters,
                    work,
                    starts,
                    time,
                    n_starts,
                    n_nodes,
                    n_domains: domains.n_domains,
                    most_own: domains.most_own,
                    keep: self.keep,
                    inner: domains.inner,
                    most_rounds: MOST_SWEEPS,
                    n_pairs: domains.n_pairs,
                    reserved: 0,
                };
                // SAFETY: as above.
                unsafe { self.launch(params) }?;
            }
        }
        // SAFETY: the null stream is always there.
        checked("finish its work", unsafe { cust::sys::cuStreamSynchronize(std::ptr::null_mut()) })?;
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
    unsafe fn launch<P>(&self, mut params: P) -> Result<(), DeviceError> {
        let mut arguments = [(&raw mut params).cast::<c_void>()];
        // SAFETY: the caller's promise.
        unsafe { self.kernel.launch_together(&self.gpu, std::ptr::null_mut(), u32::MAX, &mut arguments) }
    }
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
    places.iter().flat_map(|places| std::iter::repeat_n(places, sets)).take(WIDE_THREADS).sum::<usize>() <= ITEMS
}

/// What each node needs of the elements round it, put together on the device.
fn widen<T: Real>(
    gpu: &Gpu,
    module: &Module,
    mesh: &EikonalMeshView,
    nodes: &Buffer<u32>,
    numbers: &Buffer<T>,
    incident: &Buffer<u32>,
) -> Result<Buffer<u32>, DeviceError> {
    let wide = Buffer::zeros(9 * mesh.incident.len())?;
    let kernel = Kernel::new(gpu, module, "widen", 0)?;
    let (mut incident, mut nodes, mut numbers) = (incident.pointer(), nodes.pointer(), numbers.pointer());
    let (mut to, mut n_incident) = (wide.pointer(), mesh.incident.len() as u64);
    let mut arguments = [&raw mut incident, &raw mut nodes, &raw mut numbers, &raw mut to, &raw mut n_incident]
        .map(|argument| argument.cast::<c_void>());
    // SAFETY: what `widen` takes, in its order; `wide` is as long as it writes.
    unsafe {
        kernel.launch(std::ptr::null_mut(), mesh.incident.len().div_ceil(256).max(1) as u32, &mut arguments)?;
        checked("finish its work", cust::sys::cuStreamSynchronize(std::ptr::null_mut()))?;
    }
    Ok(wide)
}
