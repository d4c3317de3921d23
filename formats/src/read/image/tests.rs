//! Small stacks of every format, written here, and headers that were tampered with.

use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

mod damage;

/// 4 × 3 × 2 voxels of 16 bits: 100 x + 10 y + z.
const SIZE: [usize; 3] = [4, 3, 2];

pub(crate) fn samples(big: bool) -> Vec<u8> {
    let value = |v: usize| (100 * (v % 4) + 10 * (v / 4 % 3) + v / 12) as u16;
    (0..24).flat_map(|v| if big { value(v).to_be_bytes() } else { value(v).to_le_bytes() }).collect()
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn write(&self, name: &str, parts: &[&[u8]]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, parts.concat()).unwrap();
        path
    }
}

fn opened(path: &Path) -> Result<Stack, String> {
    open(path, &ImageOptions::default()).map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
}

/// The stack at `path` is that of [`samples`].
fn check(path: &Path) -> Header {
    let mut stack = opened(path).unwrap();
    let mut read = Vec::new();
    // From the last layer to the first: packed ones have to start again.
    for k in (0..stack.n_layers()).rev() {
        stack.read_layers(k..k + 1, &mut read).unwrap();
        assert_eq!(read, samples(false)[24 * k..24 * (k + 1)], "layer {k} of {}", path.display());
    }
    assert_eq!(stack.header().size, SIZE);
    stack.header().clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn npy(version: u8, text: &str) -> Vec<u8> {
    let mut bytes = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.bytes());
    bytes
}

#[test]
fn npy_versions_orders_and_types() {
    let folder = Folder::new();
    for version in [1, 2, 3] {
        for big in [false, true] {
            let text = format!(
                "{{'descr': '{}u2', 'fortran_order': False, 'shape': (2, 3, 4), }}  \n",
                if big { '>' } else { '<' }
            );
            check(&folder.write("a.npy", &[&npy(version, &text), &samples(big)]));
        }
    }
    // The same voxels as array[x, y, z] in Fortran order.
    let text = "{'descr': '<u2', 'fortran_order': True, 'shape': (4, 3, 2), }\n";
    let path = folder.write("f.npy", &[&npy(1, text), &samples(false)]);
    let xyz = ImageOptions { axes: Some(AxisOrder::Xyz), ..ImageOptions::default() };
    let stack = open(&path, &xyz).unwrap();
    assert_eq!((stack.header().size, stack.header().reversed), (SIZE, false));
    let zyx = open(&path, &ImageOptions::default()).unwrap();
    assert_eq!((zyx.header().size, zyx.header().reversed, zyx.n_layers()), ([2, 3, 4], true, 2));
    for (text, message) in [
        ("{'descr': [('a', '<u2'), ('b', '<u2')], 'fortran_order': False, 'shape': (2, 3, 4), }\n", "structured dtype"),
        ("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3, 4), }\n", "dtype \"<c8\" is not read"),
        ("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4, 5), }\n", "has shape [2, 3, 4, 5]"),
        (
            "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 5), }\n",
            "claims 60 bytes of voxels, the file holds 48",
        ),
        (
            "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967295, 4294967295, 4294967295), }\n",
            "that is no stack",
        ),
        ("{'descr': '<u2', 'shape': (2, 3, 4), }\n", "has no \"fortran_order\""),
    ] {
        let error = opened(&folder.write("b.npy", &[&npy(1, text), &samples(false)])).unwrap_err();
        assert!(error.starts_with("FILE: error: ") && error.contains(message), "{error}");
    }
    let error = opened(&folder.write("c.npy", &[&npy(9, "")])).unwrap_err();
    assert!(error.contains("version 9"), "{error}");
}

#[test]
fn npz_with_one_array_or_several() {
    let folder = Folder::new();
    let write = |name: &str, arrays: &[(&str, Vec<u8>)]| {
        let path = folder.0.path().join(name);
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for (name, bytes) in arrays {
            archive.start_file(format!("{name}.npy"), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap();
        path
    };
    let image =
        || [npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }\n"), samples(false)].concat();
    let numbers: Vec<u8> = [0.1f64, 0.2, 0.3].iter().flat_map(|x| x.to_le_bytes()).collect();
    let spacing = [npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n"), numbers].concat();
    let header = check(&write("a.npz", &[("image", image()), ("spacing_xyz", spacing)]));
    assert_eq!(header.spacing, Some([0.1, 0.2, 0.3]));
    let two = write("b.npz", &[("a", image()), ("b", image())]);
    assert!(opened(&two).unwrap_err().contains("several arrays: say which in [image], array = \"…\": a, b"));
    assert!(open(&two, &ImageOptions { array: Some("b".to_owned()), ..ImageOptions::default() }).is_ok());
    let error = open(&two, &ImageOptions { array: Some("c".to_owned()), ..ImageOptions::default() }).unwrap_err();
    assert!(error.message.contains("no array \"c\""), "{error}");
}

#[test]
fn nrrd_attached_detached_packed() {
    let folder = Folder::new();
    let head = "NRRD0004\n# a comment\ntype: unsigned short\ndimension: 3\nsizes: 4 3 2\nspace: left-posterior-superior\n\
                space directions: (0.1,0,0) (0,0.2,0) (0,0,-0.3)\nspace origin: (1,2,3)\nkey:=value\n";
    let little = format!("{head}endian: little\nencoding: raw\n\n");
    let header = check(&folder.write("a.nrrd", &[little.as_bytes(), &samples(false)]));
    assert_eq!(header.spacing, Some([0.1, 0.2, 0.3]));
    assert!(header.notes[0].contains("turned against x, y and z"), "{:?}", header.notes);
    assert_eq!(header.origin.map(|o| o[0]), Some(0.95));
    let straight = little.replace("(0,0,-0.3)", "(0,0,0.3)");
    let header = check(&folder.write("a.nrrd", &[straight.as_bytes(), &samples(false)]));
    assert!(header.notes.is_empty(), "{:?}", header.notes);
    let big = format!("{head}endian: big\nencoding: raw\nbyte skip: -1\n\n");
    check(&folder.write("b.nrrd", &[big.as_bytes(), b"junk", &samples(true)]));
    let packed = format!("{head}endian: big\nencoding: gzip\n\n");
    check(&folder.write("c.nrrd", &[packed.as_bytes(), &gzip(&samples(true))]));
    folder.write("voxels.raw", &[b"line one\nline two\n12345", &samples(false)]);
    let detached = format!("{head}endian: little\nencoding: raw\nline skip: 2\nbyte skip: 5\ndata file: voxels.raw\n");
    check(&folder.write("d.nhdr", &[detached.as_bytes()]));
    // One sample of a vector is no vector.
    let one = little.replace("dimension: 3", "dimension: 4").replace("sizes: 4", "sizes: 1 4");
    let one = one.replace("space directions:", "kinds: vector domain domain domain\nspace directions: none");
    check(&folder.write("e.nrrd", &[one.as_bytes(), &samples(false)]));
    let colours = one.replace("sizes: 1 4", "sizes: 3 4");
    let voxels = samples(false);
    for (text, message) in [
        (&colours, "FILE:5: error: axis 0 is a vector of 3"),
        (
            &little.replace("sizes: 4 3 2", "sizes: 4 3 200000000"),
            "claims 4800000000 bytes of voxels, the file holds 48",
        ),
        (&little.replace("sizes: 4 3 2", "sizes: 4 3 x"), "FILE:5: error: sizes"),
        (&little.replace("unsigned short", "block"), "FILE:3: error: type \"block\" is not read"),
        (&little.replace("encoding: raw", "encoding: bzip2"), "encoding \"bzip2\" is not read"),
        (&little.replace("endian: little\nencoding: raw", "encoding: ascii"), "encoding \"ascii\" is not read"),
        (
            &little.replace("(0.1,0,0) (0,0.2,0)", "(0.2,0,0) (0.1,0.1732,0)"),
            "FILE:7: error: the header's axes are not at right",
        ),
        (&little.replace("endian: little\n", ""), "has no \"endian\""),
        (&little.replace("encoding: raw", "encoding: raw\nbyte skip: -7"), "\"byte skip\" must be -1 or more"),
        (&detached.replace("voxels.raw", "slice%03d.raw 0 9 1"), "several data files"),
        (&detached.replace("voxels.raw", "absent.raw"), "cannot open the data file"),
    ] {
        let error =
            opened(&folder.write("x.nrrd", &[text.as_bytes(), if text.ends_with("\n\n") { &voxels } else { &[] }]))
                .unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn metaimage_local_detached_packed() {
    let folder = Folder::new();
    let head = "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nOffset = 1 2 3\n\
                Modality = MET_MOD_CT\nElementSpacing = 0.1 0.1 0.3\nDimSize = 4 3 2\nElementType = MET_USHORT\n";
    let local = format!("{head}ElementDataFile = LOCAL\n");
    let header = check(&folder.write("a.mha", &[local.as_bytes(), &samples(false)]));
    assert_eq!(header.spacing, Some([0.1, 0.1, 0.3]));
    assert!(header.notes.is_empty(), "{:?}", header.notes);
    let scaled = local.replace("Modality", "ElementToIntensityFunctionSlope = 2\nModality");
    let notes = check(&folder.write("f.mha", &[scaled.as_bytes(), &samples(false)])).notes;
    assert!(notes[0].contains("is not applied to the values"), "{notes:?}");
    let big = local.replace("MSB = False", "MSB = True");
    check(&folder.write("b.mha", &[big.as_bytes(), &samples(true)]));
    let packed = local.replace("NDims = 3", "NDims = 3\nCompressedData = True");
    check(&folder.write("c.mha", &[packed.as_bytes(), &zlib(&samples(false))]));
    folder.write("voxels.raw", &[b"a header", &samples(false)]);
    let detached = format!("{head}HeaderSize = -1\nElementDataFile = voxels.raw\n");
    check(&folder.write("d.mhd", &[detached.as_bytes()]));
    check(&folder.write("e.mhd", &[detached.replace("-1", "8").as_bytes()]));
    for (text, message) in [
        (local.replace("4 3 2", "4 3 20000"), "claims 480000 bytes"),
        (local.replace("MET_USHORT", "MET_USHORT_ARRAY"), "FILE:9: error: ElementType MET_USHORT_ARRAY is not read"),
        (local.replace("NDims = 3", "ElementNumberOfChannels = 3"), "3 numbers a voxel"),
        (local.replace("BinaryData = True", "BinaryData = False"), "voxels as text are not read"),
        (packed.replace("4 3 2", "4 3 200000"), "more than"),
        (detached.replace("voxels.raw", "LIST"), "0 data files are named for 2 layers"),
        (detached.replace("voxels.raw", "LIST\nvoxels.raw\nabsent.raw"), "absent.raw: No such file"),
        (packed.replace("LOCAL", "LIST\nvoxels.raw"), "several packed data files"),
        (
            format!("TransformMatrix = 1 0 0 0.5 0.866 0 0 0 1\n{local}"),
            "FILE:1: error: the header's axes are not at right",
        ),
    ] {
        let is_listed = text.contains("= LIST");
        let voxels = if is_listed { Vec::new() } else { samples(false) };
        let error = opened(&folder.write("x.mha", &[text.as_bytes(), &voxels])).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

/// A NIfTI header: version 1 or 2, either byte order.
pub(crate) fn nifti(version: u8, big: bool, slope: f32) -> Vec<u8> {
    let (size, offset) = if version == 1 { (348, 352u64) } else { (540, 544) };
    let mut h = vec![0; offset as usize];
    let mut put = |at: usize, bytes: &[u8]| {
        let bytes: Vec<u8> = if big { bytes.iter().rev().copied().collect() } else { bytes.to_vec() };
        h[at..at + bytes.len()].copy_from_slice(&bytes);
    };
    put(0, &(size as u32).to_le_bytes());
    for (i, n) in [3i64, 4, 3, 2, 1, 1, 1, 1].into_iter().enumerate() {
        if version == 1 { put(40 + 2 * i, &(n as i16).to_le_bytes()) } else { put(16 + 8 * i, &n.to_le_bytes()) }
    }
    for (i, edge) in [1.0, 60.0, 60.0, 60.0].into_iter().enumerate() {
        if version == 1 {
            put(76 + 4 * i, &(edge as f32).to_le_bytes())
        } else {
            put(104 + 8 * i, &f64::to_le_bytes(edge))
        }
    }
    if version == 1 {
        put(70, &512i16.to_le_bytes());
        put(108, &(offset as f32).to_le_bytes());
        put(112, &slope.to_le_bytes());
        put(116, &(-5.0f32).to_le_bytes());
        put(123, &[3]);
        h[344..347].copy_from_slice(b"n+1");
    } else {
        put(12, &512i16.to_le_bytes());
        put(168, &offset.to_le_bytes());
        put(176, &f64::from(slope).to_le_bytes());
        put(184, &(-5.0f64).to_le_bytes());
        put(500, &3u32.to_le_bytes());
        h[4..7].copy_from_slice(b"n+2");
    }
    h
}

#[test]
fn nifti_versions_orders_and_pairs() {
    let folder = Folder::new();
    for version in [1, 2] {
        for big in [false, true] {
            let head = nifti(version, big, 2.0);
            let header = check(&folder.write("a.nii", &[&head, &samples(big)]));
            assert_eq!(header.rescale, Some([2.0, -5.0]));
            assert!(header.spacing.unwrap().iter().all(|edge| (edge - 0.06).abs() < 1e-12));
            check(&folder.write("b.nii.gz", &[&gzip(&[head.clone(), samples(big)].concat())]));
        }
    }
    let mut pair = nifti(1, false, 0.0);
    pair[344..347].copy_from_slice(b"ni1");
    pair[108..112].copy_from_slice(&0f32.to_le_bytes());
    folder.write("c.img", &[&samples(false)]);
    assert_eq!(check(&folder.write("c.hdr", &[&pair])).rescale, None);
    // Where the header puts the first voxel's centre, and what its axes are: by matrix, and by quaternion.
    let placed = |codes: [u8; 2], numbers: &[(usize, f32)]| {
        let mut head = nifti(1, false, 1.0);
        (head[254], head[252]) = (codes[0], codes[1]);
        numbers.iter().for_each(|(at, x)| head[*at..at + 4].copy_from_slice(&x.to_le_bytes()));
        opened(&folder.write("p.nii", &[&head, &samples(false)]))
    };
    let matrix = [(280, 60.0), (292, 1000.0), (300, 60.0), (308, 2000.0), (320, 60.0), (324, 3000.0)];
    let close = |found: Option<[f64; 3]>, expected: [f64; 3]| {
        assert!(found.unwrap().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    };
    let header = placed([1, 0], &matrix).unwrap().header().clone();
    close(header.origin, [0.97, 1.97, 2.97]);
    assert!(header.notes.is_empty() && header.spacing == Some([0.06; 3]), "{header:?}");
    let header = placed([0, 1], &[(268, 1000.0), (272, 2000.0), (276, 3000.0)]).unwrap().header().clone();
    close(header.origin, [0.97, 1.97, 2.97]);
    assert!(header.notes.is_empty(), "{header:?}");
    let turned = placed([0, 1], &[(264, 0.5_f32.sqrt())]).unwrap().header().clone();
    assert!(turned.notes[0].contains("turned against x, y and z"), "{turned:?}");
    let mirrored =
        placed([1, 0], &matrix.map(|(at, x)| (at, if at == 280 { -x } else { x }))).unwrap().header().clone();
    assert!(mirrored.notes[0].contains("turned against x, y and z"), "{mirrored:?}");
    let other = matrix.map(|(at, x)| (at, if x == 60.0 { 30.0 } else { x }));
    let header = placed([1, 0], &other).unwrap().header().clone();
    assert!(header.notes[0].contains("by pixdim"), "{header:?}");
    close(header.spacing, [0.03; 3]);
    let slanted = [matrix.as_slice(), &[(284, 30.0)]].concat();
    assert!(placed([1, 0], &slanted).unwrap_err().contains("not at right angles"));
    // A tenth in single precision is a tenth.
    close(placed([0, 0], &[(80, 0.1), (84, 0.1), (88, 0.1)]).unwrap().header().spacing, [1e-4; 3]);
    let mut series = nifti(1, false, 1.0);
    series[40] = 4;
    series[48] = 7;
    assert!(opened(&folder.write("d.nii", &[&series, &samples(false)])).unwrap_err().contains("not series"));
    let mut large = nifti(1, false, 1.0);
    large[46..48].copy_from_slice(&30_000i16.to_le_bytes());
    large[42..44].copy_from_slice(&30_000i16.to_le_bytes());
    assert!(opened(&folder.write("e.nii", &[&large, &samples(false)])).unwrap_err().contains("the file holds 48"));
    let packed = gzip(&[large, samples(false)].concat());
    assert!(opened(&folder.write("e.nii.gz", &[&packed])).unwrap_err().contains("packed bytes can hold"));
}

/// An AIM file of 8-bit voxels, version 2 or 3, of the given type, border and stored voxels.
fn aim(version: u8, kind: u32, border: i64, voxels: &[u8]) -> Vec<u8> {
    let word = if version == 3 { 8 } else { 4 };
    let number = |x: i64| x.to_le_bytes()[..word].to_vec();
    let mut s = vec![0; if version == 3 { 12 } else { 20 }];
    s.extend(kind.to_le_bytes());
    for triple in [[10, 20, 30], [4, 3, 2].map(|n| n + 2 * border), [border; 3], [0; 3], [0; 3], [0; 3], [0; 3]] {
        triple.into_iter().for_each(|x| s.extend(number(x)));
    }
    if version == 3 {
        (0..3).for_each(|_| s.extend(number(82_000)))
    } else {
        (0..3).for_each(|_| s.extend([0xa7, 0x3e, 0x9e, 0xef]))
    }
    s.resize(if version == 3 { 224 } else { 140 }, 0);
    let log = b"! Processing Log\nMu_Scaling                4096\nDensity: slope      1.5e+03\nDensity: intercept  -300.0\nHU: mu water   0.25\n";
    let mut bytes = if version == 3 { b"AIMDATA_V030   \0".to_vec() } else { Vec::new() };
    for length in [5 * word, s.len(), log.len(), voxels.len(), 0] {
        bytes.extend(number(length as i64));
    }
    bytes.extend(s);
    bytes.extend(log);
    bytes.extend(voxels);
    bytes
}

#[test]
fn aim_versions_and_packings() {
    let folder = Folder::new();
    let voxels: Vec<u8> = (0..24).map(|v| if v % 7 < 3 { 127 } else { 0 }).collect();
    let all = |path: &Path| {
        let mut stack = opened(path).unwrap();
        let mut read = Vec::new();
        stack.read_layers(0..2, &mut read).unwrap();
        (stack.header().clone(), read)
    };
    for version in [2, 3] {
        let length = |n: usize| (n as u64).to_le_bytes()[..if version == 3 { 8 } else { 4 }].to_vec();
        let (header, read) = all(&folder.write("a.aim", &[&aim(version, 0x0001_0001, 0, &voxels)]));
        assert_eq!((header.size, header.spacing, read == voxels), (SIZE, Some([0.082; 3]), true));
        assert_eq!((header.calibration.mu_scaling, header.calibration.mu_water), (Some(4096.0), Some(0.25)));
        assert!((header.origin.unwrap()[2] - 30.0 * 0.082).abs() < 1e-12);
        // Value and length.
        let runs: Vec<u8> = voxels.chunk_by(|a, b| a == b).flat_map(|run| [run[0], run.len() as u8]).collect();
        let packed = [length(runs.len()), runs].concat();
        assert_eq!(all(&folder.write("b.aim", &[&aim(version, 0x0008_0002, 0, &packed)])).1, voxels);
        let (bordered, read) = all(&folder.write("c.aim", &[&aim(version, 0x0008_0002, 1, &packed)]));
        assert_eq!((bordered.size, read == voxels), (SIZE, true));
        // Lengths of two values in turn; 255 goes on with the same value.
        let lengths: Vec<u8> = voxels.chunk_by(|a, b| a == b).map(|run| run.len() as u8).collect();
        let packed = [length(lengths.len() + 2), vec![127, 0], lengths].concat();
        assert_eq!(all(&folder.write("d.aim", &[&aim(version, 0x0015_0001, 0, &packed)])).1, voxels);
        let mut bits = [0u8; 5];
        for (v, &voxel) in voxels.iter().enumerate() {
            let (i, j, k) = (v % 4, v / 4 % 3, v / 12);
            bits[i / 2 + 2 * (j / 2)] |= u8::from(voxel != 0) << (i % 2 + 2 * (j % 2) + 4 * k);
        }
        bits[4] = 127;
        assert_eq!(all(&folder.write("e.aim", &[&aim(version, 0x0006_0001, 0, &bits)])).1, voxels);
        let short = aim(version, 0x0001_0001, 0, &voxels[..20]);
        assert!(
            opened(&folder.write("f.aim", &[&short]))
                .unwrap_err()
                .contains("claims 24 bytes of voxels, the file holds 20")
        );
        let unknown = aim(version, 0x0011_0001, 0, &voxels);
        assert!(opened(&folder.write("g.aim", &[&unknown])).unwrap_err().contains("0x00110001 are not read"));
    }
    let mut long = vec![255; 4];
    long.push(46);
    let packed = [5u32.to_le_bytes().as_slice(), &[127, 0], &long].concat();
    let mut large = aim(2, 0x0015_0001, 0, &packed);
    large[56..60].copy_from_slice(&(1062i32 / 4).to_le_bytes());
    large[60..64].copy_from_slice(&2i32.to_le_bytes());
    large[64..68].copy_from_slice(&2i32.to_le_bytes());
    let mut stack = opened(&folder.write("h.aim", &[&large])).unwrap();
    assert_eq!(stack.header().size, [265, 2, 2]);
    let mut read = Vec::new();
    stack.read_layers(0..2, &mut read).unwrap();
    assert!(read.iter().all(|&v| v == 127) && read.len() == 1060);
}

#[test]
fn raw_files_may_have_a_description_beside_them() {
    let folder = Folder::new();
    let path = folder.write("a.raw", &[b"head", &samples(true)]);
    let text = "shape = [4, 3, 2]\ntype = \"uint16\"\nendian = \"big\"\nheader_bytes = 4\nspacing = 0.1\n";
    folder.write("a.raw.toml", &[text.as_bytes()]);
    assert_eq!(check(&path).spacing, Some([0.1; 3]));
    folder.write("a.raw.toml", &[text.replace("endian", "endiann").as_bytes()]);
    assert!(opened(&path).unwrap_err().contains("FILE.toml:3: unknown field"));
}

/// Small files of all formats.
fn specimens() -> Vec<(&'static str, Vec<u8>)> {
    let npy_text = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }\n";
    let nrrd =
        "NRRD0004\ntype: unsigned short\ndimension: 3\nsizes: 4 3 2\nendian: little\nspacings: 1 1 1\nencoding: ";
    let meta = "ObjectType = Image\nNDims = 3\nDimSize = 4 3 2\nElementType = MET_USHORT\nElementDataFile = LOCAL\n";
    let runs = [6u32.to_le_bytes().as_slice(), &[127, 0, 5, 10, 9]].concat();
    let bits = vec![0x55; 5];
    let mut isq = vec![0; 512];
    isq[..16].copy_from_slice(b"CTDATA-HEADER_V1");
    for (i, n) in [4, 3, 2, 40, 30, 20].into_iter().enumerate() {
        isq[44 + 4 * i] = n;
    }
    vec![
        ("a.npy", [npy(1, npy_text), samples(false)].concat()),
        ("a.nrrd", [format!("{nrrd}raw\n\n").into_bytes(), samples(false)].concat()),
        ("b.nrrd", [format!("{nrrd}gzip\n\n").into_bytes(), gzip(&samples(false))].concat()),
        ("a.mha", [meta.as_bytes().to_vec(), samples(false)].concat()),
        ("b.mha", [format!("CompressedData = True\n{meta}").into_bytes(), zlib(&samples(false))].concat()),
        ("a.nii", [nifti(1, false, 1.0), samples(false)].concat()),
        ("b.nii", [nifti(2, true, 1.0), samples(true)].concat()),
        ("c.nii.gz", gzip(&[nifti(1, false, 1.0), samples(false)].concat())),
        ("a.aim", aim(2, 0x0015_0001, 0, &runs)),
        ("b.aim", aim(3, 0x0006_0001, 0, &bits)),
        ("a.isq", [isq, samples(false)].concat()),
    ]
}

#[test]
fn specimens_are_read() {
    let folder = Folder::new();
    for (name, bytes) in specimens() {
        let stack = opened(&folder.write(name, &[&bytes])).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(stack.header().size, SIZE, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Headers that were tampered with give a stack or an error: no panic, no memory that the file cannot fill.
    #[test]
    fn tampering_is_survived(
        which in 0usize..11, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = Folder::new();
        let (name, mut bytes) = specimens().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(bytes.len().min(600));
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(mut stack) = opened(&folder.write(name, &[&bytes])) {
            let (_, claimed) = stack.header().bytes().unwrap();
            prop_assert!(claimed <= 1100 * bytes.len() as u64, "{name} of {} bytes claims {claimed}", bytes.len());
            let mut read = Vec::new();
            let n = stack.n_layers();
            let _ = stack.read_layers(n - 1..n, &mut read);
            let _ = stack.read_layers(0..1, &mut read);
        }
    }
}
