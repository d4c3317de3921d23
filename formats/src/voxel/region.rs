//! Nodes of a region, and nodes round elements.

use super::masks;
use super::setup::NodeRegion;
use super::tables::{BricksView, NO_BRICK};
use super::{morton_code, morton_position};

/// In [`BrickNodes`]: no such node.
pub const NO_NODE: u32 = u32::MAX;

/// Numbers of the nodes in and on the upper sides of one brick, 9 × 9 × 9, x fastest.
#[derive(Debug, Clone)]
pub struct BrickNodes {
    numbers: Box<[u32; 729]>,
}

impl Default for BrickNodes {
    fn default() -> Self {
        Self { numbers: Box::new([NO_NODE; 729]) }
    }
}

/// Where each slot of a brick is among the 9 × 9 × 9.
const PLACE: [u16; 512] = {
    let mut place = [0; 512];
    let mut slot = 0;
    while slot < 512 {
        let [i, j, k] = morton_position(slot as u64);
        place[slot] = (i + 9 * j + 81 * k) as u16;
        slot += 1;
    }
    place
};

impl BrickNodes {
    /// Fills the table for a brick.
    pub fn load(&mut self, bricks: &BricksView<'_>, brick: usize) {
        self.numbers.fill(NO_NODE);
        for corner in 0..8_usize {
            let upper = [corner & 1, corner >> 1 & 1, corner >> 2];
            // Neighbour (dx, dy, dz) with 0 or 1 each; the brick itself is number 13 of 27.
            let other = bricks.neighbours[27 * brick + 13 + upper[0] + 3 * upper[1] + 9 * upper[2]];
            if other == NO_BRICK {
                continue;
            }
            let other = other as usize;
            let start = 8 * (upper[0] + 9 * upper[1] + 81 * upper[2]);
            let mut first = bricks.node_first[other];
            for (word, &mask) in bricks.node_mask[8 * other..8 * other + 8].iter().enumerate() {
                let mut left = mask & masks::lower_side(word, corner);
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    let before = (mask & ((1 << bit) - 1)).count_ones();
                    self.numbers[start + PLACE[64 * word + bit as usize] as usize] = first + before;
                }
                first += mask.count_ones();
            }
        }
    }

    /// The eight nodes of the element in a slot of the brick, in the order of [`element`](Self::element).
    pub fn in_slot(&self, slot: usize) -> [u32; 8] {
        let first = PLACE[slot] as usize;
        [0, 1, 9, 10, 81, 82, 90, 91].map(|step| self.numbers[first + step])
    }

    /// Number of the node at an offset of up to 8 from the brick's corner, or [`NO_NODE`].
    pub fn node(&self, offset: [u32; 3]) -> u32 {
        self.numbers[(offset[0] + 9 * offset[1] + 81 * offset[2]) as usize]
    }

    /// The eight nodes of the element at an offset of up to 7: node 0 the lowest, then x fastest, y, z.
    pub fn element(&self, offset: [u32; 3]) -> [u32; 8] {
        let first = (offset[0] + 9 * offset[1] + 81 * offset[2]) as usize;
        [0, 1, 9, 10, 81, 82, 90, 91].map(|step| self.numbers[first + step])
    }
}

impl BricksView<'_> {
    /// Lowest and highest node indices; none where there is no node.
    pub fn bounds(&self) -> Option<[[u32; 3]; 2]> {
        let mut bounds: Option<[[u32; 3]; 2]> = None;
        for brick in 0..self.n_bricks() {
            let corner = self.corner(brick);
            if let Some([low, high]) = bounds
                && (0..3).all(|axis| corner[axis] >= low[axis] && corner[axis] + 7 <= high[axis])
            {
                continue;
            }
            for position in self.node_positions(brick) {
                let [low, high] = bounds.get_or_insert([position; 2]);
                for axis in 0..3 {
                    low[axis] = low[axis].min(position[axis]);
                    high[axis] = high[axis].max(position[axis]);
                }
            }
        }
        bounds
    }

    /// The node nearest to a position in units of the edge length, measured from node (0, 0, 0); of several, the first.
    pub fn nearest_node(&self, position: [f64; 3]) -> Option<u32> {
        let rounded = position.map(f64::round);
        if rounded.iter().all(|&p| (0.0..f64::from(1 << 21)).contains(&p))
            && let Some(node) = self.node(rounded.map(|p| p as u32))
        {
            return Some(node);
        }
        let mut best: Option<(f64, u32)> = None;
        for brick in 0..self.n_bricks() {
            let nodes = self.node_first[brick]..self.node_first[brick + 1];
            for (at, node) in self.node_positions(brick).zip(nodes) {
                let distance: f64 = (0..3).map(|axis| (f64::from(at[axis]) - position[axis]).powi(2)).sum();
                if best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, node));
                }
            }
        }
        best.map(|(_, node)| node)
    }

    /// Node numbers of a region, ascending. `class` is the class of each element, or empty.
    pub fn region_nodes(&self, region: &NodeRegion, class: &[u8]) -> Vec<u32> {
        match region {
            NodeRegion::Nodes(nodes) => nodes.clone(),
            NodeRegion::Box { low, high } => self.nodes_where(*low, *high, |_| true),
            NodeRegion::Surface { low, high } => {
                self.nodes_where(*low, *high, |at| (0..3).any(|axis| at[axis] == low[axis] || at[axis] == high[axis]))
            }
            NodeRegion::Material(material) => {
                let mut nodes = Vec::new();
                let mut table = BrickNodes::default();
                for brick in 0..self.n_bricks() {
                    table.load(self, brick);
                    let corner = self.corner(brick);
                    let elements = self.element_first[brick]..self.element_first[brick + 1];
                    for (at, element) in self.element_positions(brick).zip(elements) {
                        if class.get(element as usize).is_some_and(|&class| u32::from(class) == *material) {
                            nodes.extend(table.element([0, 1, 2].map(|axis| at[axis] - corner[axis])));
                        }
                    }
                }
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
        }
    }

    fn nodes_where(&self, low: [u32; 3], high: [u32; 3], keep: impl Fn([u32; 3]) -> bool) -> Vec<u32> {
        let mut nodes = Vec::new();
        for brick in 0..self.n_bricks() {
            let corner = self.corner(brick);
            if (0..3).any(|axis| corner[axis] > high[axis] || corner[axis] + 7 < low[axis]) {
                continue;
            }
            let inside = |at: [u32; 3]| (0..3).all(|axis| at[axis] >= low[axis] && at[axis] <= high[axis]);
            let numbers = self.node_first[brick]..self.node_first[brick + 1];
            let found = self.node_positions(brick).zip(numbers).filter(|&(at, _)| inside(at) && keep(at));
            nodes.extend(found.map(|(_, node)| node));
        }
        nodes
    }

    /// Position (i, j, k) of a node.
    pub fn node_position(&self, node: u32) -> [u32; 3] {
        // The last brick that starts at or before the node; bricks without nodes start where the next one does.
        let brick = self.node_first.partition_point(|&first| first <= node).saturating_sub(1);
        self.nth(brick, &self.node_mask[8 * brick..8 * brick + 8], node - self.node_first[brick])
    }

    /// Position (i, j, k) of an element.
    pub fn element_position(&self, element: u32) -> [u32; 3] {
        let brick = self.element_first.partition_point(|&first| first <= element).saturating_sub(1);
        self.nth(brick, &self.element_mask[8 * brick..8 * brick + 8], element - self.element_first[brick])
    }

    /// Position of the slot with the n-th set bit.
    fn nth(&self, brick: usize, mask: &[u64], mut n: u32) -> [u32; 3] {
        let corner = self.code[brick] << 9;
        for (word, &bits) in mask.iter().enumerate() {
            if n >= bits.count_ones() {
                n -= bits.count_ones();
                continue;
            }
            let mut left = bits;
            for _ in 0..n {
                left &= left - 1;
            }
            return morton_position(corner | (64 * word as u64) | u64::from(left.trailing_zeros()));
        }
        morton_position(corner)
    }
}

/// The bricks of a dense grid of voxels: small models of tests and tools that have no other way to make them.
///
/// Voxels for which `solid(i, j, k)` holds, `size` along each axis.
pub fn bricks_of(size: [u32; 3], solid: impl Fn([u32; 3]) -> bool) -> super::Bricks {
    use std::collections::BTreeMap;
    let mut found: BTreeMap<u64, ([u64; 8], [u64; 8])> = BTreeMap::new();
    for k in 0..size[2] {
        for j in 0..size[1] {
            for i in 0..size[0] {
                if !solid([i, j, k]) {
                    continue;
                }
                let code = morton_code([i, j, k]);
                found.entry(code >> 9).or_default().0[code as usize >> 6 & 7] |= 1 << (code & 63);
                for corner in 0..8_u32 {
                    let code = morton_code([i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)]);
                    found.entry(code >> 9).or_default().1[code as usize >> 6 & 7] |= 1 << (code & 63);
                }
            }
        }
    }
    let mut bricks = super::Bricks { element_first: vec![0], node_first: vec![0], ..super::Bricks::default() };
    let ones = |mask: &[u64; 8]| mask.iter().map(|word| word.count_ones()).sum::<u32>();
    let (mut elements, mut nodes) = (0, 0);
    for (&code, (element_mask, node_mask)) in &found {
        bricks.code.push(code);
        bricks.element_mask.extend(element_mask);
        bricks.node_mask.extend(node_mask);
        elements += ones(element_mask);
        nodes += ones(node_mask);
        bricks.element_first.push(elements);
        bricks.node_first.push(nodes);
    }
    for &code in &bricks.code {
        let at = morton_position(code);
        for neighbour in 0..27_i64 {
            let step = [neighbour % 3 - 1, neighbour / 3 % 3 - 1, neighbour / 9 - 1];
            let other = [0, 1, 2].map(|axis| u32::try_from(i64::from(at[axis]) + step[axis]).ok());
            let found = match other {
                [Some(x), Some(y), Some(z)] => bricks.code.binary_search(&morton_code([x, y, z])).ok(),
                _ => None,
            };
            bricks.neighbours.push(found.map_or(NO_BRICK, |brick| brick as u32));
        }
    }
    bricks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> super::super::Bricks {
        bricks_of([11, 9, 17], |[i, j, k]| (i * 7 + j * 5 + k * 3) % 4 != 0)
    }

    #[test]
    fn the_nodes_of_an_element_are_its_corners() {
        let bricks = sample();
        let bricks = bricks.view();
        let mut table = BrickNodes::default();
        let mut seen = 0;
        for brick in 0..bricks.n_bricks() {
            table.load(&bricks, brick);
            let corner = bricks.corner(brick);
            for at in bricks.element_positions(brick) {
                for (c, node) in table.element([0, 1, 2].map(|axis| at[axis] - corner[axis])).into_iter().enumerate() {
                    let c = c as u32;
                    let position = [at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2)];
                    assert_eq!(bricks.node(position), Some(node));
                    assert_eq!(bricks.node_position(node), position);
                }
                let element = bricks.element(at).unwrap();
                assert_eq!(bricks.element_position(element), at);
                seen += 1;
            }
        }
        assert_eq!(seen, bricks.n_elements());
    }

    #[test]
    fn regions_are_found() {
        let bricks = bricks_of([9, 4, 3], |_| true);
        let bricks = bricks.view();
        assert_eq!(bricks.bounds(), Some([[0, 0, 0], [9, 4, 3]]));
        let face = bricks.region_nodes(&NodeRegion::Box { low: [9, 0, 0], high: [9, 4, 3] }, &[]);
        assert_eq!(face.len(), 20);
        assert!(face.windows(2).all(|pair| pair[0] < pair[1]));
        let surface = bricks.region_nodes(&NodeRegion::Surface { low: [0; 3], high: [9, 4, 3] }, &[]);
        assert_eq!(surface.len(), 10 * 5 * 4 - 8 * 3 * 2);
        let mut class = vec![0; bricks.n_elements()];
        class[bricks.element([0, 0, 0]).unwrap() as usize] = 3;
        assert_eq!(bricks.region_nodes(&NodeRegion::Material(3), &class).len(), 8);
        assert_eq!(bricks.nearest_node([8.6, 4.4, 0.2]), bricks.node([9, 4, 0]));
        assert_eq!(bricks.nearest_node([-5.0, 99.0, 0.2]), bricks.node([0, 4, 0]));
    }
}
