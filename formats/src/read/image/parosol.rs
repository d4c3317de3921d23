//! ParOSol's HDF5 input: an image of moduli with the displacements and forces of its nodes.
//!
//! | data set of `/Image_Data` | what |
//! |---|---|
//! | `Image` | float, (z, y, x): Young's modulus, 0 is void |
//! | `Voxelsize` | edge of a voxel (read as mm) |
//! | `Poisons_ratio` | ν |
//! | `Fixed_Displacement_Coordinates`, `Fixed_Displacement_Values` | integer (n, 4): z, y, x of a node and direction (0 x, 1 y, 2 z); float (n,) |
//! | `Loaded_Nodes_Coordinates`, `Loaded_Nodes_Values` | the same for forces; may be absent |

use std::path::Path;

use hdf5_pure::{DType, Dataset, File};

use super::sample::SampleType;
use super::source::{Encoding, Source};
use super::{Format, Header, ImageError, Opened, Problem};

/// A displacement or force in one direction at one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeValue {
    /// (i, j, k): the lowest corner of voxel (i, j, k), or the upper corners at the upper faces.
    pub node: [u32; 3],
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Length or force.
    pub value: f64,
}

/// What a ParOSol file holds besides its image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParosolConditions {
    /// Poisson's ratio.
    pub poisson: Option<f64>,
    /// There is an image of Poisson's ratios of single voxels.
    pub has_ratio_image: bool,
    /// Prescribed displacements, in the order of the file.
    pub fixed: Vec<NodeValue>,
    /// Forces, in the order of the file.
    pub forces: Vec<NodeValue>,
}

/// A bound on the bytes that deflate makes of one.
const RATIO: u64 = 1100;
/// Data sets of `/Image_Data` may stand in other groups too.
const GROUPS: [&str; 3] = ["Image_Data/", "", "Parameters/"];

/// Whether a file starts as HDF5 files do.
pub(super) fn is_hdf5(start: &[u8]) -> bool {
    start.starts_with(b"\x89HDF\r\n\x1a\n")
}

fn find(file: &File, name: &str) -> Option<Dataset> {
    GROUPS.iter().find_map(|group| file.dataset(&format!("{group}{name}")).ok())
}

/// Shape of a data set whose samples the file can hold.
fn shape(data: &Dataset, name: &str, file: &File) -> Result<Vec<u64>, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {name}: {error}");
    let shape = data.shape().map_err(|error| cannot(&error))?;
    let size = data.element_size().map_err(|error| cannot(&error))?;
    let bytes = shape.iter().try_fold(size, |product, &n| product.checked_mul(n));
    match bytes {
        Some(bytes) if bytes <= file.file_size().saturating_mul(RATIO) => Ok(shape),
        _ => Err(format!("{name} claims to have shape {shape:?}, more than the file can hold: it is damaged")),
    }
}

fn number(file: &File, name: &str) -> Result<Option<f64>, String> {
    let Some(data) = find(file, name) else { return Ok(None) };
    let n: u64 = shape(&data, name, file)?.iter().product();
    if n > 3 {
        return Err(format!("{name} has {n} numbers where one is expected"));
    }
    let values = numbers(&data, name)?;
    Ok(values.first().copied().filter(|x| x.is_finite()))
}

/// All numbers of a data set, of whatever type.
fn numbers(data: &Dataset, name: &str) -> Result<Vec<f64>, String> {
    fn wide<T: Copy>(values: Vec<T>, number: impl Fn(T) -> f64) -> Vec<f64> {
        values.into_iter().map(number).collect()
    }
    let numbers = match data.dtype().map_err(|error| format!("cannot read {name}: {error}"))? {
        DType::F32 => data.read_f32().map(|v| wide(v, f64::from)),
        DType::F64 => data.read_f64(),
        DType::U8 => data.read_u8().map(|v| wide(v, f64::from)),
        DType::U16 => data.read_u16().map(|v| wide(v, f64::from)),
        DType::U32 => data.read_u32().map(|v| wide(v, f64::from)),
        DType::U64 => data.read_u64().map(|v| wide(v, |x| x as f64)),
        DType::I8 => data.read_i8().map(|v| wide(v, f64::from)),
        DType::I16 => data.read_i16().map(|v| wide(v, f64::from)),
        DType::I32 => data.read_i32().map(|v| wide(v, f64::from)),
        DType::I64 => data.read_i64().map(|v| wide(v, |x| x as f64)),
        other => return Err(format!("{name} is of type {other}, not numbers")),
    };
    numbers.map_err(|error| format!("cannot read {name}: {error}"))
}

/// Whether there are Poisson's ratios of single voxels, in either spelling.
fn has_ratio_image(file: &File) -> bool {
    ["Poissons_ratio_Image", "Poisons_ratio_Image"].iter().any(|name| find(file, name).is_some())
}

fn open_image(path: &Path) -> Result<(File, Dataset), String> {
    let file = File::open_streaming(path).map_err(|error| format!("cannot read this HDF5 file: {error}"))?;
    let image = find(&file, "Image").ok_or("this HDF5 file has no /Image_Data/Image: it is no input of ParOSol")?;
    Ok((file, image))
}

/// Opens the image of a ParOSol file.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let (file, image) = open_image(path)?;
    let size: [u64; 3] = shape(&image, "Image", &file)?
        .try_into()
        .map_err(|shape: Vec<u64>| format!("Image has shape {shape:?}: a stack has three indices, z, y, x"))?;
    let sample = match image.dtype().map_err(|error| format!("cannot read Image: {error}"))? {
        DType::F32 => SampleType::Float32,
        DType::F64 => SampleType::Float64,
        other => return Err(format!("Image is of type {other}: it must be float or double").into()),
    };
    let size = size.map(|n| usize::try_from(n).unwrap_or(0));
    let mut header = Header::new(Format::Parosol, [size[2], size[1], size[0]], sample);
    header.bytes()?;
    header.set_edges(&[number(&file, "Voxelsize")?.unwrap_or_default(); 3]);
    if has_ratio_image(&file) {
        let note =
            "Poisson's ratios of single voxels (Poissons_ratio_Image) are not used: that of the job holds for all";
        header.notes.push(note.to_owned());
    }
    if file.group("Nonlinear").is_ok() {
        header.notes.push("the non-linear material of this file is not used: voxels are linear elastic".to_owned());
    }
    Ok(Opened::new(header, Encoding::Little, ImageSource { file, sample }))
}

struct ImageSource {
    file: File,
    sample: SampleType,
}

impl Source for ImageSource {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let cannot = |error: hdf5_pure::Error| format!("cannot read layer {first} of Image: {error}");
        let image = find(&self.file, "Image").ok_or("Image is gone from this HDF5 file")?;
        let layer: u64 = image.shape().map_err(cannot)?.iter().skip(1).product();
        let layers = (out.len() / self.sample.bytes()) as u64 / layer.max(1);
        let n = if self.sample == SampleType::Float32 {
            let values = image.read_f32_rows(first as u64, layers).map_err(cannot)?;
            out.as_chunks_mut::<4>().0.iter_mut().zip(&values).for_each(|(out, x)| *out = x.to_le_bytes());
            values.len()
        } else {
            let values = image.read_f64_rows(first as u64, layers).map_err(cannot)?;
            out.as_chunks_mut::<8>().0.iter_mut().zip(&values).for_each(|(out, x)| *out = x.to_le_bytes());
            values.len()
        };
        if n * self.sample.bytes() == out.len() {
            return Ok(());
        }
        Err(format!("layer {first} or the next of Image is cut short: the file is damaged"))
    }
}

/// Poisson's ratio, displacements and forces of a ParOSol file; `None` where the file is no HDF5 file.
///
/// # Errors
/// [`ImageError`] for a file that cannot be read, lists that do not fit each other, and nodes outside the image.
pub fn parosol_conditions(path: &Path) -> Result<Option<ParosolConditions>, ImageError> {
    let error = |message: String| ImageError { file: path.display().to_string(), line: 0, message };
    match hdf5_pure::is_hdf5(path) {
        Ok(true) => read(path).map(Some).map_err(error),
        Ok(false) => Ok(None),
        Err(problem) => Err(error(format!("cannot read this file: {problem}"))),
    }
}

fn read(path: &Path) -> Result<ParosolConditions, String> {
    let (file, image) = open_image(path)?;
    let size = image.shape().map_err(|error| format!("cannot read Image: {error}"))?;
    Ok(ParosolConditions {
        poisson: number(&file, "Poisons_ratio")?.or(number(&file, "Poisson_ratio")?),
        has_ratio_image: has_ratio_image(&file),
        fixed: node_values(&file, "Fixed_Displacement", &size)?,
        forces: node_values(&file, "Loaded_Nodes", &size)?,
    })
}

/// A pair of lists: (n, 4) coordinates and (n,) values. `size` is that of the image, z, y, x.
fn node_values(file: &File, name: &str, size: &[u64]) -> Result<Vec<NodeValue>, String> {
    let (at, of) = (format!("{name}_Coordinates"), format!("{name}_Values"));
    let (coordinates, values) = match (find(file, &at), find(file, &of)) {
        (None, None) => return Ok(Vec::new()),
        (Some(coordinates), Some(values)) => (coordinates, values),
        _ => return Err(format!("{at} and {of} must both be there, or neither")),
    };
    let n: u64 = shape(&values, &of, file)?.iter().product();
    let there = shape(&coordinates, &at, file)?;
    if there != [n, 4] && !(n == 0 && there.iter().product::<u64>() == 0) {
        return Err(format!(
            "{at} has shape {there:?}, but there are {n} values: it must be ({n}, 4), z, y, x and direction"
        ));
    }
    let (coordinates, values) = (numbers(&coordinates, &at)?, numbers(&values, &of)?);
    let mut found = Vec::new();
    found.try_reserve_exact(values.len()).map_err(|_| format!("{n} entries of {at} do not fit in memory"))?;
    for (row, (&[z, y, x, direction], &value)) in coordinates.as_chunks::<4>().0.iter().zip(&values).enumerate() {
        let is_node = size.iter().zip([z, y, x]).all(|(&n, at)| (0.0..=n as f64).contains(&at));
        if !is_node || ![0.0, 1.0, 2.0].contains(&direction) {
            return Err(format!(
                "row {row} of {at}, ({z}, {y}, {x}, {direction}), is no node (z, y, x) of the image and direction (0, 1, 2)"
            ));
        }
        if !value.is_finite() {
            return Err(format!("row {row} of {of} is not a finite number"));
        }
        found.push(NodeValue { node: [x as u32, y as u32, z as u32], direction: direction as u8, value });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::image::ImageOptions;
    use crate::read::image::open;
    use hdf5_pure::FileBuilder;

    fn write(coordinates: &[u16], values: &[f32], is_more: bool) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.h5");
        let mut builder = FileBuilder::new();
        let moduli: Vec<f32> = (0..24).map(|v| if v % 5 == 0 { 0.0 } else { 1000.0 + v as f32 }).collect();
        let mut group = builder.create_group("Image_Data");
        group
            .create_dataset("Image")
            .with_f32_data(&moduli)
            .with_shape(&[4, 3, 2])
            .with_chunks(&[2, 3, 2])
            .with_deflate(4);
        group.create_dataset("Voxelsize").with_f64_data(&[0.082]);
        group.create_dataset("Poisons_ratio").with_f64_data(&[0.3]);
        let name = "Fixed_Displacement_Coordinates";
        group.create_dataset(name).with_u16_data(coordinates).with_shape(&[coordinates.len() as u64 / 4, 4]);
        group.create_dataset("Fixed_Displacement_Values").with_f32_data(values);
        if is_more {
            group.create_dataset("Poissons_ratio_Image").with_f32_data(&moduli).with_shape(&[4, 3, 2]);
        }
        builder.add_group(group.finish());
        if is_more {
            let mut group = builder.create_group("Nonlinear");
            group.create_dataset("enabled").with_f64_data(&[1.0]);
            builder.add_group(group.finish());
        }
        builder.write(&path).unwrap();
        (folder, path)
    }

    #[test]
    fn image_and_conditions_are_read() {
        let (_folder, path) = write(&[0, 1, 2, 0, 4, 3, 2, 2], &[0.0, -0.04], false);
        let mut stack = open(&path, &ImageOptions::default()).unwrap();
        assert_eq!((stack.header().size, stack.header().spacing), ([2, 3, 4], Some([0.082; 3])));
        let mut samples = Vec::new();
        stack.read_layers(1..3, &mut samples).unwrap();
        let values: Vec<f32> = samples.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(values[..5], [1006.0, 1007.0, 1008.0, 1009.0, 0.0]);
        let conditions = parosol_conditions(&path).unwrap().unwrap();
        assert_eq!(conditions.poisson, Some(0.3));
        let expected = [
            NodeValue { node: [2, 1, 0], direction: 0, value: 0.0 },
            NodeValue { node: [2, 3, 4], direction: 2, value: f64::from(-0.04f32) },
        ];
        assert_eq!(conditions.fixed, expected);
        assert!(conditions.forces.is_empty() && stack.header().notes.is_empty());
        let (_folder, path) = write(&[0, 1, 2, 0], &[0.0], true);
        let notes = open(&path, &ImageOptions::default()).unwrap().header().notes.join("; ");
        assert!(notes.contains("Poissons_ratio_Image") && notes.contains("linear elastic"), "{notes}");
    }

    #[test]
    fn nodes_outside_the_image_are_refused() {
        let (_folder, path) = write(&[0, 1, 3, 0], &[0.0], false);
        let error = parosol_conditions(&path).unwrap_err();
        assert!(error.message.contains("row 0 of Fixed_Displacement_Coordinates, (0, 1, 3, 0), is no node"), "{error}");
        let (_folder, path) = write(&[0, 1, 2, 0], &[0.0, 1.0], false);
        assert!(parosol_conditions(&path).unwrap_err().message.contains("must be (2, 4)"));
        assert!(parosol_conditions(Path::new("absent.h5")).is_err());
    }
}
