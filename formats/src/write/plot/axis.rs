//! Round numbers on axes, and units with SI prefixes.

/// Numbers on an axis: (value − low) / (high − low) is the place along it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// Smallest value shown, in SI units.
    pub low: f64,
    /// Largest value shown.
    pub high: f64,
    /// Places and texts of the ticks, values in SI units.
    pub ticks: Vec<(f64, String)>,
    /// Unit of the texts, with prefix: `µs`.
    pub unit: String,
}

impl Axis {
    /// An axis over [low, high] with about `n` ticks; values are in `unit`, without prefix. Ranges that are empty or not
    /// finite become one of size 1, or of the value's own size.
    pub fn new(low: f64, high: f64, n: usize, unit: &str) -> Self {
        let (mut low, mut high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let size = low.abs().max(high.abs());
        if high - low <= 1e-9 * size {
            let half = if size > 0.0 { 0.5 * size } else { 0.5 };
            (low, high) = (0.5 * (low + high) - half, 0.5 * (low + high) + half);
        }
        let (factor, unit) = with_prefix(low.abs().max(high.abs()), unit);
        let step = nice_step((high - low) / factor / n.max(1) as f64);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (low / factor / step - 1e-6).ceil();
        let last = (high / factor / step + 1e-6).floor();
        let ticks = (0..=((last - first).clamp(0.0, 100.0) as usize))
            .map(|index| (first + index as f64) * step)
            .map(|tick| (tick * factor, text(tick, decimals)))
            .collect();
        Self { low, high, ticks, unit }
    }

    /// Place of a value along the axis, 0 at its low end and 1 at its high end.
    pub fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

fn text(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // No "-0.0".
    if text.trim_start_matches(['-', '0', '.']).is_empty() { format!("{:.decimals$}", 0.0) } else { text }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let fraction = step / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|nice| fraction <= nice * 1.0001).unwrap_or(10.0)
}

/// Factor and unit in which numbers up to `largest` are handy: (1e-6, "µs").
pub(super) fn with_prefix(largest: f64, unit: &str) -> (f64, String) {
    const PREFIXES: [(i32, &str); 11] = [
        (-18, "a"),
        (-15, "f"),
        (-12, "p"),
        (-9, "n"),
        (-6, "µ"),
        (-3, "m"),
        (0, ""),
        (3, "k"),
        (6, "M"),
        (9, "G"),
        (12, "T"),
    ];
    if largest <= 0.0 || !largest.is_finite() {
        return (1.0, unit.to_owned());
    }
    // 0.9999999 counts as 1.
    let exponent = 3 * ((largest * 1.000_001).log10() / 3.0).floor() as i32;
    match PREFIXES.iter().find(|(power, _)| *power == exponent) {
        Some((_, prefix)) if !unit.is_empty() => (10_f64.powi(exponent), format!("{prefix}{unit}")),
        Some((0, _)) => (1.0, unit.to_owned()),
        _ => (10_f64.powi(exponent), format!("1e{exponent} {unit}").trim_end().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_units_handy() {
        let time = Axis::new(0.0, 40e-6, 5, "s");
        assert_eq!((texts(&time), time.unit.as_str()), (vec!["0", "10", "20", "30", "40"], "µs"));
        let signed = Axis::new(-1.3e-9, 0.9e-9, 5, "m");
        assert_eq!((texts(&signed), signed.unit.as_str()), (vec!["-1.0", "-0.5", "0.0", "0.5"], "nm"));
        let flat = Axis::new(0.0, 0.0, 5, "m");
        assert_eq!((flat.low, flat.high, flat.unit.as_str()), (-0.5, 0.5, "mm"));
        let tiny = Axis::new(0.0, 3e-31, 3, "m");
        assert_eq!((texts(&tiny), tiny.unit.as_str()), (vec!["0", "100", "200", "300"], "1e-33 m"));
        let none = Axis::new(f64::NAN, f64::INFINITY, 5, "m");
        assert_eq!((none.low, none.high), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn ticks_lie_on_the_axis(low in -1e3..1e3_f64, size in 1e-3..1e4_f64, scale in -20..20_i32) {
            let scale = 10_f64.powi(scale);
            let axis = Axis::new(low * scale, (low + size) * scale, 6, "m");
            prop_assert!((2..=14).contains(&axis.ticks.len()), "{:?}", axis);
            for (tick, text) in &axis.ticks {
                let place = axis.place(*tick);
                prop_assert!((-1e-5..=1.00001).contains(&place), "{} {}", tick, place);
                prop_assert!(text.len() <= 12, "{}", text);
            }
            let mut distinct: Vec<&String> = axis.ticks.iter().map(|(_, text)| text).collect();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), axis.ticks.len());
        }
    }
}
