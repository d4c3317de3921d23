//! The command that makes a block file of another format version new, as far as the file itself says it.

use std::path::Path;

use rkyv::rancor::BoxedError;
use xxhash_rust::xxh3::xxh3_64;

use super::container::SectionInfo;
use super::provenance::{ArchivedProvenance, Provenance};

/// The `pogo-block` command that made a file, with `path` as its output. Other versions may archive their provenance in another
/// way: then its checksum or its structure does not fit, and there is no command.
pub(super) fn command(path: &Path, file: &[u8], sections: &[SectionInfo]) -> Option<String> {
    let section = sections.iter().find(|section| section.name == "provenance")?;
    let bytes = file.get(section.range())?;
    if xxh3_64(bytes) != section.checksum {
        return None;
    }
    let archived = rkyv::access::<ArchivedProvenance, BoxedError>(bytes).ok()?;
    Some(of(path, &rkyv::deserialize::<Provenance, BoxedError>(archived).ok()?))
}

fn of(path: &Path, provenance: &Provenance) -> String {
    let mut words = vec!["pogo-block".to_owned()];
    let names: Vec<&str> = provenance.sources.iter().map(|source| source.name.as_str()).collect();
    let input = names.first().copied().unwrap_or("INPUT");
    words.push(word(input));
    // Jobs come last, behind the files that the input names.
    let further = names.get(1..).unwrap_or_default();
    let jobs = further.len() - further.iter().rev().take_while(|name| name.ends_with(".toml")).count();
    words.extend(further[jobs..].iter().flat_map(|job| ["--job".to_owned(), word(job)]));
    for option in &provenance.options {
        match option.split_once(' ') {
            Some((name, value)) => words.extend([name.to_owned(), word(value)]),
            None => words.push(option.clone()),
        }
    }
    words.extend(["-o".to_owned(), word(&path.display().to_string())]);
    words.join(" ")
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
    use super::super::Source;
    use super::*;

    #[test]
    fn command_has_the_jobs_and_options_that_were_given() {
        let source = |name: &str| Source { name: name.into(), bytes: 1, hash: 2 };
        let sources = ["my weld.inp", "mesh.inp", "signal.csv", "a.toml", "b.toml"].map(source).to_vec();
        let options = vec!["--partition greedy".to_owned(), "--paper-limits".into(), "--ignore CONTACT PAIR".into()];
        let made = of(Path::new("out/weld.blk"), &Provenance::new("explicit", sources, options));
        assert_eq!(
            made,
            "pogo-block 'my weld.inp' --job a.toml --job b.toml --partition greedy --paper-limits --ignore 'CONTACT PAIR' \
             -o out/weld.blk"
        );
        let bare = of(Path::new("it's.blk"), &Provenance::new("explicit", vec![source("weld.inp")], vec![]));
        assert_eq!(bare, r"pogo-block weld.inp -o 'it'\''s.blk'");
    }
}
