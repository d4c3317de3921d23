//! What a preparation reports and finds on its way.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pogo_formats::job::Place;
use pogo_formats::system::memory::{Limit, Need};
use pogo_formats::timings;

use super::PrepareError;

/// Shows how far the work is.
pub trait Progress: Sync {
    /// A stage begins.
    fn stage(&self, name: &'static str);
    /// This fraction of the stage is done, in [0, 1].
    fn fraction(&self, done: f64);
    /// Something that is to be known before the work begins.
    fn note(&self, _text: &str) {}
}

/// Shows nothing.
impl Progress for () {
    fn stage(&self, _: &'static str) {}
    fn fraction(&self, _: f64) {}
}

/// What the user should know about inputs that were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remarks {
    /// `file:line: note: …`: what was done with an input, such as the nearest node that was taken.
    pub notes: Vec<String>,
    /// `file:line: warning: …`: what is probably a mistake in an input.
    pub warnings: Vec<String>,
}

impl Remarks {
    /// Adds a note on a table of a job.
    pub fn note(&mut self, place: &Place, text: impl Display) {
        self.notes.push(format!("{place}: note: {text}"));
    }

    /// Adds a warning about a table of a job.
    pub fn warn(&mut self, place: &Place, text: impl Display) {
        self.warnings.push(format!("{place}: warning: {text}"));
    }

    /// Adds warnings about a file as a whole.
    pub fn warn_of(&mut self, file: &Path, texts: impl IntoIterator<Item = String>) {
        self.warnings.extend(texts.into_iter().map(|text| format!("{}: warning: {text}", file.display())));
    }

    /// Adds whole lines of both kinds.
    pub fn add(&mut self, lines: Vec<String>) {
        let (warnings, notes): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.contains(": warning: "));
        self.extend(Self { notes, warnings });
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.warnings.extend(other.warnings);
    }

    /// Warnings, then notes.
    pub fn in_order(&self) -> Vec<String> {
        [self.warnings.as_slice(), &self.notes].concat()
    }
}

/// One preparation under way: its progress, the time of its stages, the files that it has read and its remarks.
pub struct Work<'a> {
    progress: &'a dyn Progress,
    start: Instant,
    stage_start: Instant,
    stages: Vec<(&'static str, f64)>,
    running: Option<timings::Running>,
    /// Files beside the jobs that the model is made from, in the order of the provenance.
    pub sources: Vec<PathBuf>,
    /// What the user should know.
    pub remarks: Remarks,
    /// Estimate of the memory that is needed; nothing where there is none.
    pub memory: Need,
}

impl<'a> Work<'a> {
    /// Starts the clock.
    pub fn new(progress: &'a dyn Progress) -> Self {
        let now = Instant::now();
        let (sources, remarks, memory) = (Vec::new(), Remarks::default(), Need::default());
        Self { progress, start: now, stage_start: now, stages: Vec::new(), running: None, sources, remarks, memory }
    }

    /// Ends the stage before and begins the next one.
    pub fn stage(&mut self, name: &'static str) {
        self.end_stage();
        self.stages.push((name, 0.0));
        self.running = Some(timings::stage(name));
        self.progress.stage(name);
    }

    /// Adds to the estimate what is known only now, before it is allocated.
    ///
    /// # Errors
    /// There is less memory.
    pub fn need(&mut self, input: &Path, what: &'static str, bytes: f64) -> Result<(), PrepareError> {
        self.memory.add(what, bytes);
        Limit::new(None).check(&self.memory).map_err(|error| PrepareError::model(input, error))
    }

    /// Tells what is to be known before the work begins.
    pub fn tell(&self, text: &str) {
        self.progress.note(text);
    }

    /// Shows how much of the stage is done, in [0, 1].
    pub fn fraction(&self, done: f64) {
        self.progress.fraction(done);
    }

    /// Ends the last stage. Gives the wall time of each stage, in the order in which they ran, and of all, s.
    pub fn seconds(&mut self) -> (&[(&'static str, f64)], f64) {
        self.end_stage();
        (&self.stages, self.start.elapsed().as_secs_f64())
    }

    fn end_stage(&mut self) {
        self.running = None;
        let now = Instant::now();
        if let Some((_, seconds)) = self.stages.last_mut() {
            *seconds += now.duration_since(self.stage_start).as_secs_f64();
        }
        self.stage_start = now;
    }
}
