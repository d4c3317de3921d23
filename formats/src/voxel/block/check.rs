//! What the solver of voxel problems relies on, checked once when a file is written and when it is opened.

use super::{VoxelView, check_tables};
use crate::block::Table;
use crate::block::check::{Check, PIECE, all_below, require};
use crate::system::parallel::iterate::*;
use crate::voxel::masks::{self, Mask};
use crate::voxel::setup::{NodalTable, NodeRegion, VoxelSetup};
use crate::voxel::{Bricks, BricksView, NO_BRICK, VoxelMeshView, morton_code, morton_position};

/// Everything that [`VoxelBlockFile::open`](super::VoxelBlockFile::open) promises.
pub(super) fn all(VoxelView { mesh, levels, domains }: &VoxelView, setup: &VoxelSetup) -> Check {
    self::mesh(mesh, setup.materials.len())?;
    self::setup(mesh.bricks.n_nodes(), setup)?;
    check_tables::all(mesh, levels, domains)
}

fn mesh(mesh: &VoxelMeshView, n_materials: usize) -> Check {
    let VoxelMeshView { size, spacing, origin, bricks: grid, element_class, element_modulus } = mesh;
    require(spacing.is_finite() && *spacing > 0.0, || format!("edge of a voxel {spacing}"))?;
    require(origin.iter().all(|x| x.is_finite()), || "origin: a value is not a finite number".into())?;
    bricks(grid, *size)?;
    let n = grid.n_elements();
    if element_modulus.is_empty() {
        require(element_class.len() == n, || format!("{} classes for {n} elements", element_class.len()))?;
        let most = element_class.par_iter().with_min_len(PIECE).copied().max().map_or(0, |most| usize::from(most) + 1);
        require(most <= n_materials, || format!("class {} where {n_materials} materials exist", most - 1))
    } else {
        require(element_class.is_empty(), || "both classes and moduli of elements".into())?;
        require(element_modulus.len() == n, || format!("{} moduli for {n} elements", element_modulus.len()))?;
        let good = element_modulus.par_iter().with_min_len(PIECE).all(|e| e.is_finite() && *e > 0.0);
        require(good, || "moduli of elements: a value is not a positive number".into())
    }
}

/// Elements inside the image, nodes exactly round them, numbers that count the bits, neighbours that are where they ought to
/// be, and a neighbour wherever an element needs its nodes.
pub(super) fn bricks(bricks: &BricksView, size: [u32; 3]) -> Check {
    let n = bricks.n_bricks();
    require(size.iter().all(|&n| n > 0 && n < 1 << 21), || format!("an image of {size:?} voxels"))?;
    require((n as u64) < u64::from(NO_BRICK), || format!("{n} bricks"))?;
    Bricks::check(bricks)?;
    require(bricks.code.par_windows(2).with_min_len(PIECE).all(|pair| pair[0] < pair[1]), || {
        "bricks are not in Morton order".into()
    })?;
    require(bricks.code.last().is_none_or(|&code| code < 1 << 54), || "a brick outside the image".into())?;
    for (what, first, mask) in
        [("elements", bricks.element_first, bricks.element_mask), ("nodes", bricks.node_first, bricks.node_mask)]
    {
        require(first[0] == 0, || format!("{what} of bricks do not count from 0"))?;
        let right = mask
            .par_chunks_exact(8)
            .zip(first.par_windows(2))
            .with_min_len(PIECE / 8)
            .all(|(mask, first)| first[0].checked_add(masks::count(mask)) == Some(first[1]));
        require(right, || format!("{what} of bricks: numbers that do not count the bits"))?;
    }
    (0..n).into_par_iter().with_min_len(PIECE / 64).try_for_each(|brick| one_brick(bricks, size, brick))
}

fn mask(masks: &[u64], brick: usize) -> Mask {
    std::array::from_fn(|word| masks[8 * brick + word])
}

fn one_brick(bricks: &BricksView, size: [u32; 3], brick: usize) -> Check {
    let position = morton_position(bricks.code[brick]);
    let neighbours = &bricks.neighbours[27 * brick..27 * brick + 27];
    for (d, &neighbour) in neighbours.iter().enumerate().filter(|(_, neighbour)| **neighbour != NO_BRICK) {
        require((neighbour as usize) < bricks.n_bricks(), || format!("neighbour {d} of brick {brick} does not exist"))?;
        require(place(position, d) == Some(bricks.code[neighbour as usize]), || {
            format!("neighbour {d} of brick {brick} is another brick")
        })?;
    }
    let elements = mask(bricks.element_mask, brick);
    for axis in 0..3 {
        // Elements are below `size`; with the nodes being those round elements, nodes are too, or at it.
        let room = i64::from(size[axis]) - 8 * i64::from(position[axis]);
        let inside = room >= 8 || elements == [0; 8] || (room > 0 && masks::below(&elements, axis, room as u32));
        require(inside, || format!("brick {brick}: an element outside the image"))?;
    }
    let around = std::array::from_fn(|c| match neighbours[13 - (c & 1) - 3 * (c >> 1 & 1) - 9 * (c >> 2)] {
        NO_BRICK => [0; 8],
        neighbour => mask(bricks.element_mask, neighbour as usize),
    });
    require(neighbours[13] as usize == brick && masks::node_mask(&around) == mask(bricks.node_mask, brick), || {
        format!("brick {brick}: its nodes are not those of the elements round them")
    })?;
    for c in (1..8).filter(|&c| masks::touches_upper(&elements, c)) {
        let d = 13 + (c & 1) + 3 * (c >> 1 & 1) + 9 * (c >> 2);
        require(neighbours[d] != NO_BRICK, || format!("neighbour {d} of brick {brick} is missing"))?;
        let back = bricks.neighbours[27 * neighbours[d] as usize + 26 - d];
        require(back as usize == brick, || {
            format!("neighbour {d} of brick {brick} does not have it as its neighbour")
        })?;
    }
    Ok(())
}

/// Code of the brick at step d of {−1, 0, 1}³ from a position.
fn place(position: [u32; 3], d: usize) -> Option<u64> {
    let step = [d % 3, d / 3 % 3, d / 9];
    let at: [u32; 3] = std::array::from_fn(|axis| (position[axis] + step[axis] as u32).wrapping_sub(1));
    at.iter().all(|&p| p < 1 << 18).then(|| morton_code(at))
}

/// Beyond what [`all`] checks: every neighbour that exists is known.
pub(super) fn agreement(VoxelView { mesh, levels, domains }: &VoxelView) -> Check {
    let bricks = &mesh.bricks;
    (0..bricks.n_bricks()).into_par_iter().with_min_len(PIECE / 64).try_for_each(|brick| {
        let position = morton_position(bricks.code[brick]);
        (0..27).try_for_each(|d| {
            let expected = place(position, d).and_then(|code| bricks.code.binary_search(&code).ok());
            let found = bricks.neighbours[27 * brick + d];
            require(expected.map_or(NO_BRICK, |number| number as u32) == found, || {
                format!("neighbour {d} of brick {brick} is missing")
            })
        })
    })?;
    check_tables::agreement(mesh, levels, domains)
}

fn setup(n_nodes: usize, setup: &VoxelSetup) -> Check {
    let n_magnitudes = setup.magnitudes.len();
    let magnitude = |what: &str, index: Option<u32>| {
        require(index.is_none_or(|index| (index as usize) < n_magnitudes), || {
            format!("{what}: a magnitude that does not exist")
        })
    };
    let region = |what: &str, region: &NodeRegion| match region {
        NodeRegion::Nodes(nodes) => {
            all_below(what, nodes, n_nodes)?;
            require(nodes.is_sorted_by(|a, b| a < b), || format!("{what}: nodes are not sorted"))
        }
        NodeRegion::Material(class) => {
            require((*class as usize) < setup.materials.len(), || format!("{what}: a material that does not exist"))
        }
        NodeRegion::Box { .. } | NodeRegion::Surface { .. } => Ok(()),
    };
    let table = |table: &NodalTable| {
        let NodalTable { name, magnitude: index, nodes, directions, values } = table;
        magnitude(name, *index)?;
        require(directions.len() == nodes.len() && values.len() == nodes.len(), || {
            format!("`{name}`: tables of different lengths")
        })?;
        require(directions.iter().all(|&direction| direction < 3), || format!("`{name}`: a direction beyond 2"))?;
        all_below(&format!("`{name}`"), nodes, n_nodes)
    };
    let ratios = setup.materials.iter().filter_map(|material| material.poisson);
    require(ratios.chain([setup.poisson]).all(|ratio| ratio > -1.0 && ratio < 0.5), || {
        "a Poisson's ratio that does not lie between -1 and 0.5".into()
    })?;
    for case in &setup.cases {
        for field in &case.displacements {
            magnitude(&field.name, field.magnitude)?;
            region(&format!("`{}`", field.name), &field.region)?;
        }
        for force in &case.forces {
            magnitude(&force.name, force.magnitude)?;
            region(&format!("`{}`", force.name), &force.region)?;
        }
        case.displacement_tables.iter().chain(&case.force_tables).try_for_each(table)?;
        if let Some(scale) = &case.scale_to {
            magnitude("scaling", Some(scale.magnitude))?;
            require(scale.direction < 3, || "scaling: a direction beyond 2".into())?;
            region("scaling", &scale.region)?;
        }
    }
    setup.solver.check().map_err(|reason| format!("solver settings: {reason}"))?;
    require(setup.output.slice.0 < 3, || "the slice of the picture: an axis beyond 2".into())
}
