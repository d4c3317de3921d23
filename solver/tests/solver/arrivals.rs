//! Arrival times by several ranks and on several devices: the files of one process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pogo_kernels::ranks::{Ranks, Threads};
use pogo_solver::config::{Config, DeviceChoice, Devices, Precision, Settings};
use pogo_solver::interrupt::Interrupts;
use pogo_solver::observe::Silent;
use pogo_tests::{command, succeed};

const JOB: &str = "[[velocity]]\nname = \"wall\"\nspeeds = [0.6, 0.4, 0.2]\n\
                   [[velocity]]\nname = \"inner\"\ntag = 3\nspeed = 1.8\n\
                   [[velocity]]\nname = \"scar\"\ntag = 2\nspeed = 0\n\
                   [[start]]\nname = \"septum\"\nat = [-17, 0, 0]\n\
                   [[start]]\nname = \"anterior\"\nat = [0, 15, -20]\ntime = 4.0\n\
                   [solver]\nexact_radius = 4.0\n[output]\npath_points = [[20, 18, 0]]\n";

/// A ventricle, and a table of 23 starts.
fn model(folder: &Path, end_of_job: &str) -> PathBuf {
    let [mesh, job, block] = ["v.vtu", "job.toml", "v.blk"].map(|name| folder.join(name));
    std::fs::write(&job, JOB.to_owned() + end_of_job).unwrap();
    succeed(command("pogo-gen").args(["ventricle", "--rings", "10", "--layers", "3", "-q", "-o"]).arg(&mesh));
    succeed(command("pogo-block").arg(&mesh).arg("--job").arg(&job).args(["--domains", "7", "-q", "-o"]).arg(&block));
    let site = |at: i32| format!("site{at},{},{},0\n", 17.0 * f64::from(at).cos(), 17.0 * f64::from(at).sin());
    let sites: String = (0..23).map(site).collect();
    std::fs::write(folder.join("sites.csv"), format!("case,x,y,z\n{sites}")).unwrap();
    block
}

/// What each of `n` processes comes to.
fn by_processes(n: usize, config: &Config) -> Vec<Result<i32, String>> {
    std::thread::scope(|scope| {
        let run = |ranks: Threads| {
            let ranks: Arc<dyn Ranks> = Arc::new(ranks);
            let solved = pogo_solver::solve_with(Some(&ranks), config, &Interrupts::default(), &mut Silent);
            solved.map(|outcome| outcome.exit_code()).map_err(|error| error.to_string())
        };
        let threads: Vec<_> = Threads::new(n).into_iter().map(|ranks| scope.spawn(move || run(ranks))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// All files of a folder by name, the summary without what differs from run to run.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let (name, mut bytes) = (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        if name == "summary.json" {
            let mut summary: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let differs = |key: &str| key.ends_with("_seconds") || ["threads", "peak_memory_bytes"].contains(&key);
            summary.as_object_mut().unwrap().retain(|key, _| !differs(key));
            bytes = summary.to_string().into_bytes();
        }
        (name, bytes)
    };
    std::fs::read_dir(folder).unwrap().map(read).collect()
}

fn assert_same(found: &Path, expected: &Path) {
    let (found, expected) = (files(found), files(expected));
    assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found.keys(), expected.keys());
    for (name, bytes) in found {
        let texts = || [&bytes, &expected[&name]].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(bytes == expected[&name], "{name}: {:?}", (name == "summary.json").then(texts));
    }
}

fn check(precision: Precision, starts: Option<&str>, end_of_job: &str) {
    let folder = tempfile::tempdir().unwrap();
    let block_file = model(folder.path(), end_of_job);
    let config = |name: &str, device: Devices| Config {
        block_file: block_file.clone(),
        output: Some(folder.path().join(name)),
        starts: starts.map(|name| folder.path().join(name)),
        settings: Settings { device, precision, ..Settings::default() },
        ..Config::default()
    };
    let cpu = DeviceChoice::Cpu;
    let one = config("one", cpu.into());
    assert_eq!(pogo_solver::solve(&one, &Interrupts::default(), &mut Silent).unwrap().exit_code(), 0);
    for n in 2..=4 {
        let processes = config(&format!("processes{n}"), cpu.into());
        assert_eq!(by_processes(n, &processes), vec![Ok(0); n]);
        assert_same(&processes.output_folder(), &one.output_folder());
        let parts = config(&format!("parts{n}"), Devices::Several(vec![cpu; n]));
        assert_eq!(pogo_solver::solve(&parts, &Interrupts::default(), &mut Silent).unwrap().exit_code(), 0);
        assert_same(&parts.output_folder(), &one.output_folder());
    }
}

#[test]
fn one_set_of_starts_by_several_ranks() {
    check(Precision::F64, None, "");
    check(Precision::F32, None, "[[start]]\nname = \"late\"\nat = [0, -17, 0]\ntime = 60\n");
}

#[test]
fn a_table_of_starts_by_several_ranks() {
    check(Precision::F32, Some("sites.csv"), "");
    check(Precision::F64, Some("sites.csv"), "probe_points = [[28, 0, 0], [0, 28, 0], [-28, 0, 0]]\n");
}

#[test]
fn what_several_ranks_cannot_do_is_said_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let block_file = model(folder.path(), "");
    let config = |overrides: &[&str], starts: Option<&str>| Config {
        block_file: block_file.clone(),
        output: Some(folder.path().join("out")),
        overrides: overrides.iter().map(|&text| text.into()).collect(),
        starts: starts.map(|name| folder.path().join(name)),
        settings: Settings { device: DeviceChoice::Cpu.into(), ..Settings::default() },
        ..Config::default()
    };
    std::fs::write(folder.path().join("wrong.csv"), "node\n1\n-7\n").unwrap();
    for (config, expected) in [
        (config(&["solver.decomposition=second"], None), "cannot be cut for 3 ranks"),
        (config(&["start.septum.time=inf"], None), "finite"),
        (config(&[], Some("wrong.csv")), "wrong.csv:3: error: "),
    ] {
        for said in by_processes(3, &config) {
            let said = said.unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
    // A folder in the place of a file of results: rank 0 ends with an error, the others end.
    let (config, place) = (config(&[], Some("sites.csv")), folder.path().join("out/arrivals.npy"));
    std::fs::create_dir_all(place.join("in the way")).unwrap();
    let said = by_processes(3, &config);
    assert!(said[0].is_err(), "{said:?}");
}
