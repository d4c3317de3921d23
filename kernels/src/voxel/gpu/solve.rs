//! Conjugate gradients with multigrid on a device: the same method as [`StaticSolver`], step for step.
//!
//! The hierarchy is made by the host. On the device an iteration is a dozen launches: two products of the finest level
//! with the smoother in them, one cooperative launch for all coarse levels (levels.cuh), two products more, one for the
//! direction. Scalars stay there; the host reads the norm of the residual once an iteration. Vectors of the finest level are
//! the solution in double precision, r, p, z and t in single; q lies where z was, and only half of its bits are kept for the
//! next z · q.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::time::Instant;

use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use rayon::prelude::*;

use super::super::first::fine_elements;
use super::super::multigrid::{Coarse, FACTORISED};
use super::super::solve::element_bound;
use super::super::{Cube, FixedDof, NodalForce, Solution, SolverSettings, StaticProblem};
use super::levels::{self, DeviceMemory, Tables, padded};
use super::product::FineLevel;
use crate::cuda::{Buffer, DeviceError, Gpu, Kernel, Plain, check};

/// The kernels' code, compiled from levels.cu (`kernels/ptx/build.sh`).
const PTX: &str = include_str!("../../../ptx/levels.ptx");
/// Memory kept free for what the driver needs, bytes.
const RESERVE: u64 = 256 << 20;
/// Degrees of freedom of a last level that is worth its inverse: one product with that costs less than further levels.
const BOTTOM: usize = 1500;
/// Thread blocks of the vector steps.
const BLOCKS: u32 = 1024;
/// What is said when a device is too small.
const ADVICE: &str = "a larger device, a coarser or smaller sample ([image] downsample, crop), or --device cpu";

/// `Scalar` in levels.cu.
mod scalar {
    pub const ZR: usize = 0;
    pub const ZQ: usize = 1;
    pub const PQ: usize = 2;
    pub const RR: usize = 4;
    pub const ALPHA: usize = 5;
    pub const WORK: usize = 7;
    pub const N: usize = 8;
}

/// What a solver on a device is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuSolverReport {
    /// The device's name.
    pub device: String,
    /// Bytes in use there.
    pub bytes: u64,
    /// Degrees of freedom.
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
    x: Buffer<f64>,
    r: Buffer<f32>,
    p: Buffer<f32>,
    /// The upper halves of q = K p.
    q: Buffer<u16>,
    z: Buffer<f32>,
    t: Buffer<f32>,
    /// Further vectors where the smoother takes other than two steps.
    work: Option<[Buffer<f32>; 2]>,
    scalars: Buffer<f64>,
    partial: Buffer<f64>,
    arrived: Buffer<u32>,
    tables: Buffer<Tables>,
    /// Prescribed degrees of freedom in the order of the problem's, and their values.
    fixed: Buffer<u32>,
    values: Buffer<f64>,
    n_fixed: usize,
    correction: Kernel,
    direction: Kernel,
    update: Kernel,
    sum: Kernel,
    dot: Kernel,
    take: Kernel,
    prescribe: Kernel,
    settings: SolverSettings,
    report: GpuSolverReport,
    _memory: DeviceMemory,
    _module: Module,
    stream: Stream,
    gpu: Gpu,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl Send for GpuStaticSolver {}

/// Addresses and numbers of a launch.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => {
        [$(std::ptr::from_mut(&mut { $value }).cast::<c_void>()),*]
    };
}

fn need(gpu: &Gpu, needed: u64) -> Result<(), DeviceError> {
    let free = gpu.free_memory()?;
    if needed > free {
        return Err(DeviceError::Memory { name: gpu.name.clone(), needed, free, advice: ADVICE });
    }
    Ok(())
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
        // x, half of q, the vectors, and 2 B a node for its diagonal: what is sure before the hierarchy is there.
        let vectors = (8 + 2 + 4 * n_vectors) * n as u64;
        need(&gpu, vectors + 2 * n_nodes as u64 + RESERVE)?;

        let began = Instant::now();
        let cube = Cube::new(problem.poisson);
        let coarse = hierarchy(problem, &cube, &settings);
        let host_seconds = began.elapsed().as_secs_f64();
        // The device smooths a last level that is not factorised, which is no solution of a large one.
        if let Some(last) = coarse.levels.last().filter(|last| !coarse.is_factorised() && last.n > FACTORISED) {
            let reason = format!("the last has {} unknowns; allow more, or use --device cpu", last.n);
            return Err(DeviceError::Failed { what: "solve on so few levels", reason });
        }

        let began = Instant::now();
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|error| DeviceError::Failed { what: "make a stream", reason: error.to_string() })?;
        let fine = FineLevel::new(&gpu, stream.as_inner(), problem, element_bound(&cube))?;
        let further = problem.bricks.n_elements() as u64 * if fine.one_modulus() { 0 } else { 4 };
        let zeros = || Buffer::<f32>::zeros(n);
        // Between restriction and prolongation nobody needs t, but for smoothers of other than two steps.
        let scratch = if degree == 2 { 4 * n as u64 } else { 0 };
        need(&gpu, vectors + levels::bytes(&coarse, scratch) + further + RESERVE)?;
        let t = zeros()?;
        let mut memory = DeviceMemory::default();
        let mut tables = levels::tables(
            &problem.bricks,
            &coarse,
            &|node| fine.order[node as usize],
            (t.pointer(), scratch),
            &mut memory,
        )?;
        levels::put_moduli(&problem.moduli, problem.spacing, fine.one_modulus(), &mut memory, &mut tables)?;
        let level_sizes = coarse.levels.iter().map(|level| level.n).collect();
        let cell = coarse.cell().to_vec();
        drop(coarse);

        let module = gpu.module(PTX)?;
        set_constant(&module, c"CELL", &cell)?;
        let kernel = |name| Kernel::new(&gpu, &module, name, 0);
        let correction = kernel("coarse_correction")?;
        let work = if degree == 2 { None } else { Some([zeros()?, zeros()?]) };
        let (r, p, z) = (zeros()?, zeros()?, zeros()?);
        let q = Buffer::zeros(n)?;
        let x = Buffer::zeros(n)?;
        let fixed: Vec<u32> =
            problem.fixed.iter().map(|dof| 3 * fine.order[dof.node as usize] + u32::from(dof.direction)).collect();
        let scalars = Buffer::zeros(scalar::N)?;
        let blocks = (correction.resident * gpu.multiprocessors).max(BLOCKS);
        let partial = Buffer::zeros(2 * 3 * blocks as usize)?;
        let arrived = Buffer::zeros(1)?;
        let values = Buffer::zeros(fixed.len())?;
        let n_fixed = fixed.len();
        let fixed = Buffer::of(&fixed)?;
        tables.fine_residual = t.pointer();
        tables.fine_z = work.as_ref().map_or(z.pointer(), |[e, _]| e.pointer());
        tables.fixed = fixed.pointer();
        tables.n_fixed = n_fixed as u32;
        tables.partial = partial.pointer();
        tables.arrived = arrived.pointer();
        tables.work = scalars.pointer() + 8 * scalar::WORK as u64;
        let tables = Buffer::of(&[tables])?;
        synchronize(&stream)?;
        let report = GpuSolverReport {
            device: gpu.name.clone(),
            bytes: free.saturating_sub(gpu.free_memory()?),
            n_dofs: 3 * n_nodes as u64,
            host_seconds,
            device_seconds: began.elapsed().as_secs_f64(),
            levels: level_sizes,
        };
        Ok(Self {
            direction: kernel("outer_direction")?,
            update: kernel("outer_update")?,
            sum: kernel("outer_sum")?,
            dot: kernel("outer_dot")?,
            take: kernel("outer_take")?,
            prescribe: kernel("outer_prescribe")?,
            correction,
            fine,
            x,
            r,
            p,
            q,
            z,
            t,
            work,
            scalars,
            partial,
            arrived,
            tables,
            fixed,
            values,
            n_fixed,
            settings,
            report,
            _memory: memory,
            _module: module,
            stream,
            gpu,
        })
    }

    /// What it is.
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
        self.values.write(&fixed.iter().map(|dof| dof.value).collect::<Vec<f64>>())?;
        clear(&self.x)?;
        clear(&self.p)?;
        clear(&self.scalars)?;
        self.set_prescribed()?;
        let mut products = 1.0;
        let mut norm0 = self.true_residual()?;
        let mut norm = norm0;
        if let Some(start) = start {
            self.x.write(&self.to_device(start))?;
            self.set_prescribed()?;
            norm = self.true_residual()?;
            products += 1.0;
            if self.settings.from_start {
                norm0 = norm;
            }
        }
        let mut solution = Solution::default();
        let limit = self.settings.tolerance * norm0;
        let mut checked = norm;
        let mut scalars = [0.0; scalar::N];
        while !(norm <= limit) && solution.iterations < self.settings.iterations {
            self.precondition()?;
            self.step()?;
            synchronize(&self.stream)?;
            self.scalars.read(&mut scalars)?;
            products += (2 * self.settings.cycle.degree[0] + 1) as f64;
            if !scalars[scalar::ALPHA].is_finite() {
                break;
            }
            norm = scalars[scalar::RR].sqrt();
            solution.iterations += 1;
            // From time to time the residual of the iteration gives way to the true one.
            if norm <= limit || norm < 1e-3 * checked {
                norm = self.true_residual()?;
                products += 1.0;
                checked = norm;
            }
            solution.history.push(norm / norm0);
            if progress(solution.iterations, norm / norm0).is_break() {
                break;
            }
        }
        solution.relative_residual = if norm0 > 0.0 { norm / norm0 } else { 0.0 };
        solution.converged = norm <= limit;
        solution.products = products + scalars[scalar::WORK];
        solution.displacement = self.displacement()?;
        solution.seconds = clock.elapsed().as_secs_f64();
        Ok(solution)
    }

    /// z = M⁻¹ r; z · r and z · q.
    fn precondition(&self) -> Result<(), DeviceError> {
        let stream = self.stream.as_inner();
        let (fine, r, z, t) = (&self.fine, &self.r, &self.z, &self.t);
        let degree = self.settings.cycle.degree[0];
        let work = self.work.as_ref().map(|[e, d]| [d, e]);
        fine.smooth_before(stream, degree, r, z, t, work)?;
        if let Some([e, _]) = work_vectors(&self.work) {
            clear_in(stream, e)?;
        }
        clear_in(stream, &self.arrived)?;
        // SAFETY: the tables are those of levels.cuh; all addresses in them live as long as this.
        unsafe {
            self.correction.launch_together(&self.gpu, stream, &mut arguments![self.tables.pointer()])?;
        }
        let dots = Some((r, r));
        match &self.work {
            None => fine.smooth_again(stream, r, z, t, dots)?,
            Some([e, d]) => fine.smooth_after(stream, degree, e, z, t, dots, Some([d, e]))?,
        }
        self.keep_sums(scalar::ZR)?;
        let (z, q, partial) = (self.z.pointer(), self.q.pointer(), self.partial.pointer());
        let out = self.scalars.pointer() + 8 * scalar::ZQ as u64;
        // SAFETY: what the kernels take; vectors have n numbers, `partial` one for each thread block.
        unsafe {
            self.dot.launch(stream, BLOCKS, &mut arguments![z, q, partial, self.r.len() as u64])?;
            self.sum.launch(stream, 1, &mut arguments![partial, BLOCKS, out])
        }
    }

    /// The direction, α, x and r.
    fn step(&self) -> Result<(), DeviceError> {
        let stream = self.stream.as_inner();
        let n = self.r.len() as u64;
        let (scalars, p, z) = (self.scalars.pointer(), self.p.pointer(), self.z.pointer());
        // SAFETY, here and below: what the kernels take; vectors have n numbers, `partial` one for each thread block.
        unsafe { self.direction.launch(stream, BLOCKS, &mut arguments![scalars, z, p, n])? };
        // z has gone into p; K p takes its place.
        self.fine.apply(stream, &self.p, &self.z, true)?;
        self.keep_sums(scalar::PQ)?;
        let (x, r, kept, partial) = (self.x.pointer(), self.r.pointer(), self.q.pointer(), self.partial.pointer());
        // SAFETY: as above.
        unsafe {
            self.update.launch(stream, BLOCKS, &mut arguments![scalars, p, z, x, r, kept, partial, n])?;
            self.sum.launch(stream, 1, &mut arguments![partial, BLOCKS, scalars + 8 * scalar::RR as u64])
        }
    }

    /// Keeps the two sums of the last product as scalars from `at` on.
    fn keep_sums(&self, at: usize) -> Result<(), DeviceError> {
        let to = self.scalars.pointer() + 8 * at as u64;
        // SAFETY: two numbers on both sides.
        check("copy on the device", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, self.fine.sums.pointer(), 16, self.stream.as_inner())
        })
    }

    /// x where it is prescribed.
    fn set_prescribed(&self) -> Result<(), DeviceError> {
        let (x, fixed, values) = (self.x.pointer(), self.fixed.pointer(), self.values.pointer());
        let n = self.n_fixed as u64;
        // SAFETY: what the kernel takes.
        unsafe { self.prescribe.launch(self.stream.as_inner(), BLOCKS, &mut arguments![x, fixed, values, n]) }
    }

    /// r = f − K x; its norm.
    fn true_residual(&self) -> Result<f64, DeviceError> {
        self.fine.true_residual(self.stream.as_inner(), &self.x, &self.r)?;
        synchronize(&self.stream)?;
        let mut sums = [0.0; 2];
        self.fine.sums.read(&mut sums)?;
        Ok(sums[0].sqrt())
    }

    /// A vector of the bricks' order in that of the device.
    fn to_device(&self, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.x.len()];
        for (&to, from) in self.fine.order.iter().zip(values.chunks_exact(3)) {
            out[3 * to as usize..3 * to as usize + 3].copy_from_slice(from);
        }
        out
    }

    /// x in the bricks' order.
    fn displacement(&self) -> Result<Vec<f64>, DeviceError> {
        let stream = self.stream.as_inner();
        let order = &self.fine.order;
        let mut out = vec![0.0; 3 * order.len()];
        // Memory is touched by many threads before one copies into it.
        out.par_chunks_mut(512).for_each(|part| part[0] = 0.0);
        // p has room for the order of a third of the nodes and more, z for half of the numbers.
        let part = (self.z.len() / 6).min(self.p.len()).max(1);
        let (x, numbers, to) = (self.x.pointer(), self.p.pointer(), self.z.pointer());
        for (out, order) in out.chunks_mut(3 * part).zip(order.chunks(part)) {
            // SAFETY: p has room for `order`, z for `out`, and both are done with; copies wait for the stream.
            unsafe {
                check("copy to the device", sys::cuMemcpyHtoD_v2(numbers, order.as_ptr().cast(), size_of_val(order)))?;
                self.take.launch(stream, 4 * BLOCKS, &mut arguments![x, numbers, to, order.len() as u64])?;
                synchronize(&self.stream)?;
                check("copy from the device", sys::cuMemcpyDtoH_v2(out.as_mut_ptr().cast(), to, size_of_val(out)))?;
            }
        }
        Ok(out)
    }
}

fn work_vectors(work: &Option<[Buffer<f32>; 2]>) -> Option<[&Buffer<f32>; 2]> {
    work.as_ref().map(|[e, d]| [e, d])
}

/// The coarse levels of a problem.
fn hierarchy(problem: &StaticProblem, cube: &Cube, settings: &SolverSettings) -> Coarse {
    let mut mask = vec![0_u8; problem.bricks.n_nodes()];
    problem.fixed.iter().for_each(|dof| mask[dof.node as usize] |= 1 << dof.direction);
    let stiffness = |e: usize| problem.spacing * problem.moduli.young(e);
    let mut coarse = Coarse::new(cube, fine_elements(&problem.bricks), &mask, &stiffness, &settings.cycle);
    coarse.make_matrices(&stiffness);
    coarse
}

fn set_constant(module: &Module, name: &std::ffi::CStr, values: &[f32]) -> Result<(), DeviceError> {
    let values: [f32; 576] = values
        .try_into()
        .map_err(|_| DeviceError::Failed { what: "set a constant", reason: "it has another size".into() })?;
    let failed =
        |error: cust::error::CudaError| DeviceError::Failed { what: "set a constant", reason: error.to_string() };
    let mut symbol = module.get_global::<[f32; 576]>(name).map_err(failed)?;
    cust::memory::CopyDestination::copy_from(&mut symbol, &values).map_err(failed)
}

fn synchronize(stream: &Stream) -> Result<(), DeviceError> {
    // SAFETY: a live stream.
    check("finish its work", unsafe { sys::cuStreamSynchronize(stream.as_inner()) })
}

fn clear<T: Plain>(buffer: &Buffer<T>) -> Result<(), DeviceError> {
    // SAFETY: as long as is cleared; an empty buffer has one number.
    check("clear memory", unsafe { sys::cuMemsetD8_v2(buffer.pointer(), 0, buffer.len() * size_of::<T>()) })
}

fn clear_in<T: Plain>(stream: sys::CUstream, buffer: &Buffer<T>) -> Result<(), DeviceError> {
    // SAFETY: as above.
    check("clear memory", unsafe { sys::cuMemsetD8Async(buffer.pointer(), 0, buffer.len() * size_of::<T>(), stream) })
}
