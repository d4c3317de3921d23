use std::io::Write;

use crate::read::image;
use crate::read::image::ImageOptions;

pub(crate) mod damage;

/// How a test file is written.
#[derive(Clone, Copy)]
struct Kind {
    big_endian: bool,
    big_tiff: bool,
    compression: u16,
    predictor: u16,
    rows_per_strip: usize,
    tile: Option<usize>,
}

const PLAIN: Kind =
    Kind { big_endian: false, big_tiff: false, compression: 1, predictor: 1, rows_per_strip: 1000, tile: None };

struct Writer {
    kind: Kind,
    bytes: Vec<u8>,
    /// Where the place of the next directory is to be written.
    link: usize,
}

impl Writer {
    fn new(kind: Kind) -> Self {
        let mut writer = Self { kind, bytes: if kind.big_endian { b"MM".to_vec() } else { b"II".to_vec() }, link: 4 };
        if kind.big_tiff {
            writer.number(43, 2);
            writer.number(8, 2);
            writer.number(0, 2);
            writer.link = 8;
            writer.number(0, 8);
        } else {
            writer.number(42, 2);
            writer.number(0, 4);
        }
        writer
    }

    fn number(&mut self, value: u64, size: usize) {
        let bytes = value.to_be_bytes();
        let bytes = &bytes[8 - size..];
        if self.kind.big_endian { self.bytes.extend(bytes) } else { self.bytes.extend(bytes.iter().rev()) }
    }

    fn set_link(&mut self, at: usize) {
        let size = if self.kind.big_tiff { 8 } else { 4 };
        let end = self.bytes.split_off(self.link + size);
        self.bytes.truncate(self.link);
        self.number(at as u64, size);
        self.bytes.extend(end);
    }

    /// Packs the stored bytes of a strip or tile.
    fn pack(&self, raw: &[u8]) -> Vec<u8> {
        match self.kind.compression {
            5 => weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(raw).unwrap(),
            8 => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(raw).unwrap();
                encoder.finish().unwrap()
            }
            32_773 => raw
                .chunk_by(|a, b| a == b)
                .flat_map(|run| run.chunks(100))
                .flat_map(|run| match run.len() {
                    1 => vec![0, run[0]],
                    n => vec![(1 - n as i32) as i8 as u8, run[0]],
                })
                .collect(),
            _ => raw.to_vec(),
        }
    }

    /// A page of little-endian samples of `size` bytes; `tags` are added or replace others.
    fn page(&mut self, width: usize, size: usize, samples: &[u8], tags: &[(u16, u64)], description: &str) {
        let height = samples.len() / width / size;
        let (rows, columns) = match self.kind.tile {
            Some(edge) => (edge, edge),
            None => (self.kind.rows_per_strip.min(height), width),
        };
        let (mut offsets, mut counts) = (Vec::new(), Vec::new());
        for j in (0..height).step_by(rows) {
            for i in (0..width).step_by(columns) {
                let stored_rows = if self.kind.tile.is_some() { rows } else { rows.min(height - j) };
                let mut raw = Vec::new();
                for y in j..j + stored_rows {
                    let mut before = 0u64;
                    for x in i..i + columns {
                        let at = (y.min(height - 1) * width + x.min(width - 1)) * size;
                        let mut value = [0; 8];
                        value[..size].copy_from_slice(&samples[at..at + size]);
                        let value = u64::from_le_bytes(value);
                        let stored = if self.kind.predictor == 2 { value.wrapping_sub(before) } else { value };
                        before = value;
                        let bytes = stored.to_le_bytes();
                        if self.kind.big_endian {
                            raw.extend(bytes[..size].iter().rev())
                        } else {
                            raw.extend(&bytes[..size])
                        }
                    }
                }
                let packed = self.pack(&raw);
                offsets.push(self.bytes.len() as u64);
                counts.push(packed.len() as u64);
                self.bytes.extend(packed);
            }
        }
        let mut entries: Vec<(u16, Vec<u64>)> = vec![
            (256, vec![width as u64]),
            (257, vec![height as u64]),
            (258, vec![8 * size as u64]),
            (259, vec![u64::from(self.kind.compression)]),
            (262, vec![1]),
            (317, vec![u64::from(self.kind.predictor)]),
        ];
        match self.kind.tile {
            Some(edge) => {
                entries.extend([(322, vec![edge as u64]), (323, vec![edge as u64]), (324, offsets), (325, counts)]);
            }
            None => entries.extend([(273, offsets), (278, vec![rows as u64]), (279, counts)]),
        }
        for &(tag, value) in tags {
            entries.retain(|entry| entry.0 != tag);
            entries.push((tag, vec![value]));
        }
        self.directory(entries, description);
    }

    fn directory(&mut self, mut entries: Vec<(u16, Vec<u64>)>, description: &str) {
        entries.sort();
        let word = if self.kind.big_tiff { 8 } else { 4 };
        let mut places = Vec::new();
        for (_, values) in &entries {
            places.push(self.bytes.len() as u64);
            if values.len() > 1 {
                values.iter().for_each(|&value| self.number(value, word));
            }
        }
        let text_at = self.bytes.len() as u64;
        self.bytes.extend(description.bytes());
        self.bytes.extend([0; 9]);
        let at = self.bytes.len();
        self.set_link(at);
        let extra = usize::from(!description.is_empty());
        self.number((entries.len() + extra) as u64, if word == 8 { 8 } else { 2 });
        for ((tag, values), place) in entries.into_iter().zip(places) {
            self.number(u64::from(tag), 2);
            self.number(if word == 8 { 16 } else { 4 }, 2);
            self.number(values.len() as u64, word);
            self.number(if values.len() > 1 { place } else { values[0] }, word);
        }
        if extra == 1 {
            self.number(270, 2);
            self.number(2, 2);
            self.number(description.len() as u64 + 9, word);
            self.number(text_at, word);
        }
        self.link = self.bytes.len();
        self.number(0, word);
    }
}

fn stack(bytes: &[u8]) -> (tempfile::TempDir, Result<image::Stack, String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stack.tif");
    std::fs::write(&path, bytes).unwrap();
    let stack = image::open(&path, &ImageOptions::default()).map_err(|error| error.message);
    (folder, stack)
}

fn all(stack: &mut image::Stack) -> Vec<u8> {
    let mut samples = Vec::new();
    stack.read_layers(0..stack.n_layers(), &mut samples).unwrap();
    samples
}

/// Samples that do not repeat too regularly.
fn noise(n: usize) -> Vec<u8> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 25) as u8 & !3 | (i / 7 % 4) as u8).collect()
}

#[test]
fn every_way_of_writing_gives_the_same_samples() {
    let (width, height, n) = (37, 21, 3);
    for size in [1, 2, 4, 8] {
        let samples = noise(width * height * n * size);
        for big_endian in [false, true] {
            for big_tiff in [false, true] {
                for compression in [1, 5, 8, 32_773] {
                    for predictor in [1, 2] {
                        for (rows_per_strip, tile) in [(1000, None), (4, None), (1000, Some(16))] {
                            let kind = Kind { big_endian, big_tiff, compression, predictor, rows_per_strip, tile };
                            let mut writer = Writer::new(kind);
                            for page in samples.chunks(samples.len() / n) {
                                writer.page(width, size, page, &[], "");
                            }
                            let (_folder, stack) = stack(&writer.bytes);
                            let mut stack = stack.unwrap();
                            assert_eq!(stack.header().size, [width, height, n]);
                            assert_eq!(stack.header().sample.bytes(), size);
                            assert!(
                                all(&mut stack) == samples,
                                "{big_endian} {big_tiff} {compression} {predictor} {tile:?}"
                            );
                            let mut middle = Vec::new();
                            stack.read_layers(1..2, &mut middle).unwrap();
                            assert_eq!(middle, samples[samples.len() / n..2 * samples.len() / n]);
                        }
                    }
                }
            }
        }
    }
}

/// 6 × 4 pixels that count from 0 to 4 again and again, by libtiff 4.7.2 through Pillow.
#[test]
fn zstandard_is_unpacked() {
    let hex = "49492a001c00000028b52ffd00605d00002800010203040100488a16090000010300010000000600000001010300010000000400000002\
               0103000100000008000000030103000100000050c3000006010300010000000100000011010400010000000800000016010300010000\
               00040000001701040001000000140000001c010300010000000100000000000000";
    let file: Vec<u8> =
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
    let (_folder, there) = stack(&file);
    assert_eq!(all(&mut there.unwrap()), (0..24).map(|i| i % 5).collect::<Vec<u8>>());
}

#[test]
fn sample_formats_and_palettes() {
    let samples = noise(16 * 16 * 4);
    for (format, name) in [(1, "uint32"), (2, "int32"), (3, "float32"), (4, "uint32")] {
        let mut writer = Writer::new(PLAIN);
        writer.page(16, 4, &samples, &[(339, format)], "");
        let (_folder, stack) = stack(&writer.bytes);
        assert_eq!(stack.unwrap().header().sample.name(), name);
    }
    for (photometric, note) in [(0, "calls 0 white"), (3, "has a palette")] {
        let mut writer = Writer::new(PLAIN);
        writer.page(16, 4, &samples, &[(262, photometric)], "");
        let (_folder, stack) = stack(&writer.bytes);
        let mut stack = stack.unwrap();
        assert!(stack.header().notes[0].contains(note));
        assert_eq!(all(&mut stack), samples);
    }
    for (tags, message) in [
        (&[(277, 3), (262, 2)][..], "colour picture"),
        (&[(258, 24)], "24 bits"),
        (&[(259, 7)], "JPEG compression"),
        (&[(339, 9)], "format 9"),
        (&[(32_997, 4)], "depth of 4 slices"),
        (&[(256, 0)], "no width"),
        (&[(257, 1 << 20)], "has 1 strips or tiles where it needs"),
        (&[(273, 1 << 20)], "beyond the end of the file"),
    ] {
        let mut writer = Writer::new(PLAIN);
        writer.page(16, 4, &samples, tags, "");
        let (_folder, stack) = stack(&writer.bytes);
        let error = stack.map(|_| ()).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn bits_become_bytes() {
    // 10 pixels a row: 1 0 1 1 0 0 0 1 | 1 0.
    let mut writer = Writer::new(PLAIN);
    writer.page(2, 1, &[0b1011_0001, 0b1000_0000, 0b0000_0001, 0b0100_0000], &[(256, 10), (258, 1)], "");
    let (_folder, stack) = stack(&writer.bytes);
    assert_eq!(all(&mut stack.unwrap()), [1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
}

#[test]
fn floats_with_a_predictor() {
    let values = [1.5f32, -2.25, 1e10, 0.0, 3.0, 7.0];
    let mut raw = Vec::new();
    for row in values.chunks(3) {
        let planes: Vec<u8> = (0..4).flat_map(|j| row.iter().map(move |x| x.to_be_bytes()[j])).collect();
        raw.push(planes[0]);
        raw.extend(planes.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])));
    }
    let mut writer = Writer::new(Kind { compression: 8, ..PLAIN });
    writer.page(12, 1, &raw, &[(256, 3), (258, 32), (339, 3), (317, 3)], "");
    let (_folder, stack) = stack(&writer.bytes);
    let expected: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(all(&mut stack.unwrap()), expected);
}

#[test]
fn imagej_writes_one_directory_for_a_large_stack() {
    let samples = noise(8 * 8 * 5);
    let description = "ImageJ=1.53q\nimages=5\nslices=5\nunit=micron\nspacing=20.0\n";
    let mut writer = Writer::new(Kind { big_endian: true, ..PLAIN });
    writer.bytes.extend(&samples);
    let entries = [(256, 8), (257, 8), (258, 8), (259, 1), (262, 1), (273, 8), (278, 8), (279, 64)];
    writer.directory(entries.iter().map(|&(tag, value)| (tag, vec![value])).collect(), description);
    let (_folder, there) = stack(&writer.bytes);
    let mut there = there.unwrap();
    assert_eq!(there.header().size, [8, 8, 5]);
    assert_eq!(all(&mut there), samples);
    for (what, is_read) in [("frames=5", true), ("channels=5", true), ("frames=2\nchannels=3", false)] {
        let mut writer = Writer::new(PLAIN);
        (0..5).for_each(|_| writer.page(8, 1, &samples[..64], &[], &format!("ImageJ=1.53q\nimages=5\n{what}\n")));
        let (_folder, there) = stack(&writer.bytes);
        assert_eq!(there.is_ok(), is_read, "{what}");
    }
    for (what, rescale, note) in [
        ("cf=0\nc0=-32768.0\nc1=1.0", Some([1.0, -32768.0]), "1 × those stored + -32768"),
        ("cf=0\nc0=0.0\nc1=1.0", None, ""),
        ("cf=2\nc0=1.0\nc1=2.0\nc2=3.0", None, "no straight line"),
    ] {
        let mut writer = Writer::new(PLAIN);
        (0..5).for_each(|_| writer.page(8, 1, &samples[..64], &[], &format!("ImageJ=1.53q\nimages=5\n{what}\n")));
        let (_folder, there) = stack(&writer.bytes);
        let there = there.unwrap();
        assert_eq!(there.header().rescale, rescale, "{what}");
        assert!(
            there.header().notes.concat().contains(note) && there.header().notes.len() == usize::from(!note.is_empty())
        );
    }
    let short = description.replace('5', "900");
    let mut writer = Writer::new(PLAIN);
    writer.bytes.extend(&samples);
    writer.directory(entries.iter().map(|&(tag, value)| (tag, vec![value])).collect(), &short);
    let (_folder, there) = stack(&writer.bytes);
    let error = there.map(|_| ()).unwrap_err();
    assert!(error.contains("claims 57600 bytes of voxels"), "{error}");
}

#[test]
fn more_pages_than_16_bits_count() {
    let n = 70_000;
    let mut writer = Writer::new(PLAIN);
    for page in 0..n {
        writer.page(1, 1, &[page as u8], &[], "");
    }
    let (_folder, stack) = stack(&writer.bytes);
    let mut stack = stack.unwrap();
    assert_eq!(stack.header().size, [1, 1, n]);
    let mut last = Vec::new();
    stack.read_layers(n - 2..n, &mut last).unwrap();
    assert_eq!(last, [(n - 2) as u8, (n - 1) as u8]);
}

#[test]
fn damaged_files_are_refused() {
    let samples = noise(16 * 16);
    let mut writer = Writer::new(Kind { compression: 5, ..PLAIN });
    writer.page(16, 1, &samples, &[], "");
    writer.page(16, 1, &samples, &[], "");
    let whole = writer.bytes.clone();
    // The second directory's link back to itself.
    let at = usize::try_from(u32::from_le_bytes(whole[4..8].try_into().unwrap())).unwrap();
    writer.set_link(at);
    let (_folder, there) = stack(&writer.bytes);
    assert!(there.map(|_| ()).unwrap_err().contains("in a circle"));
    for cut in [3, 9, at, at + 30, whole.len() - 20] {
        let (_folder, there) = stack(&whole[..cut]);
        assert!(there.is_err(), "cut at {cut}");
    }
    let mut writer = Writer::new(PLAIN);
    writer.page(16, 1, &samples, &[], "");
    writer.page(8, 1, &samples, &[], "");
    let (_folder, there) = stack(&writer.bytes);
    assert!(there.map(|_| ()).unwrap_err().contains("pages of a stack must be alike"));
}

#[test]
fn stacks_that_a_description_tells_apart_are_not_joined() {
    let pixels = |z: usize| format!("<Image><Pixels SizeZ=\"{z}\" SizeC=\"1\" SizeT=\"1\"/></Image>");
    let ome = |images: &[usize]| format!("<OME>{}</OME>", images.iter().map(|&z| pixels(z)).collect::<String>());
    for (description, message) in [
        ("{\"shape\": [6, 4, 4]}", ""),
        ("{\"shape\": [1, 6, 4, 4, 1]}", ""),
        ("{\"shape\": [4, 4]}", ""),
        ("{\"shape\": [2, 3, 4, 4]}", "several stacks"),
        ("{\"shape\": [3, 4, 4]}", "names 3 pages, but it has 6"),
        (&ome(&[6]), ""),
        (&ome(&[1; 6]), ""),
        (&ome(&[3, 3]), "several stacks"),
        (&ome(&[5, 1]), "several stacks"),
        (&ome(&[60]), "names 60 pages, but it has 6"),
    ] {
        let mut writer = Writer::new(PLAIN);
        (0..6).for_each(|_| writer.page(4, 1, &[7; 16], &[], description));
        let (_folder, there) = stack(&writer.bytes);
        match there {
            Ok(there) => assert!(message.is_empty() && there.header().size == [4, 4, 6], "{description}"),
            Err(error) => assert!(!message.is_empty() && error.contains(message), "{description}: {error}"),
        }
    }
    let mut writer = Writer::new(PLAIN);
    let samples = noise(4 * 4 * 6);
    writer.bytes.extend(&samples);
    let entries = [(256, 4), (257, 4), (258, 8), (259, 1), (262, 1), (273, 8), (278, 4), (279, 16)];
    let entries = entries.iter().map(|&(tag, value)| (tag, vec![value])).collect();
    writer.directory(entries, "{\"shape\": [6, 4, 4], \"truncated\": true}");
    let (_folder, there) = stack(&writer.bytes);
    let mut there = there.unwrap();
    assert_eq!((there.header().size, all(&mut there)), ([4, 4, 6], samples));
}

#[test]
fn folders_are_read_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    for number in [1, 2, 10, 9] {
        let mut writer = Writer::new(Kind { compression: 8, ..PLAIN });
        writer.page(4, 1, &[number; 16], &[], "");
        std::fs::write(folder.path().join(format!("slice{number}.tif")), writer.bytes).unwrap();
    }
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    // SkyScan's preview.
    let mut writer = Writer::new(PLAIN);
    writer.page(8, 1, &[0; 16], &[], "");
    std::fs::write(folder.path().join("slice_spr.tif"), writer.bytes).unwrap();
    let mut stack = image::open(folder.path(), &ImageOptions::default()).unwrap();
    assert_eq!(stack.header().size, [4, 4, 4]);
    let first: Vec<u8> = all(&mut stack).chunks(16).map(|layer| layer[0]).collect();
    assert_eq!(first, [1, 2, 9, 10]);
    let notes = stack.header().notes.join("; ");
    assert!(notes.contains("2 other files") && notes.contains("jump from 2 to 9"), "{notes}");
    let mut writer = Writer::new(PLAIN);
    writer.page(8, 1, &[0; 16], &[], "");
    std::fs::write(folder.path().join("slice3.tif"), writer.bytes).unwrap();
    let error = image::open(folder.path(), &ImageOptions::default()).map(|_| ()).unwrap_err();
    assert!(error.message.contains("slice3.tif: 8 × 2 pixels"), "{error}");
}
