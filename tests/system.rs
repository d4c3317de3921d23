//! What the operating system refuses and takes away: threads, files, time to finish.

mod files;
mod folders;
mod memory;
mod reports;
mod threads;

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use pogo_tests::arrays::write_stack;
use pogo_tests::{Grid, command, initial_velocity, isotropic, step, succeed};

/// A model of each physics, as block files in a folder.
fn models(folder: &Path) -> [&'static str; 4] {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file is written");
    let grid = Grid { n: [6, 4, 0], h: [1e-3; 3], element: "CPE4" };
    let material = isotropic(200e9, 0.3, 7800.0);
    let moving = initial_velocity(&grid, |x| [x[0], 0.0, 0.0]);
    let deck = format!("{}*Nset, nset=REC\n1\n{material}{moving}{}", grid.deck(), step(1e-8, 2e-7, "U"));
    write("plate.inp", &deck);
    write("plate.toml", "[[field]]\nquantities = [\"displacement\"]\ncount = 2\n");
    write_stack(&folder.join("bone.npy"), [5, 6, 7], |_| 1);
    write(
        "bone.toml",
        "[image]\nspacing = 1.0\n[material]\nlaw = \"labels\"\npoisson = 0.3\nlabels = [{ label = 1, young = 1e3 }]\n\
         [load]\npreset = \"confined\"\naxis = \"z\"\nstrain = -0.01\n[output]\nfields = [\"stress\"]\n",
    );
    write(
        "wave.toml",
        "physics = \"eikonal\"\n[[velocity]]\nspeed = 1.0\n[[start]]\nnode = 1\n[output]\nprobe_points = [[0, 0, 0]]\n",
    );
    let mesh = Grid { element: "CPE3", ..grid };
    write("wave.inp", &mesh.deck());
    succeed(command("pogo-gen").current_dir(folder).args(["box", "5", "--quiet", "-o", "tissue.npy"]));
    for (input, jobs) in [
        ("plate.inp", "plate.toml"),
        ("bone.npy", "bone.toml"),
        ("tissue.npy", "tissue.toml"),
        ("wave.inp", "wave.toml"),
    ] {
        succeed(command("pogo-block").current_dir(folder).args([input, "--job", jobs, "--quiet"]));
    }
    ["plate.blk", "bone.blk", "tissue.blk", "wave.blk"]
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A command in a folder, started.
fn start(folder: &Path, name: &str, arguments: &[&str]) -> Child {
    let mut command = command(name);
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

/// What came of a command that ends by itself.
///
/// # Panics
/// It does not end within half a minute.
fn end(mut child: Child) -> Output {
    let began = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if began.elapsed() > Duration::from_secs(30) {
            child.kill().expect("it can be killed");
            panic!("it does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("its output")
}

/// What came of a command in a folder.
fn call(folder: &Path, name: &str, arguments: &[&str]) -> Output {
    end(start(folder, name, arguments))
}

/// Waits until something is so.
///
/// # Panics
/// It is not within half a minute.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, number: i32) {
    // SAFETY: a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, number) }, 0);
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
