//! Sets of starts on several devices, or by several processes.
//!
//! The devices of one process take sets when they are free. Processes have fixed shares, in rounds: after each round rank 0
//! gets the times of the others and writes them. A round holds so few sets that rank 0 has room for them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pogo_formats::system::threads;
use pogo_formats::write::npy::Number;
use pogo_kernels::eikonal::{Arrival, EikonalError, in_turn};
use pogo_kernels::ranks::{Reader, Writer};
use pogo_kernels::simd::Real;

use super::arrivals::{Asked, Row, Table};
use super::context::Context;
use super::engine::Engine;
use super::trees;
use crate::error::SolveError;

/// Bytes of times that rank 0 gets in one round.
const ROUND_BYTES: usize = 1 << 28;

/// A run on one device looks about this often whether it is to stop.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Solves for every set of starts. `table` is that of rank 0.
///
/// # Errors
/// A device that is lost; a row that cannot be written.
pub(super) fn solve<T: Real + Number>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    starts: &[Vec<(u32, f64)>],
    asked: &Asked,
    table: Option<&Table<'_>>,
) -> Result<(), SolveError> {
    let team = &context.call.team;
    if team.local.len() == 1 && team.is_several() {
        return by_processes(context, engines, starts, asked, table);
    }
    let each = |set, arrival: Arrival<T>| {
        if let Some(table) = table {
            table.put(&Row::new(context, set, &arrival, asked));
        }
    };
    on_engines(context, engines, starts, &each).map_err(|error| context.failed(error))?;
    table.map_or(Ok(()), Table::check)
}

/// The share of this process, in rounds.
fn by_processes<T: Real + Number>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    starts: &[Vec<(u32, f64)>],
    asked: &Asked,
    table: Option<&Table<'_>>,
) -> Result<(), SolveError> {
    let (team, ranks) = (&context.call.team, &context.call.team.local[0]);
    let n = starts.len();
    if !team.as_the_leader_says(true) {
        return Ok(());
    }
    // Sets that a device solves at once stay so, as their number of sweeps is that of them all.
    let group = engines.iter().map(Engine::group).max().unwrap_or(1);
    let groups = ranks.all_gather(vec![group as u8]);
    let group = usize::from(groups.iter().map(|bytes| bytes[0]).max().unwrap_or(1));
    let most = ROUND_BYTES / ranks.n_ranks() / asked.bytes::<T>(context).max(1);
    let share = most.clamp(1, n.div_ceil(ranks.n_ranks()).max(1)).next_multiple_of(group);
    for round in 0..n.div_ceil(share * ranks.n_ranks()) {
        let first = ((round * ranks.n_ranks() + ranks.rank()) * share).min(n);
        let mine = &starts[first..n.min(first + share)];
        let rows = Mutex::new(Writer::default());
        let each = |set, arrival: Arrival<T>| {
            let row = Row::new(context, first + set, &arrival, asked);
            match table {
                Some(table) => table.put(&row),
                None => row.put(&mut rows.lock().unwrap_or_else(PoisonError::into_inner)),
            }
        };
        let solved = on_engines(context, engines, mine, &each);
        let mut said = Writer::default();
        said.put(solved.as_ref().err().map(ToString::to_string).unwrap_or_default().as_bytes());
        said.put(&[if table.is_some() { 0 } else { mine.len() as u64 }]);
        let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        let gathered = ranks.gather([said.into_bytes(), rows.into_bytes()].concat());
        let outcome = solved.map_err(|error| context.failed(error)).and_then(|()| match table {
            Some(table) => gathered.iter().enumerate().try_for_each(|(rank, bytes)| keep::<T>(table, rank, bytes)),
            None => Ok(()),
        });
        if !team.as_the_leader_says(outcome.is_ok() && !context.call.interrupts.stop_requested()) {
            return outcome;
        }
    }
    Ok(())
}

/// Keeps what another rank has sent.
fn keep<T: Real + Number>(table: &Table<'_>, rank: usize, bytes: &[u8]) -> Result<(), SolveError> {
    let mut reader = Reader::new(bytes);
    let error = reader.take::<u8>();
    if !error.is_empty() {
        return Err(SolveError::Rank { rank, message: String::from_utf8_lossy(&error).into_owned() });
    }
    (0..reader.one::<u64>()).for_each(|_| table.put(&Row::<T>::take(&mut reader)));
    table.check()
}

/// Solves on the engines of this process, and hands each result over with its number, in no order. A run that is to stop
/// begins no further sets.
fn on_engines<T: Real>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    starts: &[Vec<(u32, f64)>],
    each: &(dyn Fn(usize, Arrival<T>) + Sync),
) -> Result<(), EikonalError> {
    if context.joint.is_none() {
        return on_free_engines(context, engines, starts, each);
    }
    // Sets are solved again and again with what comes from the trees: batches leave few half done where a run stops.
    let unit = engines.iter().map(|engine| rayon::current_num_threads().next_multiple_of(engine.group())).sum();
    let stops = || context.call.interrupts.stop_requested();
    in_batches(unit, starts.len(), stops, |batch| {
        let each = |set, arrival| each(batch.start + set, arrival);
        trees::solve_many(context, &starts[batch.clone()], &each, &mut |sets, each| {
            on_free_engines(context, engines, sets, each)
        })
    })
}

/// Solves for sets without their trees. Each engine takes the next sets when it is free.
fn on_free_engines<T: Real>(
    context: &Context<'_>,
    engines: &mut [Engine<'_, T>],
    starts: &[Vec<(u32, f64)>],
    each: &(dyn Fn(usize, Arrival<T>) + Sync),
) -> Result<(), EikonalError> {
    // Sets that a device solves at once stay so, as their number of sweeps is that of them all.
    let group = engines.iter().map(Engine::group).max().unwrap_or(1);
    let next = in_turn(starts.len(), group);
    let take = || if context.call.interrupts.stop_requested() { None } else { next() };
    if let [engine] = engines {
        return engine.solve_many(starts, &take, each);
    }
    let n_threads = context.call.team.threads_of_rank(context.call.settings.threads);
    let work = |engine: &mut Engine<'_, T>| engine.solve_many(starts, &take, each);
    threads::in_pools(engines.iter_mut(), n_threads, work)?.into_iter().collect()
}

/// Does `n` things by batches of a multiple of `unit`, each of about as many as take the time between two looks whether all
/// stops.
fn in_batches<E>(
    unit: usize,
    n: usize,
    stops: impl Fn() -> bool,
    mut work: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut first, mut size) = (0, unit);
    while first < n && !stops() {
        let began = Instant::now();
        let end = n.min(first + size);
        work(first..end)?;
        first = end;
        if began.elapsed() < LOOK_INTERVAL {
            size *= 4;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn batches_hold_everything_once_until_they_stop() {
        let done = RefCell::new(Vec::new());
        let work = |batch: Range<usize>| {
            done.borrow_mut().push(batch);
            Ok::<(), ()>(())
        };
        in_batches(3, 20, || false, work).unwrap();
        assert_eq!(done.take(), [0..3, 3..15, 15..20]);
        in_batches(3, 20, || done.borrow().len() == 2, work).unwrap();
        assert_eq!(done.take(), [0..3, 3..15]);
        assert_eq!(in_batches(3, 20, || false, |_| Err("lost")), Err("lost"));
    }
}
