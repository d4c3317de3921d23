//! Snapshots are written by a thread of their own.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::error::SolveError;

/// Draws and writes the snapshots of a run.
pub(crate) trait FrameWriter: Send {
    /// Everything that the snapshots of one step are made of.
    type Frame: Send;

    /// Steps at which something is written, increasing.
    fn steps(&self) -> Vec<u64>;
    /// Writes what is due at the step of the frame.
    fn write(&mut self, frame: Self::Frame) -> Result<(), SolveError>;
    /// Names of the files to open, in the output folder.
    fn files(&self) -> Vec<String>;
}

/// The thread that writes snapshots.
pub(crate) struct Writer<'scope, F> {
    jobs: SyncSender<Job<F>>,
    thread: ScopedJoinHandle<'scope, Result<(), SolveError>>,
    overlap: bool,
}

enum Job<F> {
    Write(F),
    /// Answer once everything before is written.
    Answer(SyncSender<()>),
}

impl<'scope, F: Send + 'scope> Writer<'scope, F> {
    /// With `overlap`, the time loop goes on while a snapshot is written.
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        frames: &'env mut impl FrameWriter<Frame = F>,
        overlap: bool,
    ) -> Result<Self, SolveError> {
        // One frame is written while the next one waits: no more of them are kept in memory.
        let (jobs, queue) = sync_channel(1);
        let work = move || {
            for job in queue {
                match job {
                    Job::Write(frame) => frames.write(frame)?,
                    Job::Answer(to) => drop(to.send(())),
                }
            }
            Ok(())
        };
        let thread = Builder::new().name("snapshots".into()).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| SolveError::Threads { threads: 1, reason: error.to_string() })?;
        Ok(Self { jobs, thread, overlap })
    }

    /// False once writing has failed; [`finish`](Self::finish) says why.
    pub fn write(&self, frame: F) -> bool {
        self.jobs.send(Job::Write(frame)).is_ok() && (self.overlap || self.wait())
    }

    /// Returns when everything so far is on disk; false if writing has failed.
    pub fn wait(&self) -> bool {
        let (to, answer) = sync_channel(1);
        self.jobs.send(Job::Answer(to)).is_ok() && answer.recv().is_ok()
    }

    pub fn finish(self) -> Result<(), SolveError> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
