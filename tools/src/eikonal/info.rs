//! What is in a block file of an Eikonal problem.

use std::path::Path;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::block::Eikonal;
use pogo_formats::eikonal::setup::{
    Decomposition, Directions, EikonalSettings, EikonalSetup, LocalSolver, StartRegion, Velocity,
};
use pogo_formats::eikonal::{Drawn, EikonalMeshView, TreesView, in_metres, metre, nodes_of};
use pogo_formats::physics::BlockFile;
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::report::Report;

use crate::info::{Count, Inspect, Sets, number};
use crate::listing::{Item, Listing, items};
use crate::picture::{self, Parts, PictureError, PictureOptions};

impl Inspect for Eikonal {
    const TITLE: &'static str = "arrival times";

    fn title(setup: &EikonalSetup) -> &str {
        &setup.title
    }

    fn kind(file: &BlockFile<Self>) -> Option<String> {
        Some(element_kind(&file.mesh()).to_owned())
    }

    fn figures(file: &BlockFile<Self>) -> Listing {
        let (mesh, setup) = (file.mesh(), file.setup());
        let (nodes, elements) = (mesh.n_nodes(), mesh.n_elements());
        let mut page = Listing::default();
        page.figure("kind", &element_kind(&mesh));
        page.figure("nodes", &nodes);
        page.figure("elements", &elements);
        page.line("mesh", format_args!("{}, {}", counted(nodes, "node"), counted(elements, "element")));
        let (length, time) = (&setup.length_unit, &setup.time_unit);
        page.figure("length_unit", length);
        page.figure("time_unit", time);
        page.bounding_box(mesh.coordinates, 3, if mesh.plane { 2 } else { 3 }, length);
        page.line("units", format_args!("{length}, {time}; speeds in {length}/{time}"));

        let data = [
            ("fibre", mesh.fibre.is_empty()),
            ("sheet", mesh.sheet.is_empty()),
            ("velocities", mesh.velocities.is_empty()),
            ("tensor", mesh.tensor.is_empty()),
        ];
        let data: Vec<&str> = data.into_iter().filter(|(_, empty)| !empty).map(|(name, _)| name).collect();
        page.figure("element_data", &data);
        if !data.is_empty() {
            page.line("data", format_args!("of each element: {}", data.join(", ")));
        }
        let sets = Sets::new(&mesh.node_sets, &mesh.element_sets);
        page.line("sets", format_args!("{} of nodes, {} of elements", sets.node_sets.len(), sets.element_sets.len()));
        add_classes(&mesh, &setup, &mut page);
        let starts = items(&setup.starts, |start| {
            let nodes = nodes_of(&mesh, &start.region).map_or(0, |nodes| nodes.len());
            let (place, time) = (place(&start.region, &mesh), number(start.time));
            (&start.name, format!("{place} ({}), at time {time}", counted(nodes, "node")))
        });
        page.items("starts", &starts);
        add_trees(&file.trees(), &setup, &mut page);
        add_ecg(&setup, &mut page);
        page.figure("node_sets", &sets.node_sets);
        page.figure("element_sets", &sets.element_sets);
        let solver = solver_words(&setup.settings);
        page.figure("solver", &solver);
        page.line("solver", solver);
        add_domains(&file.domains(), nodes, &mut page);
        page
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        let mesh = file.mesh();
        Some(Sets::new(&mesh.node_sets, &mesh.element_sets))
    }

    fn show(file: &BlockFile<Self>, report: &mut Report) {
        let (mesh, domains) = (file.mesh(), file.domains());
        let parts = Parts { first: &domains.starts(), halo: &|domain| domains.halo_of(domain) };
        let coordinates = in_metres(&mesh, &file.setup());
        let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
        picture::show(report, &Drawn::new(&scaled).view(&scaled), &parts, "sub-domain");
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        let (mesh, domains) = (file.mesh(), file.domains());
        let parts = Parts { first: &domains.starts(), halo: &|domain| domains.halo_of(domain) };
        let (setup, coordinates) = (file.setup(), in_metres(&mesh, &file.setup()));
        let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
        let drawn = Drawn::new(&scaled);
        let metre = metre(&setup);
        let window = options.window.map(|window| window.map(|x| metre * x));
        let options = PictureOptions { window, ..options.clone() };
        picture::draw(&drawn.view(&scaled), &parts, path, (&setup.title, "sub-domain"), &options)
    }
}

/// The velocity classes, and how many elements each has.
fn add_classes(mesh: &EikonalMeshView, setup: &EikonalSetup, page: &mut Listing) {
    let mut counts = vec![0; setup.classes.len()];
    mesh.class.iter().for_each(|&class| counts[usize::from(class)] += 1);
    let classes = items(&setup.classes, |class| (&class.name, velocity(&class.velocity)));
    page.figure("classes", &classes);
    let counts = classes.iter().zip(counts).map(|(class, count)| Count { name: class.name.clone(), count });
    let counts: Vec<Count> = counts.collect();
    page.figure("elements_by_class", &counts);
    let shown = classes.into_iter().zip(&counts).map(|(Item { name, description }, elements)| Item {
        name,
        description: format!("{}; {description}", counted(elements.count, "element")),
    });
    page.list("velocities", &shown.collect::<Vec<_>>());
}

/// The trees of fibres, if there are any.
fn add_trees(trees: &TreesView, setup: &EikonalSetup, page: &mut Listing) {
    if setup.trees.is_empty() {
        return;
    }
    let numbered: Vec<_> = setup.trees.iter().enumerate().collect();
    let shown = items(&numbered, |&(at, tree)| {
        let junctions = trees.junctions.iter().filter(|&&node| trees.nodes_of(at).contains(&(node as usize))).count();
        let (edges, junctions) = (counted(trees.edges_of(at).len(), "edge"), counted(junctions, "junction"));
        let start = tree
            .start
            .map_or_else(String::new, |(node, time)| format!(", start at its node {node} at time {}", number(time)));
        (&tree.name, format!("{edges}, {junctions}, speed {}{start}", number(tree.speed)))
    });
    page.items("trees", &shown);
}

/// The electrodes and leads, if there are any.
fn add_ecg(setup: &EikonalSetup, page: &mut Listing) {
    let Some(ecg) = &setup.ecg else { return };
    let electrodes = items(&ecg.electrodes, |electrode| {
        (&electrode.name, format!("at {}", electrode.position.map(number).join(", ")))
    });
    page.items("electrodes", &electrodes);
    let names = |list: &[u32]| {
        let names: Vec<&str> = list.iter().map(|&index| ecg.electrodes[index as usize].name.as_str()).collect();
        names.join(", ")
    };
    let leads = items(&ecg.leads, |lead| (&lead.name, format!("{} less {}", names(&lead.plus), names(&lead.minus))));
    page.items("leads", &leads);
}

/// The sub-domains, the nodes of the smallest and of the largest, and what they read from each other.
fn add_domains(domains: &SubDomainsView, n_nodes: usize, page: &mut Listing) {
    let (n, interfaces) = (domains.n_domains(), domains.n_messages());
    let sizes = (0..n).map(|domain| domains.n_own(domain) as u64);
    let [least, most] = [sizes.clone().min(), sizes.max()].map(Option::unwrap_or_default);
    let share = domains.halo.len() as f64 / n_nodes.max(1) as f64;
    page.figure("domain_partition", &domains.method);
    page.figure("domains", &n);
    page.figure("domain_nodes", &[least, most]);
    page.figure("interface_fraction", &share);
    page.figure("interfaces", &interfaces);
    let nodes = if least == most { grouped(least) } else { format!("{} to {}", grouped(least), grouped(most)) };
    page.line("sub-domains", format_args!("{} ({}) of {nodes} nodes", grouped(n as u64), domains.method));
    if n > 1 {
        page.line("", format_args!("{}, {:.2} % of the nodes", counted(interfaces, "interface"), 100.0 * share));
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
