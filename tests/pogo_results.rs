//! Files of P. Huthwaite's Pogo, and files for MATLAB: read by programs that share nothing with the writers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pogo_tests::{Traces, command, relative_error, succeed, workspace};

/// The folder of Pogo's commands.
fn commands() -> PathBuf {
    let solve = command("pogo-solve");
    Path::new(solve.get_program()).parent().expect("commands lie in a folder").to_path_buf()
}

fn python_script(name: &str) -> PathBuf {
    workspace().join("tests/python").join(name)
}

/// The deck of the strip that the scripts of examples/compat are tested with.
const STRIP: &str = "*Heading\na strip\n*Node\n1, 0., 0.\n2, 1e-3, 0.\n3, 2e-3, 0.\n4, 0., 1e-3\n5, 1e-3, 1e-3\n6, 2e-3, 1e-3\n\
    *Element, type=CPE4R, elset=ALL\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n*Nset, nset=END\n3, 6\n*Nset, nset=START\n1, 4\n\
    *Solid Section, elset=ALL, material=STEEL\n,\n*Material, name=STEEL\n*Density\n7800.,\n*Elastic\n2.1e11, 0.3\n\
    *Amplitude, name=A\n0., 0., 1e-7, 1., 2e-7, 0.\n*Boundary\nSTART, 1, 1\n*Step\n*Dynamic, Explicit, direct user control\n\
    2e-8, 4e-6\n*Cload, amplitude=A\nEND, 1, 5.\n*Output, history, frequency=1\n*Node Output, nset=END\nU\n\
    *Output, field, number interval=4\n*Node Output\nU\n*End Step\n";

#[test]
fn pogo_files_agree_with_central_differences() {
    let Some(python) = pogo_tests::python(&["numpy", "scipy"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let script = python_script("pogo_results.py");
    let output = succeed(Command::new(python).arg("-B").arg(script).arg(commands()).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn traces_for_matlab_are_those_of_numpy() {
    let Some(python) = pogo_tests::python(&["numpy", "scipy"]) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    // Two samplings, and a name beyond ASCII: texts have 16 bits a sign, as MATLAB writes them, which SciPy has to be told.
    let more = "*Output, history, frequency=3\n*Node Output, nset=\"Anfang ä\"\nV\n*End Step\n";
    let deck = STRIP.replace("nset=START", "nset=\"Anfang ä\"").replace("START, 1, 1", "\"Anfang ä\", 1, 1");
    std::fs::write(folder.join("model.inp"), deck.replace("*End Step\n", more)).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet"]));
    succeed(command("pogo-gen").current_dir(folder).args(["box", "6", "-o", "springs.npy", "--quiet"]));
    succeed(command("pogo-block").current_dir(folder).args(["springs.npy", "--job", "springs.toml", "--quiet"]));
    for (model, folder_of) in [("model.blk", "model.out"), ("springs.blk", "springs.out")] {
        succeed(command("pogo-solve").current_dir(folder).args([model, "--mat", "--quiet", "--threads", "1"]));
        let out = folder.join(folder_of);
        let compare = "import sys, numpy as np; from scipy.io import loadmat\n\
            mat, npz = loadmat('traces.mat', uint16_codec='latin1'), np.load('traces.npz')\n\
            groups = [''] + ['_2'] * ('time_2' in mat)\n\
            for end in groups:\n\
            \x20   names = [str(name[0]) for name in mat['names' + end][0]]\n\
            \x20   assert (mat['time' + end][:, 0] == npz['time' + end.replace('_', '-')]).all()\n\
            \x20   for column, name in zip(mat['values' + end].T, names): assert (column == npz[name]).all() and len(column)\n\
            print(len(npz.files), sum(mat['values' + end].shape[1] + 1 for end in groups))\n";
        let output = succeed(Command::new(&python).args(["-c", compare]).current_dir(&out));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let counts: Vec<&str> = text.split_whitespace().collect();
        assert!(
            counts.len() == 2 && counts[0] == counts[1],
            "{folder_of}: arrays in the archive and in the file: {text}"
        );
        assert!(std::fs::read_to_string(out.join("summary.json")).unwrap().contains("\"traces.mat\""));
    }
}

#[test]
fn a_deck_that_is_written_has_the_solution_of_the_first() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let job = "[[absorbing]]\nname = \"end\"\nside = \"xmax\"\ndepth = 1.5e-3\nprofile = \"stiffness_reduction\"\nfrequency = 1e6\n\
               wave_speed = 3000.0\n[[amplitude]]\nname = \"A\"\nkind = \"ricker\"\nfrequency = 3e6\npeak_time = 4e-7\n";
    std::fs::write(folder.join("model.inp"), STRIP).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml", "--quiet"]));
    let with_job = ["model.inp", "--job", "job.toml", "-o", "other.inp", "--quiet"];
    succeed(command("pogo-block").current_dir(folder).args(with_job));
    succeed(command("pogo-block").current_dir(folder).args(["other.inp", "--quiet"]));
    let solve = |name: &str| {
        let arguments = [format!("{name}.blk"), "--quiet".into(), "--threads".into(), "1".into()];
        succeed(command("pogo-solve").current_dir(folder).args(arguments));
        Traces::read(&folder.join(format!("{name}.out/traces.csv")))
    };
    let (first, second) = (solve("model"), solve("other"));
    assert_eq!(first.names, second.names);
    for name in &first.names[1..] {
        let error = relative_error(second.column(name), first.column(name));
        // Sections with their own materials add up element masses in another order.
        assert!(error < 1e-10, "{name}: {error:e}");
    }
}

#[test]
fn what_the_files_cannot_hold_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let moving = STRIP.replace("*Step\n", "*Initial Conditions, type=VELOCITY\nEND, 1, 1.\n*Step\n");
    let pressed = moving.replace("*Cload, amplitude=A\nEND, 1, 5.\n", "*Dload, amplitude=A\nALL, P2, 5.\n");
    std::fs::write(folder.join("model.inp"), pressed).unwrap();
    let output =
        command("pogo-block").current_dir(folder).args(["model.inp", "-o", "model.pogo-inp"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("model.inp: error: `END.1` is an initial velocity"), "{said}");
    assert!(said.contains("acts on faces or volumes; the file holds forces on nodes"), "{said}");
    assert!(!folder.join("model.pogo-inp").exists());

    std::fs::write(folder.join("model.inp"), STRIP.replace("frequency=1\n", "time interval=3e-8\n")).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet"]));
    let output = command("pogo-solve").current_dir(folder).args(["model.blk", "--pogo-files"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("samples of `END` have no equal distance"), "{said}");
}

/// A script of examples/compat in a folder, with answers on its standard input.
fn script(name: &str, folder: &Path, arguments: &[&str], answer: &str) -> Output {
    use std::io::Write;
    let mut run = Command::new(workspace().join("examples/compat").join(name));
    run.args(arguments).current_dir(folder).env("POGO_BIN", commands());
    let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A script that asks nothing does not read.
    let _ = run.stdin.take().unwrap().write_all(answer.as_bytes());
    run.wait_with_output().unwrap()
}

fn refused(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(words), "{words}: {:?} {said}", output.status);
}

#[test]
fn scripts_refuse_what_they_do_not_know() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    refused(&script("pogoSolve", folder, &["model", "--outputAllStiffToMatrix"], ""), "no matrices are assembled");
    refused(&script("pogoSolve64", folder, &["model", "--faster"], ""), "--faster is not known");
    refused(&script("pogoSolve3d", folder, &["model"], ""), "there is no model.pogo-inp");
    refused(&script("pogoBlock", folder, &[], ""), "name a model");
    let said = script("pogoSolve", folder, &["--test"], "");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.contains("Pogo works") && text.contains("CUDA"), "{text}");
    std::fs::write(folder.join("strip.inp"), STRIP).unwrap();
    assert!(script("pogoFromAb", folder, &["strip.inp", "--setVerbosity", "0"], "").status.success());
    assert!(std::fs::read(folder.join("strip.pogo-inp")).unwrap().starts_with(b"%pogo-inp\0"));
}

#[test]
fn models_go_round_with_the_same_solution() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("one.inp"), STRIP).unwrap();
    let block = |arguments: &[&str]| succeed(command("pogo-block").current_dir(folder).args(arguments).arg("--quiet"));
    block(&["one.inp", "-o", "two.pogo-inp"]);
    block(&["two.pogo-inp", "-o", "three.inp"]);
    block(&["three.inp", "-o", "four.pogo-inp"]);
    let solve = |input: &str| {
        block(&[input, "-o", "model.blk"]);
        let arguments = ["model.blk", "-o", "out", "--quiet", "--threads", "1"];
        succeed(command("pogo-solve").current_dir(folder).args(arguments));
        Traces::read(&folder.join("out/traces.csv"))
    };
    let first = solve("one.inp");
    for input in ["two.pogo-inp", "three.inp", "four.pogo-inp"] {
        let other = solve(input);
        assert_eq!(first.names, other.names, "{input}");
        let n = other.time().len();
        // The state at the start is no sample of a .pogo-inp.
        let skipped = first.time().len() - n;
        for (found, expected) in other.columns.iter().zip(&first.columns) {
            assert!(found == &expected[skipped..], "{input}");
        }
    }
}

#[test]
fn scripts_run_models_as_those_of_the_original_do() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let passed = |output: Output| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let quiet = ["--setVerbosity", "0"];
    for (name, force) in [("strip", "5."), ("hard", "50.")] {
        std::fs::write(folder.join(format!("{name}.inp")), STRIP.replace("END, 1, 5.", &format!("END, 1, {force}")))
            .unwrap();
        passed(script("pogoFromAb", folder, &[&format!("{name}.inp"), quiet[0], quiet[1]], ""));
    }
    passed(script("pogoBlock", folder, &["strip.pogo-inp", "-o", quiet[0], quiet[1]], ""));
    passed(script("pogoSolve64", folder, &["strip", quiet[0], quiet[1]], ""));
    let (history, field) = (read("strip.pogo-hist"), read("strip.pogo-field"));
    assert!(history.starts_with(b"%pogo-hist\0") && field.starts_with(b"%pogo-field\0"));

    // Results are overwritten on demand alone.
    std::fs::write(folder.join("strip.pogo-hist"), "old").unwrap();
    refused(&script("pogoSolve64", folder, &["strip.pogo-inp"], "n\n"), "-o overwrites them");
    assert_eq!(read("strip.pogo-hist"), b"old");
    passed(script("pogoSolve64", folder, &["strip.pogo-inp"], "o\n"));
    assert_eq!(read("strip.pogo-hist"), history);

    // Other names, no fields, single precision.
    let options = ["strip", "-o", "--setFieldSaveOff", "--setCompressOff", "--setOutputFile", "other"];
    passed(script("pogoSolve", folder, &options, ""));
    assert!(!folder.join("other.pogo-field").exists());
    let other = read("other.pogo-hist");
    assert!(other.len() == history.len() && other != history);

    // A partition of a model with other sources.
    std::fs::copy(folder.join("strip.pogo-block"), folder.join("hard.pogo-block")).unwrap();
    let said = passed(script("pogoSolve64", folder, &["hard", "-o"], ""));
    assert!(said.contains("hard.pogo-block was not made from hard.pogo-inp"), "{said}");
    let hard = read("hard.pogo-hist");
    passed(script("pogoBlockGreedy3d", folder, &["hard"], ""));
    passed(script("pogoSolve64", folder, &["hard", "-o"], ""));
    assert!(hard == read("hard.pogo-hist") && hard != history);
    let left = std::fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0);
}
