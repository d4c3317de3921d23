//! A job and a mesh make a setup.

mod data;
mod names;
mod velocities;

use std::path::PathBuf;

use self::names::{Places, labelled, set};
use super::{EikonalJob, NodeName, ecg, tree};
use crate::eikonal::gradient::{GradientOutputs, Measured};
use crate::eikonal::setup::{self as model, EikonalOutputs, StartRegion};
use crate::eikonal::{EikonalSetup, Trees};
use crate::job::{JobError, Located};
use crate::read::mesh::{MeshFile, read_vtx};

/// What a job says of a mesh; indices of nodes and elements are those of the mesh's file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Applied {
    /// Velocity class of each element, (m,).
    pub class: Vec<u16>,
    /// Fibres, (m, 3), or empty.
    pub fibre: Vec<f32>,
    /// Sheets, (m, 3), or empty.
    pub sheet: Vec<f32>,
    /// Velocities of single elements, (m, 1) or (m, 3), or empty.
    pub velocities: Vec<f64>,
    /// Tensors of single elements, (m, 6), or empty.
    pub tensor: Vec<f64>,
    /// Trees of fibres.
    pub trees: Trees,
    /// Classes, starts, settings, outputs. Lists of nodes hold indices of the file, which the caller renumbers.
    pub setup: EikonalSetup,
    /// Files that the job names.
    pub sources: Vec<PathBuf>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl EikonalJob {
    /// Applies the job to a mesh; its coordinates are multiplied by `[mesh] scale`.
    ///
    /// # Errors
    /// [`JobError`]: sets, tags, arrays, files, nodes that do not exist; arrays of another shape; elements without a velocity.
    pub fn apply(&self, mesh: &mut MeshFile) -> Result<Applied, JobError> {
        let table = &self.mesh.value;
        if let Some(scale) = table.scale {
            mesh.coordinates.iter_mut().for_each(|x| *x *= scale);
            if mesh.coordinates.iter().any(|x| !x.is_finite()) {
                return Err(self.mesh.place.error("`scale` makes coordinates that are too large"));
            }
        }
        let mut applied = Applied::default();
        applied.setup.title = self.title.clone().unwrap_or_default();
        applied.setup.length_unit = table.length_unit.clone().unwrap_or_else(|| "mm".into());
        applied.setup.time_unit = table.time_unit.clone().unwrap_or_else(|| "ms".into());
        applied.setup.settings = self.solver.value.settings();
        self.velocities(mesh, &mut applied)?;
        for (index, item) in self.starts.iter().enumerate() {
            let name = item.value.name.clone().unwrap_or_else(|| format!("START{}", index + 1));
            let region = self.region(mesh, item, &mut applied)?;
            applied.setup.starts.push(model::Start { name, region, time: item.value.time });
        }
        let places = Places::new(mesh);
        applied.setup.outputs = self.outputs(mesh, &places)?;
        applied.setup.gradient = self.gradient(mesh, &places)?;
        let unit = applied.setup.time_unit.clone();
        applied.setup.ecg = ecg::ecg(self.ecg.as_ref(), &self.electrodes, &self.leads, &unit)?;
        tree::trees(&self.trees, table.scale.unwrap_or(1.0), &mut applied)?;
        Ok(applied)
    }

    /// The nodes whose times are derived, and the times that were measured.
    fn gradient(&self, mesh: &MeshFile, places: &Places<'_>) -> Result<GradientOutputs, JobError> {
        let Located { place, value } = &self.gradient;
        let named: Result<Vec<u32>, String> = value.nodes.iter().map(|node| labelled(mesh, node)).collect();
        let mut nodes = named.map_err(|message| place.error(message))?;
        nodes.extend(value.points.iter().filter_map(|&point| places.nearest(point)));
        if let Some(name) = &value.nset {
            nodes.extend(&set(&mesh.node_sets, name, "node set", place)?.members);
        }
        let mut measured = Vec::new();
        for Located { place, value } in &self.measured {
            let node = match (&value.node, value.at) {
                (Some(node), _) => Some(labelled(mesh, node).map_err(|message| place.error(message))?),
                (None, at) => at.and_then(|at| places.nearest(at)),
            };
            let weight = value.weight.unwrap_or(1.0);
            measured.extend(node.map(|node| Measured { node, time: value.time, weight }));
        }
        if nodes.is_empty() && measured.is_empty() && value.elements {
            return Err(place.error("say whose times are derived: `nodes`, `points` or `nset`, or [[measured]] times"));
        }
        Ok(GradientOutputs { nodes, elements: value.elements, measured })
    }

    fn region(
        &self,
        mesh: &MeshFile,
        item: &Located<super::Start>,
        applied: &mut Applied,
    ) -> Result<StartRegion, JobError> {
        let Located { place, value } = item;
        if let Some(node) = &value.node {
            // Checked here; it may be changed by name later.
            labelled(mesh, node).map_err(|message| place.error(message))?;
            return Ok(StartRegion::Label(node.text()));
        }
        if let Some(nodes) = &value.nodes {
            let all: Result<Vec<u32>, String> = nodes.iter().map(|node| labelled(mesh, node)).collect();
            let all = all.map_err(|message| place.error(message))?;
            return if all.is_empty() { Err(place.error("`nodes` is empty")) } else { Ok(StartRegion::Nodes(all)) };
        }
        if let Some(name) = &value.nset {
            set(&mesh.node_sets, name, "node set", place)?;
            let at = mesh.node_sets.iter().position(|set| set.name.eq_ignore_ascii_case(name));
            return Ok(StartRegion::Set(at.unwrap_or_default() as u32));
        }
        if let Some(file) = &value.vtx {
            let path = place.folder.join(file);
            let nodes = read_vtx(&path).map_err(|error| place.error(error.to_string()))?;
            if let Some(node) = nodes.iter().find(|&&node| node as usize >= mesh.n_nodes()) {
                let message = format!("{}: node {node}, and there are {}", path.display(), mesh.n_nodes());
                return Err(place.error(message));
            }
            if nodes.is_empty() {
                return Err(place.error(format!("{}: it names no node", path.display())));
            }
            applied.sources.push(path);
            return Ok(StartRegion::Nodes(nodes));
        }
        Ok(match (value.at, value.corners, value.sphere) {
            (Some(point), ..) => StartRegion::Nearest(point),
            (_, Some([a, b]), _) => StartRegion::Box {
                low: std::array::from_fn(|k| a[k].min(b[k])),
                high: std::array::from_fn(|k| a[k].max(b[k])),
            },
            (.., Some(sphere)) => StartRegion::Sphere { centre: sphere.centre, radius: sphere.radius },
            _ => return Err(place.error("say where the wave starts")),
        })
    }

    fn outputs(&self, mesh: &MeshFile, places: &Places<'_>) -> Result<EikonalOutputs, JobError> {
        let (output, default) = (&self.output.value, EikonalOutputs::default());
        let nodes = |list: &[NodeName]| -> Result<Vec<u32>, JobError> {
            let all: Result<_, String> = list.iter().map(|node| labelled(mesh, node)).collect();
            all.map_err(|message| self.output.place.error(message))
        };
        let mut probe_nodes = nodes(&output.probe_nodes)?;
        probe_nodes.extend(output.probe_points.iter().filter_map(|&point| places.nearest(point)));
        let side = |&(axis, upper): &(u8, bool)| {
            format!("{}{}", if upper { '+' } else { '-' }, ['x', 'y', 'z'][usize::from(axis).min(2)])
        };
        Ok(EikonalOutputs {
            fields: output.fields.unwrap_or(default.fields),
            views: output.views.as_ref().map_or_else(Vec::new, |sides| sides.0.iter().map(side).collect()),
            isochrones: output.isochrones.unwrap_or(default.isochrones),
            histogram_bins: output.histogram_bins.unwrap_or(default.histogram_bins),
            path_nodes: nodes(&output.path_nodes)?,
            path_points: output.path_points.clone(),
            probe_nodes,
        })
    }
}
