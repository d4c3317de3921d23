//! Which snapshots are due at which steps, and their files.

use std::path::PathBuf;

use pogo_formats::dynamics::OutputInterval;
use pogo_formats::write::fields::FieldSeries;

use super::schedule::{self, Clock};
use crate::call::Call;
use crate::error::SolveError;

/// What the names of pictures begin with.
pub(crate) const PICTURE: &str = "snapshot-";
/// Pictures of a run whose model asks for no snapshot.
const DEFAULT_PICTURES: OutputInterval = OutputInterval::Count(4);

/// Snapshots with the same content at the same steps: one series of files.
pub(crate) struct Series<Q> {
    pub content: Q,
    pub files: FieldSeries,
    steps: Vec<u64>,
}

/// Steps at which pictures are drawn, and the pictures so far.
struct Pictures {
    steps: Vec<u64>,
    names: Vec<String>,
}

/// All snapshots of a run.
pub(crate) struct Snapshots<Q> {
    series: Vec<Series<Q>>,
    pictures: Option<Pictures>,
    folder: PathBuf,
}

impl<Q> Snapshots<Q> {
    /// One series for each content and its steps; without any, no field is written. With `--plot`, pictures are drawn at every
    /// snapshot, or at a few steps of a run without snapshots. What an earlier run has written up to `first_step` stays.
    pub fn plan(
        requests: Vec<(Q, Vec<u64>)>,
        clock: Clock,
        call: &Call<'_>,
        first_step: u64,
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
        let mut snapshots = Self { series, pictures: None, folder: folder.to_path_buf() };
        if call.settings.plot {
            let mut steps = snapshots.steps();
            if steps.is_empty() {
                steps = schedule::steps(&DEFAULT_PICTURES, clock);
            }
            snapshots.pictures = Some(Pictures { steps, names: Vec::new() });
        }
        Ok(snapshots)
    }

    /// Steps at which something is written, increasing.
    pub fn steps(&self) -> Vec<u64> {
        let pictures = self.pictures.iter().map(|pictures| pictures.steps.as_slice());
        let plans = self.series.iter().map(|series| series.steps.as_slice()).chain(pictures);
        let mut steps: Vec<u64> = plans.flatten().copied().collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Names of the files to open, in the output folder.
    pub fn files(&self) -> Vec<String> {
        let written = self.series.iter().filter(|series| !series.files.is_empty());
        let names = written.filter_map(|series| Some(series.files.path().file_name()?.to_str()?.to_owned()));
        names.chain(self.pictures.iter().flat_map(|pictures| pictures.names.iter().cloned())).collect()
    }

    /// The series that are due at a step.
    pub fn due(&mut self, step: u64) -> impl Iterator<Item = &mut Series<Q>> {
        self.series.iter_mut().filter(move |series| series.steps.binary_search(&step).is_ok())
    }

    /// Whether something that is due at a step has this content.
    pub fn wants(&self, step: u64, content: impl Fn(&Q) -> bool) -> bool {
        self.series.iter().any(|series| series.steps.binary_search(&step).is_ok() && content(&series.content))
    }

    /// Whether a picture is due at a step.
    pub fn wants_picture(&self, step: u64) -> bool {
        self.pictures.as_ref().is_some_and(|pictures| pictures.steps.binary_search(&step).is_ok())
    }

    /// File for the picture of a step, which is listed from now on.
    pub fn picture(&mut self, step: u64) -> PathBuf {
        let name = format!("{PICTURE}{step:09}.png");
        let path = self.folder.join(&name);
        self.pictures.iter_mut().for_each(|pictures| pictures.names.push(name.clone()));
        path
    }
}
