//! Elements on a join that are computed once: the first block that they touch has them, and passes their forces on.

use std::ops::Range;

use pogo_formats::block::Run;

/// Keeps of a block's elements those that touch no earlier block, and of its halo the nodes that are left: all of later
/// blocks. Every element has one such block, the first that it touches.
pub(super) fn keep_first(own: &Range<usize>, halo: &mut Vec<u32>, runs: &mut [(Run, Vec<u32>, Vec<u16>)]) {
    const UNUSED: u16 = u16::MAX;
    let n_own = own.len();
    let mut place: Vec<u16> = vec![UNUSED; n_own + halo.len()];
    for (run, elements, connectivity) in runs.iter_mut() {
        elements.clear();
        connectivity.clear();
        for (nodes, &element) in run.connectivity.chunks_exact(run.kind.n_nodes()).zip(run.elements) {
            let earlier = |&local: &u16| {
                let local = usize::from(local);
                local >= n_own && (halo[local - n_own] as usize) < own.start
            };
            if !nodes.iter().any(earlier) {
                elements.push(element);
                connectivity.extend(nodes);
                nodes.iter().for_each(|&local| place[usize::from(local)] = 0);
            }
        }
    }
    let mut kept = Vec::new();
    for (k, &node) in halo.iter().enumerate() {
        if place[n_own + k] != UNUSED {
            place[n_own + k] = (n_own + kept.len()) as u16;
            kept.push(node);
        }
    }
    *halo = kept;
    for (_, _, connectivity) in runs {
        for local in connectivity.iter_mut().filter(|local| usize::from(**local) >= n_own) {
            *local = place[usize::from(*local)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pogo_formats::model::ElementKind;

    #[test]
    fn only_elements_without_earlier_nodes_stay() {
        // Own nodes 10 and 11; halo 4, 12, 20.
        let (elements, connectivity) = ([7, 8, 9], [0, 1, 2, 1, 0, 4, 0, 1, 3]);
        let run = Run { kind: ElementKind::Cpe3, section: 0, elements: &elements, connectivity: &connectivity };
        let mut halo = vec![4, 12, 20];
        let mut runs = [(run, elements.to_vec(), connectivity.to_vec())];
        keep_first(&(10..12), &mut halo, &mut runs);
        assert_eq!(halo, [12, 20]);
        assert_eq!(runs[0].1, [8, 9]);
        assert_eq!(runs[0].2, [1, 0, 3, 0, 1, 2]);
    }
}
