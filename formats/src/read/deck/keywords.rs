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

/// A class of keywords that are refused.
const fn refused(family: &'static str, why: &'static str) -> Class {
    Class::Refused { family, why }
}

/// The family of keywords that stand alone.
const ALONE: &str = "";
const GENERATES: &str = "nodes and elements must be written out";
const SECTION: &str = "only *SOLID SECTION is read";
const NONLINEAR: &str = "only linear elastic materials are computed";
const CONSTRAINT: &str = "constraints between nodes are not computed";
const CONTACT: &str = "contact is not computed";
const THERMAL: &str = "temperatures are not computed";

/// The keywords of each class, as [`compact`] gives them, with blanks between.
const CLASSES: &[(Class, &str)] = &[
    (
        Class::Read,
        "AMPLITUDE ASSEMBLY BOUNDARY BULKVISCOSITY CLOAD DAMPING DENSITY DLOAD DSLOAD DYNAMIC ELASTIC ELEMENT \
         ELEMENTOUTPUT ELFILE ELSET END ENDASSEMBLY ENDINSTANCE ENDPART ENDSTEP FIXEDMASSSCALING HEADING INCLUDE \
         INITIALCONDITIONS INSTANCE MATERIAL NODE NODEFILE NODEOUTPUT NODEPRINT NSET ORIENTATION OUTPUT PART \
         SECTIONCONTROLS SOLIDSECTION STEP SURFACE SYSTEM",
    ),
    (
        Class::NoEffect,
        "CONDUCTIVITY CONSTRAINTCONTROLS CONTACTFILE CONTACTOUTPUT CONTACTPRINT CONTROLS DEPVAR DIAGNOSTICS ELPRINT \
         ENERGYFILE ENERGYOUTPUT ENERGYPRINT EXPANSION FILEFORMAT FILEOUTPUT FILTER INCREMENTATIONOUTPUT \
         INTEGRATEDOUTPUT INTEGRATEDOUTPUTSECTION LATENTHEAT MODALOUTPUT MONITOR PHYSICALCONSTANTS PREPRINT PRINT \
         RADIATIONOUTPUT RESTART SECTIONFILE SECTIONPRINT SOLUTIONTECHNIQUE SPECIFICHEAT SURFACEOUTPUT TIMEPOINTS \
         USEROUTPUTVARIABLES",
    ),
    (
        Class::Procedure,
        "ANNEAL BUCKLE COMPLEXFREQUENCY COUPLEDTEMPERATUREDISPLACEMENT COUPLEDTHERMALELECTRICAL DIRECTCYCLIC \
         DYNAMICTEMPERATUREDISPLACEMENT ELECTROMAGNETIC FREQUENCY GEOSTATIC GREEN HEATTRANSFER MASSDIFFUSION \
         MODALDYNAMIC RANDOMRESPONSE RESPONSESPECTRUM SENSITIVITY SOILS STATIC STEADYSTATEDYNAMICS \
         STEADYSTATETRANSPORT SUBSTRUCTUREGENERATE UNCOUPLEDTHERMOELASTIC VISCO",
    ),
    (
        refused("CONTACT", CONTACT),
        "CHANGEFRICTION CLEARANCE COHESIVEBEHAVIOR FRICTION GENERALCONTACT GAPCONDUCTANCE SURFACEBEHAVIOR \
         SURFACEINTERACTION SURFACEPROPERTYASSIGNMENT",
    ),
    (
        refused("PLASTIC", NONLINEAR),
        "ANNEALTEMPERATURE BRITTLECRACKING BRITTLEFAILURE BRITTLESHEAR CAPHARDENING CAPPLASTICITY CASTIRONPLASTICITY \
         CLAYPLASTICITY CONCRETE CONCRETECOMPRESSIONHARDENING CONCRETEDAMAGEDPLASTICITY CONCRETETENSIONSTIFFENING \
         CREEP CYCLICHARDENING DAMAGEEVOLUTION DAMAGEINITIATION DAMAGESTABILIZATION DRUCKERPRAGER \
         DRUCKERPRAGERHARDENING MOHRCOULOMB MOHRCOULOMBHARDENING PLASTIC POROUSFAILURECRITERIA POROUSMETALPLASTICITY \
         POTENTIAL RATEDEPENDENT SHEARFAILURE TENSILEFAILURE",
    ),
    (
        refused(ALONE, NONLINEAR),
        "EOS HYPERELASTIC HYPERFOAM HYPOELASTIC LOWDENSITYFOAM MULLINSEFFECT POROUSELASTIC VISCOELASTIC \
         USERDEFINEDFIELD USERMATERIAL",
    ),
    (refused("USER ELEMENT", "user elements are not computed"), "USERELEMENT UELPROPERTY"),
    (
        refused("COUPLING", CONSTRAINT),
        "COUPLING DISTRIBUTING DISTRIBUTINGCOUPLING KINEMATIC KINEMATICCOUPLING SHELLTOSOLIDCOUPLING",
    ),
    (refused(ALONE, CONSTRAINT), "EMBEDDEDELEMENT EQUATION MPC RIGIDBODY TIE"),
    (
        refused("TEMPERATURE", THERMAL),
        "CFLUX DFLUX DSFLUX FILM HEATGENERATION INELASTICHEATFRACTION RADIATE SFILM SRADIATE TEMPERATURE",
    ),
    (
        refused(ALONE, SECTION),
        "BEAMGENERALSECTION BEAMSECTION COHESIVESECTION CONNECTORSECTION DASHPOT EULERIANSECTION GAP GASKETSECTION \
         MASS MEMBRANESECTION ROTARYINERTIA SHELLGENERALSECTION SHELLSECTION SPRING SURFACESECTION",
    ),
    (refused(ALONE, "one value a section is read"), "DISTRIBUTION"),
    (refused("DISTRIBUTION", "one value a section is read"), "DISTRIBUTIONTABLE"),
    (refused(ALONE, GENERATES), "ELCOPY ELGEN NCOPY NFILL NGEN NMAP"),
    (refused(ALONE, "give *DAMPING, ALPHA= to each material"), "GLOBALDAMPING"),
    (refused(ALONE, "it is an absolute stiffness; use the factor of *SECTION CONTROLS"), "HOURGLASSSTIFFNESS"),
    (refused(ALONE, "write the values in place of the parameters"), "PARAMETER"),
    (refused(ALONE, "loads and boundary conditions are read in global components"), "TRANSFORM"),
    (refused(ALONE, "only *FIXED MASS SCALING, FACTOR= is read"), "VARIABLEMASSSCALING"),
];

/// Class of a keyword given as [`compact`] gives it; none for one that is not known.
pub(super) fn classify(key: &str) -> Option<Class> {
    let listed = CLASSES.iter().find(|(_, keywords)| has_word(keywords, key));
    let contact = key.starts_with("CONTACT").then_some(refused("CONTACT", CONTACT));
    listed.map(|(class, _)| *class).or(contact)
}

/// The words of a table.
pub(super) fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(' ')
}

/// Whether a word stands in a table.
pub(super) fn has_word(table: &'static str, word: &str) -> bool {
    words(table).any(|known| known == word)
}

/// The keyword that is read and differs from this one by a letter or two.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    within(key, CLASSES[0].1)
}

/// The one of some words that differs from `key` by a letter or two.
pub(super) fn within(key: &str, known: &'static str) -> Option<&'static str> {
    let near = words(known).map(|known| (strsim::damerau_levenshtein(key, known), known)).min()?;
    (near.0 <= 1 + key.len() / 6).then_some(near.1)
}

/// Keywords whose `ELSET=` gives elements a section of a kind that is not computed.
pub(super) fn is_other_section(key: &str) -> bool {
    key == "UELPROPERTY" || matches!(classify(key), Some(Class::Refused { why: SECTION, .. }))
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
    fn tables_hold_compact_names_once() {
        let mut seen = std::collections::HashSet::new();
        for name in CLASSES.iter().flat_map(|(_, keywords)| words(keywords)) {
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
