//! Writes models as Abaqus decks, in the simple dialect of ultrasonics programs.

use std::io::Write;
use std::path::Path;

use pogo_formats::dynamics::{AmplitudeShape, Increment, Load, LoadKind, OutputInterval};
use pogo_formats::explicit::{Elasticity, Model};
use pogo_formats::mesh::NamedSet;
use pogo_formats::write::traces::TraceQuantity;
use pogo_formats::write::write_atomically;

use super::GenerateError;

/// Writes a deck and gives its length in bytes. The file is written as a whole or not at all. It says what generated models
/// have: one instance, isotropic materials, tables of amplitudes, forces on nodes, fixed nodes and displacement fields.
pub fn save(model: &Model, path: &Path) -> Result<u64, GenerateError> {
    write_atomically(path, |out| deck(model, out))?;
    Ok(path.metadata().map_or(0, |metadata| metadata.len()))
}

/// Coordinates are rounded to 1e-5 of the element size or finer; every other number reads back exactly.
fn deck(model: &Model, out: &mut impl Write) -> Io {
    header(model, out)?;
    mesh(model, out)?;
    materials(model, out)?;
    step(model, out)
}

type Io = std::io::Result<()>;

fn header(model: &Model, out: &mut impl Write) -> Io {
    writeln!(out, "*Heading\n{}", model.setup.title)?;
    writeln!(out, "** Units: m, kg, s, N, Pa")
}

/// Number of decimals that rounds coordinates to 1e-5 of the mean element size or finer.
fn decimals(model: &Model) -> usize {
    let dimension = model.mesh.dimension as usize;
    let mut bounds = vec![[f64::INFINITY, f64::NEG_INFINITY]; dimension];
    for position in model.mesh.coordinates.chunks_exact(dimension) {
        for (bound, &x) in bounds.iter_mut().zip(position) {
            *bound = [bound[0].min(x), bound[1].max(x)];
        }
    }
    let volume: f64 = bounds.iter().map(|[low, high]| high - low).product();
    let spacing = (volume / model.mesh.n_nodes().max(1) as f64).powf(1.0 / dimension as f64);
    (5.0 - spacing.log10()).ceil().clamp(0.0, 17.0) as usize
}

fn mesh(model: &Model, out: &mut impl Write) -> Io {
    let mesh = &model.mesh;
    let digits = decimals(model);
    writeln!(out, "*Node")?;
    for (label, position) in mesh.node_labels.iter().zip(mesh.coordinates.chunks_exact(mesh.dimension as usize)) {
        write!(out, "{label}")?;
        for x in position {
            write!(out, ", {x:.digits$}")?;
        }
        writeln!(out)?;
    }
    for group in &mesh.groups {
        writeln!(out, "*Element, type={}", group.kind.name())?;
        for (label, nodes) in group.labels.iter().zip(group.connectivity.chunks_exact(group.kind.n_nodes())) {
            write!(out, "{label}")?;
            for &node in nodes {
                write!(out, ", {}", mesh.node_labels[node as usize])?;
            }
            writeln!(out)?;
        }
    }
    for set in &mesh.node_sets {
        named_set(out, "*Nset, nset", set, &mesh.node_labels)?;
    }
    let labels = mesh.groups.iter().flat_map(|group| group.labels.iter().copied()).collect::<Vec<_>>();
    for set in &mesh.element_sets {
        named_set(out, "*Elset, elset", set, &labels)?;
    }
    Ok(())
}

/// A set: consecutive labels with `generate`, others in lines of 16.
pub(crate) fn named_set(out: &mut impl Write, keyword: &str, set: &NamedSet, labels: &[u32]) -> Io {
    let members = set.members.iter().map(|&member| labels[member as usize]).collect::<Vec<_>>();
    let is_run = members.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match (is_run, members.first(), members.last()) {
        (true, Some(first), Some(last)) if last > first => {
            writeln!(out, "{keyword}={}, generate\n{first}, {last}, 1", set.name)
        }
        _ => {
            writeln!(out, "{keyword}={}", set.name)?;
            for line in members.chunks(16) {
                let line = line.iter().map(u32::to_string).collect::<Vec<_>>();
                writeln!(out, "{}", line.join(", "))?;
            }
            Ok(())
        }
    }
}

/// The shortest text that reads back exactly, with a point, because Abaqus reads `7850` as an integer.
pub(crate) fn real(x: f64) -> String {
    let text = if x != 0.0 && !(1e-3..1e7).contains(&x.abs()) { format!("{x:e}") } else { format!("{x}") };
    match text.find('e') {
        Some(at) if !text[..at].contains('.') => format!("{}.{}", &text[..at], &text[at..]),
        None if !text.contains('.') => format!("{text}."),
        _ => text,
    }
}

fn materials(model: &Model, out: &mut impl Write) -> Io {
    let setup = &model.setup;
    for section in &setup.sections {
        let material = &setup.materials[section.material as usize].name;
        writeln!(out, "*Solid Section, elset={}, material={material}", section.name)?;
        let thickness = if section.thickness == 1.0 { String::new() } else { real(section.thickness) };
        writeln!(out, "{thickness},")?;
    }
    for amplitude in &setup.amplitudes {
        writeln!(out, "*Amplitude, name={}", amplitude.name)?;
        if let AmplitudeShape::Tabular { times, values } = &amplitude.shape {
            let pairs = times.iter().zip(values).map(|(&time, &value)| format!("{}, {}", real(time), real(value)));
            for line in pairs.collect::<Vec<_>>().chunks(4) {
                writeln!(out, "{}", line.join(", "))?;
            }
        }
    }
    for material in &setup.materials {
        writeln!(out, "*Material, name={}\n*Density\n{},", material.name, real(material.density))?;
        if let Elasticity::Isotropic { young, poisson } = material.elasticity {
            writeln!(out, "*Elastic\n{}, {}", real(young), real(poisson))?;
        }
        if material.damping_alpha != 0.0 {
            writeln!(out, "*Damping, alpha={}", real(material.damping_alpha))?;
        }
    }
    Ok(())
}

/// The node set with these members, or the single node's label.
fn place(model: &Model, nodes: &[u32]) -> String {
    let set = model.mesh.node_sets.iter().find(|set| set.members == nodes);
    set.map_or_else(|| model.mesh.node_labels[nodes[0] as usize].to_string(), |set| set.name.clone())
}

fn step(model: &Model, out: &mut impl Write) -> Io {
    let setup = &model.setup;
    if !setup.boundaries.is_empty() {
        writeln!(out, "*Boundary")?;
        for boundary in &setup.boundaries {
            let component = boundary.component + 1;
            writeln!(out, "{}, {component}, {component}", place(model, &boundary.nodes))?;
        }
    }
    writeln!(out, "*Step, name=WAVE, nlgeom=NO")?;
    let time = real(setup.explicit.time);
    if let Increment::Fixed(increment) = setup.explicit.increment {
        writeln!(out, "*Dynamic, Explicit, direct user control\n{}, {time}", real(increment))?;
    }
    writeln!(out, "*Bulk Viscosity\n0., 0.")?;
    for load in &setup.loads {
        concentrated(model, load, out)?;
    }
    for field in &setup.fields {
        writeln!(out, "*Output, field, {}", interval(&field.interval))?;
        writeln!(out, "*Node Output\nU")?;
    }
    for history in &setup.histories {
        writeln!(out, "*Output, history, {}", interval(&history.interval))?;
        writeln!(out, "*Node Output, nset={}", history.set)?;
        let names = history.variables.iter().map(|&(q, c)| TraceQuantity::Nodal(q).label(c));
        writeln!(out, "{}", names.collect::<Vec<_>>().join(", "))?;
    }
    writeln!(out, "*End Step")
}

fn concentrated(model: &Model, load: &Load, out: &mut impl Write) -> Io {
    let LoadKind::Concentrated { nodes, direction, .. } = &load.kind else { return Ok(()) };
    let amplitude = load.amplitude.map(|index| &model.setup.amplitudes[index as usize].name);
    writeln!(out, "*Cload{}", amplitude.map_or_else(String::new, |name| format!(", amplitude={name}")))?;
    for (component, share) in direction.iter().enumerate().filter(|(_, share)| **share != 0.0) {
        writeln!(out, "{}, {}, {}", place(model, nodes), component + 1, real(load.magnitude * share))?;
    }
    Ok(())
}

/// When an output is written, as a parameter of `*OUTPUT`.
pub(crate) fn interval(interval: &OutputInterval) -> String {
    match interval {
        OutputInterval::Increments(n) => format!("frequency={n}"),
        OutputInterval::Time(seconds) => format!("time interval={}", real(*seconds)),
        OutputInterval::Count(n) => format!("number interval={n}"),
        // No generated model has these, which a deck cannot say.
        OutputInterval::From { every, .. } => format!("frequency={every}"),
        OutputInterval::Steps(_) => "frequency=1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_have_a_point_and_read_back() {
        assert_eq!(real(7850.0), "7850.");
        assert_eq!(real(210e9), "2.1e11");
        assert_eq!(real(1e-9), "1.e-9");
        assert_eq!(real(0.0), "0.");
        assert_eq!(real(-0.8), "-0.8");
        for x in [std::f64::consts::PI, 1e-300, -4.5e17, 0.1 + 0.2] {
            assert_eq!(real(x).parse(), Ok(x));
        }
    }
}
