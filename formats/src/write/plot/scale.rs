//! From values to colours, one scale for all pictures of a run.

use super::axis::with_prefix;
use crate::write::raster::{Colour, Map};

/// Values below this share decide the end of the scale where few others are far above them.
pub const WAVES: f64 = 0.999;

/// How large values are, over all pictures of a run: counts by size, in steps of 1/128.
#[derive(Debug, Clone)]
pub struct Spread {
    /// By the upper bits of the size as f32.
    counts: Vec<u64>,
    n: u64,
    low: f32,
    high: f32,
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: vec![0; 1 << 15], n: 0, low: f32::INFINITY, high: f32::NEG_INFINITY }
    }
}

impl Spread {
    /// Adds values; those that are not finite do not count.
    pub fn add(&mut self, values: impl IntoIterator<Item = f32>) {
        for value in values.into_iter().filter(|value| value.is_finite()) {
            self.counts[(value.abs().to_bits() >> 16) as usize] += 1;
            self.n += 1;
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
    }

    /// The size that this share of the values does not exceed, to one part in 128.
    fn size_at(&self, share: f64) -> f64 {
        let mut left = (share * self.n as f64).ceil() as u64;
        for (bin, &count) in self.counts.iter().enumerate() {
            if count >= left {
                return f64::from(f32::from_bits(((bin as u32) << 16) | 0xffff));
            }
            left -= count;
        }
        0.0
    }

    /// The largest size.
    fn largest(&self) -> f64 {
        if self.n > 0 { f64::from(self.low.abs().max(self.high.abs())) } else { 0.0 }
    }
}

/// From values to colours.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The value at the low end.
    pub low: f64,
    /// The value at the high end.
    pub high: f64,
    /// The map at equal distances: computing a colour for each pixel would take most of the time.
    colours: Vec<Colour>,
    /// The share of the values that ends the scale, and the largest size of any; none where the scale holds all values.
    pub cut: Option<(f64, f64)>,
}

/// Colours in the table.
const SHADES: usize = 1024;

impl Scale {
    /// Either the given `range`, or from 0 to the largest value. (With values below 0, or a diverging map, the two ends are
    /// of the same size.) Where the largest is over 1.5 times the value that a `share` of all does not exceed, that value is
    /// the end, and [`notes`](Self::notes) say so. `bands`: so many steps of colour.
    pub fn new(spread: &Spread, map: Map, range: Option<[f64; 2]>, share: f64, bands: Option<u32>) -> Self {
        let place = |shade: usize| {
            let smooth = shade as f64 / (SHADES - 1) as f64;
            let step = |n: u32| ((smooth * f64::from(n)).floor().min(f64::from(n - 1)) + 0.5) / f64::from(n);
            bands.filter(|&n| n > 0).map_or(smooth, step)
        };
        let colours = (0..SHADES).map(|shade| map.colour(place(shade))).collect();
        if let Some([low, high]) = range {
            let high = if high > low { high } else { low + low.abs().max(1e-300) };
            return Self { low, high, colours, cut: None };
        }
        let largest = spread.largest();
        let typical = spread.size_at(share);
        let is_cut = typical > 0.0 && largest > 1.5 * typical && spread.n >= 200;
        let high = if is_cut { typical } else { largest };
        let high = if high > 0.0 { high } else { 1.0 };
        let signed = map == Map::Diverging || spread.low < 0.0;
        let cut = is_cut.then_some((share, largest));
        Self { low: if signed { -high } else { 0.0 }, high, colours, cut }
    }

    /// The colour of a value.
    pub fn colour(&self, value: f64) -> Colour {
        self.shade((value - self.low) / (self.high - self.low))
    }

    /// The colour at a place along the bar, grey for NaN and infinity.
    pub fn shade(&self, place: f64) -> Colour {
        if !place.is_finite() {
            return Map::Sequential.colour(f64::NAN);
        }
        // The cast saturates at 0.
        let shade = (place * (SHADES - 1) as f64 + 0.5) as usize;
        self.colours[shade.min(SHADES - 1)]
    }

    /// What stands below the bar: how the scale was found, if it does not hold all values.
    pub fn notes(&self, unit: &str) -> Vec<String> {
        let Some((share, largest)) = self.cut else { return Vec::new() };
        let (factor, unit) = with_prefix(largest, unit);
        let percent = format!("{:.1}", 100.0 * share);
        let percent = percent.trim_end_matches(".0");
        vec![format!("{percent} % within"), "the scale,".into(), "largest".into(), number(largest / factor, &unit)]
    }
}

/// A number of three digits with its unit.
fn number(value: f64, unit: &str) -> String {
    let decimals = (2.0 - value.abs().max(1e-300).log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{value:.decimals$} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f32], share: f64) -> Scale {
        let mut spread = Spread::default();
        spread.add(values.iter().copied());
        Scale::new(&spread, Map::Sequential, None, share, None)
    }

    #[test]
    fn a_few_far_larger_values_do_not_set_the_scale_and_the_bar_says_so() {
        let mut values = vec![1.0; 5000];
        assert!(of(&values, WAVES).cut.is_none());
        values[3] = 100.0;
        let scale = of(&values, WAVES);
        assert!((1.0..1.01).contains(&scale.high) && scale.low == 0.0, "{}", scale.high);
        assert_eq!(scale.notes("m").join(" "), "99.9 % within the scale, largest 100 m");
        assert_eq!(of(&values, 0.99).notes("")[0], "99 % within");
        // A tenth of the values is no exception.
        values[..500].fill(100.0);
        assert_eq!((of(&values, WAVES).high, of(&values, WAVES).cut), (100.0, None));
    }

    #[test]
    fn scales_without_values_and_with_signs() {
        assert_eq!(
            [of(&[0.0; 5], WAVES), of(&[f32::NAN; 5], WAVES)].map(|scale| (scale.low, scale.high)),
            [(0.0, 1.0); 2]
        );
        let signed = of(&[-2.0, 1.0], WAVES);
        assert_eq!((signed.low, signed.high), (-2.0, 2.0));
        let flat = Scale::new(&Spread::default(), Map::Sequential, Some([3.0, 3.0]), WAVES, None);
        assert!(flat.high > flat.low && flat.colour(3.0) == flat.shade(0.0));
    }
}
