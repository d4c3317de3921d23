//! README and the book in `docs/`: every link leads somewhere, every command runs, every picture is drawn by the commands of
//! its page, and the pages that are made from the commands are what the commands say.
//!
//! `POGO_WRITE_DOCS=1 cargo test -p pogo-tests --test physics book -- --include-ignored` writes pictures and made pages anew.

mod commands;
mod gallery;
mod links;
mod pictures;
mod reference;

use std::path::{Path, PathBuf};

use pogo_tests::workspace;

/// Whether made pages and pictures are written rather than compared.
fn writes() -> bool {
    std::env::var_os("POGO_WRITE_DOCS").is_some()
}

/// A page in Markdown.
struct Page {
    /// Path below the workspace.
    name: PathBuf,
    text: String,
}

/// A fenced block of a page.
struct Block {
    /// What stands behind the opening fence, such as `sh norun`.
    info: String,
    /// Line of the opening fence, from 1.
    line: usize,
    text: String,
}

impl Page {
    fn read(name: impl Into<PathBuf>) -> Self {
        let name = name.into();
        let path = workspace().join(&name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { name, text }
    }

    /// README and all pages of the book.
    fn all() -> Vec<Self> {
        let mut names = vec![PathBuf::from("README.md")];
        markdown_below(Path::new("docs"), &mut names);
        names.into_iter().map(Self::read).collect()
    }

    /// The fenced blocks, and the text without them.
    fn split(&self) -> (Vec<Block>, String) {
        let (mut blocks, mut prose, mut open) = (Vec::new(), String::new(), None::<Block>);
        for (number, line) in self.text.lines().enumerate() {
            let fence = line.strip_prefix("```");
            match (&mut open, fence) {
                (None, None) => prose += line,
                (None, Some(info)) => {
                    open = Some(Block { info: info.trim().into(), line: number + 1, text: String::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => block.text = block.text.clone() + line + "\n",
            }
            prose.push('\n');
        }
        assert!(open.is_none(), "{}: a fenced block is not closed", self.name.display());
        (blocks, prose)
    }

    fn folder(&self) -> &Path {
        self.name.parent().unwrap_or(Path::new(""))
    }
}

/// Adds the names of all Markdown files below a folder of the workspace, in order.
fn markdown_below(folder: &Path, names: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(workspace().join(folder)).expect("the folder of a book");
    let mut entries: Vec<PathBuf> = entries.map(|entry| folder.join(entry.expect("an entry").file_name())).collect();
    entries.sort();
    for name in entries {
        if workspace().join(&name).is_dir() {
            markdown_below(&name, names);
        } else if name.extension().is_some_and(|extension| extension == "md") {
            names.push(name);
        }
    }
}
