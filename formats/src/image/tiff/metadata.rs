//! What ImageJ and OME write into the description of a TIFF file: number of slices, size of voxels.

use std::io::{Read, Seek};

use super::directory::{Directory, Tiff, tag};

/// What the description of the first page says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Metadata {
    /// Slices that ImageJ says there are; 0 where it does not.
    pub(super) images: usize,
    /// Slices, channels and points in time; 1 where nothing is said.
    pub(super) dimensions: [usize; 3],
    /// mm.
    pub(super) spacing: Option<[f64; 3]>,
}

/// Millimetres.
fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "mm" | "millimeter" | "millimetre" => 1.0,
        "um" | "µm" | "μm" | "micron" | "microns" | "\\u00B5m" | "\\u00b5m" | "micrometer" => 1e-3,
        "nm" => 1e-6,
        "cm" => 10.0,
        "m" | "meter" => 1e3,
        "inch" | "in" => 25.4,
        _ => return None,
    })
}

impl Metadata {
    pub(super) fn read<R: Read + Seek>(tiff: &mut Tiff<R>, directory: &Directory) -> Result<Self, String> {
        let mut metadata = Self { images: 0, dimensions: [1; 3], spacing: None };
        let text = tiff.text(directory, tag::DESCRIPTION)?.unwrap_or_default();
        let resolution = [tiff.fraction(directory, tag::X_RESOLUTION)?, tiff.fraction(directory, tag::Y_RESOLUTION)?];
        let resolution_unit = tiff.integer_of(directory, tag::RESOLUTION_UNIT)?;
        if text.starts_with("ImageJ=") {
            metadata.imagej(&text, resolution, resolution_unit);
        } else if text.contains("<OME") {
            metadata.ome(&text);
        }
        Ok(metadata)
    }

    fn imagej(&mut self, text: &str, resolution: [Option<f64>; 2], resolution_unit: Option<u64>) {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::trim);
        let number = |key: &str| value(key).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1).max(1);
        self.images = value("images").and_then(|n| n.parse().ok()).unwrap_or(0);
        self.dimensions = [number("slices"), number("channels"), number("frames")];
        let scale = value("unit").and_then(unit).or(match resolution_unit {
            Some(3) if value("unit").is_none() && value("spacing").is_some() => Some(10.0),
            _ => None,
        });
        let depth = value("spacing").and_then(|h| h.parse::<f64>().ok()).map(f64::abs);
        if let (Some(scale), [Some(x), Some(y)]) = (scale, resolution)
            && x > 0.0
            && y > 0.0
        {
            // ImageJ leaves a "spacing" of 1 out; a single slice has none.
            let depth = depth.or((self.images > 1).then_some(1.0)).unwrap_or(0.0);
            let edges = [scale / x, scale / y, scale * depth];
            if edges.iter().all(|&edge| edge.is_finite() && edge > 0.0) {
                self.spacing = Some(edges.map(|edge| (edge * 1e12).round() / 1e12));
            }
        }
    }

    fn ome(&mut self, text: &str) {
        let attribute = |name: &str| {
            let start = text.find(&format!(" {name}=\""))? + name.len() + 3;
            text[start..].split('"').next()
        };
        let number = |name: &str| attribute(name).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1).max(1);
        self.dimensions = [number("SizeZ"), number("SizeC"), number("SizeT")];
        let mut edges = [0.0; 3];
        for (edge, axis) in edges.iter_mut().zip(["X", "Y", "Z"]) {
            let size = attribute(&format!("PhysicalSize{axis}")).and_then(|h| h.parse::<f64>().ok());
            let scale = attribute(&format!("PhysicalSize{axis}Unit")).map_or(Some(1e-3), unit);
            if let (Some(size), Some(scale)) = (size, scale) {
                *edge = size * scale;
            }
        }
        if edges.iter().all(|&edge| edge.is_finite() && edge > 0.0) {
            self.spacing = Some(edges);
        }
    }
}
