//! Voxel statics against exact solutions, by the kernels and by a plain solver.

mod reference;

use std::path::{Path, PathBuf};

use pogo_formats::job::JobFile as _;
use pogo_formats::voxel::job::{GivenConditions, VoxelJob};
use pogo_formats::voxel::setup::VoxelMaterial;
use pogo_formats::voxel::summary::{Tensor, VoxelSummary};
use pogo_formats::voxel::{VoxelMesh, VoxelSetup, bricks_of};
use pogo_formats::write::npy;
use pogo_formats::write::summary::{BlockFileSummary, Status};
use pogo_kernels::voxel::{Grid, Moduli, Ratios, StaticProblem};

use super::case::{Conditions, coordinates};
use super::conditions::conditions;
use super::element::elasticity;
use super::elements::Matter;
use super::run::run;
use super::support::Bodies;
use crate::call::Call;
use crate::config::Config;
use crate::device::Device;
use crate::folder::RunFolder;
use crate::interrupt::Interrupts;
use crate::observe::Silent;
use crate::team::Team;
use pogo_formats::system::memory::Need;

const H: f64 = 0.25;
const YOUNG: f64 = 1200.0;
const POISSON: f64 = 0.3;

/// A model of voxels in one or two materials (class 0 and 1).
fn mesh(size: [u32; 3], class: impl Fn([u32; 3]) -> Option<u8>) -> VoxelMesh {
    let bricks = bricks_of(size, |at| class(at).is_some());
    let view = bricks.view();
    let positions = (0..view.n_bricks()).flat_map(|brick| view.element_positions(brick));
    let element_class = positions.map(|at| class(at).unwrap()).collect();
    VoxelMesh { size, spacing: H, origin: [1.0, -2.0, 0.5], bricks, element_class, element_modulus: Vec::new() }
}

fn setup(mesh: &VoxelMesh, tables: &str) -> VoxelSetup {
    let head = format!("[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1.0\npoisson = {POISSON}\n{tables}");
    let tolerance = if tables.contains("[solver]") { "" } else { "[solver]\ntolerance = 1e-11\n" };
    let job = VoxelJob::parse(&(head + tolerance), "job.toml", std::path::Path::new("")).unwrap();
    let material = |name: &str, young| VoxelMaterial { name: name.into(), young, poisson: None };
    let materials = vec![material("soft", YOUNG), material("hard", 10.0 * YOUNG)];
    job.setup(&mesh.view(), materials, &GivenConditions::default(), &|_| Err("no mask".into())).unwrap()
}

fn solve(mesh: &VoxelMesh, setup: &VoxelSetup, folder: &Path) -> Result<VoxelSummary, String> {
    solve_from(None, mesh, setup, folder)
}

fn solve_from(
    start_vector: Option<PathBuf>,
    mesh: &VoxelMesh,
    setup: &VoxelSetup,
    folder: &Path,
) -> Result<VoxelSummary, String> {
    let config = Config { start: start_vector, ..Config::default() };
    let call = Call {
        config: &config,
        case: None,
        shot: None,
        overrides: Vec::new(),
        settings: &config.settings,
        folder: &RunFolder::take(folder).map_err(|error| error.to_string())?,
        resume: None,
        block_file: BlockFileSummary::default(),
        interrupts: &Interrupts::default(),
        device: Device::start(config.settings.device.list(None).unwrap(), Vec::new()),
        team: Team::new(None, 1),
        need: Need::default(),
        report: None,
        kept: None,
        seat: Default::default(),
    };
    let summary = run(&mesh.view(), Grid::Bricks, setup, &call, &mut Silent).map_err(|error| error.to_string())?;
    Ok(summary.of::<VoxelSummary>().unwrap().clone())
}

fn solved(mesh: &VoxelMesh, tables: &str) -> VoxelSummary {
    let folder = tempfile::tempdir().unwrap();
    let summary = solve(mesh, &setup(mesh, tables), folder.path()).unwrap();
    assert_eq!(summary.ending.status, Status::Completed, "{:?}", summary.ending.message);
    summary
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found:e} is not {expected:e}");
}

/// Displacements of the first case, with the positions of the nodes.
fn displacements(mesh: &VoxelMesh, setup: &VoxelSetup) -> (Conditions, Vec<[f64; 3]>, Vec<f64>) {
    let view = mesh.view();
    let bodies = Bodies::find(&view.bricks);
    let conditions = conditions(&view, setup, &setup.cases[0], &bodies).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let summary = solve(mesh, setup, folder.path()).unwrap();
    assert_eq!(summary.ending.status, Status::Completed, "{:?}", summary.ending.message);
    let n = view.bricks.n_nodes();
    let u = npy::read_rows(&folder.path().join("displacement.npy"), n).unwrap();
    let x = (0..n as u32).map(|node| coordinates(&view, node)).collect();
    (conditions, x, u)
}

#[test]
fn a_uniform_cube_has_the_exact_moduli() {
    let mesh = mesh([5, 6, 9], |_| Some(0));
    let shear = 0.5 * YOUNG / (1.0 + POISSON);
    let lateral = YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    for axis in ["x", "y", "z"] {
        let free = solved(&mesh, &format!("[load]\npreset = \"uniaxial\"\naxis = \"{axis}\"\nstrain = -0.01\n"));
        let apparent = free.cases[0].apparent.clone().unwrap();
        close(apparent.value, YOUNG, 1e-9);
        close(apparent.strain, -0.01, 1e-12);
        close(free.cases[0].strain_energy, 0.5 * YOUNG * 1e-4 * 270.0 * H.powi(3), 1e-9);
        close(free.cases[0].effective_strain.maximum, 0.01, 1e-6);
        close(free.cases[0].failure.clone().unwrap().factor, 0.7, 1e-6);
        assert!(free.cases[0].imbalance < 1e-9);
        let confined = solved(&mesh, &format!("[load]\npreset = \"confined\"\nside = \"{axis}min\"\nstrain = 0.02\n"));
        close(confined.cases[0].apparent.clone().unwrap().value, lateral, 1e-9);
    }
    // All faces held to a simple shear.
    let gradient = "gradient = [[0, 0, 0.02], [0, 0, 0], [0, 0, 0]]";
    let side = "side = [\"xmin\", \"xmax\", \"ymin\", \"ymax\", \"zmin\", \"zmax\"]";
    let summary = solved(&mesh, &format!("[[boundary]]\nname = \"skin\"\n{side}\n{gradient}\n"));
    close(summary.reaction["zmax"][0], shear * 0.02 * 30.0 * H * H, 0.35);
    close(summary.cases[0].strain_energy, 0.5 * shear * 4e-4 * 270.0 * H.powi(3), 1e-9);
}

#[test]
fn a_force_scales_the_solution() {
    let mesh = mesh([4, 4, 8], |_| Some(0));
    let summary = solved(&mesh, "[load]\npreset = \"axial\"\nforce = -3.0\n");
    close(summary.reaction["zmax"][2], -3.0, 1e-9);
    close(summary.reaction["zmin"][2], 3.0, 1e-9);
    let moment = solved(&mesh, "[load]\npreset = \"torsion\"\nmoment = 0.2\n");
    close(moment.cases[0].apparent.clone().unwrap().load, 0.2, 1e-9);
    let failure = moment.cases[0].failure.clone().unwrap();
    close(failure.load[2], 0.2 * failure.factor, 1e-9);
    // Under a traction the free cube is as long as under the platens.
    let traction = solved(
        &mesh,
        "[[boundary]]\nside = \"zmin\"\ncomponents = \"z\"\n[[boundary]]\nnodes = [[0, 0, 0]]\ncomponents = [1, 2]\n\
         [[boundary]]\nnodes = [[4, 0, 0]]\ncomponents = 2\n[[force]]\nside = \"zmax\"\ntraction = [0, 0, 12.0]\n",
    );
    close(traction.cases[0].strain_energy, 0.5 * 144.0 / YOUNG * 128.0 * H.powi(3), 1e-9);
    close(traction.reaction["zmin"][2], -12.0 * H * H * 16.0, 1e-9);
}

#[test]
fn the_patch_test_holds_to_rounding() {
    // A porous block whose skin follows an affine field: what is inside must follow too.
    let mesh = mesh([9, 10, 11], |_| Some(0));
    let gradient = [[1e-3, 2e-3, -5e-4], [3e-4, -2e-3, 7e-4], [1e-4, -6e-4, 4e-3]];
    let side = "side = [\"xmin\", \"xmax\", \"ymin\", \"ymax\", \"zmin\", \"zmax\"]";
    let setup = setup(
        &mesh,
        &format!(
            "[[boundary]]\n{side}\ngradient = {gradient:?}\ncentre = [0.5, 0.25, 1.0]\n[solver]\ntolerance = 1e-13\n"
        ),
    );
    let (conditions, x, u) = displacements(&mesh, &setup);
    assert!(conditions.fixed.len() < 3 * x.len());
    let expected = |x: &[f64; 3], row: usize| {
        let centre = [0.5, 0.25, 1.0];
        (0..3).map(|k| gradient[row][k] * (x[k] - centre[k])).sum::<f64>()
    };
    for (node, x) in x.iter().enumerate() {
        for row in 0..3 {
            let error = u[3 * node + row] - expected(x, row);
            assert!(error.abs() < 1e-13, "{error:e} at {x:?}");
        }
    }
}

#[test]
fn a_laminate_has_the_exact_moduli() {
    // Layers of two materials across z, each 2 voxels thick.
    let mesh = mesh([6, 5, 8], |at| Some((at[2] / 2 % 2) as u8));
    let stiff = elasticity(POISSON).map(|row| row.map(|x| x * YOUNG));
    let confined = solved(&mesh, "[load]\npreset = \"confined\"\nstrain = -0.01\n");
    // In series across the layers: the stress is uniform.
    let series = 2.0 / (1.0 / stiff[2][2] + 0.1 / stiff[2][2]);
    close(confined.cases[0].apparent.clone().unwrap().value, series, 1e-9);
    // In parallel along them: σxx = Σ (C11 − C13²/C33) ε / n + C13/C33 σzz with ε_zz free to compensate: the mean
    // ε_zz is nil, σzz is uniform.
    let along = solved(&mesh, "[load]\npreset = \"confined\"\naxis = \"x\"\nstrain = -0.01\n");
    let ratio = stiff[0][2] / stiff[2][2];
    let plane = stiff[0][0] - stiff[0][2] * ratio;
    // σzz from ∫ ε_zz dz = 0 with ε_zz = (σzz − C13 ε) / C33 in each layer, C13 / C33 the same in both.
    let sigma = ratio * series;
    close(along.cases[0].apparent.clone().unwrap().value, plane * 5.5 + ratio * sigma, 1e-9);
}

#[test]
fn six_cases_give_the_tensor() {
    let mesh = mesh([5, 6, 7], |_| Some(0));
    let exact = elasticity(POISSON).map(|row| row.map(|x| x * YOUNG));
    for boundary in ["kinematic", "static"] {
        let summary = solved(&mesh, &format!("[load]\npreset = \"six-cases\"\nboundary = \"{boundary}\"\n"));
        let tensor = summary.tensor.unwrap();
        for (found, expected) in tensor.stiffness.iter().flatten().zip(exact.iter().flatten()) {
            assert!((found - expected).abs() < 1e-8 * YOUNG, "{boundary}: {found} {expected}");
        }
        close(tensor.orthotropic.young[0], YOUNG, 1e-8);
        assert!(tensor.asymmetry < 1e-9);
        assert_eq!(summary.cases.len(), 6);
    }
    // Of a porous sample kinematic conditions give the stiffer answer.
    let porous = self::mesh([6, 6, 6], |at| (!(at[0] % 3 == 1 && at[1] % 3 == 1)).then_some(0));
    let [upper, lower] = ["kinematic", "static"].map(|boundary| {
        solved(&porous, &format!("[load]\npreset = \"six-cases\"\nboundary = \"{boundary}\"\n")).tensor.unwrap()
    });
    for case in 0..6 {
        assert!(upper.stiffness[case][case] >= lower.stiffness[case][case] * (1.0 - 1e-6));
    }
    // Far from the origin, as in the coordinates of a scanner, it is the same although the forces balance only roughly.
    let rough = "[load]\npreset = \"six-cases\"\n[solver]\ntolerance = 1e-6\n";
    for boundary in ["kinematic", "periodic"] {
        let tables = rough.replace("six-cases\"", &format!("six-cases\"\nboundary = \"{boundary}\""));
        let near = solved(&porous, &tables).tensor.unwrap();
        let far = VoxelMesh { origin: [1e5, -2e5, 3e5], ..porous.clone() };
        let away = difference(&solved(&far, &tables).tensor.unwrap(), &near);
        assert!(away < 1e-6, "{boundary}: {away}");
    }
    // Straight pores along z change E3 by the solid fraction, 1 − 4/36, exactly.
    close(lower.orthotropic.young[2], YOUNG * (1.0 - 4.0 / 36.0), 1e-8);
    close(upper.orthotropic.shear[0], lower.orthotropic.shear[0], 0.5);
}

#[test]
fn a_run_that_was_stopped_goes_on_with_the_cases_it_has() {
    let mesh = mesh([3, 4, 5], |_| Some(0));
    let setup = setup(&mesh, "[load]\npreset = \"six-cases\"\nboundary = \"static\"\n");
    let folder = tempfile::tempdir().unwrap();
    solve(&mesh, &setup, folder.path()).unwrap();
    std::fs::remove_file(folder.path().join("displacement-xy.npy")).unwrap();
    let again = || {
        let out = tempfile::tempdir().unwrap();
        solve_from(Some(folder.path().to_owned()), &mesh, &setup, out.path())
    };
    let iterations: Vec<u64> = again().unwrap().cases.iter().map(|case| case.iterations).collect();
    assert!(iterations[..5] == [0; 5] && iterations[5] > 0, "{iterations:?}");
    for case in ["xx", "yy", "zz", "yz", "xz"] {
        std::fs::remove_file(folder.path().join(format!("displacement-{case}.npy"))).unwrap();
    }
    assert!(again().is_err());
}

const PERIODIC: &str = "[load]\npreset = \"six-cases\"\nboundary = \"periodic\"\nbounds = \"image\"\n";

fn difference(a: &Tensor, b: &Tensor) -> f64 {
    let size = a.stiffness.iter().flatten().map(|c| c.abs()).fold(0.0, f64::max);
    let pairs = a.stiffness.iter().flatten().zip(b.stiffness.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}

#[test]
fn a_periodic_laminate_has_the_exact_tensor() {
    // Layers across z: sizes that are even, odd, and one. The materials differ in Poisson's ratio, too, or they do not.
    let ratios = [[POISSON; 2], [0.1, 0.45], [POISSON; 2], [0.3, -0.2]];
    for ((size, hard), ratios) in
        [([4, 6, 8], 4), ([5, 3, 7], 3), ([1, 2, 5], 2), ([9, 1, 6], 1)].into_iter().zip(ratios)
    {
        let mesh = mesh(size, |at| Some(u8::from(at[2] < hard)));
        let share = f64::from(hard) / f64::from(size[2]);
        let [soft, hard] = [0, 1].map(|at| elasticity(ratios[at]).map(|row| row.map(|x| [1.0, 10.0][at] * YOUNG * x)));
        let mean = |f: &dyn Fn(&[[f64; 6]; 6]) -> f64| (1.0 - share) * f(&soft) + share * f(&hard);
        let c33 = 1.0 / mean(&|d| 1.0 / d[2][2]);
        let ratio = mean(&|d| d[0][2] / d[2][2]);
        let plane = |column: usize| mean(&|d| d[0][column] - d[0][2] * d[0][2] / d[2][2]) + ratio * ratio * c33;
        let c44 = 1.0 / mean(&|d| 1.0 / d[3][3]);
        let mut expected = [[0.0; 6]; 6];
        (expected[0][0], expected[1][1], expected[0][1], expected[1][0]) = (plane(0), plane(0), plane(1), plane(1));
        (expected[0][2], expected[1][2]) = (ratio * c33, ratio * c33);
        (expected[2][0], expected[2][1]) = (ratio * c33, ratio * c33);
        (expected[2][2], expected[3][3], expected[4][4]) = (c33, c44, c44);
        expected[5][5] = mean(&|d| d[5][5]);
        let mut setup = setup(&mesh, PERIODIC);
        setup.materials.iter_mut().zip(ratios).for_each(|(material, ratio)| material.poisson = Some(ratio));
        let summary = solve(&mesh, &setup, tempfile::tempdir().unwrap().path()).unwrap();
        let tensor = summary.tensor.unwrap();
        assert_eq!((tensor.boundary, summary.grid), ("periodic", "periodic"));
        for (found, expected) in tensor.stiffness.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-8 * c33, "{size:?}: {found} {expected}");
        }
    }
}

#[test]
fn a_periodic_sample_may_begin_anywhere() {
    // Struts of two materials that fill no face: rolled round, faces cut other struts.
    let size = [9, 8, 7];
    let class = |at: [u32; 3], by: [u32; 3]| {
        let [x, y, z] = [0, 1, 2].map(|m| (at[m] + by[m]) % size[m]);
        let solid = [x < 3, y < 3, z < 2].into_iter().filter(|&inside| inside).count() > 1;
        solid.then_some(u8::from((x + 2 * y + z) % 3 == 0))
    };
    let [one, other] = [[0; 3], [4, 7, 2]].map(|by| {
        let summary = solved(&mesh(size, |at| class(at, by)), PERIODIC);
        assert!(summary.cases.iter().all(|case| case.iterations < 80), "{:?}", summary.iterations);
        summary.tensor.unwrap()
    });
    assert!(difference(&one, &other) < 1e-8, "{:?} {:?}", one.stiffness, other.stiffness);
    assert!(one.asymmetry < 1e-8);
    // Between the bounds that the other two give.
    let mesh = mesh(size, |at| class(at, [0; 3]));
    let upper = solved(&mesh, &PERIODIC.replace("periodic", "kinematic")).tensor.unwrap();
    for case in 0..6 {
        assert!(one.stiffness[case][case] < upper.stiffness[case][case]);
    }
}

#[test]
fn the_order_of_convergence_is_two() {
    // Pure bending: u_z = κ x z', u_x = −κ (z'² + ν (x² − y²)) / 2, u_y = −κ ν x y, z' from the middle.
    let errors: Vec<f64> = [1, 2, 4]
        .into_iter()
        .map(|n| {
            let mesh = mesh([4 * n, 4 * n, 8 * n], |_| Some(0));
            let summary = solved(&mesh, "[load]\npreset = \"bending\"\nangle = 1.0\n[solver]\ntolerance = 1e-9\n");
            let apparent = summary.cases[0].apparent.clone().unwrap();
            let side = 4.0 * f64::from(n) * H;
            let exact = YOUNG * side.powi(4) / 12.0;
            close(apparent.strain, 1.0_f64.to_radians() / (2.0 * side), 1e-9);
            apparent.value / exact - 1.0
        })
        .collect();
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!(pair[0] > 0.0 && (1.85..2.15).contains(&order), "{errors:?}");
    }
}

#[test]
fn the_kernels_agree_with_the_plain_solver() {
    let solid = |at: [u32; 3]| (at[0] * 5 + at[1] * 3 + at[2] * 7) % 11 > 3;
    let mesh = mesh([12, 11, 13], |at| solid(at).then_some(u8::from(at[2] > 6)));
    let setup = setup(&mesh, "[load]\npreset = \"axial\"\nstrain = -0.01\n");
    let (conditions, _, found) = displacements(&mesh, &setup);
    let forces = conditions.free_forces();
    let young: Vec<f64> = setup.materials.iter().map(|material| material.young).collect();
    let problem = StaticProblem {
        bricks: mesh.bricks.view(),
        moduli: Moduli::Classes { class: &mesh.element_class, young: &young },
        ratios: Ratios::One(POISSON),
        spacing: H,
        fixed: &conditions.fixed,
        forces: &forces,
    };
    let plain = reference::solve(&problem, &Matter::new(problem.moduli, &setup), 1e-11, 10_000);
    assert!(plain.converged);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut plain.displacement.iter().zip(&found).map(|(a, b)| a - b));
    let size = norm(&mut found.iter().copied());
    assert!(difference < 1e-8 * size, "{}", difference / size);
}

#[test]
fn what_cannot_be_solved_is_said() {
    let mesh = mesh([12, 4, 6], |at| (at[0] < 4 || at[0] > 6 && (2..5).contains(&at[2])).then_some(0));
    let folder = tempfile::tempdir().unwrap();
    let message =
        solve(&mesh, &setup(&mesh, "[load]\npreset = \"axial\"\nstrain = -0.01\nbounds = \"image\"\n"), folder.path())
            .unwrap_err();
    assert!(message.contains("loose part: 60 voxels at (7, 0, 2)"), "{message}");
    // A block that floats above a plate, and a step whose ends are at different heights.
    let floats = |[x, y, z]: [u32; 3]| (6..9).contains(&x) && (1..3).contains(&y) && (2..5).contains(&z);
    let floating = self::mesh([12, 4, 6], |at| (at[0] < 4 || at[2] == 0 || floats(at)).then_some(0));
    let message = solve(&floating, &setup(&floating, PERIODIC), folder.path()).unwrap_err();
    assert!(message.contains("loose part: 18 voxels at (6, 1, 2)"), "{message}");
    let step = self::mesh([6, 4, 6], |[x, _, z]| (x == 3 || if x < 3 { z < 2 } else { z > 3 }).then_some(0));
    let message = solve(&step, &setup(&step, PERIODIC), folder.path()).unwrap_err();
    assert!(message.contains("no node on xmin has a partner on xmax"), "{message}");
    let few = self::mesh([9, 9, 9], |_| Some(0));
    let few_setup = setup(&few, "[load]\npreset = \"axial\"\nstrain = -0.01\n[solver]\nmax_iterations = 1\n");
    let summary = solve(&few, &few_setup, folder.path()).unwrap();
    assert_eq!(summary.ending.status, Status::NotConverged);
    assert!(summary.ending.message.unwrap().contains("after 1 iteration"));
    // Squares of such forces are 0 or infinite, and what is left of nothing would pass for converged.
    for strain in ["1e-200", "1e-320", "1e200"] {
        let tables = format!("[load]\npreset = \"axial\"\nstrain = {strain}\n");
        let message = solve(&few, &setup(&few, &tables), folder.path()).unwrap_err();
        assert!(message.contains("beyond what is computed with"), "{message}");
    }
}
