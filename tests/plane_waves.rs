//! Plane waves against d'Alembert's solution, with the order of convergence, and Christoffel speeds of anisotropic
//! materials.
//!
//! An initial velocity v₀(x) d, with d a polarisation of the direction x, splits into two waves:
//! u(x, t) = d/(2c) ∫ v₀ over [x − ct, x + ct]. No load enters, so only the discretisation is measured.

use std::f64::consts::PI;
use std::fmt::Write as _;

use pogo_tests::{Grid, Traces, initial_velocity, isotropic, relative_error, run, step};

const YOUNG: f64 = 210e9;
const POISSON: f64 = 0.3;
const DENSITY: f64 = 7800.0;

/// cos⁴ pulse of width w: smooth enough not to limit second order.
fn pulse(x: f64, width: f64) -> f64 {
    if x.abs() < width / 2.0 { (PI * x / width).cos().powi(4) } else { 0.0 }
}

/// ∫ from −∞ of [`pulse`].
fn pulse_integral(x: f64, width: f64) -> f64 {
    let x = x.clamp(-width / 2.0, width / 2.0);
    let part = |x: f64| {
        3.0 * x / 8.0
            + width / (4.0 * PI) * (2.0 * PI * x / width).sin()
            + width / (32.0 * PI) * (4.0 * PI * x / width).sin()
    };
    part(x) - part(-width / 2.0)
}

/// Exact displacement a distance x from the pulse's centre.
fn exact(x: f64, time: &[f64], speed: f64, width: f64) -> Vec<f64> {
    time.iter()
        .map(|t| (pulse_integral(x + speed * t, width) - pulse_integral(x - speed * t, width)) / (2.0 * speed))
        .collect()
}

/// Error of a plane wave in a strip of `n` elements; `component` 0 is a P wave, 1 an S wave.
fn strip_error(element: &'static str, n: usize, component: usize, speed: f64) -> f64 {
    let length = 0.1;
    let h = length / n as f64;
    let solid = element.starts_with("C3D");
    let grid = Grid { n: [n, 2, if solid { 2 } else { 0 }], h: [h; 3], element };
    let (centre, width, receiver) = (0.4 * length, 0.25 * length, n * 7 / 10);
    let n_nodes = grid.nodes().count();
    let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
    let rec = grid.label(receiver, 1, 0);
    write!(deck, "*Nset, nset=REC\n{rec},\n*Nset, nset=EVERY, generate\n1, {n_nodes}, 1\n*Boundary\n").unwrap();
    for other in (0..if solid { 3 } else { 2 }).filter(|other| *other != component) {
        writeln!(deck, "EVERY, {0}, {0}", other + 1).unwrap();
    }
    deck += &initial_velocity(&grid, |x| {
        let mut v = [0.0; 3];
        v[component] = pulse(x[0] - centre, width);
        v
    });
    // Well below the stable limit of every element kind, so that one ratio serves them all.
    let increment = 0.2 * h / 5900.0;
    deck += &step(increment, 0.5 * length / speed, "U");
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &deck, &["--precision", "f64"]);
    let expected = exact(receiver as f64 * h - centre, traces.time(), speed, width);
    relative_error(traces.column(&format!("REC.{rec}.U{}", component + 1)), &expected)
}

#[test]
fn p_and_s_waves_converge_at_second_order() {
    let shear = YOUNG / (2.0 * (1.0 + POISSON));
    let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    let speeds = [((lambda + 2.0 * shear) / DENSITY).sqrt(), (shear / DENSITY).sqrt()];
    for element in ["CPE3", "CPE4", "CPE4R", "C3D8", "C3D8R"] {
        for (component, speed) in speeds.into_iter().enumerate() {
            let errors = [100, 200, 400].map(|n| strip_error(element, n, component, speed));
            let order = (errors[1] / errors[2]).log2();
            eprintln!("{element} component {component}: errors {errors:?}, order {order:.3}");
            assert!(order > 1.9, "{element} component {component}: order {order} from {errors:?}");
            assert!(errors[2] < 2e-3, "{element} component {component}: error {}", errors[2]);
        }
    }
}

type Tensor4 = [[[[f64; 3]; 3]; 3]; 3];

/// Nine orthotropic constants as a full tensor, in axes turned by `rotation` (rows: material axes in global ones).
/// Written with tensors, not Voigt matrices, to be independent of the solver's own rotation.
fn rotated_stiffness(constants: [f64; 9], rotation: [[f64; 3]; 3]) -> Tensor4 {
    let [d11, d12, d22, d13, d23, d33, d1212, d1313, d2323] = constants;
    let normal = [[d11, d12, d13], [d12, d22, d23], [d13, d23, d33]];
    let shear = [[0.0, d1212, d1313], [d1212, 0.0, d2323], [d1313, d2323, 0.0]];
    let mut local: Tensor4 = Default::default();
    for i in 0..3 {
        for j in 0..3 {
            local[i][i][j][j] = normal[i][j];
            if i != j {
                local[i][j][i][j] = shear[i][j];
                local[i][j][j][i] = shear[i][j];
            }
        }
    }
    let mut global: Tensor4 = Default::default();
    let indices: Vec<[usize; 4]> = (0..81).map(|n| [n / 27, n / 9 % 3, n / 3 % 3, n % 3]).collect();
    for &[i, j, k, l] in &indices {
        global[i][j][k][l] = indices
            .iter()
            .map(|&[a, b, c, d]| rotation[a][i] * rotation[b][j] * rotation[c][k] * rotation[d][l] * local[a][b][c][d])
            .sum();
    }
    global
}

/// Eigenpairs of a symmetric 3 × 3 matrix by Jacobi rotations.
fn eigenpairs(mut a: [[f64; 3]; 3]) -> [(f64, [f64; 3]); 3] {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..50 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() < 1e-30 {
                continue;
            }
            let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
            let (s, c) = angle.sin_cos();
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (v[k][p], v[k][q]) = (c * v[k][p] - s * v[k][q], s * v[k][p] + c * v[k][q]);
            }
        }
    }
    [0, 1, 2].map(|n| (a[n][n], [v[0][n], v[1][n], v[2][n]]))
}

/// A carbon-fibre-like material (Pa, kg/m³): D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323.
const COMPOSITE: [f64; 9] = [60e9, 8e9, 20e9, 7e9, 6e9, 16e9, 7e9, 6e9, 4e9];
const COMPOSITE_DENSITY: f64 = 1600.0;

/// Waves of all modes along x, `n_width` elements wide, in a box of `n_along` elements along x. It is as wide as its sides are not heard.
fn christoffel(
    element: &'static str,
    (n_along, n_width): (usize, usize),
    rotation: [[f64; 3]; 3],
    planar: bool,
    tolerance: f64,
) {
    let stiffness = rotated_stiffness(COMPOSITE, rotation);
    let mut acoustic = [[0.0; 3]; 3];
    for (i, row) in acoustic.iter_mut().enumerate() {
        for (k, value) in row.iter_mut().enumerate() {
            *value = stiffness[i][0][k][0] / COMPOSITE_DENSITY;
        }
    }
    let modes = eigenpairs(acoustic);
    let fastest = modes.iter().map(|(square, _)| square.sqrt()).fold(0.0, f64::max);
    let h = 1e-3;
    for (square, polarisation) in modes {
        // In plane strain the wave polarised along z is not there.
        if planar && polarisation[2].abs() > 0.5 {
            continue;
        }
        let speed = square.sqrt();
        let n_travel = 2 * n_width / 5;
        let (width, centre, travel) = (n_width as f64 * h, (n_along / 2) as f64 * h, n_travel as f64 * h);
        let time = (travel + 0.3 * width) / speed;
        let across = 2 * (fastest * time / h) as usize + 2;
        let grid = Grid { n: [n_along, across, if planar { 0 } else { across }], h: [h; 3], element };
        let rec = grid.label(n_along / 2 + n_travel, across / 2, grid.n[2] / 2);
        let axis = |row: usize| rotation[row].map(|x| format!("{x:.15}")).join(", ");
        let mut deck = grid.deck();
        let constants = COMPOSITE.map(|x| format!("{x:e}"));
        write!(
            deck,
            "*Orientation, name=ORI, system=RECTANGULAR\n{}, {}\n3, 0.\n\
             *Solid Section, elset=ALL, material=M, orientation=ORI\n,\n*Material, name=M\n*Density\n{COMPOSITE_DENSITY},\n\
             *Elastic, type=ORTHOTROPIC\n{},\n{}\n*Nset, nset=REC\n{rec},\n",
            axis(0),
            axis(1),
            constants[..8].join(", "),
            constants[8]
        )
        .unwrap();
        deck += &initial_velocity(&grid, |x| polarisation.map(|d| d * pulse(x[0] - centre, width)));
        deck += &step(0.4 * h / fastest, time, "U");
        let folder = tempfile::tempdir().unwrap();
        let traces: Traces = run(folder.path(), &deck, &["--precision", "f64"]);
        let expected = exact(travel, traces.time(), speed, width);
        let along: Vec<f64> = (0..traces.time().len())
            .map(|row| {
                (0..if planar { 2 } else { 3 })
                    .map(|c| polarisation[c] * traces.column(&format!("REC.{rec}.U{}", c + 1))[row])
                    .sum()
            })
            .collect();
        let error = relative_error(&along, &expected);
        eprintln!("{element}: c = {speed:.1} m/s, polarisation {polarisation:.3?}, error {error:.2e}");
        assert!(error < tolerance, "{element}: c = {speed} m/s, error {error}");
    }
}

#[test]
fn orthotropic_plane_strain_has_christoffel_speeds() {
    let (s, c) = 30f64.to_radians().sin_cos();
    let rotation = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]];
    // 20 elements a pulse: the dispersion error of such a mesh is below 1 % (second order, see the test above).
    christoffel("CPE4", (160, 20), rotation, true, 0.01);
    christoffel("CPE3", (160, 20), rotation, true, 0.01);
}

#[test]
fn orthotropic_solid_has_christoffel_speeds() {
    // Turned by 25° about z, then 40° about the new x.
    let (s, c) = 25f64.to_radians().sin_cos();
    let (t, d) = 40f64.to_radians().sin_cos();
    let rotation = [[c, s, 0.0], [-s * d, c * d, t], [s * t, -c * t, d]];
    christoffel("C3D8R", (54, 15), rotation, false, 0.01);
}
