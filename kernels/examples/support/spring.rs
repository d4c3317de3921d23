//! Lattices and chains for the tests and the benchmark of the springs.
#![allow(dead_code)]

use std::collections::HashMap;

use pogo_formats::spring::{
    DIRECTIONS, MATERIAL_SHIFT, NO_NEIGHBOUR, SpringDamping, SpringGrid, SpringGroup, SpringLists, SpringMesh,
};
use pogo_kernels::spring::SpringProblem;

/// Springs of a group that pull with `stiffness` and do no more.
pub fn group(stiffness: f64) -> SpringGroup {
    SpringGroup {
        name: String::new(),
        stiffness,
        axial_stiffness: 0.0,
        damping: 0.0,
        max_strain: f64::INFINITY,
        rest_factor: 1.0,
    }
}

/// A lattice of the places where `material` gives one, joined in the first `directions` directions, in blocks.
pub fn lattice(
    size: [usize; 3],
    spacing: [f64; 3],
    directions: usize,
    block: usize,
    material: impl Fn([usize; 3]) -> Option<u8>,
) -> SpringMesh {
    const BRICK: usize = 8;
    let at = |p: [usize; 3]| p[0] + size[0] * (p[1] + size[1] * p[2]);
    let mut points = Vec::new();
    let bricks = size.map(|s| s.div_ceil(BRICK));
    for brick in 0..bricks.iter().product() {
        let origin =
            [brick % bricks[0], brick / bricks[0] % bricks[1], brick / bricks[0] / bricks[1]].map(|b| b * BRICK);
        for k in 0..BRICK.pow(3) {
            let p = [origin[0] + k % BRICK, origin[1] + k / BRICK % BRICK, origin[2] + k / BRICK / BRICK];
            if (0..3).all(|c| p[c] < size[c]) && material(p).is_some() {
                points.push(p);
            }
        }
    }
    let mut particle = vec![u32::MAX; size.iter().product()];
    for (i, &p) in points.iter().enumerate() {
        particle[at(p)] = i as u32;
    }
    let neighbour = |p: [usize; 3], d: usize| -> Option<u32> {
        let mut q = [0; 3];
        for c in 0..3 {
            q[c] = p[c].checked_add_signed(DIRECTIONS[d][c] as isize).filter(|&x| x < size[c])?;
        }
        Some(particle[at(q)]).filter(|&j| j != u32::MAX)
    };
    let mut mask = vec![0; size.iter().product()];
    for &p in &points {
        let bits = (0..directions).filter(|&d| neighbour(p, d).is_some()).fold(0, |bits, d| bits | 1 << d);
        mask[at(p)] = bits | (u32::from(material(p).unwrap_or(0)) + 1) << MATERIAL_SHIFT;
    }
    let springs: Vec<Vec<u32>> =
        points.iter().map(|&p| (0..directions).filter_map(|d| neighbour(p, d)).collect()).collect();
    let grid = SpringGrid {
        size: size.map(|s| s as u32),
        spacing,
        origin: [0.0; 3],
        place: points.iter().map(|&p| at(p) as u32).collect(),
        mask,
    };
    SpringMesh {
        coordinates: points.iter().flat_map(|p| (0..3).map(|c| p[c] as f64 * spacing[c])).collect(),
        labels: points.iter().map(|&p| at(p) as u32 + 1).collect(),
        instance: vec![0; points.len()],
        instances: vec![String::new()],
        material: points.iter().map(|&p| u16::from(material(p).unwrap_or(0))).collect(),
        volume: vec![spacing.iter().product()],
        sets: Vec::new(),
        lists: SpringLists {
            mask: points.iter().map(|&p| grid.mask[at(p)]).collect(),
            ..lists(&springs, block, &|_, _| 0)
        },
        grid: Some(grid),
    }
}

/// Lists of neighbours in blocks, without masks.
pub fn lists(springs: &[Vec<u32>], block: usize, group: &dyn Fn(usize, u32) -> u16) -> SpringLists {
    let mut lists =
        SpringLists { block_size: block as u32, first: vec![0], halo_first: vec![0], ..SpringLists::default() };
    for (b, own) in springs.chunks(block).enumerate() {
        let range = (b * block) as u32..(b * block + own.len()) as u32;
        let mut halo: Vec<u32> = own.iter().flatten().copied().filter(|j| !range.contains(j)).collect();
        halo.sort_unstable();
        halo.dedup();
        for slot in 0..own.iter().map(Vec::len).max().unwrap_or(0) {
            for at in 0..block {
                let other = own.get(at).and_then(|list| list.get(slot)).copied();
                lists.group.push(other.map_or(0, |other| group(b * block + at, other)));
                lists.neighbour.push(other.map_or(NO_NEIGHBOUR, |j| match halo.binary_search(&j) {
                    Ok(entry) => (block + entry) as u16,
                    Err(_) => (j - range.start) as u16,
                }));
            }
        }
        lists.first.push(lists.neighbour.len() as u64);
        lists.count.extend(own.iter().map(|list| list.len() as u16));
        lists.halo.extend(halo);
        lists.halo_first.push(lists.halo.len() as u64);
    }
    lists
}

/// Particles at positions, joined by springs of one of the groups.
pub fn deck(positions: &[[f64; 3]], springs: &[(u32, u32, u16)], block: usize) -> SpringMesh {
    let mut lists_of = vec![Vec::new(); positions.len()];
    for &(i, j, _) in springs {
        lists_of[i as usize].push(j);
        lists_of[j as usize].push(i);
    }
    let of_pair: HashMap<[u32; 2], u16> = springs.iter().map(|&(i, j, group)| ([i.min(j), i.max(j)], group)).collect();
    let group = |i: usize, j: u32| of_pair.get(&[j.min(i as u32), j.max(i as u32)]).copied().unwrap_or(0);
    SpringMesh {
        coordinates: positions.concat(),
        labels: (1..=positions.len() as u32).collect(),
        instance: vec![0; positions.len()],
        instances: vec![String::new()],
        material: vec![0; positions.len()],
        volume: vec![1.0],
        lists: lists(&lists_of, block, &group),
        ..SpringMesh::default()
    }
}

/// A problem of a mesh and nothing else.
pub fn problem(mesh: &SpringMesh, groups: Vec<SpringGroup>, mass: f64, time_increment: f64) -> SpringProblem<'_> {
    SpringProblem {
        mesh: mesh.view(),
        groups,
        mass: vec![mass],
        damping: SpringDamping::Alpha(0.0),
        time_increment,
        gravity: Vec::new(),
        forces: Vec::new(),
        constraints: Vec::new(),
        monitors: Vec::new(),
        cuts: Vec::new(),
        erasures: Vec::new(),
        additions: Vec::new(),
        follow_work: false,
    }
}
