//! What the operating system gives, limits and takes away: files that are read or mapped, room on disks, memory,
//! threads, signals and standard error.

pub mod disk;
pub mod held;
pub mod inputs;
pub mod maps;
pub mod memory;
pub mod messages;
pub mod parallel;
pub mod signals;
pub mod threads;
