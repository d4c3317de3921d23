//! Positions and springs over time.

use pogo_formats::spring::picture::SpringPicture;
use pogo_formats::spring::report::SpringSample;
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{SpringFields, SpringMeshView};
use pogo_formats::write::plot::Look;
use pogo_formats::write::report::Report;
use pogo_kernels::spring::{Springs, State};

use crate::call::Call;
use crate::error::SolveError;
use crate::run::reel::Scene;
use crate::run::schedule::{self, Clock};
use crate::run::snapshots::Snapshots;
use crate::run::writer::FrameWriter;

/// Which parts of a model a series of files has.
struct Content {
    springs: bool,
    velocity: bool,
}

/// Writes the snapshots of a run.
pub(super) struct Fields<'a, 'o> {
    snapshots: Snapshots<Content>,
    mesh: &'a SpringMeshView<'a>,
    /// The particles in the user's order.
    order: &'o [u32],
    clock: Clock,
    /// How the model is drawn, where there are pictures.
    picture: Option<SpringPicture>,
    /// What the report shows.
    sample: Option<SpringSample>,
}

impl<'a, 'o> Fields<'a, 'o> {
    /// Plans the snapshots of all requests. `order` are the particles in the user's order.
    pub fn plan(
        (mesh, order): (&'a SpringMeshView<'a>, &'o [u32]),
        requests: &[SpringFields],
        (clock, first_step): (Clock, u64),
        call: &Call<'_>,
        title: &str,
    ) -> Result<Self, SolveError> {
        let content = |request: &SpringFields| Content { springs: request.springs, velocity: request.velocity };
        let plans = requests.iter().map(|request| (content(request), schedule::steps(&request.interval, clock)));
        let (mut picture, mut sample) = (None, None);
        let scene = || {
            let drawn = SpringPicture::new(mesh.coordinates, mesh.n_springs(), Look::default().width, true);
            let drawn = picture.insert(drawn);
            Scene { look: drawn.look(title), camera: drawn.camera.clone(), ink: Vec::new(), n_values: drawn.n_values() }
        };
        let n_samples = || sample.insert(SpringSample::new(mesh)).len();
        let snapshots = Snapshots::plan(plans.collect(), clock, call, first_step, (scene, n_samples))?;
        Ok(Self { snapshots, mesh, order, clock, picture, sample })
    }
}

impl<'a> FrameWriter for Fields<'a, '_> {
    /// The state, and the springs that are there.
    type Frame = (State, Springs<'a>);

    fn steps(&self) -> Vec<u64> {
        self.snapshots.steps()
    }

    fn files(&self) -> Vec<String> {
        self.snapshots.files()
    }

    fn finish(&mut self, goes_on: bool, report: Option<&mut Report>) -> Result<(), SolveError> {
        self.snapshots.finish(goes_on)?;
        let sampled = self.snapshots.sampled(goes_on)?;
        if let (Some(report), Some(sample), Some(sampled)) = (report, &self.sample, sampled) {
            sample.show(report, &sampled.names, &sampled.values);
        }
        Ok(())
    }

    fn write(&mut self, (state, springs): Self::Frame) -> Result<(), SolveError> {
        let (step, time) = (state.step, self.clock.time(state.step));
        let drawn = self.snapshots.due_frame(step).is_some() || self.snapshots.due_sample(step).is_some();
        let mut cells = Vec::new();
        if drawn || self.snapshots.wants(step, |content| content.springs) {
            let n = springs.len() as usize;
            cells.try_reserve_exact(n).map_err(|_| SolveError::Memory { what: "a snapshot of the springs".into() })?;
            springs.strains(&state.displacement, |particles, group, strain| {
                cells.push(SpringCell { particles, group, strain: strain as f32 });
            });
        }
        let velocity: Vec<f64> = match self.snapshots.wants(step, |content| content.velocity) {
            true => state.increment.iter().map(|du| du / self.clock.time_increment).collect(),
            false => Vec::new(),
        };
        let frame = SpringFrame {
            time,
            coordinates: self.mesh.coordinates,
            displacement: &state.displacement,
            velocity: &[],
            labels: self.mesh.labels,
            material: self.mesh.material,
            order: self.order,
            springs: Some(&cells),
        };
        for series in self.snapshots.due(step) {
            let frame = SpringFrame {
                velocity: if series.content.velocity { &velocity } else { &[] },
                springs: series.content.springs.then_some(&cells),
                ..frame
            };
            series.files.write(step, time, &frame.grid()?)?;
        }
        if let (Some(picture), Some(reel)) = (&self.picture, self.snapshots.due_frame(step)) {
            reel.push(step, time, &picture.values(&frame))?;
        }
        if let (Some(sample), Some(samples)) = (&self.sample, self.snapshots.due_sample(step)) {
            samples.push(step, time, &sample.values(&frame))?;
        }
        Ok(())
    }
}
