//! Model files of P. Huthwaite's Pogo from the file to traces, against central differences in plain NumPy.

use std::path::{Path, PathBuf};
use std::process::Command;

use pogo_tests::pogo::{PogoModel, Signal, dof};
use pogo_tests::{Traces, command, relative_error, shared, succeed, workspace};

/// Runs both solvers on models and compares all traces.
fn compare(models: &[PathBuf]) {
    let Some(python) = pogo_tests::python(&["numpy", "scipy"]) else { return };
    let solve = command("pogo-solve");
    let commands = Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().unwrap();
    let script = workspace().join("tests/python/pogo_files.py");
    let mut compare = Command::new(&python);
    let output = succeed(compare.arg("-B").arg(script).arg(commands).arg(scratch.path()).args(models));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

/// A burst that begins with its largest value, so that the start counts, and ends with 0.
fn burst(n: usize, steps_a_cycle: f64) -> Vec<f64> {
    let window = |k: usize| (0.5 * std::f64::consts::PI * k as f64 / (n - 1) as f64).cos().powi(2);
    (0..n).map(|k| window(k) * (k as f64 * std::f64::consts::TAU / steps_a_cycle).cos()).collect()
}

#[test]
fn traces_of_models_of_every_kind_agree_with_an_independent_solver() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = PogoModel::plate(12, 6);
    model.n_increments = 200;
    model.shots[0].1[0].samples = burst(60, 30.0);
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let mut models = vec![put("early.pogo-inp", &model.bytes(4, 8))];
    model.materials.push((0, 0, vec![100e9, 0.3, 8000.0, 5e5]));
    (0..6).for_each(|row| model.material_of[row * 12 + 11] = 1);
    model.groups = vec![(vec![dof(80, 1), dof(81, 1), dof(82, 0)], vec![0.5, 1.0, 2.0])];
    let force = Signal { of_groups: true, dofs: vec![0], amplitudes: vec![3.0], ..model.shots[0].1[0].clone() };
    let motion = Signal {
        kind: 1,
        dofs: vec![dof(6, 1), dof(7, 1)],
        amplitudes: vec![1e-9, 2e-9],
        ..model.shots[0].1[0].clone()
    };
    // Samples at other times than the increments.
    model.shots = vec![model.shots[0].clone(), (2.5e-7, vec![force]), (1e-7, vec![motion])];
    model.sets.push(("probe".into(), true, vec![0]));
    (model.every, model.first) = (3, 4);
    models.push(put("shots.pogo-inp", &model.bytes(15, 8)));
    compare(&models);
}

#[test]
fn shared_samples_agree_with_an_independent_solver() {
    let Some(folder) = shared("decks/pogo") else { return };
    let names = [
        "cpe4r_107",
        "cpe3_108_groups",
        "cpe4_110_shots",
        "c3d4_113",
        "cpe4r_114_abs",
        "cpe4r_115_aniso",
        "bristol_cpe3_115",
        "cpe4r_115_periodic",
    ];
    compare(&names.map(|name| folder.join(format!("{name}.pogo-inp"))));
}

/// What a model sends to itself so that its sides along an axis are periodic: the outer rows of nodes are copies of the rows
/// within the other side.
fn periodic(nx: u32, ny: u32) -> (Vec<u32>, Vec<u32>) {
    let node = |i: u32, j: u32| j * (nx + 1) + i;
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for j in 0..=ny {
        from.extend([node(1, j), node(nx - 1, j)]);
        to.extend([node(nx, j), node(0, j)]);
    }
    (from, to)
}

#[test]
fn periodic_models_agree_with_an_independent_solver() {
    let folder = tempfile::tempdir().unwrap();
    let (nx, ny) = (14, 9);
    let mut model = PogoModel::plate(nx, ny);
    model.type_names = vec!["CPE4".into()];
    model.n_increments = 300;
    model.materials.push((0, 0, vec![100e9, 0.3, 8000.0, 5e5]));
    (0..ny as usize).for_each(|row| model.material_of[row * nx as usize + 7] = 1);
    // A node that is a copy is driven, too, which has no effect, and so has a support there.
    let node = |i: u32, j: u32| j * (nx + 1) + i;
    model.fixed = vec![dof(node(0, 4), 0), dof(node(5, 5), 1)];
    let push = &mut model.shots[0].1[0];
    push.samples = burst(60, 30.0);
    (push.dofs, push.amplitudes) = (vec![dof(node(12, 3), 0), dof(node(14, 2), 1)], vec![2.0, 3.0]);
    model.sets[0].2 = vec![dof(node(0, 3), 0), dof(node(1, 3), 1), dof(node(14, 0), 1), dof(node(7, 9), 0)];
    model.exchange = vec![periodic(nx, ny)];
    let mut models = Vec::new();
    let mut put = |name: &str, model: &PogoModel| {
        let path = folder.path().join(name);
        std::fs::write(&path, model.bytes(15, 8)).unwrap();
        models.push(path);
    };
    put("one-axis.pogo-inp", &model);
    // Along both axes: what is copied upwards in the corners is a copy itself.
    let (from, to) = &mut model.exchange[0];
    for i in 1..nx {
        from.extend([node(i, 1), node(i, ny - 1)]);
        to.extend([node(i, ny), node(i, 0)]);
    }
    put("two-axes.pogo-inp", &model);
    compare(&models);
    // Written again, they are the same models.
    for path in &models {
        let again = path.with_extension("again.pogo-inp");
        succeed(command("pogo-block").arg(path).arg("-o").arg(&again).arg("-q"));
        let traces = [path, &again].map(|path| {
            let block = path.with_extension("blk");
            succeed(command("pogo-block").arg(path).arg("-o").arg(&block).arg("-q"));
            succeed(
                command("pogo-solve").arg(&block).args(["-q", "--device", "cpu", "-o"]).arg(folder.path().join("out")),
            );
            Traces::read(&folder.path().join("out/traces.csv")).columns
        });
        assert_eq!(traces[0], traces[1]);
    }
}

/// A burst that begins and ends with 0, so that the mesh can carry all of it.
fn smooth_burst(n: usize, steps_a_cycle: f64) -> Vec<f64> {
    let window = |k: usize| (std::f64::consts::PI * k as f64 / (n - 1) as f64).sin().powi(2);
    (0..n).map(|k| window(k) * (k as f64 * std::f64::consts::TAU / steps_a_cycle).sin()).collect()
}

/// u times the height of a strip of the plate's steel at some times, `ahead` of a force of these samples on a ring of length
/// `around`: Σ ∫ F dt / (2 ρ c) over all ways round.
fn plane_wave(times: &[f64], samples: &[f64], dt: f64, ahead: f64, around: f64) -> Vec<f64> {
    let [young, poisson, density]: [f64; 3] = [210e9, 0.3, 8000.0];
    let modulus = young * (1.0 - poisson) / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let c = (modulus / density).sqrt();
    let mut impulse = vec![0.0];
    for pair in samples.windows(2) {
        impulse.push(impulse[impulse.len() - 1] + 0.5 * dt * (pair[0] + pair[1]));
    }
    let up_to = |t: f64| {
        let at = (t / dt).clamp(0.0, (impulse.len() - 1) as f64);
        let k = (at as usize).min(impulse.len() - 2);
        impulse[k] + (at - k as f64) * (impulse[k + 1] - impulse[k])
    };
    let u = |t: &f64| {
        let ways = (-4..=4).map(|turn| (ahead + f64::from(turn) * around).abs());
        ways.map(|way| up_to(t - way / c)).sum::<f64>() / (2.0 * density * c)
    };
    times.iter().map(u).collect()
}

/// A burst of force on a line across a strip makes plane waves to both sides. Where they leave the strip they enter it at the
/// other end.
#[test]
fn a_plane_wave_that_leaves_on_one_side_enters_on_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (nx, h) = (502, 1e-3);
    let mut model = PogoModel::plate(nx, 1);
    model.type_names = vec!["CPE4".into()];
    model.n_increments = 2400;
    let column = |i: u32| [i, nx + 1 + i];
    // Strain along the strip alone.
    model.fixed = (0..2 * (nx + 1)).map(|node| dof(node, 1)).collect();
    let push = &mut model.shots[0].1[0];
    push.samples = smooth_burst(400, 200.0);
    push.dofs = column(51).map(|node| dof(node, 0)).to_vec();
    push.amplitudes = vec![0.5; 2];
    let samples = push.samples.clone();
    let receivers = [451, 251, 51, 1, 501];
    model.sets = vec![("ring".into(), false, receivers.map(|i| dof(i, 0)).to_vec())];
    model.exchange = vec![periodic(nx, 1)];
    let (path, block, out) = (folder.path().join("m.pogo-inp"), folder.path().join("m.blk"), folder.path().join("out"));
    std::fs::write(&path, model.bytes(15, 8)).unwrap();
    let blocked = succeed(command("pogo-block").arg(&path).arg("-o").arg(&block));
    let said = String::from_utf8_lossy(&blocked.stderr).into_owned() + &String::from_utf8_lossy(&blocked.stdout);
    assert!(said.contains("u of 4 nodes is copied from others after each increment"), "{said}");
    succeed(command("pogo-solve").arg(&block).args(["--precision", "f64", "--device", "cpu", "-o"]).arg(&out));
    let traces = Traces::read(&out.join("traces.csv"));

    for i in receivers {
        let ahead = (f64::from(i) - 51.0) * h;
        let expected = plane_wave(traces.time(), &samples, model.increment, ahead, f64::from(nx - 1) * h);
        let found: Vec<f64> = traces.column(&format!("ring.{}.U1", i + 1)).iter().map(|u| u * h).collect();
        // Dispersion of the mesh on twelve wavelengths of 119 elements.
        let error = relative_error(&found, &expected);
        assert!(error < 0.01, "column {i}: {error}");
    }
    // Energy is conserved, as in a body without sides.
    let energy = Traces::read(&out.join("energy.csv"));
    let largest = |name: &str| energy.column(name).iter().fold(0.0f64, |most, value| most.max(value.abs()));
    assert!(largest("balance") < 1e-9 * largest("kinetic"), "{} {}", largest("balance"), largest("kinetic"));
}

#[test]
fn periodic_models_have_the_same_bits_in_parts_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (nx, ny) = (40, 15);
    let mut model = PogoModel::plate(nx, ny);
    model.exchange = vec![periodic(nx, ny)];
    model.n_increments = 300;
    model.materials[0] = (0, 0, vec![100e9, 0.3, 8000.0, 5e5]);
    model.shots[0].1[0].dofs = vec![dof(ny / 2 * (nx + 1) + 2, 1)];
    // A copy is recorded as what it is copied from.
    model.sets[0].2 = vec![dof(ny * (nx + 1), 0), dof(nx / 2, 1)];
    std::fs::write(folder.path().join("m.pogo-inp"), model.bytes(15, 8)).unwrap();
    let run = |name: &str, arguments: &[&str]| {
        succeed(command(name).current_dir(folder.path()).args(arguments).arg("--quiet"));
    };
    run("pogo-block", &["m.pogo-inp", "--block-nodes", "40"]);
    for precision in ["f32", "f64"] {
        let solve = |out: &str, arguments: &[&str]| {
            run("pogo-solve", &[&["m.blk", "-o", out, "--precision", precision], arguments].concat());
            ["traces.csv", "energy.csv"].map(|name| Traces::read(&folder.path().join(out).join(name)).columns)
        };
        let one = solve("one", &["--device", "cpu", "--threads", "1"]);
        assert!(one[0].iter().skip(1).all(|values| values.iter().any(|&u| u != 0.0)));
        for parts in ["cpu,cpu", "cpu,cpu,cpu", "cpu,cpu,cpu,cpu,cpu"] {
            assert!(solve("parts", &["--device", parts]) == one, "{precision}: {parts} differ");
        }
        solve("stopped", &["--device", "cpu,cpu,cpu", "--time", "1.13e-5", "--keep-checkpoint"]);
        let [traces, energies] = solve("stopped", &["--device", "cpu,cpu", "--restart"]);
        let last = |columns: &[Vec<f64>]| columns.iter().map(|values| values[values.len() - 1]).collect::<Vec<_>>();
        assert!(traces == one[0] && last(&energies) == last(&one[1]), "{precision}: the restart differs");
    }
}

#[test]
fn what_cannot_have_periodic_sides_refuses_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.pogo-inp");
    let mut model = PogoModel::plate(12, 6);
    model.exchange = vec![periodic(12, 6)];
    std::fs::write(&path, model.bytes(15, 8)).unwrap();
    let run = |name: &str, arguments: &[&str]| {
        let output = command(name).current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(run("pogo-block", &["m.pogo-inp"]).0);
    let (ends_well, said) = run("pogo-solve", &["m.blk", "--device", "cuda"]);
    assert!(!ends_well && said.contains("periodic sides are computed on the CPU only"), "{said}");
    let (ends_well, said) = run("pogo-solve", &["m.blk", "--device", "auto"]);
    assert!(ends_well && said.contains("note: periodic sides are computed on the CPU"), "{said}");
    let (ends_well, said) = run("pogo-block", &["m.pogo-inp", "-o", "m.inp"]);
    assert!(!ends_well && said.contains("which a deck cannot hold"), "{said}");
    let (ends_well, said) = run("pogo-block", &["m.pogo-inp", "-o", "n.pogo-inp", "--pogo-version", "1.14"]);
    assert!(!ends_well && said.contains("version 1.14 has no periodic sides"), "{said}");
    std::fs::write(folder.path().join("s.toml"), "physics = \"spring\"\n").unwrap();
    let (ends_well, said) = run("pogo-block", &["m.pogo-inp", "--job", "s.toml"]);
    assert!(!ends_well && said.contains("it has periodic sides (mpi), which springs have not"), "{said}");
    // Copies that do not repeat the other side: as the file says, with a warning.
    model.exchange = vec![(vec![20], vec![30])];
    std::fs::write(&path, model.bytes(15, 8)).unwrap();
    assert!(run("pogo-block", &["m.pogo-inp"]).0);
    let (ends_well, said) = run("pogo-solve", &["m.blk", "--device", "cpu"]);
    assert!(ends_well && said.contains("do not make the mesh periodic"), "{said}");
}
