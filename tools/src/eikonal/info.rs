//! What is in a block file of an Eikonal problem.

use std::fmt;

use pogo_formats::eikonal::Eikonal;
use pogo_formats::eikonal::setup::{Decomposition, Directions, LocalSolver, StartRegion, Velocity};
use pogo_formats::eikonal::{EikonalMeshView, nodes_of};
use pogo_formats::physics::BlockFile;
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::explicit::info::text::{line, list, number, size};
use crate::explicit::info::{Count, FileSection, Item, SourceSummary};

/// Everything that `pogo-info` shows of an Eikonal problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EikonalSummary {
    /// Path, as given.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// `eikonal`.
    pub physics: String,
    /// Title of the job.
    pub title: String,
    /// `tetrahedra`, `triangles in the plane` or `triangles on a surface`.
    pub kind: &'static str,
    /// Nodes.
    pub nodes: u64,
    /// Elements.
    pub elements: u64,
    /// Unit of length.
    pub length_unit: String,
    /// Unit of time.
    pub time_unit: String,
    /// Smallest and largest coordinate of each axis.
    pub bounding_box: Vec<[f64; 2]>,
    /// Data that elements have of their own: `fibre`, `sheet`, `velocities`, `tensor`.
    pub element_data: Vec<&'static str>,
    /// Velocity classes, each in a line.
    pub classes: Vec<Item>,
    /// Elements of each class.
    pub elements_by_class: Vec<Count>,
    /// Starts, each in a line.
    pub starts: Vec<Item>,
    /// Node sets.
    pub node_sets: Vec<Count>,
    /// Element sets.
    pub element_sets: Vec<Count>,
    /// Solver settings, in words.
    pub solver: String,
    /// How nodes were cut.
    pub domain_partition: String,
    /// Sub-domains.
    pub domains: u64,
    /// Nodes of the smallest and of the largest.
    pub domain_nodes: [u64; 2],
    /// Nodes that sub-domains need of others, over nodes.
    pub interface_fraction: f64,
    /// Pairs of an owner and a reader.
    pub interfaces: u64,
    /// Sections of the file.
    pub file_sections: Vec<FileSection>,
    /// Files it was made from.
    pub sources: Vec<SourceSummary>,
    /// Version of the tool that made it.
    pub version: String,
    /// Options of that tool.
    pub options: Vec<String>,
}

impl EikonalSummary {
    /// Gathers the figures of an open file.
    pub fn new(file: &BlockFile<Eikonal>) -> Self {
        let (mesh, domains, setup) = (file.mesh(), file.domains(), file.setup());
        let (container, provenance) = (file.container(), file.container().provenance());
        let mut counts = vec![0; setup.classes.len()];
        mesh.class.iter().for_each(|&class| counts[usize::from(class)] += 1);
        let count = |(name, members): &(&str, &[u32])| Count { name: (*name).to_owned(), count: members.len() };
        let sizes = (0..domains.n_domains()).map(|domain| domains.n_own(domain) as u64);
        let data = [
            ("fibre", mesh.fibre.is_empty()),
            ("sheet", mesh.sheet.is_empty()),
            ("velocities", mesh.velocities.is_empty()),
            ("tensor", mesh.tensor.is_empty()),
        ];
        let settings = &setup.settings;
        let local = match settings.local_solver {
            LocalSolver::Six => "six products a tetrahedron",
            LocalSolver::Eighteen => "18 products a tetrahedron",
            LocalSolver::OnTheFly => "products on the fly",
        };
        let decomposition = match settings.decomposition {
            Decomposition::Automatic => "",
            Decomposition::Whole => ", whole mesh at once",
            Decomposition::First => ", first approach to sub-domains",
            Decomposition::Second => ", second approach to sub-domains",
        };
        let exact = match settings.exact_radius {
            0.0 => String::new(),
            radius => format!(", exact within {} of starts", number(radius)),
        };
        Self {
            file: container.path().display().to_string(),
            bytes: container.bytes(),
            physics: provenance.physics.clone(),
            title: setup.title.clone(),
            kind: match (mesh.corners, mesh.plane) {
                (4, _) => "tetrahedra",
                (_, true) => "triangles in the plane",
                (_, false) => "triangles on a surface",
            },
            nodes: mesh.n_nodes() as u64,
            elements: mesh.n_elements() as u64,
            bounding_box: bounds(&mesh),
            element_data: data.into_iter().filter(|(_, empty)| !empty).map(|(name, _)| name).collect(),
            classes: setup
                .classes
                .iter()
                .map(|class| Item { name: class.name.clone(), description: velocity(&class.velocity) })
                .collect(),
            elements_by_class: setup
                .classes
                .iter()
                .zip(&counts)
                .map(|(class, &count)| Count { name: class.name.clone(), count })
                .collect(),
            starts: setup
                .starts
                .iter()
                .map(|start| {
                    let nodes = nodes_of(&mesh, &start.region).map_or(0, |nodes| nodes.len());
                    let (place, time) = (place(&start.region, &mesh), number(start.time));
                    let description = format!("{place} ({}), at time {time}", counted(nodes, "node"));
                    Item { name: start.name.clone(), description }
                })
                .collect(),
            node_sets: mesh.node_sets.iter().map(count).collect(),
            element_sets: mesh.element_sets.iter().map(count).collect(),
            solver: format!("{local}, tolerance {}{exact}{decomposition}", number(settings.tolerance)),
            domain_partition: domains.method.to_owned(),
            domains: domains.n_domains() as u64,
            domain_nodes: [sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0)],
            interface_fraction: domains.halo.len() as f64 / mesh.n_nodes().max(1) as f64,
            interfaces: domains.n_messages() as u64,
            length_unit: setup.length_unit,
            time_unit: setup.time_unit,
            file_sections: container.sections().iter().map(FileSection::new).collect(),
            sources: provenance.sources.iter().map(SourceSummary::new).collect(),
            version: provenance.version.clone(),
            options: provenance.options.clone(),
        }
    }
}

fn bounds(mesh: &EikonalMeshView) -> Vec<[f64; 2]> {
    let points = mesh.coordinates.as_chunks::<3>().0;
    let range = |k: usize| {
        points.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x[k]), high.max(x[k])])
    };
    (0..if mesh.plane { 2 } else { 3 }).map(range).collect()
}

fn velocity(velocity: &Velocity) -> String {
    let directions = |directions: &Directions| match directions {
        Directions::Each => "along the directions of each element".to_owned(),
        Directions::Constant { fibre, sheet: None } => format!("along fibre {fibre:?}"),
        Directions::Constant { fibre, sheet: Some(sheet) } => format!("along fibre {fibre:?}, sheet {sheet:?}"),
    };
    match velocity {
        Velocity::Blocked => "blocked".into(),
        Velocity::Isotropic(speed) => format!("speed {} in all directions", number(*speed)),
        Velocity::Axes { speeds, directions: d } => {
            format!("speeds {} {}", speeds.map(number).join(", "), directions(d))
        }
        Velocity::Tensor(tensor) => format!("tensor {}", tensor.map(number).join(", ")),
        Velocity::EachSpeeds { factor, directions: d } => {
            format!("{} × the velocities of each element, {}", number(*factor), directions(d))
        }
        Velocity::EachTensor { factor } => format!("{} × the tensor of each element", number(*factor)),
    }
}

fn place(region: &StartRegion, mesh: &EikonalMeshView) -> String {
    match region {
        StartRegion::Nodes(_) => "listed nodes".into(),
        StartRegion::Label(label) => format!("node {label}"),
        StartRegion::Set(set) => format!("set {}", mesh.node_sets.get(*set as usize).map_or("", |set| set.0)),
        StartRegion::Box { low, high } => format!("box {low:?} to {high:?}"),
        StartRegion::Sphere { centre, radius } => format!("sphere of radius {} round {centre:?}", number(*radius)),
        StartRegion::Nearest(point) => format!("nearest to {point:?}"),
    }
}

impl fmt::Display for EikonalSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}: {}, {}, {}", self.file, self.physics, self.kind, size(self.bytes))?;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        let n = |n: u64, what: &str| counted(n as usize, what);
        line(f, "mesh", &format!("{}, {}", n(self.nodes, "node"), n(self.elements, "element")))?;
        for ([low, high], axis) in self.bounding_box.iter().zip(["x", "y", "z"]) {
            line(f, "", &format!("{axis} from {} to {} {}", number(*low), number(*high), self.length_unit))?;
        }
        line(f, "units", &format!("{}, {}; speeds in {0}/{1}", self.length_unit, self.time_unit))?;
        if !self.element_data.is_empty() {
            line(f, "data", &format!("of each element: {}", self.element_data.join(", ")))?;
        }
        line(f, "sets", &format!("{} of nodes, {} of elements", self.node_sets.len(), self.element_sets.len()))?;
        let classes: Vec<Item> = self
            .classes
            .iter()
            .zip(&self.elements_by_class)
            .map(|(class, count)| Item {
                name: class.name.clone(),
                description: format!("{}; {}", n(count.count as u64, "element"), class.description),
            })
            .collect();
        list(f, "velocities", &classes)?;
        list(f, "starts", &self.starts)?;
        line(f, "solver", &self.solver)?;
        let [least, most] = self.domain_nodes;
        let nodes = if least == most { grouped(least) } else { format!("{} to {}", grouped(least), grouped(most)) };
        line(f, "sub-domains", &format!("{} ({}) of {nodes} nodes", grouped(self.domains), self.domain_partition))?;
        if self.domains > 1 {
            let share = 100.0 * self.interface_fraction;
            line(f, "", &format!("{}, {share:.2} % of the nodes", n(self.interfaces, "interface")))?;
        }
        let sections = self.file_sections.iter().map(|section| Item {
            name: section.name.clone(),
            description: format!("{:>15} bytes, xxh3 {}", grouped(section.bytes), section.checksum),
        });
        list(f, "file", &sections.collect::<Vec<_>>())?;
        let sources = self.sources.iter().map(|source| Item {
            name: source.name.clone(),
            description: format!("{} bytes, xxh3 {}", grouped(source.bytes), source.hash),
        });
        list(f, "made from", &sources.collect::<Vec<_>>())?;
        line(f, "made by", &format!("{} with {}", self.version, self.options.join(" ")))
    }
}
