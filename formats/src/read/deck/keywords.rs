//! What each keyword does to the physics: read, without effect here, or refused.

use std::cell::Cell;

use super::lexer::compact;

/// What the reader does with a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Read by the parser.
    Read,
    /// Changes nothing that Pogo computes.
    NoEffect,
    /// An analysis other than explicit dynamics; a job that sets the time replaces it.
    Procedure,
    /// Changes the physics; left out only on request.
    Refused {
        /// Name that `--ignore` takes for the keyword and its relatives; empty where it stands alone.
        family: &'static str,
        /// Why, or what to do instead.
        why: &'static str,
    },
}

const READ: &[&str] = &[
    "AMPLITUDE",
    "ASSEMBLY",
    "BOUNDARY",
    "BULKVISCOSITY",
    "CLOAD",
    "DAMPING",
    "DENSITY",
    "DLOAD",
    "DSLOAD",
    "DYNAMIC",
    "ELASTIC",
    "ELEMENT",
    "ELEMENTOUTPUT",
    "ELFILE",
    "ELSET",
    "END",
    "ENDASSEMBLY",
    "ENDINSTANCE",
    "ENDPART",
    "ENDSTEP",
    "FIXEDMASSSCALING",
    "HEADING",
    "INCLUDE",
    "INITIALCONDITIONS",
    "INSTANCE",
    "MATERIAL",
    "NODE",
    "NODEFILE",
    "NODEOUTPUT",
    "NODEPRINT",
    "NSET",
    "ORIENTATION",
    "OUTPUT",
    "PART",
    "SECTIONCONTROLS",
    "SOLIDSECTION",
    "STEP",
    "SURFACE",
    "SYSTEM",
];

const NO_EFFECT: &[&str] = &[
    "CONDUCTIVITY",
    "CONSTRAINTCONTROLS",
    "CONTACTFILE",
    "CONTACTOUTPUT",
    "CONTACTPRINT",
    "CONTROLS",
    "DEPVAR",
    "DIAGNOSTICS",
    "ELPRINT",
    "ENERGYFILE",
    "ENERGYOUTPUT",
    "ENERGYPRINT",
    "EXPANSION",
    "FILEFORMAT",
    "FILEOUTPUT",
    "FILTER",
    "INCREMENTATIONOUTPUT",
    "INTEGRATEDOUTPUT",
    "INTEGRATEDOUTPUTSECTION",
    "LATENTHEAT",
    "MODALOUTPUT",
    "MONITOR",
    "PHYSICALCONSTANTS",
    "PREPRINT",
    "PRINT",
    "RADIATIONOUTPUT",
    "RESTART",
    "SECTIONFILE",
    "SECTIONPRINT",
    "SOLUTIONTECHNIQUE",
    "SPECIFICHEAT",
    "SURFACEOUTPUT",
    "TIMEPOINTS",
    "USEROUTPUTVARIABLES",
];

const PROCEDURES: &[&str] = &[
    "ANNEAL",
    "BUCKLE",
    "COMPLEXFREQUENCY",
    "COUPLEDTEMPERATUREDISPLACEMENT",
    "COUPLEDTHERMALELECTRICAL",
    "DIRECTCYCLIC",
    "DYNAMICTEMPERATUREDISPLACEMENT",
    "ELECTROMAGNETIC",
    "FREQUENCY",
    "GEOSTATIC",
    "GREEN",
    "HEATTRANSFER",
    "MASSDIFFUSION",
    "MODALDYNAMIC",
    "RANDOMRESPONSE",
    "RESPONSESPECTRUM",
    "SENSITIVITY",
    "SOILS",
    "STATIC",
    "STEADYSTATEDYNAMICS",
    "STEADYSTATETRANSPORT",
    "SUBSTRUCTUREGENERATE",
    "UNCOUPLEDTHERMOELASTIC",
    "VISCO",
];

const GENERATES: &str = "nodes and elements must be written out";
const SECTION: &str = "only *SOLID SECTION is read";
const NONLINEAR: &str = "only linear elastic materials are computed";
const CONSTRAINT: &str = "constraints between nodes are not computed";
const CONTACT: &str = "contact is not computed";
const THERMAL: &str = "temperatures are not computed";

/// (keyword, family, why).
const REFUSED: &[(&str, &str, &str)] = &[
    ("CHANGEFRICTION", "CONTACT", CONTACT),
    ("CLEARANCE", "CONTACT", CONTACT),
    ("COHESIVEBEHAVIOR", "CONTACT", CONTACT),
    ("FRICTION", "CONTACT", CONTACT),
    ("GENERALCONTACT", "CONTACT", CONTACT),
    ("GAPCONDUCTANCE", "CONTACT", CONTACT),
    ("SURFACEBEHAVIOR", "CONTACT", CONTACT),
    ("SURFACEINTERACTION", "CONTACT", CONTACT),
    ("SURFACEPROPERTYASSIGNMENT", "CONTACT", CONTACT),
    ("ANNEALTEMPERATURE", "PLASTIC", NONLINEAR),
    ("BRITTLECRACKING", "PLASTIC", NONLINEAR),
    ("BRITTLEFAILURE", "PLASTIC", NONLINEAR),
    ("BRITTLESHEAR", "PLASTIC", NONLINEAR),
    ("CAPHARDENING", "PLASTIC", NONLINEAR),
    ("CAPPLASTICITY", "PLASTIC", NONLINEAR),
    ("CASTIRONPLASTICITY", "PLASTIC", NONLINEAR),
    ("CLAYPLASTICITY", "PLASTIC", NONLINEAR),
    ("CONCRETE", "PLASTIC", NONLINEAR),
    ("CONCRETECOMPRESSIONHARDENING", "PLASTIC", NONLINEAR),
    ("CONCRETEDAMAGEDPLASTICITY", "PLASTIC", NONLINEAR),
    ("CONCRETETENSIONSTIFFENING", "PLASTIC", NONLINEAR),
    ("CREEP", "PLASTIC", NONLINEAR),
    ("CYCLICHARDENING", "PLASTIC", NONLINEAR),
    ("DAMAGEEVOLUTION", "PLASTIC", NONLINEAR),
    ("DAMAGEINITIATION", "PLASTIC", NONLINEAR),
    ("DAMAGESTABILIZATION", "PLASTIC", NONLINEAR),
    ("DRUCKERPRAGER", "PLASTIC", NONLINEAR),
    ("DRUCKERPRAGERHARDENING", "PLASTIC", NONLINEAR),
    ("MOHRCOULOMB", "PLASTIC", NONLINEAR),
    ("MOHRCOULOMBHARDENING", "PLASTIC", NONLINEAR),
    ("PLASTIC", "PLASTIC", NONLINEAR),
    ("POROUSFAILURECRITERIA", "PLASTIC", NONLINEAR),
    ("POROUSMETALPLASTICITY", "PLASTIC", NONLINEAR),
    ("POTENTIAL", "PLASTIC", NONLINEAR),
    ("RATEDEPENDENT", "PLASTIC", NONLINEAR),
    ("SHEARFAILURE", "PLASTIC", NONLINEAR),
    ("TENSILEFAILURE", "PLASTIC", NONLINEAR),
    ("EOS", "", NONLINEAR),
    ("HYPERELASTIC", "", NONLINEAR),
    ("HYPERFOAM", "", NONLINEAR),
    ("HYPOELASTIC", "", NONLINEAR),
    ("LOWDENSITYFOAM", "", NONLINEAR),
    ("MULLINSEFFECT", "", NONLINEAR),
    ("POROUSELASTIC", "", NONLINEAR),
    ("VISCOELASTIC", "", NONLINEAR),
    ("USERDEFINEDFIELD", "", NONLINEAR),
    ("USERMATERIAL", "", NONLINEAR),
    ("USERELEMENT", "USER ELEMENT", "user elements are not computed"),
    ("UELPROPERTY", "USER ELEMENT", "user elements are not computed"),
    ("COUPLING", "COUPLING", CONSTRAINT),
    ("DISTRIBUTING", "COUPLING", CONSTRAINT),
    ("DISTRIBUTINGCOUPLING", "COUPLING", CONSTRAINT),
    ("KINEMATIC", "COUPLING", CONSTRAINT),
    ("KINEMATICCOUPLING", "COUPLING", CONSTRAINT),
    ("EMBEDDEDELEMENT", "", CONSTRAINT),
    ("EQUATION", "", CONSTRAINT),
    ("MPC", "", CONSTRAINT),
    ("RIGIDBODY", "", CONSTRAINT),
    ("SHELLTOSOLIDCOUPLING", "COUPLING", CONSTRAINT),
    ("TIE", "", CONSTRAINT),
    ("CFLUX", "TEMPERATURE", THERMAL),
    ("DFLUX", "TEMPERATURE", THERMAL),
    ("DSFLUX", "TEMPERATURE", THERMAL),
    ("FILM", "TEMPERATURE", THERMAL),
    ("HEATGENERATION", "TEMPERATURE", THERMAL),
    ("INELASTICHEATFRACTION", "TEMPERATURE", THERMAL),
    ("RADIATE", "TEMPERATURE", THERMAL),
    ("SFILM", "TEMPERATURE", THERMAL),
    ("SRADIATE", "TEMPERATURE", THERMAL),
    ("TEMPERATURE", "TEMPERATURE", THERMAL),
    ("BEAMGENERALSECTION", "", SECTION),
    ("BEAMSECTION", "", SECTION),
    ("COHESIVESECTION", "", SECTION),
    ("CONNECTORSECTION", "", SECTION),
    ("DASHPOT", "", SECTION),
    ("EULERIANSECTION", "", SECTION),
    ("GAP", "", SECTION),
    ("GASKETSECTION", "", SECTION),
    ("MASS", "", SECTION),
    ("MEMBRANESECTION", "", SECTION),
    ("ROTARYINERTIA", "", SECTION),
    ("SHELLGENERALSECTION", "", SECTION),
    ("SHELLSECTION", "", SECTION),
    ("SPRING", "", SECTION),
    ("SURFACESECTION", "", SECTION),
    ("DISTRIBUTION", "", "one value a section is read"),
    ("DISTRIBUTIONTABLE", "DISTRIBUTION", "one value a section is read"),
    ("ELCOPY", "", GENERATES),
    ("ELGEN", "", GENERATES),
    ("NCOPY", "", GENERATES),
    ("NFILL", "", GENERATES),
    ("NGEN", "", GENERATES),
    ("NMAP", "", GENERATES),
    ("GLOBALDAMPING", "", "give *DAMPING, ALPHA= to each material"),
    ("HOURGLASSSTIFFNESS", "", "it is an absolute stiffness; use the factor of *SECTION CONTROLS"),
    ("PARAMETER", "", "write the values in place of the parameters"),
    ("TRANSFORM", "", "loads and boundary conditions are read in global components"),
    ("VARIABLEMASSSCALING", "", "only *FIXED MASS SCALING, FACTOR= is read"),
];

/// Class of a keyword given as [`compact`] gives it; nothing for one that nobody knows.
pub(super) fn classify(key: &str) -> Option<Class> {
    if READ.contains(&key) {
        return Some(Class::Read);
    }
    if NO_EFFECT.contains(&key) {
        return Some(Class::NoEffect);
    }
    if PROCEDURES.contains(&key) {
        return Some(Class::Procedure);
    }
    if let Some((_, family, why)) = REFUSED.iter().find(|(name, ..)| *name == key) {
        return Some(Class::Refused { family, why });
    }
    key.starts_with("CONTACT").then_some(Class::Refused { family: "CONTACT", why: CONTACT })
}

/// The keyword that is read and differs from this one by a letter or two.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    within(key, READ)
}

/// The one of `known` that differs from `key` by a letter or two.
pub(super) fn within(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(key, known), *known)).min()?;
    (near.0 <= 1 + key.len() / 6).then_some(near.1)
}

/// Keywords whose `ELSET=` gives elements a section of a kind that is not computed.
pub(super) fn is_other_section(key: &str) -> bool {
    key == "UELPROPERTY" || matches!(classify(key), Some(Class::Refused { why: SECTION, .. }))
}

/// What the user allows to be left out.
#[derive(Debug, Clone)]
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
    fn tables_hold_compact_names_once() {
        let all = READ.iter().chain(NO_EFFECT).chain(PROCEDURES).copied().chain(REFUSED.iter().map(|r| r.0));
        let mut seen = std::collections::HashSet::new();
        for name in all {
            assert_eq!(name, compact(name));
            assert!(seen.insert(name), "{name} twice");
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
        assert_eq!(classify("CONTACTOUTPUT"), Some(Class::NoEffect));
        assert_eq!(classify("NODES"), None);
    }
}
