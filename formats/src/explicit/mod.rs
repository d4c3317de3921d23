//! Explicit elastodynamics on disk: the model, its job, its block file, and its results.

pub mod block;
mod elasticity;
pub mod energy;
pub mod fields;
pub mod job;
mod model;
mod parameters;
pub mod summary;

pub use crate::dynamics::{ElementHistoryRequest, ElementQuantity};
pub use block::Explicit;
pub use model::{
    AbsorbingLayer, AbsorbingProfile, Elasticity, ExplicitSettings, Lumping, Material, Model, Section, Setup,
};
