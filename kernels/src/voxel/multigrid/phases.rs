//! Phases of very different stiffness, whose coarse nodes are kept apart.
//!
//! A coarse element moves as one trilinear field. Where stiff and compliant voxels share it, no coarse displacement lets the
//! stiff ones move as rigid bodies in a compliant matrix, and convergence takes as many iterations as the root of the ratio of
//! their moduli. So a node belongs to the stiffest phase that touches it, and coarse levels are made of each phase with its own
//! nodes alone: first split where a phase does not hang together, as a sample in a void is. A voxel that joins nodes of
//! different phases acts between their coarse nodes.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use pogo_formats::system::parallel::iterate::*;

use super::hierarchy::FACTORISED;
use super::split::{Coarsening, coarsen};
use crate::voxel::elements::{Elements, NO_NODE};
use crate::voxel::problem::Stiffness;

/// Phases differ in stiffness by this factor at least. Below it, one trilinear field for all converges as fast.
const GAP: f64 = 300.0;
/// Bins of stiffness: eleven bits of the exponent of a number and three of its fraction.
const BINS: usize = 1 << 14;
/// Largest share of the finest nodes that level 1 may have.
const LARGEST: f64 = 1.0 / 3.0;
/// Largest share of the nodes of a level that the next one may have, down to a level that is small enough to be factorised.
const SLOWEST: f64 = 0.45;
const SMALL: usize = FACTORISED / 3;

/// Least and greatest stiffness in each bin; the least is infinite where there is none.
type Ranges = Vec<[f64; 2]>;

/// The stiffnesses between phases, ascending; none where there is one phase.
fn borders(n: usize, size: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let none = || -> Ranges { vec![[f64::INFINITY, 0.0]; BINS] };
    let wider = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a.min(c), b.max(d)];
    let add = |mut ranges: Ranges, element: usize| {
        let value = size(element);
        let bin = &mut ranges[(value.to_bits() >> 49) as usize % BINS];
        *bin = wider(*bin, [value, value]);
        ranges
    };
    let merge = |a: Ranges, b: Ranges| a.into_iter().zip(b).map(|(a, b)| wider(a, b)).collect();
    let ranges = (0..n).into_par_iter().with_min_len(1 << 16).fold(none, add).reduce(none, merge);
    let filled: Vec<[f64; 2]> = ranges.into_iter().filter(|[least, _]| least.is_finite()).collect();
    let gap = |pair: &[[f64; 2]]| {
        let (below, above) = (pair[0][1], pair[1][0]);
        (above > GAP * below).then(|| (above * below).sqrt())
    };
    filled.windows(2).filter_map(gap).collect()
}

/// Elements whose nodes are those of their own phase alone; none where there is one phase. `size` is the stiffness of an
/// element. Elements without such a node are left out.
pub(super) fn apart(fine: &Elements, stiffness: &Stiffness, n_parts: usize) -> Option<Elements> {
    // Of two parts, λ h and μ h, the second is positive.
    let size = |element: usize| stiffness(element, n_parts - 1);
    let borders = borders(fine.nodes.len(), size);
    if borders.is_empty() || borders.len() > usize::from(u8::MAX) {
        return None;
    }
    let phase = |element: usize| borders.partition_point(|&border| border < size(element)) as u8;
    let stiffest: Vec<AtomicU8> = (0..fine.n_nodes).into_par_iter().map(|_| AtomicU8::new(0)).collect();
    fine.nodes.par_iter().enumerate().with_min_len(1 << 12).for_each(|(element, nodes)| {
        let own = phase(element);
        for stiffest in nodes.map(|node| &stiffest[node as usize]) {
            if stiffest.load(Relaxed) < own {
                stiffest.fetch_max(own, Relaxed);
            }
        }
    });
    let own_nodes = |element: usize| {
        let own = phase(element);
        let nodes = fine.nodes[element];
        nodes.map(|node| if stiffest[node as usize].load(Relaxed) == own { node } else { NO_NODE })
    };
    let (code, nodes) = (0..fine.nodes.len())
        .into_par_iter()
        .map(|element| (fine.code[element], own_nodes(element)))
        .filter(|(_, nodes)| *nodes != [NO_NODE; 8])
        .unzip();
    Some(Elements { code, nodes, n_nodes: fine.n_nodes, period: fine.period, blocks_of_voxels: None })
}

/// Memory that coarse nodes for each phase take beyond common ones, bytes a node of the finest level: 180 bytes a degree of freedom,
/// measured on layers of 80³ voxels.
pub(super) const BYTES_OF_NODE: f64 = 3.0 * 180.0;

/// Whether levels with phases become small fast enough: `coarse` has the elements of level 1 with the nodes that are used.
///
/// Where a phase is strewn over the other in single voxels, each of them keeps coarse nodes of its own on all levels. A cycle then
/// costs more than it gains.
pub(super) fn pays(coarse: &Elements, n_fine: usize) -> bool {
    let mut n = count(coarse);
    let mut next: Option<Elements> = None;
    let mut shrinks = n as f64 <= LARGEST * n_fine as f64;
    while shrinks && n > SMALL {
        let coarser = used(&coarsen(next.as_ref().unwrap_or(coarse), true));
        let n_coarser = count(&coarser);
        shrinks = n_coarser as f64 <= SLOWEST * n as f64;
        (n, next) = (n_coarser, Some(coarser));
    }
    shrinks
}

/// How many nodes elements have.
fn count(elements: &Elements) -> usize {
    let mut is_there = vec![false; elements.n_nodes];
    let nodes = elements.nodes.iter().flatten().filter(|node| **node != NO_NODE);
    nodes.for_each(|&node| is_there[node as usize] = true);
    is_there.into_iter().filter(|is_there| *is_there).count()
}

/// The coarse elements with those nodes alone on which a finer node depends. An element of a phase that fills a part of its cell
/// has others, which are never moved.
pub(super) fn used(level: &Coarsening) -> Elements {
    let coarse = &level.coarse;
    let mut is_used = vec![false; coarse.n_nodes];
    for (element, nodes) in coarse.nodes.iter().enumerate() {
        level.transfer.corners(element).for_each(|corner| is_used[nodes[corner] as usize] = true);
    }
    let own = |nodes: &[u32; 8]| nodes.map(|node| if is_used[node as usize] { node } else { NO_NODE });
    let nodes = coarse.nodes.par_iter().map(own).collect();
    Elements {
        code: coarse.code.clone(),
        nodes,
        n_nodes: coarse.n_nodes,
        period: coarse.period,
        blocks_of_voxels: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pogo_formats::voxel::bricks_of;

    #[test]
    fn phases_lie_where_no_stiffness_does() {
        assert_eq!(borders(3, |element| [1.0, 250.0, 60_000.0][element]), [] as [f64; 0]);
        let found = borders(4, |element| [1.0, 2.0, 1e6, 5e3][element]);
        assert_eq!(found, [(2.0 * 5e3_f64).sqrt()]);
        assert_eq!(borders(4, |element| [1.0, 1e-6, 1e6, 1e6][element]).len(), 2);
        // Any number of moduli between both: grey values of bone are one phase.
        assert!(borders(1000, |element| 1.1_f64.powi(element as i32)).is_empty());
    }

    #[test]
    fn layers_have_coarse_nodes_of_their_own() {
        // Stiff layers of three voxels between compliant ones: a compliant layer has two planes of nodes of its own.
        let bricks = bricks_of([8, 8, 9], |_| true);
        let fine = Elements::of_bricks(&bricks.view());
        let stiff = |element: usize| pogo_formats::voxel::morton_position(fine.code[element])[2] / 3 != 1;
        let parts = apart(&fine, &|element, _| if stiff(element) { 1e5 } else { 1.0 }, 1).expect("two phases");
        let nodes = parts.nodes.as_flattened();
        assert!((0..fine.n_nodes as u32).all(|node| nodes.contains(&node)));
        let level = coarsen(&parts, true);
        let elements = used(&level);
        // Planes of coarse nodes: z = 0, 2, 4 of the lower layer, 4 and 6 of the compliant one, 6, 8 and 10 of the upper one.
        assert_eq!(count(&elements), 5 * 5 * 8);
        assert!(elements.nodes.iter().flatten().all(|&node| node == NO_NODE || (node as usize) < elements.n_nodes));
    }
}
