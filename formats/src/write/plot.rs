//! Pictures without any other program: traces as SVG, snapshots of meshes as PNG.

mod axis;
mod snapshot;
mod surface;
mod svg;

pub use snapshot::{Scalar, SnapshotOptions, snapshot_png};
pub use surface::{SurfaceFace, outer_surface};
pub(crate) use svg::time_text;
pub use svg::{Panel, Series, panels, traces_svg};
