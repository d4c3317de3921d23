//! Pictures of the book. `![what is seen](pictures/NAME.png "FILE")` shows the file FILE that the commands of the page have
//! drawn, with fewer colours so that it is small.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use pogo_tests::workspace;

use super::{Page, writes};

/// Largest picture, bytes.
pub(super) const LARGEST: u64 = 300_000;

/// The pictures of a page: the file that it shows, and the one that its commands draw.
pub(super) fn drawn(page: &Page) -> Vec<(String, String)> {
    let (_, prose) = page.split();
    let inner = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split(')').next());
    let pairs = inner.filter_map(|inner| inner.split_once(' '));
    pairs.map(|(shown, drawn)| (shown.to_owned(), drawn.trim_matches('"').to_owned())).collect()
}

/// What is wrong with the pictures of a page whose commands have run in a folder. Writes them when asked.
pub(super) fn check(page: &Page, folder: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for (shown, drawn) in drawn(page) {
        let shown = workspace().join(page.folder()).join(shown);
        match Picture::read(&folder.join(&drawn)) {
            Err(error) => problems.push(format!("{}: the commands drew no {drawn}: {error}", page.name.display())),
            Ok(picture) if picture.is_blank() => problems.push(format!("{}: {drawn} is blank", page.name.display())),
            Ok(picture) if writes() => picture.write(&shown),
            Ok(_) => {}
        }
    }
    problems
}

/// A picture of 8 bits a channel, red, green and blue.
pub(super) struct Picture {
    size: [u32; 2],
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Reads a PNG file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
        let mut bytes = vec![0; reader.output_buffer_size().ok_or("too large")?];
        let info = reader.next_frame(&mut bytes).map_err(|error| error.to_string())?;
        let samples = info.color_type.samples();
        let grey = samples < 3;
        let pixel = |pixel: &[u8]| if grey { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
        let pixels = bytes[..info.buffer_size()].chunks_exact(samples).map(pixel).collect();
        Ok(Self { size: [info.width, info.height], pixels })
    }

    /// A picture of which nothing can be seen.
    pub fn is_blank(&self) -> bool {
        self.pixels.iter().collect::<HashSet<_>>().len() < 8
    }

    /// Writes with the most colours for which the file is small enough.
    pub fn write(&self, path: &Path) {
        let mut files = [256, 128, 64, 32, 16].into_iter().map(|colours| self.encode(colours));
        let file = files.find(|file| file.len() as u64 <= LARGEST).expect("a picture that can be small");
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, file).expect("a picture");
    }

    /// Groups of similar colours, at most `most`: the group with the widest channel is halved at its median, again and again
    /// (median cut).
    fn groups(&self, most: usize) -> Vec<Vec<[u8; 3]>> {
        let all: BTreeSet<[u8; 3]> = self.pixels.iter().copied().collect();
        let mut groups = vec![all.into_iter().collect::<Vec<_>>()];
        let width = |group: &[[u8; 3]], c: usize| {
            let values = group.iter().map(|colour| colour[c]);
            values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
        };
        let widest = |group: &[[u8; 3]]| (0..3).map(|c| (width(group, c), c)).max().expect("three channels");
        while groups.len() < most {
            let at = (0..groups.len()).max_by_key(|&at| widest(&groups[at]).0).expect("a group");
            let (range, channel) = widest(&groups[at]);
            if range == 0 {
                break;
            }
            groups[at].sort_unstable_by_key(|colour| colour[channel]);
            let middle = groups[at].len() / 2;
            let upper = groups[at].split_off(middle);
            groups.push(upper);
        }
        groups
    }

    /// A file with a palette of so many colours: the most frequent one of each group.
    fn encode(&self, colours: usize) -> Vec<u8> {
        let groups = self.groups(colours);
        let mut counts = HashMap::new();
        self.pixels.iter().for_each(|pixel| *counts.entry(*pixel).or_insert(0) += 1);
        let frequent = |group: &Vec<[u8; 3]>| group.iter().copied().max_by_key(|colour| counts[colour]);
        let palette: Vec<u8> = groups.iter().filter_map(frequent).flatten().collect();
        let members =
            groups.iter().enumerate().flat_map(|(at, group)| group.iter().map(move |colour| (*colour, at as u8)));
        let indices: HashMap<[u8; 3], u8> = members.collect();
        let bytes: Vec<u8> = self.pixels.iter().map(|pixel| indices[pixel]).collect();
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.size[0], self.size[1]);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().expect("a picture");
        writer.write_image_data(&bytes).expect("a picture");
        writer.finish().expect("a picture");
        file
    }
}

#[test]
fn pictures_of_readme_and_book_are_small_and_drawn() {
    for page in Page::all() {
        let (_, prose) = page.split();
        let pairs = drawn(&page);
        assert_eq!(prose.matches("![").count(), pairs.len(), "{}: a picture that nothing draws", page.name.display());
        for (shown, _) in pairs {
            let path = workspace().join(page.folder()).join(shown);
            let bytes = path.metadata().map_or(0, |metadata| metadata.len());
            assert!(bytes > 0 && bytes <= LARGEST, "{} has {bytes} bytes", path.display());
        }
    }
}
