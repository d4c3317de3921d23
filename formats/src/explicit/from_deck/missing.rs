//! What a deck lacks for explicit dynamics: elements of computed types, sections, densities, a step.

use super::Findings;
use crate::explicit::Material;
use crate::mesh::ElementKind;
use crate::read::deck::{
    Deck, DeckError, DeckMaterial, Note, Other, ReadOptions, nodes_of_other, other_dimension, remedies,
};

/// A deck without a procedure.
pub(super) const NO_STEP: &str = "there is no *STEP with *DYNAMIC, EXPLICIT: give one, or a job that sets the time";

impl DeckError {
    /// Adds what explicit dynamics finds missing in a deck that its reader refuses, so that all reasons are said at once.
    /// `makes_sections` tells that a job gives elements a section.
    #[must_use]
    pub fn with_missing(mut self, options: &ReadOptions, makes_sections: bool) -> Self {
        let Some(deck) = self.deck.take() else { return self };
        let mut findings = Findings::default();
        let others_are_said = deck.others.iter().any(|other| other.with_section > 0);
        if !others_are_said {
            report_others(&deck, &mut findings);
        }
        let has_elements = deck.mesh.n_elements() > 0;
        if !has_elements && others_are_said {
            // So is that nothing is left.
        } else if !has_elements || !(deck.has_sections || makes_sections) {
            findings.error(nothing_to_compute(&deck));
        } else if !(makes_sections || deck.wrong_sections) {
            without_section(&deck, &mut findings);
        }
        missing_properties(&deck, options, &mut findings);
        let has_procedure = deck.report.steps.iter().any(|step| !step.procedure.is_empty());
        if deck.step.is_none() && options.require_step && !has_procedure {
            findings.error(NO_STEP);
        }
        let file = deck.report.files.first().cloned().unwrap_or_default();
        for mut problem in findings.problems {
            if problem.file.is_empty() {
                problem.file.clone_from(&file);
            }
            self.problems.push(problem);
        }
        self
    }
}

/// Materials of sections that lack density or stiffness, but for those that a job defines or that are wrong already.
fn missing_properties(deck: &Deck, options: &ReadOptions, findings: &mut Findings) {
    let is_known = |name: &str| {
        let named = |other: &String| other.eq_ignore_ascii_case(name);
        options.job_materials.iter().any(named) || deck.wrong_materials.iter().any(named)
    };
    for (at, material) in deck.materials.iter().enumerate().filter(|(_, material)| !is_known(&material.name)) {
        if let (true, Err(what)) =
            (deck.sections.iter().any(|section| section.material as usize == at), complete(material))
        {
            findings.problems.push(incomplete(material, what, ""));
        }
    }
}

/// Why no element is left.
pub(super) fn nothing_to_compute(deck: &Deck) -> String {
    if deck.mesh.n_elements() == 0 && !deck.others.is_empty() {
        let has_sections = deck.has_sections || deck.others.iter().any(|other| other.with_section > 0);
        let names = || deck.others.iter().map(|other| other.count.name.as_str());
        if has_sections || names().all(|name| alike(name).is_none()) {
            return format!("no element is of a type that is computed{}", remedies(names()));
        }
        let types = deck.others.iter().map(|o| match alike(&o.count.name) {
            Some(alike) => format!("{} ({alike} in its place)", o.count.name),
            None => o.count.name.clone(),
        });
        let types: Vec<String> = types.collect();
        return format!(
            "no element is of a type that is computed; TYPE= may say, where only the mesh counts: {}",
            types.join(", ")
        );
    }
    let text = match (deck.mesh.n_elements(), deck.has_sections) {
        (0, _) => "there is no element: this deck cannot be computed here",
        (_, false) => "no element has a section: give a *SOLID SECTION, or a job that says what the mesh is made of",
        (_, true) => "no element that can be computed has a section: give a *SOLID SECTION, or a job with [[section]]",
    };
    text.into()
}

/// Types that are not computed and have elements that no section of the deck names: of the dimension of the mesh or a higher one,
/// and of lower ones, which are surely not part of the model.
fn others_without_section(deck: &Deck) -> [Vec<&Other>; 2] {
    let without = deck.others.iter().filter(|o| o.count.count > o.with_section);
    let (part, beside) = without.partition(|o| other_dimension(&o.count.name) >= deck.mesh.dimension as usize);
    [part, beside]
}

/// Elements of types that are not computed and that no section of the deck names.
pub(super) fn report_others(deck: &Deck, findings: &mut Findings) {
    let [part, beside] = others_without_section(deck);
    let list = |others: &[&Other]| {
        let each = others.iter().map(|o| format!("{} ({})", o.count.name, o.count.count - o.with_section));
        each.collect::<Vec<_>>().join(", ")
    };
    let place = |other: &Other, text: String| Note::new(&other.count.file, other.count.line, text);
    if let Some(first) = part.first() {
        let types = list(&part);
        if deck.has_sections && deck.without_section {
            let text = format!("elements left out, as no section names them: {types}");
            findings.notes.push(Note { is_warning: true, ..place(first, text) });
        } else {
            let flag = if deck.has_sections { "NO-SECTION" } else { "TYPE" };
            let remedies = remedies(part.iter().map(|other| other.count.name.as_str()));
            let leaves =
                if deck.mesh.n_elements() > 0 { format!("; --ignore {flag} leaves them out") } else { String::new() };
            let text = format!("element types that are not computed: {types}{remedies}{leaves}");
            findings.problems.push(place(first, text));
        }
    }
    if let Some(first) = beside.first() {
        let text = format!("elements left out, as no section names them: {}", list(&beside));
        findings.notes.push(place(first, text));
    }
}

/// Elements of computed types without a section, beside others that have one: an error unless they are left out on request or
/// are of a lower dimension, such as the faces that a mesh generator writes.
pub(super) fn without_section(deck: &Deck, findings: &mut Findings) {
    let has_section = |section: &u32| (*section as usize) < deck.sections.len();
    let groups = || deck.mesh.groups.iter();
    let dimension = groups().filter(|g| g.section.iter().any(has_section)).map(|g| g.kind.dimension()).max();
    let bare = groups().map(|g| (g.kind, g.section.iter().filter(|section| !has_section(section)).count()));
    let (part, beside): (Vec<_>, Vec<_>) =
        bare.filter(|(_, n)| *n > 0).partition(|(kind, _)| dimension.is_some_and(|d| kind.dimension() >= d));
    let list = |kinds: &[(ElementKind, usize)]| {
        let each: Vec<String> = kinds.iter().map(|(kind, n)| format!("{} ({n})", kind.name())).collect();
        each.join(", ")
    };
    if !part.is_empty() && deck.without_section {
        findings.warning(format!("elements left out, as no section names them: {}", list(&part)));
    } else if let Some((kind, _)) = part.first() {
        let found = deck.report.elements.iter().find(|count| count.name == kind.name());
        let (file, line) = found.map_or((String::new(), 0), |count| (count.file.clone(), count.line));
        let text = "give them a *SOLID SECTION or a job's [[section]], or --ignore NO-SECTION leaves them out";
        findings.problems.push(Note::new(file, line, format!("elements without a section: {}: {text}", list(&part))));
    } else if deck.without_section && others_without_section(deck)[0].is_empty() {
        findings.warning("--ignore NO-SECTION: nothing in the deck needs it");
    }
    if !beside.is_empty() {
        findings.note(format!("elements left out, as no section names them: {}", list(&beside)));
    }
}

/// The first computed types that have the nodes of a type that is not computed: programs that know meshes alone, such as meshio,
/// write R3D3 for triangles, CAX4P for quadrilaterals and C3D8RH for hexahedra.
fn alike(name: &str) -> Option<String> {
    let (dimension, n_nodes) = (other_dimension(name), nodes_of_other(name)?);
    let alike =
        ElementKind::SOLIDS.into_iter().filter(|kind| (kind.dimension(), kind.n_nodes()) == (dimension, n_nodes));
    let names: Vec<&str> = alike.map(ElementKind::name).take(2).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// A material with all that explicit dynamics needs, or what it lacks.
pub(super) fn complete(material: &DeckMaterial) -> Result<Material, &'static str> {
    match (material.density, &material.elasticity) {
        (Some(density), Some(elasticity)) => Ok(Material {
            name: material.name.clone(),
            density,
            elasticity: elasticity.clone(),
            damping_alpha: material.damping_alpha,
            damping_beta: material.damping_beta,
            attenuation: material.attenuation.clone(),
        }),
        (Some(_), None) => Err("stiffness (*ELASTIC or *ACOUSTIC MEDIUM)"),
        (None, Some(_)) => Err("density (*DENSITY)"),
        (None, None) => Err("density and no stiffness (*DENSITY, *ELASTIC, or a job that defines it)"),
    }
}

/// The problem of a material that is used and lacks something.
pub(super) fn incomplete(material: &DeckMaterial, what: &str, hint: &str) -> Note {
    let way = "in a job it is a [[material]] with `name`, `density`, `young` and `poisson`";
    Note::new(&material.file, material.line, format!("material `{}` has no {what}{hint}; {way}", material.name))
}
