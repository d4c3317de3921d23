//! Cutting the grid into sub-domains.

use pogo_formats::domains::SubDomains;
use pogo_formats::voxel::{BricksView, NO_BRICK, masks, sub_domains};

use super::VoxelError;
use crate::cli::word;
use crate::partition;
use crate::prepare::options::DomainMethod;

/// Cuts the bricks into `n` domains with about as many elements each, and lists their interfaces. The same input gives the
/// same domains.
///
/// # Errors
/// More domains than bricks with elements, or METIS fails.
pub fn domains(bricks: &BricksView, method: DomainMethod, n: usize) -> Result<SubDomains, VoxelError> {
    let elements = |brick: usize| bricks.element_first[brick + 1] - bricks.element_first[brick];
    let filled = (0..bricks.n_bricks()).filter(|&brick| elements(brick) > 0).count();
    if n == 0 || n > filled.max(1) {
        return Err(VoxelError::Domains { domains: n, bricks: filled });
    }
    let domain = match method {
        _ if n == 1 => vec![0; bricks.n_bricks()],
        DomainMethod::Metis => by_metis(bricks, n)?,
        _ => by_morton(bricks, n, filled),
    };
    Ok(sub_domains(&word(&method), bricks, &domain, n))
}

/// Cuts where the sum of elements passes the share of the next domain.
fn by_morton(bricks: &BricksView, n: usize, filled: usize) -> Vec<u32> {
    let total = bricks.n_elements() as u64;
    let (mut domain, mut left) = (0_u64, filled as u64);
    let mut any = false;
    (0..bricks.n_bricks())
        .map(|brick| {
            let (first, next) = (u64::from(bricks.element_first[brick]), u64::from(bricks.element_first[brick + 1]));
            if next == first {
                return domain as u32;
            }
            // The middle of a brick decides. Neither this domain nor a later one may stay without bricks.
            let share = (first + next) * n as u64 >= 2 * total * (domain + 1);
            let needed = left <= n as u64 - 1 - domain;
            if any && domain + 1 < n as u64 && (share || needed) {
                domain += 1;
            }
            any = true;
            left -= 1;
            domain as u32
        })
        .collect()
}

/// Cuts by METIS. The weight of a brick is its number of elements; that of a link, the nodes that elements of one brick have in
/// the other.
fn by_metis(bricks: &BricksView, n: usize) -> Result<Vec<u32>, VoxelError> {
    let n_bricks = bricks.n_bricks();
    let shared = |brick: usize, c: usize| {
        let mut around = [[0; 8]; 8];
        around[c] = bricks.elements(brick);
        masks::count(&masks::node_mask(&around)) as i32
    };
    let step = |c: usize| (c & 1) + 3 * (c >> 1 & 1) + 9 * (c >> 2);
    let neighbour = |brick: usize, d: usize| match bricks.neighbours[27 * brick + d] {
        NO_BRICK => None,
        other => Some(other as usize),
    };
    let (mut first, mut neighbours, mut edge_weights) = (vec![0_u32], Vec::new(), Vec::new());
    let mut vertex_weights = Vec::with_capacity(n_bricks);
    for brick in 0..n_bricks {
        for c in 1..8 {
            for (d, upper) in [(13 + step(c), true), (13 - step(c), false)] {
                let Some(other) = neighbour(brick, d) else { continue };
                let weight = if upper { shared(brick, c) } else { shared(other, c) };
                if weight > 0 {
                    neighbours.push(other as u32);
                    edge_weights.push(weight);
                }
            }
        }
        first.push(neighbours.len() as u32);
        vertex_weights.push((bricks.element_first[brick + 1] - bricks.element_first[brick]) as i32);
    }
    let weights = Some([vertex_weights.as_slice(), &edge_weights]);
    let parts = partition::metis_parts(n_bricks, &first, &neighbours, weights, n).map_err(VoxelError::Metis)?;
    // Numbered in the order of their first bricks with elements. A brick without elements follows the brick below whose nodes
    // it holds.
    let filled = || (0..n_bricks).filter(|&brick| vertex_weights[brick] > 0);
    let (numbers, n_met) = partition::numbered_as_met(filled().map(|brick| parts[brick]), n);
    if n_met < n as u32 {
        return Err(VoxelError::Metis(format!("it left {} of {n} domains without elements", n as u32 - n_met)));
    }
    let mut domain = vec![u32::MAX; n_bricks];
    filled().for_each(|brick| domain[brick] = numbers[parts[brick] as usize]);
    for brick in 0..n_bricks {
        if domain[brick] == u32::MAX {
            let below = (1..8).filter_map(|c| neighbour(brick, 13 - step(c)).filter(|&other| shared(other, c) > 0));
            domain[brick] = below.map(|other| domain[other]).find(|&domain| domain != u32::MAX).unwrap_or(0);
        }
    }
    Ok(domain)
}
