//! No bytes make a reader of meshes (VTU, Gmsh, openCARP) panic, hang, or ask for much memory; what it reads can be given velocities and starts.

#![no_main]

mod mesh_input;

use std::hint::black_box;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pogo_formats::eikonal::job::EikonalJob;
use pogo_formats::job::JobFile as _;
use pogo_formats::read::mesh;

const JOB: &str = "[[velocity]]\nspeed = 1\n[[start]]\nat = [0, 0, 0]\n";

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("pogo-fuzz-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    let Ok(path) = mesh_input::put(&folder, bytes) else { return };
    if let Ok(mut mesh) = mesh::read(&path, &Default::default()) {
        for &node in &mesh.elements {
            black_box(mesh.point(node));
        }
        for array in &mesh.arrays {
            assert_eq!(array.values.len(), array.components * mesh.n_elements());
        }
        if let Ok(job) = EikonalJob::parse(JOB, "job.toml", Path::new(".")) {
            let _ = black_box(job.apply(&mut mesh));
        }
    }
});
