//! levels.cuh compiled for the host, beside the cycle of the CPU.

use std::sync::Arc;

use pogo_formats::voxel::bricks_of;

use super::super::super::elements::Elements;
use super::super::super::multigrid::{Cell, Host};
use super::super::super::tests::random;
use super::super::super::{Cube, CycleSettings, Lame, Ratios};
use super::super::post::{List, Postman};
use super::super::tiles::Tiles;
use super::*;
use crate::device::Mapped;
use crate::ranks::{Late, Ranks, Rounds, Threads};
use crate::simd::Real;

/// Levels with the spectra that the device is to find.
const HOST: Host = Host::Device { finds_spectra: false };

/// Memory of the host.
#[derive(Default)]
struct HostMemory(Vec<Vec<u128>>);

impl Mapped for HostMemory {
    fn zeros(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        self.zeros_own::<u8>(bytes, &[], &[])
    }
}

/// Memory of a part that does not know what belongs to others: vectors have no numbers before they are written, and tables of which
/// it needs its own values have no others.
struct PartMemory {
    memory: HostMemory,
    part: usize,
}

impl Memory for PartMemory {
    fn put_cut<T: Plain>(&mut self, values: &[T], _: &[usize]) -> Result<u64, DeviceError> {
        self.memory.put(values)
    }

    fn put_own<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError> {
        if cuts.is_empty() {
            return self.memory.put(values);
        }
        let ends: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([values.len()]).collect();
        let (first, end) = (ends[self.part], ends[self.part + 1]);
        let address = self.zeros_own::<T>(values.len(), cuts, &[])?;
        // SAFETY: made just now, as long as all values.
        unsafe { std::ptr::copy_nonoverlapping(values[first..].as_ptr(), (address as *mut T).add(first), end - first) };
        Ok(address)
    }

    fn zeros_own<T: Plain>(&mut self, len: usize, _: &[usize], _: &[Range<usize>]) -> Result<u64, DeviceError> {
        let address = self.memory.zeros_own::<T>(len, &[], &[])?;
        // SAFETY: made just now. All bits of a number set are no number.
        unsafe { std::ptr::write_bytes(address as *mut T, 0xff, len) };
        Ok(address)
    }
}

impl Memory for HostMemory {
    fn put_cut<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError> {
        let address = self.zeros_own::<T>(values.len(), cuts, &[])?;
        // SAFETY: made just now, as long as is copied.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), address as *mut T, values.len()) };
        Ok(address)
    }

    fn put_own<T: Plain>(&mut self, values: &[T], cuts: &[usize]) -> Result<u64, DeviceError> {
        self.put_cut(values, cuts)
    }

    fn zeros_own<T: Plain>(&mut self, len: usize, cuts: &[usize], _: &[Range<usize>]) -> Result<u64, DeviceError> {
        assert!(cuts.is_sorted() && cuts.iter().all(|&cut| cut <= len), "{cuts:?} of {len}");
        self.0.push(vec![0; (len * size_of::<T>()).div_ceil(16) + 1]);
        Ok(self.0.last().expect("just pushed").as_ptr() as u64)
    }
}

/// levels.cuh compiled for the host, with one thread for each device.
struct Twin {
    library: Arc<libloading::Library>,
    sharing: Sharing,
}

impl Twin {
    /// One for each number of parts and least number of nodes that they share, for elements of one Poisson's ratio, or of several
    /// (`ratios`). A library has a matrix of its own, so that tests do not share them.
    fn all(sharings: &[(usize, usize)], ratios: bool) -> Option<Vec<Self>> {
        let mut libraries = [None, None];
        let twin = |&(n_parts, least): &(usize, usize)| {
            let library = &mut libraries[usize::from(n_parts > 1)];
            if library.is_none() {
                *library = Some(Arc::new(compile(n_parts > 1, ratios)?));
            }
            Some(Self { library: library.clone()?, sharing: Sharing { n_parts, least } })
        };
        sharings.iter().map(twin).collect()
    }
}

/// levels.cuh for one device or for several.
fn compile(several: bool, ratios: bool) -> Option<libloading::Library> {
    let folder = tempfile::tempdir().expect("can make a folder");
    let folder = folder.path();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/voxel/gpu/levels.cuh");
    let devices = if several { "#define POGO_DEVICES\n" } else { "" };
    let ratios = if ratios { "#define POGO_RATIOS\n" } else { "" };
    let code = format!(
        "{devices}{ratios}#include \"{source}\"\n#include <cstring>\n#include <thread>\n#include <vector>\n\
             template <class Act> void each(const Tables* tables, int n, Act act) {{ std::vector<std::thread> all; \
             for (int i = 0; i < n; i++) all.emplace_back([=] {{ Grid g(tables[i]); act(g, tables[i]); }}); \
             for (auto& thread : all) thread.join(); }}\n\
             extern \"C\" void twin(const Tables* tables, int n, const float* cell) {{ \
             std::memcpy(CELL, cell, sizeof CELL); \
             each(tables, n, [](Grid& g, const Tables& t) {{ correct(g, t); }}); \
             each(tables, n, [](Grid& g, const Tables& t) {{ prolong_first(g, t); }}); \
             each(tables, 1, [](Grid& g, const Tables& t) {{ clear_fixed(g, t); }}); }}\n\
             extern \"C\" void one(const Tables* tables, int what, const float* cell) {{ \
             std::memcpy(CELL, cell, sizeof CELL); Grid g(*tables); \
             what == 0 ? correct(g, *tables) : what == 1 ? prolong_first(g, *tables) : clear_fixed(g, *tables); }}\n\
             extern \"C\" void steps(Tables* tables, const float* cell) {{ std::memcpy(CELL, cell, sizeof CELL); \
             Grid g(*tables); find_steps(g, *tables, tables); }}\n\
             extern \"C\" unsigned long long bytes() {{ return sizeof(Tables); }}\n"
    );
    std::fs::write(folder.join("twin.cpp"), code).expect("can write");
    let mut compiler = super::super::layout::header::header().compiler(folder);
    compiler.args(["-O1", "-w", "-shared", "-fPIC", "-pthread", "-o", "twin.so", "twin.cpp"]);
    match compiler.current_dir(folder).status() {
        Ok(status) => assert!(status.success(), "levels.cuh does not compile for the host"),
        Err(_) => {
            pogo_tests::skip("there is no C++ compiler for the twin of levels.cuh");
            return None;
        }
    }
    // SAFETY: compiled just now; it has no initialisers.
    let library = unsafe { libloading::Library::new(folder.join("twin.so")) }.expect("loads");
    // SAFETY: declared above.
    let size = unsafe { library.get::<unsafe extern "C" fn() -> u64>(b"bytes\0").expect("defined above")() };
    assert_eq!(size, size_of::<Tables>() as u64);
    Some(library)
}

impl Twin {
    /// z of a correction for r, and its work.
    fn correct(&self, coarse: &Coarse, voxels: &Voxels, fixed: &[u32], r: &[f32]) -> (Vec<f32>, f64) {
        let view = &voxels.bricks;
        let n = padded(view.n_nodes());
        let tiles = Tiles::new(view, fixed);
        let mut memory = HostMemory::default();
        let places = || {
            let dofs = tiles.order.iter().flat_map(|&node| [3 * node, 3 * node + 1, 3 * node + 2]);
            dofs.map(|dof| dof as usize)
        };
        let mut moved = vec![f32::NAN; n];
        places().zip(r).for_each(|(to, &r)| moved[to] = r);
        let t = memory.put(&moved).expect("fits");
        let lent = memory.put(&vec![f32::NAN; n]).expect("fits");
        let lent = Lent { z: lent, t, bytes: 4 * n as u64 };
        // Several devices have vectors of their own.
        let lent = if self.sharing.n_parts > 1 { Lent::default() } else { lent };
        let shares = tiles.shares(self.sharing.n_parts);
        let order = Order::new(coarse, self.sharing, &part_by_place(shares.firsts(), &tiles.order));
        let (mut tables, _) = tables(view, coarse, lent, &order, None, &mut memory).expect("fits");
        let put = put_moduli(voxels, false, self.sharing.n_parts, &mut memory).expect("fits");
        let z = memory.zeros_own::<f32>(n, &[], &[]).expect("fits");
        let planes = memory.put(&tiles.planes).expect("fits");
        let firsts = memory.put(&tiles.firsts()).expect("fits");
        let fixed: Vec<u32> = fixed.iter().map(|dof| 3 * tiles.order[*dof as usize / 3] + dof % 3).collect();
        let fixed = (memory.put(&fixed).expect("fits"), fixed.len() as u32);
        let work = memory.zeros_own::<f64>(self.sharing.n_parts, &[], &[]).expect("fits");
        for (device, tables) in tables.iter_mut().enumerate() {
            put.enter(tables);
            (tables.fine_residual, tables.fine_z) = (at(t), Out::<f32>::from_address(z));
            (tables.planes, tables.tiles, tables.n_tiles) = (at(planes), at(firsts), tiles.n_tiles[0] as u32);
            (tables.fixed, tables.n_fixed) = (at(fixed.0), fixed.1);
            tables.work = Out::<f64>::from_address(work + 8 * device as u64);
        }
        self.enter_peers(&tiles, &mut tables, &mut memory);
        if let [tables] = &mut tables[..] {
            self.check_steps(coarse, tables);
            // Vectors of the levels lie where the residual was.
            // SAFETY: as long as it was made.
            unsafe { std::ptr::copy_nonoverlapping(moved.as_ptr(), t as *mut f32, n) };
        }
        // SAFETY: declared above; addresses of this process, of arrays as long as the tables say.
        unsafe {
            let run: libloading::Symbol<unsafe extern "C" fn(*const Tables, i32, *const f32)> =
                self.library.get(b"twin\0").expect("defined above");
            run(tables.as_ptr(), tables.len() as i32, coarse.cells().as_ptr());
        }
        // SAFETY: as long as was asked for.
        let found = unsafe { std::slice::from_raw_parts(z as *const f32, n) };
        // SAFETY: one number.
        let work = unsafe { *(work as *const f64) };
        (places().map(|at| found[at]).collect(), work)
    }
}

impl Twin {
    /// The device finds the steps that the host has found.
    fn check_steps(&self, coarse: &Coarse, tables: &mut Tables) {
        let smoothed = coarse.levels.len() - usize::from(coarse.is_factorised());
        let given: Vec<f32> = tables.levels[..smoothed].iter().map(|level| level.step).collect();
        tables.levels.iter_mut().for_each(|level| level.step = f32::NAN);
        // SAFETY: declared in `new`; addresses of this process, of arrays as long as the tables say.
        unsafe {
            let run: libloading::Symbol<unsafe extern "C" fn(*mut Tables, *const f32)> =
                self.library.get(b"steps\0").expect("defined in `new`");
            run(tables, coarse.cells().as_ptr());
        }
        for (level, given) in tables.levels.iter().zip(given) {
            // Blocks of assembled levels are rounded to 16 bits.
            assert!((level.step / given - 1.0).abs() < 1e-3, "{} {given}", level.step);
        }
        // SAFETY: one number.
        unsafe { *(tables.work.address() as *mut f64) = 0.0 };
    }

    /// What devices tell each other: each has one thread block.
    fn enter_peers(&self, tiles: &Tiles, tables: &mut [Tables], memory: &mut HostMemory) {
        let n = self.sharing.n_parts;
        let shares = tiles.shares(n);
        let mut zeros = |len: usize| (0..n).map(|_| memory.zeros_own::<f64>(len, &[], &[]).expect("fits")).collect();
        let (partial, met): (Vec<u64>, Vec<u64>) = (zeros(6 * n), zeros(n));
        for (device, tables) in tables.iter_mut().enumerate() {
            let (nodes, tiles) = tiles.nodes_of(shares.planes(device));
            let peers = &mut tables.peers;
            for other in 0..n {
                peers.partial[other] = Out::<f64>::from_address(partial[other]);
                peers.met[other] = Out::<u32>::from_address(met[other]);
            }
            (peers.n_blocks, peers.first_block) = (n as u32, device as u32);
            (peers.node_first, peers.node_end) = (nodes.start, nodes.end);
            [peers.tile_first, peers.tile_last] = tiles;
        }
    }
}

impl Twin {
    /// z of a correction for r by ranks that exchange messages, some of which come late if asked for, in the memory of each of which there
    /// is only what it computes or is sent.
    fn correct_by_messages(
        &self,
        coarse: &Coarse,
        voxels: &Voxels,
        fixed: &[u32],
        (r, late): (&[f32], bool),
    ) -> Vec<f32> {
        let view = &voxels.bricks;
        let n = padded(view.n_nodes());
        let tiles = Tiles::new(view, fixed);
        let n_parts = self.sharing.n_parts;
        let shares = tiles.shares(n_parts);
        let part_of = part_by_place(shares.firsts(), &tiles.order);
        let order = Order::new(coarse, self.sharing, &part_of);
        // Level 1 has its values where each rank has them, for the others.
        let values = std::sync::Mutex::new(vec![0.0_f32; coarse.levels[0].n]);
        let meet = std::sync::Barrier::new(n_parts);
        let rank = |ranks: Arc<dyn Ranks>| {
            let me = ranks.rank();
            let mut memory = PartMemory { memory: HostMemory::default(), part: me };
            let (all, wanted) =
                tables(view, coarse, Lent::default(), &order, Some((me, &part_of)), &mut memory).expect("fits");
            let mut tables = all[me];
            put_moduli(voxels, false, 1, &mut memory).expect("fits").enter(&mut tables);
            let own = |node: usize| part_of(node) == me;
            let is_known = |node: usize| own(node) || wanted.finest.binary_search(&(node as u32)).is_ok();
            let mut t = vec![f32::NAN; n];
            let mut z = vec![f32::NAN; n];
            for (node, &place) in tiles.order.iter().enumerate() {
                let (from, to) = (3 * node..3 * node + 3, 3 * place as usize..3 * place as usize + 3);
                if is_known(node) {
                    t[to.clone()].copy_from_slice(&r[from]);
                }
                if own(node) {
                    z[to].fill(0.0);
                }
            }
            (tables.fine_residual, tables.fine_z) =
                (at(t.as_ptr() as u64), Out::<f32>::from_address(z.as_mut_ptr() as u64));
            let firsts = memory.put(&tiles.firsts()).expect("fits");
            (tables.planes, tables.tiles) = (at(memory.put(&tiles.planes).expect("fits")), at(firsts));
            tables.n_tiles = tiles.n_tiles[0] as u32;
            let fixed = fixed.iter().filter(|&&dof| own(dof as usize / 3));
            let fixed: Vec<u32> = fixed.map(|dof| 3 * tiles.order[*dof as usize / 3] + dof % 3).collect();
            (tables.fixed, tables.n_fixed) = (at(memory.put(&fixed).expect("fits")), fixed.len() as u32);
            tables.work = Out::<f64>::from_address(memory.memory.zeros(8).expect("fits"));
            let peers = &mut tables.peers;
            peers.partial[0] = Out::<f64>::from_address(memory.memory.zeros(8 * 6 * n_parts).expect("fits"));
            (peers.n_blocks, peers.first_block) = (n_parts as u32, me as u32);
            let (nodes, of_tiles) = tiles.nodes_of(shares.planes(me));
            (peers.node_first, peers.node_end) = (nodes.start, nodes.end);
            [peers.tile_first, peers.tile_last] = of_tiles;
            let places: Vec<&[u32]> = wanted.places.iter().map(Vec::as_slice).collect();
            let firsts: Vec<Vec<usize>> = (0..places.len()).map(|list| order.firsts(list / N_LISTS as usize)).collect();
            let firsts: Vec<&[usize]> = firsts.iter().map(Vec::as_slice).collect();
            let lists = List::agree(&ranks, &places, &firsts);
            let most = lists.iter().map(List::most_received).max().unwrap_or(0);
            let rounds = Rounds::new(&ranks, [12 * most, 24]);
            let mut mapped = HostMemory::default();
            let blocks = (0..=n_parts).collect();
            let postman = Postman::new(lists, blocks, me, &mut memory, &mut mapped).expect("fits");
            tables.peers.post = postman.post();
            let (address, cells) = (&raw const tables as u64, coarse.cells());
            // SAFETY: defined in `new`; addresses of this process, of arrays as long as the tables say.
            let run = |what: i32| unsafe {
                let one: libloading::Symbol<unsafe extern "C" fn(*const Tables, i32, *const f32)> =
                    self.library.get(b"one\0").expect("defined in `new`");
                one(address as *const Tables, what, cells.as_ptr());
            };
            std::thread::scope(|scope| {
                let kernel = scope.spawn(|| run(0));
                postman.serve(&rounds, &mut || Ok(kernel.is_finished())).expect("no rank fails");
            });
            let level = &tables.levels[0];
            let vector = if level.steps > 1 { level.solution } else { level.z };
            // SAFETY: as long as it was made; no kernel runs.
            let vector = unsafe { std::slice::from_raw_parts_mut(vector.address() as *mut f32, coarse.levels[0].n) };
            let numbers = |place: usize| 3 * place..3 * place + 3;
            for place in order.own(me, 0) {
                values.lock().expect("no panic")[numbers(place)].copy_from_slice(&vector[numbers(place)]);
            }
            meet.wait();
            for &place in &wanted.places[IN_PROLONGATION as usize] {
                let place = numbers(place as usize);
                vector[place.clone()].copy_from_slice(&values.lock().expect("no panic")[place]);
            }
            run(1);
            run(2);
            let found = tiles.order.iter().enumerate().filter(|&(node, _)| own(node));
            found.map(|(node, &place)| (node, z[numbers(place as usize)].to_vec())).collect::<Vec<_>>()
        };
        let mut out = vec![f32::NAN; 3 * view.n_nodes()];
        std::thread::scope(|scope| {
            let start = |ranks: Threads| {
                let ranks: Arc<dyn Ranks> = if late { Arc::new(Late::new(ranks)) } else { Arc::new(ranks) };
                scope.spawn(|| rank(ranks))
            };
            let ranks: Vec<_> = Threads::new(n_parts).into_iter().map(start).collect();
            for (node, z) in ranks.into_iter().flat_map(|rank| rank.join().expect("no panic")) {
                out[3 * node..3 * node + 3].copy_from_slice(&z);
            }
        });
        out
    }
}

/// ‖a − b‖ / ‖b‖.
fn apart<T: Real>(a: &[f32], b: &[T]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - b.to_f64()));
    difference / norm(&mut b.iter().map(|b| b.to_f64()))
}

#[test]
fn the_correction_on_a_device_is_that_of_the_cpu() {
    let Some(twins) = Twin::all(&[(1, 0)], false) else { return };
    check_corrections(&twins, Ratios::One(0.3));
}

#[test]
fn corrections_of_several_ratios_are_those_of_the_cpu() {
    let Some(twins) = Twin::all(&[(1, 0), (2, 0), (3, 1000)], true) else { return };
    for pair in [[0.0, 0.45], [0.3, -0.3]] {
        check_corrections(&twins, Ratios::Classes(&pair.map(Lame::new)));
    }
}

#[test]
fn entries_that_kernels_leave_out_are_zero() {
    // `meets` in levels.cuh.
    let meets = |part: usize, v: usize, a: usize, w: usize, b: usize| match part {
        0 => v >> a & w >> b & 1 == 1,
        _ if a == b => v & w != 0,
        _ => v >> b & w >> a & 1 == 1,
    };
    for (part, lame) in [[1.0, 0.0], [0.0, 1.0]].into_iter().enumerate() {
        let cell = Cell::<f64>::new(&Cube::of_lame(lame));
        let (mut left_out, mut largest) = (0.0_f64, 0.0_f64);
        for (i, row) in cell.c.iter().enumerate() {
            for (j, entry) in row.iter().enumerate() {
                let size = if meets(part, i / 3, i % 3, j / 3, j % 3) { &mut largest } else { &mut left_out };
                *size = size.max(entry.abs());
            }
        }
        assert!(left_out < 1e-16 * largest, "part {part}: {left_out} {largest}");
    }
}

#[test]
fn the_correction_on_several_devices_is_that_of_the_cpu() {
    let Some(twins) = Twin::all(&[(2, 0), (2, 300), (3, 0), (3, 1000), (2, 1 << 30)], false) else { return };
    check_corrections(&twins, Ratios::One(0.3));
}

/// Corrections of some samples by levels.cuh beside those of the CPU.
fn check_corrections(twins: &[Twin], ratios: Ratios) {
    // Thin floors on pillars: no part is loose.
    let bricks = bricks_of([45, 33, 41], |[x, y, z]| z % 5 == 0 || (x % 4 < 2 && y % 5 == 1));
    let view = bricks.view();
    let n_nodes = view.n_nodes();
    let class: Vec<u8> = (0..view.n_elements()).map(|e| u8::from(random(e as u64) < 0.5)).collect();
    let young = [10.0, 30.0];
    let moduli = Moduli::Classes { class: &class, young: &young };
    let voxels = Voxels { bricks: view, moduli, ratios, spacing: 0.1 };
    let cubes = voxels.cubes();
    let stiffness = |e: usize, part: usize| voxels.stiffness(e, part);
    let positions: Vec<[u32; 3]> = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).collect();
    let mask: Vec<u8> = positions.iter().map(|p| if p[2] == 0 { 7 } else { u8::from(p[0] == 0) }).collect();
    let fixed: Vec<u32> = (0..3 * n_nodes as u32).filter(|&dof| mask[dof as usize / 3] >> (dof % 3) & 1 == 1).collect();
    let mut r: Vec<f32> = (0..3 * n_nodes).map(|i| random(i as u64 + 5) as f32 - 0.3).collect();
    fixed.iter().for_each(|&dof| r[dof as usize] = 0.0);
    let usual = CycleSettings { bottom: 200, ..CycleSettings::default() };
    for settings in [
        usual.clone(),
        CycleSettings { inner: vec![1], ..usual.clone() },
        CycleSettings { degree: [1, 1], ..usual.clone() },
        CycleSettings { degree: [3, 3], inner_tolerance: 1e-3, ..usual.clone() },
    ] {
        let elements = Elements::of_bricks(&view);
        let mut coarse = Coarse::new(&cubes, elements, &mask, &stiffness, &settings, HOST, None);
        coarse.make_matrices(&stiffness);
        let mut expected = vec![0.0_f32; 3 * n_nodes];
        coarse.correct(&mut r.clone(), &mut expected, Default::default(), &stiffness);
        fixed.iter().for_each(|&dof| expected[dof as usize] = 0.0);
        let mut first = None;
        for twin in twins {
            let (found, work) = twin.correct(&coarse, &voxels, &fixed, &r);
            if twin.sharing.n_parts > 1 {
                let late = settings == usual;
                let by_messages = twin.correct_by_messages(&coarse, &voxels, &fixed, (&r, late));
                assert!(by_messages == found, "{settings:?}, {:?}: {}", twin.sharing, apart(&by_messages, &found));
            }
            let error = apart(&found, &expected);
            let from_first = apart(&found, first.get_or_insert(found.clone()));
            eprintln!(
                "{} levels, {n_nodes} nodes, {:?}: difference {error:.1e}, from the first {from_first:.1e}",
                coarse.levels.len(),
                twin.sharing
            );
            assert!((work - coarse.products).abs() < 0.1 * work, "{work} {}", coarse.products);
            // Blocks of assembled levels are rounded to 16 bits.
            assert!(error < 1e-3 && expected.iter().any(|&v| v != 0.0), "{settings:?}: {error}");
            // Sums of several devices have another order.
            assert!(from_first < 1e-5, "{settings:?}, {:?}: {from_first}", twin.sharing);
        }
    }
}

#[test]
fn slow_motions_of_long_samples_are_corrected() {
    // A bar held at both ends gives way in its middle far more than anything short: what is there moves nearly as a whole.
    let Some(twin) = Twin::all(&[(1, 0)], false).map(|mut twins| twins.remove(0)) else { return };
    let length = 1000;
    let bricks = bricks_of([9, 9, length], |_| true);
    let view = bricks.view();
    let cubes = &[Cube::new(0.3)];
    let class = vec![0; view.n_elements()];
    let moduli = Moduli::Classes { class: &class, young: &[1.0] };
    let positions = || (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
    let mask: Vec<u8> = positions().map(|p| if p[2] % length == 0 { 7 } else { 0 }).collect();
    let fixed: Vec<u32> =
        (0..3 * mask.len() as u32).filter(|&dof| mask[dof as usize / 3] >> (dof % 3) & 1 == 1).collect();
    let r: Vec<f32> = (0..3 * mask.len()).map(|i| if i % 3 == 2 && mask[i / 3] == 0 { 1.0 } else { 0.0 }).collect();
    let mut wide: Vec<f64> = r.iter().map(|&r| r.into()).collect();
    let settings = CycleSettings { bottom: 200, ..CycleSettings::default() };
    let mut coarse = Coarse::<f32>::new(cubes, Elements::of_bricks(&view), &mask, &|_, _| 1.0, &settings, HOST, None);
    coarse.make_matrices(&|_, _| 1.0);
    let voxels = Voxels { bricks: view, moduli, ratios: Ratios::One(0.3), spacing: 1.0 };
    let (found, _) = twin.correct(&coarse, &voxels, &fixed, &r);
    let mut coarse = Coarse::<f64>::new(cubes, Elements::of_bricks(&view), &mask, &|_, _| 1.0, &settings, HOST, None);
    let mut expected = vec![0.0_f64; r.len()];
    coarse.correct(&mut wide, &mut expected, Default::default(), &|_, _| 1.0);
    fixed.iter().for_each(|&dof| expected[dof as usize] = 0.0);
    let error = apart(&found, &expected);
    eprintln!("a bar of {length}: difference {error:.1e}");
    // Blocks that act on displacements lose such a motion altogether.
    assert!(error < 0.1, "{error}");
}
