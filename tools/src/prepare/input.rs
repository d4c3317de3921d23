//! Inputs and outputs as files: the kind of an input, the files of a folder, and where a block file may be put.

use std::io::Read;
use std::path::{Path, PathBuf};

use pogo_formats::block::Source;
use pogo_formats::read::deck::pogo::is_pogo;
use pogo_formats::read::mesh::is_mesh_file;
use pogo_formats::system::inputs;

use super::PrepareError;

/// Kind of an input file. It decides the physics where no job says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Abaqus deck, or a model file of P. Huthwaite's Pogo.
    Deck,
    /// VTK, Gmsh or openCARP mesh.
    Mesh,
    /// Voxel stack: any other file, or a folder of slices.
    Stack,
}

impl InputKind {
    /// The kind of an input, by its name and its first bytes.
    ///
    /// # Errors
    /// There is no such file, and its name is not that of a deck or a mesh.
    pub fn of(input: &Path) -> Result<Self, PrepareError> {
        if is_mesh_file(input) {
            return Ok(Self::Mesh);
        }
        if is_deck(input) {
            return Ok(Self::Deck);
        }
        match inputs::is_folder(input) {
            Ok(_) => Ok(Self::Stack),
            Err(error) => Err(PrepareError::Source { path: input.to_owned(), error }),
        }
    }
}

/// Whether an input is a deck: its name ends with `.inp` or `.pogo-inp`, it is text that begins with a keyword or a comment, or
/// it begins as P. Huthwaite's Pogo writes models. A stream can only be a deck: all other inputs are read more than once.
pub fn is_deck(path: &Path) -> bool {
    let has_name = |extension: &std::ffi::OsStr| {
        ["inp", "pogo-inp"].into_iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    if inputs::is_stream(path) || path.extension().is_some_and(has_name) {
        return true;
    }
    let mut start = Vec::new();
    // Only regular files are opened: reading a pipe would take bytes from it.
    if !path.is_file() || inputs::open(path).and_then(|file| file.take(512).read_to_end(&mut start)).is_err() {
        return false;
    }
    if is_pogo(&start) {
        return true;
    }
    let begins = start.trim_ascii_start();
    begins.first() == Some(&b'*')
        && begins.get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'*')
        && !start.contains(&0)
}

/// The file, or all files of a folder in the order of their names.
///
/// # Errors
/// The folder cannot be read.
pub fn files_of(input: &Path) -> Result<Vec<PathBuf>, PrepareError> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let entries = std::fs::read_dir(input)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>());
    let mut files = entries.map_err(|error| PrepareError::Source { path: input.to_owned(), error })?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Names, lengths and hashes of files for the provenance.
pub(super) fn sources<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<Source>, PrepareError> {
    paths
        .map(|path| Source::of_file(path).map_err(|error| PrepareError::Source { path: path.clone(), error }))
        .collect()
}

/// Endings of names that ask for a model as an input of another program.
const INPUT_ENDINGS: [&str; 2] = ["inp", "pogo-inp"];

/// Refuses an output that is named as an input where none can be written.
pub(super) fn check_ending(output: &Path, writes_inputs: bool) -> Result<(), PrepareError> {
    let ending = output.extension().map(|ending| ending.to_ascii_lowercase());
    let asks = ending.is_some_and(|ending| INPUT_ENDINGS.iter().any(|known| *known == ending));
    if writes_inputs || !asks {
        return Ok(());
    }
    let reason = "only models of explicit dynamics are written as .inp or .pogo-inp; give another name with -o";
    Err(PrepareError::option(output, reason))
}

/// Checks that a block file can be put at `output` and replaces none of the inputs.
pub(super) fn check_output<'a>(
    output: &Path,
    mut inputs: impl Iterator<Item = &'a PathBuf>,
) -> Result<(), PrepareError> {
    let refuse = |reason| Err(PrepareError::Output { path: output.to_owned(), reason });
    if output.is_dir() {
        return refuse("it is a folder");
    }
    match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => return refuse("there is no such folder"),
        _ => {}
    }
    if inputs.any(|input| inputs::is_same(input, output)) {
        return Err(PrepareError::OutputIsInput(output.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decks_are_known_by_name_or_by_their_first_line() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content, expected) in [
            ("missing.inp", None, true),
            ("MESH.INP", Some(&b"whatever"[..]), true),
            ("mesh.txt", Some(b"\n** exported\n*NODE\n"), true),
            ("mesh", Some(b"*Heading\n"), true),
            ("missing.pogo-inp", None, true),
            ("model", Some(b"%pogo-inp1.07\0\0"), true),
            ("bone.raw", Some(b"*\x07*\x00"), false),
            ("bone.raw", Some(b"*A\x00\x00"), false),
            ("bone.nrrd", Some(b"NRRD0004\n"), false),
            ("missing.tif", None, false),
            ("empty", Some(b""), false),
        ] {
            let path = folder.path().join(name);
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            assert_eq!(is_deck(&path), expected, "{name}");
        }
        assert!(!is_deck(folder.path()));
    }
}
