//! What is in a block file of a static voxel problem, and what its grid takes in each representation.

use std::fmt;
use std::time::Instant;

use pogo_formats::physics::BlockFile;
use pogo_formats::voxel::Voxel;
use pogo_formats::voxel::build::with_nodes;
use pogo_formats::voxel::slice;
use pogo_formats::voxel::{
    Bricks, BricksView, HashLevel, HashView, OffsetLevel, OffsetView, VoxelMeshView, coarse_size, coarsen,
};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::SnapshotOptions;
use serde::Serialize;

use crate::explicit::info::text::{line, list, number, size};
use crate::explicit::info::{FileSection, Item, SourceSummary};
use crate::voxel::{GridKind, VoxelError, kinds, levels};

/// Lower bounds of the fractions of short, and of short and medium elements in a solid cube (lemma of Arbenz, Flaig and
/// Kellenberger, Appendix A).
pub const LEMMA: [f64; 2] = [165.0 / 256.0, 61_473.0 / 65_536.0];

/// Everything that `pogo-info` shows of a voxel problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelSummary {
    /// Path, as given.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// `static`.
    pub physics: String,
    /// Title of the job.
    pub title: String,
    /// Voxels along x, y and z.
    pub size: [u32; 3],
    /// Edge of a voxel.
    pub spacing: f64,
    /// Unit of length.
    pub unit: String,
    /// Position of the lowest corner.
    pub origin: [f64; 3],
    /// Elements.
    pub elements: u64,
    /// Nodes.
    pub nodes: u64,
    /// Degrees of freedom.
    pub dof: u64,
    /// Elements over voxels.
    pub solid_fraction: f64,
    /// ν.
    pub poisson: f64,
    /// Materials with their moduli and numbers of elements.
    pub materials: Vec<VoxelMaterialSummary>,
    /// Least and greatest modulus where each element has its own.
    pub moduli: Option<[f64; 2]>,
    /// Load cases, each in a line.
    pub cases: Vec<Item>,
    /// Solver settings, in words.
    pub solver: String,
    /// The grid.
    pub grid: GridSummary,
    /// Sub-domains.
    pub domains: DomainsSummary,
    /// Sections of the file.
    pub file_sections: Vec<FileSection>,
    /// Files it was made from.
    pub sources: Vec<SourceSummary>,
    /// Version of the tool that made it.
    pub version: String,
    /// Options of that tool.
    pub options: Vec<String>,
}

/// A material.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelMaterialSummary {
    /// Name.
    pub name: String,
    /// E.
    pub young: f64,
    /// Elements.
    pub elements: u64,
}

/// The grid, as Table 1 of the paper and Table 3.1 of the thesis report it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridSummary {
    /// `brick`, `offset` or `hash`.
    pub representation: &'static str,
    /// Bricks.
    pub bricks: u64,
    /// Nodes a brick.
    pub nodes_a_brick: f64,
    /// Bytes of the bricks over elements.
    pub brick_bytes_an_element: f64,
    /// Fraction of elements whose node numbers are less than 2⁸ apart.
    pub short: f64,
    /// Less than 2¹⁶ apart.
    pub medium: f64,
    /// Further apart.
    pub long: f64,
    /// Tables of the representation, the finest level first; empty with bricks alone.
    pub levels: Vec<LevelSummary>,
}

/// One level of a grid representation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelSummary {
    /// Voxels along x, y and z.
    pub size: [u32; 3],
    /// Elements.
    pub elements: u64,
    /// Nodes.
    pub nodes: u64,
    /// Bytes of its tables.
    pub bytes: u64,
    /// Nodes over slots of a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<f64>,
    /// Tables of a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
}

impl LevelSummary {
    fn offset(level: &OffsetView) -> Self {
        let (elements, nodes) = (level.n_elements as u64, level.n_nodes as u64);
        Self { size: level.size, elements, nodes, bytes: level.bytes() as u64, occupancy: None, tables: None }
    }

    fn hash(level: &HashView) -> Self {
        Self {
            size: level.size,
            elements: level.n_elements() as u64,
            nodes: level.n_nodes() as u64,
            bytes: level.bytes() as u64,
            occupancy: Some(level.occupancy()),
            tables: Some(level.n_tables() as u64),
        }
    }
}

/// Sub-domains and their interfaces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainsSummary {
    /// `morton` or `metis`.
    pub method: String,
    /// Each of them.
    pub domains: Vec<DomainSummary>,
}

/// One sub-domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainSummary {
    /// Elements.
    pub elements: u64,
    /// Own nodes.
    pub nodes: u64,
    /// Nodes that it needs of others.
    pub halo: u64,
    /// Sub-domains that it gets them from.
    pub receives_from: Vec<u32>,
    /// Nodes that it sends, counted once a receiver.
    pub sent: u64,
    /// Sub-domains that it sends to.
    pub sends_to: Vec<u32>,
}

fn share(part: u64, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl VoxelSummary {
    /// Gathers the figures of an open file.
    pub fn new(file: &BlockFile<Voxel>) -> Self {
        let (mesh, setup, provenance) = (file.mesh(), file.setup(), file.container().provenance());
        let bricks = mesh.bricks;
        let mut count = vec![0_u64; setup.materials.len()];
        mesh.element_class.iter().for_each(|&class| count[usize::from(class)] += 1);
        let extremes =
            mesh.element_modulus.iter().fold([f32::INFINITY, 0.0], |[least, most], &e| [least.min(e), most.max(e)]);
        let cases = setup.cases.iter().map(|case| {
            let n = |n: usize, what: &str| (n > 0).then(|| counted(n, what));
            let parts = [
                n(case.displacements.len(), "displaced region"),
                n(case.displacement_tables.len(), "displacement table"),
                n(case.forces.len(), "loaded region"),
                n(case.force_tables.len(), "force table"),
                case.hold_rigid_motion.then(|| "rigid motion held".to_owned()),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            Item { name: case.name.clone(), description: parts.join(", ") }
        });
        let voxels: f64 = mesh.size.iter().map(|&n| f64::from(n)).product();
        Self {
            file: file.container().path().display().to_string(),
            bytes: file.container().bytes(),
            physics: provenance.physics.clone(),
            title: setup.title.clone(),
            size: mesh.size,
            spacing: mesh.spacing,
            unit: setup.unit.clone(),
            origin: mesh.origin,
            elements: bricks.n_elements() as u64,
            nodes: bricks.n_nodes() as u64,
            dof: 3 * bricks.n_nodes() as u64,
            solid_fraction: bricks.n_elements() as f64 / voxels,
            poisson: setup.poisson,
            materials: setup
                .materials
                .iter()
                .zip(count)
                .map(|(m, elements)| VoxelMaterialSummary { name: m.name.clone(), young: m.young, elements })
                .collect(),
            moduli: (!mesh.element_modulus.is_empty()).then(|| extremes.map(|e| f64::from(e) * setup.modulus_scale)),
            cases: cases.collect(),
            solver: format!(
                "to {}, at most {} iterations",
                number(setup.solver.tolerance),
                setup.solver.max_iterations
            ),
            grid: GridSummary::new(file, &bricks),
            domains: DomainsSummary::new(file, &mesh),
            file_sections: file.container().sections().iter().map(FileSection::new).collect(),
            sources: provenance.sources.iter().map(SourceSummary::new).collect(),
            version: provenance.version.clone(),
            options: provenance.options.clone(),
        }
    }
}

impl GridSummary {
    fn new(file: &BlockFile<Voxel>, bricks: &BricksView) -> Self {
        let levels = file.levels();
        let (offset, hash) = (levels.offset, levels.hash);
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

impl fmt::Display for VoxelSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}: {}, {}", self.file, self.physics, size(self.bytes))?;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        let n = |n: u64, what: &str| counted(n as usize, what);
        let [nx, ny, nz] = self.size;
        let (edge, unit) = (number(self.spacing), &self.unit);
        line(
            f,
            "image",
            &format!("{nx} × {ny} × {nz} voxels of {edge} {unit}, {:.1} % solid", 100.0 * self.solid_fraction),
        )?;
        let (elements, nodes) = (n(self.elements, "element"), n(self.nodes, "node"));
        line(f, "model", &format!("{elements}, {nodes}, {} degrees of freedom", grouped(self.dof)))?;
        let materials = self.materials.iter().map(|material| Item {
            name: material.name.clone(),
            description: format!("E {}, {}", number(material.young), n(material.elements, "element")),
        });
        list(f, "materials", &materials.collect::<Vec<_>>())?;
        if let Some([least, most]) = self.moduli {
            line(f, "moduli", &format!("E of each element, {} to {}", number(least), number(most)))?;
        }
        line(f, "poisson", &number(self.poisson))?;
        list(f, "load cases", &self.cases)?;
        line(f, "solver", &self.solver)?;

        let g = &self.grid;
        let bytes = g.brick_bytes_an_element;
        let bricks = format!("{}, {:.1} nodes each, {bytes:.2} B an element", n(g.bricks, "brick"), g.nodes_a_brick);
        line(f, "grid", &bricks)?;
        let [short, medium, long] = [g.short, g.medium, g.long].map(|share| format!("{share:.3}"));
        line(f, "", &format!("fractions short {short}, medium {medium}, long {long}"))?;
        let mut all = 0;
        for (number, level) in g.levels.iter().enumerate() {
            all += level.bytes;
            let each = level.bytes as f64 / level.elements.max(1) as f64;
            let mut text = format!("level {number}: {}, {each:.2} B each", n(level.elements, "element"));
            if let (Some(occupancy), Some(tables)) = (level.occupancy, level.tables) {
                text += &format!(", occupancy {occupancy:.3} in {}", n(tables, "table"));
            }
            line(f, if number == 0 { g.representation } else { "" }, &text)?;
        }
        if let Some(first) = g.levels.first() {
            line(f, "", &format!("{} on the finest level, {} on all", size(first.bytes), size(all)))?;
        }
        if let [_, _, ..] = self.domains.domains.as_slice() {
            let list_of = |domains: &[u32]| domains.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            let items = self.domains.domains.iter().enumerate().map(|(d, domain)| {
                let (elements, nodes) = (n(domain.elements, "element"), n(domain.nodes, "own node"));
                let mut text = format!("{elements}, {nodes}");
                if !domain.receives_from.is_empty() {
                    text += &format!(", {} of {}", n(domain.halo, "further node"), list_of(&domain.receives_from));
                }
                if !domain.sends_to.is_empty() {
                    text += &format!(", sends {} to {}", grouped(domain.sent), list_of(&domain.sends_to));
                }
                Item { name: d.to_string(), description: text }
            });
            list(f, &format!("sub-domains ({})", self.domains.method), &items.collect::<Vec<_>>())?;
        }
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

/// What a grid takes in each representation, and how long it takes to build: `--grids`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grids {
    /// Path, as given.
    pub file: String,
    /// Elements.
    pub elements: u64,
    /// Fractions of short, medium and long elements.
    pub fractions: [f64; 3],
    /// Each representation.
    pub grids: Vec<MeasuredGrid>,
}

/// One representation, built and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredGrid {
    /// `brick`, `offset`, `hash` (one table) or `hash` with more tables, such as `hash1024`.
    pub name: String,
    /// Bytes of the finest level over elements, the modulus not counted.
    pub bytes_an_element: f64,
    /// Bytes of the finest level.
    pub bytes_finest: u64,
    /// Bytes of all levels.
    pub bytes_all: u64,
    /// Nodes over slots, on the finest level.
    pub occupancy: Option<f64>,
    /// Building all levels, s.
    pub seconds: f64,
    /// Why it could not be built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Grids {
    /// Builds every representation on all levels.
    ///
    /// # Errors
    /// Not enough memory for the bricks.
    pub fn measure(file: &str, mesh: &VoxelMeshView) -> Result<Self, VoxelError> {
        let bricks = mesh.bricks;
        let n = bricks.n_elements();
        let kinds = kinds(&bricks);
        let mut grids = vec![measure_bricks(mesh)?];
        for (kind, tables) in [(GridKind::Offset, None), (GridKind::Hash, Some(1)), (GridKind::Hash, None)] {
            let clock = Instant::now();
            let built = levels(&bricks, mesh.size, kind, tables);
            let seconds = clock.elapsed().as_secs_f64();
            let (levels, failure): (Vec<LevelSummary>, _) = match built {
                Ok(built) => {
                    let offset = built.offset.iter().map(|level| LevelSummary::offset(&OffsetLevel::view(level)));
                    let hash = built.hash.iter().map(|level| LevelSummary::hash(&HashLevel::view(level)));
                    (offset.chain(hash).collect(), None)
                }
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            let finest = levels.first();
            let name = match finest.and_then(|level| level.tables) {
                Some(tables) if tables > 1 => format!("hash{tables}"),
                _ => kind.name().to_owned(),
            };
            let bytes_finest = finest.map_or(0, |level| level.bytes);
            grids.push(MeasuredGrid {
                name,
                bytes_an_element: share(bytes_finest, n),
                bytes_finest,
                bytes_all: levels.iter().map(|level| level.bytes).sum(),
                occupancy: finest.and_then(|level| level.occupancy),
                seconds,
                failure,
            });
        }
        let fractions = [kinds.short, kinds.medium, kinds.long].map(|kind| share(kind, n));
        Ok(Self { file: file.to_owned(), elements: n as u64, fractions, grids })
    }
}

fn measure_bricks(mesh: &VoxelMeshView) -> Result<MeasuredGrid, VoxelError> {
    let bricks = mesh.bricks;
    let filled = (0..bricks.n_bricks()).filter(|&brick| bricks.elements(brick) != [0; 8]);
    let (codes, masks): (Vec<u64>, Vec<[u64; 8]>) = filled.map(|b| (bricks.code[b], bricks.elements(b))).unzip();
    let masks = masks.as_flattened();
    let clock = Instant::now();
    let mut level: Bricks = with_nodes(mesh.size, &codes, masks)?;
    let (mut size, mut bytes_all) = (mesh.size, level.view().bytes());
    while size != [1; 3] {
        level = coarsen(&level.view(), size)?;
        size = coarse_size(size);
        bytes_all += level.view().bytes();
    }
    Ok(MeasuredGrid {
        name: GridKind::Brick.name().to_owned(),
        bytes_an_element: share(bricks.bytes() as u64, bricks.n_elements()),
        bytes_finest: bricks.bytes() as u64,
        bytes_all: bytes_all as u64,
        occupancy: None,
        seconds: clock.elapsed().as_secs_f64(),
        failure: None,
    })
}

impl fmt::Display for Grids {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}: {}", self.file, counted(self.elements as usize, "element"))?;
        let [short, medium, long] = self.fractions;
        writeln!(f, "fractions: short {short:.4}, medium {medium:.4}, long {long:.4}")?;
        let [below_8, below_16] = LEMMA;
        writeln!(f, "  the lemma for solid cubes: short at least {below_8:.4}, with medium {below_16:.4}")?;
        writeln!(
            f,
            "{:<12}{:>14}{:>14}{:>14}{:>12}{:>10}",
            "grid", "B/element", "finest", "all levels", "occupancy", "build"
        )?;
        for grid in &self.grids {
            if let Some(failure) = &grid.failure {
                writeln!(f, "{:<12}  {failure}", grid.name)?;
                continue;
            }
            let occupancy = grid.occupancy.map_or("-".into(), |occupancy| format!("{occupancy:.3}"));
            writeln!(
                f,
                "{:<12}{:>14.2}{:>14}{:>14}{occupancy:>12}{:>8.2} s",
                grid.name,
                grid.bytes_an_element,
                size(grid.bytes_finest),
                size(grid.bytes_all),
                grid.seconds
            )?;
        }
        Ok(())
    }
}

/// Draws a slice of a voxel model, the one that its output asks for: sub-domains in colours, or moduli where there is one
/// domain. Returns what was drawn. `width` is in pixels.
///
/// # Errors
/// The slice cuts no voxel, or the picture cannot be written.
pub fn draw(file: &BlockFile<Voxel>, path: &std::path::Path, width: usize) -> Result<String, PictureError> {
    let (mesh, setup, domains) = (file.mesh(), file.setup(), file.domains());
    let options = |label: &str| SnapshotOptions {
        label: label.into(),
        unit: String::new(),
        width: width.clamp(400, 8000),
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
    if drawn { Ok(format!("a slice of {what}")) } else { Err(PictureError::Empty) }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// No voxel there.
    #[error("error: the slice to draw cuts no voxel; choose another with [output] slice_at in the job")]
    Empty,
    /// Not written.
    #[error(transparent)]
    Write(#[from] OutputError),
}
