//! Memory that is limited.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use pogo_tests::{Grid, command, isotropic, succeed};

use super::{call, end, models, said};

/// A command that may have so many megabytes of addresses.
fn within(folder: &Path, megabytes: u64, name: &str, arguments: &[&str]) -> Output {
    let mut limited = Command::new(command(name).get_program());
    limited.current_dir(folder).args(arguments);
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let bytes = megabytes << 20;
    // SAFETY: between fork and exec only a limit is set.
    unsafe {
        limited.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            match libc::setrlimit(libc::RLIMIT_AS, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    end(limited.spawn().expect("the command starts"))
}

/// A block file of some megabytes.
fn plate(folder: &Path) {
    let grid = Grid { n: [150, 150, 0], h: [1e-3; 3], element: "CPE4" };
    let step = "*Step\n*Dynamic, Explicit, direct user control\n1e-9, 1e-6\n*End Step\n";
    fs::write(folder.join("large.inp"), grid.deck() + &isotropic(200e9, 0.3, 7800.0) + step).expect("written");
    succeed(command("pogo-block").current_dir(folder).args(["large.inp", "--quiet"]));
}

#[test]
fn limited_addresses_do_not_make_a_check_slow_and_too_few_are_told_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    plate(folder);
    let began = Instant::now();
    succeed(command("pogo-info").current_dir(folder).args(["large.blk", "--check"]));
    let usual = began.elapsed().as_secs_f64();
    for megabytes in [90, 110, 130, 150, 170, 250] {
        let began = Instant::now();
        let output = within(folder, megabytes, "pogo-info", &["large.blk", "--check"]);
        let seconds = began.elapsed().as_secs_f64();
        assert!(output.status.success(), "{megabytes}: {}", said(&output));
        assert!(seconds < 10.0 * usual + 2.0, "{seconds} s with {megabytes} MB, {usual} s without a limit");
    }
    let mut told = 0;
    for megabytes in [6, 12, 18, 24, 30, 40] {
        for (name, arguments) in [
            ("pogo-info", &["large.blk", "--check"][..]),
            ("pogo-block", &["large.inp", "--check"]),
            ("pogo-solve", &["large.blk", "--device", "cpu", "--threads", "1"]),
        ] {
            let output = within(folder, megabytes, name, arguments);
            // Some get by with little; where a command cannot even be loaded, the system speaks for itself, and where Rust's
            // runtime has no room for what it allocates before `main`, the runtime does.
            let not_loaded =
                output.status.code() == Some(127) || said(&output).contains("allocate an alternative stack");
            if output.status.success() || not_loaded || !said(&output).contains("error") {
                continue;
            }
            assert_eq!(output.status.code(), Some(1), "{name} {megabytes}: {output:?}");
            assert!(
                said(&output).contains(&format!("{}: error: ", arguments[0])),
                "{name} {megabytes}: {}",
                said(&output)
            );
            told += 1;
        }
    }
    assert!(told > 0, "no limit was too low");
}

#[test]
fn a_run_that_needs_more_than_is_allowed_is_refused_before_it_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    plate(folder);
    for model in ["large.blk", "tissue.blk", "bone.blk", "wave.blk"] {
        let output = call(folder, "pogo-solve", &[model, "--device", "cpu", "--memory", "1k", "-o", "out"]);
        assert_eq!(output.status.code(), Some(1), "{model}: {}", said(&output));
        let expected = format!("{model}: error: it needs about ");
        assert!(said(&output).starts_with(&expected), "{expected} in {}", said(&output));
        assert!(said(&output).contains("more than the 1.0 kB that --memory allows"), "{}", said(&output));
    }
    let enough = ["wave.blk", "--device", "cpu", "--memory", "500M", "-o", "out"];
    let output = call(folder, "pogo-solve", &enough);
    assert!(output.status.success(), "{}", said(&output));
    let output = call(folder, "pogo-solve", &["wave.blk", "--memory", "much"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("such as 8G"), "{}", said(&output));
}

#[test]
fn what_would_be_recorded_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    // Half a billion rows of traces.
    let output =
        call(folder, "pogo-solve", &["plate.blk", "--device", "cpu", "--time", "4.9", "--memory", "2G", "-o", "out"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("for traces: ask for fewer nodes or a longer interval"), "{}", said(&output));
    let job = fs::read_to_string(folder.join("bone.toml")).expect("a job") + "[solver]\nsmoother_degree = 150000000\n";
    fs::write(folder.join("much.toml"), job).expect("written");
    let output = call(folder, "pogo-block", &["bone.npy", "--job", "much.toml", "-o", "much.blk"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("`smoother_degree` must be from 1 to "), "{}", said(&output));
    for (name, value) in [("smoother_degree", "150000000"), ("levels", "4000000000"), ("max_iterations", "4000000000")]
    {
        let set = format!("solver.{name}={value}");
        let output = call(folder, "pogo-solve", &["bone.blk", "--device", "cpu", "--set", &set, "-o", "out"]);
        assert_eq!(output.status.code(), Some(1), "{set}: {}", said(&output));
        assert!(said(&output).contains(&format!("`{name}` must be from 1 to ")), "{set}: {}", said(&output));
    }
}
