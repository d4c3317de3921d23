//! What the solver of mass-spring-damper models relies on, checked once when a file is written and when it is opened.

use rayon::prelude::*;

use super::SpringView;
use crate::block::Table;
use crate::block::check::{Check, PIECE, all_below, require};
use crate::dynamics::check::Limits;
use crate::spring::{
    CutShape, DIRECTION_BITS, DIRECTIONS, NO_NEIGHBOUR, SpringGridView, SpringMesh, SpringMeshView, SpringSetup,
    material_of,
};

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
    for (at, particle) in own.clone().enumerate() {
        let count = usize::from(lists.count[particle]);
        require(count <= n_slots, || format!("particle {particle}: {count} springs in {n_slots} slots"))?;
        for slot in 0..n_slots {
            let entry = first + slot * size + at;
            let local = usize::from(lists.neighbour[entry]);
            if slot >= count {
                require(local == usize::from(NO_NEIGHBOUR), || {
                    format!("particle {particle}: slot {slot} is not empty")
                })?;
                continue;
            }
            let good = if local < size { local < own.len() && local != at } else { local - size < halo.len() };
            require(good, || format!("particle {particle}: slot {slot} leads nowhere"))?;
            if let Some(&group) = lists.group.get(entry) {
                require(usize::from(group) < n_groups, || {
                    format!("particle {particle}: a spring group that does not exist")
                })?;
            }
        }
        if let Some(&mask) = lists.mask.get(particle) {
            require((mask & DIRECTION_BITS).count_ones() as usize == count, || {
                format!("particle {particle}: its mask has another number of springs")
            })?;
            require(material_of(mask).map(u16::from) == Some(mesh.material[particle]), || {
                format!("particle {particle}: its mask has another material")
            })?;
        }
    }
    // Behind the last particle of the last block.
    let rest = own.len()..size;
    let empty = (0..n_slots)
        .all(|slot| lists.neighbour[first + slot * size..][rest.clone()].iter().all(|&local| local == NO_NEIGHBOUR));
    require(empty, || format!("block {block}: springs of no particle"))
}

/// Position in the grid, x fastest.
fn position(size: [u32; 3], place: usize) -> [i64; 3] {
    let [nx, ny] = [size[0] as usize, size[1] as usize];
    [place % nx, place / nx % ny, place / nx / ny].map(|p| p as i64)
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
    mask.par_iter().enumerate().with_min_len(PIECE).try_for_each(|(at, &here)| {
        if here == 0 {
            return Ok(());
        }
        let p = position(size, at);
        let mut left = here & DIRECTION_BITS;
        while left != 0 {
            let d = left.trailing_zeros() as usize;
            left &= left - 1;
            let q: [i64; 3] = std::array::from_fn(|c| p[c] + i64::from(DIRECTIONS[d][c]));
            require((0..3).all(|c| q[c] >= 0 && q[c] < i64::from(size[c])), || {
                format!("place {at}: bit {d} leads outside")
            })?;
            let there = mask[(at as i64 + grid.stride(d) as i64) as usize];
            require(there >> (d ^ 1) & 1 == 1 && material_of(there).is_some(), || {
                format!("place {at}: the neighbour at bit {d} has no spring back")
            })?;
        }
        Ok(())
    })
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
