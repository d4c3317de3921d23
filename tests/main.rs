//! End-to-end tests: decks, stacks and meshes through the commands, against theory and independent codes. One program, so that
//! its tests share the cores.

mod beam;
mod bone;
mod eikonal;
mod guided_waves;
mod independent;
mod plane_waves;
mod pogo_files;
mod pogo_results;
mod real_decks;
mod references;
mod spring;
mod summaries;
mod system;
mod voxels;
mod vtkhdf;
