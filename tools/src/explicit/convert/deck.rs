//! Abaqus decks of whole models: one part, with all in it that a `.pogo-inp` file can hold.

mod actions;
mod names;

use std::io::{self, Write};
use std::path::Path;

use pogo_formats::dynamics::{FieldQuantity, NodalQuantity};
use pogo_formats::explicit::{Elasticity, Model};
use pogo_formats::mesh::NamedSet;
use pogo_formats::write::traces::TraceQuantity;
use pogo_formats::write::write_atomically;

use super::regions::{self, Region, Regions};
use super::sampled::Steps;
use super::{Findings, Written};
use crate::generate::deck::{interval, named_set, real};
use names::{Labels, Names};

const IDENTITY: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// A deck while it is put together.
struct Deck<'a> {
    model: &'a Model,
    steps: Steps,
    labels: Labels,
    regions: Regions,
    /// Name of the element set and of the material of each region.
    region_names: Vec<String>,
    /// Node sets that are written, with their names in the deck.
    sets: Vec<NamedSet>,
    actions: actions::Actions,
    histories: Vec<History>,
}

/// Traces of a set.
struct History {
    set: String,
    heading: String,
    variables: Vec<String>,
}

/// Writes the file, unless there are problems.
pub(super) fn save(model: &Model, path: &Path, findings: &mut Findings) -> Written {
    let Some(deck) = Deck::new(model, findings).filter(|_| findings.problems.is_empty()) else { return Ok(()) };
    write_atomically(path, |out| deck.write(out))
}

impl<'a> Deck<'a> {
    /// Finds what a deck cannot hold. None where the increment is left to the solver.
    fn new(model: &'a Model, findings: &mut Findings) -> Option<Self> {
        let (mesh, setup) = (&model.mesh, &model.setup);
        if mesh.instances.iter().any(|name| !name.is_empty()) {
            findings.warn("instances, whose nodes and elements are numbered through");
        }
        let elemental: Vec<String> =
            setup.element_histories.iter().map(|history| format!("`{}`", history.set)).collect();
        findings.warn_of(&elemental, "histories of elements are left out");
        let is_section = |set: &&NamedSet| setup.sections.iter().any(|section| section.name == set.name);
        let others = mesh.element_sets.iter().filter(|set| !is_section(set));
        let others: Vec<String> = others.map(|set| set.name.clone()).collect();
        findings.warn_of(&others, "element sets other than those of sections are left out");
        if !setup.impedances.is_empty() {
            findings.refuse("impedance boundaries and infinite elements, which are not written into decks");
        }
        if !setup.linear.is_empty() {
            findings.refuse("linear constraints (*EQUATION, *TIE, …), which are not written into decks");
        }
        for material in setup.materials.iter().filter(|material| !material.attenuation.is_none()) {
            let name = &material.name;
            findings.refuse(format!("material `{name}` has attenuation by relaxation, which a deck cannot hold"));
        }
        if !setup.copied.is_empty() {
            findings
                .refuse("periodic sides (displacements that are copied from node to node), which a deck cannot hold");
        }
        let mut names = Names::default();
        let mut sets: Vec<NamedSet> = Vec::new();
        for set in mesh.node_sets.iter().filter(|set| !set.members.is_empty()) {
            sets.push(NamedSet { name: names.unique(&set.name), members: set.members.clone() });
        }
        let mut region_set = Names::default();
        let regions = Regions::new(mesh, setup);
        let name = |region: &Region| region_set.unique(&setup.sections[region.section as usize].name);
        let region_names = regions.all.iter().map(name).collect();
        let steps = Steps::of(setup, findings);
        let actions = actions::Actions::new(model, steps, &mut sets, &mut names, findings);
        let labels = Labels::of(mesh);
        let steps = steps?;
        let histories = histories(model, steps, &mut sets, &mut names, findings);
        Some(Self { model, steps, labels, regions, region_names, sets, actions, histories })
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let setup = &self.model.setup;
        writeln!(out, "*Heading\n{}", setup.title.replace(['\n', '\r'], " "))?;
        self.mesh(out)?;
        self.sections(out)?;
        self.actions.amplitudes(out)?;
        self.materials(out)?;
        self.actions.initial(out)?;
        writeln!(out, "*Step, name=WAVE, nlgeom=NO")?;
        let (increment, time) = (self.steps.increment, setup.explicit.time);
        writeln!(out, "*Dynamic, Explicit, direct user control\n{}, {}", real(increment), real(time))?;
        writeln!(out, "*Bulk Viscosity\n0., 0.")?;
        self.actions.write(out)?;
        for field in &setup.fields {
            let symbols: Vec<&str> = field.quantities.iter().map(|&quantity| symbol(quantity)).collect();
            let (nodal, elemental): (Vec<&str>, Vec<&str>) =
                symbols.into_iter().partition(|s| ["U", "V", "A"].contains(s));
            writeln!(out, "*Output, field, {}", interval(&self.steps.of_deck(&field.interval).0))?;
            for (card, symbols) in [("*Node Output", nodal), ("*Element Output", elemental)] {
                if !symbols.is_empty() {
                    writeln!(out, "{card}\n{}", symbols.join(", "))?;
                }
            }
        }
        for History { set, heading, variables } in &self.histories {
            writeln!(out, "{heading}\n*Node Output, nset={set}\n{}", variables.join(", "))?;
        }
        writeln!(out, "*End Step")
    }

    fn mesh(&self, out: &mut impl Write) -> io::Result<()> {
        let mesh = &self.model.mesh;
        writeln!(out, "*Node")?;
        for (label, position) in self.labels.nodes.iter().zip(mesh.coordinates.chunks_exact(mesh.dimension as usize)) {
            let position: Vec<String> = position.iter().map(|&x| real(x)).collect();
            writeln!(out, "{label}, {}", position.join(", "))?;
        }
        let mut labels = self.labels.elements.iter();
        for group in &mesh.groups {
            writeln!(out, "*Element, type={}", group.kind.name())?;
            for (nodes, label) in group.connectivity.chunks_exact(group.kind.n_nodes()).zip(&mut labels) {
                let nodes: Vec<String> =
                    nodes.iter().map(|&node| self.labels.nodes[node as usize].to_string()).collect();
                writeln!(out, "{label}, {}", nodes.join(", "))?;
            }
        }
        self.sets.iter().try_for_each(|set| named_set(out, "*Nset, nset", set, &self.labels.nodes))?;
        let mut members = vec![Vec::new(); self.regions.all.len()];
        for (element, &region) in (0..).zip(&self.regions.of_element) {
            members[region as usize].push(element);
        }
        for (name, members) in self.region_names.iter().zip(members).filter(|(_, members)| !members.is_empty()) {
            named_set(out, "*Elset, elset", &NamedSet { name: name.clone(), members }, &self.labels.elements)?;
        }
        Ok(())
    }

    /// Regions that have elements, with their names.
    fn used(&self) -> impl Iterator<Item = (&Region, &String)> {
        let mut used = vec![false; self.regions.all.len()];
        self.regions.of_element.iter().for_each(|&region| used[region as usize] = true);
        let all = self.regions.all.iter().zip(&self.region_names);
        all.zip(used).filter(|(_, used)| *used).map(|(region, _)| region)
    }

    fn sections(&self, out: &mut impl Write) -> io::Result<()> {
        let setup = &self.model.setup;
        for (region, name) in self.used() {
            let section = &setup.sections[region.section as usize];
            let mut options = format!("elset={name}, material={name}");
            let is_isotropic =
                matches!(setup.materials[section.material as usize].elasticity, Elasticity::Isotropic { .. });
            if section.material_from_global != IDENTITY && !is_isotropic {
                let axes: Vec<String> = section.material_from_global[..6].iter().map(|&x| real(x)).collect();
                writeln!(out, "*Orientation, name=AXES-{name}\n{}\n3, 0.", axes.join(", "))?;
                options += &format!(", orientation=AXES-{name}");
            }
            if section.hourglass_factor != 1.0 {
                let factor = real(section.hourglass_factor);
                writeln!(out, "*Section Controls, name=CONTROLS-{name}, hourglass=STIFFNESS\n{factor}")?;
                options += &format!(", controls=CONTROLS-{name}");
            }
            let thickness = if section.thickness == 1.0 { String::new() } else { real(section.thickness) };
            writeln!(out, "*Solid Section, {options}\n{thickness},")?;
        }
        Ok(())
    }

    /// One material a region, with the mass factor in its density.
    fn materials(&self, out: &mut impl Write) -> io::Result<()> {
        let setup = &self.model.setup;
        for (region, name) in self.used() {
            let material = regions::material(setup, region);
            let density = material.density * setup.sections[region.section as usize].mass_factor;
            writeln!(out, "*Material, name={name}\n*Density\n{},", real(density))?;
            let (kind, constants): (&str, Vec<f64>) = match material.elasticity {
                Elasticity::Isotropic { young, poisson } => ("ISOTROPIC", vec![young, poisson]),
                Elasticity::EngineeringConstants(constants) => ("ENGINEERING CONSTANTS", constants.to_vec()),
                Elasticity::Orthotropic(constants) => ("ORTHOTROPIC", constants.to_vec()),
                Elasticity::Anisotropic(constants) => ("ANISOTROPIC", constants.to_vec()),
                Elasticity::Fluid { bulk } => ("", vec![bulk]),
            };
            match kind {
                "" => writeln!(out, "*Acoustic Medium")?,
                kind => writeln!(out, "*Elastic, type={kind}")?,
            }
            for line in constants.chunks(8) {
                writeln!(out, "{}", line.iter().map(|&constant| real(constant)).collect::<Vec<_>>().join(", "))?;
            }
            let (alpha, beta) = (material.damping_alpha, material.damping_beta);
            if alpha != 0.0 || beta != 0.0 {
                let of_stiffness = if beta != 0.0 { format!(", beta={}", real(beta)) } else { String::new() };
                writeln!(out, "*Damping, alpha={}{of_stiffness}", real(alpha))?;
            }
        }
        Ok(())
    }
}

/// Histories, whose sets are added where the mesh has them not.
fn histories(
    model: &Model,
    steps: Steps,
    sets: &mut Vec<NamedSet>,
    names: &mut Names,
    findings: &mut Findings,
) -> Vec<History> {
    let setup = &model.setup;
    let intervals = setup.histories.iter().map(|history| &history.interval);
    if intervals.chain(setup.fields.iter().map(|field| &field.interval)).any(|interval| !steps.of_deck(interval).1) {
        findings.warn("a deck cannot name steps: outputs are written at other ones, too, or at even intervals");
    }
    let sums = setup.histories.iter().filter(|history| !history.weights.is_empty());
    let sums: Vec<String> = sums.map(|sum| format!("`{}`", sum.set)).collect();
    findings.warn_of(&sums, "weighted sums of displacements are left out");
    let histories = setup.histories.iter().filter(|history| !history.nodes.is_empty() && history.weights.is_empty());
    let history = |history: &pogo_formats::dynamics::HistoryRequest| History {
        set: names.set(&history.set, &history.nodes, sets),
        heading: format!("*Output, history, {}", interval(&steps.of_deck(&history.interval).0)),
        variables: history
            .variables
            .iter()
            .map(|&(q, c): &(NodalQuantity, u8)| TraceQuantity::Nodal(q).label(c))
            .collect(),
    };
    histories.map(history).collect()
}

/// Abaqus's name of a field.
fn symbol(quantity: FieldQuantity) -> &'static str {
    match quantity {
        FieldQuantity::Displacement => "U",
        FieldQuantity::Velocity => "V",
        FieldQuantity::Acceleration => "A",
        FieldQuantity::Stress => "S",
        FieldQuantity::Strain => "E",
        FieldQuantity::EnergyDensity => "SENER",
        FieldQuantity::Pressure => "POR",
    }
}
