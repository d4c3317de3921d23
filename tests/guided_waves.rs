//! Lamb and Rayleigh waves: phase speeds against the Rayleigh-Lamb and Rayleigh equations.
//!
//! A mode of wave number k between two planes of symmetry half a wavelength apart is a standing wave; started with its
//! own shape as velocity it oscillates at ω(k) alone, and c = ω/k.

use std::f64::consts::PI;
use std::fmt::Write as _;

use pogo_tests::{Grid, angular_frequency, initial_velocity, isotropic, run, step};

const YOUNG: f64 = 70e9;
const POISSON: f64 = 0.33;
const DENSITY: f64 = 2700.0;

fn speeds() -> (f64, f64) {
    let shear = YOUNG / (2.0 * (1.0 + POISSON));
    let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    (((lambda + 2.0 * shear) / DENSITY).sqrt(), (shear / DENSITY).sqrt())
}

/// cos(√s y) for s of either sign.
fn cosine(s: f64, y: f64) -> f64 {
    if s >= 0.0 { (s.sqrt() * y).cos() } else { ((-s).sqrt() * y).cosh() }
}

/// sin(√s y)/√s for s of either sign.
fn sine_over(s: f64, y: f64) -> f64 {
    if s >= 0.0 { (s.sqrt() * y).sin() / s.sqrt() } else { ((-s).sqrt() * y).sinh() / (-s).sqrt() }
}

fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    assert!(f(low) * f(high) < 0.0, "no sign change");
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(low) * f(middle) <= 0.0 { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

/// Measures ω of a standing wave; `velocity(x, y)` is its shape and the trace is U2 of the node at (0, top).
fn measured_frequency(
    element: &'static str,
    n: [usize; 2],
    h: f64,
    omega: f64,
    shape: impl Fn(f64, f64) -> [f64; 2],
) -> f64 {
    let grid = Grid { n: [n[0], n[1], 0], h: [h; 3], element };
    let rec = grid.label(0, n[1], 0);
    let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
    let mut ends = String::new();
    for j in 0..=n[1] {
        writeln!(ends, "{}, {}", grid.label(0, j, 0), grid.label(n[0], j, 0)).unwrap();
    }
    write!(deck, "*Nset, nset=REC\n{rec},\n*Nset, nset=ENDS\n{ends}*Boundary\nENDS, XSYMM\n").unwrap();
    deck += &initial_velocity(&grid, |x| {
        let v = shape(x[0], x[1]);
        [v[0], v[1], 0.0]
    });
    let increment = 0.3 * h / speeds().0;
    deck += &step(increment, 8.2 * 2.0 * PI / omega, "U2");
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &deck, &["--precision", "f64"]);
    angular_frequency(traces.time(), traces.column(&format!("REC.{rec}.U2")))
}

#[test]
fn lamb_waves_travel_at_their_speed() {
    let (longitudinal, transverse) = speeds();
    let half_thickness = 5e-3;
    let wave_number = PI / 15e-3;
    let k2 = wave_number * wave_number;
    let squares = |omega: f64| ((omega / longitudinal).powi(2) - k2, (omega / transverse).powi(2) - k2);
    let d = half_thickness;
    let symmetric = |omega: f64| {
        let (p2, q2) = squares(omega);
        (q2 - k2).powi(2) * cosine(p2, d) * sine_over(q2, d) + 4.0 * k2 * p2 * sine_over(p2, d) * cosine(q2, d)
    };
    let antisymmetric = |omega: f64| {
        let (p2, q2) = squares(omega);
        (q2 - k2).powi(2) * sine_over(p2, d) * cosine(q2, d) + 4.0 * k2 * q2 * sine_over(q2, d) * cosine(p2, d)
    };
    // S0 lies between the shear and the plate speed, A0 below the Rayleigh speed.
    let plate = (YOUNG / (DENSITY * (1.0 - POISSON * POISSON))).sqrt();
    let s0 = bisect(wave_number * transverse * 1.01, wave_number * plate, symmetric);
    let a0 = bisect(wave_number * transverse * 0.05, wave_number * transverse * 0.95, antisymmetric);

    let s0_shape = |x: f64, y: f64| {
        let y = y - d;
        let (p2, q2) = squares(s0);
        // b = 2 k p sin(pd) / ((k² − q²) sin(qd)), here over q to stay real.
        let b = 2.0 * wave_number * p2 * sine_over(p2, d) / ((k2 - q2) * sine_over(q2, d));
        let (u, v) = (
            wave_number * cosine(p2, y) + b * cosine(q2, y),
            -p2 * sine_over(p2, y) + wave_number * b * sine_over(q2, y),
        );
        [-u * (wave_number * x).sin(), v * (wave_number * x).cos()]
    };
    let a0_shape = |x: f64, y: f64| {
        let y = y - d;
        let (p2, q2) = squares(a0);
        let b = -2.0 * wave_number * cosine(p2, d) / ((k2 - q2) * cosine(q2, d));
        let (u, v) = (
            wave_number * sine_over(p2, y) - b * q2 * sine_over(q2, y),
            cosine(p2, y) + wave_number * b * cosine(q2, y),
        );
        [-u * (wave_number * x).sin(), v * (wave_number * x).cos()]
    };
    for element in ["CPE3", "CPE4", "CPE4R"] {
        for (name, omega, measured) in [
            ("S0", s0, measured_frequency(element, [60, 40], 0.25e-3, s0, s0_shape)),
            ("A0", a0, measured_frequency(element, [60, 40], 0.25e-3, a0, a0_shape)),
        ] {
            let (theory, speed) = (omega / wave_number, measured / wave_number);
            eprintln!("{element} {name}: theory {theory:.1} m/s, measured {speed:.1} m/s");
            assert!((speed / theory - 1.0).abs() < 0.01, "{element} {name}: {speed} instead of {theory} m/s");
        }
    }
}

#[test]
fn rayleigh_waves_travel_at_their_speed() {
    let (longitudinal, transverse) = speeds();
    let equation = |c: f64| {
        let (a, b) = ((c / longitudinal).powi(2), (c / transverse).powi(2));
        (2.0 - b).powi(2) - 4.0 * (1.0 - a).sqrt() * (1.0 - b).sqrt()
    };
    let speed = bisect(0.5 * transverse, 0.9999 * transverse, equation);
    let wavelength = 20e-3;
    let k = 2.0 * PI / wavelength;
    let p = k * (1.0 - (speed / longitudinal).powi(2)).sqrt();
    let q = k * (1.0 - (speed / transverse).powi(2)).sqrt();
    let depth = 4.0 * wavelength;
    let shape = |x: f64, y: f64| {
        let z = depth - y;
        let u = k * ((-p * z).exp() - 2.0 * p * q / (q * q + k * k) * (-q * z).exp());
        let w = p * ((-p * z).exp() - 2.0 * k * k / (q * q + k * k) * (-q * z).exp());
        [u * (k * x).sin(), -w * (k * x).cos()]
    };
    for element in ["CPE3", "CPE4", "CPE4R"] {
        let measured = measured_frequency(element, [40, 320], 0.25e-3, speed * k, shape) / k;
        eprintln!("{element} Rayleigh: theory {speed:.1} m/s, measured {measured:.1} m/s");
        assert!((measured / speed - 1.0).abs() < 0.01, "{element}: {measured} instead of {speed} m/s");
    }
}
