//! TIFF: pages of a file (BigTIFF too), ImageJ's stacks of one directory.

mod directory;
mod metadata;
mod page;

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use self::directory::{Tiff, tag};
use self::metadata::Metadata;
pub(super) use self::page::Work;
use self::page::{Layout, Page};
use super::sample::{Endian, SampleType};
use super::source::{Encoding, Source};
use super::{Format, Header, Opened, Problem};
use crate::system::inputs;
use crate::system::parallel::iterate::*;

/// Whether a file starts as TIFF files do.
pub(super) fn is_tiff(start: &[u8]) -> bool {
    [&b"II*\0"[..], b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| start.starts_with(magic))
}

/// The pages of one file.
pub(super) struct Pages {
    layout: Layout,
    pages: Vec<Page>,
    metadata: Metadata,
    /// Length of the file, and the end of what its pages and tags point to, bytes.
    length: u64,
    end: u64,
}

impl Pages {
    /// Reads all directories; reduced copies (thumbnails) are left out.
    fn read(path: &Path) -> Result<Self, String> {
        let file = inputs::open(path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
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
                    found = Some(Self { layout, pages: vec![page], metadata, length, end: 0 });
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
        let mut found = found.ok_or_else(|| "this TIFF file has no page".to_owned())?;
        found.end = found.pages.iter().map(Page::end).fold(tiff.end, u64::max);
        Ok(found)
    }

    /// A warning where half of the file or more belongs to no page. Less may be what a program keeps there for itself.
    fn rest(&self, end: u64) -> Option<String> {
        let end = self.end.max(end);
        let rest = self.length.saturating_sub(end);
        (rest >= end).then(|| format!("{rest} bytes of this file belong to no page and are not read: is it one file?"))
    }

    /// A file of one page in a folder of slices.
    pub(super) fn one(path: &Path) -> Result<Self, String> {
        let found = Self::read(path)?;
        if found.pages.len() > 1 || found.metadata.images > 1 {
            return Err("this file has several pages: a folder of slices has one in each".to_owned());
        }
        Ok(found)
    }

    /// Width, height and type of the pixels.
    pub(super) fn layout(&self) -> (usize, usize, SampleType) {
        (self.layout.width, self.layout.height, self.layout.sample)
    }

    /// The header of a stack of `n` files like this one.
    pub(super) fn header(&self, n: usize) -> Header {
        header([self.layout.width, self.layout.height, n], &self.layout, &self.metadata)
    }

    /// Reads the first page into `out`, little-endian.
    pub(super) fn decode(&self, file: &File, out: &mut [u8], work: &mut Work) -> Result<(), String> {
        self.layout.decode(file, &self.pages[0], out, work)
    }
}

/// Opens a TIFF file.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let read = Pages::read(path)?;
    let Pages { layout, ref pages, ref metadata, .. } = read;
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
    if let Some(n) = metadata.stacks.first().copied().or((metadata.images > 0).then_some(metadata.images))
        && metadata.stacks.len() < 2
        && n != pages.len()
        && !(pages.len() == 1 && metadata.images == n)
    {
        return Err(format!(
            "the description of this file names {n} pages, but it has {}: it is cut short, or a part of a stack; save the \
             stack alone, in one file",
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
    let mut header = header(size, &layout, metadata);
    let (layer_bytes, bytes) = header.bytes()?;
    header.warnings.extend(read.rest(flat.filter(|_| is_imagej).map_or(0, |first| first.saturating_add(bytes))));
    let one_after_the_other = || {
        let first = flat?;
        pages
            .iter()
            .enumerate()
            .all(|(k, page)| layout.flat(page) == Some(first + (k * layer_bytes) as u64))
            .then_some(first)
    };
    if channels.max(frames) > 1 {
        header.notes.push(format!("the file calls its pages {channels} channels and {frames} times: taken as slices"));
    }
    if is_imagej {
        header.notes.push(format!("one TIFF directory stands for all {} slices", size[2]));
    }
    match one_after_the_other() {
        Some(offset) => {
            let file = inputs::open(path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
            let endian = if layout.is_big_endian { Endian::Big } else { Endian::Little };
            Opened::flat_before(header, endian, file, offset, u64::MAX)
        }
        None if is_imagej => Err(format!(
            "this stack of {} slices has one directory and is packed: save it as a plain TIFF stack",
            size[2]
        )
        .into()),
        None => {
            Ok(Opened::new(header, Encoding::Little, PageSource { path: path.to_owned(), layout, pages: read.pages }))
        }
    }
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
                let file = inputs::open(&self.path).map_err(|error| format!("cannot open this TIFF file: {error}"))?;
                let mut work = Work::default();
                pages
                    .iter()
                    .zip(out.chunks_exact_mut(bytes))
                    .try_for_each(|(page, out)| self.layout.decode(&file, page, out, &mut work))
            },
        )
    }
}

#[cfg(test)]
pub(super) mod tests;
