use std::path::Path;

use serde::de::DeserializeOwned;

use super::*;
use crate::dynamics::{AmplitudeShape, BoundaryKind, NodalQuantity};
use crate::explicit::Elasticity;
use crate::job::{
    Action, Amplitude, AmplitudeReference, Boundary, Component, Components, InitialVelocity, JobText, Monitor, Sides,
    Source,
};

fn parse(text: &str) -> Result<ExplicitJob, JobError> {
    ExplicitJob::parse(text, "job.toml", Path::new(""))
}

fn message(text: &str) -> String {
    match parse(text) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The keys of a table, as the error for a key that does not exist lists them.
fn keys<T: DeserializeOwned>() -> Vec<String> {
    let error = toml::from_str::<T>("no_such_key = 0").err().unwrap().message().to_owned();
    error.split_once("expected").unwrap().1.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_reference_parses_and_shows_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/job-reference.toml");
    let job = ExplicitJob::read(&[&path]).unwrap();
    assert_eq!((job.materials.len(), job.dynamics.sources.len(), job.absorbing.len()), (8, 5, 3));
    let text = std::fs::read_to_string(&path).unwrap();
    let all = [
        keys::<Solver>(),
        keys::<Material>(),
        keys::<Relaxation>(),
        keys::<Section>(),
        keys::<Amplitude>(),
        keys::<Source>(),
        keys::<Boundary>(),
        keys::<InitialVelocity>(),
        keys::<Monitor>(),
        keys::<Shot>(),
        keys::<Field>(),
        keys::<Absorbing>(),
        keys::<Crack>(),
        keys::<Grains>(),
        keys::<Transducer>(),
    ];
    assert!(all.iter().all(|keys| !keys.is_empty()));
    for key in all.iter().flatten() {
        assert!(text.contains(&format!("\n{key} = ")) || text.contains(&format!("\n# {key} = ")), "{key} is not shown");
    }
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("a = 1", "job.toml:1: error: unknown field `a`"),
        ("[solver]\ntime = 1\nsteps = 3\n", "job.toml:3: error: unknown field `steps`"),
        ("[solver]\ntime = 'long'\n", "job.toml:2: error: invalid type: string \"long\""),
        ("[solver]\ntime = nan\n", "job.toml:2: error: this number is not finite"),
        ("[solver]\ntime = 1e999\n", "job.toml:2: error: this number is not finite"),
        ("[solver]\ntime = -1\n", "job.toml:1: error: `time` must be positive, not -1"),
        ("[solver]\nincrement = 'auto'\n", "job.toml:2: error: invalid value: string \"auto\""),
        ("[solver\n", "job.toml:1: error: "),
        ("\n[[material]]\nname = 'm'\ndensity = 1\nyoung = 1\n", "job.toml:2: error: `young` needs `poisson`"),
        ("[[material]]\nname = 'm'\ndensity = 1\n", "job.toml:1: error: give one of `young and poisson`"),
        (
            "[[material]]\nname = 'm'\ndensity = 1\northotropic = [1, 2, 1, 0, 0, 1, 1, 1, 1]\n",
            "job.toml:1: error: material \"m\" would give energy away",
        ),
        ("[[section]]\nmaterial = 'm'\n", "job.toml:1: error: give `elset"),
        ("[[source]]\nname = 's'\nforce = 1\ncomponent = 1\n", "job.toml:1: error: give one of `at`, `line`"),
        ("[[source]]\nname = 's'\nat = [0, 0]\nforce = 1\n", "job.toml:1: error: give one of `direction`"),
        ("[[source]]\nname = 's'\nat = [0, 0]\nnset = 'a'\n", "job.toml:1: error: give `at` or `nset`, not both"),
        ("[[source]]\nname = 's'\nat = [0]\ncomponent = 4\n", "job.toml:4: error: component 4 does not exist"),
        (
            "[[monitor]]\nname = 'm'\nat = [0, 0]\nvariables = ['S']\n",
            "job.toml:4: error: variable \"S\" does not exist",
        ),
        ("[[monitor]]\nname = 'm'\nat = [0, 0]\nevery = 0\n", "job.toml:1: error: `every` and `count`"),
        (
            "[[amplitude]]\nname = 'a'\nkind = 'hann'\nfrequency = 1\n",
            "job.toml:1: error: an amplitude of kind \"hann\" needs",
        ),
        (
            "[[amplitude]]\nname = 'a'\nkind = 'ricker'\nfrequency = 1\ncycles = 2\n",
            "job.toml:1: error: `cycles` does not",
        ),
        (
            "[[amplitude]]\nname = 'a'\nkind = 'table'\ntimes = [1, 0]\nvalues = [0, 0]\n",
            "job.toml:1: error: `times` must",
        ),
        ("[[absorbing]]\nname = 'a'\nside = 'left'\n", "job.toml:3: error: invalid value: string \"left\""),
        (
            "[[absorbing]]\nname = 'a'\nside = 'xmin'\ndepth = 1\nprofile = 'damping'\n",
            "job.toml:1: error: profile \"damping\" needs",
        ),
        (
            "[[field]]\nquantities = ['heat']\ncount = 1\n",
            "job.toml:2: error: invalid value: string \"heat\", expected one of \"displacement\"",
        ),
    ];
    for (text, expected) in cases {
        let found = message(text);
        assert!(found.starts_with(expected), "{text:?}\n  gives    {found}\n  expected {expected}");
    }
}

#[test]
fn two_tables_of_one_name_are_refused() {
    let one = "[[amplitude]]\nname = 'a'\nkind = 'hann'\nfrequency = 1\ncycles = 1\n";
    let found = message(&format!("{one}{}", one.replace("'a'", "'A'")));
    assert_eq!(found, "job.toml:6: error: amplitude \"A\" is there already, on line 1");
}

#[test]
fn speeds_give_the_same_material_as_moduli() {
    let job = parse("[[material]]\nname = 'm'\ndensity = 2700\np_speed = 6320\ns_speed = 3130\n").unwrap();
    let Ok(Elasticity::Isotropic { young, poisson }) = job.materials[0].value.elasticity() else { panic!() };
    let mu = young / (2.0 * (1.0 + poisson));
    let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    assert!(((mu / 2700.0).sqrt() - 3130.0).abs() < 1e-8);
    assert!((((lambda + 2.0 * mu) / 2700.0).sqrt() - 6320.0).abs() < 1e-8);
}

#[test]
fn values_may_be_written_in_several_ways() {
    let job = parse(
        "[solver]\nincrement = 1\n[[source]]\nname = 's'\nat = [0, 0]\nangle = 90\nvelocity = 2\n\
         amplitude = { kind = 'ricker', frequency = 2 }\n\
         [[boundary]]\nside = ['xmin', 'ymax']\ncomponents = 'y'\n[[monitor]]\nname = 'm'\nnset = 'N'\nvariables = 'rf3'\n\
         [[field]]\nquantities = ['S', 'energy_density']\ninterval = 1\n",
    )
    .unwrap();
    assert_eq!(job.solver.unwrap().value.increment, Some(IncrementValue::Seconds(1.0)));
    let source = &job.dynamics.sources[0].value;
    assert_eq!(source.unit_direction(2).unwrap(), [0.0, 1.0, 0.0]);
    assert!(source.unit_direction(3).is_err());
    assert_eq!(source.action().unwrap(), Action::Motion(BoundaryKind::Velocity, 2.0));
    let Some(AmplitudeReference::Inline(amplitude)) = &source.amplitude else { panic!() };
    assert_eq!(amplitude.shape().unwrap(), AmplitudeShape::Ricker { frequency: 2.0, peak_time: 0.75 });
    assert_eq!(job.dynamics.boundaries[0].value.side, Some(Sides(vec![(0, false), (1, true)])));
    assert_eq!(job.dynamics.boundaries[0].value.components, Components::These(vec![Component(1)]));
    assert_eq!(job.dynamics.monitors[0].value.variables.0, [(NodalQuantity::Reaction, Some(2))]);
    assert_eq!(job.dynamics.monitors[0].value.when().unwrap(), OutputInterval::Increments(1));
    assert_eq!(job.fields[0].value.when().unwrap(), OutputInterval::Time(1.0));
}

#[test]
fn orientations_are_rotations() {
    let job = parse("[[section]]\nall = true\nmaterial = 'm'\norientation = [[1, 1, 0], [0, 1, 0]]\n").unwrap();
    let rotation = job.sections[0].value.material_from_global().unwrap().unwrap();
    let h = 0.5_f64.sqrt();
    for (found, expected) in rotation.iter().zip([h, h, 0.0, -h, h, 0.0, 0.0, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-15);
    }
    let parallel = "[[section]]\nall = true\nmaterial = 'm'\norientation = [[1, 1, 0], [2, 2, 0]]\n";
    assert!(message(parallel).contains("parallel"));
}

#[test]
fn amplitude_files_are_read_beside_the_job() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.csv"), "\u{feff}time,value\n# t, a\n0, 0\n1e-6, 1\n\n2e-6;-1\n").unwrap();
    let path = folder.path().join("job.toml");
    std::fs::write(&path, "[[amplitude]]\nname = 'a'\nkind = 'table'\nfile = 's.csv'\n").unwrap();
    let shape = ExplicitJob::read(&[&path]).unwrap().dynamics.amplitudes[0].value.shape().unwrap();
    assert_eq!(shape, AmplitudeShape::Tabular { times: vec![0.0, 1e-6, 2e-6], values: vec![0.0, 1.0, -1.0] });
    for second in ["nan, 1", "0,000001;0,5", "1e-6 1 1"] {
        std::fs::write(folder.path().join("s.csv"), format!("0, 0\n{second}\n")).unwrap();
        let error = ExplicitJob::read(&[&path]).unwrap_err().to_string();
        let expected = "s.csv:2: expected a time and a value";
        assert!(error.contains("job.toml:1: error: ") && error.contains(expected), "{second}: {error}");
    }
}

#[test]
fn a_later_job_wins() {
    let mut jobs = JobText::default();
    let material = |name: &str, density: u32| {
        format!("[[material]]\nname = '{name}'\ndensity = {density}\nyoung = 1\npoisson = 0\n")
    };
    jobs.add(
        &format!("title = 'a'\n[solver]\ntime = 1\nlumping = 'hrz'\n{}", material("m", 1)),
        "a.toml",
        Path::new(""),
    );
    jobs.add(&format!("[solver]\ntime = 2\n{}{}", material("M", 2), material("n", 3)), "b.toml", Path::new(""));
    let job = ExplicitJob::from_text(&jobs).unwrap();
    let Located { place, value: solver } = job.solver.unwrap();
    assert_eq!((solver.time, solver.lumping), (Some(2.0), Some(Word(Lumping::Hrz))));
    assert_eq!((place.to_string(), job.title.as_deref()), ("b.toml:1".to_owned(), Some("a")));
    assert_eq!(job.materials.iter().map(|item| item.value.density).collect::<Vec<_>>(), [2.0, 3.0]);
    assert_eq!(job.materials[1].place.to_string(), "b.toml:8");
    // A key is refused with the file and line in which it stands.
    jobs.add("\n[solver]\n\nlumpin = 'hrz'\n", "c.toml", Path::new(""));
    let error = ExplicitJob::from_text(&jobs).unwrap_err().to_string();
    assert!(error.starts_with("c.toml:4: error: unknown field `lumpin`"), "{error}");
}
