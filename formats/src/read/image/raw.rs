//! Files without a header, described in the job or in a `.toml` file beside them.

use std::path::{Path, PathBuf};

use super::options::{ImageOptions, LengthUnit, RawImage};
use super::{Format, Header, Opened, Problem};
use crate::system::inputs;

/// The description in the job or beside the file: `bone.raw.toml` for `bone.raw`.
pub(super) fn description(path: &Path, options: &ImageOptions) -> Result<Option<RawImage>, Problem> {
    if let Some(raw) = &options.raw {
        return Ok(Some(raw.clone()));
    }
    let mut side = path.as_os_str().to_owned();
    side.push(".toml");
    let side = PathBuf::from(side);
    let text = match inputs::read_to_string(&side) {
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
    let file = inputs::find(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    let mut header = Header::new(Format::Raw, raw.shape, raw.sample.0);
    header.spacing = raw.spacing.map(|spacing| spacing.edges().map(|edge| edge / unit.per_millimetre()));
    Opened::flat(header, raw.endian.0, file, raw.header_bytes)
}
