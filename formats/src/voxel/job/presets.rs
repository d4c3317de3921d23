//! `[load]` as conditions on the faces of a box.

use super::load::{Load, Preset};
use crate::voxel::setup::{
    Analysis, LoadCase, Magnitude, MagnitudeKind, NodeRegion, PrescribedField, RegionForce, ScaleTo, Share,
    TensorBoundary,
};
use crate::words::Choice;

/// The specimen's box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Specimen {
    /// Lowest and highest node indices.
    pub bounds: [[u32; 3]; 2],
    /// Edge of a voxel.
    pub spacing: f64,
    /// Position of node (0, 0, 0).
    pub origin: [f64; 3],
}

/// Names of the six cases, in Voigt's order.
const VOIGT: [(&str, [usize; 2]); 6] =
    [("xx", [0, 0]), ("yy", [1, 1]), ("zz", [2, 2]), ("yz", [1, 2]), ("xz", [0, 2]), ("xy", [0, 1])];

/// A face's name, as jobs write it.
pub(super) fn side_name(side: (u8, bool)) -> &'static str {
    side.word()
}

/// The face of this name.
pub(super) fn side_called(name: &str) -> Option<(u8, bool)> {
    Choice::named(name)
}

impl Specimen {
    /// Nodes of a face.
    pub(super) fn face(&self, (axis, upper): (u8, bool)) -> NodeRegion {
        let [mut low, mut high] = self.bounds;
        let axis = usize::from(axis);
        if upper {
            low[axis] = high[axis]
        } else {
            high[axis] = low[axis]
        }
        NodeRegion::Box { low, high }
    }

    fn length(&self, axis: u8) -> f64 {
        let [low, high] = self.bounds;
        f64::from(high[usize::from(axis)] - low[usize::from(axis)]) * self.spacing
    }

    fn centre(&self) -> [f64; 3] {
        let [low, high] = self.bounds;
        [0, 1, 2].map(|axis| self.origin[axis] + 0.5 * self.spacing * (f64::from(low[axis]) + f64::from(high[axis])))
    }
}

/// What a preset comes to.
pub(super) struct Test {
    pub magnitudes: Vec<Magnitude>,
    pub cases: Vec<LoadCase>,
    pub analysis: Analysis,
}

fn unit(component: u8) -> [f64; 3] {
    let mut vector = [0.0; 3];
    vector[usize::from(component)] = 1.0;
    vector
}

/// A with A r = e × r, e the unit vector of an axis.
fn turning(axis: u8) -> [f64; 9] {
    let (a, b, c) = (usize::from(axis), (usize::from(axis) + 1) % 3, (usize::from(axis) + 2) % 3);
    let mut gradient = [0.0; 9];
    gradient[3 * b + c] = -1.0;
    gradient[3 * c + b] = 1.0;
    debug_assert!(gradient[3 * a..3 * a + 3] == [0.0; 3]);
    gradient
}

/// What the load's number means, and how far the face moves for one of it.
enum Amount {
    /// The field times this magnitude and this factor.
    Of(Magnitude, f64),
    /// The field times this factor, and the whole solution to this reaction afterwards.
    ScaledTo(Magnitude, f64),
}

fn amount(load: &Load, length: f64, upper: bool) -> Amount {
    let magnitude = |name: &str, kind, value| Magnitude { name: format!("load.{name}"), kind, value };
    let outwards = if upper { length } else { -length };
    match load {
        Load { strain: Some(value), .. } => Amount::Of(magnitude("strain", MagnitudeKind::Strain, *value), outwards),
        Load { displacement: Some(value), .. } => {
            Amount::Of(magnitude("displacement", MagnitudeKind::Displacement, *value), 1.0)
        }
        Load { angle: Some(value), .. } => Amount::Of(magnitude("angle", MagnitudeKind::Angle, *value), 1.0),
        Load { force: Some(value), .. } => {
            Amount::ScaledTo(magnitude("force", MagnitudeKind::Force, *value), 0.01 * length)
        }
        Load { moment, .. } => {
            Amount::ScaledTo(magnitude("moment", MagnitudeKind::Moment, moment.unwrap_or_default()), 0.01)
        }
    }
}

/// Conditions of a preset that has been checked.
pub(super) fn test(load: &Load, specimen: &Specimen) -> Result<Test, String> {
    let (axis, upper) = load.moving_side()?;
    if load.preset == Preset::SixCases {
        return Ok(six_cases(load, specimen));
    }
    let (moving, resting) = ((axis, upper), (axis, !upper));
    let next = (axis + 1) % 3;
    let mut case = LoadCase::default();
    let (magnitude, factor, scale) = match amount(load, specimen.length(axis), upper) {
        Amount::Of(magnitude, factor) => (magnitude, factor, false),
        Amount::ScaledTo(magnitude, factor) => (magnitude, factor, true),
    };
    let centre = specimen.centre();
    let mut prescribe = |side: (u8, bool), components: [bool; 3], constant: [f64; 3], gradient: [f64; 9]| {
        let moves = constant != [0.0; 3] || gradient != [0.0; 9];
        case.displacements.push(PrescribedField {
            name: side_name(side).into(),
            region: specimen.face(side),
            components,
            magnitude: (moves && !scale).then_some(0),
            constant: constant.map(|c| c * factor),
            gradient: gradient.map(|a| a * factor),
            centre,
        });
    };
    let only = |component: u8| [0, 1, 2].map(|other| other == component);
    let (zero, none, all) = ([0.0; 3], [0.0; 9], [true; 3]);
    let mut scaled = (axis, None);
    let analysis = match load.preset {
        Preset::Axial => {
            prescribe(resting, all, zero, none);
            prescribe(moving, all, unit(axis), none);
            Analysis::Uniaxial { axis, confined: false }
        }
        Preset::Uniaxial | Preset::Confined => {
            let confined = load.preset == Preset::Confined;
            for side in [next, (axis + 2) % 3].into_iter().filter(|_| confined) {
                prescribe((side, false), only(side), zero, none);
                prescribe((side, true), only(side), zero, none);
            }
            prescribe(resting, only(axis), zero, none);
            prescribe(moving, only(axis), unit(axis), none);
            case.hold_rigid_motion = !confined;
            Analysis::Uniaxial { axis, confined }
        }
        Preset::Shear => {
            let direction = load.direction.map_or(next, |component| component.0);
            prescribe(resting, all, zero, none);
            prescribe(moving, all, unit(direction), none);
            scaled = (direction, None);
            Analysis::Shear { axis, direction }
        }
        Preset::Bending => {
            let about = load.about.map_or(next, |component| component.0);
            let turn = turning(about);
            prescribe(resting, only(axis), zero, turn.map(|a| -0.5 * a));
            prescribe(moving, only(axis), zero, turn.map(|a| 0.5 * a));
            case.hold_rigid_motion = true;
            scaled = (about, Some(centre));
            Analysis::Bending { axis, about }
        }
        Preset::Torsion => {
            prescribe(resting, all, zero, none);
            prescribe(moving, all, zero, turning(axis));
            scaled = (axis, Some(centre));
            Analysis::Torsion { axis }
        }
        Preset::SixCases => Analysis::Own,
    };
    let (direction, moment_about) = scaled;
    case.scale_to = scale.then(|| ScaleTo { magnitude: 0, region: specimen.face(moving), direction, moment_about });
    Ok(Test { magnitudes: vec![magnitude], cases: vec![case], analysis })
}

/// Six macroscopic strains (or stresses), one a case.
fn six_cases(load: &Load, specimen: &Specimen) -> Test {
    let boundary = load.boundary.map_or(TensorBoundary::Kinematic, |word| word.0);
    let [low, high] = specimen.bounds;
    let magnitude = match boundary {
        TensorBoundary::Static => {
            Magnitude { name: "load.stress".into(), kind: MagnitudeKind::Stress, value: load.stress.unwrap_or(1.0) }
        }
        _ => Magnitude { name: "load.strain".into(), kind: MagnitudeKind::Strain, value: load.strain.unwrap_or(0.01) },
    };
    let case = |(name, [i, j]): (&str, [usize; 2])| {
        let mut tensor = [0.0; 9];
        let mut case = LoadCase { name: name.into(), ..LoadCase::default() };
        if boundary == TensorBoundary::Static {
            (tensor[3 * i + j], tensor[3 * j + i]) = (1.0, 1.0);
            for axis in 0..3_u8 {
                let column = [0, 1, 2].map(|row| tensor[3 * row + usize::from(axis)]);
                for upper in [false, true].into_iter().filter(|_| column != [0.0; 3]) {
                    case.forces.push(RegionForce {
                        name: side_name((axis, upper)).into(),
                        region: specimen.face((axis, upper)),
                        share: Share::Traction { axis, upper },
                        magnitude: Some(0),
                        vector: column.map(|t| if upper { t } else { -t }),
                    });
                }
            }
            (case.balanced, case.hold_rigid_motion) = (true, true);
        } else {
            // Engineering shears: γ = 1 is ε_ij = ε_ji = ½.
            let size = if i == j { 1.0 } else { 0.5 };
            (tensor[3 * i + j], tensor[3 * j + i]) = (size, size);
            case.displacements.push(PrescribedField {
                name: "surface".into(),
                region: NodeRegion::Surface { low, high },
                components: [true; 3],
                magnitude: Some(0),
                constant: [0.0; 3],
                gradient: tensor,
                centre: specimen.centre(),
            });
        }
        case
    };
    Test { magnitudes: vec![magnitude], cases: VOIGT.map(case).into(), analysis: Analysis::Tensor(boundary) }
}
