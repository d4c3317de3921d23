//! What the name of an element type says of its nodes.

use super::keywords::has_word;
use crate::mesh::ElementKind;

/// Shells and membranes of three and four nodes.
const SHELLS: [(ElementKind, &str); 2] = [
    (ElementKind::Cps3, "S3 S3R S3RS S3RT STRI3 M3D3"),
    (ElementKind::Cps4, "S4 S4R S4RS S4RSW S4R5 S4T S4RT M3D4 M3D4R"),
];

/// Triangles of shells, membranes, rigid surfaces and other physics, and tetrahedra of other physics.
const SIMPLICES: [(ElementKind, &str); 2] = [
    (ElementKind::Cps3, "S3 S3R S3RS S3RT STRI3 DS3 M3D3 SFM3D3 R3D3 DC2D3 AC2D3 CPE3T CPE3H CPS3T"),
    (ElementKind::C3d4, "C3D4H C3D4T C3D4P DC3D4 AC3D4 EC3D4"),
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

/// Space dimension of the region that an element of a type that is not computed fills: 0 or 1 for points and lines.
pub(crate) fn other_dimension(name: &str) -> usize {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["C3D", "DC3D", "AC3D", "CIN3D", "COH3D", "EC3D", "PC3D", "SC", "CCL", "U", "VU"]) {
        3
    } else if starts(&["CP", "CA", "CG", "DC2D", "DCA", "AC2D", "ACA", "CIN", "COH", "S", "M3D", "R3D", "DS", "DG"]) {
        2
    } else {
        1
    }
}
