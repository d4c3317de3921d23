//! `pogo-block`: makes a block file of a deck, a voxel stack or a mesh and TOML jobs.

mod arguments;
mod progress;

use std::io::{IsTerminal, Write};

use arguments::{Cli, Model};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use pogo_formats::exit_code;
use pogo_tools::prepare::Progress;
use pogo_tools::{cli, eikonal, explicit, spring, voxel};

fn main() {
    let result = match cli::helper(Cli::command(), std::env::args_os()).unwrap_or_else(|error| cli::exit(&error)) {
        Some(text) => cli::write_stdout(&text).map(|()| true).map_err(Into::into),
        None => {
            let matches = Cli::command().try_get_matches().unwrap_or_else(|error| cli::exit(&error));
            let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| cli::exit(&error));
            run(&cli, &matches)
        }
    };
    std::process::exit(match result {
        Ok(true) => 0,
        Ok(false) => exit_code::BAD_INPUT,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            exit_code::BAD_INPUT
        }
    });
}

/// True when all is well; problems that are not errors of the program itself have been printed.
fn run(cli: &Cli, matches: &ArgMatches) -> anyhow::Result<bool> {
    let reporter: Box<dyn Progress> = match (cli.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Box::new(()),
        (false, true) => Box::new(progress::Bar::new()),
        (false, false) => Box::new(progress::Lines::new()),
    };
    cli::clean_up_after(&cli.output())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cli.threads.map_or(0, usize::from)).build();
    let pool = pool.map_err(|error| anyhow::anyhow!("error: cannot start threads: {error}"))?;
    let model = cli.model()?;
    cli.check_options(model, |id| matches.value_source(id) == Some(ValueSource::CommandLine))?;
    let made = pool.install(|| match model {
        Model::Deck => deck(cli, &*reporter),
        Model::Stack => stack(cli, &*reporter),
        Model::Eikonal => arrival(cli, &*reporter),
        Model::Springs => springs(cli, &*reporter),
    })?;
    let Made { ok, text, json, messages } = made;
    drop(reporter);
    let mut stderr = std::io::stderr().lock();
    for message in messages {
        // A log that went away is no reason to fail.
        let _ = writeln!(stderr, "{message}");
    }
    if cli.json {
        cli::write_stdout(format!("{json}\n").as_bytes())?;
    } else if !cli.quiet {
        cli::write_stdout(text.as_bytes())?;
    }
    Ok(ok)
}

/// What there is to tell.
struct Made {
    ok: bool,
    text: String,
    json: String,
    messages: Vec<String>,
}

fn deck(cli: &Cli, reporter: &dyn Progress) -> anyhow::Result<Made> {
    let config = cli.config();
    if cli.check {
        let report = explicit::prepare::check(&config, reporter);
        // Problems are errors: they are printed even with --quiet.
        let problems = report.problems.iter();
        let remarks = report.warnings.iter().chain(&report.notes).filter(|_| !cli.quiet);
        let messages = problems.chain(remarks).cloned().collect();
        return Ok(Made {
            ok: report.ok,
            text: report.to_string(),
            json: serde_json::to_string_pretty(&report)?,
            messages,
        });
    }
    let summary = explicit::prepare::run(&config, reporter)?;
    let messages = summary.warnings.iter().chain(&summary.notes).filter(|_| !cli.quiet).cloned().collect();
    Ok(Made { ok: true, text: summary.to_string(), json: serde_json::to_string_pretty(&summary)?, messages })
}

fn stack(cli: &Cli, reporter: &dyn Progress) -> anyhow::Result<Made> {
    let config = cli.voxel_config()?;
    if cli.check {
        let report = voxel::prepare::check(&config, reporter);
        let (text, json) = (report.to_string(), serde_json::to_string_pretty(&report)?);
        return Ok(Made { ok: report.ok, text, json, messages: report.problems });
    }
    let summary = voxel::prepare::run(&config, reporter)?;
    let (text, json) = (summary.to_string(), serde_json::to_string_pretty(&summary)?);
    Ok(Made { ok: true, text, json, messages: Vec::new() })
}

fn springs(cli: &Cli, reporter: &dyn Progress) -> anyhow::Result<Made> {
    let config = cli.spring_config()?;
    if cli.check {
        let report = spring::prepare::check(&config, reporter);
        let (text, json) = (report.to_string(), serde_json::to_string_pretty(&report)?);
        let messages = report.problems.iter().chain(report.remarks.iter().filter(|_| !cli.quiet)).cloned().collect();
        return Ok(Made { ok: report.ok, text, json, messages });
    }
    let summary = spring::prepare::run(&config, reporter)?;
    let messages = summary.warnings.iter().chain(&summary.notes).filter(|_| !cli.quiet).cloned().collect();
    Ok(Made { ok: true, text: summary.to_string(), json: serde_json::to_string_pretty(&summary)?, messages })
}

fn arrival(cli: &Cli, reporter: &dyn Progress) -> anyhow::Result<Made> {
    let config = cli.eikonal_config()?;
    if cli.check {
        let report = eikonal::prepare::check(&config, reporter);
        let (text, json) = (report.to_string(), serde_json::to_string_pretty(&report)?);
        let notes = report.notes.iter().filter(|_| !cli.quiet);
        let messages = report.problems.iter().chain(notes).cloned().collect();
        return Ok(Made { ok: report.ok, text, json, messages });
    }
    let summary = eikonal::prepare::run(&config, reporter)?;
    let (text, json) = (summary.to_string(), serde_json::to_string_pretty(&summary)?);
    let messages = summary.notes.iter().filter(|_| !cli.quiet).cloned().collect();
    Ok(Made { ok: true, text, json, messages })
}
