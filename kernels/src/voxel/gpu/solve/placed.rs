//! From a problem to a solver: the hierarchy, all tables on the devices, and what ranks agree on.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::{self, timed};

use super::super::super::elements::Elements;
use super::super::super::multigrid::{Coarse, FACTORISED, Host};
use super::super::super::solve::largest_bound;
use super::super::super::{SolverSettings, StaticProblem};
use super::super::layout::Tables;
use super::super::levels::{self, Asks, Lent, Order, Sharing, Wanted, numbers_of, padded, part_by_place};
use super::super::modules_of_levels;
use super::super::product::FineLevel;
use super::super::remote::{Parts, Remote};
use super::{Arrays, BLOCKS, GpuSolverReport, GpuStaticSolver, Kernels, Side};
use crate::device::{Arena, DeviceError, Devices, Gpu, Slice, arguments};
use crate::ranks::Ranks;

/// Memory kept free for what the driver needs, bytes.
const RESERVE: u64 = 256 << 20;
/// Memory beside that on each of several devices, whose arrays have whole pages of 2 MB, bytes.
const PAGES: u64 = 256 << 20;
/// Degrees of freedom of a last level that is worth its inverse: one product with that costs less than further levels.
const BOTTOM: usize = 1500;
/// Below this tolerance the rounding of a solution in 48 bits may count: it leaves some 1e-10 of the residual of the largest samples,
/// and some 1e-9 of that of a nearly incompressible one.
const WHOLE: f64 = 1e-7;
/// What is said when a device is too small.
const ADVICE: &str = "a larger device or several (--device cuda:all), a coarser or smaller sample ([image] downsample, crop), or --device cpu";

/// What a problem needs on the devices whatever its hierarchy.
struct Needs {
    /// Numbers of a vector.
    n: usize,
    /// Smoothing steps on the finest level.
    degree: usize,
    /// Bytes of the lower part of a number of the solution.
    low: usize,
    /// Bytes of the solution and of all vectors.
    vectors: u64,
}

impl Needs {
    fn new(problem: &StaticProblem, settings: &SolverSettings) -> Self {
        let n = padded(problem.bricks.n_nodes());
        let degree = settings.cycle.degree[0];
        let n_vectors = if degree == 2 { 4 } else { 6 };
        let low = if settings.tolerance < WHOLE { 4 } else { 2 };
        Self { n, degree, low, vectors: ((4 + low + 4 * n_vectors) * n) as u64 }
    }
}

/// Checks that the last level can be solved: the device smooths one that is not factorised, which is no solution of a large one.
fn check_bottom(coarse: &Coarse) -> Result<(), DeviceError> {
    match coarse.levels.last().filter(|last| !coarse.is_factorised() && last.n > FACTORISED) {
        None => Ok(()),
        Some(last) => {
            let reason = format!("the last has {} unknowns; allow more, or use --device cpu", last.n);
            Err(DeviceError::Failed { what: "solve on so few levels", reason })
        }
    }
}

/// Everything that a process has on its devices by itself.
pub(super) struct Placed {
    pub devices: Devices,
    parts: Parts,
    settings: SolverSettings,
    needs: Needs,
    /// Bytes free on each device before.
    free: Vec<u64>,
    pub fine: FineLevel,
    /// z and t, and both in f64.
    both: ([Slice<f32>; 2], Slice<f64>),
    lends: bool,
    pub order: Order,
    /// What this part reads of others, where they are of other processes, all by place; and the numbers of vectors of the finest
    /// level that it reads.
    pub wanted: Wanted,
    read: Vec<Range<usize>>,
    /// One for each part.
    tables: Vec<Tables>,
    /// One for each device.
    pub kernels: Vec<Kernels>,
    level_sizes: Vec<usize>,
    host_seconds: f64,
    /// When the copies of the coarse levels to the devices began.
    began: Instant,
    pub arena: Arena,
}

impl Placed {
    /// Makes the hierarchy, and puts all levels on these devices, which have these parts. Parts compute levels of at least `least` nodes
    /// together.
    pub fn new(
        problem: &StaticProblem,
        settings: &SolverSettings,
        ordinals: &[u32],
        parts: Parts,
        least: usize,
    ) -> Result<Self, DeviceError> {
        let mut settings = settings.clone();
        settings.cycle.bottom = settings.cycle.bottom.max(BOTTOM);
        let devices = timed("open devices", || Devices::open(ordinals))?;
        let reserve = if parts.n > 1 { RESERVE + PAGES } else { RESERVE };
        let free = devices.free_memory()?;
        let needs = Needs::new(problem, &settings);
        // A rank has its part of vectors, and of most tables.
        let own = |bytes: u64| if parts.by_messages { bytes.div_ceil(parts.n as u64) } else { bytes };
        devices.require(own(needs.vectors) + 2 * problem.bricks.n_nodes() as u64, reserve, ADVICE)?;

        let began = Instant::now();
        let (mut coarse, mut host_seconds) = (None, 0.0);
        // The thread that has entered the devices places the finest level meanwhile.
        let fine = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                coarse = Some(timed("hierarchy", || hierarchy(problem, &settings, parts.n == 1)));
                host_seconds = began.elapsed().as_secs_f64();
            });
            let make_fine = || FineLevel::new(&devices, problem, largest_bound(problem.ratios), parts);
            timed("finest level", make_fine)
        });
        let Some(coarse) = coarse else { unreachable!("the scope has made the hierarchy") };
        check_bottom(&coarse)?;
        let fine = fine?;

        let began = Instant::now();
        let _copy = timings::stage("copy to devices");
        let further = problem.bricks.n_elements() as u64 * if fine.one_modulus() { 0 } else { 4 };
        let mut arena = parts.arena(&devices);
        // Smoothers of other than two steps need t when they make z again. Vectors of several parts are cut elsewhere.
        let lends = needs.degree == 2 && parts.n == 1;
        let (mut both, mut lent) = (None, Lent::default());
        if lends {
            let made = Arrays::both(needs.n, (&[], &[]), &mut arena)?;
            lent = Lent { z: made.0[0].pointer(), t: made.0[1].pointer(), bytes: 4 * needs.n as u64 };
            both = Some(made);
        }
        let vectors = needs.vectors - 2 * lent.bytes;
        let [cut, whole] = levels::bytes(&coarse, lent);
        devices.require(own(vectors + cut) + whole + further, reserve, ADVICE)?;
        let (order, (mut tables, mut wanted)) = {
            let part_of = part_by_place(fine.shares.firsts(), &fine.order);
            let order = Order::new(&coarse, Sharing { n_parts: parts.n, least }, &part_of);
            let asks: Option<Asks<'_>> = parts.by_messages.then_some((parts.first, &part_of));
            let made = levels::tables(&problem.bricks, &coarse, lent, &order, asks, &mut arena)?;
            (order, made)
        };
        wanted.finest.iter_mut().for_each(|node| *node = fine.order[*node as usize]);
        wanted.finest.par_sort_unstable();
        let read: Vec<Range<usize>> =
            [&fine.wanted, &wanted.finest].into_iter().flat_map(|nodes| numbers_of(nodes)).collect();
        let both = match both {
            Some(both) => both,
            None => Arrays::both(needs.n, (&fine.shares.node_cuts(3), &read), &mut arena)?,
        };
        let voxels = problem.voxels();
        let put = levels::put_moduli(&voxels, fine.one_modulus(), devices.len(), &mut arena)?;
        tables.iter_mut().for_each(|tables| put.enter(tables));
        let (cells, names) = (coarse.cells(), modules_of_levels(parts.n > 1, voxels.has_ratios()));
        let mut kernels = Vec::new();
        devices.for_each(|device, _| {
            kernels.push(Kernels::new(devices.gpu(device), needs.low, &cells, &names)?);
            Ok(())
        })?;
        let level_sizes = coarse.levels.iter().map(|level| level.n).collect();
        Ok(Self {
            devices,
            parts,
            settings,
            needs,
            free,
            fine,
            both,
            lends,
            order,
            wanted,
            read,
            tables,
            kernels,
            level_sizes,
            host_seconds,
            began,
            arena,
        })
    }

    /// The solver; `blocks` has the first thread block of each part, and the number of all.
    pub fn finish(
        self,
        problem: &StaticProblem,
        blocks: &[usize],
        mut remote: Option<Remote>,
    ) -> Result<GpuStaticSolver, DeviceError> {
        let Self { devices, parts, settings, needs, free, fine, both, lends, tables, kernels, read, mut arena, .. } =
            self;
        let _copy = timings::stage("copy to devices");
        let cuts = fine.shares.node_cuts(3);
        let fixed: Vec<u32> =
            problem.fixed.iter().map(|dof| 3 * fine.order[dof.node as usize] + u32::from(dof.direction)).collect();
        // Of the first device while it computes a level alone, or of the outer iteration on all.
        let n_sums = (2 * 3 * kernels[0].n_blocks(devices.gpu(0)).max(BLOCKS)).max(parts.n as u32 * BLOCKS);
        let arrays = Arrays::new(both, (needs.low, needs.degree, n_sums as usize), &fixed, (&cuts, &read), &mut arena)?;
        let post = remote.as_ref().map(|remote| remote.postman.post());
        if let Some(remote) = &mut remote {
            let level = &tables[parts.first].levels[0];
            remote.values = if level.steps > 1 { level.solution } else { level.z }.address();
        }
        let sides = Side::all(&devices, (tables, parts, post), (kernels, blocks), (&fine, &arrays), &mut arena)?;
        timed("spectra", || find_steps(&devices, &sides[0]))?;
        let used = free.iter().zip(devices.free_memory()?).map(|(before, after)| before.saturating_sub(after));
        let report = GpuSolverReport {
            device: devices.names(),
            bytes: used.collect(),
            memory: arena.report(),
            n_dofs: 3 * problem.bricks.n_nodes() as u64,
            host_seconds: self.host_seconds,
            device_seconds: self.began.elapsed().as_secs_f64(),
            levels: self.level_sizes,
        };
        let rounding = problem.rounding();
        Ok(GpuStaticSolver {
            fine,
            arrays,
            sides,
            lends,
            rounding,
            settings,
            report,
            parts,
            remote,
            _arena: arena,
            devices,
        })
    }
}

/// Checks that each rank has a device of its own: kernels that wait for each other must run at the same time. Collective.
pub(super) fn check_apart(gpu: &Gpu, ranks: &Arc<dyn Ranks>) -> Result<(), DeviceError> {
    let own = gpu.uuid();
    let all = ranks.all_gather(own.as_ref().map_or(Vec::new(), |uuid| uuid.to_vec()));
    own?;
    let same = (1..all.len()).find_map(|rank| Some((all[..rank].iter().position(|other| *other == all[rank])?, rank)));
    same.map_or(Ok(()), |(one, other)| {
        let reason = format!(
            "ranks {one} and {other} have the same one; start as many processes as there are devices, or one with --device cuda"
        );
        Err(DeviceError::Failed { what: "exchange messages between devices", reason })
    })
}

/// Finds the steps of the smoother on the coarse levels, where one device computes all.
fn find_steps(devices: &Devices, Side { kernels, tables, signals }: &Side) -> Result<(), DeviceError> {
    if let Some(steps) = kernels.steps {
        let (gpu, stream) = (devices.gpu(0), devices.first());
        signals.arrived.clear(stream)?;
        // SAFETY: the tables are those of levels.cuh; there is room for the sums of as many thread blocks.
        unsafe { steps.launch_resident(gpu, stream, kernels.n_blocks(gpu), &mut arguments![tables.pointer()]) }?;
    }
    devices.synchronize()
}

/// The coarse levels of a problem, without the largest eigenvalues where a device `finds_spectra`.
fn hierarchy(problem: &StaticProblem, settings: &SolverSettings, finds_spectra: bool) -> Coarse {
    let mut mask = vec![0_u8; problem.bricks.n_nodes()];
    problem.fixed.iter().for_each(|dof| mask[dof.node as usize] |= 1 << dof.direction);
    let voxels = problem.voxels();
    let stiffness = |e: usize, part: usize| voxels.stiffness(e, part);
    let elements = timed("elements", || Elements::of_bricks(&problem.bricks));
    let host = Host::Device { finds_spectra };
    let mut coarse = Coarse::new(&voxels.cubes(), elements, &mask, &stiffness, &settings.cycle, host, None);
    timed("matrices of cells", || coarse.make_matrices(&stiffness));
    coarse
}
