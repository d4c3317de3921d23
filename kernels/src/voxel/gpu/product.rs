//! The finest level on a device: tables, and launches of the kernels in `brick.cu`.
//!
//! Vectors have three numbers a node, in the order of the tiles: [`FineLevel::order`] gives the place of each of the bricks'
//! nodes. Sums come in one order: the same bits on every run.

use super::super::multigrid::{factors, weight};
use super::super::{Cube, Moduli, NodalForce, StaticProblem};
use super::layout::*;
use super::tiles::{self, Tiles};
use crate::device::layout::{In, Out, Pointer};
use crate::device::{Arena, Buffer, DeviceError, Gpu, Kernel, Module, Plain, Slice, Stream, arguments};
use crate::simd::Real;

impl<T: Real> Stiffness<T> {
    /// `factor` K. That few numbers are enough: the blocks of a cube's stiffness are alike in x, y and z.
    fn new(cube: &Cube, factor: f64) -> Self {
        let k = |s: usize, a: usize, b: usize| T::from_f64(factor * cube.blocks[s][a][b]);
        Self {
            stretch: k(0, 0, 0) - k(0, 0, 1),
            volume: k(0, 0, 1),
            hourglass: k(7, 0, 0) - k(7, 0, 1),
            coupling: k(7, 0, 1),
            bend: k(1, 1, 1),
            across: k(1, 1, 2),
            shear: k(3, 0, 0),
            last: k(3, 2, 2),
        }
    }
}

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
    pub sum: Slice<f64>,
    /// Bytes on the device that a launch may read beside vectors.
    pub bytes: u64,
    /// First planes of the tiles, and how many of these stand along x.
    pub tiles: (Slice<Tile>, u32),
    n_nodes: usize,
    lambda: f32,
    single: Params<f32>,
    double: Params<f64>,
    /// The stretches of each [`Cut`].
    stretches: [Slice<Stretch>; 3],
    pub(super) kernels: Kernels,
    inverse: Slice<u16>,
    partial: Slice<f64>,
    forces: Buffer<Force>,
    _arena: Arena,
}

/// Kernels of the finest level.
#[derive(Debug)]
pub(super) struct Kernels {
    pub store: Kernel,
    pub residual: Kernel,
    pub step: Kernel,
    pub dot: Kernel,
    pub pair: Kernel,
    first: Kernel,
    add_up: Kernel,
    invert: Kernel,
    pub store_f64: Kernel,
    pub forces_f64: Kernel,
    _modules: [Module; 2],
}

impl Kernels {
    /// Those for one modulus or for several.
    fn new(gpu: &Gpu, one_modulus: bool) -> Result<Self, DeviceError> {
        let longest = tiles::longest(!one_modulus);
        let modules = [gpu.module("brick_f32")?, gpu.module("brick_f64")?];
        // `Memory` in march.cuh: tasks, places and numbers of the halo, stages of u, sums on faces.
        let sheet = size_of::<Plane>() + if one_modulus { 0 } else { 4 * tiles::WARPS };
        let shared = |size: usize, n_components: usize, cut: Cut| {
            let numbers = 4 * n_components * 17 * 24 + 2 * 9 * 16 * 24;
            ((BEFORE as usize + longest[cut as usize] + AFTER as usize) * sheet + 9 * 64 * 4 + size * numbers) as u32
        };
        let name = |name: &str| format!("{name}{}", if one_modulus { "" } else { "_moduli" });
        let march = |which: &str, n, cut| Kernel::new(gpu, &modules[0], &name(which), shared(4, n, cut));
        let double = |which: &str| Kernel::new(gpu, &modules[1], &name(which), shared(8, 3, Cut::Double));
        let kernel = |name| Kernel::new(gpu, &modules[0], name, 0);
        Ok(Self {
            store: march("brick_store", 3, Cut::Single)?,
            residual: march("brick_residual", 3, Cut::Single)?,
            step: march("brick_step", 3, Cut::Single)?,
            dot: march("brick_dot", 3, Cut::Single)?,
            pair: march("brick_pair", 4, Cut::Pair)?,
            first: kernel("brick_first_step")?,
            add_up: kernel("brick_sum")?,
            invert: kernel("brick_inverse")?,
            store_f64: double("brick_store")?,
            forces_f64: double("brick_forces")?,
            _modules: modules,
        })
    }
}

/// E h: a factor of all elements that is part of the stiffness, that of each class, and what moduli are multiplied with.
fn scales(problem: &StaticProblem, kind: u32) -> (f64, Vec<f64>, f64) {
    match problem.moduli {
        Moduli::Classes { class, young } if kind == ONE => {
            (class.first().map_or(1.0, |&class| young[usize::from(class)]) * problem.spacing, Vec::new(), 1.0)
        }
        Moduli::Classes { young, .. } => (1.0, young.iter().map(|y| y * problem.spacing).collect(), 1.0),
        Moduli::Each { scale, .. } => (1.0, Vec::new(), scale * problem.spacing),
    }
}

impl FineLevel {
    /// Tables of a problem, of whose fixed degrees of freedom only which they are counts, on the device. `lambda` is the
    /// largest eigenvalue of D⁻¹ K for the smoother.
    ///
    /// # Errors
    /// What the driver says; too little memory.
    pub fn new(gpu: &Gpu, stream: &Stream, problem: &StaticProblem, lambda: f64) -> Result<Self, DeviceError> {
        let bricks = &problem.bricks;
        let n_nodes = bricks.n_nodes();
        let fixed: Vec<u32> = problem.fixed.iter().map(|dof| 3 * dof.node + u32::from(dof.direction)).collect();
        let tiles = Tiles::new(bricks, &fixed);
        let cube = Cube::new(problem.poisson);
        let (kind, classes, moduli) = tiles::moduli(&tiles, bricks, &problem.moduli);
        let (factor, young, unit) = scales(problem, kind);
        let fixed: Vec<u32> = tiles.fixed.iter().flatten().flatten().copied().collect();
        let cuts = tiles::longest(kind != ONE).map(|longest| tiles.cut(longest));
        let most_stretches = cuts.iter().map(Vec::len).max().unwrap_or(0);
        let tables = tiles.bytes() + classes.len() as u64 + 4 * moduli.len() as u64;
        let stretch_bytes: usize = cuts.iter().map(|cut| size_of_val(&cut[..])).sum();

        let mut arena = Arena::default();
        let classes = arena.copy("classes of elements", &classes)?;
        let moduli = arena.copy("moduli of elements", &moduli)?;
        let single: Vec<f32> = young.iter().map(|&y| y as f32).collect();
        let young = (arena.copy("moduli of classes", &single)?, arena.copy("moduli of classes f64", &young)?);
        let planes = arena.copy("planes", &tiles.planes)?;
        let halo = arena.copy("halo", &tiles.halo)?;
        let fixed = arena.copy("fixed", &fixed)?;
        // Read two at a time.
        let inverse = arena.zeros::<u16>("inverse diagonal", n_nodes.next_multiple_of(2))?;
        let addresses = Params::<f32> {
            k: Stiffness::new(&cube, factor),
            planes: planes.at(),
            halo: halo.at(),
            fixed: fixed.at(),
            inverse: inverse.at(),
            classes: classes.at(),
            moduli: moduli.at(),
            young: young.0.at(),
            unit: unit as f32,
            kind,
            ..Params::zeroed()
        };
        let [a, b, c] = cuts.each_ref().map(|cut| arena.copy("stretches", cut));
        let out = Self {
            sum: arena.zeros("sum", 1)?,
            bytes: tables + (stretch_bytes + 8 * most_stretches) as u64,
            tiles: (arena.copy("tiles", &tiles.firsts())?, tiles.n_tiles[0] as u32),
            n_nodes,
            lambda: lambda as f32,
            double: Params {
                k: Stiffness::new(&cube, factor),
                planes: planes.at(),
                halo: halo.at(),
                fixed: fixed.at(),
                inverse: inverse.at(),
                classes: classes.at(),
                moduli: moduli.at(),
                young: young.1.at(),
                unit,
                kind,
                ..Params::zeroed()
            },
            single: addresses,
            stretches: [a?, b?, c?],
            kernels: Kernels::new(gpu, kind == ONE)?,
            order: tiles.order,
            inverse,
            partial: arena.zeros("partial sums", most_stretches)?,
            forces: Buffer::zeros(0)?,
            _arena: arena,
        };
        // E h has its unit in f64 there, and a factor that all share.
        let params = Params { unit: (1.0 / (cube.diagonal * factor)) as f32, w: unit as f32, ..out.single };
        let (address, first, n_planes) = (out.inverse.pointer(), 1_u32, planes.len() as u32);
        if n_planes > 1 {
            let invert = out.kernels.invert;
            // SAFETY: what the kernel takes; the tables name what is there.
            unsafe { invert.launch(stream, n_planes - 1, &mut arguments![params, address, first])? };
        }
        Ok(out)
    }

    /// Address of the tiles' planes.
    pub fn planes(&self) -> In<Plane> {
        self.single.planes
    }

    /// Whether all elements have the same modulus.
    pub fn one_modulus(&self) -> bool {
        self.single.kind == ONE
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
        self.double.forces = self.forces.at();
        self.double.n_forces = list.len() as u64;
        Ok(())
    }

    /// y = K x, 0 where fixed; `sum` is x · y if that is asked for.
    ///
    /// # Errors
    /// What the driver says, here and below.
    pub fn apply(&self, stream: &Stream, x: &Slice<f32>, y: &Slice<f32>, dot: bool) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.single };
        self.start(stream, (self.kernels.store, Cut::Single), params, dot)
    }

    /// The same in f64.
    pub fn apply_f64(&self, stream: &Stream, x: &Slice<f64>, y: &Slice<f64>, dot: bool) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.double };
        self.start(stream, (self.kernels.store_f64, Cut::Double), params, dot)
    }

    /// `sum` = b · K x.
    pub fn dot(&self, stream: &Stream, b: &Slice<f32>, x: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { b: self.at(b), x: self.at(x), ..self.single };
        self.start(stream, (self.kernels.dot, Cut::Single), params, true)
    }

    /// r = f − K x, 0 where fixed, computed in f64; `sum` is r · r.
    pub fn true_residual(&self, stream: &Stream, x: &Slice<f64>, r: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), r: self.at(r), ..self.double };
        self.start(stream, (self.kernels.forces_f64, Cut::Double), params, true)
    }

    /// r = b − K x.
    pub fn residual(&self, stream: &Stream, b: &Slice<f32>, x: &Slice<f32>, r: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { b: self.at(b), x: self.at(x), r: self.at(r), ..self.single };
        self.start(stream, (self.kernels.residual, Cut::Single), params, false)
    }

    /// `degree` smoothing steps on K z = b, from z = 0 or, if `again`, from z. `residual` is b − K z where that is needed; then it
    /// may be another. `work` is needed for other than two steps.
    pub fn smooth(
        &self,
        stream: &Stream,
        degree: usize,
        [b, z, residual]: [&Slice<f32>; 3],
        work: Option<[&Slice<f32>; 2]>,
        again: bool,
    ) -> Result<(), DeviceError> {
        if again {
            self.residual(stream, b, z, residual)?;
        }
        let b = if again { residual } else { b };
        if degree == 2 {
            return self.pair(stream, b, z, weight(2, 1), again);
        }
        let Some([mut d, mut next]) = work else {
            return Err(DeviceError::Failed { what: "smooth", reason: "vectors are missing".into() });
        };
        self.first_step(stream, self.factors(1).1, weight(degree, 1), b, d, z, again)?;
        for k in 2..=degree {
            // The residual of the last step but one goes where b may be.
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
        stream: &Stream,
        s: f32,
        w: f32,
        b: &Slice<f32>,
        d: &Slice<f32>,
        z: &Slice<f32>,
        add: bool,
    ) -> Result<(), DeviceError> {
        let n = self.n_dofs() as u64;
        let blocks = n.div_ceil(256).clamp(1, 1 << 16) as u32;
        let (inverse, first, add) = (self.inverse.pointer(), self.kernels.first, u32::from(add));
        let (b, d, z): (In<f32>, Out<f32>, Out<f32>) = (self.at(b), self.at(d), self.at(z));
        // SAFETY: what the kernel takes; all vectors have n numbers.
        unsafe { first.launch(stream, blocks, &mut arguments![inverse, b, d, z, n, s, w, add]) }
    }

    /// Step k ≥ 2 of `degree`: r = b − K d; d' = p d + s D⁻¹ r; z += w d'. b may be r.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn step(
        &self,
        stream: &Stream,
        degree: usize,
        k: usize,
        b: &Slice<f32>,
        (d, next): (&Slice<f32>, Option<&Slice<f32>>),
        r: &Slice<f32>,
        z: &Slice<f32>,
    ) -> Result<(), DeviceError> {
        let (p, s) = self.factors(k);
        let params = Params {
            x: self.at(d),
            b: self.at(b),
            r: if next.is_some() { self.at(r) } else { Out::null() },
            d: next.map_or(Out::null(), |next| self.at(next)),
            z: self.at(z),
            p,
            s,
            w: weight(degree, k),
            add: 1,
            ..self.single
        };
        self.start(stream, (self.kernels.step, Cut::Single), params, false)
    }

    /// z = (z or 0) + w0 times the first of two steps for the residual b + the second: see `PAIR` in brick.cuh.
    pub(super) fn pair(
        &self,
        stream: &Stream,
        b: &Slice<f32>,
        z: &Slice<f32>,
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
        self.start(stream, (self.kernels.pair, Cut::Pair), params, false)
    }

    fn start<T: Plain>(
        &self,
        stream: &Stream,
        (kernel, cut): (Kernel, Cut),
        mut params: Params<T>,
        sum: bool,
    ) -> Result<(), DeviceError> {
        let stretches = self.stretches[cut as usize];
        let n = stretches.len() as u32;
        if n == 0 {
            return Ok(());
        }
        params.stretches = stretches.at();
        params.partial = if sum { self.partial.at() } else { Out::null() };
        // SAFETY: what the kernels take; the tables name what is there, and vectors have `n_dofs` numbers (`at`).
        unsafe { kernel.launch(stream, n, &mut arguments![params])? };
        if !sum {
            return Ok(());
        }
        let (partial, out) = (self.partial.pointer(), self.sum.pointer());
        // SAFETY: partial sums, and their sum.
        unsafe { self.kernels.add_up.launch(stream, 1, &mut arguments![partial, n, out]) }
    }

    /// Address of a vector.
    ///
    /// # Panics
    /// If it is shorter than those of this level.
    fn at<T: Plain, P: Pointer<T>>(&self, vector: &Slice<T>) -> P {
        assert!(vector.len() >= self.n_dofs(), "a vector of the finest level is too short");
        vector.at()
    }

    fn factors(&self, k: usize) -> (f32, f32) {
        let (p, s) = factors(k);
        (p, s / self.lambda)
    }
}
