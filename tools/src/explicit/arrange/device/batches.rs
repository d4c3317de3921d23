//! Elements in space in [batches](pogo_formats::explicit::block::corner): elements are turned so that no two elements of a batch
//! have the same node at the same corner.

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::corner::{ABSENT, BATCH, FLAG, TURNS, local_node, ways_of, with_turn};
use pogo_formats::explicit::block::ring::{RING_ELEMENTS, RING_NODES, ring_around, shape};
use pogo_formats::mesh::{ElementKind, ElementShape};

use super::items::Items;

/// Most rows that are asked to make room for one row.
const TRIES: usize = 64;

/// One way to turn an element or ring: the corner that comes to stand at each corner, and the element of a ring at each
/// place.
#[derive(Debug, Clone, Copy)]
struct Orientation {
    corners: [u8; RING_NODES],
    n: usize,
    elements: [u8; RING_ELEMENTS],
}

fn orientations_of_element(kind: ElementKind) -> Vec<Orientation> {
    if !matches!(kind.shape(), ElementShape::Wedge | ElementShape::Hexahedron) {
        return Vec::new();
    }
    let orientation = |corners| Orientation { corners, n: kind.n_nodes(), elements: [0; RING_ELEMENTS] };
    ways_of(kind).into_iter().map(orientation).collect()
}

/// A ring may run the other way round, and a closed ring may begin at any node.
fn orientations_of_ring(n: usize, closed: bool) -> Vec<Orientation> {
    let n_elements = if closed { n } else { n - 1 };
    let mut orientations = Vec::new();
    for back in [false, true] {
        for first in 0..if closed { n } else { 1 } {
            // Node and element k of the turned ring. An open ring that runs backwards begins at its end.
            let node = |k: usize| match (back, closed) {
                (false, _) => (first + k) % n,
                (true, true) => (first + n - k) % n,
                (true, false) => n - 1 - k,
            };
            let element = |k: usize| match (back, closed) {
                (false, _) => (first + k) % n_elements,
                (true, true) => (first + 2 * n - k - 1) % n,
                (true, false) => n_elements - 1 - k,
            };
            orientations.push(Orientation {
                corners: std::array::from_fn(|slot| match slot {
                    0 | 1 => (slot ^ usize::from(back)) as u8,
                    _ => 2 + node((slot - 2).min(n - 1)) as u8,
                }),
                n: 2 + n,
                elements: std::array::from_fn(|k| if k < n_elements { element(k) } else { k } as u8),
            });
        }
    }
    orientations
}

/// A row in its batch.
struct Placed {
    item: u32,
    orientation: Orientation,
    /// Turn in which each corner adds; 0 means at the same time as the others.
    turns: [u16; RING_NODES],
}

/// One batch as it fills.
#[derive(Default)]
struct Batch {
    rows: Vec<Placed>,
    /// One more than the row that has each node at each corner, and behind those in each turn; 0 for none.
    at: Vec<u32>,
    /// The corners at which rows have each node, a bit each.
    corners: Vec<u8>,
    n_turns: u16,
}

impl Batch {
    fn make_room(&mut self, n_local: usize) {
        self.at.resize(N_ROUNDS * n_local, 0);
        self.corners.resize(n_local, 0);
    }
}

/// Puts rows into batches; kept for its memory.
pub(super) struct Batcher {
    batches: Vec<Batch>,
    orientations: Orientations,
}

/// The orientations of every kind of row.
struct Orientations {
    /// By kind; none of elements in the plane, and of tetrahedra, which come in rings.
    elements: [Vec<Orientation>; ElementKind::ALL.len()],
    /// Open and closed rings, by the number of nodes round the edge.
    rings: [Vec<Vec<Orientation>>; 2],
}

impl Default for Batcher {
    fn default() -> Self {
        let rings = [false, true].map(|closed| {
            let some = |n| if n < 2 { Vec::new() } else { orientations_of_ring(n, closed) };
            (0..=RING_ELEMENTS).map(some).collect()
        });
        let elements = ElementKind::ALL.map(orientations_of_element);
        Self { batches: Vec::new(), orientations: Orientations { elements, rings } }
    }
}

/// The rows of one run in a block.
struct Rows<'a> {
    kind: ElementKind,
    items: &'a Items,
    /// Entries of a row, and elements of a row.
    width: usize,
    depth: usize,
    /// Nodes that the block sees.
    n_local: usize,
    orientations: &'a Orientations,
}

impl Rows<'_> {
    fn row(&self, item: u32) -> &[u16] {
        &self.items.nodes[self.width * item as usize..][..self.width]
    }

    fn orientations(&self, item: u32) -> &[Orientation] {
        let row = self.row(item);
        match self.kind.shape() {
            ElementShape::Tetrahedron => &self.orientations.rings[usize::from(row[0] & FLAG != 0)][ring_around(row)],
            _ => &self.orientations.elements[self.kind as usize],
        }
    }

    /// Local index of the node that comes to stand at a corner.
    fn node(&self, item: u32, orientation: &Orientation, corner: usize) -> usize {
        usize::from(local_node(self.row(item)[usize::from(orientation.corners[corner])]))
    }

    /// Where [`Batch::at`] has this node at a corner, or in a turn.
    fn place(&self, item: u32, orientation: &Orientation, corner: usize, turn: u16) -> usize {
        let round = if turn == 0 { corner } else { RING_NODES - 1 + usize::from(turn) };
        round * self.n_local + self.node(item, orientation, corner)
    }

    /// The first orientation in which no corner meets another row of the batch.
    fn free_orientation(&self, batch: &Batch, item: u32) -> Option<Orientation> {
        let orientations = self.orientations(item);
        let n = orientations.first()?.n;
        let mut taken = [0; RING_NODES];
        for (taken, &node) in taken.iter_mut().zip(&self.row(item)[..n]) {
            *taken = batch.corners[usize::from(local_node(node))];
        }
        let is_free = |orientation: &&Orientation| {
            let met = |corner: usize| taken[usize::from(orientation.corners[corner])] >> corner & 1;
            (0..n).fold(0, |any, corner| any | met(corner)) == 0
        };
        orientations.iter().find(is_free).copied()
    }

    /// Enters a row at a corner, or takes what is there out.
    fn set(&self, batch: &mut Batch, item: u32, orientation: &Orientation, corner: usize, entry: u32) {
        batch.at[self.place(item, orientation, corner, 0)] = entry;
        let corners = &mut batch.corners[self.node(item, orientation, corner)];
        *corners = if entry == 0 { *corners & !(1 << corner) } else { *corners | 1 << corner };
    }

    fn put(&self, batch: &mut Batch, item: u32, orientation: Orientation) {
        (0..orientation.n).for_each(|corner| self.set(batch, item, &orientation, corner, item + 1));
        batch.rows.push(Placed { item, orientation, turns: [0; RING_NODES] });
    }

    /// Takes a row that adds in no turn out of its batch.
    fn remove(&self, batch: &mut Batch, item: u32) -> bool {
        let Some(at) = batch.rows.iter().position(|row| row.item == item) else { return false };
        let orientation = batch.rows.swap_remove(at).orientation;
        (0..orientation.n).for_each(|corner| self.set(batch, item, &orientation, corner, 0));
        true
    }

    /// The turns in which the corners can add in a batch; `None` if they are too few.
    fn turns(&self, batch: &Batch, item: u32, orientation: &Orientation) -> Option<[u16; RING_NODES]> {
        let mut turns = [0; RING_NODES];
        for corner in 0..orientation.n {
            let node = self.node(item, orientation, corner);
            turns[corner] = (0..=TURNS).find(|&turn| {
                let same = |before: usize| turns[before] == turn && self.node(item, orientation, before) == node;
                batch.at[self.place(item, orientation, corner, turn)] == 0 && (turn == 0 || !(0..corner).any(same))
            })?;
        }
        Some(turns)
    }
}

impl Batcher {
    /// Puts the elements or rings of one run, in a block with `n_local` nodes, in the order and form of the tables. Each goes
    /// to the first batch where it meets no other row. If there is none, it goes to a batch in which a row makes room for it,
    /// or else it adds in turns.
    pub(super) fn arrange(&mut self, kind: ElementKind, items: &mut Items, n_local: usize) {
        let [width, depth] = shape(kind);
        let mut batches = std::mem::take(&mut self.batches);
        let mut n_batches = (items.elements.len() / depth).div_ceil(BATCH);
        batches.resize_with(n_batches.max(batches.len()), Batch::default);
        for batch in &mut batches {
            batch.rows.clear();
            batch.at.clear();
            batch.corners.clear();
            batch.n_turns = 0;
        }
        batches[..n_batches].iter_mut().for_each(|batch| batch.make_room(n_local));
        let rows = Rows { kind, items: &*items, width, depth, n_local, orientations: &self.orientations };

        let n = (items.elements.len() / depth) as u32;
        let unplaced = (0..n).filter(|&item| !place_freely(&rows, &mut batches[..n_batches], item));
        let mut unplaced: Vec<u32> = unplaced.collect();
        unplaced.retain(|&item| !exchange(&rows, &mut batches[..n_batches], item));
        for item in unplaced {
            if !place_in_turns(&rows, &mut batches[..n_batches], item) {
                batches.resize_with(batches.len().max(n_batches + 1), Batch::default);
                let batch = &mut batches[n_batches];
                batch.make_room(n_local);
                rows.put(batch, item, rows.orientations(item)[0]);
                n_batches += 1;
            }
        }
        let (nodes, elements) = emit(&rows, &mut batches[..n_batches]);
        self.batches = batches;
        (items.nodes, items.elements) = (nodes, elements);
    }
}

/// Corners and turns of a batch.
const N_ROUNDS: usize = RING_NODES + TURNS as usize;

/// Puts a row into the first batch where none of its corners meets another row.
fn place_freely(rows: &Rows, batches: &mut [Batch], item: u32) -> bool {
    for batch in batches.iter_mut().filter(|batch| batch.rows.len() < BATCH) {
        if let Some(orientation) = rows.free_orientation(batch, item) {
            rows.put(batch, item, orientation);
            return true;
        }
    }
    false
}

/// Puts a row into a batch where only one other row is in the way, and that row into another batch.
fn exchange(rows: &Rows, batches: &mut [Batch], item: u32) -> bool {
    let mut tries = 0;
    for to in 0..batches.len() {
        for from in 0..batches.len() {
            if from == to || batches[to].rows.len() == BATCH {
                continue;
            }
            for orientation in rows.orientations(item) {
                let in_the_way =
                    (0..orientation.n).map(|corner| batches[from].at[rows.place(item, orientation, corner, 0)]);
                let mut others = in_the_way.filter(|&other| other != 0);
                let Some(other) = others.next() else { continue };
                if tries == TRIES || others.any(|another| another != other) {
                    continue;
                }
                tries += 1;
                let Some(new) = rows.free_orientation(&batches[to], other - 1) else { continue };
                if rows.remove(&mut batches[from], other - 1) {
                    rows.put(&mut batches[to], other - 1, new);
                    rows.put(&mut batches[from], item, *orientation);
                    return true;
                }
            }
        }
    }
    false
}

/// Puts a row where it needs the fewest turns beyond those that a batch has already.
fn place_in_turns(rows: &Rows, batches: &mut [Batch], item: u32) -> bool {
    let mut best: Option<(usize, u16, Placed)> = None;
    for (b, batch) in batches.iter().enumerate().filter(|(_, batch)| batch.rows.len() < BATCH) {
        for orientation in rows.orientations(item) {
            let Some(turns) = rows.turns(batch, item, orientation) else { continue };
            let more = turns.into_iter().max().unwrap_or(0).saturating_sub(batch.n_turns);
            if best.as_ref().is_none_or(|best| more < best.1) {
                best = Some((b, more, Placed { item, orientation: *orientation, turns }));
            }
        }
    }
    let Some((b, more, placed)) = best else { return false };
    let batch = &mut batches[b];
    for (corner, &turn) in placed.turns[..placed.orientation.n].iter().enumerate() {
        match turn {
            0 => rows.set(batch, item, &placed.orientation, corner, item + 1),
            _ => batch.at[rows.place(item, &placed.orientation, corner, turn)] = item + 1,
        }
    }
    batch.n_turns += more;
    batch.rows.push(placed);
    true
}

/// The tables of all batches; those before the last are filled up.
fn emit(rows: &Rows, batches: &mut [Batch]) -> (Vec<u16>, Vec<u32>) {
    let (mut nodes, mut elements) = (Vec::new(), Vec::new());
    let n_batches = batches.len();
    for (b, batch) in batches.iter_mut().enumerate() {
        // The order of the run keeps neighbours in the mesh near each other.
        batch.rows.sort_unstable_by_key(|row| row.item);
        for Placed { item, orientation, turns } in &batch.rows {
            let row = rows.row(*item);
            nodes.extend((0..rows.width).map(|corner| {
                let flagged = match corner {
                    0 => rows.kind.shape() == ElementShape::Tetrahedron && row[0] & FLAG != 0,
                    _ => corner >= orientation.n,
                };
                let node = local_node(row[usize::from(orientation.corners[corner])]);
                with_turn(node, turns[corner]) | if flagged { FLAG } else { 0 }
            }));
            let of_item = &rows.items.elements[rows.depth * *item as usize..][..rows.depth];
            elements.extend((0..rows.depth).map(|k| of_item[usize::from(orientation.elements[k])]));
        }
        if b + 1 < n_batches {
            let n_absent = BATCH - batch.rows.len();
            nodes.resize(nodes.len() + rows.width * n_absent, ABSENT);
            elements.resize(elements.len() + rows.depth * n_absent, DeviceTables::NO_ELEMENT);
        }
    }
    (nodes, elements)
}

#[cfg(test)]
mod tests {
    use pogo_formats::explicit::block::corner::turn_of;
    use pogo_formats::explicit::block::ring::{ring_row, ring_tetrahedra};

    use super::*;

    /// Rows of hexahedra.
    fn arranged(nodes: Vec<u16>, n_local: usize) -> Items {
        let elements = (0..nodes.len() as u32 / 8).collect();
        let mut items = Items { width: 8, nodes, elements };
        Batcher::default().arrange(ElementKind::C3d8, &mut items, n_local);
        items
    }

    #[test]
    fn there_are_as_many_ways_to_turn_an_element_as_it_has() {
        assert_eq!(ways_of(ElementKind::C3d8).len(), 24);
        assert_eq!(ways_of(ElementKind::C3d6).len(), 6);
        // None of them mirrors: the corner across from the first one stays across.
        let across = [6, 7, 4, 5, 2, 3, 0, 1];
        for way in ways_of(ElementKind::C3d8r) {
            for corner in 0..8 {
                assert_eq!(usize::from(way[across[corner]]), across[usize::from(way[corner])]);
            }
        }
    }

    #[test]
    fn rings_keep_their_tetrahedra_whichever_way_they_are_turned() {
        for (n, closed) in (2..=6).flat_map(|n| [(n, false), (n, true)]).filter(|&(n, closed)| n > 2 || !closed) {
            let around: Vec<u16> = (20..20 + n).collect();
            let row = ring_row([7, 3], &around, closed);
            let sorted = |nodes: [u16; 4]| {
                // An even number of exchanges leaves the orientation.
                let inversions = (0..4).flat_map(|i| (0..i).map(move |k| (k, i))).filter(|&(k, i)| nodes[k] > nodes[i]);
                let odd = inversions.count() % 2;
                let mut nodes = nodes;
                nodes.sort_unstable();
                (nodes, odd)
            };
            let given: Vec<_> = ring_tetrahedra(&row).map(sorted).collect();
            for orientation in orientations_of_ring(usize::from(n), closed) {
                let turned: [u16; RING_NODES] = std::array::from_fn(|slot| {
                    let node = local_node(row[usize::from(orientation.corners[slot])]);
                    node | if if slot == 0 { closed } else { slot >= orientation.n } { FLAG } else { 0 }
                });
                let found: Vec<_> = ring_tetrahedra(&turned).map(sorted).collect();
                assert_eq!(found.len(), given.len());
                for (k, tetrahedron) in found.iter().enumerate() {
                    assert_eq!(
                        *tetrahedron,
                        given[usize::from(orientation.elements[k])],
                        "{n} {closed} {orientation:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_box_of_hexahedra_needs_few_turns_and_no_more_batches_than_elements_do() {
        let node = |i: u16, j: u16, k: u16| i + 9 * (j + 9 * k);
        let mut rows = Vec::new();
        for (k, j, i) in (0..512).map(|e| (e / 64, e / 8 % 8, e % 8)) {
            let corner = |[a, b, c]: [u16; 3]| node(i + a, j + b, k + c);
            let mut row =
                [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]].map(corner);
            // Some are numbered another way.
            if (i + j) % 3 == 1 {
                row = [2, 3, 0, 1, 6, 7, 4, 5].map(|c: usize| row[c]);
            }
            rows.extend(row);
        }
        let items = arranged(rows, 729);
        assert_eq!(items.elements.len(), 512);
        let turned = items.nodes.iter().filter(|&&corner| turn_of(corner) > 0).count();
        assert!(turned < 60, "{turned}");
    }

    #[test]
    fn elements_that_all_share_a_node_are_spread_over_batches() {
        let rows: Vec<u16> = (0..300).flat_map(|e| [0, 1, 2 + 2 * e, 3 + 2 * e, 1, 0, 700, 701]).collect();
        let items = arranged(rows, 800);
        let there: Vec<u32> = items.elements.iter().copied().filter(|&e| e != DeviceTables::NO_ELEMENT).collect();
        assert_eq!(there.len(), 300);
        assert!(items.nodes.iter().any(|&corner| corner != ABSENT && turn_of(corner) > 0));
        // Each of the four nodes takes a corner or a turn of a batch.
        assert!(items.elements.len() < 300 * BATCH / 3, "{}", items.elements.len());
    }
}
