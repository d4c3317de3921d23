//! `[load]`: standard tests by name.

use serde::Deserialize;

use crate::job::check::quoted;
use crate::job::{Component, Sides};
use crate::voxel::setup::TensorBoundary;
use crate::words::{Choice, Word};

/// `[load]`: a standard test on the specimen's box.
///
/// The *box* is the bounding box of the solid voxels, or the whole image (`bounds = "image"`); its faces are the planes
/// of nodes `xmin`, …, `zmax`, its length L along the axis and its cross-section A, holes included, give strains and
/// stresses. One face moves, the opposite one rests. With `axis = "z"`:
///
/// | preset | zmin | zmax | sides | also called |
/// |---|---|---|---|---|
/// | `axial` (or `clamped`) | u = 0 | u_z = ε L, u_x = u_y = 0 | free | "axial" in FAIM and parosol-py, glued to the platens |
/// | `uniaxial` | u_z = 0 | u_z = ε L | free | "uniaxial" there: frictionless platens |
/// | `confined` | u_z = 0 | u_z = ε L | normal component 0 | "confined" there: frictionless walls |
/// | `shear` | u = 0 | u_direction = γ L, the others 0 | free | |
/// | `bending` | u_z = −½ θ s | u_z = ½ θ s | free | pure bending; s is the distance from the axis of rotation `about` |
/// | `torsion` | u = 0 | turned by θ about the box's axis, u_z = 0 | free | |
/// | `six-cases` | six macroscopic strains or stresses, see `boundary` | | | direct mechanics |
///
/// What `uniaxial` and `bending` leave free of rigid motion is held at single degrees of freedom, where the reaction is nil.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Load {
    pub preset: Preset,
    /// Axis of the test: `"z"` (default).
    pub axis: Option<Component>,
    /// The face that moves, such as `"zmax"` (the upper one of the axis by default); says the axis too.
    pub side: Option<Sides>,
    /// Of `shear`: where the face slides to; the next axis in the order x, y, z by default.
    pub direction: Option<Component>,
    /// Of `bending`: the axis that the ends turn about; the next axis in the order x, y, z by default.
    pub about: Option<Component>,
    /// ε, negative in compression; of `shear` the angle γ; of `six-cases` the size of each case's strain.
    pub strain: Option<f64>,
    /// Instead: displacement of the moving face, along the positive axis or `direction`.
    pub displacement: Option<f64>,
    /// Instead: total force on the moving face, along the positive axis or `direction`; the face still moves as a rigid one.
    pub force: Option<f64>,
    /// Of `bending` and `torsion`: θ between the ends, degrees.
    pub angle: Option<f64>,
    /// Instead: the moment about the axis on the moving face.
    pub moment: Option<f64>,
    /// Of static `six-cases`: the size of each case's stress.
    pub stress: Option<f64>,
    /// `"solid"` (default) or `"image"`.
    #[serde(default)]
    pub bounds: Bounds,
    /// Of `six-cases`: `"kinematic"` (default), `"static"` or `"periodic"`.
    pub boundary: Option<Word<TensorBoundary>>,
}

/// Tests of [`Load`].
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Along an axis, ends held sideways.
    #[serde(alias = "clamped")]
    Axial,
    /// Along an axis, ends free to slide.
    Uniaxial,
    /// Along an axis, sides held.
    Confined,
    /// Ends slide over each other.
    Shear,
    /// Ends turn against each other about an axis in their plane.
    Bending,
    /// Ends turn against each other about the axis.
    Torsion,
    /// Six macroscopic strains or stresses.
    SixCases,
}

/// Boxes of [`Load`].
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Bounds {
    /// Bounding box of the solid voxels.
    #[default]
    Solid,
    /// The whole image.
    Image,
}

impl Choice for TensorBoundary {
    const WORDS: &'static [(&'static str, Self)] =
        &[("kinematic", Self::Kinematic), ("static", Self::Static), ("periodic", Self::Periodic)];
}

impl Load {
    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        use Preset::{Axial, Bending, Confined, Shear, SixCases, Torsion, Uniaxial};
        self.moving_side()?;
        let allowed: &[&str] = match self.preset {
            Axial | Uniaxial | Confined => &["strain", "displacement", "force"],
            Shear => &["direction", "strain", "displacement", "force"],
            Bending => &["about", "angle", "moment"],
            Torsion => &["angle", "moment"],
            SixCases if self.boundary == Some(Word(TensorBoundary::Static)) => &["stress", "boundary"],
            SixCases => &["strain", "boundary"],
        };
        let given = [
            ("direction", self.direction.is_some()),
            ("about", self.about.is_some()),
            ("strain", self.strain.is_some()),
            ("displacement", self.displacement.is_some()),
            ("force", self.force.is_some()),
            ("angle", self.angle.is_some()),
            ("moment", self.moment.is_some()),
            ("stress", self.stress.is_some()),
            ("boundary", self.boundary.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(key, given)| *given && !allowed.contains(key)) {
            return Err(format!("`{key}` does not go with this preset, which knows {}", quoted(allowed)));
        }
        let sizes: Vec<&str> = given[2..8].iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
        let known: Vec<&str> = allowed.iter().copied().filter(|key| !["direction", "about"].contains(key)).collect();
        match sizes.as_slice() {
            [_] => {}
            [] if self.preset == SixCases => {}
            [] => return Err(format!("how much? give one of {}", quoted(&known))),
            [one, other, ..] => return Err(format!("give `{one}` or `{other}`, not both")),
        }
        let zero = |value: Option<f64>| value == Some(0.0);
        if self.preset == SixCases
            && (zero(self.strain) || zero(self.stress) || self.side.is_some() || self.axis.is_some())
        {
            return Err("six cases take no axis, and their size must not be 0".to_owned());
        }
        let axis = self.moving_side()?.0;
        for (key, component) in [("direction", self.direction), ("about", self.about)] {
            if component.is_some_and(|component| component.0 == axis) {
                return Err(format!("`{key}` must not be the axis of the test"));
            }
        }
        Ok(())
    }

    /// Axis of the test and whether its upper face moves.
    pub(super) fn moving_side(&self) -> Result<(u8, bool), String> {
        match (&self.side, self.axis) {
            (None, axis) => Ok((axis.map_or(2, |component| component.0), true)),
            (Some(Sides(sides)), axis) => match sides.as_slice() {
                [(side, upper)] if axis.is_none_or(|axis| axis.0 == *side) => Ok((*side, *upper)),
                [_] => Err("`axis` and `side` contradict each other; `side` alone is enough".to_owned()),
                _ => Err("`side` of a test is one face, the one that moves".to_owned()),
            },
        }
    }
}
