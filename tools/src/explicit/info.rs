//! What is in a block file: the figures, and how they are put on a page.

pub(crate) mod text;

use pogo_formats::block::{SectionInfo, Source};
use pogo_formats::dynamics::{AmplitudeShape, BoundaryKind, Increment, LoadKind, OutputInterval, Window};
use pogo_formats::explicit::block::StatisticsView;
use pogo_formats::explicit::{AbsorbingProfile, Elasticity, Explicit, Lumping, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::physics::BlockFile;
use pogo_formats::words::counted;
use pogo_formats::write::traces::TraceQuantity;
use serde::Serialize;
use text::number;

pub use text::{parameters_text, sets_text};

/// Everything that `pogo-info` shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Path, as given.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// `explicit`.
    pub physics: String,
    /// Heading of the deck.
    pub title: String,
    /// 2 or 3.
    pub dimension: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of elements.
    pub elements: usize,
    /// Elements of each kind.
    pub elements_by_kind: Vec<Count>,
    /// Smallest and largest coordinate of each axis, m; empty without nodes.
    pub bounding_box: Vec<[f64; 2]>,
    /// Names of the instances; a deck without parts has one, the empty name.
    pub instances: Vec<String>,
    /// Number of node sets.
    pub node_sets: usize,
    /// Number of element sets.
    pub element_sets: usize,
    /// Materials.
    pub materials: Vec<MaterialSummary>,
    /// Sections.
    pub sections: Vec<SectionSummary>,
    /// Amplitudes, each in a line.
    pub amplitudes: Vec<Item>,
    /// Loads, each in a line.
    pub loads: Vec<Item>,
    /// Boundary conditions, each in a line.
    pub boundaries: Vec<Item>,
    /// Initial velocities, each in a line.
    pub initial_velocities: Vec<Item>,
    /// Absorbing layers, each in a line.
    pub absorbing_layers: Vec<Item>,
    /// Traces, each in a line.
    pub histories: Vec<Item>,
    /// Snapshots, each in a line.
    pub fields: Vec<Item>,
    /// Length of the run, s.
    pub time: f64,
    /// Time increment, in words.
    pub increment: String,
    /// Mass lumping.
    pub lumping: &'static str,
    /// The partition.
    pub partition: PartitionSummary,
    /// Sections of the file.
    pub file_sections: Vec<FileSection>,
    /// Files it was made from.
    pub sources: Vec<SourceSummary>,
    /// Version of the tool that made it.
    pub version: String,
    /// Options of that tool.
    pub options: Vec<String>,
}

/// So many of something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// What.
    pub name: String,
    /// How many.
    pub count: usize,
}

/// Something with a name, described in a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Name for overrides.
    pub name: String,
    /// Description.
    pub description: String,
}

/// A material.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaterialSummary {
    /// Name.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// α, 1/s.
    pub alpha: f64,
    /// The same in all directions.
    pub isotropic: bool,
    /// Constants, in words.
    pub elasticity: String,
    /// Speeds of the three plane waves along the material's axes 1, 2 and 3, fastest first, m/s; none where the stiffness
    /// is not positive definite or the density is missing.
    pub wave_speeds: Option<[[f64; 3]; 3]>,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SectionSummary {
    /// Name.
    pub name: String,
    /// Name of its material.
    pub material: String,
    /// Elements.
    pub elements: usize,
    /// m, in 2D.
    pub thickness: f64,
    /// Factor on the density.
    pub mass_factor: f64,
}

/// The partition, as Tables 2 and 4 of the paper report it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionSummary {
    /// `aligned`, `greedy` or `metis`.
    pub partitioner: String,
    /// Nodes that fit in a block.
    pub capacity: usize,
    /// The paper's limits were enforced.
    pub paper_limits: bool,
    /// Number of blocks.
    pub blocks: u64,
    /// η = nodes / (blocks × capacity).
    pub efficiency: f64,
    /// Mean linked-data loads a block.
    pub mean_loads: f64,
    /// Largest number of loads of a block.
    pub max_loads: u32,
    /// Mean linked blocks a block.
    pub mean_linked_blocks: f64,
    /// Largest number of linked blocks.
    pub max_linked_blocks: u32,
    /// Halo nodes over own nodes.
    pub halo_fraction: f64,
    /// Blocks beyond one of the paper's limits.
    pub beyond_paper_limits: u64,
    /// Blocks split to keep them.
    pub split: u64,
}

/// A section of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileSection {
    /// Name.
    pub name: String,
    /// First byte.
    pub offset: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64, hexadecimal.
    pub checksum: String,
}

/// A file that the block file was made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSummary {
    /// Name.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64, hexadecimal.
    pub hash: String,
}

impl Summary {
    /// Gathers the figures of an open file.
    pub fn new(file: &BlockFile<Explicit>) -> Self {
        let (mesh, setup, provenance) = (file.mesh(), file.setup(), file.container().provenance());
        let n_of = |name: &Option<u32>| match name.and_then(|index| setup.amplitudes.get(index as usize)) {
            Some(amplitude) => format!(", amplitude {}", amplitude.name),
            None => String::new(),
        };
        Self {
            file: file.container().path().display().to_string(),
            bytes: file.container().bytes(),
            physics: provenance.physics.clone(),
            title: setup.title.clone(),
            dimension: mesh.dimension,
            nodes: mesh.n_nodes(),
            elements: mesh.n_elements(),
            elements_by_kind: elements_by_kind(&mesh),
            bounding_box: bounding_box(&mesh),
            instances: mesh.instances.iter().map(|&name| name.into()).collect(),
            node_sets: mesh.node_sets.len(),
            element_sets: mesh.element_sets.len(),
            materials: materials(&setup),
            sections: sections(&mesh, &setup),
            amplitudes: items(&setup.amplitudes, |amplitude| (&amplitude.name, amplitude_words(amplitude))),
            loads: items(&setup.loads, |load| {
                (&load.name, format!("{}{}", load_words(&load.kind, load.magnitude), n_of(&load.amplitude)))
            }),
            boundaries: items(&setup.boundaries, |boundary| {
                let (letter, unit) = match boundary.kind {
                    BoundaryKind::Displacement => ("U", "m"),
                    BoundaryKind::Velocity => ("V", "m/s"),
                    BoundaryKind::Acceleration => ("A", "m/s²"),
                };
                let (component, n, value) = (boundary.component + 1, boundary.nodes.len(), boundary.value);
                let value = if value == 0.0 {
                    "0".into()
                } else {
                    format!("{} {unit}{}", number(value), n_of(&boundary.amplitude))
                };
                (&boundary.name, format!("{letter}{component} = {value} at {}", counted(n, "node")))
            }),
            initial_velocities: items(&setup.initial_velocities, |initial| {
                let (component, n) = (initial.component + 1, initial.nodes.len());
                (&initial.name, format!("V{component} = {} m/s at {}", number(initial.value), counted(n, "node")))
            }),
            absorbing_layers: items(&setup.absorbing_layers, |layer| {
                let law = match layer.profile {
                    AbsorbingProfile::Damping { d_max, exponent } => {
                        format!("damping {} 1/s × depth^{exponent}", number(d_max))
                    }
                    AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness } => {
                        format!(
                            "stiffness reduction for {} Hz and {wave_speed} m/s over {thickness} m",
                            number(frequency)
                        )
                    }
                };
                (&layer.name, format!("{law}, {}", counted(layer.elements.len(), "element")))
            }),
            histories: setup
                .histories
                .iter()
                .map(|history| {
                    let labels = history.variables.iter().map(|&(q, c)| TraceQuantity::Nodal(q).label(c));
                    (&history.set, labels.collect::<Vec<_>>(), counted(history.nodes.len(), "node"), history.interval)
                })
                .chain(setup.element_histories.iter().map(|history| {
                    let labels = history.variables.iter().map(|&(q, c)| TraceQuantity::Element(q).label(c));
                    let n = counted(history.elements.len(), "element");
                    (&history.set, labels.collect(), n, history.interval)
                }))
                .map(|(set, labels, n, interval)| Item {
                    name: set.clone(),
                    description: format!("{} of {n}, {}", labels.join(" "), interval_words(interval)),
                })
                .collect(),
            fields: (1..)
                .zip(&setup.fields)
                .map(|(number, field)| {
                    let quantities = field.quantities.iter().map(|quantity| quantity.name().replace('_', " "));
                    let quantities = quantities.collect::<Vec<_>>().join(", ");
                    let description = format!("{quantities}, {}", interval_words(field.interval));
                    Item { name: number.to_string(), description }
                })
                .collect(),
            time: setup.explicit.time,
            increment: match setup.explicit.increment {
                Increment::Fixed(seconds) => format!("{} s", number(seconds)),
                Increment::Automatic { factor } => format!("{factor} of the stable one"),
            },
            lumping: match setup.explicit.lumping {
                Lumping::RowSum => "row-sum",
                Lumping::Hrz => "hrz",
                Lumping::Equal => "equal",
            },
            partition: PartitionSummary::new(file.statistics(), file.blocks().capacity),
            file_sections: file.container().sections().iter().map(FileSection::new).collect(),
            sources: provenance.sources.iter().map(SourceSummary::new).collect(),
            version: provenance.version.clone(),
            options: provenance.options.clone(),
        }
    }
}

impl PartitionSummary {
    fn new(statistics: StatisticsView, capacity: usize) -> Self {
        Self {
            partitioner: statistics.partitioner.to_owned(),
            capacity,
            paper_limits: statistics.paper_limits,
            blocks: statistics.n_blocks,
            efficiency: statistics.efficiency,
            mean_loads: statistics.mean_loads,
            max_loads: statistics.max_loads as u32,
            mean_linked_blocks: statistics.mean_linked_blocks,
            max_linked_blocks: statistics.max_linked_blocks as u32,
            halo_fraction: statistics.halo_fraction,
            beyond_paper_limits: statistics.n_beyond_paper_limits,
            split: statistics.n_split,
        }
    }
}

impl FileSection {
    pub(crate) fn new(section: &SectionInfo) -> Self {
        let (name, offset, bytes) = (section.name.clone(), section.offset, section.bytes);
        Self { name, offset, bytes, checksum: format!("{:016x}", section.checksum) }
    }
}

impl SourceSummary {
    pub(crate) fn new(source: &Source) -> Self {
        Self { name: source.name.clone(), bytes: source.bytes, hash: format!("{:016x}", source.hash) }
    }
}

/// The sets of a mesh with the number of their members.
pub fn sets(mesh: &MeshView) -> Sets {
    let count = |sets: &[(&str, &[u32])]| {
        sets.iter().map(|(name, members)| Count { name: (*name).into(), count: members.len() }).collect()
    };
    Sets { node_sets: count(&mesh.node_sets), element_sets: count(&mesh.element_sets) }
}

/// What `--sets` shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sets {
    /// Node sets.
    pub node_sets: Vec<Count>,
    /// Element sets.
    pub element_sets: Vec<Count>,
}

fn items<T>(list: &[T], describe: impl Fn(&T) -> (&String, String)) -> Vec<Item> {
    let item = |entry| {
        let (name, description) = describe(entry);
        Item { name: name.clone(), description }
    };
    list.iter().map(item).collect()
}

fn elements_by_kind(mesh: &MeshView) -> Vec<Count> {
    mesh.groups.iter().map(|group| Count { name: group.kind.name().into(), count: group.labels.len() }).collect()
}

fn bounding_box(mesh: &MeshView) -> Vec<[f64; 2]> {
    let mut points = mesh.coordinates.chunks_exact(mesh.dimension.max(1));
    let Some(first) = points.next() else { return Vec::new() };
    let mut bounds: Vec<[f64; 2]> = first.iter().map(|&x| [x, x]).collect();
    for point in points {
        for (bound, &x) in bounds.iter_mut().zip(point) {
            *bound = [bound[0].min(x), bound[1].max(x)];
        }
    }
    bounds
}

fn materials(setup: &Setup) -> Vec<MaterialSummary> {
    const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let summary = |material: &pogo_formats::explicit::Material| {
        let [along_1, along_2, along_3] = AXES.map(|axis| material.wave_speeds(axis));
        MaterialSummary {
            name: material.name.clone(),
            density: material.density,
            alpha: material.damping_alpha,
            isotropic: matches!(material.elasticity, Elasticity::Isotropic { .. }),
            elasticity: match material.elasticity {
                Elasticity::Isotropic { young, poisson } => format!("isotropic, E {} Pa, ν {poisson}", number(young)),
                Elasticity::EngineeringConstants(_) => "engineering constants".into(),
                Elasticity::Orthotropic(_) => "orthotropic".into(),
                Elasticity::Anisotropic(_) => "anisotropic".into(),
            },
            wave_speeds: along_1.zip(along_2).zip(along_3).map(|((a, b), c)| [a, b, c]),
        }
    };
    setup.materials.iter().map(summary).collect()
}

fn sections(mesh: &MeshView, setup: &Setup) -> Vec<SectionSummary> {
    let mut elements = vec![0; setup.sections.len()];
    for &section in mesh.groups.iter().flat_map(|group| group.section) {
        elements[section as usize] += 1;
    }
    let summary = |(section, elements): (&pogo_formats::explicit::Section, usize)| SectionSummary {
        name: section.name.clone(),
        material: setup.materials[section.material as usize].name.clone(),
        elements,
        thickness: section.thickness,
        mass_factor: section.mass_factor,
    };
    setup.sections.iter().zip(elements).map(summary).collect()
}

fn amplitude_words(amplitude: &pogo_formats::dynamics::Amplitude) -> String {
    let mut words = match &amplitude.shape {
        AmplitudeShape::Tabular { times, .. } => format!("table of {}", counted(times.len(), "point")),
        AmplitudeShape::SmoothStep { times, .. } => format!("smooth steps through {}", counted(times.len(), "point")),
        AmplitudeShape::Periodic { omega, terms, .. } => {
            format!("periodic, {} rad/s, {}", number(*omega), counted(terms.len(), "term"))
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            let window = match window {
                Window::Hann => "Hann",
                Window::Gaussian => "Gaussian",
                Window::Rectangular => "rectangular",
            };
            format!("{cycles} cycles of {} Hz, {window} window", number(*frequency))
        }
        AmplitudeShape::Ricker { frequency, peak_time } => {
            format!("Ricker, {} Hz, peak at {} s", number(*frequency), number(*peak_time))
        }
        AmplitudeShape::GaussianPulse { rate, peak_time } => {
            format!("Gaussian, {} 1/s², peak at {} s", number(*rate), number(*peak_time))
        }
    };
    if amplitude.scale != 1.0 {
        words += &format!(", × {}", amplitude.scale);
    }
    if amplitude.delay != 0.0 {
        words += &format!(", {} s late", number(amplitude.delay));
    }
    words
}

fn load_words(kind: &LoadKind, magnitude: f64) -> String {
    let along = |[x, y, z]: &[f64; 3]| format!("along ({x}, {y}, {z})");
    let magnitude = number(magnitude);
    match kind {
        LoadKind::Concentrated { nodes, direction, .. } => {
            format!("{magnitude} N {} at {}", along(direction), counted(nodes.len(), "node"))
        }
        LoadKind::Pressure { faces, .. } => format!("pressure {magnitude} Pa on {}", counted(faces.len(), "face")),
        LoadKind::Traction { faces, direction, .. } => {
            format!("traction {magnitude} Pa {} on {}", along(direction), counted(faces.len(), "face"))
        }
        LoadKind::Body { elements, direction } => {
            format!("{magnitude} N/m³ {} in {}", along(direction), counted(elements.len(), "element"))
        }
        LoadKind::Gravity { elements, direction } => {
            format!("gravity {magnitude} m/s² {} in {}", along(direction), counted(elements.len(), "element"))
        }
    }
}

fn interval_words(interval: OutputInterval) -> String {
    match interval {
        OutputInterval::Increments(1) => "every increment".into(),
        OutputInterval::Increments(n) => format!("every {n} increments"),
        OutputInterval::Time(seconds) => format!("every {} s", number(seconds)),
        OutputInterval::Count(n) => format!("in {}", counted(n as usize, "interval")),
    }
}

#[cfg(test)]
mod tests;
