//! What is in a block file of a mass-spring-damper model.

use std::fmt;
use std::path::Path;

use pogo_formats::dynamics::{BoundaryKind, Increment, OutputInterval};
use pogo_formats::physics::BlockFile;
use pogo_formats::spring::Spring;
use pogo_formats::spring::picture::{SpringPaint, bounds, springs_png};
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{CutFrame, CutShape, SpringDamping, SpringMeshView, SpringSetup, group_of_direction};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::OutputError;
use serde::Serialize;

use crate::explicit::info::text::{line, list, number, size};
use crate::explicit::info::{FileSection, Item, SourceSummary};

/// Everything that `pogo-info` shows of a mass-spring-damper model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpringSummary {
    /// Path, as given.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// `spring`.
    pub physics: String,
    /// Title of the job.
    pub title: String,
    /// Particles.
    pub particles: u64,
    /// Springs.
    pub springs: u64,
    /// Smallest and largest coordinate of each axis.
    pub bounding_box: Vec<[f64; 2]>,
    /// Places of the grid of a lattice.
    pub grid: Option<[u32; 3]>,
    /// Distance of neighbours in the grid.
    pub spacing: Option<[f64; 3]>,
    /// Particles over places.
    pub fill: Option<f64>,
    /// Addressings that the file has tables for.
    pub addressing: Vec<&'static str>,
    /// Particles a block.
    pub block_size: u64,
    /// Blocks.
    pub blocks: u64,
    /// Halo particles over particles.
    pub halo_fraction: f64,
    /// Used slots over slots of the lists.
    pub slot_efficiency: f64,
    /// Particles without a spring.
    pub loose_particles: u64,
    /// Sets of particles.
    pub sets: Vec<(String, u64)>,
    /// Materials, each in a line.
    pub materials: Vec<Item>,
    /// Spring groups, each in a line.
    pub groups: Vec<Item>,
    /// Amplitudes, by name.
    pub amplitudes: Vec<String>,
    /// Fixed and driven particles, each in a line.
    pub boundaries: Vec<Item>,
    /// Forces and gravity, each in a line.
    pub forces: Vec<Item>,
    /// Initial velocities, each in a line.
    pub initial_velocities: Vec<Item>,
    /// Cuts, erasures and additions, each in a line.
    pub changes: Vec<Item>,
    /// Traces, each in a line.
    pub histories: Vec<Item>,
    /// Positions over time, each in a line.
    pub fields: Vec<Item>,
    /// The run, in words.
    pub solver: String,
    /// Sections of the file.
    pub file_sections: Vec<FileSection>,
    /// Files it was made from.
    pub sources: Vec<SourceSummary>,
    /// Version of the tool that made it.
    pub version: String,
    /// Options of that tool.
    pub options: Vec<String>,
}

/// Springs of each group that has any. A spring between two materials counts for that of its lower end.
pub fn springs_by_group(mesh: &SpringMeshView<'_>, setup: &SpringSetup) -> Vec<(String, u64)> {
    let mut counts = vec![0_u64; setup.groups.len()];
    if mesh.grid.is_some() {
        // Even bits lead to higher places: each spring once.
        for (&mask, &material) in mesh.lists.mask.iter().zip(mesh.material) {
            let mut left = mask & 0x0155_5555;
            while left != 0 {
                let direction = left.trailing_zeros() as usize;
                left &= left - 1;
                counts[3 * usize::from(material) + group_of_direction(direction) as usize] += 1;
            }
        }
    } else {
        for particle in 0..mesh.n_particles() {
            for spring in mesh.springs(particle).filter(|spring| spring.other as usize > particle) {
                counts[spring.group as usize] += 1;
            }
        }
    }
    let named = setup.groups.iter().map(|group| group.name.clone()).zip(counts);
    named.filter(|(_, count)| *count > 0).collect()
}

/// Draws the blocks in colours: springs where there are few enough, else particles.
///
/// # Errors
/// The picture cannot be written.
pub fn picture(path: &Path, file: &BlockFile<Spring>) -> Result<(), OutputError> {
    let mesh = file.mesh();
    let n = mesh.n_particles();
    let mut cells = Vec::new();
    for particle in 0..n {
        for spring in mesh.springs(particle).filter(|spring| spring.other as usize > particle) {
            cells.push(SpringCell { particles: [particle as u32, spring.other], group: spring.group, strain: 0.0 });
        }
    }
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
    springs_png(path, &frame, paint, bounds(mesh.coordinates), &file.setup().title)
}

fn when(interval: OutputInterval) -> String {
    match interval {
        OutputInterval::Increments(1) => "every increment".to_owned(),
        OutputInterval::Increments(n) => format!("every {n} increments"),
        OutputInterval::Time(time) => format!("every {} s", number(time)),
        OutputInterval::Count(n) => format!("{n} intervals"),
    }
}

impl SpringSummary {
    /// Collects the figures.
    pub fn new(file: &BlockFile<Spring>) -> Self {
        let (mesh, setup, container) = (file.mesh(), file.setup(), file.container());
        let n = mesh.n_particles();
        let (points, _) = mesh.coordinates.as_chunks::<3>();
        let bounding_box = (0..3)
            .map(|c| {
                let of = points.iter().map(|point| point[c]);
                [of.clone().fold(f64::INFINITY, f64::min), of.fold(f64::NEG_INFINITY, f64::max)]
            })
            .collect();
        let amplitude = |index: Option<u32>| {
            index.map_or(String::new(), |index| format!(", amplitude {}", setup.amplitudes[index as usize].name))
        };
        let component = |component: u8| ["x", "y", "z"][usize::from(component)];
        let counts = springs_by_group(&mesh, &setup);
        let groups = setup.groups.iter().map(|group| {
            let count = counts.iter().find(|(name, _)| *name == group.name).map_or(0, |(_, count)| *count);
            let mut text = match (group.stiffness, group.axial_stiffness) {
                (k, 0.0) => format!("k {} N/m", number(k)),
                (0.0, axial) => format!("k {} N / length", number(axial)),
                (k, axial) => format!("k {} N/m + {} N / length", number(k), number(axial)),
            };
            if group.damping > 0.0 {
                text += &format!(", c {} N s/m", number(group.damping));
            }
            if group.max_strain.is_finite() {
                text += &format!(", breaks at {}", number(group.max_strain));
            }
            if group.rest_factor != 1.0 {
                text += &format!(", length × {}", number(group.rest_factor));
            }
            (
                count,
                Item {
                    name: group.name.clone(),
                    description: format!("{text}, {}", counted(count as usize, "spring")),
                },
            )
        });
        let is_added =
            |name: &str| setup.additions.iter().any(|addition| setup.groups[addition.group as usize].name == name);
        let groups = groups.filter(|(count, item)| *count > 0 || is_added(&item.name)).map(|(_, item)| item).collect();
        let cuts = setup.cuts.iter().map(|cut| {
            let shape = match &cut.shape {
                CutShape::Plane { .. } => "a plane".to_owned(),
                CutShape::Sheet { .. } => "a sheet".to_owned(),
                CutShape::Blade { times, .. } => format!("a blade with {} stations", times.len()),
            };
            let frame = if cut.frame == CutFrame::Rest { " (positions at rest)" } else { "" };
            Item { name: cut.name.clone(), description: format!("cut by {shape} at {} s{frame}", number(cut.time)) }
        });
        let erasures = setup.erasures.iter().map(|erasure| Item {
            name: erasure.name.clone(),
            description: format!("erases {} at {} s", counted(erasure.springs.len(), "spring"), number(erasure.time)),
        });
        let additions = setup.additions.iter().map(|addition| Item {
            name: addition.name.clone(),
            description: format!("adds {} at {} s", counted(addition.springs.len(), "spring"), number(addition.time)),
        });
        let forces = setup.forces.iter().map(|force| Item {
            name: force.name.clone(),
            description: format!(
                "{} N on {}{}",
                number(force.magnitude),
                counted(force.particles.len(), "particle"),
                amplitude(force.amplitude)
            ),
        });
        let gravity = setup.gravity.iter().map(|gravity| Item {
            name: gravity.name.clone(),
            description: format!(
                "{} m/s²{}{}",
                number(gravity.magnitude),
                match &gravity.particles {
                    Some(particles) => format!(" of {}", counted(particles.len(), "particle")),
                    None => String::new(),
                },
                amplitude(gravity.amplitude)
            ),
        });
        let increment = match setup.solver.increment {
            Increment::Fixed(increment) => format!("{} s", number(increment)),
            Increment::Automatic { factor } => format!("automatic × {}", number(factor)),
        };
        let damping = match setup.solver.damping {
            SpringDamping::Alpha(0.0) | SpringDamping::Lambda(0.0) => String::new(),
            SpringDamping::Alpha(alpha) => format!(", α {} 1/s", number(alpha)),
            SpringDamping::Lambda(lambda) => format!(", λ {}", number(lambda)),
        };
        let provenance = container.provenance();
        let n_used: usize = mesh.lists.count.iter().map(|&count| usize::from(count)).sum();
        Self {
            file: container.path().display().to_string(),
            bytes: container.bytes(),
            physics: provenance.physics.clone(),
            title: setup.title.clone(),
            particles: n as u64,
            springs: mesh.n_springs() as u64,
            bounding_box,
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
            materials: setup
                .materials
                .iter()
                .enumerate()
                .map(|(index, material)| {
                    let count = mesh.material.iter().filter(|&&of| usize::from(of) == index).count();
                    let said = [(material.mass, "kg a particle"), (material.density, "kg/m³")];
                    let said = said.iter().filter(|(value, _)| *value != 0.0);
                    let said: Vec<String> = said.map(|(value, unit)| format!("{} {unit}", number(*value))).collect();
                    let description = format!("{}, {}", said.join(" and "), counted(count, "particle"));
                    Item { name: material.name.clone(), description }
                })
                .collect(),
            groups,
            amplitudes: setup.amplitudes.iter().map(|amplitude| amplitude.name.clone()).collect(),
            boundaries: setup
                .boundaries
                .iter()
                .map(|boundary| {
                    let (what, unit) = match boundary.kind {
                        BoundaryKind::Displacement => ("displacement", "m"),
                        BoundaryKind::Velocity => ("velocity", "m/s"),
                        BoundaryKind::Acceleration => ("acceleration", "m/s²"),
                    };
                    Item {
                        name: boundary.name.clone(),
                        description: format!(
                            "{what} {} {} {unit} of {}{}",
                            component(boundary.component),
                            number(boundary.value),
                            counted(boundary.nodes.len(), "particle"),
                            amplitude(boundary.amplitude)
                        ),
                    }
                })
                .collect(),
            forces: forces.chain(gravity).collect(),
            initial_velocities: setup
                .initial_velocities
                .iter()
                .map(|initial| Item {
                    name: initial.name.clone(),
                    description: format!(
                        "{} {} m/s of {}",
                        component(initial.component),
                        number(initial.value),
                        counted(initial.nodes.len(), "particle")
                    ),
                })
                .collect(),
            changes: cuts.chain(erasures).chain(additions).collect(),
            histories: setup
                .histories
                .iter()
                .map(|history| Item {
                    name: history.set.clone(),
                    description: format!(
                        "{} of {}, {}",
                        counted(history.variables.len(), "variable"),
                        counted(history.nodes.len(), "particle"),
                        when(history.interval)
                    ),
                })
                .collect(),
            fields: setup
                .fields
                .iter()
                .enumerate()
                .map(|(index, field)| Item {
                    name: (index + 1).to_string(),
                    description: format!(
                        "positions{}, {}",
                        if field.springs { " and springs" } else { "" },
                        when(field.interval)
                    ),
                })
                .collect(),
            solver: format!("{} s, increment {increment}{damping}", number(setup.solver.time)),
            file_sections: container.sections().iter().map(FileSection::new).collect(),
            sources: provenance.sources.iter().map(SourceSummary::new).collect(),
            version: provenance.version.clone(),
            options: provenance.options.clone(),
        }
    }
}

impl fmt::Display for SpringSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}, {}", self.file, self.physics, size(self.bytes))?;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        let (particles, springs) =
            (counted(self.particles as usize, "particle"), counted(self.springs as usize, "spring"));
        line(f, "mesh", &format!("{particles}, {springs}"))?;
        for ([low, high], axis) in self.bounding_box.iter().zip(["x", "y", "z"]) {
            line(f, "", &format!("{axis} from {} to {} m", number(*low), number(*high)))?;
        }
        if self.loose_particles > 0 {
            line(f, "", &format!("{} without a spring", counted(self.loose_particles as usize, "particle")))?;
        }
        if let (Some([x, y, z]), Some([hx, hy, hz]), Some(fill)) = (self.grid, self.spacing, self.fill) {
            let spacing = [hx, hy, hz].map(number).join(" × ");
            line(f, "grid", &format!("{x} × {y} × {z}, spacing {spacing} m, {:.1} % filled", 100.0 * fill))?;
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
        let sets: Vec<Item> = self
            .sets
            .iter()
            .map(|(name, n)| Item { name: name.clone(), description: counted(*n as usize, "particle") })
            .collect();
        list(f, "sets", &sets)?;
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
        line(f, "run", &self.solver)?;
        let sections = self.file_sections.iter().map(|section| Item {
            name: section.name.clone(),
            description: format!("{:>15} bytes, xxh3 {}", grouped(section.bytes), section.checksum),
        });
        list(f, "file", &sections.collect::<Vec<_>>())?;
        let sources = self.sources.iter().map(|source| Item {
            name: source.name.clone(),
            description: format!("{} bytes, xxh3 {}", grouped(source.bytes), source.hash),
        });
        list(f, "made from", &sources.collect::<Vec<_>>())?;
        line(f, "made by", &format!("{} with {}", self.version, self.options.join(" ")))
    }
}
