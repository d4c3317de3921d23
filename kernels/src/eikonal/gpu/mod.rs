//! The Eikonal equation on a CUDA device, in single precision: one launch from the starts to the times, the host does not take part.
//!
//! Two forms. The *active list* (active.cu) takes the nodes of a sweep from the whole mesh, and of several sets of starts at once, so that these
//! share the waiting at barriers; its bits do not depend on the run. *Sub-domains* (domains.cu) are the paper's second approach, a thread block
//! a sub-domain; there the last bits may.

use std::ffi::c_void;
use std::time::Instant;

use cust::module::Module;

use super::number::Real;
use super::problem::{
    Arrival, Decomposition, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Statistics, first_time,
};
use super::products::{Eighteen, OnTheFly, Six, Three};
use super::{check, edge_time};
use pogo_formats::eikonal::EikonalMeshView;

use crate::cuda::{Buffer, DeviceError, Gpu, Kernel, check as checked};

/// The kernels' code, compiled from the .cu files beside this one (`kernels/ptx/build.sh`).
mod ptx {
    pub const ACTIVE: &str = include_str!("../../../ptx/eikonal_active.ptx");
    pub const WIDE: &str = include_str!("../../../ptx/eikonal_wide.ptx");
    pub const DOMAINS: &str = include_str!("../../../ptx/eikonal_domains.ptx");
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
    /// Sweeps of a sub-domain between two exchanges.
    pub inner: u32,
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { ordinal: 0, sets: 8, lanes: 0, window: 5.0, inner: 4 }
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

/// The same layout as `Params` in active.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct ActiveParams {
    stored: StoredParams,
    incident_first: u64,
    incident: u64,
    record: [u64; 2],
    list: [u64; 2],
    counters: u64,
    work: u64,
    starts: u64,
    time: u64,
    n_starts: u32,
    shift: u32,
    n_nodes: u32,
    n_sets: u32,
    window: f32,
    keep: f32,
    most_sweeps: u32,
    reserved: u32,
}

/// The same layout as `Params` in wide.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct WideParams {
    incident_first: u64,
    wide: u64,
    record: [u64; 2],
    list: [u64; 2],
    counters: u64,
    work: u64,
    starts: u64,
    time: u64,
    n_incident: u64,
    n_starts: u32,
    shift: u32,
    n_nodes: u32,
    n_sets: u32,
    window: f32,
    keep: f32,
    most_sweeps: u32,
    reserved: u32,
}

/// Most sets of starts at once (wide.cu), and counters that the kernels share.
const MOST_SETS: usize = 32;
const COUNTERS: usize = 8 + 3 * MOST_SETS;
/// Shared memory of `wide_six`, bytes: `Block` in wide.cu.
const WIDE_SHARED: u32 = 4 * (2560 + 3 * 1024 + 11 * 16 * 96 + 32 + 6);

/// The same layout as `Params` in domains.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct DomainParams {
    stored: StoredParams,
    incident_first: u64,
    incident: u64,
    neighbour_first: u64,
    neighbours: u64,
    node_first: u64,
    owner: u64,
    bits: u64,
    dirty: u64,
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
    keep: f32,
    inner: u32,
    most_rounds: u32,
    reserved: u32,
}

/// What one form has beside the elements.
enum Form {
    /// With `wide`: what a node needs of its elements, once for each of their corners.
    Active {
        record: [Buffer<u32>; 2],
        list: [Buffer<u32>; 2],
        shift: u32,
        window: f32,
        wide: Option<Buffer<u32>>,
    },
    Domains {
        tables: [Buffer<u32>; 4],
        state: [Buffer<u32>; 5],
        n_domains: u32,
        most_own: u32,
        inner: u32,
    },
}

/// A mesh on the device, ready to be solved for one or many sets of starts.
pub struct GpuSolver {
    gpu: Gpu,
    _module: Module,
    kernel: Kernel,
    form: Form,
    nodes: Buffer<u32>,
    numbers: Buffer<f32>,
    point: Buffer<f32>,
    incident_first: Buffer<u32>,
    incident: Buffer<u32>,
    /// Counters, work (two numbers of 64 bits), and the starts.
    small: Buffer<u32>,
    time: Buffer<f32>,
    n_nodes: usize,
    sets: usize,
    keep: f32,
    /// Computing and copying what is stored, s.
    pub setup_seconds: f64,
}

impl GpuSolver {
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
        let domains = problem.domains.as_ref().filter(|_| settings.decomposition == Decomposition::Second);
        // Tables of sub-domains have six products.
        let solver = if domains.is_some() { LocalSolver::Six } else { settings.local_solver };
        let shift = n.next_power_of_two().trailing_zeros();
        let mut sets =
            if domains.is_some() { 1 } else { device.sets.clamp(1, MOST_SETS.min(1 << (32 - shift).min(16))) };

        let element_bytes = match (mesh.corners, solver) {
            (3, _) => 24,
            (_, LocalSolver::Eighteen) => 88,
            _ => 40,
        };
        let fixed = (element_bytes * mesh.n_elements() + 4 * mesh.incident.len() + 24 * n) as u64
            + if domains.is_some() { 4 * mesh.neighbours.len() as u64 + 12 * n as u64 } else { 0 };
        let a_set = (24_u64 << shift) + 4 * n as u64;
        let free = gpu.free_memory()?.saturating_sub(RESERVE);
        while sets > 1 && fixed + sets as u64 * a_set > free {
            sets /= 2;
        }
        let wide_bytes = 36 * mesh.incident.len() as u64;
        let wide = device.lanes == 0
            && mesh.corners == 4
            && solver == LocalSolver::Six
            && domains.is_none()
            && fixed + wide_bytes + sets as u64 * a_set <= free;
        let needed = fixed + sets as u64 * a_set;
        if needed > free {
            return Err(DeviceError::Memory { name: gpu.name.clone(), needed, free, advice: ADVICE }.into());
        }

        let (numbers, point) = match (mesh.corners, solver) {
            (3, _) => (Buffer::of(Three::<f32>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?),
            (_, LocalSolver::Six) => (Buffer::of(Six::<f32>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?),
            (_, LocalSolver::Eighteen) => {
                (Buffer::of(Eighteen::<f32>::new(mesh, metrics).0.as_flattened())?, Buffer::zeros(0)?)
            }
            (_, LocalSolver::OnTheFly) => {
                let stored = OnTheFly::<f32>::new(mesh, metrics);
                let point: Vec<f32> = stored.point.iter().flat_map(|&[x, y, z]| [x, y, z, 0.0]).collect();
                (Buffer::of(stored.metric.as_flattened())?, Buffer::of(&point)?)
            }
        };
        let (nodes, incident) = (Buffer::of(mesh.elements)?, Buffer::of(mesh.incident)?);
        let (module, kernel, form) = if let Some(domains) = domains {
            let own = |d: usize| domains.node_first[d + 1] - domains.node_first[d];
            let n_domains = domains.n_domains();
            let most_own = (0..n_domains).map(own).max().unwrap_or(0);
            let words = most_own.div_ceil(32);
            let module = gpu.module(ptx::DOMAINS)?;
            let name = if mesh.corners == 3 { "domains_three" } else { "domains_six" };
            let kernel = Kernel::new(&gpu, &module, name, 4 * (2 * most_own + 2 * words))?;
            let owner: Vec<u32> = (0..n_domains).flat_map(|d| std::iter::repeat_n(d as u32, own(d) as usize)).collect();
            let tables = [
                Buffer::of(mesh.neighbour_first)?,
                Buffer::of(mesh.neighbours)?,
                Buffer::of(domains.node_first)?,
                Buffer::of(&owner)?,
            ];
            let zeros = |len: usize| Buffer::zeros(len);
            let state = [zeros(n)?, zeros(n.div_ceil(32))?, zeros(n_domains)?, zeros(n_domains)?, zeros(n_domains)?];
            let n_domains = n_domains as u32;
            (module, kernel, Form::Domains { tables, state, n_domains, most_own, inner: device.inner.max(1) })
        } else {
            let module = gpu.module(if wide { ptx::WIDE } else { ptx::ACTIVE })?;
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
            let record = [Buffer::zeros(2 * slots)?, Buffer::zeros(2 * slots)?];
            let list = [Buffer::zeros(slots)?, Buffer::zeros(slots)?];
            let window = (device.window * edge_time(problem)) as f32;
            let wide = if wide { Some(widen(&gpu, &module, mesh, &nodes, &numbers, &incident)?) } else { None };
            (module, kernel, Form::Active { record, list, shift, window, wide })
        };
        Ok(Self {
            nodes,
            numbers,
            point,
            incident_first: Buffer::of(mesh.incident_first)?,
            incident,
            small: Buffer::zeros(COUNTERS + 4 + 64)?,
            time: Buffer::zeros(sets * n)?,
            n_nodes: n,
            sets,
            keep: (1.0 - settings.tolerance) as f32,
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
    pub fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<f32>, EikonalError> {
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
        mut each: impl FnMut(usize, Arrival<f32>),
    ) -> Result<(), EikonalError> {
        let first: Vec<f64> =
            sets.iter().map(|starts| first_time(starts.as_ref(), self.n_nodes)).collect::<Result<_, _>>()?;
        self.gpu.enter()?;
        let mut times = Vec::new();
        for begin in (0..sets.len()).step_by(self.sets) {
            let some = begin..sets.len().min(begin + self.sets);
            let statistics = self.run(&sets[some.clone()], &first[some.clone()])?;
            times.resize(some.len() * self.n_nodes, 0.0);
            self.time.read(&mut times)?;
            for (time, case) in times.chunks_exact(self.n_nodes).zip(some) {
                let mut unreached = 0;
                let first = first[case] as f32;
                let take = |&time: &f32| {
                    unreached += usize::from(time == f32::INFINITY);
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
        let mut small = [f32::INFINITY.to_bits(); COUNTERS].to_vec();
        [0, 1, 2, 3, 7].into_iter().for_each(|i| small[i] = 0);
        small.extend([0; 4]);
        for (set, (list, first)) in sets.iter().zip(first).enumerate() {
            for &(node, time) in list.as_ref() {
                small.extend([(set << shift) as u32 | node, f32::from_f64(time - first).to_bits()]);
            }
        }
        if small.len() > self.small.len() {
            self.small = Buffer::zeros(small.len())?;
        }
        self.small.write(&small)?;
        let n_starts = ((small.len() - COUNTERS - 4) / 2) as u32;
        let counters = self.small.pointer();
        let work = counters + 4 * COUNTERS as u64;
        let starts = work + 16;
        let stored =
            StoredParams { nodes: self.nodes.pointer(), numbers: self.numbers.pointer(), point: self.point.pointer() };
        let n_nodes = self.n_nodes as u32;
        let (incident_first, incident) = (self.incident_first.pointer(), self.incident.pointer());
        let time = self.time.pointer();
        match &self.form {
            Form::Active { record, list, shift, window, wide: Some(wide) } => {
                let mut params = WideParams {
                    incident_first,
                    wide: wide.pointer(),
                    record: [record[0].pointer(), record[1].pointer()],
                    list: [list[0].pointer(), list[1].pointer()],
                    counters,
                    work,
                    starts,
                    time,
                    n_incident: (wide.len() / 9) as u64,
                    n_starts,
                    shift: *shift,
                    n_nodes,
                    n_sets: sets.len() as u32,
                    window: *window,
                    keep: self.keep,
                    most_sweeps: MOST_SWEEPS,
                    reserved: 0,
                };
                // SAFETY: the layout is the kernel's, and every array as long as it takes.
                unsafe {
                    self.kernel.launch_together(
                        &self.gpu,
                        std::ptr::null_mut(),
                        &mut [(&raw mut params).cast::<c_void>()],
                    )
                }?;
            }
            Form::Active { record, list, shift, window, wide: None } => {
                let mut params = ActiveParams {
                    stored,
                    incident_first,
                    incident,
                    record: [record[0].pointer(), record[1].pointer()],
                    list: [list[0].pointer(), list[1].pointer()],
                    counters,
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
                    reserved: 0,
                };
                // SAFETY: the layout is the kernel's, and every array as long as it takes.
                unsafe {
                    self.kernel.launch_together(
                        &self.gpu,
                        std::ptr::null_mut(),
                        &mut [(&raw mut params).cast::<c_void>()],
                    )
                }?;
            }
            Form::Domains { tables, state, n_domains, most_own, inner } => {
                let mut params = DomainParams {
                    stored,
                    incident_first,
                    incident,
                    neighbour_first: tables[0].pointer(),
                    neighbours: tables[1].pointer(),
                    node_first: tables[2].pointer(),
                    owner: tables[3].pointer(),
                    bits: state[0].pointer(),
                    dirty: state[1].pointer(),
                    list: [state[2].pointer(), state[3].pointer()],
                    mark: state[4].pointer(),
                    counters,
                    work,
                    starts,
                    time,
                    n_starts,
                    n_nodes,
                    n_domains: *n_domains,
                    most_own: *most_own,
                    keep: self.keep,
                    inner: *inner,
                    most_rounds: MOST_SWEEPS,
                    reserved: 0,
                };
                // SAFETY: as above.
                unsafe {
                    self.kernel.launch_together(
                        &self.gpu,
                        std::ptr::null_mut(),
                        &mut [(&raw mut params).cast::<c_void>()],
                    )
                }?;
            }
        }
        // SAFETY: the null stream is always there.
        checked("finish its work", unsafe { cust::sys::cuStreamSynchronize(std::ptr::null_mut()) })?;
        let seconds = begin.elapsed().as_secs_f64() / sets.len() as f64;
        let mut counters = [0; COUNTERS + 4];
        self.small.read(&mut counters)?;
        let long = |low: usize| u64::from(counters[COUNTERS + low]) | u64::from(counters[COUNTERS + low + 1]) << 32;
        Ok(Statistics {
            sweeps: counters[7].saturating_sub(1),
            local_solves: long(0),
            passed_on: long(2),
            seconds,
            ..Default::default()
        })
    }
}

/// What each node needs of the elements round it, put together on the device.
fn widen(
    gpu: &Gpu,
    module: &Module,
    mesh: &EikonalMeshView,
    nodes: &Buffer<u32>,
    numbers: &Buffer<f32>,
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
