//! Tables of the CPU as the kernels read them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use pogo_formats::spring::N_DIRECTIONS;
use pogo_formats::system::parallel::iterate::*;

use super::features::{Features, directions};
use super::host::{ArrayLayout, Host};
use super::layout::{FORCE, Params, ROWS, Rest, Rule, SUPPORT, Special, TILE, WIDE};
use super::options::GpuError;
use crate::device::{Arena, DeviceError, Slice};
use crate::simd::Real;
use crate::spring::cpu::grid::Grid;
use crate::spring::cpu::lists::{Lists, Rules};
use crate::spring::law::Constants;
use crate::spring::{SpringError, SpringProblem};

/// Arrays of the device that steps read and the host may change.
#[derive(Debug)]
pub(super) struct Tables<T> {
    pub rest: Slice<Rest<T>>,
    pub class: Slice<u16>,
    /// Bytes of all that a particle's step reads of the tables.
    pub bytes_per_particle: f64,
}

fn narrow(values: &[usize]) -> Vec<u32> {
    values.iter().map(|&value| value as u32).collect()
}

impl<T: Real> Tables<T> {
    /// Puts the tables of a problem, in blocks of `block` particles, on the device; `params` learns where they are, and knows by
    /// how many bytes local ids are multiplied.
    pub fn new(
        problem: &SpringProblem,
        host: &Host<T>,
        features: Features,
        (block, form): (usize, ArrayLayout),
        params: &mut Params<T>,
        arena: &mut Arena,
    ) -> Result<Self, GpuError> {
        let mut table_bytes = match host {
            Host::Grid(grid) => put_grid(problem, grid, params, arena)?,
            Host::Local(lists) => put_local(lists, host.most_halo(), features, (block, form), params, arena)?,
            Host::Global(lists) => {
                params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
                params.first = arena.copy("first", &narrow(&lists.first))?.at();
                params.global_ids = arena.copy("global_ids", &lists.ids)?.at();
                4 * lists.ids.len()
            }
        };
        let mut tables =
            Self { rest: arena.zeros("rest", 0)?, class: arena.zeros("classes", 0)?, bytes_per_particle: 0.0 };
        let constants: &[Constants<T>] = match (host, host.rules()) {
            (Host::Grid(grid), _) => &grid.lattice.constants,
            (_, None) => &[],
            (_, Some((Rules::Lattice(lattice), _))) => {
                if !lattice.material.is_empty() {
                    params.material = arena.copy("material", &lattice.material)?.at();
                }
                &lattice.constants
            }
            (_, Some((Rules::Each { rest, class, classes }, block))) => {
                table_bytes += host.entries() * (4 * size_of::<T>() + 2);
                tables.rest = arena.copy("rest", &records(rest, block))?;
                tables.class = arena.copy("classes", class)?;
                (params.rest, params.classes) = (tables.rest.at(), tables.class.at());
                classes
            }
        };
        put_rules(constants, features, form, params, arena)?;
        match host.inertia() {
            [one] => params.uniform_inertia = *one,
            each => params.inertia = arena.copy("inertia", each)?.at(),
        }
        if features.damped && features.heats {
            params.drag = arena.zeros::<T>("drag", 3 * host.len())?.at();
        }
        put_specials(problem, host, form, params, arena)?;
        tables.bytes_per_particle = table_bytes as f64 / problem.n_particles().max(1) as f64;
        Ok(tables)
    }

    /// Writes the rest vectors and classes of lists without a grid again, to which added springs have come.
    pub fn write_rules(&mut self, host: &Host<T>) -> Result<(), DeviceError> {
        if let Some((Rules::Each { rest, class, .. }, block)) = host.rules() {
            self.rest.write(&records(rest, block))?;
            self.class.write(class)?;
        }
        Ok(())
    }
}

/// Masks and materials of a grid; bytes that a step reads of them.
fn put_grid<T: Real>(
    problem: &SpringProblem,
    grid: &Grid<T>,
    params: &mut Params<T>,
    arena: &mut Arena,
) -> Result<usize, DeviceError> {
    (params.row_length, params.plane, params.pad) = (grid.row as u32, grid.plane as u32, grid.pad as u32);
    params.size = grid.size.map(|s| s as u32);
    params.stride = grid.stride.map(|s| s as i32);
    params.n_directions = directions(problem);
    params.mask = arena.copy("mask", &grid.mask)?.at();
    params.particle = arena.copy("particle", &grid.particle)?.at();
    if !grid.lattice.material.is_empty() {
        params.material = arena.copy("material", &grid.lattice.material)?.at();
    }
    Ok(4 * problem.n_particles())
}

/// Lists with local ids; bytes that a step reads of them. Blocks that are alike share a table where no event changes one.
fn put_local<T: Real>(
    lists: &Lists<T, u16>,
    most_halo: usize,
    features: Features,
    (block, form): (usize, ArrayLayout),
    params: &mut Params<T>,
    arena: &mut Arena,
) -> Result<usize, GpuError> {
    let id_bytes = params.id_bytes as usize;
    params.halo_most = most_halo as u32;
    params.local_most = (block + most_halo) as u32;
    params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
    if (block + most_halo) * id_bytes > usize::from(u16::MAX) {
        return Err(SpringError::BlockTooLarge { block: 0, particles: block + most_halo }.into());
    }
    let (mut ids, first) = if features.lattice && !features.breaks && !features.events {
        let table = block * params.n_directions as usize;
        let (mut ids, first) = share_tables(&lists.ids, table, params.n_directions);
        if form.wide
            && let Some((places, most)) = spread_tables(&mut ids, table, block, most_halo)
        {
            params.place = arena.copy("place", &places)?.at();
            params.local_most = most as u32;
        }
        (ids, first)
    } else {
        (lists.ids.clone(), narrow(&lists.first))
    };
    ids.iter_mut().for_each(|id| *id *= id_bytes as u16);
    params.ids = arena.copy("ids", &ids)?.at();
    params.first = arena.copy("first", &first)?.at();
    params.halo_first = arena.copy("halo_first", &narrow(&lists.halo_first))?.at();
    params.halo = arena.copy("halo", &lists.halo)?.at();
    Ok(2 * ids.len() + 4 * lists.halo.len())
}

/// Constants of springs; those of a lattice are part of the parameters.
fn put_rules<T: Real>(
    constants: &[Constants<T>],
    features: Features,
    form: ArrayLayout,
    params: &mut Params<T>,
    arena: &mut Arena,
) -> Result<(), DeviceError> {
    let rules: Vec<Rule<T>> = constants.iter().map(|&constants| constants.into()).collect();
    params.rules = arena.copy("rules", &rules)?.at();
    if !features.lattice {
        return Ok(());
    }
    params.rule.copy_from_slice(&rules[..N_DIRECTIONS]);
    if form.unit != 1.0 {
        for rule in &mut params.rule {
            rule.rest = rule.rest.map(|d| T::from_f64(d.to_f64() / form.unit));
            rule.inverse = T::from_f64(rule.inverse.to_f64() * form.unit * form.unit);
        }
    }
    params.pull = params.rule.map(|rule| rule.stiffness * rule.inverse);
    Ok(())
}

/// Forces, supports and monitors.
fn put_specials<T: Real>(
    problem: &SpringProblem,
    host: &Host<T>,
    form: ArrayLayout,
    params: &mut Params<T>,
    arena: &mut Arena,
) -> Result<(), DeviceError> {
    let Specials { all, first, of } = Specials::new(problem, host, form);
    params.n_specials = first.len() as u32 - 1;
    params.specials = arena.copy("specials", &all)?.at();
    params.special_first = arena.copy("special_first", &first)?.at();
    if params.n_specials > 0 {
        params.special_of = arena.copy("special_of", &of)?.at();
    }
    let index = |&dof: &u64| host.index(dof as usize, form) as u32;
    let monitors: Vec<u32> = problem.monitors.iter().map(index).collect();
    params.monitors = arena.copy("monitors", &monitors)?.at();
    Ok(())
}

/// Words of the planes of a warp's rows: a march reads two from that of its first plane on.
pub(super) fn whole_words<T: Real>(grid: &Grid<T>) -> usize {
    grid.size[2] / 32 + 2
}

/// Whether the rows of a warp of columns have all springs along axes and face diagonals in a plane: bit z of (tiles, words).
pub(super) fn whole_tiles<T: Real>(grid: &Grid<T>) -> Vec<u32> {
    let [nx, ny] = [grid.size[0].div_ceil(TILE[0]), grid.size[1].div_ceil(TILE[1]) * TILE[1] / ROWS];
    let (words, all) = (whole_words(grid), (1 << 18) - 1);
    let mut bits = vec![0u32; nx * ny * words];
    bits.par_chunks_mut(words).enumerate().for_each(|(tile, bits)| {
        let [x, y] = [tile % nx * TILE[0], tile / nx * ROWS];
        if x + TILE[0] > grid.size[0] || y + ROWS > grid.size[1] {
            return;
        }
        for z in 0..grid.size[2] {
            let mut rows = (y..y + ROWS).map(|y| grid.pad + x + y * grid.row + z * grid.plane);
            let whole = rows.all(|at| grid.mask[at..at + TILE[0]].iter().all(|mask| mask & all == all));
            bits[z / 32] |= u32::from(whole) << (z % 32);
        }
    });
    bits
}

/// Forces and supports by degree of freedom, forces first.
struct Specials {
    all: Vec<Special>,
    /// First of each degree of freedom that has some, and their end.
    first: Vec<u32>,
    /// Degrees of freedom with some before each particle's, and all.
    of: Vec<u32>,
}

impl Specials {
    fn new<T: Real>(problem: &SpringProblem, host: &Host<T>, form: ArrayLayout) -> Self {
        let forces = problem.forces.iter().map(|f| (f.dof, FORCE, f.signal, f.value));
        let supports = problem.constraints.iter().map(|c| (c.dof, SUPPORT, c.signal, c.value));
        let mut sorted: Vec<_> = forces.chain(supports).collect();
        sorted.sort_by_key(|each| (each.0, each.1));
        let (mut all, mut first, mut of) = (Vec::new(), Vec::new(), vec![0; problem.n_particles() + 1]);
        for (i, &(dof, kind, signal, value)) in sorted.iter().enumerate() {
            if i == 0 || sorted[i - 1].0 != dof {
                first.push(i as u32);
                of[dof as usize / 3 + 1] += 1;
            }
            let index = host.index(dof as usize, form) as u32;
            all.push(Special { index, signal, kind, reserved: 0, value: value / form.unit });
        }
        first.push(all.len() as u32);
        for i in 1..of.len() {
            of[i] += of[i - 1];
        }
        Self { all, first, of }
    }
}

/// Lists of ids in which blocks that are alike share a table, and the slots before each block's.
fn share_tables(ids: &[u16], table: usize, slots: u32) -> (Vec<u16>, Vec<u32>) {
    let hash = BuildHasherDefault::<DefaultHasher>::new();
    let hashes: Vec<u64> = ids.par_chunks_exact(table.max(1)).map(|table| hash.hash_one(table)).collect();
    // The tables with a hash, by number: the first block of each.
    let mut found: HashMap<u64, Vec<(u32, &[u16])>> = HashMap::new();
    let (mut shared, mut first) = (Vec::new(), Vec::new());
    let mut next = 0;
    for (table, hash) in ids.chunks_exact(table.max(1)).zip(hashes) {
        let alike = found.entry(hash).or_default();
        let number = alike.iter().find(|(_, other)| *other == table).map_or(next, |(number, _)| *number);
        if number == next {
            alike.push((number, table));
            shared.extend_from_slice(table);
            next += 1;
        }
        first.push(number * slots);
    }
    (shared, first)
}

/// Place of a particle of a block in shared memory, `own_place` in general.cu, where halos have places.
fn own_place(i: usize) -> usize {
    i + i / 8 * 2 + 1
}

/// Gives the particles of halos places in shared memory, so that eight threads in a row, which read 16 bytes each of their
/// neighbours in one direction, seldom find the same of eight banks: (tables, most), and how many places there are. From then on
/// ids in the tables name places. None where there would be too many.
fn spread_tables(ids: &mut [u16], table: usize, block: usize, most: usize) -> Option<(Vec<u16>, usize)> {
    let is_own = |place: usize| place > 0 && (place - 1) % 10 < 8 && (place - 1) / 10 * 8 < block;
    let free_from = |mut place: usize| {
        while is_own(place) {
            place += 8;
        }
        place
    };
    let spread = ids.par_chunks(table.max(1)).map(|table| {
        // Banks that are taken, by group of eight entries.
        let mut taken = vec![0u8; table.len().div_ceil(8)];
        let mut groups = vec![Vec::new(); most];
        for (entry, &id) in table.iter().enumerate() {
            match usize::from(id).checked_sub(block) {
                None => taken[entry / 8] |= 1 << (own_place(usize::from(id)) % 8),
                Some(halo) => groups[halo].push(entry / 8),
            }
        }
        let mut next: [usize; 8] = std::array::from_fn(free_from);
        let place = |groups: &Vec<usize>| {
            let clashes = |bank: usize| groups.iter().filter(|&&group| taken[group] >> bank & 1 == 1).count();
            let bank = (0..8).min_by_key(|&bank| (clashes(bank), next[bank])).unwrap_or(0);
            groups.iter().for_each(|&group| taken[group] |= 1 << bank);
            let after = free_from(next[bank] + 8);
            std::mem::replace(&mut next[bank], after)
        };
        groups.iter().map(place).collect::<Vec<usize>>()
    });
    let places: Vec<Vec<usize>> = spread.collect();
    let last = places.iter().flatten().copied().max().unwrap_or(0).max(own_place(block.max(1) - 1));
    if (last + 1) * WIDE > usize::from(u16::MAX) {
        return None;
    }
    for (table, places) in ids.chunks_mut(table.max(1)).zip(&places) {
        for id in table {
            let at = usize::from(*id);
            *id = if at < block { own_place(at) } else { places[at - block] } as u16;
        }
    }
    Some((places.into_iter().flatten().map(|place| place as u16).collect(), last + 1))
}

/// Rest vectors of lists, from columns to records.
fn records<T: Copy>(rest: &[T], block: usize) -> Vec<Rest<T>> {
    let record = |columns: &[T], at: usize| {
        let [x, y, z, inverse] = [0, 1, 2, 3].map(|c| columns[c * block + at]);
        Rest { d: [x, y, z], inverse }
    };
    rest.chunks_exact(4 * block).flat_map(|columns| (0..block).map(move |at| record(columns, at))).collect()
}

#[cfg(test)]
mod tests {
    use pogo_formats::spring::DIRECTIONS;

    use super::*;

    /// Ids of a block of 8³ particles among others and of its halo, 18 slots.
    fn inner_block() -> (Vec<u16>, usize) {
        let mut halo = HashMap::new();
        let mut ids = Vec::new();
        for step in &DIRECTIONS[..18] {
            for at in 0..512 {
                let place: [i32; 3] = std::array::from_fn(|c| (at >> (3 * c) & 7) + step[c]);
                let inside = place.iter().all(|&x| (0..8).contains(&x));
                let next = 512 + halo.len();
                ids.push(if inside {
                    place[0] + 8 * place[1] + 64 * place[2]
                } else {
                    *halo.entry(place).or_insert(next) as i32
                } as u16);
            }
        }
        (ids, halo.len())
    }

    /// Reads of 16 bytes by groups of eight threads, in the mean.
    fn rounds(ids: &[u16]) -> f64 {
        let worst = ids
            .chunks_exact(8)
            .map(|group| (0..8).map(|bank| group.iter().filter(|&&id| id % 8 == bank).count()).max().unwrap_or(0));
        worst.sum::<usize>() as f64 / (ids.len() / 8) as f64
    }

    #[test]
    fn halos_lie_where_banks_are_free() {
        let (before, n_halo) = inner_block();
        assert_eq!(n_halo, 480);
        let mut ids = [before.clone(), before.clone()].concat();
        let (places, most) = spread_tables(&mut ids, 18 * 512, 512, n_halo).unwrap();
        assert_eq!(places.len(), 2 * n_halo);
        assert_eq!(ids[..18 * 512], ids[18 * 512..]);
        assert!(rounds(&before) > 1.4 && rounds(&ids) == 1.0, "{} {}", rounds(&before), rounds(&ids));
        assert!(most < 1200, "{most}");
        // Every particle has a place of its own, and every entry names that of its particle.
        let place = |id: usize| if id < 512 { own_place(id) } else { usize::from(places[id - 512]) };
        let mut all: Vec<usize> = (0..512 + n_halo).map(place).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 512 + n_halo);
        assert!(all.iter().all(|&place| place < most));
        assert!(before.iter().zip(&ids).all(|(&id, &at)| place(usize::from(id)) == usize::from(at)));
    }

    #[test]
    fn too_many_places_are_refused() {
        let mut ids = vec![0, 5000];
        assert_eq!(spread_tables(&mut ids, 2, 1, 5000), None);
        assert_eq!(ids, [0, 5000]);
    }
}
