// How the fuzz target and the replay of its corpus read a job: as a job of every physics.

use std::path::Path;

use pogo_formats::eikonal::job::EikonalJob;
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::job::JobFile;
use pogo_formats::spring::job::SpringJob;
use pogo_formats::voxel::job::VoxelJob;

fn parse<J: JobFile>(text: &str, folder: &Path) -> bool {
    match J::parse(text, "job.toml", folder) {
        Ok(_) => true,
        Err(error) => {
            let of_file = folder.display().to_string();
            assert!(error.to_string().starts_with("job.toml") || error.to_string().contains(&of_file), "{error}");
            false
        }
    }
}

/// True when it is a job of some physics. The files that a job names are relative to `folder`.
pub fn read(bytes: &[u8], folder: &Path) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // All four, whatever the first answers.
    let are = [
        parse::<ExplicitJob>(&text, folder),
        parse::<VoxelJob>(&text, folder),
        parse::<SpringJob>(&text, folder),
        parse::<EikonalJob>(&text, folder),
    ];
    are.contains(&true)
}
