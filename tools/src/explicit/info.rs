//! What is in a block file of explicit dynamics.

use std::fmt::{self, Display};
use std::path::Path;

use pogo_formats::dynamics::{Increment, LoadKind};
use pogo_formats::explicit::block::{Explicit, StatisticsView};
use pogo_formats::explicit::{AbsorbingProfile, Elasticity, Lumping, Material, Section, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::physics::BlockFile;
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::traces::TraceQuantity;
use serde::Serialize;

use crate::info::words::{self, Dynamics};
use crate::info::{Count, Inspect, Item, Sets, bounding_box, extent, items, line, list, number};
use crate::picture::{self, Parts, PictureError, PictureOptions};

/// Figures of a block file of explicit dynamics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplicitSummary {
    /// 2 or 3.
    pub dimension: usize,
    pub nodes: usize,
    pub elements: usize,
    pub elements_by_kind: Vec<Count>,
    /// Smallest and largest coordinate of each axis, m; empty without nodes.
    pub bounding_box: Vec<[f64; 2]>,
    /// Names of the instances; a deck without parts has one, the empty name.
    pub instances: Vec<String>,
    /// Number of node sets.
    pub node_sets: usize,
    /// Number of element sets.
    pub element_sets: usize,
    pub materials: Vec<MaterialSummary>,
    pub sections: Vec<SectionSummary>,
    pub amplitudes: Vec<Item>,
    pub loads: Vec<Item>,
    pub boundaries: Vec<Item>,
    pub initial_velocities: Vec<Item>,
    pub absorbing_layers: Vec<Item>,
    pub histories: Vec<Item>,
    pub fields: Vec<Item>,
    /// Length of the run, s.
    pub time: f64,
    /// Time increment, in words.
    pub increment: String,
    /// Mass lumping.
    pub lumping: &'static str,
    pub partition: PartitionSummary,
}

/// A material.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaterialSummary {
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// α, 1/s.
    pub alpha: f64,
    /// Whether the material is the same in all directions.
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
    pub name: String,
    /// Name of its material.
    pub material: String,
    /// Number of its elements.
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
    /// Most nodes in a block.
    pub capacity: usize,
    /// The paper's limits were enforced.
    pub paper_limits: bool,
    pub blocks: u64,
    /// η = nodes / (blocks × capacity).
    pub efficiency: f64,
    /// Mean number of linked-data loads of a block.
    pub mean_loads: f64,
    pub max_loads: u32,
    /// Mean number of blocks that a block is linked to.
    pub mean_linked_blocks: f64,
    pub max_linked_blocks: u32,
    /// Halo nodes over own nodes.
    pub halo_fraction: f64,
    /// Blocks beyond one of the paper's limits.
    pub beyond_paper_limits: u64,
    /// Blocks that were split to keep the limits.
    pub split: u64,
}

impl Inspect for Explicit {
    const TITLE: &'static str = "explicit dynamics";
    type Figures = ExplicitSummary;

    fn title(setup: &Setup) -> &str {
        &setup.title
    }

    fn kind(file: &BlockFile<Self>) -> Option<String> {
        Some(format!("{}D", file.mesh().dimension))
    }

    fn figures(file: &BlockFile<Self>) -> ExplicitSummary {
        let (mesh, setup) = (file.mesh(), file.setup());
        let dynamics = Dynamics { noun: "node", amplitudes: &setup.amplitudes };
        let mut histories = dynamics.histories(&setup.histories);
        histories.extend(items(&setup.element_histories, |history| {
            let labels = history.variables.iter().map(|&(q, c)| TraceQuantity::Element(q).label(c));
            let labels = labels.collect::<Vec<_>>().join(" ");
            let (n, interval) = (counted(history.elements.len(), "element"), words::interval(history.interval));
            (&history.set, format!("{labels} of {n}, {interval}"))
        }));
        ExplicitSummary {
            dimension: mesh.dimension,
            nodes: mesh.n_nodes(),
            elements: mesh.n_elements(),
            elements_by_kind: elements_by_kind(&mesh),
            bounding_box: bounding_box(mesh.coordinates, mesh.dimension),
            instances: mesh.instances.iter().map(|&name| name.into()).collect(),
            node_sets: mesh.node_sets.len(),
            element_sets: mesh.element_sets.len(),
            materials: setup.materials.iter().map(MaterialSummary::new).collect(),
            sections: sections(&mesh, &setup),
            amplitudes: items(&setup.amplitudes, |amplitude| (&amplitude.name, words::amplitude(amplitude))),
            loads: items(&setup.loads, |load| {
                let amplitude = dynamics.amplitude(load.amplitude);
                (&load.name, load_words(&load.kind, load.magnitude) + &amplitude)
            }),
            boundaries: dynamics.boundaries(&setup.boundaries),
            initial_velocities: dynamics.initial_velocities(&setup.initial_velocities),
            absorbing_layers: items(&setup.absorbing_layers, |layer| {
                let n = counted(layer.elements.len(), "element");
                (&layer.name, format!("{}, {n}", profile_words(&layer.profile)))
            }),
            histories,
            fields: fields(&setup),
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
        }
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        let mesh = file.mesh();
        Some(Sets::new(&mesh.node_sets, &mesh.element_sets))
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        let blocks = file.blocks();
        let parts = Parts { first: blocks.node_first, halo: &|block| blocks.halo(block) };
        picture::draw(&file.mesh(), &parts, path, options)?;
        Ok(counted(blocks.n_blocks(), "block"))
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

fn elements_by_kind(mesh: &MeshView) -> Vec<Count> {
    mesh.groups.iter().map(|group| Count { name: group.kind.name().into(), count: group.labels.len() }).collect()
}

fn sections(mesh: &MeshView, setup: &Setup) -> Vec<SectionSummary> {
    let mut elements = vec![0; setup.sections.len()];
    for &section in mesh.groups.iter().flat_map(|group| group.section) {
        elements[section as usize] += 1;
    }
    let summary = |(section, elements): (&Section, usize)| SectionSummary {
        name: section.name.clone(),
        material: setup.materials[section.material as usize].name.clone(),
        elements,
        thickness: section.thickness,
        mass_factor: section.mass_factor,
    };
    setup.sections.iter().zip(elements).map(summary).collect()
}

impl MaterialSummary {
    fn new(material: &Material) -> Self {
        const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let [along_1, along_2, along_3] = AXES.map(|axis| material.wave_speeds(axis));
        Self {
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
    }

    fn words(&self) -> String {
        let mut words = format!("{} kg/m³, {}", number(self.density), self.elasticity);
        match self.wave_speeds {
            Some([[p, s, _], ..]) if self.isotropic => {
                words += &format!(", waves P {} and S {} m/s", speed(p), speed(s));
            }
            Some(speeds) => {
                let [along_1, along_2, along_3] = speeds.map(|axis| axis.map(speed).join(" "));
                words += &format!(", waves along 1: {along_1}, 2: {along_2}, 3: {along_3} m/s");
            }
            None => words += ", no wave speeds (stiffness not positive definite, or no density)",
        }
        if self.alpha != 0.0 {
            words += &format!(", damping {} 1/s", number(self.alpha));
        }
        words
    }
}

/// Four digits, whichever units a deck has: 5901 m/s, 5.901 mm/µs.
fn speed(value: f64) -> String {
    match value {
        value if value >= 1e3 => format!("{value:.0}"),
        value if value >= 1e-3 => format!("{value:.*}", (3.0 - value.log10().floor()) as usize),
        value => format!("{value:.3e}"),
    }
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

fn profile_words(profile: &AbsorbingProfile) -> String {
    match *profile {
        AbsorbingProfile::Damping { d_max, exponent } => {
            format!("damping {} 1/s × depth^{exponent}", number(d_max))
        }
        AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness } => {
            format!("stiffness reduction for {} Hz and {wave_speed} m/s over {thickness} m", number(frequency))
        }
    }
}

fn fields(setup: &Setup) -> Vec<Item> {
    let item = |(number, field): (usize, &pogo_formats::dynamics::FieldRequest)| {
        let quantities = field.quantities.iter().map(|quantity| quantity.name().replace('_', " "));
        let quantities = quantities.collect::<Vec<_>>().join(", ");
        let description = format!("{quantities}, {}", words::interval(field.interval));
        Item { name: number.to_string(), description }
    };
    (1..).zip(&setup.fields).map(item).collect()
}

impl Display for ExplicitSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        line(f, "mesh", &format!("{}, {}", counted(self.nodes, "node"), counted(self.elements, "element")))?;
        let kinds = self.elements_by_kind.iter().map(|kind| format!("{} {}", grouped(kind.count as u64), kind.name));
        line(f, "", &kinds.collect::<Vec<_>>().join(", "))?;
        extent(f, &self.bounding_box, "m")?;
        if self.instances.len() > 1 {
            line(f, "instances", &grouped(self.instances.len() as u64))?;
        }
        line(f, "sets", &format!("{} of nodes, {} of elements", self.node_sets, self.element_sets))?;

        list(f, "materials", &items(&self.materials, |material| (&material.name, material.words())))?;
        let section_words = |section: &SectionSummary| {
            let mut words = format!("{}, {}", section.material, counted(section.elements, "element"));
            if self.dimension == 2 && section.thickness != 1.0 {
                words += &format!(", {} m thick", section.thickness);
            }
            if section.mass_factor != 1.0 {
                words += &format!(", inertia × {}", section.mass_factor);
            }
            words
        };
        list(f, "sections", &items(&self.sections, |section| (&section.name, section_words(section))))?;
        list(f, "amplitudes", &self.amplitudes)?;
        list(f, "loads", &self.loads)?;
        list(f, "boundaries", &self.boundaries)?;
        list(f, "initial velocities", &self.initial_velocities)?;
        list(f, "absorbing layers", &self.absorbing_layers)?;
        list(f, "histories", &self.histories)?;
        list(f, "fields", &self.fields)?;
        line(f, "run", &format!("{} s, increment {}, lumping {}", number(self.time), self.increment, self.lumping))?;
        write!(f, "{}", self.partition)
    }
}

impl Display for PartitionSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let limits =
            if self.paper_limits { format!(", paper's limits kept ({} split)", self.split) } else { String::new() };
        let (blocks, capacity) = (grouped(self.blocks), counted(self.capacity, "node"));
        line(f, "blocks", &format!("{blocks} of at most {capacity}, {}{limits}", self.partitioner))?;
        line(f, "", &format!("efficiency η {:.4}, halo {:.4} of the nodes", self.efficiency, self.halo_fraction))?;
        line(f, "", &format!("loads a block {:.2}, at most {}", self.mean_loads, self.max_loads))?;
        line(f, "", &format!("linked blocks {:.2}, at most {}", self.mean_linked_blocks, self.max_linked_blocks))?;
        let beyond = counted(self.beyond_paper_limits as usize, "block");
        line(f, "", &format!("{beyond} beyond the paper's limits"))
    }
}

#[cfg(test)]
mod tests;
