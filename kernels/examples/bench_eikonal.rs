//! Times the Eikonal solver on a cube of tetrahedra, one start near a corner, a constant anisotropic tensor (speeds 3 : 2 : 1 along axes turned
//! out of those of the mesh): `bench_eikonal [N] [key=value]…`; N³ cells of six tetrahedra (80: 3.07 million).
//!
//! With `device=cuda` the same on a device, each form beside the others.
//!
//! `threads=1,2` `windows=0.5,1,inf` `precisions=f32,f64` `variants=six,eighteen,fly` `domains=1,74` `tolerance=0` `repeats=3` `cases=0`
//! `wide=1,0` `inner=4` `sets=8` `window_free=32` (device)

#[path = "support/eikonal.rs"]
mod support;

use std::time::Instant;

use pogo_formats::domains::SubDomains;
use pogo_formats::eikonal::{EikonalMesh, sub_domains};
use pogo_kernels::eikonal::*;
use pogo_kernels::papers::eikonal::{Approach, GpuDomainSettings, sub_domains_on_gpu};
use pogo_kernels::simd::Real;

struct Options {
    threads: Vec<usize>,
    windows: Vec<f64>,
    precisions: Vec<String>,
    variants: Vec<String>,
    domains: Vec<usize>,
    tolerance: f64,
    repeats: usize,
    cases: usize,
    wide: Vec<usize>,
    inner: Vec<usize>,
    sets: Vec<usize>,
    window_free: Vec<usize>,
}

fn main() {
    // Kernels of another compiler: `cargo xtask kernels --toolkit VERSION --out FOLDER`.
    if let Some(folder) = std::env::var_os("POGO_PTX") {
        pogo_kernels::device::use_ptx_from(folder);
    }
    let mut options = Options {
        threads: vec![std::thread::available_parallelism().map_or(1, |n| n.get())],
        windows: vec![EikonalSettings::default().window],
        precisions: vec!["f32".into(), "f64".into()],
        variants: vec!["six".into(), "eighteen".into(), "fly".into()],
        domains: vec![1],
        tolerance: 0.0,
        repeats: 3,
        cases: 0,
        wide: vec![1, 0],
        inner: vec![4],
        sets: vec![8],
        window_free: vec![GpuSettings::default().window_free as usize],
    };
    let mut cuda = false;
    let mut n = 80;
    for argument in std::env::args().skip(1) {
        let Some((key, value)) = argument.split_once('=') else {
            n = argument.parse().expect("cells along an edge");
            continue;
        };
        let numbers = || value.split(',').map(|v| v.parse::<f64>().expect("a number")).collect::<Vec<_>>();
        let whole = || numbers().into_iter().map(|v| v as usize).collect::<Vec<_>>();
        match key {
            "threads" => options.threads = whole(),
            "windows" => options.windows = numbers(),
            "precisions" => options.precisions = value.split(',').map(Into::into).collect(),
            "variants" => options.variants = value.split(',').map(Into::into).collect(),
            "domains" => options.domains = whole(),
            "tolerance" => options.tolerance = numbers()[0],
            "repeats" => options.repeats = whole()[0],
            "cases" => options.cases = whole()[0],
            "wide" => options.wide = whole(),
            "inner" => options.inner = whole(),
            "sets" => options.sets = whole(),
            "window_free" => options.window_free = whole(),
            "device" => cuda = value == "cuda",
            _ => panic!("{key}"),
        }
    }
    let begin = Instant::now();
    let mesh = support::cube(n, 0.2);
    println!(
        "{} nodes, {} tetrahedra, made in {:.1} s",
        mesh.original_node.len(),
        mesh.original_element.len(),
        begin.elapsed().as_secs_f64()
    );
    if cuda {
        for precision in &options.precisions {
            println!("{precision}");
            if precision == "f32" { device::<f32>(&mesh, &options) } else { device::<f64>(&mesh, &options) }
        }
        return;
    }
    println!(
        "form      type threads domains window  set up s  solve s (least, median)  sweeps  solves/tet  passed on/node  error"
    );
    for precision in &options.precisions {
        if precision == "f32" { all::<f32>(&mesh, &options) } else { all::<f64>(&mesh, &options) }
    }
}

fn all<T: Real>(mesh: &EikonalMesh, options: &Options) {
    let (_, metric) = support::tensors([3.0, 2.0, 1.0]);
    let start = support::nearest(mesh, [0.1, 0.1, 0.1]);
    let class = vec![0_u16; mesh.original_element.len()];
    let view = mesh.view();
    for &n_domains in &options.domains {
        let domains = in_domains(mesh, n_domains);
        let problem = EikonalProblem {
            mesh: mesh.view(),
            domains: Some(domains.view()),
            metrics: Metrics::Classes { class: &class, metric: &[metric] },
        };
        for variant in &options.variants {
            let local_solver = local_solver(variant);
            for &window in &options.windows {
                for &threads in &options.threads {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                    pool.install(|| {
                        let settings = EikonalSettings { tolerance: options.tolerance, local_solver, window, ..Default::default() };
                        let begin = Instant::now();
                        let solver = EikonalSolver::<T>::new(&problem, &settings).expect("a problem");
                        let setup = begin.elapsed().as_secs_f64();
                        let mut seconds = Vec::new();
                        let mut arrival = None;
                        for _ in 0..options.repeats {
                            let result = solver.solve(&[(start, 0.0)]).expect("a start");
                            seconds.push(result.statistics.seconds);
                            arrival = Some(result);
                        }
                        seconds.sort_by(f64::total_cmp);
                        let Some(arrival) = arrival else { return };
                        let error = worst_error(mesh, &metric, start, &arrival.time);
                        let s = &arrival.statistics;
                        println!(
                            "{variant:9} {}  {threads:7} {n_domains:7} {window:6.2} {setup:9.3} {:9.3} {:9.3} {:12} {:11.2} {:15.2}  {error:.5}",
                            if size_of::<T>() == 4 { "f32" } else { "f64" },
                            seconds[0],
                            seconds[seconds.len() / 2],
                            s.sweeps,
                            s.local_solves as f64 / view.n_elements() as f64,
                            s.passed_on as f64 / view.n_nodes() as f64,
                        );
                        if options.cases > 0 {
                            let sets: Vec<[(u32, f64); 1]> = (0..options.cases)
                                .map(|case| [((case * view.n_nodes() / options.cases) as u32, 0.0)])
                                .collect();
                            let begin = Instant::now();
                            solver.solve_many(&sets, |_, _| ()).expect("starts");
                            let all = begin.elapsed().as_secs_f64();
                            println!("    {} start sites: {all:.2} s, {:.3} s each", options.cases, all / options.cases as f64);
                        }
                    });
                }
            }
        }
    }
}

/// Largest difference from √(dᵀ M d).
fn worst_error<T: Real>(mesh: &EikonalMesh, metric: &[f64; 6], start: u32, time: &[T]) -> f64 {
    let view = mesh.view();
    let source = view.point(start as usize);
    (0..view.n_nodes())
        .map(|node| {
            let x = view.point(node);
            let d = std::array::from_fn(|c| x[c] - source[c]);
            (time[node].to_f64() - support::dot(metric, d, d).sqrt()).abs()
        })
        .fold(0.0, f64::max)
}

/// Solves on a device: the least and median time, and what came of the last one.
fn on_device<T: Real>(
    form: &Form,
    solver: Result<GpuSolver<T>, EikonalError>,
    first: &mut Option<Vec<T>>,
) -> Result<(), EikonalError> {
    let Form { name, sets, mesh, metric, start, options } = form;
    let mut solver = solver?;
    let (mut seconds, mut last) = (Vec::new(), None);
    for _ in 0..options.repeats.max(1) {
        let arrival = solver.solve(&[(*start, 0.0)])?;
        seconds.push(arrival.statistics.seconds);
        last = Some(arrival);
    }
    seconds.sort_by(f64::total_cmp);
    let Some(arrival) = last else { return Ok(()) };
    let (s, n, m) = (&arrival.statistics, mesh.original_node.len(), mesh.original_element.len());
    let reference = first.get_or_insert_with(|| arrival.time.clone());
    let apart = reference.iter().zip(&arrival.time).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).fold(0.0, f64::max);
    println!(
        "{name:44} set up {:6.3} s, solve {:8.3} ms (median {:8.3}), {:5} sweeps, {:6.2} solves/tet, {:5.2} passed on/node, error {:.5}, {apart:.1e} from the first",
        solver.setup_seconds,
        1e3 * seconds[0],
        1e3 * seconds[seconds.len() / 2],
        s.sweeps,
        s.local_solves as f64 / m as f64,
        s.passed_on as f64 / n as f64,
        worst_error(mesh, metric, *start, &arrival.time),
    );
    if options.cases > 0 {
        let starts: Vec<[(u32, f64); 1]> =
            (0..options.cases).map(|case| [((case * n / options.cases) as u32, 0.0)]).collect();
        let begin = Instant::now();
        let mut inside = 0.0;
        solver.solve_many(&starts, |_, arrival| inside += arrival.statistics.seconds)?;
        let all = begin.elapsed().as_secs_f64();
        println!(
            "    {} start sites, {sets} at once: {inside:.3} s on the device, {all:.3} s with the times fetched",
            options.cases
        );
    }
    Ok(())
}

/// A form to measure on a device.
struct Form<'a> {
    name: String,
    /// Sets of starts at once.
    sets: usize,
    mesh: &'a EikonalMesh,
    metric: &'a [f64; 6],
    start: u32,
    options: &'a Options,
}

/// Every form on the device.
fn device<T: Real>(mesh: &EikonalMesh, options: &Options) {
    let (_, metric) = support::tensors([3.0, 2.0, 1.0]);
    let metric = &metric;
    let start = support::nearest(mesh, [0.1, 0.1, 0.1]);
    let class = vec![0_u16; mesh.original_element.len()];
    let metrics = Metrics::Classes { class: &class, metric: std::slice::from_ref(metric) };
    let problem = EikonalProblem { mesh: mesh.view(), domains: None, metrics };
    let mut first: Option<Vec<T>> = None;
    let mut go = |name: String, sets: usize, solver: Result<GpuSolver<T>, EikonalError>| {
        let form = Form { name, sets, mesh, metric, start, options };
        if let Err(error) = on_device(&form, solver, &mut first) {
            println!("{}: {error}", form.name);
        }
    };
    for variant in &options.variants {
        let local_solver = local_solver(variant);
        let settings = EikonalSettings { local_solver, tolerance: options.tolerance, ..Default::default() };
        let forms = if local_solver == LocalSolver::Six { &options.wide[..] } else { &[0] };
        for (&wide, &window) in forms.iter().flat_map(|wide| options.windows.iter().map(move |window| (wide, window))) {
            for &sets in &options.sets {
                for window_free in options.window_free.iter().map(|&n| n as u32) {
                    let gpu = GpuSettings { wide: wide != 0, window, sets, window_free, ..Default::default() };
                    let name =
                        format!("{variant}, wide {wide}, window {window}, {sets} sets, window free {window_free}");
                    go(name, sets, GpuSolver::new(&problem, &settings, &gpu));
                }
            }
        }
    }
    for &n_domains in options.domains.iter().filter(|&&n| n > 1) {
        let domains = in_domains(mesh, n_domains);
        let problem = EikonalProblem { domains: Some(domains.view()), ..problem.clone() };
        let settings = EikonalSettings::default();
        let mut by_domains = |approach, inner: usize, name: &str| {
            let gpu = GpuDomainSettings { ordinal: 0, approach, inner: inner as u32 };
            go(format!("{n_domains} sub-domains, {name}"), 1, sub_domains_on_gpu(&problem, &settings, &gpu));
        };
        by_domains(Approach::First, 1, "first approach");
        options.inner.iter().for_each(|&inner| by_domains(Approach::Second, inner, &format!("second, {inner} sweeps")));
    }
}

fn local_solver(variant: &str) -> LocalSolver {
    match variant {
        "six" => LocalSolver::Six,
        "eighteen" => LocalSolver::Eighteen,
        _ => LocalSolver::OnTheFly,
    }
}

/// Sub-domains of equal numbers of nodes.
fn in_domains(mesh: &EikonalMesh, n_domains: usize) -> SubDomains {
    let n = mesh.original_node.len();
    let first: Vec<u32> = (0..=n_domains).map(|domain| (domain * n / n_domains) as u32).collect();
    sub_domains("morton", &first, mesh)
}
