//! Many sets of starts on one mapped mesh: one file of times.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use pogo_formats::eikonal::summary::EikonalSummary;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::words::counted;
use pogo_formats::write::npy::{self, Number, RowWriter};
use pogo_formats::write::summary::{Ending, Status};
use pogo_formats::write::write_atomically;
use pogo_kernels::simd::Real;

use super::arrivals::{Asked, Case, Table};
use super::context::Context;
use super::engine::Engine;
use super::table::{StartSet, StartTable, read_table};
use super::{ecg, spread};
use crate::error::SolveError;
use crate::study::quote;

/// The sets of a table of starts.
pub(super) struct Sets {
    sets: Vec<StartSet>,
    /// Nodes with their times, those of the exact balls included.
    starts: Vec<Vec<(u32, f64)>>,
}

/// Reads a table of starts.
pub(super) fn read(context: &Context<'_>, table: &Path, summary: &mut EikonalSummary) -> Result<Sets, SolveError> {
    let (mesh, setup) = (&context.problem.mesh, context.setup);
    let StartTable { sets, warnings } = read_table(table, mesh, &setup.length_unit).map_err(SolveError::Table)?;
    summary.warnings.extend(warnings);
    let starts = sets.par_iter().map(|set| context.with_balls(set.starts.clone())).collect();
    Ok(Sets { sets, starts })
}

/// Solves for every set of the table: `arrivals.npy`, (cases, probes or nodes), and `cases.csv` with the latest node of each.
/// Only rank 0 writes them.
pub(super) fn run<T: Real + Number>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    Sets { sets, starts }: &Sets,
    summary: &mut EikonalSummary,
) -> Result<(), SolveError> {
    let (mesh, setup, folder) = (&context.problem.mesh, context.setup, context.call.folder);
    // Columns: the probes, or all nodes in the order of the mesh's file.
    let mut columns = setup.outputs.probe_nodes.clone();
    if columns.is_empty() {
        columns = vec![0; mesh.n_nodes()];
        mesh.original_node.iter().enumerate().for_each(|(node, &at)| columns[at as usize] = node as u32);
    }
    let first = sets.iter().flat_map(|set| &set.starts).map(|start| start.1).fold(f64::INFINITY, f64::min);
    let samples = context.electric.as_ref().map(|electric| electric.samples_of_many(first)).transpose();
    let samples = samples.map_err(|reason| context.call.refuse(reason))?;
    let asked = Asked { columns, samples };
    if !context.call.team.leads() {
        return spread::solve(context, engines, starts, &asked, None);
    }
    let clock = Instant::now();
    let cases = solve_all(context, engines, starts, &asked)?;
    if let Some(samples) = &asked.samples {
        summary.files.extend(ecg::write_axes(context, samples)?);
    }
    let columns = &asked.columns;
    summary.loop_seconds = clock.elapsed().as_secs_f64();
    write_index(&folder.join("cases.csv"), sets, &cases)?;
    summary.files.extend(["arrivals.npy".to_owned(), "cases.csv".to_owned()]);
    if !setup.outputs.probe_nodes.is_empty() {
        let labels = columns.iter().map(|&node| mesh.node_labels[node as usize]);
        npy::write_values(&folder.join("probes.npy"), &[columns.len()], labels)?;
        summary.files.push("probes.npy".into());
    }

    summary.start_nodes = starts.iter().map(|starts| starts.len() as u64).sum();
    sum_up(&cases, mesh.n_elements(), summary);
    let missing = cases.iter().filter(|case| case.is_none()).count();
    if missing > 0 {
        let (stopped, of) = (context.call.interrupts.stopped(), counted(sets.len(), "set"));
        let what =
            format!("{stopped} after {} of {of} of starts; the rows of the others are NaN", sets.len() - missing);
        summary.ending = Ending::new(Status::Interrupted, what);
    }
    Ok(())
}

/// Solves for every set of starts and writes `arrivals.npy`: the times of the nodes in `columns`, a row a set.
fn solve_all<T: Real + Number>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    starts: &[Vec<(u32, f64)>],
    asked: &Asked,
) -> Result<Vec<Option<Case>>, SolveError> {
    let folder = context.call.folder;
    let mut began = false;
    let mut fill = |rows: &RowWriter, ecgs: Option<&RowWriter>| -> Result<Vec<Option<Case>>, SolveError> {
        let table = Table::new(rows, ecgs, folder.join("arrivals.npy"), starts.len());
        began = true;
        spread::solve(context, engines, starts, asked, Some(&table))?;
        table.fill_missing::<T>(asked);
        table.check()?;
        Ok(table.into_cases())
    };
    let mut cases = Vec::new();
    let shape = [starts.len(), asked.columns.len()];
    let written = npy::write_rows_in_any_order::<T, SolveError>(&folder.join("arrivals.npy"), &shape, |rows| {
        let Some((samples, electric)) = asked.samples.as_ref().zip(context.electric.as_ref()) else {
            cases = fill(rows, None)?;
            return Ok(());
        };
        let shape = [starts.len(), samples.n, electric.n_channels()];
        npy::write_rows_in_any_order::<f64, SolveError>(&folder.join("ecgs.npy"), &shape, |ecgs| {
            cases = fill(rows, Some(ecgs))?;
            Ok(())
        })
    });
    if !began {
        // The others wait for the word to begin.
        context.call.team.as_the_leader_says(false);
    }
    written.map(|()| cases)
}

/// Sums over all sets, in the summary.
fn sum_up(cases: &[Option<Case>], n_elements: usize, summary: &mut EikonalSummary) {
    let done: Vec<&Case> = cases.iter().flatten().collect();
    summary.cases = done.len() as u64;
    summary.sweeps = done.iter().map(|case| u64::from(case.sweeps)).sum();
    summary.local_solves = done.iter().map(|case| case.local_solves).sum();
    let solves = (n_elements.max(1) * done.len().max(1)) as f64;
    summary.solves_an_element = summary.local_solves as f64 / solves;
    summary.unreached = done.iter().map(|case| case.unreached as u64).max().unwrap_or(0);
    let n_short = done.iter().filter(|case| case.unreached > 0).count();
    if n_short > 0 {
        let of = counted(done.len(), "set");
        summary.warnings.push(format!("{n_short} of {of} of starts leave nodes unreached: see cases.csv"));
    }
    let all = done.iter().filter_map(|case| case.latest.clone());
    summary.latest = all.max_by(|a, b| a.time.total_cmp(&b.time));
}

/// Writes the table `case,start_nodes,first_time,latest_time,latest_node,x,y,z,unreached,sweeps`.
fn write_index(path: &Path, sets: &[StartSet], cases: &[Option<Case>]) -> Result<(), SolveError> {
    let mut text = String::from("case,start_nodes,first_time,latest_time,latest_node,x,y,z,unreached,sweeps\n");
    for (set, case) in sets.iter().zip(cases) {
        let name = quote(&set.name);
        let first = set.starts.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
        let _ = write!(text, "{name},{},{first:e}", set.starts.len());
        match case {
            Some(Case { latest: Some(latest), unreached, sweeps, .. }) => {
                let ([x, y, z], time, node) = (latest.position, latest.time, latest.node);
                let _ = writeln!(text, ",{time:e},{node},{x:e},{y:e},{z:e},{unreached},{sweeps}");
            }
            _ => text += ",,,,,,,\n",
        }
    }
    write_atomically(path, |out| std::io::Write::write_all(out, text.as_bytes()))?;
    Ok(())
}
