//! What a run promises: the same bits, restarts, energy, a clear end when things go wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pogo_formats::dynamics::*;
use pogo_formats::explicit::summary::ExplicitSummary;
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;
use pogo_formats::write::summary::Status;
use pogo_solver::config::{CheckpointInterval, Config, DeviceChoice, Devices, Precision};
use pogo_solver::interrupt::Interrupts;
use pogo_solver::observe::{Observer, Outlook};

use crate::common::*;

/// A clamped plate with a burst at its tip, damping, a moving corner, traces of every kind and two series of fields.
fn plate() -> (Mesh, Setup) {
    let mesh = grid_2d(ElementKind::Cpe4, [30, 15], [0.03, 0.015]);
    let mut setup = steel(1.5e-5);
    setup.materials[0].damping_alpha = 1e4;
    setup.amplitudes = vec![burst(5e5)];
    setup.loads =
        vec![point_force(200, [0.0, -1.0, 0.0], 100.0, Some(0)), point_force(0, [1.0, 0.0, 0.0], 30.0, Some(0))];
    let base = nodes_where(&mesh, |x| x[0] == 0.0);
    setup.boundaries = vec![
        fix("x", base.clone(), 0),
        fix("y", base, 1),
        Boundary {
            name: "pull".into(),
            nodes: vec![30],
            component: 0,
            kind: BoundaryKind::Velocity,
            value: 1e-3,
            amplitude: Some(0),
        },
    ];
    setup.histories = vec![
        HistoryRequest {
            interval: OutputInterval::Increments(3),
            ..history(
                "A",
                vec![200, 31, 30],
                &[(NodalQuantity::Displacement, 1), (NodalQuantity::Velocity, 0), (NodalQuantity::Acceleration, 1)],
            )
        },
        history("B", vec![0, 30, 200], &[(NodalQuantity::Reaction, 0)]),
    ];
    setup.element_histories = vec![ElementHistoryRequest {
        set: "E".into(),
        elements: vec![449, 30, 29],
        variables: vec![
            (ElementQuantity::Mises, 0),
            (ElementQuantity::Strain, 3),
            (ElementQuantity::Stress, 1),
            (ElementQuantity::EnergyDensity, 0),
        ],
        interval: OutputInterval::Increments(3),
    }];
    setup.fields = vec![FieldRequest {
        quantities: vec![FieldQuantity::Displacement, FieldQuantity::Velocity, FieldQuantity::Stress],
        interval: OutputInterval::Count(4),
    }];
    (mesh, setup)
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const RESULTS: [&str; 4] = ["traces.csv", "traces-2.csv", "energy.csv", "fields.pvd"];

fn assert_same_results(one: &Path, other: &Path) {
    for name in RESULTS {
        assert!(bytes(&one.join(name)) == bytes(&other.join(name)), "{name} differs");
    }
    let snapshots = |folder: &Path| -> Vec<PathBuf> {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join("fields")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let (ones, others) = (snapshots(one), snapshots(other));
    assert_eq!(ones.len(), 5);
    for (a, b) in ones.iter().zip(&others) {
        assert_eq!(a.file_name(), b.file_name());
        assert!(bytes(a) == bytes(b), "{} differs", a.display());
    }
}

#[test]
fn the_same_bits_for_every_number_of_threads_and_pause() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    for precision in [Precision::F32, Precision::F64] {
        let mut outputs = Vec::new();
        for (threads, samples) in [(1, None), (2, None), (3, None)] {
            let output = folder.path().join(format!("{}-{threads}", precision.name()));
            let mut config = config(&block_file, &output);
            config.settings.precision = precision;
            config.settings.threads = Some(threads);
            config.settings.energy_samples = samples;
            assert_eq!(run(&config).ending.status, Status::Completed);
            outputs.push(output);
        }
        for output in &outputs[1..] {
            assert_same_results(&outputs[0], output);
        }
        // Cut for several parts of the process.
        for parts in [2, 3, 5] {
            let output = folder.path().join(format!("{}-parts-{parts}", precision.name()));
            let mut config = config(&block_file, &output);
            config.settings.precision = precision;
            config.settings.device = Devices::Several(vec![DeviceChoice::Cpu; parts]);
            assert_eq!(run(&config).ending.status, Status::Completed);
            assert_same_results(&outputs[0], &output);
        }
        // Other pauses, the same solution.
        let output = folder.path().join("pauses");
        let mut config = config(&block_file, &output);
        config.settings.precision = precision;
        config.settings.energy_samples = Some(17);
        run(&config);
        assert!(bytes(&outputs[0].join("traces.csv")) == bytes(&output.join("traces.csv")));
    }
}

/// Asks for a stop once a step is reached.
struct StopAt(u64, Interrupts);

impl Observer for StopAt {
    fn advanced(&mut self, step: u64) {
        if step >= self.0 {
            self.1.request_stop();
        }
    }
}

fn stop_at(config: &Config, step: u64) -> ExplicitSummary {
    let interrupts = Interrupts::default();
    summary(pogo_solver::solve(config, &interrupts.clone(), &mut StopAt(step, interrupts)).unwrap())
}

#[test]
fn a_restart_continues_bit_for_bit() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    for precision in [Precision::F32, Precision::F64] {
        let whole = folder.path().join("whole");
        let mut config = config(&block_file, &whole);
        config.settings.precision = precision;
        let last = run(&config).steps;
        let cut = folder.path().join("cut");
        config.output = Some(cut.clone());
        // Three pieces: the checkpoint of a restarted run restarts too.
        let summary = stop_at(&config, last / 5);
        assert_eq!(summary.ending.status, Status::Interrupted);
        assert!(summary.steps < last && cut.join("checkpoint.pogo").exists());
        config.restart = Some(None);
        assert_eq!(stop_at(&config, last / 2).ending.status, Status::Interrupted);
        let summary = run(&config);
        assert_eq!((summary.ending.status, summary.steps), (Status::Completed, last));
        assert!(summary.first_step >= last / 2);
        assert_same_results(&whole, &cut);
        assert!(!cut.join("checkpoint.pogo").exists(), "a finished run leaves no checkpoint");
    }
}

#[test]
fn a_run_in_slices_of_wall_time_is_the_run_at_once() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let whole = folder.path().join("whole");
    let mut config = config(&block_file, &whole);
    let last = run(&config).steps;
    let cut = folder.path().join("cut");
    config = Config { output: Some(cut.clone()), wall_time: Some(Duration::from_nanos(1)), ..config };
    let summary = run(&config);
    let message = format!("stopped by --wall-time at step 0 of {last}; go on with --restart");
    assert_eq!((summary.ending.status, summary.ending.message), (Status::Interrupted, Some(message)));
    config.restart = Some(None);
    // Each slice is longer than the one before, since what comes before the first step takes time, too.
    for slice in (0..16).map(|slice| Duration::from_millis(1 << slice)) {
        config.wall_time = Some(slice);
        if run(&config).ending.status == Status::Completed {
            break;
        }
    }
    assert_same_results(&whole, &cut);
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let output = folder.path().join("out");
    let good = config(&block_file, &output);
    stop_at(&good, 20);
    let refusal = |change: &dyn Fn(&mut Config)| {
        let mut config = Config { restart: Some(None), ..good.clone() };
        change(&mut config);
        solve(&config).unwrap_err().to_string()
    };
    let message = refusal(&|config| config.settings.precision = Precision::F32);
    assert!(message.contains("not the same precision"), "{message}");
    let message = refusal(&|config| config.overrides.push("material.steel.young=200e9".into()));
    assert!(message.contains("not the same settings"), "{message}");
    let message = refusal(&|config| config.restart = Some(Some("nowhere.pogo".into())));
    assert!(message.contains("nowhere.pogo: error: there is no checkpoint here"), "{message}");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let (mesh, setup) = (grid_2d(ElementKind::Cpe4, [30, 15], [0.031, 0.015]), setup);
    let other = write_block(&other, &mesh, &setup, 64);
    let message = refusal(&|config| config.block_file = other.clone());
    assert!(message.contains("not the same block file"), "{message}");
    // A flipped bit is found.
    let path = output.join("checkpoint.pogo");
    let mut content = bytes(&path);
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&path, content).unwrap();
    let message = refusal(&|_| {});
    assert!(message.contains("checksum"), "{message}");
}

#[test]
fn checkpoints_at_intervals_do_not_change_the_run() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let plain = folder.path().join("plain");
    run(&config(&block_file, &plain));
    let output = folder.path().join("checkpoints");
    let mut config = config(&block_file, &output);
    config.settings.checkpoint = Some(CheckpointInterval::Steps(7));
    run(&config);
    assert_same_results(&plain, &output);
}

#[test]
fn energy_is_conserved_and_balanced() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    for (precision, limit) in [(Precision::F64, 1e-10), (Precision::F32, 1e-4)] {
        let output = folder.path().join(precision.name());
        let mut config = config(&block_file, &output);
        config.settings.precision = precision;
        config.settings.energy_samples = Some(40);
        run(&config);
        let energy = Traces::read(&output.join("energy.csv"));
        let largest = energy.get("external").iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        assert!(largest > 0.0 && energy.get("damped").last().unwrap() > &0.0);
        for balance in energy.get("balance") {
            assert!(balance.abs() < limit * largest, "{precision:?}: {balance} of {largest}");
        }
    }
}

#[test]
fn an_unstable_increment_is_an_error_that_names_the_element() {
    let mut mesh = grid_2d(ElementKind::Cps3, [10, 10], [0.01, 0.01]);
    // Node (5, 5) close to its neighbour: its elements are the worst.
    mesh.coordinates[2 * 60] += 0.0007;
    let mut setup = steel(1e-5);
    setup.loads = vec![point_force(3, [1.0, 0.0, 0.0], 1.0, None)];
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let output = folder.path().join("out");
    let mut config = config(&block_file, &output);
    let automatic = run(&config);
    let worst = automatic.worst_element.clone().unwrap();
    // The whole number of increments that just keeps the factor, so that the run ends at its time.
    let share = automatic.increment / automatic.stable_increment;
    assert!(share <= 0.9 && share > 0.9 * (1.0 - 1.0 / automatic.steps as f64), "{share}");
    assert!((automatic.time / 1e-5 - 1.0).abs() < 1e-12, "{}", automatic.time);
    config.settings.increment = Some(Increment::Fixed(4.0 * automatic.stable_increment));
    let message = solve(&config).unwrap_err().to_string();
    for part in [&worst.label.to_string(), "--increment auto", "--allow-unstable", "model.blk: error:"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    // Above the element bound, but below the whole model's own limit.
    config.settings.increment = Some(Increment::Fixed(1.01 * automatic.stable_increment));
    assert_eq!(run(&config).ending.status, Status::Completed);
}

#[test]
fn a_run_that_grows_or_becomes_nan_stops_with_its_results() {
    let (mesh, mut setup) = plate();
    setup.explicit.time = 2e-4;
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let output = folder.path().join("out");
    let mut config = config(&block_file, &output);
    let stable = run(&Config { output: Some(folder.path().join("first")), ..config.clone() }).stable_increment;
    for (precision, factor) in [(Precision::F64, 1.3), (Precision::F32, 1.3), (Precision::F32, 3.0)] {
        config.settings.precision = precision;
        config.settings.increment = Some(Increment::Fixed(factor * stable));
        config.settings.allow_unstable = true;
        let summary = run(&config);
        assert_eq!(summary.ending.status, Status::Diverged, "{precision:?} {factor}");
        let message = summary.ending.message.unwrap();
        assert!(message.contains("stable") && message.contains("t = "), "{message}");
        assert!((summary.steps as f64) < 0.9 * 2e-4 / summary.increment, "stopped early");
        for name in ["traces.csv", "energy.csv", "summary.json", "diverged.pogo"] {
            assert!(output.join(name).exists(), "{name}");
        }
        assert_eq!(solve(&config).unwrap().exit_code(), 3);
    }
}

#[test]
fn an_infinite_load_is_reported_as_divergence() {
    let (mesh, mut setup) = plate();
    setup.loads[0].magnitude = 2e38;
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let mut config = config(&block_file, &folder.path().join("out"));
    config.settings.precision = Precision::F32;
    assert_eq!(run(&config).ending.status, Status::Diverged);
}

#[test]
fn the_observer_hears_everything() {
    #[derive(Default)]
    struct Ear(Vec<String>, u64);
    impl Observer for Ear {
        fn started(&mut self, outlook: &Outlook) {
            self.0.push(format!("started {}", outlook.n_nodes));
            self.1 = outlook.n_steps;
        }
        fn advanced(&mut self, step: u64) {
            if step == self.1 {
                self.0.push("all steps".into());
            }
        }
        fn ended(&mut self, text: &str) {
            self.0.push(text.split(':').next().unwrap().to_owned());
        }
    }
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let mut ear = Ear::default();
    let config = config(&block_file, &folder.path().join("out"));
    pogo_solver::solve(&config, &Interrupts::default(), &mut ear).unwrap();
    assert_eq!(ear.0, ["started 496", "all steps", "done"]);
}

#[test]
fn a_flipped_bit_in_the_block_file_never_becomes_a_result() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let good = bytes(&block_file);
    let config = config(&block_file, &folder.path().join("out"));
    for position in (0..good.len()).step_by(good.len() / 40) {
        let mut bad = good.clone();
        bad[position] ^= 0x10;
        std::fs::write(&block_file, &bad).unwrap();
        // Padding between sections is not data.
        if let Err(error) = solve(&config) {
            assert!(error.to_string().contains("model.blk: error:"), "{error}");
        } else {
            std::fs::write(&block_file, &good).unwrap();
            let whole = folder.path().join("whole");
            run(&Config { output: Some(whole.clone()), ..config.clone() });
            assert_same_results(&whole, &folder.path().join("out"));
        }
    }
}

#[test]
fn nothing_half_written_remains() {
    let (mesh, setup) = plate();
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let output = folder.path().join("out");
    let mut config = config(&block_file, &output);
    config.settings.plot = true;
    let summary = run(&config);
    assert_eq!(summary.files.iter().filter(|name| name.starts_with("snapshot-")).count(), 4);
    let mut names: Vec<String> = std::fs::read_dir(&output)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "fields")
        .collect();
    names.sort();
    // A second run in the same folder leaves nothing of the first that is not its own.
    config.settings.plot = false;
    run(&config);
    assert!(!output.join("traces.svg").exists() && output.join("traces.csv").exists());
    let mut listed = summary.files.clone();
    listed.sort();
    assert_eq!(names, listed);
}

/// An array of a `.vtu` file as f64, by node label where it is nodal.
fn vtu_vectors(path: &Path, name: &str) -> std::collections::BTreeMap<u32, [f64; 3]> {
    let content = bytes(path);
    let marker = b"<AppendedData encoding=\"raw\">\n_";
    let data = content.windows(marker.len()).position(|window| window == marker).unwrap() + marker.len();
    let header = String::from_utf8_lossy(&content[..data]).into_owned();
    let array = |name: &str| -> &[u8] {
        let line = header.lines().find(|line| line.contains(&format!("Name=\"{name}\""))).unwrap();
        let offset: usize = line.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        let length = u64::from_le_bytes(content[data + offset..][..8].try_into().unwrap()) as usize;
        &content[data + offset + 8..][..length]
    };
    let labels = array("node_label").as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let values: Vec<f64> =
        array(name).as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
    labels.zip(values.as_chunks::<3>().0.iter().copied()).collect()
}

#[test]
fn fields_and_traces_say_the_same() {
    let (mesh, mut setup) = plate();
    // A free node, one that a force acts on, one on a moving support.
    let nodes = [31, 200, 30];
    let quantities = [NodalQuantity::Displacement, NodalQuantity::Velocity, NodalQuantity::Acceleration];
    let variables: Vec<_> = quantities.iter().flat_map(|&quantity| [(quantity, 0), (quantity, 1)]).collect();
    setup.histories = vec![history("N", nodes.to_vec(), &variables)];
    setup.fields[0].quantities =
        vec![FieldQuantity::Displacement, FieldQuantity::Velocity, FieldQuantity::Acceleration];
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 64);
    let output = folder.path().join("out");
    run(&config(&block_file, &output));
    let traces = Traces::read(&output.join("traces.csv"));
    let files: Vec<PathBuf> =
        std::fs::read_dir(output.join("fields")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 5);
    for path in files {
        let step: usize = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        for (name, letter) in [("displacement", "U"), ("velocity", "V"), ("acceleration", "A")] {
            let field = vtu_vectors(&path, name);
            for node in nodes {
                for (component, &found) in field[&(node + 1)].iter().enumerate().take(2) {
                    let column = traces.get(&format!("N.{}.{letter}{}", node + 1, component + 1));
                    let scale = column.iter().fold(0.0f64, |scale, value| scale.max(value.abs()));
                    let expected = column[step];
                    // Fields are written in single precision.
                    assert!(
                        (found - expected).abs() <= 1e-6 * scale,
                        "{name} {node} {step}: {found} is not {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn automatic_increments_stay_within_the_stable_one_however_few() {
    let mesh = grid_2d(ElementKind::Cps4r, [4, 2], [0.004, 0.002]);
    let mut setup = steel(1e-6);
    setup.histories = vec![history("N", vec![0], &displacements(2))];
    let stable = traces_of(&mesh, &setup).0.stable_increment;
    for (times, expected) in [(0.3, 1), (1.0, 1), (1.4, 2), (2.0, 2), (2.1, 3)] {
        setup.explicit.time = times * 0.9 * stable;
        let (summary, _) = traces_of(&mesh, &setup);
        assert_eq!(summary.steps, expected, "{times}");
        assert!((summary.time - setup.explicit.time).abs() < 1e-12 * summary.time);
    }
}

/// A signal is sampled once an increment: one that is faster is another signal, or none.
#[test]
fn signals_that_the_increment_does_not_follow_are_warned_of() {
    let (mesh, mut setup) = plate();
    let warnings = |setup: &Setup| traces_of(&mesh, setup).0.warnings;
    assert_eq!(warnings(&setup), Vec::<String>::new());
    setup.amplitudes = vec![burst(5e8)];
    let said = warnings(&setup);
    let dt = traces_of(&mesh, &setup).0.increment;
    let expected = format!("amplitude `burst` has {:.2} increments a period of 2.000e-9 s", 2e-9 / dt);
    assert!(said.len() == 1 && said[0].starts_with(&expected), "{said:?}");
    // A pulse between two increments does nothing; a step of that length is a step.
    let table = |values: Vec<f64>| AmplitudeShape::Tabular { times: vec![0.0, 1e-10, 2e-10], values };
    setup.amplitudes[0].shape = table(vec![0.0, 1.0, 0.0]);
    assert_eq!(warnings(&setup).len(), 1);
    setup.amplitudes[0].shape = table(vec![0.0, 0.5, 1.0]);
    assert!(warnings(&setup).is_empty());
    // Nothing is said of what nothing uses.
    setup.amplitudes[0].shape = table(vec![0.0, 1.0, 0.0]);
    setup.loads.iter_mut().for_each(|load| load.amplitude = None);
    setup.boundaries.iter_mut().for_each(|boundary| boundary.amplitude = None);
    assert!(warnings(&setup).is_empty());
}
