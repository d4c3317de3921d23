//! General information, mesh and materials.

use std::io;

use pogo_formats::explicit::{Elasticity, Lumping, Material, Model};
use pogo_formats::mesh::{ElementGroup, ElementKind, Mesh};

use super::super::Findings;
use super::super::regions::{self, Regions, global_stiffness};
use super::super::sampled::Steps;
use super::{NONE, Out, PRECISION};

/// Kinds that scripts for the original program use.
const KNOWN: [ElementKind; 7] = [
    ElementKind::Cpe3,
    ElementKind::Cpe4,
    ElementKind::Cpe4r,
    ElementKind::C3d4,
    ElementKind::C3d6,
    ElementKind::C3d8,
    ElementKind::C3d8r,
];

/// Finds what the file cannot hold of mesh, sections and settings.
pub fn check(model: &Model, findings: &mut Findings) {
    let (mesh, setup) = (&model.mesh, &model.setup);
    let kinds = mesh.groups.iter().map(|group| group.kind);
    let unknown: Vec<String> = kinds.filter(|kind| !KNOWN.contains(kind)).map(|kind| kind.name().to_owned()).collect();
    findings.warn_of(&unknown, "elements that the original Pogo may not know");
    for (index, section) in setup.sections.iter().enumerate() {
        let is_reduced =
            |group: &ElementGroup| group.kind.is_reduced() && group.section.iter().any(|&s| s as usize == index);
        if section.hourglass_factor != 1.0 && mesh.groups.iter().any(is_reduced) {
            let (name, factor) = (&section.name, section.hourglass_factor);
            findings.refuse(format!(
                "section `{name}` has the factor {factor} on its hourglass stiffness, which the file cannot hold"
            ));
        }
        if section.thickness != 1.0 && mesh.dimension == 2 {
            let (name, thickness) = (&section.name, section.thickness);
            findings.warn(format!("section `{name}`: its thickness {thickness} is in the stiffness and the density"));
        }
        if section.mass_factor != 1.0 {
            findings
                .warn(format!("section `{}`: its mass factor {} is in the density", section.name, section.mass_factor));
        }
    }
    if setup.explicit.lumping != Lumping::RowSum {
        findings.warn("the file cannot hold how masses are lumped");
    }
    if mesh.instances.iter().any(|name| !name.is_empty()) {
        findings.warn("instances, whose nodes and elements are numbered through");
    }
    let names = |sets: &[pogo_formats::mesh::NamedSet]| sets.iter().map(|set| set.name.clone()).collect::<Vec<_>>();
    let measured = |name: &String| setup.histories.iter().any(|history| history.set == *name);
    let node_sets: Vec<String> = names(&mesh.node_sets).into_iter().filter(|name| !measured(name)).collect();
    findings.warn_of(&node_sets, "node sets that are not measured are left out");
    findings.warn_of(&names(&mesh.element_sets), "names of element sets are left out");
    let materials: Vec<String> = setup.materials.iter().map(|material| material.name.clone()).collect();
    findings.warn_of(&materials, "names of materials are left out");
}

/// Materials of the elements, in global axes.
pub struct Materials {
    /// Type, parent (−1: none) and constants of each.
    all: Vec<(i32, i32, Vec<f64>)>,
    of_element: Vec<u32>,
}

/// One material a section and one for each step of an absorbing layer.
pub fn materials(model: &Model, findings: &mut Findings) -> Materials {
    let setup = &model.setup;
    let regions = Regions::new(&model.mesh, setup);
    let mut all = Vec::with_capacity(regions.all.len());
    for region in &regions.all {
        let section = &setup.sections[region.section as usize];
        let material = regions::material(setup, region);
        let thickness = if model.mesh.dimension == 2 { section.thickness } else { 1.0 };
        let Some((kind, mut values)) = constants(&material, thickness, &section.material_from_global) else {
            findings.refuse(format!("material `{}` has no positive definite stiffness", material.name));
            continue;
        };
        values.push(material.density * section.mass_factor * thickness);
        if material.damping_beta != 0.0 {
            let name = &material.name;
            findings
                .refuse(format!("material `{name}` has stiffness-proportional damping, which such files cannot hold"));
        }
        if !material.attenuation.is_none() {
            let name = &material.name;
            findings.refuse(format!("material `{name}` has attenuation by relaxation, which such files cannot hold"));
        }
        if material.damping_alpha != 0.0 {
            values.push(material.damping_alpha);
        }
        let parent = if Regions::is_layer(region) { region.section as i32 } else { -1 };
        all.push((kind, parent, values));
    }
    Materials { all, of_element: regions.of_element }
}

/// Type of a material, and its stiffness: E and ν, or 21 constants in global axes.
fn constants(material: &Material, thickness: f64, axes: &[f64; 9]) -> Option<(i32, Vec<f64>)> {
    match material.elasticity {
        Elasticity::Isotropic { young, poisson } => {
            material.elasticity.matrix()?;
            Some((0, vec![young * thickness, poisson]))
        }
        _ => Some((2, global_stiffness(&material.elasticity, axes)?.map(|constant| constant * thickness).to_vec())),
    }
}

pub fn general_info(out: &mut Out<'_>, model: &Model, steps: Steps, run: &str) -> io::Result<()> {
    let dimension = model.mesh.dimension as i32;
    out.integers(&[PRECISION, dimension, dimension])?;
    out.text(&model.setup.title, 1024)?;
    out.text(run, 80)?;
    out.unsigned(steps.n as u32)?;
    out.reals([steps.increment])
}

pub fn nodes(out: &mut Out<'_>, mesh: &Mesh) -> io::Result<()> {
    out.unsigned(mesh.n_nodes() as u32)?;
    out.reals(mesh.coordinates.iter().copied())
}

/// Element types are numbered as the groups of the mesh.
pub fn elements(out: &mut Out<'_>, mesh: &Mesh, materials: &Materials) -> io::Result<()> {
    let n_elements = mesh.n_elements();
    let width = mesh.groups.iter().map(|group| group.kind.n_nodes()).max().unwrap_or(0);
    out.unsigned(n_elements as u32)?;
    out.integers(&[width as i32])?;
    for (number, group) in (0..).zip(&mesh.groups) {
        (0..group.len()).try_for_each(|_| out.integers(&[number]))?;
    }
    materials.of_element.iter().try_for_each(|&material| out.unsigned(material))?;
    (0..n_elements).try_for_each(|_| out.integers(&[-1]))?;
    for group in &mesh.groups {
        let n_nodes = group.kind.n_nodes();
        for nodes in group.connectivity.chunks_exact(n_nodes) {
            nodes.iter().try_for_each(|&node| out.unsigned(node))?;
            (n_nodes..width).try_for_each(|_| out.unsigned(NONE))?;
        }
    }
    Ok(())
}

pub fn element_types(out: &mut Out<'_>, mesh: &Mesh) -> io::Result<()> {
    out.integers(&[mesh.groups.len() as i32])?;
    for group in &mesh.groups {
        out.text(group.kind.name(), 20)?;
        out.integers(&[0, 0])?;
    }
    Ok(())
}

pub fn material_types(out: &mut Out<'_>, materials: &Materials) -> io::Result<()> {
    out.integers(&[materials.all.len() as i32])?;
    for (kind, parent, values) in &materials.all {
        if out.version.has(9) {
            out.integers(&[*parent])?;
        }
        out.integers(&[*kind, values.len() as i32])?;
        out.reals(values.iter().copied())?;
    }
    Ok(())
}
