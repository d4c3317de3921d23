// How the fuzz targets and the replay of their corpus read a block file: all tables, setups and checks of its physics.

use std::hint::black_box;
use std::path::Path;

use pogo_formats::block::{BlockError, Container};
use pogo_formats::eikonal::Eikonal;
use pogo_formats::explicit::Explicit;
use pogo_formats::physics::{self, BlockFile, Physics};
use pogo_formats::spring::Spring;
use pogo_formats::voxel::Voxel;

/// Opens a file of one physics and reads all of it.
type Read = fn(Container) -> Result<(), BlockError>;

const READ: &[(&str, Read)] = &[
    (Explicit::NAME, |container| BlockFile::from_container(container).map(|file| explicit(&file))),
    (Voxel::NAME, |container| BlockFile::from_container(container).map(|file| voxels(&file))),
    (Spring::NAME, |container| BlockFile::from_container(container).map(|file| springs(&file))),
    (Eikonal::NAME, |container| BlockFile::from_container(container).map(|file| eikonal(&file))),
];

/// Opens a file, reads every table and verifies it.
pub fn read(path: &Path) -> Result<(), BlockError> {
    Container::open(path).and_then(|file| physics::registered(&file, READ)?(file))
}

fn explicit(file: &BlockFile<Explicit>) {
    let (mesh, blocks) = (file.mesh(), file.blocks());
    black_box(format!("{mesh:?} {blocks:?} {:?} {:?} {:?}", file.device(), file.setup(), file.statistics()));
    for block in 0..blocks.n_blocks() {
        black_box((blocks.own_nodes(block), blocks.halo(block).len(), blocks.runs(block).count()));
        black_box(file.device().colours(block).count());
    }
    let _ = black_box(file.verify());
}

fn springs(file: &BlockFile<Spring>) {
    let mesh = file.mesh();
    black_box(format!("{mesh:?} {:?}", file.setup()));
    for particle in 0..mesh.n_particles() {
        mesh.springs(particle).for_each(|spring| _ = black_box(mesh.rest_vector(particle, &spring)));
    }
    let _ = black_box(file.verify());
}

fn voxels(file: &BlockFile<Voxel>) {
    let (mesh, domains) = (file.mesh(), file.domains());
    black_box(format!("{mesh:?} {:?}", file.setup()));
    for element in 0..mesh.bricks.n_elements() {
        black_box(mesh.bricks.nodes(element as u32));
    }
    for level in file.levels().offset {
        (0..level.n_elements).for_each(|element| _ = black_box(level.nodes(element)));
        (0..level.transfer.node_children.len()).for_each(|node| _ = black_box(level.transfer.of_node(node).count()));
    }
    for level in file.levels().hash {
        (0..level.n_elements()).for_each(|element| _ = black_box(level.nodes(element)));
        (0..64).for_each(|bit| _ = black_box(level.node(1 << bit)));
    }
    (0..domains.n_domains())
        .for_each(|domain| _ = black_box((domains.own(domain).count(), domains.halo_of(domain).len())));
    let _ = black_box(file.verify());
}

fn eikonal(file: &BlockFile<Eikonal>) {
    let (mesh, domains, setup) = (file.mesh(), file.domains(), file.setup());
    black_box(format!("{mesh:?} {domains:?} {setup:?}"));
    for node in 0..mesh.n_nodes() {
        mesh.round(node).iter().for_each(|&entry| _ = black_box(mesh.nodes((entry / 4) as usize)));
        mesh.neighbours_of(node).iter().for_each(|&other| _ = black_box(mesh.point(other as usize)));
    }
    for domain in 0..domains.n_domains() {
        black_box((domains.own(domain).count(), domains.halo_of(domain).len(), domains.sent(domain).count()));
    }
    let _ = black_box(pogo_formats::eikonal::metrics(&mesh, &setup.classes));
    setup.starts.iter().for_each(|start| _ = black_box(pogo_formats::eikonal::nodes_of(&mesh, &start.region)));
    let _ = black_box(file.verify());
}
