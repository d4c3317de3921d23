//! `--upgrade`: makes a block file of an older version new.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, Parser};
use pogo_formats::block::{BlockError, Container, Recipe, Source};
use pogo_formats::system::{held, inputs};

use super::Cli;
use crate::prepare::PrepareError;

/// Options that go with `--upgrade`, by the names of their fields.
const OWN: [&str; 7] = ["input", "upgrade", "quiet", "json", "timings", "memory", "threads"];

/// The command line that makes the file new; none if it is of this version.
///
/// # Errors
/// No block file; one that does not say how it was made; an input that has changed or is not there; further options.
pub fn command(cli: &Cli) -> Result<Option<Cli>, PrepareError> {
    let file = &cli.input;
    if let Some(option) = further(&cli.physics.0) {
        let reason = format!("--upgrade repeats the options of the first time; leave out --{option}");
        return Err(PrepareError::option(file, reason));
    }
    let recipe = match Container::open(file) {
        Ok(_) => return Ok(None),
        Err(BlockError::Version { command: Some(recipe), found, expected, .. }) if found < expected => recipe,
        Err(error) => return Err(error.into()),
    };
    recipe.sources().iter().try_for_each(|source| check(file, source, &recipe))?;
    let mut again = Cli::try_parse_from(recipe.words()).map_err(|error| {
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        PrepareError::option(file, format!("this version does not take its options any more: {said}"))
    })?;
    // The result may replace the file that was read here. The inputs are read once more.
    inputs::protect();
    (again.quiet, again.json, again.memory) = (cli.quiet, cli.json, cli.memory);
    Ok(Some(again))
}

/// An option on the command line that does not go with `--upgrade`.
fn further(given: &ArgMatches) -> Option<String> {
    let command = Cli::command();
    let mut others = command.get_arguments().filter(|option| !OWN.contains(&option.get_id().as_str()));
    let found = others.find(|option| given.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine));
    found.and_then(|option| option.get_long()).map(str::to_owned)
}

/// Checks that an input is the one that the file was made from.
fn check(file: &Path, source: &Source, recipe: &Recipe) -> Result<(), PrepareError> {
    let name = &source.name;
    if held::is_name(name) {
        let reason = format!("it was made from {name}: make it again with the program that had this input");
        return Err(PrepareError::option(file, reason));
    }
    let now = Source::of_file(Path::new(name)).map_err(|error| {
        let advice = "start pogo-block in the folder where the file was made";
        PrepareError::option(file, format!("it was made from {name}, which cannot be read ({error}); {advice}"))
    })?;
    let was_stream = (source.bytes, source.hash) == (0, 0);
    if now == *source && !was_stream {
        return Ok(());
    }
    let what = if was_stream { "a stream," } else { "another state of" };
    let advice = format!("if the model is to be made of what is there now, run `{recipe}`");
    Err(PrepareError::option(file, format!("it was made from {what} {name}; {advice}")))
}
