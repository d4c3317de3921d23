//! k-way METIS.

use super::{NodeGraph, PartitionError};

/// METIS draws from the C library's one random sequence: two runs at a time would not repeat.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Cuts the graph into about equal parts of at most about `capacity` nodes; some may come out a little larger.
///
/// METIS replaces the handlers of SIGTERM and SIGABRT while it runs.
pub(crate) fn k_way(graph: &NodeGraph, capacity: usize) -> Result<Vec<u32>, PartitionError> {
    let n_nodes = graph.n_nodes();
    let (first, neighbours) = graph.rows();
    if i32::try_from(n_nodes).is_err() || i32::try_from(neighbours.len()).is_err() {
        return Err(PartitionError::TooLarge(neighbours.len(), "links between nodes for METIS"));
    }
    // The balancing afterwards needs a little play.
    let n_parts = (n_nodes as f64 / (capacity as f64 * super::balance::FILL)).ceil().max(1.0) as usize;
    let mut part = vec![0; n_nodes];
    if n_parts > 1 && !neighbours.is_empty() {
        let first: Vec<metis::Idx> = first.iter().map(|&i| i as metis::Idx).collect();
        let neighbours: Vec<metis::Idx> = neighbours.iter().map(|&i| i as metis::Idx).collect();
        let graph = metis::Graph::new(1, n_parts as metis::Idx, &first, &neighbours)
            .map_err(|error| PartitionError::Metis(error.to_string()))?;
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Imbalance in thousandths, and a fixed seed.
        graph
            .set_option(metis::option::UFactor(10))
            .set_option(metis::option::Seed(1))
            .part_kway(&mut part)
            .map_err(|error| PartitionError::Metis(error.to_string()))?;
    }
    Ok(part.into_iter().map(|block| block as u32).collect())
}

/// Cuts a graph with weights, given by rows, into about equal parts; gives the part of each vertex. An error is METIS's.
///
/// METIS replaces the handlers of SIGTERM and SIGABRT while it runs.
pub(crate) fn weighted_parts(
    first: &[i32],
    neighbours: &[i32],
    vertex_weights: &[i32],
    edge_weights: &[i32],
    n_parts: usize,
) -> Result<Vec<u32>, String> {
    let mut part = vec![0; vertex_weights.len()];
    if n_parts > 1 && !neighbours.is_empty() {
        let n_parts = metis::Idx::try_from(n_parts).map_err(|error| error.to_string())?;
        let graph = metis::Graph::new(1, n_parts, first, neighbours).map_err(|error| error.to_string())?;
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        graph
            .set_vwgt(vertex_weights)
            .set_adjwgt(edge_weights)
            .set_option(metis::option::UFactor(10))
            .set_option(metis::option::Seed(1))
            .part_kway(&mut part)
            .map_err(|error| error.to_string())?;
    }
    Ok(part.into_iter().map(|part| part as u32).collect())
}
