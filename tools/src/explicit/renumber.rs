//! Meshes that number their nodes in no order, as mesh generators for tetrahedra mostly do. All that follows goes from nodes to
//! nodes near them. If these stand anywhere in memory, it takes twice as long and more memory.

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::Mesh;
use pogo_formats::system::parallel::iterate::*;

use super::arrange::permute;
use super::remap_setup;
use crate::morton;

/// Nodes whose data stay in the cache of a core.
const RANGE: u32 = 4096;
/// One element in so many is looked at.
const SAMPLE: usize = 16;
/// Most places of memory that an element reads on average. In a grid that is numbered row by row it reads two: one of each layer.
const MOST_PLACES: f64 = 2.25;

/// Puts the nodes into Morton order if they are in none.
pub(super) fn put_in_order(mut mesh: Mesh, setup: &mut Setup) -> Mesh {
    if !is_scattered(&mesh) {
        return mesh;
    }
    let order = morton::order(&morton::keys(&mesh.coordinates, mesh.dimension as usize));
    let mut place = vec![0_u32; order.len()];
    (0..).zip(&order).for_each(|(new, &old)| place[old as usize] = new);
    for group in &mut mesh.groups {
        group.connectivity.par_iter_mut().for_each(|node| *node = place[*node as usize]);
    }
    remap_setup(setup, &place);
    permute::nodes(mesh, &place, &order)
}

/// Whether elements read nodes from more places than those of a numbered grid.
fn is_scattered(mesh: &Mesh) -> bool {
    let (mut n_places, mut n_elements) = (0, 0);
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()).step_by(SAMPLE) {
            n_places += places(nodes);
            n_elements += 1;
        }
    }
    n_places as f64 > MOST_PLACES * f64::from(n_elements)
}

/// Number of ranges of nodes that an element reads; neighbouring ranges count once.
fn places(nodes: &[u32]) -> usize {
    let mut ranges = [0; 8];
    let ranges = &mut ranges[..nodes.len()];
    ranges.iter_mut().zip(nodes).for_each(|(range, node)| *range = node / RANGE);
    ranges.sort_unstable();
    ranges.windows(2).filter(|pair| pair[1] > pair[0] + 1).count() + 1
}

#[cfg(test)]
mod tests {
    use pogo_formats::mesh::ElementKind;

    use super::*;

    /// A box of hexahedra whose node `number(n)` is the n-th row by row.
    fn cells(edge: u32, number: impl Fn(u32) -> u32) -> Mesh {
        let node = |at: [u32; 3]| at[0] + (edge + 1) * (at[1] + (edge + 1) * at[2]);
        let mut coordinates = vec![0.0; 3 * (edge + 1).pow(3) as usize];
        for n in 0..(edge + 1).pow(3) {
            let at = [n % (edge + 1), n / (edge + 1) % (edge + 1), n / (edge + 1).pow(2)];
            coordinates[3 * number(n) as usize..][..3].copy_from_slice(&at.map(f64::from));
        }
        let corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
        let mut connectivity = Vec::new();
        for cell in 0..edge.pow(3) {
            let at = [cell % edge, cell / edge % edge, cell / edge.pow(2)];
            connectivity.extend(corners.map(|corner| number(node([0, 1, 2].map(|k| at[k] + corner[k])))));
        }
        Mesh::of_kind(ElementKind::C3d8, coordinates, connectivity)
    }

    #[test]
    fn nodes_in_no_order_are_put_in_order_and_keep_labels_places_and_elements() {
        let n = 41_u32.pow(3);
        let scattered = cells(40, |node| (u64::from(node) * 40_503 % u64::from(n)) as u32);
        let mut setup = Setup::default();
        let mesh = put_in_order(scattered.clone(), &mut setup);
        assert!(is_scattered(&scattered) && !is_scattered(&mesh));
        assert_ne!(mesh.node_labels, scattered.node_labels);
        for (new, old) in mesh.groups[0].connectivity.iter().zip(&scattered.groups[0].connectivity) {
            let (new, old) = (*new as usize, *old as usize);
            assert_eq!(mesh.node_labels[new], scattered.node_labels[old]);
            assert_eq!(mesh.coordinates[3 * new..][..3], scattered.coordinates[3 * old..][..3]);
        }
    }

    #[test]
    fn grids_numbered_row_by_row_stay_as_they_are() {
        let mesh = cells(40, |node| node);
        assert_eq!(put_in_order(mesh.clone(), &mut Setup::default()), mesh);
    }
}
