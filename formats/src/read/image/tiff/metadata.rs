//! What ImageJ and OME write into the description of a TIFF file: number of slices, size of voxels.

use std::io::{Read, Seek};

use super::directory::{Directory, Tiff, tag};
use crate::read::image::are_edges;

/// What the description of the first page says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Metadata {
    /// Slices that ImageJ or tifffile says there are, one after the other; 0 where they do not.
    pub(super) images: usize,
    /// Pages of each stack, by OME or tifffile; empty where nothing is said.
    pub(super) stacks: Vec<usize>,
    /// Slices, channels and points in time; 1 where nothing is said.
    pub(super) dimensions: [usize; 3],
    /// mm.
    pub(super) spacing: Option<[f64; 3]>,
    /// Slope and intercept of ImageJ's calibration.
    pub(super) rescale: Option<[f64; 2]>,
    /// Its calibration is none of these.
    pub(super) is_curve: bool,
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
        let mut metadata = Self { dimensions: [1; 3], ..Self::default() };
        let text = tiff.text(directory, tag::DESCRIPTION)?.unwrap_or_default();
        let resolution = [tiff.fraction(directory, tag::X_RESOLUTION)?, tiff.fraction(directory, tag::Y_RESOLUTION)?];
        let resolution_unit = tiff.integer_of(directory, tag::RESOLUTION_UNIT)?;
        if text.starts_with("ImageJ=") {
            metadata.imagej(&text, resolution, resolution_unit);
            metadata.calibration(&text);
        } else if text.contains("<OME") {
            metadata.ome(&text);
        } else if let Some(shape) = text.strip_prefix("{\"shape\": [").and_then(|rest| rest.split(']').next()) {
            let height = tiff.integer_of(directory, tag::HEIGHT)?;
            metadata.tifffile(shape, [height, tiff.integer_of(directory, tag::WIDTH)?]);
        }
        Ok(metadata)
    }

    /// The shape of the array that tifffile wrote: an index of slices, and others for stacks.
    fn tifffile(&mut self, shape: &str, picture: [Option<u64>; 2]) {
        let shape: Option<Vec<usize>> = shape.split(',').map(|n| n.trim().parse().ok()).collect();
        let Some(mut shape) = shape.filter(|shape| shape.len() > 2) else { return };
        let sizes = |shape: &[usize]| [0, 1].map(|i| Some(shape[shape.len() - 2 + i] as u64));
        if shape.last() == Some(&1) && sizes(&shape) != picture {
            shape.pop();
        }
        if sizes(&shape) != picture {
            return;
        }
        shape.truncate(shape.len() - 2);
        shape.retain(|&n| n > 1);
        let Some(&slices) = shape.last() else { return };
        let Some(images) = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n)) else { return };
        self.images = images;
        self.stacks = vec![slices; (images / slices).min(2)];
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
        // Where units differ, ImageJ names those of y and z too.
        let other = |key| value(key).map_or(scale, unit);
        let depth = value("spacing").and_then(|h| h.parse::<f64>().ok()).map(f64::abs);
        if let (Some(of_x), Some(of_y), Some(of_z), [Some(x), Some(y)]) =
            (scale, other("yunit"), other("zunit"), resolution)
            && x > 0.0
            && y > 0.0
        {
            // ImageJ leaves a "spacing" of 1 out; a single slice has none.
            let depth = depth.or((self.images > 1).then_some(1.0)).unwrap_or(0.0);
            let edges = Some([of_x / x, of_y / y, of_z * depth]).filter(are_edges);
            self.spacing = edges.map(|edges| edges.map(|edge| (edge * 1e12).round() / 1e12));
        }
    }

    /// What ImageJ makes of stored values: signed ones of 16 bits are stored with 32768 added, and densities may be calibrated.
    fn calibration(&mut self, text: &str) {
        let value = |key: &str| {
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')?.trim().parse::<f64>().ok())
        };
        match (value("cf"), value("c1"), value("c0")) {
            (Some(0.0), Some(slope), Some(intercept)) if slope.is_finite() && intercept.is_finite() && slope != 0.0 => {
                self.rescale = Some([slope, intercept]).filter(|line| line != &[1.0, 0.0]);
            }
            (curve, ..) => self.is_curve = curve.is_some(),
        }
    }

    fn ome(&mut self, text: &str) {
        let attribute = |name: &str| {
            let start = text.find(&format!(" {name}=\""))? + name.len() + 3;
            text[start..].split('"').next()
        };
        let number = |name: &str| attribute(name).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1).max(1);
        self.dimensions = [number("SizeZ"), number("SizeC"), number("SizeT")];
        let planes = |pixels: &str| {
            let size = |name: &str| pixels.split(&format!(" {name}=\"")).nth(1).and_then(|n| n.split('"').next());
            let sizes = ["SizeZ", "SizeC", "SizeT"].map(|name| size(name).and_then(|n| n.parse().ok()).unwrap_or(1));
            sizes.into_iter().fold(1, usize::saturating_mul)
        };
        let pixels = text.split("<Pixels").skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
        self.stacks = pixels.map(planes).collect();
        let mut edges = [0.0; 3];
        for (edge, axis) in edges.iter_mut().zip(["X", "Y", "Z"]) {
            let size = attribute(&format!("PhysicalSize{axis}")).and_then(|h| h.parse::<f64>().ok());
            let scale = attribute(&format!("PhysicalSize{axis}Unit")).map_or(Some(1e-3), unit);
            if let (Some(size), Some(scale)) = (size, scale) {
                *edge = size * scale;
            }
        }
        self.spacing = Some(edges).filter(are_edges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imagej_names_units_that_differ() {
        let mut metadata = Metadata::default();
        let text = "ImageJ=1.54f\nimages=3\nslices=3\nunit=micron\nzunit=mm\nspacing=0.02\n";
        metadata.imagej(text, [Some(0.05), Some(0.05)], None);
        assert_eq!(metadata.spacing, Some([0.02; 3]));
        let mut metadata = Metadata::default();
        metadata.imagej(&text.replace("zunit=mm", "zunit=pixel"), [Some(0.05), Some(0.05)], None);
        assert_eq!(metadata.spacing, None);
    }
}
