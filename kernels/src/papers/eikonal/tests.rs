use pogo_formats::eikonal::sub_domains;

use super::*;
use crate::eikonal::tests::gpu::apart;
use crate::eikonal::tests::{Trial, problem, worst};
use crate::eikonal::{EikonalProblem, EikonalSettings, solve};
use crate::simd::Real;

/// Both approaches of the paper, by the interfaces of the block file, give the times of the whole mesh; whatever the threads.
#[test]
fn sub_domains_that_exchange_give_the_same_times() {
    for Trial { mesh, metrics, starts, .. } in &Trial::all(12, 30, 0.12) {
        let n = mesh.original_node.len();
        let whole = solve::<f64>(&problem(mesh, metrics), starts, &EikonalSettings::default()).unwrap();
        for n_domains in [1, 9, 74, n] {
            let mut node_first: Vec<u32> = (0..=n_domains).map(|d| (d * n / n_domains) as u32).collect();
            // An empty sub-domain.
            node_first.insert(n_domains / 2, node_first[n_domains / 2]);
            let domains = sub_domains("morton", &node_first, mesh);
            let problem = EikonalProblem { domains: Some(domains.view()), ..problem(mesh, metrics) };
            for approach in [Approach::First, Approach::Second] {
                let solver = SubDomainSolver::<f64>::new(&problem, &EikonalSettings::default(), approach).unwrap();
                let solve_on = |threads| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    pool.install(|| solver.solve(starts)).unwrap()
                };
                let arrival = solve_on(2);
                assert!(worst(&arrival.time, &whole.time) < 1e-13, "{n_domains}, {approach:?}");
                assert_eq!(arrival.unreached, whole.unreached);
                assert_eq!(arrival.time, solve_on(1).time);
                let statistics = &arrival.statistics;
                assert_eq!(statistics.active_domains.len(), statistics.sweeps as usize);
                assert_eq!(statistics.active_domains.iter().sum::<u32>(), statistics.active_sweeps.iter().sum::<u32>());
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn sub_domains_on_a_device_give_the_times_of_the_cpu() {
    on_a_device::<f32>("f32", 6e-6);
    on_a_device::<f64>("f64", 1e-13);
}

fn on_a_device<T: Real>(precision: &str, limit: f64) {
    for Trial { name, mesh, metrics, starts } in &Trial::all(24, 60, 0.07) {
        let n = mesh.original_node.len();
        let reference = solve::<T>(&problem(mesh, metrics), starts, &EikonalSettings::default()).unwrap();
        for n_domains in [1, 9, 74, 2700] {
            let node_first: Vec<u32> = (0..=n_domains).map(|d| (d * n / n_domains) as u32).collect();
            let domains = sub_domains("morton", &node_first, mesh);
            let problem = EikonalProblem { domains: Some(domains.view()), ..problem(mesh, metrics) };
            for (approach, inner) in
                [(Approach::First, 1), (Approach::Second, 1), (Approach::Second, 4), (Approach::Second, 100_000)]
            {
                let device = GpuDomainSettings { ordinal: 0, approach, inner };
                let mut solver = sub_domains_on_gpu::<T>(&problem, &EikonalSettings::default(), &device).unwrap();
                let arrival = solver.solve(starts).unwrap();
                let apart = apart(&arrival.time, &reference.time);
                eprintln!(
                    "{precision}, {name}, {n_domains} sub-domains, {approach:?}, {inner} inner: {apart:.1e} apart, {} rounds, {} solves",
                    arrival.statistics.sweeps, arrival.statistics.local_solves
                );
                assert!(apart < limit, "{name}, {n_domains} sub-domains: {apart:e}");
                assert_eq!(arrival.unreached, reference.unreached);
            }
        }
    }
}
