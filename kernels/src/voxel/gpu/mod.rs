//! Voxel statics on a CUDA device.

#![allow(dead_code)] // until the solver is here

mod product;
mod tiles;

#[allow(unused_imports)]
pub(crate) use product::{Dots, FineLevel};
