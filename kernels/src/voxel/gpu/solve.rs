//! Conjugate gradients with multigrid on one or several devices: the same method as [`StaticSolver`], step for step.
//!
//! The hierarchy is made by the host. On the device an iteration is some twenty launches: two products of the finest level
//! with the smoother in them, one cooperative launch for all coarse levels (levels.cuh), four products more, one for the
//! direction. Scalars stay there; the host reads the norm of the residual once an iteration.
//!
//! Memory is what limits a device, so nothing is kept that is cheap to compute again. Vectors of the finest level are the
//! solution in 48 bits a number (in 64 where more is asked for), r, p, z and t in f32. During a correction z and t are lent to
//! the coarse levels, and z is smoothed anew after it; q = K p lies where z was until r has been updated, and z · q of the next
//! iteration is a product that is only summed up. z and t together hold the solution in f64 for the true residual.
//!
//! Several devices share each array: it has one range of addresses, and each device has a part of it in its memory. A device
//! computes what lies there, and reads what it needs of the others. Every launch waits for those of all devices before it.
//!
//! Ranks whose devices do not reach each other's memory have the whole arrays, compute the same parts, and exchange messages
//! ([`remote`](super::remote)).

mod placed;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads::at_the_same_time;
use pogo_formats::timings::timed;

use super::super::iteration::{Steps, iterate};
use super::super::lists::starts;
use super::super::problem::Stopping;
use super::super::share::RankShares;
use super::super::{FixedDof, NodalForce, Solution, SolverSettings, StaticProblem};
use super::layout::{ALPHA, MOST_DEVICES, N_SCALARS, PQ, PR, Post, RR, Tables, WORK, ZQ};
use super::product::FineLevel;
use super::remote::{Lists, Parts, Remote};
use crate::device::{
    Arena, DeviceError, Devices, Gpu, Kernel, MemoryReport, Module, Slice, Stream, arguments, plain_bytes,
    plain_bytes_mut,
};
use crate::ranks::{Accord, Ranks};

use placed::{Placed, check_apart};

/// Thread blocks of the vector steps.
const BLOCKS: u32 = 1024;
/// Nodes of a level that several devices compute: below, waiting for each other costs more than they save (measured for devices of
/// one process and for ranks, BENCHMARKS.md).
const LEAST_SHARED: usize = 200_000;

/// What a solver on a device takes to make and to hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuSolverReport {
    /// Name of the device, or names of all.
    pub device: String,
    /// Bytes in use on each device.
    pub bytes: Vec<u64>,
    /// Arrays of the coarse levels and of the outer iteration.
    pub memory: MemoryReport,
    /// Number of degrees of freedom.
    pub n_dofs: u64,
    /// Making the hierarchy on the host, while the finest level is placed, s.
    pub host_seconds: f64,
    /// Tables of the coarse levels for the device, and their copies, s.
    pub device_seconds: f64,
    /// Degrees of freedom of the coarse levels.
    pub levels: Vec<usize>,
}

impl std::fmt::Display for GpuSolverReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes: Vec<String> = self.bytes.iter().map(|&bytes| format!("{:.2}", bytes as f64 / 1e9)).collect();
        write!(
            f,
            "{}: {} GB in use, {:.1} B a degree of freedom; coarse levels of {:?}, made in {:.2} s, copied in {:.2} s",
            self.device,
            bytes.join(" + "),
            self.bytes.iter().sum::<u64>() as f64 / self.n_dofs.max(1) as f64,
            self.levels,
            self.host_seconds,
            self.device_seconds
        )
    }
}

/// A voxel mesh with its preconditioner on CUDA devices, for one or several load cases that fix the same degrees of
/// freedom. The same bits on every run on the same number of devices, of one process or of as many.
#[derive(Debug)]
pub struct GpuStaticSolver {
    // Buffers, modules and streams go before the contexts that they live in.
    fine: FineLevel,
    arrays: Arrays,
    /// One for each device.
    sides: Vec<Side>,
    /// Whether z and t are lent to the coarse levels.
    lends: bool,
    /// See [`StaticProblem::rounding`].
    rounding: f64,
    settings: SolverSettings,
    report: GpuSolverReport,
    parts: Parts,
    remote: Option<Remote>,
    _arena: Arena,
    devices: Devices,
}

/// What one device has of its own.
#[derive(Debug)]
struct Side {
    kernels: Kernels,
    tables: Slice<Tables>,
    signals: Signals,
}

impl Side {
    /// One for each device, with the tables of all parts and the kernels of each device. `blocks` has the first thread block of each
    /// part, and the number of all.
    fn all(
        devices: &Devices,
        (all_tables, parts, post): (Vec<Tables>, Parts, Option<Post>),
        (kernels, blocks): (Vec<Kernels>, &[usize]),
        (fine, arrays): (&FineLevel, &Arrays),
        arena: &mut Arena,
    ) -> Result<Vec<Self>, DeviceError> {
        let n_blocks = blocks[parts.n] as u32;
        let mut signals = Vec::new();
        devices.for_each(|_, _| {
            signals.push(Signals::new(n_blocks, arena)?);
            Ok(())
        })?;
        let mut kernels = kernels.into_iter();
        let mut sides = Vec::new();
        devices.for_each(|device, _| {
            let part = parts.first + device;
            let mut tables = all_tables[part];
            arrays.enter(&mut tables);
            tables.arrived = signals[device].arrived.at();
            (tables.planes, tables.tiles, tables.n_tiles) = (fine.planes(), fine.tiles.0.at(), fine.tiles.1);
            if device > 0 {
                tables.work = signals[device].work.at();
            }
            let peers = &mut tables.peers;
            for (other, signals) in signals.iter().enumerate() {
                peers.partial[other] = signals.partial.at();
                peers.met[other] = signals.arrived.part::<u32>(Signals::MET, MOST_DEVICES as usize).at();
            }
            (peers.n_blocks, peers.first_block) = (n_blocks, blocks[part] as u32);
            peers.post = post.unwrap_or(peers.post);
            let own = &fine.sides[device];
            (peers.node_first, peers.node_end) = (own.nodes.start, own.nodes.end);
            [peers.tile_first, peers.tile_last] = own.tiles;
            let kernels = kernels.next().ok_or(DeviceError::NoTables)?;
            sides.push(Self { kernels, tables: arena.copy("tables", &[tables])?, signals: signals[device] });
            Ok(())
        })?;
        Ok(sides)
    }
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl Send for GpuStaticSolver {}

/// Arrays of the outer conjugate gradients.
#[derive(Debug)]
struct Arrays {
    /// Upper and lower bits of the solution.
    upper: Slice<u32>,
    lower: Slice<u8>,
    r: Slice<f32>,
    p: Slice<f32>,
    /// The two halves of `both` on one device.
    z: Slice<f32>,
    t: Slice<f32>,
    both: Slice<f64>,
    /// Further vectors where the smoother takes other than two steps.
    work: Option<[Slice<f32>; 2]>,
    scalars: Slice<f64>,
    partial: Slice<f64>,
    /// Prescribed degrees of freedom in the order of the problem's, and their values.
    fixed: Slice<u32>,
    values: Slice<f64>,
}

impl Arrays {
    /// Room for `n` numbers of z and t, cut at `cuts`, which `both` shares; and that in f64. `further` are numbers that a part reads.
    fn both(
        n: usize,
        (cuts, further): (&[usize], &[Range<usize>]),
        arena: &mut Arena,
    ) -> Result<([Slice<f32>; 2], Slice<f64>), DeviceError> {
        if !arena.divides::<f32>(n, cuts) {
            let both = arena.zeros::<f64>("z and t", n)?;
            return Ok(([both.part(0, n), both.part(n, n)], both));
        }
        let mut vector = |name| arena.zeros_own::<f32>(name, n, cuts, further);
        let [z, t] = [vector("z")?, vector("t")?];
        let both = arena.joined("z and t", n, [&z, &t])?;
        Ok(([z, t], both))
    }

    /// Further arrays beside those of [`both`](Self::both); `low` as in [`Kernels::new`], and room for so many sums.
    fn new(
        ([z, t], both): ([Slice<f32>; 2], Slice<f64>),
        (low, degree, n_sums): (usize, usize, usize),
        fixed: &[u32],
        (cuts, further): (&[usize], &[Range<usize>]),
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        let n = both.len();
        let mut vector = |name| arena.zeros_own::<f32>(name, n, cuts, further);
        let work = if degree == 2 { None } else { Some([vector("smoothing steps")?, vector("smoothing steps")?]) };
        let (r, p) = (vector("r")?, vector("p")?);
        let lower: Vec<usize> = cuts.iter().map(|cut| low * cut).collect();
        Ok(Self {
            z,
            t,
            both,
            work,
            r,
            p,
            upper: arena.zeros_own("u", n, cuts, &[])?,
            lower: arena.zeros_own("lower bits of u", low * n, &lower, &[])?,
            scalars: arena.zeros("scalars", N_SCALARS as usize)?,
            partial: arena.zeros("partial sums", n_sums)?,
            values: arena.zeros("prescribed values", fixed.len())?,
            fixed: arena.copy("prescribed degrees of freedom", fixed)?,
        })
    }

    /// Tells the kernels of the coarse levels where these are.
    fn enter(&self, tables: &mut Tables) {
        (tables.fine_residual, tables.fine_z) = (self.t.at(), self.z.at());
        (tables.fixed, tables.n_fixed) = (self.fixed.at(), self.fixed.len() as u32);
        tables.partial = self.partial.at();
        tables.work = self.scalars.part::<f64>(WORK as usize, 1).at();
    }
}

/// What one device has in its memory for barriers and sums of all devices.
#[derive(Debug, Clone, Copy)]
struct Signals {
    /// Arrivals at barriers of this device and at those of all devices; then meetings that each device has come to.
    arrived: Slice<u32>,
    /// Sums of all thread blocks of all devices: see `Peers`.
    partial: Slice<f64>,
    /// Where devices but the first count products that the first has counted.
    work: Slice<f64>,
}

impl Signals {
    /// Where `arrived` has the meetings.
    const MET: usize = 2;

    /// Those of the device that is current; with `n_blocks` thread blocks of all devices.
    fn new(n_blocks: u32, arena: &mut Arena) -> Result<Self, DeviceError> {
        Ok(Self {
            arrived: arena.zeros("arrivals", Self::MET + MOST_DEVICES as usize)?,
            // Two rows of three sums: see `Launch` in grid.cuh.
            partial: arena.zeros("partial sums of devices", 2 * 3 * n_blocks as usize)?,
            work: arena.zeros("products", 1)?,
        })
    }
}

/// A solve on its way.
struct Iteration<'s> {
    solver: &'s GpuStaticSolver,
    /// Those of the last step.
    scalars: [f64; N_SCALARS as usize],
    /// Products of the finest level, but those of true residuals during the iteration.
    products: f64,
}

impl Steps for Iteration<'_> {
    type Error = DeviceError;

    fn advance(&mut self) -> Result<Option<f64>, DeviceError> {
        let solver = self.solver;
        solver.precondition()?;
        solver.step()?;
        solver.devices.synchronize()?;
        solver.arrays.scalars.read(&mut self.scalars)?;
        self.products += solver.products();
        let [alpha, square] = [ALPHA, RR].map(|at| self.scalars[at as usize]);
        Ok(alpha.is_finite().then(|| square.sqrt()))
    }

    fn true_residual(&mut self) -> Result<f64, DeviceError> {
        self.solver.with_solution(|kernels| kernels.expand)?;
        self.solver.true_residual()
    }
}

/// Kernels of the coarse levels and of the outer conjugate gradients.
#[derive(Debug)]
struct Kernels {
    correction: Kernel,
    /// Finds the steps of the smoother, where one device computes all.
    steps: Option<Kernel>,
    prolong: Kernel,
    direction: Kernel,
    update: Kernel,
    sum: Kernel,
    dot: Kernel,
    expand: Kernel,
    compress: Kernel,
    take: Kernel,
    prescribe: Kernel,
    _modules: Vec<Module>,
}

impl Kernels {
    /// With `low` bytes of a number of the solution in its lower part; `cells` is the stiffness of 2 × 2 × 2 voxels in each part
    /// of the stiffness. The device is current.
    fn new(gpu: &Gpu, low: usize, cells: &[f32], names: &[&'static str]) -> Result<Self, DeviceError> {
        let is_alone = names.len() == 1;
        let modules = names.iter().map(|name| gpu.module(name)).collect::<Result<Vec<Module>, _>>()?;
        let (outer, levels) = (&modules[0], &modules[modules.len() - 1]);
        levels.set_constant(c"CELL", cells)?;
        let kernel = |name: &str| Kernel::new(gpu, outer, name, 0);
        let of_solution = |name: &str| kernel(&format!("{name}_{}", 32 + 8 * low));
        Ok(Self {
            correction: Kernel::new(gpu, levels, "coarse_correction", 0)?,
            steps: if is_alone { Some(Kernel::new(gpu, levels, "coarse_steps", 0)?) } else { None },
            prolong: Kernel::new(gpu, levels, "coarse_prolong", 0)?,
            direction: kernel("outer_direction")?,
            update: of_solution("outer_update")?,
            sum: kernel("outer_sum")?,
            dot: kernel("outer_dot")?,
            expand: of_solution("outer_expand")?,
            compress: of_solution("outer_compress")?,
            take: kernel("outer_take")?,
            prescribe: kernel("outer_prescribe")?,
            _modules: modules,
        })
    }

    /// Thread blocks of the correction on the device.
    fn n_blocks(&self, gpu: &Gpu) -> u32 {
        self.correction.resident * gpu.multiprocessors
    }
}

impl GpuStaticSolver {
    /// Sets up the preconditioner on these devices. Of the problem's fixed degrees of freedom only which they are counts here.
    ///
    /// # Errors
    /// No driver or device, too little memory there (told before anything runs), or what the driver reports.
    pub fn new(problem: &StaticProblem, settings: &SolverSettings, ordinals: &[u32]) -> Result<Self, DeviceError> {
        Self::with_least(problem, settings, ordinals, LEAST_SHARED)
    }

    /// The same on the devices of several ranks, of which this one has the device `ordinal`. The ranks exchange messages. Collective.
    ///
    /// # Errors
    /// As there, on this rank or on another; a model too small for so many ranks.
    pub fn over(
        problem: &StaticProblem,
        settings: &SolverSettings,
        ordinal: u32,
        ranks: &Arc<dyn Ranks>,
    ) -> Result<Self, DeviceError> {
        Self::over_with_least(problem, settings, ordinal, ranks, LEAST_SHARED)
    }

    /// As [`new`](Self::new), where several devices compute levels of at least `least` nodes together.
    pub(super) fn with_least(
        problem: &StaticProblem,
        settings: &SolverSettings,
        ordinals: &[u32],
        least: usize,
    ) -> Result<Self, DeviceError> {
        if ordinals.len() > MOST_DEVICES as usize {
            let reason = format!("at most {MOST_DEVICES} devices compute a model: name fewer");
            return Err(DeviceError::Failed { what: "use so many devices", reason });
        }
        let placed = Placed::new(problem, settings, ordinals, Parts::of_devices(ordinals.len()), least)?;
        let n_blocks = |(device, kernels): (usize, &Kernels)| kernels.n_blocks(placed.devices.gpu(device));
        let blocks = starts(placed.kernels.iter().enumerate().map(n_blocks));
        let blocks: Vec<usize> = blocks.into_iter().map(|first| first as usize).collect();
        placed.finish(problem, &blocks, None)
    }

    /// As [`over`](Self::over), where ranks compute levels of at least `least` nodes together.
    pub(super) fn over_with_least(
        problem: &StaticProblem,
        settings: &SolverSettings,
        ordinal: u32,
        ranks: &Arc<dyn Ranks>,
        least: usize,
    ) -> Result<Self, DeviceError> {
        let accord = Accord::new(ranks);
        let mut placed = accord.agree(Placed::new(problem, settings, &[ordinal], Parts::of_rank(&**ranks), least))?;
        let Placed { devices, fine, order, wanted, kernels, .. } = &placed;
        accord.agree(check_apart(devices.gpu(0), ranks))?;
        let n_blocks = kernels[0].n_blocks(devices.gpu(0));
        let most_sums = fine.most_sums().max(BLOCKS as usize);
        let lists = Lists::new(ranks, (fine, order, wanted), n_blocks, most_sums);
        let blocks = lists.blocks.clone();
        let linked = accord.agree(lists.place(placed.devices.gpu(0), &mut placed.arena))?;
        let (links, remote) = linked;
        placed.fine.links = Some(links);
        accord.agree(placed.finish(problem, &blocks, Some(remote)))
    }

    /// How ranks share the finest level, if there are several.
    pub fn shares(&self) -> Option<&RankShares> {
        self.remote.as_ref().map(|remote| &remote.shares)
    }

    /// What the solver took to make, and what it holds.
    pub fn report(&self) -> &GpuSolverReport {
        &self.report
    }

    /// Solves one load case from `start`, or from 0; see [`StaticSolver::solve`](super::super::StaticSolver::solve). Of several ranks the
    /// first has the displacements, and decides when to stop.
    ///
    /// # Errors
    /// What the driver reports, here or on another rank.
    pub fn solve(
        &mut self,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solution, DeviceError> {
        let Some(rounds) = self.remote.as_ref().map(|remote| remote.rounds.clone()) else {
            return self.solve_part(fixed, forces, start, progress);
        };
        let mut failed = None;
        let mut decide = |iteration, residual| {
            let stop = rounds.ranks.leads() && progress(iteration, residual).is_break();
            match rounds.of_first(stop) {
                Ok(false) => ControlFlow::Continue(()),
                Ok(true) => ControlFlow::Break(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let solved = self.solve_part(fixed, forces, start, &mut decide);
        // All have come to the end, or none has.
        let solved = failed.map_or(solved, Err).and_then(|solved| rounds.of_first(false).map(|_| solved));
        let mut solved = rounds.settle(solved)?;
        solved.displacement = timed("gather", || self.gathered(&*rounds.ranks, solved.displacement));
        Ok(solved)
    }

    /// The displacements of all ranks in the bricks' order at the first, given those of this one; nothing elsewhere. Collective.
    fn gathered(&self, ranks: &dyn Ranks, own: Vec<f64>) -> Vec<f64> {
        /// Numbers of a message.
        const MOST: usize = 1 << 26;
        if !ranks.leads() {
            let messages: Vec<(usize, &[u8])> = own.chunks(MOST).map(|numbers| (0, plain_bytes(numbers))).collect();
            ranks.exchange(&messages, &mut []);
            return Vec::new();
        }
        let order = &self.fine.order;
        let mut all = vec![0.0; 3 * order.len()];
        // Memory is touched by many threads before one copies into it.
        all.par_chunks_mut(512).for_each(|part| part[0] = 0.0);
        let (first, mut rest) = all.split_at_mut(own.len());
        first.copy_from_slice(&own);
        let mut messages = Vec::new();
        for rank in 1..ranks.n_ranks() {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(3 * self.fine.shares.nodes(rank).len());
            rest = others;
            messages.extend(part.chunks_mut(MOST).map(|numbers| (rank, plain_bytes_mut(numbers))));
        }
        ranks.exchange(&[], &mut messages);
        let mut out = vec![0.0; all.len()];
        let take =
            |(out, &place): (&mut [f64], &u32)| out.copy_from_slice(&all[3 * place as usize..3 * place as usize + 3]);
        out.par_chunks_mut(3).zip(order).for_each(take);
        out
    }

    fn solve_part(
        &mut self,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solution, DeviceError> {
        self.devices.enter()?;
        let clock = Instant::now();
        self.fine.set_forces(&self.devices, forces, fixed)?;
        self.arrays.values.write(&fixed.iter().map(|dof| dof.value).collect::<Vec<f64>>())?;
        let stream = self.devices.first();
        let Arrays { p, r, scalars, both, .. } = &self.arrays;
        p.clear(stream)?;
        r.clear(stream)?;
        scalars.clear(stream)?;
        both.clear(stream)?;
        self.begin()?;
        let mut products = 1.0;
        let mut norm0 = self.true_residual()?;
        let mut norm = norm0;
        if let Some(start) = start {
            self.arrays.both.write(&self.to_device(start))?;
            self.begin()?;
            norm = self.true_residual()?;
            products += 1.0;
            if self.settings.from_start {
                norm0 = norm;
            }
        }
        let stopping = Stopping::new(norm0, self.settings.tolerance, self.rounding, fixed);
        let mut steps = Iteration { solver: self, scalars: [0.0; N_SCALARS as usize], products };
        let mut solution = iterate(&mut steps, norm, self.settings.iterations, stopping, progress)?;
        solution.products = solution.products + steps.products + steps.scalars[WORK as usize];
        solution.displacement = timed("fetch displacements", || self.displacement())?;
        solution.seconds = clock.elapsed().as_secs_f64();
        Ok(solution)
    }

    /// Products of the finest level in an iteration: before and after the correction, z made again, K p twice.
    fn products(&self) -> f64 {
        let degree = self.settings.cycle.degree[0];
        (2 * degree + 2 + usize::from(self.lends)) as f64
    }

    /// Calls `act(device, stream, first, n)` for each device, with the numbers of vectors in its part: n from `first` on.
    fn for_parts(
        &self,
        mut act: impl FnMut(usize, &Stream, u64, u64) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.devices.for_each(|device, stream| {
            let part = self.parts.first + device;
            let nodes = self.fine.shares.nodes(part);
            let end = if part + 1 == self.parts.n { self.arrays.r.len() } else { 3 * nodes.end };
            let first = 3 * nodes.start;
            act(device, stream, first as u64, (end - first) as u64)
        })
    }

    /// z = M⁻¹ r; z · K p of the direction before.
    fn precondition(&self) -> Result<(), DeviceError> {
        let on = &self.devices;
        let (fine, r, z, t) = (&self.fine, &self.arrays.r, &self.arrays.z, &self.arrays.t);
        let degree = self.settings.cycle.degree[0];
        let work = self.arrays.work.as_ref().map(|[d, next]| [d, next]);
        fine.smooth(on, degree, [r, z, t], work, false)?;
        fine.residual(on, r, z, t)?;
        if let Some(remote) = &self.remote {
            remote.residual.fetch(&remote.rounds, on.first(), t.pointer())?;
            remote.postman.reset();
        }
        on.for_each(|device, stream| self.sides[device].signals.arrived.clear(stream))?;
        on.meet()?;
        on.for_each(|device, stream| {
            let Side { kernels, tables, .. } = &self.sides[device];
            let (gpu, correction) = (on.gpu(device), kernels.correction);
            // SAFETY: the tables are those of levels.cuh; all addresses in them live as long as this.
            unsafe { correction.launch_resident(gpu, stream, u32::MAX, &mut arguments![tables.pointer()]) }
        })?;
        if let Some(remote) = &self.remote {
            remote.serve(on.first())?;
            remote.correction.fetch(&remote.rounds, on.first(), remote.values)?;
        }
        if self.lends {
            // Coarse levels have been where z was.
            fine.smooth(on, degree, [r, z, t], work, false)?;
        }
        on.meet()?;
        // Behind the last node there may be anything.
        z.part::<f32>(fine.n_dofs(), z.len() - fine.n_dofs()).clear(on.first())?;
        on.for_each(|device, stream| self.prolong(device, stream, false))?;
        on.meet()?;
        self.prolong(0, on.first(), true)?;
        fine.smooth(on, degree, [r, z, t], work, true)?;
        fine.dot(on, z, &self.arrays.p)?;
        self.keep_sum(ZQ)
    }

    /// z += P × correction on level 1, or z = 0 at fixed degrees of freedom.
    fn prolong(&self, device: usize, stream: &Stream, clear: bool) -> Result<(), DeviceError> {
        let Side { kernels, tables, .. } = &self.sides[device];
        // SAFETY: what the kernel takes.
        unsafe { kernels.prolong.launch(stream, 4 * BLOCKS, &mut arguments![tables.pointer(), u32::from(clear)]) }
    }

    /// The direction, α, x and r.
    fn step(&self) -> Result<(), DeviceError> {
        let on = &self.devices;
        let [r, p, z] = [&self.arrays.r, &self.arrays.p, &self.arrays.z].map(Slice::pointer);
        let (scalars, partial) = (self.arrays.scalars.pointer(), self.arrays.partial.pointer());
        on.meet()?;
        // Not z · r, which is the same only as long as r is orthogonal to the direction before: what rounding has left may not be.
        self.for_parts(|device, stream, first, n| {
            let Kernels { direction, dot, .. } = &self.sides[device].kernels;
            let [r, p, z] = [r, p, z].map(|vector| vector + 4 * first);
            let partial = partial + 8 * self.first_sum(device);
            // SAFETY, here and below: what the kernels take; vectors have n numbers from there, `partial` one for each thread block.
            unsafe {
                direction.launch(stream, BLOCKS, &mut arguments![scalars, z, p, n])?;
                dot.launch(stream, BLOCKS, &mut arguments![p, r, partial, n])
            }
        })?;
        self.add_up(PR)?;
        // z has gone into p; K p takes its place.
        self.fine.apply(on, &self.arrays.p, &self.arrays.z, true)?;
        self.keep_sum(PQ)?;
        on.meet()?;
        self.for_parts(|device, stream, first, n| {
            let update = self.sides[device].kernels.update;
            let [r, p, z] = [r, p, z].map(|vector| vector + 4 * first);
            let (solution, partial) = (self.solution(first), partial + 8 * self.first_sum(device));
            // SAFETY: as above.
            unsafe { update.launch(stream, BLOCKS, &mut arguments![scalars, p, z, solution, r, partial, n]) }
        })?;
        self.add_up(RR)
    }

    /// Addresses of the upper and the lower part of the solution, from one number on.
    fn solution(&self, first: u64) -> [u64; 2] {
        let Arrays { upper, lower, .. } = &self.arrays;
        let low = (lower.len() / upper.len().max(1)) as u64;
        [upper.pointer() + 4 * first, lower.pointer() + low * first]
    }

    /// Where the sums of a device's thread blocks begin.
    fn first_sum(&self, device: usize) -> u64 {
        u64::from(BLOCKS) * (self.parts.first + device) as u64
    }

    /// Keeps the sum of the thread blocks of all parts as scalar `at`.
    fn add_up(&self, at: u32) -> Result<(), DeviceError> {
        self.devices.meet()?;
        if let Some(remote) = &self.remote {
            let first = self.first_sum(0) as usize;
            remote.rounds.share(self.devices.first(), &self.arrays.partial, first..first + BLOCKS as usize)?;
        }
        let (partial, n) = (self.arrays.partial.pointer(), self.parts.n as u32 * BLOCKS);
        let out = self.arrays.scalars.pointer() + 8 * u64::from(at);
        // SAFETY: what the kernel takes.
        unsafe { self.sides[0].kernels.sum.launch(self.devices.first(), 1, &mut arguments![partial, n, out]) }
    }

    /// Keeps the sum of the last product as scalar `at`.
    fn keep_sum(&self, at: u32) -> Result<(), DeviceError> {
        self.arrays.scalars.part::<f64>(at as usize, 1).copy_from(&self.fine.sum, 1, self.devices.first())
    }

    /// `both` where x is prescribed.
    fn set_prescribed(&self) -> Result<(), DeviceError> {
        let (x, fixed, values) =
            (self.arrays.both.pointer(), self.arrays.fixed.pointer(), self.arrays.values.pointer());
        let (n, prescribe) = (self.arrays.fixed.len() as u64, self.sides[0].kernels.prescribe);
        // SAFETY: what the kernel takes.
        unsafe { prescribe.launch(self.devices.first(), BLOCKS, &mut arguments![x, fixed, values, n]) }
    }

    /// Takes x from f64 in `both`, or puts it there.
    fn with_solution(&self, kernel: fn(&Kernels) -> Kernel) -> Result<(), DeviceError> {
        self.devices.meet()?;
        self.for_parts(|device, stream, first, n| {
            let (solution, both) = (self.solution(first), self.arrays.both.pointer() + 8 * first);
            // SAFETY: what the kernels take; all have n numbers from there.
            unsafe {
                kernel(&self.sides[device].kernels).launch(stream, 4 * BLOCKS, &mut arguments![solution, both, n])
            }
        })
    }

    /// x = `both`, but what is prescribed there.
    fn begin(&self) -> Result<(), DeviceError> {
        self.set_prescribed()?;
        self.with_solution(|kernels| kernels.compress)
    }

    /// r = f − K x of x in `both`; its norm.
    fn true_residual(&self) -> Result<f64, DeviceError> {
        self.fine.true_residual(&self.devices, &self.arrays.both, &self.arrays.r)?;
        self.devices.synchronize()?;
        let mut sum = [0.0];
        self.fine.sum.read(&mut sum)?;
        Ok(sum[0].sqrt())
    }

    /// A vector of the bricks' order in that of the device.
    fn to_device(&self, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.arrays.both.len()];
        for (&to, from) in self.fine.order.iter().zip(values.chunks_exact(3)) {
            out[3 * to as usize..3 * to as usize + 3].copy_from_slice(from);
        }
        out
    }

    /// x in the bricks' order; of several ranks, that of this one's part in the order of the tiles.
    fn displacement(&self) -> Result<Vec<f64>, DeviceError> {
        if self.remote.is_some() {
            self.with_solution(|kernels| kernels.expand)?;
            self.devices.synchronize()?;
            let nodes = self.fine.shares.nodes(self.parts.first);
            return self.arrays.both.part::<f64>(3 * nodes.start, 3 * nodes.len()).to_vec();
        }
        let order = &self.fine.order;
        let mut out = vec![0.0; 3 * order.len()];
        // Memory is touched by many threads before one copies into it.
        out.par_chunks_mut(512).for_each(|part| part[0] = 0.0);
        self.with_solution(|kernels| kernels.expand)?;
        self.devices.meet()?;
        let takers: Vec<Taker<'_>> = (0..self.devices.len()).filter_map(|device| self.taker(device)).collect();
        let share = order.len().div_ceil(takers.len().max(1)).max(1);
        let mut parts = takers.into_iter().zip(out.chunks_mut(3 * share).zip(order.chunks(share)));
        let take = |(taker, (out, order)): (Taker<'_>, (&mut [f64], &[u32]))| taker.take(out, order);
        match self.devices.len() {
            1 => parts.try_for_each(take)?,
            _ => at_the_same_time(parts, take).map_err(DeviceError::Threads)?.into_iter().collect::<Result<(), _>>()?,
        }
        Ok(out)
    }

    /// What copies the solution by way of a device, if that has nodes.
    fn taker(&self, device: usize) -> Option<Taker<'_>> {
        let Arrays { r, p, both, .. } = &self.arrays;
        let nodes = self.fine.shares.nodes(device);
        // p has room for the order of all nodes, r for half of the numbers.
        let n = nodes.len() / 2;
        (n > 0).then(|| Taker {
            gpu: self.devices.gpu(device),
            stream: self.devices.stream(device),
            kernel: self.sides[device].kernels.take,
            x: both.pointer(),
            numbers: p.part(3 * nodes.start, n),
            values: r.part(3 * nodes.start / 2, 3 * n),
        })
    }
}

/// Copies a solution in f64 to the host, in the bricks' order, by way of memory of a device that is no longer needed.
struct Taker<'s> {
    gpu: &'s Gpu,
    stream: &'s Stream,
    kernel: Kernel,
    /// Address of the solution.
    x: u64,
    numbers: Slice<u32>,
    values: Slice<f64>,
}

impl Taker<'_> {
    /// Displacements of the nodes with these numbers. Each device has a connection of its own to the host, and a thread.
    fn take(&self, out: &mut [f64], order: &[u32]) -> Result<(), DeviceError> {
        self.gpu.enter()?;
        let part = self.numbers.len();
        for (out, order) in out.chunks_mut(3 * part).zip(order.chunks(part)) {
            self.numbers.write(order)?;
            let (numbers, to, n) = (self.numbers.pointer(), self.values.pointer(), order.len() as u64);
            // SAFETY: what the kernel takes; nobody else uses this memory.
            unsafe { self.kernel.launch(self.stream, 4 * BLOCKS, &mut arguments![self.x, numbers, to, n])? };
            self.stream.synchronize()?;
            self.values.read(out)?;
        }
        Ok(())
    }
}
