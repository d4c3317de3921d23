//! Explicit elastodynamics on disk: the model, its material laws, and its block file.

pub mod block;
mod elasticity;
pub mod job;
mod model;
mod parameters;

pub use crate::dynamics::{ElementHistoryRequest, ElementQuantity};
pub use block::Explicit;
pub use model::{
    AbsorbingLayer, AbsorbingProfile, Elasticity, ExplicitSettings, Lumping, Material, Model, Section, Setup,
};
