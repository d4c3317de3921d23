//! Building the offset tables.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::build::{filled, reserve};
use pogo_formats::voxel::{BrickNodes, BricksView, OffsetLevel, Transfer};

use super::{CHUNK, VoxelError, cut};

/// Number of elements of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds {
    /// With node numbers less than 2⁸ apart.
    pub short: u64,
    /// With node numbers 2⁸ to 2¹⁶ apart.
    pub medium: u64,
    /// With node numbers further apart.
    pub long: u64,
}

/// Tables of one chunk of bricks.
#[derive(Default)]
struct Piece {
    short_first: [Vec<u32>; 1],
    short_offset: [Vec<u8>; 7],
    medium_first: [Vec<u32>; 1],
    medium_offset: [Vec<u16>; 7],
    long_nodes: [Vec<u32>; 8],
}

/// 0, 1, 2: short, medium, long.
fn kind_of(nodes: &[u32; 8]) -> u8 {
    // The last corner has the highest Morton code and therefore the highest number.
    let distance = nodes[7] - nodes[0];
    u8::from(distance >= 1 << 8) + u8::from(distance >= 1 << 16)
}

/// Calls `with` with the nodes of each element of some bricks.
fn for_elements(bricks: &BricksView, chunk: usize, mut with: impl FnMut([u32; 8])) {
    let mut local = BrickNodes::default();
    for brick in chunk * CHUNK..((chunk + 1) * CHUNK).min(bricks.n_bricks()) {
        if bricks.element_first[brick] == bricks.element_first[brick + 1] {
            continue;
        }
        local.load(bricks, brick);
        bricks.element_codes(brick).for_each(|code| with(local.in_slot(code as usize & 511)));
    }
}

/// Counts elements by kind without making their tables (Table 1 of the paper).
pub fn kinds(bricks: &BricksView) -> Kinds {
    (0..bricks.n_bricks().div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut count = [0; 3];
            for_elements(bricks, chunk, |nodes| count[usize::from(kind_of(&nodes))] += 1);
            Kinds { short: count[0], medium: count[1], long: count[2] }
        })
        .reduce(Kinds::default, |a, b| Kinds {
            short: a.short + b.short,
            medium: a.medium + b.medium,
            long: a.long + b.long,
        })
}

/// One table of all pieces, plane by plane. Each plane of a piece is freed once it is copied.
fn joined<T: Copy, const N: usize>(
    n: usize,
    pieces: &mut [Piece],
    planes: impl Fn(&mut Piece) -> &mut [Vec<T>; N],
) -> Result<Vec<T>, VoxelError> {
    let mut all = reserve("offset tables", N * n)?;
    for plane in 0..N {
        for piece in &mut *pieces {
            all.extend_from_slice(&std::mem::take(&mut planes(piece)[plane]));
        }
    }
    Ok(all)
}

/// The tables of one level, without the transfer to the next finer one.
pub(super) fn build(size: [u32; 3], bricks: &BricksView) -> Result<OffsetLevel, VoxelError> {
    let n_elements = bricks.n_elements();
    let mut kinds = filled("kinds of elements", n_elements, 0_u8)?;
    let mut pieces: Vec<Piece> = cut(&mut kinds, bricks.element_first, CHUNK)
        .into_par_iter()
        .enumerate()
        .map(|(chunk, kinds)| {
            let (mut piece, mut kinds) = (Piece::default(), kinds.iter_mut());
            for_elements(bricks, chunk, |nodes| {
                let (kind, first) = (kind_of(&nodes), nodes[0]);
                if let Some(entry) = kinds.next() {
                    *entry = kind;
                }
                let others = nodes[1..].iter().map(|node| node - first);
                match kind {
                    0 => {
                        piece.short_first[0].push(first);
                        piece.short_offset.iter_mut().zip(others).for_each(|(plane, offset)| plane.push(offset as u8));
                    }
                    1 => {
                        piece.medium_first[0].push(first);
                        piece.medium_offset.iter_mut().zip(others).for_each(|(plane, d)| plane.push(d as u16));
                    }
                    _ => piece.long_nodes.iter_mut().zip(nodes).for_each(|(plane, node)| plane.push(node)),
                }
            });
            piece
        })
        .collect();

    let mut kind = filled("kinds of elements", 2 * n_elements.div_ceil(64), 0_u64)?;
    kind.par_chunks_exact_mut(2).zip(kinds.par_chunks(64)).with_min_len(CHUNK).for_each(|(words, kinds)| {
        for (bit, &kind) in kinds.iter().enumerate() {
            words[0] |= u64::from(kind == 1) << bit;
            words[1] |= u64::from(kind == 2) << bit;
        }
    });
    drop(kinds);
    let mut before = reserve("numbers of kinds", kind.len())?;
    let mut count = [0_u32; 2];
    for words in kind.chunks_exact(2) {
        before.extend(count);
        count = [count[0] + words[0].count_ones(), count[1] + words[1].count_ones()];
    }
    let [n_medium, n_long] = count.map(|n| n as usize);
    let n_short = n_elements - n_medium - n_long;

    Ok(OffsetLevel {
        size,
        n_elements: n_elements as u32,
        n_nodes: bricks.n_nodes() as u32,
        kind,
        before,
        short_first: joined(n_short, &mut pieces, |piece| &mut piece.short_first)?,
        short_offset: joined(n_short, &mut pieces, |piece| &mut piece.short_offset)?,
        medium_first: joined(n_medium, &mut pieces, |piece| &mut piece.medium_first)?,
        medium_offset: joined(n_medium, &mut pieces, |piece| &mut piece.medium_offset)?,
        long_nodes: joined(n_long, &mut pieces, |piece| &mut piece.long_nodes)?,
        transfer: Transfer::default(),
    })
}

/// The children of each coarse code κ that exist on the fine level; their codes are 8 κ … 8 κ + 7.
fn children(
    coarse: impl Iterator<Item = u64>,
    fine: impl Iterator<Item = u64>,
    n: usize,
) -> Result<(Vec<u8>, Vec<u32>), VoxelError> {
    let (mut bitmap, mut first) = (reserve("children", n)?, reserve("children", n)?);
    let (mut fine, mut number) = (fine.peekable(), 0);
    for code in coarse {
        first.push(number);
        let mut bits = 0_u8;
        while let Some(child) = fine.next_if(|child| child >> 3 == code) {
            bits |= 1 << (child & 7);
            number += 1;
        }
        bitmap.push(bits);
    }
    Ok((bitmap, first))
}

/// The tables that lead from a level to the next finer one.
pub(super) fn transfer(coarse: &BricksView, fine: &BricksView) -> Result<Transfer, VoxelError> {
    let (element_children, element_first_child) = children(
        (0..coarse.n_bricks()).flat_map(|brick| coarse.element_codes(brick)),
        (0..fine.n_bricks()).flat_map(|brick| fine.element_codes(brick)),
        coarse.n_elements(),
    )?;
    let (node_children, node_first_child) = children(
        (0..coarse.n_bricks()).flat_map(|brick| coarse.node_codes(brick)),
        (0..fine.n_bricks()).flat_map(|brick| fine.node_codes(brick)),
        coarse.n_nodes(),
    )?;
    Ok(Transfer { element_children, element_first_child, node_children, node_first_child })
}
