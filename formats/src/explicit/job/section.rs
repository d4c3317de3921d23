//! `[[section]]`: what a region is made of.

use serde::Deserialize;

use crate::job::check::positive;
use crate::words::{Choice, Word};

/// `[[section]]`: what a region is made of: `elset = "…"` or `all = true`. Elements of other dimension than the mesh
/// (edges and faces that a mesher adds) are never meant by `all`.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Element set of the deck.
    pub elset: Option<String>,
    /// Every element.
    #[serde(default)]
    pub all: bool,
    /// Name of a material of this job or of the deck.
    pub material: String,
    /// `"strain"` or `"stress"`: 2D elements become CPE or CPS; as in the deck when absent.
    pub plane: Option<Word<Plane>>,
    /// Integration of quadrilaterals and hexahedra: with one point (CPE4R, CPS4R, C3D8R) or fully (CPE4, CPS4, C3D8); as in the
    /// deck when absent.
    pub reduced: Option<bool>,
    /// Out-of-plane thickness of 2D elements, m; 1 when absent.
    pub thickness: Option<f64>,
    /// Direction of the material's axis 1 and a second vector in its 1-2 plane, each of three numbers.
    pub orientation: Option<[[f64; 3]; 2]>,
    /// Rotation of the material's axes about z (third axis), degrees anticlockwise. Instead of `orientation`.
    pub angle: Option<f64>,
    /// Factor on the hourglass stiffness of one-point elements; 1 when absent.
    pub hourglass_factor: Option<f64>,
    /// Factor on the density that inertia sees (mass scaling); 1 when absent.
    pub mass_factor: Option<f64>,
}

/// Plane strain or plane stress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// ε33 = 0: CPE elements.
    Strain,
    /// σ33 = 0: CPS elements.
    Stress,
}

impl Choice for Plane {
    const WORDS: &'static [(&'static str, Self)] = &[("strain", Self::Strain), ("stress", Self::Stress)];
}

impl Section {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.elset.is_some() == self.all {
            return Err("give `elset = \"…\"` or `all = true`".to_owned());
        }
        positive("thickness", self.thickness)?;
        positive("hourglass_factor", self.hourglass_factor)?;
        positive("mass_factor", self.mass_factor)?;
        self.material_from_global().map(|_| ())
    }

    /// Rows are the material's axes in global components; `None` where the job says nothing.
    ///
    /// # Errors
    /// A message when the two vectors are parallel, or both keys are there.
    pub fn material_from_global(&self) -> Result<Option<[f64; 9]>, String> {
        match (self.orientation, self.angle) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err("give `orientation` or `angle`, not both".to_owned()),
            (None, Some(angle)) => {
                let (s, c) = angle.to_radians().sin_cos();
                Ok(Some([c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0]))
            }
            (Some([a, b]), None) => {
                let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
                let cross = |u: [f64; 3], v: [f64; 3]| {
                    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
                };
                let unit = |u: [f64; 3]| u.map(|x| x / dot(u, u).sqrt());
                let normal = cross(a, b);
                let sine_squared = dot(normal, normal) / (dot(a, a) * dot(b, b));
                if sine_squared.is_nan() || sine_squared < 1e-20 {
                    return Err("the two vectors of `orientation` are parallel or have no length".to_owned());
                }
                let (e1, e3) = (unit(a), unit(normal));
                let e2 = cross(e3, e1);
                Ok(Some([e1[0], e1[1], e1[2], e2[0], e2[1], e2[2], e3[0], e3[1], e3[2]]))
            }
        }
    }
}
