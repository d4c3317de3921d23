//! The finest level on one or several devices: tables, and launches of the kernels in `brick.cu`.
//!
//! Vectors have three numbers a node, in the order of the tiles: [`FineLevel::order`] gives the place of each of the bricks'
//! nodes. Sums come in one order: the same bits on every run on so many devices. Each device computes the stretches in its
//! share of the tiles, and reads what it needs of the other devices' memory.

use std::ops::Range;

use super::super::multigrid::{factors, weight};
use super::super::{Cube, Moduli, NodalForce, StaticProblem, Voxels};
use super::layout::*;
use super::levels::numbers_of;
use super::modules_of_fine;
use super::remote::{Links, Parts};
use super::tiles::{self, Shares, Tiles};
use crate::device::layout::{In, Out, Pointer};
use crate::device::{Arena, Buffer, DeviceError, Devices, Gpu, Kernel, Module, Plain, Slice, arguments};
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

    /// Of all parts of the stiffness; see [`Voxels`]. Both of two parts share one structure: the λ part has numbers of its own
    /// only where the μ part has none (`of_ratio` in brick.cuh).
    fn of_parts(cubes: &[Cube], factor: f64) -> Self {
        match cubes {
            [of_lambda, of_mu] => {
                let Self { volume, across, .. } = Self::new(of_lambda, factor);
                Self { volume, across, ..Self::new(of_mu, factor) }
            }
            cubes => Self::new(&cubes[0], factor),
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
    /// Places of the nodes of other parts that come by messages, ascending.
    pub wanted: Vec<u32>,
    /// Sum of the last launch that was asked for one.
    pub sum: Slice<f64>,
    /// Bytes on the device that a launch may read beside vectors.
    pub bytes: u64,
    /// First planes of the tiles, and how many of these stand along x.
    pub tiles: (Slice<Tile>, u32),
    /// What each part has.
    pub shares: Shares,
    /// One for each device.
    pub(super) sides: Vec<Side>,
    parts: Parts,
    /// The exchange with parts that other processes have.
    pub(super) links: Option<Links>,
    /// Stretches of each [`Cut`] of all parts.
    n_stretches: [usize; 3],
    n_nodes: usize,
    lambda: f32,
    single: Params<f32>,
    double: Params<f64>,
    inverse: Slice<u16>,
    partial: Slice<f64>,
    forces: Buffer<Force>,
    _arena: Arena,
}

/// What one device computes.
#[derive(Debug)]
pub(super) struct Side {
    pub kernels: Kernels,
    /// The nodes of its planes, and the first and the last tile of these.
    pub nodes: Range<u32>,
    pub tiles: [u32; 2],
    /// The stretches of each [`Cut`], and the number of those of the parts before.
    stretches: [(Slice<Stretch>, usize); 3],
}

impl Side {
    /// The side of the device that is current.
    fn new(
        gpu: &Gpu,
        part: usize,
        (tiles, shares, cuts): (&Tiles, &Shares, &[Vec<Stretch>; 3]),
        differ: Differ,
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        let mut stretches = Vec::new();
        for cut in cuts {
            let before = (0..part).map(|part| shares.stretches(part, cut).len()).sum();
            stretches.push((arena.copy("stretches", &shares.stretches(part, cut))?, before));
        }
        let (nodes, tiles) = tiles.nodes_of(shares.planes(part));
        let kernels = Kernels::new(gpu, differ)?;
        Ok(Self { kernels, nodes, tiles, stretches: [stretches[0], stretches[1], stretches[2]] })
    }
}

/// In what elements differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Differ {
    Nothing,
    Modulus,
    Ratio,
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
    /// Those for elements that differ so.
    fn new(gpu: &Gpu, differ: Differ) -> Result<Self, DeviceError> {
        let one_modulus = differ == Differ::Nothing;
        let longest = tiles::longest(!one_modulus);
        let [single, double] = modules_of_fine(differ == Differ::Ratio);
        let modules = [gpu.module(single)?, gpu.module(double)?];
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

/// E h: a factor of all elements that is part of the stiffness, that of each class, and what moduli are multiplied with. Of two
/// parts a class has μ h and λ / μ.
fn scales(voxels: &Voxels, kind: u32) -> (f64, Vec<f64>, f64) {
    match voxels.moduli {
        Moduli::Classes { class, young } if kind == ONE => {
            (class.first().map_or(1.0, |&class| young[usize::from(class)]) * voxels.spacing, Vec::new(), 1.0)
        }
        Moduli::Classes { .. } => {
            let mut classes = voxels.of_classes();
            if voxels.has_ratios() {
                classes.chunks_exact_mut(2).for_each(|of| (of[0], of[1]) = (of[1], of[0] / of[1]));
            }
            (1.0, classes, 1.0)
        }
        Moduli::Each { scale, .. } => (1.0, Vec::new(), scale * voxels.spacing),
    }
}

/// Places the tables of the tiles and their elements, each device's share in its memory; the parameters with their addresses.
fn place(
    tiles: &Tiles,
    shares: &Shares,
    (classes, moduli): (&[u8], &[f32]),
    arena: &mut Arena,
) -> Result<Params<f32>, DeviceError> {
    let fixed: Vec<u32> = tiles.fixed.iter().flatten().flatten().copied().collect();
    let elements = |len: usize| {
        shares.cuts(|plane| {
            let word = tiles.planes.get(plane).map(|plane| plane.word[0].element_at & !HAS_FIXED);
            word.map_or(len, |first| len.min(first as usize))
        })
    };
    let halo = shares.cuts(|plane| tiles.planes.get(plane).map_or(tiles.halo.len(), |plane| plane.halo_at as usize));
    Ok(Params {
        planes: arena.copy_cut("planes", &tiles.planes, &shares.cuts(|plane| plane))?.at(),
        halo: arena.copy_cut("halo", &tiles.halo, &halo)?.at(),
        fixed: arena.copy("fixed", &fixed)?.at(),
        classes: arena.copy_cut("classes of elements", classes, &elements(classes.len()))?.at(),
        moduli: arena.copy_cut("moduli of elements", moduli, &elements(moduli.len()))?.at(),
        ..Params::zeroed()
    })
}

/// The same tables for kernels in f64.
fn in_double(single: &Params<f32>) -> Params<f64> {
    let Params { planes, halo, fixed, inverse, classes, moduli, kind, .. } = *single;
    Params { planes, halo, fixed, inverse, classes, moduli, kind, ..Params::zeroed() }
}

impl FineLevel {
    /// Tables of a problem, of whose fixed degrees of freedom only which they are counts, on the devices, which have these `parts`.
    /// `lambda` is the largest eigenvalue of D⁻¹ K for the smoother.
    ///
    /// # Errors
    /// What the driver says; too little memory.
    pub fn new(devices: &Devices, problem: &StaticProblem, lambda: f64, parts: Parts) -> Result<Self, DeviceError> {
        let bricks = &problem.bricks;
        let n_nodes = bricks.n_nodes();
        let fixed: Vec<u32> = problem.fixed.iter().map(|dof| 3 * dof.node + u32::from(dof.direction)).collect();
        let tiles = Tiles::new(bricks, &fixed);
        let shares = tiles.shares(parts.n);
        parts.check(&shares)?;
        let voxels = problem.voxels();
        let (cubes, ratios) = (voxels.cubes(), voxels.has_ratios());
        let (kind, classes, moduli) = tiles::moduli(&tiles, bricks, &problem.moduli, ratios);
        let (factor, young, unit) = scales(&voxels, kind);
        let differ = match kind {
            _ if ratios => Differ::Ratio,
            ONE => Differ::Nothing,
            _ => Differ::Modulus,
        };
        let cuts = tiles::longest(kind != ONE).map(|longest| tiles.cut(longest, &shares));
        let most_stretches = cuts.iter().map(Vec::len).max().unwrap_or(0);
        let stretch_bytes: usize = cuts.iter().map(|cut| size_of_val(&cut[..])).sum();
        let tables = tiles.bytes() + classes.len() as u64 + 4 * moduli.len() as u64;

        let wanted = if parts.by_messages { tiles.read_by(shares.planes(parts.first)) } else { Vec::new() };
        let mut arena = parts.arena(devices);
        // Read two at a time.
        let n_read = n_nodes.next_multiple_of(2);
        let read: Vec<Range<usize>> =
            numbers_of(&wanted).into_iter().map(|range| range.start / 3..range.end / 3 + 1).collect();
        let inverse = arena.zeros_own::<u16>("inverse diagonal", n_read, &shares.node_cuts(1), &read)?;
        let mut single = place(&tiles, &shares, (&classes, &moduli), &mut arena)?;
        (single.k, single.inverse) = (Stiffness::of_parts(&cubes, factor), inverse.at());
        (single.unit, single.kind) = (unit as f32, kind);
        let mut double = in_double(&single);
        (double.k, double.unit) = (Stiffness::of_parts(&cubes, factor), unit);
        let rounded: Vec<f32> = young.iter().map(|&y| y as f32).collect();
        single.young = arena.copy("moduli of classes", &rounded)?.at();
        double.young = arena.copy("moduli of classes f64", &young)?.at();
        let mut sides = Vec::new();
        devices.for_each(|device, _| {
            let part = parts.first + device;
            sides.push(Side::new(devices.gpu(device), part, (&tiles, &shares, &cuts), differ, &mut arena)?);
            Ok(())
        })?;
        let out = Self {
            sum: arena.zeros("sum", 1)?,
            bytes: tables + (stretch_bytes + 8 * most_stretches) as u64,
            tiles: (arena.copy("tiles", &tiles.firsts())?, tiles.n_tiles[0] as u32),
            shares,
            sides,
            parts,
            links: None,
            n_stretches: [0, 1, 2].map(|cut| cuts[cut].len()),
            wanted,
            n_nodes,
            lambda: lambda as f32,
            single,
            double,
            order: tiles.order,
            inverse,
            partial: arena.zeros("partial sums", most_stretches)?,
            forces: Buffer::zeros(0)?,
            _arena: arena,
        };
        // E h has its unit in f64 there, and a factor that all share; see `brick_inverse`.
        let (diagonal, w) = match &cubes[..] {
            [of_lambda, of_mu] => (of_mu.diagonal, of_lambda.diagonal / of_mu.diagonal),
            cubes => (cubes[0].diagonal, unit),
        };
        let params = Params { unit: (1.0 / (diagonal * factor)) as f32, w: w as f32, ..out.single };
        out.invert_diagonal(devices, params)?;
        Ok(out)
    }

    /// Computes 1 / diagonal: of all nodes where a device has those of all parts.
    fn invert_diagonal(&self, devices: &Devices, params: Params<f32>) -> Result<(), DeviceError> {
        devices.meet()?;
        devices.for_each(|device, stream| {
            // Plane 0 is empty.
            let planes = match self.parts {
                Parts { n, by_messages: true, .. } => 0..self.shares.planes(n - 1).end,
                Parts { first, .. } => self.shares.planes(first + device),
            };
            let address = self.inverse.pointer();
            let first = planes.start.max(1);
            if planes.end <= first {
                return Ok(());
            }
            let (invert, n_planes, first) = (self.sides[device].kernels.invert, planes.end - first, first as u32);
            // SAFETY: what the kernel takes; the tables name what is there.
            unsafe { invert.launch(stream, n_planes as u32, &mut arguments![params, address, first]) }
        })
    }

    /// Address of the tiles' planes.
    pub fn planes(&self) -> In<Plane> {
        self.single.planes
    }

    /// Whether all elements have the same modulus.
    pub fn one_modulus(&self) -> bool {
        self.single.kind == ONE
    }

    /// Sums of a launch, at most.
    pub fn most_sums(&self) -> usize {
        self.n_stretches.iter().copied().max().unwrap_or(0)
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
    pub fn set_forces(
        &mut self,
        on: &Devices,
        forces: &[NodalForce],
        fixed: &[super::super::FixedDof],
    ) -> Result<(), DeviceError> {
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
        let cuts = self.shares.node_cuts(3).into_iter().map(|dof| list.partition_point(|force| force.dof < dof as u64));
        self.forces = Buffer::of_cut(&list, &on.ordinals(), &cuts.collect::<Vec<usize>>())?;
        self.double.forces = self.forces.at();
        self.double.n_forces = list.len() as u64;
        Ok(())
    }

    /// y = K x, 0 where fixed; `sum` is x · y if that is asked for.
    ///
    /// # Errors
    /// What the driver says, here and below.
    pub fn apply(&self, on: &Devices, x: &Slice<f32>, y: &Slice<f32>, dot: bool) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.single };
        self.start(on, (|kernels| kernels.store, Cut::Single), params, dot)
    }

    /// The same in f64.
    pub fn apply_f64(&self, on: &Devices, x: &Slice<f64>, y: &Slice<f64>, dot: bool) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), y: self.at(y), add: dot.into(), ..self.double };
        self.start(on, (|kernels| kernels.store_f64, Cut::Double), params, dot)
    }

    /// `sum` = b · K x.
    pub fn dot(&self, on: &Devices, b: &Slice<f32>, x: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { b: self.at(b), x: self.at(x), ..self.single };
        self.start(on, (|kernels| kernels.dot, Cut::Single), params, true)
    }

    /// r = f − K x, 0 where fixed, computed in f64; `sum` is r · r.
    pub fn true_residual(&self, on: &Devices, x: &Slice<f64>, r: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { x: self.at(x), r: self.at(r), ..self.double };
        self.start(on, (|kernels| kernels.forces_f64, Cut::Double), params, true)
    }

    /// r = b − K x.
    pub fn residual(&self, on: &Devices, b: &Slice<f32>, x: &Slice<f32>, r: &Slice<f32>) -> Result<(), DeviceError> {
        let params = Params { b: self.at(b), x: self.at(x), r: self.at(r), ..self.single };
        self.start(on, (|kernels| kernels.residual, Cut::Single), params, false)
    }

    /// `degree` smoothing steps on K z = b, from z = 0 or, if `again`, from z. `residual` is b − K z where that is needed; then it
    /// may be another. `work` is needed for other than two steps.
    pub fn smooth(
        &self,
        on: &Devices,
        degree: usize,
        [b, z, residual]: [&Slice<f32>; 3],
        work: Option<[&Slice<f32>; 2]>,
        again: bool,
    ) -> Result<(), DeviceError> {
        if again {
            self.residual(on, b, z, residual)?;
        }
        let b = if again { residual } else { b };
        if degree == 2 {
            return self.pair(on, b, z, weight(2, 1), again);
        }
        let Some([mut d, mut next]) = work else {
            return Err(DeviceError::Failed { what: "smooth", reason: "vectors are missing".into() });
        };
        self.first_step(on, self.factors(1).1, weight(degree, 1), b, d, z, again)?;
        for k in 2..=degree {
            // The residual of the last step but one goes where b may be.
            let from = if k == 2 { b } else { residual };
            self.step(on, degree, k, from, (d, (k < degree).then_some(next)), residual, z)?;
            std::mem::swap(&mut d, &mut next);
        }
        Ok(())
    }

    /// d = s D⁻¹ b; z = (z or 0) + w d.
    #[allow(clippy::too_many_arguments)]
    fn first_step(
        &self,
        on: &Devices,
        s: f32,
        w: f32,
        b: &Slice<f32>,
        d: &Slice<f32>,
        z: &Slice<f32>,
        add: bool,
    ) -> Result<(), DeviceError> {
        let add = u32::from(add);
        let (b, d, z): (In<f32>, Out<f32>, Out<f32>) = (self.at(b), self.at(d), self.at(z));
        on.meet()?;
        on.for_each(|device, stream| {
            let nodes = self.shares.nodes(self.parts.first + device);
            let (inverse, first) = (self.inverse.pointer() + 2 * nodes.start as u64, self.sides[device].kernels.first);
            let [b, d, z] = [b.address(), d.address(), z.address()].map(|start| start + 12 * nodes.start as u64);
            let n = 3 * nodes.len() as u64;
            let blocks = n.div_ceil(256).clamp(1, 1 << 16) as u32;
            // SAFETY: what the kernel takes; all vectors have room for n numbers from there.
            unsafe { first.launch(stream, blocks, &mut arguments![inverse, b, d, z, n, s, w, add]) }
        })
    }

    /// Step k ≥ 2 of `degree`: r = b − K d; d' = p d + s D⁻¹ r; z += w d'. b may be r.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn step(
        &self,
        on: &Devices,
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
        self.start(on, (|kernels| kernels.step, Cut::Single), params, false)
    }

    /// z = (z or 0) + w0 times the first of two steps for the residual b + the second: see `PAIR` in brick.cuh.
    pub(super) fn pair(
        &self,
        on: &Devices,
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
        self.start(on, (|kernels| kernels.pair, Cut::Pair), params, false)
    }

    /// Starts a kernel on the stretches of all devices, and adds their sums up if there is one.
    fn start<T: Plain>(
        &self,
        on: &Devices,
        (kernel, cut): (fn(&Kernels) -> Kernel, Cut),
        mut params: Params<T>,
        sum: bool,
    ) -> Result<(), DeviceError> {
        on.meet()?;
        if let Some(Links { rounds, single, double }) = &self.links {
            let (stream, x) = (on.first(), params.x.address());
            match cut {
                Cut::Single | Cut::Pair => single.fetch(rounds, stream, x)?,
                Cut::Double => double.fetch(rounds, stream, x)?,
            }
        }
        on.for_each(|device, stream| {
            let Side { kernels, stretches, .. } = &self.sides[device];
            let (stretches, before) = stretches[cut as usize];
            let n = stretches.len();
            if n == 0 {
                return Ok(());
            }
            params.stretches = stretches.at();
            params.partial = if sum { self.partial.part(before, n).at() } else { Out::null() };
            // SAFETY: what the kernels take; the tables name what is there, and vectors have `n_dofs` numbers (`at`).
            unsafe { kernel(kernels).launch(stream, n as u32, &mut arguments![params]) }
        })?;
        let n_sums = self.n_stretches[cut as usize] as u32;
        if !sum || n_sums == 0 {
            return Ok(());
        }
        on.meet()?;
        if let Some(links) = &self.links {
            let (own, before) = self.sides[0].stretches[cut as usize];
            links.rounds.share(on.first(), &self.partial, before..before + own.len())?;
        }
        let (partial, out) = (self.partial.pointer(), self.sum.pointer());
        // SAFETY: partial sums, and their sum.
        unsafe { self.sides[0].kernels.add_up.launch(on.first(), 1, &mut arguments![partial, n_sums, out]) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_share_one_structure() {
        let parts = Stiffness::<f64>::of_parts(&[[1.0, 0.0], [0.0, 1.0]].map(Cube::of_lame), 1.0);
        for [lambda, mu] in [[0.0, 2.0], [3.0, 0.5], [-0.3, 1.0]] {
            let whole = Stiffness::<f64>::new(&Cube::of_lame([lambda, mu]), 1.0);
            // `of_ratio` in brick.cuh.
            let across = lambda / mu * parts.across;
            let expected = [
                (whole.stretch, parts.stretch),
                (whole.volume, lambda / mu * parts.volume),
                (whole.hourglass, parts.hourglass),
                (whole.coupling, parts.coupling),
                (whole.bend, parts.bend + across),
                (whole.across, across),
                (whole.shear, parts.shear),
                (whole.last, parts.last + across / 3.0),
            ];
            for (i, (whole, over_mu)) in expected.into_iter().enumerate() {
                assert!((whole - mu * over_mu).abs() < 1e-15, "{i}: {whole} {over_mu}");
            }
        }
    }
}
