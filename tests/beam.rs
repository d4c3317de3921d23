//! First bending frequencies of a free-free beam in plane stress against beam theory.

use std::f64::consts::PI;
use std::fmt::Write as _;

use pogo_tests::{Grid, angular_frequency, initial_velocity, isotropic, run, step};

#[test]
fn free_beam_has_the_frequencies_of_beam_theory() {
    let (young, poisson, density): (f64, f64, f64) = (210e9, 0.3, 7800.0);
    let (length, height, cells) = (0.1, 2.5e-3, 10);
    let h = height / cells as f64;
    let radius_of_gyration = height / 12f64.sqrt();
    // Roots of cosh βL cos βL = 1. Rotary inertia and shear lower the second frequency of a beam 40 times longer than
    // high by 0.7 % and the first by 0.3 %: they are in the tolerance, not in the formula.
    for (root, tolerance) in [(4.730_040_744_862_704, 0.01), (7.853_204_624_095_838, 0.015)] {
        for element in ["CPS4", "CPS4R"] {
            let beta = root / length;
            let omega = beta * beta * radius_of_gyration * (young / density).sqrt();
            let grid = Grid { n: [400, cells, 0], h: [h; 3], element };
            let sigma = (f64::cosh(root) - f64::cos(root)) / (f64::sinh(root) - f64::sin(root));
            let mut deck = grid.deck() + &isotropic(young, poisson, density);
            let rec = grid.label(0, cells / 2, 0);
            write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
            deck += &initial_velocity(&grid, |x| {
                let b = beta * x[0];
                let deflection = b.cosh() + b.cos() - sigma * (b.sinh() + b.sin());
                let slope = beta * (b.sinh() - b.sin() - sigma * (b.cosh() + b.cos()));
                [-(x[1] - height / 2.0) * slope, deflection, 0.0]
            });
            deck += &step(0.55 * h / 6000.0, 1.6 * 2.0 * PI / omega, "U2");
            let folder = tempfile::tempdir().unwrap();
            let traces = run(folder.path(), &deck, &["--precision", "f64"]);
            let measured = angular_frequency(traces.time(), traces.column(&format!("REC.{rec}.U2")));
            eprintln!("{element}: {:.1} Hz, beam theory {:.1} Hz", measured / (2.0 * PI), omega / (2.0 * PI));
            assert!((measured / omega - 1.0).abs() < tolerance, "{element}: {measured} instead of {omega} rad/s");
        }
    }
}
