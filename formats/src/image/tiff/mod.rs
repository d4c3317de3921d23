//! TIFF: pages of a file (BigTIFF too), ImageJ's stacks of one directory, or a folder of slices.

mod directory;
mod metadata;
mod page;

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use self::directory::{Tiff, tag};
use self::metadata::Metadata;
use self::page::{Layout, Page, Work};
use super::source::{Encoding, Flat, Source};
use super::{Format, Header, Opened, Problem};

/// Whether a file starts as TIFF files do.
pub(super) fn is_tiff(start: &[u8]) -> bool {
    [&b"II*\0"[..], b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| start.starts_with(magic))
}

/// The pages of one file.
struct Pages {
    layout: Layout,
    pages: Vec<Page>,
    metadata: Metadata,
}

impl Pages {
    /// Reads all directories; reduced copies (thumbnails) are left out.
    fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
        let length = file.metadata().map_err(|error| format!("cannot read this TIFF file: {error}"))?.len();
        let mut tiff = Tiff::new(BufReader::with_capacity(1 << 12, file), length)?;
        let (mut at, mut seen) = (tiff.first, HashSet::new());
        let mut found: Option<Self> = None;
        while at != 0 {
            if !seen.insert(at) {
                return Err("the TIFF directories go round in a circle: this file is damaged".to_owned());
            }
            let directory = tiff.directory(at)?;
            at = directory.next;
            if tiff.integer_of(&directory, tag::SUBFILE_TYPE)?.is_some_and(|kind| kind & 1 == 1) {
                continue;
            }
            let (layout, page) = Layout::read(&mut tiff, &directory)?;
            match &mut found {
                None => {
                    let metadata = Metadata::read(&mut tiff, &directory)?;
                    found = Some(Self { layout, pages: vec![page], metadata });
                }
                Some(pages) if pages.layout == layout => pages.pages.push(page),
                Some(pages) => {
                    let (a, b) = (&pages.layout, &layout);
                    return Err(format!(
                        "page {} has {} × {} pixels of {}, the first {} × {} of {}: pages of a stack must be alike",
                        pages.pages.len() + 1,
                        b.width,
                        b.height,
                        b.sample.name(),
                        a.width,
                        a.height,
                        a.sample.name()
                    ));
                }
            }
        }
        found.ok_or_else(|| "this TIFF file has no page".to_owned())
    }
}

/// Opens a TIFF file.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let Pages { layout, pages, metadata } = Pages::read(path)?;
    let [slices, channels, frames] = metadata.dimensions;
    if [slices, channels, frames].iter().filter(|&&n| n > 1).count() > 1 {
        return Err(format!(
            "this file has {slices} slices, {channels} channels and {frames} times: save one stack of slices"
        )
        .into());
    }
    // Pictures that were written one by one are slices of one stack.
    if metadata.stacks.len() > 1 && metadata.stacks.iter().any(|&n| n > 1) {
        return Err("this file holds several stacks: save one of them, in a file of its own".into());
    }
    if let [n] = metadata.stacks[..]
        && n != pages.len()
        && !(pages.len() == 1 && metadata.images == n)
    {
        return Err(format!(
            "the description of this file tells of {n} pages, but it has {}: save the stack alone, in one file",
            pages.len()
        )
        .into());
    }
    let mut size = [layout.width, layout.height, pages.len()];
    let flat = layout.flat(&pages[0]);
    // ImageJ writes stacks of more than 4 GB with the first slice's directory only, and tifffile any on request.
    let is_imagej = pages.len() == 1 && metadata.images > 1;
    if is_imagej {
        size[2] = metadata.images;
    }
    let mut header = header(size, &layout, &metadata);
    let layer_bytes = header.layer_bytes_checked()?;
    let one_after_the_other = || {
        let first = flat?;
        pages
            .iter()
            .enumerate()
            .all(|(k, page)| layout.flat(page) == Some(first + (k * layer_bytes) as u64))
            .then_some(first)
    };
    let (source, encoding): (Box<dyn Source>, Encoding) = match (one_after_the_other(), is_imagej) {
        (Some(offset), _) => {
            let file = File::open(path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
            let encoding = if layout.is_big_endian() { Encoding::Big } else { Encoding::Little };
            (Box::new(Flat::new(file, offset, layer_bytes, header.bytes())?), encoding)
        }
        (None, true) => {
            return Err(format!(
                "this stack of {} slices has one directory and is packed: save it as a plain TIFF stack",
                size[2]
            )
            .into());
        }
        (None, false) => (Box::new(PageSource { path: path.to_owned(), layout, pages }), Encoding::Little),
    };
    if channels.max(frames) > 1 {
        header.notes.push(format!("the file calls its pages {channels} channels and {frames} times: taken as slices"));
    }
    if is_imagej {
        header.notes.push(format!("one TIFF directory stands for all {} slices", size[2]));
    }
    Ok(Opened { header, encoding, source })
}

fn header(size: [usize; 3], layout: &Layout, metadata: &Metadata) -> Header {
    let mut header = Header::new(Format::Tiff, size, layout.sample);
    header.spacing = metadata.spacing;
    header.rescale = metadata.rescale;
    if let Some([slope, intercept]) = metadata.rescale {
        header.notes.push(format!("ImageJ's calibration holds: values are {slope} × those stored + {intercept}"));
    } else if metadata.is_curve {
        header
            .notes
            .push("ImageJ's calibration is no straight line and left out: values are used as they are stored".into());
    }
    if layout.photometric == 0 {
        header.notes.push("the TIFF file calls 0 white: values are used as they are stored".to_owned());
    } else if layout.photometric == 3 {
        header.notes.push("the TIFF file has a palette: values are its indices".to_owned());
    }
    header
}

/// Pages that are unpacked one by one, several at the same time.
struct PageSource {
    path: PathBuf,
    layout: Layout,
    pages: Vec<Page>,
}

impl Source for PageSource {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let bytes = self.layout.page_bytes();
        let n = out.len() / bytes;
        let piece = n.div_ceil(rayon::current_num_threads()).max(1);
        self.pages[first..first + n].par_chunks(piece).zip(out.par_chunks_mut(piece * bytes)).try_for_each(
            |(pages, out)| {
                let mut file =
                    File::open(&self.path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
                let mut work = Work::default();
                pages
                    .iter()
                    .zip(out.chunks_exact_mut(bytes))
                    .try_for_each(|(page, out)| self.layout.decode(&mut file, page, out, &mut work))
            },
        )
    }
}

/// Opens a folder of slices, one TIFF file each, in natural order: `s2.tif` before `s10.tif`.
pub(super) fn open_folder(path: &Path) -> Result<Opened, Problem> {
    let cannot = |error: std::io::Error| format!("cannot read this folder: {error}");
    let (mut files, mut others) = (Vec::new(), 0);
    for entry in std::fs::read_dir(path).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        let is_slice =
            file.extension().is_some_and(|e| e.eq_ignore_ascii_case("tif") || e.eq_ignore_ascii_case("tiff"));
        let is_hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // SkyScan puts a preview of another size beside its slices.
        let is_slice = is_slice && !file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_spr"));
        match is_slice && !is_hidden {
            true => files.push(file),
            false => others += usize::from(!is_hidden),
        }
    }
    if files.is_empty() {
        return Err("this folder has no TIFF slices (.tif, .tiff)".into());
    }
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.sort_by_cached_key(|file| natural_key(&name(file)));
    let slices = files
        .par_iter()
        .map(|file| {
            let mut pages = Pages::read(file).map_err(|message| format!("{}: {message}", name(file)))?;
            match (pages.pages.len(), pages.pages.pop()) {
                (1, Some(page)) if pages.metadata.images <= 1 => Ok((pages.layout, page, pages.metadata)),
                _ => Err(format!("{}: this file has several pages: a folder of slices has one in each", name(file))),
            }
        })
        .collect::<Result<Vec<_>, String>>()?;
    let (first, _, metadata) = &slices[0];
    let size = [first.width, first.height, slices.len()];
    for ((layout, _, _), file) in slices.iter().zip(&files) {
        if (layout.width, layout.height, layout.sample) != (first.width, first.height, first.sample) {
            return Err(format!(
                "{}: {} × {} pixels of {}, but the first slice has {} × {} of {}",
                name(file),
                layout.width,
                layout.height,
                layout.sample.name(),
                first.width,
                first.height,
                first.sample.name()
            )
            .into());
        }
    }
    let mut header = header(size, first, metadata);
    header.notes.push(format!("{} slices: {} to {}", files.len(), name(&files[0]), name(&files[files.len() - 1])));
    if others > 0 {
        header.notes.push(format!("{others} other files of the folder are not looked at"));
    }
    if let Some(gap) = files.windows(2).find_map(|pair| gap(&name(&pair[0]), &name(&pair[1]))) {
        header.notes.push(format!("the numbers of the slices jump {gap}: is one missing?"));
    }
    let slices = files.into_iter().zip(slices).map(|(file, (layout, page, _))| (file, layout, page)).collect();
    Ok(Opened { header, encoding: Encoding::Little, source: Box::new(FolderSource { slices }) })
}

/// Slices in files of their own.
struct FolderSource {
    slices: Vec<(PathBuf, Layout, Page)>,
}

impl Source for FolderSource {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let bytes = self.slices[0].1.page_bytes();
        let n = out.len() / bytes;
        self.slices[first..first + n].par_iter().zip(out.par_chunks_exact_mut(bytes)).try_for_each_init(
            Work::default,
            |work, ((path, layout, page), out)| {
                File::open(path)
                    .map_err(|error| format!("cannot open this slice: {error}"))
                    .and_then(|mut file| layout.decode(&mut file, page, out, work))
                    .map_err(|message| format!("{}: {message}", path.display()))
            },
        )
    }
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
mod tests;
