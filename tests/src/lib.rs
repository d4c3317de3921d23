//! Support for the end-to-end tests: real commands on real files.
//!
//! A test writes a deck, runs `pogo-block` and `pogo-solve` on it as a user would, and reads `traces.csv` back.

pub mod arrays;
mod available;
pub mod pogo;
mod refused;

pub use available::{browser, python, shared, skip, workspace};
pub use refused::{without_privileges, without_threads};

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Path of one of Pogo's commands: in the folder `$POGO_BIN`, as it is there, or built on first use in the profile that the
/// tests run in.
///
/// # Panics
/// If the build fails.
pub fn command(name: &str) -> Command {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        if let Some(folder) = std::env::var_os("POGO_BIN") {
            return folder.into();
        }
        // The test itself runs from target/<profile>/deps.
        let test = std::env::current_exe().expect("a test has a path");
        let folder = test.parent().and_then(Path::parent).expect("target/<profile>/deps/test").to_path_buf();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--workspace", "--bins"]);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(workspace()).status().expect("cargo runs");
        assert!(status.success(), "cargo build failed");
        folder
    });
    Command::new(folder.join(name))
}

/// `PATH` with Pogo's commands and the Python of `POGO_PYTHON` in front.
///
/// # Panics
/// If a folder's name has a colon.
pub fn search_path() -> OsString {
    let bin = PathBuf::from(command("pogo-solve").get_program());
    let mut folders: Vec<PathBuf> = bin.parent().map(Path::to_path_buf).into_iter().collect();
    let python = std::env::var_os("POGO_PYTHON").map(PathBuf::from);
    folders.extend(python.and_then(|python| Some(python.parent()?.to_path_buf())));
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(folders).expect("folders")
}

/// Runs a command and asserts that it succeeds.
///
/// # Panics
/// With everything the command printed, if it fails.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the command starts");
    assert!(
        output.status.success(),
        "{command:?} failed with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Columns of a `traces.csv`.
#[derive(Debug, Clone)]
pub struct Traces {
    /// Headings; the first is `time`.
    pub names: Vec<String>,
    /// One vector a column.
    pub columns: Vec<Vec<f64>>,
}

impl Traces {
    /// Reads a file, with or without `#` lines.
    ///
    /// # Panics
    /// If it is not a table of numbers under one heading.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<String> = lines.next().expect("a heading").split(',').map(str::to_owned).collect();
        let mut columns = vec![Vec::new(); names.len()];
        for line in lines {
            let values: Vec<f64> = line.split(',').map(|field| field.trim().parse().expect("a number")).collect();
            assert_eq!(values.len(), names.len(), "ragged row in {}", path.display());
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        Self { names, columns }
    }

    /// Times of the rows, s.
    pub fn time(&self) -> &[f64] {
        &self.columns[0]
    }

    /// The column with this heading.
    ///
    /// # Panics
    /// If there is none.
    pub fn column(&self, name: &str) -> &[f64] {
        let index = self.names.iter().position(|heading| heading == name);
        &self.columns[index.unwrap_or_else(|| panic!("no column {name} among {:?}", self.names))]
    }
}

/// ‖a − b‖ / ‖b‖ over the common rows.
pub fn relative_error(a: &[f64], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    let norm: f64 = b.iter().map(|b| b * b).sum();
    (difference / norm).sqrt()
}

/// Blocks and solves a deck in a folder, on one thread since tests share the cores; gives the traces.
///
/// # Panics
/// If a command fails.
pub fn run(folder: &Path, deck: &str, solve_arguments: &[&str]) -> Traces {
    std::fs::write(folder.join("model.inp"), deck).expect("the deck is written");
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet"]));
    succeed(
        command("pogo-solve")
            .current_dir(folder)
            .args(["model.blk", "--quiet", "-o", "out", "--threads", "1"])
            .args(solve_arguments),
    );
    Traces::read(&folder.join("out/traces.csv"))
}

/// A structured mesh of bricks or quadrilaterals, node (i, j, k) labelled 1 + i + (nx + 1) (j + (ny + 1) k).
#[derive(Debug, Clone)]
pub struct Grid {
    /// Cells along x, y, z; `n[2] = 0` makes it 2D.
    pub n: [usize; 3],
    /// Cell size, m.
    pub h: [f64; 3],
    /// Element name, such as `CPE4` or `C3D8R`; triangles and tetrahedra split each cell.
    pub element: &'static str,
}

impl Grid {
    /// Label of node (i, j, k).
    pub fn label(&self, i: usize, j: usize, k: usize) -> usize {
        1 + i + (self.n[0] + 1) * (j + (self.n[1] + 1) * k)
    }

    /// All (i, j, k) in the order of the labels.
    pub fn nodes(&self) -> impl Iterator<Item = [usize; 3]> + '_ {
        let [nx, ny, nz] = self.n;
        (0..=nz).flat_map(move |k| (0..=ny).flat_map(move |j| (0..=nx).map(move |i| [i, j, k])))
    }

    /// Position of node (i, j, k), m.
    pub fn position(&self, [i, j, k]: [usize; 3]) -> [f64; 3] {
        [i as f64 * self.h[0], j as f64 * self.h[1], k as f64 * self.h[2]]
    }

    /// `*NODE` and `*ELEMENT` blocks with the element set ALL.
    pub fn deck(&self) -> String {
        let mut text = String::from("*Heading\n** a structured test mesh\n*Node\n");
        for node in self.nodes() {
            let [x, y, z] = self.position(node);
            let label = self.label(node[0], node[1], node[2]);
            if self.n[2] == 0 {
                writeln!(text, "{label}, {x:e}, {y:e}").unwrap();
            } else {
                writeln!(text, "{label}, {x:e}, {y:e}, {z:e}").unwrap();
            }
        }
        writeln!(text, "*Element, type={}, elset=ALL", self.element).unwrap();
        let mut element = 0;
        let [nx, ny, nz] = self.n;
        for k in 0..nz.max(1) {
            for j in 0..ny {
                for i in 0..nx {
                    let at = |di: usize, dj: usize, dk: usize| self.label(i + di, j + dj, k + dk);
                    let quad = [at(0, 0, 0), at(1, 0, 0), at(1, 1, 0), at(0, 1, 0)];
                    let cells: Vec<Vec<usize>> = if self.n[2] > 0 {
                        vec![quad.into_iter().chain([at(0, 0, 1), at(1, 0, 1), at(1, 1, 1), at(0, 1, 1)]).collect()]
                    } else if self.element.ends_with('3') {
                        // Alternate diagonals, so that the mesh has no preferred direction.
                        if (i + j) % 2 == 0 {
                            vec![vec![quad[0], quad[1], quad[2]], vec![quad[0], quad[2], quad[3]]]
                        } else {
                            vec![vec![quad[0], quad[1], quad[3]], vec![quad[1], quad[2], quad[3]]]
                        }
                    } else {
                        vec![quad.to_vec()]
                    };
                    for cell in cells {
                        element += 1;
                        let nodes: Vec<String> = cell.iter().map(usize::to_string).collect();
                        writeln!(text, "{element}, {}", nodes.join(", ")).unwrap();
                    }
                }
            }
        }
        text
    }
}

/// Section, material and density blocks for element set ALL.
pub fn isotropic(young: f64, poisson: f64, density: f64) -> String {
    format!(
        "*Solid Section, elset=ALL, material=M\n,\n*Material, name=M\n*Density\n{density},\n*Elastic\n{young:e}, {poisson}\n"
    )
}

/// `*INITIAL CONDITIONS` from a velocity field v(x); zero components are left out.
pub fn initial_velocity(grid: &Grid, velocity: impl Fn([f64; 3]) -> [f64; 3]) -> String {
    let mut text = String::from("*Initial Conditions, type=VELOCITY\n");
    for node in grid.nodes() {
        let v = velocity(grid.position(node));
        for (component, value) in v.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            writeln!(text, "{}, {}, {value:e}", grid.label(node[0], node[1], node[2]), component + 1).unwrap();
        }
    }
    text
}

/// One explicit step of fixed increments with the traces of set REC at every increment.
pub fn step(increment: f64, time: f64, variables: &str) -> String {
    format!(
        "*Step, name=Step-1, nlgeom=NO\n*Dynamic, Explicit, direct user control\n{increment:e}, {time:e}\n\
         *Bulk Viscosity\n0., 0.\n*Output, history, frequency=1\n*Node Output, nset=REC\n{variables},\n*End Step\n"
    )
}

/// Angular frequency of a decaying-free oscillation from its zero crossings, rad/s.
///
/// # Panics
/// With fewer than three crossings.
pub fn angular_frequency(time: &[f64], signal: &[f64]) -> f64 {
    let mut crossings = Vec::new();
    for i in 1..signal.len() {
        if signal[i - 1] != 0.0 && signal[i - 1] * signal[i] <= 0.0 {
            let part = signal[i - 1] / (signal[i - 1] - signal[i]);
            crossings.push(time[i - 1] + part * (time[i] - time[i - 1]));
        }
    }
    assert!(crossings.len() >= 3, "too few zero crossings: {}", crossings.len());
    std::f64::consts::PI * (crossings.len() - 1) as f64 / (crossings[crossings.len() - 1] - crossings[0])
}
