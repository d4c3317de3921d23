//! What is in a block file of explicit dynamics.

use std::path::Path;

use pogo_formats::dynamics::shots::ShotSource;
use pogo_formats::dynamics::{Increment, LoadKind, Shot};
use pogo_formats::explicit::block::{Explicit, StatisticsView};
use pogo_formats::explicit::{AbsorbingProfile, Attenuation, Elasticity, Material, Relaxation, Section, Setup};
use pogo_formats::mesh::{GroupView, MeshView};
use pogo_formats::physics::BlockFile;
use pogo_formats::words::{Choice, counted, grouped};
use pogo_formats::write::report::Report;
use pogo_formats::write::traces::TraceQuantity;

use crate::info::words::{self, Dynamics};
use crate::info::{Count, Inspect, Sets, number};
use crate::listing::{Listing, items};
use crate::picture::{self, Parts, PictureError, PictureOptions};

impl Inspect for Explicit {
    const TITLE: &'static str = "explicit dynamics";

    fn title(setup: &Setup) -> &str {
        &setup.title
    }

    fn kind(file: &BlockFile<Self>) -> Option<String> {
        Some(format!("{}D", file.mesh().dimension))
    }

    fn figures(file: &BlockFile<Self>) -> Listing {
        let (mesh, setup) = (file.mesh(), file.setup());
        let mut page = Listing::default();
        add_mesh(&mesh, &mut page);
        page.table("materials", Some("materials"), &setup.materials.iter().map(material).collect::<Vec<_>>());
        page.table("sections", Some("sections"), &sections(&mesh, &setup));

        let dynamics = Dynamics { noun: "node", amplitudes: &setup.amplitudes };
        page.items("amplitudes", &items(&setup.amplitudes, |amplitude| (&amplitude.name, words::amplitude(amplitude))));
        let loads = items(&setup.loads, |load| {
            let amplitude = dynamics.amplitude(load.amplitude);
            (&load.name, load_words(&load.kind, load.magnitude) + &amplitude)
        });
        page.items("loads", &loads);
        page.items("boundaries", &dynamics.boundaries(&setup.boundaries));
        page.items("initial_velocities", &dynamics.initial_velocities(&setup.initial_velocities));
        let layers = items(&setup.absorbing_layers, |layer| {
            let n = counted(layer.elements.len(), "element");
            (&layer.name, format!("{}, {n}", profile_words(&layer.profile)))
        });
        page.items("absorbing_layers", &layers);
        let impedances = items(&setup.impedances, |boundary| {
            (&boundary.name, format!("dashpots on {}", counted(boundary.faces.len(), "face")))
        });
        page.items("impedance_boundaries", &impedances);

        let mut histories = dynamics.histories(&setup.histories);
        histories.extend(items(&setup.element_histories, |history| {
            let labels = history.variables.iter().map(|&(q, c)| TraceQuantity::Element(q).label(c));
            let labels = labels.collect::<Vec<_>>().join(" ");
            let (n, interval) = (counted(history.elements.len(), "element"), words::interval(&history.interval));
            (&history.set, format!("{labels} of {n}, {interval}"))
        }));
        page.items("histories", &histories);
        let fields = words::numbered(&setup.fields, |field| {
            let quantities = field.quantities.iter().map(|quantity| quantity.name().replace('_', " "));
            let quantities = quantities.collect::<Vec<_>>().join(", ");
            format!("{quantities}, {}", words::interval(&field.interval))
        });
        page.items("fields", &fields);
        if !setup.linear.is_empty() {
            let linear = &setup.linear;
            let name =
                |nodes: &[u32]| nodes.first().map_or("", |&index| linear.massless[index as usize].as_str()).to_owned();
            let on_massless = items(&linear.loads, |load| {
                let LoadKind::Concentrated { nodes, .. } = &load.kind else { return (&load.name, String::new()) };
                (
                    &load.name,
                    format!("{} on {}{}", number(load.magnitude), name(nodes), dynamics.amplitude(load.amplitude)),
                )
            });
            page.items("reference_loads", &on_massless);
            let held = items(&linear.prescribed, |held| {
                (
                    &held.name,
                    format!("{} at {}{}", number(held.value), name(&held.nodes), dynamics.amplitude(held.amplitude)),
                )
            });
            page.items("reference_boundaries", &held);
            let (rows, massless) = (setup.linear.n_rows(), setup.linear.massless.len());
            page.figure("linear_constraints", &rows);
            page.figure("massless_unknowns", &massless);
            page.line(
                "constraints",
                format_args!("{}, {}", counted(rows, "row"), counted(massless, "massless unknown")),
            );
        }
        let ties = &setup.interface.ties;
        if !ties.is_empty() {
            let faces = ties.faces.len();
            page.figure("tied_fluid_faces", &faces);
            page.line("ties of fluids", format_args!("{} of fluids to solids", counted(faces, "face")));
        }
        if !setup.copied.is_empty() {
            let n = setup.copied.to.len();
            page.figure("copied_displacements", &n);
            page.line(
                "periodic sides",
                format_args!("u of {} is copied from others after each step", counted(n, "node")),
            );
        }
        if let Some(Relaxation { band, mechanisms, reference_frequency }) = &setup.relaxation {
            page.figure("relaxation_band", band);
            page.figure("relaxation_mechanisms", mechanisms);
            page.figure("reference_frequency", reference_frequency);
            let [low, high, reference] = [band[0], band[1], *reference_frequency].map(number);
            let text = format!("{mechanisms} mechanisms from {low} to {high} Hz, moduli of {reference} Hz");
            page.line("relaxation", text);
        }
        page.items("shots", &items(&setup.shots, |shot| (&shot.name, shot_words(shot))));

        let increment = match setup.explicit.increment {
            Increment::Fixed(seconds) => format!("{} s", number(seconds)),
            Increment::Automatic { factor } => format!("{factor} of the stable one"),
        };
        let (lumping, start) = (setup.explicit.lumping.word(), setup.explicit.start.word());
        page.figure("time", &setup.explicit.time);
        page.figure("increment", &increment);
        page.figure("lumping", &lumping);
        page.figure("start", &start);
        let time = number(setup.explicit.time);
        page.line(
            "run",
            format_args!("{time} s, increment {increment}, lumping {lumping}, start of {}", start.replace('-', " ")),
        );
        page.object("partition", &partition(file.statistics(), file.blocks().capacity));
        page
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        let mesh = file.mesh();
        Some(Sets::new(&mesh.node_sets, &mesh.element_sets))
    }

    fn show(file: &BlockFile<Self>, report: &mut Report) {
        let blocks = file.blocks();
        let parts = Parts { first: blocks.node_first, halo: &|block| blocks.halo(block) };
        picture::show(report, &file.mesh(), &parts, "block");
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        let blocks = file.blocks();
        let parts = Parts { first: blocks.node_first, halo: &|block| blocks.halo(block) };
        picture::draw(&file.mesh(), &parts, path, (&file.setup().title, "block"), options)
    }
}

/// The sources of a shot.
fn shot_words(shot: &Shot) -> String {
    let source = |source: &ShotSource| {
        let scale = if source.scale == 1.0 { String::new() } else { format!(" times {}", number(source.scale)) };
        let delay = if source.delay == 0.0 { String::new() } else { format!(" {} s later", number(source.delay)) };
        format!("{}{scale}{delay}", source.name)
    };
    shot.sources.iter().map(source).collect::<Vec<_>>().join(", ")
}

/// Number and kinds of nodes and elements, the bounding box, instances and sets.
fn add_mesh(mesh: &MeshView, page: &mut Listing) {
    let (nodes, elements) = (mesh.n_nodes(), mesh.n_elements());
    let kind = |group: &GroupView| Count { name: group.kind.name().into(), count: group.labels.len() };
    let by_kind: Vec<Count> = mesh.groups.iter().map(kind).collect();
    page.figure("dimension", &mesh.dimension);
    page.figure("nodes", &nodes);
    page.figure("elements", &elements);
    page.figure("elements_by_kind", &by_kind);
    page.line("mesh", format_args!("{}, {}", counted(nodes, "node"), counted(elements, "element")));
    let kinds = by_kind.iter().map(|kind| format!("{} {}", grouped(kind.count as u64), kind.name));
    page.line("", kinds.collect::<Vec<_>>().join(", "));
    page.bounding_box(mesh.coordinates, mesh.dimension, 3, "m");

    let (node_sets, element_sets) = (mesh.node_sets.len(), mesh.element_sets.len());
    page.figure("instances", &mesh.instances);
    page.figure("node_sets", &node_sets);
    page.figure("element_sets", &element_sets);
    if mesh.instances.len() > 1 {
        page.line("instances", grouped(mesh.instances.len() as u64));
    }
    page.line("sets", format_args!("{node_sets} of nodes, {element_sets} of elements"));
}

/// The partition, as Tables 2 and 4 of the paper report it.
fn partition(statistics: StatisticsView, capacity: usize) -> Listing {
    let of = &statistics;
    let mut page = figures_of_blocks(of, capacity, ["capacity", "efficiency"]);
    page.figure("split", &of.n_split);
    let limits = if of.paper_limits { format!(", paper's limits kept ({} split)", of.n_split) } else { String::new() };
    let (blocks, capacity) = (grouped(of.n_blocks), counted(capacity, "node"));
    page.line("blocks", format_args!("{blocks} of at most {capacity}, {}{limits}", of.partitioner));
    page.line("", format_args!("efficiency η {:.4}, halo {:.4} of the nodes", of.efficiency, of.halo_fraction));
    page.line("", format_args!("loads a block {:.2}, at most {}", of.mean_loads, of.max_loads));
    page.line("", format_args!("linked blocks {:.2}, at most {}", of.mean_linked_blocks, of.max_linked_blocks));
    let beyond = counted(of.n_beyond_paper_limits as usize, "block");
    page.line("", format_args!("{beyond} beyond the paper's limits"));
    page
}

/// The figures of a partition, without text; `names` are those of the most nodes in a block and of the efficiency.
pub(super) fn figures_of_blocks(of: &StatisticsView, capacity: usize, names: [&'static str; 2]) -> Listing {
    let mut figures = Listing::default();
    figures.figure("partitioner", &of.partitioner);
    figures.figure(names[0], &capacity);
    figures.figure("paper_limits", &of.paper_limits);
    figures.figure("blocks", &of.n_blocks);
    figures.figure(names[1], &of.efficiency);
    figures.figure("mean_loads", &of.mean_loads);
    figures.figure("max_loads", &of.max_loads);
    figures.figure("mean_linked_blocks", &of.mean_linked_blocks);
    figures.figure("max_linked_blocks", &of.max_linked_blocks);
    figures.figure("halo_fraction", &of.halo_fraction);
    figures.figure("beyond_paper_limits", &of.n_beyond_paper_limits);
    figures
}

fn sections(mesh: &MeshView, setup: &Setup) -> Vec<(String, Listing)> {
    let mut elements = vec![0; setup.sections.len()];
    for &section in mesh.groups.iter().flat_map(|group| group.section) {
        elements[section as usize] += 1;
    }
    let row = |(section, n): (&Section, usize)| {
        let material = &setup.materials[section.material as usize].name;
        let mut words = format!("{material}, {}", counted(n, "element"));
        if mesh.dimension == 2 && section.thickness != 1.0 {
            words += &format!(", {} m thick", section.thickness);
        }
        if section.mass_factor != 1.0 {
            words += &format!(", inertia × {}", section.mass_factor);
        }
        let mut row = Listing::default();
        row.figure("name", &section.name);
        row.figure("material", material);
        row.figure("elements", &n);
        row.figure("thickness", &section.thickness);
        row.figure("mass_factor", &section.mass_factor);
        row.text(words);
        (section.name.clone(), row)
    };
    setup.sections.iter().zip(elements).map(row).collect()
}

/// A material with the speeds of the three plane waves along its axes 1, 2 and 3, fastest first, m/s. There are none where the
/// stiffness is not positive definite or the density is missing.
fn material(material: &Material) -> (String, Listing) {
    const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let [along_1, along_2, along_3] = AXES.map(|axis| material.wave_speeds(axis));
    let wave_speeds = along_1.zip(along_2).zip(along_3).map(|((a, b), c)| [a, b, c]);
    let isotropic = matches!(material.elasticity, Elasticity::Isotropic { .. });
    let elasticity = match material.elasticity {
        Elasticity::Isotropic { young, poisson } => format!("isotropic, E {} Pa, ν {poisson}", number(young)),
        Elasticity::EngineeringConstants(_) => "engineering constants".into(),
        Elasticity::Orthotropic(_) => "orthotropic".into(),
        Elasticity::Anisotropic(_) => "anisotropic".into(),
        Elasticity::Fluid { bulk } => format!("fluid, κ {} Pa", number(bulk)),
    };
    let mut words = format!("{} kg/m³, {elasticity}", number(material.density));
    match wave_speeds {
        Some([[p, s, _], ..]) if isotropic => words += &format!(", waves P {} and S {} m/s", speed(p), speed(s)),
        Some([[sound, ..], ..]) if material.elasticity.bulk().is_some() => {
            words += &format!(", sound {} m/s", speed(sound));
        }
        Some(speeds) => {
            let [along_1, along_2, along_3] = speeds.map(|axis| axis.map(speed).join(" "));
            words += &format!(", waves along 1: {along_1}, 2: {along_2}, 3: {along_3} m/s");
        }
        None => words += ", no wave speeds (stiffness not positive definite, or no density)",
    }
    if material.damping_alpha != 0.0 {
        words += &format!(", damping {} 1/s", number(material.damping_alpha));
    }
    if material.damping_beta != 0.0 {
        words += &format!(", damping of the stiffness {} s", number(material.damping_beta));
    }
    words += &match &material.attenuation {
        Attenuation::None => String::new(),
        Attenuation::Quality(quality) => format!(", Q {quality}"),
        Attenuation::Table { frequency, .. } => {
            format!(", attenuation in a table of {}", counted(frequency.len(), "value"))
        }
    };
    let mut row = Listing::default();
    row.figure("name", &material.name);
    row.figure("density", &material.density);
    row.figure("alpha", &material.damping_alpha);
    row.figure("beta", &material.damping_beta);
    if let Attenuation::Quality(quality) = &material.attenuation {
        row.figure("quality_factor", quality);
    }
    row.figure("isotropic", &isotropic);
    row.figure("elasticity", &elasticity);
    row.figure("wave_speeds", &wave_speeds);
    row.text(words);
    (material.name.clone(), row)
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
        LoadKind::Volume { nodes, .. } => {
            format!("volume acceleration {magnitude} m³/s² at {}", counted(nodes.len(), "node"))
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

#[cfg(test)]
mod tests;
