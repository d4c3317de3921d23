//! The kernels compiled for the host (host.cuh), but for fans: models step by step as a device steps them.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::arrays;
use super::ground::{self, Ground};
use super::halo::Devices;
use super::held::{self, Held, Joints};
use super::launches::{Last, felt_by};
use super::layout::{Material, Params, THREADS};
use super::tables::Tables;
use super::tied;
use super::viscous::{self, Viscous, ViscousTables};
use super::wet::{Wet, WetTables};
use super::{Unknowns, grids, laws, layout, wet};
use crate::device::field;
use crate::device::layout::{In, Out, Pointer as _};
use crate::dynamics::HaloLists;
use crate::dynamics::State;
use crate::dynamics::signals::Signals;
use crate::explicit::projection::FIX_EVERY;
use crate::explicit::{Problem, StepperError};
use crate::simd::Real;

/// Threads of the kernels of colours.
const COLOUR_THREADS: u32 = 128;

/// Copies of the kernels in one precision, one for each launch at a time: a copy keeps the threads of its launch in variables.
type Copies = Vec<Mutex<libloading::Library>>;

/// As many as there are tests at a time; nothing where there is no C++ compiler.
fn copies(double: bool) -> Option<&'static Copies> {
    static COPIES: [OnceLock<Option<Copies>>; 2] = [OnceLock::new(), OnceLock::new()];
    COPIES[usize::from(double)].get_or_init(|| compile(double)).as_ref()
}

/// A copy that nobody uses, or the first one when it is free.
fn turn(copies: &'static Copies) -> MutexGuard<'static, libloading::Library> {
    let free = copies.iter().find_map(|copy| copy.try_lock().ok());
    free.unwrap_or_else(|| copies[0].lock().unwrap_or_else(PoisonError::into_inner))
}

fn compile(double: bool) -> Option<Copies> {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let real = if double { "double" } else { "float" };
    let code = format!(
        "#define POGO_ON_HOST \"{sources}/device/host.cuh\"\n\
         #include \"{sources}/explicit/gpu/setup.cu\"\n\
         #include \"{sources}/explicit/gpu/colours.cu\"\n\
         #include \"{sources}/explicit/gpu/solids.cu\"\n\
         #include \"{sources}/explicit/gpu/march.cu\"\n\
         #include \"{sources}/explicit/gpu/corrections.cu\"\n\
         #include \"{sources}/explicit/gpu/viscous.cu\"\n\
         #include \"{sources}/explicit/gpu/fluids_plane.cu\"\n\
         #include \"{sources}/explicit/gpu/fluids.cu\"\n\
         typedef {real} R;\n\
         extern \"C\" void step(void *kernel, const Params<R> *p, u32 k, const void *last, u32 kind, u32 blocks, u32 threads, u32 bytes) {{\n\
             host::launch(blocks, threads, bytes, [=] {{\n\
                 if (kind == 0) ((void (*)(Params<R>, u32))kernel)(*p, k);\n\
                 if (kind == 1) ((void (*)(Params<R>, u32, Wet<R>))kernel)(*p, k, *(const Wet<R> *)last);\n\
                 if (kind == 2) ((void (*)(Params<R>, u32, Material<R>))kernel)(*p, k, *(const Material<R> *)last);\n\
                 if (kind == 3) ((void (*)(Params<R>, u32, Ground))kernel)(*p, k, *(const Ground *)last);\n\
                 if (kind == 4) ((void (*)(Params<R>, u32, Held))kernel)(*p, k, *(const Held *)last);\n\
                 if (kind == 6) ((void (*)(Params<R>, u32, Ties))kernel)(*p, k, *(const Ties *)last);\n\
                 if (kind == 5) ((void (*)(Params<R>, u32, Viscous<R>))kernel)(*p, k, *(const Viscous<R> *)last);\n\
             }});\n\
         }}\n\
         extern \"C\" void place(const Params<R> *p, u32 blocks, const double *x, u32 dimension, double length, double quantum, u32 tiles) {{\n\
             host::launch(blocks, 256, 0, [=] {{ localise<R>(p->blocks, x, p->halo_nodes, p->outer_nodes, dimension, length, quantum, (R *)p->x); }});\n\
             host::launch(tiles, 256, 0, [=] {{ localise_tile<R>(p->tiles, p->words, x, length, quantum, (R *)p->tile_x); }});\n\
         }}\n"
    );
    std::fs::write(folder.path().join("twin.cpp"), code).expect("can write");
    drop(wet::header::header().compiler(folder.path()));
    drop(ground::header::header().compiler(folder.path()));
    drop(held::header::header().compiler(folder.path()));
    drop(tied::header::header().compiler(folder.path()));
    drop(viscous::header::header().compiler(folder.path()));
    let mut compiler = layout::header::header().compiler(folder.path());
    // Copies would share what is unique by name.
    compiler.args(["-O1", "-w", "-shared", "-fPIC", "-fno-gnu-unique", "-o", "twin.so", "twin.cpp"]);
    if double {
        compiler.arg("-DPOGO_F64");
    }
    match compiler.current_dir(folder.path()).status() {
        Ok(status) => assert!(status.success(), "the kernels do not compile for the host"),
        Err(_) => {
            pogo_tests::skip("there is no C++ compiler for the kernels");
            return None;
        }
    }
    let copy = |number: usize| {
        let path = folder.path().join(format!("twin-{number}.so"));
        std::fs::copy(folder.path().join("twin.so"), &path).expect("can write");
        // SAFETY: compiled just now; it has only initialisers of empty containers.
        Mutex::new(unsafe { libloading::Library::new(&path) }.expect("loads"))
    };
    Some((0..std::thread::available_parallelism().map_or(1, usize::from)).map(copy).collect())
}

/// A launch of a step.
struct Pass<T> {
    kernel: String,
    blocks: u32,
    threads: u32,
    bytes: u32,
    list: In<u32>,
    /// As of the launches on a device.
    is_early: bool,
    last: Last<T>,
}

impl<T> Pass<T> {
    /// What the kernel takes last, and its number in `compile`.
    fn last(&self) -> (*const c_void, u32) {
        match &self.last {
            Last::Act(_) | Last::Nothing => (std::ptr::null(), 0),
            Last::Wet(wet) => (std::ptr::from_ref(wet).cast(), 1),
            Last::Material(_, material) => (std::ptr::from_ref(material).cast(), 2),
            Last::Ground(ground) => (std::ptr::from_ref(ground).cast(), 3),
            Last::Held(held) => (std::ptr::from_ref(held).cast(), 4),
            Last::Viscous(viscous) => (std::ptr::from_ref(viscous).cast(), 5),
            Last::Ties(ties) => (std::ptr::from_ref(ties).cast(), 6),
            Last::Peers => unreachable!("no devices"),
        }
    }
}

/// A group of materials that feel the same.
struct TwinOfGroup<T> {
    feel: Pass<T>,
    viscous: Viscous<T>,
    materials: In<Material<T>>,
    has: Vec<bool>,
}

/// What elements feel beside the displacement.
struct TwinOfViscous<T> {
    /// With the arrays.
    viscous: Viscous<T>,
    groups: Vec<TwinOfGroup<T>>,
    moves: Pass<T>,
    ends: Vec<Pass<T>>,
    /// Behind an exchange with other devices.
    remembers: Option<Pass<T>>,
}

impl<T: Real> TwinOfViscous<T> {
    fn new(tables: &ViscousTables<T>, start: &[T], memory: &mut Vec<Vec<u128>>) -> Option<Self> {
        if tables.is_empty() {
            return None;
        }
        let mut viscous = tables.viscous();
        memory.append(&mut tables.plan(start).place_on_host(&mut viscous));
        let pass = |(name, blocks): (&str, u32), viscous: Viscous<T>| {
            let (kernel, last) = (format!("{name}_{}", T::NAME), Last::Viscous(viscous));
            Pass { kernel, blocks, threads: THREADS, bytes: 0, list: In::null(), is_early: false, last }
        };
        let mut groups = Vec::new();
        for (number, group) in tables.groups.iter().enumerate() {
            let viscous = tables.of_group(viscous, number);
            let materials = In::from_address(array(memory, &group.materials));
            let feel = pass(tables.feel(), viscous);
            groups.push(TwinOfGroup { feel, viscous, materials, has: group.has.clone() });
        }
        let ends = tables.ends().into_iter().map(|kernel| pass(kernel, viscous)).collect();
        let remembers = tables.remembers().map(|kernel| pass(kernel, viscous));
        Some(Self { viscous, groups, moves: pass(tables.moves(), viscous), ends, remembers })
    }
}

/// A doubled array of the state.
type Doubled<T> = fn(&Params<T>) -> [Out<T>; 2];

/// Steps a model on the host as a device does.
pub(in crate::explicit) struct Twin<T> {
    copies: &'static Copies,
    params: Params<T>,
    passes: Vec<Pass<T>>,
    viscous: Option<TwinOfViscous<T>>,
    unknowns: Unknowns,
    n_unknowns: usize,
    n_energies: usize,
    step: u64,
    /// What one of several devices sends, and what linear constraints name of that.
    sent: HaloLists,
    of_joined: Option<HaloLists>,
    memory: Vec<Vec<u128>>,
}

fn array<N: Copy>(memory: &mut Vec<Vec<u128>>, values: &[N]) -> u64 {
    let mut array = vec![0_u128; size_of_val(values).div_ceil(16) + 1];
    // SAFETY: as long as what is copied.
    unsafe {
        std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), array.as_mut_ptr().cast(), size_of_val(values))
    };
    memory.push(array);
    memory[memory.len() - 1].as_ptr() as u64
}

/// What lies at an address.
fn values<N: Copy>(address: u64, n: usize) -> Vec<N> {
    // SAFETY: the arrays of a twin are as long as its kernels take them to be.
    unsafe { std::slice::from_raw_parts(address as *const N, n) }.to_vec()
}

impl<T: Real> Twin<T> {
    /// None without a C++ compiler.
    pub fn new(problem: &Problem, state: &State) -> Result<Option<Self>, StepperError> {
        Self::of_part(problem, state, None)
    }

    /// One of several devices; none without a C++ compiler.
    pub fn of_part(problem: &Problem, state: &State, devices: Option<&Devices>) -> Result<Option<Self>, StepperError> {
        let Some(copies) = copies(size_of::<T>() == 8) else { return Ok(None) };
        problem.check(state, problem.mesh.n_nodes())?;
        let view = problem.device.as_ref().expect("a problem with tables for devices");
        let of_start = viscous::memory::<T>(problem, state)?;
        let mut tables = Tables::<T>::new(problem, view, 4, devices)?;
        tables.wet = WetTables::new(problem, &tables)?;
        if let Some(devices) = devices {
            tables.ground.keep(|node| devices.is_own(node as u32));
        }
        let joints = Joints::new(problem)?;
        let joined = joints.nodes(problem.mesh.dimension);
        let of_joined = devices.filter(|_| !joined.is_empty()).map(|devices| tables.sent.take_joined(devices, &joined));
        tables.join(problem, &joints);
        let unknowns = Unknowns { of_node: tables.unknowns, dimension: problem.mesh.dimension };
        let (u, du) = (unknowns.narrow::<T>(&state.displacement), unknowns.narrow::<T>(&state.increment));
        let fans = arrays::Fans::new(problem, view, &tables);
        let mut params = arrays::parameters(problem, &tables);
        let mut plan = arrays::plan(problem, view, &tables, &fans);
        plan.copy(field!(u[0]), &u);
        plan.copy(field!(du[0]), &du);
        plan.zeros::<T, _>(field!(u[1]), u.len());
        plan.zeros::<T, _>(field!(du[1]), u.len());
        let mut memory = plan.place_on_host(&mut params);
        params.row = In::from_address(array(&mut memory, &[0_u32]));
        let n_tiles = tables.tiles.as_ref().map_or(0, |tiles| tiles.rows.len()) as u32;
        let d = problem.mesh.dimension as u32;
        let library = turn(copies);
        // SAFETY: as declared in `compile`, with arrays of the tables.
        unsafe {
            type Place<T> = unsafe extern "C" fn(*const Params<T>, u32, *const f64, u32, f64, f64, u32);
            let place: libloading::Symbol<Place<T>> = library.get(b"place\0").expect("defined in `compile`");
            let (blocks, x) = (tables.blocks.len() as u32, problem.mesh.coordinates.as_ptr());
            place(&params, blocks, x, d, tables.units.length, tables.units.quantum, n_tiles);
        }
        drop(library);
        let passes = passes(&tables, &mut memory);
        let viscous = TwinOfViscous::new(&tables.viscous, &of_start, &mut memory);
        let n_unknowns = u.len();
        let is_of_other = devices.is_some_and(|devices| devices.me > 0);
        let n_energies = if is_of_other { tables.n_own_energy_rows } else { tables.n_energy_rows };
        let (sent, step) = (tables.sent.lists(), state.step);
        let made =
            Self { copies, params, passes, viscous, unknowns, n_unknowns, n_energies, step, sent, of_joined, memory };
        Ok(Some(made))
    }

    /// Steps one model by several devices, all of whose steps are recorded: each computes what others wait for, sends it, and computes
    /// the rest. With ties or linear constraints it computes all, sends what they name, joins that, and sends what else others read. What a
    /// device has no business to read is no number. Returns states and records of all.
    pub fn advance_team(team: &mut [Self], n_steps: usize, signals: &Signals<'_>) -> Vec<(State, Vec<f64>)> {
        let n = team.len();
        let lists = |team: &[Self], of: &dyn Fn(&Self, usize) -> Vec<u32>| -> Vec<Vec<Vec<u32>>> {
            team.iter().map(|twin| (0..n).map(|to| of(twin, to)).collect()).collect()
        };
        let halo = lists(team, &|twin, to| twin.sent.to(to).to_vec());
        let rows = lists(team, &|twin, to| twin.of_joined.as_ref().map_or(Vec::new(), |rows| rows.to(to).to_vec()));
        let is_joined = team[0].of_joined.is_some();
        let recordings: Vec<u64> = team.iter_mut().map(|twin| twin.prepare(n_steps, signals)).collect();
        let send = |team: &[Self], lists: &[Vec<Vec<u32>>], of: Doubled<T>, forgets: bool| {
            for (from, to) in (0..n).flat_map(|from| (0..n).map(move |to| (from, to))) {
                for &node in &lists[from][to] {
                    let value = team[from].get(of(&team[from].params)[1], node);
                    team[to].set(of(&team[to].params)[1], node, &value);
                    if forgets {
                        // It has been read.
                        let none = vec![T::from_f64(f64::NAN); value.len()];
                        team[to].set(of(&team[to].params)[0], node, &none);
                    }
                }
            }
        };
        let send_halo = |team: &[Self]| team[0].exchanged().for_each(|array| send(team, &halo, array, true));
        let joins = |pass: &Pass<T>| pass.last.joins();
        let is_viscous = team[0].viscous.is_some();
        for k in 0..n_steps as u32 {
            let launch = |team: &[Self], wanted: &dyn Fn(&Pass<T>) -> bool| {
                team.iter().for_each(|twin| twin.launch(k, &twin.params, wanted));
            };
            launch(team, &|pass| !joins(pass) && (pass.is_early || is_viscous));
            if !is_viscous && !is_joined {
                send_halo(team);
            }
            if !is_viscous {
                launch(team, &|pass| !pass.is_early && !joins(pass));
            }
            if is_joined {
                send(team, &rows, |params| params.u, false);
                send(team, &rows, |params| params.du, false);
                launch(team, &joins);
            }
            team.iter().for_each(|twin| twin.launch_ends(k));
            if is_viscous || is_joined {
                send_halo(team);
            }
            for twin in &mut *team {
                if let Some(viscous) = &twin.viscous {
                    twin.start(k, &twin.params, &viscous.remembers);
                }
                twin.params.u.swap(0, 1);
                twin.params.du.swap(0, 1);
            }
        }
        let ended = |(twin, recording): (&mut Self, u64)| twin.end(n_steps, recording);
        team.iter_mut().zip(recordings).map(ended).collect()
    }

    /// Leaves no number where this device is not sent any. `is_own` says which nodes are its own.
    pub fn forget(team: &mut [Self], me: usize, is_own: impl Fn(u32) -> bool) {
        let mut known: Vec<bool> = (0..team[me].n_nodes()).map(&is_own).collect();
        for from in (0..team.len()).filter(|&from| from != me) {
            let of_joined = team[from].of_joined.iter().flat_map(|rows| rows.to(me));
            team[from].sent.to(me).iter().chain(of_joined).for_each(|&node| known[node as usize] = true);
        }
        let none = vec![T::from_f64(f64::NAN); team[me].unknowns.of_node];
        for node in (0..known.len()).filter(|&node| !known[node]) {
            let (node, params) = (node as u32, team[me].params);
            team[me].exchanged().for_each(|array| team[me].set(array(&params)[0], node, &none));
        }
    }

    fn n_nodes(&self) -> u32 {
        (self.n_unknowns / self.unknowns.of_node) as u32
    }

    /// The arrays that devices exchange.
    fn exchanged(&self) -> impl Iterator<Item = Doubled<T>> + use<T> {
        let arrays: [Doubled<T>; 2] = [|params| params.u, |params| params.du];
        arrays.into_iter().take(if self.viscous.is_some() { 2 } else { 1 })
    }

    /// Where the numbers of a node are in an array of the state.
    fn place(&self, array: Out<T>, node: u32) -> *mut T {
        let of_node = self.unknowns.of_node;
        assert!((node as usize + 1) * of_node <= self.n_unknowns);
        array.at(node as usize * of_node).address() as *mut T
    }

    fn get(&self, array: Out<T>, node: u32) -> Vec<T> {
        values(self.place(array, node) as u64, self.unknowns.of_node)
    }

    fn set(&self, array: Out<T>, node: u32, value: &[T]) {
        // SAFETY: inside the array, which nobody else reads now.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), self.place(array, node), self.unknowns.of_node) };
    }

    /// Names of the kernels of a step.
    pub fn kernels(&self) -> Vec<&str> {
        self.passes.iter().map(|pass| pass.kernel.as_str()).collect()
    }

    fn launch(&self, k: u32, params: &Params<T>, wanted: impl Fn(&Pass<T>) -> bool) {
        let makes_step = params.force_out.address() == 0;
        let fixes = (self.step + u64::from(k) + 1).is_multiple_of(FIX_EVERY);
        let is_due = |pass: &&Pass<T>| match &pass.last {
            Last::Held(held) => makes_step && (fixes || held.fixes == 0),
            Last::Ground(_) | Last::Ties(_) => makes_step,
            _ => true,
        };
        let due = self.passes.iter().filter(is_due).filter(|pass| wanted(pass));
        let Some(viscous) = self.viscous.as_ref().filter(|_| makes_step) else {
            return self.start(k, params, due);
        };
        let corrects = |pass: &&Pass<T>| matches!(pass.last, Last::Ground(_)) || pass.last.joins();
        let (corrections, elements): (Vec<_>, Vec<_>) = due.partition(corrects);
        if elements.is_empty() {
            return self.start(k, params, corrections);
        }
        for group in &viscous.groups {
            self.start(k, params, [&group.feel]);
            let of_elements = elements.iter().copied().filter(|pass| pass.last.computes_for(&group.has));
            self.start(k, &felt_by(params, &group.viscous, group.materials), of_elements);
        }
        self.start(k, params, [&viscous.moves].into_iter().chain(corrections));
    }

    /// What follows the corrections of a step.
    fn launch_ends(&self, k: u32) {
        self.start(k, &self.params, self.viscous.iter().flat_map(|viscous| &viscous.ends));
    }

    fn start<'a>(&self, k: u32, params: &Params<T>, passes: impl IntoIterator<Item = &'a Pass<T>>)
    where
        T: 'a,
    {
        type Step<T> = unsafe extern "C" fn(*mut c_void, *const Params<T>, u32, *const c_void, u32, u32, u32, u32);
        let library = turn(self.copies);
        for pass in passes {
            let mut params = Params { list: pass.list, ..*params };
            if let Last::Act(range) = &pass.last {
                params = range.of(params);
            }
            let (last, kind) = pass.last();
            // SAFETY: a kernel of the name with the arguments of its kind.
            unsafe {
                let step: libloading::Symbol<Step<T>> = library.get(b"step\0").expect("defined in `compile`");
                let kernel: libloading::Symbol<*mut c_void> =
                    library.get(format!("{}\0", pass.kernel).as_bytes()).expect("a kernel but those of fans");
                step(*kernel, &params, k, last, kind, pass.blocks, pass.threads, pass.bytes);
            }
        }
    }

    /// Makes steps, all of them recorded; returns the state and the records.
    pub fn advance(&mut self, n_steps: usize, signals: &Signals<'_>) -> (State, Vec<f64>) {
        let recording = self.prepare(n_steps, signals);
        for k in 0..n_steps as u32 {
            self.launch(k, &self.params, |_| true);
            self.launch_ends(k);
            self.params.u.swap(0, 1);
            self.params.du.swap(0, 1);
        }
        self.end(n_steps, recording)
    }

    /// Places signals and room for the records, whose address it returns.
    fn prepare(&mut self, n_steps: usize, signals: &Signals<'_>) -> u64 {
        let table = signals.clone().table(self.step, n_steps + 2);
        let n_recorded = n_steps * self.params.n_monitors as usize * 3;
        // A device clears the records of constraints' forces, which are not all written.
        let is_held = self.passes.iter().any(|pass| matches!(pass.last, Last::Held(_)));
        let unwritten = if is_held { 0.0 } else { f64::NAN };
        let recording = array(&mut self.memory, &vec![unwritten; n_recorded]);
        let rows: Vec<i32> = (0..n_steps as i32).collect();
        self.params.signals = In::from_address(array(&mut self.memory, &table.values));
        self.params.n_signals = table.n_signals as u32;
        self.params.record = In::from_address(array(&mut self.memory, &rows));
        self.params.recording = Out::from_address(recording);
        recording
    }

    /// The state after steps, and the records.
    fn end(&mut self, n_steps: usize, recording: u64) -> (State, Vec<f64>) {
        let n_recorded = n_steps * self.params.n_monitors as usize * 3;
        self.step += n_steps as u64;
        let state =
            |at: Out<T>| self.unknowns.widen(values::<T>(at.address(), self.n_unknowns).into_iter().map(Real::to_f64));
        let energies: Vec<f64> = values(self.params.energies.address(), 2 * self.n_energies);
        let sum = |column: usize| energies.iter().skip(column).step_by(2).sum();
        let state = State {
            step: self.step,
            displacement: state(self.params.u[0]),
            increment: state(self.params.du[0]),
            external_work: sum(0),
            damped_energy: sum(1),
            memory: self.memory_variables(),
        };
        (state, values(recording, n_recorded))
    }

    /// z_l.
    fn memory_variables(&self) -> Vec<f64> {
        let Some(TwinOfViscous { viscous, .. }) = &self.viscous else { return Vec::new() };
        let n = viscous.n_mechanisms as usize * self.n_unknowns;
        values::<T>(viscous.memory.address(), n).into_iter().map(Real::to_f64).collect()
    }

    /// f_int of the state.
    pub fn internal_force(&mut self) -> Vec<f64> {
        let force = array(&mut self.memory, &vec![f64::NAN; self.n_unknowns]);
        let params = Params { force_out: Out::from_address(force), ..self.params };
        self.launch(0, &params, |_| true);
        self.unknowns.widen(values::<f64>(force, self.n_unknowns).into_iter())
    }
}

/// The launches of a step.
fn passes<T: Real>(tables: &Tables<T>, memory: &mut Vec<Vec<u128>>) -> Vec<Pass<T>> {
    let wet = match tables.is_mixed {
        true => Last::Wet(Wet {
            pairs: In::from_address(array(memory, &tables.wet.pairs)),
            first: In::from_address(array(memory, &tables.wet.first)),
            later: In::from_address(array(memory, &tables.wet.later)),
        }),
        false => Last::Nothing,
    };
    let mut passes = Vec::new();
    if !tables.by_colours.is_empty() {
        passes.push(Pass {
            kernel: tables.kernel(),
            blocks: if tables.once { 1 } else { tables.by_colours.len() as u32 },
            threads: if tables.once { THREADS } else { COLOUR_THREADS },
            bytes: if tables.once { tables.rooms() } else { tables.shared[2] },
            list: In::from_address(array(memory, &tables.by_colours)),
            is_early: tables.once,
            last: wet,
        });
    }
    for launch in tables.tiles.iter().flat_map(|tiles| &tiles.launches) {
        passes.push(Pass {
            kernel: format!("march_{}_{}", T::NAME, laws::law_name(launch.law)),
            blocks: launch.tiles.len() as u32,
            threads: THREADS,
            bytes: grids::room(size_of::<T>(), tables.unknowns),
            list: In::from_address(array(memory, &launch.tiles)),
            is_early: launch.is_border,
            last: Last::Material(launch.material, tables.materials[launch.material]),
        });
    }
    for range in tables.act_ranges() {
        passes.push(Pass {
            kernel: format!("act_{}{}", T::NAME, if tables.has_one_unknown() { "_acoustic" } else { "" }),
            blocks: range.n.div_ceil(THREADS),
            threads: THREADS,
            bytes: 0,
            list: In::null(),
            is_early: range.is_border,
            last: Last::Act(range),
        });
    }
    if tables.ground.n_blocks() > 0 {
        let (entries, blocks) = tables.ground.rows();
        let [entries, blocks] = [array(memory, entries), array(memory, blocks)];
        passes.push(Pass {
            kernel: format!("ground_{}", T::NAME),
            blocks: tables.ground.n_blocks(),
            threads: THREADS,
            bytes: 0,
            list: In::null(),
            is_early: false,
            last: Last::Ground(Ground {
                entries: In::from_address(entries),
                blocks: In::from_address(blocks),
                n_numbers: tables.unknowns as u64,
            }),
        });
    }
    let mut correct = |(name, blocks): (&str, u32), last| {
        let kernel = format!("{name}_{}", T::NAME);
        passes.push(Pass { kernel, blocks, threads: THREADS, bytes: 0, list: In::null(), is_early: false, last });
    };
    let ties = tables.ties.as_ref().map(|tables| {
        let mut ties = tables.ties();
        memory.append(&mut tables.plan().place_on_host(&mut ties));
        (tables, Last::Ties(ties))
    });
    if let Some((tables, last)) = ties {
        correct(tables.press(), last);
    }
    for (of_fluids, held) in [false, true].into_iter().zip(&tables.held) {
        if let Some((tables, last)) = ties.filter(|_| of_fluids) {
            correct(tables.follow(), last);
        }
        let Some(tables) = held else { continue };
        let mut held = tables.held();
        memory.append(&mut tables.plan().place_on_host(&mut held));
        for fixes in [0, 1] {
            let kernels = tables.kernels().into_iter();
            kernels.for_each(|kernel| correct(kernel, Last::Held(Held { fixes, ..held })));
        }
    }
    passes
}
