//! Voxels in several files without headers, which a MetaImage names one by one or by a pattern.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::source::{Source, too_short};
use super::text::raw_offset;
use super::{Header, Problem};
use crate::system::inputs;

/// Most bytes of a list of names.
const LONGEST: u64 = 1 << 24;

/// Files of the same number of layers each.
pub(super) struct Pieces {
    /// Each with the byte of its first voxel.
    files: Vec<(PathBuf, u64)>,
    /// Layers of a file.
    layers: usize,
    layer_bytes: usize,
    /// Bytes behind the last voxels of all files.
    rest: u64,
}

impl Pieces {
    /// Checks that the files hold the layers of a header, `skip` bytes behind their beginning or at their end (−1).
    pub(super) fn new(header: &Header, files: Vec<PathBuf>, skip: i64) -> Result<Self, String> {
        let (layer_bytes, _) = header.bytes()?;
        let n_layers = header.file_size()[2];
        let layers = n_layers / files.len().max(1);
        if layers * files.len() != n_layers || files.is_empty() {
            return Err(format!("{} data files are named for {n_layers} layers of voxels", files.len()));
        }
        let bytes = (layers * layer_bytes) as u64;
        let mut rest = 0;
        let place = |path: PathBuf| {
            let named = |error: &dyn std::fmt::Display| format!("data file {}: {error}", path.display());
            let length = std::fs::metadata(&path).map_err(|error| named(&error))?.len();
            let offset = raw_offset("HeaderSize", skip, 0, length, bytes).map_err(|error| named(&error))?;
            let behind = length.checked_sub(offset).and_then(|held| held.checked_sub(bytes));
            rest += behind.ok_or_else(|| named(&too_short(bytes, length.saturating_sub(offset))))?;
            Ok((path, offset))
        };
        let files = files.into_iter().map(place).collect::<Result<_, String>>()?;
        Ok(Self { files, layers, layer_bytes, rest })
    }
}

impl Source for Pieces {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        for (at, layer) in out.chunks_exact_mut(self.layer_bytes).enumerate() {
            let (file, inside) = ((first + at) / self.layers, (first + at) % self.layers);
            let (path, offset) = &self.files[file];
            let start = offset + (inside * self.layer_bytes) as u64;
            inputs::open(path)
                .and_then(|file| file.read_exact_at(layer, start))
                .map_err(|error| format!("cannot read data file {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<u64, String> {
        Ok(self.rest)
    }
}

/// The data files that `ElementDataFile` names: `LIST`, with a name on each line behind it, or `slice%03d.raw 1 100 1`, a
/// pattern with the first number, the last and the step. None for one file.
pub(super) fn named(
    path: &Path,
    (line, value): (usize, &str),
    header_bytes: u64,
    n_layers: usize,
) -> Result<Option<Vec<PathBuf>>, Problem> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let names = if words.first() == Some(&"LIST") {
        // Behind it may stand the number of axes that each file has.
        if words.len() > 2 || words.get(1).is_some_and(|&axes| !matches!(axes, "2" | "2D" | "3" | "3D")) {
            return Err(Problem::at(line, format!("ElementDataFile = {value}: a list of slices is LIST or LIST 2D")));
        }
        listed(path, header_bytes).map_err(|error| format!("cannot read the list of data files: {error}"))?
    } else if value.contains('%') {
        let n_layers = i64::try_from(n_layers).unwrap_or(i64::MAX);
        numbered(&words, n_layers).ok_or_else(|| {
            let form = "a pattern of data files is name%03d.raw FIRST LAST STEP";
            Problem::at(line, format!("ElementDataFile = {value}: {form}"))
        })?
    } else {
        return Ok(None);
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Some(names.into_iter().map(|name| folder.join(name)).collect()))
}

fn listed(path: &Path, start: u64) -> std::io::Result<Vec<String>> {
    let mut file = inputs::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let lines = BufReader::new(file.take(LONGEST)).lines();
    let names = lines.map(|line| line.map(|line| line.trim().to_owned())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| !name.is_empty()).collect())
}

/// Names by a pattern with one `%d`, `%3d` or `%03d`. As in ITK, numbers run from 1 to the number of layers by default.
fn numbered(words: &[&str], n_layers: i64) -> Option<Vec<String>> {
    let (pattern, numbers) = words.split_first()?;
    let (before, rest) = pattern.split_once('%')?;
    let (width, after) = rest.split_once('d')?;
    if numbers.len() > 3 || after.contains('%') || width.len() > 2 || !width.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |i: usize, default| numbers.get(i).map_or(Some(default), |word| word.parse::<i64>().ok());
    let (first, last, step) = (number(0, 1)?, number(1, n_layers)?, number(2, 1)?);
    let count = last.checked_sub(first)?.checked_div(step)?.checked_add(1)?;
    if first < 0 || step < 1 || !(1..=n_layers).contains(&count) {
        return None;
    }
    let (is_zero, width) = (width.starts_with('0'), width.parse().unwrap_or(0));
    let name = |i| {
        let number = first + i * step;
        if is_zero { format!("{before}{number:0width$}{after}") } else { format!("{before}{number:width$}{after}") }
    };
    Some((0..count).map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_give_names() {
        let names = |value: &str| numbered(&value.split_whitespace().collect::<Vec<_>>(), 3);
        assert_eq!(names("a%03d.raw 8 10 1").unwrap(), ["a008.raw", "a009.raw", "a010.raw"]);
        assert_eq!(names("a%d").unwrap(), ["a1", "a2", "a3"]);
        assert_eq!(names("%2d.b 5 9 4").unwrap(), [" 5.b", " 9.b"]);
        for bad in ["a%s", "a%d%d", "a%d 1", "a%d 1 3 0", "a%d 3 1 1", "a%d 1 4 1", "a%d 1 2 3 4", "a%d x", "a%999d"] {
            assert_eq!(names(bad).filter(|_| bad != "a%d 1"), None, "{bad}");
        }
    }
}
