//! The boundary of a mesh: faces (edges in 2D) that belong to one element only, and its connected pieces.

use pogo_formats::mesh::MeshView;
use pogo_formats::system::parallel::iterate::*;

use super::deal::Deal;
use super::{NodeGraph, PartitionError};
use crate::elements;
use crate::rows::by_row;

/// One connected piece of boundary.
pub(crate) struct Piece {
    /// Its nodes; in 2D in the order of a walk along it.
    pub(crate) nodes: Vec<u32>,
    /// Links along the boundary between them, by position in `nodes`.
    pub(crate) links: NodeGraph,
    /// Diagonal of its bounding box, m.
    diagonal: f64,
}

/// A face, padded with `u32::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Face {
    /// Its nodes in ascending order.
    key: [u32; 4],
    /// Its nodes in the element's order, round the face.
    pub(crate) nodes: [u32; 4],
}

/// Outer faces of all elements, ascending.
pub(crate) fn boundary_faces(mesh: &MeshView) -> Result<Vec<Face>, PartitionError> {
    let n_nodes = mesh.n_nodes();
    let deal = Deal::to_ranges(mesh)?;
    let outer: Vec<Vec<Face>> = (0..Deal::n_ranges(n_nodes))
        .into_par_iter()
        .map(|range| {
            let nodes = Deal::range(range, n_nodes);
            let mut faces: Vec<Face> = Vec::new();
            for dealt in deal.bucket(range) {
                let kind = mesh.groups[dealt.group].kind;
                for record in dealt.records() {
                    for round in elements::faces(kind, &record[1..]) {
                        let mut key = round;
                        key.sort_unstable();
                        // A face belongs to the range of its lowest node only.
                        if nodes.contains(&key[0]) {
                            faces.push(Face { key, nodes: round });
                        }
                    }
                }
            }
            // By the lowest node first: what is left to sort is short.
            let (first, order) = by_row(nodes.len(), faces.iter().map(|face| face.key[0] - nodes.start));
            let mut faces: Vec<Face> = order.into_iter().map(|at| faces[at as usize]).collect();
            first.windows(2).for_each(|bounds| faces[bounds[0] as usize..bounds[1] as usize].sort_unstable());
            faces.chunk_by(|a, b| a.key == b.key).filter(|same| same.len() == 1).map(|face| face[0]).collect()
        })
        .collect();
    Ok(outer.concat())
}

/// Connected pieces of boundary, the largest bounding box first: the first piece in each part of a mesh is its outer one.
pub(crate) fn pieces(mesh: &MeshView) -> Result<Vec<Piece>, PartitionError> {
    let faces = boundary_faces(mesh)?;
    let mut links: Vec<(u32, u32)> = Vec::with_capacity(faces.len() * 4);
    for face in &faces {
        for a in face.key {
            links.extend(face.key.iter().filter(|&&b| a != u32::MAX && b != u32::MAX && a != b).map(|&b| (a, b)));
        }
    }
    links.sort_unstable();
    links.dedup();
    let mut nodes: Vec<u32> = links.iter().map(|link| link.0).collect();
    nodes.dedup();
    let place = |node: u32| nodes.partition_point(|&n| n < node) as u32;
    let surface = NodeGraph::from_links(nodes.len(), links.iter().map(|&(a, b)| (place(a), place(b))));

    let mut order = vec![u32::MAX; nodes.len()];
    let mut pieces = Vec::new();
    for start in 0..nodes.len() as u32 {
        if order[start as usize] != u32::MAX {
            continue;
        }
        // Depth first: on a closed line this is a walk along it.
        let mut walk = Vec::new();
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if order[node as usize] == u32::MAX {
                order[node as usize] = walk.len() as u32;
                walk.push(node);
                stack.extend(surface.neighbours(node).iter().filter(|&&n| order[n as usize] == u32::MAX));
            }
        }
        let links = walk
            .iter()
            .enumerate()
            .flat_map(|(i, &node)| surface.neighbours(node).iter().map(move |&n| (i as u32, n)))
            .map(|(i, n)| (i, order[n as usize]));
        let links = NodeGraph::from_links(walk.len(), links);
        let walk: Vec<u32> = walk.into_iter().map(|i| nodes[i as usize]).collect();
        pieces.push(Piece { diagonal: diagonal(mesh, &walk), nodes: walk, links });
    }
    pieces.sort_by(|a, b| b.diagonal.total_cmp(&a.diagonal));
    Ok(pieces)
}

fn diagonal(mesh: &MeshView, nodes: &[u32]) -> f64 {
    (0..mesh.dimension)
        .map(|axis| {
            let position = |&node: &u32| mesh.coordinates[node as usize * mesh.dimension + axis];
            let (low, high) = nodes
                .iter()
                .map(position)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            (high - low).powi(2)
        })
        .sum::<f64>()
        .sqrt()
}
