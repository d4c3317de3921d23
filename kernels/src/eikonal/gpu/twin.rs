//! The kernels of active.cu compiled for the host (host.cuh): one solve by one device, and by several that each have one thread
//! block and run at the same time.

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use super::layout::*;
use super::part::places;
use super::post::{Border, Postman};
use crate::device::layout::{In, Out, Pointer as _};
use crate::device::{DeviceError, Mapped, Plain as _};
use crate::dynamics::Part;
use crate::eikonal::problem::first_time;
use crate::eikonal::products::{Squares, StoredElements};
use crate::eikonal::{EikonalProblem, LocalSolver, cut, edge_time};
use crate::ranks::{Late, Ranks, Threads};

/// Atomic operations and warps, which other kernels on the host have no use for.
const HOST: &str = r#"
#pragma once
#include <cstdlib>
#include <thread>
#include "SOURCES/device/host.cuh"
#define __constant__
#define ATOMIC(NAME, ACT) \
    template <typename N> N NAME(N *at, N value) { \
        N before = __atomic_load_n(at, __ATOMIC_SEQ_CST); \
        while (!__atomic_compare_exchange_n(at, &before, ACT, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {} \
        return before; \
    } \
    template <typename N> N NAME##_system(N *at, N value) { return NAME(at, value); }
ATOMIC(atomicMin, value < before ? value : before)
ATOMIC(atomicAdd, before + value)
ATOMIC(atomicExch, value)
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __trap() { std::abort(); }
inline int __ffs(unsigned bits) { return __builtin_ffs(int(bits)); }
inline long long __double_as_longlong(double value) {
    long long bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
template <typename N> N __shfl_xor_sync(unsigned, N mine, int by) {
    host::said[threadIdx.x] = double(mine);
    __syncthreads();
    const N other = N(host::said[threadIdx.x ^ unsigned(by)]);
    __syncthreads();
    return other;
}
// More devices than cores take turns, and fewer tries take as long.
inline u32 acquire_from_devices(const u32 *at) {
    std::this_thread::yield();
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
inline void release_to_devices(u32 *at, u32 value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
inline void wait_for_host(const u32 *at, u32 calls) {
    while (acquire_from_devices(at) < calls) {}
}
inline u32 acquire_from_blocks(const u32 *at) { return acquire_from_devices(at); }
inline void release_to_blocks(u32 *at, u32 value) { release_to_devices(at, value); }
"#;

/// Compiles the kernels of several devices, or of one, into a library; none without a C++ compiler.
fn compile(of_several: bool) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    std::fs::write(folder.join("host.h"), HOST.replace("SOURCES", sources)).expect("can write");
    let code = format!(
        "#define POGO_ON_HOST \"{}/host.h\"\n\
         #include \"{sources}/eikonal/gpu/active.cu\"\n\
         extern \"C\" __attribute__((visibility(\"default\"))) void solve(const Params *p) {{ host::launch(1, THREADS, 0, [=] {{ active_six_16(*p); }}); }}\n",
        folder.display()
    );
    std::fs::write(folder.join("twin.cpp"), code).expect("can write");
    let mut compiler = header::header().compiler(folder);
    // Else libraries that are loaded side by side have one set of variables of templates.
    compiler.arg("-fvisibility=hidden");
    compiler.args(["-DPOGO_F64", "-O1", "-w", "-shared", "-fPIC", "-o", "twin.so", "twin.cpp"]);
    if of_several {
        compiler.arg("-DPOGO_OF_DEVICES");
    }
    match compiler.current_dir(folder).status() {
        Ok(status) => assert!(status.success(), "the kernels do not compile for the host"),
        Err(_) => {
            pogo_tests::skip("there is no C++ compiler for the kernels");
            return None;
        }
    }
    Some(std::fs::read(folder.join("twin.so")).expect("compiled"))
}

/// What lies on a device.
#[derive(Default)]
struct Memory(Vec<Vec<u128>>);

impl Memory {
    fn array<N: Copy>(&mut self, values: &[N]) -> u64 {
        let mut array = vec![0_u128; size_of_val(values).div_ceil(16) + 1];
        // SAFETY: as long as what is copied.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), array.as_mut_ptr().cast(), size_of_val(values))
        };
        self.0.push(array);
        self.0[self.0.len() - 1].as_ptr() as u64
    }
}

/// The memory of one device, and what its kernel gets.
struct Device {
    memory: Memory,
    params: TeamParams<f64>,
    gathered: u64,
    arrived: u64,
    work: u64,
}

impl Device {
    fn new(problem: &EikonalProblem, starts: &[(u32, f64)], place: &[u32], n_devices: usize) -> Self {
        let (mut memory, mesh, n) = (Memory::default(), &problem.mesh, problem.mesh.n_nodes());
        let shift = n.next_power_of_two().trailing_zeros();
        let StoredElements::Six(Squares(numbers)) = StoredElements::<f64>::new(problem, LocalSolver::Six) else {
            unreachable!("tetrahedra")
        };
        let first = first_time(starts, n).expect("starts");
        let starts: Vec<[u64; 2]> =
            starts.iter().map(|&(node, time)| [u64::from(node), (time - first).to_bits()]).collect();
        let work = memory.array(&[0_u64; 2]);
        let sweep = SweepParams {
            stored: Stored {
                nodes: In::from_address(memory.array(mesh.elements)),
                numbers: In::from_address(memory.array(numbers.as_flattened())),
                point: In::null(),
            },
            incident_first: In::from_address(memory.array(mesh.incident_first)),
            incident: In::from_address(memory.array(mesh.incident)),
            record: [0, 1].map(|_| Out::from_address(memory.array(&vec![u64::MAX; 2 << shift]))),
            list: [0, 1].map(|_| Out::from_address(memory.array(&vec![0_u32; 1 << shift]))),
            counters: Out::from_address(memory.array(&[0_u32; 8])),
            earliest: Out::from_address(memory.array(&[f64::INFINITY; 6])),
            work: Out::from_address(work),
            starts: In::from_address(memory.array(&starts)),
            time: Out::from_address(memory.array(&vec![f64::NAN; n])),
            n_starts: starts.len() as u32,
            shift,
            n_nodes: n as u32,
            n_sets: 1,
            window: 4.0 * edge_time(problem),
            keep: 1.0,
            most_sweeps: 1 << 20,
            ..SweepParams::zeroed()
        };
        let place = In::from_address(memory.array(place));
        let meeting = Meeting { place, n_devices: n_devices as u32, ..Meeting::zeroed() };
        let gathered = memory.array(&vec![0_u64; 8 * n_devices]);
        let arrived = memory.array(&vec![0_u32; n_devices]);
        Self { memory, params: TeamParams { sweep, meeting, post: Post::zeroed() }, gathered, arrived, work }
    }

    /// Runs a copy of the library at `path`, which nobody else has loaded.
    fn run(params: &TeamParams<f64>, library: &[u8], path: &Path) {
        std::fs::write(path, library).expect("can write");
        // SAFETY: compiled just now, with the structures of `layout.rs`; `solve` is defined in `compile`.
        unsafe {
            let library = libloading::Library::new(path).expect("loads");
            let solve: libloading::Symbol<unsafe extern "C" fn(*const c_void)> =
                library.get(b"solve\0").expect("defined in `compile`");
            solve(std::ptr::from_ref(params).cast());
        }
    }

    /// Times, and local solves.
    fn found(&self) -> (Vec<f64>, u64) {
        let n = self.params.sweep.n_nodes as usize;
        // SAFETY: the arrays of this device.
        unsafe {
            let time = std::slice::from_raw_parts(self.params.sweep.time.address() as *const f64, n);
            (time.to_vec(), *(self.work as *const u64))
        }
    }
}

/// Solves with a copy of the library for each device at the same time. Returns the times of own nodes and the local solves of all.
fn solve(library: &[u8], problem: &EikonalProblem, starts: &[(u32, f64)], domain: &[u32], n: usize) -> (Vec<f64>, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let first: Vec<u32> = (0..=domain.len() as u32).collect();
    let domains = cut(&problem.mesh, &first, domain, n);
    let place = places(&domains.view(), n, domain.len());
    let mut devices: Vec<Device> = (0..n).map(|_| Device::new(problem, starts, &place, n)).collect();
    let params: Vec<TeamParams<f64>> = devices.iter().map(|device| device.params).collect();
    let meetings: Vec<[u64; 2]> = devices.iter().map(|device| [device.gathered, device.arrived]).collect();
    for (me, device) in devices.iter_mut().enumerate() {
        let meeting = &mut device.params.meeting;
        meeting.me = me as u32;
        for (other, (params, [gathered, arrived])) in params.iter().zip(&meetings).enumerate() {
            meeting.record[other] = params.sweep.record;
            meeting.list[other] = params.sweep.list;
            meeting.counters[other] = params.sweep.counters;
            meeting.gathered[other] = Out::from_address(*gathered);
            meeting.arrived[other] = Out::from_address(*arrived);
        }
    }
    std::thread::scope(|scope| {
        for (me, device) in devices.iter().enumerate() {
            // A library that is loaded twice from one file has its variables once.
            let (path, params) = (folder.path().join(format!("device-{me}.so")), device.params);
            scope.spawn(move || Device::run(&params, library, &path));
        }
    });
    let found: Vec<(Vec<f64>, u64)> = devices.iter().map(Device::found).collect();
    let mut time = vec![f64::NAN; domain.len()];
    for (me, (of_device, _)) in found.iter().enumerate() {
        Part::of(&domains.view(), me).own().for_each(|node| time[node] = of_device[node]);
    }
    (time, found.iter().map(|(_, solves)| solves).sum())
}

impl Mapped for Memory {
    fn zeros(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        Ok(self.array(&vec![0_u8; bytes]))
    }
}

/// As [`solve`], by devices that exchange messages, some of which come late.
fn solve_by_messages(
    library: &[u8],
    problem: &EikonalProblem,
    starts: &[(u32, f64)],
    domain: &[u32],
    n: usize,
) -> (Vec<f64>, u64) {
    let (folder, n_nodes) = (tempfile::tempdir().expect("a folder"), domain.len());
    let first: Vec<u32> = (0..=n_nodes as u32).collect();
    let domains = cut(&problem.mesh, &first, domain, n);
    let view = domains.view();
    let of_rank = |ranks: Threads| {
        let ranks: Arc<dyn Ranks> = Arc::new(Late::new(ranks));
        let (me, part) = (ranks.rank(), Part::of(&view, ranks.rank()));
        let border = Border::of(&view, me, n, n_nodes);
        let mut device = Device::new(problem, starts, &border.places(&part, n_nodes), 2);
        let memory = &mut device.memory;
        let own = [border.len(), 1, n_nodes.next_power_of_two()].map(|len| memory.array(&vec![0_u32; len]));
        let mut postman = Postman::<f64>::new(&ranks, border, own, memory).expect("fits");
        device.params.post = postman.post();
        let (path, params) = (folder.path().join(format!("device-{me}.so")), device.params);
        std::thread::scope(|scope| {
            let kernel = scope.spawn(move || Device::run(&params, library, &path));
            postman.serve(&mut || Ok(kernel.is_finished())).expect("no rank fails");
        });
        let (time, solves) = device.found();
        (part.own().map(|node| (node, time[node])).collect::<Vec<_>>(), solves)
    };
    let mut time = vec![f64::NAN; n_nodes];
    let mut solves = 0;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = Threads::new(n).into_iter().map(|ranks| scope.spawn(|| of_rank(ranks))).collect();
        for rank in ranks {
            let (own, of_rank) = rank.join().expect("no panic");
            own.into_iter().for_each(|(node, of_node)| time[node] = of_node);
            solves += of_rank;
        }
    });
    (time, solves)
}

#[test]
fn several_devices_on_the_host_make_the_sweeps_of_one() {
    use crate::eikonal::BLOCKED;
    use crate::eikonal::tests::{patchwork, problem};
    let (mesh, mut metrics) = patchwork(9);
    (0..metrics.len()).filter(|e| e % 7 == 3).for_each(|e| metrics[e] = BLOCKED);
    let n = mesh.original_node.len();
    let problem = problem(&mesh, &metrics);
    let (Some(of_one), Some(of_several)) = (compile(false), compile(true)) else { return };
    for starts in
        [vec![(3, 0.4), (n as u32 - 1, 0.1), (500, 0.1)], (0..n as u32).step_by(97).map(|i| (i, 0.01)).collect()]
    {
        let one = solve(&of_one, &problem, &starts, &vec![0; n], 1);
        for n_devices in [2, 3] {
            let rules: [fn(usize, usize, usize) -> usize; 3] = [
                |node, n, devices| node * devices / n,
                |node, _, devices| node % devices,
                |node, _, devices| if node < devices { node } else { devices - 1 },
            ];
            for (name, rule) in ["consecutive", "in turn", "one node"].into_iter().zip(rules) {
                let domain: Vec<u32> = (0..n).map(|node| rule(node, n, n_devices) as u32).collect();
                let several = solve(&of_several, &problem, &starts, &domain, n_devices);
                assert!(several.0 == one.0, "{n_devices} devices, {name}: times differ");
                assert_eq!(several.1, one.1, "{n_devices} devices, {name}: local solves");
                let by_messages = solve_by_messages(&of_several, &problem, &starts, &domain, n_devices);
                assert!(by_messages == one, "{n_devices} devices by messages, {name}: times or local solves differ");
            }
        }
    }
}
