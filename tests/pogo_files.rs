//! Model files of P. Huthwaite's Pogo from the file to traces, against central differences in plain NumPy.

use std::path::{Path, PathBuf};
use std::process::Command;

use pogo_tests::pogo::{PogoModel, Signal, dof};
use pogo_tests::{command, shared, succeed, workspace};

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

/// A burst that begins and ends with 0.
fn burst(n: usize, steps_a_cycle: f64) -> Vec<f64> {
    let window = |k: usize| (std::f64::consts::PI * k as f64 / (n - 1) as f64).sin().powi(2);
    (0..n).map(|k| window(k) * (k as f64 * std::f64::consts::TAU / steps_a_cycle).sin()).collect()
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
    let names = ["cpe4r_107", "cpe3_108_groups", "cpe4_110_shots", "c3d4_113", "cpe4r_114_abs", "cpe4r_115_aniso"];
    compare(&names.map(|name| folder.join(format!("{name}.pogo-inp"))));
}
