//! What the solver of mass-spring-damper models relies on, checked once when a file is written and when it is opened.

use super::SpringView;
use crate::block::Table;
use crate::block::check::{Check, PIECE, all_below, require};
use crate::dynamics::check::Limits;
use crate::spring::{
    CutShape, DIRECTION_BITS, DIRECTIONS, NO_NEIGHBOUR, SpringGridView, SpringMesh, SpringMeshView, SpringSetup,
    material_of,
};
use crate::system::parallel::iterate::*;

/// Everything that [`SpringBlockFile::open`](super::SpringBlockFile::open) promises.
pub(super) fn all(SpringView { mesh }: &SpringView, setup: &SpringSetup) -> Check {
    particles(mesh, setup)?;
    lists(mesh, setup.groups.len())?;
    if let Some(grid) = &mesh.grid {
        self::grid(mesh, grid)?;
        require(setup.groups.len() >= 3 * setup.materials.len(), || {
            format!("{} spring groups for {} materials of a lattice", setup.groups.len(), setup.materials.len())
        })?;
    }
    self::setup(mesh, setup)
}

fn particles(mesh: &SpringMeshView, setup: &SpringSetup) -> Check {
    let n = mesh.n_particles();
    require(n < u32::MAX as usize, || format!("{n} particles"))?;
    SpringMesh::check(mesh)?;
    all_below("material of particles", mesh.material, setup.materials.len())?;
    require(mesh.volume.len() == n || mesh.volume.len() == 1, || {
        format!("{} volumes for {n} particles", mesh.volume.len())
    })?;
    let good = mesh.volume.par_iter().with_min_len(PIECE).all(|volume| volume.is_finite() && *volume >= 0.0);
    require(good, || "volumes of particles: a value is not a number from 0 on".into())?;
    mesh.sets.iter().try_for_each(|(name, members)| all_below(&format!("set `{name}`"), members, n))
}

fn lists(mesh: &SpringMeshView, n_groups: usize) -> Check {
    let (lists, n) = (&mesh.lists, mesh.n_particles());
    let size = lists.block_size;
    require(size > 0 && size.is_multiple_of(32) && size < usize::from(NO_NEIGHBOUR), || {
        format!("blocks of {size} particles")
    })?;
    let n_blocks = n.div_ceil(size);
    require(lists.n_blocks() == n_blocks, || format!("{} blocks for {n} particles", lists.n_blocks()))?;
    require(lists.first.iter().all(|&first| first.is_multiple_of(size as u64)), || {
        "slots of blocks are not whole".into()
    })?;
    require(lists.count.len() == n, || format!("{} counts for {n} particles", lists.count.len()))?;
    let is_lattice = mesh.grid.is_some();
    let expected = |lattice: usize, deck: usize| if is_lattice { lattice } else { deck };
    require(lists.group.len() == expected(0, lists.neighbour.len()), || {
        "groups of springs: a table of the wrong length".into()
    })?;
    require(lists.mask.len() == expected(n, 0), || "masks of particles: a table of the wrong length".into())?;
    (0..n_blocks).into_par_iter().with_min_len(64).try_for_each(|block| one_block(mesh, block, n_groups))
}

fn one_block(mesh: &SpringMeshView, block: usize, n_groups: usize) -> Check {
    let lists = &mesh.lists;
    let (size, halo, n_slots) = (lists.block_size, lists.halo(block), lists.n_slots(block));
    let own = block * size..((block + 1) * size).min(mesh.n_particles());
    require(size + halo.len() < usize::from(NO_NEIGHBOUR), || {
        format!("block {block}: {} particles with its halo, more than 16-bit indices reach", size + halo.len())
    })?;
    require(halo.is_sorted_by(|a, b| a < b), || format!("block {block}: its halo is not sorted"))?;
    require(!halo.iter().any(|&particle| own.contains(&(particle as usize))), || {
        format!("block {block}: one of its own particles in its halo")
    })?;
    let first = lists.first[block] as usize;
    let counts = &lists.count[own.clone()];
    if let Some(at) = counts.iter().position(|&count| usize::from(count) > n_slots) {
        return Err(format!("particle {}: {} springs in {n_slots} slots", own.start + at, counts[at]));
    }
    // All fit into 16 bits: see above.
    let [n_own, size_16, n_local] = [own.len(), size, size + halo.len()].map(|n| n as u16);
    for slot in 0..n_slots {
        let entries = first + slot * size..first + slot * size + own.len();
        let neighbour = &lists.neighbour[entries.clone()];
        let is_there = |count| usize::from(count) > slot;
        // One of the block, another particle than itself, or one of the halo.
        let is_good = |at: usize| {
            let (local, count) = (neighbour[at], counts[at]);
            let is_own = (local < n_own) & (local != at as u16);
            let is_other = is_own | ((local >= size_16) & (local < n_local));
            (is_there(count) & is_other) | (!is_there(count) & (local == NO_NEIGHBOUR))
        };
        // All of a slot are looked at, several at a time.
        if !(0..own.len()).fold(true, |all, at| all & is_good(at)) {
            let at = (0..own.len()).position(|at| !is_good(at)).unwrap_or(0);
            let what = if is_there(counts[at]) { "leads nowhere" } else { "is not empty" };
            return Err(format!("particle {}: slot {slot} {what}", own.start + at));
        }
        let has_group = |(&count, &group): (_, &u16)| !is_there(count) | (usize::from(group) < n_groups);
        if !lists.group.is_empty() && !counts.iter().zip(&lists.group[entries]).all(has_group) {
            return Err(format!("block {block}: a spring group that does not exist"));
        }
    }
    for (particle, &mask) in lists.mask.get(own.clone()).unwrap_or_default().iter().enumerate() {
        let (particle, count) = (own.start + particle, counts[particle]);
        require((mask & DIRECTION_BITS).count_ones() == u32::from(count), || {
            format!("particle {particle}: its mask has another number of springs")
        })?;
        require(material_of(mask).map(u16::from) == Some(mesh.material[particle]), || {
            format!("particle {particle}: its mask has another material")
        })?;
    }
    // Behind the last particle of the last block.
    let rest = own.len()..size;
    let empty = (0..n_slots)
        .all(|slot| lists.neighbour[first + slot * size..][rest.clone()].iter().all(|&local| local == NO_NEIGHBOUR));
    require(empty, || format!("block {block}: springs of no particle"))
}

fn grid(mesh: &SpringMeshView, grid: &SpringGridView) -> Check {
    let SpringGridView { size, spacing, origin, mask, place } = *grid;
    let n = size.iter().try_fold(1_usize, |n, &m| n.checked_mul(m as usize));
    require(
        size.iter().all(|&m| m > 0 && m < 1 << 21) && n == Some(mask.len()) && mask.len() < u32::MAX as usize,
        || format!("a grid of {size:?} places and {} masks", mask.len()),
    )?;
    require(spacing.iter().all(|h| h.is_finite() && *h > 0.0), || format!("spacing of the grid {spacing:?}"))?;
    require(origin.iter().all(|x| x.is_finite()), || "origin: a value is not a finite number".into())?;
    require(place.len() == mesh.n_particles(), || {
        format!("{} places for {} particles", place.len(), mesh.n_particles())
    })?;
    let n_places = mask.par_iter().with_min_len(PIECE).filter(|&&mask| mask != 0).count();
    require(n_places == place.len(), || format!("{n_places} places with particles, {} particles", place.len()))?;
    // As many places as particles, each particle's mask at its place: each place has one particle.
    let same = |(place, mask_of): (&u32, &u32)| mask[*place as usize] == *mask_of;
    require(place.par_iter().zip(mesh.lists.mask).with_min_len(PIECE).all(same), || {
        "masks of places and of particles differ".into()
    })?;
    let n_rows = mask.len() / size[0] as usize;
    (0..n_rows).into_par_iter().with_min_len(PIECE / 1024).try_for_each(|row| one_row(grid, row))
}

/// Springs of a row of places along x: each leads to a place of the grid, whose particle has the same spring.
fn one_row(grid: &SpringGridView, row: usize) -> Check {
    let [nx, ny, nz] = grid.size.map(|n| n as usize);
    let row_of = |row: usize| &grid.mask[nx * row..nx * (row + 1)];
    let here = row_of(row);
    // All of a row are looked at, several at a time.
    let all_known = here.iter().fold(true, |all, &mask| all & ((mask == 0) | material_of(mask).is_some()));
    require(all_known, || format!("row {row} of places: a particle without a material"))?;
    for (d, [dx, dy, dz]) in DIRECTIONS.into_iter().enumerate() {
        let moved = |at: usize, by: i32, n: usize| at.checked_add_signed(by as isize).filter(|&at| at < n);
        let there = moved(row % ny, dy, ny).zip(moved(row / ny, dz, nz)).map(|(y, z)| row_of(z * ny + y));
        // The places from which the step leads into the grid, and the first of those to which.
        let (inside, to) = match dx {
            _ if there.is_none() => (0..0, 0),
            -1 => (1..nx, 0),
            0 => (0..nx, 0),
            _ => (0..nx - 1, 1),
        };
        let beyond = (0..inside.start).chain(inside.end..nx).find(|&x| here[x] >> d & 1 == 1);
        if let Some(x) = beyond {
            return Err(format!("place {}: bit {d} leads outside", nx * row + x));
        }
        let pairs = || here[inside.clone()].iter().zip(&there.unwrap_or_default()[to.min(inside.len())..]);
        let is_one_sided = |(here, there): (&u32, &u32)| here >> d & !(there >> (d ^ 1)) & 1;
        if pairs().fold(0, |any, pair| any | is_one_sided(pair)) != 0 {
            let x = pairs().position(|pair| is_one_sided(pair) != 0).unwrap_or(0);
            return Err(format!("place {}: the neighbour at bit {d} has no spring back", nx * row + inside.start + x));
        }
    }
    Ok(())
}

/// Beyond what [`all`] checks: lists are symmetric, and those of a lattice lead where the grid does.
pub(super) fn agreement(SpringView { mesh }: &SpringView) -> Check {
    let n = mesh.n_particles();
    (0..n).into_par_iter().with_min_len(PIECE / 64).try_for_each(|particle| {
        for spring in mesh.springs(particle) {
            let back = mesh.springs(spring.other as usize).any(|other| {
                other.other as usize == particle
                    && match (spring.direction, other.direction) {
                        (Some(there), Some(back)) => there == back ^ 1,
                        _ => spring.group == other.group,
                    }
            });
            require(back, || format!("the spring from particle {particle} to {} has one end only", spring.other))?;
            if let (Some(grid), Some(direction)) = (&mesh.grid, spring.direction) {
                let expected = i64::from(grid.place[particle]) + grid.stride(usize::from(direction)) as i64;
                require(i64::from(grid.place[spring.other as usize]) == expected, || {
                    format!("the lists of particle {particle} lead elsewhere than the grid")
                })?;
            }
        }
        Ok::<(), String>(())
    })?;
    match &mesh.grid {
        None => Ok(()),
        Some(grid) => {
            let mut places = grid.place.to_vec();
            places.sort_unstable();
            require(places.windows(2).all(|pair| pair[0] < pair[1]), || "two particles at one place".into())
        }
    }
}

fn setup(mesh: &SpringMeshView, setup: &SpringSetup) -> Check {
    let n = mesh.n_particles();
    let limits = Limits { amplitudes: &setup.amplitudes, n_nodes: n, dimension: 3 };
    limits.check(&setup.boundaries, &setup.initial_velocities, &setup.histories)?;
    for force in &setup.forces {
        all_below(&format!("`{}`", force.name), &force.particles, n)?;
        require(force.weights.len() == force.particles.len(), || {
            format!("`{}`: tables of different lengths", force.name)
        })?;
        limits.amplitude(&force.name, force.amplitude)?;
    }
    for gravity in &setup.gravity {
        all_below(&format!("`{}`", gravity.name), gravity.particles.as_deref().unwrap_or_default(), n)?;
        limits.amplitude(&gravity.name, gravity.amplitude)?;
    }
    for cut in &setup.cuts {
        if let CutShape::Blade { times, from, to } = &cut.shape {
            require(times.len() >= 2 && from.len() == times.len() && to.len() == times.len(), || {
                format!("cut `{}`: tables of different lengths", cut.name)
            })?;
            require(times.is_sorted_by(|a, b| a < b), || format!("cut `{}`: times do not increase", cut.name))?;
        }
    }
    for erasure in &setup.erasures {
        all_below(&format!("`{}`", erasure.name), erasure.springs.as_flattened(), n)?;
    }
    for addition in &setup.additions {
        all_below(&format!("`{}`", addition.name), addition.springs.as_flattened(), n)?;
        require((addition.group as usize) < setup.groups.len(), || {
            format!("`{}`: a spring group that does not exist", addition.name)
        })?;
    }
    Ok(())
}
