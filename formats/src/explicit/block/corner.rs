//! Corners of elements in space, as devices take them: 16 bits that say a local node and when the force on it is added.
//!
//! Rows of corners, one an element or [ring](super::ring), stand in batches of [`BATCH`]. A device has a thread a row and adds
//! the forces of a batch corner by corner, all threads at the same one. So no two rows of a batch may have a node at the same
//! corner, unless one of them says that it adds there in a *turn* after all corners: turns 1, 2 and 3 follow each other, and in
//! each of them no two corners of the batch may have the same node.
//!
//! Bits 0 to 12 are the node, 13 and 14 the turn. Bit 15 says of a ring's first corner that the ring is closed, and of any other
//! that nothing is added there: it repeats the node before it.

use crate::mesh::{ElementKind, ElementShape};

/// Rows of a batch.
pub const BATCH: usize = 128;
/// Turns after the corners.
pub const TURNS: u16 = 3;
/// Local nodes that a block with such rows may have.
pub const MOST_LOCAL_NODES: usize = (1 << TURN_AT) - 4;
/// All corners of a row without an element.
pub const ABSENT: u16 = FLAG | ((1 << TURN_AT) - 1);
/// That a ring is closed, or a corner repeated.
pub const FLAG: u16 = 1 << 15;
const TURN_AT: u32 = 13;

/// A corner that adds in a turn; 0 is in step with the others.
pub const fn with_turn(node: u16, turn: u16) -> u16 {
    node | turn << TURN_AT
}

/// The local node of a corner.
pub const fn local_node(corner: u16) -> u16 {
    corner & ((1 << TURN_AT) - 1)
}

/// The turn in which a corner's force is added.
pub const fn turn_of(corner: u16) -> u16 {
    corner >> TURN_AT & 3
}

/// All ways to turn an element, not a ring, that leave its orientation: which of its corners comes to stand at each. Places
/// beyond its corners stay.
pub fn ways_of(kind: ElementKind) -> Vec<[u8; 8]> {
    let turns: [[u8; 8]; 2] = match kind.shape() {
        ElementShape::Tetrahedron => [[1, 2, 0, 3, 4, 5, 6, 7], [1, 0, 3, 2, 4, 5, 6, 7]],
        ElementShape::Wedge => [[1, 2, 0, 4, 5, 3, 6, 7], [3, 5, 4, 0, 2, 1, 6, 7]],
        _ => [[1, 2, 3, 0, 5, 6, 7, 4], [4, 5, 1, 0, 7, 6, 2, 3]],
    };
    let mut all: Vec<[u8; 8]> = vec![std::array::from_fn(|corner| corner as u8)];
    let mut next = 0;
    while next < all.len() {
        for turn in turns {
            let turned = turn.map(|corner| all[next][usize::from(corner)]);
            if !all.contains(&turned) {
                all.push(turned);
            }
        }
        next += 1;
    }
    all
}
