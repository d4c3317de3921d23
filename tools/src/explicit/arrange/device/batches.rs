//! Elements in space in [batches](pogo_formats::explicit::block::corner), turned so that no two of one have a node at the same corner.

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::corner::{ABSENT, BATCH, FLAG, TURNS, local_node, ways_of, with_turn};
use pogo_formats::explicit::block::ring::{RING_ELEMENTS, RING_NODES, ring_around, shape};
use pogo_formats::mesh::ElementKind;

use super::solids::Items;

/// Where elements may be looked for that make room in their batch: only so many, so that it ends.
const TRIES: usize = 64;

/// An element or ring turned one way: which of its corners comes to stand at each, and which of a ring's elements.
#[derive(Debug, Clone, Copy)]
struct Way {
    corners: [u8; RING_NODES],
    n: usize,
    elements: [u8; RING_ELEMENTS],
}

fn ways_of_element(kind: ElementKind) -> Vec<Way> {
    let way = |corners| Way { corners, n: kind.n_nodes(), elements: [0; RING_ELEMENTS] };
    ways_of(kind).into_iter().map(way).collect()
}

/// A ring may be taken the other way round, and a closed one may begin anywhere.
fn ways_of_ring(n: usize, closed: bool) -> Vec<Way> {
    let n_elements = if closed { n } else { n - 1 };
    let mut ways = Vec::new();
    for back in [false, true] {
        for first in 0..if closed { n } else { 1 } {
            // Node and element k of the turned ring; an open one that is turned begins at its end.
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
            ways.push(Way {
                corners: std::array::from_fn(|slot| match slot {
                    0 | 1 => (slot ^ usize::from(back)) as u8,
                    _ => 2 + node((slot - 2).min(n - 1)) as u8,
                }),
                n: 2 + n,
                elements: std::array::from_fn(|k| if k < n_elements { element(k) } else { k } as u8),
            });
        }
    }
    ways
}

/// A row in its batch.
struct Placed {
    item: u32,
    way: Way,
    /// In which its corners add; 0 is in step with the others.
    turns: [u16; RING_NODES],
}

/// One batch as it fills.
#[derive(Default)]
struct Batch {
    rows: Vec<Placed>,
    /// One more than the row that has each node at each corner, or, beyond those, in each turn.
    at: Vec<u32>,
    n_turns: u16,
}

/// Puts rows in batches; kept for its memory.
pub(super) struct Batcher {
    batches: Vec<Batch>,
    hexahedron: Vec<Way>,
    wedge: Vec<Way>,
    /// Open and closed, by the number of nodes round the edge.
    rings: [Vec<Vec<Way>>; 2],
}

impl Default for Batcher {
    fn default() -> Self {
        let rings = [false, true].map(|closed| {
            let some = |n| if n < 2 { Vec::new() } else { ways_of_ring(n, closed) };
            (0..=RING_ELEMENTS).map(some).collect()
        });
        let [hexahedron, wedge] = [ElementKind::C3d8, ElementKind::C3d6].map(ways_of_element);
        Self { batches: Vec::new(), hexahedron, wedge, rings }
    }
}

impl Batcher {
    /// Puts the elements or rings of one run, in a block with `n_local` nodes, in the order and form of the tables. Each goes
    /// to the first batch where it meets nobody; if there is none, to one where another makes room for it, or else it adds in
    /// turns.
    pub(super) fn arrange(&mut self, kind: ElementKind, items: &mut Items, n_local: usize) {
        let [width, depth] = shape(kind);
        let n = items.elements.len() / depth;
        let n_slots = RING_NODES + usize::from(TURNS);
        let mut batches = std::mem::take(&mut self.batches);
        let mut n_batches = n.div_ceil(BATCH);
        batches.resize_with(n_batches.max(batches.len()), Batch::default);
        for batch in &mut batches {
            batch.rows.clear();
            batch.at.clear();
            batch.n_turns = 0;
        }
        batches[..n_batches].iter_mut().for_each(|batch| batch.at.resize(n_slots * n_local, 0));
        let row_of = |item: u32| &items.nodes[width * item as usize..][..width];
        let ways = |item: u32| -> &[Way] {
            let row = row_of(item);
            match kind {
                ElementKind::C3d4 => &self.rings[usize::from(row[0] & FLAG != 0)][ring_around(row)],
                ElementKind::C3d6 => &self.wedge,
                _ => &self.hexahedron,
            }
        };
        let place = |row: &[u16], way: &Way, slot: usize| {
            slot * n_local + usize::from(local_node(row[usize::from(way.corners[slot])]))
        };
        let is_free = |batch: &Batch, item: u32, way: &Way| {
            let row = row_of(item);
            (0..way.n).all(|slot| batch.at[place(row, way, slot)] == 0)
        };
        let put = |batch: &mut Batch, item: u32, way: Way| {
            let row = row_of(item);
            batch.rows.push(Placed { item, way, turns: [0; RING_NODES] });
            (0..way.n).for_each(|slot| batch.at[place(row, &way, slot)] = item + 1);
        };

        let mut left = Vec::new();
        'items: for item in 0..n as u32 {
            for batch in batches[..n_batches].iter_mut().filter(|batch| batch.rows.len() < BATCH) {
                if let Some(&way) = ways(item).iter().find(|way| is_free(batch, item, way)) {
                    put(batch, item, way);
                    continue 'items;
                }
            }
            left.push(item);
        }
        // Exchanges: one that stands alone in the way goes to a batch with room.
        left.retain(|&item| {
            let mut tries = 0;
            for to in 0..n_batches {
                for from in 0..n_batches {
                    if from == to || batches[to].rows.len() == BATCH {
                        continue;
                    }
                    for way in ways(item) {
                        let row = row_of(item);
                        let mut others =
                            (0..way.n).map(|slot| batches[from].at[place(row, way, slot)]).filter(|&other| other != 0);
                        let Some(other) = others.next() else { continue };
                        if tries == TRIES || others.any(|another| another != other) {
                            continue;
                        }
                        tries += 1;
                        let other = other - 1;
                        let Some(&new) = ways(other).iter().find(|way| is_free(&batches[to], other, way)) else {
                            continue;
                        };
                        let at = batches[from].rows.iter().position(|row| row.item == other);
                        let Some(at) = at else { continue };
                        let old = batches[from].rows.swap_remove(at).way;
                        let row = row_of(other);
                        (0..old.n).for_each(|slot| batches[from].at[place(row, &old, slot)] = 0);
                        put(&mut batches[to], other, new);
                        put(&mut batches[from], item, *way);
                        return false;
                    }
                }
            }
            true
        });
        // Turns, where there are some already; a batch more where they do not suffice.
        for item in left {
            let row = row_of(item);
            let node = |way: &Way, slot: usize| usize::from(local_node(row[usize::from(way.corners[slot])]));
            let round = |slot: usize, turn: u16| if turn == 0 { slot } else { RING_NODES - 1 + usize::from(turn) };
            let mut best: Option<(usize, u16, Placed)> = None;
            for (b, batch) in batches[..n_batches].iter().enumerate().filter(|(_, batch)| batch.rows.len() < BATCH) {
                for way in ways(item) {
                    let mut turns = [0; RING_NODES];
                    let fits = (0..way.n).all(|slot| {
                        let turn = (0..=TURNS).find(|&turn| {
                            let mine = |before: usize| turns[before] == turn && node(way, before) == node(way, slot);
                            batch.at[round(slot, turn) * n_local + node(way, slot)] == 0
                                && (turn == 0 || !(0..slot).any(mine))
                        });
                        turns[slot] = turn.unwrap_or(0);
                        turn.is_some()
                    });
                    let more = turns.into_iter().max().unwrap_or(0).saturating_sub(batch.n_turns);
                    if fits && best.as_ref().is_none_or(|best| more < best.1) {
                        best = Some((b, more, Placed { item, way: *way, turns }));
                    }
                }
            }
            if let Some((b, more, placed)) = best {
                for (slot, &turn) in placed.turns[..placed.way.n].iter().enumerate() {
                    batches[b].at[round(slot, turn) * n_local + node(&placed.way, slot)] = item + 1;
                }
                batches[b].n_turns += more;
                batches[b].rows.push(placed);
                continue;
            }
            batches.resize_with(batches.len().max(n_batches + 1), Batch::default);
            batches[n_batches].at.resize(n_slots * n_local, 0);
            put(&mut batches[n_batches], item, ways(item)[0]);
            n_batches += 1;
        }

        let (mut nodes, mut elements) = (Vec::new(), Vec::new());
        for (b, batch) in batches[..n_batches].iter_mut().enumerate() {
            // Neighbours in the mesh stay neighbours.
            batch.rows.sort_unstable_by_key(|row| row.item);
            for Placed { item, way, turns } in &batch.rows {
                let row = row_of(*item);
                nodes.extend((0..width).map(|slot| {
                    let flagged = match slot {
                        0 => kind == ElementKind::C3d4 && row[0] & FLAG != 0,
                        _ => slot >= way.n,
                    };
                    let node = local_node(row[usize::from(way.corners[slot])]);
                    with_turn(node, turns[slot]) | if flagged { FLAG } else { 0 }
                }));
                let of_item = &items.elements[depth * *item as usize..][..depth];
                elements.extend((0..depth).map(|k| of_item[usize::from(way.elements[k])]));
            }
            if b + 1 < n_batches {
                nodes.resize(nodes.len() + width * (BATCH - batch.rows.len()), ABSENT);
                elements.resize(elements.len() + depth * (BATCH - batch.rows.len()), DeviceTables::NO_ELEMENT);
            }
        }
        self.batches = batches;
        (items.nodes, items.elements) = (nodes, elements);
    }
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
            for way in ways_of_ring(usize::from(n), closed) {
                let turned: [u16; RING_NODES] = std::array::from_fn(|slot| {
                    let node = local_node(row[usize::from(way.corners[slot])]);
                    node | if if slot == 0 { closed } else { slot >= way.n } { FLAG } else { 0 }
                });
                let found: Vec<_> = ring_tetrahedra(&turned).map(sorted).collect();
                assert_eq!(found.len(), given.len());
                for (k, tetrahedron) in found.iter().enumerate() {
                    assert_eq!(*tetrahedron, given[usize::from(way.elements[k])], "{n} {closed} {way:?}");
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
