//! Pages that are made from what the commands say of themselves.

use std::fmt::Write as _;

use pogo_tests::{command, succeed, workspace};

use super::writes;

/// Compares a made page, or writes it when asked.
fn compare(name: &str, text: &str) {
    let path = workspace().join("docs/reference").join(name);
    if writes() {
        std::fs::write(&path, text).expect("the page is written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "POGO_WRITE_DOCS=1 cargo test -p pogo-tests --test physics reference writes it";
    assert!(found == text, "docs/reference/{name} is not up to date: {how}");
}

fn help(name: &str, arguments: &[&str]) -> String {
    let output = succeed(command(name).args(arguments).arg("--help"));
    let text = String::from_utf8(output.stdout).expect("help is text");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn pages_of_commands_are_their_help() {
    for name in ["pogo-block", "pogo-info", "pogo-solve", "pogo-gen"] {
        let text = help(name, &[]);
        let mut page = format!("# {name}\n\nThis is what `{name} --help` prints.\n\n```text\n{text}```\n");
        let below = text.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        let names = below.lines().take_while(|line| line.starts_with(' ')).filter_map(|line| line.split(' ').nth(2));
        for model in names.filter(|name| !name.is_empty() && *name != "help") {
            let _ = write!(page, "\n## {name} {model}\n\n```text\n{}```\n", help(name, &[model]));
        }
        compare(&format!("{name}.md"), &page);
    }
}
