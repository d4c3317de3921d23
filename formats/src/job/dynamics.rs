//! The tables that all runs over time share: amplitudes, sources, boundaries, initial velocities and monitors.

use super::check::{each, exactly_one, named, unique};
use super::{
    Amplitude, AmplitudeReference, Component, Components, JobError, List, Located, Tables, Variables, point, table,
};
use crate::dynamics::{BoundaryKind, NodalQuantity, OutputInterval};
use crate::words::{Choice, Word};

/// The tables that all runs over time share.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Dynamics {
    pub amplitudes: Vec<Located<Amplitude>>,
    pub sources: Vec<Located<Source>>,
    pub boundaries: Vec<Located<Boundary>>,
    pub initial_velocities: Vec<Located<InitialVelocity>>,
    pub monitors: Vec<Located<Monitor>>,
}

table! { [place]
/// `[[source]]`: a force or a prescribed motion. Where: one of `at`, `line`, `box`, `nset`, `side`, `all`. Which way: one of
/// `direction`, `component`, `angle`. What: one of `force`, `displacement`, `velocity`, `acceleration`; in a fluid one of
/// `pressure`, `volume_acceleration`, which have no direction.
///
/// A force is the total. Along a line it is shared in proportion to the length that belongs to each node. Over a set, box or
/// side it is shared in proportion to the area of the surface that belongs to each node, or equally where the nodes are not
/// part of the surface. So is a volume acceleration. A motion or a pressure is given to every node. A motion that is not along an axis prescribes each component that
/// its direction has, so that the nodes do not move sideways. It wins over a boundary condition of the same component.
pub struct Source {
    /// Name, for changes by name and in `pogo-info`; `SOURCE` and a number when absent.
    pub name: Option<String>,
    /// Direction vector, of any length but 0.
    pub direction: Option<Vec<f64>>,
    /// 1, 2, 3 or `"x"`, `"y"`, `"z"`.
    pub component: Option<Component>,
    /// 2D: direction by its angle from x, degrees anticlockwise.
    pub angle: Option<f64>,
    /// N in total (a metre of thickness in plane strain with thickness 1).
    pub force: Option<f64>,
    /// m.
    pub displacement: Option<f64>,
    /// m/s.
    pub velocity: Option<f64>,
    /// m/s².
    pub acceleration: Option<f64>,
    /// Pa, at nodes of a fluid.
    pub pressure: Option<f64>,
    /// Rate of the flow of volume into a fluid, in total, m³/s²: a point source of A m³/s² gives the pressure ρA/(4πr).
    pub volume_acceleration: Option<f64>,
    /// Name of an amplitude, or one written here: `{ kind = "hann", frequency = 2e6, cycles = 5 }`; constant 1 when absent.
    pub amplitude: Option<AmplitudeReference>,
}
}

table! { [place]
/// `[[boundary]]`: prescribes components of some nodes; fixed when no value is given. Where: one of `at`, `line`, `box`,
/// `nset`, `side`, `all`.
pub struct Boundary {
    /// Name, for changes by name; `FIX` and a number when absent.
    pub name: Option<String>,
    /// Components, `[1, 2]`, `"x"` or `"all"` (default).
    #[serde(default)]
    pub components: Components,
    /// m, m/s, m/s² or Pa; 0 when absent.
    #[serde(default)]
    pub value: f64,
    /// `"displacement"` (default), `"velocity"` or `"acceleration"`; `"pressure"` at nodes of a fluid, without `components`.
    #[serde(rename = "type")]
    pub kind: Option<Word<BoundaryKind>>,
    /// Name of an amplitude, or one written here.
    pub amplitude: Option<AmplitudeReference>,
}
}

table! { [place]
/// `[[initial_velocity]]`: velocity at t = 0. Where: one of `at`, `line`, `box`, `nset`, `side`, `all`.
pub struct InitialVelocity {
    /// Name, for changes by name; `VELOCITY` and a number when absent.
    pub name: Option<String>,
    /// Velocity vector, m/s.
    pub velocity: Vec<f64>,
}
}

table! { [place, timing]
/// `[[monitor]]`: traces of nodes. Where: one of `at`, `line` (with `points`), `box`, `nset`, `side`, `all`. When: one of
/// `every`, `interval`, `count`; every increment when absent.
pub struct Monitor {
    /// Name in the column headings; `MONITOR` and a number when absent.
    pub name: Option<String>,
    /// Takes, instead of the nodes along `line`, the nodes nearest to this many points on it, its ends included.
    pub points: Option<usize>,
    /// `"POR"` (pressure of a fluid), `"U"`, `"V"`, `"A"`, `"RF"` for all components, or `"U2"` and the like; `["U"]` when absent.
    #[serde(default)]
    pub variables: Variables,
    /// One trace instead of one a node: Σ weight × value. A number for all nodes or a list with one each; `variables` then
    /// names one component, such as `"U2"`.
    pub weights: Option<List<f64>>,
}
}

impl Choice for BoundaryKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("displacement", Self::Displacement),
        ("velocity", Self::Velocity),
        ("acceleration", Self::Acceleration),
        ("pressure", Self::Pressure),
    ];
}

/// What a source does: a total force (N) or a motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// N.
    Force(f64),
    /// m, m/s or m/s².
    Motion(BoundaryKind, f64),
    /// Pa.
    Pressure(f64),
    /// m³/s².
    Volume(f64),
}

impl Dynamics {
    /// Takes the tables, and reads the files of amplitudes.
    pub(crate) fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError> {
        let mut taken = Self {
            amplitudes: tables.get_all("amplitude")?,
            sources: tables.get_all("source")?,
            boundaries: tables.get_all("boundary")?,
            initial_velocities: tables.get_all("initial_velocity")?,
            monitors: tables.get_all("monitor")?,
        };
        for item in &mut taken.amplitudes {
            item.value.load(&item.place.folder).map_err(|message| item.place.error(message))?;
        }
        let sources = taken.sources.iter_mut().map(|item| (&item.place, &mut item.value.amplitude));
        let boundaries = taken.boundaries.iter_mut().map(|item| (&item.place, &mut item.value.amplitude));
        for (place, amplitude) in sources.chain(boundaries) {
            load(place, amplitude)?;
        }
        Ok(taken)
    }

    /// Checks what can be checked without the mesh.
    pub(crate) fn check(&self) -> Result<(), JobError> {
        each(&self.amplitudes, |amplitude| named(Some(&amplitude.name)))?;
        each(&self.sources, |source| {
            named(source.name.as_deref())?;
            source.region()?;
            source.action()?;
            source.check_direction()
        })?;
        each(&self.boundaries, |boundary| {
            boundary.region()?;
            let is_pressure = boundary.kind.is_some_and(|word| word.0 == BoundaryKind::Pressure);
            match is_pressure && boundary.components != Components::All {
                true => Err("a pressure has no `components`".to_owned()),
                false => Ok(()),
            }
        })?;
        each(&self.initial_velocities, |velocity| velocity.region().map(|_| ()))?;
        each(&self.monitors, |monitor| {
            named(monitor.name.as_deref())?;
            monitor.region()?;
            match monitor.points {
                Some(_) if monitor.line.is_none() => return Err("`points` goes with `line`".to_owned()),
                Some(0 | 1 | 100_001..) => return Err("`points` must lie between 2 and 100000".to_owned()),
                _ => {}
            }
            monitor.check_weights()?;
            monitor.when().map(|_| ())
        })?;
        unique("amplitude", &self.amplitudes, |item| Some(&item.name))?;
        unique("source", &self.sources, |item| item.name.as_deref())?;
        unique("monitor", &self.monitors, |item| item.name.as_deref())
    }
}

impl Dynamics {
    /// Refuses what only fluids have, in jobs of physics without them.
    pub(crate) fn check_no_fluid(&self) -> Result<(), JobError> {
        const NONE: &str = "there are no fluids in this kind of physics";
        let refuse = |is_fluid: bool| if is_fluid { Err(NONE.to_owned()) } else { Ok(()) };
        each(&self.sources, |source| refuse(matches!(source.action()?, Action::Pressure(_) | Action::Volume(_))))?;
        each(&self.boundaries, |held| refuse(held.kind.is_some_and(|word| word.0 == BoundaryKind::Pressure)))?;
        each(&self.monitors, |monitor| {
            refuse(monitor.variables.0.iter().any(|variable| variable.0 == NodalQuantity::Pressure))
        })
    }
}

/// Reads the file of an amplitude that is written where it is used, and checks it.
pub(crate) fn load(place: &super::Place, amplitude: &mut Option<AmplitudeReference>) -> Result<(), JobError> {
    match amplitude {
        Some(amplitude) => amplitude.load(&place.folder).map_err(|message| place.error(message)),
        None => Ok(()),
    }
}

impl Source {
    /// What the source does.
    ///
    /// # Errors
    /// A message when no key says what, or more than one.
    pub fn action(&self) -> Result<Action, String> {
        exactly_one([
            ("force", self.force.map(Action::Force)),
            ("displacement", self.displacement.map(|value| Action::Motion(BoundaryKind::Displacement, value))),
            ("velocity", self.velocity.map(|value| Action::Motion(BoundaryKind::Velocity, value))),
            ("acceleration", self.acceleration.map(|value| Action::Motion(BoundaryKind::Acceleration, value))),
            ("pressure", self.pressure.map(Action::Pressure)),
            ("volume_acceleration", self.volume_acceleration.map(Action::Volume)),
        ])
    }

    /// Exactly one of the keys that give a direction; none for a source in a fluid.
    pub(crate) fn check_direction(&self) -> Result<(), String> {
        if let Action::Pressure(_) | Action::Volume(_) = self.action()? {
            let has_direction = self.direction.is_some() || self.component.is_some() || self.angle.is_some();
            return match has_direction {
                true => Err("`pressure` and `volume_acceleration` have no direction".to_owned()),
                false => Ok(()),
            };
        }
        exactly_one([
            ("direction", self.direction.as_ref().map(|_| ())),
            ("component", self.component.map(|_| ())),
            ("angle", self.angle.map(|_| ())),
        ])
    }

    /// Unit vector along which the source acts, for a mesh of this dimension.
    ///
    /// # Errors
    /// A message when no key or more than one gives a direction, or when it does not fit the dimension.
    pub fn unit_direction(&self, dimension: usize) -> Result<[f64; 3], String> {
        self.check_direction()?;
        let mut vector = [0.0; 3];
        if let Some(given) = &self.direction {
            vector = point(given, dimension, "direction")?;
        } else if let Some(component) = self.component {
            let component = usize::from(component.0);
            if component >= dimension {
                return Err(format!("component {} does not exist in a {dimension}D mesh", component + 1));
            }
            vector[component] = 1.0;
        } else if let Some(angle) = self.angle {
            if dimension != 2 {
                return Err("`angle` is for 2D meshes; give `direction`".to_owned());
            }
            // Exact for multiples of 90°, where the sine of π would leave 1e-16 in the other component.
            let (sin, cos) = match angle.rem_euclid(360.0) {
                0.0 => (0.0, 1.0),
                90.0 => (1.0, 0.0),
                180.0 => (0.0, -1.0),
                270.0 => (-1.0, 0.0),
                other => other.to_radians().sin_cos(),
            };
            vector = [cos, sin, 0.0];
        }
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !norm.is_normal() {
            return Err("`direction` has no length, or too much".to_owned());
        }
        Ok(vector.map(|x| x / norm))
    }
}

impl Monitor {
    fn check_weights(&self) -> Result<(), String> {
        let Some(List(weights)) = &self.weights else { return Ok(()) };
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err("`weights` must be finite numbers".to_owned());
        }
        match self.variables.0.as_slice() {
            [(_, Some(_))] => Ok(()),
            _ => Err("`weights` goes with one component in `variables`, such as \"U2\"".to_owned()),
        }
    }

    /// When it is written; every increment by default.
    ///
    /// # Errors
    /// As [`timing`](Self::timing).
    pub fn when(&self) -> Result<OutputInterval, String> {
        Ok(self.timing()?.unwrap_or(OutputInterval::Increments(1)))
    }
}
