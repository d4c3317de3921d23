// How the fuzz target and the replay of its corpus read a job: as a job of every physics.

use std::path::Path;

use pogo_formats::eikonal::job::EikonalJob;
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::job::JobFile;
use pogo_formats::spring::job::SpringJob;
use pogo_formats::voxel::job::VoxelJob;

fn parse<J: JobFile>(text: &str) -> bool {
    // No folder has the files that a job may name.
    match J::parse(text, "job.toml", Path::new("absent")) {
        Ok(_) => true,
        Err(error) => {
            assert!(error.to_string().starts_with("job.toml") || error.to_string().contains("absent"), "{error}");
            false
        }
    }
}

/// True when it is a job of some physics.
pub fn read(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // All four, whatever the first answers.
    let are =
        [parse::<ExplicitJob>(&text), parse::<VoxelJob>(&text), parse::<SpringJob>(&text), parse::<EikonalJob>(&text)];
    are.contains(&true)
}
