//! Isochrones, and how the wave spreads.

use std::path::Path;

use pogo_formats::eikonal::setup::EikonalSetup;
use pogo_formats::eikonal::{Drawn, EikonalMeshView, TreesView, in_metres, metre, second};
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::{Lines, Look, MeshPicture, Scalar, Spread, at_time, movie, sheet, snapshot_png};
use pogo_formats::write::report::{MeshSample, Report};

use super::histogram::finite_range;

/// Frames of a movie.
const FRAMES: usize = 60;

/// Draws how long the wave was in each element on its way, −∂T/∂ln v, one picture a view; gives the names of the files.
pub(super) fn sensitivity(
    folder: &Path,
    mesh: &EikonalMeshView,
    setup: &EikonalSetup,
    of: &str,
    values: &[f64],
) -> Result<Vec<String>, OutputError> {
    let coordinates = in_metres(mesh, setup);
    let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
    let drawn = Drawn::new(&scaled);
    let second = second(setup);
    let values: Vec<f64> = values.iter().map(|value| second * value).collect();
    let look = Look {
        title: setup.title.clone(),
        subtitle: format!("sensitivity of the arrival time at {of} to the speed of each element"),
        label: "-dT/d(ln v)".into(),
        unit: "s".into(),
        ..Look::default()
    };
    let name = format!("gradient-{of}.png");
    snapshot_png(&folder.join(&name), &drawn.view(&scaled), Scalar::Elemental(&values), &look, "")?;
    Ok(vec![name])
}

/// Draws the times in trees, `trees.png`; gives its name. None where the wave reaches no tree.
pub(super) fn trees(
    folder: &Path,
    (mesh, trees): (&EikonalMeshView, &TreesView),
    setup: &EikonalSetup,
    time: &[f64],
) -> Result<Option<String>, OutputError> {
    let (metre, second) = (metre(setup), second(setup));
    let Some(range) = finite_range(time) else { return Ok(None) };
    let coordinates = in_metres(mesh, setup);
    let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
    let look = Look {
        title: setup.title.clone(),
        subtitle: "arrival times in the trees, grey where no wave comes".into(),
        label: "t".into(),
        unit: "s".into(),
        range: Some(range.map(|time| second * time)),
        ..Look::default()
    };
    let width = sheet::plot_width(look.width, mesh.plane, true);
    let around = MeshPicture::new(&Drawn::new(&scaled).view(&scaled), None, None, width);
    let ends: Vec<f64> = trees.coordinates.iter().map(|x| metre * x).collect();
    let values: Vec<f64> = time.iter().map(|time| second * time).collect();
    let lines = Lines { coordinates: &ends, ends: trees.edges, values: &values };
    let name = "trees.png";
    look.picture_of_lines(&around, &lines, &look.scale(&Spread::default()), "").write_png(&folder.join(name))?;
    Ok(Some(name.into()))
}

/// Arrival times as they are drawn.
pub(super) struct Isochrones<'a> {
    folder: &'a Path,
    mesh: &'a EikonalMeshView<'a>,
    setup: &'a EikonalSetup,
    /// m, (n, 3).
    coordinates: Vec<f64>,
    /// s; NaN where no wave comes.
    times: Vec<f64>,
    /// The earliest and the latest, s.
    range: [f64; 2],
}

impl<'a> Isochrones<'a> {
    /// Of times in the model's unit; none where the wave reaches no node.
    pub fn new(folder: &'a Path, mesh: &'a EikonalMeshView<'a>, setup: &'a EikonalSetup, time: &[f64]) -> Option<Self> {
        let second = second(setup);
        let range = finite_range(time)?.map(|time| second * time);
        let times = time.iter().map(|t| if t.is_finite() { second * t } else { f64::NAN }).collect();
        Some(Self { folder, mesh, setup, coordinates: in_metres(mesh, setup), times, range })
    }

    fn look(&self) -> Look {
        Look {
            title: self.setup.title.clone(),
            label: "t".into(),
            unit: "s".into(),
            range: Some(self.range),
            ..Look::default()
        }
    }

    /// Draws the times, one picture a view; gives the names of the files.
    pub fn pictures(&self) -> Result<Vec<String>, OutputError> {
        let scaled = EikonalMeshView { coordinates: &self.coordinates, ..self.mesh.clone() };
        let (drawn, bands) = (Drawn::new(&scaled), self.setup.outputs.isochrones);
        let mut views: Vec<(String, Option<[f64; 3]>)> = Vec::new();
        for view in self.setup.outputs.views.iter().filter(|_| !self.mesh.plane) {
            let mut eye = [0.0; 3];
            let (upper, axis) = (view.starts_with('+'), view.chars().nth(1).unwrap_or('z'));
            eye[match axis {
                'x' => 0,
                'y' => 1,
                _ => 2,
            }] = if upper { 1.0 } else { -1.0 };
            views.push((format!("isochrones-{axis}{}.png", if upper { "max" } else { "min" }), Some(eye)));
        }
        if views.is_empty() {
            views.push(("isochrones.png".into(), None));
        }
        for (name, eye) in &views {
            let subtitle = format!("arrival times in {bands} bands, grey where no wave comes");
            let look = Look { subtitle, bands: Some(bands), eye: *eye, ..self.look() };
            snapshot_png(&self.folder.join(name), &drawn.view(&scaled), Scalar::Nodal(&self.times), &look, "")?;
        }
        Ok(views.into_iter().map(|(name, _)| name).collect())
    }

    /// Adds the times to a report.
    pub fn show(&self, report: &mut Report) {
        let scaled = EikonalMeshView { coordinates: &self.coordinates, ..self.mesh.clone() };
        let drawn = Drawn::new(&scaled);
        let bands = Some(self.setup.outputs.isochrones);
        let look = Look { subtitle: "arrival times, grey where no wave comes".into(), bands, ..self.look() };
        let sample = MeshSample::new(&drawn.view(&scaled), 1, report.room());
        let unit = (self.setup.time_unit.as_str(), second(self.setup));
        let values = sample.values(Scalar::Nodal(&self.times));
        sample.show(report, &look, &look.scale(&Spread::default()), &[String::new()], &values, Some(unit));
    }

    /// Draws how the wave spreads as an animated picture, `movie.png`; gives its name.
    pub fn movie(&self) -> Result<String, OutputError> {
        let scaled = EikonalMeshView { coordinates: &self.coordinates, ..self.mesh.clone() };
        let drawn = Drawn::new(&scaled);
        let look = Look { subtitle: "arrival times, grey where the wave has not come yet".into(), ..self.look() };
        let width = sheet::plot_width(look.width, self.mesh.plane, true);
        let picture = MeshPicture::new(&drawn.view(&scaled), None, None, width);
        let arrival = picture.values(Scalar::Nodal(&self.times));
        let (scale, [low, high]) = (look.scale(&Spread::default()), self.range);
        let name = crate::run::reel::MOVIE;
        movie(&self.folder.join(name), FRAMES, |frame| {
            let now = low + (high - low) * frame as f64 / (FRAMES - 1) as f64;
            // The last frame shows all, whatever is lost by rounding.
            let has_come = |time: f32| f64::from(time) <= now || frame + 1 == FRAMES;
            let seen = |&time: &f32| if time.is_nan() || has_come(time) { time } else { f32::INFINITY };
            let values: Vec<f32> = arrival.iter().map(seen).collect();
            Ok(look.picture(&picture.camera, &values, &picture.ink, &scale, &at_time(now)))
        })?;
        Ok(name.into())
    }
}
