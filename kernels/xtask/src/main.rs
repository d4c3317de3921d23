//! The program of `cargo xtask`.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run_command(std::env::args().skip(1))
}
