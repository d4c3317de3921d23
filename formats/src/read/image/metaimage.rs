//! MetaImage: `.mha` (one file) and `.mhd` (header beside a raw or zlib file).

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::ZlibDecoder;

use super::sample::SampleType;
use super::source::{Encoding, Flat, Reopen, Stream};
use super::{Format, Header, Opened, Problem, text};

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
    let (lines, header_bytes) = text::header_lines(BufReader::new(File::open(path).map_err(open)?), is_last)?;
    let mut keys: HashMap<&str, (usize, &str)> = HashMap::new();
    for (number, line) in lines.iter().filter(|(_, line)| !line.trim().is_empty()) {
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| Problem::at(*number, format!("expected \"key = value\", found \"{}\"", line.trim())))?;
        keys.insert(key.trim(), (*number, value.trim()));
    }
    let needed = |key: &str| keys.get(key).copied().ok_or_else(|| format!("the MetaImage header has no \"{key}\""));
    let flag = |key: &str| keys.get(key).is_some_and(|(_, value)| value.eq_ignore_ascii_case("true") || *value == "1");
    let mut header = header(&keys)?;
    let big = flag("BinaryDataByteOrderMSB") || flag("ElementByteOrderMSB");
    if keys.get("BinaryData").is_some_and(|(_, value)| value.eq_ignore_ascii_case("false")) {
        return Err("voxels as text are not read: write them with BinaryData = True".into());
    }
    if let Some(&(line, matrix)) = keys.get("TransformMatrix").or(keys.get("Orientation"))
        && let Some(m) = text::numbers::<f64>(matrix).filter(|m| m.len() == 9)
        && m != [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    {
        let directions: Vec<Vec<f64>> = m.chunks(3).map(<[f64]>::to_vec).collect();
        if !text::are_at_right_angles(&directions) {
            return Err(Problem::at(line, text::SLANTED));
        }
        header.notes.push(text::TURNED.to_owned());
    }
    let scale = |key: &str, plain: f64| {
        keys.get(key).is_some_and(|(_, value)| value.parse::<f64>().is_ok_and(|value| value != plain))
    };
    if scale("ElementToIntensityFunctionSlope", 1.0) || scale("ElementToIntensityFunctionOffset", 0.0) {
        header.notes.push("the header's ElementToIntensityFunction is not applied to the values, as in ITK".to_owned());
    }
    let (line, name) = needed("ElementDataFile")?;
    let (data, start) = match name {
        "LOCAL" | "Local" | "local" => (path.to_owned(), header_bytes),
        _ if name.starts_with("LIST") || name.contains('%') => {
            return Err(Problem::at(line, "a header with several data files is not read: write one file"));
        }
        _ => (text::beside(path, name), 0),
    };
    let file =
        File::open(&data).map_err(|error| Problem::at(line, format!("cannot open {}: {error}", data.display())))?;
    let length = file.metadata().map_err(open)?.len();
    let layer_bytes = header.layer_bytes_checked()?;
    let skip = match keys.get("HeaderSize") {
        None => 0,
        Some((line, value)) => value
            .parse::<i64>()
            .map_err(|_| Problem::at(*line, format!("HeaderSize must be a whole number, not \"{value}\"")))?,
    };
    let source: Box<dyn super::Source> = if flag("CompressedData") {
        let start = start + u64::try_from(skip).map_err(|_| "HeaderSize = -1 is only for data that are not packed")?;
        let reopen: Reopen = Box::new(move || {
            let mut file = File::open(&data)?;
            file.seek(SeekFrom::Start(start))?;
            Ok(Box::new(ZlibDecoder::new(BufReader::with_capacity(1 << 16, file))) as Box<dyn Read + Send>)
        });
        Box::new(Stream::deflated(reopen, length.saturating_sub(start), 0, layer_bytes, header.bytes())?)
    } else {
        let offset = match skip {
            -1 => length.saturating_sub(header.bytes().unwrap_or(u64::MAX)),
            skip => start.saturating_add(u64::try_from(skip).map_err(|_| "HeaderSize must be -1 or more")?),
        };
        Box::new(Flat::new(file, offset, layer_bytes, header.bytes())?)
    };
    Ok(Opened { header, encoding: if big { Encoding::Big } else { Encoding::Little }, source })
}

fn header(keys: &HashMap<&str, (usize, &str)>) -> Result<Header, Problem> {
    let needed = |key: &str| keys.get(key).copied().ok_or_else(|| format!("the MetaImage header has no \"{key}\""));
    let (line, name) = needed("ElementType")?;
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
    if let Some((line, channels)) = keys.get("ElementNumberOfChannels")
        && *channels != "1"
    {
        return Err(Problem::at(
            *line,
            format!("{channels} numbers a voxel: only stacks of one number a voxel are read"),
        ));
    }
    let (line, sizes) = needed("DimSize")?;
    let sizes: Vec<usize> =
        text::numbers(sizes).ok_or_else(|| Problem::at(line, format!("DimSize \"{sizes}\" are no whole numbers")))?;
    if sizes.len() < 2 || sizes.iter().skip(3).any(|&n| n != 1) {
        return Err(Problem::at(line, format!("{} axes: a stack has three", sizes.len())));
    }
    let mut size = [1; 3];
    for (n, &given) in size.iter_mut().zip(&sizes) {
        *n = given;
    }
    let mut header = Header::new(Format::MetaImage, size, sample);
    if let Some((line, edges)) = keys.get("ElementSpacing").or(keys.get("ElementSize")) {
        let mut edges: Vec<f64> = text::numbers(edges)
            .filter(|edges: &Vec<f64>| edges.len() == sizes.len())
            .ok_or_else(|| Problem::at(*line, format!("ElementSpacing \"{edges}\" is not a number for each axis")))?;
        if edges.len() == 2 {
            edges.push(edges[0]);
        }
        if edges[..3].iter().all(|edge| edge.is_finite() && *edge != 0.0) {
            header.spacing = Some([edges[0].abs(), edges[1].abs(), edges[2].abs()]);
        }
    }
    let origin = keys.get("Offset").or(keys.get("Position")).or(keys.get("Origin"));
    if let (Some(spacing), Some((_, text))) = (header.spacing, origin)
        && let Some(&[x, y, z]) = text::numbers::<f64>(text).as_deref()
    {
        // The header gives the centre of the first voxel.
        let corner = [x - spacing[0] / 2.0, y - spacing[1] / 2.0, z - spacing[2] / 2.0];
        header.origin = corner.iter().all(|x| x.is_finite()).then_some(corner);
    }
    Ok(header)
}
