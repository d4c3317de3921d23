//! Signals of the operating system.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level;

use crate::write::remove_unfinished;

/// Signals that ask a process to end. SIGHUP is not among them where it is ignored: that is what `nohup` asks for.
///
/// They come without the system's reason, so a process can give up its temporary files first.
pub fn that_end_a_run() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: a zeroed `sigaction` is a valid one, and without a new action the call only reads the old one.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes the signals that end a process remove its unfinished temporary files first. A file beyond the size limit (SIGXFSZ)
/// becomes an ordinary write error. No thread is needed.
///
/// # Errors
/// The system lets no signal be caught.
pub fn clean_up_before_the_end() -> io::Result<()> {
    report_large_files()?;
    for signal in that_end_a_run() {
        let end = move || {
            remove_unfinished();
            let _ = low_level::emulate_default_handler(signal);
        };
        // SAFETY: both calls may be made in a handler.
        unsafe { low_level::register(signal, end) }?;
    }
    Ok(())
}

/// Makes a file beyond the size limit (SIGXFSZ) an ordinary error of the write.
///
/// # Errors
/// The system lets the signal not be caught.
pub fn report_large_files() -> io::Result<()> {
    // What the handler does is nothing; that there is one keeps the process alive.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}
