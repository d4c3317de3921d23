//! Explicit elastodynamics on disk: the model, its job, its block file, and its results.

pub mod block;
pub mod energy;
pub mod fields;
mod from_deck;
pub mod job;
mod model;
mod parameters;
pub mod summary;

pub use crate::dynamics::{ElementHistoryRequest, ElementQuantity};
pub use crate::material::{Elasticity, Material, Section};
pub use crate::relaxation::{Attenuation, Relaxation};
pub use block::Explicit;
pub use model::{
    AbsorbingLayer, AbsorbingProfile, ExplicitSettings, FluidTies, ImpedanceBoundary, Interface, Lumping, Model, Setup,
    TieShare,
};
