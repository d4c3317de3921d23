//! `pogo-block`: see [`pogo_tools::commands::block`].

use pogo_formats::system::memory;

/// So that a process without memory ends with a message.
#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

fn main() {
    std::process::exit(pogo_tools::commands::block::run(std::env::args_os()));
}
