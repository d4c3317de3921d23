//! Walks over the elements of a voxel model.

use std::ops::Range;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BrickNodes, BricksView, NO_BRICK, VoxelSetup};
use pogo_kernels::voxel::{EnergyDensities, Lame, Moduli};

use super::element::{Cube, N_DOFS};

/// What elements are made of.
#[derive(Debug, Clone)]
pub(super) struct Matter<'a> {
    pub moduli: Moduli<'a>,
    /// The cube of all elements, or one for each class, and its Lamé's constants.
    cubes: Vec<(Cube, Lame)>,
}

impl<'a> Matter<'a> {
    /// The moduli, with the ratios of a model.
    pub fn new(moduli: Moduli<'a>, setup: &VoxelSetup) -> Self {
        let ratios = setup.ratios();
        let ratios = if ratios.is_empty() { vec![setup.one_ratio()] } else { ratios };
        Self { moduli, cubes: ratios.into_iter().map(|ratio| (Cube::new(ratio), Lame::new(ratio))).collect() }
    }

    /// The cube of an element, whose modulus is 1.
    pub fn cube(&self, element: u32) -> &Cube {
        &self.of(element).0
    }

    /// Lamé's constants of an element over its modulus.
    pub fn lame(&self, element: u32) -> Lame {
        self.of(element).1
    }

    fn of(&self, element: u32) -> &(Cube, Lame) {
        match (&self.cubes[..], self.moduli) {
            (several @ [_, _, ..], Moduli::Classes { class, .. }) => &several[usize::from(class[element as usize])],
            (one, _) => &one[0],
        }
    }

    /// Young's modulus of an element.
    pub fn young(&self, element: u32) -> f64 {
        self.moduli.young(element as usize)
    }
}

/// An element with its nodes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Element {
    /// Number of the element.
    pub number: u32,
    /// Position (i, j, k).
    pub position: [u32; 3],
    /// Nodes, corner x + 2 y + 4 z.
    pub nodes: [u32; 8],
}

/// Calls `act` for every element of a brick, in order.
pub(super) fn for_brick(bricks: &BricksView<'_>, brick: usize, table: &mut BrickNodes, mut act: impl FnMut(Element)) {
    let corner = bricks.corner(brick);
    let numbers = bricks.element_first[brick]..bricks.element_first[brick + 1];
    if numbers.is_empty() {
        return;
    }
    table.load(bricks, brick);
    for (position, number) in bricks.element_positions(brick).zip(numbers) {
        let nodes = table.element([0, 1, 2].map(|axis| position[axis] - corner[axis]));
        act(Element { number, position, nodes });
    }
}

/// Calls `act` for up to eight elements of a brick at a time, in order.
fn for_eights(bricks: &BricksView<'_>, brick: usize, table: &mut BrickNodes, mut act: impl FnMut(&[Element])) {
    let (mut eight, mut n) = ([Element::default(); 8], 0);
    for_brick(bricks, brick, table, |element| {
        eight[n] = element;
        n += 1;
        if n == eight.len() {
            act(&eight);
            n = 0;
        }
    });
    if n > 0 {
        act(&eight[..n]);
    }
}

/// Displacements of an element's nodes.
pub(super) fn gather(displacement: &[f64], nodes: &[u32; 8]) -> [f64; N_DOFS] {
    std::array::from_fn(|dof| displacement[3 * nodes[dof / 3] as usize + dof % 3])
}

/// Energy densities of up to eight elements, were their edge and modulus 1.
pub(super) fn unit_energies(matter: &Matter<'_>, displacement: &[f64], elements: &[Element]) -> EnergyDensities {
    let mut lame = [matter.lame(elements[0].number); 8];
    let mut corners = [[[0.0; 8]; 8]; 3];
    for (lane, element) in elements.iter().enumerate() {
        lame[lane] = matter.lame(element.number);
        for (c, &node) in element.nodes.iter().enumerate() {
            let u = &displacement[3 * node as usize..3 * node as usize + 3];
            (0..3).for_each(|d| corners[d][c][lane] = u[d]);
        }
    }
    EnergyDensities::new(&lame, &corners)
}

/// Bricks handled in one piece; the order of the results does not depend on the threads.
const PIECE: usize = 64;

/// What `act` makes of the elements of those bricks of some pieces that are wanted, in order.
fn in_pieces<T: Send>(
    bricks: &BricksView<'_>,
    pieces: Range<usize>,
    wanted: impl Fn(usize) -> bool + Sync,
    act: impl Fn(&mut Vec<T>, Element) + Sync,
) -> Vec<Vec<T>> {
    let of_piece = |piece: usize| {
        let (mut found, mut table) = (Vec::new(), BrickNodes::default());
        let of_piece = piece * PIECE..bricks.n_bricks().min((piece + 1) * PIECE);
        for brick in of_piece.filter(|&brick| wanted(brick)) {
            for_brick(bricks, brick, &mut table, |element| act(&mut found, element));
        }
        found
    };
    pieces.into_par_iter().map(of_piece).collect()
}

/// (K u) of the nodes for which `wanted` holds, by node; the same bits for every number of threads.
pub(super) fn internal_force(
    bricks: &BricksView<'_>,
    matter: &Matter<'_>,
    spacing: f64,
    displacement: &[f64],
    wanted: impl Fn(u32) -> bool + Sync,
    mut add: impl FnMut(u32, [f64; 3]),
) {
    let pieces = bricks.n_bricks().div_ceil(PIECE);
    let has_wanted = |brick: usize| (bricks.node_first[brick]..bricks.node_first[brick + 1]).any(&wanted);
    let has_wanted: Vec<bool> = (0..bricks.n_bricks()).into_par_iter().map(has_wanted).collect();
    // An element has nodes of its own brick and of those around it.
    let is_near = |brick: usize| {
        let around = &bricks.neighbours[27 * brick..27 * brick + 27];
        around.iter().any(|&other| other != NO_BRICK && has_wanted[other as usize])
    };
    let near: Vec<bool> = (0..bricks.n_bricks()).into_par_iter().map(is_near).collect();
    // In rounds, so that what waits to be added stays small.
    let round = 4 * rayon::current_num_threads().max(1);
    for first in (0..pieces).step_by(round) {
        let found = in_pieces(
            bricks,
            first..pieces.min(first + round),
            |brick| near[brick],
            |found, element| {
                if !element.nodes.iter().any(|&node| wanted(node)) {
                    return;
                }
                let scale = matter.young(element.number) * spacing;
                let force = matter.cube(element.number).apply(&gather(displacement, &element.nodes));
                for (c, &node) in element.nodes.iter().enumerate().filter(|&(_, &node)| wanted(node)) {
                    found.push((node, [0, 1, 2].map(|d| scale * force[3 * c + d])));
                }
            },
        );
        found.into_iter().flatten().for_each(|(node, force)| add(node, force));
    }
}

/// What `act` makes of the elements of each piece of a model, in order.
pub(super) fn each_of_pieces<T: Send>(
    bricks: &BricksView<'_>,
    act: impl Fn(&mut Vec<T>, Element) + Sync,
) -> Vec<Vec<T>> {
    in_pieces(bricks, 0..bricks.n_bricks().div_ceil(PIECE), |_| true, act)
}

/// Fills tables with what `values` gives for up to eight elements at a time, and adds up their last numbers, piece by piece.
pub(super) fn fill<const N: usize>(
    bricks: &BricksView<'_>,
    mut tables: [&mut [f32]; N],
    values: impl Fn(&[Element], &mut [([f32; N], f64)]) + Sync,
) -> f64 {
    let first = |piece: usize| bricks.element_first[bricks.n_bricks().min(piece * PIECE)] as usize;
    let pieces = (0..bricks.n_bricks().div_ceil(PIECE)).map(|piece| {
        let n = first(piece + 1) - first(piece);
        (piece, tables.each_mut().map(|table| table.split_off_mut(..n).unwrap_or_default()))
    });
    let pieces: Vec<(usize, [&mut [f32]; N])> = pieces.collect();
    let of_piece = |(piece, mut tables): (usize, [&mut [f32]; N])| {
        let (mut sum, mut table) = (0.0, BrickNodes::default());
        for brick in piece * PIECE..bricks.n_bricks().min((piece + 1) * PIECE) {
            for_eights(bricks, brick, &mut table, |elements| {
                let mut found = [([0.0; N], 0.0); 8];
                values(elements, &mut found);
                for (element, (of_element, summand)) in elements.iter().zip(found) {
                    let at = element.number as usize - first(piece);
                    tables.iter_mut().zip(of_element).for_each(|(table, value)| table[at] = value);
                    sum += summand;
                }
            });
        }
        sum
    };
    let sums: Vec<f64> = pieces.into_par_iter().map(of_piece).collect();
    sums.into_iter().sum()
}
