//! `[image]`: how a stack is read and cleaned before it becomes a model.

use std::path::Path;

use serde::Deserialize;

use super::Located;
use crate::read::image::{
    AxisOrder, Downsampling, GridError, ImageError, ImageOptions, LengthUnit, MaterialLaw, RawImage, Report, Spacing,
    VoxelGrid, memory_of, voxel_grid,
};
use crate::system::memory::Need;
use crate::words::{Choice, Word};

/// `[image]`. Steps are done in this order: read, `crop`, `resample` or `downsample`, the material law, `keep`,
/// `fill_cavities`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Unit of length of the model: `"mm"` (default), `"um"`, `"cm"` or `"m"`. Lengths of a header are converted to it.
    pub unit: Option<Word<LengthUnit>>,
    /// Edge of a voxel, or `[dx, dy, dz]`, in `unit`; takes the place of what the header says.
    pub spacing: Option<Spacing>,
    /// Position of the lowest corner of the model's first voxel, in `unit`; takes the place of what the header says.
    pub origin: Option<[f64; 3]>,
    /// Which array of an `.npz` file; needed where it has several.
    pub array: Option<String>,
    /// `"zyx"` (default: the last index runs along x) or `"xyz"` (the first does): which index of an `.npy` array is which.
    pub axes: Option<Word<AxisOrder>>,
    /// What a file without a header holds; instead of a `.toml` file beside it.
    pub raw: Option<RawImage>,
    /// Voxels to keep, `[[i0, j0, k0], [i1, j1, k1]]`: from the first, up to and without the second.
    pub crop: Option<[[usize; 3]; 2]>,
    /// Resamples to cubes of this edge (in `unit`): the nearest voxel for `law = "labels"`, else trilinear between grey
    /// values. Needed where the stack's voxels are not cubes.
    pub resample: Option<f64>,
    /// Joins cubes of so many voxels an edge to one; what is left over at the upper faces is cut off.
    pub downsample: Option<usize>,
    /// How they are joined: `"majority"` of the classes (default for labels and thresholds) or `"mean"` of the grey values
    /// (default for other laws).
    pub downsample_by: Option<Word<Downsampling>>,
    /// `"all"` (default) or `"largest"`: only the largest part whose voxels are connected through faces.
    pub keep: Option<Word<Keep>>,
    /// Makes void that no path through faces joins to the outside solid (with the material of the voxels round it).
    #[serde(default)]
    pub fill_cavities: bool,
}

/// Which parts stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Keep {
    All,
    /// The one with the most voxels.
    Largest,
}

impl Choice for Keep {
    const WORDS: &'static [(&'static str, Self)] = &[("all", Self::All), ("largest", Self::Largest)];
}

impl Image {
    /// Checks what can be checked without the stack.
    pub(crate) fn check(&self) -> Result<(), String> {
        Spacing::check(self.spacing)?;
        if self.resample.is_some_and(|h| h <= 0.0) {
            return Err("`resample` is the edge of the new voxels: it must be above 0".to_owned());
        }
        if self.downsample.is_some_and(|factor| factor == 0) {
            return Err("`downsample` must be 1 or more".to_owned());
        }
        if self.downsample_by.is_some() && self.downsample.is_none() {
            return Err("`downsample_by` says how: give `downsample` too".to_owned());
        }
        if let Some([low, high]) = self.crop
            && (0..3).any(|axis| low[axis] >= high[axis])
        {
            return Err("`crop` is empty: the second corner must lie above the first in i, j and k".to_owned());
        }
        self.raw.as_ref().map_or(Ok(()), RawImage::check)
    }

    /// Unit of length of the model.
    pub fn unit(&self) -> LengthUnit {
        self.unit.map_or(LengthUnit::default(), |word| word.0)
    }

    /// The options of the reader.
    pub fn options(&self) -> ImageOptions {
        ImageOptions {
            unit: self.unit(),
            spacing: self.spacing.map(Spacing::edges),
            origin: self.origin,
            array: self.array.clone(),
            axes: self.axes.map(|word| word.0),
            raw: self.raw.clone(),
            crop: self.crop,
            resample: self.resample,
            downsample: self.downsample,
            downsample_by: self.downsample_by.map(|word| word.0),
            keep_largest: self.keep == Some(Word(Keep::Largest)),
            fill_cavities: self.fill_cavities,
        }
    }
}

impl Located<Image> {
    /// Estimate of the memory that [`voxel_grid`](Self::voxel_grid) and the bricks of its model need; see [`memory_of`].
    ///
    /// # Errors
    /// As there.
    pub fn memory_of(&self, stack: &Path, law: &Located<MaterialLaw>) -> Result<Need, GridError> {
        memory_of(stack, &self.value.options(), &law.value)
    }

    /// Reads a stack as this table and a material law say; see [`voxel_grid`].
    ///
    /// # Errors
    /// [`ImageError`] for a stack that cannot be read (its file), and for a job that does not fit it (the job's file and
    /// line).
    pub fn voxel_grid(&self, stack: &Path, law: &Located<MaterialLaw>) -> Result<(VoxelGrid, Report), ImageError> {
        voxel_grid(stack, &self.value.options(), &law.value).map_err(|error| {
            let (place, message) = match error {
                GridError::Stack(error) => return error,
                GridError::Options(message) => (&self.place, message),
                GridError::Law(message) => (&law.place, message),
            };
            ImageError { file: place.file.to_string(), line: place.line, message }
        })
    }
}
