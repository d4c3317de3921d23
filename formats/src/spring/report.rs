//! Springs or particles over time for a report.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::SpringMeshView;
use super::picture::look;
use super::results::SpringFrame;
use crate::write::plot::camera::bounds;
use crate::write::plot::{Scale, Spread, WAVES};
use crate::write::raster::Map;
use crate::write::report::{PARTS, Report, view_of};

/// Springs are shown one by one up to this many, and with them up to so many particles.
const MOST_SPRINGS: usize = 28_000;
const MOST_PARTICLES: usize = 5_000;

/// What is shown of a model: the same in all frames.
#[derive(Debug, Clone, PartialEq)]
pub struct SpringSample {
    /// Particles by index.
    particles: Vec<u32>,
    /// Springs at the beginning: places of their particles in `particles`; empty where only particles are shown.
    springs: Vec<[u32; 2]>,
    /// Springs by their particles, the lower first.
    by_ends: HashMap<[u32; 2], usize>,
    /// Of so many particles one is shown.
    step: usize,
}

impl SpringSample {
    /// Springs one by one, or, of a larger model, every n-th particle.
    pub fn new(mesh: &SpringMeshView<'_>) -> Self {
        let n = mesh.n_particles();
        if mesh.n_springs() > MOST_SPRINGS || n > MOST_PARTICLES || mesh.n_springs() == 0 {
            let step = n.div_ceil(MOST_PARTICLES).max(1);
            let particles = (0..n as u32).step_by(step).collect();
            return Self { particles, springs: Vec::new(), by_ends: HashMap::new(), step };
        }
        let springs: Vec<[u32; 2]> = mesh.each_spring().map(|(a, b, _)| [a, b]).collect();
        let by_ends = springs.iter().enumerate().map(|(at, &[a, b])| ([a.min(b), a.max(b)], at)).collect();
        Self { particles: (0..n as u32).collect(), springs, by_ends, step: 1 }
    }

    fn n_values(&self) -> usize {
        if self.springs.is_empty() { self.particles.len() } else { self.springs.len() }
    }

    /// Numbers of a frame.
    pub fn len(&self) -> usize {
        3 * self.particles.len() + self.n_values()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a frame: positions, then the size of the strain of each spring (NaN: it is gone) or of the displacement of
    /// each particle.
    pub fn values(&self, frame: &SpringFrame<'_>) -> Vec<f32> {
        let moved = |at: usize| frame.coordinates[at] + frame.displacement[at];
        let positions = self.particles.iter().flat_map(|&p| (0..3).map(move |c| 3 * p as usize + c));
        let mut values: Vec<f32> = positions.map(|at| moved(at) as f32).collect();
        if self.springs.is_empty() {
            let size = |&p: &u32| (0..3).map(|c| frame.displacement[3 * p as usize + c].powi(2)).sum::<f64>().sqrt();
            values.extend(self.particles.iter().map(|p| size(p) as f32));
            return values;
        }
        let first = values.len();
        values.resize(first + self.springs.len(), f32::NAN);
        for spring in frame.springs.unwrap_or_default() {
            let [a, b] = spring.particles;
            if let Some(&at) = self.by_ends.get(&[a.min(b), a.max(b)]) {
                values[first + at] = if spring.strain.is_finite() { spring.strain.abs() } else { f32::INFINITY };
            }
        }
        values
    }

    /// Adds the blocks of so many particles each to a report: particles at rest, and springs by their lower particle.
    pub fn show_blocks(&self, report: &mut Report, coordinates: &[f64], block_size: usize) {
        let [low, high] = bounds(coordinates, 3);
        if self.is_empty() {
            return;
        }
        let code = |(axis, x): (usize, f64)| {
            let share = (x - low[axis]) / (high[axis] - low[axis]).max(f64::MIN_POSITIVE);
            (65535.0 * share).round().clamp(0.0, 65535.0) as u16
        };
        let of_particle = |&p: &u32| [0, 1, 2].map(|axis| code((axis, coordinates[3 * p as usize + axis])));
        let positions = report.codes_16(self.particles.iter().flat_map(of_particle));
        let block = |particle: u32| particle as usize / block_size.max(1);
        let colour = |particle: u32| (block(particle) % PARTS) as f32;
        let own: Vec<f32> = match self.springs.is_empty() {
            true => self.particles.iter().map(|&particle| colour(particle)).collect(),
            false => self.springs.iter().map(|&[particle, _]| colour(particle)).collect(),
        };
        let range = [-0.5, PARTS as f64 - 0.5];
        let scale = Scale::new(&Spread::default(), Map::Sequential, Some(range), WAVES, None);
        let field = report.field(own.iter().copied(), (own.len(), report.room()), range, &scale);
        let mut view = field.keys(view_of(&look(!self.springs.is_empty()), &scale));
        view["map"] = json!("parts");
        self.describe(report, &mut view, [low, high], positions, &["at rest".to_owned()]);
        let n = self.particles.last().map_or(0, |&last| block(last) + 1);
        let notes = format!(
            "{n} blocks of at most {block_size} particles; colours tell neighbours apart. {}",
            self.notes(false)
        );
        report.show_parts("Blocks of particles", notes.trim(), view);
    }

    /// What a view of this kind says.
    fn describe(
        &self,
        report: &mut Report,
        view: &mut Value,
        bounds: [[f64; 3]; 2],
        positions: Value,
        frames: &[String],
    ) {
        view["kind"] = json!("lines");
        view["frames"] = json!(frames);
        view["slider"] = json!("Time");
        view["start"] = json!(frames.len() - 1);
        view["positions"] = positions;
        view["n_points"] = json!(self.particles.len());
        view["stride"] = json!(self.n_values());
        view["box"] = json!(bounds);
        if !self.springs.is_empty() {
            view["segments"] = report.indices(self.springs.as_flattened().iter().copied());
        }
    }

    /// What is left out, and what marks stand for.
    fn notes(&self, moving: bool) -> String {
        match (self.step, self.springs.is_empty()) {
            (step, _) if step > 1 => format!("One particle in {step} is shown"),
            (_, false) if moving => "Red crosses: springs that were there at the first frame and are gone".into(),
            _ => String::new(),
        }
    }

    /// Adds frames to a report: their names, and all their numbers one after the other.
    pub fn show(&self, report: &mut Report, frames: &[String], values: &[f32]) {
        let look = &look(!self.springs.is_empty());
        let (n, m) = (3 * self.particles.len(), self.n_values());
        if self.is_empty() || frames.is_empty() {
            return;
        }
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for frame in values.chunks_exact(n + m) {
            for position in frame[..n].as_chunks::<3>().0 {
                for axis in (0..3).filter(|&axis| position[axis].is_finite()) {
                    low[axis] = low[axis].min(position[axis].into());
                    high[axis] = high[axis].max(position[axis].into());
                }
            }
        }
        let code = |(axis, x): (usize, f32)| {
            let share = (f64::from(x) - low[axis]) / (high[axis] - low[axis]).max(f64::MIN_POSITIVE);
            (65535.0 * share).round().clamp(0.0, 65535.0) as u16
        };
        let of_frame =
            |frame: &[f32]| frame[..n].iter().enumerate().map(|(at, &x)| code((at % 3, x))).collect::<Vec<_>>();
        let positions = report.codes_16(values.chunks_exact(n + m).flat_map(of_frame));
        let own: Vec<f32> = values.chunks_exact(n + m).flat_map(|frame| &frame[n..]).copied().collect();
        let mut spread = Spread::default();
        spread.add(own.iter().copied());
        let scale = look.scale(&spread);
        let largest = own.iter().copied().filter(|value| value.is_finite()).fold(0.0, f32::max);
        let room = report.room();
        let field = report.field(own.iter().copied(), (own.len(), room), [0.0, largest.into()], &scale);
        let mut view = field.keys(view_of(look, &scale));
        self.describe(report, &mut view, [low, high], positions, frames);
        let notes = [scale.notes(&look.unit).join(" "), self.notes(true)];
        let note = notes.iter().filter(|note| !note.is_empty()).cloned().collect::<Vec<_>>().join(". ");
        report.show_field(&look.subtitle, &note, view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spring::results::SpringCell;

    #[test]
    fn springs_keep_their_places_when_others_break() {
        let sample = SpringSample {
            particles: vec![0, 1, 2],
            springs: vec![[0, 1], [1, 2]],
            by_ends: [([0, 1], 0), ([1, 2], 1)].into(),
            step: 1,
        };
        let springs = [SpringCell { particles: [2, 1], group: 0, strain: -0.5 }];
        let frame = SpringFrame {
            time: 0.0,
            coordinates: &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0],
            displacement: &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
            velocity: &[],
            labels: &[1, 2, 3],
            material: &[0; 3],
            order: &[0, 1, 2],
            springs: Some(&springs),
        };
        let values = sample.values(&frame);
        assert_eq!((sample.len(), values[6], values[10]), (11, 2.5, 0.5));
        assert!(values[9].is_nan(), "the first is gone");
        let mut report = Report::new("", String::new());
        sample.show(&mut report, &["t = 0 s".into()], &values);
        sample.show_blocks(&mut report, frame.coordinates, 2);
        assert!(report.has_views());
    }
}
