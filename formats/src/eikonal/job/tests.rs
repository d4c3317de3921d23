use std::path::Path;

use super::*;
use crate::eikonal::setup as model;
use crate::job::JobText;
use crate::mesh::NamedSet;
use crate::read::mesh::{CellArray, MeshFile};

fn mesh() -> MeshFile {
    MeshFile {
        file: "m.vtu".into(),
        corners: 4,
        coordinates: [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 1.]].concat(),
        elements: vec![0, 1, 2, 3, 4, 1, 2, 3],
        node_labels: vec![10, 20, 30, 40, 50],
        element_labels: vec![1, 2],
        node_sets: vec![NamedSet { name: "A".into(), members: vec![1, 2] }],
        element_sets: vec![NamedSet { name: "scar".into(), members: vec![1] }],
        arrays: vec![
            CellArray { name: "fibers".into(), components: 3, whole: false, values: vec![1., 0., 0., 0., 1., 0.] },
            CellArray { name: "region".into(), components: 1, whole: true, values: vec![3., 4.] },
            CellArray { name: "cv".into(), components: 1, whole: false, values: vec![0.5, 0.7] },
            CellArray {
                name: "skew".into(),
                components: 9,
                whole: false,
                values: [1., 0.2, 0., 0.2, 1., 0., 0., 0., 1., 1., 0.2, 0., 0., 1., 0., 0., 0., 1.].to_vec(),
            },
        ],
        point_arrays: vec!["Fibres".into()],
        ..MeshFile::default()
    }
}

fn apply(text: &str) -> Result<Applied, String> {
    let job = EikonalJob::parse(text, "j.toml", Path::new(".")).map_err(|error| error.to_string())?;
    job.apply(&mut mesh()).map_err(|error| error.to_string())
}

#[test]
fn classes_starts_and_outputs() {
    let applied = apply(
        "physics = 'eikonal'\n[mesh]\nscale = 2\n[[velocity]]\nspeeds = [0.6, 0.3]\n[[velocity]]\nname = 'scar'\nelset = 'SCAR'\nspeed = 0\n\
         [[start]]\nnode = 30\n[[start]]\nname = 'b'\nnset = 'a'\ntime = 2.5\n[[start]]\nsphere = { centre = [0, 0, 0], radius = 1 }\n\
         [output]\nprobe_nodes = [50]\nprobe_points = [[2, 0, 0]]\nviews = ['xmin', 'zmax']\n",
    )
    .unwrap();
    assert_eq!(applied.class, [0, 1]);
    assert_eq!(applied.fibre, [1., 0., 0., 0., 1., 0.]);
    assert!(applied.notes[0].contains("\"fibers\""));
    let setup = &applied.setup;
    let axes = model::Velocity::Axes { speeds: [0.6, 0.3, 0.3], directions: model::Directions::Each };
    assert_eq!(setup.classes[0].velocity, axes);
    assert_eq!(setup.classes[1].velocity, model::Velocity::Blocked);
    assert_eq!(setup.starts[0].region, model::StartRegion::Label("30".into()));
    assert_eq!((&setup.starts[1].region, setup.starts[1].time), (&model::StartRegion::Set(0), 2.5));
    assert_eq!(setup.outputs.probe_nodes, [4, 1]);
    assert_eq!(setup.outputs.views, ["-x", "+z"]);
}

#[test]
fn tags_and_data_of_elements() {
    let start = "[[start]]\nat = [0, 0, 0]\n";
    let applied = apply(&format!("[[velocity]]\ntag = [3, 4]\nspeed_data = 'cv'\nfactor = 2\n{start}")).unwrap();
    assert_eq!((applied.velocities, applied.class), (vec![0.5, 0.7], vec![0, 0]));
    for (text, expected) in [
        ("[[velocity]]\ntag = 3\nspeed = 1\n", "1 of 2 elements have no velocity, element 2 (m.vtu) first"),
        ("[[velocity]]\ntag = 9\nspeed = 1\n", "j.toml:1: error: no element has the tag 9"),
        ("[[velocity]]\nelset = 'x'\nspeed = 1\n", "no element set \"x\" (its element sets: scar)"),
        ("[[velocity]]\nspeed_data = 'x'\n", "no cell array \"x\""),
        ("[[velocity]]\nspeed_data = 'x.npy'\n", "x.npy: cannot read"),
        (
            "[[velocity]]\ntensor_data = 'skew'\n",
            "j.toml:1: error: the tensor of element 2 (m.vtu) is not symmetric: [1.0, 0.2, 0.0, 0.0,",
        ),
        ("[mesh]\nfibre = 'fibres'\n[[velocity]]\nspeeds = [2, 1]\n", "\"fibres\" is on the points of the mesh"),
        ("[[velocity]]\ntensor_data = 'cv'\n", "1 numbers an element, and 6 or 9 are expected"),
        ("[mesh]\nfibre = 'fibrs'\n[[velocity]]\nspeed = 1\n", "j.toml:1: error: the mesh has no cell array \"fibrs\""),
        ("[mesh]\nsheet = 'sheet.npy'\n[[velocity]]\nspeeds = [2, 1]\n", "sheet.npy: cannot read"),
        ("[mesh]\ntags = 'fibers'\n[[velocity]]\nspeed = 1\n", "\"fibers\" has 3 numbers an element, and 1 are"),
        ("[[velocity]]\nspeeds = [3, 2, 1]\n", "there are no sheet directions"),
        ("[[velocity]]\nspeeds = [3, 2, 0]\n", "not positive definite"),
        ("[[velocity]]\nspeed = -1\n", "or 0 for a block"),
        ("[[velocity]]\nspeed = 1\ntensor = [1, 1, 1, 0, 0, 0]\n", "not both"),
        ("[[velocity]]\n", "give one of `speed`"),
        ("[[velocity]]\nspeed = 1\nsped = 2\n", "j.toml:3: error: unknown field `sped`"),
        ("[[velocity]]\nspeed = 1\n[[start]]\nnode = 7\n", "j.toml:3: error: the mesh has no node 7"),
        ("[[velocity]]\nspeed = 1\n[[start]]\nnset = 'b'\n", "no node set \"b\""),
        ("[[velocity]]\nspeed = 1\n[solver]\nexact_radius = -1\n", "`exact_radius` must not be negative"),
    ] {
        let error = apply(&format!("{text}{start}")).unwrap_err();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    assert!(apply("[[velocity]]\nspeed = 1\n").unwrap_err().contains("no [[start]]"));
    assert!(apply(start).unwrap_err().contains("no [[velocity]]"));
    let scar = "[[velocity]]\nname = 'scar'\ntag = 3\nspeed = 0\n";
    let all = "[[velocity]]\nspeed = 1\n";
    let notes = |text: &str| apply(&format!("{text}{start}")).unwrap().notes;
    assert!(notes(&format!("{all}{scar}")).is_empty());
    let found = notes(&format!("{scar}{all}"));
    assert!(found[0].starts_with("j.toml:1: warning: velocity \"scar\" holds in no element"), "{found:?}");
    let error = EikonalJob::read(&[Path::new(".")]).unwrap_err().to_string();
    assert!(error.contains("no file but a folder or a pipe"), "{error}");
}

#[test]
fn every_key_of_the_reference_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/eikonal-job-reference.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    // Keys that exclude others stand there as comments: all of them are read one by one.
    let job = EikonalJob::parse(&text, "r", Path::new(".")).unwrap();
    assert!(job.velocities.len() > 3 && job.starts.len() > 3);
    for key in [
        "scale",
        "tags",
        "elset",
        "tag",
        "speed_data",
        "tensor_data",
        "sphere",
        "vtx",
        "probe_points",
        "decomposition",
        "start_at",
        "edges",
    ] {
        assert!(text.contains(key), "{key}");
    }
}

#[test]
fn electrodes_leads_and_trees_are_checked() {
    let head = "[[velocity]]\nspeed = 1\n[[start]]\nnode = 10\n";
    let electrodes = "[[electrode]]\nname = 'RA'\nposition = [9, 0, 0]\n[[electrode]]\nname = 'LA'\nposition = [0, 9, 0]\n\
                      [[electrode]]\nname = 'LL'\nposition = [0, 0, 9]\n";
    let ecg = "[ecg]\nconductivity = 0.2\n";
    let applied = apply(&format!("{head}{electrodes}{ecg}standard_leads = true\n")).unwrap();
    let found = applied.setup.ecg.unwrap();
    let names: Vec<&str> = found.channels().collect();
    assert_eq!(names, ["RA", "LA", "LL", "I", "II", "III", "aVR", "aVL", "aVF"]);
    assert_eq!((&found.leads[3].plus[..], &found.leads[3].minus[..]), (&[0][..], &[1, 2][..]));
    assert_eq!((found.conductivity, found.template.upstroke), ([0.2; 3], 1.0));
    assert!(applied.fibre.is_empty());
    // Along the fibre directions of the mesh are needed, but not by a velocity with its own.
    let anisotropic = format!("{electrodes}[ecg]\nconductivity = [0.2, 0.1]\n");
    assert_eq!(apply(&format!("{head}{anisotropic}")).unwrap().fibre.len(), 6);
    let own = "[[velocity]]\nspeeds = [2, 1]\nfibre = [1, 0, 0]\n[[start]]\nnode = 10\n";
    assert!(apply(&format!("{own}{anisotropic}")).unwrap().fibre.is_empty());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.csv"), "x,y,z\n0,0,0\n1,0,0\n1,1,0\n").unwrap();
    std::fs::write(folder.path().join("e.csv"), "0;1;2.5\n1;2;0.5\n").unwrap();
    let tree = format!("[[tree]]\npoints = '{0}/p.csv'\nedges = '{0}/e.csv'\n", folder.path().display());
    let applied = apply(&format!("[mesh]\nscale = 2\n{head}{tree}start_at = [0.1, 0, 0]\ndelay = 0.5\n")).unwrap();
    assert_eq!(applied.trees.speeds, [2.5, 0.5]);
    assert_eq!((&applied.trees.junctions[..], applied.trees.coordinates[3]), (&[2][..], 2.0));
    let settings = &applied.setup.trees[0];
    assert_eq!((settings.start, settings.delay_back, settings.speed), (Some((0, 0.0)), 0.5, 1.0));
    for (text, expected) in [
        (format!("{head}{ecg}"), "j.toml:5: error: an ECG needs [[electrode]]"),
        (format!("{head}{electrodes}"), "j.toml:5: error: electrodes and leads go with an [ecg]"),
        (
            format!("{head}{electrodes}{ecg}[[lead]]\nname = 'x'\nplus = 'V1'\n"),
            "no electrode \"V1\" (electrodes: RA, LA, LL)",
        ),
        (format!("{head}{electrodes}{ecg}[[lead]]\nname = 'la'\nplus = 'LA'\n"), "a lead \"la\" already"),
        (format!("{head}{electrodes}[ecg]\nconductivity = 0\n"), "`conductivity` must be positive"),
        (format!("{head}{electrodes}{ecg}recovery = 2\n"), "`recovery` goes with `duration`"),
        (format!("[mesh]\ntime_unit = 's'\n{head}{electrodes}{ecg}"), "give `upstroke`: it is 1 ms when absent"),
        (format!("{head}{tree}speed = 1\nfactor = 2\n"), "not both"),
        (format!("{head}{tree}start_node = 3\n"), "there is no node 3: the tree has 3"),
        (format!("{head}[[tree]]\nfile = 'none.vtu'\n"), "none.vtu"),
        (format!("{head}[[tree]]\nspeed = 1\n"), "give one of `file`, `points`"),
        (format!("{head}[gradient]\nelements = true\n"), "say whose times are derived"),
        (format!("{head}[[measured]]\ntime = 1\n"), "give one of `node`, `at`"),
    ] {
        let error = apply(&text).unwrap_err();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
}

#[test]
fn a_later_job_wins() {
    let mut jobs = JobText::default();
    let first = "physics = 'eikonal'\n[mesh]\nscale = 2\n[[velocity]]\nname = 'all'\nspeed = 1\n[[start]]\nnode = 10\n\
                 [solver]\nexact_radius = 0.5\n[output]\nisochrones = 7\n";
    jobs.add(first, "a.toml", Path::new(""));
    let second = "[[velocity]]\nname = 'All'\nspeed = 3\n[[start]]\nnode = 20\n[solver]\ntolerance = 0.01\n[output]\nfields = false\n";
    jobs.add(second, "b.toml", Path::new(""));
    let job = EikonalJob::from_text(&jobs).unwrap();
    assert_eq!((job.velocities.len(), job.velocities[0].value.speed, job.starts.len()), (1, Some(3.0), 2));
    let (solver, output) = (job.solver.value, job.output.value);
    assert_eq!((solver.exact_radius, solver.tolerance), (Some(0.5), Some(0.01)));
    assert_eq!((output.isochrones, output.fields, job.mesh.value.scale), (Some(7), Some(false), Some(2.0)));
}
