//! Results of mass-spring-damper runs: positions over time, energies, springs that came and went, the summary.
//!
//! | array of the `.vtu` or `.vtkhdf` files | on | components |
//! |---|---|---|
//! | (points) | | positions at that time |
//! | `displacement`, `velocity` | points | 3 |
//! | `particle_label`, `material` | points | 1 |
//! | `group`, `strain` | cells (springs as lines; broken ones are gone) | 1 |

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::write::grid::{Grid, GridArray, Lasting, Number, fill, indices, inverse};
use crate::write::summary::{Ending, Origin};
use crate::write::{OutputError, write_atomically};

/// A spring at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct SpringCell {
    pub particles: [u32; 2],
    /// Index of its group.
    pub group: u32,
    /// Extension over length without force.
    pub strain: f32,
}

/// A model at a time.
#[derive(Debug, Clone, Copy)]
pub struct SpringFrame<'a> {
    /// s.
    pub time: f64,
    /// Positions at rest, (n, 3).
    pub coordinates: &'a [f64],
    /// u, (n, 3).
    pub displacement: &'a [f64],
    /// v, (n, 3), or empty.
    pub velocity: &'a [f64],
    /// User's labels, (n,).
    pub labels: &'a [u32],
    /// Material index, (n,).
    pub material: &'a [u16],
    /// Particle of each point, in the user's order, (n,).
    pub order: &'a [u32],
    /// Springs that are there; none where only particles are asked for, which become single points.
    pub springs: Option<&'a [SpringCell]>,
}

impl<'a> SpringFrame<'a> {
    /// The frame as it is written.
    ///
    /// # Errors
    /// [`OutputError::Shape`] when arrays do not belong together.
    pub fn grid(&self) -> Result<Grid<'a>, OutputError> {
        let SpringFrame { coordinates, displacement, velocity, labels, material, order, springs, time } = *self;
        let (n, path) = (labels.len(), Path::new("fields"));
        let fits = coordinates.len() == 3 * n
            && displacement.len() == 3 * n
            && (velocity.is_empty() || velocity.len() == 3 * n)
            && material.len() == n
            && order.len() == n
            && springs.unwrap_or_default().iter().all(|spring| spring.particles.iter().all(|&i| (i as usize) < n));
        if !fits {
            return Err(OutputError::shape(path, "the arrays of a snapshot have different lengths"));
        }
        let point_of = inverse(path, order)?;
        let particles = move || order.iter().map(|&particle| particle as usize);
        let components = move || particles().flat_map(|i| (0..3).map(move |c| 3 * i + c));
        let vectors = |name, values: &'a [f64]| {
            let single = fill(move || components().map(|at| (values[at] as f32).to_le_bytes()));
            GridArray::new(name, Number::F32, 3, Lasting::No, single)
        };
        let positions =
            fill(move || components().map(|at| ((coordinates[at] + displacement[at]) as f32).to_le_bytes()));
        let mut point_data = vec![vectors("displacement", displacement)];
        if !velocity.is_empty() {
            point_data.push(vectors("velocity", velocity));
        }
        let label = fill(move || particles().map(|i| i64::from(labels[i]).to_le_bytes()));
        point_data.push(GridArray::new("particle_label", Number::I64, 1, Lasting::Always, label));
        let material = fill(move || particles().map(|i| i64::from(material[i]).to_le_bytes()));
        point_data.push(GridArray::new("material", Number::I64, 1, Lasting::Always, material));
        let (cells, corners) = springs.map_or((n, 1), |springs| (springs.len(), 2));
        let cell_data = springs.map_or_else(Vec::new, |springs| {
            let group = fill(move || springs.iter().map(|spring| i64::from(spring.group).to_le_bytes()));
            let strain = fill(move || springs.iter().map(|spring| spring.strain.to_le_bytes()));
            vec![
                GridArray::new("group", Number::I64, 1, Lasting::WithCells, group),
                GridArray::new("strain", Number::F32, 1, Lasting::No, strain),
            ]
        });
        Ok(Grid {
            time: Some(time),
            n_points: n,
            n_cells: cells,
            n_corners: corners * cells,
            cells_id: springs.map_or(0, cells_id),
            points: GridArray::new("Points", Number::F32, 3, Lasting::No, positions),
            connectivity: match springs {
                Some(springs) => {
                    let ends = move || springs.iter().flat_map(|spring| spring.particles);
                    let point_of = std::sync::Arc::new(point_of);
                    indices(move || {
                        let point_of = point_of.clone();
                        ends().map(move |particle| point_of[particle as usize].into())
                    })
                }
                None => indices(move || 0..n as u64),
            },
            ends: indices(move || (1..=cells).map(move |cell| (corners * cell) as u64)),
            // Lines, or vertices.
            types: indices(move || std::iter::repeat_n(if corners == 2 { 3 } else { 1 }, cells)),
            active: "Vectors",
            point_data,
            cell_data,
            names: None,
        })
    }
}

/// A number for the springs that are there.
fn cells_id(springs: &[SpringCell]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for spring in springs {
        let [a, b] = spring.particles;
        [a, b, spring.group].iter().for_each(|number| hash.update(&number.to_le_bytes()));
    }
    // 0 is of cells that never change.
    hash.digest().max(1)
}

/// Energies at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct SpringEnergy {
    /// s.
    pub time: f64,
    /// ½ Σ m v², J.
    pub kinetic: f64,
    /// ½ Σ k (l − L)², J.
    pub elastic: f64,
    /// −Σ m g · u, J.
    pub gravity: f64,
    /// Work of forces and driven particles so far, J.
    pub external: f64,
    /// Taken by dampers so far, J.
    pub dissipated: f64,
    /// Σ m v, kg m/s.
    pub momentum: [f64; 3],
    /// Springs that are there.
    pub springs: u64,
}

/// Writes `energy.csv`. Without `work` the columns `external` and `dissipated` are left out.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_spring_energy(
    path: &Path,
    rows: &[SpringEnergy],
    work: bool,
    comments: &[String],
) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        crate::write::traces::write_comments(out, comments)?;
        writeln!(out, "# units: time s, energies J, momentum kg m/s; gravity is -m g.u, 0 at rest")?;
        let columns = if work { "external,dissipated," } else { "" };
        writeln!(out, "time,kinetic,elastic,gravity,{columns}momentum1,momentum2,momentum3,springs")?;
        for row in rows {
            write!(out, "{:?},{:?},{:?},{:?},", row.time, row.kinetic, row.elastic, row.gravity)?;
            if work {
                write!(out, "{:?},{:?},", row.external, row.dissipated)?;
            }
            let [a, b, c] = row.momentum;
            writeln!(out, "{a:?},{b:?},{c:?},{}", row.springs)?;
        }
        Ok(())
    })
}

/// A spring that came or went.
#[derive(Debug, Clone, PartialEq)]
pub struct SpringEvent {
    /// s.
    pub time: f64,
    /// Both ends, the user's labels, with the instance in front where there are several.
    pub particles: [String; 2],
    /// Name of its group.
    pub group: String,
    /// `strain`, `cut NAME`, `erase NAME`, or `add NAME` for one that came.
    pub cause: String,
}

/// Writes `broken.csv`.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_spring_events<'a>(
    path: &Path,
    events: impl Iterator<Item = SpringEvent> + 'a,
    comments: &[String],
) -> Result<(), OutputError> {
    write_atomically(path, |out: &mut io::BufWriter<std::fs::File>| {
        crate::write::traces::write_comments(out, comments)?;
        writeln!(out, "time,particle,other,group,cause")?;
        for SpringEvent { time, particles: [a, b], group, cause } in events {
            writeln!(out, "{time:?},{a},{b},{group},{cause}")?;
        }
        Ok(())
    })
}

/// Energies at the end of a run, J.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FinalSpringEnergy {
    /// ½ Σ m v², J.
    pub kinetic: f64,
    /// ½ Σ k (l − L)², J.
    pub elastic: f64,
    /// −Σ m g · u, J.
    pub gravity: f64,
    /// Work of forces and driven particles, J; `null` where it was not followed.
    pub external: Option<f64>,
    /// Energy that dampers have taken, J; `null` where it was not followed.
    pub dissipated: Option<f64>,
    /// Momentum Σ m v, kg m/s.
    pub momentum: [f64; 3],
}

/// Everything a script wants to know about a run. Numbers that are not finite become `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpringSummary {
    /// How the run ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// `spring`.
    pub physics: &'static str,
    /// What was solved.
    #[serde(flatten)]
    pub origin: Origin,
    /// Particles of the model.
    pub particles: u64,
    /// Springs at the start.
    pub springs: u64,
    /// Springs at the end.
    pub springs_left: u64,
    /// Springs that were stretched beyond their limit.
    pub broken: u64,
    /// Springs that were cut.
    pub cut: u64,
    /// Springs that were erased.
    pub erased: u64,
    /// Springs that were added.
    pub added: u64,
    /// `implicit`, `explicit` or `explicit-global`.
    pub addressing: String,
    /// Number of steps from time 0 to the end.
    pub steps: u64,
    /// Step that the run started from: 0, or the checkpoint's.
    pub first_step: u64,
    /// Δt, s.
    pub increment: f64,
    /// Bound on the stable Δt, s.
    pub stable_increment: f64,
    /// Time reached, s.
    pub time: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: String,
    /// Threads that computed.
    pub threads: u32,
    /// Wall-clock time of the time loop, s.
    pub loop_seconds: f64,
    /// Wall-clock time of the whole run, s.
    pub total_seconds: f64,
    /// Particles × steps done in this run over `loop_seconds`, 1/s.
    pub particle_steps_per_second: f64,
    /// Bytes read and written a particle-step, by count.
    pub bytes_per_particle_step: f64,
    /// Peak resident memory, bytes; `null` where the system does not tell it.
    pub peak_memory_bytes: Option<u64>,
    /// Energies at the end.
    pub energy: FinalSpringEnergy,
    /// Files written, relative to the output folder.
    pub files: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::vtu;

    #[test]
    fn a_snapshot_has_points_in_the_users_order_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vtu");
        let springs = [SpringCell { particles: [0, 1], group: 2, strain: 0.5 }];
        let frame = SpringFrame {
            time: 0.25,
            coordinates: &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            displacement: &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
            velocity: &[],
            labels: &[2, 1],
            material: &[0, 0],
            order: &[1, 0],
            springs: Some(&springs),
        };
        vtu::write(&path, &frame.grid().unwrap()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("NumberOfPoints=\"2\" NumberOfCells=\"1\"") && text.contains(">0.25<"));
        let start = bytes.windows(3).position(|window| window == b"\n_\x18").unwrap() + 2;
        // Eight bytes of length, then the particle with label 1 at its place.
        assert_eq!(f32::from_le_bytes(bytes[start + 8..start + 12].try_into().unwrap()), 1.5);
        let short = SpringFrame { labels: &[1], ..frame };
        assert!(matches!(short.grid(), Err(OutputError::Shape { .. })));
        let points = SpringFrame { springs: None, ..frame };
        vtu::write(&path, &points.grid().unwrap()).unwrap();
        assert!(String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("NumberOfCells=\"2\""));
    }

    #[test]
    fn energies_and_events_are_written_with_their_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("energy.csv");
        let row = SpringEnergy { time: 1.0, kinetic: 2.0, springs: 3, ..SpringEnergy::default() };
        write_spring_energy(&path, &[row], true, &[]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(
            "time,kinetic,elastic,gravity,external,dissipated,momentum1,momentum2,momentum3,springs\n\
             1.0,2.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,3\n"
        ));
        write_spring_energy(&path, &[row], false, &[]).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("external"));
        let path = folder.path().join("broken.csv");
        let particles = ["1".to_owned(), "2".to_owned()];
        let event = SpringEvent { time: 0.5, particles, group: "a.axis".into(), cause: "cut KNIFE".into() };
        write_spring_events(&path, std::iter::once(event), &[]).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("0.5,1,2,a.axis,cut KNIFE\n"));
    }
}
