//! What the user sees while a run goes on: a bar on a terminal, a line now and then in a log.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use crate::observe::{Observer, Outlook, with_prefix};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pogo_formats::system::messages::say;
use pogo_formats::words::counted;

/// Between two lines in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Reports on standard error.
#[derive(Default)]
pub struct Report {
    bar: Option<ProgressBar>,
    outlook: Option<Outlook>,
    start: Option<Instant>,
    last_line: Option<Instant>,
}

impl Report {
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(text),
        }
    }
}

impl Observer for Report {
    fn started(&mut self, outlook: &Outlook) {
        let o = outlook;
        self.line(&format!(
            "{}, {}, {}; {}, {}, {}",
            counted(o.n_nodes as usize, o.words[0]),
            counted(o.n_elements as usize, o.words[1]),
            counted(o.n_blocks as usize, "block"),
            o.device,
            o.precision,
            counted(o.n_threads, "thread")
        ));
        let worst = if o.worst_element.is_empty() { String::new() } else { format!(" (element {})", o.worst_element) };
        let at_least = if o.is_bound { "at least " } else { "" };
        self.line(&format!(
            "{} of {:.4e} s; stable up to {at_least}{:.4e} s{worst}",
            counted(o.n_steps as usize, "step"),
            o.increment,
            o.stable_increment
        ));
        if o.first_step > 0 {
            self.line(&format!("going on from step {}", o.first_step));
        }
        if stderr().is_terminal() {
            let bar = ProgressBar::new(o.n_steps - o.first_step);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} % {msg}, {eta} left") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        self.outlook = Some(outlook.clone());
        self.start = Some(Instant::now());
        self.last_line = self.start;
    }

    fn advanced(&mut self, step: u64) {
        let (Some(outlook), Some(start), Some(last_line)) = (&self.outlook, self.start, self.last_line) else { return };
        let done = step.saturating_sub(outlook.first_step);
        let elapsed = start.elapsed();
        let rate = outlook.n_nodes as f64 * done as f64 / elapsed.as_secs_f64();
        let speed = format!("{}{}-steps/s", with_prefix(rate), outlook.words[0]);
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(speed);
        } else if last_line.elapsed() >= LOG_INTERVAL && done > 0 {
            let left = elapsed.mul_f64((outlook.n_steps.saturating_sub(step)) as f64 / done as f64);
            let percent = 100.0 * step as f64 / outlook.n_steps as f64;
            self.line(&format!(
                "step {step} of {} ({percent:.0} %), {speed}, {} left",
                outlook.n_steps,
                HumanDuration(left)
            ));
            self.last_line = Some(Instant::now());
        }
    }

    fn note(&mut self, text: &str) {
        self.line(text);
    }

    fn ended(&mut self, text: &str) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.line(text);
    }
}
