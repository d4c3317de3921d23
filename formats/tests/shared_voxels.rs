//! Stacks of other people, in the folder `voxels` of the shared inputs: each is read as its MANIFEST says, or refused for
//! the right reason.

use std::io::Read;
use std::path::{Path, PathBuf};

use pogo_formats::job::JobFile as _;
use pogo_formats::read::image::{ImageOptions, Report, VoxelGrid, VoxelModuli, open};
use pogo_formats::voxel::job::VoxelJob;

/// The folder of stacks, where it is there.
fn voxels() -> Option<PathBuf> {
    pogo_tests::shared("voxels")
}

fn read(path: &Path, job: &str) -> Result<(VoxelGrid, Report), String> {
    let job = VoxelJob::parse(job, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    let (grid, report) = job.image.voxel_grid(path, &job.law()).map_err(|error| error.to_string())?;
    assert!(report.warnings.is_empty(), "{}: {:?}", path.display(), report.warnings);
    Ok((grid, report))
}

const SOLID: &str = "[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 6829\npoisson = 0.3\n";

fn threshold(value: f64) -> String {
    SOLID.replace("threshold = 1", &format!("threshold = {value}"))
}

/// Sum of (1 + i) (1 + 2 j) (1 + 3 k) over solid voxels, modulo 2^32: notices a wrong order of axes.
fn moment(grid: &VoxelGrid) -> u64 {
    let [nx, ny, _] = grid.size;
    (0..grid.n_voxels()).filter(|&v| grid.is_solid(v)).fold(0u64, |sum, v| {
        let (i, j, k) = (v % nx, v / nx % ny, v / nx / ny);
        (sum + (1 + i as u64) * (1 + 2 * j as u64) * (1 + 3 * k as u64)) % (1 << 32)
    })
}

#[test]
fn aim_files_are_read() {
    let Some(voxels) = voxels() else { return };
    for (name, size, spacing, solid, values) in [
        ("XT2_RADIUS_82_SEG.AIM", [420, 364, 123], 0.082, 3_032_038, [0.0, 127.0]),
        ("test25a.aim", [25, 25, 25], 0.034, 7_087, [0.0, 127.0]),
        ("aluminum.aim", [130, 130, 100], 0.082, 1_172_220, [-2134.0, 10544.0]),
        ("tube.aim", [64, 64, 193], 0.034, 617_407, [0.0, 127.0]),
    ] {
        let (grid, report) = read(&voxels.join("bonelab").join(name), SOLID).unwrap();
        assert_eq!((grid.size, report.stack_spacing), (size, [spacing; 3]), "{name}");
        assert_eq!((report.solid, report.values), (solid, Some(values)), "{name}");
        assert!((grid.spacing - spacing).abs() < 1e-15);
    }
}

#[test]
fn aim_and_nifti_of_one_sample_agree() {
    let Some(voxels) = voxels() else { return };
    let (aim, _) = read(&voxels.join("bonelab/test25a.aim"), SOLID).unwrap();
    let (nifti, report) = read(&voxels.join("bonelab/test25a.nii"), SOLID).unwrap();
    assert_eq!((aim.size, report.solid), (nifti.size, 7_087));
    assert!((nifti.spacing / aim.spacing - 1.0).abs() < 1e-6);
    assert_eq!(aim.moduli, nifti.moduli);
}

#[test]
fn aim_calibration_gives_density_and_hounsfield_units() {
    let Some(voxels) = voxels() else { return };
    let path = voxels.join("bonelab/aluminum.aim");
    let calibration = open(&path, &ImageOptions::default()).unwrap().header().calibration.clone();
    assert_eq!(calibration.mu_scaling, Some(8192.0));
    assert_eq!((calibration.density_slope, calibration.density_intercept), (Some(1441.13599), Some(-356.445007)));
    assert_eq!((calibration.density_unit.as_deref(), calibration.mu_water), (Some("mg HA/ccm"), Some(0.2464)));
    // density = 500 at this stored value.
    let stored = ((500.0 + 356.445007) / 1441.13599 * 8192.0f64).ceil();
    let (_, native) = read(&path, &threshold(stored)).unwrap();
    let (_, density) = read(&path, &(threshold(500.0) + "quantity = \"density\"\n")).unwrap();
    assert_eq!(native.solid, density.solid);
    let stored = ((1000.0 / 1000.0 + 1.0) * 0.2464 * 8192.0f64).ceil();
    let (_, native) = read(&path, &threshold(stored)).unwrap();
    let (_, hounsfield) = read(&path, &(threshold(1000.0) + "quantity = \"hounsfield\"\n")).unwrap();
    assert_eq!(native.solid, hounsfield.solid);
}

#[test]
fn isq_files_are_read() {
    let Some(voxels) = voxels() else { return };
    for (name, slope, water) in [("calibrated", Some(2.0), Some(1.0)), ("native_only", None, None)] {
        let path = voxels.join(format!("isq/test_isq_{name}_binary_25.ISQ"));
        let stack = open(&path, &ImageOptions::default()).unwrap();
        let calibration = &stack.header().calibration;
        assert_eq!((calibration.mu_scaling, calibration.density_slope), (Some(1000.0), slope), "{name}");
        assert_eq!(calibration.mu_water, water, "{name}");
        let (grid, report) = read(&path, SOLID).unwrap();
        assert_eq!((grid.size, report.solid), ([25; 3], 547), "{name}");
        assert!((grid.spacing - 0.06).abs() < 1e-12, "{name}");
        let density = read(&path, &(SOLID.to_owned() + "quantity = \"density\"\n"));
        assert_eq!(density.is_ok(), slope.is_some(), "{name}");
        if let Err(message) = density {
            assert!(
                message.starts_with("job.toml:1: error: the stack's header has no density calibration"),
                "{message}"
            );
        }
    }
}

#[test]
fn numpy_archives_are_read() {
    let Some(voxels) = voxels() else { return };
    let path = voxels.join("lhdl_trab/3155_D_4_bc_cropped_200.npz");
    let error = read(&path, &threshold(64.0)).unwrap_err();
    assert!(error.contains("does not say how large its voxels are"), "{error}");
    let (grid, report) = read(&path, &("[image]\nspacing = 0.0195\n".to_owned() + &threshold(64.0))).unwrap();
    assert_eq!((grid.size, report.sample), ([200; 3], "uint8"));
    let x_fastest = moment(&grid);
    let (turned, _) =
        read(&path, &("[image]\nspacing = 0.0195\naxes = \"xyz\"\n".to_owned() + &threshold(64.0))).unwrap();
    assert_ne!(moment(&turned), x_fastest);
    assert_eq!(turned.is_solid(5 + 200 * (7 + 200 * 11)), grid.is_solid(11 + 200 * (7 + 200 * 5)));

    let labels = "[image]\nkeep = \"largest\"\n[material]\nlaw = \"labels\"\npoisson = 0.3\nother = \"void\"
labels = [{ value = 1, young = 10e3, name = \"trabecular\" }]\n";
    let path = voxels.join("parosol_py/trab1240_labels.npz");
    let stack = open(&path, &ImageOptions::default()).unwrap();
    assert_eq!(stack.header().size, [108, 108, 126]);
    let (grid, report) =
        read(&path, &labels.replace("value = 1", "value = 127")).or_else(|_| read(&path, labels)).unwrap();
    assert_eq!(report.solid + report.dropped.unwrap().voxels, 179_421);
    assert!((grid.spacing - 0.0607).abs() < 1e-4);

    let (grid, report) =
        read(&voxels.join("stent/stent.npz"), &("[image]\nspacing = 1\n".to_owned() + &threshold(1000.0))).unwrap();
    assert_eq!((grid.size, report.sample), ([128, 128, 256], "int16"));
}

#[test]
fn raw_files_are_read_as_described() {
    let Some(voxels) = voxels() else { return };
    let job = "[image]\nspacing = 0.001\nraw = { shape = [100, 100, 100], type = \"uint8\" }\n[material]\nlaw = \"labels\"
poisson = 0.3\nlabels = [{ value = 87, young = 28e3, name = \"graphite\" }, { value = 182, young = 200e3, name = \"ferrite\" }]\n";
    let path = voxels.join("chfem/ggg40_100.raw");
    let (grid, report) = read(&path, job).unwrap();
    assert_eq!((grid.size, report.solid, report.materials.len()), ([100; 3], 1_000_000, 2));
    let error = read(&path, SOLID).unwrap_err();
    assert!(error.contains("a raw file needs a description"), "{error}");
    let error = read(&path, &job.replace("100, 100, 100", "100, 100, 101")).unwrap_err();
    assert!(error.contains("claims 1010000 bytes of voxels, the file holds 1000000"), "{error}");
    let error = read(&path, &job.replace("value = 87", "value = 86")).unwrap_err();
    assert!(error.contains("has label 87, which `labels` does not list"), "{error}");
    let fibres = job.replace("100, 100, 100", "100, 100, 10");
    let fibres = fibres.replace("law = \"labels\"", "law = \"threshold\"\nthreshold = 128\nyoung = 1");
    let fibres = &fibres[..fibres.find("labels = [").unwrap()];
    let (grid, report) = read(&voxels.join("chfem/fibers_100x100x10.raw"), fibres).unwrap();
    assert_eq!((grid.size, report.size), ([100, 100, 10], [100, 100, 10]));
}

/// Unpacks the entries of an archive into a new folder.
fn unpack(archive: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::open(archive).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    for index in 0..archive.len() {
        let mut entry = archive.by_index_raw(index).unwrap();
        let name = entry.name().unwrap().into_owned();
        let is_deflated = entry.compression() != zip::CompressionMethod::Stored;
        let mut bytes = Vec::new();
        if is_deflated {
            flate2::read::DeflateDecoder::new(&mut entry).read_to_end(&mut bytes).unwrap();
        } else {
            entry.read_to_end(&mut bytes).unwrap();
        }
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[test]
fn unpacked_archives_are_read() {
    let Some(voxels) = voxels() else { return };
    let iron = unpack(&voxels.join("cast_iron/GGG40_300.zip"));
    let (grid, report) = read(iron.path(), &("[image]\nspacing = 0.003\n".to_owned() + SOLID)).unwrap();
    assert_eq!((grid.size, report.sample), ([300; 3], "uint8"));
    assert_eq!(report.format, "TIFF");
    let berea = unpack(&voxels.join("berea/test_berea.zip"));
    let job = "[image]\nspacing = 0.002\nraw = { shape = [200, 200, 200], type = \"uint8\" }\n".to_owned() + SOLID;
    let file = std::fs::read_dir(berea.path()).unwrap().next().unwrap().unwrap().path();
    let (grid, report) = read(&file, &job).unwrap();
    assert_eq!(grid.size, [200; 3]);
    assert!(report.values.unwrap()[1] <= 255.0 && report.solid > 0);
}

#[test]
fn slices_are_read() {
    let Some(voxels) = voxels() else { return };
    let job = "[image]\nspacing = 0.0195\n".to_owned() + &threshold(64.0);
    let (grid, folder) = read(&voxels.join("lhdl_trab"), &job).unwrap();
    assert_eq!((grid.size, folder.sample), ([200, 200, 4], "uint8"));
    assert!(folder.notes.iter().any(|note| note.contains("4 slices")), "{:?}", folder.notes);
    let solid: u64 = (0..4)
        .map(|slice| read(&voxels.join(format!("lhdl_trab/3155_D_4_bc_000{slice}.tif")), &job).unwrap().1.solid)
        .sum();
    assert_eq!(folder.solid, solid);
}

#[test]
fn zip_archives_are_refused() {
    let Some(voxels) = voxels() else { return };
    for name in ["cast_iron/GGG40_300.zip", "berea/test_berea.zip"] {
        let error = read(&voxels.join(name), SOLID).unwrap_err();
        assert!(error.contains("this is a zip archive: unpack it"), "{error}");
    }
}

#[test]
fn grids_have_what_the_file_has() {
    let Some(voxels) = voxels() else { return };
    let (grid, _) = read(&voxels.join("bonelab/XT2_RADIUS_82_SEG.AIM"), SOLID).unwrap();
    let VoxelModuli::Classes { class, materials } = &grid.moduli else { panic!("thresholds give classes") };
    assert_eq!(materials, &[("MATERIAL-1".to_owned(), 6829.0)]);
    assert_eq!(class.iter().filter(|&&c| c == 1).count(), 3_032_038);
    assert_eq!(grid.origin.map(|x| (x * 1e6).round() / 1e6), [56.908, 58.876, 0.0]);
}
