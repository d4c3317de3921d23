//! Voxel stacks: reading them in whole layers, and turning their grey values into moduli.
//!
//! [`open`] gives a [`Stack`] for TIFF, folders of TIFF, BMP or PNG slices, NumPy `.npy` and `.npz`, NRRD, MetaImage, NIfTI,
//! Scanco ISQ and AIM, ParOSol's HDF5 and raw files; the file's first bytes decide, not its name. A stack is read layer by
//! layer and is never in memory as a whole. [`voxel_grid()`] reads one by [`ImageOptions`] and a [`MaterialLaw`], and gives a
//! [`VoxelGrid`] and a [`Report`].
//!
//! Sizes that a header claims are checked against the length of the file before anything is allocated.

mod aim;
mod bmp;
mod compile;
mod components;
mod convert;
mod grid;
mod isq;
mod law;
mod metaimage;
mod nifti;
pub(crate) mod npy;
mod npz;
mod nrrd;
mod options;
mod palette;
mod parosol;
mod pieces;
mod plan;
mod png;
mod raw;
mod report;
mod sample;
mod skyscan;
mod slices;
mod source;
mod text;
mod tiff;
mod voxel_grid;

#[cfg(test)]
pub(crate) mod tests;

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

pub use grid::{GridError, memory_of, voxel_grid};
pub use law::{Class, Curve, Formula, Law, MaterialLaw, Quantity};
pub use options::{AxisOrder, Downsampling, ImageOptions, LengthUnit, RawImage, Spacing};
pub use parosol::{NodeValue, ParosolConditions, parosol_conditions};
pub use report::{Dropped, Filled, MaterialCount, Report};
pub use sample::{Endian, SampleType};
pub use voxel_grid::{VoxelGrid, VoxelModuli};

use crate::words::counted;
use source::{Encoding, Flat, Reopen, Source, Stream};

use crate::system::inputs::{self, Input};

/// A stack that cannot be read or used: `bone.nrrd:4: error: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: error: {message}", if *line > 0 { format!(":{line}") } else { String::new() })]
#[allow(missing_docs)]
pub struct ImageError {
    /// The file as the user named it.
    pub file: String,
    /// Line of a text header, from 1; 0 for the file as a whole.
    pub line: usize,
    pub message: String,
}

/// The error of a reader, before the name of the file is added.
#[derive(Debug)]
pub(crate) struct Problem {
    line: usize,
    message: String,
}

impl Problem {
    pub(crate) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl<T: Into<String>> From<T> for Problem {
    fn from(message: T) -> Self {
        Self { line: 0, message: message.into() }
    }
}

/// Formats of a [`Stack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    /// Pages of a TIFF file, or a folder of them.
    Tiff,
    /// A folder of BMP files.
    Bmp,
    /// A folder of PNG files.
    Png,
    Npy,
    Npz,
    /// NRRD, attached or detached.
    Nrrd,
    /// MetaImage `.mha` or `.mhd`.
    MetaImage,
    /// NIfTI-1 or NIfTI-2.
    Nifti,
    Isq,
    Aim,
    /// ParOSol's HDF5.
    Parosol,
    /// A file without a header.
    Raw,
}

impl Format {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiff => "TIFF",
            Self::Bmp => "BMP slices",
            Self::Png => "PNG slices",
            Self::Npy => "NumPy npy",
            Self::Npz => "NumPy npz",
            Self::Nrrd => "NRRD",
            Self::MetaImage => "MetaImage",
            Self::Nifti => "NIfTI",
            Self::Isq => "Scanco ISQ",
            Self::Aim => "Scanco AIM",
            Self::Parosol => "ParOSol HDF5",
            Self::Raw => "raw",
        }
    }
}

/// What a Scanco header says about units. With s the stored value: µ = s / `mu_scaling` (1/cm); density = µ
/// `density_slope` + `density_intercept` (in `density_unit`); HU = 1000 (µ / `mu_water` − 1).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScancoCalibration {
    /// Stored value of µ = 1/cm.
    pub mu_scaling: Option<f64>,
    /// Density of µ = 1/cm, less the intercept.
    pub density_slope: Option<f64>,
    /// Density of µ = 0.
    pub density_intercept: Option<f64>,
    /// Unit of the density.
    pub density_unit: Option<String>,
    /// µ of water, 1/cm.
    pub mu_water: Option<f64>,
}

/// What a stack's header says.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Header {
    pub format: Format,
    /// Voxels along x, y and z.
    pub size: [usize; 3],
    /// Type of the stored samples.
    pub sample: SampleType,
    /// Edges of a voxel along x, y and z, mm.
    pub spacing: Option<[f64; 3]>,
    /// Position of the lowest corner of voxel (0, 0, 0), mm.
    pub origin: Option<[f64; 3]>,
    /// Slope and intercept from the stored to the native value (NIfTI, TIFF of ImageJ).
    pub rescale: Option<[f64; 2]>,
    /// Units of a Scanco file.
    pub calibration: ScancoCalibration,
    /// The array's axes run z, y, x in the file: layers of [`Stack::read_layers`] are then perpendicular to x, and its
    /// rows run along z.
    pub reversed: bool,
    /// What a user should know about how the file was read.
    pub notes: Vec<String>,
    /// What is probably a mistake in the file, or in its description. [`Stack::finish`] adds to it.
    pub warnings: Vec<String>,
}

impl Header {
    fn new(format: Format, size: [usize; 3], sample: SampleType) -> Self {
        Self {
            format,
            size,
            sample,
            spacing: None,
            origin: None,
            rescale: None,
            calibration: ScancoCalibration::default(),
            reversed: false,
            notes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Voxels along the axes of the file, the fastest first.
    pub fn file_size(&self) -> [usize; 3] {
        self.by_file(self.size)
    }

    /// A triple by x, y, z in the order of the axes of the file, or the other way round.
    fn by_file<T>(&self, [x, y, z]: [T; 3]) -> [T; 3] {
        if self.reversed { [z, y, x] } else { [x, y, z] }
    }

    /// Bytes of a layer and of all layers of a size that a header claims.
    fn bytes(&self) -> Result<(usize, u64), String> {
        match self.size.iter().try_fold(self.sample.bytes(), |product, &n| product.checked_mul(n)) {
            Some(bytes) if bytes > 0 => Ok((self.layer_bytes(), bytes as u64)),
            _ => {
                let [x, y, z] = self.size;
                Err(format!("the header claims {x} × {y} × {z} voxels: that is no stack"))
            }
        }
    }

    /// Bytes of a layer; only where [`Header::bytes`] has found the size good.
    fn layer_bytes(&self) -> usize {
        let [nx, ny, _] = self.file_size();
        nx * ny * self.sample.bytes()
    }

    /// Sets the edges of a voxel (mm) where they make sense. A picture is as thick as its pixels are wide.
    fn set_edges(&mut self, edges: &[f64]) {
        self.spacing = match *edges {
            [x, y] => Some([x, y, x]),
            [x, y, z, ..] => Some([x, y, z]),
            _ => None,
        };
        self.spacing = self.spacing.filter(are_edges);
    }

    /// Sets the position of the lowest corner, given the centre of the first voxel (mm).
    fn set_centre(&mut self, centre: [f64; 3]) {
        let corner = self.spacing.map(|edges| [0, 1, 2].map(|axis| centre[axis] - edges[axis] / 2.0));
        self.origin = corner.filter(|corner| corner.iter().all(|x| x.is_finite()));
    }
}

/// Whether numbers can be the edges of a voxel.
pub(crate) fn are_edges(edges: &[f64; 3]) -> bool {
    edges.iter().all(|&edge| edge.is_finite() && edge > 0.0)
}

/// An open stack of layers.
pub struct Stack {
    file: String,
    header: Header,
    encoding: Encoding,
    source: Box<dyn Source>,
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").field("file", &self.file).field("header", &self.header).finish_non_exhaustive()
    }
}

impl Stack {
    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of layers: voxels along the slowest axis of the file.
    pub fn n_layers(&self) -> usize {
        self.header.file_size()[2]
    }

    /// Reads whole layers into `samples`, little-endian, rows along the fastest axis of the file. Rising ranges read a
    /// compressed file once; going back starts again from its beginning.
    ///
    /// # Errors
    /// [`ImageError`] for a file that cannot be read, ends early or is damaged, and where memory runs out.
    pub fn read_layers(&mut self, layers: Range<usize>, samples: &mut Vec<u8>) -> Result<(), ImageError> {
        let bytes = layers.len() * self.header.layer_bytes();
        if bytes > samples.len() {
            samples
                .try_reserve_exact(bytes - samples.len())
                .map_err(|_| self.error(format!("{bytes} bytes for {} layers do not fit in memory", layers.len())))?;
        }
        samples.resize(bytes, 0);
        self.source.read(layers.start, samples).map_err(|message| self.error(message))?;
        self.encoding.to_little(self.header.sample.bytes(), samples);
        Ok(())
    }

    /// Reads what is left of a packed file, so that its checksums are compared, and adds a warning to the header where bytes
    /// are left over behind the last voxel. Reading the last layer compares the checksums, too.
    ///
    /// # Errors
    /// [`ImageError`] for a file that ends early or is damaged.
    pub fn finish(&mut self) -> Result<(), ImageError> {
        let rest = self.source.finish().map_err(|message| self.error(message))?;
        if rest > 0 {
            let [x, y, z] = self.header.size;
            let rest = counted(usize::try_from(rest).unwrap_or(usize::MAX), "byte");
            let warning =
                format!("{rest} left over behind the last of {x} × {y} × {z} voxels: are these the right sizes?");
            if !self.header.warnings.contains(&warning) {
                self.header.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn error(&self, message: impl Into<String>) -> ImageError {
        ImageError { file: self.file.clone(), line: 0, message: message.into() }
    }
}

/// What a format's reader finds.
pub(crate) struct Opened {
    header: Header,
    encoding: Encoding,
    source: Box<dyn Source>,
}

impl Opened {
    fn new(header: Header, encoding: impl Into<Encoding>, source: impl Source + 'static) -> Self {
        Self { header, encoding: encoding.into(), source: Box::new(source) }
    }

    /// A stack whose samples lie one after the other from byte `offset` of a file on, up to its end.
    fn flat(
        header: Header,
        encoding: impl Into<Encoding>,
        file: impl Into<Input>,
        offset: u64,
    ) -> Result<Self, Problem> {
        Self::flat_before(header, encoding, file, offset, 0)
    }

    /// The same where up to `tail` bytes of something else may follow.
    fn flat_before(
        header: Header,
        encoding: impl Into<Encoding>,
        file: impl Into<Input>,
        offset: u64,
        tail: u64,
    ) -> Result<Self, Problem> {
        let source = Flat::new(&header, file.into(), offset, tail)?;
        Ok(Self::new(header, encoding, source))
    }

    /// A stack whose samples are unpacked from `packed` bytes, `skip` bytes behind the beginning of what comes out.
    fn deflated(
        header: Header,
        encoding: impl Into<Encoding>,
        reopen: Reopen,
        packed: u64,
        skip: u64,
    ) -> Result<Self, Problem> {
        let source = Stream::deflated(&header, reopen, packed, skip)?;
        Ok(Self::new(header, encoding, source))
    }
}

/// Opens a stack: a file of any known format, or a folder of slices. Of `options`, `raw`, `array` and `axes` are used.
///
/// # Errors
/// [`ImageError`] for a file that cannot be read, whose format is not known, whose header makes no sense or claims more
/// than the file holds.
pub fn open(path: &Path, options: &ImageOptions) -> Result<Stack, ImageError> {
    let name = path.display().to_string();
    let error = |problem: Problem| ImageError { file: name.clone(), line: problem.line, message: problem.message };
    let opened = open_any(path, options).map_err(error)?;
    opened.header.bytes().map_err(|message| error(message.into()))?;
    Ok(Stack { file: name, header: opened.header, encoding: opened.encoding, source: opened.source })
}

fn open_any(path: &Path, options: &ImageOptions) -> Result<Opened, Problem> {
    if inputs::is_folder(path).map_err(|error| format!("cannot open this stack: {error}"))? {
        return slices::open(path);
    }
    if let Some(raw) = raw::description(path, options)? {
        return raw::open(path, &raw, options.unit);
    }
    let mut file = inputs::find(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    let mut start = Vec::new();
    file.by_ref().take(1024).read_to_end(&mut start).map_err(|error| format!("cannot read this stack: {error}"))?;
    file.seek(SeekFrom::Start(0)).map_err(|error| format!("cannot read this stack: {error}"))?;
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is = |magic: &[u8]| start.starts_with(magic);
    if is(b"\x93NUMPY") {
        npy::open(file, options)
    } else if is(b"PK\x03\x04") && extension == "npz" {
        npz::open(path, options)
    } else if is(b"NRRD") {
        nrrd::open(path)
    } else if tiff::is_tiff(&start) {
        tiff::open(path)
    } else if parosol::is_hdf5(&start) {
        parosol::open(path)
    } else if is(b"CTDATA-HEADER_V1") {
        isq::open(file)
    } else if aim::is_aim(&start) {
        aim::open(path, file)
    } else if nifti::is_nifti(&start) || (is(b"\x1f\x8b") && path.to_string_lossy().to_lowercase().ends_with(".nii.gz"))
    {
        nifti::open(path)
    } else if metaimage::is_metaimage(&start, &extension) {
        metaimage::open(path)
    } else {
        Err(unknown(&start, &extension).into())
    }
}

/// The advice for slices in a format that is not read.
fn foreign(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\xff\xd8\xff") {
        Some("JPEG slices are not read: write them as TIFF (ImageJ: File > Import > Image Sequence, Save As > Tiff)")
    } else if start.get(128..132) == Some(b"DICM") {
        Some("DICOM is not read: convert the series to NRRD or NIfTI (e.g. with dcm2niix or 3D Slicer)")
    } else {
        None
    }
}

/// The advice for a file that is not a stack.
fn unknown(start: &[u8], extension: &str) -> String {
    let is = |magic: &[u8]| start.starts_with(magic);
    if start.is_empty() {
        "this file is empty".to_owned()
    } else if is(b"PK\x03\x04") {
        "this is a zip archive: unpack it, and give the stack or the folder of slices in it".to_owned()
    } else if is(b"\x1f\x8b") {
        "this is a gzip file: unpack it first (only NIfTI and NRRD are read packed)".to_owned()
    } else if is(b"\x89PNG") || is(b"BM") {
        "this is one picture: give the folder of slices that it stands in".to_owned()
    } else if let Some(message) = foreign(start) {
        message.to_owned()
    } else if extension == "img" {
        "if this is the image of an Analyze or NIfTI pair, give the .hdr beside it; if a raw file, say `raw = { shape = …, \
         type = … }` in [image]"
            .to_owned()
    } else if matches!(extension, "raw" | "bin" | "dat" | "vol") {
        "a raw file needs a description: raw = { shape = [nx, ny, nz], type = \"uint8\" } in [image] of the job, or the \
         same keys in a file of the same name with .toml added"
            .to_owned()
    } else {
        "this is no stack that Pogo reads: TIFF, folders of TIFF, BMP or PNG slices, npy, npz, NRRD, MetaImage, NIfTI, Scanco ISQ or AIM, ParOSol HDF5; for a \
         raw file say `raw = { shape = …, type = … }` in [image]"
            .to_owned()
    }
}
