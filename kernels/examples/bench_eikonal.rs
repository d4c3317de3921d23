//! Times the Eikonal solver on a cube of tetrahedra, one start near a corner, a constant anisotropic tensor (speeds 3 : 2 : 1 along axes turned
//! out of those of the mesh): `bench_eikonal [N] [key=value]…`; N³ cells of six tetrahedra (80: 3.07 million).
//!
//! With `device=cuda` the same on a device, each form beside the others.
//!
//! `threads=1,2` `windows=0.5,1,inf` `precisions=f32,f64` `variants=six,eighteen,fly` `domains=1,74` `tolerance=0` `repeats=3` `cases=0`
//! `wide=1,0` `inner=4` `sets=8` `window_free=32` (device)

#[path = "support/eikonal.rs"]
mod support;

use std::collections::HashMap;
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;

use pogo_formats::domains::SubDomains;
use pogo_formats::eikonal::{EikonalMesh, sub_domains};
use pogo_kernels::eikonal::*;
use pogo_kernels::papers::eikonal::{Approach, GpuDomainSettings, sub_domains_on_gpu};
use pogo_kernels::simd::Real;

/// Lists of words by key, as they are given or their defaults.
struct Options(HashMap<&'static str, String>);

impl Options {
    fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0[key].split(',')
    }

    fn numbers<N: FromStr<Err: Debug>>(&self, key: &str) -> Vec<N> {
        self.words(key).map(|word| word.parse().expect("a number")).collect()
    }

    fn number<N: FromStr<Err: Debug> + Copy>(&self, key: &str) -> N {
        self.numbers(key)[0]
    }
}

fn main() {
    // Kernels of another compiler: `cargo xtask kernels --toolkit VERSION --out FOLDER`.
    if let Some(folder) = std::env::var_os("POGO_PTX") {
        pogo_kernels::device::use_ptx_from(folder);
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut options = Options(HashMap::from([
        ("threads", threads.to_string()),
        ("windows", EikonalSettings::default().window.to_string()),
        ("precisions", "f32,f64".into()),
        ("variants", "six,eighteen,fly".into()),
        ("domains", "1".into()),
        ("tolerance", "0".into()),
        ("repeats", "3".into()),
        ("cases", "0".into()),
        ("wide", "1,0".into()),
        ("inner", "4".into()),
        ("sets", "8".into()),
        ("window_free", GpuSettings::default().window_free.to_string()),
        ("device", "cpu".into()),
    ]));
    let mut n = 80;
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None => n = argument.parse().expect("cells along an edge"),
            Some((key, value)) => value.clone_into(options.0.get_mut(key).unwrap_or_else(|| panic!("{key}"))),
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
    if options.0["device"] == "cuda" {
        for precision in options.words("precisions") {
            println!("{precision}");
            if precision == "f32" { device::<f32>(&mesh, &options) } else { device::<f64>(&mesh, &options) }
        }
        return;
    }
    println!(
        "form      type threads domains window  set up s  solve s (least, median)  sweeps  solves/tet  passed on/node  error"
    );
    for precision in options.words("precisions") {
        if precision == "f32" { all::<f32>(&mesh, &options) } else { all::<f64>(&mesh, &options) }
    }
}

fn all<T: Real>(mesh: &EikonalMesh, options: &Options) {
    let (_, metric) = support::tensors([3.0, 2.0, 1.0]);
    let start = support::nearest(mesh, [0.1, 0.1, 0.1]);
    let class = vec![0_u16; mesh.original_element.len()];
    let view = mesh.view();
    for n_domains in options.numbers("domains") {
        let domains = in_domains(mesh, n_domains);
        let problem = EikonalProblem {
            mesh: mesh.view(),
            domains: Some(domains.view()),
            metrics: Metrics::Classes { class: &class, metric: &[metric] },
        };
        for variant in options.words("variants") {
            let local_solver = local_solver(variant);
            for window in options.numbers("windows") {
                for threads in options.numbers("threads") {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                    pool.install(|| {
                        let settings = EikonalSettings { tolerance: options.number("tolerance"), local_solver, window };
                        let begin = Instant::now();
                        let solver = EikonalSolver::<T>::new(&problem, &settings).expect("a problem");
                        let setup = begin.elapsed().as_secs_f64();
                        let mut seconds = Vec::new();
                        let mut arrival = None;
                        for _ in 0..options.number("repeats") {
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
                        let cases: usize = options.number("cases");
                        if cases > 0 {
                            let sets = starts(cases, view.n_nodes());
                            let begin = Instant::now();
                            solver.solve_many(&sets, in_turn(cases, 1), |_, _| ()).expect("starts");
                            let all = begin.elapsed().as_secs_f64();
                            println!("    {cases} start sites: {all:.2} s, {:.3} s each", all / cases as f64);
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
    for _ in 0..options.number::<usize>("repeats").max(1) {
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
    let cases: usize = options.number("cases");
    if cases > 0 {
        let begin = Instant::now();
        let inside = Mutex::new(0.0);
        let add = |_, arrival: Arrival<T>| *inside.lock().expect("no panic") += arrival.statistics.seconds;
        solver.solve_many(&starts(cases, n), in_turn(cases, *sets), add)?;
        let all = begin.elapsed().as_secs_f64();
        let inside = inside.into_inner().expect("no panic");
        println!(
            "    {cases} start sites, {sets} at once: {inside:.3} s on the device, {all:.3} s with the times fetched"
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
    for variant in options.words("variants") {
        let local_solver = local_solver(variant);
        let settings = EikonalSettings { local_solver, tolerance: options.number("tolerance"), ..Default::default() };
        let forms = if local_solver == LocalSolver::Six { options.numbers("wide") } else { vec![0] };
        let windows: Vec<f64> = options.numbers("windows");
        for (wide, &window) in forms.into_iter().flat_map(|wide: u8| windows.iter().map(move |window| (wide, window))) {
            for sets in options.numbers("sets") {
                for window_free in options.numbers("window_free") {
                    let gpu = GpuSettings { wide: wide != 0, window, sets, window_free, ..Default::default() };
                    let name =
                        format!("{variant}, wide {wide}, window {window}, {sets} sets, window free {window_free}");
                    go(name, sets, GpuSolver::new(&problem, &settings, &gpu));
                }
            }
        }
    }
    for n_domains in options.numbers("domains").into_iter().filter(|&n| n > 1) {
        let domains = in_domains(mesh, n_domains);
        let problem = EikonalProblem { domains: Some(domains.view()), ..problem.clone() };
        let settings = EikonalSettings::default();
        let mut by_domains = |approach, inner: u32, name: &str| {
            let gpu = GpuDomainSettings { ordinal: 0, approach, inner };
            go(format!("{n_domains} sub-domains, {name}"), 1, sub_domains_on_gpu(&problem, &settings, &gpu));
        };
        by_domains(Approach::First, 1, "first approach");
        for inner in options.numbers("inner") {
            by_domains(Approach::Second, inner, &format!("second, {inner} sweeps"));
        }
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

/// Sets of one start each, evenly over the nodes.
fn starts(cases: usize, n_nodes: usize) -> Vec<[(u32, f64); 1]> {
    (0..cases).map(|case| [((case * n_nodes / cases) as u32, 0.0)]).collect()
}
