mod stacks;

use std::path::Path;

use super::*;
use crate::job::{JobText, Keep, List};
use crate::read::image::{LengthUnit, SampleType};
use crate::words::Word;

fn parse(text: &str) -> Result<VoxelJob, String> {
    VoxelJob::parse(text, "bone.toml", Path::new("")).map_err(|error| error.to_string())
}

#[test]
fn the_shortest_job_has_defaults() {
    let job = parse("[material]\nlaw = \"threshold\"\nthreshold = 64\nyoung = 1e4\npoisson = 0.3\n").unwrap();
    assert_eq!(job.image.value, Image::default());
    assert_eq!(job.image.value.unit().per_millimetre(), 1.0);
    assert_eq!(job.material.place.line, 1);
    assert_eq!(job.material.value.threshold.unwrap(), List(vec![64.0]));
}

#[test]
fn image_keys_are_read() {
    let job = parse(
        "[image]\nunit = \"um\"\nspacing = [60.7, 60.7, 82]\nresample = 60.7\ncrop = [[0, 0, 0], [4, 5, 6]]\nkeep = \"largest\"
raw = { shape = [4, 5, 6], type = \"int16\", endian = \"big\", header_bytes = 512 }
[material]\nlaw = \"labels\"\npoisson = 0.3\nlabels = [{ value = 127, young = 6829.0 }]\n",
    )
    .unwrap();
    let image = job.image.value;
    assert_eq!(image.spacing.unwrap().edges(), [60.7, 60.7, 82.0]);
    assert_eq!((image.keep, image.unit()), (Some(Word(Keep::Largest)), LengthUnit::Micrometre));
    assert_eq!(image.raw.unwrap().sample, Word(SampleType::Int16));
}

#[test]
fn mistakes_point_at_their_line() {
    let material = "[material]\nlaw = \"threshold\"\nthreshold = 64\nyoung = 1e4\npoisson = 0.3\n";
    for (text, expected) in [
        ("title = \"x\"\n", "bone.toml:1: error: this job has no [material] table"),
        (&format!("[image]\nspacin = 1.0\n{material}"), "bone.toml:2: error: unknown field `spacin`"),
        (&format!("\n[image]\nspacing = -1.0\n{material}"), "bone.toml:2: error: `spacing` must be above 0"),
        (&format!("[image]\ncrop = [[0, 0, 0], [4, 0, 6]]\n{material}"), "bone.toml:1: error: `crop` is empty"),
        (&material.replace("0.3", "0.5"), "bone.toml:1: error: `poisson` must lie between -1 and 0.5, not 0.5"),
        (&material.replace("1e4", "nan"), "bone.toml:4: error: this number is not finite"),
        (&material.replace("1e4", "[1e4, 2e4]"), "bone.toml:1: error: law \"threshold\" needs `threshold` and `young`"),
        (&format!("{material}slope = 2\n"), "bone.toml:1: error: `slope` has no meaning for law \"threshold\""),
        (&format!("{material}classes = 300\n"), "bone.toml:1: error: `classes` has no meaning"),
        (
            "[material]\nlaw = \"power\"\npoisson = 0.3\nfactor = 1.0\n",
            "bone.toml:1: error: law \"power\" needs `exponent`",
        ),
        (
            "[material]\nlaw = \"labels\"\npoisson = 0.3\nlabels = [{ value = 1, young = 1 }, { value = 1, young = 2 }]\n",
            "bone.toml:1: error: label 1 is listed twice",
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// The reference file is one job that is read; every key that a table knows stands in it.
#[test]
fn the_reference_is_read_and_shows_every_key() {
    let text = include_str!("../../../../../examples/voxel-job-reference.toml");
    let job = parse(text).unwrap();
    assert_eq!(job.material.value.name.unwrap().0, ["TRABECULAR", "CORTICAL"]);
    let error = parse(&text.replace("unit = \"mm\"", "unit = \"mm\"\nno_such_key = 1")).unwrap_err();
    let image = error.split("expected one of").nth(1).unwrap();
    let error = parse(&text.replace("poisson = 0.3", "poisson = 0.3\nno_such_key = 1")).unwrap_err();
    let material = error.split("expected one of").nth(1).unwrap();
    for key in image.split(',').chain(material.split(',')) {
        let key = key.trim().trim_matches('`');
        assert!(text.contains(&format!("{key} = ")), "`{key}` is missing from the reference");
    }
}

const MATERIAL: &str = "[material]\nlaw = \"threshold\"\nthreshold = 64\nyoung = 1e4\npoisson = 0.3\n";

#[test]
fn loads_and_conditions_are_checked_with_their_line() {
    for (text, expected) in [
        ("[load]\npreset = \"axial\"\n", "bone.toml:6: error: how much? give one of `strain`"),
        (
            "[load]\npreset = \"axial\"\nstrain = 1\nforce = 2\n",
            "bone.toml:6: error: give `strain` or `force`, not both",
        ),
        ("[load]\npreset = \"torsion\"\nstrain = 1\n", "`strain` does not go with this preset"),
        ("[load]\npreset = \"shear\"\nstrain = 1\ndirection = \"z\"\n", "`direction` must not be the axis"),
        ("[load]\npreset = \"axial\"\nstrain = 1\naxis = \"x\"\nside = \"zmax\"\n", "contradict each other"),
        ("[[boundary]]\nvalue = 1\n", "bone.toml:6: error: give one of `side`"),
        ("[[boundary]]\nside = \"zmin\"\nall = true\n", "give `side` or `all`, not both"),
        ("[[boundary]]\nside = \"zmin\"\nvalu = 1\n", "bone.toml:8: error: unknown field `valu`"),
        ("[[force]]\nat = [0, 0, 0]\ntraction = [0, 0, 1]\n", "`traction` goes with `side`"),
        ("[[force]]\nside = \"zmin\"\n", "give one of `force`, `each`, `traction`"),
        ("[solver]\ntolerance = 2\n", "`tolerance` must lie between 0 and 1"),
        (
            "[output]\nfields = [\"strains\"]\n",
            "bone.toml:7: error: invalid value: string \"strains\", expected one of",
        ),
    ] {
        let found = parse(&format!("{MATERIAL}{text}")).unwrap_err();
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn the_reference_job_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/voxel-job-reference.toml");
    let job = VoxelJob::read(&[path]).unwrap();
    assert_eq!((job.boundaries.len(), job.forces.len()), (1, 0));
    assert_eq!(job.load.unwrap().value.preset, Preset::Axial);
}

#[test]
fn names_tell_conditions_apart() {
    let refused = |text: &str| parse(&format!("{MATERIAL}{text}")).unwrap_err();
    let top = "[[boundary]]\nside = \"zmax\"\nname = ";
    let error = refused(&format!("[[boundary]]\nside = \"zmin\"\nname = \"Plate\"\n{top}\"plate\"\n"));
    assert!(error.starts_with("bone.toml:9: error: another condition is called \"plate\""), "{error}");
    // The name that one without a name gets.
    let error = refused(&format!("[[boundary]]\nside = \"zmin\"\n{top}\"FIX1\"\n"));
    assert!(error.contains("called \"FIX1\""), "{error}");
    let error = refused(&format!("{top}\"xmin\"\n"));
    assert!(error.contains("\"xmin\" is a face of the box"), "{error}");
    parse(&format!("{MATERIAL}{top}\"zmax\"\n[[force]]\nname = \"zmax\"\nside = \"xmax\"\nforce = [1, 0, 0]\n"))
        .unwrap();
}

#[test]
fn a_later_job_wins() {
    let mut jobs = JobText::default();
    let first = "[load]\npreset = \"axial\"\nstrain = -0.01\n[solver]\ntolerance = 1e-8\nlevels = 3\n\
                 [[boundary]]\nname = \"a\"\nside = \"zmin\"\n";
    let second = "[load]\npreset = \"shear\"\nforce = 5\n[solver]\nlevels = 4\n[output]\nfields = [\"stress\"]\n\
                  [[boundary]]\nname = \"A\"\nside = \"zmax\"\n[[boundary]]\nat = [0, 0, 0]\n";
    jobs.add(&format!("{MATERIAL}{first}"), "a.toml", Path::new(""));
    jobs.add(second, "b.toml", Path::new("there"));
    let job = VoxelJob::from_text(&jobs).unwrap();
    assert_eq!((job.solver.value.tolerance, job.solver.value.levels), (Some(1e-8), Some(4)));
    let load = job.load.unwrap().value;
    assert_eq!((load.preset, load.strain, load.force), (Preset::Shear, None, Some(5.0)));
    assert_eq!((job.boundaries.len(), job.output.value.fields.len()), (2, 1));
    assert_eq!(
        (job.boundaries[0].place.to_string(), &*job.boundaries[0].place.folder),
        ("b.toml:8".into(), Path::new("there"))
    );
    // The material may stand in the second file.
    let mut jobs = JobText::default();
    jobs.add(second, "b.toml", Path::new(""));
    assert!(
        VoxelJob::from_text(&jobs).unwrap_err().to_string().starts_with("b.toml:1: error: this job has no [material]")
    );
    jobs.add(MATERIAL, "c.toml", Path::new(""));
    assert_eq!(VoxelJob::from_text(&jobs).unwrap().material.place.to_string(), "c.toml:1");
}
