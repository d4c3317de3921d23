//! Shots: several runs over one mesh, whose results are those of runs of their own.

use std::path::Path;

use pogo_formats::dynamics::shots::{Shot, ShotSource};
use pogo_formats::explicit::Setup;
use pogo_formats::mesh::{ElementKind, Mesh};
use pogo_solver::Outcome;
use pogo_solver::config::Config;

use super::common::*;

fn source(name: &str, scale: f64, delay: f64) -> ShotSource {
    ShotSource { name: name.into(), scale, delay }
}

/// A plate with two transducers, a held edge, and receivers.
fn plate() -> (Mesh, Setup) {
    let mesh = grid_2d(ElementKind::Cpe4r, [24, 10], [0.024, 0.010]);
    let mut setup = steel(6e-6);
    setup.amplitudes = vec![burst(1e6)];
    setup.loads = vec![
        point_force(105, [0.0, 1.0, 0.0], 1.0, Some(0)),
        point_force(140, [1.0, 0.0, 0.0], 2.0, Some(0)),
        point_force(30, [0.0, 1.0, 0.0], 0.5, Some(0)),
    ];
    setup.boundaries = vec![fix("base", nodes_where(&mesh, |x| x[1] == 0.0), 1)];
    setup.histories = vec![history("R", vec![110, 120], &displacements(2))];
    setup.shots = vec![
        Shot { name: "left".into(), sources: vec![source("force105", 1.0, 0.0)] },
        Shot { name: "both".into(), sources: vec![source("force105", -2.0, 0.0), source("force140", 1.0, 0.5e-6)] },
    ];
    (mesh, setup)
}

/// The model of a shot as a user would write it without shots.
fn alone(setup: &Setup, loads: &[(usize, f64, f64)]) -> Setup {
    let mut setup = setup.clone();
    setup.shots.clear();
    // No shot names the third force, so it acts in all.
    let of = |&(load, scale, delay): &(usize, f64, f64)| {
        let mut load = setup.loads[load].clone();
        let mut amplitude = setup.amplitudes[0].clone();
        amplitude.delay = delay;
        load.magnitude *= scale;
        (load, amplitude)
    };
    let (loads, amplitudes): (Vec<_>, Vec<_>) = loads.iter().chain(&[(2, 1.0, 0.0)]).map(of).unzip();
    (setup.loads, setup.amplitudes) = (loads, amplitudes);
    (0..).zip(&mut setup.loads).for_each(|(index, load)| load.amplitude = Some(index));
    setup
}

fn traces(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("traces.csv")).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn names(outcome: &Outcome) -> Vec<String> {
    let Outcome::Study(cases) = outcome else { panic!("{outcome:?}") };
    let name = |case: &pogo_solver::CaseOutcome| {
        case.result.as_ref().unwrap().as_ref().unwrap();
        case.case.name.clone()
    };
    cases.iter().map(name).collect()
}

#[test]
fn shots_give_the_bits_of_runs_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (mesh, setup) = plate();
    let config = config(&write_block(folder.path(), &mesh, &setup, 64), &folder.path().join("out"));
    assert_eq!(names(&solve(&config).unwrap()), ["left", "both"]);
    let both = [(0, -2.0, 0.0), (1, 1.0, 0.5e-6)];
    for (shot, loads) in [("left", &[(0, 1.0, 0.0)][..]), ("both", &both)] {
        let place = tempfile::tempdir().unwrap();
        let block_file = write_block(place.path(), &mesh, &alone(&setup, loads), 64);
        run(&super::common::config(&block_file, &place.path().join("out")));
        assert_eq!(traces(&folder.path().join("out").join(shot)), traces(&place.path().join("out")), "{shot}");
    }
}

#[test]
fn a_table_takes_the_place_of_the_models_shots_and_one_may_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let (mesh, setup) = plate();
    let path = |name: &str| folder.path().join(name);
    let model = config(&write_block(folder.path(), &mesh, &setup, 64), &path("out"));
    solve(&model).unwrap();
    std::fs::write(path("s.csv"), "shot;source;scale;delay\nb;force105;-2,0;\na;force140;;\nb;force140;;0,5e-6\n")
        .unwrap();
    let table = Config { shots: Some(path("s.csv")), output: Some(path("table")), ..model.clone() };
    assert_eq!(names(&solve(&table).unwrap()), ["b", "a"]);
    assert_eq!(traces(&path("table/b")), traces(&path("out/both")));
    let index = std::fs::read_to_string(path("table/study.csv")).unwrap();
    let heads = index.lines().next().unwrap();
    assert!(heads.starts_with("case,status,seconds,message,energy.external,"), "{index}");
    assert!(heads.ends_with(",peak(R.121.U2)") && index.lines().nth(1).unwrap().starts_with("b,completed,"), "{index}");
    assert!(path("table/shots.npz").exists());

    let chosen = Config { shot: vec!["both".into()], output: Some(path("chosen")), ..model.clone() };
    assert_eq!(names(&solve(&chosen).unwrap()), ["both"]);
    assert_eq!(traces(&path("chosen/both")), traces(&path("out/both")));

    std::fs::write(path("sweep.toml"), "[sweep]\n'material.steel.young' = [210e9, 100e9]\n").unwrap();
    let study = Config { study: Some(path("sweep.toml")), output: Some(path("study")), jobs: Some(2), ..model };
    let cases = ["young-2.1e11/left", "young-2.1e11/both", "young-1e11/left", "young-1e11/both"];
    assert_eq!(names(&solve(&study).unwrap()), cases);
    assert_eq!(traces(&path("study/young-2.1e11/both")), traces(&path("out/both")));
    assert_ne!(traces(&path("study/young-1e11/both")), traces(&path("out/both")));
    assert!(path("study/young-1e11/shots.npz").exists());
}

#[test]
fn shots_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mesh, setup) = plate();
    let path = |name: &str| folder.path().join(name);
    let model = config(&write_block(folder.path(), &mesh, &setup, 64), &path("out"));
    let refused = |config: &Config, expected: &str| {
        let error = solve(config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(&Config { shot: vec!["right".into()], ..model.clone() }, "there is no shot right; there are left, both");
    refused(&Config { restart: Some(Some("a.pogo".into())), ..model.clone() }, "give --restart without a.pogo");
    for (table, expected) in [
        (
            "shot,source\na,force7\n",
            "s.csv:2: error: there is no source force7; there are force105, force140, force30, base",
        ),
        ("shot,source\na,force105\na,force105\n", "twice"),
        ("shot,source\n../a,force105\n", "cannot be a folder's name"),
        ("shot,source,scale\na,force105,x\n", "s.csv:2: error: `x` is no finite number"),
        ("shot,force\na,force105\n", "s.csv:1: error: column `force` is none of shot, source, scale, delay"),
        ("shot\na\n", "`source`"),
    ] {
        std::fs::write(path("s.csv"), table).unwrap();
        refused(&Config { shots: Some(path("s.csv")), ..model.clone() }, expected);
    }
    // What is wrong with one shot does not keep the others from running.
    std::fs::write(path("s.csv"), "shot,source,delay\na,base,1e-6\nb,force105,\n").unwrap();
    let outcome = solve(&Config { shots: Some(path("s.csv")), ..model }).unwrap();
    assert!(outcome.problems()[0].contains("base has no amplitude that a delay could shift"), "{outcome:?}");
    assert_eq!(outcome.exit_code(), 1);
}

/// The archive as NumPy reads it: shot × trace × time.
#[test]
fn numpy_reads_the_traces_of_all_shots() {
    let Some(python) = pogo_tests::python(&["numpy"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mesh, mut setup) = plate();
    setup.histories.push(pogo_formats::dynamics::HistoryRequest {
        interval: pogo_formats::dynamics::OutputInterval::Increments(5),
        ..history("R", vec![120], &displacements(2))
    });
    let config = config(&write_block(folder.path(), &mesh, &setup, 64), &folder.path().join("out"));
    solve(&config).unwrap();
    let script = "
import sys, numpy as np
out = sys.argv[1]
a = np.load(out + '/shots.npz')
assert list(a['shots']) == ['left', 'both'], a['shots']
for group in ['', '-2']:
    assert a['traces' + group].shape == (2, len(a['columns' + group]), len(a['time' + group]))
    for i, shot in enumerate(a['shots']):
        t = np.load(f'{out}/{shot}/traces.npz')
        assert (t['time' + group] == a['time' + group]).all()
        for j, name in enumerate(a['columns' + group]):
            assert (t[name] == a['traces' + group][i, j]).all() and abs(t[name]).max() > 0
";
    let out = folder.path().join("out");
    let status = std::process::Command::new(python).arg("-c").arg(script).arg(out).status().unwrap();
    assert!(status.success());
}
