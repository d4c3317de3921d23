//! Curves: traces, energies, residuals.

use serde_json::{Value, json};

use super::{MOST_CURVES, Report};
use crate::write::traces::Traces;

/// Parts of a curve; each has at most four points.
const PARTS: usize = 500;

/// A curve.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Curve {
    pub name: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// The value holds up to the next one.
    pub steps: bool,
}

impl Curve {
    /// A curve through its points.
    pub fn new(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self { name: name.into(), x, y, steps: false }
    }
}

/// Curves that share their axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// What the vertical axis shows.
    pub label: String,
    /// SI unit without prefix; empty for numbers.
    pub unit: String,
    /// What the horizontal axis shows, and its unit.
    pub across: (String, String),
    /// The vertical axis is logarithmic.
    pub log: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Panel {
    /// Curves over time in seconds.
    pub fn over_time(label: &str, unit: &str, curves: Vec<Curve>) -> Self {
        Self { label: label.into(), unit: unit.into(), across: ("time".into(), "s".into()), log: false, curves }
    }
}

impl Report {
    /// Adds panels below each other; curves beyond the [most](MOST_CURVES) are left out, and a note says how many.
    pub fn curves(&mut self, title: &str, note: &str, panels: &[Panel]) {
        let mut drawn = Vec::new();
        let mut left_out = 0;
        for panel in panels {
            let room = MOST_CURVES.saturating_sub(self.n_curves);
            left_out += panel.curves.len().saturating_sub(room);
            let curves: Vec<Value> = panel.curves.iter().take(room).map(|curve| self.curve(curve)).collect();
            self.n_curves += curves.len();
            if !curves.is_empty() {
                let (label, unit) = &panel.across;
                drawn.push(json!({
                    "label": panel.label, "unit": panel.unit, "log": panel.log,
                    "across": { "label": label, "unit": unit }, "series": curves,
                }));
            }
        }
        let more = if left_out > 0 { format!(" {left_out} more are in the files.") } else { String::new() };
        if !drawn.is_empty() {
            let note = format!("{note}{more}");
            self.show("curves", title, title, note.trim(), json!({ "kind": "chart", "panels": drawn }));
        }
        self.left_out += left_out;
    }

    fn curve(&mut self, curve: &Curve) -> Value {
        let points = thinned(&curve.y);
        let of = |values: &[f64]| -> Vec<f64> { points.iter().map(|&at| values[at]).collect() };
        let (x, y) = (self.block.f32(of(&curve.x)), self.block.f32(of(&curve.y)));
        json!({ "name": curve.name, "steps": curve.steps, "x": x, "y": y })
    }

    /// Adds the traces of a run: a panel for each component and 8 of its traces.
    pub fn traces(&mut self, traces: &Traces) {
        let (panels, left_out) = crate::write::plot::panels(traces);
        let panel = |panel: &crate::write::plot::Panel<'_>| {
            let curve = |series: &crate::write::plot::Series<'_>| {
                Curve::new(series.name.clone(), series.times.to_vec(), series.values.clone())
            };
            let unit = if panel.unit == "strain" { "" } else { &panel.unit };
            Panel::over_time(&panel.label, unit, panel.series.iter().map(curve).collect())
        };
        let panels: Vec<Panel> = panels.iter().map(panel).collect();
        let note = if left_out > 0 { format!("{left_out} traces more are in traces.csv.") } else { String::new() };
        self.curves("Traces", &note, &panels);
    }
}

/// The points that are kept: the first, the least, the greatest and the last in each of [`PARTS`] parts.
fn thinned(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    if n <= 4 * PARTS {
        return (0..n).collect();
    }
    let mut kept = Vec::with_capacity(4 * PARTS);
    for part in 0..PARTS {
        let (begin, end) = (part * n / PARTS, (part + 1) * n / PARTS);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let mut points = vec![begin, end - 1];
        points.extend((begin..end).min_by(by_value));
        points.extend((begin..end).max_by(by_value));
        points.sort_unstable();
        points.dedup();
        kept.extend(points);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_extremes() {
        let mut values = vec![0.0; 100_000];
        (values[51_234], values[77_777], values[99_999]) = (5.0, -3.0, 1.0);
        let kept = thinned(&values);
        assert!(kept.len() <= 4 * PARTS && kept.windows(2).all(|pair| pair[0] < pair[1]));
        for point in [0, 51_234, 77_777, 99_999] {
            assert!(kept.contains(&point), "{point}");
        }
        assert_eq!(thinned(&[1.0, 2.0]), [0, 1]);
    }
}
