//! The accepted keywords: which data and which parameters each takes, and what becomes of every parameter.
//!
//! The reader works from this table. A parameter that is not listed is an error where it is probably misspelt, and a warning
//! otherwise.

use super::keywords::{is_spelt, words};
use super::lexer::Keyword;

/// The data lines of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// There are none: a line that stands there belongs to a keyword that is missing.
    Never,
    /// There may be some, or the reader of the keyword says what is missing.
    Optional,
    /// There should be some, unless this parameter (empty: none) is given: a set without is empty.
    Wanted {
        /// The parameter that takes their place.
        unless: &'static str,
    },
    /// There must be some, unless a parameter is given (`NAME`, or `NAME=VALUE`; empty for no such parameter).
    Needed {
        /// The parameter that takes their place.
        unless: &'static str,
    },
}

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The reader uses it.
    Used,
    /// It changes nothing here, which a note says; with the reason where it would change results elsewhere.
    Idle(&'static str),
    /// It would change the model and is an error, with the reason or the remedy.
    Refused(&'static str),
}

/// A keyword that is read, or that has no effect as a whole but for some parameters.
pub(super) struct Accepted {
    /// As one writes it, upper case.
    pub name: &'static str,
    pub data: Data,
    /// Fields that count on the first, second, … data line, where the reader of the keyword does not check that itself. The
    /// last number is for all lines that follow.
    pub fields: &'static [usize],
    /// Parameters with their effects, as one writes them, with commas between.
    pub parameters: &'static [(Effect, &'static str)],
}

impl Accepted {
    /// The effect of a parameter and its name as one writes it; `given` is as [`compact`](super::lexer::compact) gives it. As
    /// in [`Keyword::get`], three letters are enough.
    pub fn parameter(&self, given: &str) -> Option<(Effect, &'static str)> {
        let all = || self.parameters.iter().flat_map(|(effect, names)| words(names).map(|name| (*effect, name)));
        let exact = all().find(|(_, name)| is_spelt(name, given));
        let begins = |name: &str| super::lexer::compact(name).starts_with(given);
        exact.or_else(|| all().find(|(_, name)| given.len() >= 3 && begins(name)))
    }

    /// Whether data lines may be absent.
    pub fn may_be_empty(&self, keyword: &Keyword) -> bool {
        let (Data::Needed { unless } | Data::Wanted { unless }) = self.data else { return true };
        match unless.split_once('=') {
            Some((name, value)) => keyword.word(name) == value,
            None => !unless.is_empty() && keyword.has(&super::lexer::compact(unless)),
        }
    }
}

/// The entry of a keyword, given as [`compact`](super::lexer::compact) gives it.
pub(super) fn accepted(key: &str) -> Option<&'static Accepted> {
    ACCEPTED.iter().find(|accepted| is_spelt(accepted.name, key))
}

const fn entry(
    name: &'static str,
    data: Data,
    fields: &'static [usize],
    parameters: &'static [(Effect, &'static str)],
) -> Accepted {
    Accepted { name, data, fields, parameters }
}

const NEEDED: Data = Data::Needed { unless: "" };
const BY_INPUT: Data = Data::Needed { unless: "INPUT" };
const UNLESS_NEW: Data = Data::Needed { unless: "OP=NEW" };
/// Fields that the reader of the keyword checks, or that are free text.
const CHECKED: &[usize] = &[];

use Effect::{Idle, Refused, Used};

const NAMED_ONLY: Effect = Idle("");
const EARLIER: Effect = Refused("results of an earlier analysis cannot be read; write the values in the deck");
const SUBROUTINE: Effect = Refused("user subroutines cannot be run; write the values in the deck");
const MODAL: Effect = Idle("it is of modal analyses");
const COMPLEX: Effect = Refused("answers by frequency are not computed; give a load in time");
const CYCLIC: Effect = Refused("cyclic symmetry is not computed; model the whole body");
const TURNING: Effect = Refused("loads keep their direction, as strains and rotations are small; leave it out");
const LOCAL: Effect = Refused("components are global; write the load in global components");
const DELAY: Effect = Refused("shift the times of the amplitude");
const OF_LOADS: Effect = Idle("it is for viscous, stagnation and wave pressures");
const ONE_STEP: Effect = Idle("");
const STABLE: Effect = Idle("the increment is the largest stable one, or the one that is given");
const IMPLICIT: Effect = Idle("it is of implicit dynamics");
const FILTERS: Effect = Idle("histories and fields are written unfiltered");
const MEDIUM: Effect = Idle("");

const LOAD: &[(Effect, &str)] = &[
    (Used, "AMPLITUDE, INPUT"),
    (ONE_STEP, "OP, REAL, REGION TYPE"),
    (OF_LOADS, "REF NODE"),
    (Idle("it is for shells and beams"), "CONSTANT RESULTANT"),
    (TURNING, "FOLLOWER"),
    (LOCAL, "ORIENTATION"),
    (SUBROUTINE, "USER"),
    (CYCLIC, "CYCLIC MODE, SECTOR"),
    (COMPLEX, "IMAGINARY, LOAD CASE, OMEGA0"),
    (EARLIER, "SUBMODEL, STEP, DATA SET"),
    (DELAY, "TIME DELAY"),
];
const TABLE_OF_OUTPUT: &[(Effect, &str)] = &[
    (Used, "NSET, ELSET, FREQUENCY, FREQUENCYF, TIME POINTS"),
    (
        MEDIUM,
        "CONTACT ELEMENTS, DIRECTIONS, GLOBAL, LAST ITERATIONS, OUTPUT, OUTPUT ALL, POSITION, SECTION FORCES, SUMMARY, \
         TOTALS, MODE, REBAR",
    ),
];
const REQUEST: &[(Effect, &str)] = &[
    (Used, "ELSET, NSET, VARIABLE"),
    (MEDIUM, "DIRECTIONS, GLOBAL, TRACER SET"),
    (FILTERS, "FILTER"),
    (
        Idle("values of elements are means over each element"),
        "POSITION, MICROMECHANICS, REBAR, ALL SECTION PTS, MIDDLE SECTION PTS",
    ),
    (Idle("all members of the set are written"), "EXTERIOR"),
];
const LINE: &[(Effect, &str)] = &[
    (Used, "ELSET, NONLINEAR, COMPLEX STIFFNESS"),
    (Idle("the first entry counts"), "DEPENDENCIES, RTOL"),
    (Idle("springs pull along the line between their nodes"), "ORIENTATION"),
    (MODAL, "COMPOSITE"),
    (Idle("give damping in the job"), "ALPHA"),
    (Idle(""), "TYPE"),
];

/// Every accepted keyword. Those that are not read, but named as without effect, stand here only where one of their
/// parameters is refused.
pub(super) const ACCEPTED: &[Accepted] = &[
    entry("HEADING", Data::Optional, CHECKED, &[(NAMED_ONLY, "SPARSE")]),
    entry("INCLUDE", Data::Optional, CHECKED, &[(Used, "INPUT"), (Refused("decrypt the file"), "PASSWORD")]),
    entry("NODE", BY_INPUT, CHECKED, &[(Used, "INPUT, NSET, SYSTEM")]),
    entry(
        "ELEMENT",
        BY_INPUT,
        CHECKED,
        &[
            (Used, "ELSET, INPUT, TYPE"),
            (NAMED_ONLY, "SOLID ELEMENT NUMBERING"),
            (EARLIER, "FILE, STEP, INC"),
            (Refused("write out all nodes of the elements"), "OFFSET"),
        ],
    ),
    entry(
        "NSET",
        Data::Wanted { unless: "ELSET" },
        CHECKED,
        &[(Used, "ELSET, GENERATE, INPUT, INSTANCE, NSET, UNSORTED"), (NAMED_ONLY, "INTERNAL")],
    ),
    entry(
        "ELSET",
        Data::Wanted { unless: "" },
        CHECKED,
        &[(Used, "ELSET, GENERATE, INPUT, INSTANCE"), (NAMED_ONLY, "INTERNAL, UNSORTED")],
    ),
    entry("SYSTEM", Data::Optional, &[6, 3, 0], &[]),
    entry("PART", Data::Never, CHECKED, &[(Used, "NAME"), (NAMED_ONLY, "INTERNAL")]),
    entry("END PART", Data::Never, CHECKED, &[]),
    entry("ASSEMBLY", Data::Never, CHECKED, &[(Used, "NAME")]),
    entry("END ASSEMBLY", Data::Never, CHECKED, &[]),
    entry(
        "INSTANCE",
        Data::Optional,
        &[3, 7, 0],
        &[(Used, "NAME, PART"), (Refused("instances of earlier results cannot be read"), "INSTANCE, LIBRARY")],
    ),
    entry("END INSTANCE", Data::Never, CHECKED, &[]),
    entry("END", Data::Never, CHECKED, &[]),
    entry(
        "SURFACE",
        NEEDED,
        CHECKED,
        &[
            (Used, "COMBINE, NAME, TYPE"),
            (NAMED_ONLY, "INTERNAL, DEFINITION, PROPERTY, REGION TYPE, MAX RATIO, SCALE THICK"),
            (NAMED_ONLY, "NO THICK, NO OFFSET, FILLET RADIUS, ALE"),
            (Idle("all free faces of the elements belong to the surface"), "CROP, TRIM"),
        ],
    ),
    entry(
        "MATERIAL",
        Data::Never,
        CHECKED,
        &[(Used, "NAME"), (NAMED_ONLY, "RTOL, SRATE FACTOR, STRAIN RATE REGULARIZATION, CONVERTED")],
    ),
    entry(
        "DENSITY",
        Data::Optional,
        &[1],
        &[(Used, "DEPENDENCIES"), (Refused("the pores of a medium are not computed"), "PORE FLUID")],
    ),
    entry(
        "ELASTIC",
        Data::Optional,
        CHECKED,
        &[
            (Used, "DEPENDENCIES, TYPE"),
            (Idle("the material does not creep or relax"), "MODULI"),
            (Refused("the stiffness is the same in tension and compression"), "COMPRESSION FACTOR"),
        ],
    ),
    entry(
        "ACOUSTIC MEDIUM",
        Data::Optional,
        CHECKED,
        &[
            (Used, "BULK MODULUS, DEPENDENCIES"),
            (
                Refused("fluids have a bulk modulus and a density; *DAMPING, ALPHA= damps them"),
                "CAVITATION LIMIT, COMPLEX BULK MODULUS, COMPLEX DENSITY, POROUS MODEL, VOLUMETRIC DRAG",
            ),
        ],
    ),
    entry(
        "DAMPING",
        Data::Never,
        CHECKED,
        &[
            (Used, "ALPHA, BETA, STRUCTURAL"),
            (MODAL, "COMPOSITE"),
            (Idle("damping is the same at all frequencies"), "TYPE"),
        ],
    ),
    entry(
        "SOLID SECTION",
        Data::Optional,
        &[1, 0],
        &[
            (Used, "CONTROLS, ELSET, MATERIAL, ORIENTATION"),
            (NAMED_ONLY, "ORDER, LAYUP, SYMMETRIC, STACK DIRECTION"),
            (Idle("it is for generalized plane strain"), "REF NODE"),
            (Refused("layers are not computed; give each layer elements and a section of its own"), "COMPOSITE"),
            (Refused("a section has one thickness; cut the region into sections"), "NODAL THICKNESS"),
        ],
    ),
    entry(
        "ORIENTATION",
        NEEDED,
        &[9, 2, 0],
        &[(Used, "DEFINITION, NAME, SYSTEM"), (Refused("a section has one set of axes"), "LOCAL DIRECTIONS")],
    ),
    entry(
        "SECTION CONTROLS",
        Data::Optional,
        &[1, 0],
        &[
            (Used, "HOURGLASS, NAME"),
            (
                Idle("one-point hexahedra take the mean gradient, AVERAGE STRAIN, which is the default"),
                "KINEMATIC SPLIT",
            ),
            (Idle("strains and rotations are small, where both orders agree"), "SECOND ORDER ACCURACY"),
            (Idle("strains are small, so that elements do not fold"), "DISTORTION CONTROL, LENGTH RATIO"),
            (Idle("no element fails"), "ELEMENT DELETION, MAX DEGRADATION, VISCOSITY"),
            (
                NAMED_ONLY,
                "CONTROLS, DRILL STIFFNESS, WEIGHT FACTOR, INITIAL GAP OPENING, RAMP INITIAL STRESS, PERTURBATION",
            ),
        ],
    ),
    entry(
        "FIXED MASS SCALING",
        Data::Never,
        CHECKED,
        &[(Used, "DT, ELSET, FACTOR"), (Idle("it is for DT=, which is not read"), "TYPE")],
    ),
    entry(
        "AMPLITUDE",
        Data::Optional,
        CHECKED,
        &[
            (Used, "BEGIN, DEFINITION, FIXED INTERVAL, INPUT, NAME, SMOOTH, VALUE"),
            (Idle("there is one step, so that its time is the total time"), "TIME"),
            (Refused("write the shifted table"), "SHIFTX, SHIFTY"),
            (Refused("a user subroutine gives its values, and cannot be run; write them as a table"), "USER"),
            (NAMED_ONLY, "VARIABLES, PROPERTIES"),
        ],
    ),
    entry(
        "INITIAL CONDITIONS",
        Data::Needed { unless: "USER" },
        CHECKED,
        &[
            (Used, "INPUT, TYPE"),
            (EARLIER, "FILE, STEP, INC, INTERPOLATE"),
            (SUBROUTINE, "USER"),
            (
                NAMED_ONLY,
                "NUMBER BACKSTRESSES, REBAR, SECTION POINTS, UNBALANCED STRESS, VARIABLE, NORMALIZE, DEFINITION, GEOSTATIC",
            ),
            (NAMED_ONLY, "ABSOLUTE EXTERIOR TOLERANCE, EXTERIOR TOLERANCE, MIDSIDE, DRIVING ELSETS, FULL TENSOR"),
        ],
    ),
    entry(
        "BOUNDARY",
        UNLESS_NEW,
        CHECKED,
        &[
            (Used, "AMPLITUDE, INPUT, OP, TYPE"),
            (NAMED_ONLY, "REAL, REGION TYPE, BLADE"),
            (EARLIER, "SUBMODEL, STEP, DATA SET, GLOBAL INC, GLOBAL STEP"),
            (SUBROUTINE, "USER"),
            (Refused("write the value that the component keeps"), "FIXED"),
            (Refused("the flow of mass is not computed"), "MASS FLOW, PHANTOM"),
            (COMPLEX, "IMAGINARY, LOAD CASE"),
            (DELAY, "TIME DELAY"),
        ],
    ),
    entry("CLOAD", UNLESS_NEW, CHECKED, LOAD),
    entry("DLOAD", UNLESS_NEW, CHECKED, LOAD),
    entry(
        "DSLOAD",
        UNLESS_NEW,
        CHECKED,
        &[
            (Used, "AMPLITUDE, INPUT"),
            (ONE_STEP, "OP, REAL, REGION TYPE"),
            (OF_LOADS, "REF NODE"),
            (Idle("it is for shells and beams"), "CONSTANT RESULTANT"),
            (Idle("surfaces turn little, as strains and rotations are small"), "FOLLOWER"),
            (LOCAL, "ORIENTATION"),
            (SUBROUTINE, "USER"),
            (CYCLIC, "CYCLIC MODE, SECTOR"),
            (COMPLEX, "IMAGINARY, LOAD CASE"),
            (EARLIER, "SUBMODEL, STEP, DATA SET"),
            (DELAY, "TIME DELAY"),
        ],
    ),
    entry("TRANSFORM", NEEDED, &[6], &[(Used, "NSET, TYPE")]),
    entry("EQUATION", NEEDED, CHECKED, &[(Used, "INPUT"), (Refused("an equation holds for the whole run"), "REMOVE")]),
    entry(
        "MPC",
        NEEDED,
        CHECKED,
        &[(Used, "INPUT"), (SUBROUTINE, "USER"), (Refused("give nodes or sets pair by pair"), "MODE")],
    ),
    entry(
        "TIE",
        NEEDED,
        &[2],
        &[
            (Used, "NAME, POSITION TOLERANCE, TIED NSET, TYPE"),
            (Idle("no node is moved; gaps are noted"), "ADJUST"),
            (
                Idle("solids have displacements alone"),
                "CONSTRAINT RATIO, NO ROTATION, NO THICKNESS, NO PORE, NO TEMPERATURE",
            ),
            (CYCLIC, "CYCLIC SYMMETRY, MULTICOMPONENT"),
            (Refused("give *EQUATION for pressures"), "FLUID PERIODIC"),
        ],
    ),
    entry(
        "RIGID BODY",
        Data::Optional,
        &[0],
        &[
            (Used, "ELSET, NSET, PIN NSET, POSITION, REF NODE, TIE NSET"),
            (Idle("temperatures are not computed"), "ISOTHERMAL"),
            (
                Refused("a rigid body has nodes of elements; --ignore \"RIGID BODY\" leaves it out"),
                "ANALYTICAL SURFACE",
            ),
            (Refused("the reference node has both its displacements and its rotations"), "ROT NODE"),
            (Refused("its elements are solids with a material"), "DENSITY, NODAL THICKNESS, OFFSET, THICKNESS"),
        ],
    ),
    entry(
        "COUPLING",
        Data::Never,
        CHECKED,
        &[
            (Used, "CONSTRAINT NAME, INFLUENCE RADIUS, REF NODE, SURFACE"),
            (Refused("components are global; couple global components"), "ORIENTATION"),
            (Idle("temperatures are not computed"), "ALPHA"),
        ],
    ),
    entry("KINEMATIC", Data::Optional, &[2], &[]),
    entry(
        "DISTRIBUTING",
        Data::Optional,
        &[2],
        &[
            (Used, "WEIGHTING METHOD"),
            (Idle("solids have displacements alone, of which both kinds take the mean"), "COUPLING"),
        ],
    ),
    entry(
        "STEP",
        Data::Optional,
        CHECKED,
        &[
            (Used, "AMPLITUDE, NAME, NLGEOM"),
            (
                NAMED_ONLY,
                "CONVERT SDI, EXTRAPOLATION, INC, INCF, PERTURBATION, SHOCK SMOOTHING, SOLVER, THERMAL NETWORK, UNSYMM",
            ),
        ],
    ),
    entry("END STEP", Data::Never, CHECKED, &[]),
    entry(
        "DYNAMIC",
        Data::Optional,
        &[4, 0],
        &[
            (Used, "ALPHA, DIRECT, DIRECT USER CONTROL, EXPLICIT, SCALE FACTOR"),
            (STABLE, "ELEMENT BY ELEMENT, FIXED TIME INCREMENTATION, IMPROVED DT METHOD, RELATIVE TO TOTAL"),
            (Idle("heat is not computed"), "ADIABATIC"),
            (
                IMPLICIT,
                "APPLICATION, BETA, GAMMA, HAFTOL, HALFINC SCALE FACTOR, INITIAL, NOHAF, SINGULAR MASS, TIME INTEGRATOR",
            ),
            (IMPLICIT, "SUBSPACE, SOLVER, INCREMENTATION"),
        ],
    ),
    entry("BULK VISCOSITY", Data::Optional, &[2, 0], &[]),
    entry(
        "OUTPUT",
        Data::Never,
        CHECKED,
        &[
            (Used, "FIELD, FREQUENCY, FREQUENCYF, HISTORY, NUMBER INTERVAL, NUMBER INTERVALS, TIME INTERVAL, VARIABLE"),
            (Used, "TIME POINTS"),
            (FILTERS, "FILTER"),
            (Idle("samples are taken at the increments that are nearest"), "TIME MARKS"),
            (Idle("no sensor is kept"), "SENSOR"),
            (NAMED_ONLY, "DIAGNOSTICS, MODE DATA, MODE LIST, NAME, OP"),
        ],
    ),
    entry("NODE OUTPUT", Data::Optional, CHECKED, REQUEST),
    entry("ELEMENT OUTPUT", Data::Optional, CHECKED, REQUEST),
    entry("NODE PRINT", Data::Optional, CHECKED, TABLE_OF_OUTPUT),
    entry("NODE FILE", Data::Optional, CHECKED, TABLE_OF_OUTPUT),
    entry("EL FILE", Data::Optional, CHECKED, TABLE_OF_OUTPUT),
    entry(
        "RESTART",
        Data::Optional,
        CHECKED,
        &[
            (Refused("a run cannot begin with the state of an earlier one"), "READ"),
            (NAMED_ONLY, "END STEP, FREQUENCY, INC, INTERVAL, ITERATION, NUMBER INTERVAL, OVERLAY, SINGLE, STEP"),
            (NAMED_ONLY, "TIME MARKS, WRITE"),
        ],
    ),
    entry("SPRING", Data::Optional, CHECKED, LINE),
    entry("DASHPOT", Data::Optional, CHECKED, LINE),
    entry("MASS", Data::Optional, CHECKED, LINE),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::lexer::compact;
    use super::*;

    #[test]
    fn every_keyword_and_parameter_is_listed_once_with_one_effect() {
        let mut keywords = HashSet::new();
        for entry in ACCEPTED {
            assert!(keywords.insert(compact(entry.name)), "{} twice", entry.name);
            assert_eq!(entry.name, entry.name.to_uppercase());
            let mut seen = HashSet::new();
            for (effect, names) in entry.parameters {
                for name in words(names) {
                    assert!(seen.insert(compact(name)), "*{}, {name} twice", entry.name);
                    assert_eq!(entry.parameter(&compact(name)), Some((*effect, name)));
                    if let Refused(why) = effect {
                        assert!(!why.is_empty(), "*{}, {name} is refused without a reason", entry.name);
                    }
                }
            }
            assert_eq!(entry.parameter("NOSUCH"), None, "{}", entry.name);
        }
    }
}
