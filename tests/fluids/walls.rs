//! Surfaces of fluids that take waves away.

use super::*;

/// Blocks a deck with a job.
fn block_with_job(folder: &Path, deck: &str, job: &str) {
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(folder).args([
        "model.inp",
        "--job",
        "job.toml",
        "--block-nodes",
        "128",
        "--quiet",
    ]));
}

/// Turns the nodes of a deck in the plane about the origin.
fn turned(deck: &str, degrees: f64) -> String {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let mut in_nodes = false;
    let turn = |line: &str| {
        if line.starts_with('*') {
            in_nodes = line == "*Node";
        } else if in_nodes {
            let fields: Vec<&str> = line.split(", ").collect();
            let [x, y] = [1, 2].map(|at| fields[at].parse::<f64>().unwrap());
            return format!("{}, {:e}, {:e}", fields[0], cosine * x - sine * y, sine * x + cosine * y);
        }
        line.to_owned()
    };
    deck.lines().map(turn).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn an_impedance_boundary_takes_plane_waves_out_of_a_fluid_whatever_its_normal() {
    for (element, degrees) in [("AC2D4", 0.0), ("AC2D4R", 37.0), ("AC2D3", 110.0)] {
        let (n, h) = (200, 1e-3);
        let tank = Tank { solid: STEEL, n: [n, 2, 0], h, n_fluid: n, element };
        let c = sound();
        let (width, dt, time) = (60.0 * h / c, 0.2 * h / c, 2.0 * n as f64 * h / c);
        let rec = tank.label([n / 2, 1, 0]);
        let mut deck = turned(&tank.deck(), degrees);
        write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
        deck += &amplitude(|t| pulse(t, width), dt, (width / dt) as usize + 1);
        deck += &step(dt, time, "*Boundary, amplitude=P\nSTART, 8, 8, 3e5\n", "POR");
        let folder = tempfile::tempdir().unwrap();
        block_with_job(folder.path(), &deck, "[[absorbing]]\nprofile = \"impedance\"\nnset = \"END\"\n");
        let [traces, energy] = solve(folder.path(), "out", &ALONE);
        assert!(imbalance(&energy) < 1e-11, "{element}: {}", imbalance(&energy));
        let p = traces.column(&format!("REC.{rec}.POR"));
        let passed = traces.time().partition_point(|&t| t < 1.1 * (0.5 * n as f64 * h / c + width));
        let largest = |p: &[f64]| p.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let (sent, back) = (largest(p), largest(&p[passed..]));
        assert!((sent / 3e5 - 1.0).abs() < 0.02 && back < 0.01 * sent, "{element}: {sent} {back}");
    }
}

#[test]
fn impedances_where_a_fluid_touches_a_solid_keep_the_balance() {
    let (n, h) = (30, 1e-3);
    let tank = Tank { solid: PERSPEX, n: [2 * n, 12, 0], h, n_fluid: n, element: "AC2D4" };
    let c = sound();
    let (width, dt) = (20.0 * h / c, 0.2 * h / 2600.0);
    let mut deck = tank.deck();
    // A source at one place, so that waves meet the side at all angles.
    writeln!(deck, "*Nset, nset=REC\n{},", tank.label([n / 2, 6, 0])).unwrap();
    deck += "*Nset, nset=SIDE\n";
    (0..=2 * n).for_each(|i| writeln!(deck, "{},", tank.label([i, 0, 0])).unwrap());
    deck += &amplitude(|t| pulse(t, width), dt, (width / dt) as usize + 1);
    deck += &step(dt, 3000.0 * dt, "*Cload, amplitude=P\nREC, 8, 1.0\n", "POR");
    let job = "[[absorbing]]\nprofile = \"impedance\"\nnset = \"SIDE\"\n\
               [[absorbing]]\nname = \"beyond\"\nprofile = \"impedance\"\nnset = \"END\"\n";
    let folder = tempfile::tempdir().unwrap();
    block_with_job(folder.path(), &deck, job);
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    let left = |name: &str| *energy.column(name).last().unwrap();
    let damped = left("damped").abs();
    assert!(left("kinetic") + left("strain") < 0.2 * damped, "{damped:e}");
    let parts = ["--precision", "f64", "--device", "cpu,cpu,cpu"];
    assert_eq!(solve(folder.path(), "parts", &parts)[0].columns, traces.columns);
}
