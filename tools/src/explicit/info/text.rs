//! The summary as a page of text.

use std::fmt;

use pogo_formats::mesh::MeshView;
use pogo_formats::parameters::{Parameter, Value};

use super::{Count, Item, Summary};
use pogo_formats::words::{counted, grouped};

/// Items of a kind shown before the rest is only counted.
const SHOWN: usize = 20;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}: {}, {}D, {}", self.file, self.physics, self.dimension, size(self.bytes))?;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        let kinds: Vec<String> = self
            .elements_by_kind
            .iter()
            .map(|Count { name, count }| format!("{} {name}", grouped(*count as u64)))
            .collect();
        line(f, "mesh", &format!("{}, {}", counted(self.nodes, "node"), counted(self.elements, "element")))?;
        line(f, "", &kinds.join(", "))?;
        for ([low, high], axis) in self.bounding_box.iter().zip(["x", "y", "z"]) {
            line(f, "", &format!("{axis} from {} to {} m", number(*low), number(*high)))?;
        }
        if self.instances.len() > 1 {
            line(f, "instances", &grouped(self.instances.len() as u64))?;
        }
        line(f, "sets", &format!("{} of nodes, {} of elements", self.node_sets, self.element_sets))?;

        let materials: Vec<Item> = self.materials.iter().map(material).collect();
        list(f, "materials", &materials)?;
        let section = |section: &super::SectionSummary| {
            let mut description = format!("{}, {}", section.material, super::counted(section.elements, "element"));
            if self.dimension == 2 && section.thickness != 1.0 {
                description += &format!(", {} m thick", section.thickness);
            }
            if section.mass_factor != 1.0 {
                description += &format!(", inertia × {}", section.mass_factor);
            }
            Item { name: section.name.clone(), description }
        };
        list(f, "sections", &self.sections.iter().map(section).collect::<Vec<_>>())?;
        list(f, "amplitudes", &self.amplitudes)?;
        list(f, "loads", &self.loads)?;
        list(f, "boundaries", &self.boundaries)?;
        list(f, "initial velocities", &self.initial_velocities)?;
        list(f, "absorbing layers", &self.absorbing_layers)?;
        list(f, "histories", &self.histories)?;
        list(f, "fields", &self.fields)?;
        line(f, "run", &format!("{} s, increment {}, lumping {}", number(self.time), self.increment, self.lumping))?;

        let p = &self.partition;
        let limits = if p.paper_limits { format!(", paper's limits kept ({} split)", p.split) } else { String::new() };
        line(
            f,
            "blocks",
            &format!("{} of at most {}, {}{limits}", grouped(p.blocks), counted(p.capacity, "node"), p.partitioner),
        )?;
        line(f, "", &format!("efficiency η {:.4}, halo {:.4} of the nodes", p.efficiency, p.halo_fraction))?;
        line(f, "", &format!("loads a block {:.2}, at most {}", p.mean_loads, p.max_loads))?;
        line(f, "", &format!("linked blocks {:.2}, at most {}", p.mean_linked_blocks, p.max_linked_blocks))?;
        line(f, "", &format!("{} beyond the paper's limits", super::counted(p.beyond_paper_limits as usize, "block")))?;

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
        let options = if self.options.is_empty() { "no options".into() } else { self.options.join(" ") };
        line(f, "made by", &format!("{} with {options}", self.version))
    }
}

fn material(material: &super::MaterialSummary) -> Item {
    let mut description = format!("{} kg/m³, {}", number(material.density), material.elasticity);
    match material.wave_speeds {
        Some([[p, s, t], along_2, along_3]) => {
            if material.isotropic {
                description += &format!(", waves P {} and S {} m/s", speed(p), speed(s));
            } else {
                let axis = |speeds: [f64; 3]| speeds.map(speed).join(" ");
                let [along_1, along_2, along_3] = [[p, s, t], along_2, along_3].map(axis);
                description += &format!(", waves along 1: {along_1}, 2: {along_2}, 3: {along_3} m/s");
            }
        }
        None => description += ", no wave speeds (stiffness not positive definite, or no density)",
    }
    if material.alpha != 0.0 {
        description += &format!(", damping {} 1/s", number(material.alpha));
    }
    Item { name: material.name.clone(), description }
}

/// Four digits, whichever units a deck has: 5901 m/s, 5.901 mm/µs.
pub(crate) fn speed(value: f64) -> String {
    match value {
        value if value >= 1e3 => format!("{value:.0}"),
        value if value >= 1e-3 => format!("{value:.*}", (3.0 - value.log10().floor()) as usize),
        value => format!("{value:.3e}"),
    }
}

pub(crate) fn line(f: &mut fmt::Formatter, heading: &str, text: &str) -> fmt::Result {
    writeln!(f, "{heading:<12}{text}")
}

pub(crate) fn list(f: &mut fmt::Formatter, heading: &str, items: &[Item]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(f, "{heading}")?;
    let width = items.iter().take(SHOWN).map(|item| item.name.chars().count()).max().unwrap_or(0).min(32);
    for Item { name, description } in items.iter().take(SHOWN) {
        writeln!(f, "  {name:<width$}  {description}")?;
    }
    match items.len() - items.len().min(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  … and {} more (--json lists all)", grouped(more as u64)),
    }
}

/// The parameters, one a line: name, value, unit, meaning.
pub fn parameters_text(parameters: &[Parameter]) -> String {
    let name_width = parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
    let value_width = parameters.iter().map(|p| p.value.to_string().chars().count()).max().unwrap_or(0);
    let line = |p: &Parameter| {
        let (name, value, unit, help) = (&p.name, p.value.to_string(), p.unit, p.help);
        format!("{name:<name_width$}  {value:<value_width$}  {unit:<10}  {help}\n")
    };
    parameters.iter().map(line).collect()
}

/// The sets, one a line: `node` or `element`, number of members, name.
pub fn sets_text(mesh: &MeshView) -> String {
    let line = |kind: &str, (name, members): &(&str, &[u32])| format!("{kind:<7}  {:>10}  {name}\n", members.len());
    let nodes = mesh.node_sets.iter().map(|set| line("node", set));
    nodes.chain(mesh.element_sets.iter().map(|set| line("element", set))).collect()
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(value: f64) -> String {
    Value::Number(value).to_string()
}

pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{bytes} bytes"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}
