//! Options that only some kinds of physics have.

use super::{AddressingChoice, Config};
use crate::error::SolveError;

/// What an option is for. Each physics says which of them it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Steps in time.
    Time,
    /// Meshes in explicit dynamics.
    Explicit,
    Voxels,
    Springs,
    /// Arrival times.
    Arrivals,
}

const TIME: &str = "runs over time";
const SPRINGS: &str = "masses and springs";

/// Whether an option was given.
type IsGiven = fn(&Config) -> bool;

/// Every option that not all physics have, with the words for the physics that have it.
const OPTIONS: [(&str, Purpose, &str, IsGiven); 17] = [
    ("--restart", Purpose::Time, "runs over time (voxel statics go on with --start and the output folder)", |config| {
        config.restart.is_some() && config.study.is_none()
    }),
    ("--time", Purpose::Time, TIME, |config| config.settings.time.is_some()),
    ("--increment", Purpose::Time, TIME, |config| config.settings.increment.is_some()),
    ("--allow-unstable", Purpose::Time, TIME, |config| config.settings.allow_unstable),
    ("--energy-samples", Purpose::Time, TIME, |config| config.settings.energy_samples.is_some()),
    ("--checkpoint-interval", Purpose::Time, TIME, |config| config.settings.checkpoint.is_some()),
    ("--keep-checkpoint", Purpose::Time, TIME, |config| config.settings.keep_checkpoint),
    ("--lumping", Purpose::Explicit, "explicit dynamics", |config| config.settings.lumping.is_some()),
    ("--shots", Purpose::Explicit, "explicit dynamics", |config| config.shots.is_some()),
    ("--shot", Purpose::Explicit, "explicit dynamics", |config| !config.shot.is_empty()),
    ("--mat", Purpose::Time, TIME, |config| config.settings.mat),
    ("--pogo-files", Purpose::Explicit, "explicit dynamics", |config| config.settings.pogo_files.is_some()),
    ("--tolerance", Purpose::Voxels, "voxel statics", |config| config.settings.tolerance.is_some()),
    ("--start", Purpose::Voxels, "voxel statics", |config| config.start.is_some()),
    ("--addressing", Purpose::Springs, SPRINGS, |config| config.settings.addressing != AddressingChoice::Auto),
    ("--no-work", Purpose::Springs, SPRINGS, |config| !config.settings.follow_work),
    ("--starts", Purpose::Arrivals, "arrival times", |config| config.starts.is_some()),
];

/// Refuses options that the physics of the block file does not have.
pub(crate) fn check(config: &Config, has: &[Purpose]) -> Result<(), SolveError> {
    let stranger = OPTIONS.iter().find(|(_, purpose, _, is_given)| !has.contains(purpose) && is_given(config));
    match stranger {
        Some(&(option, _, physics, _)) => Err(SolveError::OtherPhysics { option, physics }),
        None => Ok(()),
    }
}
