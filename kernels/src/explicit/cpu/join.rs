//! The blocks of a group as one, and elements on a join that are computed once: the first block that they touch has them,
//! and passes their forces on.

use std::ops::Range;

use pogo_formats::explicit::block::BlocksView;
use pogo_formats::mesh::ElementKind;

/// Elements of one kind and one section.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members {
    pub kind: ElementKind,
    pub section: usize,
    pub elements: Vec<u32>,
    /// Local node indices, (n, nodes).
    pub connectivity: Vec<u16>,
}

/// Own nodes, halo and elements of a group of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Joined {
    /// Solver indices of the own nodes, by ascending block.
    pub own: Vec<Range<usize>>,
    pub n_own: usize,
    /// Solver indices, ascending.
    pub halo: Vec<u32>,
    pub members: Vec<Members>,
}

impl Joined {
    /// The blocks of `group`, ascending, as one; `None` where it has more nodes than 16 bits count. Elements that several
    /// of them touch are kept once.
    pub fn new(blocks: &BlocksView, group: &[usize]) -> Option<Self> {
        let own: Vec<Range<usize>> = group.iter().map(|&b| blocks.own_nodes(b)).collect();
        let n_own = own.iter().map(Range::len).sum();
        // Local indices where the own nodes of each block begin.
        let first: Vec<usize> =
            own.iter().scan(0, |next, own| Some(std::mem::replace(next, *next + own.len()))).collect();
        let place = |node: u32| {
            let piece = own.partition_point(|own| own.end <= node as usize);
            let range = own.get(piece).filter(|own| own.contains(&(node as usize)))?;
            Some((piece, first[piece] + node as usize - range.start))
        };
        let mut halo: Vec<u32> =
            group.iter().flat_map(|&b| blocks.halo(b)).copied().filter(|&node| place(node).is_none()).collect();
        halo.sort_unstable();
        halo.dedup();
        if n_own + halo.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut members: Vec<Members> = Vec::new();
        for (piece, &b) in group.iter().enumerate() {
            // Piece and local index of each node that the block sees; no piece for nodes of other groups.
            let own_places = (0..own[piece].len()).map(|i| (piece, (first[piece] + i) as u16));
            let halo_places = blocks.halo(b).iter().map(|&node| match place(node) {
                Some((piece, local)) => (piece, local as u16),
                None => (usize::MAX, (n_own + halo.partition_point(|&other| other < node)) as u16),
            });
            let places: Vec<(usize, u16)> = own_places.chain(halo_places).collect();
            for run in blocks.runs(b) {
                let same = |one: &Members| one.kind == run.kind && one.section == run.section;
                let at = members.iter().position(same).unwrap_or_else(|| {
                    let (kind, section) = (run.kind, run.section);
                    members.push(Members { kind, section, elements: Vec::new(), connectivity: Vec::new() });
                    members.len() - 1
                });
                for (nodes, &element) in run.connectivity.chunks_exact(run.kind.n_nodes()).zip(run.elements) {
                    if nodes.iter().all(|&local| places[usize::from(local)].0 >= piece) {
                        members[at].elements.push(element);
                        members[at].connectivity.extend(nodes.iter().map(|&local| places[usize::from(local)].1));
                    }
                }
            }
        }
        Some(Self { own, n_own, halo, members })
    }

    /// Keeps of the elements those that touch no earlier block, and of the halo the nodes that are left: all of later
    /// blocks. Every element has one such block, the first that it touches.
    pub fn keep_first(&mut self) {
        const UNUSED: u16 = u16::MAX;
        let (n_own, start) = (self.n_own, self.own[0].start);
        let mut place: Vec<u16> = vec![UNUSED; n_own + self.halo.len()];
        for members in &mut self.members {
            let (mut elements, mut connectivity) = (Vec::new(), Vec::new());
            for (nodes, &element) in members.connectivity.chunks_exact(members.kind.n_nodes()).zip(&members.elements) {
                let earlier = |&local: &u16| {
                    let local = usize::from(local);
                    local >= n_own && (self.halo[local - n_own] as usize) < start
                };
                if !nodes.iter().any(earlier) {
                    elements.push(element);
                    connectivity.extend(nodes);
                    nodes.iter().for_each(|&local| place[usize::from(local)] = 0);
                }
            }
            (members.elements, members.connectivity) = (elements, connectivity);
        }
        let mut kept = Vec::new();
        for (k, &node) in self.halo.iter().enumerate() {
            if place[n_own + k] != UNUSED {
                place[n_own + k] = (n_own + kept.len()) as u16;
                kept.push(node);
            }
        }
        self.halo = kept;
        for members in &mut self.members {
            for local in members.connectivity.iter_mut().filter(|local| usize::from(**local) >= n_own) {
                *local = place[usize::from(*local)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_without_earlier_nodes_stay() {
        // Own nodes 10 and 11; halo 4, 12, 20.
        let members = |elements: &[u32], connectivity: &[u16]| Members {
            kind: ElementKind::Cpe3,
            section: 0,
            elements: elements.to_vec(),
            connectivity: connectivity.to_vec(),
        };
        let mut joined = Joined {
            own: std::iter::once(10..12).collect(),
            n_own: 2,
            halo: vec![4, 12, 20],
            members: vec![members(&[7, 8, 9], &[0, 1, 2, 1, 0, 4, 0, 1, 3])],
        };
        joined.keep_first();
        assert_eq!(joined.halo, [12, 20]);
        assert_eq!(joined.members, [members(&[8, 9], &[1, 0, 3, 0, 1, 2])]);
    }
}
