use pogo_formats::voxel::{Bricks, bricks_of};

use super::*;

/// A number in [0, 1) from a number.
pub(super) fn random(i: u64) -> f64 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

/// y = K x element by element, with the dense stiffness.
fn plain(bricks: &Bricks, stiffness: &[f64], cube: &Cube, x: &[f64]) -> Vec<f64> {
    plain_of(bricks, &|element| (stiffness[element], cube), x)
}

/// The same with E h of each element and the cube of its Poisson's ratio.
fn plain_of<'a>(bricks: &Bricks, of: &dyn Fn(usize) -> (f64, &'a Cube), x: &[f64]) -> Vec<f64> {
    let view = bricks.view();
    let mut y = vec![0.0; x.len()];
    let mut element = 0;
    for brick in 0..view.n_bricks() {
        for [i, j, k] in view.element_positions(brick) {
            let nodes: Vec<usize> = (0..8_u32)
                .map(|c| view.node([i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)]).expect("its node") as usize)
                .collect();
            let (stiffness, cube) = of(element);
            for r in 0..24 {
                let sum: f64 = (0..24).map(|s| cube.dense[r][s] * x[3 * nodes[s / 3] + s % 3]).sum();
                y[3 * nodes[r / 3] + r % 3] += stiffness * sum;
            }
            element += 1;
        }
    }
    y
}

#[test]
fn the_product_is_that_of_the_elements() {
    // Several bricks in each direction, full and half empty, several chunks in the last.
    for (size, share) in [([5, 9, 17], 1.0), ([20, 13, 30], 0.4), ([90, 90, 60], 0.02)] {
        let bricks = bricks_of(size, |[x, y, z]| random(u64::from(x + 1000 * (y + 1000 * z))) < share);
        let view = bricks.view();
        let modulus: Vec<f32> = (0..view.n_elements()).map(|e| 1.0 + random(e as u64) as f32).collect();
        let (cube, moduli) = (Cube::new(0.3), Moduli::Each { modulus: &modulus, scale: 3.0 });
        let ratios = Ratios::One(0.3);
        let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.5, fixed: &[], forces: &[] };
        let product = Product::new(&problem, vec![0, 17, 18]);
        let x: Vec<f64> = (0..3 * view.n_nodes()).map(|i| random(i as u64 + 7) - 0.5).collect();
        let stiffness: Vec<f64> = modulus.iter().map(|&m| f64::from(m) * 1.5).collect();
        let mut expected = plain(&bricks, &stiffness, &cube, &x);
        product.fixed().iter().for_each(|&dof| expected[dof as usize] = 0.0);
        let y = std::sync::Mutex::new(vec![0.0; x.len()]);
        let dot = product.apply(&x, &mut Scratch::default(), &|first, part| {
            y.lock().unwrap()[3 * first..3 * first + part.len()].copy_from_slice(part);
            part.iter().zip(&x[3 * first..]).map(|(y, x)| x * y).sum()
        });
        let y = y.into_inner().unwrap();
        let scale = expected.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        for (y, expected) in y.iter().zip(&expected) {
            assert!((y - expected).abs() < 1e-14 * scale, "{y} {expected}");
        }
        let energy: f64 = x.iter().zip(&expected).map(|(x, y)| x * y).sum();
        assert!((dot - energy).abs() < 1e-12 * energy);
    }
}

pub(crate) fn go(_: usize, _: f64) -> std::ops::ControlFlow<()> {
    std::ops::ControlFlow::Continue(())
}

/// Displacements prescribed where `at(position)` says so.
pub(super) fn fixed(
    view: &pogo_formats::voxel::BricksView,
    at: impl Fn([u32; 3]) -> [Option<f64>; 3],
) -> Vec<FixedDof> {
    let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
    let dofs = positions.enumerate().flat_map(|(node, position)| {
        let values = at(position).into_iter().enumerate();
        values
            .filter_map(move |(d, value)| value.map(|value| FixedDof { node: node as u32, direction: d as u8, value }))
            .collect::<Vec<_>>()
    });
    dofs.collect()
}

#[test]
fn a_uniform_block_is_stretched_exactly() {
    let (size, h, young, nu) = ([21, 10, 14], 0.25, 7.0, 0.3);
    let bricks = bricks_of(size, |_| true);
    let view = bricks.view();
    let class = vec![0; view.n_elements()];
    let strain = 0.01;
    // Symmetry planes at x = 0, y = 0, z = 0; the upper end is moved.
    let fixed = fixed(&view, |[x, y, z]| {
        let top = strain * h * f64::from(size[2]);
        [
            (x == 0).then_some(0.0),
            (y == 0).then_some(0.0),
            if z == size[2] { Some(top) } else { (z == 0).then_some(0.0) },
        ]
    });
    let moduli = Moduli::Classes { class: &class, young: &[young] };
    let problem =
        StaticProblem { bricks: view, moduli, ratios: Ratios::One(nu), spacing: h, fixed: &fixed, forces: &[] };
    let settings = SolverSettings { tolerance: 1e-10, ..SolverSettings::default() };
    let mut solver = StaticSolver::new(&problem, Grid::Bricks, &settings);
    let solution = solver.solve(&fixed, &[], None, &mut go);
    assert!(solution.converged, "{}", solution.relative_residual);
    let positions: Vec<[u32; 3]> = (0..view.n_bricks()).flat_map(|b| view.node_positions(b)).collect();
    let (mut worst, mut force) = (0.0_f64, 0.0);
    let stiffness = vec![young * h; view.n_elements()];
    let forces = plain(&bricks, &stiffness, &Cube::new(nu), &solution.displacement);
    for (node, position) in positions.iter().enumerate() {
        for (m, factor) in [-nu, -nu, 1.0].into_iter().enumerate() {
            let exact = factor * strain * h * f64::from(position[m]);
            worst = worst.max((solution.displacement[3 * node + m] - exact).abs());
        }
        if position[2] == size[2] {
            force += forces[3 * node + 2];
        }
    }
    assert!(worst < 1e-9 * strain * h * 21.0, "{worst}");
    let exact = young * strain * h * h * f64::from(size[0] * size[1]);
    assert!((force - exact).abs() < 1e-8 * exact, "{force} {exact}");
}

/// Bars between frictionless walls, stretched along themselves, as `solve` solves them, if it can.
pub(super) fn check_bars(solve: impl Fn(&StaticProblem, &SolverSettings) -> Option<Solution>) {
    // One step comes so near that all that is left of the residual is rounding, and along the direction before.
    for size in [[16, 2, 2], [31, 2, 2], [2, 31, 2], [31, 6, 2], [63, 2, 2]] {
        let bricks = bricks_of(size, |_| true);
        let view = bricks.view();
        let class = vec![0; view.n_elements()];
        let fixed = fixed(&view, |at| {
            [0, 1, 2].map(|a| (at[a] == 0 || at[a] == size[a]).then_some(if a == 2 && at[a] > 0 { 0.01 } else { 0.0 }))
        });
        let moduli = Moduli::Classes { class: &class, young: &[100.0] };
        let problem =
            StaticProblem { bricks: view, moduli, ratios: Ratios::One(0.3), spacing: 0.1, fixed: &fixed, forces: &[] };
        let settings = SolverSettings { tolerance: 1e-10, iterations: 100, ..SolverSettings::default() };
        let Some(solution) = solve(&problem, &settings) else { return };
        assert!(solution.converged, "{size:?}: {}", solution.relative_residual);
        let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
        for (at, u) in positions.zip(solution.displacement.chunks(3)) {
            let exact = [0.0, 0.0, 0.01 * f64::from(at[2]) / f64::from(size[2])];
            assert!(u.iter().zip(exact).all(|(u, exact)| (u - exact).abs() < 1e-10), "{size:?} {at:?} {u:?}");
        }
    }
}

/// A sheet two voxels thick off the origin, held all round as a uniform strain moves it, as `solve` solves it, if it can. What is
/// free in its middle is right before anything is solved, but for rounding, of which there is no millionth to come to.
pub(super) fn check_sheet(solve: impl Fn(&StaticProblem, &SolverSettings) -> Option<Solution>) {
    for z0 in 2..6 {
        let bricks = bricks_of([10, 10, 10], |[_, _, z]| z == z0 || z == z0 + 1);
        let view = bricks.view();
        let class = vec![0; view.n_elements()];
        let strain = |at: u32| 0.01 * 0.05 * (f64::from(at) - f64::from(z0 + 1));
        let fixed = fixed(&view, |at| {
            let outside = at[0] % 10 == 0 || at[1] % 10 == 0 || at[2] != z0 + 1;
            [0.0, 0.0, strain(at[2])].map(|u| outside.then_some(u))
        });
        let moduli = Moduli::Classes { class: &class, young: &[1e4] };
        let problem =
            StaticProblem { bricks: view, moduli, ratios: Ratios::One(0.3), spacing: 0.05, fixed: &fixed, forces: &[] };
        let settings = SolverSettings { iterations: 100, ..SolverSettings::default() };
        let Some(solution) = solve(&problem, &settings) else { return };
        assert!(solution.converged, "{z0}: {} after {}", solution.relative_residual, solution.iterations);
        let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
        for (at, u) in positions.zip(solution.displacement.chunks(3)) {
            assert!((u[2] - strain(at[2])).abs() + u[0].abs() + u[1].abs() < 1e-12, "{at:?} {u:?}");
        }
    }
}

#[test]
fn what_is_prescribed_may_be_the_solution() {
    check_sheet(|problem, settings| {
        Some(StaticSolver::new(problem, Grid::Bricks, settings).solve(problem.fixed, &[], None, &mut go))
    });
}

#[test]
fn bars_between_frictionless_walls_are_solved() {
    check_bars(|problem, settings| {
        Some(StaticSolver::new(problem, Grid::Bricks, settings).solve(problem.fixed, &[], None, &mut go))
    });
}

/// Plain conjugate gradients in f64 with these products.
fn plain_solve(n: usize, product: &dyn Fn(&[f64]) -> Vec<f64>, fixed: &[FixedDof], forces: &[NodalForce]) -> Vec<f64> {
    let (mut x, mut free) = (vec![0.0; n], vec![true; n]);
    for dof in fixed {
        x[3 * dof.node as usize + usize::from(dof.direction)] = dof.value;
        free[3 * dof.node as usize + usize::from(dof.direction)] = false;
    }
    let mut r: Vec<f64> = product(&x).iter().map(|y| -y).collect();
    for force in forces {
        r[3 * force.node as usize + usize::from(force.direction)] += force.value;
    }
    let mask = |v: &mut [f64]| v.iter_mut().zip(&free).filter(|(_, free)| !**free).for_each(|(v, _)| *v = 0.0);
    mask(&mut r);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut p, mut rr) = (r.clone(), dot(&r, &r));
    let limit = 1e-19 * rr;
    for _ in 0..3000 {
        if rr <= limit {
            return x;
        }
        let mut q = product(&p);
        mask(&mut q);
        let alpha = rr / dot(&p, &q);
        for i in 0..n {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        let next = dot(&r, &r);
        for i in 0..n {
            p[i] = r[i] + next / rr * p[i];
        }
        rr = next;
    }
    panic!("{rr} {limit}");
}

/// Thin floors on thin pillars, of two materials, forces inside, the lower end held, a side that only slides.
pub(crate) struct Porous {
    pub bricks: Bricks,
    class: Vec<u8>,
    /// Of both materials, if their ratios differ.
    lame: Option<[Lame; 2]>,
    pub fixed: Vec<FixedDof>,
    pub forces: Vec<NodalForce>,
    expected: Vec<f64>,
}

const YOUNG: [f64; 2] = [1000.0, 3000.0];

impl Porous {
    pub fn new() -> Self {
        Self::of([0.25; 2])
    }

    /// With these Poisson's ratios of both materials.
    pub fn of(poisson: [f64; 2]) -> Self {
        let solid = |[x, y, z]: [u32; 3]| z % 5 == 0 || (x % 4 < 2 && y % 5 == 1);
        let bricks = bricks_of([19, 17, 22], solid);
        let view = bricks.view();
        let class: Vec<u8> = (0..view.n_elements()).map(|e| u8::from(random(e as u64) < 0.5)).collect();
        let fixed =
            fixed(&view, |[x, _, z]| if z == 0 { [Some(0.0); 3] } else { [(x == 0).then_some(1e-3), None, None] });
        let forces: Vec<NodalForce> = (0..view.n_nodes() as u32)
            .step_by(97)
            .filter(|&node| fixed.iter().all(|dof| dof.node != node))
            .map(|node| NodalForce { node, direction: (node % 3) as u8, value: 0.3 })
            .collect();
        let cubes = poisson.map(Cube::new);
        let of = |e: usize| (0.1 * YOUNG[usize::from(class[e])], &cubes[usize::from(class[e])]);
        let expected = plain_solve(3 * view.n_nodes(), &|x| plain_of(&bricks, &of, x), &fixed, &forces);
        let lame = (poisson[0] != poisson[1]).then(|| poisson.map(Lame::new));
        Self { bricks, class, lame, fixed, forces, expected }
    }

    pub fn problem(&self) -> StaticProblem<'_> {
        StaticProblem {
            bricks: self.bricks.view(),
            moduli: Moduli::Classes { class: &self.class, young: &YOUNG },
            ratios: self.lame.as_ref().map_or(Ratios::One(0.25), |lame| Ratios::Classes(lame)),
            spacing: 0.1,
            fixed: &self.fixed,
            forces: &self.forces,
        }
    }

    pub fn error(&self, solution: &Solution) -> f64 {
        difference(&self.expected, &solution.displacement)
    }
}

fn difference(expected: &[f64], found: &[f64]) -> f64 {
    let scale = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
    expected.iter().zip(found).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / scale
}

#[test]
fn porous_blocks_are_solved_like_plain_conjugate_gradients_do() {
    let porous = Porous::new();
    let (problem, fixed, forces) = (porous.problem(), &porous.fixed, &porous.forces);
    let settings = SolverSettings { tolerance: 1e-9, ..SolverSettings::default() };
    let solution = StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, None, &mut go);
    assert!(solution.converged && solution.iterations < 40, "{} {}", solution.iterations, solution.relative_residual);
    let error = porous.error(&solution);
    assert!(error < 1e-7, "{error}");
    // The same bits with one thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let single =
        pool.install(|| StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, None, &mut go));
    assert_eq!(single.displacement, solution.displacement);
}

#[test]
fn materials_of_two_ratios_are_solved_like_plain_conjugate_gradients_do() {
    for poisson in [[0.0, 0.45], [0.3, -0.3]] {
        let porous = Porous::of(poisson);
        let (problem, fixed, forces) = (porous.problem(), &porous.fixed, &porous.forces);
        let plain = CycleSettings { bottom: 100, ..CycleSettings::default() };
        // Iterations of the harder pair, with a ratio near that of an incompressible material: 68 in V cycles, and 136 where
        // coarse nodes span voids.
        for (cycle, double, most) in [
            (plain.clone(), false, 60),
            (CycleSettings { kind: CycleKind::V, ..plain.clone() }, true, 80),
            (CycleSettings { split: false, levels: 2, ..plain }, false, 160),
        ] {
            let settings = SolverSettings { tolerance: 1e-9, double, cycle, ..SolverSettings::default() };
            let solution = StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, None, &mut go);
            let error = porous.error(&solution);
            assert!(solution.converged && error < 1e-7, "{settings:?}: {} {error}", solution.relative_residual);
            assert!(solution.iterations < most, "{settings:?}: {}", solution.iterations);
        }
    }
}

#[test]
fn equal_ratios_by_class_are_one_ratio() {
    let porous = Porous::new();
    let one = porous.problem();
    let lame = [Lame::new(0.25); 2];
    let both = StaticProblem { ratios: Ratios::Classes(&lame), ..one };
    let [one, both] = [one, both].map(|problem| {
        let product = Product::new(&problem, vec![1, 5]);
        let x: Vec<f64> = (0..3 * problem.bricks.n_nodes()).map(|i| random(i as u64 + 7) - 0.5).collect();
        let y = std::sync::Mutex::new(vec![0.0; x.len()]);
        product.apply(&x, &mut Scratch::default(), &|first, part| {
            y.lock().unwrap()[3 * first..3 * first + part.len()].copy_from_slice(part);
            0.0
        });
        let diagonal = product.diagonals(|diagonal| diagonal);
        (y.into_inner().unwrap(), diagonal)
    });
    assert!(difference(&one.0, &both.0) < 1e-15 && difference(&one.1, &both.1) < 1e-15);
}

#[test]
fn every_cycle_operator_and_precision_comes_to_the_same() {
    let porous = Porous::new();
    let (problem, fixed, forces) = (porous.problem(), &porous.fixed, &porous.forces);
    let plain = CycleSettings { bottom: 100, ..CycleSettings::default() };
    let mut iterations = Vec::new();
    for (cycle, double) in [
        (plain.clone(), false),
        (plain.clone(), true),
        (CycleSettings { kind: CycleKind::V, ..plain.clone() }, false),
        (CycleSettings { kind: CycleKind::W, ..plain.clone() }, false),
        (CycleSettings { kind: CycleKind::F, ..plain.clone() }, false),
        (CycleSettings { split: false, ..plain.clone() }, false),
        (CycleSettings { ratio: Some(8.0), ..plain.clone() }, false),
        (CycleSettings { degree: [1, 1], ..plain.clone() }, false),
        (CycleSettings { degree: [3, 4], ..plain.clone() }, false),
        (CycleSettings { degree: [6, 5], ..plain.clone() }, true),
        (CycleSettings { levels: 2, ..plain.clone() }, false),
        (CycleSettings { levels: 3, bottom_steps: Some(30), ..plain }, false),
    ] {
        let settings = SolverSettings { tolerance: 1e-9, double, cycle, ..SolverSettings::default() };
        let solution = StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, None, &mut go);
        let error = porous.error(&solution);
        assert!(solution.converged && error < 1e-7, "{settings:?}: {} {error}", solution.relative_residual);
        iterations.push(solution.iterations);
    }
    let [k, double, v, w, f, galerkin, ratio, one, three, six, two_levels, jacobi] = iterations[..] else { panic!() };
    // The same preconditioner up to rounding, and better ones with more work.
    assert!(k.abs_diff(double) <= 1, "{iterations:?}");
    assert!(w <= v && f <= v && w <= f, "{iterations:?}");
    assert!(galerkin >= k, "{iterations:?}");
    assert!(three < k && k < one && six < three, "{iterations:?}");
    assert!(ratio < 2 * k && two_levels < 4 * k && jacobi < 4 * k, "{iterations:?}");
}

#[test]
fn a_start_vector_is_what_the_norm_says() {
    let porous = Porous::new();
    let (problem, fixed, forces) = (porous.problem(), &porous.fixed, &porous.forces);
    let near: Vec<f64> = porous.expected.iter().enumerate().map(|(i, x)| x * (1.0 + 1e-3 * random(i as u64))).collect();
    let run = |from_start| {
        let settings = SolverSettings { tolerance: 1e-6, from_start, ..SolverSettings::default() };
        StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, Some(&near), &mut go)
    };
    let (load, start) = (run(false), run(true));
    assert!(load.converged && start.converged);
    // ‖r‖ of the start vector is smaller than that of 0: to reduce it as much takes longer.
    assert!(start.iterations > load.iterations, "{} {}", start.iterations, load.iterations);
    assert!(porous.error(&start) < porous.error(&load));
    // A solution needs nothing.
    let settings = SolverSettings { tolerance: 1e-6, ..SolverSettings::default() };
    let again =
        StaticSolver::new(&problem, Grid::Bricks, &settings).solve(fixed, forces, Some(&start.displacement), &mut go);
    assert_eq!(again.iterations, 0);
}
