//! Pictures without any other program: traces as SVG; fields, blocks and films as PNG, all in one style.
//!
//! ```text
//! MeshPicture (what each pixel shows) ─► values a pixel ─► Film (all frames of a run) ─► Scale ─► Look, sheet (title, axes, bar)
//! ```

mod axis;
pub mod camera;
mod film;
mod mesh_picture;
mod movie;
mod scale;
pub mod sheet;
mod snapshot;
mod surface;
mod svg;

pub use camera::Camera;
pub use film::{Film, FrameAt};
pub use mesh_picture::{MeshPicture, Scalar};
pub(crate) use mesh_picture::{bounds_of_elements, plane_of, position};
pub use movie::movie;
pub use scale::{Scale, Spread, WAVES};
pub use snapshot::{Lines, Look, at_time, check, lay_ink, snapshot_png};
pub use surface::{SurfaceFace, outer_surface};
pub(crate) use svg::quantity_text;
pub use svg::{Panel, Series, panels, traces_svg};
