//! What bone researchers compare: voxel statics against assembled matrices, FAIM's failure load, ParOSol's files.

use std::path::Path;
use std::process::Command;

use pogo_tests::arrays::{npy, write_stack};
use pogo_tests::{command, shared, succeed, workspace};

#[test]
fn voxel_statics_agree_with_assembled_matrices() {
    let Some(python) = pogo_tests::python(&["numpy", "scipy", "h5py"]) else { return };
    let solve = command("pogo-solve");
    let commands = Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().expect("a folder");
    let script = workspace().join("tests/python/voxel_statics.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

/// FAIM's figures for this sample: E = 10 GPa, ν = 0.3, axial compression by 1 %.
#[test]
fn the_failure_load_of_bone_is_that_of_faim() {
    let Some(stack) = shared("voxels/parosol_py/trab1240_labels.npz") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let job = "[image]\nspacing = 0.0606992716\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 10e3\n\
               poisson = 0.3\n[load]\npreset = \"axial\"\nstrain = -0.01\n";
    std::fs::write(path("job.toml"), job).expect("the job is written");
    let block = |job: &Path| {
        let mut command = command("pogo-block");
        command.arg(&stack).arg("--job").arg(job).args(["--quiet", "-o"]).arg(path("bone.blk"));
        command
    };
    succeed(&mut block(&path("job.toml")));
    succeed(command("pogo-solve").arg(path("bone.blk")).args(["--quiet", "-o"]).arg(path("out")));
    let text = std::fs::read_to_string(path("out/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let failure = &summary["cases"][0]["failure"];
    for (name, found, faim) in [
        ("reaction", &summary["reaction"]["zmax"][2], -71.518_890),
        ("effective strain", &failure["strain_passed"], 0.009_829_267),
        ("factor", &failure["factor"], 0.712_158_9),
        ("failure load", &failure["load"][2], -50.932_815),
    ] {
        let found = found.as_f64().expect("a number");
        assert!((found / faim - 1.0).abs() < 1e-4, "{name}: {found}, FAIM has {faim}");
    }
}

/// Blocks and solves a stack with two materials of different Poisson's ratios on the CPU; its folder of results.
fn two_ratios(folder: &Path, job: &str, size: [usize; 3], label: impl Fn([usize; 3]) -> u8) -> std::path::PathBuf {
    let path = |name: &str| folder.join(name);
    write_stack(&path("stack.npy"), size, label);
    std::fs::write(path("job.toml"), job).expect("the job is written");
    let mut block = command("pogo-block");
    succeed(block.arg(path("stack.npy")).arg("--job").arg(path("job.toml")).args(["-q", "-o"]).arg(path("model.blk")));
    let mut solve = command("pogo-solve");
    succeed(
        solve.arg(path("model.blk")).args(["-q", "--device", "cpu", "--tolerance", "1e-12", "-o"]).arg(path("out")),
    );
    path("out")
}

/// Uniaxial strain of layers in series, whose moduli λ + 2 μ are those of springs one behind the other.
#[test]
fn layers_of_two_ratios_have_the_exact_modulus() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = "[image]\nspacing = 0.5\n[material]\nlaw = \"threshold\"\nthreshold = [1, 2]\nyoung = [1000.0, 3000.0]\n\
               poisson = [0.45, 0.1]\n[load]\npreset = \"confined\"\nstrain = -0.01\n";
    let out = two_ratios(folder.path(), job, [6, 5, 16], |[_, _, z]| if z < 4 { 2 } else { 1 });
    let text = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let modulus = |young: f64, nu: f64| young * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let expected = 1.0 / (0.75 / modulus(1000.0, 0.45) + 0.25 / modulus(3000.0, 0.1));
    let found = summary["cases"][0]["apparent"]["value"].as_f64().expect("a number");
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

/// Materials of one shear modulus have one stress under a strain without change of volume, whatever their ratios: so such a
/// field on the surface goes on inside, however the materials are mixed.
#[test]
fn a_shear_passes_through_materials_of_two_ratios() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = [[2e-3, -1e-3, 5e-4], [1e-3, -3e-3, 2e-3], [-4e-4, 7e-4, 1e-3]];
    let job = format!(
        "[image]\nspacing = 0.5\n[material]\nlaw = \"labels\"\nlabels = [{{ value = 1, young = 2600.0, poisson = 0.3 }}, \
         {{ value = 2, young = 1800.0, poisson = -0.1 }}, {{ value = 3, young = 2980.0, poisson = 0.49 }}]\n[[boundary]]\n\
         side = [\"xmin\", \"xmax\", \"ymin\", \"ymax\", \"zmin\", \"zmax\"]\ndisplacement = [0.0, 0.0, 0.0]\ngradient = {a:?}\n"
    );
    let out =
        two_ratios(folder.path(), &job, [9, 10, 7], |[x, y, z]| 1 + ((7 * x + 11 * y + 5 * z + x * y * z) % 3) as u8);
    let (nodes, found) = (npy(&out.join("nodes.npy")).values, npy(&out.join("displacement.npy")).values);
    for (at, u) in nodes.chunks(3).zip(found.chunks(3)) {
        for (u, row) in u.iter().zip(a) {
            let expected: f64 = row.iter().zip(at).map(|(a, x)| 0.5 * a * x).sum();
            assert!((u - expected).abs() < 1e-13, "{at:?}: {u} {expected}");
        }
    }
}

/// Averaged moduli stand for one ratio.
#[test]
fn several_ratios_have_no_averaged_moduli() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = "[image]\nspacing = 0.5\n[material]\nlaw = \"threshold\"\nthreshold = [1, 2]\nyoung = [1000.0, 3000.0]\n\
               poisson = [0.45, 0.1]\n[load]\npreset = \"axial\"\nstrain = -0.01\n";
    two_ratios(folder.path(), job, [4, 4, 6], |[_, _, z]| if z < 4 { 2 } else { 1 });
    let solve = |arguments: &[&str]| {
        let mut command = command("pogo-solve");
        let output = command.current_dir(&folder).arg("model.blk").args(arguments).output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(solve(&[]).0, Some(0));
    let (code, said) = solve(&["--device", "cpu", "--set", "solver.coarse_operator=averaged"]);
    assert!(code == Some(1) && said.contains("different Poisson's ratios"), "{said}");
    // One ratio after all.
    let one = ["--set", "material.material-1.poisson=0.1", "--set", "solver.coarse_operator=averaged"];
    assert_eq!(solve(&[&["--device", "cpu"], &one[..]].concat()).0, Some(0));
}

/// A file of ParOSol says what a job would, and says what it lacks.
#[test]
fn stacks_without_a_job_are_refused_unless_they_are_those_of_parosol() {
    let folder = tempfile::tempdir().expect("a folder");
    write_stack(&folder.path().join("stack.npy"), [3, 3, 3], |_| 1);
    let output = command("pogo-block").arg(folder.path().join("stack.npy")).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("needs a job"), "{said}");
}
