//! Whole runs: block files written here, solved by the library or the program, results read back.
#![allow(missing_docs)]

mod arrivals;
mod command;
mod common;
mod device;
mod limits;
mod loads;
mod runs;
mod shots;
mod studies;
