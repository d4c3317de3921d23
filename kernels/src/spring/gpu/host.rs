//! The tables of the CPU: the host keeps them, and tells the device what events change.

use pogo_formats::system::parallel::iterate::*;

use super::layout::{EDIT_GLOBAL, EDIT_LOCAL, EDIT_MASK, Edit, TILE};
use crate::dynamics::Part;
use crate::simd::{Index, Real};
use crate::spring::cpu::Layout;
use crate::spring::cpu::grid::Grid;
use crate::spring::cpu::lists::{Lists, Rules};
use crate::spring::springs::Springs;
use crate::spring::{Addressing, Change, SpringError, SpringProblem};
use pogo_formats::system::parallel::Shared;

/// How arrays of displacements lie on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrayLayout {
    /// Four numbers a particle side by side, not component after component.
    pub wide: bool,
    /// Unit of length of the arrays, m.
    pub unit: f64,
}

impl ArrayLayout {
    /// A length as the arrays hold it.
    pub fn number<T: Real>(self, length: f64) -> T {
        T::from_f64(length / self.unit)
    }
}

/// The host's tables of springs, of one kind for each addressing.
#[derive(Debug)]
pub(super) enum Host<T: Real> {
    Grid(Box<Grid<T>>),
    Local(Box<Lists<T, u16>>),
    Global(Box<Lists<T, u32>>),
}

impl<T: Real> Host<T> {
    /// Tables of all springs of a problem, in blocks of `block` particles.
    pub fn new(
        problem: &SpringProblem,
        springs: &Springs,
        addressing: Addressing,
        block: usize,
    ) -> Result<Self, SpringError> {
        let (sizes, all) = ((32, block), &Part::whole(problem.n_particles()));
        Ok(match addressing {
            Addressing::Implicit => Self::Grid(Box::new(Grid::new(problem, 32, TILE[1] + 1, all)?)),
            Addressing::ExplicitGlobal => Self::Global(Box::new(Lists::new(problem, springs, sizes, all)?)),
            _ => Self::Local(Box::new(Lists::new(problem, springs, sizes, all)?)),
        })
    }

    pub fn layout(&mut self) -> &mut dyn Layout<T> {
        match self {
            Self::Grid(grid) => grid.as_mut(),
            Self::Local(lists) => lists.as_mut(),
            Self::Global(lists) => lists.as_mut(),
        }
    }

    /// Numbers of a component.
    pub fn len(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.len,
            Self::Local(lists) => lists.padded,
            Self::Global(lists) => lists.padded,
        }
    }

    /// Place of a particle among those of a component.
    pub fn place(&self, particle: usize) -> usize {
        match self {
            Self::Grid(grid) => grid.place[particle] as usize,
            _ => particle,
        }
    }

    /// Place of a degree of freedom in the arrays.
    pub fn index(&self, dof: usize, arrays: ArrayLayout) -> usize {
        let (at, component) = (self.place(dof / 3), dof % 3);
        if arrays.wide { 4 * at + component } else { component * self.len() + at }
    }

    /// Numbers of an array of three a place.
    pub fn numbers(&self, arrays: ArrayLayout) -> usize {
        self.len() * if arrays.wide { 4 } else { 3 }
    }

    /// (n, 3) as the device has it.
    pub fn scatter(&self, values: &[f64], arrays: ArrayLayout) -> Vec<T> {
        let mut out = vec![T::default(); self.numbers(arrays)];
        let shared = Shared::new(&mut out);
        values.par_iter().enumerate().with_min_len(1 << 12).for_each(|(dof, &value)| {
            let at = self.index(dof, arrays);
            // SAFETY: each degree of freedom has a place of its own.
            unsafe { shared.part(at..at + 1)[0] = arrays.number(value) };
        });
        out
    }

    /// B Δt²/m: one, or one a place.
    pub fn inertia(&self) -> &[T] {
        match self {
            Self::Grid(grid) => &grid.inertia,
            Self::Local(lists) => &lists.inertia,
            Self::Global(lists) => &lists.inertia,
        }
    }

    /// The rules of lists, and particles a block.
    pub fn rules(&self) -> Option<(&Rules<T>, usize)> {
        match self {
            Self::Grid(_) => None,
            Self::Local(lists) => Some((&lists.rules, lists.block)),
            Self::Global(lists) => Some((&lists.rules, lists.block)),
        }
    }

    /// Number of entries of the lists; 0 for a grid.
    pub fn entries(&self) -> usize {
        match self {
            Self::Grid(_) => 0,
            Self::Local(lists) => lists.ids.len(),
            Self::Global(lists) => lists.ids.len(),
        }
    }

    /// Particles of the largest halo.
    pub fn most_halo(&self) -> usize {
        match self {
            Self::Local(lists) => lists.halo_first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Makes changes in the tables.
    pub fn change(&mut self, problem: &SpringProblem, changes: &[Change]) {
        for change in changes {
            self.layout().change(change.particles, problem.group_of(change));
        }
    }

    /// The device has seen these changes itself.
    pub fn forget_touched(&mut self) {
        match self {
            Self::Grid(_) => {}
            Self::Local(lists) => lists.touched.clear(),
            Self::Global(lists) => lists.touched.clear(),
        }
    }

    /// What the device must be told of changes that the tables have, and of what kind the entries are (`edit` in general.cu).
    /// Local ids are times `id_bytes`.
    pub fn edits(&mut self, changes: &[Change], id_bytes: usize) -> (Vec<Edit>, u32) {
        match self {
            Self::Grid(grid) => {
                let ends = changes.iter().flat_map(|change| change.particles);
                let mut places: Vec<u32> = ends.map(|i| grid.place[i as usize]).collect();
                places.sort_unstable();
                places.dedup();
                let edit = |at: u32| Edit { at, clear: u32::MAX, set: grid.mask[at as usize] };
                (places.into_iter().map(edit).collect(), EDIT_MASK)
            }
            Self::Local(lists) => (list_edits(lists, id_bytes as u32), EDIT_LOCAL),
            Self::Global(lists) => (list_edits(lists, 1), EDIT_GLOBAL),
        }
    }
}

/// The entries of lists that changed, with their ids times `scale`.
fn list_edits<T: Real, I: Index + Into<u32>>(lists: &mut Lists<T, I>, scale: u32) -> Vec<Edit> {
    let touched = std::mem::take(&mut lists.touched);
    let edit = |at: usize| Edit { at: at as u32, clear: 0, set: lists.ids[at].into() * scale };
    touched.into_iter().map(edit).collect()
}
