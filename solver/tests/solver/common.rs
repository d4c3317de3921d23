//! Models in memory → block files → runs → traces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::*;
use pogo_formats::explicit::block::ExplicitContents;
use pogo_formats::explicit::summary::ExplicitSummary;
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;
use pogo_formats::physics::{self, Physics};
use pogo_solver::Outcome;
use pogo_solver::config::{Config, Settings};
use pogo_solver::error::SolveError;
use pogo_solver::interrupt::Interrupts;
use pogo_solver::observe::Silent;
use pogo_tools::explicit::arrange::{ArrangeOptions, Arranged, arrange};
use pogo_tools::explicit::remap_setup;
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};

/// E, ν, ρ of the tests' steel.
pub const YOUNG: f64 = 210e9;
pub const POISSON: f64 = 0.3;
pub const DENSITY: f64 = 7800.0;

/// `nx` × `ny` cells of a rectangle; triangles are halves of the cells. Node (i, j) has index j (nx + 1) + i.
pub fn grid_2d(kind: ElementKind, [nx, ny]: [usize; 2], [lx, ly]: [f64; 2]) -> Mesh {
    let mut coordinates = Vec::new();
    for j in 0..=ny {
        for i in 0..=nx {
            coordinates.extend([lx * i as f64 / nx as f64, ly * j as f64 / ny as f64]);
        }
    }
    let node = |i: usize, j: usize| (j * (nx + 1) + i) as u32;
    let mut connectivity = Vec::new();
    for j in 0..ny {
        for i in 0..nx {
            let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
            if kind.n_nodes() == 3 {
                connectivity.extend([a, b, c, a, c, d]);
            } else {
                connectivity.extend([a, b, c, d]);
            }
        }
    }
    mesh(coordinates, kind, connectivity)
}

/// Cells of a box; node (i, j, k) has index (k (ny + 1) + j) (nx + 1) + i. Hexahedra, or six tetrahedra a cell.
pub fn grid_3d(kind: ElementKind, [nx, ny, nz]: [usize; 3], [lx, ly, lz]: [f64; 3]) -> Mesh {
    let mut coordinates = Vec::new();
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                let part = |index: usize, n: usize| index as f64 / n as f64;
                coordinates.extend([lx * part(i, nx), ly * part(j, ny), lz * part(k, nz)]);
            }
        }
    }
    let node = |i: usize, j: usize, k: usize| ((k * (ny + 1) + j) * (nx + 1) + i) as u32;
    let mut connectivity = Vec::new();
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let corner = [
                    node(i, j, k),
                    node(i + 1, j, k),
                    node(i + 1, j + 1, k),
                    node(i, j + 1, k),
                    node(i, j, k + 1),
                    node(i + 1, j, k + 1),
                    node(i + 1, j + 1, k + 1),
                    node(i, j + 1, k + 1),
                ];
                match kind {
                    ElementKind::C3d4 => {
                        for [a, b] in [[1, 2], [2, 3], [3, 7], [7, 4], [4, 5], [5, 1]] {
                            connectivity.extend([corner[0], corner[a], corner[b], corner[6]]);
                        }
                    }
                    ElementKind::C3d6 | ElementKind::C3d6f => {
                        for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
                            connectivity.extend([
                                corner[a],
                                corner[b],
                                corner[c],
                                corner[a + 4],
                                corner[b + 4],
                                corner[c + 4],
                            ]);
                        }
                    }
                    _ => connectivity.extend(corner),
                }
            }
        }
    }
    mesh(coordinates, kind, connectivity)
}

/// Labels are index + 1 for nodes and index + 1001 for elements.
fn mesh(coordinates: Vec<f64>, kind: ElementKind, connectivity: Vec<u32>) -> Mesh {
    let mut mesh = Mesh::of_kind(kind, coordinates, connectivity);
    mesh.groups[0].labels.iter_mut().for_each(|label| *label += 1000);
    mesh
}

/// Steel, nothing else: no load, no support, no output. `time` in s, automatic increment.
pub fn steel(time: f64) -> Setup {
    Setup {
        title: "test".into(),
        materials: vec![Material::new("steel", DENSITY, Elasticity::Isotropic { young: YOUNG, poisson: POISSON })],
        sections: vec![Section::new("all", 0)],
        explicit: ExplicitSettings {
            time,
            increment: Increment::Automatic { factor: 0.9 },
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    }
}

pub fn burst(frequency: f64) -> Amplitude {
    Amplitude::new("burst", AmplitudeShape::ToneBurst { window: Window::Hann, frequency, cycles: 3.0 })
}

pub fn point_force(node: u32, direction: [f64; 3], magnitude: f64, amplitude: Option<u32>) -> Load {
    Load {
        name: format!("force{node}"),
        kind: LoadKind::Concentrated { nodes: vec![node], weights: Vec::new(), direction },
        magnitude,
        amplitude,
    }
}

pub fn fix(name: &str, nodes: Vec<u32>, component: u8) -> Boundary {
    Boundary { name: name.into(), nodes, component, kind: BoundaryKind::Displacement, value: 0.0, amplitude: None }
}

pub fn history(set: &str, nodes: Vec<u32>, variables: &[(NodalQuantity, u8)]) -> HistoryRequest {
    HistoryRequest {
        set: set.into(),
        nodes,
        variables: variables.to_vec(),
        weights: Vec::new(),
        interval: OutputInterval::Increments(1),
    }
}

/// U1, U2 (, U3).
pub fn displacements(dimension: u8) -> Vec<(NodalQuantity, u8)> {
    (0..dimension).map(|component| (NodalQuantity::Displacement, component)).collect()
}

/// Nodes at which `test` holds.
pub fn nodes_where(mesh: &Mesh, test: impl Fn(&[f64]) -> bool) -> Vec<u32> {
    let positions = mesh.coordinates.chunks_exact(mesh.dimension as usize);
    (0u32..).zip(positions).filter(|(_, position)| test(position)).map(|(node, _)| node).collect()
}

/// (faces, their elements) all of whose nodes fulfil `test`.
pub fn faces_where(mesh: &Mesh, test: impl Fn(&[f64]) -> bool) -> (Vec<[u32; 4]>, Vec<u32>) {
    let chosen = nodes_where(mesh, test);
    let (mut faces, mut elements) = (Vec::new(), Vec::new());
    let mut element = 0;
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for local in group.kind.faces() {
                let face: Vec<u32> = local.iter().map(|&index| nodes[usize::from(index)]).collect();
                if face.iter().all(|node| chosen.contains(node)) {
                    let mut padded = [u32::MAX; 4];
                    padded[..face.len()].copy_from_slice(&face);
                    faces.push(padded);
                    elements.push(element);
                }
            }
            element += 1;
        }
    }
    (faces, elements)
}

/// Writes `model.blk` into `folder`, in blocks of `capacity` nodes.
pub fn write_block(folder: &Path, mesh: &Mesh, setup: &Setup, capacity: usize) -> PathBuf {
    let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity };
    let cut = partition(&mesh.view(), &options, &|_| {}).unwrap();
    let Arranged { mesh, blocks, device, statistics, solver_from_model, .. } =
        arrange(mesh.clone(), cut, &ArrangeOptions::default()).unwrap();
    let mut setup = setup.clone();
    remap_setup(&mut setup, &solver_from_model);
    let path = folder.join("model.blk");
    let provenance = Provenance::new(Explicit::NAME, Vec::new(), Vec::new());
    let contents = ExplicitContents { mesh: &mesh, blocks: &blocks, device: &device, statistics: &statistics };
    physics::write_block::<Explicit>(&path, contents, &setup, &provenance).unwrap();
    path
}

pub fn config(block_file: &Path, output: &Path) -> Config {
    Config {
        block_file: block_file.into(),
        output: Some(output.into()),
        settings: Settings { threads: Some(1), ..Settings::default() },
        ..Config::default()
    }
}

pub fn solve(config: &Config) -> Result<Outcome, SolveError> {
    pogo_solver::solve(config, &Interrupts::default(), &mut Silent)
}

/// Runs one model that must complete or diverge.
pub fn run(config: &Config) -> ExplicitSummary {
    summary(solve(config).unwrap())
}

/// Summary of a run of explicit dynamics.
pub fn summary(outcome: Outcome) -> ExplicitSummary {
    match &outcome {
        Outcome::Run(summary) => summary.of::<ExplicitSummary>().unwrap_or_else(|| panic!("{outcome:?}")).clone(),
        Outcome::Study(_) => panic!("{outcome:?}"),
    }
}

/// A model's traces after a run with default settings.
pub fn traces_of(mesh: &Mesh, setup: &Setup) -> (ExplicitSummary, Traces) {
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), mesh, setup, 64);
    let output = folder.path().join("out");
    let summary = run(&config(&block_file, &output));
    let traces = Traces::read(&output.join("traces.csv"));
    (summary, traces)
}

/// Columns of a CSV file by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Traces(pub BTreeMap<String, Vec<f64>>);

impl Traces {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let mut columns = vec![Vec::new(); names.len()];
        for line in lines {
            for (column, field) in columns.iter_mut().zip(line.split(',')) {
                column.push(field.parse::<f64>().unwrap());
            }
        }
        Self(names.into_iter().map(str::to_owned).zip(columns).collect())
    }

    pub fn get(&self, name: &str) -> &[f64] {
        self.0.get(name).unwrap_or_else(|| panic!("no column {name} among {:?}", self.0.keys()))
    }
}

/// The program.
pub fn pogo_solve() -> std::process::Command {
    std::process::Command::new(env!("CARGO_BIN_EXE_pogo-solve"))
}
