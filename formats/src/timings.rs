//! Where the time of a command goes: stages by name, one inside another.
//!
//! Nothing is measured before [`record`], so a stage costs nothing where nobody asks. A stage belongs to the one that its
//! thread is in. Stages of the same name inside the same stage are one line, whose figures are sums; so the times of threads
//! that work side by side add up.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

/// One stage, in the order in which stages began, each before those inside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stage {
    /// Names from the outermost stage to this one, with `/` between them.
    pub stage: String,
    /// Number of stages around it.
    #[serde(skip)]
    pub depth: usize,
    /// How often it ran.
    pub times: u64,
    /// Wall-clock time, s.
    pub seconds: f64,
    /// Time of all processors of this process meanwhile, s.
    pub processor_seconds: f64,
    /// What was read by system calls, bytes. Pages of mapped files are not counted.
    pub read_bytes: u64,
    /// What was written by system calls, bytes.
    pub written_bytes: u64,
    /// Largest resident memory meanwhile, bytes.
    pub peak_memory_bytes: u64,
}

/// A line of the table while it is recorded.
#[derive(Debug)]
struct Line {
    parent: Option<usize>,
    name: &'static str,
    times: u64,
    used: Used,
}

#[derive(Debug)]
struct Record {
    began: Instant,
    lines: Vec<Line>,
    /// Largest resident memory before it was last reset, bytes.
    peak: u64,
}

impl Record {
    /// Notes the memory of the stages that this thread is in, and lets the system find the largest anew.
    fn note_peak(&mut self, peak: u64, open: &[usize]) {
        self.peak = self.peak.max(peak);
        open.iter().for_each(|&line| self.lines[line].used.peak = self.lines[line].used.peak.max(peak));
        drop(std::fs::write("/proc/self/clear_refs", "5"));
    }
}

static RECORD: Mutex<Option<Record>> = Mutex::new(None);

thread_local! {
    /// Lines of the stages that this thread is in.
    static OPEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// What a process has used so far, or between two moments.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    seconds: f64,
    processor_seconds: f64,
    read: u64,
    written: u64,
    /// Largest resident memory since it was last reset, bytes.
    peak: u64,
}

impl Used {
    fn since(began: Instant) -> Self {
        let [read, written] = ["rchar:", "wchar:"].map(|key| number("/proc/self/io", key).unwrap_or(0));
        let seconds = began.elapsed().as_secs_f64();
        Self { seconds, processor_seconds: processor_seconds(), read, written, peak: resident_peak().unwrap_or(0) }
    }

    /// Adds what was used between two moments.
    fn add(&mut self, from: &Self, to: &Self) {
        self.seconds += to.seconds - from.seconds;
        self.processor_seconds += to.processor_seconds - from.processor_seconds;
        self.read += to.read - from.read;
        self.written += to.written - from.written;
        self.peak = self.peak.max(to.peak);
    }
}

/// The record, whatever became of a thread that had it.
fn lock() -> MutexGuard<'static, Option<Record>> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to record.
pub fn record() {
    lock().get_or_insert_with(|| Record { began: Instant::now(), lines: Vec::new(), peak: 0 });
}

/// A stage that ends when this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Running(Option<(usize, Used)>);

/// Begins a stage.
pub fn stage(name: &'static str) -> Running {
    let mut record = lock();
    let Some(record) = record.as_mut() else { return Running(None) };
    OPEN.with_borrow_mut(|open| {
        let parent = open.last().copied();
        let known = record.lines.iter().position(|line| line.parent == parent && line.name == name);
        let line = known.unwrap_or_else(|| {
            record.lines.push(Line { parent, name, times: 0, used: Used::default() });
            record.lines.len() - 1
        });
        let before = Used::since(record.began);
        record.note_peak(before.peak, open);
        open.push(line);
        Running(Some((line, before)))
    })
}

/// Runs a stage.
pub fn timed<R>(name: &'static str, work: impl FnOnce() -> R) -> R {
    let _stage = stage(name);
    work()
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some((line, before)) = self.0 else { return };
        let mut record = lock();
        let Some(record) = record.as_mut() else { return };
        let after = Used::since(record.began);
        record.lines[line].times += 1;
        record.lines[line].used.add(&before, &after);
        OPEN.with_borrow_mut(|open| {
            record.note_peak(after.peak, open);
            open.retain(|&open| open != line);
        });
    }
}

/// What was recorded so far; nothing unless [`record`] was called. Stages that have not ended have what ended inside them.
pub fn table() -> Vec<Stage> {
    let record = lock();
    let Some(Record { lines, .. }) = record.as_ref() else { return Vec::new() };
    let mut stages = Vec::new();
    add_inside(None, "", 0, lines, &mut stages);
    stages
}

fn add_inside(parent: Option<usize>, around: &str, depth: usize, lines: &[Line], stages: &mut Vec<Stage>) {
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.parent == parent) {
        let stage = format!("{around}{}", line.name);
        let inside = format!("{stage}/");
        let Used { seconds, processor_seconds, read, written, peak } = line.used;
        stages.push(Stage {
            stage,
            depth,
            times: line.times,
            seconds,
            processor_seconds,
            read_bytes: read,
            written_bytes: written,
            peak_memory_bytes: peak,
        });
        add_inside(Some(index), &inside, depth + 1, lines, stages);
    }
}

/// The table as text, a stage a line, and the time since recording began in the last; empty unless [`record`] was called.
pub fn text() -> String {
    let Some(began) = lock().as_ref().map(|record| record.began) else { return String::new() };
    let whole = Used { peak: peak_memory().unwrap_or(0), ..Used::since(began) };
    let mut out = format!(
        "{:<34} {:>9} {:>11} {:>9} {:>10} {:>9}\n",
        "stage", "wall, s", "processor, s", "read, MB", "written, MB", "peak, MB"
    );
    let mut line = |name: String, used: [f64; 5]| {
        let [seconds, processor, read, written, peak] = used;
        let _ = writeln!(
            out,
            "{name:<34} {seconds:>9.3} {processor:>12.3} {:>9.1} {:>11.1} {:>9.0}",
            read / 1e6,
            written / 1e6,
            peak / 1e6
        );
    };
    for stage in table() {
        let own = stage.stage.rsplit('/').next().unwrap_or_default();
        let times = if stage.times > 1 { format!(" ({} times)", stage.times) } else { String::new() };
        line(
            format!("{:1$}{own}{times}", "", 2 * stage.depth),
            [
                stage.seconds,
                stage.processor_seconds,
                stage.read_bytes as f64,
                stage.written_bytes as f64,
                stage.peak_memory_bytes as f64,
            ],
        );
    }
    let Used { seconds, processor_seconds, read, written, peak } = whole;
    line("all".into(), [seconds, processor_seconds, read as f64, written as f64, peak as f64]);
    out
}

/// Largest resident memory of this process so far, bytes; `None` where there is no `/proc`.
pub fn peak_memory() -> Option<u64> {
    let earlier = lock().as_ref().map_or(0, |record| record.peak);
    resident_peak().map(|peak| peak.max(earlier))
}

fn resident_peak() -> Option<u64> {
    Some(number("/proc/self/status", "VmHWM:")? * 1024)
}

/// Time of all processors of this process so far, s.
fn processor_seconds() -> f64 {
    // SAFETY: a struct of integers, of which zero is a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: writes one `timespec`.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } != 0 {
        return 0.0;
    }
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The number behind `key` at the beginning of a line of a file of the system.
fn number(path: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_plausible() {
        if cfg!(target_os = "linux") {
            let peak = peak_memory().unwrap();
            assert!(peak > 1 << 20 && peak < 1 << 40, "{peak}");
        }
    }

    #[test]
    fn stages_are_lines_inside_one_another() {
        drop(stage("before anything is recorded"));
        record();
        for _ in 0..2 {
            let _outer = stage("outer");
            timed("inner", || std::thread::sleep(std::time::Duration::from_millis(5)));
        }
        drop(stage("last"));
        let table = table();
        // Other tests of this process may add stages of their own.
        let of = |name: &str| table.iter().position(|stage| stage.stage == name);
        let [outer, inner, last] = ["outer", "outer/inner", "last"].map(|name| of(name).unwrap());
        assert_eq!(inner, outer + 1);
        assert!(last > inner && of("before anything is recorded").is_none());
        assert_eq!((table[inner].depth, table[inner].times), (1, 2));
        assert!(table[inner].seconds >= 0.01 && table[outer].seconds >= table[inner].seconds);
        let text = text();
        assert!(text.contains("\n  inner (2 times) ") && text.lines().last().unwrap().starts_with("all "), "{text}");
    }
}
