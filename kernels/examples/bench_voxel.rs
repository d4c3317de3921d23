//! Solves a voxel stack: `bench_voxel FILE NX NY NZ [key=value]…`, FILE raw bytes, x fastest, not 0 is solid.
//! The lowest and highest layers of nodes in z are held, the highest moved by −1 % of the height.
use pogo_formats::voxel::bricks_of;
use pogo_kernels::papers::voxel::{AveragedSettings, solve_averaged};
use pogo_kernels::voxel::*;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size: [u32; 3] = std::array::from_fn(|m| arguments[2 + m].parse().expect("a size"));
    let image = std::fs::read(&arguments[1]).expect("a file");
    let mut settings = SolverSettings::default();
    let mut papers = false;
    for argument in &arguments[5..] {
        let (key, value) = argument.split_once('=').expect("key=value");
        let list: Vec<usize> = value.split(',').filter_map(|v| v.parse().ok()).collect();
        match key {
            "degree" => settings.cycle.degree = [list[0], *list.get(1).unwrap_or(&list[0])],
            "inner" => settings.cycle.inner = list,
            "tol" => settings.cycle.inner_tolerance = value.parse().expect("a number"),
            "bottom" => settings.cycle.bottom = list[0],
            "levels" => settings.cycle.levels = list[0],
            "iterations" => settings.iterations = list[0],
            "papers" => papers = true,
            _ => panic!("{key}"),
        }
    }
    let index = |[x, y, z]: [u32; 3]| ((z * size[1] + y) * size[0] + x) as usize;
    let bricks = bricks_of(size, |at| image[index(at)] != 0);
    let view = bricks.view();
    let mut fixed = Vec::new();
    let mut node = 0;
    for brick in 0..view.n_bricks() {
        for [_, _, z] in view.node_positions(brick) {
            if z == 0 || z == size[2] {
                for direction in 0..3 {
                    let value = if direction == 2 && z > 0 { -0.01 * f64::from(size[2]) } else { 0.0 };
                    fixed.push(FixedDof { node, direction, value });
                }
            }
            node += 1;
        }
    }
    let class = vec![0_u8; view.n_elements()];
    let problem = StaticProblem {
        bricks: view,
        moduli: Moduli::Classes { class: &class, young: &[10e3] },
        poisson: 0.3,
        spacing: 1.0,
        fixed: &fixed,
        forces: &[],
    };
    let mut go = |_: usize, _: f64| std::ops::ControlFlow::Continue(());
    if papers {
        let solution =
            solve_averaged(&problem, Grid::Bricks, &AveragedSettings::default(), &[], None, &mut go).expect("memory");
        println!(
            "the papers' method: {} iterations, {:.0} products, residual {:.2e}, {:.2} s",
            solution.iterations, solution.products, solution.relative_residual, solution.seconds
        );
        return;
    }
    let mut solver = StaticSolver::new(&problem, &settings);
    for (level, (n, cost)) in solver.levels().into_iter().enumerate() {
        println!("level {}: {n} dof, {cost:.4} products", level + 1);
    }
    let solution = solver.solve(&fixed, &[], None, &mut go);
    println!(
        "{} dof, {} elements: {} iterations, {:.0} products, residual {:.2e}, setup {:.2} s, solve {:.2} s",
        3 * view.n_nodes(),
        view.n_elements(),
        solution.iterations,
        solution.products,
        solution.relative_residual,
        solver.setup_seconds,
        solution.seconds
    );
}
