//! What the program says of a device that fails, and what it keeps. A driver library without a device stands in for the real
//! one (tests/fake_cuda.c); whether the results are right is not tested here.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use pogo_formats::mesh::*;

use pogo_tests::{command, succeed};

use crate::common::*;

const SPRINGS: &str = r#"
physics = "spring"
[image]
spacing = 1.0
[solver]
time = 40.0
[[material]]
name = "a"
mass = 1.0
stiffness = { axis = 1.0, face = 0.7 }
damping = 0.01
max_strain = 0.5
[[boundary]]
side = "zmin"
[[cut]]
name = "BLADE"
times = [26.0, 30.0]
from = [[-1, 5.5, -1], [-1, 5.5, 12]]
to = [[12, 5.5, -1], [12, 5.5, 12]]
[[monitor]]
name = "TOP"
side = "zmax"
count = 30
"#;

/// Folder with the stand-in for the driver; none, and a word about it, where there is no C compiler.
fn driver() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().unwrap().keep();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .arg(folder.join("libcuda.so.1"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_cuda.c"))
            .output();
        match built {
            Ok(output) => {
                assert!(output.status.success(), "{output:?}");
                Some(folder)
            }
            Err(error) => {
                pogo_tests::skip(format_args!("there is no C compiler for the stand-in for CUDA's driver: {error}"));
                None
            }
        }
    };
    FOLDER.get_or_init(build).as_ref()
}

struct Model {
    folder: tempfile::TempDir,
    driver: &'static PathBuf,
    /// Options of each run.
    options: &'static [&'static str],
}

impl Model {
    fn new() -> Option<Self> {
        let driver = driver()?;
        let folder = tempfile::tempdir().unwrap();
        let mesh = grid_2d(ElementKind::Cpe3, [20, 4], [0.02, 0.004]);
        let mut setup = steel(2e-4);
        setup.amplitudes = vec![burst(4e5)];
        setup.loads = vec![point_force(20, [1.0, 0.0, 0.0], 10.0, Some(0))];
        setup.histories = vec![history("END", vec![20], &displacements(2))];
        write_block(folder.path(), &mesh, &setup, 32);
        Some(Self { folder, driver, options: &["--increment", "2e-8"] })
    }

    /// A lattice with dampers, springs that may break, and a cut.
    fn of_springs() -> Option<Self> {
        let driver = driver()?;
        let folder = tempfile::tempdir().unwrap();
        let [image, job, block] = ["box.npy", "job.toml", "model.blk"].map(|name| folder.path().join(name));
        std::fs::write(&job, SPRINGS).unwrap();
        succeed(command("pogo-gen").args(["box", "12", "-q", "-o"]).arg(&image));
        succeed(command("pogo-block").arg(&image).arg("--job").arg(&job).args(["-q", "-o"]).arg(&block));
        Some(Self { folder, driver, options: &["--increment", "0.02"] })
    }

    fn call(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = pogo_solve();
        command
            .args(["model.blk", "--quiet", "--threads", "1", "-o", "out"])
            .args(self.options)
            .args(arguments)
            .envs(environment.iter().copied())
            .env("LD_LIBRARY_PATH", self.driver)
            .env("FAKE_CUDA_LOG", self.folder.path().join("log"))
            .current_dir(self.folder.path());
        command.output().unwrap()
    }

    /// How often a function of the driver was called so far.
    fn calls(&self, function: &str) -> usize {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| *line == function).count()
    }
}

/// Exit code 1 and one line.
fn error(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "{said}");
    said
}

#[test]
fn a_device_lost_in_the_middle_leaves_the_last_checkpoint() {
    let Some(model) = Model::new() else { return };
    let checkpoint = ["--device", "cuda", "--checkpoint-interval", "1000steps"];
    let output = model.call(&checkpoint, &[("FAKE_CUDA_FAIL", "cuGraphLaunch:60:719")]);
    let said = error(&output);
    assert!(said.contains("unspecified launch failure") && said.contains("--restart"), "{said}");
    let kept = said.split("the checkpoint of step ").nth(1).and_then(|rest| rest.split(' ').next());
    let kept: u64 = kept.and_then(|step| step.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    assert!(kept > 0 && kept.is_multiple_of(1000), "{said}");
    assert!(!model.folder.path().join("out/summary.json").exists());
    // And it can be gone on from.
    let output = model.call(&["--device", "cpu", "--restart", "--json"], &[]);
    assert!(output.status.success(), "{output:?}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["first_step"], &summary["steps"]), (&kept.into(), &10000.into()));
}

#[test]
fn a_device_lost_among_several_ends_the_run_with_one_message() {
    for model in [Model::new(), Model::of_springs()].into_iter().flatten() {
        losing_one_of_two_devices_ends_with_one_message(&model);
    }
}

fn losing_one_of_two_devices_ends_with_one_message(model: &Model) {
    let arguments = ["--device", "cuda:0,0", "--checkpoint-interval", "1000steps"];
    let output = model.call(&arguments, &[]);
    assert!(output.status.success(), "{output:?}");
    let mut failing = vec![("cuMemcpyHtoD_v2", 0.0, 0), ("cuLaunchKernel", 0.0, 0)];
    // While each of the two devices is prepared: the other waits for what it offers.
    failing.extend((0..6).map(|further| ("cuCtxSetCurrent", 0.0, further)));
    // In a pass of each of the two devices, and between passes.
    failing.extend((0..4).map(|further| ("cuLaunchKernel", 0.6, further)));
    failing.extend([("cuStreamSynchronize", 0.6, 0), ("cuMemcpyDtoH_v2", 0.6, 0)]);
    for (function, part, further) in failing {
        let before = model.calls(function);
        model.call(&arguments, &[]);
        let n = 1 + further + (part * (model.calls(function) - before) as f64) as usize;
        let said = error(&model.call(&arguments, &[("FAKE_CUDA_FAIL", &format!("{function}:{n}:719"))]));
        assert!(said.contains("unspecified launch failure"), "{function}:{n}: {said}");
        assert_eq!(said.contains("--restart"), part > 0.0, "{function}:{n}: {said}");
    }
}

#[test]
fn every_call_that_fails_is_an_error_that_says_which() {
    let Some(model) = Model::new() else { return };
    let output = model.call(&["--device", "cuda", "--json"], &[]);
    assert!(output.status.success(), "{output:?}");
    for (function, what) in [
        ("cuInit", "start"),
        ("cuDevicePrimaryCtxRetain", "make a context"),
        ("cuModuleLoadData", "load the kernels"),
        ("cuStreamCreateWithPriority", "make a stream"),
        ("cuMemcpyHtoD_v2", "copy to the device"),
        ("cuGraphInstantiateWithFlags", "prepare launches"),
        ("cuMemsetD8Async", "clear memory"),
        ("cuLaunchKernel", "start a kernel"),
        ("cuStreamSynchronize", "finish its work"),
        ("cuMemcpyDtoH_v2", "copy from the device"),
    ] {
        // The first such call of a run, and the last.
        let before = model.calls(function);
        model.call(&["--device", "cuda"], &[]);
        let last = model.calls(function) - before;
        for n in [1, last] {
            let said = error(&model.call(&["--device", "cuda"], &[("FAKE_CUDA_FAIL", &format!("{function}:{n}:719"))]));
            assert!(said.contains(what), "{function}:{n}: {said}");
            assert!(
                said.contains("unspecified launch failure") || said.contains("LaunchFailed"),
                "{function}:{n}: {said}"
            );
        }
    }
}

#[test]
fn an_old_driver_is_told_in_one_sentence() {
    let Some(model) = Model::new() else { return };
    let said = error(&model.call(&["--device", "cuda"], &[("FAKE_CUDA_VERSION", "12020")]));
    for part in ["the CUDA driver is too old: it supports CUDA 12.2", "or later", "--device cpu"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(model.calls("cuInit"), 0);
}

#[test]
fn too_little_memory_is_told_before_anything_runs() {
    let Some(model) = Model::new() else { return };
    let said = error(&model.call(&["--device", "cuda"], &[("FAKE_CUDA_MEMORY", "150000000")]));
    for part in ["the run needs 0.2", "GB of memory on No Device", "0.15 GB are free", "--device cpu"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!((model.calls("cuMemAlloc_v2"), model.calls("cuLaunchKernel")), (0, 0));
    // There is enough, but not for us: somebody else took it meanwhile.
    let said = error(&model.call(&["--device", "cuda"], &[("FAKE_CUDA_FAIL", "cuMemAlloc_v2:5:2")]));
    assert!(said.contains("CUDA cannot allocate memory: out of memory"), "{said}");
    assert_eq!(model.calls("cuLaunchKernel"), 0);
    // Left to itself it runs on the CPU instead.
    let output = model.call(&["--json"], &[("FAKE_CUDA_MEMORY", "150000000")]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["device"], "cpu");
}
