//! What is in a block file of a static voxel problem.

use std::fmt::{self, Display};
use std::path::Path;

use pogo_formats::physics::BlockFile;
use pogo_formats::voxel::block::Voxel;
use pogo_formats::voxel::setup::LoadCase;
use pogo_formats::voxel::{BricksView, VoxelMeshView, VoxelSetup, slice};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::plot::SnapshotOptions;
use serde::Serialize;

use super::grids::{Grids, LevelSummary, share};
use super::{GridKind, kinds};
use crate::info::{Inspect, Item, Sets, items, json, line, list, number, size};
use crate::picture::{DEFAULT_SIZE, PictureError, PictureOptions};
use crate::prepare::count;

/// Figures of a block file of voxel statics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelSummary {
    /// Voxels along x, y and z.
    pub size: [u32; 3],
    /// Edge of a voxel.
    pub spacing: f64,
    /// Unit of length.
    pub unit: String,
    /// Position of the lowest corner.
    pub origin: [f64; 3],
    pub elements: u64,
    pub nodes: u64,
    /// Degrees of freedom.
    pub dof: u64,
    /// Elements over voxels.
    pub solid_fraction: f64,
    /// ν.
    pub poisson: f64,
    pub materials: Vec<VoxelMaterialSummary>,
    /// Least and greatest modulus where each element has its own.
    pub moduli: Option<[f64; 2]>,
    /// Load cases.
    pub cases: Vec<Item>,
    /// Solver settings, in words.
    pub solver: String,
    pub grid: GridSummary,
    pub domains: DomainsSummary,
}

/// A material.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelMaterialSummary {
    pub name: String,
    /// E.
    pub young: f64,
    /// Number of its elements.
    pub elements: u64,
}

/// The grid, as Table 1 of the paper and Table 3.1 of the thesis report it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridSummary {
    /// `brick`, `offset` or `hash`.
    pub representation: &'static str,
    pub bricks: u64,
    /// Mean number of nodes of a brick.
    pub nodes_a_brick: f64,
    /// Bytes of the bricks over elements.
    pub brick_bytes_an_element: f64,
    /// Fraction of elements whose node numbers are less than 2⁸ apart.
    pub short: f64,
    /// Fraction of elements whose node numbers are 2⁸ to 2¹⁶ apart.
    pub medium: f64,
    /// Fraction of elements whose node numbers are further apart.
    pub long: f64,
    /// Tables of the representation, the finest level first; empty with bricks alone.
    pub levels: Vec<LevelSummary>,
}

/// Sub-domains and their interfaces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainsSummary {
    /// `morton` or `metis`.
    pub method: String,
    pub domains: Vec<DomainSummary>,
}

/// One sub-domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainSummary {
    pub elements: u64,
    /// Own nodes.
    pub nodes: u64,
    /// Nodes that it reads from others.
    pub halo: u64,
    /// Sub-domains that it reads them from.
    pub receives_from: Vec<u32>,
    /// Nodes that it sends, counted once for each receiver.
    pub sent: u64,
    /// Sub-domains that it sends to.
    pub sends_to: Vec<u32>,
}

impl Inspect for Voxel {
    const TITLE: &'static str = "voxel statics";
    type Figures = VoxelSummary;

    fn title(setup: &VoxelSetup) -> &str {
        &setup.title
    }

    fn figures(file: &BlockFile<Self>) -> VoxelSummary {
        let (mesh, setup) = (file.mesh(), file.setup());
        let bricks = mesh.bricks;
        let mut n_elements = vec![0_u64; setup.materials.len()];
        mesh.element_class.iter().for_each(|&class| n_elements[usize::from(class)] += 1);
        let materials = setup.materials.iter().zip(n_elements);
        let extremes =
            mesh.element_modulus.iter().fold([f32::INFINITY, 0.0], |[least, most], &e| [least.min(e), most.max(e)]);
        let voxels: f64 = mesh.size.iter().map(|&n| f64::from(n)).product();
        let (tolerance, most) = (number(setup.solver.tolerance), setup.solver.max_iterations);
        VoxelSummary {
            size: mesh.size,
            spacing: mesh.spacing,
            unit: setup.unit.clone(),
            origin: mesh.origin,
            elements: bricks.n_elements() as u64,
            nodes: bricks.n_nodes() as u64,
            dof: 3 * bricks.n_nodes() as u64,
            solid_fraction: bricks.n_elements() as f64 / voxels,
            poisson: setup.poisson,
            materials: materials
                .map(|(m, elements)| VoxelMaterialSummary { name: m.name.clone(), young: m.young, elements })
                .collect(),
            moduli: (!mesh.element_modulus.is_empty()).then(|| extremes.map(|e| f64::from(e) * setup.modulus_scale)),
            cases: items(&setup.cases, |case| (&case.name, case_words(case))),
            solver: format!("to {tolerance}, at most {most} iterations"),
            grid: GridSummary::new(file, &bricks),
            domains: DomainsSummary::new(file, &mesh),
        }
    }

    fn sets(_: &BlockFile<Self>) -> Option<Sets> {
        None
    }

    /// Draws the slice that the output asks for: sub-domains in colours, or moduli where there is one sub-domain.
    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        if options.window.is_some() {
            return Err(PictureError::Window);
        }
        let (mesh, setup, domains) = (file.mesh(), file.setup(), file.domains());
        let width = (options.size.unwrap_or(DEFAULT_SIZE) as usize).clamp(400, 8000);
        let options = |label: &str| SnapshotOptions {
            label: label.into(),
            unit: String::new(),
            width,
            ..SnapshotOptions::default()
        };
        let (drawn, what) = if domains.n_domains() > 1 {
            let domain = mesh.bricks.domains(&domains);
            let of = |element: u32, _: &[u32; 8]| {
                f64::from(domain[mesh.bricks.element_first.partition_point(|&first| first <= element) - 1])
            };
            (slice::draw(path, &mesh, &setup, "sub-domains", options("domain"), of)?, "sub-domains")
        } else {
            let of = |element: u32, _: &[u32; 8]| match mesh.element_class.get(element as usize) {
                Some(&class) => setup.materials.get(usize::from(class)).map_or(0.0, |material| material.young),
                None => mesh.element_modulus.get(element as usize).map_or(0.0, |&e| setup.modulus_scale * f64::from(e)),
            };
            (slice::draw(path, &mesh, &setup, "modulus E", options("E"), of)?, "moduli")
        };
        if drawn {
            Ok(format!("a slice of {what}"))
        } else {
            Err(PictureError::Empty("the slice cuts no voxel; choose another with [output] slice_at in the job"))
        }
    }

    fn grids(file: &BlockFile<Self>, as_json: bool) -> Option<Result<String, String>> {
        let grids = Grids::measure(&file.container().path().display().to_string(), &file.mesh());
        Some(match grids {
            Ok(grids) => Ok(if as_json { json(&grids) } else { grids.to_string() }),
            Err(error) => Err(error.to_string()),
        })
    }
}

fn case_words(case: &LoadCase) -> String {
    let n = |n: usize, what: &str| (n > 0).then(|| counted(n, what));
    let parts = [
        n(case.displacements.len(), "displaced region"),
        n(case.displacement_tables.len(), "displacement table"),
        n(case.forces.len(), "loaded region"),
        n(case.force_tables.len(), "force table"),
        case.hold_rigid_motion.then(|| "rigid motion held".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl GridSummary {
    fn new(file: &BlockFile<Voxel>, bricks: &BricksView) -> Self {
        let levels = file.levels();
        let (offset, hash) = (&levels.offset, &levels.hash);
        let n = bricks.n_elements();
        let kinds = kinds(bricks);
        Self {
            representation: match (offset.is_empty(), hash.is_empty()) {
                (false, _) => GridKind::Offset.name(),
                (true, false) => GridKind::Hash.name(),
                (true, true) => GridKind::Brick.name(),
            },
            bricks: bricks.n_bricks() as u64,
            nodes_a_brick: bricks.n_nodes() as f64 / bricks.n_bricks().max(1) as f64,
            brick_bytes_an_element: share(bricks.bytes() as u64, n),
            short: share(kinds.short, n),
            medium: share(kinds.medium, n),
            long: share(kinds.long, n),
            levels: offset.iter().map(LevelSummary::offset).chain(hash.iter().map(LevelSummary::hash)).collect(),
        }
    }
}

impl DomainsSummary {
    fn new(file: &BlockFile<Voxel>, mesh: &VoxelMeshView) -> Self {
        let (domains, bricks) = (file.domains(), mesh.bricks);
        let one = |d: usize| {
            let own = bricks.of_domain(&domains, d);
            let elements =
                |&b: &u32| u64::from(bricks.element_first[b as usize + 1] - bricks.element_first[b as usize]);
            DomainSummary {
                elements: own.iter().map(elements).sum(),
                nodes: domains.n_own(d) as u64,
                halo: domains.halo_of(d).len() as u64,
                receives_from: domains.received(d).map(|message| message.owner).collect(),
                sent: domains.sent(d).map(|message| message.items.len() as u64).sum(),
                sends_to: domains.sent(d).map(|message| message.reader).collect(),
            }
        };
        Self { method: domains.method.to_owned(), domains: (0..domains.n_domains()).map(one).collect() }
    }
}

impl Display for VoxelSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [nx, ny, nz] = self.size;
        let (edge, unit, solid) = (number(self.spacing), &self.unit, 100.0 * self.solid_fraction);
        line(f, "image", &format!("{nx} × {ny} × {nz} voxels of {edge} {unit}, {solid:.1} % solid"))?;
        let (elements, nodes) = (count(self.elements, "element"), count(self.nodes, "node"));
        line(f, "model", &format!("{elements}, {nodes}, {} degrees of freedom", grouped(self.dof)))?;
        let materials = items(&self.materials, |material| {
            (&material.name, format!("E {}, {}", number(material.young), count(material.elements, "element")))
        });
        list(f, "materials", &materials)?;
        if let Some([least, most]) = self.moduli {
            line(f, "moduli", &format!("E of each element, {} to {}", number(least), number(most)))?;
        }
        line(f, "poisson", &number(self.poisson))?;
        list(f, "load cases", &self.cases)?;
        line(f, "solver", &self.solver)?;
        write!(f, "{}{}", self.grid, self.domains)
    }
}

impl Display for GridSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (bricks, bytes) = (count(self.bricks, "brick"), self.brick_bytes_an_element);
        line(f, "grid", &format!("{bricks}, {:.1} nodes each, {bytes:.2} B an element", self.nodes_a_brick))?;
        let [short, medium, long] = [self.short, self.medium, self.long].map(|share| format!("{share:.3}"));
        line(f, "", &format!("fractions short {short}, medium {medium}, long {long}"))?;
        for (number, level) in self.levels.iter().enumerate() {
            let each = level.bytes as f64 / level.elements.max(1) as f64;
            let mut text = format!("level {number}: {}, {each:.2} B each", count(level.elements, "element"));
            if let (Some(occupancy), Some(tables)) = (level.occupancy, level.tables) {
                text += &format!(", occupancy {occupancy:.3} in {}", count(tables, "table"));
            }
            line(f, if number == 0 { self.representation } else { "" }, &text)?;
        }
        if let Some(first) = self.levels.first() {
            let all = self.levels.iter().map(|level| level.bytes).sum();
            line(f, "", &format!("{} on the finest level, {} on all", size(first.bytes), size(all)))?;
        }
        Ok(())
    }
}

impl Display for DomainsSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.domains.len() < 2 {
            return Ok(());
        }
        let list_of = |domains: &[u32]| domains.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let items = self.domains.iter().enumerate().map(|(d, domain)| {
            let (elements, nodes) = (count(domain.elements, "element"), count(domain.nodes, "own node"));
            let mut text = format!("{elements}, {nodes}");
            if !domain.receives_from.is_empty() {
                text += &format!(", {} of {}", count(domain.halo, "further node"), list_of(&domain.receives_from));
            }
            if !domain.sends_to.is_empty() {
                text += &format!(", sends {} to {}", grouped(domain.sent), list_of(&domain.sends_to));
            }
            Item { name: d.to_string(), description: text }
        });
        list(f, &format!("sub-domains ({})", self.method), &items.collect::<Vec<_>>())
    }
}
