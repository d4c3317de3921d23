//! Tetrahedra round an edge, up to six together.
//!
//! A row of eight local indices holds the ends a and b of the edge and two to six nodes c_0, c_1, … in turn: every
//! (a, b, c_k, c_{k+1}) is a positively oriented tetrahedron. Slots that are left repeat the last c. Where a > b the last
//! and the first c make a tetrahedron, too; a ring is turned round so that a and b stand as needed.

/// Local indices in a row.
pub const RING_NODES: usize = 8;
/// Tetrahedra that a row can hold.
pub const RING_ELEMENTS: usize = 6;

/// The row of the tetrahedra round (a, b); `around` are two to six distinct nodes.
pub fn ring_row(mut ends: [u16; 2], around: &[u16], closed: bool) -> [u16; RING_NODES] {
    let mut around = around.to_vec();
    if (ends[0] > ends[1]) != closed {
        ends.reverse();
        around.reverse();
    }
    let last = around.len().saturating_sub(1);
    std::array::from_fn(|slot| match slot {
        0 | 1 => ends[slot],
        _ => around.get((slot - 2).min(last)).copied().unwrap_or_default(),
    })
}

/// How many nodes c a row has.
pub fn ring_around(row: &[u16]) -> usize {
    1 + row[2..RING_NODES].windows(2).take_while(|pair| pair[0] != pair[1]).count()
}

/// The tetrahedra of a row, one after the other.
pub fn ring_tetrahedra(row: &[u16]) -> impl Iterator<Item = [u16; 4]> + '_ {
    let (a, b, around) = (row[0], row[1], &row[2..RING_NODES]);
    let n = ring_around(row);
    let last = if a > b { n } else { n - 1 };
    (0..last).map(move |k| [a, b, around[k], around[(k + 1) % n]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_open_and_closed_rings_whatever_the_order_of_the_ends() {
        for ends in [[3, 9], [9, 3]] {
            for n in 2..=6 {
                let around: Vec<u16> = (20..20 + n).collect();
                for closed in [false, true] {
                    if closed && n < 3 {
                        continue;
                    }
                    let found: Vec<[u16; 4]> = ring_tetrahedra(&ring_row(ends, &around, closed)).collect();
                    assert_eq!(found.len(), usize::from(n) - usize::from(!closed));
                    for [a, b, c, d] in found {
                        // The same orientation, with the ends as they were given.
                        let (c, d) = if [a, b] == ends { (c, d) } else { (d, c) };
                        assert!(d == c + 1 || (closed && d == 20 && c == 19 + n), "{ends:?} {n} {closed} {c} {d}");
                    }
                }
            }
        }
    }
}
