//! Independent codes' results for decks that somebody else wrote. Errors are the L2 norm over a trace, divided by the
//! norm of the displacement vector at that node.

use std::path::Path;

use pogo_formats::model::Lumping;
use pogo_solver::config::Precision;
use pogo_tools::arrange::ArrangeOptions;
use pogo_tools::partition::PartitionOptions;
use pogo_tools::pipeline;

use crate::common::*;

/// Largest error over the columns of a reference file.
fn error_of(case: &str, reference: &str, precision: Precision, lumping: Lumping) -> Option<f64> {
    let folder = shared()?.join("refs/explicit").join(case);
    let scratch = tempfile::tempdir().unwrap();
    let block_file = scratch.path().join("case.blk");
    let made = pipeline::run(
        &pipeline::Config {
            deck: folder.join(format!("{case}.inp")),
            jobs: Vec::new(),
            output: block_file.clone(),
            ignore: Vec::new(),
            partition: PartitionOptions { threads: 1, ..PartitionOptions::default() },
            arrange: ArrangeOptions { threads: 1, ..ArrangeOptions::default() },
        },
        &(),
    );
    if let Err(error) = made {
        panic!("{case}: {error}");
    }
    let output = scratch.path().join("out");
    let mut config = config(&block_file, &output);
    config.settings.precision = precision;
    config.settings.lumping = Some(lumping);
    config.settings.fields = false;
    let summary = run(&config);
    assert!(summary.energy.balance_error < if precision == Precision::F64 { 1e-9 } else { 1e-3 });
    Some(compare(&Traces::read(&output.join("traces.csv")), &folder.join(reference)))
}

fn compare(traces: &Traces, reference: &Path) -> f64 {
    let reference = Traces::read(reference);
    let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let node = |name: &str| name.split('_').next().unwrap().to_owned();
    let mut worst = 0.0f64;
    for (name, values) in reference.0.iter().filter(|(name, _)| *name != "t") {
        let vector: Vec<f64> = reference
            .0
            .iter()
            .filter(|(other, _)| *other != "t" && node(other) == node(name))
            .map(|(_, values)| norm(values))
            .collect();
        // A node that the wave has not reached in the exact solution.
        if norm(&vector) == 0.0 {
            continue;
        }
        // n801_u2 → REC.801.U2
        let column = format!("REC.{}", name[1..].replace("_u", ".U"));
        let ours = traces.get(&column);
        // CalculiX leaves out the last row.
        assert!(ours.len() - values.len() <= 1, "{column}: {} rows for {}", ours.len(), values.len());
        let difference: Vec<f64> = ours.iter().zip(values).map(|(ours, theirs)| ours - theirs).collect();
        worst = worst.max(norm(&difference) / norm(&vector));
    }
    worst
}

#[test]
fn double_precision_agrees_with_the_same_scheme() {
    for (case, reference, lumping) in [
        ("bar_cpe3", "trace_ref.csv", Lumping::RowSum),
        ("cpe3_plate_hole", "trace_ref.csv", Lumping::RowSum),
        ("c3d4_cyl", "trace_ref.csv", Lumping::RowSum),
        ("c3d8_distorted", "trace_ref.csv", Lumping::RowSum),
        ("c3d8_distorted", "trace_ref_hrz.csv", Lumping::Hrz),
    ] {
        let Some(error) = error_of(case, reference, Precision::F64, lumping) else { return };
        println!("{case} {reference} f64 {error:.2e}");
        assert!(error < 1e-6, "{case} {reference}: {error:.2e}");
    }
}

#[test]
fn single_precision_keeps_a_few_millionths() {
    // The bar and the plate fly freely: rounding of their rigid motion comes on top.
    for (case, limit) in [("bar_cpe3", 5e-5), ("cpe3_plate_hole", 3e-6), ("c3d4_cyl", 1e-6), ("c3d8_distorted", 1e-6)] {
        let Some(error) = error_of(case, "trace_ref.csv", Precision::F32, Lumping::RowSum) else { return };
        println!("{case} f32 {error:.2e}");
        assert!(error < limit, "{case}: {error:.2e}");
    }
}

#[test]
fn calculix_and_the_exact_solution_agree_within_their_own_errors() {
    for (case, reference, lumping, limit) in [
        ("bar_cpe3", "trace_analytic.csv", Lumping::RowSum, 8e-3),
        ("cpe3_plate_hole", "trace_ccx.csv", Lumping::Hrz, 1e-3),
        ("c3d4_cyl", "trace_ccx.csv", Lumping::Hrz, 1e-2),
        ("c3d8_distorted", "trace_ccx.csv", Lumping::Hrz, 1e-2),
    ] {
        let Some(error) = error_of(case, reference, Precision::F64, lumping) else { return };
        println!("{case} {reference} {error:.2e}");
        assert!(error < limit, "{case} {reference}: {error:.2e}");
    }
}
