//! `pogo-solve`: see [`pogo_solver::command`].

use pogo_formats::system::memory;

/// So that a process without memory ends with a message.
#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

fn main() {
    std::process::exit(pogo_solver::command::run(std::env::args_os()));
}
