//! Source → [`Deck`]: parse, assemble, resolve, count.

use super::advice::quoted;
use super::assembly::Assembly;
use super::boundaries;
use super::conditions::{CARRIERS, Conditions};
use super::element_names::{is_line, remedies};
use super::infinite::{self, is_infinite};
use super::keywords::IgnoreList;
use super::lexer::{Place, Source};
use super::lines::Collector;
use super::log::Log;
use super::materials::material;
use super::parser::Parser;
use super::raw::RawDeck;
use super::regroup::collapse;
use super::report::{DeckError, DeckReport, ElementCount, KeywordUse, SetCount, StepReport};
use super::requests::Requests;
use super::sections::{Other, Sections};
use super::split;
use super::{Deck, DeckMaterial, NO_SECTION, ReadOptions};
use crate::mesh::{ElementGroup, Mesh, NamedSet};
use crate::words::counted;

pub(super) fn read_source(source: Source, options: &ReadOptions, may_include: bool) -> Result<Deck, DeckError> {
    let mut parser = Parser::new(options, may_include);
    parser.run(source);
    parser.end();
    assemble(parser, options)
}

/// Makes a deck of what was parsed to its end.
pub(super) fn assemble(parser: Parser, options: &ReadOptions) -> Result<Deck, DeckError> {
    let Parser { mut log, mut raw, keywords, bytes, ignore, .. } = parser;
    let is_computed = |name: &str| !(options.lines || options.mesh_only) && is_infinite(name) && !ignore.has(&[name]);
    let (elements, others) = count_elements(&raw, is_computed, &log);
    let (materials, wrong_materials) = materials(&raw, &ignore, &mut log);
    let mut deck = Deck {
        title: raw.title.clone(),
        materials,
        wrong_materials,
        report: DeckReport {
            bytes,
            files: log.sources.iter().map(|s| s.name.clone()).collect(),
            paths: log.sources.iter().map(|s| s.path.clone()).collect(),
            elements,
            keywords,
            ..first_report(&raw)
        },
        others,
        require_step: options.require_step,
        unconnected_loads: ignore.has(CARRIERS),
        without_section: ignore.covers(&["NO SECTION"]),
        ..Deck::default()
    };
    let has_shells = raw.parts().any(|part| part.has_shells);
    let Some(mut assembly) = Assembly::build(&mut raw, &mut log) else {
        let error = log.failure(&deck.report);
        return Err(error.unwrap_or_else(|| DeckError::new("", "the deck cannot be assembled")));
    };
    deck.report.n_nodes = assembly.mesh.n_nodes() as u64;
    deck.report.n_elements = assembly.mesh.n_elements() as u64;

    let n_problems = log.n_problems();
    let trusses = Sections::new(&mut assembly, &mut deck, &raw.cards).assign(&mut log);
    if !(options.lines || options.mesh_only) {
        deck.infinite = infinite::collect(&assembly, &trusses, &ignore, &mut log);
    }
    deck.wrong_sections = log.n_problems() > n_problems;
    deck.has_sections = !deck.sections.is_empty();
    deck.others.retain(|other| !is_ignored(other, &ignore, &mut log));
    deck.others.retain(|other| !(options.lines && is_line(&other.count.name)));
    refuse_others(&deck.others, assembly.mesh.n_elements(), &mut log);
    let lines = Collector::new(&assembly, &trusses, &ignore, &mut log);
    // Springs may leave the plane.
    if !options.mesh_only && lines.is_empty() && !has_shells {
        choose_dimension(&mut assembly, &mut log);
    }
    let gravity = Conditions::new(&assembly, &ignore, options.lines, &mut deck).read(&raw, &mut log);
    Requests::new(&assembly, &mut deck).read(&raw, &mut log);
    let [mut node_sets, element_sets, other_sets] = assembly.take_sets();
    let beside = if options.lines { Vec::new() } else { other_sets.clone() };
    deck.lines = lines.finish(other_sets, gravity);
    let count = |sets: &[NamedSet]| {
        sets.iter().map(|s| SetCount { name: s.name.clone(), count: s.members.len() as u64 }).collect()
    };
    (deck.report.node_sets, deck.report.element_sets) = (count(&node_sets), count(&element_sets));
    if !options.lines {
        let names = boundaries::add_node_sets(&assembly, &mut node_sets, &element_sets, &beside);
        boundaries::tell(&names, &mut log);
    }
    deck.mesh = Mesh { node_sets, element_sets, ..assembly.mesh };
    if log.n_problems() == 0 {
        let start = Place { source: 0, line: 0 };
        match split::split(&mut deck, &assembly.second_order) {
            Ok(notes) => notes.into_iter().for_each(|note| log.note(start, note)),
            Err(error) => log.error(start, error),
        }
    }
    if let Some(error) = log.failure(&deck.report) {
        let deck = (!log.incomplete).then(|| Box::new(deck));
        return Err(DeckError { deck, ..error });
    }
    unused_ignores(&ignore, &deck.report, &mut log);
    if let Some(text) = collapse(&mut deck) {
        log.note(Place { source: 0, line: 0 }, text);
    }
    deck.notes = log.notes();
    Ok(deck)
}

/// The materials, and the names of those with a card that is wrong.
fn materials(raw: &RawDeck, ignore: &IgnoreList, log: &mut Log) -> (Vec<DeckMaterial>, Vec<String>) {
    let mut wrong = Vec::new();
    let each = raw.materials.iter().map(|raw| {
        let before = log.n_problems();
        let material = material(raw, ignore, log);
        if log.n_problems() > before {
            wrong.push(material.name.clone());
        }
        material
    });
    (each.collect(), wrong)
}

/// What the deck as it is written says of itself.
fn first_report(raw: &RawDeck) -> DeckReport {
    DeckReport {
        title: raw.title.clone(),
        node_lines: raw.parts().map(|p| p.nodes.labels.len() as u64).sum(),
        materials: raw.materials.iter().map(|m| m.name.clone()).collect(),
        steps: raw.steps.iter().map(|s| StepReport { name: s.name.clone(), procedure: s.procedure.clone() }).collect(),
        ..DeckReport::default()
    }
}

/// Whether a type of elements is left out on request, which is noted.
fn is_ignored(other: &Other, ignore: &IgnoreList, log: &mut Log) -> bool {
    let ElementCount { name, count, .. } = &other.count;
    let ignored = ignore.covers(&[name]);
    if ignored {
        let are = if *count == 1 { "is" } else { "are" };
        let elements = counted(*count as usize, &format!("{name} element"));
        log.note(other.place, format!("{elements} {are} ignored on request"));
    }
    ignored
}

/// Elements by type as the deck writes them, and those of types that are not computed.
/// `is_computed` tells which of the types without a kind of their own are computed all the same.
fn count_elements(raw: &RawDeck, is_computed: impl Fn(&str) -> bool, log: &Log) -> (Vec<ElementCount>, Vec<Other>) {
    let mut counts: Vec<(Place, String, u64, bool)> = Vec::new();
    let mut add = |place: Place, name: &str, n: usize, supported: bool| match counts.iter_mut().find(|c| c.1 == name) {
        Some(entry) => {
            entry.0 = entry.0.min(place);
            entry.2 += n as u64;
        }
        None => counts.push((place, name.to_owned(), n as u64, supported)),
    };
    for part in raw.parts() {
        for group in &part.groups {
            let place = group.blocks.first().map(|b| b.place).unwrap_or_default();
            add(place, group.name(), group.labels.len(), true);
        }
        for group in &part.others {
            add(group.place, &group.name, group.labels.len(), is_computed(&group.name));
        }
    }
    counts.sort();
    let counts = counts.into_iter().filter(|c| c.2 > 0);
    let counted = counts.map(|(place, name, count, supported)| {
        let count = ElementCount { name, count, supported, file: log.file(place), line: place.line };
        (place, count)
    });
    let counted: Vec<_> = counted.collect();
    let others = counted.iter().filter(|(_, count)| !count.supported);
    let others = others.map(|(place, count)| Other { count: count.clone(), with_section: 0, place: *place }).collect();
    (counted.into_iter().map(|(_, count)| count).collect(), others)
}

/// What `--ignore` names that is not there: probably misspelt.
fn unused_ignores(ignore: &IgnoreList, report: &DeckReport, log: &mut Log) {
    let keywords = report.keywords.iter().filter(|k| k.used != KeywordUse::Read).map(|k| k.keyword.as_str());
    let types = report.elements.iter().filter(|e| !e.supported).map(|e| e.name.as_str());
    for (name, nearest) in ignore.unused(keywords.chain(types)) {
        let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        log.warning(Place::default(), format!("--ignore {name}: nothing in the deck needs it{hint}"));
    }
}

/// One error for all element types that are not computed, where a section asks for any of them. `n_computed` elements are of other
/// types.
fn refuse_others(others: &[Other], n_computed: usize, log: &mut Log) {
    let Some(first) = others.iter().find(|o| o.with_section > 0) else { return };
    let list = others.iter().map(|o| {
        let plural = if o.count.count == 1 { "" } else { "s" };
        format!("{} ({} element{plural}, line {})", o.count.name, o.count.count, o.place.line)
    });
    let list = list.collect::<Vec<_>>().join(", ");
    let names = || others.iter().map(|other| other.count.name.as_str());
    let mut text = format!("element types that are not computed: {list}{}", remedies(names()));
    text += &match names().map(|name| format!("--ignore {}", quoted(name))).collect::<Vec<_>>().as_slice() {
        _ if n_computed == 0 => "; no other element is left".to_owned(),
        [flag] => format!("; {flag} leaves these out and keeps the other {}", counted(n_computed, "element")),
        flags => format!("; {} leave these out and keep the other {}", flags.join(" "), counted(n_computed, "element")),
    };
    log.error(first.place, text);
}

/// 2D or 3D by the elements with a section or, where none has one, by the highest dimension.
fn choose_dimension(assembly: &mut Assembly, log: &mut Log) {
    let mesh = &mut assembly.mesh;
    let has_section = |g: &&ElementGroup| g.section.iter().any(|s| *s != NO_SECTION);
    let of_sections = mesh.groups.iter().filter(has_section).map(|g| g.kind.dimension()).max();
    let dimension = of_sections.or(mesh.groups.iter().map(|g| g.kind.dimension()).max());
    if dimension == Some(2)
        && let Err(text) = flatten(mesh)
    {
        // Other nodes and elements may be in a file that could not be included.
        log.absent(Place { source: 0, line: 0 }, text);
    }
}

/// Drops the third coordinate of a 2D mesh, which must be the same at all nodes of its elements.
pub(crate) fn flatten(mesh: &mut Mesh) -> Result<(), String> {
    let z = |node: u32| mesh.coordinates.get(3 * node as usize + 2).copied().unwrap_or(0.);
    let mut nodes = mesh.groups.iter().filter(|g| g.kind.dimension() == 2).flat_map(|g| &g.connectivity);
    if let Some(first) = nodes.next().map(|node| z(*node)) {
        let size = mesh.coordinates.iter().fold(0f64, |size, x| size.max(x.abs()));
        if let Some(node) = nodes.find(|node| (z(**node) - first).abs() > 1e-9 * size) {
            let label = mesh.node_labels.get(*node as usize).copied().unwrap_or_default();
            return Err(format!("a 2D mesh must lie in a plane of constant z: node {label} is at z = {}", z(*node)));
        }
    }
    let n = mesh.n_nodes();
    for node in 0..n {
        mesh.coordinates.copy_within(3 * node..3 * node + 2, 2 * node);
    }
    mesh.coordinates.truncate(2 * n);
    mesh.coordinates.shrink_to_fit();
    mesh.dimension = 2;
    Ok(())
}
