//! An Eikonal mesh as the pictures and partitioners see meshes.

use super::EikonalMeshView;
use super::setup::EikonalSetup;
use crate::mesh::ElementKind;
use crate::mesh::{GroupView, MeshView};

/// The unit of time in seconds: pictures count in metres and seconds and choose prefixes themselves.
pub fn second(setup: &EikonalSetup) -> f64 {
    match setup.time_unit.as_str() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => 1.0,
    }
}

/// The unit of length in metres.
pub fn metre(setup: &EikonalSetup) -> f64 {
    match setup.length_unit.as_str() {
        "um" | "µm" => 1e-6,
        "mm" => 1e-3,
        "cm" => 1e-2,
        "km" => 1e3,
        _ => 1.0,
    }
}

/// Places of the nodes in metres.
pub fn in_metres(mesh: &EikonalMeshView, setup: &EikonalSetup) -> Vec<f64> {
    let metre = metre(setup);
    mesh.coordinates.iter().map(|x| metre * x).collect()
}

/// What a [`MeshView`] of an Eikonal mesh borrows besides the mesh itself.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// (n, 2) of a mesh in the plane; empty otherwise.
    flat: Vec<f64>,
    /// Zeros, for each node and each element.
    instance: Vec<u16>,
    /// Velocity class of each element.
    section: Vec<u32>,
}

impl Drawn {
    /// Prepares it.
    pub fn new(mesh: &EikonalMeshView) -> Self {
        let flat = match mesh.plane {
            true => mesh.coordinates.as_chunks::<3>().0.iter().flat_map(|x| [x[0], x[1]]).collect(),
            false => Vec::new(),
        };
        let instance = vec![0; mesh.n_nodes().max(mesh.n_elements())];
        Self { flat, instance, section: mesh.class.iter().map(|&class| class.into()).collect() }
    }

    /// Tetrahedra as C3D4; triangles as CPS3, in two dimensions or, on a surface, in three. Sets are left out.
    pub fn view<'a>(&'a self, mesh: &EikonalMeshView<'a>) -> MeshView<'a> {
        let kind = if mesh.corners == 4 { ElementKind::C3d4 } else { ElementKind::Cps3 };
        MeshView {
            dimension: if mesh.plane { 2 } else { 3 },
            coordinates: if mesh.plane { &self.flat } else { mesh.coordinates },
            node_labels: mesh.node_labels,
            node_instance: &self.instance[..mesh.n_nodes()],
            instances: vec![""],
            groups: vec![GroupView {
                kind,
                labels: mesh.element_labels,
                instance: &self.instance[..mesh.n_elements()],
                section: &self.section,
                connectivity: mesh.elements,
            }],
            node_sets: Vec::new(),
            element_sets: Vec::new(),
        }
    }
}
