//! Isochrones.

use std::path::Path;

use pogo_formats::eikonal::setup::EikonalSetup;
use pogo_formats::eikonal::{Drawn, EikonalMeshView};
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::{Scalar, SnapshotOptions, snapshot_png};

use super::histogram::finite_range;

/// The unit of time in seconds: pictures count in metres and seconds and choose prefixes themselves.
pub(super) fn second(setup: &EikonalSetup) -> f64 {
    match setup.time_unit.as_str() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => 1.0,
    }
}

/// The unit of length in metres.
fn metre(setup: &EikonalSetup) -> f64 {
    match setup.length_unit.as_str() {
        "um" | "µm" => 1e-6,
        "mm" => 1e-3,
        "cm" => 1e-2,
        "km" => 1e3,
        _ => 1.0,
    }
}

/// Draws how long the wave was in each element on its way, −∂T/∂ln v, one picture a view; gives the names of the files.
pub(super) fn sensitivity(
    folder: &Path,
    mesh: &EikonalMeshView,
    setup: &EikonalSetup,
    of: &str,
    values: &[f64],
) -> Result<Vec<String>, OutputError> {
    let metre = metre(setup);
    let coordinates: Vec<f64> = mesh.coordinates.iter().map(|x| metre * x).collect();
    let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
    let drawn = Drawn::new(&scaled);
    let second = second(setup);
    let values: Vec<f64> = values.iter().map(|value| second * value).collect();
    let options = SnapshotOptions {
        title: format!("Sensitivity of T at {of}"),
        label: "-dT/d(ln v)".into(),
        unit: "s".into(),
        ..SnapshotOptions::default()
    };
    let name = format!("gradient-{of}.png");
    snapshot_png(&folder.join(&name), &drawn.view(&scaled), Scalar::Elemental(&values), &options)?;
    Ok(vec![name])
}

/// Draws the times, one picture a view; gives the names of the files.
pub(super) fn isochrones(
    folder: &Path,
    mesh: &EikonalMeshView,
    setup: &EikonalSetup,
    time: &[f64],
) -> Result<Vec<String>, OutputError> {
    let Some([low, high]) = finite_range(time) else { return Ok(Vec::new()) };
    let (second, metre) = (second(setup), metre(setup));
    let coordinates: Vec<f64> = mesh.coordinates.iter().map(|x| metre * x).collect();
    let scaled = EikonalMeshView { coordinates: &coordinates, ..mesh.clone() };
    let drawn = Drawn::new(&scaled);
    // Never reached: grey.
    let values: Vec<f64> = time.iter().map(|t| if t.is_finite() { second * t } else { f64::NAN }).collect();
    let title = if setup.title.is_empty() { String::new() } else { format!("{}, ", setup.title) };
    let mut options = SnapshotOptions {
        title: format!("{title}{} isochrones", setup.outputs.isochrones),
        label: "t".into(),
        unit: "s".into(),
        range: Some([second * low, second * high]),
        bands: Some(setup.outputs.isochrones),
        ..SnapshotOptions::default()
    };
    let mut views: Vec<(String, Option<[f64; 3]>)> = Vec::new();
    for view in setup.outputs.views.iter().filter(|_| !mesh.plane) {
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
        options.eye = *eye;
        snapshot_png(&folder.join(name), &drawn.view(&scaled), Scalar::Nodal(&values), &options)?;
    }
    Ok(views.into_iter().map(|(name, _)| name).collect())
}
