//! Cut files and changed strips: no page is lost and no pixel changes in silence.

use super::*;

/// All samples, or none where there is an error.
fn read(bytes: &[u8]) -> Option<Vec<u8>> {
    let (_folder, there) = stack(bytes);
    let mut there = there.ok()?;
    let mut samples = Vec::new();
    there.read_layers(0..there.n_layers(), &mut samples).ok().map(|()| samples)
}

#[test]
fn a_cut_file_does_not_lose_pages() {
    let samples = noise(6 * 4 * 3);
    for (big_tiff, big_endian, compression) in [(false, false, 1), (true, false, 1), (false, true, 8), (true, true, 5)]
    {
        let mut writer = Writer::new(Kind { big_tiff, big_endian, compression, ..PLAIN });
        samples.chunks(24).for_each(|page| writer.page(6, 1, page, &[], ""));
        assert_eq!(read(&writer.bytes).as_ref(), Some(&samples));
        for cut in 0..writer.bytes.len() {
            assert_eq!(read(&writer.bytes[..cut]), None, "cut at {cut} of {}", writer.bytes.len());
        }
    }
    // All directories before all pixels, as some writers have it.
    let mut writer = Writer::new(PLAIN);
    for page in 0..3 {
        // A directory takes 106 bytes with the nine behind its text.
        let offset = 8 + 3 * 111 + 24 * page;
        let entries = [(256, 6), (257, 4), (258, 8), (259, 1), (262, 1), (273, offset), (278, 4), (279, 24)];
        writer.directory(entries.iter().map(|&(tag, value)| (tag, vec![value])).collect(), "");
    }
    assert_eq!(writer.bytes.len(), 8 + 3 * 111);
    writer.bytes.extend(&samples);
    assert_eq!(read(&writer.bytes).as_ref(), Some(&samples));
    (0..writer.bytes.len()).for_each(|cut| assert_eq!(read(&writer.bytes[..cut]), None, "cut at {cut}"));
}

#[test]
fn what_belongs_to_no_page_is_said() {
    let samples = noise(6 * 4 * 3);
    let mut writer = Writer::new(PLAIN);
    samples.chunks(24).for_each(|page| writer.page(6, 1, page, &[], "some text"));
    let mut one = Writer::new(PLAIN);
    one.bytes.extend(&samples);
    let entries = [(256, 6), (257, 4), (258, 8), (259, 1), (262, 1), (273, 8), (278, 4), (279, 24)];
    let entries = entries.iter().map(|&(tag, value)| (tag, vec![value])).collect();
    one.directory(entries, "ImageJ=1.53q\nimages=3\nslices=3\n");
    for whole in [writer.bytes, one.bytes] {
        let warnings = |bytes: &[u8]| stack(bytes).1.unwrap().header().warnings.clone();
        assert!(warnings(&whole).is_empty() && warnings(&[&whole[..], &[7; 40]].concat()).is_empty());
        let twice = [&whole[..], &whole[..]].concat();
        assert!(warnings(&twice)[0].starts_with(&format!("{} bytes of this file belong to no page", whole.len())));
        assert_eq!(read(&twice), Some(samples.clone()));
    }
}

#[test]
fn pages_that_imagej_counted_must_be_there() {
    for (n, is_read) in [(4, false), (5, true), (6, false)] {
        let mut writer = Writer::new(PLAIN);
        (0..n).for_each(|_| writer.page(8, 1, &noise(64), &[], "ImageJ=1.53q\nimages=5\nslices=5\n"));
        let (_folder, there) = stack(&writer.bytes);
        match there {
            Ok(there) => assert!(is_read && there.header().size[2] == 5),
            Err(error) => assert!(!is_read && error.contains(&format!("names 5 pages, but it has {n}")), "{error}"),
        }
    }
}

#[test]
fn changes_of_packed_strips_are_noticed() {
    let samples = noise(12 * 9);
    for tile in [None, Some(16)] {
        let mut writer = Writer::new(Kind { compression: 8, rows_per_strip: 4, tile, ..PLAIN });
        writer.page(12, 1, &samples, &[], "");
        // The strips come first.
        let end = u32::from_le_bytes(writer.bytes[4..8].try_into().unwrap()) as usize - 40;
        assert_eq!(read(&writer.bytes).as_ref(), Some(&samples));
        let mut noticed = 0;
        for bit in 64..8 * end {
            let mut damaged = writer.bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match read(&damaged) {
                Some(found) => assert!(found == samples, "bit {bit}"),
                None => noticed += 1,
            }
        }
        assert!(noticed > 7 * (end - 8), "{noticed} changes of {} are noticed", 8 * (end - 8));
    }
}

#[test]
fn the_checksum_of_zstandard_is_compared() {
    // 24 pixels that count from 0 to 4 again and again, by zstd 1.5 with a checksum.
    let frame = b"\x28\xb5\x2f\xfd\x24\x18\x5d\x00\x00\x28\x00\x01\x02\x03\x04\x01\x00\x48\x8a\x16\xc3\x56\xf7\xca";
    let expected: Vec<u8> = (0..24).map(|i| i % 5).collect();
    let mut writer = Writer::new(PLAIN);
    writer.bytes.extend(frame);
    let entries =
        [(256, 6), (257, 4), (258, 8), (259, 50_000), (262, 1), (273, 8), (278, 4), (279, frame.len() as u64)];
    writer.directory(entries.iter().map(|&(tag, value)| (tag, vec![value])).collect(), "");
    assert_eq!(read(&writer.bytes).as_ref(), Some(&expected));
    for bit in 64..64 + 8 * frame.len() {
        let mut damaged = writer.bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&damaged).is_none_or(|found| found == expected), "bit {bit}");
    }
}

/// Small files of several kinds, for the corpus of the fuzz target.
pub(crate) fn specimens() -> Vec<(String, Vec<u8>)> {
    let kinds = [(1, false, None), (5, true, None), (8, false, Some(16)), (32_773, true, None)];
    let file = |(compression, big_tiff, tile)| {
        let mut writer = Writer::new(Kind { compression, big_tiff, big_endian: big_tiff, tile, ..PLAIN });
        (0..2)
            .for_each(|page| writer.page(7, 2, &noise(70)[14 * page..14 * page + 56], &[], "ImageJ=1.53q\nimages=2\n"));
        (format!("tiff-{compression}"), writer.bytes)
    };
    kinds.into_iter().map(file).collect()
}
