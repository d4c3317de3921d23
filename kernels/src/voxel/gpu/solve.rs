//! Conjugate gradients with multigrid on a device: the same method as [`StaticSolver`], step for step.
//!
//! The hierarchy is made by the host. On the device an iteration is some twenty launches: two products of the finest level
//! with the smoother in them, one cooperative launch for all coarse levels (levels.cuh), four products more, one for the
//! direction. Scalars stay there; the host reads the norm of the residual once an iteration.
//!
//! Memory is what limits a device, so nothing is kept that is cheap to compute again. Vectors of the finest level are the
//! solution in 48 bits a number (in 64 where more is asked for), r, p, z and t in f32. During a correction z and t are lent to
//! the coarse levels, and z is smoothed anew after it; q = K p lies where z was until r has been updated, and z · q of the next
//! iteration is a product that is only summed up. z and t together hold the solution in f64 for the true residual.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use super::super::elements::Elements;
use super::super::iteration::{Steps, iterate};
use super::super::multigrid::{Coarse, FACTORISED, Host};
use super::super::problem::Stopping;
use super::super::solve::element_bound;
use super::super::{Cube, FixedDof, NodalForce, Solution, SolverSettings, StaticProblem};
use super::layout::{ALPHA, N_SCALARS, PQ, PR, RR, Tables, WORK, ZQ};
use super::levels::{self, Lent, padded};
use super::product::FineLevel;
use crate::device::{Arena, DeviceError, Gpu, Kernel, MemoryReport, Module, Slice, Stream, arguments};

/// Memory kept free for what the driver needs, bytes.
const RESERVE: u64 = 256 << 20;
/// Degrees of freedom of a last level that is worth its inverse: one product with that costs less than further levels.
const BOTTOM: usize = 1500;
/// Thread blocks of the vector steps.
const BLOCKS: u32 = 1024;
/// Below this tolerance the rounding of a solution in 48 bits, some 1e-10 of the residual of the largest samples, may count.
const WHOLE: f64 = 1e-9;
/// What is said when a device is too small.
const ADVICE: &str = "a larger device, a coarser or smaller sample ([image] downsample, crop), or --device cpu";

/// What a solver on a device takes to make and to hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuSolverReport {
    /// Name of the device.
    pub device: String,
    /// Bytes in use on the device.
    pub bytes: u64,
    /// Arrays of the coarse levels and of the outer iteration.
    pub memory: MemoryReport,
    /// Number of degrees of freedom.
    pub n_dofs: u64,
    /// Making the hierarchy on the host, s.
    pub host_seconds: f64,
    /// Tables of the finest level and all copies to the device, s.
    pub device_seconds: f64,
    /// Degrees of freedom of the coarse levels.
    pub levels: Vec<usize>,
}

impl std::fmt::Display for GpuSolverReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {:.2} GB in use, {:.1} B a degree of freedom; coarse levels of {:?}, made in {:.2} s, copied in {:.2} s",
            self.device,
            self.bytes as f64 / 1e9,
            self.bytes as f64 / self.n_dofs.max(1) as f64,
            self.levels,
            self.host_seconds,
            self.device_seconds
        )
    }
}

/// A voxel mesh with its preconditioner on a CUDA device, for one or several load cases that fix the same degrees of
/// freedom. The same bits on every run on one device.
#[derive(Debug)]
pub struct GpuStaticSolver {
    // Buffers, modules and stream go before the context that they live in.
    fine: FineLevel,
    arrays: Arrays,
    tables: Slice<Tables>,
    kernels: Kernels,
    /// See [`StaticProblem::rounding`].
    rounding: f64,
    settings: SolverSettings,
    report: GpuSolverReport,
    _arena: Arena,
    stream: Stream,
    gpu: Gpu,
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
    /// The two halves of `both`.
    z: Slice<f32>,
    t: Slice<f32>,
    both: Slice<f64>,
    /// Further vectors where the smoother takes other than two steps.
    work: Option<[Slice<f32>; 2]>,
    scalars: Slice<f64>,
    partial: Slice<f64>,
    arrived: Slice<u32>,
    /// Prescribed degrees of freedom in the order of the problem's, and their values.
    fixed: Slice<u32>,
    values: Slice<f64>,
}

impl Arrays {
    /// Further arrays beside `both`, which has room for `n` numbers; `low` as in [`Kernels::new`].
    fn new(
        both: Slice<f64>,
        (n, low, degree): (usize, u64, usize),
        n_blocks: u32,
        fixed: &[u32],
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        let mut vector = |name| arena.zeros::<f32>(name, n);
        let work = if degree == 2 { None } else { Some([vector("smoothing steps")?, vector("smoothing steps")?]) };
        let (r, p) = (vector("r")?, vector("p")?);
        Ok(Self {
            z: both.part(0, n),
            t: both.part(n, n),
            both,
            work,
            r,
            p,
            upper: arena.zeros("u", n)?,
            lower: arena.zeros("lower bits of u", low as usize * n)?,
            scalars: arena.zeros("scalars", N_SCALARS as usize)?,
            // Two rows of three sums: see `Grid` in grid.cuh.
            partial: arena.zeros("partial sums", 2 * 3 * n_blocks as usize)?,
            arrived: arena.zeros("arrivals", 1)?,
            values: arena.zeros("prescribed values", fixed.len())?,
            fixed: arena.copy("prescribed degrees of freedom", fixed)?,
        })
    }

    /// Tells the kernels of the coarse levels where these are.
    fn enter(&self, tables: &mut Tables) {
        (tables.fine_residual, tables.fine_z) = (self.t.at(), self.z.at());
        (tables.fixed, tables.n_fixed) = (self.fixed.at(), self.fixed.len() as u32);
        (tables.partial, tables.arrived) = (self.partial.at(), self.arrived.at());
        tables.work = self.scalars.part::<f64>(WORK as usize, 1).at();
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
        solver.stream.synchronize()?;
        solver.arrays.scalars.read(&mut self.scalars)?;
        self.products += solver.products();
        let [alpha, square] = [ALPHA, RR].map(|at| self.scalars[at as usize]);
        Ok(alpha.is_finite().then(|| square.sqrt()))
    }

    fn true_residual(&mut self) -> Result<f64, DeviceError> {
        self.solver.with_solution(self.solver.kernels.expand)?;
        self.solver.true_residual()
    }
}

/// Kernels of the coarse levels and of the outer conjugate gradients.
#[derive(Debug)]
struct Kernels {
    correction: Kernel,
    prolong: Kernel,
    direction: Kernel,
    update: Kernel,
    sum: Kernel,
    dot: Kernel,
    expand: Kernel,
    compress: Kernel,
    take: Kernel,
    prescribe: Kernel,
    _module: Module,
}

impl Kernels {
    /// With `low` bytes of a number of the solution in its lower part; `cell` is the stiffness of 2 × 2 × 2 voxels.
    fn new(gpu: &Gpu, low: u64, cell: &[f32]) -> Result<Self, DeviceError> {
        let module = gpu.module("levels")?;
        module.set_constant(c"CELL", cell)?;
        let kernel = |name: &str| Kernel::new(gpu, &module, name, 0);
        let of_solution = |name: &str| kernel(&format!("{name}_{}", 32 + 8 * low));
        Ok(Self {
            correction: kernel("coarse_correction")?,
            prolong: kernel("coarse_prolong")?,
            direction: kernel("outer_direction")?,
            update: of_solution("outer_update")?,
            sum: kernel("outer_sum")?,
            dot: kernel("outer_dot")?,
            expand: of_solution("outer_expand")?,
            compress: of_solution("outer_compress")?,
            take: kernel("outer_take")?,
            prescribe: kernel("outer_prescribe")?,
            _module: module,
        })
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

impl GpuStaticSolver {
    /// Sets up the preconditioner. Of the problem's fixed degrees of freedom only which they are counts here.
    ///
    /// # Errors
    /// No driver or device, too little memory there (told before anything runs), or what the driver reports.
    pub fn new(problem: &StaticProblem, settings: &SolverSettings, ordinal: u32) -> Result<Self, DeviceError> {
        let mut settings = settings.clone();
        settings.cycle.bottom = settings.cycle.bottom.max(BOTTOM);
        let gpu = Gpu::open(ordinal)?;
        let free = gpu.free_memory()?;
        let n_nodes = problem.bricks.n_nodes();
        let n = padded(n_nodes);
        let degree = settings.cycle.degree[0];
        let n_vectors = if degree == 2 { 4 } else { 6 };
        let low = if settings.tolerance < WHOLE { 4 } else { 2 };
        // x, the vectors, and 2 B a node for its diagonal: what is sure before the hierarchy is there.
        let vectors = (4 + low + 4 * n_vectors) * n as u64;
        gpu.require(vectors + 2 * n_nodes as u64 + RESERVE, ADVICE)?;

        let began = Instant::now();
        let cube = Cube::new(problem.poisson);
        let coarse = hierarchy(problem, &cube, &settings);
        let host_seconds = began.elapsed().as_secs_f64();
        check_bottom(&coarse)?;

        let began = Instant::now();
        let stream = Stream::new()?;
        let fine = FineLevel::new(&gpu, &stream, problem, element_bound(&cube))?;
        let further = problem.bricks.n_elements() as u64 * if fine.one_modulus() { 0 } else { 4 };
        let mut arena = Arena::default();
        let both = arena.zeros::<f64>("z and t", n)?;
        // Smoothers of other than two steps need t when they make z again.
        let lent = match degree {
            2 => Lent { z: both.pointer(), t: both.pointer() + 4 * n as u64, bytes: 4 * n as u64 },
            _ => Lent::default(),
        };
        gpu.require(vectors - 8 * n as u64 + levels::bytes(&coarse, lent) + further + RESERVE, ADVICE)?;
        let mut tables = levels::tables(&problem.bricks, &coarse, lent, &mut arena)?;
        levels::put_moduli(&problem.moduli, problem.spacing, fine.one_modulus(), &mut arena, &mut tables)?;
        let level_sizes = coarse.levels.iter().map(|level| level.n).collect();
        let kernels = Kernels::new(&gpu, low, coarse.cell())?;
        drop(coarse);

        let fixed: Vec<u32> =
            problem.fixed.iter().map(|dof| 3 * fine.order[dof.node as usize] + u32::from(dof.direction)).collect();
        let n_blocks = (kernels.correction.resident * gpu.multiprocessors).max(BLOCKS);
        let arrays = Arrays::new(both, (n, low, degree), n_blocks, &fixed, &mut arena)?;
        arrays.enter(&mut tables);
        (tables.planes, tables.tiles, tables.n_tiles) = (fine.planes(), fine.tiles.0.at(), fine.tiles.1);
        let tables = arena.copy("tables", &[tables])?;
        stream.synchronize()?;
        let report = GpuSolverReport {
            device: gpu.name.clone(),
            bytes: free.saturating_sub(gpu.free_memory()?),
            memory: arena.report(),
            n_dofs: 3 * n_nodes as u64,
            host_seconds,
            device_seconds: began.elapsed().as_secs_f64(),
            levels: level_sizes,
        };
        Ok(Self {
            kernels,
            fine,
            arrays,
            tables,
            rounding: problem.rounding(),
            settings,
            report,
            _arena: arena,
            stream,
            gpu,
        })
    }

    /// What the solver took to make, and what it holds.
    pub fn report(&self) -> &GpuSolverReport {
        &self.report
    }

    /// Solves one load case from `start`, or from 0; see [`StaticSolver::solve`](super::super::StaticSolver::solve).
    ///
    /// # Errors
    /// What the driver reports.
    pub fn solve(
        &mut self,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solution, DeviceError> {
        self.gpu.enter()?;
        let clock = Instant::now();
        self.fine.set_forces(forces, fixed)?;
        self.arrays.values.write(&fixed.iter().map(|dof| dof.value).collect::<Vec<f64>>())?;
        let stream = &self.stream;
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
        solution.displacement = self.displacement()?;
        solution.seconds = clock.elapsed().as_secs_f64();
        Ok(solution)
    }

    /// Products of the finest level in an iteration: before and after the correction, z made again, K p twice.
    fn products(&self) -> f64 {
        let degree = self.settings.cycle.degree[0];
        (2 * degree + 2 + if degree == 2 { 1 } else { 0 }) as f64
    }

    /// z = M⁻¹ r; z · K p of the direction before.
    fn precondition(&self) -> Result<(), DeviceError> {
        let stream = &self.stream;
        let (fine, r, z, t) = (&self.fine, &self.arrays.r, &self.arrays.z, &self.arrays.t);
        let degree = self.settings.cycle.degree[0];
        let work = self.arrays.work.as_ref().map(|[d, next]| [d, next]);
        fine.smooth(stream, degree, [r, z, t], work, false)?;
        fine.residual(stream, r, z, t)?;
        self.arrays.arrived.clear(stream)?;
        // SAFETY: the tables are those of levels.cuh; all addresses in them live as long as this.
        unsafe {
            self.kernels.correction.launch_resident(
                &self.gpu,
                stream,
                u32::MAX,
                &mut arguments![self.tables.pointer()],
            )?;
        }
        if degree == 2 {
            // Coarse levels have been where z was.
            fine.smooth(stream, degree, [r, z, t], work, false)?;
        }
        // Behind the last node there may be anything.
        z.part::<f32>(fine.n_dofs(), z.len() - fine.n_dofs()).clear(stream)?;
        for clear in [0_u32, 1] {
            // SAFETY: as above; the order is the stream's.
            unsafe { self.kernels.prolong.launch(stream, 4 * BLOCKS, &mut arguments![self.tables.pointer(), clear])? };
        }
        fine.smooth(stream, degree, [r, z, t], work, true)?;
        fine.dot(stream, z, &self.arrays.p)?;
        self.keep_sum(ZQ)
    }

    /// The direction, α, x and r.
    fn step(&self) -> Result<(), DeviceError> {
        let stream = &self.stream;
        let n = self.arrays.r.len() as u64;
        let (scalars, p, z) = (self.arrays.scalars.pointer(), self.arrays.p.pointer(), self.arrays.z.pointer());
        let (r, partial) = (self.arrays.r.pointer(), self.arrays.partial.pointer());
        // Not z · r, which is the same only as long as r is orthogonal to the direction before: what rounding has left may not be.
        // SAFETY, here and below: what the kernels take; vectors have n numbers, `partial` one for each thread block.
        unsafe {
            self.kernels.direction.launch(stream, BLOCKS, &mut arguments![scalars, z, p, n])?;
            self.kernels.dot.launch(stream, BLOCKS, &mut arguments![p, r, partial, n])?;
            self.kernels.sum.launch(stream, 1, &mut arguments![partial, BLOCKS, scalars + 8 * u64::from(PR)])?;
        }
        // z has gone into p; K p takes its place.
        self.fine.apply(stream, &self.arrays.p, &self.arrays.z, true)?;
        self.keep_sum(PQ)?;
        let solution = [self.arrays.upper.pointer(), self.arrays.lower.pointer()];
        // SAFETY: as above.
        unsafe {
            self.kernels.update.launch(stream, BLOCKS, &mut arguments![scalars, p, z, solution, r, partial, n])?;
            self.kernels.sum.launch(stream, 1, &mut arguments![partial, BLOCKS, scalars + 8 * u64::from(RR)])
        }
    }

    /// Keeps the sum of the last product as scalar `at`.
    fn keep_sum(&self, at: u32) -> Result<(), DeviceError> {
        self.arrays.scalars.part::<f64>(at as usize, 1).copy_from(&self.fine.sum, 1, &self.stream)
    }

    /// `both` where x is prescribed.
    fn set_prescribed(&self) -> Result<(), DeviceError> {
        let (x, fixed, values) =
            (self.arrays.both.pointer(), self.arrays.fixed.pointer(), self.arrays.values.pointer());
        let n = self.arrays.fixed.len() as u64;
        // SAFETY: what the kernel takes.
        unsafe { self.kernels.prescribe.launch(&self.stream, BLOCKS, &mut arguments![x, fixed, values, n]) }
    }

    /// Takes x from f64 in `both`, or puts it there.
    fn with_solution(&self, kernel: Kernel) -> Result<(), DeviceError> {
        let solution = [self.arrays.upper.pointer(), self.arrays.lower.pointer()];
        let (both, n) = (self.arrays.both.pointer(), self.arrays.both.len() as u64);
        // SAFETY: what the kernels take; all have n numbers.
        unsafe { kernel.launch(&self.stream, 4 * BLOCKS, &mut arguments![solution, both, n]) }
    }

    /// x = `both`, but what is prescribed there.
    fn begin(&self) -> Result<(), DeviceError> {
        self.set_prescribed()?;
        self.with_solution(self.kernels.compress)
    }

    /// r = f − K x of x in `both`; its norm.
    fn true_residual(&self) -> Result<f64, DeviceError> {
        self.fine.true_residual(&self.stream, &self.arrays.both, &self.arrays.r)?;
        self.stream.synchronize()?;
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

    /// x in the bricks' order.
    fn displacement(&self) -> Result<Vec<f64>, DeviceError> {
        let stream = &self.stream;
        let order = &self.fine.order;
        let mut out = vec![0.0; 3 * order.len()];
        // Memory is touched by many threads before one copies into it.
        out.par_chunks_mut(512).for_each(|part| part[0] = 0.0);
        self.with_solution(self.kernels.expand)?;
        // p has room for the order of all nodes, r for half of the numbers.
        let part = (self.arrays.r.len() / 6).max(1);
        let (x, numbers, to) =
            (self.arrays.both.pointer(), self.arrays.p.part::<u32>(0, part), self.arrays.r.part::<f64>(0, 3 * part));
        for (out, order) in out.chunks_mut(3 * part).zip(order.chunks(part)) {
            numbers.write(order)?;
            let (numbers, to, n) = (numbers.pointer(), to.pointer(), order.len() as u64);
            // SAFETY: what the kernel takes; p and r are done with.
            unsafe { self.kernels.take.launch(stream, 4 * BLOCKS, &mut arguments![x, numbers, to, n])? };
            self.stream.synchronize()?;
            self.arrays.r.part::<f64>(0, out.len()).read(out)?;
        }
        Ok(out)
    }
}

/// The coarse levels of a problem.
fn hierarchy(problem: &StaticProblem, cube: &Cube, settings: &SolverSettings) -> Coarse {
    let mut mask = vec![0_u8; problem.bricks.n_nodes()];
    problem.fixed.iter().for_each(|dof| mask[dof.node as usize] |= 1 << dof.direction);
    let stiffness = |e: usize| problem.spacing * problem.moduli.young(e);
    let mut coarse =
        Coarse::new(cube, Elements::of_bricks(&problem.bricks), &mask, &stiffness, &settings.cycle, Host::Device, None);
    coarse.make_matrices(&stiffness);
    coarse
}
