//! An Eikonal problem: the time at which a wave arrives at each node of a mesh, as types.
//!
//! ```text
//! √(∇φ(x)ᵀ D(x) ∇φ(x)) = 1 in Ω,   φ given at the start nodes
//! ```
//!
//! (eq. 3 of Ganellari, Haase and Zumbusch 2018, who write M for our D). D = Σ vᵢ² eᵢ eᵢᵀ has the velocities vᵢ along the axes eᵢ of
//! an element; a path from a to b inside it takes √((b − a)ᵀ M (b − a)) with M = D⁻¹. Elements are tetrahedra, or triangles in
//! the plane or on a surface in space.
//!
//! Nodes are in *solver order*: sub-domain after sub-domain, in Morton order inside each; elements by their lowest node.

pub mod block;
mod domains;
mod drawn;
pub mod ecg;
pub mod gradient;
pub mod job;
mod mesh;
mod metric;
pub mod parameters;
mod place;
pub mod setup;
pub mod summary;
mod trees;

pub use block::Eikonal;
pub use domains::sub_domains;
pub use drawn::{Drawn, in_metres, metre, second};
pub use mesh::{EikonalMesh, EikonalMeshView};
pub use metric::{BLOCKED, MetricError, Rates, Symmetric, metrics, rates};
pub use place::{PlaceError, nodes_of, outside};
pub use setup::EikonalSetup;
pub use trees::{Trees, TreesView};
