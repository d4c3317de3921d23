//! The finest level on a device: tables, and launches of the kernels in `brick.cu`.
//!
//! Vectors have three numbers a node, in the order of the tiles: [`FineLevel::order`] gives the place of each of the bricks'
//! nodes. Sums come in one order: the same bits on every run.

use std::ffi::c_void;

use cust::module::Module;
use cust::sys::CUstream;

use super::super::multigrid::{factors, weight};
use super::super::{Cube, Moduli, NodalForce, StaticProblem};
use super::tiles::{self, Plane, Stretch, Tile, Tiles};
use crate::device::{Buffer, DeviceError, Gpu, Kernel, Plain};
use crate::simd::Real;

/// The kernels' code, compiled from the .cu files beside this one (`kernels/ptx/build.sh`).
mod ptx {
    pub const F32: &str = include_str!("../../../ptx/brick_f32.ptx");
    pub const F64: &str = include_str!("../../../ptx/brick_f64.ptx");
}

/// `Stiffness` in brick.cuh.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Stiffness<T> {
    stretch: T,
    volume: T,
    hourglass: T,
    together: T,
    bend: T,
    across: T,
    shear: T,
    last: T,
}

impl<T: Real> Stiffness<T> {
    /// `factor` K. That few numbers are enough: the blocks of a cube's stiffness are alike in x, y and z.
    fn new(cube: &Cube, factor: f64) -> Self {
        let k = |s: usize, a: usize, b: usize| T::from_f64(factor * cube.blocks[s][a][b]);
        Self {
            stretch: k(0, 0, 0) - k(0, 0, 1),
            volume: k(0, 0, 1),
            hourglass: k(7, 0, 0) - k(7, 0, 1),
            together: k(7, 0, 1),
            bend: k(1, 1, 1),
            across: k(1, 1, 2),
            shear: k(3, 0, 0),
            last: k(3, 2, 2),
        }
    }
}

/// `Params` in brick.cuh. Addresses are of the device.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Params<T> {
    k: Stiffness<T>,
    planes: u64,
    stretches: u64,
    halo: u64,
    fixed: u64,
    inverse: u64,
    classes: u64,
    young: u64,
    moduli: u64,
    x: u64,
    y: u64,
    b: u64,
    r: u64,
    d: u64,
    z: u64,
    partial: u64,
    forces: u64,
    n_forces: u64,
    p: f32,
    s: f32,
    w: f32,
    w0: f32,
    unit: T,
    kind: u32,
    add: u32,
}

/// `Force` in brick.cuh.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Force {
    dof: u64,
    value: f64,
}
// SAFETY: numbers without padding.
unsafe impl Plain for Force {}

/// Whose stretches a launch takes: those of kernels in f32, of two smoothing steps, or in f64.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Single,
    Pair,
    Double,
}

/// The finest level.
#[derive(Debug)]
pub(crate) struct FineLevel {
    /// Place of each node of the bricks in vectors, (n_nodes,).
    pub order: Vec<u32>,
    /// Sum of the last launch that was asked for one.
    pub sum: Buffer<f64>,
    /// Bytes on the device.
    pub bytes: u64,
    /// First planes of the tiles, and how many of these stand along x.
    pub tiles: (Buffer<Tile>, u32),
    n_nodes: usize,
    lambda: f32,
    single: Params<f32>,
    double: Params<f64>,
    /// Address and number of the stretches of each [`Cut`].
    stretches: [(u64, u32); 3],
    store: Kernel,
    residual: Kernel,
    step: Kernel,
    dot: Kernel,
    pair: Kernel,
    first: Kernel,
    add_up: Kernel,
    store_f64: Kernel,
    forces_f64: Kernel,
    inverse: Buffer<u16>,
    partial: Buffer<f64>,
    forces: Buffer<Force>,
    _tables: (Buffer<Plane>, [Buffer<Stretch>; 3], Buffer<u32>, Buffer<u32>),
    _moduli: (Buffer<u8>, Buffer<f32>, Buffer<f32>, Buffer<f64>),
    _modules: [Module; 2],
}

impl FineLevel {
    /// Tables of a problem, of whose fixed degrees of freedom only which they are counts, on the device. `lambda` is the
    /// largest eigenvalue of D⁻¹ K for the smoother.
    ///
    /// # Errors
    /// What the driver says; too little memory.
    pub fn new(gpu: &Gpu, stream: CUstream, problem: &StaticProblem, lambda: f64) -> Result<Self, DeviceError> {
        let bricks = &problem.bricks;
        let n_nodes = bricks.n_nodes();
        let fixed: Vec<u32> = problem.fixed.iter().map(|dof| 3 * dof.node + u32::from(dof.direction)).collect();
        let tiles = Tiles::new(bricks, &fixed);
        let cube = Cube::new(problem.poisson);
        let (kind, classes, moduli) = tiles::moduli(&tiles, bricks, &problem.moduli);
        let mut bytes = tiles.bytes() + classes.len() as u64 + 4 * moduli.len() as u64;
        // E h is part of the stiffness where it is the same everywhere.
        let (factor, young, unit) = match problem.moduli {
            Moduli::Classes { class, young } if kind == 0 => {
                (class.first().map_or(1.0, |&class| young[usize::from(class)]) * problem.spacing, Vec::new(), 1.0)
            }
            Moduli::Classes { young, .. } => (1.0, young.iter().map(|y| y * problem.spacing).collect(), 1.0),
            Moduli::Each { scale, .. } => (1.0, Vec::new(), scale * problem.spacing),
        };
        let single: Vec<f32> = young.iter().map(|&y: &f64| y as f32).collect();
        let moduli = (Buffer::of(&classes)?, Buffer::of(&moduli)?, Buffer::of(&single)?, Buffer::of(&young)?);
        let fixed: Vec<u32> = tiles.fixed.iter().flatten().flatten().copied().collect();
        let longest = tiles::longest(kind != 0);
        let cuts = longest.map(|longest| tiles.cut(longest));
        bytes += cuts.iter().map(|cut| size_of_val(&cut[..]) as u64).sum::<u64>();
        let first_planes = (Buffer::of(&tiles.firsts())?, tiles.n_tiles[0] as u32);
        let (order, planes) = (tiles.order, tiles.planes);
        let n_planes = planes.len() as u32;
        let tables = (
            Buffer::of(&planes)?,
            [Buffer::of(&cuts[0])?, Buffer::of(&cuts[1])?, Buffer::of(&cuts[2])?],
            Buffer::of(&tiles.halo)?,
            Buffer::of(&fixed)?,
        );
        drop(planes);
        // Read two at a time.
        let inverse = Buffer::zeros(n_nodes.next_multiple_of(2))?;
        let partial = Buffer::zeros(cuts.iter().map(Vec::len).max().unwrap_or(0))?;
        let stretches = [0, 1, 2].map(|cut| (tables.1[cut].pointer(), cuts[cut].len() as u32));
        bytes += 8 * partial.len() as u64;
        let forces = Buffer::zeros(0)?;
        let modules = [gpu.module(ptx::F32)?, gpu.module(ptx::F64)?];
        let invert = Kernel::new(gpu, &modules[0], "brick_inverse", 0)?;
        // `Memory` in march.cuh: tasks, places and numbers of the halo, stages of u, sums on faces.
        let sheet = size_of::<Plane>() + if kind == 0 { 0 } else { 4 * tiles::WARPS };
        let shared = |size: usize, n_components: usize, cut: Cut| {
            let numbers = 4 * n_components * 17 * 24 + 2 * 9 * 16 * 24;
            ((3 + longest[cut as usize] + 8) * sheet + 9 * 64 * 4 + size * numbers) as u32
        };
        let name = |name: &str| format!("{name}{}", if kind == 0 { "" } else { "_moduli" });
        let march = |which: &str, n, cut| Kernel::new(gpu, &modules[0], &name(which), shared(4, n, cut));
        let double = |which: &str| Kernel::new(gpu, &modules[1], &name(which), shared(8, 3, Cut::Double));
        let kernel = |name| Kernel::new(gpu, &modules[0], name, 0);
        let addresses = Params::<f32> {
            k: Stiffness::new(&cube, factor),
            planes: tables.0.pointer(),
            stretches: 0,
            halo: tables.2.pointer(),
            fixed: tables.3.pointer(),
            inverse: inverse.pointer(),
            classes: moduli.0.pointer(),
            moduli: moduli.1.pointer(),
            young: moduli.2.pointer(),
            unit: unit as f32,
            kind,
            ..Default::default()
        };
        let out = Self {
            sum: Buffer::zeros(1)?,
            bytes,
            tiles: first_planes,
            n_nodes,
            lambda: lambda as f32,
            double: Params {
                k: Stiffness::new(&cube, factor),
                planes: addresses.planes,
                stretches: 0,
                halo: addresses.halo,
                fixed: addresses.fixed,
                inverse: addresses.inverse,
                classes: addresses.classes,
                moduli: addresses.moduli,
                young: moduli.3.pointer(),
                unit,
                kind,
                ..Default::default()
            },
            single: addresses,
            stretches,
            store: march("brick_store", 3, Cut::Single)?,
            residual: march("brick_residual", 3, Cut::Single)?,
            step: march("brick_step", 3, Cut::Single)?,
            dot: march("brick_dot", 3, Cut::Single)?,
            pair: march("brick_pair", 4, Cut::Pair)?,
            first: kernel("brick_first_step")?,
            add_up: kernel("brick_sum")?,
            store_f64: double("brick_store")?,
            forces_f64: double("brick_forces")?,
            order,
            inverse,
            partial,
            forces,
            _tables: tables,
            _moduli: moduli,
            _modules: modules,
        };
        // E h has its unit in f64 there, and a factor that all share.
        let mut params = Params { unit: (1.0 / (cube.diagonal * factor)) as f32, w: unit as f32, ..out.single };
        let (mut address, mut first) = (out.inverse.pointer(), 1_u32);
        let mut arguments = [
            std::ptr::from_mut(&mut params).cast::<c_void>(),
            std::ptr::from_mut(&mut address).cast(),
            std::ptr::from_mut(&mut first).cast(),
        ];
        if n_planes > 1 {
            // SAFETY: what the kernel takes; the tables name what is there.
            unsafe { invert.launch(stream, n_planes - 1, &mut arguments)? };
        }
        Ok(out)
    }

    /// Address of the tiles' planes.
    pub fn planes(&self) -> u64 {
        self.single.planes
    }

    /// Whether all elements have the same modulus.
    pub fn one_modulus(&self) -> bool {
        self.single.kind == 0
    }

    /// Numbers of a vector.
    pub fn n_dofs(&self) -> usize {
        3 * self.n_nodes
    }

    /// 1 / diagonal of each of the bricks' nodes, as the smoother has it: with 8 bits of mantissa.
    #[cfg(test)]
    pub fn read_inverse(&self) -> Result<Vec<f32>, DeviceError> {
        let mut all = vec![0; self.inverse.len()];
        self.inverse.read(&mut all)?;
        Ok(self.order.iter().map(|&at| f32::from_bits(u32::from(all[at as usize]) << 16)).collect())
    }

    /// The kernels by name: what [`measure`](super::measure) reports of them.
    pub(super) fn kernels(&self) -> [(&'static str, Kernel); 7] {
        [
            ("product", self.store),
            ("product f64", self.store_f64),
            ("residual", self.residual),
            ("step", self.step),
            ("product for a sum", self.dot),
            ("two steps", self.pair),
            ("true residual f64", self.forces_f64),
        ]
    }

    /// What forces [`true_residual`](Self::true_residual) subtracts from; those on fixed degrees of freedom do not count.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_forces(&mut self, forces: &[NodalForce], fixed: &[super::super::FixedDof]) -> Result<(), DeviceError> {
        let is_fixed = |force: &NodalForce| {
            fixed.binary_search_by_key(&(force.node, force.direction), |dof| (dof.node, dof.direction)).is_ok()
        };
        let mut list: Vec<Force> = forces
            .iter()
            .filter(|force| !is_fixed(force))
            .map(|force| Force {
                dof: 3 * u64::from(self.order[force.node as usize]) + u64::from(force.direction),
                value: force.value,
            })
            .collect();
        list.sort_unstable_by_key(|force| force.dof);
        self.forces = Buffer::of(&list)?;
        self.double.forces = self.forces.pointer();
        self.double.n_forces = list.len() as u64;
        Ok(())
    }

    /// y = K x, 0 where fixed; `sum` is x · y if that is asked for.
    ///
    /// # Errors
    /// What the driver says, here and below.
    pub fn apply(&self, stream: CUstream, x: &Buffer<f32>, y: &Buffer<f32>, dot: bool) -> Result<(), DeviceError> {
        self.start(
            stream,
            (self.store, Cut::Single),
            Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.single },
            dot,
        )
    }

    /// The same in f64.
    pub fn apply_f64(&self, stream: CUstream, x: &Buffer<f64>, y: &Buffer<f64>, dot: bool) -> Result<(), DeviceError> {
        self.start(
            stream,
            (self.store_f64, Cut::Double),
            Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.double },
            dot,
        )
    }

    /// `sum` = b · K x.
    pub fn dot(&self, stream: CUstream, b: &Buffer<f32>, x: &Buffer<f32>) -> Result<(), DeviceError> {
        self.start(stream, (self.dot, Cut::Single), Params { b: self.at(b), x: self.at(x), ..self.single }, true)
    }

    /// r = f − K x, 0 where fixed, computed in f64; `sum` is r · r.
    pub fn true_residual(&self, stream: CUstream, x: &Buffer<f64>, r: &Buffer<f32>) -> Result<(), DeviceError> {
        self.start(stream, (self.forces_f64, Cut::Double), Params { x: self.at(x), r: self.at(r), ..self.double }, true)
    }

    /// r = b − K x.
    pub fn residual(
        &self,
        stream: CUstream,
        b: &Buffer<f32>,
        x: &Buffer<f32>,
        r: &Buffer<f32>,
    ) -> Result<(), DeviceError> {
        let params = Params { b: self.at(b), x: self.at(x), r: self.at(r), ..self.single };
        self.start(stream, (self.residual, Cut::Single), params, false)
    }

    /// `degree` smoothing steps on K z = b from z = 0. `work` is needed for other than two.
    pub fn smooth(
        &self,
        stream: CUstream,
        degree: usize,
        b: &Buffer<f32>,
        z: &Buffer<f32>,
        residual: &Buffer<f32>,
        work: Option<[&Buffer<f32>; 2]>,
    ) -> Result<(), DeviceError> {
        if degree == 2 {
            return self.pair(stream, b, z, weight(2, 1), false);
        }
        self.steps(stream, degree, b, z, residual, work, false)
    }

    /// `residual` = b − K z, and `degree` smoothing steps more on K z = b; then `residual` may be another.
    pub fn smooth_again(
        &self,
        stream: CUstream,
        degree: usize,
        b: &Buffer<f32>,
        z: &Buffer<f32>,
        residual: &Buffer<f32>,
        work: Option<[&Buffer<f32>; 2]>,
    ) -> Result<(), DeviceError> {
        self.residual(stream, b, z, residual)?;
        if degree == 2 {
            return self.pair(stream, residual, z, weight(2, 1), true);
        }
        self.steps(stream, degree, residual, z, residual, work, true)
    }

    /// z = (z or 0) + `degree` smoothing steps for the residual b, which may be `residual`, where that of the last but one goes.
    #[allow(clippy::too_many_arguments)]
    fn steps(
        &self,
        stream: CUstream,
        degree: usize,
        b: &Buffer<f32>,
        z: &Buffer<f32>,
        residual: &Buffer<f32>,
        work: Option<[&Buffer<f32>; 2]>,
        add: bool,
    ) -> Result<(), DeviceError> {
        let Some([mut d, mut next]) = work else {
            return Err(DeviceError::Failed { what: "smooth", reason: "vectors are missing".into() });
        };
        self.first_step(stream, self.factors(1).1, weight(degree, 1), b, d, z, add)?;
        for k in 2..=degree {
            let from = if k == 2 { b } else { residual };
            self.step(stream, degree, k, from, (d, (k < degree).then_some(next)), residual, z)?;
            std::mem::swap(&mut d, &mut next);
        }
        Ok(())
    }

    /// d = s D⁻¹ b; z = (z or 0) + w d.
    #[allow(clippy::too_many_arguments)]
    fn first_step(
        &self,
        stream: CUstream,
        mut s: f32,
        mut w: f32,
        b: &Buffer<f32>,
        d: &Buffer<f32>,
        z: &Buffer<f32>,
        add: bool,
    ) -> Result<(), DeviceError> {
        let mut add = u32::from(add);
        let mut addresses = [self.inverse.pointer(), self.at(b), self.at(d), self.at(z)];
        let mut n = self.n_dofs() as u64;
        let blocks = n.div_ceil(256).clamp(1, 1 << 16) as u32;
        let [inverse, b, d, z] = addresses.each_mut().map(|address| std::ptr::from_mut(address).cast::<c_void>());
        let mut arguments = [
            inverse,
            b,
            d,
            z,
            std::ptr::from_mut(&mut n).cast(),
            std::ptr::from_mut(&mut s).cast(),
            std::ptr::from_mut(&mut w).cast(),
            std::ptr::from_mut(&mut add).cast(),
        ];
        // SAFETY: what the kernel takes; all vectors have n numbers.
        unsafe { self.first.launch(stream, blocks, &mut arguments) }
    }

    /// Step k ≥ 2 of `degree`: r = b − K d; d' = p d + s D⁻¹ r; z += w d'. b may be r.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn step(
        &self,
        stream: CUstream,
        degree: usize,
        k: usize,
        b: &Buffer<f32>,
        (d, next): (&Buffer<f32>, Option<&Buffer<f32>>),
        r: &Buffer<f32>,
        z: &Buffer<f32>,
    ) -> Result<(), DeviceError> {
        let (p, s) = self.factors(k);
        let params = Params {
            x: self.at(d),
            b: self.at(b),
            r: if next.is_some() { self.at(r) } else { 0 },
            d: next.map_or(0, |next| self.at(next)),
            z: self.at(z),
            p,
            s,
            w: weight(degree, k),
            add: 1,
            ..self.single
        };
        self.start(stream, (self.step, Cut::Single), params, false)
    }

    /// z = (z or 0) + w0 times the first of two steps for the residual b + the second: see `PAIR` in brick.cuh.
    pub(super) fn pair(
        &self,
        stream: CUstream,
        b: &Buffer<f32>,
        z: &Buffer<f32>,
        w0: f32,
        add: bool,
    ) -> Result<(), DeviceError> {
        // z += w0 d1 + w2 d2, d1 = s1 d, d2 = p d1 + s2 D⁻¹ (b − K d1), d = D⁻¹ b.
        let (_, s1) = self.factors(1);
        let (p, s2) = self.factors(2);
        let w2 = weight(2, 2);
        let params = Params {
            x: self.at(b),
            z: self.at(z),
            w0: w0 * s1 + w2 * (p * s1 + s2),
            w: w2 * s2 * s1,
            add: add.into(),
            ..self.single
        };
        self.start(stream, (self.pair, Cut::Pair), params, false)
    }

    fn start<T: Copy>(
        &self,
        stream: CUstream,
        (kernel, cut): (Kernel, Cut),
        mut params: Params<T>,
        sum: bool,
    ) -> Result<(), DeviceError> {
        let (stretches, n_stretches) = self.stretches[cut as usize];
        if n_stretches == 0 {
            return Ok(());
        }
        params.stretches = stretches;
        params.partial = if sum { self.partial.pointer() } else { 0 };
        let mut arguments = [std::ptr::from_mut(&mut params).cast::<c_void>()];
        // SAFETY: what the kernels take; the tables name what is there, and vectors have `n_dofs` numbers (`at`).
        unsafe { kernel.launch(stream, n_stretches, &mut arguments)? };
        if !sum {
            return Ok(());
        }
        let (mut partial, mut out, mut n) = (self.partial.pointer(), self.sum.pointer(), n_stretches);
        let mut arguments = [
            std::ptr::from_mut(&mut partial).cast::<c_void>(),
            std::ptr::from_mut(&mut n).cast(),
            std::ptr::from_mut(&mut out).cast(),
        ];
        // SAFETY: partial sums, and their sum.
        unsafe { self.add_up.launch(stream, 1, &mut arguments) }
    }

    /// Address of a vector.
    ///
    /// # Panics
    /// If it is shorter than those of this level.
    fn at<T: Plain>(&self, vector: &Buffer<T>) -> u64 {
        assert!(vector.len() >= self.n_dofs(), "a vector of the finest level is too short");
        vector.pointer()
    }

    fn factors(&self, k: usize) -> (f32, f32) {
        let (p, s) = factors(k);
        (p, s / self.lambda)
    }
}
