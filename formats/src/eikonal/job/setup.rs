//! A job and a mesh make a setup.

use std::path::{Path, PathBuf};

use super::{EikonalJob, NodeName, Velocity, ecg, tree};
use crate::eikonal::gradient::{GradientOutputs, Measured};
use crate::eikonal::setup::{self as model, Directions, EikonalOutputs, StartRegion, VelocityClass};
use crate::eikonal::{EikonalSetup, Trees};
use crate::job::{JobError, Located, Place};
use crate::mesh::NamedSet;
use crate::read::image::npy;
use crate::read::mesh::{CellArray, MeshFile, read_vtx};

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

const FIBRES: &[&str] = &["fibre", "fiber", "fibres", "fibers"];
const SHEETS: &[&str] = &["sheet", "sheets"];
const TAGS: &[&str] = &["region", "gmsh:physical", "tag", "tags", "material", "elemTag"];
/// More classes than this have no room in a u16 that keeps one number free.
const MOST_CLASSES: usize = 65_000;
/// The class of an element without a velocity.
const NO_CLASS: u16 = u16::MAX;

/// What the velocities of a job need of the mesh.
#[derive(Default)]
struct Needs<'a> {
    /// Classes whose elements have speeds of their own, with these speeds.
    speeds: Vec<(u16, CellArray)>,
    /// Classes whose elements have tensors of their own, with these tensors.
    tensors: Vec<(u16, CellArray)>,
    /// The first table that needs directions of fibres.
    fibre: Option<&'a Place>,
    /// The first table that needs directions of sheets.
    sheet: Option<&'a Place>,
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
        applied.setup.outputs = self.outputs(mesh)?;
        applied.setup.gradient = self.gradient(mesh)?;
        let unit = applied.setup.time_unit.clone();
        applied.setup.ecg = ecg::ecg(self.ecg.as_ref(), &self.electrodes, &self.leads, &unit)?;
        tree::trees(&self.trees, table.scale.unwrap_or(1.0), &mut applied)?;
        Ok(applied)
    }

    /// The nodes whose times are derived, and the times that were measured.
    fn gradient(&self, mesh: &MeshFile) -> Result<GradientOutputs, JobError> {
        let Located { place, value } = &self.gradient;
        let named: Result<Vec<u32>, String> = value.nodes.iter().map(|node| labelled(mesh, node)).collect();
        let mut nodes = named.map_err(|message| place.error(message))?;
        nodes.extend(value.points.iter().filter_map(|&point| nearest(mesh, point)));
        if let Some(name) = &value.nset {
            nodes.extend(&set(&mesh.node_sets, name, "node set", place)?.members);
        }
        let mut measured = Vec::new();
        for Located { place, value } in &self.measured {
            let node = match (&value.node, value.at) {
                (Some(node), _) => Some(labelled(mesh, node).map_err(|message| place.error(message))?),
                (None, at) => at.and_then(|at| nearest(mesh, at)),
            };
            let weight = value.weight.unwrap_or(1.0);
            measured.extend(node.map(|node| Measured { node, time: value.time, weight }));
        }
        if nodes.is_empty() && measured.is_empty() && value.elements {
            return Err(place.error("say whose times are derived: `nodes`, `points` or `nset`, or [[measured]] times"));
        }
        Ok(GradientOutputs { nodes, elements: value.elements, measured })
    }

    fn velocities(&self, mesh: &MeshFile, applied: &mut Applied) -> Result<(), JobError> {
        if self.velocities.len() > MOST_CLASSES {
            return Err(self.velocities[0].place.error(format!("more than {MOST_CLASSES} [[velocity]] tables")));
        }
        applied.class = vec![NO_CLASS; mesh.n_elements()];
        let (mut tags, mut needs) = (None, Needs::default());
        for (class, item) in (0..).zip(&self.velocities) {
            self.assign(mesh, item, class, &mut applied.class, &mut tags)?;
            let Some(velocity) = self.velocity(mesh, item, class, &mut needs, applied)? else { continue };
            let name = item.value.name.clone().unwrap_or_else(|| format!("VELOCITY{}", class + 1));
            applied.setup.classes.push(VelocityClass { name, velocity });
        }
        self.needs_of_ecg(mesh, &applied.setup.classes, &mut needs);
        self.check_classes(mesh, applied)?;
        applied.velocities = merged_speeds(&needs.speeds, &applied.class);
        applied.tensor = self.merged_tensors(mesh, &needs.tensors, &applied.class)?;
        self.add_directions(mesh, &needs, applied)?;
        // A name that names nothing is a slip also where no velocity asks for what it names.
        let table = &self.mesh.value;
        let unasked = [
            (&table.fibre, 3, !applied.fibre.is_empty()),
            (&table.sheet, 3, !applied.sheet.is_empty()),
            (&table.tags, 1, tags.is_some()),
        ];
        for (name, components, _) in unasked.into_iter().filter(|(.., used)| !used) {
            if let Some(name) = name {
                self.data(mesh, name, &[components], &self.mesh.place, &mut Applied::default())?;
            }
        }
        Ok(())
    }

    /// The directions that the conductivity of an ECG needs of the mesh.
    fn needs_of_ecg<'a>(&'a self, mesh: &MeshFile, classes: &[VelocityClass], needs: &mut Needs<'a>) {
        let Some(Located { place, value }) = &self.ecg else { return };
        let of_elements = |class: &VelocityClass| match &class.velocity {
            model::Velocity::Blocked => false,
            model::Velocity::Axes { directions, .. } | model::Velocity::EachSpeeds { directions, .. } => {
                *directions == Directions::Each
            }
            _ => true,
        };
        if !classes.iter().any(of_elements) {
            return;
        }
        let [fibre, sheet, normal] = value.along_axes();
        if fibre != sheet || sheet != normal {
            needs.fibre = needs.fibre.or(Some(place));
        }
        if sheet != normal && mesh.corners == 4 {
            needs.sheet = needs.sheet.or(Some(place));
        }
    }

    /// The velocity that a table gives, and what it needs of the mesh.
    fn velocity<'a>(
        &self,
        mesh: &MeshFile,
        Located { place, value }: &'a Located<Velocity>,
        class: u16,
        needs: &mut Needs<'a>,
        applied: &mut Applied,
    ) -> Result<Option<model::Velocity>, JobError> {
        let directions = match value.fibre {
            Some(fibre) => Directions::Constant { fibre, sheet: value.sheet },
            None => Directions::Each,
        };
        let mut need_directions = |speeds: [f64; 3]| {
            if directions == Directions::Each && !(speeds[0] == speeds[1] && speeds[1] == speeds[2]) {
                needs.fibre = needs.fibre.or(Some(place));
                if speeds[1] != speeds[2] && mesh.corners == 4 {
                    needs.sheet = needs.sheet.or(Some(place));
                }
            }
        };
        let factor = value.factor.unwrap_or(1.0);
        Ok(Some(if let Some(speed) = value.speed {
            if speed == 0.0 { model::Velocity::Blocked } else { model::Velocity::Isotropic(speed) }
        } else if let Some(given) = &value.speeds {
            let speeds = [given[0], given[1], *given.get(2).unwrap_or(&given[1])];
            need_directions(speeds);
            if speeds == [0.0; 3] { model::Velocity::Blocked } else { model::Velocity::Axes { speeds, directions } }
        } else if let Some(tensor) = value.tensor {
            model::Velocity::Tensor(tensor)
        } else if let Some(name) = &value.speed_data {
            let array = self.data(mesh, name, &[1, 2, 3], place, applied)?;
            if array.components > 1 {
                need_directions(if array.components == 2 { [2.0, 1.0, 1.0] } else { [3.0, 2.0, 1.0] });
            }
            needs.speeds.push((class, array));
            model::Velocity::EachSpeeds { factor, directions }
        } else if let Some(name) = &value.tensor_data {
            needs.tensors.push((class, self.data(mesh, name, &[6, 9], place, applied)?));
            model::Velocity::EachTensor { factor }
        } else {
            return Ok(None);
        }))
    }

    /// Refuses elements without a velocity, and notes velocities without an element.
    fn check_classes(&self, mesh: &MeshFile, applied: &mut Applied) -> Result<(), JobError> {
        if let Some(element) = applied.class.iter().position(|&class| class == NO_CLASS) {
            let missing = applied.class.iter().filter(|&&class| class == NO_CLASS).count();
            let message = format!(
                "{missing} of {} elements have no velocity, element {} ({}) first: add a [[velocity]] for them, with speed = 0 \
                 where the wave must not go",
                mesh.n_elements(),
                mesh.element_labels[element],
                mesh.place_of(element)
            );
            return Err(self.velocities[0].place.error(message));
        }
        let mut holds = vec![false; self.velocities.len()];
        applied.class.iter().for_each(|&class| holds[usize::from(class)] = true);
        let tables = self.velocities.iter().zip(&applied.setup.classes).zip(holds);
        for ((item, class), _) in tables.filter(|(_, holds)| !holds) {
            let what = "holds in no element: of tables that cover the same one, the later wins";
            applied.notes.push(format!("{}: warning: velocity \"{}\" {what}", item.place, class.name));
        }
        Ok(())
    }

    /// Tensors of single elements in one array, (m, 6); empty where no table has any.
    fn merged_tensors(
        &self,
        mesh: &MeshFile,
        tensors: &[(u16, CellArray)],
        class_of: &[u16],
    ) -> Result<Vec<f64>, JobError> {
        let mut merged = vec![0.0; if tensors.is_empty() { 0 } else { 6 * class_of.len() }];
        for (class, array) in tensors {
            for element in (0..class_of.len()).filter(|&element| class_of[element] == *class) {
                let own = &array.values[array.components * element..][..array.components];
                let six = match *own {
                    // Row by row; the mean of what is equal but for rounding.
                    [xx, xy, xz, yx, yy, yz, zx, zy, zz] => {
                        let scale = own.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
                        if [xy - yx, yz - zy, zx - xz].iter().any(|difference| difference.abs() > 1e-4 * scale) {
                            let message = format!(
                                "the tensor of element {} ({}) is not symmetric: {own:?}",
                                mesh.element_labels[element],
                                mesh.place_of(element)
                            );
                            return Err(self.velocities[usize::from(*class)].place.error(message));
                        }
                        [xx, yy, zz, 0.5 * (xy + yx), 0.5 * (yz + zy), 0.5 * (zx + xz)]
                    }
                    _ => std::array::from_fn(|k| own[k]),
                };
                merged[6 * element..6 * (element + 1)].copy_from_slice(&six);
            }
        }
        Ok(merged)
    }

    /// Finds the directions of fibres and sheets that velocities need.
    fn add_directions(&self, mesh: &MeshFile, needs: &Needs<'_>, applied: &mut Applied) -> Result<(), JobError> {
        let table = &self.mesh.value;
        if let Some(place) = needs.fibre {
            applied.fibre = self.directions(mesh, &table.fibre, FIBRES, "fibre directions", place, applied)?;
        }
        let is_there = || table.sheet.is_some() || SHEETS.iter().any(|name| find(&mesh.arrays, name).is_some());
        if let Some(place) = needs.sheet {
            let what =
                "sheet directions (three different speeds need them; with two equal ones give `speeds` two numbers)";
            applied.sheet = self.directions(mesh, &table.sheet, SHEETS, what, place, applied)?;
        } else if needs.fibre.is_some() && (table.sheet.is_some() || mesh.corners == 3) && is_there() {
            let (what, place) = ("sheet directions", &self.mesh.place);
            applied.sheet = self.directions(mesh, &table.sheet, SHEETS, what, place, applied)?;
        }
        Ok(())
    }

    /// Gives the elements that a table means their class.
    fn assign(
        &self,
        mesh: &MeshFile,
        item: &Located<Velocity>,
        class: u16,
        of_element: &mut [u16],
        tags: &mut Option<CellArray>,
    ) -> Result<(), JobError> {
        let Located { place, value } = item;
        if let Some(names) = &value.elset {
            for name in &names.0 {
                for &element in &set(&mesh.element_sets, name, "element set", place)?.members {
                    of_element[element as usize] = class;
                }
            }
        } else if let Some(wanted) = &value.tag {
            if tags.is_none() {
                *tags = Some(match &self.mesh.value.tags {
                    Some(name) => self.data(mesh, name, &[1], &self.mesh.place, &mut Applied::default())?,
                    None => {
                        let found = TAGS.iter().find_map(|name| find(&mesh.arrays, name).filter(|a| a.components == 1));
                        found.cloned().ok_or_else(|| {
                            place.error(format!(
                                "the mesh has no tags by a name that is known ({}): name the array, [mesh] tags = \"…\"{}",
                                TAGS.join(", "),
                                list_of(mesh.arrays.iter().map(|array| array.name.as_str()), "cell arrays")
                            ))
                        })?
                    }
                });
            }
            let values = tags.as_ref().map_or(&[][..], |tags| &tags.values);
            for &tag in &wanted.0 {
                let mut any = false;
                for (class_of, _) in of_element.iter_mut().zip(values).filter(|(_, value)| **value == tag as f64) {
                    *class_of = class;
                    any = true;
                }
                if !any {
                    return Err(place.error(format!("no element has the tag {tag}")));
                }
            }
        } else {
            of_element.fill(class);
        }
        Ok(())
    }

    /// Directions by name, or under one of the usual names.
    fn directions(
        &self,
        mesh: &MeshFile,
        given: &Option<String>,
        usual: &[&str],
        what: &str,
        place: &Place,
        applied: &mut Applied,
    ) -> Result<Vec<f32>, JobError> {
        let array = match given {
            Some(name) => self.data(mesh, name, &[3], &self.mesh.place, applied)?,
            None => {
                let found = usual.iter().find_map(|name| find(&mesh.arrays, name).filter(|a| a.components == 3));
                let found = found.cloned().ok_or_else(|| {
                    place.error(format!(
                        "there are no {what}: name a cell array or an .npy file, [mesh] {} = \"…\", or give a constant one \
                         here{}",
                        usual[0],
                        list_of(mesh.arrays.iter().map(|array| array.name.as_str()), "cell arrays")
                    ))
                })?;
                let message = format!("{}: note: directions from the cell array \"{}\"", mesh.file, found.name);
                applied.notes.push(message);
                found
            }
        };
        Ok(array.values.iter().map(|&value| value as f32).collect())
    }

    /// A cell array of the mesh by its name, or an `.npy` file.
    fn data(
        &self,
        mesh: &MeshFile,
        name: &str,
        components: &[usize],
        place: &Place,
        applied: &mut Applied,
    ) -> Result<CellArray, JobError> {
        let n = mesh.n_elements();
        let expected = || components.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
        let is_file = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
        if let Some(array) = find(&mesh.arrays, name).filter(|_| !is_file) {
            if !components.contains(&array.components) {
                let message = format!(
                    "cell array \"{name}\" has {} numbers an element, and {} are expected",
                    array.components,
                    expected()
                );
                return Err(place.error(message));
            }
            return Ok(array.clone());
        }
        if !is_file {
            if mesh.point_arrays.iter().any(|array| array.eq_ignore_ascii_case(name)) {
                let message = format!(
                    "\"{name}\" is on the points of the mesh, and elements are asked for: make a cell array of it (ParaView: Point \
                     Data to Cell Data)"
                );
                return Err(place.error(message));
            }
            let known = list_of(mesh.arrays.iter().map(|array| array.name.as_str()), "cell arrays");
            return Err(place.error(format!("the mesh has no cell array \"{name}\", and this is no .npy file{known}")));
        }
        let path = place.folder.join(name);
        let wrong = |message: String| place.error(format!("{}: {message}", path.display()));
        let (shape, values) = npy::read_numbers(&path).map_err(wrong)?;
        let count = match shape[..] {
            [rows] if rows == n => 1,
            [rows, columns] if rows == n => columns,
            [rows, a, b] if rows == n => a.saturating_mul(b),
            _ => 0,
        };
        if !components.contains(&count) {
            let message = format!("its shape is {shape:?}; {n} elements with {} numbers each are expected", expected());
            return Err(wrong(message));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(wrong(format!("the value of element {} is no finite number", mesh.element_labels[at / count])));
        }
        applied.sources.push(path);
        Ok(CellArray { name: name.to_owned(), components: count, whole: false, values })
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

    fn outputs(&self, mesh: &MeshFile) -> Result<EikonalOutputs, JobError> {
        let (output, default) = (&self.output.value, EikonalOutputs::default());
        let nodes = |list: &[NodeName]| -> Result<Vec<u32>, JobError> {
            let all: Result<_, String> = list.iter().map(|node| labelled(mesh, node)).collect();
            all.map_err(|message| self.output.place.error(message))
        };
        let mut probe_nodes = nodes(&output.probe_nodes)?;
        probe_nodes.extend(output.probe_points.iter().filter_map(|&point| nearest(mesh, point)));
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

/// Speeds of single elements in one array.
fn merged_speeds(speeds: &[(u16, CellArray)], class_of: &[u16]) -> Vec<f64> {
    let n = class_of.len();
    let Some(width) = speeds.iter().map(|(_, array)| if array.components == 1 { 1 } else { 3 }).max() else {
        return Vec::new();
    };
    let mut values = vec![0.0; width * n];
    for (class, array) in speeds {
        for element in (0..n).filter(|&element| class_of[element] == *class) {
            let own = &array.values[array.components * element..][..array.components];
            for (k, value) in values[width * element..width * (element + 1)].iter_mut().enumerate() {
                *value = own[k.min(own.len() - 1)];
            }
        }
    }
    values
}

fn find<'a>(arrays: &'a [CellArray], name: &str) -> Option<&'a CellArray> {
    arrays
        .iter()
        .find(|array| array.name == name)
        .or_else(|| arrays.iter().find(|array| array.name.eq_ignore_ascii_case(name)))
}

fn list_of<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> String {
    let names: Vec<&str> = names.take(20).collect();
    if names.is_empty() { format!(" (it has no {what})") } else { format!(" (its {what}: {})", names.join(", ")) }
}

fn set<'a>(sets: &'a [NamedSet], name: &str, what: &str, place: &Place) -> Result<&'a NamedSet, JobError> {
    sets.iter().find(|set| set.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = list_of(sets.iter().map(|set| set.name.as_str()), &format!("{what}s"));
        place.error(format!("the mesh has no {what} \"{name}\"{known}"))
    })
}

/// Index of a node by its label.
fn labelled(mesh: &MeshFile, name: &NodeName) -> Result<u32, String> {
    let text = name.text();
    let (instance, label) = match text.rsplit_once('.') {
        None => (None, text.as_str()),
        Some((instance, label)) => {
            let at = mesh.instances.iter().position(|name| name.eq_ignore_ascii_case(instance));
            (Some(at.ok_or_else(|| format!("the mesh has no instance \"{instance}\""))?), label)
        }
    };
    let label: u32 = label.parse().map_err(|_| format!("\"{text}\" is no label of a node"))?;
    let right = |node: usize| {
        mesh.node_labels[node] == label && instance.is_none_or(|at| usize::from(mesh.node_instance[node]) == at)
    };
    // Labels mostly run.
    let guess = [label as usize, (label as usize).wrapping_sub(1)];
    if mesh.instances.is_empty()
        && let Some(&node) = guess.iter().find(|&&node| node < mesh.n_nodes() && mesh.node_labels[node] == label)
    {
        return Ok(node as u32);
    }
    let mut found = (0..mesh.n_nodes()).filter(|&node| right(node));
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node as u32),
        (Some(_), Some(_)) => Err(format!("several instances have a node {text}: write \"INSTANCE.{text}\"")),
        (None, _) => Err(format!("the mesh has no node {text}")),
    }
}

fn nearest(mesh: &MeshFile, point: [f64; 3]) -> Option<u32> {
    let mut used = vec![false; mesh.n_nodes()];
    mesh.elements.iter().for_each(|&node| used[node as usize] = true);
    let distance = |x: &[f64; 3]| (0..3).map(|k| (x[k] - point[k]).powi(2)).sum::<f64>();
    let points = mesh.coordinates.as_chunks::<3>().0.iter().enumerate().filter(|(node, _)| used[*node]);
    points.map(|(node, x)| (distance(x), node as u32)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, node)| node)
}
