//! Folders of slices: TIFF, BMP or PNG files, in natural order, with SkyScan's log beside them.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::bmp::Bmp;
use super::png::Png;
use super::sample::SampleType;
use super::source::{Encoding, Source};
use super::tiff::{self, Work};
use super::{Format, Header, Opened, Problem, foreign, skyscan};
use crate::system::inputs;
use crate::system::parallel::iterate::*;

/// Kinds of slices, by the ending of their names.
const KINDS: [(Format, &[&str]); 3] =
    [(Format::Tiff, &["tif", "tiff"]), (Format::Bmp, &["bmp"]), (Format::Png, &["png"])];

/// One file.
enum Slice {
    Tiff(tiff::Pages),
    Bmp(Bmp),
    Png(Png),
}

impl Slice {
    fn open(path: &Path, format: Format) -> Result<Self, String> {
        let file = inputs::open(path).map_err(|error| format!("cannot open this slice: {error}"))?;
        Ok(match format {
            Format::Bmp => Self::Bmp(Bmp::open(&file)?),
            Format::Png => Self::Png(Png::open(&file)?),
            _ => Self::Tiff(tiff::Pages::one(path)?),
        })
    }

    /// Width, height and type of the pixels.
    fn layout(&self) -> (usize, usize, SampleType) {
        match self {
            Self::Tiff(slice) => slice.layout(),
            Self::Bmp(bmp) => (bmp.width, bmp.height, SampleType::Uint8),
            Self::Png(png) => {
                (png.width, png.height, if png.bytes == 2 { SampleType::Uint16 } else { SampleType::Uint8 })
            }
        }
    }

    /// Colours of a palette that is not grey.
    fn colours(&self) -> Option<&[[u8; 3]]> {
        let palette = match self {
            Self::Tiff(_) => None,
            Self::Bmp(bmp) => bmp.palette.as_ref(),
            Self::Png(png) => png.palette.as_ref(),
        };
        palette.filter(|palette| !palette.is_grey).map(|palette| &palette.colours[..])
    }

    fn header(&self, format: Format, n: usize) -> Header {
        let (width, height, sample) = self.layout();
        match self {
            Self::Tiff(slice) => slice.header(n),
            _ => Header::new(format, [width, height, n], sample),
        }
    }

    fn decode(&self, path: &Path, out: &mut [u8], work: &mut Work) -> Result<(), String> {
        let file = inputs::open(path).map_err(|error| format!("cannot open this slice: {error}"))?;
        match self {
            Self::Tiff(slice) => slice.decode(&file, out, work),
            Self::Bmp(bmp) => bmp.decode(&file, out),
            Self::Png(png) => png.decode(&file, out),
        }
    }
}

/// Opens a folder of slices, one file each, in natural order: `s2.tif` before `s10.tif`. Where it has several kinds of
/// pictures, the slices are those of which there are most.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let cannot = |error: std::io::Error| format!("cannot read this folder: {error}");
    let (mut kinds, mut logs, mut others) = ([const { Vec::new() }; 3], Vec::new(), Vec::new());
    for entry in std::fs::read_dir(path).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        if name(&file).starts_with('.') {
            continue;
        }
        let extension = file.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        // SkyScan puts a preview of another size beside its slices.
        let is_preview = file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_spr"));
        match KINDS.iter().position(|(_, extensions)| extensions.contains(&&*extension)) {
            Some(kind) if !is_preview => kinds[kind].push(file),
            _ if extension == "log" => logs.push(file),
            _ => others.push(file),
        }
    }
    let counts = kinds.each_ref().map(Vec::len);
    let most = counts.into_iter().max().unwrap_or(0);
    if most == 0 {
        let why =
            others.iter().min().and_then(|file| foreign_file(file)).map_or_else(String::new, |why| format!(": {why}"));
        return Err(format!("this folder has no slices (.tif, .tiff, .bmp, .png){why}").into());
    }
    if counts.iter().filter(|&&n| n == most).count() > 1 {
        let [tiff, bmp, png] = counts;
        return Err(format!("this folder has {tiff} TIFF, {bmp} BMP and {png} PNG files: keep one kind in it").into());
    }
    let others = others.len() + counts.iter().sum::<usize>() - most;
    let kind = counts.iter().position(|&n| n == most).unwrap_or(0);
    let (format, mut files) = (KINDS[kind].0, std::mem::take(&mut kinds[kind]));
    files.sort_by_cached_key(|file| natural_key(&name(file)));
    let slices = files
        .par_iter()
        .map(|file| Slice::open(file, format).map_err(|message| format!("{}: {message}", name(file))))
        .collect::<Result<Vec<_>, String>>()?;
    check_alike(&slices, &files)?;
    let first = &slices[0];
    let mut header = first.header(format, slices.len());
    if first.colours().is_some() {
        header.notes.push("the slices have a palette of colours: values are its indices".to_owned());
    }
    header.notes.push(format!("{} slices: {} to {}", files.len(), name(&files[0]), name(&files[files.len() - 1])));
    skyscan::add_spacing(&mut header, &logs);
    if others > 0 {
        header.notes.push(format!("{others} other files of the folder are not read"));
    }
    if let Some(gap) = files.windows(2).find_map(|pair| gap(&name(&pair[0]), &name(&pair[1]))) {
        header.notes.push(format!("the numbers of the slices jump {gap}: is one missing?"));
    }
    let slices = files.into_iter().zip(slices).collect();
    Ok(Opened::new(header, Encoding::Little, Slices(slices)))
}

/// Refuses slices that do not make a stack with the first.
fn check_alike(slices: &[Slice], files: &[PathBuf]) -> Result<(), String> {
    let first = &slices[0];
    for (slice, file) in slices.iter().zip(files) {
        let ((width, height, sample), of_first) = (slice.layout(), first.layout());
        if (width, height, sample) != of_first {
            return Err(format!(
                "{}: {width} × {height} pixels of {}, but the first slice has {} × {} of {}",
                name(file),
                sample.name(),
                of_first.0,
                of_first.1,
                of_first.2.name()
            ));
        }
        if slice.colours() != first.colours() {
            return Err(format!(
                "{}: the colours of its palette are not those of the first slice: save the slices as grey pictures",
                name(file)
            ));
        }
    }
    Ok(())
}

/// The advice for a folder of files like this one.
fn foreign_file(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    inputs::open(path).and_then(|file| file.take(132).read_to_end(&mut start)).ok()?;
    foreign(&start)
}

/// Slices in files of their own.
struct Slices(Vec<(PathBuf, Slice)>);

impl Source for Slices {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let (width, height, sample) = self.0[0].1.layout();
        let bytes = width * height * sample.bytes();
        let n = out.len() / bytes;
        self.0[first..first + n].par_iter().zip(out.par_chunks_exact_mut(bytes)).try_for_each_init(
            Work::default,
            |work, ((path, slice), out)| {
                slice.decode(path, out, work).map_err(|message| format!("{}: {message}", path.display()))
            },
        )
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A piece of a name: numbers sort by their value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Number(u128, usize),
    Text(String),
}

fn natural_key(name: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(match piece.parse() {
            Ok(number) if is_digit => Piece::Number(number, piece.len()),
            _ => Piece::Text(piece.to_lowercase()),
        });
        rest = after;
    }
    pieces
}

/// Names that differ in one number, by more than 1.
fn gap(a: &str, b: &str) -> Option<String> {
    let (a, b) = (natural_key(a), natural_key(b));
    let differ: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
    match differ.as_slice() {
        [(Piece::Number(a_n, _), Piece::Number(b_n, _))] if a.len() == b.len() && *b_n > a_n + 1 => {
            Some(format!("from {a_n} to {b_n}"))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests;
