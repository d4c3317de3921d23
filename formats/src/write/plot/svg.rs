//! Traces as an SVG: one panel above the other, a shared time axis, a legend beside each panel.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::axis::{Axis, with_prefix};
use crate::write::traces::Traces;
use crate::write::{OutputError, write_atomically};

/// A curve over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<'a> {
    /// In the legend.
    pub name: String,
    /// s.
    pub times: &'a [f64],
    /// In the panel's unit, one a time; NaN leaves a gap.
    pub values: Vec<f64>,
}

/// Curves that share their axes.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Panel<'a> {
    /// What the vertical axis shows: `U2`.
    pub label: String,
    /// SI unit without prefix.
    pub unit: String,
    pub series: Vec<Series<'a>>,
}

const COLOURS: [&str; 8] = ["#1b6ca8", "#d1495b", "#2e933c", "#e08e0b", "#6c4ab6", "#00897b", "#8d5524", "#555555"];
/// Most curves in a panel, and panels in a picture.
const MOST_SERIES: usize = COLOURS.len();
const MOST_PANELS: usize = 12;
/// Characters of a name in the legend.
const LONGEST_NAME: usize = 30;

/// Panels for all traces by component, at most 8 curves each and 12 panels, and how many traces found no place.
pub fn panels(traces: &Traces) -> (Vec<Panel<'_>>, usize) {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    let mut left_out = 0;
    for group in &traces.groups {
        for (index, column) in group.columns.iter().enumerate() {
            let label = column.quantity.label(column.component);
            let name = column.name.strip_suffix(&format!(".{label}")).unwrap_or(&column.name).to_owned();
            let place = panels.iter().rposition(|panel| panel.label == label && panel.series.len() < MOST_SERIES);
            let place = place.or_else(|| {
                (panels.len() < MOST_PANELS).then(|| {
                    let unit = match column.quantity.unit() {
                        "1" => "strain".into(),
                        unit => unit.replace("^2", "²").replace("^3", "³"),
                    };
                    panels.push(Panel { label, unit, series: Vec::new() });
                    panels.len() - 1
                })
            });
            match place {
                Some(place) => panels[place].series.push(Series {
                    name,
                    times: &group.times,
                    values: group.column(index).collect(),
                }),
                None => left_out += 1,
            }
        }
    }
    // U before V, U1 before U2; panels of one component stay in order.
    panels.sort_by(|a, b| a.label.cmp(&b.label));
    (panels, left_out)
}

/// Draws panels as an SVG of 1000 pixels across. Curves with more points than pixels are drawn by the extremes in each
/// column, which looks the same. Without any panel it says so in the picture.
///
/// # Errors
/// [`OutputError::Io`].
pub fn traces_svg(path: &Path, title: &str, note: &str, panels: &[Panel<'_>]) -> Result<(), OutputError> {
    let text = draw(title, note, panels);
    write_atomically(path, |out| out.write_all(text.as_bytes()))
}

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 86.0;
const TOP: f64 = 50.0;
const GAP: f64 = 16.0;

fn draw(title: &str, note: &str, panels: &[Panel<'_>]) -> String {
    let names = panels.iter().flat_map(|panel| &panel.series).map(|series| shorten(&series.name).chars().count());
    let legend = 44.0 + 7.4 * names.max().unwrap_or(0) as f64;
    let width = WIDTH - LEFT - legend - 12.0;
    let panel_height: f64 = match panels.len() {
        0 | 1 => 400.0,
        2 => 260.0,
        _ => 190.0,
    };
    let step = panel_height + GAP;
    let note_height = if note.is_empty() { 0.0 } else { 22.0 };
    let height = TOP + step * panels.len().max(1) as f64 + 46.0 + note_height;
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#222\">"
    );
    let _ = writeln!(svg, "<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>");
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"30\" font-size=\"17\">{}</text>", escape(title));
    if panels.is_empty() {
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"90\">No traces were asked for.</text>");
    }
    let times = || panels.iter().flat_map(|panel| &panel.series).flat_map(|series| series.times).copied();
    let (first, last) = extremes(times());
    let time = Axis::new(first, last, 8, "s");
    for (index, panel) in panels.iter().enumerate() {
        let frame = Frame { left: LEFT, top: TOP + step * index as f64, width, height: panel_height };
        draw_panel(&mut svg, panel, index, &time, &frame, index + 1 == panels.len());
    }
    if !note.is_empty() {
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"12\" fill=\"#666\">{}</text>",
            height - 10.0,
            escape(note)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The plotting area of a panel, in pixels.
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

fn draw_panel(svg: &mut String, panel: &Panel<'_>, index: usize, time: &Axis, frame: &Frame, is_last: bool) {
    let Frame { left, top, width, height } = *frame;
    let (low, high) = extremes(panel.series.iter().flat_map(|series| &series.values).copied());
    let margin = 0.06 * (high - low);
    let values = Axis::new(low - margin, high + margin, if height > 300.0 { 7 } else { 4 }, &panel.unit);
    let x = |t: f64| left + width * time.place(t);
    let y = |v: f64| top + height * (1.0 - values.place(v));
    for (tick, text) in &time.ticks {
        let x = x(*tick);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top}v{height}\" stroke=\"#e4e4e4\"/>");
        if is_last {
            let below = top + height + 18.0;
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{text}</text>");
        }
    }
    for (tick, text) in &values.ticks {
        let y = y(*tick);
        let stroke = if tick.abs() < 1e-9 * (values.high - values.low) { "#b0b0b0" } else { "#e4e4e4" };
        let _ = writeln!(svg, "<path d=\"M{left} {y:.1}h{width}\" stroke=\"{stroke}\"/>");
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", left - 8.0, y + 4.5);
    }
    let _ = writeln!(
        svg,
        "<clipPath id=\"p{index}\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/></clipPath>"
    );
    let _ =
        writeln!(svg, "<g clip-path=\"url(#p{index})\" fill=\"none\" stroke-width=\"1.5\" stroke-linejoin=\"round\">");
    for (series, colour) in panel.series.iter().zip(COLOURS.iter().cycle()) {
        let _ = writeln!(svg, "<path stroke=\"{colour}\" d=\"{}\"/>", path_data(series, width as usize, x, y));
    }
    svg.push_str("</g>\n");
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#444\"/>"
    );
    let middle = top + 0.5 * height;
    let _ = writeln!(
        svg,
        "<text transform=\"translate(20 {middle:.1}) rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">{} / {}</text>",
        escape(&panel.label),
        escape(&values.unit)
    );
    if is_last {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"14\">time / {}</text>",
            left + 0.5 * width,
            top + height + 38.0,
            escape(&time.unit)
        );
    }
    for (row, (series, colour)) in panel.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let (x, y) = (left + width + 12.0, top + 14.0 + 19.0 * row as f64);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {:.1}h18\" stroke=\"{colour}\" stroke-width=\"2.5\"/>", y - 4.5);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + 24.0, escape(&shorten(&series.name)));
    }
}

/// The curve as path data; at most four points a pixel column: its first, extreme and last values, in order.
fn path_data(series: &Series<'_>, columns: usize, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let n = series.times.len().min(series.values.len());
    let window = n.div_ceil(columns.max(1)).max(1);
    let mut data = String::new();
    let mut pen_down = false;
    for start in (0..n).step_by(window) {
        let end = (start + window).min(n);
        let by_value = |&a: &usize, &b: &usize| series.values[a].total_cmp(&series.values[b]);
        let mut points = vec![start, end - 1];
        points.extend((start..end).filter(|&i| series.values[i].is_finite()).min_by(by_value));
        points.extend((start..end).filter(|&i| series.values[i].is_finite()).max_by(by_value));
        points.sort_unstable();
        points.dedup();
        for point in points {
            let (time, value) = (series.times[point], series.values[point]);
            if !value.is_finite() || !time.is_finite() {
                pen_down = false;
                continue;
            }
            let _ = write!(data, "{}{:.1} {:.1}", if pen_down { "L" } else { "M" }, x(time), y(value));
            pen_down = true;
        }
    }
    data
}

/// Smallest and largest finite value; NaN without any.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.filter(|value| value.is_finite()).fold((f64::NAN, f64::NAN), |(low, high), value| {
        // f64::min and max pass over NaN.
        (low.min(value), high.max(value))
    })
}

/// Long names keep their beginning and end.
fn shorten(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let half = (LONGEST_NAME - 1) / 2;
    let begin: String = characters[..half].iter().collect();
    let end: String = characters[characters.len() - half..].iter().collect();
    format!("{begin}…{end}")
}

fn escape(text: &str) -> String {
    let text: String = text.chars().filter(|character| !character.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A time for a title: `12.5 µs`.
pub(crate) fn time_text(time: f64) -> String {
    quantity_text(time, "s")
}

/// A value with its unit, to four decimals: `12.5 mm`.
pub(crate) fn quantity_text(value: f64, unit: &str) -> String {
    let (factor, unit) = with_prefix(value.abs(), unit);
    let digits = format!("{:.4}", value / factor);
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
