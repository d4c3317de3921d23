//! Positions and springs over time.

use pogo_formats::spring::picture::{SpringPaint, bounds, springs_png};
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{SpringFields, SpringMeshView};
use pogo_kernels::spring::{Springs, State};

use crate::call::Call;
use crate::error::SolveError;
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
    title: &'a str,
    /// Lowest and highest corner of the particles at rest.
    bounds: [[f64; 3]; 2],
}

impl<'a, 'o> Fields<'a, 'o> {
    /// Plans the snapshots of all requests. `order` are the particles in the user's order.
    pub fn plan(
        (mesh, order): (&'a SpringMeshView<'a>, &'o [u32]),
        requests: &[SpringFields],
        (clock, first_step): (Clock, u64),
        call: &Call<'_>,
        title: &'a str,
    ) -> Result<Self, SolveError> {
        let content = |request: &SpringFields| Content { springs: request.springs, velocity: request.velocity };
        let plans = requests.iter().map(|request| (content(request), schedule::steps(&request.interval, clock)));
        let bounds = if call.settings.plot { bounds(mesh.coordinates) } else { [[0.0; 3]; 2] };
        Ok(Self {
            snapshots: Snapshots::plan(plans.collect(), clock, call, first_step)?,
            mesh,
            order,
            clock,
            title,
            bounds,
        })
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

    fn write(&mut self, (state, springs): Self::Frame) -> Result<(), SolveError> {
        let (step, time) = (state.step, self.clock.time(state.step));
        let picture = self.snapshots.wants_picture(step);
        let mut cells = Vec::new();
        if picture || self.snapshots.wants(step, |content| content.springs) {
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
        if picture {
            springs_png(&self.snapshots.picture(step), &frame, SpringPaint::Motion, self.bounds, self.title)?;
        }
        Ok(())
    }
}
