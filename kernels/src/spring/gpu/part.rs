//! The part of a model that one of several devices has: thread blocks of a step, and what they send.
//!
//! Every device has tables and arrays of the whole model. It computes those thread blocks of a step whose particles are its
//! own, as one device would, and then sends the displacements that others read ([`HaloExchange`]). Springs have two ends: a
//! thread block that reads particles of others has some that others read, too. Those of a part that others wait for, its
//! *border*, go first.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::timed;

use super::features::{Choice, Features};
use super::kernels::Kernels;
use super::layout::{Params, THREADS, TILE};
use super::options::{GpuError, GpuOptions, Scheme};
use super::{GpuReport, GpuStepper, acted_on};
use crate::device::layout::In;
use crate::device::{Arena, DeviceError, Event, Gpu, Opened, Slice, Stream};
use crate::dynamics::{Advance, Exchange, HaloExchange, HaloLists, NodeLayout, OwnMonitors, Part, Stepper};
use crate::ranks::{Accord, Ranks, Reader, Writer};
use crate::simd::{Precision, Real};
use crate::spring::cpu::grid::row_length;
use crate::spring::team::{About, SpringMember, share_broken};
use crate::spring::{Addressing, Change, SpringProblem, State, Units};

/// How several devices step a model: each in the same way, so that together they give the bits of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuPlan {
    /// Never [`Addressing::Automatic`].
    pub addressing: Addressing,
    /// Neither [`Scheme::Automatic`] nor [`Scheme::Resident`].
    pub scheme: Scheme,
    /// Particles of a thread block of lists.
    block: usize,
    /// Planes of a column.
    depth: u32,
}

const ADDRESSINGS: [Addressing; 3] = [Addressing::Implicit, Addressing::Explicit, Addressing::ExplicitGlobal];

impl GpuPlan {
    /// What one device would do, as far as several can.
    ///
    /// # Errors
    /// As for [`GpuStepper::new`].
    pub fn new(
        precision: Precision,
        problem: &SpringProblem,
        addressing: Addressing,
        options: GpuOptions,
    ) -> Result<Self, GpuError> {
        let gpu = Gpu::open(options.ordinal)?;
        let features = match precision {
            Precision::F32 => Features::new::<f32>(problem),
            Precision::F64 => Features::new::<f64>(problem),
        };
        let Choice { addressing, scheme, block } =
            Choice::new(problem, features.of_several(), &gpu, addressing, options)?;
        let columns = addressing == Addressing::Implicit && scheme == Scheme::Shared;
        let depth = match (columns, problem.mesh.grid) {
            (true, Some(grid)) => Kernels::depth(&gpu, features, grid.size, options.depth)?,
            _ => 0,
        };
        Ok(Self { addressing, scheme, block, depth })
    }

    /// As a message.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut message = Writer::default();
        let addressing = ADDRESSINGS.iter().position(|&addressing| addressing == self.addressing).unwrap_or(0) as u64;
        message.put(&[addressing, u64::from(self.scheme == Scheme::Shared), self.block as u64, u64::from(self.depth)]);
        message.into_bytes()
    }

    /// From a message.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let said: Vec<u64> = Reader::new(bytes).take();
        Self {
            addressing: ADDRESSINGS[said[0] as usize],
            scheme: if said[1] == 1 { Scheme::Shared } else { Scheme::Cached },
            block: said[2] as usize,
            depth: said[3] as u32,
        }
    }

    /// What parts must not divide: the particles of a thread block of a step.
    pub fn units(&self, problem: &SpringProblem) -> Units {
        Units::of(self.thread_blocks(problem))
    }

    /// The options of a device.
    pub(in crate::spring) fn options(&self, ordinal: u32) -> GpuOptions {
        GpuOptions { ordinal, scheme: self.scheme, block: self.block, depth: self.depth }
    }

    /// The thread block of a step that moves each particle, (n,).
    fn thread_blocks(&self, problem: &SpringProblem) -> Vec<u32> {
        let grid = problem.mesh.grid.filter(|_| self.addressing == Addressing::Implicit);
        let Some(grid) = grid else {
            return (0..problem.n_particles()).into_par_iter().map(|particle| (particle / self.block) as u32).collect();
        };
        let [nx, ny] = [grid.size[0].max(1), grid.size[1].max(1)];
        let row = row_length(nx as usize, 32) as u32;
        let tiles = [nx.div_ceil(TILE[0] as u32), ny.div_ceil(TILE[1] as u32)];
        let of_place = |&place: &u32| {
            let [x, y, z] = [place % nx, place / nx % ny, place / nx / ny];
            match self.scheme {
                Scheme::Shared => {
                    x / TILE[0] as u32 + tiles[0] * (y / TILE[1] as u32 + tiles[1] * (z / self.depth.max(1)))
                }
                _ => (x + row * (y + ny * z)) / THREADS,
            }
        };
        grid.place.par_iter().map(of_place).collect()
    }
}

/// Thread blocks of a step, and the degrees of freedom with forces and supports of their particles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    list: In<u32>,
    pub n_blocks: u32,
    special_list: In<u32>,
    pub n_specials: u32,
}

impl Share {
    /// All of a model.
    pub fn whole(n_blocks: u32, n_specials: u32) -> Self {
        Self { list: In::null(), n_blocks, special_list: In::null(), n_specials }
    }

    /// What its launches are told.
    pub fn params<T: Real>(&self, params: &Params<T>) -> Params<T> {
        let Self { list, special_list, n_specials, .. } = *self;
        Params { list, special_list, n_specials, ..*params }
    }
}

/// What one of several devices computes, by the numbers that one device has for it.
#[derive(Debug, Default)]
struct Lists {
    /// Thread blocks, those of the border first, and how many those are.
    blocks: Vec<u32>,
    n_border: usize,
    /// Degrees of freedom with forces and supports, in the same way.
    specials: Vec<u32>,
    n_border_specials: usize,
}

impl Lists {
    fn new(problem: &SpringProblem, part: &Part, thread_blocks: &[u32]) -> Self {
        let n = thread_blocks.iter().max().map_or(0, |&most| most as usize + 1);
        let (mut is_own, mut is_border) = (vec![false; n], vec![false; n]);
        part.own().for_each(|particle| is_own[thread_blocks[particle] as usize] = true);
        part.read_by_others().iter().for_each(|&read| is_border[thread_blocks[read as usize] as usize] = true);
        let mut blocks: Vec<u32> = (0..n as u32).filter(|&block| is_own[block as usize]).collect();
        blocks.sort_by_key(|&block| !is_border[block as usize]);
        let dofs = acted_on(problem);
        let of = |special: u32| dofs[special as usize] as usize / 3;
        let is_border_special = |&special: &u32| is_border[thread_blocks[of(special)] as usize];
        let mut specials: Vec<u32> =
            (0..dofs.len() as u32).filter(|&special| part.local_own(of(special)).is_some()).collect();
        specials.sort_by_key(|special| !is_border_special(special));
        Self {
            n_border: is_border.iter().filter(|border| **border).count(),
            n_border_specials: specials.iter().filter(|special| is_border_special(special)).count(),
            blocks,
            specials,
        }
    }

    /// The border and the rest, on the device.
    fn place(&self, arena: &mut Arena) -> Result<Vec<Share>, DeviceError> {
        let blocks: Slice<u32> = arena.copy("thread blocks of this part", &self.blocks)?;
        let specials: Slice<u32> = arena.copy("forces and supports of this part", &self.specials)?;
        let share = |blocks: Slice<u32>, specials: Slice<u32>| Share {
            list: blocks.at(),
            n_blocks: blocks.len() as u32,
            special_list: specials.at(),
            n_specials: specials.len() as u32,
        };
        let (border, acted) = (self.n_border, self.n_border_specials);
        Ok(vec![
            share(blocks.part(0, border), specials.part(0, acted)),
            share(blocks.part(border, self.blocks.len() - border), specials.part(acted, self.specials.len() - acted)),
        ])
    }
}

/// What one of several devices has beside a stepper.
#[derive(Debug)]
pub(super) struct Shared<T> {
    pub exchange: HaloExchange<T>,
    /// The border's stream, where devices wait for each other.
    pub border: Stream,
    pub begins: Event,
    pub ends: Event,
    /// Memory of devices of other processes.
    _opened: Opened,
    lists: Lists,
    pub accord: Accord,
}

impl<'a, T: Real> GpuStepper<'a, T> {
    /// A stepper of the part of a rank, from the state of the whole model. Collective.
    fn of_part(
        problem: SpringProblem<'a>,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        plan: GpuPlan,
        (ordinal, exchange): (u32, Exchange),
    ) -> Result<Self, GpuError> {
        let (accord, me) = (Accord::new(ranks), ranks.rank());
        let (part, thread_blocks) = timed("part", || (Part::of(domains, me), plan.thread_blocks(&problem)));
        let made = Self::with(problem, part, state, plan.addressing, plan.options(ordinal));
        let mut stepper = accord.agree(made)?;
        let mut sent = vec![Vec::new(); ranks.n_ranks()];
        for message in domains.sent(me) {
            let place = |&particle: &u32| stepper.host.place(particle as usize) as u32;
            sent[message.reader as usize].extend(message.items.iter().map(place));
        }
        let lists = timed("part", || Lists::new(&stepper.problem, &stepper.part, &thread_blocks));
        timed("join", || stepper.join(HaloLists::new(sent), lists, accord, exchange))?;
        Ok(stepper)
    }

    /// Places what it computes and sends, and learns where the other devices have their arrays. Collective.
    fn join(&mut self, sent: HaloLists, lists: Lists, accord: Accord, exchange: Exchange) -> Result<(), DeviceError> {
        let mut opened = Opened::default();
        let mut state = vec![self.arrays.u];
        if let [even, odd] = self.arrays.du[..] {
            state.push([even, odd]);
        }
        let layout = match self.form.wide {
            true => NodeLayout { n_numbers: 3, pitch: 4, stride: 1 },
            false => NodeLayout { n_numbers: 3, pitch: 1, stride: self.host.len() },
        };
        let memory = (&mut self.arena, &mut opened);
        let exchange = sent.connect(&self.gpu, (&accord, exchange), memory, &state, layout)?;
        let mut own = vec![0u32; self.host.len().div_ceil(32)];
        for at in self.part.own().map(|particle| self.host.place(particle)) {
            own[at / 32] |= 1 << (at % 32);
        }
        let mut place = || {
            self.params.own = self.arena.copy("particles of this part", &own)?.at();
            self.shares = lists.place(&mut self.arena)?;
            Ok::<_, DeviceError>((Stream::with_priority(-5)?, Event::new()?, Event::new()?))
        };
        let placed = place();
        let (border, begins, ends) = accord.agree(placed)?;
        self.report.memory = self.arena.report();
        self.shared = Some(Shared { exchange, border, begins, ends, _opened: opened, lists, accord });
        Ok(())
    }

    /// What this rank has come to, or an error on all ranks if it is one on any; see [`Accord::agree`].
    pub(super) fn agree<V>(&self, outcome: Result<V, DeviceError>) -> Result<V, DeviceError> {
        match &self.shared {
            Some(shared) => shared.accord.agree(outcome),
            None => outcome,
        }
    }

    /// Lets all ranks know of the springs that broke. Collective.
    pub(super) fn share_broken(&mut self) {
        let Some(shared) = self.shared.as_ref().filter(|_| self.params.breaks != 0) else { return };
        let broken = share_broken(&*shared.accord.ranks, std::mem::take(&mut self.unshared));
        self.note_broken(broken);
    }

    /// Entries of work, of what friction and dampers take, and of what forces and supports change of that, of this part.
    fn work_entries(&self) -> [Vec<u32>; 3] {
        let Some(shared) = self.shared.as_ref().filter(|_| self.problem.follow_work) else { return Default::default() };
        let mut specials = shared.lists.specials.clone();
        specials.sort_unstable();
        let warps = if self.arrays.heat.len() > 0 { self.kernels.threads.div_ceil(32) } else { 0 };
        let heat = shared.lists.blocks.iter().flat_map(|block| block * warps..(block + 1) * warps);
        [specials.clone(), heat.collect(), specials]
    }
}

/// The part of one rank on a device.
#[derive(Debug)]
pub(in crate::spring) struct GpuMember<'a, T: Real> {
    stepper: GpuStepper<'a, T>,
    monitors: OwnMonitors,
}

impl<'a, T: Real> GpuMember<'a, T> {
    /// As [`PartMember::on_device`](crate::spring::PartMember::on_device).
    pub fn new(
        problem: &SpringProblem<'a>,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        state: &State,
        plan: GpuPlan,
        on: (u32, Exchange),
    ) -> Result<Self, GpuError> {
        let monitors = OwnMonitors::new(&problem.monitors, 3, &Part::of(domains, ranks.rank()));
        Ok(Self { stepper: GpuStepper::of_part(problem.clone(), domains, ranks, state, plan, on)?, monitors })
    }

    /// What it runs on, and how.
    pub fn report(&self) -> &GpuReport {
        self.stepper.report()
    }
}

impl<T: Real> SpringMember for GpuMember<'_, T> {
    fn about(&self) -> About {
        let (monitors, unit) = (self.monitors.columns.clone(), self.stepper.form.unit);
        About { monitors, work: self.stepper.work_entries(), unit }
    }

    fn advance(&mut self, order: &Advance) -> Result<Vec<f64>, DeviceError> {
        let mut recording = Vec::new();
        self.stepper.advance(order.n_steps, &order.signals, &order.record, &mut recording)?;
        self.stepper.share_broken();
        Ok(self.monitors.select(&recording))
    }

    fn shared_changes(&self) -> &[Change] {
        &self.stepper.changes
    }

    fn own_state(&self) -> Result<State, DeviceError> {
        self.stepper.state()
    }

    fn work(&self) -> Result<[Vec<f64>; 3], DeviceError> {
        let [specials, heat, _] = self.stepper.work_entries();
        let arrays = &self.stepper.arrays;
        let of = |array: &Slice<f64>, entries: &[u32]| -> Result<Vec<f64>, DeviceError> {
            let all = array.to_vec()?;
            Ok(entries.iter().map(|&entry| all[entry as usize]).collect())
        };
        self.stepper.gpu.enter()?;
        Ok([of(&arrays.work, &specials)?, of(&arrays.heat, &heat)?, of(&arrays.special_heat, &specials)?])
    }

    fn own_sums(&self, signals: &[f64]) -> Result<Option<Vec<f64>>, DeviceError> {
        self.stepper.sums(signals).map(Some)
    }
}
