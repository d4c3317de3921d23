//! Speed of the explicit step beside its memory floor.
//!
//! ```text
//! cargo run --release -p pogo-kernels --features bench --example bench_step -- [KIND=CPE3] [NODES=58000] [THREADS=2] [f32|f64] [BLOCK=512]
//! cargo run --release -p pogo-kernels --features bench --example bench_step -- MESH.blk - [THREADS=2] [f32|f64]
//! ```
//!
//! A jittered box of the given kind, or the mesh and blocks of a block file as if all of it were steel, is stepped some
//! hundred times, in repeats. Printed are the median and the best of the repeats, the processor time of a node-step, the
//! bytes that a step must move, the copy bandwidth measured in the same run, and the share of that limit which is reached.
//! For triangles and most solids the time that the instructions of the inner loop need follows, and which of the two limits.

use std::io::Write;
use std::time::Instant;

use pogo_formats::explicit::Explicit;
use pogo_formats::explicit::block::BlocksView;
use pogo_formats::mesh::{ElementKind, ElementLaw, MeshView};
use pogo_formats::physics::BlockFile;
use pogo_kernels::dynamics::{SignalTable, Stepper};
use pogo_kernels::explicit::elements::stable_increment;
use pogo_kernels::explicit::{CpuOptions, CpuStepper};
use pogo_kernels::simd::Real;
use support::{box_blocks, box_mesh, steel};

mod support;

const REPEATS: usize = 301;
/// And so many seconds at most.
const SECONDS: f64 = 8.0;

/// Cycles that Zen 4 needs for an element at the very least (f64, f32), with AVX2 lanes, in the plane with the registers of
/// AVX-512 VL, an isotropic material, and triangles in strips with their edges; none for kinds that have not been counted.
///
/// Counted in the disassembly of the inner loop, a batch or a row of strips: 4 elements in f64, 8 in f32.
///
/// ```text
///                            CPE3         C3D4         C3D8          C3D8R       a cycle
///                          f64   f32    f64   f32    f64   f32    f64    f32
/// multiplications, fused    21    21     93    93    801   801    374    374        2
/// additions                 12    12     55    71    641   729    330    418        2
/// shuffles and the like     10    22     67   115    168   270    157    258        2
/// the three together        43    55    215   279   1610  1800    861   1050        4
/// all instructions          65    91    360   504   3029  3497   1682   2139        6
/// ```
///
/// The width of the front end binds for all. Steps also update nodes and copy records, which is not counted, nor is any
/// wait for data.
fn cycles(kind: ElementKind) -> Option<[f64; 2]> {
    let instructions = match kind.law() {
        ElementLaw::Triangle => [65.0, 91.0],
        ElementLaw::Tetrahedron => [360.0, 504.0],
        ElementLaw::Hexahedron => [3029.0, 3497.0],
        ElementLaw::ReducedHexahedron => [1682.0, 2139.0],
        _ => return None,
    };
    Some([instructions[0] / 6.0 / 4.0, instructions[1] / 6.0 / 8.0])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let threads: usize = argument(2, "2").parse()?;
    let single = argument(3, "f64") == "f32";
    let first = argument(0, "CPE3");
    if first.ends_with(".blk") {
        let file = BlockFile::<Explicit>::open(first.as_ref())?;
        return bench(file.mesh(), file.blocks(), threads, single);
    }
    let kind = ElementKind::from_name(&first).ok_or("unknown element kind")?;
    let nodes: f64 = argument(1, "58000").parse()?;
    let block_nodes: f64 = argument(4, "512").parse()?;
    let d = kind.dimension();
    let cells = nodes.powf(1.0 / d as f64).round() as usize - 1;
    let h = 1e-4;
    let mesh = box_mesh(kind, [cells; 3], h, 0.15);
    let (mesh, blocks) = box_blocks(&mesh, h * block_nodes.powf(1.0 / d as f64).round());
    bench(mesh.view(), blocks.view(), threads, single)
}

/// Measures and prints.
fn bench(mesh: MeshView, blocks: BlocksView, threads: usize, single: bool) -> Result<(), Box<dyn std::error::Error>> {
    let kind = mesh.groups.first().ok_or("no elements")?.kind;
    let (problem, state) = steel(mesh, blocks)?;
    let (before, start) = (processor_seconds(), Instant::now());
    stable_increment(&problem.mesh, &problem.sections, &[], &problem.lumped_mass)?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "stable increment of {} elements: {:.2} s, {:.3} µs CPU each",
        problem.mesh.n_elements(),
        start.elapsed().as_secs_f64(),
        1e6 * (processor_seconds() - before) / problem.mesh.n_elements() as f64
    )?;
    let (n, options) = (problem.mesh.n_nodes(), CpuOptions::new(threads));
    let bandwidth = copy_bandwidth(threads);
    let (memory, spent, elements) = match single {
        true => report(&mut out, kind, CpuStepper::<f32>::new(&problem, &state, options)?, n, threads, bandwidth)?,
        false => report(&mut out, kind, CpuStepper::<f64>::new(&problem, &state, options)?, n, threads, bandwidth)?,
    };
    if let Some(cycles) = cycles(kind) {
        let clock = clock();
        let arithmetic = cycles[usize::from(single)] * elements / clock;
        writeln!(
            out,
            "a node-step of one thread: memory {memory:.2} ns, arithmetic {arithmetic:.2} ns ({elements:.2} elements at \
             {clock:.2} GHz), {} binds, {spent:.2} ns spent: {:.0} % reached",
            if memory > arithmetic { "memory" } else { "arithmetic" },
            100.0 * memory.max(arithmetic) / spent
        )?;
    }
    Ok(())
}

/// Cycles a nanosecond: a chain of instructions of which each waits for the one before; best of several.
fn clock() -> f64 {
    const STEPS: u64 = 20_000_000;
    let mut best = 0.0f64;
    for _ in 0..9 {
        let start = Instant::now();
        let mut sum = std::hint::black_box(1u64);
        let mut i = 0;
        while i < STEPS {
            // Ten cycles: a rotation and an exclusive or take one each, and no compiler makes a sum of them.
            for _ in 0..5 {
                sum = sum.rotate_left(7) ^ i;
            }
            i += 1;
        }
        std::hint::black_box(sum);
        best = best.max((10 * STEPS) as f64 / (start.elapsed().as_secs_f64() * 1e9));
    }
    best
}

/// Prints a line; gives the memory floor and the processor time of a node-step, ns a thread, and the elements computed.
fn report<T: Real>(
    out: &mut impl Write,
    kind: ElementKind,
    mut stepper: CpuStepper<T>,
    n: usize,
    threads: usize,
    bandwidth: f64,
) -> Result<(f64, f64, f64), Box<dyn std::error::Error>> {
    let bytes = stepper.bytes_per_node_step();
    // Several waves over a mesh that does not fit the cache.
    let steps = (500_000 / n).clamp(48, 1000);
    let table = SignalTable { n_signals: 1, values: vec![1e-3; steps + 1] };
    stepper.advance(steps, &table, &[], &mut Vec::new())?;
    let mut seconds = Vec::new();
    let mut processor = Vec::new();
    let all = Instant::now();
    while seconds.len() < REPEATS && all.elapsed().as_secs_f64() < SECONDS {
        let (before, start) = (processor_seconds(), Instant::now());
        stepper.advance(steps, &table, &[], &mut Vec::new())?;
        seconds.push(start.elapsed().as_secs_f64());
        processor.push(processor_seconds() - before);
    }
    seconds.sort_by(f64::total_cmp);
    processor.sort_by(f64::total_cmp);
    let rate = |s: f64| (n * steps) as f64 / s;
    let (median, best) = (rate(seconds[seconds.len() / 2]), rate(seconds[0]));
    let floor = bandwidth / bytes;
    writeln!(
        out,
        "{} {:>8} nodes {} threads {}: median {:.1} best {:.1} M node-steps/s, {:.2} ns CPU a node-step; \
         {bytes:.1} B a node-step, copy {:.1} GB/s, floor {:.0} M/s, reached {:.0} % (best {:.0} %)",
        kind.name(),
        n,
        threads,
        if size_of::<T>() == 4 { "f32" } else { "f64" },
        median / 1e6,
        best / 1e6,
        processor[0] * 1e9 / (n * steps) as f64,
        bandwidth / 1e9,
        floor / 1e6,
        100.0 * median / floor,
        100.0 * best / floor,
    )?;
    Ok((threads as f64 / floor * 1e9, processor[0] * 1e9 / (n * steps) as f64, stepper.elements_per_node_step()))
}

/// Bytes read and written a second by plain copies of arrays far larger than the caches, best of several.
fn copy_bandwidth(threads: usize) -> f64 {
    let n = 16 << 20;
    let mut best = 0.0f64;
    let mut arrays: Vec<(Vec<u64>, Vec<u64>)> = (0..threads).map(|t| (vec![t as u64 + 1; n], vec![0; n])).collect();
    for _ in 0..6 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for (from, to) in &mut arrays {
                scope.spawn(move || to.copy_from_slice(std::hint::black_box(from)));
            }
        });
        best = best.max((threads * n * 16) as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// Processor time of all threads of this process, s (Linux; 0 elsewhere). Not from /proc, which goes by ticks of 4 ms.
fn processor_seconds() -> f64 {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    {
        unsafe extern "C" {
            fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
        }
        const PROCESS_CPUTIME: i32 = 2;
        let mut time = [0; 2];
        // SAFETY: a timespec of this system is two 64-bit integers.
        if unsafe { clock_gettime(PROCESS_CPUTIME, &raw mut time) } == 0 {
            return time[0] as f64 + 1e-9 * time[1] as f64;
        }
    }
    0.0
}
