//! Trilinear interpolation between two levels.

use std::ops::Range;

use pogo_formats::system::parallel::iterate::*;

use crate::simd::Real;
use crate::voxel::share::Contributors;
use pogo_formats::system::parallel::Shared;

/// Consecutive coarse elements that a thread takes at a time.
const GROUP: usize = 1024;

/// Corners of a coarse element that a node at a place depends on, with one weight for all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    corners: [u8; 8],
    n: u8,
    pub weight: f32,
}

impl Place {
    /// Numbers of the corners that the place lies between.
    #[inline(always)]
    pub fn corners(&self) -> &[u8] {
        &self.corners[..usize::from(self.n)]
    }
}

/// The 27 places of a coarse element: x + 3 y + 9 z in half edges.
pub(crate) const PLACES: [Place; 27] = {
    let mut places = [Place { corners: [0; 8], n: 0, weight: 1.0 }; 27];
    let mut p = 0;
    while p < 27 {
        let at = [p % 3, p / 3 % 3, p / 9];
        let mut c = 0;
        while c < 8 {
            let corner = [c & 1, c >> 1 & 1, c >> 2];
            let mut fits = true;
            let mut m = 0;
            while m < 3 {
                fits = fits && (at[m] == 1 || at[m] == 2 * corner[m]);
                m += 1;
            }
            if fits {
                places[p].corners[places[p].n as usize] = c as u8;
                places[p].n += 1;
            }
            c += 1;
        }
        places[p].weight = 1.0 / places[p].n as f32;
        p += 1;
    }
    places
};

/// Place of corner `c` of a finer element in its coarse one; `octant` as
/// [`Elements::octant`](crate::voxel::elements::Elements::octant) says.
pub(crate) const fn place_of(octant: usize, c: usize) -> usize {
    let mut place = 0;
    let (mut m, mut step) = (0, 1);
    while m < 3 {
        let (all, half, upper) = (octant >> (3 + m) & 1, octant >> m & 1, c >> m & 1);
        place += step * if all == 1 { 2 * upper } else { half + upper };
        m += 1;
        step *= 3;
    }
    place
}

/// Trilinear interpolation P from a coarse level to the finer one.
///
/// Each finer node belongs to one coarse element, in which it stands at one of 27 places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transfer {
    /// First finer node of each coarse element in `fine`, (n_coarse_elements + 1,).
    pub first: Vec<u32>,
    /// Finer nodes, coarse element by coarse element.
    pub fine: Vec<u32>,
    /// Place of each finer node.
    pub place: Vec<u8>,
}

impl Transfer {
    /// Coarse element `element`: its finer nodes with their places.
    #[inline(always)]
    pub fn of(&self, element: usize) -> impl Iterator<Item = (usize, usize)> {
        let range = self.first[element] as usize..self.first[element + 1] as usize;
        self.fine[range.clone()].iter().zip(&self.place[range]).map(|(&node, &place)| (node as usize, place.into()))
    }

    /// The corners of a coarse element on which a finer node of it depends, some of them more than once.
    pub fn corners(&self, element: usize) -> impl Iterator<Item = usize> {
        self.of(element).flat_map(|(_, place)| PLACES[place].corners()).map(|&corner| usize::from(corner))
    }

    /// coarse = Pᵀ fine at the contributors' own nodes. `nodes` are those of the coarse elements.
    pub fn restrict<T: Real>(&self, nodes: &[[u32; 8]], to: &Contributors, fine: &[T], coarse: &mut [T]) {
        to.clear(coarse);
        let n = coarse.len();
        let coarse = Shared::new(coarse);
        let weights = PLACES.map(|place| T::from_f64(f64::from(place.weight)));
        to.batches.for_each(&|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let coarse = unsafe { coarse.part(0..n) };
            for element in range {
                let mut sums = [[T::default(); 3]; 8];
                for (node, place) in self.of(element) {
                    let from = &fine[3 * node..3 * node + 3];
                    for &c in PLACES[place].corners() {
                        for a in 0..3 {
                            sums[usize::from(c)][a] += weights[place] * from[a];
                        }
                    }
                }
                for (sum, &node) in sums.iter().zip(&nodes[element]) {
                    for a in 0..3 {
                        coarse[3 * node as usize + a] += sum[a];
                    }
                }
            }
        });
    }

    /// Numbers of the groups of consecutive coarse elements that have finer nodes in a range: see
    /// [`prolong`](Self::prolong).
    pub fn groups(&self, own: &Range<usize>) -> Vec<u32> {
        let has_own = |group: &usize| {
            let end = ((group + 1) * GROUP).min(self.first.len() - 1);
            let fine = &self.fine[self.first[group * GROUP] as usize..self.first[end] as usize];
            fine.iter().any(|&node| own.contains(&(node as usize)))
        };
        (0..(self.first.len() - 1).div_ceil(GROUP)).into_par_iter().filter(has_own).map(|group| group as u32).collect()
    }

    /// fine += P coarse at the finer nodes `own`, which the coarse elements of `groups` have. `nodes` are those of the coarse
    /// elements.
    pub fn prolong<T: Real>(
        &self,
        nodes: &[[u32; 8]],
        (groups, own): (&[u32], &Range<usize>),
        coarse: &[T],
        fine: &mut [T],
    ) {
        let n = fine.len();
        let fine = Shared::new(fine);
        let weights = PLACES.map(|place| T::from_f64(f64::from(place.weight)));
        groups.par_iter().for_each(|&group| {
            // SAFETY: each finer node belongs to one element.
            let fine = unsafe { fine.part(0..n) };
            let first = group as usize * GROUP;
            for (element, nodes) in (first..).zip(&nodes[first..(first + GROUP).min(nodes.len())]) {
                for (node, place) in self.of(element).filter(|(node, _)| own.contains(node)) {
                    let mut sum = [T::default(); 3];
                    for &c in PLACES[place].corners() {
                        let corner = nodes[usize::from(c)] as usize;
                        for a in 0..3 {
                            sum[a] += coarse[3 * corner + a];
                        }
                    }
                    for a in 0..3 {
                        fine[3 * node + a] += weights[place] * sum[a];
                    }
                }
            }
        });
    }
}
