//! Sub-domains of an Eikonal mesh (Sections 6 and 6.3 of Ganellari et al.).
//!
//! A sub-domain owns consecutive nodes and computes the times of these alone; it reads further nodes of the elements round
//! them. Where the time of an own node falls, the owner tells the sub-domains that have it in their halo. The lists for
//! that stand once in the file and serve both approaches of the paper: the *first* (one list for each pair of sub-domains,
//! worked off by anybody) takes all messages, the *second* (each sub-domain has its own interface information) those that
//! one owner sends. In contrast to the paper's, a node has one owner: nobody else writes its time, so no update needs an
//! atomic operation.

use super::EikonalMesh;
use crate::domains::SubDomains;

/// Lists the nodes that sub-domains need of each other. `node_first` cuts the nodes, (n_domains + 1,); the mesh is
/// [connected](EikonalMesh::connect).
pub fn sub_domains(method: &str, node_first: &[u32], mesh: &EikonalMesh) -> SubDomains {
    // One range a sub-domain: its nodes are consecutive.
    #[allow(clippy::single_range_in_vec_init)]
    let own: Vec<_> = node_first.windows(2).map(|cut| vec![cut[0]..cut[1]]).collect();
    let needed = own.iter().map(|own| {
        let [start, end] = [own[0].start, own[0].end].map(|node| mesh.neighbour_first[node as usize] as usize);
        mesh.neighbours[start..end].iter().copied().filter(|node| !own[0].contains(node)).collect()
    });
    let needed = needed.collect();
    SubDomains::new(method, &own, needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of triangles 0-1-2, 1-2-3, 2-3-4, 3-4-5, cut into 0-1, 2-3, 4-5.
    #[test]
    fn messages_of_a_strip() {
        let mut mesh =
            EikonalMesh { corners: 3, elements: vec![0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5], ..Default::default() };
        mesh.connect(6);
        let domains = sub_domains("morton", &[0, 2, 4, 6], &mesh);
        let view = domains.view();
        assert_eq!(view.halo_of(0), [2, 3]);
        assert_eq!(view.halo_of(1), [0, 1, 4, 5]);
        assert_eq!((view.n_messages(), view.starts()), (4, vec![0, 2, 4, 6]));
        let sent: Vec<_> = view.sent(1).map(|message| (message.reader, message.halo_first, message.items)).collect();
        assert_eq!(sent, [(0, 0, &[2, 3][..]), (2, 0, &[2, 3][..])]);
        assert_eq!(view.received(1).map(|message| message.halo_first).collect::<Vec<_>>(), [0, 2]);
    }
}
