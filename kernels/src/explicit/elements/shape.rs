//! Shape functions and quadrature of the first-order elements, nodes in Abaqus order.

use std::sync::LazyLock;

use pogo_formats::mesh::{ElementKind, ElementLaw, ElementShape};

/// Shape functions at one integration point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuadraturePoint {
    /// N_I.
    pub n: [f64; 8],
    /// ∂N_I/∂ξ_a.
    pub dn: [[f64; 3]; 8],
    /// Weight in the reference element.
    pub weight: f64,
}

/// ξ, η, ζ of the corners of quadrilaterals (first four) and hexahedra.
pub(crate) const CORNERS: [[f64; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// N_I and ∂N_I/∂ξ_a at a point of the reference element; rows beyond the element's nodes are zero.
///
/// Triangles, tetrahedra and the triangle of a wedge use ξ_a ≥ 0, Σ ξ_a ≤ 1; the others −1 ≤ ξ_a ≤ 1.
fn shape_functions(shape: ElementShape, xi: [f64; 3]) -> ([f64; 8], [[f64; 3]; 8]) {
    let mut n = [0.0; 8];
    let mut dn = [[0.0; 3]; 8];
    let [r, s, t] = xi;
    match shape {
        ElementShape::Triangle => {
            n[..3].copy_from_slice(&[1.0 - r - s, r, s]);
            dn[..3].copy_from_slice(&[[-1.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        }
        ElementShape::Tetrahedron => {
            n[..4].copy_from_slice(&[1.0 - r - s - t, r, s, t]);
            dn[..4].copy_from_slice(&[[-1.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        }
        ElementShape::Quadrilateral => {
            for (i, [a, b, _]) in CORNERS[..4].iter().enumerate() {
                n[i] = 0.25 * (1.0 + a * r) * (1.0 + b * s);
                dn[i] = [0.25 * a * (1.0 + b * s), 0.25 * b * (1.0 + a * r), 0.0];
            }
        }
        ElementShape::Hexahedron => {
            for (i, [a, b, c]) in CORNERS.iter().enumerate() {
                let (f, g, h) = (1.0 + a * r, 1.0 + b * s, 1.0 + c * t);
                n[i] = 0.125 * f * g * h;
                dn[i] = [0.125 * a * g * h, 0.125 * b * f * h, 0.125 * c * f * g];
            }
        }
        ElementShape::Wedge => {
            let l = [1.0 - r - s, r, s];
            let dl = [[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]];
            for (side, c) in [(0, -1.0), (3, 1.0)] {
                for i in 0..3 {
                    let h = 0.5 * (1.0 + c * t);
                    n[side + i] = l[i] * h;
                    dn[side + i] = [dl[i][0] * h, dl[i][1] * h, 0.5 * c * l[i]];
                }
            }
        }
    }
    (n, dn)
}

/// The points of an element's stiffness: 1 for triangles and tetrahedra, 1 × 2 for wedges (one in the triangle, two along
/// the axis, as in Abaqus and CalculiX), else those of [`full_quadrature`]. The one-point kinds have the rule of their full
/// counterparts, which integrates their mean gradient exactly.
pub(crate) fn quadrature(kind: ElementKind) -> &'static [QuadraturePoint] {
    static RULES: LazyLock<[Vec<QuadraturePoint>; ElementKind::ALL.len()]> = LazyLock::new(|| {
        ElementKind::ALL.map(|kind| match kind.law() {
            ElementLaw::Wedge | ElementLaw::AcousticWedge => points_of(kind.shape(), &along_axis()),
            _ => full_rule(kind.shape()),
        })
    });
    &RULES[kind as usize]
}

/// Full integration, which masses are integrated with: 1 point for triangles and tetrahedra, 2 × 2, 3 × 2 and 2 × 2 × 2
/// for quadrilaterals, wedges and hexahedra.
pub(crate) fn full_quadrature(kind: ElementKind) -> &'static [QuadraturePoint] {
    static RULES: LazyLock<[Vec<QuadraturePoint>; ElementKind::ALL.len()]> =
        LazyLock::new(|| ElementKind::ALL.map(|kind| full_rule(kind.shape())));
    &RULES[kind as usize]
}

/// Places in the reference element, with their weights.
type Rule = Vec<([f64; 3], f64)>;

/// ±1/√3.
fn gauss_pair() -> [f64; 2] {
    let g = 1.0 / 3.0f64.sqrt();
    [-g, g]
}

/// The middle of the triangle at two heights of a wedge.
fn along_axis() -> Rule {
    gauss_pair().map(|t| ([1.0 / 3.0, 1.0 / 3.0, t], 0.5)).to_vec()
}

fn full_rule(shape: ElementShape) -> Vec<QuadraturePoint> {
    let sides = gauss_pair();
    let mut points = Rule::new();
    match shape {
        ElementShape::Triangle => points.push(([1.0 / 3.0, 1.0 / 3.0, 0.0], 0.5)),
        ElementShape::Tetrahedron => points.push(([0.25; 3], 1.0 / 6.0)),
        ElementShape::Quadrilateral => {
            for s in sides {
                points.extend(sides.map(|r| ([r, s, 0.0], 1.0)));
            }
        }
        ElementShape::Wedge => {
            let (a, b) = (1.0 / 6.0, 2.0 / 3.0);
            for t in sides {
                points.extend([[a, a], [b, a], [a, b]].map(|[r, s]| ([r, s, t], a)));
            }
        }
        ElementShape::Hexahedron => {
            for t in sides {
                for s in sides {
                    points.extend(sides.map(|r| ([r, s, t], 1.0)));
                }
            }
        }
    }
    points_of(shape, &points)
}

fn points_of(shape: ElementShape, rule: &Rule) -> Vec<QuadraturePoint> {
    let point = |&(xi, weight): &([f64; 3], f64)| {
        let (n, dn) = shape_functions(shape, xi);
        QuadraturePoint { n, dn, weight }
    };
    rule.iter().map(point).collect()
}

/// ∂N_I/∂x_i and det J at a point of an element.
#[inline(always)]
pub(crate) fn gradients(point: &QuadraturePoint, kind: ElementKind, x: &[[f64; 3]; 8]) -> ([[f64; 3]; 8], f64) {
    let (cofactor, det) = jacobian(point, kind, x);
    let inverse = 1.0 / det;
    let mut dx = [[0.0; 3]; 8];
    for (out, dn) in dx.iter_mut().zip(&point.dn).take(kind.n_nodes()) {
        for i in 0..3 {
            out[i] = (dn[0] * cofactor[0][i] + dn[1] * cofactor[1][i] + dn[2] * cofactor[2][i]) * inverse;
        }
    }
    (dx, det)
}

/// Cofactors of J_ai = ∂x_i/∂ξ_a and det J.
#[inline(always)]
pub(crate) fn jacobian(point: &QuadraturePoint, kind: ElementKind, x: &[[f64; 3]; 8]) -> ([[f64; 3]; 3], f64) {
    let mut j = [[0.0; 3]; 3];
    for (row, dn) in x.iter().zip(&point.dn).take(kind.n_nodes()) {
        for a in 0..3 {
            for i in 0..3 {
                j[a][i] += dn[a] * row[i];
            }
        }
    }
    // In 2D the third axis is the unit vector.
    if kind.dimension() == 2 {
        j[2] = [0.0, 0.0, 1.0];
    }
    let cofactor = [cross(j[1], j[2]), cross(j[2], j[0]), cross(j[0], j[1])];
    let det = (0..3).map(|i| j[0][i] * cofactor[0][i]).sum::<f64>();
    (cofactor, det)
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
