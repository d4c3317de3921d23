use super::*;
use crate::dynamics::NodalQuantity;
use crate::write::traces::{TraceColumn, TraceGroup, TraceQuantity};

fn traces(sets: &[&str], components: u8, n: usize) -> Traces {
    let columns = sets.iter().enumerate().flat_map(|(node, set)| {
        (0..components).map(move |component| TraceColumn {
            sum: Vec::new(),
            name: format!("{set}.{}.U{}", 1000 + node, component + 1),
            index: node as u32,
            quantity: TraceQuantity::Nodal(NodalQuantity::Displacement),
            component,
        })
    });
    let mut group = TraceGroup { columns: columns.collect(), ..TraceGroup::default() };
    for row in 0..n {
        let time = row as f64 * 40e-6 / n as f64;
        let values: Vec<f64> = (0..sets.len())
            .flat_map(|node| {
                (0..components).map(move |component| {
                    let delay = 6e-6 * (node as f64 + 1.0);
                    let s = (time - delay) / 3e-6;
                    1e-9 * (1.0 - 0.3 * f64::from(component)) * (-s * s).exp() * (6.0 * s).cos()
                })
            })
            .collect();
        group.push(time, &values);
    }
    Traces { groups: vec![group] }
}

#[test]
fn traces_are_grouped_by_component() {
    let traces = traces(&["A", "B", "C"], 2, 10);
    let (panels, left_out) = panels(&traces);
    assert_eq!(left_out, 0);
    let labels: Vec<_> = panels.iter().map(|panel| (panel.label.as_str(), panel.series.len())).collect();
    assert_eq!(labels, [("U1", 3), ("U2", 3)]);
    assert_eq!(panels[1].series[2].name, "C.1002");
    let sets: Vec<String> = (0..250).map(|index| format!("S{index}")).collect();
    let names: Vec<&str> = sets.iter().map(String::as_str).collect();
    let many = self::traces(&names, 1, 2);
    let (panels, left_out) = super::panels(&many);
    assert_eq!((panels.len(), left_out), (12, 250 - 12 * 8));
}

#[test]
fn the_picture_is_xml_and_small_for_long_traces() {
    // To look at the picture, name a folder.
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("POGO_PICTURES").map_or(temporary.path().to_path_buf(), std::path::PathBuf::from);
    let mut traces = traces(&["MONITOR & <1>", "a very long name of a set that must be cut somewhere"], 2, 40_000);
    traces.groups[0].values[4 * 100] = f64::NAN;
    let (panels, _) = panels(&traces);
    let path = folder.join("traces.svg");
    traces_svg(&path, "A & B", "2 more traces", &panels).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    assert!(text.contains("MONITOR &amp; &lt;1&gt;.1000") && text.contains("A &amp; B"));
    assert!(text.contains("U1 / nm") && text.contains("time / µs"), "units");
    assert!(text.contains("a very long na…"));
    assert!(!text.contains("NaN") && !text.contains("inf"));
    assert_eq!(text.matches('<').count(), text.matches('>').count());
}

#[test]
fn nothing_and_constant_traces_are_drawn_too() {
    let empty = draw("none", "", &[]);
    assert!(empty.contains("No traces were asked for."));
    let times = [0.0, 1.0];
    let panel = Panel {
        label: "U1".into(),
        unit: "m".into(),
        series: vec![Series { name: "x".into(), times: &times, values: vec![0.0, 0.0] }],
    };
    let flat = draw("flat", "", &[panel]);
    assert!(!flat.contains("NaN") && !flat.contains("inf"));
}

#[test]
fn every_extreme_is_kept_when_points_are_left_out() {
    let times: Vec<f64> = (0..100_000).map(f64::from).collect();
    let mut values = vec![0.0; times.len()];
    values[77_777] = 5.0;
    values[12_345] = -3.0;
    let series = Series { name: String::new(), times: &times, values };
    let data = path_data(&series, 500, |t| t / 200.0, |v| v);
    assert!(data.contains(" 5.0") && data.contains(" -3.0"));
    assert!(data.len() < 25_000, "{}", data.len());
}

#[test]
fn times_are_short() {
    assert_eq!(time_text(12.5e-6), "12.5 µs");
    assert_eq!(time_text(0.0), "0 s");
    assert_eq!(time_text(2.0), "2 s");
}
