use std::path::Path;

use super::*;
use crate::job::AmplitudeReference;
use crate::job::JobText;
use crate::spring::CutShape;

fn parse(text: &str) -> Result<SpringJob, String> {
    SpringJob::parse(text, "j.toml", Path::new("")).map_err(|error| error.to_string())
}

#[test]
fn a_lattice_with_two_materials() {
    let job = parse(
        "physics = \"spring\"
[solver]
time = 1.0
lambda = 0.01
[[material]]
name = \"fat\"
label = [1, 3]
mass = 1e-3
stiffness = 10.0
max_strain = { axis = 0.5 }
[[material]]
name = \"muscle\"
label = 2
density = 1000
stiffness = { axis = 20, space = 5 }
damping = 0.1
[[cut]]
times = [0, 1]
from = [[0, 0, 0], [1, 0, 0]]
to = [[0, 0, 1], [1, 0, 1]]
[[field]]
count = 10
",
    )
    .unwrap();
    assert_eq!(job.solver.value.settings().damping, SpringDamping::Lambda(0.01));
    let [fat, muscle] = [0, 1].map(|i| &job.materials[i].value);
    assert_eq!(fat.has_springs(), [true, true, false]);
    assert_eq!(muscle.has_springs(), [true, false, true]);
    let groups = fat.groups();
    assert_eq!((groups[0].name.as_str(), groups[0].stiffness, groups[0].max_strain), ("fat.axis", 10.0, 0.5));
    assert_eq!((groups[1].max_strain, groups[2].stiffness), (f64::INFINITY, 0.0));
    assert_eq!(muscle.groups().map(|group| group.damping), [0.1, 0.0, 0.1]);
    assert_eq!((muscle.material().mass, muscle.material().density), (0.0, 1000.0));
    let law = job.voxel_law().unwrap().value;
    let Law::Labels { labels, .. } = law.law else { panic!("{law:?}") };
    let names: Vec<_> = labels.iter().map(|label| (label.value, label.name.as_str())).collect();
    assert_eq!(names, [(1.0, "0 1"), (3.0, "0 3"), (2.0, "1 2")]);
    assert!(matches!(job.cuts[0].value.shape(), Ok(CutShape::Blade { .. })));
}

#[test]
fn mistakes_are_found_with_their_line() {
    let with = |more: &str| {
        parse(&format!("physics = \"spring\"\n[[material]]\nname = \"a\"\nmass = 1.0\nstiffness = 1.0\n{more}"))
            .unwrap_err()
    };
    for (more, expected) in [
        ("density = 3.0", "j.toml:2: error: give `mass`"),
        ("max_strain = 0", "j.toml:2: error: `max_strain`"),
        ("damping = { space = 1 }", "j.toml:2: error: `damping` is for space springs, and `stiffness` gives none"),
        ("[[material]]\nname = \"b\"\nmass = 1\nmax_strain = 0.5", "j.toml:6: error: `max_strain` is for axis springs"),
        ("[[cut]]\npoint = [0, 0, 0]", "j.toml:6: error: a plane needs"),
        ("[[cut]]\npoint = [0, 0, 0]\nnormal = [0, 0, 0]", "j.toml:6: error: `normal` has no length"),
        ("[[cut]]\ntimes = [1, 0]\nfrom = [[0,0,0],[0,0,0]]\nto = [[0,0,0],[0,0,0]]", "j.toml:6: error: `times` must"),
        ("[[erase]]\ntime = 1", "j.toml:6: error: give one of `pairs`"),
        ("[[add]]\ngroup = \"b\"", "j.toml:6: error: give one of `pairs`, `at`"),
        ("[[add]]\ngroup = \"b\"\npairs = []\ntime = -1", "j.toml:6: error: `time`"),
        ("[[field]]", "j.toml:6: error: give one of `every`"),
        ("[solver]\nalpha = 1\nlambda = 0.1", "j.toml:6: error: give `alpha`"),
        ("[solver]\nlambda = 2", "j.toml:6: error: `lambda`"),
        ("[solver]\nlumping = \"hrz\"", "j.toml:7: error: unknown field `lumping`"),
        ("[[material]]\nname = \"A\"\nmass = 1", "j.toml:6: error: material \"A\" is there already"),
    ] {
        let found = with(more);
        assert!(found.starts_with(expected), "{more}: {found}");
    }
    let bare = parse("physics = \"spring\"").unwrap();
    assert!(bare.voxel_law().unwrap_err().to_string().starts_with("j.toml:1: error: this job has no [[material]]"));
}

#[test]
fn files_of_amplitudes_of_gravity_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("g.csv"), "0, 0\n1, 2\n").unwrap();
    let text = "physics = \"spring\"\n[[gravity]]\nvector = [0, 0, -9.81]\namplitude = { kind = \"table\", file = \"g.csv\" }\n";
    let job = SpringJob::parse(text, "j.toml", folder.path()).unwrap();
    let Some(AmplitudeReference::Inline(amplitude)) = &job.gravity[0].value.amplitude else { panic!("written there") };
    assert_eq!(amplitude.values.as_deref(), Some(&[0.0, 2.0][..]));
}

#[test]
fn the_reference_and_the_example_are_jobs() {
    for file in ["spring-job-reference.toml", "spring/tissue.toml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(file);
        let job = SpringJob::read(&[&path]).unwrap();
        assert!(job.materials.len() == 2 && job.voxel_law().is_ok(), "{file}");
    }
}

#[test]
fn a_later_job_wins() {
    let mut jobs = JobText::default();
    let material = |name: &str, mass: u32| format!("[[material]]\nname = \"{name}\"\nmass = {mass}\nstiffness = 1\n");
    let first = format!(
        "physics = \"spring\"\n{}[solver]\ntime = 1\nalpha = 2\n[[cut]]\npoint = [0, 0, 0]\nnormal = [0, 0, 1]\n",
        material("fat", 1)
    );
    jobs.add(&first, "a.toml", Path::new(""));
    jobs.add(&format!("{}[solver]\ntime = 3\n[[field]]\ncount = 2\n", material("Fat", 5)), "b.toml", Path::new(""));
    let job = SpringJob::from_text(&jobs).unwrap();
    assert_eq!((job.solver.value.time, job.solver.value.alpha), (Some(3.0), Some(2.0)));
    assert_eq!((job.materials.len(), job.materials[0].value.mass), (1, Some(5.0)));
    assert_eq!((job.cuts.len(), job.fields.len()), (1, 1));
    jobs.add("[solver]\nlambda = 0.5\n", "c.toml", Path::new(""));
    let error = SpringJob::from_text(&jobs).unwrap_err().to_string();
    assert_eq!(error, "c.toml:1: error: give `alpha` or `lambda`, not both");
}
