//! What users bring: Abaqus decks, voxel stacks, and meshes in the formats of other programs.

pub mod deck;
pub mod image;
mod labels;
pub mod mesh;
mod unpack;
