//! k-way METIS. While it runs, METIS replaces the handlers of SIGTERM and SIGABRT.

use super::{NodeGraph, PartitionError};

/// METIS draws from the one random sequence of the C library: two runs at a time would not be repeatable.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Most by which a part may exceed its share, in thousandths.
const IMBALANCE: metis::Idx = 10;

/// Cuts the graph into parts of about equal size, of about `capacity` nodes at most; some may come out a little larger.
pub(crate) fn k_way(graph: &NodeGraph, capacity: usize) -> Result<Vec<u32>, PartitionError> {
    let (first, neighbours) = graph.rows();
    // Balancing the blocks afterwards needs a little room.
    let n_parts = (graph.n_nodes() as f64 / (capacity as f64 * super::balance::FILL)).ceil().max(1.0) as usize;
    metis_parts(graph.n_nodes(), first, neighbours, None, n_parts).map_err(PartitionError::Metis)
}

/// Weights of the vertices, and of the entries of the rows.
pub(crate) type Weights<'a> = [&'a [i32]; 2];

/// Cuts a graph into parts of about equal weight. `first`, (n + 1,), and `neighbours` are its rows; without `weights` all are 1.
/// Gives the part of each vertex.
///
/// # Errors
/// The graph is too large, or METIS fails; the message is METIS's.
pub(crate) fn metis_parts(
    n: usize,
    first: &[u32],
    neighbours: &[u32],
    weights: Option<Weights>,
    n_parts: usize,
) -> Result<Vec<u32>, String> {
    if i32::try_from(n.max(neighbours.len())).is_err() {
        return Err(format!("{} links are more than it can count", neighbours.len()));
    }
    let mut part = vec![0; n];
    if n_parts > 1 && !neighbours.is_empty() {
        let signed = |values: &[u32]| values.iter().map(|&value| value as metis::Idx).collect::<Vec<_>>();
        let (first, neighbours) = (signed(first), signed(neighbours));
        let n_parts = metis::Idx::try_from(n_parts).map_err(|error| error.to_string())?;
        let graph = metis::Graph::new(1, n_parts, &first, &neighbours).map_err(|error| error.to_string())?;
        let graph = match weights {
            Some([of_vertices, of_entries]) => graph.set_vwgt(of_vertices).set_adjwgt(of_entries),
            None => graph,
        };
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        graph
            .set_option(metis::option::UFactor(IMBALANCE))
            .set_option(metis::option::Seed(1))
            .part_kway(&mut part)
            .map_err(|error| error.to_string())?;
    }
    Ok(part.into_iter().map(|part| part as u32).collect())
}

/// New numbers of parts, in the order in which they are met; parts that are never met come last. Also how many are met.
pub(crate) fn numbered_as_met(parts: impl Iterator<Item = u32>, n_parts: usize) -> (Vec<u32>, u32) {
    let mut numbers = vec![u32::MAX; n_parts];
    let mut n_met = 0;
    for part in parts {
        let number = &mut numbers[part as usize];
        if *number == u32::MAX {
            *number = n_met;
            n_met += 1;
        }
    }
    for (next, number) in (n_met..).zip(numbers.iter_mut().filter(|number| **number == u32::MAX)) {
        *number = next;
    }
    (numbers, n_met)
}
