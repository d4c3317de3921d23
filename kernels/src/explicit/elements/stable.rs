//! The stable increment of central differences, Δt ≤ 2/ω_max.
//!
//! ω²_max of the whole model is at most the largest eigenvalue of any element's stiffness against its share of the
//! lumped mass (Irons and Treharne 1971), *however* the nodal masses are shared out: with Σ_e M_e = M,
//! u·Ku = Σ u_e·K_e u_e ≤ Σ λ_e u_e·M_e u_e ≤ max λ_e u·Mu. So 2/√λ_max over the elements is safe. The masses are shared
//! in proportion to each element's stiffness at the node: a sliver leans on its neighbours, and the bound comes much
//! nearer the truth than with the sliver's own mass. Centred damping does not change the limit.
//!
//! Only the largest λ_e is wanted. An element is passed over where the trace of its stiffness, then a Cholesky
//! factorisation, shows that all its eigenvalues lie below one already found; the eigenvalue itself is computed only for
//! the few that may raise it.

use std::ops::Range;

use pogo_formats::mesh::{ElementKind, ElementShape, GroupView, MeshView};
use pogo_formats::system::parallel;

use super::SectionProperties;
use super::shape::gradients;
use super::stiffness::{ElasticLaw, Stiffness, block};
use super::{CHUNK, Element, ElementError, element, quadrature, sum_to_nodes, thickness};
use crate::simd::{InstructionSet, Kernel, Level};

/// Largest stable increment and the element that sets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StableIncrement {
    /// 2/ω_max, s.
    pub increment: f64,
    /// Element index of the stiffest, to [`RESOLUTION`].
    pub element: usize,
}

/// Elements whose ω² differ by less than this fraction count as equally stiff: on even meshes all of them do.
pub const RESOLUTION: f64 = 1e-9;

/// Chunks that are searched side by side before their results raise the bar for the next ones.
const WINDOW: usize = 64 * CHUNK;

/// min over the elements of 2/ω_max against shares of the lumped mass: safe, and sharp to a few per cent on even meshes.
///
/// `stiffness_factor` multiplies each element's stiffness, (n_elements,), or is empty; `lumped_mass` is m, (n_nodes,), of
/// [`lumped_mass`](super::lumped_mass), with any lumping. Undamped limit; centred damping leaves it unchanged. The same
/// result for every number of threads.
///
/// # Errors
/// Wrong lengths or references; a mesh without elements or without mass at an element's node.
pub fn stable_increment(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    lumped_mass: &[f64],
) -> Result<StableIncrement, ElementError> {
    stable_increment_of(mesh, sections, stiffness_factor, lumped_mass, |_| true)
}

/// As [`stable_increment`], of the elements of some kinds alone.
///
/// # Errors
/// As [`stable_increment`].
pub fn stable_increment_of(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    lumped_mass: &[f64],
    is_wanted: impl Fn(ElementKind) -> bool,
) -> Result<StableIncrement, ElementError> {
    for (what, expected, found) in [
        ("stiffness factors", mesh.n_elements(), stiffness_factor.len()),
        ("lumped mass", mesh.n_nodes(), lumped_mass.len()),
    ] {
        if found != expected && !(what == "stiffness factors" && found == 0) {
            return Err(ElementError::Length { what, expected, found });
        }
    }
    let (stiffness, _) = sum_to_nodes(mesh, sections.len(), |element| {
        let section = &sections[element.section];
        Some(nodal_stiffness(element, section, factor_of(stiffness_factor, element.index)))
    })?;
    // w_I is an element's weight at a node, W_I the sum, m_I w_I / W_I its share of the mass: what it lacks of W_I / m_I.
    let ratio: Vec<f64> = stiffness.into_iter().zip(lumped_mass).map(|(weight, mass)| weight / mass).collect();
    let mut search = Search { mesh, ratio, stiffness_factor, laws: Vec::new(), worst: None };
    let mut first = 0;
    for group in &mesh.groups {
        search.laws = sections.iter().map(|section| Law::new(group.kind, section)).collect();
        if is_wanted(group.kind) {
            search.group(group, first);
        }
        first += group.labels.len();
    }
    let Some((eigenvalue, element)) = search.worst else {
        return Err(ElementError::Length { what: "elements", expected: 1, found: 0 });
    };
    let eigenvalue = eigenvalue * (1.0 + RESOLUTION);
    if !(eigenvalue > 0.0 && eigenvalue.is_finite()) {
        return Err(ElementError::NotPositive { what: "largest ω² of an element", value: eigenvalue });
    }
    Ok(StableIncrement { increment: 2.0 / eigenvalue.sqrt(), element })
}

/// ω²_max of a model of solids and fluids that touch, 1/s², from those of its solids and of its fluids by themselves and the
/// largest ω² of a pair of nodes that touch, A²/mM with its whole masses: the larger root of (λ − λ_s)(λ − λ_f) = a λ.
///
/// The state of such a model has two halves, (v, q) and (u, p), that step each other, so that the bound of Irons and Treharne holds
/// with any shares of the masses for it, too. Here a pair takes the parts 1 − λ_s/λ and 1 − λ_f/λ of the masses of its nodes, and
/// leaves the elements what gives them no more than λ.
fn joint_frequency(solids: f64, fluids: f64, pairs: f64) -> f64 {
    let sum = solids + fluids + pairs;
    0.5 * (sum + (sum * sum - 4.0 * solids * fluids).max(0.0).sqrt())
}

/// A stable increment of such a model, s, from those of its solids and of its fluids by themselves, and the ω² of a pair.
///
/// With damping in proportion to the stiffness elements count as ω² (1 + 2β/Δt), which an increment changes: at Δt it is at most
/// Δt_s/Δt times that at their limit Δt_s.
pub fn joint_increment(solids: f64, fluids: f64, pairs: f64, is_lagged: bool) -> f64 {
    let [of_solids, of_fluids] = [solids, fluids].map(|increment| (2.0 / increment).powi(2));
    if !is_lagged {
        return 2.0 / joint_frequency(of_solids, of_fluids, pairs).sqrt();
    }
    let is_stable = |increment: f64| {
        let [of_solids, of_fluids] = [of_solids * solids, of_fluids * fluids].map(|of_limit| of_limit / increment);
        increment.powi(2) * joint_frequency(of_solids, of_fluids, pairs) <= 4.0
    };
    let [mut stable, mut unstable] = [0.0, solids.min(fluids)];
    // The numbers between them are half as many with each turn.
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = 0.5 * (stable + unstable);
        *(if is_stable(middle) { &mut stable } else { &mut unstable }) = middle;
    }
    stable
}

/// λ and the element index.
type Found = Option<(f64, usize)>;

/// The larger λ; of equal ones the first.
fn larger(a: Found, b: Found) -> Found {
    match (a, b) {
        (Some((x, _)), Some((y, _))) if y > x => b,
        (None, _) => b,
        _ => a,
    }
}

/// One section for the kind that is being searched.
struct Law {
    elastic: ElasticLaw,
    /// Of [`nodal_stiffness`], without the thickness.
    modulus: f64,
    /// λ ≤ this × Σ_I W_I / m_I; infinite where no such bound is known.
    trace: f64,
}

impl Law {
    fn new(kind: ElementKind, section: &SectionProperties) -> Self {
        let (elastic, modulus) = (ElasticLaw::new(kind, section), weight_modulus(section));
        let trace = elastic.trace_modulus() / (modulus * thickness(kind, section.thickness));
        // Hourglass stiffness has no such bound.
        let trace = if kind.is_reduced() { f64::INFINITY } else { trace * (1.0 + RESOLUTION) };
        Self { elastic, modulus, trace }
    }
}

fn factor_of(stiffness_factor: &[f64], element: usize) -> f64 {
    stiffness_factor.get(element).copied().unwrap_or(1.0)
}

struct Search<'a> {
    mesh: &'a MeshView<'a>,
    /// W_I / m_I, (n_nodes,).
    ratio: Vec<f64>,
    /// As in [`stable_increment`].
    stiffness_factor: &'a [f64],
    /// One a section.
    laws: Vec<Law>,
    worst: Found,
}

impl Search<'_> {
    /// Raises `worst` by the elements of a group.
    fn group(&mut self, group: &GroupView, first: usize) {
        match group.kind.shape() {
            ElementShape::Triangle => self.group_of::<3, 6>(group, first),
            ElementShape::Quadrilateral => self.group_of::<4, 8>(group, first),
            ElementShape::Tetrahedron => self.group_of::<4, 12>(group, first),
            ElementShape::Wedge => self.group_of::<6, 18>(group, first),
            ElementShape::Hexahedron => self.group_of::<8, 24>(group, first),
        }
    }

    /// N nodes, W degrees of freedom.
    fn group_of<const N: usize, const W: usize>(&mut self, group: &GroupView, first: usize) {
        let n = group.labels.len();
        // The bound tells where the stiffest elements may be: with one of them first, most others need no look.
        let bounds = parallel::map(n.div_ceil(CHUNK), &|chunk| {
            let elements = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
            elements.map(|i| Some((self.bound::<N>(group, i), i))).fold(None, larger)
        });
        let promising = bounds.into_iter().fold(None, larger);
        if let Some((_, i)) = promising {
            self.worst = larger(self.worst, self.eigenvalue_above::<N, W>(group, first, i, self.worst));
        }
        for window in (0..n).step_by(WINDOW) {
            let end = (window + WINDOW).min(n);
            let found: Vec<Found> = parallel::map((end - window).div_ceil(CHUNK), &|chunk| {
                let begin = window + chunk * CHUNK;
                self.chunk::<N, W>(group, first, begin..(begin + CHUNK).min(end))
            });
            self.worst = found.into_iter().fold(self.worst, larger);
        }
    }

    /// Raises `worst` by a range of the elements of a group: with the widest registers that the machine has, which give
    /// the same bits.
    fn chunk<const N: usize, const W: usize>(&self, group: &GroupView, first: usize, range: Range<usize>) -> Found {
        struct Range<'a, const N: usize, const W: usize> {
            search: &'a Search<'a>,
            group: &'a GroupView<'a>,
            first: usize,
            range: std::ops::Range<usize>,
        }
        impl<const N: usize, const W: usize> Kernel for Range<'_, N, W> {
            type Output = Found;
            #[inline(always)]
            fn run<I: InstructionSet>(self) -> Found {
                self.search.range::<N, W>(self.group, self.first, self.range)
            }
        }
        Level::detect().run(Range::<N, W> { search: self, group, first, range })
    }

    #[inline(always)]
    fn range<const N: usize, const W: usize>(&self, group: &GroupView, first: usize, range: Range<usize>) -> Found {
        let mut worst = self.worst;
        for i in range {
            // A NaN must not pass.
            let bound = self.bound::<N>(group, i);
            if !worst.is_some_and(|(largest, _)| bound <= largest) {
                worst = larger(worst, self.eigenvalue_above::<N, W>(group, first, i, worst));
            }
        }
        worst
    }

    /// At least the largest λ of element i of a group: the trace of M^-½ K M^-½, which with these shares of the mass
    /// depends on the element's nodes alone.
    fn bound<const N: usize>(&self, group: &GroupView, i: usize) -> f64 {
        let nodes = &group.connectivity[i * N..(i + 1) * N];
        self.laws[group.section[i] as usize].trace * nodes.iter().map(|&node| self.ratio[node as usize]).sum::<f64>()
    }

    /// The largest λ of element i of a group, if it lies above the one given.
    #[inline(always)]
    fn eigenvalue_above<const N: usize, const W: usize>(
        &self,
        group: &GroupView,
        first: usize,
        i: usize,
        worst: Found,
    ) -> Found {
        let element = element(self.mesh, group, first, i);
        let law = &self.laws[element.section];
        let factor = factor_of(self.stiffness_factor, element.index);
        let stiffness = Stiffness::<N>::new(&law.elastic, &element.positions);
        let mut mass = [0.0; N];
        for (node, mass) in mass.iter_mut().enumerate() {
            *mass = weight(factor * law.modulus, stiffness.squares[node]) / self.ratio[element.nodes[node] as usize];
        }
        if let Some((largest, _)) = worst
            && all_eigenvalues_below::<N, W>(&stiffness, factor, &mass, largest * (1.0 + RESOLUTION))
        {
            return None;
        }
        let mut scaled = vec![0.0; W * W];
        for row in 0..W {
            for column in row..W {
                let (i, a, k, b) = (row / N, row % N, column / N, column % N);
                let value = stiffness.blocks[block(i, k)][a][b] * factor / (mass[a] * mass[b]).sqrt();
                scaled[row * W + column] = value;
                scaled[column * W + row] = value;
            }
        }
        let eigenvalue = largest_eigenvalue(scaled, W);
        // A node without mass.
        Some((if eigenvalue.is_nan() { f64::INFINITY } else { eigenvalue }, element.index))
    }
}

fn weight_modulus(section: &SectionProperties) -> f64 {
    (0..6).map(|i| section.elasticity[7 * i]).sum()
}

/// An element without stiffness still takes a little.
fn weight(modulus: f64, squares: f64) -> f64 {
    modulus.max(f64::MIN_POSITIVE) * squares
}

/// About the trace of the element's stiffness at each of its nodes: the weights by which nodal masses are shared.
fn nodal_stiffness(element: &Element, section: &SectionProperties, factor: f64) -> [f64; 8] {
    let thickness = thickness(element.kind, section.thickness);
    let mut squares = [0.0; 8];
    for point in quadrature(element.kind) {
        let (dx, det) = gradients(point, element.kind, &element.positions);
        let dv = point.weight * det.abs() * thickness;
        for (sum, g) in squares.iter_mut().zip(&dx) {
            *sum += dv * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        }
    }
    squares.map(|squares| weight(factor * weight_modulus(section), squares))
}

/// Whether λ M − K is positive definite (L D Lᵀ).
#[inline(always)]
fn all_eigenvalues_below<const N: usize, const W: usize>(
    stiffness: &Stiffness<N>,
    factor: f64,
    mass: &[f64; N],
    lambda: f64,
) -> bool {
    // The upper triangle, degrees of freedom component by component.
    let mut a = [[0.0; W]; W];
    for k in 0..W / N {
        for i in 0..=k {
            for (node, row) in stiffness.blocks[block(i, k)].iter().enumerate() {
                for (to, k) in a[i * N + node][k * N..(k + 1) * N].iter_mut().zip(row) {
                    *to = -factor * k;
                }
            }
        }
    }
    for (dof, row) in a.iter_mut().enumerate() {
        row[dof] += lambda * mass[dof % N];
    }
    for j in 0..W {
        let (above, below) = a.split_at_mut(j + 1);
        let pivots = &above[j];
        // A NaN must fail too.
        if !(pivots[j] > 0.0) {
            return false;
        }
        let inverse = 1.0 / pivots[j];
        for (i, row) in (j + 1..W).zip(below) {
            let multiple = pivots[i] * inverse;
            // A few entries left of the diagonal do no harm and keep the loop in whole registers.
            let start = i & !3;
            let (to, to_rest) = row[start..].as_chunks_mut::<4>();
            let (from, from_rest) = pivots[start..].as_chunks::<4>();
            for (to, from) in to.iter_mut().zip(from) {
                for (to, pivot) in to.iter_mut().zip(from) {
                    *to -= multiple * pivot;
                }
            }
            for (to, pivot) in to_rest.iter_mut().zip(from_rest) {
                *to -= multiple * pivot;
            }
        }
    }
    true
}

/// Largest eigenvalue of a symmetric matrix by cyclic Jacobi rotations.
pub(crate) fn largest_eigenvalue(mut a: Vec<f64>, n: usize) -> f64 {
    let norm: f64 = a.iter().map(|v| v * v).sum();
    for _ in 0..30 {
        let mut off = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a[p * n + q];
                off += apq * apq;
                if apq * apq <= 1e-32 * norm {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                }
            }
        }
        if off <= 1e-28 * norm {
            break;
        }
    }
    (0..n).map(|i| a[i * n + i]).fold(f64::NEG_INFINITY, f64::max)
}

/// 2/ω_max of the whole model, s, by power iteration with Rayleigh quotients on M⁻¹K, where `internal_force` gives K u.
///
/// Approaches the limit from above (the eigenvalue from below), so use a few per cent less; `iterations` of 100 usually
/// leave under 1 %. Nodes without mass and constrained degrees of freedom do not take part.
///
/// # Errors
/// Wrong lengths; no mass at all.
pub fn global_stable_increment(
    lumped_mass: &[f64],
    dimension: usize,
    constrained: &[u64],
    iterations: usize,
    mut internal_force: impl FnMut(&[f64]) -> Vec<f64>,
) -> Result<f64, ElementError> {
    let n = lumped_mass.len() * dimension;
    let mut free: Vec<bool> = (0..n).map(|i| lumped_mass[i / dimension] > 0.0).collect();
    for &dof in constrained {
        if let Some(entry) = free.get_mut(dof as usize) {
            *entry = false;
        }
    }
    let mass = |i: usize| lumped_mass[i / dimension];
    // A rough start: neighbouring values differ, so the highest modes are in it.
    let mut u: Vec<f64> = (0..n as u64)
        .map(|i| {
            let bits = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) as i64 as f64 / i64::MAX as f64
        })
        .collect();
    let mut eigenvalue = 0.0f64;
    for _ in 0..iterations.max(1) {
        for (i, u) in u.iter_mut().enumerate() {
            if !free[i] {
                *u = 0.0;
            }
        }
        let norm: f64 = u.iter().enumerate().map(|(i, u)| mass(i) * u * u).sum();
        if !(norm > 0.0) {
            return Err(ElementError::NotPositive { what: "mass of the free nodes", value: norm });
        }
        let scale = 1.0 / norm.sqrt();
        u.iter_mut().for_each(|u| *u *= scale);
        let force = internal_force(&u);
        if force.len() != n {
            return Err(ElementError::Length { what: "internal force", expected: n, found: force.len() });
        }
        eigenvalue = eigenvalue.max(u.iter().zip(&force).map(|(u, f)| u * f).sum());
        for i in 0..n {
            u[i] = if free[i] { force[i] / mass(i) } else { 0.0 };
        }
    }
    if !(eigenvalue > 0.0) {
        return Err(ElementError::NotPositive { what: "largest ω²", value: eigenvalue });
    }
    Ok(2.0 / eigenvalue.sqrt())
}
