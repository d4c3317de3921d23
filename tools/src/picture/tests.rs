use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;

use super::*;
use crate::explicit::arrange::Arranged;
use crate::explicit::arrange::tests::{arranged, solid, triangles};
use crate::partition::Partitioner;

/// Width, height and pixels.
fn read(path: &Path) -> (usize, usize, Vec<[u8; 3]>) {
    let decoder = png::Decoder::new(BufReader::new(File::open(path).expect("it was written")));
    let mut reader = decoder.read_info().expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a small picture")];
    let frame = reader.next_frame(&mut bytes).expect("a whole picture");
    (frame.width as usize, frame.height as usize, bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

/// Calls with the blocks of a mesh as parts.
fn with_parts<T>(arranged: &Arranged, call: impl FnOnce(&Parts) -> T) -> T {
    let blocks = arranged.blocks.view();
    call(&Parts { first: blocks.node_first, halo: &|block| blocks.halo(block) })
}

fn draw_blocks(arranged: &Arranged, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
    with_parts(arranged, |parts| draw(&arranged.mesh.view(), parts, path, ("plate", "block"), options))
}

#[test]
fn a_plate_shows_each_block_in_a_colour_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plate.png");
    let model = triangles(40, 20, |i, j| !((10..14).contains(&i) && (8..12).contains(&j)));
    let arranged = arranged(&model, Partitioner::Aligned, 100, false);
    let options = PictureOptions { size: Some(1000), window: None };
    let drawn = draw_blocks(&arranged, &path, &options).expect("a picture");
    assert_eq!(drawn, pogo_formats::words::counted(arranged.blocks.view().n_blocks(), "block"));
    let (width, _, pixels) = read(&path);
    assert_eq!(width, 1000);
    // Where the plate lies in the picture: its outline is the only ink within the axes.
    let mesh = arranged.mesh.view();
    let picture = MeshPicture::new(&mesh, None, None, plot_width(1000, true, false));
    let at = |x: f64, y: f64| {
        let [x, y, _] = picture.camera.project([x, y, 0.0]);
        pixels[(y as usize + 112) * width + x as usize + 132]
    };
    assert_eq!(at(12.0, 10.0), [255; 3], "the hole");
    let colours = with_parts(&arranged, colours);
    for (node, &solver) in arranged.solver_from_model.iter().enumerate() {
        let (x, y) = (node % 41, node / 41);
        let block = arranged.blocks.node_first.partition_point(|&first| first <= solver) - 1;
        if (1..40).contains(&x) && (1..20).contains(&y) && !((10..=14).contains(&x) && (8..=12).contains(&y)) {
            // Three pixels from the edges of the elements, which are lines of some width.
            assert_eq!(at(x as f64 + 0.35, y as f64 + 0.15), colours[block], "node {x}, {y}");
        }
    }
}

#[test]
fn a_solid_shows_its_surface_in_the_colours_of_the_blocks_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("solid.png");
    let arranged = arranged(&solid(6), Partitioner::Aligned, 60, false);
    draw_blocks(&arranged, &path, &PictureOptions { size: Some(600), window: None }).expect("a picture");
    let (_, _, pixels) = read(&path);
    let colours: BTreeSet<[u8; 3]> = with_parts(&arranged, colours).into_iter().collect();
    let n_drawn = pixels.iter().filter(|p| colours.contains(*p)).count();
    // The rest is title, axes and the space round the solid.
    assert!(n_drawn * 8 > pixels.len(), "{n_drawn} of {}", pixels.len());
    let seen = pixels.iter().filter(|p| colours.contains(*p)).collect::<BTreeSet<_>>();
    assert!(seen.len() > 1, "several blocks");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let arranged = arranged(&triangles(2, 2, |_, _| true), Partitioner::Greedy, 100, false);
    let try_to = |options| draw_blocks(&arranged, Path::new("/nowhere/at/all.png"), &options);
    assert!(matches!(try_to(PictureOptions { size: Some(1), window: None }), Err(PictureError::Size(1))));
    for window in [[0.0, 0.0, f64::NAN, 1.0], [0.0, 0.0, -1.0, 1.0]] {
        let refused = try_to(PictureOptions { size: Some(1000), window: Some(window) });
        assert!(matches!(refused, Err(PictureError::Empty(_))), "{window:?}");
    }
    assert!(matches!(try_to(PictureOptions::default()), Err(PictureError::Write(_))));
}
