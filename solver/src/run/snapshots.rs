//! Which snapshots are due at which steps, and their files.

use pogo_formats::write::fields::FieldSeries;

use super::reel::{Reel, Sampled, Samples, Scene};
use super::schedule::Clock;
use crate::call::Call;
use crate::error::SolveError;

/// Snapshots with the same content at the same steps: one series of files.
pub(crate) struct Series<Q> {
    pub content: Q,
    pub files: FieldSeries,
    steps: Vec<u64>,
}

/// All snapshots of a run.
pub(crate) struct Snapshots<Q> {
    series: Vec<Series<Q>>,
    reel: Option<Reel>,
    samples: Option<Samples>,
}

impl<Q> Snapshots<Q> {
    /// One series for each content and its steps; without any, no field is written. With `--plot`, pictures are drawn at every
    /// snapshot, or at a few steps of a run without snapshots; `scene` is asked for where there are to be pictures, and
    /// `n_samples`, the numbers of a frame of the report, where there is to be one. What an earlier run has written up to
    /// `first_step` stays.
    pub fn plan(
        requests: Vec<(Q, Vec<u64>)>,
        clock: Clock,
        call: &Call<'_>,
        first_step: u64,
        (scene, n_samples): (impl FnOnce() -> Scene, impl FnOnce() -> usize),
    ) -> Result<Self, SolveError> {
        let (folder, format) = (call.folder, call.settings.field_format);
        let mut series = Vec::with_capacity(requests.len());
        for (index, (content, steps)) in requests.into_iter().enumerate() {
            let name = if index == 0 { "fields".to_owned() } else { format!("fields-{}", index + 1) };
            let expected = steps.len() as u64;
            let files = match call.is_resumed() {
                false => FieldSeries::create(folder, &name, format, expected)?,
                true => FieldSeries::resume(folder, &name, format, expected, first_step)?,
            };
            series.push(Series { content, files, steps });
        }
        let mut snapshots = Self { series, reel: None, samples: None };
        if call.settings.draws() {
            let steps = snapshots.steps();
            snapshots.reel = Some(Reel::plan(scene(), steps, clock, call, first_step));
        }
        if call.settings.report {
            snapshots.samples = Some(Samples::plan(n_samples(), clock, call, first_step));
        }
        Ok(snapshots)
    }

    /// Steps at which something is written, increasing.
    pub fn steps(&self) -> Vec<u64> {
        let of_series = self.series.iter().flat_map(|series| series.steps.iter().copied());
        let mut steps: Vec<u64> = of_series.chain(self.reel.iter().flat_map(Reel::steps)).collect();
        steps.extend(self.samples.iter().flat_map(|samples| samples.steps().iter().copied()));
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Names of the files to open, in the output folder.
    pub fn files(&self) -> Vec<String> {
        let written = self.series.iter().filter(|series| !series.files.is_empty());
        let names = written.filter_map(|series| Some(series.files.path().file_name()?.to_str()?.to_owned()));
        let drawn = self.reel.iter().flat_map(Reel::names).chain(self.samples.iter().flat_map(Samples::names));
        names.chain(drawn.cloned()).collect()
    }

    /// The series that are due at a step.
    pub fn due(&mut self, step: u64) -> impl Iterator<Item = &mut Series<Q>> {
        self.series.iter_mut().filter(move |series| series.steps.binary_search(&step).is_ok())
    }

    /// Whether something that is due at a step has this content.
    pub fn wants(&self, step: u64, content: impl Fn(&Q) -> bool) -> bool {
        self.series.iter().any(|series| series.steps.binary_search(&step).is_ok() && content(&series.content))
    }

    /// The reel, if a frame of it is due at a step.
    pub fn due_frame(&mut self, step: u64) -> Option<&mut Reel> {
        self.reel.as_mut().filter(|reel| reel.wants(step))
    }

    /// The samples of the report, if a frame of them is due at a step.
    pub fn due_sample(&mut self, step: u64) -> Option<&mut Samples> {
        self.samples.as_mut().filter(|samples| samples.steps().binary_search(&step).is_ok())
    }

    /// The samples of all frames; none where there is no report.
    pub fn sampled(&mut self, goes_on: bool) -> Result<Option<Sampled>, SolveError> {
        self.samples.as_mut().map(|samples| samples.finish(goes_on)).transpose()
    }

    /// Draws what is to be drawn of all frames. They stay for a run that `goes_on` later.
    pub fn finish(&mut self, goes_on: bool) -> Result<(), SolveError> {
        self.reel.as_mut().map_or(Ok(()), |reel| reel.finish(goes_on))
    }
}
