//! One physics as the commands see it, whatever its types.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use pogo_formats::block::Container;
use pogo_formats::job;
use pogo_formats::physics::BlockFile;

use crate::info::{self, InfoError, Inspect, Query};
use crate::prepare::{self, InputKind, Prepare, PrepareError, Progress, Report, Request};

/// One physics: how its block files are made and shown. Implemented by every type that prepares and inspects.
pub trait Room: Sync {
    /// Name in a block file and in the key `physics` of a job.
    fn name(&self) -> &'static str;

    /// What messages call it.
    fn title(&self) -> &'static str;

    /// The kind of input that is for this physics where no job says otherwise.
    fn default_for(&self) -> Option<InputKind>;

    /// Whether a job may ask for this physics with the key `physics`.
    fn in_jobs(&self) -> bool;

    /// Tables that a job for a mesh file has only if it is for this physics.
    fn own_tables(&self) -> &'static [&'static str];

    /// Options of `pogo-block` for this physics.
    fn arguments(&self) -> Vec<Arg>;

    /// Makes a block file; `options` as [`arguments`](Self::arguments) has them.
    ///
    /// # Errors
    /// See [`PrepareError`].
    fn prepare(&self, request: &Request, options: &ArgMatches, progress: &dyn Progress)
    -> Result<Report, PrepareError>;

    /// Reads everything and reports, without writing anything.
    ///
    /// # Errors
    /// An option that is not one of this physics.
    fn check(&self, request: &Request, options: &ArgMatches, progress: &dyn Progress) -> Result<Report, PrepareError>;

    /// Shows what is in a block file of this physics.
    ///
    /// # Errors
    /// See [`InfoError`].
    fn inspect(&self, container: Container, query: &Query) -> Result<String, InfoError>;
}

impl<P: Prepare + Inspect + Sync> Room for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn title(&self) -> &'static str {
        P::TITLE
    }

    fn default_for(&self) -> Option<InputKind> {
        P::DEFAULT_FOR
    }

    fn in_jobs(&self) -> bool {
        P::IN_JOBS
    }

    fn own_tables(&self) -> &'static [&'static str] {
        P::OWN_TABLES
    }

    fn arguments(&self) -> Vec<Arg> {
        P::Options::augment_args(Command::new("")).get_arguments().cloned().collect()
    }

    fn prepare(
        &self,
        request: &Request,
        options: &ArgMatches,
        progress: &dyn Progress,
    ) -> Result<Report, PrepareError> {
        prepare::run::<P>(request, &parsed::<P>(request, options)?, progress)
    }

    fn check(&self, request: &Request, options: &ArgMatches, progress: &dyn Progress) -> Result<Report, PrepareError> {
        Ok(prepare::check::<P>(request, &parsed::<P>(request, options)?, progress))
    }

    fn inspect(&self, container: Container, query: &Query) -> Result<String, InfoError> {
        info::show(&BlockFile::<P>::from_container(container)?, query)
    }
}

fn parsed<P: Prepare>(request: &Request, options: &ArgMatches) -> Result<P::Options, PrepareError> {
    P::Options::from_arg_matches(options).map_err(|error| PrepareError::option(&request.input, error.to_string()))
}

/// Adds the options of all physics to a command; one that several of them take is added once.
pub fn add_arguments(rooms: &[&dyn Room], mut command: Command) -> Command {
    for argument in rooms.iter().flat_map(|room| room.arguments()) {
        if !command.get_arguments().any(|other| other.get_id() == argument.get_id()) {
            // The order in the help text is that of the registry.
            let order = command.get_arguments().filter(|argument| !argument.is_positional()).count();
            command = command.arg(argument.display_order(order));
        }
    }
    command
}

/// The physics of a request: what the last job with a key `physics` says, or else what the kind of the input is for.
///
/// # Errors
/// A job that cannot be read or names an unknown physics, or an input that does not exist.
pub fn choose<'a>(rooms: &[&'a dyn Room], input: &Path, jobs: &[PathBuf]) -> Result<&'a dyn Room, PrepareError> {
    let Some(key) = job::physics(jobs)? else {
        let kind = InputKind::of(input)?;
        let tables = if kind == InputKind::Mesh { job::table_names(jobs)? } else { Vec::new() };
        let has_own = |room: &&&dyn Room| tables.iter().any(|table| room.own_tables().contains(&table.as_str()));
        let found = rooms.iter().find(has_own).or_else(|| rooms.iter().find(|room| room.default_for() == Some(kind)));
        return found.copied().ok_or_else(|| PrepareError::option(input, "no physics is for this kind of input"));
    };
    let in_jobs = || rooms.iter().filter(|room| room.in_jobs());
    in_jobs().find(|room| key.value.as_str() == Some(room.name())).copied().ok_or_else(|| {
        let names: Vec<String> = in_jobs().map(|room| format!("\"{}\"", room.name())).collect();
        let (value, names) = (&key.value, names.join(" or "));
        let message = format!(
            "physics = {value}: write {names}, or leave the key out (a deck is explicit dynamics, a voxel stack statics, a mesh \
             arrival times unless the job has materials)"
        );
        key.place.error(message).into()
    })
}

/// Refuses options on the command line that have no effect for a physics.
///
/// # Errors
/// The first such option, and the physics that it is for.
pub fn check_options(
    rooms: &[&dyn Room],
    chosen: &dyn Room,
    input: &Path,
    options: &ArgMatches,
) -> Result<(), PrepareError> {
    let own = chosen.arguments();
    for argument in rooms.iter().flat_map(|room| room.arguments()) {
        let id = argument.get_id();
        let given = options.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        if given && !own.iter().any(|own| own.get_id() == id) {
            let takes = |room: &&&dyn Room| room.arguments().iter().any(|other| other.get_id() == id);
            let titles: Vec<&str> = rooms.iter().filter(takes).map(|room| room.title()).collect();
            let (option, titles) = (argument.get_long().unwrap_or_default(), titles.join(" and "));
            return Err(PrepareError::option(input, format!("--{option} is for {titles} only; leave it out")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ROOMS;

    #[test]
    fn the_job_or_else_the_input_chooses() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job.toml");
        let choose = |text: &str| {
            std::fs::write(&job, text).unwrap();
            choose(&ROOMS, Path::new("plate.inp"), std::slice::from_ref(&job)).map(|room| room.name())
        };
        assert_eq!(choose("title = \"a\"").unwrap(), "explicit");
        assert_eq!(choose("title = \"a\"\nphysics = \"spring\"").unwrap(), "spring");
        assert_eq!(choose("physics = \"eikonal\"").unwrap(), "eikonal");
        let error = choose("title = \"a\"\nphysics = \"heat\"").unwrap_err().to_string();
        let expected = "job.toml:2: error: physics = \"heat\": write \"explicit\" or \"eikonal\" or \"spring\"";
        assert!(error.contains(expected), "{error}");
        let mesh = folder.path().join("plate.msh");
        for (text, expected) in [
            ("[[velocity]]\nspeed = 1\n", "eikonal"),
            ("[[material]]\nname = \"steel\"\n", "explicit"),
            ("[[section]]\n", "explicit"),
            ("physics = \"eikonal\"\n[[material]]\n", "eikonal"),
            ("physics = \"explicit\"\n", "explicit"),
        ] {
            std::fs::write(&job, text).unwrap();
            let found = super::choose(&ROOMS, &mesh, std::slice::from_ref(&job)).unwrap().name();
            assert_eq!(found, expected, "{text}");
        }
    }
}
