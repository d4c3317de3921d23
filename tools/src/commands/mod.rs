//! The commands as a whole: their options, and what each does with them.
//!
//! `run` of each is the program: it prints, catches signals, sets up threads and gives the exit code. The executables in
//! `bin/` call it, and so do the commands that the Python package installs. What lies below it only returns results and
//! errors, for whoever calls a command as a part of another program.

pub mod block;
pub mod generate;
pub mod info;
