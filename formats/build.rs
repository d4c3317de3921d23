//! Puts the git hash into `POGO_VERSION`, in release builds only: a debug build need not follow every commit.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rerun-if-changed=build.rs");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if release && let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let hash = release.then(|| git(&["rev-parse", "--short", "HEAD"])).flatten();
    let version = hash.map_or(version.clone(), |hash| format!("{version} ({hash})"));
    println!("cargo:rustc-env=POGO_VERSION={version}");
}
