//! Pictures without any other program: traces as SVG, snapshots of meshes as PNG.

mod axis;
mod snapshot;
mod springs;
mod surface;
mod svg;

pub use snapshot::{Scalar, SnapshotOptions, snapshot_png};
pub use springs::{SpringPaint, bounds, springs_png};
pub use surface::{SurfaceFace, outer_surface};
pub use svg::{Panel, Series, panels, traces_svg};
