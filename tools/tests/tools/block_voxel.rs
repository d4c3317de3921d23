//! `pogo-block` and `pogo-info` on voxel stacks, as a user runs them.

use std::fs;

use pogo_formats::physics::BlockFile;
use pogo_formats::voxel::Voxel;
use pogo_formats::voxel::setup::NodeRegion;

type File = BlockFile<Voxel>;

use crate::{pogo_block, pogo_info, text};

const SIZE: [usize; 3] = [30, 22, 17];

/// Void, soft or hard.
fn grey([i, j, k]: [usize; 3]) -> u8 {
    match (i / 4 + j / 5 + k / 3) % 3 {
        0 if i > 3 => 0,
        1 => 120,
        _ => 250,
    }
}

/// Version 1 of the format, as NumPy writes an array of [z, y, x].
fn npy() -> Vec<u8> {
    let [nx, ny, nz] = SIZE;
    let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({nz}, {ny}, {nx}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    for k in 0..nz {
        for j in 0..ny {
            file.extend((0..nx).map(|i| grey([i, j, k])));
        }
    }
    file
}

const JOB: &str = "title = \"A test\"
[image]
spacing = 0.5
[material]
law = \"labels\"
poisson = 0.3
labels = [
  { value = 0, young = 0 },
  { value = 120, name = \"soft\", young = 1000 },
  { value = 250, name = \"hard\", young = 20000 },
]
[load]
preset = \"uniaxial\"
axis = \"z\"
strain = -0.01
";

fn case() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bone.npy"), npy()).unwrap();
    fs::write(folder.path().join("job.toml"), JOB).unwrap();
    folder
}

#[test]
fn stacks_become_block_files() {
    let folder = case();
    let output = pogo_block(folder.path(), &["bone.npy", "--job", "job.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = text(&output.stdout);
    assert!(summary.starts_with("bone.blk: ") && summary.contains("grid brick"), "{summary}");
    let path = folder.path().join("bone.blk");
    let file = File::open(&path).unwrap();
    file.verify().unwrap();
    let (mesh, setup) = (file.mesh(), file.setup());
    assert_eq!((mesh.size, mesh.spacing), ([30, 22, 17], 0.5));
    assert_eq!(
        setup.materials.iter().map(|m| (m.name.as_str(), m.young)).collect::<Vec<_>>(),
        [("soft", 1000.0), ("hard", 20000.0)]
    );
    let mut n = 0;
    for k in 0..SIZE[2] {
        for j in 0..SIZE[1] {
            for i in 0..SIZE[0] {
                let element = mesh.bricks.element([i, j, k].map(|x| x as u32));
                let class = element.map(|e| mesh.element_class[e as usize]);
                assert_eq!(class, [None, Some(0), Some(1)][usize::from(grey([i, j, k])) / 100], "{i} {j} {k}");
                n += usize::from(element.is_some());
            }
        }
    }
    assert_eq!(mesh.bricks.n_elements(), n);
    assert_eq!(setup.cases.len(), 1);
    let first = fs::read(&path).unwrap();
    assert_eq!(pogo_block(folder.path(), &["bone.npy", "--job", "job.toml", "--threads", "1"]).status.code(), Some(0));
    assert_eq!(fs::read(&path).unwrap(), first, "not the same bytes with one thread");

    let page = text(&pogo_info(folder.path(), &["bone.blk"]).stdout);
    for words in ["static", "30 × 22 × 17 voxels of 0.5 mm", "soft", "fractions short", "A test"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let output = pogo_info(folder.path(), &["bone.blk", "--check"]);
    assert!(output.status.success() && text(&output.stdout).contains("whole"));
}

#[test]
fn grids_and_sub_domains() {
    let folder = case();
    for (grid, tables, domains, method) in
        [("offset", None, 1, "morton"), ("hash", None, 5, "morton"), ("hash", Some("4"), 3, "metis")]
    {
        let domains_text = domains.to_string();
        let mut arguments = vec!["bone.npy", "--job", "job.toml", "-o", "out.blk", "--grid", grid, "--domains"];
        arguments.extend([domains_text.as_str(), "--domain-partition", method, "--json"]);
        arguments.extend(tables.iter().flat_map(|&n| ["--hash-tables", n]));
        let output = pogo_block(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((summary["grid"].as_str(), summary["domains"].as_u64()), (Some(grid), Some(domains)));
        let file = File::open(&folder.path().join("out.blk")).unwrap();
        file.verify().unwrap();
        assert_eq!(file.domains().n_domains() as u64, domains);
        let levels = file.levels().offset.len().max(file.levels().hash.len());
        // 30, 15, 8, 4, 2, 1.
        assert_eq!(levels, 6);
        if let (Some(n), [first, ..]) = (tables, file.levels().hash.as_slice()) {
            assert_eq!(first.n_tables().to_string(), n);
        }
        let info: serde_json::Value =
            serde_json::from_slice(&pogo_info(folder.path(), &["out.blk", "--json"]).stdout).unwrap();
        assert_eq!(info["grid"]["representation"].as_str(), Some(grid));
        assert_eq!(info["domains"]["domains"].as_array().map(Vec::len), Some(domains as usize));
        let sum: u64 =
            info["domains"]["domains"].as_array().unwrap().iter().filter_map(|d| d["elements"].as_u64()).sum();
        assert_eq!(Some(sum), summary["elements"].as_u64());
        assert!(pogo_info(folder.path(), &["out.blk", "--check", "--quiet"]).status.success());
    }
    let table = text(&pogo_info(folder.path(), &["out.blk", "--grids"]).stdout);
    for words in ["brick ", "offset ", "hash ", "B/element", "the lemma"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let output = pogo_info(folder.path(), &["out.blk", "--sets"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("voxel statics has no sets"));
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let folder = case();
    fs::write(folder.path().join("void.toml"), JOB.replace("1000", "0").replace("20000", "0")).unwrap();
    fs::write(folder.path().join("typo.toml"), JOB.replace("strain", "strian")).unwrap();
    fs::write(folder.path().join("far.toml"), format!("{JOB}\n[[boundary]]\nat = [-9, 0, 0]\n")).unwrap();
    fs::write(folder.path().join("text.tif"), "no stack").unwrap();
    for (arguments, expected) in [
        (&["bone.npy"][..], "needs a job"),
        (&["bone.npy", "--job", "typo.toml"], "typo.toml:"),
        (&["bone.npy", "--job", "missing.toml"], "missing.toml"),
        (&["missing.npy", "--job", "job.toml"], "missing.npy"),
        (&["text.tif", "--job", "job.toml"], "text.tif"),
        (&["bone.npy", "--job", "job.toml", "-o", "bone.npy"], "replace its own input"),
        (&["bone.npy", "--job", "job.toml", "-o", "no/where.blk"], "no such folder"),
        (&["bone.npy", "--job", "job.toml", "--domains", "500"], "at most that many"),
        (&["bone.npy", "--job", "job.toml", "--hash-tables", "4"], "--hash-tables goes with --grid hash"),
        (&["bone.npy", "--job", "far.toml"], "the point [-9.0, 0.0, 0.0] lies outside the image"),
    ] {
        let output = pogo_block(folder.path(), arguments);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(expected), "{arguments:?}: {error}");
    }
    let wrong = pogo_block(folder.path(), &["bone.npy", "--job", "job.toml", "--hash-tables", "3"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(fs::read_dir(folder.path()).unwrap().all(|entry| !entry.unwrap().path().ends_with(".blk")));
}

#[test]
fn check_writes_nothing() {
    let folder = case();
    let output = pogo_block(folder.path(), &["bone.npy", "--job", "job.toml", "--check"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("can be blocked"));
    let output = pogo_block(folder.path(), &["bone.npy", "--check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"].as_bool(), Some(false));
    assert!(!folder.path().join("bone.blk").exists());
}

#[test]
fn masks_mark_nodes() {
    let folder = case();
    // The stack itself as a mask: the nodes of the voxels of 250.
    let job = JOB.split("[load]").next().unwrap().to_owned()
        + "[[boundary]]\nmask = \"bone.npy\"\nlabel = 250\n[[force]]\nside = \"zmax\"\nforce = [0, 0, 1]\n";
    fs::write(folder.path().join("mask.toml"), job).unwrap();
    let output = pogo_block(folder.path(), &["bone.npy", "--job", "mask.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = File::open(&folder.path().join("bone.blk")).unwrap();
    let (mesh, setup) = (file.mesh(), file.setup());
    let field = &setup.cases[0].displacements[0];
    let NodeRegion::Nodes(nodes) = &field.region else { panic!("{:?}", field.region) };
    let mut expected: Vec<u32> = Vec::new();
    for (element, class) in mesh.element_class.iter().enumerate() {
        if *class == 1 {
            expected.extend(mesh.bricks.nodes(element as u32).unwrap());
        }
    }
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(nodes, &expected);
}

#[test]
fn parosol_files_bring_their_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = hdf5_pure::FileBuilder::new();
    let mut group = builder.create_group("Image_Data");
    // (z, y, x); the last voxel is void.
    let moduli: Vec<f32> = (0..24).map(|v| if v == 23 { 0.0 } else { 1000.0 + v as f32 }).collect();
    group.create_dataset("Image").with_f32_data(&moduli).with_shape(&[4, 3, 2]);
    group.create_dataset("Voxelsize").with_f64_data(&[0.082]);
    group.create_dataset("Poisons_ratio").with_f64_data(&[0.3]);
    let coordinates = [0, 1, 2, 0, 0, 0, 0, 2, 4, 0, 1, 2_u16];
    group.create_dataset("Fixed_Displacement_Coordinates").with_u16_data(&coordinates).with_shape(&[3, 4]);
    group.create_dataset("Fixed_Displacement_Values").with_f32_data(&[0.0, 0.0, -0.5]);
    builder.add_group(group.finish());
    builder.write(folder.path().join("model.h5")).unwrap();
    let job = "[material]\nlaw = \"modulus\"\npoisson = 0.3\n";
    fs::write(folder.path().join("job.toml"), job).unwrap();
    let output = pogo_block(folder.path(), &["model.h5", "--job", "job.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = File::open(&folder.path().join("model.blk")).unwrap();
    let (mesh, setup) = (file.mesh(), file.setup());
    assert_eq!((mesh.size, mesh.spacing, mesh.bricks.n_elements()), ([2, 3, 4], 0.082, 23));
    let [table] = setup.cases[0].displacement_tables.as_slice() else { panic!("{:?}", setup.cases) };
    let mut found: Vec<_> = table.nodes.iter().zip(&table.directions).zip(&table.values).collect();
    found.sort_by_key(|((node, _), _)| **node);
    let node = |at| mesh.bricks.node(at).unwrap();
    let nodes = [[2, 1, 0], [0, 0, 0], [1, 0, 4]].map(node);
    let mut expected = vec![((&nodes[0], &0), &0.0), ((&nodes[1], &2), &0.0), ((&nodes[2], &2), &-0.5)];
    expected.sort_by_key(|((node, _), _)| **node);
    assert_eq!(found, expected);
    assert!(!text(&output.stdout).contains("the stack's file"), "{}", text(&output.stdout));

    // What of the file is not used is said.
    let own = job.replace("0.3", "0.25") + "[load]\npreset = \"axial\"\nstrain = 0.01\n";
    fs::write(folder.path().join("own.toml"), own).unwrap();
    let output = pogo_block(folder.path(), &["model.h5", "--job", "own.toml", "-o", "own.blk"]);
    let said = text(&output.stdout);
    assert!(said.contains("Poisson's ratio is 0.25 as the job says, not 0.3 as the stack's file does"), "{said}");
    assert!(said.contains("the conditions in the stack's file are not used: the job has its own"), "{said}");

    fs::write(folder.path().join("crop.toml"), format!("[image]\ncrop = [[0, 0, 0], [2, 2, 2]]\n{job}")).unwrap();
    let output = pogo_block(folder.path(), &["model.h5", "--job", "crop.toml"]);
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("crop.toml:1: error: the conditions"), "{error}");
}

/// Sizes that others found, on stacks from elsewhere.
#[test]
fn stacks_from_elsewhere() {
    let Some(shared) = pogo_tests::shared("voxels") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (stack, spacing, threshold, elements, dof) in [
        ("parosol_py/trab1240_labels.npz", "0.0607", 1, 179_421, 1_004_451),
        ("lhdl_trab/3155_D_4_bc_cropped_200.npz", "0.0195", 64, 1_822_435, 6_680_313),
        ("bonelab/test25a.aim", "0.034", 100, 7_087, 0),
    ] {
        let job = format!(
            "[image]\nspacing = {spacing}\n[material]\nlaw = \"threshold\"\nthreshold = {threshold}\nyoung = 1e4\n\
             poisson = 0.3\n[load]\npreset = \"axial\"\nstrain = -0.01\n"
        );
        fs::write(folder.path().join("job.toml"), job).unwrap();
        let stack = shared.join(stack);
        for grid in ["offset", "hash"] {
            let stack = stack.to_str().unwrap();
            let arguments = [stack, "--job", "job.toml", "-o", "out.blk", "--grid", grid, "--domains", "3", "--json"];
            let output = pogo_block(folder.path(), &arguments);
            assert_eq!(output.status.code(), Some(0), "{stack}: {}", text(&output.stderr));
            let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(summary["elements"].as_u64(), Some(elements), "{stack}");
            if dof > 0 {
                assert_eq!(summary["dof"].as_u64(), Some(dof), "{stack}");
                // Of memory; a small model's is the program's own.
                assert!(summary["peak_bytes_per_dof"].as_f64().is_none_or(|bytes| bytes < 60.0), "{summary}");
            }
            File::open(&folder.path().join("out.blk")).unwrap().verify().unwrap();
        }
    }
}

#[test]
fn what_is_left_over_of_a_stack_is_a_warning_that_quiet_shows() {
    let folder = case();
    let head =
        "NDims = 3\nDimSize = 30 22 17\nElementType = MET_UCHAR\nElementSpacing = 1 1 1\nElementDataFile = s.raw\n";
    let voxels = npy()[npy().len() - 30 * 22 * 17..].to_vec();
    let make = |data: &[u8], options: &[&str]| {
        fs::write(folder.path().join("s.mhd"), head).unwrap();
        fs::write(folder.path().join("s.raw"), data).unwrap();
        let output = pogo_block(folder.path(), &[&["s.mhd", "--job", "job.toml"], options].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    };
    assert_eq!(make(&voxels, &["-q"]), (Some(0), String::new(), String::new()));
    let twice = [voxels.clone(), voxels.clone()].concat();
    let warning =
        "s.mhd: warning: 11,220 bytes left over behind the last of 30 × 22 × 17 voxels: are these the right sizes?\n";
    assert_eq!(make(&twice, &["-q"]), (Some(0), String::new(), warning.to_owned()));
    let (_, summary, stderr) = make(&twice, &["--json", "-q"]);
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["warnings"][0], stderr.as_str()), (&warning.trim_end().into(), warning));
    let (code, _, stderr) = make(&voxels[..5610], &["-q"]);
    assert!(code == Some(1) && stderr.contains("claims 11220 bytes of voxels, the file holds 5610"), "{stderr}");
}
