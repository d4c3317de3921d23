//! NRRD: attached or detached headers, raw or gzip.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::sample::Endian;
use super::source::{Flat, Reopen, Stream};
use super::{Format, Header, Opened, Problem, text};

/// Fields by name, with their lines.
struct Fields(HashMap<String, (usize, String)>);

impl Fields {
    fn get(&self, names: &[&str]) -> Option<(usize, &str)> {
        names.iter().find_map(|name| self.0.get(*name)).map(|(line, value)| (*line, value.as_str()))
    }

    fn needed(&self, name: &str) -> Result<(usize, &str), Problem> {
        self.get(&[name]).ok_or_else(|| format!("the NRRD header has no \"{name}\"").into())
    }

    fn integer(&self, names: &[&str]) -> Result<i64, Problem> {
        match self.get(names) {
            None => Ok(0),
            Some((line, value)) => value
                .parse()
                .map_err(|_| Problem::at(line, format!("\"{}\" must be a whole number, not \"{value}\"", names[0]))),
        }
    }
}

/// Opens an NRRD file, or the header of one.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let file = File::open(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    let (lines, header_bytes) = text::header_lines(BufReader::new(file), |line| line.is_empty())?;
    let mut fields = Fields(HashMap::new());
    for (number, line) in lines.iter().skip(1).filter(|(_, line)| !line.starts_with('#') && !line.is_empty()) {
        if line.contains(":=") {
            continue;
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| Problem::at(*number, format!("expected \"field: value\", found \"{line}\"")))?;
        fields.0.insert(name.trim().to_lowercase(), (*number, value.trim().to_owned()));
    }
    let mut header = header(&fields)?;
    let (encoding_line, encoding) = fields.needed("encoding")?;
    if !matches!(encoding.to_lowercase().as_str(), "raw" | "gzip" | "gz") {
        return Err(Problem::at(
            encoding_line,
            format!("encoding \"{encoding}\" is not read: write it raw or gzip, e.g. `unu save -e gzip -f nrrd`"),
        ));
    }
    let endian = match fields.get(&["endian"]) {
        Some((line, name)) => text::endian(&name.to_lowercase())
            .ok_or_else(|| Problem::at(line, format!("endian is \"little\" or \"big\", not \"{name}\"")))?,
        None if header.sample.bytes() == 1 => Endian::Little,
        None => return Err("the NRRD header has no \"endian\", which this type needs".into()),
    };
    let (data, start) = match fields.get(&["data file", "datafile"]) {
        None => (path.to_owned(), header_bytes),
        Some((line, name)) if name.starts_with("LIST") || name.contains('%') => {
            return Err(Problem::at(
                line,
                "a header with several data files is not read: write one file, e.g. with `unu save`",
            ));
        }
        Some((_, name)) => (text::beside(path, name), 0),
    };
    let source = source(&fields, &header, data, start)?;
    if fields.get(&["old min", "oldmin", "old max", "oldmax"]).is_some() {
        header.notes.push("\"old min\" and \"old max\" of the header are not applied to the values".to_owned());
    }
    Ok(Opened { header, encoding: endian.into(), source })
}

/// Type, size, spacing and origin.
fn header(fields: &Fields) -> Result<Header, Problem> {
    let (line, name) = fields.needed("type")?;
    let sample = text::sample_type(&name.to_lowercase()).ok_or_else(|| {
        Problem::at(line, format!("type \"{name}\" is not read: use 8 to 64 bit integers, float or double"))
    })?;
    let (size_line, sizes) = fields.needed("sizes")?;
    let sizes: Vec<usize> = text::numbers(sizes)
        .ok_or_else(|| Problem::at(size_line, format!("sizes \"{sizes}\" are no whole numbers")))?;
    if let Some((line, dimension)) = fields.get(&["dimension"])
        && dimension.parse() != Ok(sizes.len())
    {
        return Err(Problem::at(line, format!("dimension is {dimension}, but there are {} sizes", sizes.len())));
    }
    // An axis of one sample (a colour, a time) says nothing; one of several is no stack of grey values.
    let kinds: Vec<&str> = fields.get(&["kinds"]).map_or(Vec::new(), |(_, kinds)| kinds.split_whitespace().collect());
    let is_space = |axis: usize| matches!(kinds.get(axis), None | Some(&"domain" | &"space" | &"???" | &"none"));
    if let Some(axis) = (0..sizes.len()).find(|&axis| !is_space(axis) && sizes[axis] > 1) {
        return Err(Problem::at(
            size_line,
            format!("axis {axis} is a {} of {}: only stacks of one number a voxel are read", kinds[axis], sizes[axis]),
        ));
    }
    let mut axes: Vec<usize> = (0..sizes.len()).collect();
    while axes.len() > 3 {
        let Some(at) =
            axes.iter().rposition(|&a| sizes[a] == 1 && !is_space(a)).or(axes.iter().rposition(|&a| sizes[a] == 1))
        else {
            return Err(Problem::at(
                size_line,
                format!("{} axes: only stacks of one number a voxel are read", sizes.len()),
            ));
        };
        axes.remove(at);
    }
    if axes.len() < 2 {
        return Err(Problem::at(size_line, "a stack has three axes"));
    }
    let mut size = [1; 3];
    for (n, &axis) in size.iter_mut().zip(&axes) {
        *n = sizes[axis];
    }
    let mut header = Header::new(Format::Nrrd, size, sample);
    place(fields, &axes, sizes.len(), &mut header)?;
    Ok(header)
}

/// Spacing and origin from `space directions` and `space origin`, or from `spacings`.
fn place(fields: &Fields, axes: &[usize], n_axes: usize, header: &mut Header) -> Result<(), Problem> {
    let unit = fields.get(&["space units", "units"]).map_or(Some(1.0), |(_, units)| {
        match units.split('"').map(str::trim).find(|unit| !unit.is_empty()).unwrap_or("mm").to_lowercase().as_str() {
            "mm" | "millimeter" | "millimeters" | "millimetre" => Some(1.0),
            "um" | "µm" | "μm" | "micron" | "microns" | "micrometer" | "micrometers" => Some(1e-3),
            "cm" => Some(10.0),
            "m" | "meter" | "metre" => Some(1e3),
            "nm" => Some(1e-6),
            _ => None,
        }
    });
    let unit = unit.unwrap_or_else(|| {
        header.notes.push("the unit of length of the header is not known: read as mm".to_owned());
        1.0
    });
    let mut edges: Vec<f64> = Vec::new();
    if let Some((line, directions)) = fields.get(&["space directions"]) {
        let bad =
            || Problem::at(line, format!("space directions \"{directions}\" are not a vector (or none) for each axis"));
        let mut vectors = Vec::new();
        let mut rest = directions.trim();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("none") {
                vectors.push(None);
                rest = after.trim_start();
            } else {
                let (inner, after) = rest.strip_prefix('(').and_then(|r| r.split_once(')')).ok_or_else(bad)?;
                vectors.push(Some(vector(inner).ok_or_else(bad)?));
                rest = after.trim_start();
            }
        }
        if vectors.len() != n_axes {
            return Err(bad());
        }
        let mut aligned = true;
        let directions: Vec<Vec<f64>> = axes.iter().filter_map(|&axis| vectors[axis].clone()).collect();
        if !text::are_at_right_angles(&directions) {
            return Err(Problem::at(line, text::SLANTED));
        }
        for (position, &axis) in axes.iter().enumerate() {
            let Some(vector) = &vectors[axis] else {
                return Err(Problem::at(line, format!("axis {axis} has no direction: it is no axis of space")));
            };
            edges.push(vector.iter().map(|x| x * x).sum::<f64>().sqrt());
            aligned &= vector.iter().enumerate().all(|(i, &x)| if i == position { x > 0.0 } else { x == 0.0 });
        }
        if !aligned {
            header.notes.push(text::TURNED.to_owned());
        }
    } else if let Some((line, spacings)) = fields.get(&["spacings"]) {
        let all: Vec<f64> = text::numbers(&spacings.to_lowercase())
            .filter(|all: &Vec<f64>| all.len() == n_axes)
            .ok_or_else(|| Problem::at(line, format!("spacings \"{spacings}\" are not a number for each axis")))?;
        edges = axes.iter().map(|&axis| all[axis].abs()).collect();
    }
    if edges.len() == 2 {
        edges.push(edges[0]);
    }
    if edges.len() == 3 && edges.iter().all(|&edge| edge.is_finite() && edge > 0.0) {
        header.spacing = Some([edges[0] * unit, edges[1] * unit, edges[2] * unit]);
    }
    let origin = fields.get(&["space origin"]).and_then(|(_, text)| vector(text.trim().trim_matches(['(', ')'])));
    if let (Some(spacing), Some(&[x, y, z])) = (header.spacing, origin.as_deref()) {
        // The header gives the centre of the first voxel.
        header.origin = Some([x * unit - spacing[0] / 2.0, y * unit - spacing[1] / 2.0, z * unit - spacing[2] / 2.0]);
    }
    Ok(())
}

fn vector(text: &str) -> Option<Vec<f64>> {
    text.split(',').map(|x| x.trim().parse::<f64>().ok().filter(|x| x.is_finite())).collect()
}

/// The samples: `line skip`, then `byte skip` (after unpacking), then the voxels.
fn source(fields: &Fields, header: &Header, data: PathBuf, start: u64) -> Result<Box<dyn super::Source>, Problem> {
    let open = |error: io::Error| format!("cannot open the data file {}: {error}", data.display());
    let mut file = File::open(&data).map_err(open)?;
    let length = file.metadata().map_err(open)?.len();
    let bytes = header.bytes();
    let layer_bytes = header.layer_bytes_checked()?;
    let (line_skip, byte_skip) =
        (fields.integer(&["line skip", "lineskip"])?, fields.integer(&["byte skip", "byteskip"])?);
    let (_, encoding) = fields.needed("encoding")?;
    let mut start = start;
    if line_skip > 0 {
        file.seek(SeekFrom::Start(start)).map_err(open)?;
        let mut reader = BufReader::new(&file);
        for _ in 0..line_skip {
            let read = reader.skip_until(b'\n').map_err(open)?;
            if read == 0 {
                return Err("\"line skip\" is more than the data file has lines".into());
            }
            start += read as u64;
        }
    }
    match encoding.to_lowercase().as_str() {
        "raw" => {
            let offset = match byte_skip {
                -1 => length.saturating_sub(bytes.unwrap_or(u64::MAX)),
                skip => start.saturating_add(u64::try_from(skip).map_err(|_| "\"byte skip\" must be -1 or more")?),
            };
            Ok(Box::new(Flat::new(file, offset, layer_bytes, bytes)?))
        }
        _ => {
            let skip = u64::try_from(byte_skip).map_err(|_| "\"byte skip: -1\" is only for raw encoding")?;
            let reopen: Reopen = Box::new(move || {
                let mut file = File::open(&data)?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))) as Box<dyn Read + Send>)
            });
            Ok(Box::new(Stream::deflated(reopen, length.saturating_sub(start), skip, layer_bytes, bytes)?))
        }
    }
}
