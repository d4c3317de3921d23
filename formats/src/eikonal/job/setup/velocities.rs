//! The velocity of each element: which table is meant, and what tables need of the mesh.

use std::borrow::Cow;

use super::Applied;
use super::data::find;
use super::names::{list_of, set};
use crate::eikonal::job::{EikonalJob, Velocity};
use crate::eikonal::setup::{self as model, Directions, VelocityClass};
use crate::job::{JobError, Located, Place};
use crate::read::mesh::{CellArray, MeshFile};

const FIBRES: &[&str] = &["fibre", "fiber", "fibres", "fibers"];
const SHEETS: &[&str] = &["sheet", "sheets"];
const TAGS: &[&str] = &["region", "gmsh:physical", "tag", "tags", "material", "elemTag"];
/// More classes than this have no room in a u16 that keeps one number free.
const MOST_CLASSES: usize = 65_000;
/// The class of an element without a velocity.
const NO_CLASS: u16 = u16::MAX;

/// What the velocities of a job need of the mesh.
#[derive(Default)]
struct Needs<'a, 'm> {
    /// Classes whose elements have speeds of their own, with these speeds.
    speeds: Vec<(u16, Cow<'m, CellArray>)>,
    /// Classes whose elements have tensors of their own, with these tensors.
    tensors: Vec<(u16, Cow<'m, CellArray>)>,
    /// The first table that needs directions of fibres.
    fibre: Option<&'a Place>,
    /// The first table that needs directions of sheets.
    sheet: Option<&'a Place>,
}

impl EikonalJob {
    pub(super) fn velocities(&self, mesh: &MeshFile, applied: &mut Applied) -> Result<(), JobError> {
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
    fn needs_of_ecg<'a>(&'a self, mesh: &MeshFile, classes: &[VelocityClass], needs: &mut Needs<'a, '_>) {
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
    fn velocity<'a, 'm>(
        &self,
        mesh: &'m MeshFile,
        Located { place, value }: &'a Located<Velocity>,
        class: u16,
        needs: &mut Needs<'a, 'm>,
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

    /// Gives the elements that a table means their class.
    fn assign<'m>(
        &self,
        mesh: &'m MeshFile,
        item: &Located<Velocity>,
        class: u16,
        of_element: &mut [u16],
        tags: &mut Option<Cow<'m, CellArray>>,
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
                        let found = found.ok_or_else(|| {
                            place.error(format!(
                                "the mesh has no tags by a name that is known ({}): name the array, [mesh] tags = \"…\"{}",
                                TAGS.join(", "),
                                list_of(mesh.arrays.iter().map(|array| array.name.as_str()), "cell arrays")
                            ))
                        });
                        Cow::Borrowed(found?)
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
        tensors: &[(u16, Cow<'_, CellArray>)],
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
    fn add_directions(&self, mesh: &MeshFile, needs: &Needs<'_, '_>, applied: &mut Applied) -> Result<(), JobError> {
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
}

/// Speeds of single elements in one array.
fn merged_speeds(speeds: &[(u16, Cow<'_, CellArray>)], class_of: &[u16]) -> Vec<f64> {
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
