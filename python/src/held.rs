//! Arrays of NumPy as inputs that lie in memory.

use std::sync::Arc;

use numpy::{Element, PyArray, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2};
use pogo_formats::system::held::{self, Held, HeldCells, HeldMesh, Holding, Pieces, Shared};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The numbers of an array, which stay where they are.
struct Numbers<T> {
    first: *const T,
    length: usize,
    /// Keeps them there.
    _array: Py<PyAny>,
}

// SAFETY: the numbers are only read, from wherever, and the array that keeps them goes by a reference that any thread may drop.
unsafe impl<T: Sync> Send for Numbers<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Numbers<T> {}

impl<T> AsRef<[T]> for Numbers<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: NumPy's array has so many numbers there, one behind the other, as long as it lives; it cannot be resized while
        // there is another reference to it. That nobody writes to it while a call reads it is asked of the user.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// The numbers of an array in C order.
fn shared<T: Element + Sync + 'static, D: numpy::ndarray::Dimension>(
    array: &PyReadonlyArray<'_, T, D>,
) -> PyResult<Shared<T>> {
    let slice = array.as_slice().map_err(|_| PyValueError::new_err("an array is not contiguous"))?;
    let array: &Bound<'_, PyArray<T, D>> = array;
    let (first, length) = (slice.as_ptr(), slice.len());
    Ok(Arc::new(Numbers { first, length, _array: array.clone().into_any().unbind() }))
}

/// An `.npy` file: its header, and the array as bytes.
type Npy<'py> = (Vec<u8>, PyReadonlyArray1<'py, u8>);

fn pieces((head, numbers): &Npy<'_>) -> PyResult<Pieces> {
    Ok(Pieces::new(vec![Arc::new(head.clone()), shared(numbers)?]))
}

fn named<T: Element + Sync + 'static>(
    arrays: &[(String, PyReadonlyArray1<'_, T>)],
) -> PyResult<Vec<(String, Shared<T>)>> {
    arrays.iter().map(|(name, array)| Ok((name.clone(), shared(array)?))).collect()
}

/// Inputs in memory, which the commands' readers find in `folder`, as long as this object lives.
#[pyclass(name = "Held", module = "pogo._pogo")]
pub struct PyHeld(Holding);

#[pymethods]
impl PyHeld {
    #[new]
    fn new() -> Self {
        Self(held::hold())
    }

    /// Their folder, which no disk has.
    #[getter]
    fn folder(&self) -> String {
        self.0.folder().display().to_string()
    }

    /// Holds the bytes of a file.
    fn hold_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        self.0.add(name, Held::File(Pieces::new(vec![Arc::new(bytes)])));
    }

    /// Holds an array as an `.npy` file: its header, and its numbers as bytes. They are not copied.
    fn hold_array(&mut self, name: &str, array: Npy<'_>) -> PyResult<()> {
        self.0.add(name, Held::File(pieces(&array)?));
        Ok(())
    }

    /// Holds a mesh: points, cells by Abaqus's name of their type, sets, and data on cells as `.npy` files. Nothing is copied.
    fn hold_mesh(
        &mut self,
        name: &str,
        points: PyReadonlyArray2<'_, f64>,
        groups: Vec<(String, PyReadonlyArray2<'_, i64>)>,
        node_sets: Vec<(String, PyReadonlyArray1<'_, i64>)>,
        element_sets: Vec<(String, PyReadonlyArray1<'_, i64>)>,
        cell_data: Vec<(String, Npy<'_>)>,
    ) -> PyResult<()> {
        let cells = |(kind, nodes): &(String, PyReadonlyArray2<'_, i64>)| {
            let corners = nodes.as_array().ncols();
            Ok(HeldCells { kind: kind.clone(), corners, nodes: shared(nodes)? })
        };
        let data = |(name, array): &(String, Npy<'_>)| Ok((name.clone(), pieces(array)?));
        let mesh = HeldMesh {
            dimension: points.as_array().ncols(),
            points: shared(&points)?,
            groups: groups.iter().map(cells).collect::<PyResult<_>>()?,
            node_sets: named(&node_sets)?,
            element_sets: named(&element_sets)?,
            cell_data: cell_data.iter().map(data).collect::<PyResult<_>>()?,
        };
        self.0.add(name, Held::Mesh(Arc::new(mesh)));
        Ok(())
    }
}
