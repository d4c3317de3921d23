//! What corrects a step when all nodes have moved: dashpots and linear constraints.

use pogo_formats::mesh::ElementLaw;

use super::host::{compare_parts, compare_twin};
use super::*;
use crate::explicit::tests::ground;

/// Dashpots at every seventh node, of fluids at the pressure alone.
pub(super) fn dashpots(problem: &Problem) -> Vec<Dashpot> {
    let (d, n) = (problem.mesh.dimension, problem.mesh.n_nodes());
    let fluid = problem.mesh.fluid_nodes();
    let mut all = ground::dashpots(&problem.lumped_mass, problem.time_increment, d, (n - 1) as u32);
    let of_fluid = |dashpot: &&mut Dashpot| fluid.get(dashpot.node as usize).is_some_and(|&fluid| fluid);
    for dashpot in all.iter_mut().filter(of_fluid) {
        let pressure = dashpot.matrix[0][0];
        dashpot.matrix = [[0.0; 3]; 3];
        dashpot.matrix[0][0] = pressure;
    }
    // Some are at nodes of a solid that touch a fluid, some at those of the fluid, some at both.
    let touching = |node: u32| problem.wet.iter().any(|pair| pair.solid == node || pair.fluid == node);
    assert!(problem.wet.is_empty() || all.iter().any(|dashpot| touching(dashpot.node)));
    all
}

/// Boxes of solids: each kind, in a grid and in two materials.
fn solid_cases(cells: [[usize; 3]; 2], capacity: usize, check: &mut dyn FnMut(&str, Arranged)) {
    let (steel, other) = (isotropic(210e9, 0.3), isotropic(70e9, 0.33));
    for kind in ElementKind::SOLIDS {
        for materials in [&[steel][..], &[steel, other], &[anisotropic(), other]] {
            let case = Arranged::new(box_mesh(kind, cells[kind.dimension() - 2], 1e-3, 0.2), materials, capacity);
            check(&format!("{} {}", kind.name(), materials.len()), case);
        }
    }
}

#[test]
fn dashpots_on_the_host_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        let mut problem = problem_of(&case, what);
        if problem.mesh.groups.iter().any(|group| group.kind.law() == ElementLaw::Triangle) {
            // Fans are not compiled for the host.
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
        }
        problem.dashpots = dashpots(&problem);
        compare_twin::<f64>(&case, &problem, what, 1e-12);
        // Barriers take long on the host.
        if !what.ends_with(" 1") {
            compare_twin::<f32>(&case, &problem, what, 1e-5);
        }
    };
    solid_cases([[9, 8, 0], [5, 5, 5]], 60, &mut check);
    let mut distorted = |what: &str, case: Arranged| {
        if what.contains("distorted") {
            check(what, case);
        }
    };
    fluid_cases([[9, 8, 0], [7, 6, 6]], 60, &mut distorted);
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn dashpots_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        let mut problem = problem_of(&case, what);
        problem.dashpots = dashpots(&problem);
        compare::<f64>(&case, &problem, &format!("dashpots, {what} f64"), 1e-12);
        compare::<f32>(&case, &problem, &format!("dashpots, {what} f32"), 1e-5);
    };
    solid_cases([[40, 35, 0], [13, 11, 9]], 300, &mut check);
    fluid_cases([[40, 35, 0], [13, 11, 9]], 300, &mut check);
}

/// Sub-domains of one device give the bits of all of it, energies included.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn dashpots_in_parts_of_a_device() {
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4r, ElementKind::C3d4, ElementKind::C3d8] {
        let cells = if kind.dimension() == 2 { [90, 60, 0] } else { [16, 14, 12] };
        let mut case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), &[isotropic(200e9, 0.3)], 250);
        case.device.grid_size.clear();
        case.device.grid_material.clear();
        case.device.grid_places.clear();
        let mut problem = case.problem();
        problem.dashpots = dashpots(&problem);
        println!("dashpots, {}", kind.name());
        parts_of::<f64>(&case, &problem, &[0, 0, 0], Exchange::Plain, |b, n| (b * 3 / n) as u32);
        parts_of::<f32>(&case, &problem, &[0, 0], Exchange::Messages, |b, _| (b / 2 % 2) as u32);
    }
}

/// Adds a row over degrees of freedom, or massless unknowns beyond.
fn add_row(rows: &mut LinearRows, terms: impl IntoIterator<Item = (u64, f64)>) {
    for (dof, coefficient) in terms {
        rows.dofs.push(dof);
        rows.coefficients.push(coefficient);
    }
    rows.first.push(rows.dofs.len() as u32);
}

/// Some traces are forces of constraints, m/Δt² times what is taken from Δu. In f32 they have the rounding of Δu: those of the CPU in
/// f32 differ from those in f64 by up to 8e-5 here. These rows also let rounding grow: displacements of the CPU in f32 and in f64
/// differ by up to 9e-5 of the largest, of 20 by 18 elements.
pub(super) const SINGLE: Limits = Limits { traces: 2e-4, displacement: 5e-4, forces: 5e-6 };

/// A tie with followers in chains, nodes that follow a massless unknown, one that many follow, a mean, a massless unknown that is
/// prescribed, rows of prescribed degrees of freedom and rows that follow from others; monitors of motion and of forces.
pub(super) fn constrain(problem: &mut Problem) {
    let n_nodes = problem.mesh.n_nodes() as u64;
    let d = problem.mesh.dimension as u64;
    let n_dofs = n_nodes * d;
    let prescribed = Constraint { dof: 1, signal: 3, value: 1e-7 };
    let mut rows =
        LinearRows { first: vec![0], n_dofs, n_massless: 3, prescribed: vec![prescribed], ..LinearRows::default() };
    let (tied, fifth) = (n_nodes / 9, n_nodes / 5);
    for c in 0..d {
        for k in 0..tied {
            let [node, to] = [fifth + 2 * k, 3 * fifth + k].map(|node| node * d + c);
            add_row(&mut rows, [(node, 1.0), (to, -0.6), (to + d, -0.4)]);
        }
        // Massless unknown 0 in components of their own scale; unknown 1 is prescribed.
        for k in 0..20 {
            add_row(&mut rows, [((2 + 3 * k) * d + c, 1.0), (n_dofs, -1.0 - c as f64)]);
        }
    }
    for k in 0..20 {
        add_row(&mut rows, [((fifth - 1 - k) * d, 1.0), ((fifth + 1) * d + 1, -0.5 + noise(k))]);
    }
    add_row(&mut rows, (0..40).map(|k| ((n_nodes - 2 - k) * d, 1.0)).chain([(n_dofs + 2, -40.0)]));
    add_row(&mut rows, [((n_nodes - 3) * d + 1, 1.0), (n_dofs + 1, -1.0)]);
    // What follows from others.
    for at in [0, 3 * tied as usize / 2] {
        let terms: Vec<(u64, f64)> = rows.terms(at).map(|(dof, c)| (dof, 2.0 * c)).collect();
        add_row(&mut rows, terms);
    }
    // A node of a solid that touches a fluid follows another one.
    for pairs in problem.wet.chunks_exact(3) {
        let [a, b] = [0, 1].map(|k| u64::from(pairs[k].solid) * d);
        add_row(&mut rows, [(a, 1.0), (b, -0.7)]);
        add_row(&mut rows, [(a + 1, 1.0), (b + 1, -0.7), (b, 0.1)]);
    }
    let mut rows = of_solids(problem, &rows);
    constrain_fluids(problem, &mut rows);
    let named: Vec<u64> = rows.dofs.iter().copied().filter(|&dof| dof < n_dofs).collect();
    // Some of what rows name is loaded, some prescribed to rest.
    problem.forces.extend(named.iter().step_by(11).map(|&dof| NodalForce {
        dof,
        signal: (dof % 9) as u32,
        value: 40.0,
    }));
    problem.constraints.retain(|held| held.value == 0.0 || named.binary_search(&held.dof).is_err());
    problem.constraints.retain(|held| held.value == 0.0);
    problem.monitors.extend(named.iter().step_by(7));
    problem.rows = rows;
    let of_forces = (0..n_dofs).step_by(17).map(|dof| problem.monitor_of_force(dof));
    problem.monitors.extend(of_forces.collect::<Vec<u64>>());
}

/// Adds rows over nodes of fluids, some of them at solids: chains, a node that many follow, and a row that follows from others.
fn constrain_fluids(problem: &Problem, rows: &mut LinearRows) {
    let d = problem.mesh.dimension as u64;
    let fluids = (0..).zip(problem.mesh.fluid_nodes()).filter(|&(_, is_fluid)| is_fluid);
    let inside: Vec<u64> = fluids.map(|(node, _): (u64, bool)| node * d).collect();
    let pairs = problem.wet.iter().chain(&problem.tied);
    let mut touching: Vec<u64> = pairs.map(|pair| u64::from(pair.fluid) * d).collect();
    // A row names each of its degrees of freedom once.
    touching.sort_unstable();
    touching.dedup();
    if inside.is_empty() {
        return;
    }
    let (third, first) = (inside.len() / 3, rows.n_rows());
    for k in 0..third / 2 {
        add_row(rows, [(inside[2 * k], 1.0), (inside[2 * third + k], -0.6), (inside[2 * third + k + 1], -0.4)]);
    }
    for k in 0..third / 4 {
        add_row(rows, [(inside[third + 3 * k], 1.0), (inside[third + 1], -0.5 + noise(k as u64))]);
    }
    for of_touching in touching.chunks_exact(3) {
        add_row(rows, [(of_touching[0], 1.0), (of_touching[1], -0.7)]);
    }
    let repeated: Vec<(u64, f64)> = rows.terms(first).map(|(dof, c)| (dof, -3.0 * c)).collect();
    add_row(rows, repeated);
}

/// The rows that name no node of a fluid.
fn of_solids(problem: &Problem, rows: &LinearRows) -> LinearRows {
    let (fluid, d) = (problem.mesh.fluid_nodes(), problem.mesh.dimension as u64);
    let is_fluid = |dof: u64| dof < rows.n_dofs && fluid.get((dof / d) as usize).is_some_and(|&fluid| fluid);
    let mut kept = LinearRows { first: vec![0], dofs: Vec::new(), coefficients: Vec::new(), ..rows.clone() };
    for row in (0..rows.n_rows()).filter(|&row| !rows.terms(row).any(|(dof, _)| is_fluid(dof))) {
        add_row(&mut kept, rows.terms(row));
    }
    kept
}

/// Ties every second fluid's node that touches a solid to three nodes of it in the place of that.
fn tie(problem: &mut Problem) {
    let (wet, apart): (Vec<_>, Vec<_>) = problem.wet.iter().copied().enumerate().partition(|(at, _)| at % 2 == 0);
    let apart: Vec<WetPair> = apart.into_iter().map(|(_, pair)| pair).collect();
    problem.wet = wet.into_iter().map(|(_, pair)| pair).collect();
    for (at, pair) in apart.iter().enumerate() {
        for (ahead, part) in [(0, 0.5), (1, 0.3), (apart.len() - 1, 0.2)] {
            let solid = apart[(at + ahead) % apart.len()].solid;
            problem.tied.push(WetPair { solid, area: pair.area.map(|area| part * area), ..*pair });
        }
    }
}

/// Damps the solid in proportion to its stiffness and by relaxation. Fluids and solids that touch are tied then.
fn damp(problem: &mut Problem) {
    viscous::damp(problem, viscous::Damping::Both);
    problem.damping_beta[1] = 0.0;
    problem.relaxation.strengths[1] = [0.0; 3];
    tie(problem);
    problem.tied.append(&mut problem.wet);
}

/// Names of a case, and what is added to its problem.
type Joining = (&'static str, fn(&mut Problem));

/// What joins nodes of a model with fluids.
const JOINING: [Joining; 6] = [
    ("rows", constrain),
    ("ties", tie),
    ("rows and ties", |problem| {
        tie(problem);
        constrain(problem);
    }),
    ("rows, ties and dashpots", |problem| {
        problem.dashpots = dashpots(problem);
        tie(problem);
        constrain(problem);
    }),
    ("damping", damp),
    ("damping, rows and dashpots", |problem| {
        problem.dashpots = dashpots(problem);
        damp(problem);
        constrain(problem);
    }),
];

/// Models of solids with dashpots and rows, and of fluids on solids with rows, ties and dashpots.
fn joined_cases(
    cells: [[usize; 3]; 2],
    capacity: usize,
    is_on_host: bool,
    check: &mut dyn FnMut(&str, &Arranged, &Problem),
) {
    solid_cases(cells, capacity, &mut |what, case| {
        let mut problem = case.problem();
        if is_on_host && problem.mesh.groups.iter().any(|group| group.kind.law() == ElementLaw::Triangle) {
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
        }
        problem.dashpots = dashpots(&problem);
        constrain(&mut problem);
        check(&format!("dashpots and rows, {what}"), &case, &problem);
    });
    fluid_cases(cells, capacity, &mut |what, case| {
        // Fans are not compiled for the host.
        if !what.contains("distorted") && (is_on_host || what.contains(" on ")) {
            return;
        }
        if !what.contains(" on ") {
            let mut problem = problem_of(&case, what);
            problem.dashpots = dashpots(&problem);
            constrain(&mut problem);
            return check(&format!("dashpots and rows, {what}"), &case, &problem);
        }
        for (name, join) in JOINING {
            let mut problem = problem_of(&case, what);
            join(&mut problem);
            check(&format!("{name}, {what}"), &case, &problem);
        }
    });
}

#[test]
fn joined_models_on_the_host_as_on_the_cpu() {
    joined_cases([[13, 12, 0], [7, 6, 6]], 60, true, &mut |what, case, problem| {
        // Barriers take long on the host. Corrections do not know the kinds of elements.
        let is_taken = ["rows, CPE4R 1", "rows, C3D8 2", "AC2D4 on CPE4", "AC3D8R", "rows, AC2D4R", "rows, AC3D4"];
        if !is_taken.iter().any(|taken| what.contains(taken)) {
            return;
        }
        compare_twin::<f64>(case, problem, what, 1e-11);
        if what.contains("dashpots") {
            compare_twin::<f32>(case, problem, what, 2e-5);
        }
    });
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn joined_models_as_on_the_cpu() {
    joined_cases([[40, 35, 0], [13, 11, 9]], 300, false, &mut |what, case, problem| {
        compare::<f64>(case, problem, &format!("{what} f64"), 1e-11);
        // Displacements of the CPU in f32 and in f64 differ by up to 4.9e-4 of the largest here.
        let limits = Limits { displacement: 2e-3, ..SINGLE };
        compare_within::<f32>(case, problem, &format!("{what} f32"), limits);
    });
}

/// Fluids on solids with rows and ties, and solids with dashpots and rows; `cells` across, in the plane and in space.
fn joined_parts(cells: [[usize; 3]; 2], capacity: usize, check: &mut dyn FnMut(&str, &Arranged, &Problem)) {
    let materials = [isotropic(210e9, 0.3), isotropic(70e9, 0.33)];
    for kind in [ElementKind::Cpe4, ElementKind::C3d8] {
        let cells = cells[kind.dimension() - 2];
        let case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), &materials[..1], capacity);
        let mut problem = case.problem();
        problem.dashpots = dashpots(&problem);
        constrain(&mut problem);
        check(&format!("dashpots and rows, {}", kind.name()), &case, &problem);
        let case = Arranged::touching(solid_below_fluid(kind, cells.map(|n| n.div_ceil(2)), 0.2), &materials, capacity);
        for (name, join) in JOINING {
            let mut problem = case.problem();
            join(&mut problem);
            check(&format!("{name}, {}", kind.name()), &case, &problem);
        }
    }
}

#[test]
fn parts_of_joined_models_on_the_host_have_the_bits_of_one_device() {
    joined_parts([[17, 14, 0], [9, 8, 8]], 60, &mut |what, case, problem| {
        compare_parts::<f64>(case, problem, &format!("{what}, halves"), 2, &|b, n| 2 * b / n);
        compare_parts::<f32>(case, problem, &format!("{what}, strewn"), 3, &|b, _| b % 3);
    });
}

/// Sub-domains of one device, and devices, give the bits of one.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn joined_models_in_parts() {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    joined_parts([[90, 60, 0], [16, 14, 12]], 250, &mut |what, case, problem| {
        println!("{what}");
        for (ordinals, exchange) in ways(&every) {
            let k = ordinals.len();
            parts_of::<f64>(case, problem, ordinals, exchange, |b, n| (b * k / n) as u32);
            parts_of::<f32>(case, problem, ordinals, exchange, |b, _| (b / 2 % k) as u32);
        }
    });
}

#[test]
fn linear_constraints_on_the_host_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        // Barriers take long on the host: of two materials only hexahedra, which stand in a grid otherwise.
        if !what.ends_with(" 1") && !what.starts_with("C3D8 ") {
            return;
        }
        let mut problem = case.problem();
        if problem.mesh.groups.iter().any(|group| group.kind.law() == ElementLaw::Triangle) {
            problem.stiffness_factor = vec![1.1; case.mesh.n_elements()];
        }
        constrain(&mut problem);
        compare_twin::<f64>(&case, &problem, what, 1e-12);
        compare_twin::<f32>(&case, &problem, what, 1e-5);
    };
    solid_cases([[13, 12, 0], [5, 5, 5]], 60, &mut check);
}

#[test]
fn parts_with_linear_constraints_on_the_host_have_the_bits_of_one_device() {
    for (kind, cells, capacity) in [(ElementKind::Cpe4, [17, 14, 0], 60), (ElementKind::C3d8, [9, 8, 8], 60)] {
        let case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), &[isotropic(210e9, 0.3)], capacity);
        let mut problem = case.problem();
        constrain(&mut problem);
        let name = kind.name();
        compare_parts::<f64>(&case, &problem, &format!("constraints, {name} halves"), 2, &|b, n| 2 * b / n);
        compare_parts::<f32>(&case, &problem, &format!("constraints, {name} strewn"), 3, &|b, _| b % 3);
    }
}

/// Sub-domains of one device, and devices, give the bits of one.
#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn linear_constraints_in_parts() {
    let every: Vec<u32> = (0..crate::device::n_devices().unwrap().min(4)).collect();
    for kind in [ElementKind::Cpe3, ElementKind::Cpe4r, ElementKind::C3d4, ElementKind::C3d8] {
        let cells = if kind.dimension() == 2 { [90, 60, 0] } else { [16, 14, 12] };
        let case = Arranged::new(box_mesh(kind, cells, 1e-3, 0.2), &[isotropic(200e9, 0.3)], 250);
        let mut problem = case.problem();
        constrain(&mut problem);
        println!("constraints, {}", kind.name());
        for (ordinals, exchange) in ways(&every) {
            let k = ordinals.len();
            parts_of::<f64>(&case, &problem, ordinals, exchange, |b, n| (b * k / n) as u32);
            parts_of::<f32>(&case, &problem, ordinals, exchange, |b, _| (b / 2 % k) as u32);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn linear_constraints_as_on_the_cpu() {
    let mut check = |what: &str, case: Arranged| {
        let mut problem = case.problem();
        constrain(&mut problem);
        compare::<f64>(&case, &problem, &format!("constraints, {what} f64"), 1e-12);
        compare_within::<f32>(&case, &problem, &format!("constraints, {what} f32"), SINGLE);
    };
    solid_cases([[40, 35, 0], [13, 11, 9]], 300, &mut check);
}
