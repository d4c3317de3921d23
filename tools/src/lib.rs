//! Offline work: everything between an input and its block file, and everything that is said about a block file.
//!
//! Each physics has a room: `explicit`, `voxel`, `spring`, `eikonal`. The rooms share the floors `prepare`, `conditions`, `info`,
//! `partition`, `picture` and `generate`, which know none of them. [`ROOMS`] is the one list of them all.

#![deny(missing_docs)]

pub mod cli;
pub mod commands;
mod conditions;
mod eikonal;
mod elements;
pub mod explicit;
pub mod generate;
pub mod info;
mod listing;
mod morton;
pub mod partition;
pub mod picture;
pub mod prepare;
pub mod room;
mod rows;
mod spring;
mod voxel;

use pogo_formats::eikonal::block::Eikonal;
use pogo_formats::explicit::block::Explicit;
use pogo_formats::spring::block::Spring;
use pogo_formats::voxel::block::Voxel;

/// Every physics that the commands know. A new one gets its room beside the others and its entry here.
pub static ROOMS: [&dyn room::Room; 4] = [&Explicit, &Voxel, &Eikonal, &Spring];
