//! Which springs there are, whatever a stepper makes of them.

use std::ops::Range;

use pogo_formats::spring::{
    DIRECTION_BITS, DIRECTIONS, N_DIRECTIONS, SpringEnd, SpringGridView, SpringGroup, SpringMeshView,
    group_of_direction,
};

use pogo_formats::system::parallel::iterate::*;

use super::law::{Law, between};
use super::{Change, SpringError, SpringProblem, State};

/// The springs of a mesh that are there, and those that were added.
#[derive(Debug, Clone)]
pub struct Springs<'a> {
    mesh: SpringMeshView<'a>,
    groups: Vec<SpringGroup>,
    /// Of a lattice, (n_materials, n_materials, 26).
    lattice: Vec<Law>,
    /// A bit for each entry of the lists: set where the spring is gone.
    gone: Vec<u64>,
    /// Springs that were not in the lists: ends (ascending), group, and whether they are there.
    added: Vec<([u32; 2], u32, bool)>,
    n: u64,
}

/// Checks the springs of the particles of a block, and counts them.
fn check_block(mesh: &SpringMeshView, n_groups: usize, block: usize) -> Result<u64, &'static str> {
    let (lists, n, size) = (mesh.lists, mesh.n_particles(), mesh.lists.block_size);
    let own = block * size..n.min((block + 1) * size);
    let halo = lists.halo(block);
    if halo.iter().any(|&other| other as usize >= n || own.contains(&(other as usize))) {
        return Err("a halo has a particle of its own block, or none");
    }
    let count = &lists.count[own.clone()];
    let n_slots = usize::from(count.iter().copied().max().unwrap_or(0));
    if n_slots > lists.n_slots(block) {
        return Err("a particle has more springs than its block has slots");
    }
    let masks = if lists.mask.is_empty() { &[] } else { &lists.mask[own.clone()] };
    if count.iter().zip(masks).any(|(&count, mask)| u32::from(count) > (mask & DIRECTION_BITS).count_ones()) {
        return Err("a particle has more springs than its mask");
    }
    for slot in 0..n_slots {
        let first = lists.first[block] as usize + slot * size;
        let row = first..first + own.len();
        let leads_nowhere = |(at, (&count, &id)): (usize, (&u16, &u16))| {
            let id = usize::from(id);
            let is_nowhere = if id < size { id >= own.len() || id == at } else { id - size >= halo.len() };
            (usize::from(count) > slot) & is_nowhere
        };
        // The whole row, without a branch.
        let row_of = |count: &[u16], ids: &[u16]| {
            count.iter().zip(ids).enumerate().fold(false, |any, entry| any | leads_nowhere(entry))
        };
        if row_of(count, &lists.neighbour[row.clone()]) {
            return Err("a spring leads nowhere");
        }
        let group = lists.group.get(row).unwrap_or(&[]);
        if group.iter().zip(count).any(|(&group, &count)| usize::from(count) > slot && usize::from(group) >= n_groups) {
            return Err("a spring has an unknown group");
        }
    }
    Ok(count.iter().map(|&count| u64::from(count)).sum())
}

impl<'a> Springs<'a> {
    /// Those of a mesh.
    ///
    /// # Errors
    /// Entries or groups out of range.
    pub(crate) fn new(problem: &SpringProblem<'a>) -> Result<Self, SpringError> {
        let mesh = problem.mesh.clone();
        let (n, lists) = (mesh.n_particles(), mesh.lists);
        let wrong = |what| Err(SpringError::Mesh { what });
        if lists.block_size == 0 || lists.first.len() != n.div_ceil(lists.block_size) + 1 || lists.count.len() != n {
            return wrong("the lists of springs have the wrong lengths");
        }
        let n_materials = problem.groups.len() / 3;
        if mesh.grid.is_some() && mesh.material.iter().any(|&material| usize::from(material) >= n_materials) {
            return wrong("a particle has a material without spring groups");
        }
        if mesh.grid.is_some() == lists.mask.is_empty() {
            return wrong("a grid needs lists with masks");
        }
        let outside = |grid: SpringGridView| {
            grid.place.len() != n || grid.place.iter().any(|&place| place as usize >= grid.mask.len())
        };
        if mesh.grid.is_some_and(outside) {
            return wrong("a particle has a place outside the grid");
        }
        let n_groups = problem.groups.len();
        let ends_of = |block: usize| check_block(&mesh, n_groups, block);
        let ends: Result<Vec<u64>, &str> = (0..lists.n_blocks()).into_par_iter().map(ends_of).collect();
        let ends: u64 = ends.map_err(|what| SpringError::Mesh { what })?.into_iter().sum();
        let n_entries = lists.first.last().copied().unwrap_or(0) as usize;
        let lattice = mesh.grid.map_or_else(Vec::new, |grid| lattice_laws(problem, &grid));
        Ok(Self {
            mesh,
            groups: problem.groups.clone(),
            lattice,
            gone: vec![0; n_entries.div_ceil(64)],
            added: Vec::new(),
            n: ends / 2,
        })
    }

    /// Those of a mesh, before the changes of a state, once problem, state and additions have been checked.
    ///
    /// # Errors
    /// What a stepper refuses.
    pub(crate) fn prepare(problem: &SpringProblem<'a>, state: &State) -> Result<Self, SpringError> {
        problem.check(state)?;
        let springs = Self::new(problem)?;
        let n = problem.n_particles();
        for addition in &problem.additions {
            for &particles in &addition.springs {
                let [i, j] = particles.map(|i| i as usize);
                let refuse = |reason| Err(SpringError::Addition { particles, reason });
                if i >= n || j >= n {
                    return refuse("there is no such particle");
                }
                if i == j || problem.mesh.position(i) == problem.mesh.position(j) {
                    return refuse("its ends are at one place");
                }
                if addition.group as usize >= problem.groups.len() {
                    return refuse("there is no such spring group");
                }
            }
        }
        Ok(springs)
    }

    /// Makes changes of an earlier run again. `visit` gets the ends of each spring, and the group of those that were added.
    pub(crate) fn replay(
        &mut self,
        problem: &SpringProblem,
        changes: &[Change],
        mut visit: impl FnMut([u32; 2], Option<u32>),
    ) {
        let n = problem.n_particles() as u32;
        for change in changes.iter().filter(|change| change.particles.iter().all(|&i| i < n)) {
            let group = problem.group_of(change);
            if self.change(change.particles, group) {
                visit(change.particles, group);
            }
        }
    }

    /// Puts a spring of a group between two particles, or takes the one away that is there; false if there is nothing to do.
    pub(crate) fn change(&mut self, particles: [u32; 2], group: Option<u32>) -> bool {
        match group {
            Some(group) => self.add(particles, group),
            None => self.erase(particles),
        }
    }

    /// Takes springs away that a stepper has seen break; gives them in order.
    pub(crate) fn break_all(&mut self, mut broken: Vec<Change>) -> Vec<Change> {
        broken.sort_unstable();
        for change in &broken {
            self.erase(change.particles);
        }
        broken
    }

    /// How many there are, each counted once.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    fn entry(&self, particle: usize, slot: usize) -> usize {
        let lists = self.mesh.lists;
        let (block, at) = (particle / lists.block_size, particle % lists.block_size);
        lists.first[block] as usize + slot * lists.block_size + at
    }

    fn is_gone(&self, entry: usize) -> bool {
        self.gone[entry / 64] >> (entry % 64) & 1 == 1
    }

    /// The law of a spring of the mesh, from one of its ends.
    pub(crate) fn law(&self, particle: usize, spring: &SpringEnd) -> Law {
        match spring.direction {
            None => Law::new(&self.groups[spring.group as usize], self.mesh.rest_vector(particle, spring)),
            Some(direction) => {
                let [a, b] = [particle, spring.other as usize].map(|i| usize::from(self.mesh.material[i]));
                self.lattice[(a * (self.groups.len() / 3) + b) * N_DIRECTIONS + usize::from(direction)]
            }
        }
    }

    /// The law of an added spring.
    pub(crate) fn law_of_added(&self, [from, to]: [u32; 2], group: u32) -> Law {
        let (a, b) = (self.mesh.position(from as usize), self.mesh.position(to as usize));
        Law::new(&self.groups[group as usize], std::array::from_fn(|c| b[c] - a[c]))
    }

    /// Calls `visit` with each end of a spring at the particles of a range: particle, other end, group, law.
    pub(crate) fn ends(&self, range: Range<usize>, mut visit: impl FnMut(usize, usize, u32, &Law)) {
        for i in range.clone() {
            for (slot, spring) in self.mesh.springs(i).enumerate() {
                if !self.is_gone(self.entry(i, slot)) {
                    visit(i, spring.other as usize, spring.group, &self.law(i, &spring));
                }
            }
        }
        for &([i, j], group, there) in &self.added {
            for (from, to) in [(i, j), (j, i)] {
                if there && range.contains(&(from as usize)) {
                    visit(from as usize, to as usize, group, &self.law_of_added([from, to], group));
                }
            }
        }
    }

    /// Calls `visit` with each pair of particles that a spring joins: lower index, higher index.
    pub(crate) fn pairs(&self, range: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        for i in range.clone() {
            for (slot, spring) in self.mesh.springs(i).enumerate() {
                if spring.other as usize > i && !self.is_gone(self.entry(i, slot)) {
                    visit(i, spring.other as usize);
                }
            }
        }
        for &([i, j], _, there) in &self.added {
            if there && range.contains(&(i as usize)) {
                visit(i as usize, j as usize);
            }
        }
    }

    /// Calls `visit` with each spring: ends (ascending), group (in a lattice that of the first end's material), and strain
    /// l/L − 1 at the displacements u, (n, 3).
    ///
    /// # Panics
    /// If there are too few displacements.
    pub fn strains(&self, displacement: &[f64], mut visit: impl FnMut([u32; 2], u32, f64)) {
        self.ends(0..self.mesh.n_particles(), |i, j, group, law| {
            if i < j {
                let e = std::array::from_fn(|c| displacement[3 * j + c] - displacement[3 * i + c]);
                let measure = law.strain_measure(e);
                visit([i as u32, j as u32], group, measure / (1.0 + (1.0 + measure).sqrt()));
            }
        });
    }

    /// Slot of a spring in the lists of its first end.
    fn slot(&self, from: usize, to: usize) -> Option<(usize, SpringEnd)> {
        self.mesh.springs(from).enumerate().find(|(_, spring)| spring.other as usize == to)
    }

    /// Takes a spring away; false if there is none.
    pub(crate) fn erase(&mut self, [i, j]: [u32; 2]) -> bool {
        let (from, to) = (i.min(j), i.max(j));
        if let Some(added) = self.added.iter_mut().find(|added| added.0 == [from, to] && added.2) {
            added.2 = false;
            self.n -= 1;
            return true;
        }
        let (Some((a, _)), Some((b, _))) = (self.slot(i as usize, j as usize), self.slot(j as usize, i as usize))
        else {
            return false;
        };
        let (a, b) = (self.entry(i as usize, a), self.entry(j as usize, b));
        if self.is_gone(a) {
            return false;
        }
        for entry in [a, b] {
            self.gone[entry / 64] |= 1 << (entry % 64);
        }
        self.n -= 1;
        true
    }

    /// Puts a spring there; false if there is one. One that the mesh has had comes back as it was if its group is the same.
    pub(crate) fn add(&mut self, [i, j]: [u32; 2], group: u32) -> bool {
        let (from, to) = (i.min(j), i.max(j));
        if self.has([from, to]) {
            return false;
        }
        self.n += 1;
        match (self.slot(i as usize, j as usize), self.slot(j as usize, i as usize)) {
            (Some((a, first)), Some((b, second))) if first.group == group || second.group == group => {
                for entry in [self.entry(i as usize, a), self.entry(j as usize, b)] {
                    self.gone[entry / 64] &= !(1 << (entry % 64));
                }
            }
            _ => match self.added.iter_mut().find(|added| added.0 == [from, to] && added.1 == group) {
                Some(added) => added.2 = true,
                None => self.added.push(([from, to], group, true)),
            },
        }
        true
    }

    /// A spring joins the two.
    pub(crate) fn has(&self, [i, j]: [u32; 2]) -> bool {
        let pair = [i.min(j), i.max(j)];
        self.added.iter().any(|added| added.0 == pair && added.2)
            || self.slot(i as usize, j as usize).is_some_and(|(slot, _)| !self.is_gone(self.entry(i as usize, slot)))
    }
}

/// The laws of a lattice's springs: (n_materials, n_materials, 26).
pub(crate) fn lattice_laws(problem: &SpringProblem, grid: &SpringGridView) -> Vec<Law> {
    let n = problem.groups.len() / 3;
    let mut laws = Vec::with_capacity(n * n * N_DIRECTIONS);
    for a in 0..n {
        for b in 0..n {
            for direction in 0..N_DIRECTIONS {
                let kind = group_of_direction(direction) as usize;
                let group = between(&problem.groups[3 * a + kind], &problem.groups[3 * b + kind]);
                laws.push(Law::new(&group, grid.rest_vector(direction)));
            }
        }
    }
    laws
}

/// A spring that a grid has: between neighbours, of the group of one end's material, both of one material or one group.
pub(crate) fn in_grid(problem: &SpringProblem, [i, j]: [u32; 2], group: u32) -> bool {
    let Some(grid) = problem.mesh.grid else { return false };
    let size = grid.size.map(|s| s as i32);
    let at = |i: u32| {
        let place = grid.place[i as usize] as i32;
        [place % size[0], place / size[0] % size[1], place / size[0] / size[1]]
    };
    let (a, b) = (at(i), at(j));
    let Some(direction) = DIRECTIONS.iter().position(|step| (0..3).all(|c| b[c] - a[c] == step[c])) else {
        return false;
    };
    let kind = group_of_direction(direction) as u32;
    [i, j].iter().any(|&end| 3 * u32::from(problem.mesh.material[end as usize]) + kind == group)
}
