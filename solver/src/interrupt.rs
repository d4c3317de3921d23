//! Signals of the operating system, seen at the next pause of the time loop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};

/// What the user or the queueing system has asked for so far.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    stop: Arc<AtomicBool>,
    checkpoint: Arc<AtomicBool>,
}

impl Interrupts {
    /// Catches SIGTERM and SIGINT (stop after a checkpoint) and SIGUSR1 (checkpoint and go on). A second SIGTERM or
    /// SIGINT ends the process at once. A file beyond the size limit (SIGXFSZ) becomes an ordinary error of the write.
    ///
    /// # Errors
    /// The operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        let interrupts = Self::default();
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first signal finds the flag unset and sets it, the second finds it set.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupts.stop))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupts.stop))?;
        }
        signal_hook::flag::register(SIGUSR1, Arc::clone(&interrupts.checkpoint))?;
        // What the handler does is nothing; that there is one keeps the process alive.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(interrupts)
    }

    /// Asks for a checkpoint and the end of the run, as SIGTERM does.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The run must end.
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A checkpoint was asked for since the last call.
    pub fn take_checkpoint_request(&self) -> bool {
        self.checkpoint.swap(false, Ordering::Relaxed)
    }
}
