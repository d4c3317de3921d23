//! Damaged, cut and doubled files: an error, a warning, or the same voxels, but never others in silence.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::*;

/// What a stack gives: size, edges, origin, slope, and samples by layers.
type Content = ([usize; 3], Option<[f64; 3]>, Option<[f64; 3]>, Option<[f64; 2]>, Vec<u8>);

/// Reads a stack as a user of the library does: the layers of a crop, and the rest only through [`Stack::finish`]; then all.
fn content(path: &Path) -> Result<(Content, Vec<String>), String> {
    let mut stack = opened(path)?;
    let error = |error: ImageError| error.message;
    let mut samples = Vec::new();
    stack.read_layers(0..1, &mut samples).map_err(error)?;
    stack.finish().map_err(error)?;
    let n = stack.n_layers();
    stack.read_layers(0..n, &mut samples).map_err(error)?;
    let header = stack.header();
    Ok(((header.size, header.spacing, header.origin, header.rescale, samples), header.warnings.clone()))
}

/// Changes a bit of each byte of `range`, and cuts the file at every fourth: an error or the same content. Gives the number of
/// changes that were not noticed.
fn changes(folder: &Folder, name: &str, bytes: &[u8], range: Range<usize>) -> usize {
    let path = folder.write(name, &[bytes]);
    let expected = content(&path).unwrap_or_else(|error| panic!("{name}: {error}")).0;
    // In place, since rewriting a file each time makes some file systems flush.
    let file = File::options().write(true).open(&path).unwrap();
    let mut same = 0;
    for at in range {
        file.write_at(&[bytes[at] ^ 1 << (5 * at % 8)], at as u64).unwrap();
        if let Ok((found, _)) = content(&path) {
            assert!(found == expected, "{name}: a changed bit of byte {at} gives other voxels");
            same += 1;
        }
        file.write_at(&bytes[at..=at], at as u64).unwrap();
        if at % 4 == 0 {
            file.set_len(at as u64).unwrap();
            assert!(content(&path).is_err(), "{name}: cut at {at}");
            file.write_at(&bytes[at..], at as u64).unwrap();
        }
    }
    same
}

/// An npz archive of an array and the size and place of its voxels.
fn npz(deflated: bool) -> Vec<u8> {
    let method = if deflated { zip::CompressionMethod::DEFLATE } else { zip::CompressionMethod::Stored };
    let three = |x: f64| {
        let numbers: Vec<u8> = [x, 2.0 * x, 3.0 * x].iter().flat_map(|x| x.to_le_bytes()).collect();
        [npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n"), numbers].concat()
    };
    let image = [npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }\n"), samples(false)].concat();
    let entries = [("image", image), ("spacing_xyz", three(0.1)), ("origin_xyz", three(7.0))];
    archive(&entries, method)
}

/// A zip archive, written by hand: the crate is used without compression.
fn archive(entries: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let is_deflated = method == zip::CompressionMethod::DEFLATE;
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in entries {
        let name = format!("{name}.npy");
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let packed = if is_deflated { deflate(bytes) } else { bytes.clone() };
        let mut common: Vec<u8> =
            [20u16, 0, if is_deflated { 8 } else { 0 }, 0, 0x21].iter().flat_map(|x| x.to_le_bytes()).collect();
        for word in [crc.sum(), packed.len() as u32, bytes.len() as u32] {
            common.extend(word.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        let at = file.len() as u32;
        file.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), &packed].concat());
        directory.extend([&b"PK\x01\x02\x14\0"[..], &common, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, n) = (file.len() as u32, (entries.len() as u16).to_le_bytes());
    file.extend(&directory);
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &n, &n, &(directory.len() as u32).to_le_bytes(), &at.to_le_bytes(), &[0; 2]];
    file.extend(end.concat());
    file
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn parosol() -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.0.path().join("model.h5");
    let mut builder = hdf5_pure::FileBuilder::new();
    let moduli: Vec<f32> = (0..240).map(|v| (v * v % 37) as f32).collect();
    let mut group = builder.create_group("Image_Data");
    group.create_dataset("Image").with_f32_data(&moduli).with_shape(&[6, 8, 5]).with_chunks(&[6, 8, 5]).with_deflate(4);
    group.create_dataset("Voxelsize").with_f64_data(&[0.082]);
    builder.add_group(group.finish());
    builder.write(&path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn changes_of_packed_voxels_are_noticed() {
    let folder = Folder::new();
    let nifti = gzip(&[nifti(1, false, 1.0), samples(false)].concat());
    // Time, operating system and the like.
    assert!(changes(&folder, "a.nii.gz", &nifti, 0..nifti.len()) <= 10);
    for deflated in [false, true] {
        let npz = npz(deflated);
        // What the archive says twice, and attributes of its entries.
        assert!(changes(&folder, "a.npz", &npz, 0..npz.len()) < npz.len() / 3);
    }
    for (name, bytes) in
        specimens().into_iter().filter(|(name, _)| name.starts_with("b.nrrd") || name.starts_with("b.mha"))
    {
        let packed = if name == "b.mha" { zlib(&samples(false)) } else { gzip(&samples(false)) };
        let start = bytes.len() - packed.len();
        assert!(changes(&folder, name, &bytes, start..bytes.len()) <= 10, "{name}");
    }
    let parosol = parosol();
    let moduli: Vec<u8> = (0..240).flat_map(|v| ((v * v % 37) as f32).to_le_bytes()).collect();
    let (start, _) = (0..parosol.len() - 2)
        .filter(|&at| parosol[at] == 0x78)
        .find_map(|at| {
            let mut out = Vec::new();
            let mut stream = flate2::bufread::ZlibDecoder::new(&parosol[at..]);
            std::io::Read::read_to_end(&mut stream, &mut out).ok().filter(|_| out == moduli).map(|n| (at, n))
        })
        .unwrap();
    let mut stream = flate2::bufread::ZlibDecoder::new(&parosol[start..]);
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert_eq!(changes(&folder, "a.h5", &parosol, start..start + stream.total_in() as usize), 0);
}

#[test]
fn what_is_left_over_is_said() {
    let folder = Folder::new();
    let warned = |path: &Path, n: usize| {
        let (content, warnings) = content(path).unwrap();
        assert_eq!(content.4, samples(false), "{}", path.display());
        let expected = format!("{n} bytes left over behind the last of 4 × 3 × 2 voxels");
        assert!(matches!(&warnings[..], [warning] if warning.starts_with(&expected)), "{warnings:?}");
    };
    let twice = [samples(false), samples(false)].concat();
    let meta = "ObjectType = Image\nNDims = 3\nDimSize = 4 3 2\nElementType = MET_USHORT\nElementDataFile = ";
    let nrrd = "NRRD0004\ntype: ushort\ndimension: 3\nsizes: 4 3 2\nendian: little\nencoding: ";
    folder.write("v.raw", &[&twice]);
    warned(&folder.write("a.mhd", &[meta.as_bytes(), b"v.raw\n"]), 48);
    warned(&folder.write("a.mha", &[meta.as_bytes(), b"LOCAL\n", &twice]), 48);
    warned(&folder.write("b.mha", &[b"CompressedData = True\n", meta.as_bytes(), b"LOCAL\n", &zlib(&twice)]), 48);
    warned(&folder.write("a.nhdr", &[nrrd.as_bytes(), b"raw\ndata file: v.raw\n"]), 48);
    warned(&folder.write("a.nrrd", &[nrrd.as_bytes(), b"raw\n\n", &twice]), 48);
    warned(
        &folder.write("b.nrrd", &[nrrd.as_bytes(), b"gzip\n\n", &gzip(&samples(false)), &gzip(&samples(false))]),
        48,
    );
    warned(&folder.write("a.nii", &[&nifti(1, false, 1.0), &twice]), 48);
    let npy = npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }\n");
    warned(&folder.write("a.npy", &[&npy, &twice]), 48);
    warned(&folder.write("a.npz", &[&archive(&[("a", [npy, twice].concat())], zip::CompressionMethod::Stored)]), 48);
    let raw = folder.write("b.raw", &[b"head", &samples(false), b"tail"]);
    folder.write("b.raw.toml", &[b"shape = [4, 3, 2]\ntype = \"uint16\"\nheader_bytes = 4\n"]);
    warned(&raw, 4);
    let skipped = |path: &Path| {
        let warnings = content(path).unwrap().1;
        assert!(
            matches!(&warnings[..], [warning] if warning.contains("-1, 48 bytes before the voxels")),
            "{warnings:?}"
        );
    };
    skipped(&folder.write("c.mhd", &[b"HeaderSize = -1\n", meta.as_bytes(), b"v.raw\n"]));
    skipped(&folder.write("c.nhdr", &[nrrd.as_bytes(), b"raw\nbyte skip: -1\ndata file: v.raw\n"]));
    let aim = aim(2, 0x0001_0001, 0, &[127; 24]);
    let filled = [aim.clone(), vec![0; 512 - aim.len()]].concat();
    let warnings = |bytes: &[u8]| opened(&folder.write("a.aim", &[bytes])).unwrap().header().warnings.clone();
    assert!(warnings(&aim).is_empty() && warnings(&filled).is_empty());
    assert!(warnings(&[filled.clone(), filled].concat())[0].contains("bytes follow what the header names"));
    // A stream that only begins with the voxels is not unpacked without end.
    let bomb = gzip(&vec![0; 65 << 20]);
    let path = folder.write("c.nrrd", &[nrrd.as_bytes(), b"gzip\n\n", &bomb]);
    assert!(content(&path).unwrap_err().contains("bytes follow the last voxel"));
}

#[test]
fn a_header_before_the_data_is_not_read_as_voxels() {
    let folder = Folder::new();
    let nrrd = b"NRRD0004\ntype: ushort\ndimension: 3\nsizes: 4 3 2\nendian: little\nencoding: raw\nbyte skip: -1\n\n";
    check(&folder.write("a.nrrd", &[nrrd, &samples(false)]));
    for cut in 0..48 {
        let error = opened(&folder.write("a.nrrd", &[nrrd, &samples(false)[..cut]])).unwrap_err();
        assert!(error.contains(&format!("claims 48 bytes of voxels, the file holds {cut}")), "{error}");
    }
}

#[test]
fn slices_in_files_of_their_own() {
    let folder = Folder::new();
    let head = "NDims = 3\nDimSize = 4 3 2\nElementType = MET_USHORT\n";
    let (a, b) = (&samples(false)[..24], &samples(false)[24..]);
    folder.write("s09.raw", &[a]);
    folder.write("s10.raw", &[b]);
    folder.write("both.raw", &[b"a header", &samples(false)]);
    for data in
        ["LIST\ns09.raw\n  s10.raw \n\n", "LIST 2D\ns09.raw\r\ns10.raw", "s%02d.raw 9 10 1\n", "s%02d.raw 9 10\n"]
    {
        let path = folder.write("a.mhd", &[format!("{head}ElementDataFile = {data}").as_bytes()]);
        assert!(check(&path).warnings.is_empty(), "{data}");
    }
    check(&folder.write("b.mhd", &[head.as_bytes(), b"HeaderSize = -1\nElementDataFile = LIST 3D\nboth.raw"]));
    let list = folder.write("c.mhd", &[head.as_bytes(), b"ElementDataFile = LIST\ns09.raw\ns10.raw"]);
    folder.write("s10.raw", &[b, b"more"]);
    assert!(content(&list).unwrap().1[0].starts_with("4 bytes left over behind"));
    folder.write("s10.raw", &[&b[1..]]);
    let error = opened(&list).unwrap_err();
    assert!(
        error.contains("FILE:4: error: data file ") && error.contains("s10.raw: the header claims 24 bytes"),
        "{error}"
    );
    for (data, message) in [
        ("LIST\ns09.raw", "claims 48 bytes of voxels, the file holds 24"),
        ("LIST 4D\ns09.raw", "is LIST or LIST 2D"),
        ("s%s.raw 1 2 1", "a pattern of"),
    ] {
        let error = opened(&folder.write("d.mhd", &[format!("{head}ElementDataFile = {data}").as_bytes()])).map(|_| ());
        assert!(error.as_ref().is_err_and(|error| error.contains(message)), "{error:?}");
    }
}

#[test]
fn voxels_that_are_no_numbers_are_named() {
    let folder = Folder::new();
    let job = |law: &str, image: &str| {
        let law = match law {
            "threshold" => "law = \"threshold\"\nthreshold = 1\nyoung = 1",
            "modulus" => "law = \"modulus\"",
            _ => "law = \"labels\"\nother = \"void\"\nlabels = [{ value = 1, young = 1, name = \"a\" }]",
        };
        let text = format!("[image]\nspacing = 1\n{image}\n[material]\n{law}\npoisson = 0.3\n");
        <crate::voxel::job::VoxelJob as crate::job::JobFile>::parse(&text, "job.toml", Path::new("")).unwrap()
    };
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }\n";
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = [1f32; 24];
        values[3 + 4 * (2 + 3)] = bad;
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let path = folder.write("a.npy", &[&npy(1, text), &bytes]);
        for law in ["threshold", "modulus", "labels"] {
            for image in ["", "downsample = 2", "crop = [[2, 1, 1], [4, 3, 2]]", "resample = 0.7"] {
                let job = job(law, image);
                let error = job.image.voxel_grid(&path, &job.law()).map(|_| ()).unwrap_err().to_string();
                let expected = format!("a.npy: error: voxel (3, 2, 1) of the stack has the value {bad}");
                assert!(error.contains(&expected), "{law} {image}: {error}");
            }
        }
    }
}

/// The corpus of the fuzz target has a file of each kind. `POGO_WRITE_CORPUS=1` makes it anew; formats/tests/damaged.rs reads
/// it, whole and damaged.
#[test]
fn fuzz_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/image");
    let is_new = std::env::var_os("POGO_WRITE_CORPUS").is_some();
    let plain = specimens().into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    let archives = [("stored.npz", npz(false)), ("deflated.npz", npz(true)), ("parosol.h5", parosol())];
    let archives = archives.map(|(name, bytes)| (name.to_owned(), bytes));
    let pictures = tiff::tests::damage::specimens().into_iter().chain(slices::tests::specimens());
    for (name, bytes) in plain.chain(archives).chain(pictures) {
        if is_new {
            std::fs::create_dir_all(&corpus).unwrap();
            std::fs::write(corpus.join(&name), bytes).unwrap();
        }
        assert!(corpus.join(&name).is_file(), "the corpus has no {name}");
    }
}
