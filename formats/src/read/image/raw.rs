//! Files without a header, described in the job or in a `.toml` file beside them.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::options::{ImageOptions, LengthUnit, Spacing};
use super::sample::{Endian, SampleType};
use super::source::Flat;
use super::{Format, Header, Opened, Problem};
use crate::words::Word;

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
        if self.spacing.is_some_and(|spacing| !spacing.edges().iter().all(|edge| edge.is_finite() && *edge > 0.0)) {
            return Err("`spacing` must be above 0".to_owned());
        }
        if self.shape.contains(&0) {
            return Err("`shape` must have three numbers above 0: voxels along x, y and z".to_owned());
        }
        Ok(())
    }
}

/// The description in the job or beside the file: `bone.raw.toml` for `bone.raw`.
pub(super) fn description(path: &Path, options: &ImageOptions) -> Result<Option<RawImage>, Problem> {
    if let Some(raw) = &options.raw {
        return Ok(Some(raw.clone()));
    }
    let mut side = path.as_os_str().to_owned();
    side.push(".toml");
    let side = PathBuf::from(side);
    let text = match std::fs::read_to_string(&side) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read its description {}: {error}", side.display()).into()),
    };
    let raw: RawImage = toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        format!("its description {}:{line}: {}", side.display(), error.message())
    })?;
    raw.check().map_err(|message| format!("its description {}: {message}", side.display()))?;
    Ok(Some(raw))
}

/// Opens a raw file.
pub(super) fn open(path: &Path, raw: &RawImage, unit: LengthUnit) -> Result<Opened, Problem> {
    let file = File::open(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    let mut header = Header::new(Format::Raw, raw.shape, raw.sample.0);
    header.spacing = raw.spacing.map(|spacing| spacing.edges().map(|edge| edge / unit.per_millimetre()));
    let length = file.metadata().map_err(|error| format!("cannot read this stack: {error}"))?.len();
    if let Some(bytes) = header.bytes()
        && raw.header_bytes.saturating_add(bytes) < length
    {
        let rest = length - raw.header_bytes - bytes;
        header.notes.push(format!("{rest} bytes after the last voxel are not looked at: is the shape right?"));
    }
    let source = Flat::new(file, raw.header_bytes, header.layer_bytes_checked()?, header.bytes())?;
    Ok(Opened { header, encoding: raw.endian.0.into(), source: Box::new(source) })
}
