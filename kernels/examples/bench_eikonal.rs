//! Times the Eikonal solver on a cube of tetrahedra, one start near a corner, a constant anisotropic tensor (speeds 3 : 2 : 1 along axes turned
//! out of those of the mesh): `bench_eikonal [N] [key=value]…`; N³ cells of six tetrahedra (80: 3.07 million).
//!
//! `threads=1,2` `windows=0.5,1,inf` `precisions=f32,f64` `variants=six,eighteen,fly` `domains=1,74` `tolerance=0` `repeats=3` `cases=0`

#[path = "support/eikonal.rs"]
mod support;

use std::time::Instant;

use pogo_formats::eikonal::{EikonalDomains, EikonalMesh};
use pogo_kernels::eikonal::*;

struct Options {
    threads: Vec<usize>,
    windows: Vec<f64>,
    precisions: Vec<String>,
    variants: Vec<String>,
    domains: Vec<usize>,
    tolerance: f64,
    repeats: usize,
    cases: usize,
}

fn main() {
    let mut options = Options {
        threads: vec![std::thread::available_parallelism().map_or(1, |n| n.get())],
        windows: vec![EikonalSettings::default().window],
        precisions: vec!["f32".into(), "f64".into()],
        variants: vec!["six".into(), "eighteen".into(), "fly".into()],
        domains: vec![1],
        tolerance: 0.0,
        repeats: 3,
        cases: 0,
    };
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
    let source = view.point(start as usize);
    for &n_domains in &options.domains {
        let first = (0..=n_domains).map(|d| (d * view.n_nodes() / n_domains) as u32).collect();
        let domains = EikonalDomains::new("morton", first, &mesh.neighbour_first, &mesh.neighbours);
        let problem = EikonalProblem {
            mesh: mesh.view(),
            domains: Some(domains.view()),
            metrics: Metrics::Classes { class: &class, metric: &[metric] },
        };
        for variant in &options.variants {
            let local_solver = match variant.as_str() {
                "six" => LocalSolver::Six,
                "eighteen" => LocalSolver::Eighteen,
                _ => LocalSolver::OnTheFly,
            };
            for &window in &options.windows {
                for &threads in &options.threads {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                    pool.install(|| {
                        let settings = EikonalSettings { tolerance: options.tolerance, local_solver, window };
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
                        let error = (0..view.n_nodes())
                            .map(|node| {
                                let x = view.point(node);
                                let d = std::array::from_fn(|c| x[c] - source[c]);
                                (arrival.time[node].to_f64() - support::dot(&metric, d, d).sqrt()).abs()
                            })
                            .fold(0.0, f64::max);
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
