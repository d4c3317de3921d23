//! Lattices and chains for the tests and the benchmark of the springs.
#![allow(dead_code)]

use pogo_formats::spring::build::{self, Lattice};
use pogo_formats::spring::{SpringDamping, SpringGroup, SpringMesh};
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

/// A lattice of the places where `material` gives one, joined in the first 6, 18 or 26 directions, in blocks.
pub fn lattice(
    size: [usize; 3],
    spacing: [f64; 3],
    directions: usize,
    block: usize,
    material: impl Fn([usize; 3]) -> Option<u8>,
) -> SpringMesh {
    let at = |place: usize| [place % size[0], place / size[0] % size[1], place / size[0] / size[1]];
    let code = |place: usize| material(at(place)).map_or(0, |material| material + 1);
    let codes: Vec<u8> = (0..size.iter().product()).map(code).collect();
    let n_materials = codes.iter().max().map_or(0, |&most| usize::from(most));
    let lattice = Lattice {
        size,
        spacing,
        origin: [0.0; 3],
        material: &codes,
        has_springs: &vec![[6, 18, 26].map(|of_group| directions >= of_group); n_materials],
        volume: spacing.iter().product(),
        block_size: block,
    };
    build::lattice(&lattice).expect("a lattice with particles")
}

/// Particles at positions, joined by springs of one of the groups.
pub fn deck(positions: &[[f64; 3]], springs: &[(u32, u32, u16)], block: usize) -> SpringMesh {
    let mut ends = vec![Vec::new(); positions.len()];
    for &(i, j, group) in springs {
        ends[i as usize].push((j, group));
        ends[j as usize].push((i, group));
    }
    let lists = build::lists(positions.len(), block, true, |particle, out| out.extend(&ends[particle]));
    SpringMesh {
        coordinates: positions.concat(),
        labels: (1..=positions.len() as u32).collect(),
        instance: vec![0; positions.len()],
        instances: vec![String::new()],
        material: vec![0; positions.len()],
        volume: vec![1.0],
        lists: lists.expect("halos of 16 bits"),
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
