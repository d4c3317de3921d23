//! `[image]`: how a stack is read and cleaned before it becomes a model.

use serde::Deserialize;

/// `[image]`. Steps are done in this order: read, `crop`, `resample` or `downsample`, the material law, `keep`,
/// `fill_cavities`.
#[derive(Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Unit of length of the model: `"mm"` (default), `"um"`, `"cm"` or `"m"`. Lengths of a header are converted to it.
    #[serde(default)]
    pub unit: LengthUnit,
    /// Edge of a voxel, or `[dx, dy, dz]`, in `unit`; takes the place of what the header says.
    pub spacing: Option<Spacing>,
    /// Position of the lowest corner of the model's first voxel, in `unit`; takes the place of what the header says.
    pub origin: Option<[f64; 3]>,
    /// Which array of an `.npz` file; needed where it has several.
    pub array: Option<String>,
    /// `"zyx"` (default: the last index runs along x) or `"xyz"` (the first does): which index of an `.npy` array is which.
    pub axes: Option<AxisOrder>,
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
    pub downsample_by: Option<Downsampling>,
    /// `"all"` (default) or `"largest"`: only the largest part that hangs together through faces of voxels.
    #[serde(default)]
    pub keep: Keep,
    /// Makes void that no path through faces joins to the outside solid (with the material of the voxels round it).
    #[serde(default)]
    pub fill_cavities: bool,
}

/// Units of length.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum LengthUnit {
    /// Millimetre.
    #[default]
    Mm,
    /// Micrometre; `"µm"` too.
    #[serde(alias = "µm", alias = "μm", alias = "micron")]
    Um,
    /// Centimetre.
    Cm,
    /// Metre.
    M,
}

impl LengthUnit {
    /// How many of this unit a millimetre is.
    pub fn per_millimetre(self) -> f64 {
        match self {
            Self::Mm => 1.0,
            Self::Um => 1e3,
            Self::Cm => 0.1,
            Self::M => 1e-3,
        }
    }

    /// As a job writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mm => "mm",
            Self::Um => "um",
            Self::Cm => "cm",
            Self::M => "m",
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
}

/// Which index of an array is which axis.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum AxisOrder {
    /// `array[z, y, x]`.
    Zyx,
    /// `array[x, y, z]`.
    Xyz,
}

/// `[image.raw]`, or a `.toml` file beside the image with these keys: what a file without a header holds, x fastest.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RawImage {
    /// Voxels along x, y and z.
    pub shape: [usize; 3],
    /// `"uint8"`, `"int8"`, `"uint16"`, `"int16"`, `"uint32"`, `"int32"`, `"uint64"`, `"int64"`, `"float32"`, `"float64"`.
    #[serde(rename = "type")]
    pub sample: SampleType,
    /// `"little"` (default) or `"big"`.
    #[serde(default)]
    pub endian: Endian,
    /// Bytes before the first voxel; 0 when absent.
    #[serde(default)]
    pub header_bytes: u64,
    /// Edge of a voxel in the job's unit; only needed where the job does not say it.
    pub spacing: Option<Spacing>,
}

/// Type of a stored sample.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum SampleType {
    /// 8 bits, unsigned.
    #[serde(alias = "u8")]
    Uint8,
    /// 8 bits, signed.
    #[serde(alias = "i8")]
    Int8,
    /// 16 bits, unsigned.
    #[serde(alias = "u16")]
    Uint16,
    /// 16 bits, signed.
    #[serde(alias = "i16")]
    Int16,
    /// 32 bits, unsigned.
    #[serde(alias = "u32")]
    Uint32,
    /// 32 bits, signed.
    #[serde(alias = "i32")]
    Int32,
    /// 64 bits, unsigned.
    #[serde(alias = "u64")]
    Uint64,
    /// 64 bits, signed.
    #[serde(alias = "i64")]
    Int64,
    /// IEEE single precision.
    #[serde(alias = "f32")]
    Float32,
    /// IEEE double precision.
    #[serde(alias = "f64")]
    Float64,
}

impl SampleType {
    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::Uint8 | Self::Int8 => 1,
            Self::Uint16 | Self::Int16 => 2,
            Self::Uint32 | Self::Int32 | Self::Float32 => 4,
            Self::Uint64 | Self::Int64 | Self::Float64 => 8,
        }
    }

    /// As a job writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uint8 => "uint8",
            Self::Int8 => "int8",
            Self::Uint16 => "uint16",
            Self::Int16 => "int16",
            Self::Uint32 => "uint32",
            Self::Int32 => "int32",
            Self::Uint64 => "uint64",
            Self::Int64 => "int64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// Little-endian samples as numbers, as many as both slices have.
    pub fn decode(self, bytes: &[u8], out: &mut [f64]) {
        macro_rules! each {
            ($type:ty, $n:literal) => {
                out.iter_mut()
                    .zip(bytes.as_chunks::<$n>().0)
                    .for_each(|(out, b)| *out = <$type>::from_le_bytes(*b) as f64)
            };
        }
        match self {
            Self::Uint8 => each!(u8, 1),
            Self::Int8 => each!(i8, 1),
            Self::Uint16 => each!(u16, 2),
            Self::Int16 => each!(i16, 2),
            Self::Uint32 => each!(u32, 4),
            Self::Int32 => each!(i32, 4),
            Self::Uint64 => each!(u64, 8),
            Self::Int64 => each!(i64, 8),
            Self::Float32 => each!(f32, 4),
            Self::Float64 => each!(f64, 8),
        }
    }

    /// Whether samples are IEEE floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

/// Byte order.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Endian {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

/// How voxels are joined when downsampling.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Downsampling {
    /// The class most of them have; void or the lower class where two are equal.
    Majority,
    /// The mean of their grey values, before the law.
    Mean,
}

/// Which parts stay.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// The one with the most voxels.
    Largest,
}

impl Image {
    /// What can be checked without the stack.
    pub(crate) fn check(&self) -> Result<(), String> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        for spacing in self.spacing.iter().chain(self.raw.iter().filter_map(|raw| raw.spacing.as_ref())) {
            if !spacing.edges().into_iter().all(positive) {
                return Err("`spacing` must be above 0".to_owned());
            }
        }
        if self.resample.is_some_and(|h| !positive(h)) {
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
        if let Some(raw) = &self.raw {
            raw.check()?;
        }
        Ok(())
    }
}

impl RawImage {
    /// What can be checked without the file.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.shape.contains(&0) {
            return Err("`shape` must have three numbers above 0: voxels along x, y and z".to_owned());
        }
        Ok(())
    }
}
