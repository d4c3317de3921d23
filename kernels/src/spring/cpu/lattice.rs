//! Constants of the springs of a lattice, by direction and by the materials of their ends.

use pogo_formats::spring::{N_DIRECTIONS, SpringGridView};

use crate::simd::Real;
use crate::spring::SpringProblem;
use crate::spring::law::Constants;
use crate::spring::springs::lattice_laws;

/// Chunks whose springs join different materials.
const MIXED: u8 = u8::MAX;

/// Constants of all springs of a lattice. A chunk is a register's worth of places or particles.
#[derive(Debug, Clone)]
pub(crate) struct Lattice<T> {
    /// By both materials and direction, (n_materials, n_materials, 26).
    pub constants: Vec<Constants<T>>,
    n_materials: usize,
    /// Material by place or particle, where there are several.
    pub material: Vec<u8>,
    /// The material at both ends of all springs of each chunk, or [`MIXED`], where there are several.
    chunk_material: Vec<u8>,
}

impl<T: Real> Lattice<T> {
    /// `material` is empty where there is one.
    pub fn new(problem: &SpringProblem, grid: &SpringGridView, material: Vec<u8>) -> Self {
        let dt = problem.time_increment;
        let constants = lattice_laws(problem, grid).iter().map(|law| Constants::new(law, dt)).collect();
        Self { constants, n_materials: problem.groups.len() / 3, material, chunk_material: Vec::new() }
    }

    /// Finds the materials of the chunks; `ends` gives the ends of all springs of one.
    pub fn find_chunk_materials<I: Iterator<Item = usize>>(&mut self, n_chunks: usize, ends: impl Fn(usize) -> I) {
        let of_chunk = |chunk: usize| {
            let mut materials = ends(chunk).map(|end| self.material[end]);
            let first = materials.next().unwrap_or(0);
            if materials.all(|material| material == first) { first } else { MIXED }
        };
        self.chunk_material = (0..n_chunks).map(of_chunk).collect();
    }

    /// The constants of a chunk of one material, by direction.
    #[inline(always)]
    pub fn uniform(&self, chunk: usize) -> Option<&[Constants<T>; N_DIRECTIONS]> {
        let material = if self.chunk_material.is_empty() { 0 } else { self.chunk_material[chunk] };
        if material == MIXED {
            return None;
        }
        self.constants[material as usize * (self.n_materials + 1) * N_DIRECTIONS..].first_chunk()
    }

    /// Whether two chunks have the same constants.
    #[inline(always)]
    pub fn are_alike(&self, chunk: usize, other: usize) -> bool {
        self.chunk_material.get(chunk) == self.chunk_material.get(other)
    }

    /// The constants of a spring.
    pub fn between(&self, from: usize, to: usize, direction: usize) -> Constants<T> {
        let material = |end: usize| self.material.get(end).map_or(0, |&material| usize::from(material));
        self.constants[(material(from) * self.n_materials + material(to)) * N_DIRECTIONS + direction]
    }
}
