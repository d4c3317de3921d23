//! What each keyword does to the physics: read, without effect here, or refused.

use std::cell::Cell;

use super::accepted::{ACCEPTED, accepted};
use super::lexer::compact;

/// What the reader does with a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Read by the parser.
    Read,
    /// Changes nothing that Pogo computes.
    NoEffect,
    /// An analysis other than explicit dynamics; a job that sets the time replaces it.
    Procedure {
        /// What cannot be computed, and what can.
        why: &'static str,
    },
    /// Changes the physics; left out only on request.
    Refused {
        /// Name that `--ignore` takes for the keyword and its relatives; empty where it stands alone.
        family: &'static str,
        /// Why, or what to do instead.
        why: &'static str,
    },
    /// Without it nothing is left to compute, so that leaving it out does not help.
    Essential {
        /// What to do instead.
        why: &'static str,
    },
}

/// A class of keywords that are refused.
const fn refused(family: &'static str, why: &'static str) -> Class {
    Class::Refused { family, why }
}

/// The family of keywords that stand alone.
const ALONE: &str = "";
const GENERATES: &str = "let the program that wrote the deck write out all nodes and elements";
pub(super) const SECTION: &str = "only *SOLID SECTION is read";
pub(super) const NONLINEAR: &str = "only linear elastic materials are computed";
const CONSTRAINT: &str =
    "*EQUATION, *MPC, *TIE, *RIGID BODY and *COUPLING are the constraints between nodes that are computed";
const CYCLIC: &str = "cyclic symmetry is not computed; model the whole body";
const CONTACT: &str = "contact is not computed";
const THERMAL: &str = "temperatures are not computed";
const FLOW: &str = "fluids and networks of pipes are not computed";
const CONDENSED: &str = "substructures and matrices are not computed";
const REMESHED: &str = "the mesh stays as it is";
const IN_TIME: &str = "only *DYNAMIC, EXPLICIT is computed";
const BY_FREQUENCY: &str = "natural modes, buckling loads and answers by frequency cannot be computed here";
pub(super) const OTHER_PHYSICS: &str = "heat, fluids and fields cannot be computed here";
const COUPLED: &str = "temperatures, pores and currents are not computed beside motion";

/// Keywords without effect.
const NO_EFFECT: &str = "CONDUCTIVITY, CONSTRAINT CONTROLS, CONTACT FILE, CONTACT OUTPUT, CONTACT PRINT, CONTROLS, DEPVAR, \
    DESIGN VARIABLES, DIAGNOSTICS, ELECTRICAL CONDUCTIVITY, EL PRINT, ENERGY FILE, ENERGY OUTPUT, ENERGY PRINT, EXPANSION, \
    FACE PRINT, FILE FORMAT, FILE OUTPUT, FILTER, INCREMENTATION OUTPUT, INTEGRATED OUTPUT, INTEGRATED OUTPUT SECTION, \
    LATENT HEAT, MAGNETIC PERMEABILITY, MODAL DAMPING, MODAL OUTPUT, MONITOR, NORMAL, OBJECTIVE, PHYSICAL CONSTANTS, PREPRINT, PRINT, \
    RADIATION OUTPUT, RESTART, SECTION FILE, SECTION PRINT, SOLUTION TECHNIQUE, SPECIFIC HEAT, SURFACE OUTPUT, TIME POINTS, \
    USER OUTPUT VARIABLES";

/// The keywords of each class but those that are read, as one writes them, with commas between.
pub(super) const CLASSES: &[(Class, &str)] = &[
    (Class::NoEffect, NO_EFFECT),
    (
        Class::Procedure { why: IN_TIME },
        "ANNEAL, DIRECT CYCLIC, GEOSTATIC, MODAL DYNAMIC, NO ANALYSIS, STATIC, STEADY STATE TRANSPORT, VISCO",
    ),
    (
        Class::Procedure { why: BY_FREQUENCY },
        "BUCKLE, COMPLEX FREQUENCY, FREQUENCY, GREEN, RANDOM RESPONSE, RESPONSE SPECTRUM, SENSITIVITY, \
         STEADY STATE DYNAMICS, SUBSTRUCTURE GENERATE",
    ),
    (
        Class::Procedure { why: OTHER_PHYSICS },
        "CFD, COUPLED THERMAL-ELECTRICAL, ELECTROMAGNETIC, ELECTROMAGNETICS, HEAT TRANSFER, MASS DIFFUSION",
    ),
    (
        Class::Procedure { why: COUPLED },
        "COUPLED TEMPERATURE-DISPLACEMENT, DYNAMIC TEMPERATURE-DISPLACEMENT, SOILS, UNCOUPLED TEMPERATURE-DISPLACEMENT, \
         UNCOUPLED THERMOELASTIC",
    ),
    (
        refused("CONTACT", CONTACT),
        "CHANGE CONTACT TYPE, CHANGE FRICTION, CHANGE SURFACE BEHAVIOR, CLEARANCE, COHESIVE BEHAVIOR, FRICTION, \
         GAP CONDUCTANCE, GAP HEAT GENERATION, GENERAL CONTACT, SURFACE BEHAVIOR, SURFACE INTERACTION, \
         SURFACE PROPERTY ASSIGNMENT",
    ),
    (
        refused("PLASTIC", NONLINEAR),
        "ANNEAL TEMPERATURE, BRITTLE CRACKING, BRITTLE FAILURE, BRITTLE SHEAR, CAP HARDENING, CAP PLASTICITY, \
         CAST IRON PLASTICITY, CHANGE PLASTIC, CLAY PLASTICITY, CONCRETE, CONCRETE COMPRESSION HARDENING, \
         CONCRETE DAMAGED PLASTICITY, CONCRETE TENSION STIFFENING, CREEP, CYCLIC HARDENING, DAMAGE EVOLUTION, \
         DAMAGE INITIATION, DAMAGE STABILIZATION, DRUCKER PRAGER, DRUCKER PRAGER HARDENING, MOHR COULOMB, \
         MOHR COULOMB HARDENING, PLASTIC, POROUS FAILURE CRITERIA, POROUS METAL PLASTICITY, POTENTIAL, RATE DEPENDENT, \
         SHEAR FAILURE, TENSILE FAILURE",
    ),
    (
        refused(ALONE, NONLINEAR),
        "CHANGE MATERIAL, DEFORMATION PLASTICITY, EOS, HYPERELASTIC, HYPERFOAM, HYPOELASTIC, LOW DENSITY FOAM, \
         MULLINS EFFECT, POROUS ELASTIC, USER DEFINED FIELD, USER MATERIAL, VISCOELASTIC",
    ),
    (refused("USER ELEMENT", "user elements are not computed"), "UEL PROPERTY, USER ELEMENT"),
    (refused("COUPLING", CONSTRAINT), "DISTRIBUTING COUPLING, KINEMATIC COUPLING, SHELL TO SOLID COUPLING"),
    (
        refused(ALONE, CONSTRAINT),
        "EMBEDDED ELEMENT, FASTENER, INERTIA RELIEF, NETWORK MPC, PRE-TENSION SECTION, RELEASE",
    ),
    (refused("CYCLIC SYMMETRY", CYCLIC), "CYCLIC SYMMETRY MODEL, SELECT CYCLIC SYMMETRY MODES, TIED CYCLIC SYMMETRY"),
    (
        refused("TEMPERATURE", THERMAL),
        "CFLUX, DFLUX, DSFLUX, FIELD, FILM, HEAT GENERATION, INELASTIC HEAT FRACTION, RADIATE, SFILM, SRADIATE, TEMPERATURE, \
         VIEWFACTOR",
    ),
    (
        refused("FLUID", FLOW),
        "BOUNDARYF, EQUATIONF, FLUID CONSTANTS, FLUID SECTION, FLUID SECTIONS, MASS FLOW, SPECIFIC GAS CONSTANT, TRANSFORMF, \
         VALUES AT INFINITY",
    ),
    (
        refused(ALONE, SECTION),
        "BEAM GENERAL SECTION, BEAM SECTION, COHESIVE SECTION, CONNECTOR SECTION, DASHPOT, EULERIAN SECTION, GAP, \
         GASKET SECTION, MASS, MEMBRANE SECTION, NODAL THICKNESS, ROTARY INERTIA, SHELL GENERAL SECTION, SHELL SECTION, \
         SPRING, SURFACE SECTION",
    ),
    (refused(ALONE, "elements and contact stay as they are"), "MODEL CHANGE"),
    (refused(ALONE, "values are not taken from another model"), "SUBMODEL"),
    (refused(ALONE, "give *BOUNDARY with an amplitude"), "BASE MOTION"),
    (refused(ALONE, "give *SPRING elements and `physics = \"spring\"`"), "FOUNDATION"),
    (
        refused("SUBSTRUCTURE", CONDENSED),
        "MATRIX ASSEMBLE, MATRIX INPUT, RETAINED NODAL DOFS, SUBSTRUCTURE LOAD CASE, SUBSTRUCTURE MATRIX OUTPUT, \
         SUBSTRUCTURE PROPERTY",
    ),
    (
        refused("ADAPTIVE MESH", REMESHED),
        "ADAPTIVE MESH, ADAPTIVE MESH CONSTRAINT, ADAPTIVE MESH CONTROLS, ADAPTIVE MESH REFINEMENT",
    ),
    (refused(ALONE, "one value a section is read"), "DISTRIBUTION"),
    (refused("DISTRIBUTION", "one value a section is read"), "DISTRIBUTION TABLE"),
    (Class::Essential { why: GENERATES }, "ELCOPY, ELGEN, NCOPY, NFILL, NGEN, NMAP"),
    (Class::Essential { why: "results of an earlier analysis cannot be read; write out the model" }, "IMPORT"),
    (Class::Essential { why: "write the values in place of the parameters" }, "PARAMETER"),
    (refused(ALONE, "give *DAMPING, ALPHA= to each material"), "GLOBAL DAMPING"),
    (refused(ALONE, "it is an absolute stiffness; use the factor of *SECTION CONTROLS"), "HOURGLASS STIFFNESS"),
    (refused(ALONE, "only *FIXED MASS SCALING, FACTOR= is read"), "VARIABLE MASS SCALING"),
];

/// Keywords of the table of accepted ones that are read only where two-node elements are wanted.
pub(super) const OF_LINES: &str = "DASHPOT MASS SPRING";

/// Class of a keyword given as [`compact`] gives it; none for one that is not known.
pub(super) fn classify(key: &str) -> Option<Class> {
    let listed = CLASSES.iter().find(|(_, keywords)| words(keywords).any(|name| is_spelt(name, key)));
    let read = || (accepted(key).is_some() && !has_word(OF_LINES, key)).then_some(Class::Read);
    let contact = || key.starts_with("CONTACT").then_some(refused("CONTACT", CONTACT));
    listed.map(|(class, _)| *class).or_else(read).or_else(contact)
}

/// Name that `--ignore` takes for a keyword and its relatives; empty where it stands alone.
pub(super) fn family(key: &str, class: Option<Class>) -> &'static str {
    match class {
        Some(Class::Refused { family, .. }) => family,
        // Cards below *COUPLING.
        _ if has_word("KINEMATIC DISTRIBUTING", key) => "COUPLING",
        _ => ALONE,
    }
}

/// The names of a list with commas between.
pub(super) fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(',').map(str::trim)
}

/// Whether a word stands in a list with blanks between.
pub(super) fn has_word(table: &'static str, word: &str) -> bool {
    table.split(' ').any(|known| known == word)
}

/// Whether a name in upper case as one writes it is this one as [`compact`] gives it.
pub(super) fn is_spelt(name: &str, key: &str) -> bool {
    name.bytes().filter(|byte| !matches!(byte, b' ' | b'-' | b'_')).eq(key.bytes())
}

/// The keyword that is read and differs from this one by a letter or two, as one writes it.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    near(key, ACCEPTED.iter().map(|accepted| accepted.name))
}

/// The one of some names that differs from `key`, as [`compact`] gives it, by a letter or two.
pub(super) fn near(key: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let near = known.map(|known| (strsim::damerau_levenshtein(key, &compact(known)), known)).min()?;
    (near.0 <= 1 + key.len() / 6).then_some(near.1)
}

/// Keywords whose `ELSET=` gives elements a section of a kind that is not computed.
pub(super) fn is_other_section(key: &str) -> bool {
    matches!(key, "UELPROPERTY" | "FLUIDSECTION" | "FLUIDSECTIONS")
        || matches!(classify(key), Some(Class::Refused { why: SECTION, .. }))
}

/// What the user allows to be left out.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreList(Vec<Ignored>);

#[derive(Debug, Clone)]
struct Ignored {
    /// As the user writes it.
    name: String,
    /// As [`compact`] gives it.
    key: String,
    /// Something has been left out for it.
    used: Cell<bool>,
}

impl IgnoreList {
    pub fn new(names: &[String]) -> Self {
        let names = names.iter().flat_map(|n| n.split(',')).map(|n| n.trim().trim_start_matches('*'));
        let all = names.map(|n| Ignored { name: n.into(), key: compact(n), used: Cell::new(false) });
        Self(all.filter(|ignored| !ignored.key.is_empty()).collect())
    }

    /// Any of these names is on the list, and something is left out for it.
    pub fn covers(&self, names: &[&str]) -> bool {
        let mut found = false;
        for name in names.iter().map(|name| compact(name)).filter(|name| !name.is_empty()) {
            for ignored in self.0.iter().filter(|ignored| ignored.key == name) {
                ignored.used.set(true);
                found = true;
            }
        }
        found
    }

    /// Any of these names is on the list.
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.iter().any(|ignored| ignored.key == compact(name)))
    }

    /// Names for which nothing was left out, each with the nearest of `others` (names in any spelling), if one is near.
    pub fn unused<'a>(&self, others: impl Iterator<Item = &'a str> + Clone) -> Vec<(String, Option<String>)> {
        let nearest = |key: &str| {
            let near = others.clone().map(|other| (strsim::damerau_levenshtein(key, &compact(other)), other));
            near.min().filter(|(distance, _)| *distance <= 1 + key.len() / 4).map(|(_, other)| other.to_owned())
        };
        let mut unused: Vec<_> = self.0.iter().filter(|ignored| !ignored.used.get()).collect();
        unused.dedup_by(|a, b| a.key == b.key);
        unused.into_iter().map(|ignored| (ignored.name.clone(), nearest(&ignored.key))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_has_one_class() {
        let mut seen = std::collections::HashSet::new();
        for name in CLASSES.iter().flat_map(|(_, keywords)| words(keywords)) {
            assert_eq!(name, name.to_uppercase());
            assert!(seen.insert(compact(name)), "{name} twice");
        }
        for name in ACCEPTED.iter().map(|accepted| accepted.name) {
            let class = classify(&compact(name));
            let is_of_lines = has_word(OF_LINES, name);
            assert_eq!(class == Some(Class::Read), !is_of_lines && name != "RESTART", "{name}: {class:?}");
        }
    }

    #[test]
    fn ignoring_goes_by_family_in_any_spelling() {
        let list = IgnoreList::new(&["contact".into(), "*User_Material,plastic".into()]);
        for key in ["CONTACTPAIR", "FRICTION", "USERMATERIAL", "DAMAGEINITIATION"] {
            let Some(Class::Refused { family, .. }) = classify(key) else { panic!("{key}") };
            assert!(list.covers(&[key, family]), "{key}");
        }
        assert!(!list.covers(&["TIE", ""]));
        assert_eq!(family("KINEMATIC", classify("KINEMATIC")), "COUPLING");
        assert_eq!(classify("CONTACTOUTPUT"), Some(Class::NoEffect));
        assert_eq!(classify("NODES"), None);
    }
}
