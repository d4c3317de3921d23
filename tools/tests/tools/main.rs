//! The commands as a user runs them: files, messages, exit codes. One program, so that its tests share the cores.

mod block;
mod block_voxel;
mod generate;
mod held;
mod info;
mod jobs;
mod pogo_files;

use std::path::Path;
use std::process::{Command, Output};

const POGO_BLOCK: &str = env!("CARGO_BIN_EXE_pogo-block");
const POGO_INFO: &str = env!("CARGO_BIN_EXE_pogo-info");
const POGO_GEN: &str = env!("CARGO_BIN_EXE_pogo-gen");

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program).current_dir(folder).args(arguments).output().unwrap()
}

fn pogo_block(folder: &Path, arguments: &[&str]) -> Output {
    run(POGO_BLOCK, folder, arguments)
}

fn pogo_info(folder: &Path, arguments: &[&str]) -> Output {
    run(POGO_INFO, folder, arguments)
}

fn pogo_gen(folder: &Path, arguments: &[&str]) -> Output {
    run(POGO_GEN, folder, arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a command that must succeed wrote to stdout.
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}
