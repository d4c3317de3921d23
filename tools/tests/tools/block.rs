//! `pogo-block` as a user runs it: files, messages, exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pogo_formats::dynamics::LoadKind;
use pogo_formats::explicit::Explicit;
use pogo_formats::mesh::ElementKind;
use pogo_formats::physics::BlockFile;

use crate::{POGO_BLOCK, pogo_block, pogo_info, text};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A bare mesh of n × n unit squares of two triangles, labels from 1 along x, with a node set TOP.
pub fn bare_mesh(n: usize) -> String {
    let mut deck = String::from("*HEADING\nA square\n*NODE\n");
    let label = |i: usize, j: usize| j * (n + 1) + i + 1;
    for j in 0..=n {
        for i in 0..=n {
            deck += &format!("{}, {}., {}.\n", label(i, j), i, j);
        }
    }
    deck += "*ELEMENT, TYPE=CPS3, ELSET=PLATE\n";
    for j in 0..n {
        for i in 0..n {
            let first = 2 * (j * n + i) + 1;
            let corners = [label(i, j), label(i + 1, j), label(i + 1, j + 1), label(i, j + 1)];
            deck += &format!("{first}, {}, {}, {}\n", corners[0], corners[1], corners[2]);
            deck += &format!("{}, {}, {}, {}\n", first + 1, corners[0], corners[2], corners[3]);
        }
    }
    deck += &format!("*NSET, NSET=TOP, GENERATE\n{}, {}, 1\n", label(0, n), label(n, n));
    deck
}

pub const JOB: &str = "[solver]
time = 1e-3
[[material]]
name = \"steel\"
density = 8000
young = 2e11
poisson = 0.3
[[section]]
elset = \"PLATE\"
material = \"steel\"
plane = \"strain\"
[[source]]
name = \"push\"
at = [7.2, 29.9]
direction = [0, -1]
force = 5
amplitude = { kind = \"hann\", frequency = 1e4, cycles = 3 }
[[boundary]]
side = \"ymin\"
[[monitor]]
name = \"point\"
at = [20, 20]
";

/// A folder with mesh.inp and job.toml.
fn case() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mesh.inp"), bare_mesh(30)).unwrap();
    fs::write(folder.path().join("job.toml"), JOB).unwrap();
    folder
}

#[test]
fn timings_are_a_table_on_stderr_and_in_the_json() {
    let folder = case();
    let output = pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "--timings", "--json", "--quiet"]);
    let said = text(&output.stderr);
    assert!(said.starts_with("stage ") && said.lines().last().unwrap().starts_with("all "), "{said}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let stages = summary["timings"].as_array().unwrap();
    let of = |name: &str| stages.iter().find(|stage| stage["stage"] == name).unwrap_or_else(|| panic!("{name}"));
    assert!(of("partition")["seconds"].as_f64() >= of("partition/graph")["seconds"].as_f64());
    assert!(of("read")["read_bytes"].as_u64().unwrap() > 0);
    for command in [&["mesh.inp", "--job", "job.toml"][..], &["mesh.blk"]] {
        let output =
            if command.len() > 1 { pogo_block(folder.path(), command) } else { pogo_info(folder.path(), command) };
        assert!(output.status.success() && !text(&output.stderr).contains("stage "), "{output:?}");
    }
    let said = text(&pogo_info(folder.path(), &["mesh.blk", "--timings", "--quiet"]).stderr);
    assert!(said.contains("\ninspect "), "{said}");
}

#[test]
fn a_file_of_an_older_version_is_made_new() {
    let folder = case();
    let run = |arguments: &[&str]| {
        let output = pogo_block(folder.path(), arguments);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    assert_eq!(run(&["mesh.inp", "--job", "job.toml", "--block-nodes", "64", "--quiet"]), (Some(0), String::new()));
    let path = folder.path().join("mesh.blk");
    let new = fs::read(&path).unwrap();
    let (code, said) = run(&["--upgrade", "mesh.blk"]);
    assert!(code == Some(0) && said.contains("of this version already"), "{said}");
    let mut older = new.clone();
    older[12] -= 1;
    assert!(pogo_formats::block::repair(&mut older));
    fs::write(&path, &older).unwrap();
    let (code, said) = run(&["--upgrade", "mesh.blk", "--block-nodes", "32"]);
    assert!(code == Some(1) && said.contains("leave out --block-nodes"), "{said}");
    let (code, said) = run(&["--upgrade", "mesh.blk", "--quiet", "--threads", "2", "--memory", "4G", "--timings"]);
    assert!(code == Some(0) && said.starts_with("stage ") && fs::read(&path).unwrap() == new, "{said}");
    // Nothing is made of inputs that have changed or are not there.
    fs::write(&path, &older).unwrap();
    fs::write(folder.path().join("job.toml"), format!("{JOB}# once more\n")).unwrap();
    let (code, said) = run(&["--upgrade", "mesh.blk"]);
    let command = "`pogo-block mesh.inp --job job.toml --partition aligned --block-nodes 64 -o mesh.blk`";
    assert!(code == Some(1) && said.contains("another state of job.toml") && said.contains(command), "{said}");
    fs::remove_file(folder.path().join("mesh.inp")).unwrap();
    let (code, said) = run(&["--upgrade", "mesh.blk"]);
    assert!(code == Some(1) && said.contains("start pogo-block in the folder"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), older);
}

#[test]
fn help() {
    let folder = tempfile::tempdir().unwrap();
    let output = pogo_block(folder.path(), &["--help"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn version_completions_and_manual() {
    let folder = tempfile::tempdir().unwrap();
    let version = text(&pogo_block(folder.path(), &["--version"]).stdout);
    assert_eq!(version.trim_end(), format!("pogo-block {}", pogo_formats::VERSION));
    assert!(text(&pogo_block(folder.path(), &["--completions", "bash"]).stdout).contains("--paper-limits"));
    assert!(text(&pogo_block(folder.path(), &["--man"]).stdout).contains(".TH pogo-block"));
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let folder = case();
    for wrong in
        [&[][..], &["mesh.inp", "--nonsense"], &["mesh.inp", "--block-nodes", "0"], &["mesh.inp", "--partition", "x"]]
    {
        assert_eq!(pogo_block(folder.path(), wrong).status.code(), Some(2), "{wrong:?}");
    }
    assert_eq!(names(folder.path()), ["job.toml", "mesh.inp"]);
}

#[test]
fn a_bare_mesh_and_a_job_become_a_block_file() {
    let folder = case();
    let output = pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("mesh.blk: 961 nodes, 1,800 elements (CPE3)\n"),
        "{}",
        text(&output.stdout)
    );
    assert!(text(&output.stderr).contains("job.toml:12: note: the node nearest to"), "{}", text(&output.stderr));
    assert_eq!(names(folder.path()), ["job.toml", "mesh.blk", "mesh.inp"]);
    let unheard = JOB.split("[[monitor]]").next().unwrap();
    fs::write(folder.path().join("unheard.toml"), unheard).unwrap();
    let output = pogo_block(folder.path(), &["mesh.inp", "--job", "unheard.toml", "-o", "unheard.blk"]);
    assert!(text(&output.stderr).contains("mesh.inp: note: nothing but energies is recorded"), "{output:?}");

    let file = BlockFile::<Explicit>::open(&folder.path().join("mesh.blk")).unwrap();
    file.verify().unwrap();
    let (mesh, setup) = (file.mesh(), file.setup());
    assert_eq!(mesh.groups[0].kind, ElementKind::Cpe3);
    // Everything that named a node names the same one in the solver's order.
    let label = |node: u32| mesh.node_labels[node as usize];
    let LoadKind::Concentrated { nodes, direction, .. } = &setup.loads[0].kind else { panic!() };
    assert_eq!((label(nodes[0]), *direction), (30 * 31 + 7 + 1, [0.0, -1.0, 0.0]));
    assert_eq!(label(setup.histories[0].nodes[0]), 20 * 31 + 20 + 1);
    let mut base: Vec<u32> = setup.boundaries[0].nodes.iter().map(|&node| label(node)).collect();
    base.sort_unstable();
    assert_eq!(base, (1..=31).collect::<Vec<_>>());
    let top = mesh.node_sets.iter().find(|set| set.0 == "TOP").unwrap();
    assert!(top.1.iter().all(|&node| mesh.coordinates[2 * node as usize + 1] == 30.0));
    let sources: Vec<_> = file.container().provenance().sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(sources, ["mesh.inp", "job.toml"]);
}

#[test]
fn the_output_lies_beside_the_deck_or_where_asked() {
    let folder = case();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::rename(folder.path().join("mesh.inp"), folder.path().join("sub/mesh.inp")).unwrap();
    let run = |arguments: &[&str]| assert!(pogo_block(folder.path(), arguments).status.success());
    run(&["sub/mesh.inp", "--job", "job.toml"]);
    run(&["sub/mesh.inp", "--job", "job.toml", "-o", "other.blk"]);
    assert_eq!(names(&folder.path().join("sub")), ["mesh.blk", "mesh.inp"]);
    assert_eq!(names(folder.path()), ["job.toml", "other.blk", "sub"]);
}

#[test]
fn the_same_bits_for_every_number_of_threads() {
    let folder = case();
    for threads in ["1", "3"] {
        let name = format!("{threads}.blk");
        let arguments = ["mesh.inp", "--job", "job.toml", "--block-nodes", "64", "--threads", threads, "-o", &name];
        assert!(pogo_block(folder.path(), &arguments).status.success());
    }
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("1.blk") == read("3.blk"));
}

#[test]
fn json_is_one_object_and_quiet_is_quiet() {
    let folder = case();
    let output =
        pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "--json", "--quiet", "--partition", "greedy"]);
    assert_eq!(text(&output.stderr), "");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["nodes"], 961);
    assert_eq!(summary["partitioner"], "greedy");
    assert_eq!(summary["output"], "mesh.blk");
    let length = fs::metadata(folder.path().join("mesh.blk")).unwrap().len();
    assert_eq!(summary["bytes"], length);
    assert!(summary["seconds"]["total"].as_f64().unwrap() > 0.0);
    let output = pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "--quiet"]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
}

#[test]
fn check_reports_and_writes_nothing() {
    let folder = case();
    let good = pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "--check"]);
    assert_eq!(good.status.code(), Some(0));
    assert!(text(&good.stdout).starts_with("mesh.inp: can be blocked\n"), "{}", text(&good.stdout));
    let bad = pogo_block(folder.path(), &["mesh.inp", "--check", "--quiet"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(text(&bad.stderr).contains("mesh.inp: error: no element has a section"), "{}", text(&bad.stderr));
    let json = pogo_block(folder.path(), &["mesh.inp", "--check", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["report"]["node_lines"], 961);
    assert!(!report["problems"].as_array().unwrap().is_empty());
    assert_eq!(names(folder.path()), ["job.toml", "mesh.inp"]);
}

#[test]
fn errors_name_the_file_and_leave_the_old_output() {
    let folder = case();
    let output = folder.path().join("mesh.blk");
    fs::write(&output, "old").unwrap();
    fs::write(folder.path().join("typo.toml"), "[solver]\ntime = 1\n[[materiall]]\n").unwrap();
    fs::write(folder.path().join("noset.toml"), format!("{JOB}[[boundary]]\nnset = \"BOTTOM\"\n")).unwrap();
    let cases: [(&[&str], &str); 8] = [
        (
            &["mesh.inp", "--job", "job.toml", "--domains", "1"],
            "mesh.inp: error: --domains is for voxel statics and arrival",
        ),
        (&["mesh"], "mesh: error: cannot be read: No such file"),
        (&["none.inp"], "none.inp: error: "),
        (&["mesh.inp"], "mesh.inp: error: no element has a section"),
        (&["mesh.inp", "--job", "typo.toml"], "typo.toml:3: error: unknown field `materiall`"),
        (
            &["mesh.inp", "--job", "noset.toml"],
            "noset.toml:23: error: there is no node set BOTTOM in the deck; there are TOP",
        ),
        (&["mesh.inp", "--job", "job.toml", "-o", "no/mesh.blk"], "no/mesh.blk: error: cannot write a block file here"),
        (
            &["mesh.inp", "--job", "job.toml", "-o", "mesh.inp"],
            "mesh.inp: error: the block file would replace its own input",
        ),
    ];
    for (arguments, expected) in cases {
        let run = pogo_block(folder.path(), &[arguments, &["--quiet"]].concat());
        assert_eq!(run.status.code(), Some(1), "{arguments:?}");
        let found = text(&run.stderr);
        assert!(found.starts_with(expected), "{arguments:?}\n  gives    {found}\n  expected {expected}");
        assert_eq!(run.stdout, b"");
    }
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["job.toml", "mesh.blk", "mesh.inp", "noset.toml", "typo.toml"]);
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_size_limit_is_an_error_that_leaves_nothing() {
    let folder = case();
    let before = names(folder.path());
    let line = "ulimit -f 4; exec \"$0\" mesh.inp --job job.toml --quiet";
    let run = Command::new("sh").args(["-c", line, POGO_BLOCK]).current_dir(folder.path()).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let message = text(&run.stderr);
    assert!(message.starts_with("mesh.blk: error: File too large"), "{message}");
    assert!(message.contains("ulimit -f"), "{message}");
    assert_eq!(names(folder.path()), before);
}

#[test]
fn make_sees_a_new_file_only_when_something_changed() {
    let folder = case();
    let program = POGO_BLOCK;
    fs::write(folder.path().join("Makefile"), format!("%.blk: %.inp job.toml\n\t{program} -q $< --job job.toml\n"))
        .unwrap();
    let Ok(first) = Command::new("make").arg("mesh.blk").current_dir(folder.path()).output() else {
        pogo_tests::skip("there is no make");
        return;
    };
    assert!(first.status.success(), "{}", text(&first.stderr));
    let again = Command::new("make").arg("-q").arg("mesh.blk").current_dir(folder.path()).status().unwrap();
    assert!(again.success(), "a second make would do something");
}

fn shared_deck(name: &str) -> Option<PathBuf> {
    pogo_tests::shared(&format!("decks/{name}"))
}

/// Blocks a deck from elsewhere with a job and opens the result.
fn block_shared(name: &str, job: &str, options: &[&str]) -> Option<(tempfile::TempDir, BlockFile<Explicit>)> {
    let deck = shared_deck(name)?;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.toml"), job).unwrap();
    let deck = deck.canonicalize().unwrap();
    let arguments = [&[deck.to_str().unwrap(), "--job", "job.toml", "-o", "out.blk"], options].concat();
    let output = pogo_block(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = BlockFile::<Explicit>::open(&folder.path().join("out.blk")).unwrap();
    file.verify().unwrap();
    Some((folder, file))
}

#[test]
fn gmsh_triangles_with_a_job() {
    let job = JOB.replace("PLATE", "Plate").replace("at = [7.2, 29.9]", "nset = \"TOP_EDGE\"");
    let Some((_folder, file)) = block_shared("gmsh_native_2d.inp", &job, &[]) else { return };
    // The mesh's 16 edge elements have no section and are left out.
    assert_eq!((file.mesh().n_nodes(), file.mesh().n_elements()), (1562, 2958));
    assert_eq!(file.mesh().groups[0].kind, ElementKind::Cpe3);
    let setup = file.setup();
    let LoadKind::Concentrated { weights, .. } = &setup.loads[0].kind else { panic!() };
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn gmsh_tetrahedra_with_a_job() {
    let job = "[solver]\ntime = 1e-5\n[[material]]\nname = 'm'\ndensity = 2700\np_speed = 6320\ns_speed = 3130\n\
               [[source]]\nname = 's'\nnset = 'Face6'\ncomponent = 3\nforce = 1\namplitude = { kind = 'ricker', frequency = 1e6 }\n\
               [[monitor]]\nname = 'm'\nnset = 'Face6'\nvariables = 'U3'\n";
    let Some((_folder, file)) = block_shared("gmsh_native_tet.inp", job, &[]) else { return };
    assert_eq!((file.mesh().n_nodes(), file.mesh().n_elements()), (694, 2573));
    assert_eq!(file.mesh().groups.len(), 1);
}

#[test]
fn a_static_deck_with_a_user_material_and_a_job() {
    let job = "[solver]\ntime = 1e-4\n[[material]]\nname = 'Material-1'\ndensity = 1000\nyoung = 1e6\npoisson = 0.3\n\
               [[source]]\nname = 's'\nnset = 's_Set-3'\ncomponent = 2\nforce = 1\n";
    let Some((_folder, file)) = block_shared("cae_c3d4.inp", job, &["--ignore", "coupling"]) else { return };
    assert_eq!((file.mesh().n_nodes(), file.mesh().n_elements()), (7225, 36864));
    let setup = file.setup();
    assert_eq!(setup.explicit.time, 1e-4);
    assert_eq!((setup.materials.len(), setup.materials[0].density), (1, 1000.0));
}

#[test]
fn a_support_that_overrules_a_moving_one_is_a_warning() {
    let folder = case();
    let moving = "[[boundary]]\nname = 'ram'\nnset = 'TOP'\ncomponents = 'y'\nvalue = 1e-3\n[[boundary]]\n";
    let check = |rest: &str| {
        fs::write(folder.path().join("job.toml"), format!("{JOB}{moving}{rest}\n")).unwrap();
        text(&pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "--check"]).stderr)
    };
    let said = check("name = 'wall'\nside = 'xmin'");
    assert!(
        said.contains("warning: boundary `ram.2` does nothing at 1 of its 31 nodes: the later `wall.2` does"),
        "{said}"
    );
    assert!(!check("name = 'wall'\nside = 'xmin'\ncomponents = 'x'").contains("does nothing"));
}

#[test]
fn what_changes_the_model_is_said_even_when_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let deck = bare_mesh(2)
        + "*Elset, elset=HALF\n1, 2, 3\n*Solid Section, elset=HALF, material=steel\n*Material, name=steel\n*Density\n7800.\n\
           *Elastic\n2.1e11, 0.3\n*Step, nlgeom=YES\n*Dynamic, Explicit\n, 1e-5\n*End Step\n";
    fs::write(folder.path().join("mesh.inp"), deck).unwrap();
    let output = pogo_block(folder.path(), &["mesh.inp", "-q"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: elements without a section: CPS3 (5)"), "{}", text(&output.stderr));
    let output = pogo_block(folder.path(), &["mesh.inp", "-q", "--ignore", "NO-SECTION"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let said = text(&output.stderr);
    for expected in
        ["warning: elements left out, as no section names them: CPS3 (5)", "warning: nlgeom: solved as small-strain"]
    {
        assert!(said.contains(expected), "{said}");
    }
    assert!(!said.contains("note: "), "{said}");
}

#[test]
fn all_that_a_refused_deck_lacks_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let deck = bare_mesh(2)
        + "*Solid Section, elset=PLATE, material=steel\n*Material, name=steel\n*Elastic\n2.1e11, 0.3\n*Step\n*Static\n*End Step\n";
    fs::write(folder.path().join("mesh.inp"), &deck).unwrap();
    let check = |arguments: &[&str]| {
        text(&pogo_block(folder.path(), &[&["mesh.inp", "--check", "-q"], arguments].concat()).stderr)
    };
    let said = check(&[]);
    assert!(said.contains("asks for *STATIC") && said.contains("material `steel` has no density"), "{said}");
    // Each half of the advice is taken.
    fs::write(folder.path().join("time.toml"), "[solver]\ntime = 1e-3\n").unwrap();
    let said = check(&["--job", "time.toml"]);
    assert!(!said.contains("*STATIC: only") && said.contains("material `steel` has no density"), "{said}");
    let steel = "[[material]]\nname = \"steel\"\ndensity = 7800\nyoung = 2.1e11\npoisson = 0.3\n";
    fs::write(folder.path().join("steel.toml"), steel).unwrap();
    let said = check(&["--job", "steel.toml"]);
    assert!(said.contains("asks for *STATIC") && !said.contains("density"), "{said}");
    let output = pogo_block(folder.path(), &["mesh.inp", "--check", "-q", "--job", "time.toml", "--job", "steel.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
