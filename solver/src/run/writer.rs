//! Snapshots are written while the device computes the next steps.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use pogo_formats::system::threads;
use pogo_formats::write::report::Report;

use crate::error::SolveError;

/// Draws and writes the snapshots of a run.
pub(crate) trait FrameWriter: Send {
    /// Everything that the snapshots of one step are made of.
    type Frame: Send;

    /// Steps at which something is written, increasing.
    fn steps(&self) -> Vec<u64>;
    /// Writes what is due at the step of the frame.
    fn write(&mut self, frame: Self::Frame) -> Result<(), SolveError>;
    /// Draws what all frames have to be there for, and puts them into the report. They stay for a run that `goes_on` later.
    fn finish(&mut self, goes_on: bool, report: Option<&mut Report>) -> Result<(), SolveError>;
    /// Names of the files to open, in the output folder.
    fn files(&self) -> Vec<String>;
}

/// Writes snapshots: on a thread of its own while the time loop goes on, or on the thread of the loop.
pub(crate) enum Writer<'scope, F, W> {
    Here(&'scope mut W, Result<(), SolveError>),
    Thread(WriterThread<'scope, F>),
}

/// The thread that writes snapshots.
pub(crate) struct WriterThread<'scope, F> {
    jobs: SyncSender<Job<F>>,
    thread: ScopedJoinHandle<'scope, Result<(), SolveError>>,
}

enum Job<F> {
    Write(F),
    /// Answer once everything before is written.
    Answer(SyncSender<()>),
}

impl<'scope, F: Send + 'scope, W: FrameWriter<Frame = F>> Writer<'scope, F, W> {
    /// With `overlap`, the time loop goes on while a snapshot is written, unless the system makes no thread for that.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, frames: &'env mut W, overlap: bool) -> Self {
        if !overlap {
            return Self::Here(frames, Ok(()));
        }
        // One frame is written while the next one waits: no more of them are kept in memory.
        let (jobs, queue) = sync_channel(1);
        // The frames go to the thread once it is there.
        let (give, given) = sync_channel::<&'env mut W>(1);
        let work = move || {
            let Ok(frames) = given.recv() else { return Ok(()) };
            for job in queue {
                match job {
                    Job::Write(frame) => frames.write(frame)?,
                    Job::Answer(to) => drop(to.send(())),
                }
            }
            Ok(())
        };
        let Ok(thread) = threads::spawn_scoped(scope, "snapshots", work) else { return Self::Here(frames, Ok(())) };
        // The thread waits for it.
        drop(give.send(frames));
        Self::Thread(WriterThread { jobs, thread })
    }
}

impl<F, W: FrameWriter<Frame = F>> Writer<'_, F, W> {
    /// False once writing has failed; [`finish`](Self::finish) says why.
    pub fn write(&mut self, frame: F) -> bool {
        match self {
            Self::Here(frames, result) => {
                if result.is_ok() {
                    *result = frames.write(frame);
                }
                result.is_ok()
            }
            Self::Thread(thread) => thread.jobs.send(Job::Write(frame)).is_ok(),
        }
    }

    /// Returns when everything so far is on disk; false if writing has failed.
    pub fn wait(&self) -> bool {
        match self {
            Self::Here(_, result) => result.is_ok(),
            Self::Thread(thread) => {
                let (to, answer) = sync_channel(1);
                thread.jobs.send(Job::Answer(to)).is_ok() && answer.recv().is_ok()
            }
        }
    }

    pub fn finish(self) -> Result<(), SolveError> {
        match self {
            Self::Here(_, result) => result,
            Self::Thread(WriterThread { jobs, thread }) => {
                drop(jobs);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}
