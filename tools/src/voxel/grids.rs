//! What the grid of a voxel model takes in each representation, and how long it takes to build.

use std::fmt;
use std::time::Instant;

use pogo_formats::voxel::build::with_nodes;
use pogo_formats::voxel::{Bricks, HashLevel, HashView, OffsetLevel, OffsetView, VoxelMeshView, coarse_size, coarsen};
use pogo_formats::words::counted;
use serde::Serialize;

use super::{GridKind, VoxelError, kinds, levels};
use crate::cli::word;
use crate::info::size;

/// Lower bounds of the fractions of short, and of short and medium elements in a solid cube (lemma of Arbenz, Flaig and
/// Kellenberger, Appendix A).
const LEMMA: [f64; 2] = [165.0 / 256.0, 61_473.0 / 65_536.0];

pub(super) fn share(part: u64, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// One level of a grid representation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelSummary {
    /// Voxels along x, y and z.
    pub size: [u32; 3],
    pub elements: u64,
    pub nodes: u64,
    pub bytes: u64,
    /// Nodes over slots of a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<f64>,
    /// Tables of a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
}

impl LevelSummary {
    pub(super) fn offset(level: &OffsetView) -> Self {
        let (elements, nodes) = (level.n_elements as u64, level.n_nodes as u64);
        Self { size: level.size, elements, nodes, bytes: level.bytes() as u64, occupancy: None, tables: None }
    }

    pub(super) fn hash(level: &HashView) -> Self {
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

/// What a grid takes in each representation, and how long it takes to build: `--grids`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grids {
    pub file: String,
    pub elements: u64,
    /// Fractions of short, medium and long elements.
    pub fractions: [f64; 3],
    pub grids: Vec<MeasuredGrid>,
}

/// One representation, built and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredGrid {
    /// `brick`, `offset`, `hash` (one table) or `hash` with more tables, such as `hash1024`.
    pub name: String,
    /// Bytes of the finest level over elements, the modulus not counted.
    pub bytes_an_element: f64,
    pub bytes_finest: u64,
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
                _ => word(&kind),
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
        name: word(&GridKind::Brick),
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
