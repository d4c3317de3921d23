//! Arrays that a job makes: their waves meet where the delays say.

use std::fmt::Write as _;

use pogo_tests::{Grid, Traces, command, isotropic, step, succeed};

/// Largest |u| over time at points below an array, one trace a point.
fn peaks(folder: &std::path::Path, keys: &str, points: &[[f64; 2]]) -> Vec<f64> {
    let mut job = format!(
        "[[transducer]]\nname = 'array'\ncentre = [0.015, 0.015]\naperture = 0.012\ndirection = [0, -1]\nelements = 12\n\
         force = 1000\namplitude = {{ kind = 'hann', frequency = 2e6, cycles = 3 }}\nreceive = 'sum'\n{keys}\n"
    );
    for (index, [x, y]) in points.iter().enumerate() {
        write!(job, "[[monitor]]\nname = 'P{index}'\nat = [{x}, {y}]\nvariables = 'U2'\n").unwrap();
    }
    std::fs::write(folder.join("job.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml", "--quiet"]));
    let solve = ["model.blk", "--quiet", "-o", "out", "--threads", "1", "--precision", "f32"];
    succeed(command("pogo-solve").current_dir(folder).args(solve));
    let traces = Traces::read(&folder.join("out/traces.csv"));
    let peak = |index: usize| {
        let start = format!("P{index}.");
        let name = traces.names.iter().find(|name| name.starts_with(&start)).unwrap();
        traces.column(name).iter().fold(0.0_f64, |most, u| most.max(u.abs()))
    };
    assert!(traces.names.iter().any(|name| name.starts_with("array")));
    (0..points.len()).map(peak).collect()
}

#[test]
fn a_focus_appears_where_it_should() {
    let (young, poisson, density): (f64, f64, f64) = (210e9, 0.3, 7800.0);
    let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let speed = ((lambda + young / (1.0 + poisson)) / density).sqrt();
    // Some 15 elements a wavelength.
    let grid = Grid { n: [150, 75, 0], h: [2e-4; 3], element: "CPE4R" };
    let mut deck = grid.deck() + &isotropic(young, poisson, density) + "*Nset, nset=REC\n1,\n";
    deck += &step(2.5e-8, 4.5e-6, "U");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.inp"), deck).unwrap();
    // Points on a line through the focus, 8 mm below the array and 2 mm beside its middle.
    let points: Vec<[f64; 2]> = (0..13).map(|i| [0.011 + 1e-3 * f64::from(i), 0.007]).collect();
    let at = 6;
    assert_eq!(points[at], [0.017, 0.007]);
    let focused = peaks(folder.path(), &format!("focus = [0.017, 0.007]\nwave_speed = {speed}"), &points);
    let together = peaks(folder.path(), "", &points);
    let largest = (0..points.len()).max_by(|&a, &b| focused[a].total_cmp(&focused[b])).unwrap();
    assert!(largest.abs_diff(at) <= 1, "largest at {:?}: {focused:?}", points[largest]);
    assert!(focused[at] > 1.5 * together[at], "{focused:?} {together:?}");
    assert!(focused[at] > 2.0 * focused[0] && focused[at] > 1.5 * focused[12], "{focused:?}");
}
