//! Colours of pictures, which must be grey levels or labels.

use super::source::unpack;

/// The colours of a BMP or PNG file. A pixel's value is its grey level; where they are not grey, the index.
pub(super) struct Palette {
    pub(super) colours: Vec<[u8; 3]>,
    pub(super) is_grey: bool,
}

impl Palette {
    pub(super) fn new(colours: Vec<[u8; 3]>) -> Self {
        let is_grey = colours.iter().all(|[r, g, b]| r == g && g == b);
        Self { colours, is_grey }
    }

    /// Values of a row of indices of `bits` bits.
    pub(super) fn row(&self, row: &[u8], bits: usize, values: &mut [u8]) -> Result<(), String> {
        unpack(row, bits, values);
        for value in values {
            let colour = self.colours.get(usize::from(*value));
            let [level, ..] = *colour.ok_or("a pixel has a colour that the palette does not: this file is damaged")?;
            if self.is_grey {
                *value = level;
            }
        }
        Ok(())
    }
}

/// The value of a pixel whose three colours must be alike.
pub(super) fn grey<T: PartialEq>([red, green, blue]: [T; 3], x: usize, y: usize) -> Result<T, String> {
    if red != green || green != blue {
        return Err(format!("pixel {x}, {y} is coloured: save the slices with one grey value or label a pixel"));
    }
    Ok(red)
}
