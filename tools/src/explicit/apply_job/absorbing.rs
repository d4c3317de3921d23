//! The elements of absorbing layers, and their depths.

use pogo_formats::job::Sides;
use pogo_formats::mesh::Mesh;

use crate::elements::elements;

/// Elements of a layer and the depth fraction X of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// Element indices, increasing.
    pub elements: Vec<u32>,
    /// X in (0, 1], (n,): 0 at the inner face, 1 at the outer.
    pub depth_fraction: Vec<f64>,
}

/// The elements whose centre lies within `depth` of one of the `sides` of a bounding box, among those that `member`
/// accepts. Where sides meet, the larger X counts.
pub fn layer(
    mesh: &Mesh,
    bounds: ([f64; 3], [f64; 3]),
    sides: &Sides,
    depth: f64,
    member: impl Fn(u32) -> bool,
) -> Layer {
    let dimension = mesh.dimension as usize;
    let (lower, upper) = bounds;
    let mut layer = Layer::default();
    for (index, (_, element)) in (0_u32..).zip(elements(mesh)) {
        let fraction = sides.0.iter().fold(0.0_f64, |largest, &(axis, is_upper)| {
            let axis = usize::from(axis);
            if axis >= dimension {
                return largest;
            }
            let sum: f64 = element.iter().map(|&node| mesh.coordinates[node as usize * dimension + axis]).sum();
            let centre = sum / element.len() as f64;
            let from_side = if is_upper { upper[axis] - centre } else { centre - lower[axis] };
            largest.max(1.0 - from_side / depth)
        });
        if fraction > 0.0 && member(index) {
            layer.elements.push(index);
            layer.depth_fraction.push(fraction.min(1.0));
        }
    }
    layer
}
