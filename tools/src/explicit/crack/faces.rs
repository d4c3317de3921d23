//! The element faces that a crack opens: those between elements on both sides of its surface.
//!
//! An element is on the side on which its centre lies. On meshes without rows of faces along the surface that gives a saw
//! tooth. So elements that the surface cuts change sides, one after the other, where that lowers
//!
//! ```text
//! Σ A (1 + (d/h)²) over the faces between the sides + Σ Ā |d|/h over the elements on the other side than their centre
//! ```
//!
//! with A a face's area and Ā the mean of an element's faces, d the distance of their centres from the surface, and h the
//! longest edge. Where faces lie on the surface, no element is cut and exactly those are opened.

use std::collections::{HashMap, HashSet};

use pogo_formats::mesh::{ElementKind, Mesh};

use super::surface::Surface;
use crate::elements::{cross, elements, faces, norm, position, round, sub};

/// Nodes of a face in increasing order, padded with `u32::MAX`.
pub(super) type FaceKey = [u32; 4];

/// Most passes over the elements that may change sides.
const MOST_PASSES: usize = 100;

/// How near to the surface a node or centre lies on it, as a part of an element's longest edge: decks carry some six digits.
const ON_SURFACE: f64 = 1e-4;

/// A face to open, and its elements on the plus and on the minus side.
pub(super) type Pair = (FaceKey, [u32; 2]);

/// An element near the surface.
struct Near {
    element: u32,
    is_plus: bool,
    /// The side on which its centre lies.
    is_plus_by_centre: bool,
    /// The surface is nearer than its size.
    is_core: bool,
    /// The surface cuts it, so that it may change sides.
    is_cut: bool,
    /// |d|/h of its centre.
    height: f64,
    /// Its faces in the list of faces.
    faces: Vec<u32>,
}

/// A face near the surface.
struct Face {
    key: FaceKey,
    /// Places of its elements in the list of those near the surface.
    sides: Vec<u32>,
    /// Its area, more where it is far from the surface.
    weight: f64,
    /// It lies above the surface, not beyond the border.
    is_inside: bool,
}

/// What a face is sorted and compared by.
pub(super) fn key_of(face: &[u32; 4]) -> FaceKey {
    let mut key = *face;
    key.sort_unstable();
    key
}

/// Mean position of some nodes, m.
pub(super) fn centre(mesh: &Mesh, nodes: &[u32]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for &node in nodes {
        let at = position(mesh, node);
        (0..3).for_each(|axis| sum[axis] += at[axis]);
    }
    sum.map(|x| x / nodes.len() as f64)
}

/// Longest edge of an element, m.
pub(super) fn size(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    let mut longest = 0.0_f64;
    for face in faces(kind, nodes) {
        let face = round(&face);
        for (&a, &b) in face.iter().zip(face.iter().cycle().skip(1)) {
            longest = longest.max(norm(sub(position(mesh, a), position(mesh, b))));
        }
    }
    longest
}

/// Area times unit normal of a face, m²; in the plane length, m.
pub(super) fn area_vector(mesh: &Mesh, ordered: &[u32]) -> [f64; 3] {
    let between = |a: usize, b: usize| sub(position(mesh, ordered[b]), position(mesh, ordered[a]));
    match ordered.len() {
        2 => cross(between(0, 1), [0.0, 0.0, 1.0]),
        3 => cross(between(0, 1), between(0, 2)).map(|x| 0.5 * x),
        _ => cross(between(0, 2), between(1, 3)).map(|x| 0.5 * x),
    }
}

/// Finds the faces that a surface opens, sorted.
pub(super) fn find(mesh: &Mesh, surface: &Surface) -> Vec<Pair> {
    let mut near = near_elements(mesh, surface);
    let faces = near_faces(mesh, surface, &mut near);
    smooth(&mut near, &faces);
    let mut pairs = Vec::new();
    for face in faces.iter().filter(|face| face.is_inside) {
        if let [a, b] = *face.sides.as_slice() {
            let (a, b) = (&near[a as usize], &near[b as usize]);
            if a.is_plus != b.is_plus && (a.is_core || b.is_core) {
                let [plus, minus] = if a.is_plus { [a, b] } else { [b, a] };
                pairs.push((face.key, [plus.element, minus.element]));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The elements that the surface is nearer to than their size, and their neighbours.
fn near_elements(mesh: &Mesh, surface: &Surface) -> Vec<Near> {
    let [lower, upper] = surface.bounds;
    let mut is_touched = vec![false; mesh.n_nodes()];
    let mut core = HashSet::new();
    for (index, (kind, nodes)) in (0_u32..).zip(elements(mesh)) {
        // Most elements are far away. No edge is longer than twice the farthest node's distance from the centre.
        let at = centre(mesh, nodes);
        let reach = 2.0 * nodes.iter().map(|&node| norm(sub(position(mesh, node), at))).fold(0.0, f64::max);
        if (0..3).any(|axis| at[axis] < lower[axis] - reach || at[axis] > upper[axis] + reach) {
            continue;
        }
        if surface.foot(at).distance <= size(mesh, kind, nodes) {
            nodes.iter().for_each(|&node| is_touched[node as usize] = true);
            core.insert(index);
        }
    }
    let mut near = Vec::new();
    for (element, (kind, nodes)) in (0_u32..).zip(elements(mesh)) {
        let is_core = core.contains(&element);
        if is_core || nodes.iter().any(|&node| is_touched[node as usize]) {
            let size = size(mesh, kind, nodes);
            let height = surface.foot(centre(mesh, nodes)).height / size;
            let heights = nodes.iter().map(|&node| surface.foot(position(mesh, node)).height / size);
            let is_cut = is_core && {
                let (low, high) = heights.fold((0.0_f64, 0.0_f64), |(low, high), h| (low.min(h), high.max(h)));
                low < -ON_SURFACE && high > ON_SURFACE
            };
            let is_plus = height > -ON_SURFACE;
            let (height, faces) = (height.abs(), Vec::new());
            near.push(Near { element, is_plus, is_plus_by_centre: is_plus, is_core, is_cut, height, faces });
        }
    }
    near
}

/// The faces of elements near the surface.
fn near_faces(mesh: &Mesh, surface: &Surface, near: &mut [Near]) -> Vec<Face> {
    let (mut list, mut place): (Vec<Face>, HashMap<FaceKey, u32>) = (Vec::new(), HashMap::new());
    let mut wanted = (0_u32..).zip(near.iter_mut()).peekable();
    for (element, (kind, nodes)) in (0_u32..).zip(elements(mesh)) {
        let Some((index, item)) = wanted.next_if(|(_, item)| item.element == element) else { continue };
        let size = size(mesh, kind, nodes);
        for face in faces(kind, nodes) {
            let key = key_of(&face);
            let at = *place.entry(key).or_insert_with(|| {
                let foot = surface.foot(centre(mesh, round(&face)));
                let area = norm(area_vector(mesh, round(&face)));
                let is_inside = foot.beyond <= ON_SURFACE * size && foot.distance <= size;
                let weight = area * (1.0 + (foot.height / size).powi(2));
                list.push(Face { key, sides: Vec::new(), weight, is_inside });
                list.len() as u32 - 1
            });
            list[at as usize].sides.push(index);
            item.faces.push(at);
        }
    }
    list
}

/// Lets elements change sides while that lowers the sum at the head of this file.
fn smooth(near: &mut [Near], faces: &[Face]) {
    for _ in 0..MOST_PASSES {
        let mut has_changed = false;
        for index in 0..near.len() {
            if near[index].is_cut && gains(index, near, faces) {
                near[index].is_plus = !near[index].is_plus;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
}

/// Whether a change of side of this element lowers the sum.
fn gains(index: usize, near: &[Near], faces: &[Face]) -> bool {
    let this = &near[index];
    let (mut between, mut within, mut n_neighbours) = (0.0, 0.0, 0);
    for &face in &this.faces {
        let face = &faces[face as usize];
        for &other in face.sides.iter().filter(|&&other| other as usize != index) {
            n_neighbours += 1;
            let sum = if near[other as usize].is_plus == this.is_plus { &mut within } else { &mut between };
            *sum += face.weight;
        }
    }
    // The last element of a row would otherwise join the others, and the crack would leave the body.
    if within == 0.0 && n_neighbours < 2 {
        return false;
    }
    let mean = this.faces.iter().map(|&face| faces[face as usize].weight).sum::<f64>() / this.faces.len() as f64;
    let pull = this.height * mean;
    let (now, then) = if this.is_plus == this.is_plus_by_centre { (0.0, pull) } else { (pull, 0.0) };
    // More than rounding must be gained.
    between + now > (1.0 + 1e-6) * (within + then)
}
