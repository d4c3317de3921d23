//! Speed of the explicit step on a CUDA device beside its copy bandwidth.
//!
//! ```text
//! cargo run --release -p pogo-kernels --features bench --example bench_gpu -- [KIND] [NODES] [f32|f64] [BLOCK NODES] [JITTER] [grids|blocks] [SHOTS]
//! ```
//!
//! A box of the given kind (KIND may be a list, as may all but the last), its nodes moved by up to JITTER of their
//! distance, is partitioned, arranged and stepped; one line each: node-steps a second (median of repeats), the bytes that a
//! step must move, bytes a second and their share of the copy bandwidth, registers, blocks a multiprocessor. With `blocks` solids go
//! by blocks, as those of meshes without grids do. With SHOTS, so many runs that differ in what acts are stepped together, too.

use std::io::Write;
use std::time::Instant;

use pogo_formats::mesh::ElementKind;
use pogo_kernels::device::copy_bandwidth;
use pogo_kernels::dynamics::signals::{Signal, Signals};
use pogo_kernels::dynamics::{SignalTable, State, Stepper};
use pogo_kernels::explicit::{GpuOptions, GpuReport, GpuShots, GpuStepper, Problem};
use pogo_kernels::simd::Real;
use pogo_tools::explicit::arrange::{ArrangeOptions, arrange};
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};
use support::{box_mesh, steel};

mod support;

const REPEATS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Kernels of another compiler: `cargo xtask kernels --toolkit VERSION --out FOLDER`.
    if let Some(folder) = std::env::var_os("POGO_PTX") {
        pogo_kernels::device::use_ptx_from(folder);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = |i: usize, default: &str| -> Vec<String> {
        let text = arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
        text.split(',').map(str::to_owned).collect()
    };
    let mut out = std::io::stdout();
    let bandwidth = copy_bandwidth()?;
    writeln!(out, "copy {:.0} GB/s", bandwidth / 1e9)?;
    let jitter: f64 = list(4, "0.15")[0].parse()?;
    let grids = list(5, "grids")[0] == "grids";
    let shots = list(6, "1").iter().map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
    for kind in list(0, "CPE3,C3D4,C3D8,C3D8R") {
        let kind = ElementKind::from_name(&kind).ok_or("unknown element kind")?;
        for nodes in list(1, "500000") {
            for capacity in list(3, if kind.dimension() == 2 { "512" } else { "512,2048" }) {
                one(
                    &mut out,
                    kind,
                    nodes.parse()?,
                    capacity.parse()?,
                    jitter,
                    grids,
                    bandwidth,
                    (&list(2, "f32,f64"), &shots),
                )?;
            }
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn one(
    out: &mut impl Write,
    kind: ElementKind,
    nodes: f64,
    capacity: usize,
    jitter: f64,
    grids: bool,
    bandwidth: f64,
    (precisions, shots): (&[String], &[usize]),
) -> Result<(), Box<dyn std::error::Error>> {
    let d = kind.dimension();
    let cells = nodes.powf(1.0 / d as f64).round() as usize - 1;
    let start = Instant::now();
    let mesh = box_mesh(kind, [cells; 3], 1e-4, jitter);
    let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity };
    let partition = partition(&mesh.view(), &options, &|_| ())?;
    let mut arranged = arrange(mesh, partition, &ArrangeOptions::default())?;
    if !grids {
        let device = &mut arranged.device;
        (device.grid_size, device.grid_material, device.grid_places) = Default::default();
    }
    let (blocks, n) = (&arranged.blocks, arranged.mesh.n_nodes());
    let (problem, state) = steel(arranged.mesh.view(), blocks.view())?;
    let problem = Problem { device: Some(arranged.device.view()), ..problem };
    let mut signals = Signals::new(&[], problem.time_increment);
    signals.column(Signal::Value(None));
    let halo = blocks.halo_nodes.len() as f64 / n as f64;
    writeln!(
        out,
        "{} {n} nodes, {} blocks of {capacity}, halo {halo:.2}, made in {:.1} s",
        kind.name(),
        blocks.n_boundary.len(),
        start.elapsed().as_secs_f64()
    )?;
    for precision in precisions {
        let options = GpuOptions::default();
        let start = Instant::now();
        let (speed, report) = match precision.as_str() {
            "f32" => speed_alone(GpuStepper::<f32>::new(&problem, &state, &signals, options)?, n)?,
            _ => speed_alone(GpuStepper::<f64>::new(&problem, &state, &signals, options)?, n)?,
        };
        let bytes = report.bytes_per_node_step * speed;
        let kernels: Vec<String> = report
            .kernels
            .iter()
            .map(|kernel| format!("{} {}t {}r {}b", kernel.name, kernel.threads, kernel.registers, kernel.resident))
            .collect();
        writeln!(
            out,
            "  {precision} {:6.2} G node-steps/s, {:8.2} us a step, {:5.1} B a node-step, {:5.0} GB/s, {:3.0} % of copy; \
             upload {:.1} GB/s, in all {:.1} s; {}",
            speed / 1e9,
            1e6 * n as f64 / speed,
            report.bytes_per_node_step,
            bytes / 1e9,
            100.0 * bytes / bandwidth,
            report.uploaded as f64 / report.upload_seconds / 1e9,
            start.elapsed().as_secs_f64(),
            kernels.join(", ")
        )?;
        for &n_shots in shots.iter().filter(|&&n| n > 1) {
            let together = match precision.as_str() {
                "f32" => speed_of_shots::<f32>(&problem, &state, &signals, n_shots)?,
                _ => speed_of_shots::<f64>(&problem, &state, &signals, n_shots)?,
            };
            let (ratio, together) = (together.0 / speed, format!("{:6.2} G, {}", together.0 / 1e9, together.1));
            writeln!(out, "  {precision} {n_shots} shots together: {together}, {ratio:.2} of one alone")?;
        }
    }
    Ok(())
}

/// Node-steps a second of one run.
fn speed_alone<T: Real>(mut stepper: GpuStepper<T>, n: usize) -> Result<(f64, GpuReport), Box<dyn std::error::Error>> {
    let (report, mut recording) = (stepper.report().clone(), Vec::new());
    let speed = speed(n, &mut |steps| Ok(stepper.advance(steps, &SignalTable::default(), &[], &mut recording)?))?;
    if !stepper.state()?.displacement.iter().all(|u| u.is_finite()) {
        return Err("the solution is not finite".into());
    }
    Ok((speed, report))
}

/// Node-steps a second of several runs that step together, and their kernel.
fn speed_of_shots<T: Real>(
    problem: &Problem,
    state: &State,
    signals: &Signals<'_>,
    n_shots: usize,
) -> Result<(f64, String), Box<dyn std::error::Error>> {
    let n_dofs = problem.lumped_mass.len() as u64 * problem.mesh.dimension as u64;
    let of_shot = |shot: usize| {
        let mut problem = problem.clone();
        problem.forces[0].dof = n_dofs / (n_shots as u64 + 1) * (shot as u64 + 1);
        GpuStepper::<T>::new(&problem, state, signals, GpuOptions::default())
    };
    let mut shots = GpuShots::new((0..n_shots).map(of_shot).collect::<Result<_, _>>()?)?;
    let mut recordings = vec![Vec::new(); n_shots];
    let records: Vec<&[u64]> = vec![&[]; n_shots];
    let n = n_shots * problem.lumped_mass.len();
    let speed = speed(n, &mut |steps| Ok(shots.advance(steps, &records, &mut recordings)?))?;
    let kernel = shots.kernel().map(|of| format!("{} {}t {}r {}b", of.name, of.threads, of.registers, of.resident));
    Ok((speed, kernel.unwrap_or_else(|| "side by side".to_owned())))
}

/// Node-steps a second, the median of repeats, of what makes so many steps of `n` nodes.
fn speed(
    n: usize,
    make: &mut dyn FnMut(usize) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut steps = 128;
    let mut advance = |steps: usize| -> Result<f64, Box<dyn std::error::Error>> {
        let start = Instant::now();
        make(steps)?;
        Ok(start.elapsed().as_secs_f64())
    };
    advance(steps)?;
    steps = ((0.1 / (advance(steps)? / steps as f64)) as usize / 64).clamp(2, 1000) * 64;
    let mut seconds = (0..REPEATS).map(|_| advance(steps)).collect::<Result<Vec<f64>, _>>()?;
    seconds.sort_unstable_by(f64::total_cmp);
    Ok((n * steps) as f64 / seconds[REPEATS / 2])
}
