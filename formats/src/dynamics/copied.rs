//! Displacements that are copied from node to node: periodic sides.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use crate::block::check::{Check, all_below, require};

/// Displacements that are copied after each increment: u of `to[k]` becomes that of `from[k]`.
///
/// The nodes `to` take part in the forces of their elements, and nothing else acts on them. Where their elements repeat
/// those on the other side of the mesh, the mesh is periodic.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct CopiedDisplacements {
    /// None of these is in `to`.
    pub from: Vec<u32>,
    /// Each once.
    pub to: Vec<u32>,
}

impl CopiedDisplacements {
    /// Whether nothing is copied.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Each node that is read, with the one that becomes equal to it.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.from.iter().zip(&self.to).map(|(&from, &to)| (from as usize, to as usize))
    }

    /// The node that each of `n_nodes` nodes is equal to: itself, or the one that it is copied from.
    pub fn origins(&self, n_nodes: usize) -> Vec<u32> {
        let mut origins: Vec<u32> = (0..n_nodes as u32).collect();
        for (from, to) in self.pairs() {
            origins[to] = from as u32;
        }
        origins
    }

    /// Copies rows of `width` numbers a node.
    pub fn copy<T: Copy>(&self, rows: &mut [T], width: usize) {
        for (from, to) in self.pairs() {
            rows.copy_within(from * width..(from + 1) * width, to * width);
        }
    }

    /// A copy of a copy becomes one of the node at the beginning.
    ///
    /// # Errors
    /// A node that is, over others, a copy of itself.
    pub fn follow_chains(&mut self) -> Result<(), u32> {
        let mut by_target: Vec<(u32, u32)> = self.to.iter().copied().zip(self.from.iter().copied()).collect();
        by_target.sort_unstable();
        let source = |node: u32| Some(by_target[by_target.binary_search_by_key(&node, |pair| pair.0).ok()?].1);
        for from in &mut self.from {
            let (start, mut steps) = (*from, 0);
            while let Some(next) = source(*from) {
                *from = next;
                steps += 1;
                if steps > by_target.len() {
                    return Err(start);
                }
            }
        }
        Ok(())
    }

    /// What steppers rely on.
    pub(crate) fn check(&self, n_nodes: usize) -> Check {
        let what = "copied displacements";
        all_below(what, &self.from, n_nodes)?;
        all_below(what, &self.to, n_nodes)?;
        require(self.from.len() == self.to.len(), || format!("{what}: the lists differ in length"))?;
        let mut is_target = vec![false; n_nodes];
        let once = self.to.iter().all(|&to| !std::mem::replace(&mut is_target[to as usize], true));
        require(once, || format!("{what}: a node is copied to twice"))?;
        require(!self.from.iter().any(|&from| is_target[from as usize]), || format!("{what}: a copy of a copy"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_copies_are_those_of_the_first_node_and_circles_are_errors() {
        let mut copied = CopiedDisplacements { from: vec![5, 2, 0, 7], to: vec![2, 3, 5, 1] };
        assert!(copied.check(8).is_err());
        copied.follow_chains().unwrap();
        assert_eq!(copied.from, [0, 0, 0, 7]);
        copied.check(8).unwrap();
        assert_eq!(copied.origins(8), [0, 7, 0, 0, 4, 0, 6, 7]);
        let mut rows: Vec<u32> = (0..16).collect();
        copied.copy(&mut rows, 2);
        assert_eq!(rows, [0, 1, 14, 15, 0, 1, 0, 1, 8, 9, 0, 1, 12, 13, 14, 15]);
        let mut circle = CopiedDisplacements { from: vec![4, 1, 2], to: vec![1, 2, 4] };
        assert_eq!(circle.follow_chains(), Err(4));
        assert!(CopiedDisplacements { from: vec![1, 2], to: vec![3, 3] }.check(8).is_err());
        assert!(CopiedDisplacements { from: vec![8], to: vec![3] }.check(8).is_err());
        assert!(CopiedDisplacements { from: vec![], to: vec![3] }.check(8).is_err());
    }
}
