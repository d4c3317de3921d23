//! Files that are read: which are, and that no result replaces them.

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use pogo_tests::arrays::write_stack;
use pogo_tests::{command, succeed};

use super::{call, end, models, names, said, signal, start, until};

/// A deck that includes its mesh, with a signal in a table.
fn deck_in_parts(folder: &Path) {
    models(folder);
    let deck = fs::read_to_string(folder.join("plate.inp")).expect("a deck");
    let (mesh, rest) = deck.split_at(deck.find("*Nset").expect("a set"));
    fs::write(folder.join("mesh.inc"), mesh).expect("written");
    fs::write(folder.join("main.inp"), format!("*Include, input=mesh.inc\n{rest}")).expect("written");
    fs::write(folder.join("signal.csv"), "0, 0\n1e-6, 1\n").expect("written");
    let job = "[[amplitude]]\nname = \"push\"\nkind = \"table\"\nfile = \"signal.csv\"\n\
               [[source]]\nat = [0, 0]\ncomponent = 1\nforce = 1.0\namplitude = \"push\"\n";
    fs::write(folder.join("main.toml"), job).expect("written");
}

#[test]
fn no_input_is_replaced_by_the_block_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    deck_in_parts(folder);
    fs::hard_link(folder.join("mesh.inc"), folder.join("hard.blk")).expect("linked");
    symlink("signal.csv", folder.join("soft.blk")).expect("linked");
    fs::write(folder.join("bone.raw"), [1_u8; 60]).expect("written");
    let header =
        "ObjectType = Image\nNDims = 3\nDimSize = 3 4 5\nElementType = MET_UCHAR\nElementDataFile = bone.raw\n";
    fs::write(folder.join("bone.mhd"), header).expect("written");
    fs::create_dir(folder.join("slices")).expect("a folder");
    for z in 0..3 {
        fs::write(folder.join(format!("slices/{z}.bmp")), bmp()).expect("written");
    }
    let deck = ["main.inp", "--job", "main.toml"];
    succeed(command("pogo-block").current_dir(folder).args(deck).args(["--quiet", "-o", "good.blk"]));
    for (arguments, output) in [
        (&deck[..], "main.inp"),
        (&deck, "mesh.inc"),
        (&deck, "hard.blk"),
        (&deck, "soft.blk"),
        (&deck, "signal.csv"),
        (&deck, "main.toml"),
        (&["bone.mhd", "--job", "bone.toml"], "bone.mhd"),
        (&["bone.mhd", "--job", "bone.toml"], "bone.raw"),
        (&["slices", "--job", "bone.toml"], "slices/1.bmp"),
    ] {
        let before = fs::read(folder.join(output)).expect("an input");
        let found = call(folder, "pogo-block", &[arguments, &["-o", output]].concat());
        assert_eq!(found.status.code(), Some(1), "{output}: {}", said(&found));
        let expected = format!("{output}: error: the block file would replace its own input");
        assert!(said(&found).contains(&expected), "{expected} in {}", said(&found));
        assert!(fs::read(folder.join(output)).expect("an input") == before, "{output}");
    }
}

/// A grey picture of 2 × 2 voxels.
fn bmp() -> Vec<u8> {
    let mut file = b"BM".to_vec();
    let data = 14 + 40 + 256 * 4;
    for word in [data + 8, 0, data, 40, 2, 2, 1 | 8 << 16, 0, 8, 0, 0, 256, 0] {
        file.extend_from_slice(&(word as u32).to_le_bytes());
    }
    (0..=255_u8).for_each(|grey| file.extend_from_slice(&[grey, grey, grey, 0]));
    file.extend_from_slice(&[1, 1, 0, 0, 1, 1, 0, 0]);
    file
}

#[test]
fn no_input_is_replaced_by_a_picture_a_stack_or_a_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    write_stack(&folder.join("stack.npy"), [4, 4, 4], |_| 1);
    fs::create_dir(folder.join("out")).expect("a folder");
    fs::write(folder.join("out/cases.csv"), "case,node,time\na,1,0\n").expect("written");
    for (program, arguments, input) in [
        ("pogo-info", &["plate.blk", "--picture", "plate.blk"][..], "plate.blk"),
        ("pogo-gen", &["mirror", "stack.npy", "--spacing", "1", "-o", "stack.npy"], "stack.npy"),
        ("pogo-solve", &["wave.blk", "--starts", "out/cases.csv", "-o", "out"], "out/cases.csv"),
    ] {
        let before = fs::read(folder.join(input)).expect("an input");
        let found = call(folder, program, arguments);
        assert_eq!(found.status.code(), Some(1), "{program}: {}", said(&found));
        assert!(said(&found).contains(&format!("{input}: error: ")), "{program}: {}", said(&found));
        assert!(said(&found).contains("was read as an input"), "{program}: {}", said(&found));
        assert!(fs::read(folder.join(input)).expect("an input") == before, "{program}");
    }
}

#[test]
fn an_output_that_is_a_link_leads_to_the_new_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    fs::create_dir(folder.join("store")).expect("a folder");
    symlink("store/real.blk", folder.join("link.blk")).expect("linked");
    succeed(command("pogo-block").current_dir(folder).args(["plate.inp", "--quiet", "-o", "link.blk"]));
    assert!(folder.join("link.blk").is_symlink());
    assert_eq!(names(&folder.join("store")), ["real.blk"]);
    succeed(command("pogo-info").current_dir(folder).args(["store/real.blk", "--check"]));
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let made = |name: &str| {
        let path = CString::new(folder.join(name).as_os_str().as_bytes()).expect("a path");
        // SAFETY: a string with its zero.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    };
    ["pipe", "pipe.inp", "pipe.vtu", "pipe.msh", "pipe.mhd", "pipe.npy", "pipe.toml", "pipe.csv"]
        .into_iter()
        .for_each(made);
    fs::write(folder.join("include.inp"), "*Heading\n*Include, input=pipe.inp\n").expect("written");
    fs::write(folder.join("folder.inp"), "*Heading\n*Include, input=out\n").expect("written");
    fs::create_dir(folder.join("out")).expect("a folder");
    for (program, arguments, expected) in [
        ("pogo-block", &["pipe.inp", "--check"][..], "a pipe"),
        ("pogo-block", &["pipe", "--job", "bone.toml"], "a pipe"),
        ("pogo-block", &["pipe.npy", "--job", "bone.toml"], "a pipe"),
        ("pogo-block", &["pipe.mhd", "--job", "bone.toml"], "a pipe"),
        ("pogo-block", &["pipe.vtu", "--job", "wave.toml"], "a pipe"),
        ("pogo-block", &["pipe.msh", "--job", "wave.toml"], "a pipe"),
        ("pogo-block", &["plate.inp", "--job", "pipe.toml"], "a pipe"),
        ("pogo-block", &["include.inp", "--check"], "include.inp:2: error: cannot read `pipe.inp`: it is a pipe"),
        ("pogo-block", &["folder.inp", "--check"], "folder.inp:2: error: cannot read `out`: it is a folder"),
        ("pogo-info", &["pipe"], "not a regular file"),
        ("pogo-solve", &["pipe"], "not a regular file"),
        ("pogo-solve", &["wave.blk", "--starts", "pipe.csv"], "a pipe"),
        ("pogo-solve", &["wave.blk", "--study", "pipe.toml"], "a pipe"),
        ("pogo-solve", &["plate.blk", "--restart=pipe"], "a pipe"),
        ("pogo-solve", &["bone.blk", "--start", "pipe"], "a pipe"),
    ] {
        let found = call(folder, program, arguments);
        assert_eq!(found.status.code(), Some(1), "{arguments:?}: {}", said(&found));
        assert!(said(&found).contains(expected), "{arguments:?}: {}", said(&found));
    }
}

#[test]
fn a_deck_comes_through_a_pipe_of_the_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let program = command("pogo-block");
    let mut shell = std::process::Command::new("sh");
    shell
        .current_dir(folder)
        .args(["-c", "cat plate.inp | \"$0\" /dev/stdin --quiet -o piped.blk"])
        .arg(program.get_program());
    succeed(&mut shell);
    succeed(command("pogo-block").current_dir(folder).args(["plate.inp", "--quiet", "-o", "plain.blk"]));
    let lengths = ["piped.blk", "plain.blk"].map(|name| fs::metadata(folder.join(name)).expect("a file").len());
    assert!(lengths[0].abs_diff(lengths[1]) <= 64, "{lengths:?}");
}

#[test]
fn names_need_not_be_utf_8() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    deck_in_parts(folder);
    let odd = folder.join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).expect("a folder");
    for name in names(folder) {
        if folder.join(&name).is_file() {
            fs::copy(folder.join(&name), odd.join(&name)).expect("copied");
        }
    }
    let renamed = odd.join(OsStr::from_bytes(b"m\xe9.inp"));
    fs::rename(odd.join("main.inp"), &renamed).expect("renamed");
    let block = odd.join(OsStr::from_bytes(b"b\xe9.blk"));
    let out = odd.join(OsStr::from_bytes(b"o\xe9"));
    succeed(command("pogo-block").arg(&renamed).arg("--job").arg(odd.join("main.toml")).arg("-o").arg(&block));
    succeed(command("pogo-info").arg(&block).arg("--check"));
    succeed(command("pogo-solve").arg(&block).args(["--plot", "-o"]).arg(&out));
    for model in ["bone", "tissue", "wave"] {
        let input = if model == "wave" { "wave.inp".to_owned() } else { format!("{model}.npy") };
        let job = odd.join(format!("{model}.toml"));
        succeed(command("pogo-block").arg(odd.join(input)).arg("--job").arg(job).arg("-o").arg(&block));
        succeed(command("pogo-solve").arg(&block).args(["--plot", "-o"]).arg(&out));
        assert!(out.join("summary.json").exists());
    }
}

#[test]
fn a_block_file_that_is_cut_while_it_is_used_ends_the_run_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let run = start(
        folder,
        "pogo-solve",
        &["plate.blk", "--time", "1", "--threads", "1", "-o", "out", "--checkpoint-interval", "10000steps"],
    );
    let checkpointed =
        || folder.join("out").is_dir() && names(&folder.join("out")).iter().any(|name| name.starts_with("checkpoint"));
    until("the run steps", checkpointed);
    let file = fs::File::options().write(true).open(folder.join("plate.blk")).expect("a file");
    file.set_len(100).expect("cut");
    // What is read of the file after the setup: names, for the results.
    signal(&run, libc::SIGTERM);
    let output = end(run);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("plate.blk: error: the file was cut while it was in use"), "{}", said(&output));
}
