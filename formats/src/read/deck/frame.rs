//! Coordinate frames: `*SYSTEM`, the placement of instances, `*ORIENTATION`.

use crate::vector::{Vector, cross, difference, dot};

/// x = origin + R x′, the columns of R being the frame's axes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    /// Where x′ = 0 lies.
    pub origin: Vector,
    /// R, row-major.
    pub rotation: [f64; 9],
}

pub(super) const IDENTITY: [f64; 9] = [1., 0., 0., 0., 1., 0., 0., 0., 1.];

impl Frame {
    /// The frame of the model.
    pub const GLOBAL: Self = Self { origin: [0.; 3], rotation: IDENTITY };

    /// The frame of `*SYSTEM`: origin a, point b on the x′ axis, point c in the x′y′ plane; none for an empty card.
    pub fn from_system(values: &[f64]) -> Result<Option<Self>, String> {
        if values.is_empty() {
            return Ok(None);
        }
        let point = |i: usize| -> Vector { std::array::from_fn(|k| values.get(3 * i + k).copied().unwrap_or(0.)) };
        let origin = point(0);
        if values.len() <= 3 {
            return Ok(Some(Self { origin, rotation: IDENTITY }));
        }
        let x = difference(point(1), origin);
        let rotation = if values.len() > 6 {
            axes(x, difference(point(2), origin)).ok_or("the three points of *SYSTEM lie on one line")?
        } else if x[2] == 0. {
            axes(x, [-x[1], x[0], 0.]).ok_or("the two points of *SYSTEM coincide")?
        } else {
            return Err("*SYSTEM needs a third point where its x axis leaves the xy plane".into());
        };
        Ok(Some(Self { origin, rotation: transpose(&rotation) }))
    }

    /// Placement of an instance: translation, then a rotation by an angle in degrees about the axis through a and b.
    pub fn from_instance(translation: &[f64], rotation: Option<&[f64]>) -> Result<Self, String> {
        let mut frame = Self::GLOBAL;
        for (to, from) in frame.origin.iter_mut().zip(translation) {
            *to = *from;
        }
        let Some(values) = rotation else { return Ok(frame) };
        let &[ax, ay, az, bx, by, bz, degrees] = values else {
            return Err("a rotation has seven numbers: two points of its axis and an angle in degrees".into());
        };
        let a = [ax, ay, az];
        let axis = unit(difference([bx, by, bz], a)).ok_or("the two points of the rotation's axis coincide")?;
        let turn = rotation_about(axis, degrees);
        // a + T (translation + x − a): the rotation acts on the translated part.
        let moved = apply(&turn, difference(frame.origin, a));
        Ok(Self { origin: std::array::from_fn(|k| a[k] + moved[k]), rotation: turn })
    }

    pub fn is_identity(&self) -> bool {
        *self == Self::GLOBAL
    }

    /// Global position of a local one.
    pub fn apply(&self, x: Vector) -> Vector {
        let turned = apply(&self.rotation, x);
        std::array::from_fn(|k| self.origin[k] + turned[k])
    }
}

/// Rows: the unit vectors 1, 2, 3 of the frame whose 1 axis is `x` and whose 12 plane holds `in_plane`.
pub(super) fn axes(x: Vector, in_plane: Vector) -> Option<[f64; 9]> {
    let e1 = unit(x)?;
    let e3 = unit(cross(e1, unit(in_plane)?))?;
    let e2 = cross(e3, e1);
    Some([e1[0], e1[1], e1[2], e2[0], e2[1], e2[2], e3[0], e3[1], e3[2]])
}

/// Rodrigues: the rotation by an angle in degrees about a unit axis.
pub(super) fn rotation_about(axis: Vector, degrees: f64) -> [f64; 9] {
    let (sine, cosine) = match degrees.rem_euclid(360.) {
        // Right angles come out exact.
        0. => (0., 1.),
        90. => (1., 0.),
        180. => (0., -1.),
        270. => (-1., 0.),
        other => other.to_radians().sin_cos(),
    };
    let [x, y, z] = axis;
    let v = 1. - cosine;
    [
        cosine + x * x * v,
        x * y * v - z * sine,
        x * z * v + y * sine,
        y * x * v + z * sine,
        cosine + y * y * v,
        y * z * v - x * sine,
        z * x * v - y * sine,
        z * y * v + x * sine,
        cosine + z * z * v,
    ]
}

/// M x.
pub(super) fn apply(matrix: &[f64; 9], x: Vector) -> Vector {
    std::array::from_fn(|i| (0..3).map(|j| matrix[3 * i + j] * x[j]).sum())
}

/// A B.
pub(super) fn product(a: &[f64; 9], b: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|n| (0..3).map(|k| a[3 * (n / 3) + k] * b[3 * k + n % 3]).sum())
}

pub(super) fn transpose(m: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|n| m[3 * (n % 3) + n / 3])
}

/// The unit vector; none for a zero or indefinite one.
pub(super) fn unit(a: Vector) -> Option<Vector> {
    let norm = dot(a, a).sqrt();
    (norm > 1e-9 * f64::EPSILON && norm.is_finite()).then(|| a.map(|x| x / norm))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Vector, b: Vector) -> bool {
        difference(a, b).iter().all(|d| d.abs() < 1e-12)
    }

    #[test]
    fn instances_are_translated_and_then_rotated() {
        let frame = Frame::from_instance(&[1., 0., 0.], Some(&[1., 0., 0., 1., 0., 5., 90.])).unwrap();
        assert!(close(frame.apply([2., 0., 3.]), [1., 2., 3.]));
        let frame = Frame::from_instance(&[1., 0., 0.], Some(&[0., 0., 0., 0., 0., 1., 90.])).unwrap();
        assert!(close(frame.apply([0., 0., 0.]), [0., 1., 0.]));
        assert!(Frame::from_instance(&[], Some(&[0.; 7])).is_err());
        assert!(Frame::from_instance(&[0.; 3], Some(&[0.; 6])).is_err());
    }

    #[test]
    fn system_frames() {
        assert_eq!(Frame::from_system(&[]), Ok(None));
        let frame = Frame::from_system(&[44., 0., 0., 44., 0., 1., 44., -1., 0.]).unwrap().unwrap();
        assert!(close(frame.apply([1., 0., 0.]), [44., 0., 1.]));
        assert!(close(frame.apply([0., 1., 0.]), [44., -1., 0.]));
        let frame = Frame::from_system(&[1., 2., 0., 1., 3., 0.]).unwrap().unwrap();
        assert!(close(frame.apply([1., 0., 7.]), [1., 3., 7.]));
        assert!(Frame::from_system(&[0., 0., 0., 0., 0., 1.]).is_err());
    }

    #[test]
    fn rotations_are_orthogonal() {
        let axis = unit([1., -2., 0.5]).unwrap();
        let turn = rotation_about(axis, 37.);
        let identity = product(&turn, &transpose(&turn));
        assert!(identity.iter().zip(IDENTITY).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(close(apply(&turn, axis), axis));
    }
}
