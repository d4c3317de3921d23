//! What is in a block file of a mass-spring-damper model.

use std::path::Path;

use pogo_formats::dynamics::Increment;
use pogo_formats::physics::BlockFile;
use pogo_formats::spring::Spring;
use pogo_formats::spring::picture::blocks_png;
use pogo_formats::spring::report::SpringSample;
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{
    CutFrame, CutShape, N_DIRECTIONS, SpringDamping, SpringGroup, SpringMaterial, SpringMeshView, SpringSetup,
    group_of_direction,
};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::report::Report;

use crate::info::words::{self, Dynamics};
use crate::info::{Inspect, Sets, number};
use crate::listing::{Item, Listing, items};
use crate::picture::{PictureError, PictureOptions};

/// Springs of each group that has any. A spring between two materials counts for that of its lower end.
pub fn springs_by_group(mesh: &SpringMeshView<'_>, setup: &SpringSetup) -> Vec<(String, u64)> {
    let none = || vec![0_u64; setup.groups.len()];
    let mut counts = none();
    if mesh.grid.is_some() {
        // Even bits lead to higher places, so that each spring is counted once.
        let of_group: [u32; 3] = std::array::from_fn(|group| {
            let is_in = |direction: &usize| group_of_direction(*direction) as usize == group;
            (0..N_DIRECTIONS).step_by(2).filter(is_in).fold(0, |bits, direction| bits | 1 << direction)
        });
        let count = |mut counts: Vec<u64>, (mask, material): (&u32, &u16)| {
            for (group, directions) in of_group.iter().enumerate() {
                counts[3 * usize::from(*material) + group] += u64::from((mask & directions).count_ones());
            }
            counts
        };
        let both = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        counts = mesh.lists.mask.par_iter().zip(mesh.material).fold(none, count).reduce(none, both);
    } else {
        mesh.each_spring().for_each(|(_, _, group)| counts[group as usize] += 1);
    }
    let named = setup.groups.iter().map(|group| group.name.clone()).zip(counts);
    named.filter(|(_, count)| *count > 0).collect()
}

impl Inspect for Spring {
    const TITLE: &'static str = "mass-spring models";

    fn title(setup: &SpringSetup) -> &str {
        &setup.title
    }

    fn figures(file: &BlockFile<Self>) -> Listing {
        let (mesh, setup) = (file.mesh(), file.setup());
        let mut page = Listing::default();
        add_mesh(&mesh, &mut page);
        page.items("materials", &materials(&mesh, &setup));
        let groups = groups(&mesh, &setup);
        page.figure("groups", &groups);
        page.list("springs", &groups);
        let amplitudes: Vec<&str> = setup.amplitudes.iter().map(|amplitude| amplitude.name.as_str()).collect();
        page.figure("amplitudes", &amplitudes);
        if !amplitudes.is_empty() {
            page.line("amplitudes", amplitudes.join(", "));
        }
        let dynamics = Dynamics { noun: "particle", amplitudes: &setup.amplitudes };
        page.items("boundaries", &dynamics.boundaries(&setup.boundaries));
        page.items("forces", &forces(&setup, dynamics));
        page.items("initial_velocities", &dynamics.initial_velocities(&setup.initial_velocities));
        page.items("changes", &changes(&setup));
        page.items("histories", &dynamics.histories(&setup.histories));
        let fields = words::numbered(&setup.fields, |field| {
            let what = if field.springs { "positions and springs" } else { "positions" };
            format!("{what}, {}", words::interval(&field.interval))
        });
        page.items("fields", &fields);
        let solver = solver_words(&setup);
        page.figure("solver", &solver);
        page.line("run", solver);
        page
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        Some(Sets::new(&file.mesh().sets, &[]))
    }

    /// Draws the blocks in colours: springs where there are few enough, else particles.
    fn show(file: &BlockFile<Self>, report: &mut Report) {
        let mesh = file.mesh();
        SpringSample::new(&mesh).show_blocks(report, mesh.coordinates, mesh.lists.block_size);
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        if options.window.is_some() {
            return Err(PictureError::Option("--window", "masses and springs"));
        }
        let mesh = file.mesh();
        let n = mesh.n_particles();
        let cells: Vec<SpringCell> = mesh
            .each_spring()
            .map(|(particle, other, group)| SpringCell { particles: [particle, other], group, strain: 0.0 })
            .collect();
        let (rest, order): (Vec<f64>, Vec<u32>) = (vec![0.0; 3 * n], (0..n as u32).collect());
        let frame = SpringFrame {
            time: 0.0,
            coordinates: mesh.coordinates,
            displacement: &rest,
            velocity: &[],
            labels: mesh.labels,
            material: mesh.material,
            order: &order,
            springs: Some(&cells),
        };
        blocks_png(path, &frame, mesh.lists.block_size, &file.setup().title, options.width()?)?;
        Ok(counted(mesh.lists.n_blocks(), "block"))
    }
}

/// Particles, springs, the grid of a lattice, blocks and sets.
fn add_mesh(mesh: &SpringMeshView, page: &mut Listing) {
    let (n, springs, lists) = (mesh.n_particles(), mesh.n_springs(), &mesh.lists);
    page.figure("particles", &n);
    page.figure("springs", &springs);
    page.line("mesh", format_args!("{}, {}", counted(n, "particle"), counted(springs, "spring")));
    page.bounding_box(mesh.coordinates, 3, 3, "m");
    let loose = lists.count.iter().filter(|&&count| count == 0).count();
    if loose > 0 {
        page.line("", format_args!("{} without a spring", counted(loose, "particle")));
    }
    let fill = mesh.grid.map(|grid| n as f64 / grid.n_places() as f64);
    page.figure("grid", &mesh.grid.map(|grid| grid.size));
    page.figure("spacing", &mesh.grid.map(|grid| grid.spacing));
    page.figure("fill", &fill);
    if let (Some(grid), Some(fill)) = (mesh.grid, fill) {
        let ([x, y, z], spacing) = (grid.size, grid.spacing.map(number).join(" × "));
        page.line("grid", format_args!("{x} × {y} × {z}, spacing {spacing} m, {:.1} % filled", 100.0 * fill));
    }
    let addressing = if mesh.grid.is_some() { &["implicit", "explicit"][..] } else { &["explicit"] };
    page.figure("addressing", &addressing);
    page.line("addressing", addressing.join(", "));

    let n_used: usize = lists.count.iter().map(|&count| usize::from(count)).sum();
    let used = n_used as f64 / lists.neighbour.len().max(1) as f64;
    let halo = lists.halo.len() as f64 / n.max(1) as f64;
    let (blocks, size) = (lists.n_blocks(), lists.block_size);
    page.figure("block_size", &size);
    page.figure("blocks", &blocks);
    page.figure("halo_fraction", &halo);
    page.figure("slot_efficiency", &used);
    page.figure("loose_particles", &loose);
    let (blocks, halo, used) = (grouped(blocks as u64), 100.0 * halo, 100.0 * used);
    page.line("blocks", format_args!("{blocks} of {size} particles, halo {halo:.1} %, slots {used:.1} % used"));
    let sets: Vec<(&str, usize)> = mesh.sets.iter().map(|(name, members)| (*name, members.len())).collect();
    page.figure("sets", &sets);
    let set = |(name, n): &(&str, usize)| Item { name: (*name).into(), description: counted(*n, "particle") };
    page.list("sets", &sets.iter().map(set).collect::<Vec<_>>());
}

fn materials(mesh: &SpringMeshView, setup: &SpringSetup) -> Vec<Item> {
    let mut n_particles = vec![0; setup.materials.len()];
    mesh.material.iter().for_each(|&material| n_particles[usize::from(material)] += 1);
    let item = |(material, n): (&SpringMaterial, usize)| {
        let values = [(material.mass, "kg a particle"), (material.density, "kg/m³")];
        let given = values.iter().filter(|(value, _)| *value != 0.0);
        let given: Vec<String> = given.map(|(value, unit)| format!("{} {unit}", number(*value))).collect();
        let description = format!("{}, {}", given.join(" and "), counted(n, "particle"));
        Item { name: material.name.clone(), description }
    };
    setup.materials.iter().zip(n_particles).map(item).collect()
}

/// Groups with springs, and those whose springs are added during the run.
fn groups(mesh: &SpringMeshView, setup: &SpringSetup) -> Vec<Item> {
    let counts = springs_by_group(mesh, setup);
    let groups = setup.groups.iter().filter_map(|group| {
        let count = counts.iter().find(|(name, _)| *name == group.name).map_or(0, |(_, count)| *count);
        let is_added =
            || setup.additions.iter().any(|addition| setup.groups[addition.group as usize].name == group.name);
        if count == 0 && !is_added() {
            return None;
        }
        let description = format!("{}, {}", group_words(group), counted(count as usize, "spring"));
        Some(Item { name: group.name.clone(), description })
    });
    groups.collect()
}

fn group_words(group: &SpringGroup) -> String {
    let mut words = match (group.stiffness, group.axial_stiffness) {
        (k, 0.0) => format!("k {} N/m", number(k)),
        (0.0, axial) => format!("k {} N / length", number(axial)),
        (k, axial) => format!("k {} N/m + {} N / length", number(k), number(axial)),
    };
    if group.damping > 0.0 {
        words += &format!(", c {} N s/m", number(group.damping));
    }
    if group.max_strain.is_finite() {
        words += &format!(", breaks at {}", number(group.max_strain));
    }
    if group.rest_factor != 1.0 {
        words += &format!(", length × {}", number(group.rest_factor));
    }
    words
}

fn forces(setup: &SpringSetup, dynamics: Dynamics) -> Vec<Item> {
    let mut forces = items(&setup.forces, |force| {
        let (magnitude, n) = (number(force.magnitude), counted(force.particles.len(), "particle"));
        (&force.name, format!("{magnitude} N on {n}{}", dynamics.amplitude(force.amplitude)))
    });
    forces.extend(items(&setup.gravity, |gravity| {
        let particles = gravity.particles.as_ref();
        let n = particles.map_or_else(String::new, |some| format!(" of {}", counted(some.len(), "particle")));
        let amplitude = dynamics.amplitude(gravity.amplitude);
        (&gravity.name, format!("{} m/s²{n}{amplitude}", number(gravity.magnitude)))
    }));
    forces
}

fn changes(setup: &SpringSetup) -> Vec<Item> {
    let mut changes = items(&setup.cuts, |cut| {
        let at = |time: f64| number(cut.time + time);
        let shape = match &cut.shape {
            CutShape::Plane { .. } => format!("a plane at {} s", at(0.0)),
            CutShape::Sheet { .. } => format!("a sheet at {} s", at(0.0)),
            CutShape::Blade { times, .. } => {
                let ends = [times.first(), times.last()].map(|time| at(time.copied().unwrap_or(0.0)));
                format!("a blade with {} stations from {} to {} s", times.len(), ends[0], ends[1])
            }
        };
        let frame = if cut.frame == CutFrame::Rest { " (positions at rest)" } else { "" };
        (&cut.name, format!("cut by {shape}{frame}"))
    });
    changes.extend(items(&setup.erasures, |erasure| {
        let (n, time) = (counted(erasure.springs.len(), "spring"), number(erasure.time));
        (&erasure.name, format!("erases {n} at {time} s"))
    }));
    changes.extend(items(&setup.additions, |addition| {
        let (n, time) = (counted(addition.springs.len(), "spring"), number(addition.time));
        (&addition.name, format!("adds {n} at {time} s"))
    }));
    changes
}

fn solver_words(setup: &SpringSetup) -> String {
    let increment = match setup.solver.increment {
        Increment::Fixed(increment) => format!("{} s", number(increment)),
        Increment::Automatic { factor } => format!("automatic × {}", number(factor)),
    };
    let damping = match setup.solver.damping {
        SpringDamping::Alpha(0.0) | SpringDamping::Lambda(0.0) => String::new(),
        SpringDamping::Alpha(alpha) => format!(", α {} 1/s", number(alpha)),
        SpringDamping::Lambda(lambda) => format!(", λ {}", number(lambda)),
    };
    format!("{} s, increment {increment}{damping}", number(setup.solver.time))
}
