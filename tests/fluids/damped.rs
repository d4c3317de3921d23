//! Fluids on solids that are damped in proportion to their stiffness or by relaxation.

use super::*;

const POLYMER: Solid = Solid(5e9, 0.35, 1200.0);

/// A wave in damped water that falls on a damped polymer at right angles. In both it decays by e^{−γx}, γ = s / (c √(1 + sβ)), s = iω.
/// The polymer has the modulus M (1 + sβ), so that its impedance is Z₂ = ρ c √(1 + sβ). In the water ρ v = (1 + β ∂/∂t) ∇q, p = −q̇, so
/// that Z₁ = ρ c / √(1 + sβ). At each frequency (Z₂ − Z₁) / (Z₂ + Z₁) is reflected.
#[test]
fn a_wave_in_water_is_reflected_by_a_polymer_and_decays_in_both() {
    let (of_water, beta) = (2e-7, 5e-7);
    let (c, h) = ([sound(), POLYMER.speeds()[0]], 1e-3);
    for element in ["AC2D3", "AC2D4", "AC3D8R"] {
        let n = [240, 2, if &element[2..4] == "3D" { 2 } else { 0 }];
        let tank = Tank { solid: POLYMER, n, h, n_fluid: 120, element };
        let (width, time, dt) = (50.0 * h / c[0], 205.0 * h / c[0], 4e-8);
        let [wet, dry] = [[60, 1, 0], [140, 1, 0]].map(|node| tank.label(node));
        let mut deck = tank.deck().replace("*Elastic", &format!("*Damping, beta={beta:e}\n*Elastic"));
        deck = deck.replace("*Acoustic", &format!("*Damping, beta={of_water:e}\n*Acoustic"));
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}\n*Boundary\nEVERY, 2, 3\n").unwrap();
        let [traces, energy] = send_pulse(deck, 1e5, [width, dt, time], "POR, V1");
        let [taken, put_in] = ["damped", "external"].map(|name| *energy.column(name).last().unwrap());
        assert!(taken > 0.02 * put_in, "{element}: {taken:e} of {put_in:e}");
        // Sums over the frequencies of a period that is longer than the run.
        let period = 3.0 * time;
        let spectrum = |omega: f64| {
            let samples = (0..=(width / dt) as usize).map(|k| k as f64 * dt);
            let of_sample = |t: f64| real(pulse(t, width) * 1e5 * dt / period) * Complex(0.0, -omega * t).exp();
            samples.map(of_sample).fold(real(0.0), |sum, part| sum + part)
        };
        let n_frequencies = (12.0 * period / width) as usize;
        let (mut pressure, mut velocity) = (vec![0.0; traces.time().len()], vec![0.0; traces.time().len()]);
        for m in 0..n_frequencies {
            let s = Complex(0.0, 2.0 * std::f64::consts::PI * m as f64 / period);
            let sent = real(if m == 0 { 1.0 } else { 2.0 }) * spectrum(s.1);
            let root = [of_water, beta].map(|beta| (real(1.0) + s * real(beta)).sqrt());
            let z = [real(WATER * c[0]) * root[0].inverse(), real(POLYMER.2 * c[1]) * root[1]];
            let sum = (z[1] + z[0]).inverse();
            let after = |cells: f64, i: usize| (real(-cells * h / c[i]) * s * root[i].inverse()).exp();
            let of_water = sent * (after(60.0, 0) + (z[1] - z[0]) * sum * after(180.0, 0));
            let of_solid = real(2.0) * sent * sum * after(120.0, 0) * after(20.0, 1);
            for ((p, v), &t) in pressure.iter_mut().zip(&mut velocity).zip(traces.time()) {
                let turn = (s * real(t)).exp();
                (*p, *v) = (*p + (of_water * turn).0, *v + (of_solid * turn).0);
            }
        }
        let found = |name: String| traces.column(&name).to_vec();
        let of_water = relative_error(&found(format!("REC.{wet}.POR")), &pressure);
        let of_solid = relative_error(&found(format!("REC.{dry}.V1")), &velocity);
        eprintln!("{element}: pressure {of_water:.2e}, velocity {of_solid:.2e}");
        assert!(of_water < 0.02 && of_solid < 0.02, "{element}: {of_water} {of_solid}");
    }
}

/// β, relaxation and both, with an impedance boundary, supports that move and nodes that are tied: the energies balance, and the bits are
/// the same in all ways.
#[test]
fn damped_solids_beside_fluids_have_the_same_bits_in_parts_and_after_a_restart() {
    let relaxation = "[relaxation]\nband = [1e5, 1e6]\nreference_frequency = 3e5\n";
    for (element, n, attenuation) in [
        ("AC2D4", [60, 40, 0], "beta = 1e-8"),
        ("AC2D3", [60, 40, 0], "quality_factor = 15"),
        ("AC3D8", [16, 12, 12], "beta = 1e-8\nquality_factor = 15"),
    ] {
        let tank = Tank { solid: POLYMER, n, h: 1e-3, n_fluid: n[0] / 2, element };
        let middle = n[2] / 2;
        let [wet, dry, joint, far] =
            [[4, 3, middle], [n[0] - 3, 5, middle], [n[0] / 2, 7, middle], [n[0], 2, middle]].map(|at| tank.label(at));
        let [one, other] = [[n[0] / 2, 9, middle], [n[0] / 2 + 2, 3, middle]].map(|at| tank.label(at));
        let mut deck = tank.deck().replace("*Solid Section, elset=SOLID, material=STEEL\n,\n", "");
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}, {joint}, {far}\n*Boundary\nEND, 1, 1\n").unwrap();
        write!(deck, "*Equation\n2\n{one}, 1, 1., {other}, 1, -0.7\n").unwrap();
        deck += &amplitude(|t| pulse(t, 8e-6), 1e-7, 80);
        let loads =
            format!("*Cload, amplitude=P\n{wet}, 8, 1e-3\n{dry}, 1, 5.\n*Boundary, amplitude=P\n{joint}, 1, 1, 1e-9\n");
        deck += &step(8e-8, 320.0 * 8e-8, &loads, "POR, U, V, RF");
        let relaxes = attenuation.contains("quality");
        let job = format!(
            "{}[[material]]\nname = \"LOSSY\"\ndensity = {}\nyoung = {:e}\npoisson = {}\nalpha = 2e4\n{attenuation}\n\
             [[section]]\nelset = \"SOLID\"\nmaterial = \"LOSSY\"\n\
             [[absorbing]]\nside = \"ymax\"\nprofile = \"impedance\"\n",
            if relaxes { relaxation } else { "" },
            POLYMER.2,
            POLYMER.0,
            POLYMER.1
        );
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        std::fs::write(folder.join("job.toml"), job).unwrap();
        let words = ["model.inp", "--job", "job.toml", "--quiet", "--block-nodes", "128"];
        succeed(command("pogo-block").current_dir(folder).args(words));
        let [whole, energy] = solve(folder, "whole", &ALONE);
        assert!(imbalance(&energy) < 1e-11, "{element}, {attenuation}: {}", imbalance(&energy));
        let largest = |name: String| whole.column(&name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for name in [format!("REC.{joint}.POR"), format!("REC.{joint}.U2"), format!("REC.{far}.RF1")] {
            assert!(largest(name.clone()) > 0.0, "{element}: {name}");
        }
        same_bits_in_all_ways(folder, element, &whole, &format!("REC.{wet}.POR"));
    }
}
