//! End-to-end tests: decks, stacks and meshes through the commands, against theory and independent codes. One program, so that
//! its tests share the cores.

mod beam;
mod bone;
mod book;
mod constraints;
mod cracks;
mod damping;
mod eikonal;
mod fluids;
mod grains;
mod guided_waves;
mod impedance;
mod independent;
mod memory;
mod meshes;
mod mirrored;
mod plane_waves;
mod pogo_files;
mod pogo_results;
mod real_decks;
mod references;
mod relaxation;
mod split_elements;
mod spring;
mod summaries;
mod system;
mod transducers;
mod voxels;
mod vtkhdf;
