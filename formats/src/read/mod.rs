//! What users bring: Abaqus decks, voxel stacks, and meshes in the formats of other programs.

mod csv;
pub mod deck;
pub mod image;
mod labels;
pub mod mesh;
mod unpack;

pub use csv::CsvTable;
