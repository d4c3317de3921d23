//! What the name of an element type says of its nodes.

use super::keywords::has_word;
use super::second_order::SecondOrder;
use crate::mesh::ElementKind;

/// Shells and membranes of three and four nodes.
const SHELLS: [(ElementKind, &str); 2] = [
    (ElementKind::Cps3, "S3 S3R S3RS S3RT STRI3 M3D3"),
    (ElementKind::Cps4, "S4 S4R S4RS S4RSW S4R5 S4T S4RT M3D4 M3D4R"),
];

/// Triangles of shells, membranes, rigid surfaces and other physics, and tetrahedra of other physics.
const SIMPLICES: [(ElementKind, &str); 2] = [
    (ElementKind::Cps3, "S3 S3R S3RS S3RT STRI3 DS3 M3D3 SFM3D3 R3D3 DC2D3 CPE3T CPE3H CPS3T"),
    (ElementKind::C3d4, "C3D4H C3D4T C3D4P DC3D4 EC3D4"),
];

fn listed(kinds: &[(ElementKind, &'static str)], name: &str) -> Option<ElementKind> {
    kinds.iter().find(|(_, names)| has_word(names, name)).map(|(kind, _)| *kind)
}

/// The kind with the corners of a shell or a membrane, whose edges make springs.
pub(super) fn shell(name: &str) -> Option<ElementKind> {
    listed(&SHELLS, name)
}

/// The kind with the same corners, where only the mesh counts.
pub(super) fn simplex(name: &str) -> Option<ElementKind> {
    listed(&SIMPLICES, name)
}

/// Nodes of elements that can become springs (2) or masses (1); 0 of any other type.
///
/// Springs between fixed components (SPRING1, SPRING2, DASHPOT1, DASHPOT2), gaps and rigid links pull otherwise than along the
/// line between their nodes, and elements with a node in the middle (B32, T3D3) are two springs in one: they are refused.
pub(super) fn line_nodes(name: &str) -> usize {
    const LINES: [&str; 10] = ["T2D2", "T3D2", "B21", "B23", "B31", "B33", "PIPE21", "PIPE31", "CONN2D2", "CONN3D2"];
    match name {
        "MASS" => 1,
        "SPRINGA" | "DASHPOTA" => 2,
        _ if LINES.iter().any(|line| name.starts_with(line)) => 2,
        _ => 0,
    }
}

/// Whether elements of a type are kept as two-node elements or point masses where [`ReadOptions::lines`](super::ReadOptions) asks
/// for these.
pub fn is_line(name: &str) -> bool {
    line_nodes(name) > 0
}

/// Nodes of an element type that is not computed, as its name tells (C3D10M, S4R, B32); nothing where it does not.
pub(crate) fn nodes_of_other(name: &str) -> Option<usize> {
    let last_run = |text: &str| {
        let start = text.find(|c: char| c.is_ascii_digit())?;
        let digits: String = text[start..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok().filter(|n| (1..=27).contains(n))
    };
    if name.starts_with('B') || name.starts_with("PIPE") {
        return Some(if name.contains("32") || name.contains("22") { 3 } else { 2 });
    }
    match name {
        "MASS" | "ROTARYI" => return Some(1),
        "GAPUNI" | "SPRINGA" | "DASHPOTA" => return Some(2),
        "STRI65" => return Some(6),
        _ => {}
    }
    // C3D10, COH2D4, T3D2: what follows the dimension.
    ["3D", "2D"].iter().find_map(|d| name.find(d).and_then(|at| last_run(&name[at + 2..]))).or_else(|| last_run(name))
}

/// What to do about a type of elements that is not computed.
fn remedy(name: &str) -> &'static str {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    let solid = if other_dimension(name) == 3 { 3 } else { 2 };
    if SecondOrder::from_name(name).is_some() {
        "mesh again with linear elements, or split these into linear ones with --split-second-order"
    } else if name == "D" || starts(&["DC", "AC", "EC", "PC", "F2D", "F3D", "FC", "DG", "DS", "HEATCAP", "DCOUP"]) {
        "elements of heat, flow, pores and fields cannot be computed here (of fluids AC2D3, AC2D4, AC2D4R, AC3D4, AC3D6, AC3D8 and AC3D8R can)"
    } else if starts(&["CAX", "SAX", "MAX", "RAX", "CGAX", "CCL", "SFMAX"]) {
        "axisymmetric bodies cannot be computed here; mesh a sector in 3D with C3D8 or C3D4"
    } else if starts(&["CIN"]) {
        "infinite elements are CINPE4, CINPS4 and CIN3D8; an [[absorbing]] table of a job takes waves away, too"
    } else if starts(&["COH", "GK"]) {
        "cohesive and gasket elements cannot be computed here"
    } else if starts(&["R2D", "R3D", "RB"]) {
        "rigid surfaces cannot be computed here"
    } else if starts(&["U", "VU"]) {
        "user elements cannot be computed here"
    } else if is_line(name) {
        "a job with `physics = \"spring\"` makes springs of elements with two nodes; beams and trusses cannot be computed here"
    } else if starts(&["B", "PIPE", "T2D", "T3D", "ELBOW", "GAP", "SPRING", "DASHPOT", "CONN", "MASS", "ROTARYI"]) {
        "beams, trusses, gaps and connectors cannot be computed here"
    } else if starts(&["S", "M3D"]) {
        "shells and membranes cannot be computed here; mesh their thickness with C3D8R"
    } else {
        match (solid, nodes_of_other(name)) {
            (3, Some(10 | 15 | 20 | 27)) => "mesh again with linear elements: C3D4, C3D6 or C3D8",
            (3, Some(4)) => "write C3D4 in its place, for displacements alone",
            (3, Some(6)) => "write C3D6 in its place, for displacements alone",
            (3, Some(8)) => "write C3D8 or C3D8R in its place, for displacements alone",
            (2, Some(6 | 8 | 9)) => "mesh again with linear elements: CPE3 or CPE4, CPS3 or CPS4",
            (2, Some(3)) => "write CPE3 or CPS3 in its place, for displacements alone",
            (2, Some(4)) => "write CPE4 or CPS4 in its place, for displacements alone",
            _ => "this type cannot be computed here",
        }
    }
}

/// What to do about some types of elements that are not computed, each remedy once and behind a semicolon.
pub(crate) fn remedies<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for remedy in names.map(remedy) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all.iter().map(|remedy| format!("; {remedy}")).collect()
}

/// Space dimension of the region that an element of a type that is not computed fills: 0 or 1 for points and lines.
pub(crate) fn other_dimension(name: &str) -> usize {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["SPRING"]) {
        1
    } else if starts(&["C3D", "DC3D", "AC3D", "CIN3D", "COH3D", "EC3D", "PC3D", "SC", "CCL", "U", "VU"]) {
        3
    } else if starts(&["CP", "CA", "CG", "DC2D", "DCA", "AC2D", "ACA", "CIN", "COH", "S", "M3D", "R3D", "DS", "DG"]) {
        2
    } else {
        1
    }
}
