//! NRRD: attached or detached headers, raw or gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use super::sample::Endian;
use super::source::reopen;
use super::text::{self, Fields};
use super::{Format, Header, Opened, Problem};
use crate::read::unpack::Gunzip;
use crate::system::inputs;
use crate::words::Choice;

/// Opens an NRRD file, or the header of one.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let file = inputs::open(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    let (lines, header_bytes) = text::header_lines(BufReader::new(file), |line| line.is_empty())?;
    // Lines `key:=value` are remarks of other programs.
    let is_field = |line: &str| !line.is_empty() && !line.starts_with('#') && !line.contains(":=");
    let lines = lines.iter().skip(1).filter(|(_, line)| is_field(line));
    let fields = Fields::new("NRRD", lines, (':', "field: value"), str::to_lowercase)?;
    let mut header = header(&fields)?;
    let (line, encoding) = fields.needed("encoding")?;
    let is_raw = encoding.eq_ignore_ascii_case("raw");
    if !is_raw && !["gzip", "gz"].iter().any(|known| encoding.eq_ignore_ascii_case(known)) {
        return Err(Problem::at(
            line,
            format!("encoding \"{encoding}\" is not read: write it raw or gzip, e.g. `unu save -e gzip -f nrrd`"),
        ));
    }
    let endian = match fields.get(&["endian"]) {
        Some((line, name)) => Endian::named(&name.to_lowercase())
            .ok_or_else(|| Problem::at(line, format!("endian is \"little\" or \"big\", not \"{name}\"")))?,
        None if header.sample.bytes() == 1 => Endian::Little,
        None => return Err("the NRRD header has no \"endian\", which this type needs".into()),
    };
    if fields.get(&["old min", "oldmin", "old max", "oldmax"]).is_some() {
        header.notes.push("\"old min\" and \"old max\" of the header are not applied to the values".to_owned());
    }
    let (data, mut start) = match fields.get(&["data file", "datafile"]) {
        None => (path.to_owned(), header_bytes),
        Some(named) => (text::beside(path, named)?, 0),
    };
    let open = |error: io::Error| format!("cannot open the data file {}: {error}", data.display());
    let mut file = inputs::open(&data).map_err(open)?;
    let length = file.metadata().map_err(open)?.len();
    // `line skip` comes first, then `byte skip` (after unpacking), then the voxels.
    let n_lines = fields.integer(&["line skip", "lineskip"])?;
    let skipped = skip_lines(&mut file, start, n_lines).map_err(open)?;
    start += skipped.ok_or("\"line skip\" is more than the data file has lines")?;
    let byte_skip = fields.integer(&["byte skip", "byteskip"])?;
    if is_raw {
        let offset = text::raw_place("byte skip", byte_skip, start, length, &mut header)?;
        return Opened::flat(header, endian, file, offset);
    }
    let skip = u64::try_from(byte_skip).map_err(|_| "\"byte skip: -1\" is only for raw encoding")?;
    let reopen = reopen(data, (start, u64::MAX), |packed| Ok(Gunzip::new(packed)));
    Opened::deflated(header, endian, reopen, length.saturating_sub(start), skip)
}

/// Bytes of the lines that are skipped from byte `start` on; none where there are fewer lines.
fn skip_lines(file: &mut File, start: u64, lines: i64) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(start))?;
    let (mut reader, mut bytes) = (BufReader::new(file), 0);
    for _ in 0..lines {
        match reader.skip_until(b'\n')? {
            0 => return Ok(None),
            read => bytes += read as u64,
        }
    }
    Ok(Some(bytes))
}

/// Type, size, spacing and origin.
fn header(fields: &Fields) -> Result<Header, Problem> {
    let (line, name) = fields.needed("type")?;
    let sample = text::sample_type(&name.to_lowercase()).ok_or_else(|| {
        Problem::at(line, format!("type \"{name}\" is not read: use 8 to 64 bit integers, float or double"))
    })?;
    let (size_line, sizes) = fields.sizes("sizes")?;
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
    size.iter_mut().zip(&axes).for_each(|(n, &axis)| *n = sizes[axis]);
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
    } else if let Some(all) = fields.lengths(&["spacings"], n_axes)? {
        edges = axes.iter().map(|&axis| all[axis].abs()).collect();
    }
    header.set_edges(&edges.iter().map(|edge| edge * unit).collect::<Vec<_>>());
    let origin = fields.get(&["space origin"]).and_then(|(_, text)| vector(text.trim().trim_matches(['(', ')'])));
    if let Some(&[x, y, z]) = origin.as_deref() {
        header.set_centre([x * unit, y * unit, z * unit]);
    }
    Ok(())
}

fn vector(text: &str) -> Option<Vec<f64>> {
    text.split(',').map(|x| x.trim().parse::<f64>().ok().filter(|x| x.is_finite())).collect()
}
