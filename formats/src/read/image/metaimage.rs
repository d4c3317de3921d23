//! MetaImage: `.mha` (one file) and `.mhd` (header beside a raw or zlib file, or beside several raw ones).

use std::io::BufReader;
use std::path::Path;

use super::pieces::{self, Pieces};
use super::sample::{Endian, SampleType};
use super::source::reopen;
use super::text::{self, Fields};
use super::{Format, Header, Opened, Problem};
use crate::read::unpack::Unzlib;
use crate::system::inputs;

/// There is no magic number: the name, or a first line that only a MetaImage has, must do.
pub(super) fn is_metaimage(start: &[u8], extension: &str) -> bool {
    let first = start.split(|&byte| byte == b'=').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    matches!(extension, "mhd" | "mha") && start.contains(&b'=') || matches!(first.trim(), "ObjectType" | "NDims")
}

/// Opens a MetaImage.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let open = |error: std::io::Error| format!("cannot open this stack: {error}");
    let is_last = |line: &str| line.split('=').next().is_some_and(|key| key.trim() == "ElementDataFile");
    let (lines, header_bytes) = text::header_lines(BufReader::new(inputs::open(path).map_err(open)?), is_last)?;
    let lines = lines.iter().filter(|(_, line)| !line.trim().is_empty());
    let fields = Fields::new("MetaImage", lines, ('=', "key = value"), str::to_owned)?;
    let flag =
        |key: &str| fields.get(&[key]).is_some_and(|(_, value)| value.eq_ignore_ascii_case("true") || value == "1");
    let mut header = header(&fields)?;
    let big = flag("BinaryDataByteOrderMSB") || flag("ElementByteOrderMSB");
    if fields.get(&["BinaryData"]).is_some_and(|(_, value)| value.eq_ignore_ascii_case("false")) {
        return Err("voxels as text are not read: write them with BinaryData = True".into());
    }
    if let Some((line, matrix)) = fields.get(&["TransformMatrix", "Orientation"])
        && let Some(m) = text::numbers::<f64>(matrix).filter(|m| m.len() == 9)
        && m != [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    {
        let directions: Vec<Vec<f64>> = m.chunks(3).map(<[f64]>::to_vec).collect();
        if !text::are_at_right_angles(&directions) {
            return Err(Problem::at(line, text::SLANTED));
        }
        header.notes.push(text::TURNED.to_owned());
    }
    let differs = |key: &str, plain: f64| {
        fields.get(&[key]).is_some_and(|(_, value)| value.parse::<f64>().is_ok_and(|value| value != plain))
    };
    if differs("ElementToIntensityFunctionSlope", 1.0) || differs("ElementToIntensityFunctionOffset", 0.0) {
        header.notes.push("the header's ElementToIntensityFunction is not applied to the values, as in ITK".to_owned());
    }
    let (line, name) = fields.needed("ElementDataFile")?;
    let skip = fields.integer(&["HeaderSize"])?;
    let endian = if big { Endian::Big } else { Endian::Little };
    if let Some(files) = pieces::named(path, (line, name), header_bytes, header.file_size()[2])? {
        if flag("CompressedData") {
            return Err(Problem::at(line, "several packed data files are not read: write them without compression"));
        }
        let source = Pieces::new(&header, files, skip).map_err(|message| Problem::at(line, message))?;
        return Ok(Opened::new(header, endian, source));
    }
    let (data, start) = match name {
        "LOCAL" | "Local" | "local" => (path.to_owned(), header_bytes),
        _ => (text::beside(path, (line, name))?, 0),
    };
    let file =
        inputs::open(&data).map_err(|error| Problem::at(line, format!("cannot open {}: {error}", data.display())))?;
    let length = file.metadata().map_err(open)?.len();
    if flag("CompressedData") {
        let skip = u64::try_from(skip).map_err(|_| "HeaderSize = -1 is only for data that are not packed")?;
        let stretch = (start + skip, u64::MAX);
        let reopen = reopen(data, stretch, |packed| Ok(Unzlib::new(packed)));
        return Opened::deflated(header, endian, reopen, length.saturating_sub(stretch.0), 0);
    }
    let offset = text::raw_place("HeaderSize", skip, start, length, &mut header)?;
    Opened::flat(header, endian, file, offset)
}

fn header(fields: &Fields) -> Result<Header, Problem> {
    let (line, name) = fields.needed("ElementType")?;
    let sample = match name {
        "MET_UCHAR" => SampleType::Uint8,
        "MET_CHAR" => SampleType::Int8,
        "MET_USHORT" => SampleType::Uint16,
        "MET_SHORT" => SampleType::Int16,
        "MET_UINT" | "MET_ULONG" => SampleType::Uint32,
        "MET_INT" | "MET_LONG" => SampleType::Int32,
        "MET_ULONG_LONG" => SampleType::Uint64,
        "MET_LONG_LONG" => SampleType::Int64,
        "MET_FLOAT" => SampleType::Float32,
        "MET_DOUBLE" => SampleType::Float64,
        _ => return Err(Problem::at(line, format!("ElementType {name} is not read: only one number a voxel is"))),
    };
    if let Some((line, channels)) = fields.get(&["ElementNumberOfChannels"]).filter(|(_, channels)| *channels != "1") {
        let message = format!("{channels} numbers a voxel: only stacks of one number a voxel are read");
        return Err(Problem::at(line, message));
    }
    let (line, sizes) = fields.sizes("DimSize")?;
    if sizes.len() < 2 || sizes.iter().skip(3).any(|&n| n != 1) {
        return Err(Problem::at(line, format!("{} axes: a stack has three", sizes.len())));
    }
    let mut size = [1; 3];
    size.iter_mut().zip(&sizes).for_each(|(n, &given)| *n = given);
    let mut header = Header::new(Format::MetaImage, size, sample);
    let edges = fields.lengths(&["ElementSpacing", "ElementSize"], sizes.len())?.unwrap_or_default();
    header.set_edges(&edges.iter().map(|edge| edge.abs()).collect::<Vec<_>>());
    if let Some((_, centre)) = fields.get(&["Offset", "Position", "Origin"])
        && let Some(&[x, y, z]) = text::numbers(centre).as_deref()
    {
        header.set_centre([x, y, z]);
    }
    Ok(header)
}
