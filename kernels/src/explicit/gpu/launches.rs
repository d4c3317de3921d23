//! Which kernels step a model, and over which blocks or tiles.

use super::grids::room;
use super::ground::Ground;
use super::held::Held;
use super::laws::law_name;
use super::layout::{Material, Params, THREADS};
use super::peers::Peers;
use super::tables::{ActRange, Tables};
use super::tied::Ties;
use super::viscous::Viscous;
use super::wet::Wet;
use super::{ADVICE, KernelReport};
use crate::device::layout::{In, Out};
use crate::device::{Arena, DeviceError, Event, Gpu, Kernel, Module, Plain as _, Slice, Stream};
use crate::dynamics::HaloExchange;
use crate::simd::Real;

/// A launch has many passes where all blocks take at most so many rounds of thread blocks: what a launch loses as it ends is
/// then more than what waiting for the neighbouring blocks takes.
const MOST_ROUNDS: u32 = 20;

/// A kernel over some of the blocks or tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass<T> {
    pub kernel: Kernel,
    pub n_blocks: u32,
    /// As many thread blocks as the device holds at once share the blocks out, instead of having one each.
    pub cooperative: bool,
    /// The blocks or tiles, or null for all blocks.
    pub list: In<u32>,
    /// It goes into the second stream, where there is one: cooperative kernels, and what other devices wait for.
    pub is_early: bool,
    pub last: Last<T>,
}

/// What a kernel takes beside the parameters and the row of signals.
#[derive(Debug, Clone, Copy)]
pub(super) enum Last<T> {
    Nothing,
    /// Material of the tiles, and its number.
    Material(usize, Material<T>),
    /// Where fluids and solids touch.
    Wet(Wet<T>),
    /// Dashpots.
    Ground(Ground),
    /// Linear constraints.
    Held(Held),
    Ties(Ties),
    /// What elements feel beside the displacement.
    Viscous(Viscous<T>),
    /// Nodes that tiles leave.
    Act(ActRange),
    /// The memory of other devices.
    Peers,
}

/// Kernels of one number of steps, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Launch<T> {
    pub passes: Vec<Pass<T>>,
    pub steps: usize,
    /// Its one kernel may go over the blocks many times in a launch.
    pub repeats: bool,
}

/// A second stream for blocks that are not covered by tiles and, of one of several devices, for tiles of the border and the exchange.
/// They begin first, and neither stream waits for the other.
#[derive(Debug)]
pub(super) struct SecondStream {
    pub stream: Stream,
    pub begins: Event,
    pub ends: Event,
}

impl SecondStream {
    fn new() -> Result<Self, DeviceError> {
        Ok(Self { stream: Stream::with_priority(-5)?, begins: Event::new()?, ends: Event::new()? })
    }
}

impl<T: Real> Params<T> {
    /// The same where a step reads the second arrays of the state, with `odd`.
    pub fn oriented(&self, odd: bool) -> Self {
        let [u, du] = [self.u, self.du].map(|[a, b]| if odd { [b, a] } else { [a, b] });
        Self { u, du, ..*self }
    }
}

impl ActRange {
    /// The numbers of a launch over this range.
    pub fn of<T: Real>(&self, params: Params<T>) -> Params<T> {
        Params {
            act_nodes: params.act_nodes.at(self.first as usize),
            n_act_nodes: self.n,
            act_special: params.act_special + self.first,
            act_energy: params.act_energy + self.row,
            ..params
        }
    }
}

/// All launches of a model.
#[derive(Debug)]
pub(super) struct Launches<T> {
    pub single: Launch<T>,
    /// Two steps at a time, where the fans of the halo are there.
    pub double: Option<Launch<T>>,
    /// What corrects a step when all nodes have moved.
    corrections: Vec<Pass<T>>,
    viscous: Option<ViscousLaunches<T>>,
    second: Option<SecondStream>,
    /// Sends what other devices read after a step, where there are others.
    exchange: Option<HaloExchange<T>>,
    /// Lets all devices have the nodes that linear constraints name, before they project these.
    exchange_of_joined: Option<HaloExchange<T>>,
    _modules: Vec<Module>,
}

/// Finds kernels and notes them for the report.
struct Finder<'a> {
    gpu: &'a Gpu,
    arena: &'a mut Arena,
    report: &'a mut Vec<KernelReport>,
}

impl Finder<'_> {
    fn kernel(&mut self, module: &Module, name: String, steps: u32, shared: u32) -> Result<Kernel, DeviceError> {
        let kernel = Kernel::new(self.gpu, module, &name, shared)?;
        let Kernel { threads, registers, resident, .. } = kernel;
        self.report.push(KernelReport { name, steps, threads, registers, resident });
        Ok(kernel)
    }

    /// A list of blocks or tiles on the device; null for none.
    fn list(&mut self, name: &'static str, list: &[u32]) -> Result<In<u32>, DeviceError> {
        if list.is_empty() {
            return Ok(In::null());
        }
        Ok(self.arena.copy(name, list)?.at())
    }
}

impl<T: Real> Launches<T> {
    /// `memory` are z_l of the start. `own` are the blocks of this device where several devices have a model that is stepped by
    /// fans alone.
    pub fn new(
        gpu: &Gpu,
        (tables, memory): (&Tables<T>, &[T]),
        own: Option<&[u32]>,
        arena: &mut Arena,
        report: &mut Vec<KernelReport>,
    ) -> Result<Self, DeviceError> {
        let mut finder = Finder { gpu, arena, report };
        let mut modules = Vec::new();
        let mut launches = Self {
            single: Launch { passes: Vec::new(), steps: 1, repeats: false },
            double: None,
            corrections: Vec::new(),
            viscous: None,
            second: None,
            exchange: None,
            exchange_of_joined: None,
            _modules: Vec::new(),
        };
        if tables.has_fans() {
            modules.push(launches.add_fans(&mut finder, tables, own)?);
            if tables.n_early_fans > 0 {
                launches.second = Some(SecondStream::new()?);
            }
        }
        if !tables.by_colours.is_empty() {
            modules.push(launches.add_elements(&mut finder, tables)?);
        }
        if let Some(tiles) = tables.tiles.as_ref().filter(|tiles| !tiles.launches.is_empty()) {
            modules.push(launches.add_tiles(&mut finder, tables)?);
            if !tables.blocks.is_empty() || tiles.launches.iter().any(|launch| launch.is_border) {
                launches.second = Some(SecondStream::new()?);
            }
        }
        if tables.ground.n_blocks() > 0 || tables.is_joined() {
            modules.push(launches.add_corrections(&mut finder, tables)?);
        }
        if !tables.viscous.is_empty() {
            modules.push(launches.add_viscous(&mut finder, tables, memory)?);
        }
        launches._modules = modules;
        Ok(launches)
    }

    fn add_corrections(&mut self, finder: &mut Finder, tables: &Tables<T>) -> Result<Module, DeviceError> {
        let module = finder.gpu.module("corrections")?;
        let mut add = |finder: &mut Finder, name: &str, n_blocks: u32, last: Last<T>| -> Result<(), DeviceError> {
            let kernel = finder.kernel(&module, format!("{name}_{}", T::NAME), 1, 0)?;
            let list = In::null();
            self.corrections.push(Pass { kernel, n_blocks, cooperative: false, list, is_early: false, last });
            Ok(())
        };
        if tables.ground.n_blocks() > 0 {
            let ground = tables.ground.place(finder.arena, tables.unknowns)?;
            add(finder, "ground", tables.ground.n_blocks(), Last::Ground(ground))?;
        }
        let mut ties = Ties::zeroed();
        if let Some(tables) = &tables.ties {
            ties = tables.ties();
            let arena = tables.plan().place(finder.gpu, 0, ADVICE, &mut ties)?;
            finder.arena.append(arena);
            let (name, n_blocks) = tables.press();
            add(finder, name, n_blocks, Last::Ties(ties))?;
        }
        for (of_fluids, held) in [false, true].into_iter().zip(&tables.held) {
            if let Some(tables) = tables.ties.as_ref().filter(|_| of_fluids) {
                let (name, n_blocks) = tables.follow();
                add(finder, name, n_blocks, Last::Ties(ties))?;
            }
            let Some(tables) = held else { continue };
            let (held, arena) = tables.place(finder.gpu, ADVICE)?;
            finder.arena.append(arena);
            let mut kernels = tables.kernels().into_iter();
            kernels.try_for_each(|(name, n_blocks)| add(finder, name, n_blocks, Last::Held(held)))?;
        }
        Ok(module)
    }

    fn add_viscous(&mut self, finder: &mut Finder, tables: &Tables<T>, memory: &[T]) -> Result<Module, DeviceError> {
        let module = finder.gpu.module("viscous")?;
        let tables = &tables.viscous;
        let mut viscous = tables.viscous();
        let arena = tables.plan(memory).place(finder.gpu, 0, ADVICE, &mut viscous)?;
        finder.arena.append(arena);
        let pass = |finder: &mut Finder, (name, n_blocks): (&str, u32)| -> Result<Pass<T>, DeviceError> {
            let kernel = finder.kernel(&module, format!("{name}_{}", T::NAME), 1, 0)?;
            let (list, last) = (In::null(), Last::Viscous(viscous));
            Ok(Pass { kernel, n_blocks, cooperative: false, list, is_early: false, last })
        };
        let feel = pass(finder, tables.feel())?;
        let mut groups = Vec::new();
        for (number, group) in tables.groups.iter().enumerate() {
            let materials = finder.arena.copy("materials of a group", &group.materials)?.at();
            let viscous = tables.of_group(viscous, number);
            groups.push(ViscousGroup { feel, viscous, materials, has: group.has.clone() });
        }
        let moves = pass(finder, tables.moves())?;
        let ends = tables.ends().into_iter().map(|kernel| pass(finder, kernel)).collect::<Result<_, _>>()?;
        let remembers = tables.remembers().map(|kernel| pass(finder, kernel)).transpose()?;
        self.viscous = Some(ViscousLaunches { groups, moves, ends, remembers });
        Ok(module)
    }

    fn add_fans(
        &mut self,
        finder: &mut Finder,
        tables: &Tables<T>,
        own: Option<&[u32]>,
    ) -> Result<Module, DeviceError> {
        let listed = if tables.by_fans.is_empty() { tables.blocks.len() } else { tables.by_fans.len() };
        let n_blocks = own.map_or(listed, <[u32]>::len) as u32;
        let law = tables.fan_law();
        let name = format!("fans{}_{law}_{}", if own.is_some() { "_of_devices" } else { "" }, T::NAME);
        let module = finder.gpu.module(&name)?;
        let list = finder.list("list of blocks by fans", own.unwrap_or(&tables.by_fans))?;
        let most = MOST_ROUNDS * finder.gpu.multiprocessors;
        let mut launch = |steps: u32| -> Result<Launch<T>, DeviceError> {
            let shared = tables.shared[steps as usize - 1];
            let kernel = finder.kernel(&module, format!("{name}_{steps}"), steps, shared)?;
            let repeats = own.is_some() || tables.by_fans.is_empty() && n_blocks <= most * kernel.resident;
            let last = if own.is_some() { Last::Peers } else { Last::Nothing };
            let pass = Pass { kernel, n_blocks, cooperative: false, list, is_early: false, last };
            let border = tables.n_early_fans;
            let early = Pass { n_blocks: border as u32, is_early: true, ..pass };
            let inside = Pass { n_blocks: n_blocks - border as u32, list: list.at(border), ..pass };
            let passes = if border == 0 { vec![pass] } else { vec![early, inside] };
            let passes = passes.into_iter().filter(|pass| pass.n_blocks > 0).collect();
            Ok(Launch { passes, steps: steps as usize, repeats })
        };
        self.single = launch(1)?;
        if tables.two_steps {
            self.double = Some(launch(2)?);
        }
        Ok(module)
    }

    /// Blocks whose elements have a thread each. In space thread blocks stay, take one block after the other, and wait for
    /// each other.
    fn add_elements(&mut self, finder: &mut Finder, tables: &Tables<T>) -> Result<Module, DeviceError> {
        let module = finder.gpu.module(&tables.module())?;
        let last = if tables.is_mixed { Last::Wet(tables.wet.place(finder.arena)?) } else { Last::Nothing };
        let shared = if tables.once { tables.rooms() } else { tables.shared[2] };
        let kernel = finder.kernel(&module, tables.kernel(), 1, shared)?;
        // All blocks need no list.
        let all = tables.by_colours.len() == tables.blocks.len();
        let list = finder.list("list of blocks by colours", if all { &[] } else { &tables.by_colours })?;
        let n_blocks = tables.by_colours.len() as u32;
        let cooperative = tables.once;
        self.single.passes.push(Pass { kernel, n_blocks, cooperative, list, is_early: cooperative, last });
        Ok(module)
    }

    fn add_tiles(&mut self, finder: &mut Finder, tables: &Tables<T>) -> Result<Module, DeviceError> {
        let is_fluid = tables.has_one_unknown();
        let module = finder.gpu.module(&format!("{}_{}", if is_fluid { "fluids" } else { "march" }, T::NAME))?;
        let tiles = tables.tiles.iter().flat_map(|tiles| &tiles.launches);
        for launch in tiles {
            let name = format!("march_{}_{}", T::NAME, law_name(launch.law));
            let kernel = finder.kernel(&module, name, 1, room(size_of::<T>(), tables.unknowns))?;
            let list = finder.list("list of tiles", &launch.tiles)?;
            let last = Last::Material(launch.material, tables.materials[launch.material]);
            let n_blocks = launch.tiles.len() as u32;
            let is_early = launch.is_border;
            self.single.passes.push(Pass { kernel, n_blocks, cooperative: false, list, is_early, last });
        }
        for range in tables.act_ranges() {
            let of_fluids = if is_fluid { "_acoustic" } else { "" };
            let kernel = Kernel::new(finder.gpu, &module, &format!("act_{}{of_fluids}", T::NAME), 0)?;
            let (n_blocks, list, is_early) = (range.n.div_ceil(THREADS), In::null(), range.is_border);
            let last = Last::Act(range);
            self.single.passes.push(Pass { kernel, n_blocks, cooperative: false, list, is_early, last });
        }
        Ok(module)
    }

    /// Has each launch end with the exchange of what lies between devices.
    pub fn exchange_after_steps(&mut self, exchange: HaloExchange<T>) {
        self.exchange = Some(exchange);
    }

    /// Has each launch exchange what ties and linear constraints name, before these act.
    pub fn exchange_before_joining(&mut self, exchange: HaloExchange<T>) {
        self.exchange_of_joined = Some(exchange);
    }

    /// The exchanges of a launch, in their order.
    fn exchanges(&self) -> impl Iterator<Item = &HaloExchange<T>> {
        self.exchange_of_joined.iter().chain(&self.exchange)
    }

    /// Whether launches go on without the host, so that they may be recorded.
    pub fn may_be_recorded(&self) -> bool {
        self.exchanges().all(HaloExchange::is_of_devices)
    }

    /// Rounds of messages of each exchange after so many further launches.
    pub fn rounds_after(&self, n_launches: u64) -> u64 {
        self.exchange.as_ref().map_or(0, |exchange| exchange.rounds() + n_launches)
    }

    /// The outcome of launches after which each exchange should have made so many rounds of messages. After an error this rank
    /// still takes part in those that are left, as others wait for it.
    pub fn conclude<V>(&self, rounds: u64, outcome: Result<V, DeviceError>) -> Result<V, DeviceError> {
        if outcome.is_err() {
            // The first exchange of a launch is the first that has made fewer rounds.
            while let Some(exchange) = self.exchanges().min_by_key(|exchange| exchange.rounds()) {
                if exchange.rounds() >= rounds || !exchange.give_up() {
                    break;
                }
            }
        }
        outcome
    }

    /// Starts one launch, `k` rows after the current one, over the blocks `repeats` times. With `odd` it reads the second
    /// arrays of the state and writes the first. With `fixes` it also projects u onto linear constraints.
    pub fn start(
        &self,
        launch: &Launch<T>,
        (gpu, stream): (&Gpu, &Stream),
        (params, peers): (&Params<T>, &Peers<T>),
        (k, odd, repeats, fixes): (usize, bool, usize, bool),
        done: Slice<u32>,
    ) -> Result<(), DeviceError> {
        // What is counted for other devices is counted from the beginning.
        if repeats > 1 && !peers.are_there() {
            done.clear(stream)?;
        }
        let second = self.second.as_ref();
        let turn = Turn { gpu, stream, second, peers, k, odd, repeats };
        let params = &params.oriented(odd);
        if params.force_out.address() != 0 {
            return turn.start_all(&launch.passes, params, None, |_| true);
        }
        // What others read is complete when the second stream is, unless it is corrected or made later.
        let is_last = self.corrections.is_empty() && self.viscous.is_none();
        let early = self.exchange.as_ref().filter(|_| second.is_some() && is_last);
        match &self.viscous {
            Some(viscous) => {
                viscous.start_forces(launch, &turn, params, None)?;
                turn.start(&viscous.moves, params, false)?;
            }
            None => turn.start_all(&launch.passes, params, early, |_| true)?,
        }
        if early.is_some() {
            return Ok(());
        }
        let written = u32::from(!odd);
        let exchange = |exchange: &Option<HaloExchange<T>>| match exchange {
            Some(exchange) => exchange.start(stream, written).and_then(|()| exchange.finish(stream, written)),
            None => Ok(()),
        };
        let (joining, others): (Vec<_>, Vec<_>) = self.corrections.iter().partition(|pass| pass.last.joins());
        others.into_iter().try_for_each(|pass| turn.start(pass, params, false))?;
        exchange(&self.exchange_of_joined)?;
        joining.iter().try_for_each(|pass| turn.start(pass, params, false))?;
        if fixes {
            let mut held = joining.iter().filter(|pass| matches!(pass.last, Last::Held(_)));
            held.try_for_each(|pass| turn.start(pass, params, true))?;
        }
        let ends = self.viscous.iter().flat_map(|viscous| &viscous.ends);
        ends.into_iter().try_for_each(|pass| turn.start(pass, params, false))?;
        exchange(&self.exchange)?;
        match &self.exchange {
            Some(exchange) if !exchange.host_waits() => self.start_remembering((gpu, stream), params),
            _ => Ok(()),
        }
    }

    /// Starts the kernels of a launch over some blocks alone, `k` rows after the current one, in a stream of its own.
    pub fn start_some(
        &self,
        launch: &Launch<T>,
        (gpu, stream): (&Gpu, &Stream),
        params: &Params<T>,
        k: usize,
        (list, n_blocks): (In<u32>, u32),
    ) -> Result<(), DeviceError> {
        let turn = Turn { gpu, stream, second: None, peers: &Peers::zeroed(), k, odd: false, repeats: 1 };
        launch.passes.iter().try_for_each(|pass| turn.start(&Pass { list, n_blocks, ..*pass }, params, false))
    }

    /// Brings the memory variables of one of several devices to the next step, when it has the displacements of others in the second
    /// arrays of the parameters. The host calls it where it waits for all devices after each step.
    pub fn start_remembering(&self, (gpu, stream): (&Gpu, &Stream), params: &Params<T>) -> Result<(), DeviceError> {
        let Some(pass) = self.viscous.as_ref().and_then(|viscous| viscous.remembers.as_ref()) else { return Ok(()) };
        let second = self.second.as_ref();
        let turn = Turn { gpu, stream, second, peers: &Peers::zeroed(), k: 0, odd: false, repeats: 1 };
        turn.start(pass, params, false)
    }

    /// Computes the internal force of all groups for the first u and Δu of the parameters, and for these z_l or none.
    pub fn start_viscous_force(
        &self,
        (gpu, stream): (&Gpu, &Stream),
        params: &Params<T>,
        memory: Option<Out<T>>,
    ) -> Result<(), DeviceError> {
        let Some(viscous) = &self.viscous else { return Ok(()) };
        let second = self.second.as_ref();
        let turn = Turn { gpu, stream, second, peers: &Peers::zeroed(), k: 0, odd: false, repeats: 1 };
        viscous.start_forces(&self.single, &turn, params, Some(memory))
    }
}

/// Where and when kernels start.
struct Turn<'a, T> {
    gpu: &'a Gpu,
    stream: &'a Stream,
    second: Option<&'a SecondStream>,
    peers: &'a Peers<T>,
    k: usize,
    odd: bool,
    repeats: usize,
}

impl<T: Real> Turn<'_, T> {
    /// Starts a kernel. With `fixes`, one of linear constraints projects u.
    fn start(&self, pass: &Pass<T>, params: &Params<T>, fixes: bool) -> Result<(), DeviceError> {
        let mut params = Params { list: pass.list, ..*params };
        if let Last::Act(range) = &pass.last {
            params = range.of(params);
        }
        let on = self.second.filter(|_| pass.is_early).map_or(self.stream, |second| &second.stream);
        let (mut k, mut last) = (self.k as u32, pass.last);
        let mut peers = Peers { odd: u32::from(self.odd), ..*self.peers };
        let last = match &mut last {
            Last::Material(_, material) => std::ptr::from_mut(material).cast(),
            Last::Wet(wet) => std::ptr::from_mut(wet).cast(),
            Last::Ground(ground) => std::ptr::from_mut(ground).cast(),
            Last::Held(held) => {
                held.fixes = u32::from(fixes);
                std::ptr::from_mut(held).cast()
            }
            Last::Ties(ties) => std::ptr::from_mut(ties).cast(),
            Last::Viscous(viscous) => std::ptr::from_mut(viscous).cast(),
            Last::Peers => std::ptr::from_mut(&mut peers).cast(),
            Last::Act(_) | Last::Nothing => std::ptr::null_mut(),
        };
        let mut arguments = [std::ptr::from_mut(&mut params).cast(), std::ptr::from_mut(&mut k).cast(), last];
        // SAFETY: the arguments that every step kernel takes, the last one as its pass says; the arrays hold what
        // the tables name.
        unsafe {
            if pass.cooperative {
                pass.kernel.launch_resident(self.gpu, on, pass.n_blocks, &mut arguments)
            } else {
                let grid = [pass.n_blocks, self.repeats as u32, 1];
                pass.kernel.launch_grid(on, grid, pass.kernel.threads, &mut arguments)
            }
        }
    }

    /// Starts those kernels that are wanted, and `early` an exchange behind those of the second stream.
    fn start_all(
        &self,
        passes: &[Pass<T>],
        params: &Params<T>,
        early: Option<&HaloExchange<T>>,
        is_wanted: impl Fn(&Pass<T>) -> bool,
    ) -> Result<(), DeviceError> {
        let second = self.second;
        second.map_or(Ok(()), |second| second.begins.order(self.stream, &second.stream))?;
        let start = |is_early: bool| {
            let mut some = passes.iter().filter(|pass| pass.is_early == is_early && is_wanted(pass));
            some.try_for_each(|pass| self.start(pass, params, false))
        };
        start(true)?;
        let (early, written) = (early.zip(second), u32::from(!self.odd));
        early.map_or(Ok(()), |(exchange, second)| exchange.start(&second.stream, written))?;
        start(false)?;
        early.map_or(Ok(()), |(exchange, second)| exchange.finish(&second.stream, written))?;
        second.map_or(Ok(()), |second| second.ends.order(&second.stream, self.stream))
    }
}

/// What elements feel group by group, and what follows when all forces are there.
#[derive(Debug)]
struct ViscousLaunches<T> {
    groups: Vec<ViscousGroup<T>>,
    /// Moves the nodes.
    moves: Pass<T>,
    /// Behind the corrections of a step.
    ends: Vec<Pass<T>>,
    /// Of one of several devices, behind the exchange.
    remembers: Option<Pass<T>>,
}

/// A group of materials that feel the same.
#[derive(Debug)]
struct ViscousGroup<T> {
    /// Makes what they feel.
    feel: Pass<T>,
    viscous: Viscous<T>,
    /// All materials, those of other groups without stiffness, and which are of this one.
    materials: In<Material<T>>,
    has: Vec<bool>,
}

impl<T: Real> ViscousLaunches<T> {
    /// Starts what computes the internal force of all groups. `memory` stands for z_l of the state; within it, `None` is for f_int
    /// without them.
    fn start_forces(
        &self,
        launch: &Launch<T>,
        turn: &Turn<'_, T>,
        params: &Params<T>,
        memory: Option<Option<Out<T>>>,
    ) -> Result<(), DeviceError> {
        for group in &self.groups {
            let mut viscous = group.viscous;
            match memory {
                Some(Some(memory)) => viscous.memory = memory,
                Some(None) => viscous.n_mechanisms = 0,
                None => {}
            }
            turn.start(&Pass { last: Last::Viscous(viscous), ..group.feel }, params, false)?;
            turn.start_all(&launch.passes, &felt_by(params, &group.viscous, group.materials), None, |pass| {
                pass.last.computes_for(&group.has)
            })?;
        }
        Ok(())
    }
}

/// Parameters with which the kernels of elements compute the force of a group.
pub(super) fn felt_by<T: Real>(params: &Params<T>, viscous: &Viscous<T>, materials: In<Material<T>>) -> Params<T> {
    let mut params = Params { force_out: viscous.part, materials, ..*params };
    params.u[0] = viscous.felt;
    params
}

impl<T> Last<T> {
    /// Whether such a kernel joins nodes of any blocks, in a model on several devices of all of them.
    pub fn joins(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Ties(_))
    }

    /// Whether a kernel of elements that takes this has elements of the materials that `has` marks. Tiles have one material.
    pub fn computes_for(&self, has: &[bool]) -> bool {
        match self {
            Self::Material(number, _) => has[*number],
            Self::Act(_) => false,
            _ => true,
        }
    }
}
