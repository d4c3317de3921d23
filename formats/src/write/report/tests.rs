use super::*;
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::write::plot::{Look, Scalar, Spread};

/// A square of n × n quadrilaterals, m.
fn square(n: usize) -> Mesh {
    let coordinates =
        (0..(n + 1) * (n + 1)).flat_map(|i| [i % (n + 1), i / (n + 1)]).map(|x| 1e-3 * x as f64).collect();
    let row = n as u32 + 1;
    let connectivity = (0..n as u32).flat_map(|j| {
        (0..n as u32).flat_map(move |i| [i + j * row, i + 1 + j * row, i + 1 + (j + 1) * row, i + (j + 1) * row])
    });
    Mesh {
        dimension: 2,
        coordinates,
        node_labels: (1..=row * row).collect(),
        node_instance: vec![0; (row * row) as usize],
        instances: vec![String::new()],
        groups: vec![ElementGroup {
            kind: ElementKind::Cps4,
            labels: (1..=(n * n) as u32).collect(),
            instance: vec![0; n * n],
            section: vec![0; n * n],
            connectivity: connectivity.collect(),
        }],
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

/// The text between two marks.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(found, _)| found)
}

fn unpacked(html: &str, id: &str) -> Vec<u8> {
    use base64::Engine;
    use std::io::Read;
    let packed = between(html, &format!("<script type=\"text/plain\" id=\"{id}\">"), "</script>");
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Every element that is opened is closed, in order; only the tags of this page are known.
fn assert_well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let tag = after.split_once('>').expect("a tag that ends").0;
        rest = &after[tag.len() + 1..];
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> before {}", &rest[..rest.len().min(80)]);
        } else if !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find(&format!("</{name}")).expect("it ends")..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_report_holds_everything_and_is_well_formed() {
    let mesh = square(40);
    let mut report = Report::new("Plate <of> \"steel\" </script>", "explicit dynamics, completed".into());
    report.warnings.push("a & b".into());
    report.commands.push(("Run".into(), vec!["pogo-solve a.blk --set 'x=1'".into()]));
    report.tables.push(("Summary".into(), r#"{"nodes": 1681}"#.into()));
    let sample = MeshSample::new(&mesh.view(), 3, report.room());
    let field = |t: f64| mesh.coordinates.chunks_exact(2).map(|x| t * x[0]).collect::<Vec<f64>>();
    let frames: Vec<Vec<f32>> = [0.0, 1.0, 2.0].map(|t| sample.values(Scalar::Nodal(&field(t)))).to_vec();
    let mut spread = Spread::default();
    frames.iter().for_each(|frame| spread.add(frame.iter().copied()));
    let look = Look { subtitle: "displacement".into(), ..Look::default() };
    let names: Vec<String> = ["t = 0 s", "t = 1 s", "t = 2 s"].map(String::from).to_vec();
    sample.show(&mut report, &look, &look.scale(&spread), &names, &frames.concat(), None);
    report.curves(
        "Energy",
        "",
        &[Panel::over_time("energy", "J", vec![Curve::new("</script>", vec![0.0, 1.0], vec![2.0, 3.0])])],
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    report.write(&path).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    assert_well_formed(&html);
    for text in [
        "<h1>Plate &lt;of&gt; &quot;steel&quot; &lt;/script&gt;</h1>",
        "a &amp; b",
        "pogo-solve a.blk --set 'x=1'",
        "<td>1681</td>",
        "default-src 'none'",
        "MIT License",
        "aria-label",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http") && html.len() < LARGEST, "{}", html.len());

    // The values come back.
    let json = between(&html, "<script type=\"application/json\" id=\"views\">", "</script>");
    let views: serde_json::Value = serde_json::from_str(json).unwrap();
    let (view, data) = (&views["views"][0], unpacked(&html, "data"));
    assert_eq!((view["kind"].as_str(), view["codes"]["type"].as_str()), (Some("planes"), Some("u16")));
    let [offset, n] = ["offset", "n"].map(|key| view["codes"][key].as_u64().unwrap() as usize);
    let codes: Vec<u16> =
        data[offset..offset + 2 * n].as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    let [low, high] = ["low", "high"].map(|key| view[key].as_f64().unwrap());
    assert_eq!(codes.len(), frames.concat().len());
    for (code, value) in codes.iter().zip(frames.concat()) {
        match code {
            65535 => assert!(value.is_nan()),
            code => assert!((low + f64::from(*code) / 65000.0 * (high - low) - f64::from(value)).abs() < 2e-6),
        }
    }
    let plane = &view["planes"][0];
    let number = |key: &str| plane[key].as_f64().unwrap();
    assert!((number("y0") + 0.5 * (number("height") - 1.0) * number("dy") - 20e-3).abs() < 1e-6, "{plane}");
    assert_eq!(views["views"][1]["panels"][0]["series"][0]["name"], "</script>");
}

#[test]
fn no_report_is_larger_than_it_may_be() {
    // Noise cannot be packed.
    let mut state = 1_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    let mesh = square(300);
    let mut report = Report::new("noise", String::new());
    let n_frames = FRAMES as usize + 1;
    let sample = MeshSample::new(&mesh.view(), n_frames, report.room());
    let mut values = Vec::new();
    for _ in 0..n_frames {
        let field: Vec<f64> = (0..mesh.view().n_nodes()).map(|_| noise()).collect();
        values.extend(sample.values(Scalar::Nodal(&field)));
    }
    let mut spread = Spread::default();
    spread.add(values.iter().copied());
    let look = Look::default();
    sample.show(&mut report, &look, &look.scale(&spread), &vec!["t".to_owned(); n_frames], &values, None);
    assert!(report.room() < FIELD_BYTES / 3, "{} bytes are left", report.room());
    let curve = |_| Curve::new("noise", (0..100_000).map(f64::from).collect(), (0..100_000).map(|_| noise()).collect());
    let curves = (0..MOST_CURVES + 3).map(curve).collect::<Vec<_>>();
    report.curves("Curves", "", &[Panel::over_time("u", "m", curves)]);
    assert!(report.views[1]["note"].as_str().unwrap().contains("3 more"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    report.write(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len() as usize;
    assert!((4_000_000..LARGEST).contains(&size), "{size}");
}
