//! Explicit elastodynamics on disk: the model, its material laws, and its block file.

pub mod block;
mod elasticity;
mod model;

pub use model::{
    AbsorbingLayer, AbsorbingProfile, Elasticity, ElementHistoryRequest, ElementQuantity, ExplicitSettings, Lumping,
    Material, Model, Section, Setup,
};
