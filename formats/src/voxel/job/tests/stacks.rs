//! Stacks read as `[image]` and `[material]` say.

use super::*;
use crate::read::image::tests::{Folder, nifti, npy, samples};
use crate::read::image::{Report, VoxelGrid, VoxelModuli};

fn grid(path: &Path, job: &str) -> Result<(VoxelGrid, Report), String> {
    let job = VoxelJob::parse(job, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    job.image.voxel_grid(path, &job.law()).map_err(|error| error.to_string())
}

fn raw_job(image: &str, material: &str) -> String {
    format!(
        "[image]\nraw = {{ shape = [4, 3, 2], type = \"uint16\" }}\nspacing = 0.5\n{image}\n[material]\npoisson = 0.3\n{material}\n"
    )
}

fn classes(grid: &VoxelGrid) -> &[u8] {
    match &grid.moduli {
        VoxelModuli::Classes { class, .. } => class,
        VoxelModuli::Each(_) => panic!("this grid has no classes"),
    }
}

#[test]
fn laws_give_moduli() {
    let folder = Folder::new();
    let path = folder.write("a.raw", &[&samples(false)]);
    let row = |grid: &VoxelGrid| -> Vec<f64> {
        (0..4)
            .map(|v| match &grid.moduli {
                VoxelModuli::Classes { class, materials } => {
                    usize::from(class[v]).checked_sub(1).map_or(0.0, |c| materials[c].1)
                }
                VoxelModuli::Each(modulus) => f64::from(modulus[v]),
            })
            .collect()
    };
    for (material, expected) in [
        ("law = \"threshold\"\nthreshold = 200\nyoung = 5", [0.0, 0.0, 5.0, 5.0]),
        ("law = \"threshold\"\nthreshold = [100, 200, 300]\nyoung = [5, 6, 0]", [0.0, 5.0, 6.0, 0.0]),
        (
            "law = \"labels\"\nother = \"void\"\nlabels = [{ value = 300, young = 7 }, { value = 100, young = 8 }]",
            [0.0, 8.0, 0.0, 7.0],
        ),
        ("law = \"linear\"\nslope = 2\nintercept = -250", [0.0, 0.0, 150.0, 350.0]),
        (
            "law = \"linear\"\nslope = 2\nintercept = -250\nthreshold = 100\nminimum = 1\nmaximum = 200",
            [0.0, 1.0, 150.0, 200.0],
        ),
        ("law = \"power\"\nfactor = 16\nreference = 200\nexponent = 2", [0.0, 4.0, 16.0, 36.0]),
        ("law = \"modulus\"\nscale = 0.5", [0.0, 50.0, 100.0, 150.0]),
        (
            "law = \"linear\"\nslope = 1\nquantity = \"density\"\ncalibration = { slope = 2, intercept = -100 }",
            [0.0, 100.0, 300.0, 500.0],
        ),
    ] {
        let (grid, _) = grid(&path, &raw_job("", material)).unwrap();
        assert_eq!(row(&grid), expected, "{material}");
        assert_eq!(grid.spacing, 0.5);
    }
    let law = "law = \"linear\"\nslope = 1\nintercept = 0\nclasses = 3";
    let (quantised, report) = grid(&path, &raw_job("", law)).unwrap();
    assert_eq!(report.materials.len(), 3);
    // 1 to 321 in thirds.
    assert_eq!(classes(&quantised)[..4], [0, 1, 2, 3]);
    let young: Vec<f64> = report.materials.iter().map(|m| m.young).collect();
    assert!(
        young.iter().zip([1.0 + 320.0 / 6.0, 161.0, 321.0 - 320.0 / 6.0]).all(|(a, b)| (a - b).abs() < 1e-3),
        "{young:?}"
    );
    for (material, message) in [
        (
            "law = \"labels\"\nlabels = [{ value = 300, young = 7 }]",
            "voxel (1, 0, 0) has label 100, which `labels` does not list",
        ),
        ("law = \"threshold\"\nthreshold = 1000\nyoung = 5", "job.toml:5: error: no voxel of"),
        (
            "law = \"linear\"\nslope = 1\nquantity = \"hounsfield\"",
            "job.toml:5: error: the stack's header has no µ of water",
        ),
    ] {
        let error = grid(&path, &raw_job("", material)).unwrap_err();
        assert!(error.contains(message) || error.contains("Mu_Scaling"), "{error}");
    }
    let moduli: Vec<u8> = (0..24).flat_map(|v| if v == 5 { -1.0f32 } else { 2.0 }.to_le_bytes()).collect();
    let path = folder.write("b.raw", &[&moduli]);
    let error = grid(&path, &raw_job("", "law = \"modulus\"").replace("uint16", "float32")).unwrap_err();
    assert!(error.contains("voxel (1, 1, 0) has the modulus -1: moduli must be 0 (void) or more"), "{error}");
    let moduli: Vec<u8> = (0..24).flat_map(|v| if v == 5 { f32::NAN } else { 2.0 }.to_le_bytes()).collect();
    let path = folder.write("c.raw", &[&moduli]);
    let error = grid(&path, &raw_job("", "law = \"modulus\"").replace("uint16", "float32")).unwrap_err();
    assert!(error.contains("voxel (1, 1, 0) of the stack has the value NaN"), "{error}");
    // Labels 1 and 2 as single precision makes them of 85 and 170; 0 is void, and infinity no label.
    let mut head = nifti(1, false, 1.0 / 85.0);
    head[116..120].copy_from_slice(&0f32.to_le_bytes());
    let stored: Vec<u8> = (0..24).flat_map(|v: u16| (85 * (v % 3)).to_le_bytes()).collect();
    let job =
        "[material]\npoisson = 0.3\nlaw = \"labels\"\nlabels = [{ value = 1, young = 7 }, { value = 2, young = 8 }]\n";
    let (labels, _) = grid(&folder.write("e.nii", &[&head, &stored]), job).unwrap();
    assert_eq!(classes(&labels)[..6], [0, 1, 2, 0, 1, 2]);
    let error = grid(&folder.write("e.nii", &[&head, &stored]), &job.replace("= 2,", "= 2.00001,")).unwrap_err();
    assert!(error.contains("has label 2"), "{error}");
    let infinite: Vec<u8> = (0..24).flat_map(|v| if v == 5 { f32::INFINITY } else { 2.0 }.to_le_bytes()).collect();
    let path = folder.write("e.raw", &[&infinite]);
    let law = "law = \"labels\"\nlabels = [{ value = 2, young = 7 }]";
    let error = grid(&path, &raw_job("", law).replace("uint16", "float32")).unwrap_err();
    assert!(error.contains("voxel (1, 1, 0) of the stack has the value inf"), "{error}");
    // An infinite modulus would only be found by a solver that does not converge.
    let law = "law = \"linear\"\nslope = 2\nintercept = 1";
    let moduli: Vec<u8> = (0..24).flat_map(|v| if v == 5 { f32::INFINITY } else { 2.0 }.to_le_bytes()).collect();
    let path = folder.write("d.raw", &[&moduli]);
    let error = grid(&path, &raw_job("", law).replace("uint16", "float32")).unwrap_err();
    assert!(error.contains("voxel (1, 1, 0) of the stack has the value inf"), "{error}");
}

#[test]
fn edges_that_take_the_place_of_the_headers_are_said() {
    let folder = Folder::new();
    let header = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 1 1\nspacings: 0.02 0.02 0.02\nencoding: raw\n\n";
    let path = folder.write("a.nrrd", &[header.as_bytes(), &[1, 1]]);
    let notes = |image: &str| {
        let law = "[material]\npoisson = 0.3\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1\n";
        grid(&path, &format!("[image]\n{image}\n{law}")).unwrap().1.notes
    };
    let differ = notes("spacing = 20.0");
    assert!(matches!(&differ[..], [one] if one.contains("place of 0.02 × 0.02 × 0.02 mm")), "{differ:?}");
    assert_eq!(notes("spacing = 20.0\nunit = \"um\""), notes(""));
}

#[test]
fn crop_downsample_and_resample() {
    let folder = Folder::new();
    let path = folder.write("a.raw", &[&samples(false)]);
    let solid = "law = \"threshold\"\nthreshold = 150\nyoung = 5";
    let (cropped, report) = grid(&path, &raw_job("crop = [[1, 0, 1], [4, 2, 2]]", solid)).unwrap();
    assert_eq!((cropped.size, cropped.origin), ([3, 2, 1], [0.5, 0.0, 0.5]));
    assert_eq!((classes(&cropped), report.values), (&[0, 1, 1, 0, 1, 1][..], Some([101.0, 311.0])));
    // Two of four columns are solid: of equals void.
    let (half, report) = grid(&path, &raw_job("downsample = 2", solid)).unwrap();
    assert_eq!((half.size, half.spacing, classes(&half)), ([2, 1, 1], 1.0, &[0, 1][..]));
    assert!(
        report.notes.iter().any(|note| note.starts_with("1 layers of voxels at the upper end of y")),
        "{:?}",
        report.notes
    );
    let (mean, _) = grid(&path, &raw_job("downsample = 2", "law = \"linear\"\nslope = 1")).unwrap();
    // Mean of 0, 100, 10, 110 and the same with 1 more.
    assert!(
        matches!(&mean.moduli, VoxelModuli::Classes { materials, .. } if materials[0].1 == 55.5 && materials[1].1 == 255.5)
    );
    let (_, thin) = grid(&path, &raw_job("resample = 0.25", solid)).unwrap();
    assert_eq!((thin.size, thin.spacing), ([8, 6, 4], 0.25));
    let (middle, _) =
        grid(&path, &raw_job("crop = [[0, 0, 0], [4, 1, 1]]\nresample = 0.25", "law = \"linear\"\nslope = 1")).unwrap();
    // Quarters between the middles of voxels, constant beyond the last; a resampled layer of one voxel is two.
    let VoxelModuli::Classes { class, materials } = &middle.moduli else { panic!("few moduli are listed") };
    let values: Vec<f64> =
        class[..8].iter().map(|&c| if c == 0 { 0.0 } else { materials[usize::from(c) - 1].1 }).collect();
    assert_eq!(values, [0.0, 25.0, 75.0, 125.0, 175.0, 225.0, 275.0, 300.0]);
    let flat = raw_job("", solid).replace("spacing = 0.5", "spacing = [0.5, 0.5, 1.0]");
    let error = grid(&path, &flat).unwrap_err();
    assert!(error.starts_with("job.toml:1: error: the stack's voxels are 0.5 × 0.5 × 1 mm, not cubes"), "{error}");
    let (cubes, _) = grid(&path, &flat.replace("[material]", "resample = 0.5\n[material]")).unwrap();
    assert_eq!((cubes.size, cubes.spacing), ([4, 3, 4], 0.5));
    let labels =
        "law = \"labels\"\nother = \"void\"\nlabels = [{ value = 200, young = 1 }, { value = 201, young = 2 }]";
    let (labelled, _) = grid(&path, &raw_job("resample = 0.25", labels)).unwrap();
    assert_eq!((labelled.size, classes(&labelled)[4], classes(&labelled)[48 * 2 + 5]), ([8, 6, 4], 1, 2));
    for (image, message) in [
        ("crop = [[0, 0, 0], [5, 1, 1]]", "`crop` reaches beyond the stack"),
        ("downsample = 3", "leaves no voxel"),
        ("downsample = 2\nresample = 1", "not both"),
        ("downsample = 2\ndownsample_by = \"mean\"", "the mean of labels"),
        ("resample = 1e-300", "choose a larger edge"),
        ("resample = 2.1", "leaves no voxel"),
        ("array = \"a\"", "`array` is for NumPy npz, this stack is raw"),
        ("axes = \"xyz\"", "`axes` is for NumPy npy and NumPy npz, this stack is raw"),
    ] {
        let error = grid(&path, &raw_job(image, labels)).unwrap_err();
        assert!(error.starts_with("job.toml:1: error: ") && error.contains(message), "{error}");
    }
}

#[test]
fn arrays_of_reversed_axes_give_the_same_grid() {
    let folder = Folder::new();
    let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }\n";
    let straight = folder.write("a.npy", &[&npy(1, text), &samples(false)]);
    // array[x, y, z] in C order: z fastest.
    let value = |x: usize, y: usize, z: usize| ((100 * x + 10 * y + z) as u16).to_le_bytes();
    let turned: Vec<u8> = (0..24).flat_map(|v| value(v / 6, v / 2 % 3, v % 2)).collect();
    let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (4, 3, 2), }\n";
    let reversed = folder.write("b.npy", &[&npy(1, text), &turned]);
    let job = |axes: &str| {
        format!(
            "[image]\nspacing = [0.5, 0.5, 0.25]\nresample = 0.25\naxes = \"{axes}\"\ncrop = [[0, 1, 0], [3, 3, 2]]\n\
             [material]\nlaw = \"linear\"\nslope = 1\npoisson = 0.3\n"
        )
    };
    let (a, _) = grid(&straight, &job("zyx")).unwrap();
    let (b, _) = grid(&reversed, &job("xyz")).unwrap();
    assert_eq!(a.size, [6, 4, 2]);
    assert_eq!(a, b);
}
