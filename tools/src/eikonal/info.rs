//! What is in a block file of an Eikonal problem.

use std::fmt::{self, Display};
use std::path::Path;

use pogo_formats::eikonal::block::Eikonal;
use pogo_formats::eikonal::setup::{
    Decomposition, Directions, EikonalSettings, EikonalSetup, LocalSolver, StartRegion, Velocity,
};
use pogo_formats::eikonal::{Drawn, EikonalMeshView, nodes_of};
use pogo_formats::physics::BlockFile;
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::info::{Count, Inspect, Item, Sets, bounding_box, extent, items, line, list, number};
use crate::picture::{self, Parts, PictureError, PictureOptions};
use crate::prepare::count;

/// Figures of a block file of an Eikonal problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EikonalSummary {
    /// `tetrahedra`, `triangles in the plane` or `triangles on a surface`.
    pub kind: &'static str,
    pub nodes: u64,
    pub elements: u64,
    /// Unit of length.
    pub length_unit: String,
    /// Unit of time.
    pub time_unit: String,
    /// Smallest and largest coordinate of each axis.
    pub bounding_box: Vec<[f64; 2]>,
    /// Data that each element has of its own: `fibre`, `sheet`, `velocities`, `tensor`.
    pub element_data: Vec<&'static str>,
    /// Velocity classes.
    pub classes: Vec<Item>,
    /// Elements of each class.
    pub elements_by_class: Vec<Count>,
    pub starts: Vec<Item>,
    #[serde(flatten)]
    pub sets: Sets,
    /// Solver settings, in words.
    pub solver: String,
    /// How nodes were cut into sub-domains.
    pub domain_partition: String,
    /// Number of sub-domains.
    pub domains: u64,
    /// Nodes of the smallest and of the largest.
    pub domain_nodes: [u64; 2],
    /// Nodes that sub-domains read from others, over nodes.
    pub interface_fraction: f64,
    /// Pairs of an owner and a reader.
    pub interfaces: u64,
}

impl Inspect for Eikonal {
    const TITLE: &'static str = "arrival times";
    type Figures = EikonalSummary;

    fn title(setup: &EikonalSetup) -> &str {
        &setup.title
    }

    fn kind(file: &BlockFile<Self>) -> Option<String> {
        Some(element_kind(&file.mesh()).to_owned())
    }

    fn figures(file: &BlockFile<Self>) -> EikonalSummary {
        let (mesh, domains, setup) = (file.mesh(), file.domains(), file.setup());
        let mut counts = vec![0; setup.classes.len()];
        mesh.class.iter().for_each(|&class| counts[usize::from(class)] += 1);
        let sizes = (0..domains.n_domains()).map(|domain| domains.n_own(domain) as u64);
        let data = [
            ("fibre", mesh.fibre.is_empty()),
            ("sheet", mesh.sheet.is_empty()),
            ("velocities", mesh.velocities.is_empty()),
            ("tensor", mesh.tensor.is_empty()),
        ];
        let mut bounds = bounding_box(mesh.coordinates, 3);
        bounds.truncate(if mesh.plane { 2 } else { 3 });
        EikonalSummary {
            kind: element_kind(&mesh),
            nodes: mesh.n_nodes() as u64,
            elements: mesh.n_elements() as u64,
            bounding_box: bounds,
            element_data: data.into_iter().filter(|(_, empty)| !empty).map(|(name, _)| name).collect(),
            classes: items(&setup.classes, |class| (&class.name, velocity(&class.velocity))),
            elements_by_class: setup
                .classes
                .iter()
                .zip(&counts)
                .map(|(class, &count)| Count { name: class.name.clone(), count })
                .collect(),
            starts: items(&setup.starts, |start| {
                let nodes = nodes_of(&mesh, &start.region).map_or(0, |nodes| nodes.len());
                let (place, time) = (place(&start.region, &mesh), number(start.time));
                (&start.name, format!("{place} ({}), at time {time}", counted(nodes, "node")))
            }),
            sets: Sets::new(&mesh.node_sets, &mesh.element_sets),
            solver: solver_words(&setup.settings),
            domain_partition: domains.method.to_owned(),
            domains: domains.n_domains() as u64,
            domain_nodes: [sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0)],
            interface_fraction: domains.halo.len() as f64 / mesh.n_nodes().max(1) as f64,
            interfaces: domains.n_messages() as u64,
            length_unit: setup.length_unit,
            time_unit: setup.time_unit,
        }
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        let mesh = file.mesh();
        Some(Sets::new(&mesh.node_sets, &mesh.element_sets))
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        let (mesh, domains) = (file.mesh(), file.domains());
        let parts = Parts { first: &domains.starts(), halo: &|domain| domains.halo_of(domain) };
        let drawn = Drawn::new(&mesh);
        picture::draw(&drawn.view(&mesh), &parts, path, options)?;
        Ok(counted(domains.n_domains(), "sub-domain"))
    }
}

fn element_kind(mesh: &EikonalMeshView) -> &'static str {
    match (mesh.corners, mesh.plane) {
        (4, _) => "tetrahedra",
        (_, true) => "triangles in the plane",
        (_, false) => "triangles on a surface",
    }
}

fn solver_words(settings: &EikonalSettings) -> String {
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
    format!("{local}, tolerance {}{exact}{decomposition}", number(settings.tolerance))
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

impl Display for EikonalSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        line(f, "mesh", &format!("{}, {}", count(self.nodes, "node"), count(self.elements, "element")))?;
        extent(f, &self.bounding_box, &self.length_unit)?;
        line(f, "units", &format!("{}, {}; speeds in {0}/{1}", self.length_unit, self.time_unit))?;
        if !self.element_data.is_empty() {
            line(f, "data", &format!("of each element: {}", self.element_data.join(", ")))?;
        }
        let Sets { node_sets, element_sets } = &self.sets;
        line(f, "sets", &format!("{} of nodes, {} of elements", node_sets.len(), element_sets.len()))?;
        let classes = self.classes.iter().zip(&self.elements_by_class).map(|(class, elements)| Item {
            name: class.name.clone(),
            description: format!("{}; {}", counted(elements.count, "element"), class.description),
        });
        list(f, "velocities", &classes.collect::<Vec<_>>())?;
        list(f, "starts", &self.starts)?;
        line(f, "solver", &self.solver)?;
        let [least, most] = self.domain_nodes;
        let nodes = if least == most { grouped(least) } else { format!("{} to {}", grouped(least), grouped(most)) };
        line(f, "sub-domains", &format!("{} ({}) of {nodes} nodes", grouped(self.domains), self.domain_partition))?;
        if self.domains > 1 {
            let (interfaces, share) = (count(self.interfaces, "interface"), 100.0 * self.interface_fraction);
            line(f, "", &format!("{interfaces}, {share:.2} % of the nodes"))?;
        }
        Ok(())
    }
}
