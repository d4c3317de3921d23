//! Messages to people, on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a message and the end of its line to standard error. It is one write, as several processes share the standard error of
/// a launcher such as `mpirun`, which puts in what it has to say between any two writes. A closed standard error or a full disk
/// is ignored: a log that cannot be written is no reason to stop.
pub fn say(message: impl Display) {
    let _ = io::stderr().write_all(format!("{message}\n").as_bytes());
}
