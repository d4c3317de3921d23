//! Progress on a terminal and in a log, always on stderr.

use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use pogo_formats::system::messages::say;
use pogo_formats::system::threads;

use crate::prepare::Progress;

/// How often a bar draws its time.
const TICK: Duration = Duration::from_millis(200);

/// A bar on a terminal; it goes away when dropped.
pub struct Bar {
    bar: ProgressBar,
    /// Ends the thread that draws the time when dropped.
    _clock: Sender<()>,
}

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(1000);
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {msg:10} {bar:40} {percent:>3} %") {
            bar.set_style(style);
        }
        let (clock, end) = channel();
        let ticking = bar.clone();
        let tick = move || {
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                ticking.tick();
            }
        };
        // Where the system makes no thread, the bar moves with the work alone.
        drop(threads::spawn("clock", tick));
        Self { bar, _clock: clock }
    }
}

impl Progress for Bar {
    fn stage(&self, name: &'static str) {
        self.bar.set_position(0);
        self.bar.set_message(name);
    }

    fn fraction(&self, done: f64) {
        self.bar.set_position((1000.0 * done) as u64);
    }

    fn note(&self, text: &str) {
        self.bar.println(text);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Plain lines for a log: each stage as it begins, and every ten seconds how far it is.
pub struct Lines {
    start: Instant,
    state: Mutex<(&'static str, Instant)>,
}

impl Lines {
    pub fn new() -> Self {
        let now = Instant::now();
        Self { start: now, state: Mutex::new(("", now)) }
    }

    fn line(&self, text: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        say(format_args!("pogo-block: {seconds:7.2} s  {text}"));
    }
}

impl Progress for Lines {
    fn stage(&self, name: &'static str) {
        if let Ok(mut state) = self.state.lock() {
            *state = (name, Instant::now());
        }
        self.line(name);
    }

    fn fraction(&self, done: f64) {
        let Ok(mut state) = self.state.lock() else { return };
        if state.1.elapsed() >= Duration::from_secs(10) {
            state.1 = Instant::now();
            self.line(&format!("{} {:.0} %", state.0, 100.0 * done));
        }
    }

    fn note(&self, text: &str) {
        self.line(text);
    }
}
