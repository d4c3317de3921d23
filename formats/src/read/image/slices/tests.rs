use std::path::Path;

use crate::read::image;
use crate::read::image::{Format, Stack};
use crate::read::image::{ImageOptions, SampleType};

/// 3 × 2 pixels, as Pillow 13 wrote them: as they are, those above 90, times 257, and in three equal colours.
const PIXELS: [u8; 6] = [0, 50, 100, 200, 255, 7];
const GREY: &str = "89504e470d0a1a0a0000000d4948445200000003000000020800000000b81f39c60000001049444154789c636430326238f19f1d0006930234afc364460000000049454e44ae426082";
const BITS: &str = "89504e470d0a1a0a0000000d4948445200000003000000020100000000b50f5bb70000000c49444154789c635060380000012400e1e8e79caa0000000049454e44ae426082";
const WIDE: &str = "89504e470d0a1a0a0000000d4948445200000003000000021000000000e88fe5850000001649444154789c63646030323232623871e2ff7f767600172e0466838a3a0a0000000049454e44ae426082";
const COLOURS: &str = "89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d0000001c49444154789c63646060303232323232623871e2c4ffffffd9d9d90131d5069823e3dea40000000049454e44ae426082";
/// Indices 0, 0, 1, 2, 2, 0 of black, red, green.
const LABELS: &str = "89504e470d0a1a0a0000000d4948445200000003000000020203000000e01a8e8900000009504c5445000000ff000000ff00f483bf7e0000000c49444154789c63606158000000b000a5b2dde2c30000000049454e44ae426082";
const BITS_BMP: &str = "424d46000000000000003e000000280000000300000002000000010001000000000008000000c40e0000c40e0000020000000200000000000000ffffff00c000000020000000";

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A BMP file of rows as they are stored; a height below zero is of rows from the top down.
fn bmp(width: i32, height: i32, bits: u16, palette: &[[u8; 3]], rows: &[u8]) -> Vec<u8> {
    let offset = 54 + 4 * palette.len() as u32;
    let mut file = b"BM".to_vec();
    for word in [offset + rows.len() as u32, 0, offset, 40, width as u32, height as u32] {
        file.extend(word.to_le_bytes());
    }
    file.extend(1u16.to_le_bytes());
    file.extend(bits.to_le_bytes());
    for word in [0, 0, 0, 0, palette.len() as u32, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(palette.iter().flat_map(|&[r, g, b]| [b, g, r, 0]));
    file.extend(rows);
    file
}

fn greys(levels: impl IntoIterator<Item = u8>) -> Vec<[u8; 3]> {
    levels.into_iter().map(|level| [level; 3]).collect()
}

fn open(folder: &Path) -> Result<Stack, String> {
    image::open(folder, &ImageOptions::default()).map_err(|error| error.message)
}

/// The values of a folder with this one slice, or what is wrong with it.
fn read(name: &str, file: &[u8]) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), file).unwrap();
    let mut stack = open(folder.path())?;
    assert_eq!(stack.header().size, [3, 2, 1]);
    let mut samples = Vec::new();
    stack.read_layers(0..1, &mut samples).map_err(|error| error.message)?;
    Ok(samples)
}

#[test]
fn bmp_of_every_depth_and_order_of_rows() {
    let up = [200, 255, 7, 99, 0, 50, 100, 99];
    let down = [0, 50, 100, 99, 200, 255, 7];
    let read = |file: Vec<u8>| read("a.bmp", &file);
    assert_eq!(read(bmp(3, 2, 8, &greys(0..=255), &up)).unwrap(), PIXELS);
    // The last row need not be padded.
    assert_eq!(read(bmp(3, -2, 8, &greys(0..=255), &down)).unwrap(), PIXELS);
    // White first.
    let inverted = PIXELS.map(|level| 255 - level);
    assert_eq!(read(bmp(3, 2, 8, &greys((0..=255).rev()), &up)).unwrap(), inverted);
    let bits = PIXELS.map(|level| if level > 90 { 255 } else { 0 });
    assert_eq!(read(bytes(BITS_BMP)).unwrap(), bits);
    assert_eq!(read(bmp(3, -2, 1, &greys([255, 0]), &[0xc0, 0, 0, 0, 0x20, 0, 0, 0])).unwrap(), bits);
    assert_eq!(
        read(bmp(3, -2, 4, &greys([0, 8, 200]), &[0x01, 0x20, 9, 9, 0x22, 0x10])).unwrap(),
        [0, 8, 200, 200, 200, 8]
    );
    let rgb: Vec<u8> = up.chunks(4).flat_map(|row| [[row[0]; 3], [row[1]; 3], [row[2]; 3], [9; 3]].concat()).collect();
    let mut rows = [&rgb[..9], &[0; 3], &rgb[12..21], &[0; 3]].concat();
    assert_eq!(read(bmp(3, 2, 24, &[], &rows)).unwrap(), PIXELS);
    rows[13] = 51;
    assert!(read(bmp(3, 2, 24, &[], &rows)).unwrap_err().contains("pixel 0, 0 is coloured"));
}

#[test]
fn png_of_every_depth() {
    let read = |hex: &str| read("a.PNG", &bytes(hex)).unwrap();
    assert_eq!(read(GREY), PIXELS);
    assert_eq!(read(COLOURS), PIXELS);
    assert_eq!(read(BITS), PIXELS.map(|level| if level > 90 { 255 } else { 0 }));
    assert_eq!(read(WIDE), PIXELS.map(|level| (257 * u16::from(level)).to_le_bytes()).concat());
    assert_eq!(read(LABELS), [0, 0, 1, 2, 2, 0]);
}

#[test]
fn sizes_are_held_to_the_file() {
    let good = bmp(3, 2, 8, &greys(0..=255), &[0; 8]);
    for (at, value) in [(18, 0x7f), (22, 0x7f), (10, 0xff), (21, 0x7f), (18, 0), (22, 0)] {
        let mut file = good.clone();
        file[at] = value;
        assert!(read("a.bmp", &file).is_err(), "byte {at}");
    }
    assert!(read("a.bmp", &bmp(3, 2, 8, &greys(0..=1), &[2; 8])).unwrap_err().contains("palette does not"));
    assert!(read("a.bmp", &good[..good.len() - 3]).unwrap_err().contains("cut short"));
    let mut packed = good.clone();
    packed[30] = 1;
    assert!(read("a.bmp", &packed).unwrap_err().contains("without compression"));
    // A width of 65,539, with the sum of the chunk made good.
    let mut file = bytes(GREY);
    file[17] = 1;
    let mut crc = flate2::Crc::new();
    crc.update(&file[12..29]);
    file[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    assert!(read("a.png", &file).unwrap_err().contains("claims 65539 × 2 pixels"));
    let cut = bytes(GREY);
    assert!(read("a.png", &cut[..50]).unwrap_err().contains("PNG file"));
}

#[test]
fn a_skyscan_folder() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    for number in [8, 9, 10] {
        write(&format!("rec{number}.bmp"), &bmp(3, 2, 8, &greys(0..=255), &[number; 8]));
    }
    write("rec_spr.bmp", &bmp(4, 4, 8, &greys(0..=255), &[0; 16]));
    write("overview.png", &bytes(GREY));
    let log = b"[Acquisition]\r\nCamera Pixel Size (um)=   11.32\r\nImage Pixel Size (um)=   6.84\r\n\
                [Reconstruction]\r\nSection to Section Step=1\r\nPixel Size (um)=13.68\r\nOperator=J\xf6rg\r\n";
    write("rec.log", log);
    write("other.log", b"nothing of pixels");
    let mut stack = open(folder.path()).unwrap();
    let mut samples = Vec::new();
    stack.read_layers(0..3, &mut samples).unwrap();
    assert_eq!(samples, [[8; 6], [9; 6], [10; 6]].concat());
    let header = stack.header();
    assert_eq!((header.format, header.size, header.sample), (Format::Bmp, [3, 2, 3], SampleType::Uint8));
    assert_eq!(header.spacing, Some([0.01368; 3]));
    assert!(header.notes.join("; ").contains("2 other files"), "{:?}", header.notes);
    // Every other section, and a log that tells another size.
    write("rec.log", &log.map(|byte| if byte == b'1' { b'2' } else { byte }));
    assert_eq!(open(folder.path()).unwrap().header().spacing, Some([0.02368, 0.02368, 0.04736]));
    write("rec2.log", log);
    let stack = open(folder.path()).unwrap();
    assert_eq!(stack.header().spacing, None);
    assert!(stack.header().notes.join("; ").contains("neither is used"), "{:?}", stack.header().notes);
}

#[test]
fn slices_that_are_not_alike_are_refused() {
    let error = |files: &[(&str, Vec<u8>)]| {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
        open(folder.path()).map(|_| ()).unwrap_err()
    };
    assert!(error(&[("1.png", bytes(GREY)), ("2.png", bytes(WIDE))]).contains("2.png: 3 × 2 pixels of uint16"));
    assert!(error(&[("1.png", bytes(GREY)), ("2.png", bytes(LABELS))]).contains("2.png: the colours of its palette"));
    assert!(error(&[("1.png", bytes(GREY)), ("2.bmp", bytes(BITS_BMP))]).contains("keep one kind"));
    assert!(error(&[("1_spr.bmp", bytes(BITS_BMP))]).ends_with("no slices (.tif, .tiff, .bmp, .png)"));
    let dicom = [&[0; 128][..], b"DICM"].concat();
    assert!(error(&[("IM0001", dicom)]).contains("no slices (.tif, .tiff, .bmp, .png): DICOM is not read: convert"));
}

/// Small pictures, for the corpus of the fuzz target.
pub(crate) fn specimens() -> Vec<(String, Vec<u8>)> {
    let pictures = [("png-grey", GREY), ("png-colours", COLOURS), ("png-labels", LABELS), ("png-bits", BITS)];
    let mut files: Vec<_> = pictures.iter().map(|(name, hex)| (name.to_string(), bytes(hex))).collect();
    files.push(("bmp-bits".to_owned(), bytes(BITS_BMP)));
    files.push(("bmp-grey".to_owned(), bmp(3, 2, 4, &greys([0, 8, 200]), &[0x01, 0x20, 9, 9, 0x22, 0x10, 0, 0])));
    files
}
