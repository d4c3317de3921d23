//! Parameters of keyword lines. Those that are not known are usually misspelt.

use super::keywords::{has_word, within, words};
use super::lexer::Keyword;
use super::log::Log;

/// Keywords, and their parameters that are read or change nothing here, both as [`compact`](super::lexer::compact) gives them.
/// Keywords whose parameters change no number are not listed.
const KNOWN: &[(&str, &str)] = &[
    ("NODE", "INPUT NSET SYSTEM"),
    ("ELEMENT", "ELSET FILE INPUT OFFSET SOLIDELEMENTNUMBERING TYPE"),
    ("NSET ELSET", "ELSET GENERATE INSTANCE INTERNAL NSET UNSORTED"),
    ("INSTANCE", "INSTANCE LIBRARY NAME PART"),
    ("SOLIDSECTION", "COMPOSITE CONTROLS ELSET LAYUP MATERIAL ORDER ORIENTATION REFNODE STACKDIRECTION SYMMETRIC"),
    ("ORIENTATION", "DEFINITION LOCALDIRECTIONS NAME SYSTEM"),
    ("DENSITY ELASTIC", "COMPRESSIONFACTOR DEPENDENCIES MODULI POREFLUID TYPE"),
    ("DAMPING", "ALPHA BETA COMPOSITE STRUCTURAL"),
    ("AMPLITUDE", "BEGIN DEFINITION FIXEDINTERVAL INPUT NAME SHIFTX SHIFTY SMOOTH TIME VALUE"),
    ("INITIALCONDITIONS", "INPUT TYPE"),
    (
        "BOUNDARY CLOAD DLOAD DSLOAD",
        "AMPLITUDE CONSTANTRESULTANT CYCLICMODE FIXED FOLLOWER IMAGINARY INPUT LOADCASE OP ORIENTATION REAL REFNODE \
         REGIONTYPE SUBMODEL TIMEDELAY TYPE USER",
    ),
    (
        "DYNAMIC",
        "ADIABATIC ALPHA APPLICATION DIRECT DIRECTUSERCONTROL ELEMENTBYELEMENT EXPLICIT FIXEDTIMEINCREMENTATION \
         IMPROVEDDTMETHOD SCALEFACTOR SOLVER",
    ),
    ("STEP", "AMPLITUDE CONVERTSDI EXTRAPOLATION INC NAME NLGEOM PERTURBATION SOLVER UNSYMM"),
    ("FIXEDMASSSCALING", "DT ELSET FACTOR TYPE"),
    (
        "OUTPUT",
        "DIAGNOSTICS FIELD FILTER FREQUENCY FREQUENCYF HISTORY NAME NUMBERINTERVAL NUMBERINTERVALS OP SENSOR \
         TIMEINTERVAL TIMEMARKS TIMEPOINTS VARIABLE",
    ),
    ("NODEOUTPUT ELEMENTOUTPUT", "DIRECTIONS ELSET EXTERIOR FILTER GLOBAL NSET POSITION TRACERSET VARIABLE"),
    (
        "NODEPRINT NODEFILE ELFILE",
        "CONTACTELEMENTS DIRECTIONS ELSET FREQUENCY FREQUENCYF GLOBAL LASTITERATIONS NSET OUTPUT OUTPUTALL POSITION \
         SECTIONFORCES SUMMARY TIMEPOINTS TOTALS",
    ),
];

/// An error for each parameter that differs from a known one by a letter or two, and a warning for any other that is not known.
pub(super) fn check(keyword: &Keyword, log: &mut Log) {
    let Some((_, known)) = KNOWN.iter().find(|(keys, _)| has_word(keys, &keyword.key)) else { return };
    for (given, _) in &keyword.parameters {
        // As `Keyword::get` takes them.
        if words(known).any(|known| known == given || (given.len() >= 3 && known.starts_with(given.as_str()))) {
            continue;
        }
        let text = format!("*{} has no parameter {given}", keyword.name);
        match within(given, known).filter(|_| given.len() >= 3) {
            Some(near) => log.error(keyword.place, format!("{text}: did you mean {near}?")),
            None => log.warning(keyword.place, format!("{text} that is known here: it has no effect")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keywords::{Class, classify};
    use super::super::lexer::compact;
    use super::*;

    #[test]
    fn the_table_is_of_keywords_that_are_read() {
        for (keys, known) in KNOWN {
            assert!(words(keys).all(|key| classify(key) == Some(Class::Read)), "{keys:?}");
            assert!(words(known).all(|name| name == compact(name)) && words(known).is_sorted(), "{keys:?}");
        }
    }
}
