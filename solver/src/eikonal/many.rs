//! Many sets of starts on one mapped mesh: one call of the kernel, one file of times.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use pogo_formats::eikonal::summary::{EikonalStatus, EikonalSummary, Latest};
use pogo_formats::words::counted;
use pogo_formats::write::npy;
use pogo_formats::write::npy::{Number, RowWriter};
use pogo_formats::write::write_atomically;
use pogo_kernels::simd::Real;

use super::engine::Engine;
use super::run::{Context, latest};
use super::starts::{StartSet, StartTable, read_table};
use crate::error::SolveError;
use crate::interrupt::Interrupts;

/// What is kept of a case.
#[derive(Debug, Clone)]
struct Case {
    latest: Option<Latest>,
    unreached: usize,
    sweeps: u32,
    local_solves: u64,
}

/// Solves for every set of the table: `arrivals.npy`, (cases, probes or nodes), and `cases.csv` with the latest node of each.
pub(super) fn run<T: Real + Number>(
    context: &Context,
    engine: &mut dyn Engine<T>,
    table: &Path,
    interrupts: &Interrupts,
    summary: &mut EikonalSummary,
) -> Result<(), SolveError> {
    let (mesh, setup) = (&context.model.mesh, &context.model.setup);
    let StartTable { sets, warnings } = read_table(table, mesh, &setup.length_unit).map_err(SolveError::Table)?;
    summary.warnings.extend(warnings);
    let starts: Vec<Vec<(u32, f64)>> = sets.iter().map(|set| context.with_balls(set.starts.clone())).collect();
    // Columns: the probes, or all nodes in the order of the mesh's file.
    let mut columns = setup.outputs.probe_nodes.clone();
    if columns.is_empty() {
        columns = vec![0; mesh.n_nodes()];
        mesh.original_node.iter().enumerate().for_each(|(node, &at)| columns[at as usize] = node as u32);
    }
    let cases: Mutex<Vec<Option<Case>>> = Mutex::new(vec![None; sets.len()]);
    let failed: Mutex<Option<std::io::Error>> = Mutex::new(None);
    let path = context.folder.join("arrivals.npy");
    let clock = Instant::now();
    npy::write_rows_in_any_order::<T, SolveError>(&path, [sets.len(), columns.len()], |rows: &RowWriter| {
        let each = |case: usize, arrival: pogo_kernels::eikonal::Arrival<T>| {
            let found = Case {
                latest: latest(mesh, &arrival.time),
                unreached: arrival.unreached,
                sweeps: arrival.statistics.sweeps,
                local_solves: arrival.statistics.local_solves,
            };
            if let Err(error) = rows.row(case, columns.iter().map(|&node| arrival.time[node as usize])) {
                failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
            }
            cases.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[case] = Some(found);
        };
        engine.solve_many(&starts, &each).map_err(|error| context.refuse(error.to_string()))?;
        match failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            Some(source) => Err(SolveError::Io { path: path.clone(), source }),
            None => Ok(()),
        }
    })?;
    summary.loop_seconds = clock.elapsed().as_secs_f64();
    let cases = cases.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    write_index(&context.folder.join("cases.csv"), &sets, &cases)?;
    summary.files.extend(["arrivals.npy".to_owned(), "cases.csv".to_owned()]);
    if !setup.outputs.probe_nodes.is_empty() {
        let labels = columns.iter().map(|&node| mesh.node_labels[node as usize]);
        npy::write_values(&context.folder.join("probes.npy"), &[columns.len()], labels)?;
        summary.files.push("probes.npy".into());
    }

    let done: Vec<&Case> = cases.iter().flatten().collect();
    summary.cases = done.len() as u64;
    summary.start_nodes = starts.iter().map(|starts| starts.len() as u64).sum();
    summary.sweeps = done.iter().map(|case| u64::from(case.sweeps)).sum();
    summary.local_solves = done.iter().map(|case| case.local_solves).sum();
    let solves = (mesh.n_elements().max(1) * done.len().max(1)) as f64;
    summary.solves_an_element = summary.local_solves as f64 / solves;
    summary.unreached = done.iter().map(|case| case.unreached as u64).max().unwrap_or(0);
    let n_short = done.iter().filter(|case| case.unreached > 0).count();
    if n_short > 0 {
        let of = counted(done.len(), "set");
        summary.warnings.push(format!("{n_short} of {of} of starts leave nodes unreached: see cases.csv"));
    }
    let all = done.iter().filter_map(|case| case.latest.clone());
    summary.latest = all.max_by(|a, b| a.time.total_cmp(&b.time));
    if interrupts.stop_requested() {
        (summary.status, summary.message) = (EikonalStatus::Interrupted, Some("stopped after all cases".into()));
    }
    Ok(())
}

/// `case,start_nodes,first_node,first_time,latest_time,latest_node,x,y,z,unreached,sweeps`.
fn write_index(path: &Path, sets: &[StartSet], cases: &[Option<Case>]) -> Result<(), SolveError> {
    let mut text = String::from("case,start_nodes,first_time,latest_time,latest_node,x,y,z,unreached,sweeps\n");
    for (set, case) in sets.iter().zip(cases) {
        let name = crate::quote(&set.name);
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
