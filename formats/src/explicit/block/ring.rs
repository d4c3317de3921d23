//! Tetrahedra round an edge, up to six together.
//!
//! A row of eight [corners](super::corner) holds the ends a and b of the edge and two to six nodes c_0, c_1, … in turn: every
//! (a, b, c_k, c_{k+1}) is a positively oriented tetrahedron. What is left repeats the last c, flagged. Where a is flagged the
//! ring is closed: the last and the first c make a tetrahedron, too.

use super::corner::{FLAG, local_node};
use crate::mesh::ElementKind;

/// Corners in a row.
pub const RING_NODES: usize = 8;
/// Tetrahedra that a row can hold.
pub const RING_ELEMENTS: usize = 6;

/// Corners of a row, and its elements.
pub const fn shape(kind: ElementKind) -> [usize; 2] {
    match kind {
        ElementKind::C3d4 | ElementKind::Ac3d4 => [RING_NODES, RING_ELEMENTS],
        _ => [kind.n_nodes(), 1],
    }
}

/// The row of the tetrahedra round (a, b); `around` are two to six distinct nodes.
pub fn ring_row(ends: [u16; 2], around: &[u16], closed: bool) -> [u16; RING_NODES] {
    std::array::from_fn(|slot| match slot {
        0 => ends[0] | if closed { FLAG } else { 0 },
        1 => ends[1],
        _ => match (around.get(slot - 2), around.last()) {
            (Some(&node), _) => node,
            (_, last) => last.copied().unwrap_or_default() | FLAG,
        },
    })
}

/// How many nodes c a row has.
pub fn ring_around(row: &[u16]) -> usize {
    row[2..RING_NODES].iter().take_while(|&&corner| corner & FLAG == 0).count()
}

/// The tetrahedra of a row, local nodes, one after the other.
pub fn ring_tetrahedra(row: &[u16]) -> impl Iterator<Item = [u16; 4]> + '_ {
    let n = ring_around(row);
    let last = if row[0] & FLAG != 0 { n } else { n.saturating_sub(1) };
    (0..last).map(move |k| [row[0], row[1], row[2 + k], row[2 + (k + 1) % n]].map(local_node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_open_and_closed_rings() {
        for n in 2..=6 {
            let around: Vec<u16> = (20..20 + n).collect();
            for closed in [false, true] {
                if closed && n < 3 {
                    continue;
                }
                let row = ring_row([3, 9], &around, closed);
                assert_eq!(ring_around(&row), usize::from(n));
                let found: Vec<[u16; 4]> = ring_tetrahedra(&row).collect();
                assert_eq!(found.len(), usize::from(n) - usize::from(!closed));
                for [a, b, c, d] in found {
                    assert_eq!([a, b], [3, 9]);
                    assert!(d == c + 1 || (closed && d == 20 && c == 19 + n), "{n} {closed} {c} {d}");
                }
            }
        }
    }
}
