//! Numbers of elements by name: cell arrays of the mesh, and `.npy` files.

use std::borrow::Cow;
use std::path::Path;

use super::Applied;
use super::names::list_of;
use crate::eikonal::job::EikonalJob;
use crate::job::{JobError, Place};
use crate::read::image::npy;
use crate::read::mesh::{CellArray, MeshFile};
use crate::system::parallel::iterate::*;

impl EikonalJob {
    /// Directions by name, or under one of the usual names.
    pub(super) fn directions(
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
                let found = found.ok_or_else(|| {
                    place.error(format!(
                        "there are no {what}: name a cell array or an .npy file, [mesh] {} = \"…\", or give a constant one \
                         here{}",
                        usual[0],
                        list_of(mesh.arrays.iter().map(|array| array.name.as_str()), "cell arrays")
                    ))
                })?;
                let message = format!("{}: note: directions from the cell array \"{}\"", mesh.file, found.name);
                applied.notes.push(message);
                Cow::Borrowed(found)
            }
        };
        Ok(array.values.par_iter().map(|&value| value as f32).collect())
    }

    /// A cell array of the mesh by its name, or an `.npy` file.
    pub(super) fn data<'m>(
        &self,
        mesh: &'m MeshFile,
        name: &str,
        components: &[usize],
        place: &Place,
        applied: &mut Applied,
    ) -> Result<Cow<'m, CellArray>, JobError> {
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
            return Ok(Cow::Borrowed(array));
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
        Ok(Cow::Owned(CellArray { name: name.to_owned(), components: count, whole: false, values }))
    }
}

pub(super) fn find<'a>(arrays: &'a [CellArray], name: &str) -> Option<&'a CellArray> {
    arrays
        .iter()
        .find(|array| array.name == name)
        .or_else(|| arrays.iter().find(|array| array.name.eq_ignore_ascii_case(name)))
}
