use super::*;
use crate::mesh::{ElementKind, Mesh};
use crate::write::plot::mesh_picture::tests::{brick, mesh, plate};
/// Rings around a point, m.
fn rings(mesh: &Mesh) -> Vec<f64> {
    let d = mesh.dimension as usize;
    mesh.coordinates
        .chunks_exact(d)
        .map(|x| {
            let r = x.iter().map(|x| (x - 8e-3).powi(2)).sum::<f64>().sqrt();
            3e-9 * (-((r - 9e-3) / 3e-3).powi(2)).exp() * (r * 3000.0).cos().abs()
        })
        .collect()
}

fn size(path: &Path) -> (u32, u32) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    decoder.read_info().unwrap().info().size()
}

/// Pictures go to the folder `POGO_PICTURES` when it is set, to be looked at.
fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("POGO_PICTURES").map_or(temporary.path().to_path_buf(), Into::into);
    (temporary, folder)
}

#[test]
fn snapshots_of_plates_and_bricks_are_drawn() {
    let (_guard, folder) = folder();
    for (name, mesh) in [("plate", plate(160)), ("coarse", plate(30)), ("brick", brick(40))] {
        let path = folder.join(format!("{name}.png"));
        let options = Look { title: "Plate with a hole".into(), ..Look::default() };
        snapshot_png(&path, &mesh.view(), Scalar::Nodal(&rings(&mesh)), &options, &at_time(4.25e-6)).unwrap();
        let (width, height) = size(&path);
        assert_eq!(width, 1400);
        assert!((400..1500).contains(&height), "{height}");
    }
}

#[test]
fn element_values_signs_and_flat_meshes_are_drawn() {
    let (_guard, folder) = folder();
    let strip = mesh(2, vec![0.0, 0.0, 1.0, 0.0, 1.0, 0.01, 0.0, 0.01], ElementKind::Cps4r, vec![0, 1, 2, 3]);
    let options = Look { unit: "J/m³".into(), label: "energy".into(), ..Look::default() };
    snapshot_png(&folder.join("strip.png"), &strip.view(), Scalar::Elemental(&[2.5]), &options, "").unwrap();
    assert_eq!(size(&folder.join("strip.png")).0, 1400);

    let plate = plate(80);
    let mut values: Vec<f64> = rings(&plate).iter().enumerate().map(|(i, v)| if i % 9 < 4 { -v } else { *v }).collect();
    values[5] = 1.0;
    values[7] = f64::NAN;
    let options = Look { map: Map::Diverging, label: "u2".into(), width: 1200, ..Look::default() };
    snapshot_png(&folder.join("signed.png"), &plate.view(), Scalar::Nodal(&values), &options, "").unwrap();
}

#[test]
fn lines_have_the_colours_of_their_values() {
    let plate = plate(8);
    let look = Look { range: Some([0.0, 1.0]), ..Look::default() };
    let scale = look.scale(&Spread::default());
    let around = MeshPicture::new(&plate.view(), None, None, sheet::plot_width(look.width, true, true));
    let coordinates = [4e-3, 4e-3, 0.0, 36e-3, 4e-3, 0.0, 4e-3, 16e-3, 0.0, 36e-3, 16e-3, 0.0];
    let values = [0.2, 0.2, 0.8, f64::INFINITY];
    let lines = Lines { coordinates: &coordinates, ends: &[0, 1, 0, 2, 2, 3], values: &values };
    let picture = look.picture_of_lines(&around, &lines, &scale, "");
    // The colour bar stands to the right of the drawing.
    let drawn = |colour| {
        let right = picture.width() - 272;
        let pixels = picture.pixels().iter().enumerate().filter(|(at, _)| at % picture.width() < right);
        pixels.filter(|(_, pixel)| **pixel == colour).count()
    };
    // Of one value, of the values between two, and of an unknown one.
    let half = around.camera.width / 2;
    assert!(drawn(scale.colour(0.2)) > half, "{}", drawn(scale.colour(0.2)));
    assert!(drawn(scale.colour(f64::INFINITY)) > half);
    let between = (0..100).map(|k| 0.2 + 0.006 * f64::from(k)).filter(|&value| drawn(scale.colour(value)) > 0);
    assert!(between.count() > 30);
    let (_guard, folder) = folder();
    picture.write_png(&folder.join("lines.png")).unwrap();
}

#[test]
fn wrong_sizes_are_refused() {
    let plate = plate(4);
    let error =
        snapshot_png(Path::new("x.png"), &plate.view(), Scalar::Nodal(&[1.0]), &Look::default(), "").unwrap_err();
    assert_eq!(error.to_string(), "x.png: error: 1 values for 15 nodes or elements");
}
