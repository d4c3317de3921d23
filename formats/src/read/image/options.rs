//! How a stack is read and cleaned before it becomes a model.

use serde::Deserialize;

use super::are_edges;
use super::sample::{Endian, SampleType};
use crate::words::{Choice, Word};

/// How a stack is read and cleaned. Steps are done in this order: read, `crop`, `resample` or `downsample`, the material
/// law, `keep_largest`, `fill_cavities`. Lengths are in `unit`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImageOptions {
    /// Unit of length of the model. Lengths of a header are converted to it.
    pub unit: LengthUnit,
    /// Edges of a voxel along x, y and z; takes the place of what the header says.
    pub spacing: Option<[f64; 3]>,
    /// Position of the lowest corner of the model's first voxel; takes the place of what the header says.
    pub origin: Option<[f64; 3]>,
    /// Which array of an `.npz` file; needed where it has several.
    pub array: Option<String>,
    /// Which index of an `.npy` array is which axis; z, y, x when absent.
    pub axes: Option<AxisOrder>,
    /// What a file without a header holds; instead of a `.toml` file beside it.
    pub raw: Option<RawImage>,
    /// Voxels to keep, `[[i0, j0, k0], [i1, j1, k1]]`: from the first, up to and without the second.
    pub crop: Option<[[usize; 3]; 2]>,
    /// Edge of the cubes to which the stack is resampled.
    pub resample: Option<f64>,
    /// Joins cubes of so many voxels an edge to one; what is left over at the upper faces is cut off.
    pub downsample: Option<usize>,
    /// How they are joined; by the law when absent.
    pub downsample_by: Option<Downsampling>,
    /// Keeps only the largest part whose voxels are connected through faces.
    pub keep_largest: bool,
    /// Makes void that no path through faces joins to the outside solid, with the material of the voxels round it.
    pub fill_cavities: bool,
}

/// Units of length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum LengthUnit {
    #[default]
    Millimetre,
    Micrometre,
    Centimetre,
    Metre,
}

impl Choice for LengthUnit {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("mm", Self::Millimetre),
        ("um", Self::Micrometre),
        ("cm", Self::Centimetre),
        ("m", Self::Metre),
        // The micro sign and the Greek letter.
        ("\u{b5}m", Self::Micrometre),
        ("\u{3bc}m", Self::Micrometre),
        ("micron", Self::Micrometre),
    ];
}

impl LengthUnit {
    /// How many of this unit a millimetre is.
    pub fn per_millimetre(self) -> f64 {
        match self {
            Self::Millimetre => 1.0,
            Self::Micrometre => 1e3,
            Self::Centimetre => 0.1,
            Self::Metre => 1e-3,
        }
    }
}

/// Edge of a voxel: one number, or one for each axis.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(untagged, expecting = "expected a number, or three: [dx, dy, dz]")]
pub enum Spacing {
    /// A cube.
    Cube(f64),
    /// x, y, z.
    Box([f64; 3]),
}

impl Spacing {
    /// Edges along x, y and z.
    pub fn edges(self) -> [f64; 3] {
        match self {
            Self::Cube(h) => [h; 3],
            Self::Box(edges) => edges,
        }
    }

    pub(crate) fn check(spacing: Option<Self>) -> Result<(), String> {
        match spacing.map(Self::edges) {
            Some(edges) if !are_edges(&edges) => Err("`spacing` must be above 0".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Which index of an array is which axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisOrder {
    /// `array[z, y, x]`.
    Zyx,
    /// `array[x, y, z]`.
    Xyz,
}

impl Choice for AxisOrder {
    const WORDS: &'static [(&'static str, Self)] = &[("zyx", Self::Zyx), ("xyz", Self::Xyz)];
}

/// How voxels are joined when downsampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downsampling {
    /// The class most of them have; void or the lower class where two are equal.
    Majority,
    /// The mean of their grey values, before the law.
    Mean,
}

impl Choice for Downsampling {
    const WORDS: &'static [(&'static str, Self)] = &[("majority", Self::Majority), ("mean", Self::Mean)];
}

/// What a file without a header holds, x fastest: `raw` of a job, or a `.toml` file beside the image with these keys.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RawImage {
    /// Voxels along x, y and z.
    pub shape: [usize; 3],
    /// `"uint8"`, `"int8"`, `"uint16"`, `"int16"`, `"uint32"`, `"int32"`, `"uint64"`, `"int64"`, `"float32"`, `"float64"`.
    #[serde(rename = "type")]
    pub sample: Word<SampleType>,
    /// `"little"` (default) or `"big"`.
    #[serde(default)]
    pub endian: Word<Endian>,
    /// Bytes before the first voxel; 0 when absent.
    #[serde(default)]
    pub header_bytes: u64,
    /// Edge of a voxel in the job's unit; only needed where the job does not say it.
    pub spacing: Option<Spacing>,
}

impl RawImage {
    /// Checks what can be checked without the file.
    pub(crate) fn check(&self) -> Result<(), String> {
        Spacing::check(self.spacing)?;
        if self.shape.contains(&0) {
            return Err("`shape` must have three numbers above 0: voxels along x, y and z".to_owned());
        }
        Ok(())
    }
}
