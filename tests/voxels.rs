//! Voxel stacks through the two commands: exact moduli, and real bone within its budget of work.

use std::path::Path;

use pogo_tests::arrays::write_stack;
use pogo_tests::{command, shared, succeed};

const JOB: &str = "[image]
spacing = 0.5
[material]
law = \"labels\"
poisson = 0.3
labels = [{ label = 1, name = \"soft\", young = 1000.0 }, { label = 2, name = \"hard\", young = 3000.0 }]
";

/// Blocks and solves a stack in a folder; gives the summary.
fn run(folder: &Path, stack: &Path, job: &str, arguments: &[&str]) -> serde_json::Value {
    run_as(folder, stack, job, &[], arguments)
}

/// As [`run`], with arguments for blocking too.
fn run_as(folder: &Path, stack: &Path, job: &str, blocking: &[&str], arguments: &[&str]) -> serde_json::Value {
    let (block, out) = (folder.join("model.blk"), folder.join("model.out"));
    std::fs::write(folder.join("job.toml"), job).expect("the job is written");
    succeed(
        command("pogo-block")
            .arg(stack)
            .arg("--job")
            .arg(folder.join("job.toml"))
            .args(["--quiet", "-o"])
            .arg(&block)
            .args(blocking),
    );
    succeed(command("pogo-solve").arg(&block).args(["--quiet", "-o"]).arg(&out).args(arguments));
    let text = std::fs::read_to_string(out.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// The number at a path like `a.0.b`.
fn number(value: &serde_json::Value, path: &str) -> f64 {
    let found =
        path.split('.').fold(value, |value, key| key.parse().map_or_else(|_| &value[key], |i: usize| &value[i]));
    found.as_f64().unwrap_or_else(|| panic!("no number {path} in {value:#}"))
}

#[test]
fn layers_in_series_have_the_exact_modulus() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("layers.npy");
    write_stack(&stack, [12, 10, 16], |[_, _, z]| if z < 4 { 2 } else { 1 });
    let job =
        format!("{JOB}[load]\npreset = \"confined\"\naxis = \"z\"\nstrain = -0.01\n[solver]\ntolerance = 1e-10\n");
    let summary = run(folder.path(), &stack, &job, &[]);
    // Confined: M = E (1 − ν) / ((1 + ν)(1 − 2 ν)) in each layer; in series, 1 / M = Σ share / M.
    let factor = (1.0 - 0.3) / (1.3 * 0.4);
    let expected = factor / (0.75 / 1000.0 + 0.25 / 3000.0);
    let area = 12.0 * 10.0 * 0.25;
    let force = number(&summary, "reaction.zmax.2");
    assert!(
        (force + 0.01 * expected * area).abs() < 1e-7 * expected * area * 0.01,
        "{force} {}",
        0.01 * expected * area
    );
    assert_eq!(number(&summary, "dof"), 3.0 * 13.0 * 11.0 * 17.0);
}

#[test]
fn a_device_that_voxels_cannot_use_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("cube.npy");
    write_stack(&stack, [4, 4, 4], |_| 1);
    let job = format!("{JOB}[load]\npreset = \"axial\"\nstrain = -0.01\n");
    run(folder.path(), &stack, &job, &[]);
    let output =
        command("pogo-solve").arg(folder.path().join("model.blk")).args(["--device", "cuda"]).output().expect("runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("--device cpu"), "{message}");
}

#[test]
fn studies_reach_every_setting_and_say_which_case_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("cube.npy");
    write_stack(&stack, [5, 4, 6], |_| 1);
    run(folder.path(), &stack, &format!("{JOB}[load]\npreset = \"axial\"\nstrain = -0.01\n"), &[]);
    // `auto` is what this physics calls it: other physics know no more than f32 and f64.
    let study = "[sweep]\n\"solver.precision\" = [\"auto\", \"f32\"]\n\"solver.threads\" = [1]\n";
    std::fs::write(folder.path().join("study.toml"), study).expect("the study is written");
    let solve = |arguments: &[&str]| {
        command("pogo-solve").current_dir(&folder).arg("model.blk").args(arguments).output().expect("runs")
    };
    let output = solve(&["--study", "study.toml", "-o", "study"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for case in ["case precision-auto_threads-1 (1 of 2)\n", "case precision-f32_threads-1 (2 of 2)\n"] {
        assert!(said.contains(case), "{said}");
    }
    let table = std::fs::read_to_string(folder.path().join("study/study.csv")).expect("a table");
    let heads = table.lines().next().expect("a head");
    let expected =
        "solver.precision,solver.threads,cases[0].apparent.value,cases[0].failure.load[0],cases[0].failure.load[1],";
    assert!(heads.contains(expected), "{heads}");
    let at = heads.split(',').position(|head| head == "cases[0].apparent.value").expect("a column");
    let summary = std::fs::read(folder.path().join("study/precision-f32_threads-1/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
    let cell = table.lines().nth(2).and_then(|row| row.split(',').nth(at)).expect("a cell");
    assert_eq!(cell.parse().ok(), summary["cases"][0]["apparent"]["value"].as_f64());
    // Finished cases are known without a checkpoint, so --restart has nothing else to do.
    let output = solve(&["--study", "study.toml", "-o", "study", "--restart"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("2 cases are finished already"), "{output:?}");
    for (option, expected) in [
        ("--checkpoint-interval=10m", "runs over time"),
        ("--restart", "go on with --start"),
        ("--addressing=implicit", "springs"),
    ] {
        let output = solve(&[option]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
}

/// Nodes that have no partner in a periodic model are free, which nobody may overlook.
#[test]
fn warnings_are_said_as_well_as_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("cube.npy");
    write_stack(&stack, [4, 4, 4], |[x, y, z]| u8::from((x, y) != (3, 3) || z == 1));
    let job = &format!("{JOB}[load]\npreset = \"six-cases\"\nboundary = \"periodic\"\nstrain = 0.01\n");
    run(folder.path(), &stack, job, &[]);
    let output = command("pogo-solve").current_dir(&folder).arg("model.blk").output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(matches!(warnings.as_slice(), [one] if one.contains("without a partner")), "{said}");
    // Void below the sample: the cell is not the image's.
    write_stack(&stack, [4, 4, 4], |[_, _, z]| u8::from(z > 0));
    let summary = run(folder.path(), &stack, job, &[]);
    let warnings = summary["warnings"].as_array().expect("a list");
    assert!(
        matches!(warnings.as_slice(), [one] if one.as_str().unwrap().contains("4 × 4 × 3 of the image's 4 × 4 × 4"))
    );
}

#[test]
fn phases_have_common_coarse_nodes_where_there_is_too_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("layers.npy");
    write_stack(&stack, [24, 24, 24], |[_, _, z]| if z / 3 % 2 == 0 { 2 } else { 1 });
    let job = JOB.replace("3000.0", "1e8") + "[load]\npreset = \"confined\"\naxis = \"z\"\nstrain = -0.01\n";
    let own = run(folder.path(), &stack, &job, &["--device", "cpu"]);
    // The nodes of these layers need 8 MB more than the model.
    let few = ["model.blk", "--device", "cpu", "--memory", "6M", "-o", "few.out"];
    let output = command("pogo-solve").current_dir(&folder).args(few).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("coarse nodes are common"), "{said}");
    let text = std::fs::read_to_string(folder.path().join("few.out/summary.json")).expect("a summary");
    let common: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let [force, same] = [&own, &common].map(|summary| number(summary, "reaction.zmax.2"));
    assert!((force - same).abs() < 1e-4 * force.abs(), "{force} {same}");
    let [few, many] = [&own, &common].map(|summary| number(summary, "iterations"));
    assert!(3.0 * few < many, "{few} {many}");
}

#[test]
fn loads_that_do_nothing_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("halves.npy");
    write_stack(&stack, [4, 4, 8], |[_, _, z]| u8::from(z != 4));
    let job = |load: &str| format!("{JOB}[load]\npreset = \"axial\"\n{load}\n");
    let warnings = |job: &str, blocking: &[&str]| {
        let summary = run_as(folder.path(), &stack, job, blocking, &[]);
        summary["warnings"].as_array().expect("a list").iter().map(|w| w.as_str().unwrap_or("").to_owned()).collect()
    };
    let pieces: Vec<String> = warnings(&job("strain = -0.01"), &[]);
    assert!(matches!(pieces.as_slice(), [one] if one.contains("leads from zmin to zmax")), "{pieces:?}");
    let across: Vec<String> = warnings(&job("strain = -0.01\naxis = \"x\""), &[]);
    assert!(across.is_empty(), "{across:?}");
    let still: Vec<String> = warnings(&job("strain = 0.0"), &[]);
    assert!(matches!(still.as_slice(), [one] if one.contains("nothing moves")), "{still:?}");
    let still: Vec<String> = warnings(&job("force = 0.0"), &[]);
    assert!(matches!(still.as_slice(), [one] if one.contains("are 0: nothing moves")), "{still:?}");
    let held = "[[boundary]]\nside = [\"zmin\", \"zmax\"]\n[[force]]\nside = \"zmax\"\nforce = [0, 0, -1]\n";
    let still: Vec<String> = warnings(&format!("{JOB}{held}"), &[]);
    assert!(matches!(still.as_slice(), [one] if one.contains("where the sample is held")), "{still:?}");
}

/// A condition of any name has its reaction.
#[test]
fn a_condition_may_be_called_surface() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("cube.npy");
    write_stack(&stack, [3, 3, 3], |_| 1);
    let own = "[[boundary]]\nside = \"zmin\"\n[[boundary]]\nname = \"surface\"\nside = \"zmax\"\nvalue = -0.01\n";
    let summary = run(folder.path(), &stack, &format!("{JOB}{own}"), &[]);
    assert!(number(&summary, "reaction.surface.2") < 0.0);
    assert_eq!(number(&summary, "reaction.surface.2"), number(&summary, "reaction.zmax.2"));
}

/// A table as NumPy's `savetxt` writes it, of floats alone.
#[test]
fn tables_may_be_of_floats() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("cube.npy");
    write_stack(&stack, [2, 2, 2], |_| 1);
    let support = "[[boundary]]\nside = \"zmin\"\n";
    let tables = ["2,2,2,x,0.01\n0,0,2,z,-0.01\n", "2e+00 2e+00 2e+00 0e+00 1e-02\n0.0 0.0 2.0 2.0 -1e-02\n"];
    let energies = tables.map(|table| {
        std::fs::write(folder.path().join("table.csv"), table).expect("the table is written");
        let job = format!("{JOB}{support}[[boundary]]\ntable = \"table.csv\"\n");
        number(&run(folder.path(), &stack, &job, &[]), "cases.0.strain_energy")
    });
    assert!(energies[0] > 0.0 && energies[0] == energies[1], "{energies:?}");
    std::fs::write(folder.path().join("table.csv"), "2 2 1.5 0 0.01\n").expect("the table is written");
    let output = command("pogo-block").arg(&stack).arg("--job").arg(folder.path().join("job.toml")).output();
    let said = String::from_utf8_lossy(&output.expect("runs").stderr).into_owned();
    assert!(said.contains("table.csv:1: expected i, j, k, direction (0, 1, 2 or x, y, z), value"), "{said}");
}

#[test]
fn a_face_of_the_image_without_voxels_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("sheet.npy");
    write_stack(&stack, [4, 4, 8], |[_, _, z]| u8::from(z > 2));
    let job = format!("{JOB}[load]\npreset = \"axial\"\nstrain = -0.01\n");
    run(folder.path(), &stack, &job, &[]);
    std::fs::write(folder.path().join("job.toml"), format!("{job}bounds = \"image\"\n")).expect("the job is written");
    let output = command("pogo-block").arg(&stack).arg("--job").arg(folder.path().join("job.toml")).output();
    let said = String::from_utf8_lossy(&output.expect("runs").stderr).into_owned();
    assert!(said.contains("job.toml:7: error: zmin of the box has no solid voxel"), "{said}");
}

#[test]
fn real_bone_takes_few_products() {
    let Some(stack) = shared("voxels/parosol_py/trab1240_labels.npz") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let job = "[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 10e3\npoisson = 0.3\n[load]\npreset = \"axial\"\naxis = \"z\"\nstrain = -0.01\n";
    let summary = run(folder.path(), &stack, job, &[]);
    assert_eq!((number(&summary, "dof"), number(&summary, "elements")), (1_004_451.0, 179_421.0));
    assert!(number(&summary, "relative_residual") <= 1e-6);
    // The papers' method takes about 4,100.
    assert!(number(&summary, "products") <= 350.0, "{}", number(&summary, "products"));
    // Forces at both ends are in balance.
    let (top, bottom) = (number(&summary, "reaction.zmax.2"), number(&summary, "reaction.zmin.2"));
    assert!((top + bottom).abs() < 1e-3 * top.abs(), "{top} {bottom}");
}

/// The numbers of a `.npy` file of f64.
fn read_npy(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).expect("an array");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

/// A porous sample of two materials in one piece.
fn porous([x, y, z]: [usize; 3]) -> u8 {
    let solid = z % 7 < 2 || (x % 5 < 2 && y % 4 < 2);
    u8::from(solid) * (1 + u8::from((x / 3 + y / 2 + z / 5) % 2 == 1))
}

#[test]
fn every_grid_and_any_number_of_domains_give_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("porous.npy");
    write_stack(&stack, [23, 17, 26], porous);
    let load = "[load]\npreset = \"axial\"\nstrain = -0.01\n";
    for (solver, tolerance) in [("tolerance = 1e-10\n", 1e-8), ("preset = \"papers\"\ntolerance = 1e-10\n", 1e-12)] {
        let job = format!("{JOB}{load}[solver]\n{solver}");
        let bricks = run(folder.path(), &stack, &job, &["--device", "cpu"]);
        let file = folder.path().join("model.out/displacement.npy");
        let expected = read_npy(&file);
        let size = expected.iter().fold(0.0_f64, |most, u| most.max(u.abs()));
        assert_eq!(bricks["grid"], "brick");
        for (name, blocking) in [
            ("offset", &["--grid", "offset"][..]),
            ("hash", &["--grid", "hash"]),
            ("hash", &["--grid", "hash", "--hash-tables", "4"]),
            ("domains", &["--domains", "2"]),
            ("domains", &["--domains", "5"]),
            ("domains", &["--domains", "3", "--domain-partition", "metis"]),
        ] {
            let found = run_as(folder.path(), &stack, &job, blocking, &["--device", "cpu"]);
            assert_eq!(found["grid"], name);
            assert_eq!(found["iterations"], bricks["iterations"], "{blocking:?}");
            let worst = read_npy(&file).iter().zip(&expected).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(worst < tolerance * size, "{blocking:?}: {worst} of {size}");
        }
    }
    // The same bits for any number of threads.
    let job = format!("{JOB}{load}");
    let bits = [1, 2].map(|threads| {
        let threads = threads.to_string();
        run_as(folder.path(), &stack, &job, &["--domains", "4"], &["--device", "cpu", "--threads", &threads]);
        std::fs::read(folder.path().join("model.out/displacement.npy")).expect("an array")
    });
    assert!(bits[0] == bits[1]);
}

/// Positions (i, j, k) of the nodes of a run.
fn read_nodes(path: &Path) -> Vec<[f64; 3]> {
    let bytes = std::fs::read(path).expect("an array");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let number = |at: usize| f64::from(i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
    (start..bytes.len()).step_by(12).map(|at| [0, 4, 8].map(|more| number(at + more))).collect()
}

#[test]
fn a_linear_field_on_the_surface_is_one_inside() {
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("block.npy");
    write_stack(&stack, [7, 6, 9], |_| 1);
    let a = [[2e-3, -1e-3, 5e-4], [1e-3, -3e-3, 2e-3], [-4e-4, 7e-4, 1e-3]];
    let job = format!(
        "{JOB}[[boundary]]\nside = [\"xmin\", \"xmax\", \"ymin\", \"ymax\", \"zmin\", \"zmax\"]\ndisplacement = [0.0, 0.0, 0.0]\n\
         gradient = {a:?}\ncentre = [1.0, 0.5, 2.0]\n[solver]\ntolerance = 1e-12\n"
    );
    run(folder.path(), &stack, &job, &[]);
    let out = folder.path().join("model.out");
    let (nodes, found) = (read_nodes(&out.join("nodes.npy")), read_npy(&out.join("displacement.npy")));
    for (at, u) in nodes.iter().zip(found.chunks(3)) {
        let x: [f64; 3] = std::array::from_fn(|m| 0.5 * at[m] - [1.0, 0.5, 2.0][m]);
        for (u, row) in u.iter().zip(a) {
            let expected: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
            assert!((u - expected).abs() < 1e-14, "{at:?}: {u} {expected}");
        }
    }
}

#[test]
fn a_smooth_field_is_approached_with_the_square_of_the_edge() {
    // u = ∇φ of a φ with Δφ = 0 needs no forces inside: φ = e^(√2 x) sin y sin z.
    let field = |[x, y, z]: [f64; 3]| {
        let (a, e) = (2_f64.sqrt(), 1e-4 * (2_f64.sqrt() * x).exp());
        [a * e * y.sin() * z.sin(), e * y.cos() * z.sin(), e * y.sin() * z.cos()]
    };
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("block.npy");
    let errors = [4_usize, 8, 16].map(|n| {
        write_stack(&stack, [n; 3], |_| 1);
        let h = 1.0 / n as f64;
        let mut table = String::from("\u{feff}i,j,k,direction,value\n");
        for at in 0..(n + 1).pow(3) {
            let at = [at % (n + 1), at / (n + 1) % (n + 1), at / (n + 1) / (n + 1)];
            if at.iter().any(|&i| i == 0 || i == n) {
                for (direction, u) in field(at.map(|i| h * i as f64)).into_iter().enumerate() {
                    table += &format!("{}, {}, {}, {direction}, {u:e}\n", at[0], at[1], at[2]);
                }
            }
        }
        std::fs::write(folder.path().join("field.csv"), table).expect("a table");
        let job = JOB.replace("spacing = 0.5", &format!("spacing = {h}"))
            + "[[boundary]]\ntable = \"field.csv\"\n[solver]\ntolerance = 1e-11\n";
        run(folder.path(), &stack, &job, &[]);
        let out = folder.path().join("model.out");
        let (nodes, found) = (read_nodes(&out.join("nodes.npy")), read_npy(&out.join("displacement.npy")));
        let error = |(at, u): (&[f64; 3], &[f64])| {
            field(at.map(|i| h * i)).iter().zip(u).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        nodes.iter().zip(found.chunks(3)).map(error).fold(0.0, f64::max)
    });
    assert!(errors[0] > 1e-7, "{errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.8..2.4).contains(&order), "{errors:?}");
    }
}

#[test]
fn vtk_reads_the_fields_as_they_are() {
    let Some(python) = pogo_tests::python(&["numpy", "vtk"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let stack = folder.path().join("porous.npy");
    write_stack(&stack, [20, 14, 17], porous);
    let fields = "displacement force strain stress von_mises energy_density effective_strain modulus";
    let fields: Vec<&str> = fields.split(' ').collect();
    let job = format!(
        "{JOB}[load]\npreset = \"axial\"\nstrain = -0.01\n[solver]\ntolerance = 1e-9\n[output]\nfields = {fields:?}\n"
    );
    run(folder.path(), &stack, &job, &[]);
    let script = pogo_tests::workspace().join("tests/python/voxel_fields.py");
    succeed(std::process::Command::new(&python).arg("-B").arg(script).arg(folder.path().join("model.out")).arg(&stack));
}
