//! What is in a block file of a mass-spring-damper model.

use std::fmt::{self, Display};
use std::path::Path;

use pogo_formats::dynamics::Increment;
use pogo_formats::physics::BlockFile;
use pogo_formats::spring::Spring;
use pogo_formats::spring::picture::{SpringPaint, bounds, springs_png};
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{
    CutFrame, CutShape, SpringDamping, SpringGroup, SpringMaterial, SpringMeshView, SpringSetup, group_of_direction,
};
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::info::words::{self, Dynamics};
use crate::info::{Inspect, Item, Sets, bounding_box, extent, items, line, list, number};
use crate::picture::{PictureError, PictureOptions};
use crate::prepare::count;

/// Figures of a block file of a mass-spring-damper model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpringSummary {
    pub particles: u64,
    pub springs: u64,
    /// Smallest and largest coordinate of each axis, m.
    pub bounding_box: Vec<[f64; 2]>,
    /// Places of the grid of a lattice along x, y and z.
    pub grid: Option<[u32; 3]>,
    /// Distance of neighbours in the grid, m.
    pub spacing: Option<[f64; 3]>,
    /// Particles over places.
    pub fill: Option<f64>,
    /// Addressings that the file has tables for.
    pub addressing: Vec<&'static str>,
    /// Particles in a block.
    pub block_size: u64,
    pub blocks: u64,
    /// Halo particles over particles.
    pub halo_fraction: f64,
    /// Used slots over slots of the lists.
    pub slot_efficiency: f64,
    /// Particles without a spring.
    pub loose_particles: u64,
    /// Sets of particles with their numbers of members.
    pub sets: Vec<(String, u64)>,
    pub materials: Vec<Item>,
    pub groups: Vec<Item>,
    /// Names of the amplitudes.
    pub amplitudes: Vec<String>,
    /// Fixed and driven particles.
    pub boundaries: Vec<Item>,
    /// Forces and gravity.
    pub forces: Vec<Item>,
    pub initial_velocities: Vec<Item>,
    /// Cuts, erasures and additions.
    pub changes: Vec<Item>,
    pub histories: Vec<Item>,
    /// Snapshots.
    pub fields: Vec<Item>,
    /// The run, in words.
    pub solver: String,
}

/// Springs of each group that has any. A spring between two materials counts for that of its lower end.
pub fn springs_by_group(mesh: &SpringMeshView<'_>, setup: &SpringSetup) -> Vec<(String, u64)> {
    let mut counts = vec![0_u64; setup.groups.len()];
    if mesh.grid.is_some() {
        // Even bits lead to higher places, so that each spring is counted once.
        for (&mask, &material) in mesh.lists.mask.iter().zip(mesh.material) {
            let mut directions = mask & 0x0155_5555;
            while directions != 0 {
                let direction = directions.trailing_zeros() as usize;
                directions &= directions - 1;
                counts[3 * usize::from(material) + group_of_direction(direction) as usize] += 1;
            }
        }
    } else {
        each_spring(mesh).for_each(|(_, _, group)| counts[group as usize] += 1);
    }
    let named = setup.groups.iter().map(|group| group.name.clone()).zip(counts);
    named.filter(|(_, count)| *count > 0).collect()
}

impl Inspect for Spring {
    const TITLE: &'static str = "mass-spring models";
    type Figures = SpringSummary;

    fn title(setup: &SpringSetup) -> &str {
        &setup.title
    }

    fn figures(file: &BlockFile<Self>) -> SpringSummary {
        let (mesh, setup) = (file.mesh(), file.setup());
        let dynamics = Dynamics { noun: "particle", amplitudes: &setup.amplitudes };
        let n = mesh.n_particles();
        let n_used: usize = mesh.lists.count.iter().map(|&count| usize::from(count)).sum();
        SpringSummary {
            particles: n as u64,
            springs: mesh.n_springs() as u64,
            bounding_box: bounding_box(mesh.coordinates, 3),
            grid: mesh.grid.map(|grid| grid.size),
            spacing: mesh.grid.map(|grid| grid.spacing),
            fill: mesh.grid.map(|grid| n as f64 / grid.n_places() as f64),
            addressing: if mesh.grid.is_some() { vec!["implicit", "explicit"] } else { vec!["explicit"] },
            block_size: mesh.lists.block_size as u64,
            blocks: mesh.lists.n_blocks() as u64,
            halo_fraction: mesh.lists.halo.len() as f64 / n.max(1) as f64,
            slot_efficiency: n_used as f64 / mesh.lists.neighbour.len().max(1) as f64,
            loose_particles: mesh.lists.count.iter().filter(|&&count| count == 0).count() as u64,
            sets: mesh.sets.iter().map(|(name, members)| ((*name).to_owned(), members.len() as u64)).collect(),
            materials: materials(&mesh, &setup),
            groups: groups(&mesh, &setup),
            amplitudes: setup.amplitudes.iter().map(|amplitude| amplitude.name.clone()).collect(),
            boundaries: dynamics.boundaries(&setup.boundaries),
            forces: forces(&setup, dynamics),
            initial_velocities: dynamics.initial_velocities(&setup.initial_velocities),
            changes: changes(&setup),
            histories: dynamics.histories(&setup.histories),
            fields: (1..)
                .zip(&setup.fields)
                .map(|(number, field): (usize, _)| {
                    let what = if field.springs { "positions and springs" } else { "positions" };
                    let description = format!("{what}, {}", words::interval(field.interval));
                    Item { name: number.to_string(), description }
                })
                .collect(),
            solver: solver_words(&setup),
        }
    }

    fn sets(file: &BlockFile<Self>) -> Option<Sets> {
        Some(Sets::new(&file.mesh().sets, &[]))
    }

    /// Draws the blocks in colours: springs where there are few enough, else particles.
    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        for (option, given) in [("--size", options.size.is_some()), ("--window", options.window.is_some())] {
            if given {
                return Err(PictureError::Option(option, "masses and springs"));
            }
        }
        let mesh = file.mesh();
        let n = mesh.n_particles();
        let cells: Vec<SpringCell> = each_spring(&mesh)
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
        let paint = SpringPaint::Blocks(mesh.lists.block_size);
        springs_png(path, &frame, paint, bounds(mesh.coordinates), &file.setup().title)?;
        Ok(counted(mesh.lists.n_blocks(), "block"))
    }
}

/// Each spring once, from its lower particle: both particles and the group.
fn each_spring<'a>(mesh: &'a SpringMeshView) -> impl Iterator<Item = (u32, u32, u32)> + 'a {
    (0..mesh.n_particles()).flat_map(move |particle| {
        let springs = mesh.springs(particle).filter(move |spring| spring.other as usize > particle);
        springs.map(move |spring| (particle as u32, spring.other, spring.group))
    })
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
        let shape = match &cut.shape {
            CutShape::Plane { .. } => "a plane".to_owned(),
            CutShape::Sheet { .. } => "a sheet".to_owned(),
            CutShape::Blade { times, .. } => format!("a blade with {} stations", times.len()),
        };
        let frame = if cut.frame == CutFrame::Rest { " (positions at rest)" } else { "" };
        (&cut.name, format!("cut by {shape} at {} s{frame}", number(cut.time)))
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

impl Display for SpringSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "mesh", &format!("{}, {}", count(self.particles, "particle"), count(self.springs, "spring")))?;
        extent(f, &self.bounding_box, "m")?;
        if self.loose_particles > 0 {
            line(f, "", &format!("{} without a spring", count(self.loose_particles, "particle")))?;
        }
        if let (Some([x, y, z]), Some(spacing), Some(fill)) = (self.grid, self.spacing, self.fill) {
            let (spacing, fill) = (spacing.map(number).join(" × "), 100.0 * fill);
            line(f, "grid", &format!("{x} × {y} × {z}, spacing {spacing} m, {fill:.1} % filled"))?;
        }
        line(f, "addressing", &self.addressing.join(", "))?;
        let blocks = format!(
            "{} of {} particles, halo {:.1} %, slots {:.1} % used",
            grouped(self.blocks),
            self.block_size,
            100.0 * self.halo_fraction,
            100.0 * self.slot_efficiency
        );
        line(f, "blocks", &blocks)?;
        list(f, "sets", &items(&self.sets, |(name, n)| (name, count(*n, "particle"))))?;
        list(f, "materials", &self.materials)?;
        list(f, "springs", &self.groups)?;
        if !self.amplitudes.is_empty() {
            line(f, "amplitudes", &self.amplitudes.join(", "))?;
        }
        list(f, "boundaries", &self.boundaries)?;
        list(f, "forces", &self.forces)?;
        list(f, "initial velocities", &self.initial_velocities)?;
        list(f, "changes", &self.changes)?;
        list(f, "histories", &self.histories)?;
        list(f, "fields", &self.fields)?;
        line(f, "run", &self.solver)
    }
}
