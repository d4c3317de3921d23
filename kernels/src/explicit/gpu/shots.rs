//! Several shots at once: runs of one model that differ in what acts on it, and make the same steps.
//!
//! Each has a stepper of its own. Blocks of triangles on which nothing acts in any shot, and that have no monitor, are stepped for
//! several shots by one thread block, which reads and computes their geometry once (fans_of_shots.cuh). All other blocks are
//! stepped shot by shot, as of a run alone, in streams beside that. So each shot has the bits of its run alone.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::layout::{Block, EXTRA_BYTES, NONE, Params};
use super::peers::Peers;
use super::tables::Tables;
use super::{GpuStepper, KernelReport, Started, Stretch};
use crate::device::layout::{In, Out, layouts};
use crate::device::{Arena, DeviceError, Event, Graph, Kernel, Module, Plain, Stream};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/shots.cuh", numbers template;

    constants {
        /// Most shots of a launch.
        MOST_SHOTS: u32 = 16;
        /// Shots that a thread block steps.
        LANES_F32: u32 = 4;
        LANES_F64: u32 = 2;
    }

    opaque {}

    /// The states of the shots. Arrays are those of `Params`: a step reads the first and writes the second.
    struct Shots<T> {
        u: [[Out<T>; 2]; 16],
        du: [[Out<T>; 2]; 16],
        energies: [Out<f64>; 16],
        /// Row of each block in `energies`, or NONE, (n, n_blocks): each shot has its own for the blocks on which something acts.
        energy_rows: In<u32>,
        /// A multiple of the shots that a thread block steps.
        n: u32,
        reserved: u32,
    }
}

/// Most shots that step together.
pub const MOST_SHOTS_AT_ONCE: usize = MOST_SHOTS as usize;

const fn lanes<T>() -> u32 {
    if size_of::<T>() == 4 { LANES_F32 } else { LANES_F64 }
}

/// What a stepper that steps all blocks by fans needs to know to be stepped with others.
#[derive(Debug)]
pub(super) struct ByFans {
    law: &'static str,
    /// Whether something acts on a block, or it has a monitor.
    is_acted_on: Vec<bool>,
    /// Row of each block in `energies`.
    energy_rows: Vec<u32>,
    /// Dynamic shared memory of a thread block, bytes.
    room: u32,
    /// Differs where masses, damping or materials do.
    matter: u64,
}

impl ByFans {
    /// Of the tables of a model; none if not all blocks are stepped by fans, two steps at a time, or if it is a fluid.
    pub fn of<T: Real>(tables: &Tables<T>) -> Option<Self> {
        if !tables.has_fans() || !tables.by_colours.is_empty() || !tables.two_steps || tables.has_one_unknown() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        for numbers in [&tables.inertia, &tables.decay, &tables.dissipation] {
            numbers.iter().for_each(|number| number.to_f64().to_bits().hash(&mut hasher));
        }
        let elasticity = tables.materials.iter().flat_map(|material| material.d);
        elasticity.for_each(|number| number.to_f64().to_bits().hash(&mut hasher));
        let rooms = tables.blocks.iter().map(|block| room::<T>(block));
        Some(Self {
            law: tables.fan_law(),
            is_acted_on: tables.blocks.iter().map(|block| block.special_first != NONE).collect(),
            energy_rows: tables.blocks.iter().map(|block| block.energy_row).collect(),
            room: rooms.max().unwrap_or(0),
            matter: hasher.finish(),
        })
    }
}

/// Dynamic shared memory of a block, bytes (`RoomsOfShots` in fans_of_shots.cuh).
fn room<T: Real>(block: &Block) -> u32 {
    let number = size_of::<T>() as u32;
    let n_near = block.n_own + block.n_halo;
    let entry = 2 * number;
    let rows = (entry * (1 + lanes::<T>())).next_multiple_of(16) * (n_near + block.n_outer);
    let inertia = if number == 4 { 0 } else { 8 * block.n_own };
    let lost = if block.damped != 0 { number * lanes::<T>() * block.n_own } else { 0 };
    let planes = if block.n_planes > 0 { EXTRA_BYTES + 8 * number * block.n_planes } else { 0 };
    (rows + (16 + entry * lanes::<T>()) * n_near + inertia + lost).next_multiple_of(16) + planes
}

/// Steppers of shots, which make their steps together.
#[derive(Debug)]
pub struct GpuShots<T: Real> {
    // Graphs and events go before the steppers, whose streams they use.
    graphs: [Option<Graph>; 2],
    /// None where they share no kernels.
    together: Option<Together>,
    steppers: Vec<GpuStepper<T>>,
}

/// What steps several shots at once.
#[derive(Debug)]
struct Together {
    /// How many, from the first on.
    n_shots: usize,
    /// Makes two steps at a time.
    kernel: Kernel,
    /// Blocks that are stepped for all shots, and the others.
    plain: In<u32>,
    n_plain: u32,
    acted_on: In<u32>,
    n_acted_on: u32,
    energy_rows: In<u32>,
    report: KernelReport,
    /// The streams of the shots begin after the common one, and that goes on after them.
    begins: Event,
    ends: Vec<Event>,
    stream: Stream,
    _arena: Arena,
    _module: Module,
}

impl<T: Real> GpuShots<T> {
    /// Steppers of one model on one device, each at the same step, that make the same steps. Those of models other than of triangles
    /// alone, of which matter or increments differ, or that are left of whole thread blocks, share no kernels and are stepped side by
    /// side.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Panics
    /// If the steppers are at different steps, or more than [`MOST_SHOTS_AT_ONCE`].
    pub fn new(steppers: Vec<GpuStepper<T>>) -> Result<Self, DeviceError> {
        assert!(steppers.windows(2).all(|pair| pair[0].step == pair[1].step), "shots at different steps");
        let together = Together::new(&steppers)?;
        Ok(Self { graphs: [None, None], together, steppers })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.steppers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steppers.is_empty()
    }

    /// The stepper of a shot, to look at its state.
    pub fn of(&mut self, shot: usize) -> &mut GpuStepper<T> {
        &mut self.steppers[shot]
    }

    /// The kernel that steps several shots at once; none where each has its own kernels.
    pub fn kernel(&self) -> Option<&KernelReport> {
        self.together.as_ref().map(|together| &together.report)
    }

    /// Makes steps of all shots, as [`Stepper::advance`](crate::dynamics::Stepper::advance) does of one. `records` and `recordings`
    /// are those of each shot.
    ///
    /// # Errors
    /// The device is lost.
    pub fn advance(
        &mut self,
        n_steps: usize,
        records: &[&[u64]],
        recordings: &mut [Vec<f64>],
    ) -> Result<(), DeviceError> {
        if n_steps == 0 {
            return Ok(());
        }
        let n_together = self.together.as_ref().map_or(0, |together| together.n_shots);
        let (first, rest) = self.steppers.split_at_mut(n_together);
        // Each in its own stream, so that together they fill the device.
        let rest = rest.iter_mut().zip(&records[n_together..]);
        let rest = rest.map(|(stepper, record)| stepper.start_making(n_steps, record));
        let rest: Vec<_> = rest.collect::<Result<_, _>>()?;
        let mut started = match &self.together {
            Some(together) => together.start(&mut self.graphs, first, n_steps, &records[..n_together])?,
            None => Vec::new(),
        };
        started.extend(rest);
        let shots = self.steppers.iter_mut().zip(started).zip(recordings);
        shots
            .into_iter()
            .try_for_each(|((stepper, started), recording)| stepper.finish_making(n_steps, started, recording))
    }
}

impl Together {
    /// None where the shots cannot be stepped at once.
    fn new<T: Real>(steppers: &[GpuStepper<T>]) -> Result<Option<Self>, DeviceError> {
        assert!(steppers.len() <= MOST_SHOTS_AT_ONCE, "too many shots");
        let n_shots = steppers.len() - steppers.len() % lanes::<T>() as usize;
        let steppers = &steppers[..n_shots];
        let by_fans: Option<Vec<&ByFans>> = steppers.iter().map(|stepper| stepper.by_fans.as_ref()).collect();
        let Some(by_fans) = by_fans.filter(|_| n_shots > 0) else { return Ok(None) };
        let (stepper, fans) = (&steppers[0], by_fans[0]);
        let is_same = |(other, of): (&GpuStepper<T>, &&ByFans)| {
            other.gpu.ordinal == stepper.gpu.ordinal
                && other.params.per_time_increment == stepper.params.per_time_increment
                && other.n_unknowns == stepper.n_unknowns
                && other.odd == stepper.odd
                && other.shared.is_none()
                && (of.matter, of.law, of.is_acted_on.len()) == (fans.matter, fans.law, fans.is_acted_on.len())
        };
        if !steppers.iter().zip(&by_fans).all(is_same) {
            return Ok(None);
        }
        stepper.gpu.enter()?;
        let n_blocks = fans.is_acted_on.len();
        let (acted_on, plain): (Vec<u32>, Vec<u32>) =
            (0..n_blocks as u32).partition(|&b| by_fans.iter().any(|fans| fans.is_acted_on[b as usize]));
        let name = format!("fans_of_shots_{}_{}", fans.law, T::NAME);
        let module = stepper.gpu.module(&name)?;
        let kernel = Kernel::new(&stepper.gpu, &module, &name, fans.room)?;
        let Kernel { threads, registers, resident, .. } = kernel;
        let mut arena = Arena::default();
        let energy_rows: Vec<u32> = by_fans.iter().flat_map(|fans| &fans.energy_rows).copied().collect();
        Ok(Some(Self {
            n_shots,
            kernel,
            plain: arena.copy("blocks of all shots", &plain)?.at(),
            n_plain: plain.len() as u32,
            acted_on: arena.copy("blocks shot by shot", &acted_on)?.at(),
            n_acted_on: acted_on.len() as u32,
            energy_rows: arena.copy("rows of energies of all shots", &energy_rows)?.at(),
            report: KernelReport { name, steps: 2, threads, registers, resident },
            begins: Event::new()?,
            ends: steppers.iter().map(|_| Event::new()).collect::<Result<_, _>>()?,
            stream: Stream::new()?,
            _arena: arena,
            _module: module,
        }))
    }

    /// Starts steps of all shots, as `GpuStepper::start_making` does of one.
    fn start<T: Real>(
        &self,
        graphs: &mut [Option<Graph>; 2],
        steppers: &mut [GpuStepper<T>],
        n_steps: usize,
        records: &[&[u64]],
    ) -> Result<Vec<Started<T>>, DeviceError> {
        let addresses = |stepper: &GpuStepper<T>| [stepper.params.record.address(), stepper.params.recording.address()];
        let mut n_recorded = Vec::new();
        for (stepper, record) in steppers.iter_mut().zip(records) {
            stepper.gpu.enter()?;
            let before = addresses(stepper);
            n_recorded.push(stepper.prepare_recording(n_steps, record)?);
            stepper.signals.begin()?;
            if addresses(stepper) != before {
                *graphs = [None, None];
            }
        }
        let first = &steppers[0];
        // Pairs of steps begin at even ones, as of a run alone.
        let steps = Stretch { first: first.step, n: n_steps, alone: (first.step % 2) as usize };
        let odd =
            steps.start(&self.stream, Some(graphs), first.odd, |_, n, odd, _| self.start_steps(steppers, n, odd))?;
        self.stream.synchronize()?;
        Ok(n_recorded.into_iter().map(|n_recorded| Started { n_recorded, odd, peers: Peers::zeroed() }).collect())
    }

    /// As [`GpuStepper::start_steps`], for all shots.
    fn start_steps<T: Real>(
        &self,
        steppers: &[GpuStepper<T>],
        n_steps: usize,
        mut odd: bool,
    ) -> Result<bool, DeviceError> {
        let mut k = 0;
        while k < n_steps {
            // One step makes each shot by itself.
            let steps = if n_steps - k >= 2 { 2 } else { 1 };
            let of_all = || if steps == 2 { self.start_plain(steppers, odd) } else { Ok(()) };
            self.beside(steppers, |stepper| self.start_alone(stepper, k, steps, odd), of_all)?;
            k += steps;
            odd = !odd;
        }
        self.beside(steppers, |stepper| stepper.signals.advance(&stepper.stream, n_steps), || Ok(()))?;
        Ok(odd)
    }

    /// Starts something in the stream of each shot, and something beside that in the common stream, which then waits for all.
    fn beside<T: Real>(
        &self,
        steppers: &[GpuStepper<T>],
        mut of_shot: impl FnMut(&GpuStepper<T>) -> Result<(), DeviceError>,
        of_all: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        self.begins.record(&self.stream)?;
        for stepper in steppers {
            self.begins.precede(&stepper.stream)?;
            of_shot(stepper)?;
        }
        of_all()?;
        let mut ends = steppers.iter().zip(&self.ends);
        ends.try_for_each(|(stepper, end)| end.order(&stepper.stream, &self.stream))
    }

    /// Starts what is stepped shot by shot: of two steps the blocks on which something acts in any shot, of one all.
    fn start_alone<T: Real>(
        &self,
        stepper: &GpuStepper<T>,
        k: usize,
        steps: usize,
        odd: bool,
    ) -> Result<(), DeviceError> {
        let (on, params) = ((&stepper.gpu, &stepper.stream), stepper.params.oriented(odd));
        match &stepper.launches.double {
            Some(double) if steps == 2 && self.n_acted_on > 0 => {
                stepper.launches.start_some(double, on, &params, k, (self.acted_on, self.n_acted_on))
            }
            Some(_) if steps == 2 => Ok(()),
            _ => stepper.launches.start_some(&stepper.launches.single, on, &params, k, (In::null(), params.n_blocks)),
        }
    }

    /// Starts the other blocks of all shots.
    fn start_plain<T: Real>(&self, steppers: &[GpuStepper<T>], odd: bool) -> Result<(), DeviceError> {
        if self.n_plain == 0 {
            return Ok(());
        }
        let n = steppers.len() as u32;
        let mut shots = Shots { n, energy_rows: self.energy_rows, ..Shots::<T>::zeroed() };
        for (shot, stepper) in steppers.iter().enumerate() {
            let Params { u, du, energies, .. } = stepper.params.oriented(odd);
            (shots.u[shot], shots.du[shot], shots.energies[shot]) = (u, du, energies);
        }
        let mut params = Params { list: self.plain, ..steppers[0].params };
        let mut arguments = [std::ptr::from_mut(&mut params).cast(), std::ptr::from_mut(&mut shots).cast()];
        let n_thread_blocks = self.n_plain * (n / lanes::<T>());
        // SAFETY: the arguments that the kernels take; the arrays hold what the tables name, and outlive the launch.
        unsafe { self.kernel.launch(&self.stream, n_thread_blocks, &mut arguments) }
    }
}
