//! Which schemes a model allows, and which one is chosen.

use pogo_formats::spring::N_DIRECTIONS;

use super::options::{GpuError, GpuOptions, Scheme};
use crate::device::Gpu;
use crate::simd::Real;
use crate::spring::{Addressing, Friction, SpringProblem};

/// Most threads of a block of particles.
const MOST_BLOCK: usize = 512;

/// Properties of a model that some schemes do not support.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub single: bool,
    pub damped: bool,
    pub breaks: bool,
    pub stressed: bool,
    pub one_material: bool,
    pub follow: bool,
    /// Friction or dampers take energy, and the energy is followed.
    pub heats: bool,
    pub lattice: bool,
    /// The spacing is the same along all axes.
    pub even: bool,
    /// Springs are cut, erased or added at given times.
    pub events: bool,
    /// Several devices step the model together.
    pub several: bool,
}

impl Features {
    pub fn new<T: Real>(problem: &SpringProblem) -> Self {
        let damped = problem.is_damped();
        Self {
            single: size_of::<T>() == 4,
            damped,
            breaks: problem.may_break(),
            stressed: problem.is_stressed(),
            one_material: problem.groups.len() == 3,
            follow: problem.follow_work,
            heats: problem.follow_work && (damped || problem.friction() != Friction([0.0; 2])),
            events: !(problem.cuts.is_empty() && problem.erasures.is_empty() && problem.additions.is_empty()),
            even: problem.mesh.grid.is_some_and(|grid| grid.spacing.iter().all(|&s| s == grid.spacing[0])),
            lattice: problem.mesh.grid.is_some() && problem.added_outside_grid().is_none(),
            several: false,
        }
    }

    /// The same where several devices step the model.
    pub fn of_several(self) -> Self {
        Self { several: true, ..self }
    }

    /// Whether a lattice has one material whose springs only pull: no dampers, no pre-stress.
    pub fn plain(self) -> bool {
        self.lattice && self.one_material && !self.damped && !self.stressed
    }

    /// Whether the kernel `lattice_even` can step the model. The springs by whose stiffness it scales the others must pull.
    pub fn even_lists(self, problem: &SpringProblem) -> bool {
        let last = directions(problem);
        let slots = [0, 6, 18].into_iter().find(|&slots| last <= slots).unwrap_or(26);
        let base = usize::from(slots != 6);
        let pulls = problem.groups.get(base).is_some_and(|group| group.stiffness > 0.0);
        self.single && self.even && self.plain() && !self.breaks && pulls && slots > 0
    }

    /// Particles of a block of the resident kernel, or the reason why it cannot step the model.
    pub fn resident(self, problem: &SpringProblem, gpu: &Gpu, wanted: usize) -> Result<usize, &'static str> {
        if !(self.single && self.plain()) {
            return Err("a lattice of one material whose springs only pull, single precision");
        }
        if self.several {
            return Err("one device");
        }
        let n = problem.n_particles();
        let fits = |block: &usize| n.div_ceil(*block) <= gpu.multiprocessors as usize;
        let blocks = if wanted > 0 { vec![wanted] } else { vec![256, MOST_BLOCK] };
        blocks.into_iter().find(fits).ok_or("no more blocks of 512 particles than the device has multiprocessors")
    }

    /// The reason why columns cannot step the model, if there is one.
    pub fn columns(self, problem: &SpringProblem) -> Result<(), &'static str> {
        let used = problem.directions_in_use();
        let quiet = self.plain() && !self.breaks;
        if self.single && quiet && problem.mass.len() == 1 && self.even && used >> 18 == 0 {
            Ok(())
        } else {
            Err(
                "a lattice of one material, one mass and one spacing, whose springs along axes and face diagonals only pull and \
                 never break, single precision",
            )
        }
    }
}

/// Directions up to the last that some mask has, or an addition may bring.
pub(super) fn directions(problem: &SpringProblem) -> u32 {
    if problem.additions.is_empty() { 32 - problem.directions_in_use().leading_zeros() } else { N_DIRECTIONS as u32 }
}

/// How a model is stepped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub addressing: Addressing,
    pub scheme: Scheme,
    /// Particles of a thread block.
    pub block: usize,
}

impl Choice {
    /// The scheme of the options, or the fastest one that the model allows.
    pub fn new(
        problem: &SpringProblem,
        features: Features,
        gpu: &Gpu,
        addressing: Addressing,
        options: GpuOptions,
    ) -> Result<Self, GpuError> {
        let resident = features.resident(problem, gpu, options.block);
        let small = addressing == Addressing::Automatic || addressing == Addressing::Explicit;
        let (addressing, scheme) = match options.scheme {
            Scheme::Resident => (Addressing::Explicit, Scheme::Resident),
            Scheme::Automatic if small && resident.is_ok() => (Addressing::Explicit, Scheme::Resident),
            scheme => {
                // Only columns of a grid that is mostly full are faster than lists (measured: BENCHMARKS.md).
                let places = problem.mesh.grid.map_or(0, |grid| grid.mask.len());
                let grid = features.columns(problem).is_ok() && 2 * problem.n_particles() > places;
                let wanted = match (addressing, scheme) {
                    (Addressing::Automatic, Scheme::Automatic) if !grid => Addressing::Explicit,
                    _ => addressing,
                };
                let chosen = wanted.choose(problem)?;
                let automatic = match chosen {
                    Addressing::Implicit if features.columns(problem).is_err() => Scheme::Cached,
                    Addressing::ExplicitGlobal => Scheme::Cached,
                    _ => Scheme::Shared,
                };
                (chosen, if scheme == Scheme::Automatic { automatic } else { scheme })
            }
        };
        let mut choice = Self { addressing, scheme, block: 0 };
        let refuse = |needed| choice.refuse(needed);
        match (addressing, scheme) {
            (_, Scheme::Resident) => {
                resident.map_err(refuse)?;
            }
            (Addressing::Implicit, Scheme::Shared) => features.columns(problem).map_err(refuse)?,
            (Addressing::ExplicitGlobal, Scheme::Shared) => return Err(refuse("local ids")),
            (Addressing::Explicit, Scheme::Cached) => return Err(refuse("32-bit ids")),
            _ => {}
        }
        let mesh_block = problem.mesh.lists.block_size;
        // The other kernel of lattices has a thread a particle, and is compiled for fewer.
        let even = features.even_lists(problem) && addressing == Addressing::Explicit && scheme == Scheme::Shared;
        let most = if features.plain() && !features.breaks && !even { 256 } else { MOST_BLOCK };
        let usual = if mesh_block <= most && mesh_block.is_multiple_of(32) { mesh_block } else { 256 };
        let block = match (scheme, options.block) {
            (Scheme::Resident, _) => resident.map_err(refuse)?,
            (_, 0) if even => MOST_BLOCK,
            (_, 0) => usual,
            (_, block) => block.clamp(32, most) / 32 * 32,
        };
        choice.block = block;
        Ok(choice)
    }

    /// The error of a model that the scheme does not support.
    pub fn refuse(self, needed: &'static str) -> GpuError {
        GpuError::Scheme { scheme: self.scheme, addressing: self.addressing, needed }
    }
}
