//! The explicit references of independent codes, through the two commands.

use pogo_tests::{Traces, command, shared, succeed};

/// Largest error over nodes: the L2 norm of a trace's error over the norm of the displacement vector at that node, or of
/// the node that moves most where the reference is at rest (a wave that has not arrived sends small precursors on a mesh).
fn largest_error(traces: &Traces, reference: &Traces) -> f64 {
    let columns: Vec<&String> = reference.names.iter().skip(1).collect();
    let node_and_component = |name: &str| {
        let (node, component) = name[1..].split_once("_u").expect("n<node>_u<component>");
        (node.to_owned(), component.to_owned())
    };
    let norm = |node: &str| -> f64 {
        let of_node = columns.iter().filter(|other| node_and_component(other).0 == node);
        of_node.flat_map(|other| reference.column(other)).map(|u| u * u).sum()
    };
    let most = columns.iter().map(|name| norm(&node_and_component(name).0)).fold(0.0, f64::max);
    let mut largest: f64 = 0.0;
    for name in &columns {
        let (node, component) = node_and_component(name);
        let ours = traces.column(&format!("REC.{node}.U{component}"));
        let theirs = reference.column(name);
        assert!(ours.len() >= theirs.len(), "{name}: {} rows, {} expected", ours.len(), theirs.len());
        let difference: f64 = ours.iter().zip(theirs).map(|(a, b)| (a - b).powi(2)).sum();
        let own = norm(&node);
        largest = largest.max((difference / if own > 0.0 { own } else { most }).sqrt());
    }
    largest
}

/// (case, lumping, reference, precision, tolerance): the tolerances are those that came with the references, or tighter;
/// CalculiX steps by another scheme.
const CASES: [(&str, &str, &str, &str, f64); 13] = [
    ("bar_cpe3", "row-sum", "trace_ref.csv", "f64", 1e-6),
    // In f32 free bodies drift, the strip along itself, the plate in the plane: the references allow 5e-4.
    ("bar_cpe3", "row-sum", "trace_ref.csv", "f32", 5e-5),
    ("bar_cpe3", "row-sum", "trace_analytic.csv", "f64", 8e-3),
    ("cpe3_plate_hole", "row-sum", "trace_ref.csv", "f64", 1e-6),
    ("cpe3_plate_hole", "row-sum", "trace_ref.csv", "f32", 3e-6),
    ("cpe3_plate_hole", "row-sum", "trace_ccx.csv", "f64", 1e-3),
    ("c3d4_cyl", "row-sum", "trace_ref.csv", "f64", 1e-6),
    ("c3d4_cyl", "row-sum", "trace_ref.csv", "f32", 1e-6),
    ("c3d4_cyl", "row-sum", "trace_ccx.csv", "f64", 1e-2),
    ("c3d8_distorted", "row-sum", "trace_ref.csv", "f64", 1e-6),
    ("c3d8_distorted", "row-sum", "trace_ref.csv", "f32", 1e-6),
    ("c3d8_distorted", "hrz", "trace_ref_hrz.csv", "f64", 1e-6),
    ("c3d8_distorted", "hrz", "trace_ccx.csv", "f64", 1e-2),
];

#[test]
fn independent_codes_agree() {
    let Some(folder) = shared("refs/explicit") else { return };
    for (case, lumping, reference, precision, tolerance) in CASES {
        let scratch = tempfile::tempdir().unwrap();
        let deck = folder.join(case).join(format!("{case}.inp"));
        let block = scratch.path().join("case.blk");
        succeed(command("pogo-block").arg(&deck).arg("-o").arg(&block).arg("--quiet"));
        let out = scratch.path().join("out");
        succeed(command("pogo-solve").arg(&block).arg("-o").arg(&out).args([
            "--quiet",
            "--lumping",
            lumping,
            "--precision",
            precision,
        ]));
        let traces = Traces::read(&out.join("traces.csv"));
        let error = largest_error(&traces, &Traces::read(&folder.join(case).join(reference)));
        eprintln!("{case} {lumping} {precision} against {reference}: {error:.2e}");
        assert!(error < tolerance, "{case} {lumping} {precision} against {reference}: {error:e} > {tolerance:e}");
    }
}
