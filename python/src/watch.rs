//! What is told while a command works.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pogo_solver::observe::{Observer, Outlook, with_prefix};
use pogo_tools::prepare::Progress;
use pyo3::prelude::*;

/// Between two events about the same stage or run.
const INTERVAL: Duration = Duration::from_millis(100);

/// What is told.
#[derive(Debug)]
pub enum Event {
    /// A stage begins.
    Stage(String),
    /// So much of the stage or run is done, in [0, 1], at this speed.
    Done(f64, String),
    /// Something that the user should know.
    Note(String),
}

impl Event {
    /// Calls `tell(kind, value, text)`.
    pub fn tell(self, tell: &Bound<'_, PyAny>) -> PyResult<()> {
        let arguments = match self {
            Self::Stage(text) => ("stage", 0.0, text),
            Self::Done(share, text) => ("done", share, text),
            Self::Note(text) => ("note", 0.0, text),
        };
        tell.call1(arguments).map(drop)
    }
}

/// What a preparation that was asked to stop unwinds with.
pub struct Stopped;

/// Asks a preparation to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// It stops when it next reports how far it is.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Watches a preparation, and stops it by unwinding: it has nothing to keep.
pub struct Preparing {
    events: Mutex<(Sender<Event>, Option<Instant>)>,
    stop: Stop,
}

impl Preparing {
    /// Sends to whoever waits for events.
    pub fn new(events: Sender<Event>, stop: Stop) -> Self {
        Self { events: Mutex::new((events, None)), stop }
    }

    fn stop_if_asked(&self) {
        if self.stop.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }
}

impl Progress for Preparing {
    fn stage(&self, name: &'static str) {
        self.stop_if_asked();
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waited may be gone.
        let _ = events.0.send(Event::Stage(name.to_owned()));
    }

    fn fraction(&self, done: f64) {
        self.stop_if_asked();
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.1.is_none_or(|last| last.elapsed() >= INTERVAL) {
            events.1 = Some(Instant::now());
            let _ = events.0.send(Event::Done(done, String::new()));
        }
    }
}

/// Watches a run.
pub struct Observed {
    events: Sender<Event>,
    outlook: Option<(Outlook, Instant)>,
    last: Option<Instant>,
}

impl Observed {
    /// Sends to whoever waits for events.
    pub fn new(events: Sender<Event>) -> Self {
        Self { events, outlook: None, last: None }
    }

    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Observer for Observed {
    fn started(&mut self, outlook: &Outlook) {
        let Outlook { n_nodes, n_steps, increment, device, precision, words, .. } = outlook;
        let text = format!("{n_nodes} {}, {n_steps} steps of {increment:.4e} s; {device}, {precision}", words[0]);
        self.send(Event::Stage(text));
        self.outlook = Some((outlook.clone(), Instant::now()));
    }

    fn advanced(&mut self, step: u64) {
        let Some((outlook, start)) = &self.outlook else { return };
        if self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        let done = step.saturating_sub(outlook.first_step) as f64;
        let all = outlook.n_steps.saturating_sub(outlook.first_step).max(1) as f64;
        let rate = outlook.n_nodes as f64 * done / start.elapsed().as_secs_f64().max(1e-9);
        let speed = format!("{}{}-steps/s", with_prefix(rate), outlook.words[0]);
        self.send(Event::Done(done / all, speed));
        self.last = Some(Instant::now());
    }

    fn note(&mut self, text: &str) {
        self.send(Event::Note(text.to_owned()));
    }

    fn ended(&mut self, text: &str) {
        self.send(Event::Note(text.to_owned()));
    }
}
