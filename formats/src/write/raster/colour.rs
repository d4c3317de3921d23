//! Colours: perceptual maps from numbers, and colours that are easy to tell apart.
//!
//! The maps are straight or curved lines in Oklab (Ottosson 2020), where equal steps look equal, with a lightness that
//! rises linearly: they can be read in grey and with any colour vision.

/// Red, green and blue, sRGB.
pub type Colour = [u8; 3];

/// From a number in [0, 1] to a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Map {
    /// Dark violet over teal to light yellow: magnitudes.
    #[default]
    Sequential,
    /// Blue over near white to red: signed values, zero at ½.
    Diverging,
}

impl Map {
    /// The colour of `value`; beyond [0, 1] that of the nearest end, grey for NaN.
    pub fn colour(self, value: f64) -> Colour {
        if value.is_nan() {
            return [128, 128, 128];
        }
        let x = value.clamp(0.0, 1.0);
        match self {
            Self::Sequential => {
                // Hue falls from violet over blue and green to yellow while the lightness rises.
                let hue = (300.0 - 195.0 * x.powf(1.1)).to_radians();
                let chroma = 0.125 + 0.04 * x;
                from_oklab([0.22 + 0.70 * x, chroma * hue.cos(), chroma * hue.sin()])
            }
            Self::Diverging => {
                let s = 2.0 * x - 1.0;
                let (hue, end) = if s < 0.0 { (255.0_f64, 0.42) } else { (27.0_f64, 0.48) };
                let chroma = 0.17 * s.abs().powf(0.9);
                let lightness = 0.97 + (end - 0.97) * s.abs();
                from_oklab([lightness, chroma * hue.to_radians().cos(), chroma * hue.to_radians().sin()])
            }
        }
    }
}

/// The n-th of a sequence of colours in which neighbours differ clearly: hues turn by the golden angle, lightness and
/// strength change with them.
pub fn categorical(index: usize) -> Colour {
    let turn = (index as f64 * 0.618_033_988_749_895).fract();
    let hue = std::f64::consts::TAU * turn + 0.5;
    let lightness = [0.72, 0.58, 0.82][index % 3];
    let chroma = [0.13, 0.15, 0.11][(index / 3) % 3];
    from_oklab([lightness, chroma * hue.cos(), chroma * hue.sin()])
}

/// Oklab to sRGB; colours outside the screen's range lose strength, not hue, until they fit.
fn from_oklab([lightness, a, b]: [f64; 3]) -> Colour {
    let fits = |strength: f64| {
        let linear = linear_rgb([lightness, strength * a, strength * b]);
        linear.iter().all(|c| (-1e-4..=1.0001).contains(c))
    };
    let (mut strength, mut step) = if fits(1.0) { (1.0, 0.0) } else { (0.0, 0.5) };
    // Halving: colours beside each other must not jump.
    while step > 1e-3 {
        if fits(strength + step) {
            strength += step;
        }
        step *= 0.5;
    }
    linear_rgb([lightness, strength * a, strength * b]).map(|c| {
        let c = c.clamp(0.0, 1.0);
        let encoded = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
        (255.0 * encoded).round() as u8
    })
}

fn linear_rgb([lightness, a, b]: [f64; 3]) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Colour) -> f64 {
        let linear = colour.map(|c| (f64::from(c) / 255.0).powf(2.2));
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn the_sequential_map_grows_lighter_everywhere() {
        let light: Vec<f64> = (0..=64).map(|i| luminance(Map::Sequential.colour(f64::from(i) / 64.0))).collect();
        assert!(light.windows(2).all(|pair| pair[1] > pair[0]), "{light:?}");
        assert!(light[0] < 0.03 && light[64] > 0.7, "{light:?}");
    }

    #[test]
    fn the_diverging_map_is_neutral_in_the_middle() {
        let [red, green, blue] = Map::Diverging.colour(0.5);
        assert!(red.abs_diff(green) < 3 && green.abs_diff(blue) < 3 && red > 235);
        let low = Map::Diverging.colour(-7.0);
        let high = Map::Diverging.colour(7.0);
        assert!(low[2] > low[0] + 60 && high[0] > high[2] + 60, "{low:?} {high:?}");
        assert_eq!(Map::Diverging.colour(f64::NAN), [128, 128, 128]);
    }

    #[test]
    fn neighbours_in_the_categorical_sequence_differ() {
        for index in 0..60 {
            let (a, b) = (categorical(index), categorical(index + 1));
            let difference: u32 = a.iter().zip(b).map(|(x, y)| u32::from(x.abs_diff(y))).sum();
            assert!(difference > 60, "{index}: {a:?} {b:?}");
        }
    }
}
