//! The command that makes a block file of another format version new, as far as the file itself says it.

use std::fmt;
use std::path::{Path, PathBuf};

use rkyv::rancor::BoxedError;

use super::checksum;
use super::container::SectionInfo;
use super::provenance::{ArchivedProvenance, Provenance, Source};

/// The `pogo-block` command that made a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    path: PathBuf,
    provenance: Provenance,
}

impl Recipe {
    /// That of a file in `path`. Other versions may archive their provenance in another way: then its checksum or its structure
    /// does not fit, and there is none.
    pub(super) fn of(path: &Path, file: &[u8], sections: &[SectionInfo]) -> Option<Self> {
        let section = sections.iter().find(|section| section.name == "provenance")?;
        let bytes = file.get(section.range())?;
        if checksum::of(bytes) != section.checksum {
            return None;
        }
        let archived = rkyv::access::<ArchivedProvenance, BoxedError>(bytes).ok()?;
        let provenance = rkyv::deserialize::<Provenance, BoxedError>(archived).ok()?;
        Some(Self { path: path.to_owned(), provenance })
    }

    /// What went into the file.
    pub fn sources(&self) -> &[Source] {
        &self.provenance.sources
    }

    /// The words of the command. The file itself is the output.
    pub fn words(&self) -> Vec<String> {
        let Provenance { sources, options, .. } = &self.provenance;
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let mut words = vec!["pogo-block".to_owned(), names.first().copied().unwrap_or("INPUT").to_owned()];
        // Jobs come last, behind the files that the input names.
        let further = names.get(1..).unwrap_or_default();
        let jobs = further.len() - further.iter().rev().take_while(|name| name.ends_with(".toml")).count();
        words.extend(further[jobs..].iter().flat_map(|&job| ["--job".to_owned(), job.to_owned()]));
        for option in options {
            match option.split_once(' ') {
                Some((name, value)) => words.extend([name.to_owned(), value.to_owned()]),
                None => words.push(option.clone()),
            }
        }
        words.extend(["-o".to_owned(), self.path.display().to_string()]);
        words
    }
}

impl fmt::Display for Recipe {
    /// The command as a shell takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().iter().map(|text| word(text)).collect::<Vec<_>>().join(" "))
    }
}

/// A word as a shell takes it.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_has_the_jobs_and_options_that_were_given() {
        let source = |name: &str| Source { name: name.into(), bytes: 1, hash: 2 };
        let sources = ["my weld.inp", "mesh.inp", "signal.csv", "a.toml", "b.toml"].map(source).to_vec();
        let options = vec!["--partition greedy".to_owned(), "--paper-limits".into(), "--ignore CONTACT PAIR".into()];
        let command = |path: &str, sources, options| {
            Recipe { path: path.into(), provenance: Provenance::new("explicit", sources, options) }.to_string()
        };
        assert_eq!(
            command("out/weld.blk", sources, options),
            "pogo-block 'my weld.inp' --job a.toml --job b.toml --partition greedy --paper-limits --ignore 'CONTACT PAIR' \
             -o out/weld.blk"
        );
        let bare = command("it's.blk", vec![source("weld.inp")], vec![]);
        assert_eq!(bare, r"pogo-block weld.inp -o 'it'\''s.blk'");
    }
}
