//! Which ways a model allows.

use super::{GpuNumber, MOST_BLOCK};
use crate::cuda::Gpu;
use crate::spring::SpringProblem;

/// What a model has that some ways cannot do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub single: bool,
    pub damped: bool,
    pub breaks: bool,
    pub stressed: bool,
    pub one_material: bool,
    pub follow: bool,
    pub lattice: bool,
    /// Springs come and go at given times.
    pub events: bool,
}

impl Features {
    pub fn new<T: GpuNumber>(problem: &SpringProblem) -> Self {
        let any = |test: fn(&pogo_formats::spring::SpringGroup) -> bool| problem.groups.iter().any(test);
        let strange = |(pair, group)| !crate::spring::springs::in_grid(problem, pair, group);
        Self {
            single: size_of::<T>() == 4,
            damped: any(|group| group.damping != 0.0),
            breaks: any(|group| group.max_strain.is_finite()),
            stressed: any(|group| group.rest_factor != 1.0),
            one_material: problem.groups.len() == 3,
            follow: problem.follow_work,
            events: !(problem.cuts.is_empty() && problem.erasures.is_empty() && problem.additions.is_empty()),
            lattice: problem.mesh.grid.is_some()
                && !problem
                    .additions
                    .iter()
                    .flat_map(|each| each.springs.iter().map(|&s| (s, each.group)))
                    .any(strange),
        }
    }

    /// Only pulls along the directions of one table.
    pub fn plain(self) -> bool {
        self.lattice && self.one_material && !self.damped && !self.stressed
    }

    /// Why a resident kernel cannot be; its blocks.
    pub fn resident(self, problem: &SpringProblem, gpu: &Gpu, wanted: usize) -> Result<usize, &'static str> {
        if !(self.single && self.plain() && !self.follow) {
            return Err("a lattice of one material whose springs only pull, single precision, no account of work");
        }
        let n = problem.n_particles();
        let fits = |block: &usize| n.div_ceil(*block) <= gpu.multiprocessors as usize;
        let blocks = if wanted > 0 { vec![wanted] } else { vec![256, MOST_BLOCK] };
        blocks.into_iter().find(fits).ok_or("no more blocks of 512 particles than the device has multiprocessors")
    }

    /// Why columns cannot be.
    pub fn columns(self, problem: &SpringProblem) -> Result<(), &'static str> {
        let used = problem.mesh.lists.mask.iter().fold(0, |any, mask| any | mask) & 0x3ff_ffff;
        let even = problem.mesh.grid.is_some_and(|grid| grid.spacing.iter().all(|&s| s == grid.spacing[0]));
        if self.single
            && self.plain()
            && !self.follow
            && !self.breaks
            && problem.mass.len() == 1
            && even
            && used >> 18 == 0
        {
            Ok(())
        } else {
            Err(
                "a lattice of one material, one mass and one spacing, whose springs along axes and face diagonals only pull and \
                 never break, single precision, no account of work",
            )
        }
    }
}
