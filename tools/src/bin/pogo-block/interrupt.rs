//! Ctrl-C and the like: leave no temporary file behind.

use std::path::Path;

use pogo_formats::output;
use signal_hook::consts::{SIGINT, SIGTERM};

/// From now on SIGINT and SIGTERM remove the unfinished block file before they end the process as they would anyway. Not
/// SIGHUP: taking it over would undo `nohup`.
pub fn clean_up_after(output: &Path) -> std::io::Result<()> {
    let output = output.to_owned();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            output::remove_unfinished(&output);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    Ok(())
}
