//! Speed of mass-spring-damper models, on the CPU and on a CUDA device: the comparison of Rasmusson, Mosegaard and Sørensen (2008),
//! Figs. 7 and 8 (implicit and explicit addressing, cached and shared memory, boxes and a sample that fills a fifth of its grid).
//!
//! ```text
//! cargo run --release -p pogo-kernels --features bench --example bench_spring -- [cpu|cuda|both] [SIZES=32,64,128] [f32|f64|f32,f64] [THREADS=2] [SCHEMES]
//! ```
//!
//! One line for each model, addressing and scheme: particle-steps a second (median of repeats; on a device also of brief ones after
//! a rest, a line of their own), steps a second, the bytes that a particle-step must move, and bytes a second. SIZES are sides of boxes (`64`, or `96x64x32`); `heart` is a hollow body of 29,449 particles in 46 × 51 × 60
//! places, as many as the paper's heart has. SCHEMES is all
//! on a device, or some of `Implicit-Cached,Implicit-Shared,Explicit-Shared,ExplicitGlobal-Cached,Explicit-Resident`.

use std::io::Write;
use std::time::Instant;

use pogo_formats::spring::SpringMesh;
use pogo_kernels::device::{copy_bandwidth, first_device};
use pogo_kernels::dynamics::{SignalTable, Stepper};
use pogo_kernels::simd::{Level, Real};
use pogo_kernels::spring::{Addressing, CpuStepper, GpuOptions, GpuStepper, Scheme, SpringProblem, State};
use support::{group, lattice, problem};

#[path = "support/spring.rs"]
mod support;

const REPEATS: usize = 7;
/// Grid of the paper's heart, and how many particles it has.
const HEART: ([usize; 3], usize) = ([46, 51, 60], 29_449);

type Failure = Box<dyn std::error::Error>;

/// A body between two ellipsoids with a wall across, cut off where it has enough particles.
fn heart() -> SpringMesh {
    let (size, n) = HEART;
    let radius = |p: [usize; 3], shrink: f64| -> f64 {
        (0..3).map(|c| ((p[c] as f64 + 0.5 - 0.5 * size[c] as f64) / (0.5 * size[c] as f64 - shrink)).powi(2)).sum()
    };
    let wall = |p: [usize; 3]| radius(p, 0.5) < 1.0 && (radius(p, 7.0) >= 1.0 || p[0].abs_diff(size[0] / 2) < 4);
    let places =
        (0..size.iter().product::<usize>()).map(|i| [i % size[0], i / size[0] % size[1], i / size[0] / size[1]]);
    let last = places.filter(|&p| wall(p)).nth(n.saturating_sub(1)).unwrap_or(size);
    let rank = |p: [usize; 3]| p[0] + size[0] * (p[1] + size[1] * p[2]);
    lattice(size, [1.0; 3], 18, 512, |p| (wall(p) && rank(p) <= rank(last)).then_some(0))
}

fn main() -> Result<(), Failure> {
    // Kernels of another compiler: `cargo xtask kernels --toolkit VERSION --out FOLDER`.
    if let Some(folder) = std::env::var_os("POGO_PTX") {
        pogo_kernels::device::use_ptx_from(folder);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let device = argument(0, "both");
    let precisions = argument(2, "f32");
    let threads: usize = argument(3, "2").parse()?;
    let schemes = argument(4, "");
    let mut out = std::io::stdout();
    let cuda = device != "cpu" && first_device().is_some();
    if cuda {
        writeln!(out, "copy {:.0} GB/s on {}", copy_bandwidth()? / 1e9, first_device().unwrap_or_default())?;
    }
    for size in argument(1, "32,heart,64,128").split(',') {
        let start = Instant::now();
        let mesh = match size {
            "heart" => heart(),
            sides => {
                let sides = sides.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
                lattice(std::array::from_fn(|c| sides[c % sides.len()]), [1.0; 3], 18, 512, |_| Some(0))
            }
        };
        let mut model = problem(&mesh, vec![group(1.0), group(0.7), group(0.0)], 1.0, 0.2);
        let n = model.n_particles();
        let noise =
            |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1u64 << 24) as f64 - 0.5;
        let velocity: Vec<f64> = (0..3 * n).map(|i| 0.02 * noise(i)).collect();
        let state = model.start(vec![0.0; 3 * n], &velocity, &[1.0], &[1.0])?;
        model.mass = vec![1.0];
        writeln!(
            out,
            "{size}: {n} particles, {} springs, made in {:.1} s",
            model.mesh.n_springs(),
            start.elapsed().as_secs_f64()
        )?;
        for precision in precisions.split(',') {
            if device != "cuda" {
                for addressing in [Addressing::Implicit, Addressing::Explicit, Addressing::ExplicitGlobal] {
                    let what = format!("cpu {precision} {addressing:?}");
                    match precision {
                        "f64" => cpu::<f64>(&mut out, &what, &model, &state, addressing, threads)?,
                        _ => cpu::<f32>(&mut out, &what, &model, &state, addressing, threads)?,
                    }
                }
            }
            if cuda {
                for (addressing, scheme) in [
                    (Addressing::Implicit, Scheme::Cached),
                    (Addressing::Implicit, Scheme::Shared),
                    (Addressing::Explicit, Scheme::Shared),
                    (Addressing::ExplicitGlobal, Scheme::Cached),
                    (Addressing::Explicit, Scheme::Resident),
                ] {
                    if !schemes.is_empty()
                        && !schemes.split(',').any(|name| name == format!("{addressing:?}-{scheme:?}"))
                    {
                        continue;
                    }
                    let options = GpuOptions { scheme, ..GpuOptions::default() };
                    match precision {
                        "f64" => gpu::<f64>(&mut out, &model, &state, addressing, options)?,
                        _ => gpu::<f32>(&mut out, &model, &state, addressing, options)?,
                    }
                }
            }
        }
    }
    Ok(())
}

fn cpu<T: Real>(
    out: &mut impl Write,
    what: &str,
    model: &SpringProblem,
    state: &State,
    addressing: Addressing,
    threads: usize,
) -> Result<(), Failure> {
    let mut stepper = CpuStepper::<T>::new(model.clone(), state, addressing, threads, Level::detect())?;
    let bytes = stepper.bytes_per_particle_step();
    let speed = speed(&mut stepper, model.n_particles(), 0.1, 0.0)?;
    // On a busy machine the processor time tells more than the clock.
    let what = match speed.1 {
        Some(processor) => format!("{what}, {:.1} M a core", 1e-6 / processor),
        None => what.to_owned(),
    };
    line(out, &what, model.n_particles(), speed.0, bytes)
}

/// Processor time of all threads of this process so far, s.
fn processor_time() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let times = tasks.map(|task| -> Option<f64> {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    Some(1e-9 * times.sum::<Option<f64>>()?)
}

fn gpu<T: Real>(
    out: &mut impl Write,
    model: &SpringProblem,
    state: &State,
    addressing: Addressing,
    options: GpuOptions,
) -> Result<(), Failure> {
    let mut stepper = match GpuStepper::<T>::new(model.clone(), state, addressing, options) {
        Ok(stepper) => stepper,
        Err(pogo_kernels::spring::GpuError::Scheme { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let report = stepper.report().clone();
    let (long, _) = speed(&mut stepper, model.n_particles(), 0.05, 0.0)?;
    let (brief, _) = speed(&mut stepper, model.n_particles(), 0.01, 0.3)?;
    let (kernel, threads, registers, resident) = &report.kernel;
    let what = format!("{kernel} {threads}t {registers}r {resident}b");
    line(out, &what, model.n_particles(), long, report.bytes_per_particle_step)?;
    line(out, "  10 ms after 0.3 s of rest", model.n_particles(), brief, report.bytes_per_particle_step)
}

fn line(out: &mut impl Write, what: &str, n: usize, speed: f64, bytes: f64) -> Result<(), Failure> {
    writeln!(
        out,
        "  {what:48} {:9.1} M particle-steps/s {:10.0} steps/s {bytes:6.1} B {:7.1} GB/s",
        speed / 1e6,
        speed / n as f64,
        speed * bytes / 1e9
    )?;
    Ok(())
}

/// Particle-steps a second, the median of repeats of at least `seconds`, each after a rest, and processor time a particle-step.
/// A device that draws all the power it may is slower for long than for a moment.
fn speed(
    stepper: &mut dyn Stepper<State = State>,
    n: usize,
    seconds: f64,
    rest: f64,
) -> Result<(f64, Option<f64>), Failure> {
    let mut advance = |steps: usize| -> Result<f64, Failure> {
        let table = SignalTable { n_signals: 0, values: Vec::new() };
        let start = Instant::now();
        stepper.advance(steps, &table, &[], &mut Vec::new())?;
        Ok(start.elapsed().as_secs_f64())
    };
    advance(2)?;
    let mut steps = 8;
    loop {
        let taken = advance(steps)?;
        if taken > 0.2 * seconds {
            steps = ((seconds / taken * steps as f64) as usize).max(2).next_multiple_of(64.min(steps));
            break;
        }
        steps *= 4;
    }
    let before = processor_time();
    let mut taken = (0..REPEATS)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_secs_f64(rest));
            advance(steps)
        })
        .collect::<Result<Vec<f64>, _>>()?;
    let spent = processor_time().zip(before).map(|(after, before)| (after - before) / (n * steps * REPEATS) as f64);
    taken.sort_unstable_by(f64::total_cmp);
    if !stepper.state()?.displacement.iter().all(|u| u.is_finite() && u.abs() < 1e3) {
        return Err("the solution is not finite".into());
    }
    Ok(((n * steps) as f64 / taken[REPEATS / 2], spent))
}
