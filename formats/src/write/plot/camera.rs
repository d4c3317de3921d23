//! An orthographic view of a box: from metres to pixels.

use crate::vector::{cross, dot, normalised};

/// The drawing's share of height over width.
const TALLEST: f64 = 1.1;
const FLATTEST: f64 = 0.2;
/// Pixels around what is drawn in the plane, and in space, where the numbers of the axes stand there.
const BORDER: f64 = 12.0;
const BORDER_3D: f64 = 110.0;

/// Where 3D models are looked at from: the front right, above.
const EYE: [f64; 3] = [0.62, -1.0, 0.52];

/// An orthographic view of a box.
#[derive(Debug, Clone, PartialEq)]
pub struct Camera {
    /// Directions of the picture's x, y (up) and depth (towards the eye).
    rows: [[f64; 3]; 3],
    /// Position (picture axes) of the lower left corner.
    origin: [f64; 2],
    /// Pixels a metre.
    scale: f64,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Lowest and highest corner of what is in view, m.
    pub bounds: [[f64; 3]; 2],
    /// Drawn in the plane: x to the right, y upwards.
    pub flat: bool,
}

impl Camera {
    /// A view of a box that is so many pixels wide; its height follows from the box. `eye` is the direction that it is looked
    /// at from; none: the front right, above. A box without depth is drawn in the plane.
    pub fn new(bounds: [[f64; 3]; 2], flat: bool, eye: Option<[f64; 3]>, width: usize) -> Self {
        let bounds = if bounds.iter().flatten().all(|x| x.is_finite()) { bounds } else { [[0.0; 3], [1.0; 3]] };
        let rows = if flat { [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] } else { view(eye.unwrap_or(EYE)) };
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for corner in corners(&bounds) {
            for axis in 0..2 {
                let x = dot(rows[axis], corner);
                (low[axis], high[axis]) = (low[axis].min(x), high[axis].max(x));
            }
        }
        let (dx, dy) = (high[0] - low[0], high[1] - low[1]);
        let (dx, dy) = if dx.max(dy) > 0.0 { (dx, dy) } else { (1.0, 1.0) };
        let border = if flat { BORDER } else { BORDER_3D };
        let inner = (width as f64 - 2.0 * border).max(1.0);
        let inner_height = (inner * dy / dx.max(1e-300)).clamp(FLATTEST * inner, TALLEST * inner);
        let scale = (inner / dx.max(1e-300)).min(inner_height / dy.max(1e-300));
        let height = (inner_height + 2.0 * border).round();
        let middle = |axis: usize| 0.5 * (low[axis] + high[axis]);
        let origin = [middle(0) - 0.5 * width as f64 / scale, middle(1) - 0.5 * height / scale];
        Self { rows, origin, scale, width, height: height as usize, bounds, flat }
    }

    /// Pixels from the upper left corner, x and y (down), and the depth towards the eye in pixels.
    pub fn project(&self, position: [f64; 3]) -> [f64; 3] {
        let [x, y, depth] = self.rows.map(|row| dot(row, position));
        let down = self.height as f64 - (y - self.origin[1]) * self.scale;
        [(x - self.origin[0]) * self.scale, down, depth * self.scale]
    }

    /// Pixels a metre.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Positions at the left and right end, and at the lower and upper end, of a view in the plane.
    pub(crate) fn window(&self) -> [[f64; 2]; 2] {
        let [x, y] = self.origin;
        [[x, x + self.width as f64 / self.scale], [y, y + self.height as f64 / self.scale]]
    }

    /// The direction of the picture's depth, towards the eye.
    pub(super) fn towards(&self) -> [f64; 3] {
        self.rows[2]
    }
}

/// The corners of a box.
pub(super) fn corners(bounds: &[[f64; 3]; 2]) -> [[f64; 3]; 8] {
    std::array::from_fn(|corner| std::array::from_fn(|axis| bounds[corner >> axis & 1][axis]))
}

/// Directions of the picture's x, y and depth, seen from `eye` with z up; from straight above or below, y up.
fn view(eye: [f64; 3]) -> [[f64; 3]; 3] {
    let eye = normalised(eye);
    let up = if eye[2].abs() > 0.999 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
    let right = normalised(cross(up, eye));
    [right, cross(eye, right), eye]
}

/// Lowest and highest coordinates of (n × dimension) positions; zeros where there is no third.
pub fn bounds(coordinates: &[f64], dimension: usize) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for point in coordinates.chunks_exact(dimension) {
        let [low, high] = &mut bounds;
        for (axis, (low, high)) in low.iter_mut().zip(high).enumerate() {
            let x = point.get(axis).copied().unwrap_or(0.0);
            *low = low.min(x);
            *high = high.max(x);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_fill_the_view_and_keep_their_proportions() {
        let plate = Camera::new([[0.0; 3], [40e-3, 20e-3, 0.0]], true, None, 1000);
        let ([left, bottom, _], [right, top, _]) = (plate.project([0.0; 3]), plate.project([40e-3, 20e-3, 0.0]));
        assert!((left - 12.0).abs() < 1e-9 && (right - 988.0).abs() < 1e-9, "{left} {right}");
        assert!((bottom - top - 488.0).abs() < 1e-9 && plate.height == 512, "{bottom} {top} {}", plate.height);
        for eye in [None, Some([1.0, 0.0, 0.0]), Some([0.0, 0.0, -1.0])] {
            let camera = Camera::new([[-1.0; 3], [2.0; 3]], false, eye, 800);
            for [x, y, _] in corners(&camera.bounds).map(|corner| camera.project(corner)) {
                assert!((0.0..=800.0).contains(&x) && (0.0..=camera.height as f64).contains(&y), "{eye:?}: {x} {y}");
            }
        }
        let nothing = Camera::new([[0.0; 3]; 2], true, None, 500);
        assert!(nothing.project([0.0; 3]).iter().all(|x| x.is_finite()) && nothing.height > 0);
    }
}
