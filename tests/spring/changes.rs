//! Cuts, springs that break, and springs that are added and erased.

use super::*;

#[test]
fn a_cut_splits_a_body() {
    let [nx, ny, nz] = [8, 4, 5];
    let rest = "[[initial_velocity]]
box = [[0, 0, 0], [3, 9, 9]]
velocity = [-0.1, 0, 0]
[[initial_velocity]]
box = [[4, 0, 0], [7, 9, 9]]
velocity = [0.1, 0, 0]
[[cut]]
point = [3.5, 0, 0]
normal = [1, 0, 0]
[[monitor]]
name = \"ENDS\"
line = [[0, 0, 0], [7, 0, 0]]
";
    let model = Model::new([nx, ny, nz], |_| 1, &(head("time = 4.0", 1.0, 1.0) + rest));
    let summary = model.solve("out", &["--plot"]);
    let crossing = ny * nz + 2 * (ny - 1) * nz + 2 * ny * (nz - 1);
    assert_eq!(number(&summary, "cut"), crossing as f64);
    // Two bodies that fly apart without a force: every particle at its own speed.
    let traces = model.table("out", "traces.csv");
    for (label, v) in [(1, -0.1), (4, -0.1), (5, 0.1), (8, 0.1)] {
        let last = *traces.column(&format!("ENDS.{label}.U1")).last().unwrap();
        assert!((last - 4.0 * v).abs() < 1e-12, "{label}: {last}");
    }
    assert!(number(&summary["energy"], "elastic") < 1e-20);
    assert!(model.path("out/traces.svg").exists());
    assert!(summary["files"].as_array().unwrap().iter().any(|name| name.as_str().unwrap().ends_with(".png")));
}

#[test]
fn a_spring_breaks_where_its_strain_passes_the_limit() {
    let solver = "time = 8.0\nincrement = 1e-3\nalpha = 50.0";
    let rest = "max_strain = 0.2
[[boundary]]
side = \"xmin\"
[[boundary]]
side = \"xmax\"
components = \"x\"
value = 0.05
type = \"velocity\"
";
    let model = Model::new([2, 1, 1], |_| 1, &(head(solver, 1e-4, 10.0) + rest));
    let summary = model.solve("out", &[]);
    assert_eq!((number(&summary, "broken"), number(&summary, "springs_left")), (1.0, 0.0));
    let rows = String::from_utf8(model.bytes("out", "broken.csv")).unwrap();
    let last = rows.lines().last().unwrap();
    assert!(last.ends_with(",1,2,a.axis,strain"), "{last}");
    // 0.05 t = 0.2.
    let time: f64 = last.split(',').next().unwrap().parse().unwrap();
    assert!((time - 4.0).abs() < 3e-3, "{time}");
}

/// Two pairs of particles of one material that a stitch joins at `time`.
fn sewn(solver: &str, time: f64, rest: &str) -> Model {
    let stitch = format!(
        "[[springs]]
name = \"suture\"
stiffness = 2.0
[[add]]
name = \"SEW\"
time = {time:?}
group = \"suture\"
at = [[[1, 0, 0], [3, 0, 0]]]
"
    );
    Model::new([5, 1, 1], |[x, _, _]| u8::from(x != 2), &(head(solver, 1.0, 1.0) + &stitch + rest))
}

#[test]
fn springs_that_are_added_join_bodies() {
    let model = sewn(
        "time = 20.0\nalpha = 0.3",
        2.0,
        "[[initial_velocity]]\nbox = [[3, 0, 0], [4, 0, 0]]\nvelocity = [0.2, 0, 0]\n",
    );
    let summary = model.solve("out", &[]);
    assert_eq!((number(&summary, "added"), number(&summary, "springs_left")), (1.0, 3.0));
    assert_eq!(summary["addressing"], "explicit");
    let rows = String::from_utf8(model.bytes("out", "broken.csv")).unwrap();
    assert!(rows.lines().last().unwrap().ends_with(",2,4,suture,add SEW"), "{rows}");
    let failed = command("pogo-solve")
        .current_dir(model.folder.path())
        .args(["a.blk", "-q", "--device", "cpu", "--addressing", "implicit", "-o", "other"])
        .output()
        .expect("runs");
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && message.contains("particle 2 to 4"), "{message}");
}

#[test]
fn added_springs_are_erased_with_their_sets_and_idle_changes_are_said() {
    let rest = "[[add]]
name = \"AGAIN\"
time = 2.0
group = \"suture\"
pairs = [[1, 2]]
[[erase]]
name = \"PEEL\"
time = 3.0
within = \"a\"
[[cut]]
name = \"MISS\"
time = 1.0
point = [9, 0, 0]
normal = [1, 0, 0]
[[cut]]
name = \"LATE\"
time = 4.0
point = [0.5, 0, 0]
normal = [1, 0, 0]
";
    let model = sewn("time = 4.0\nincrement = 0.1", 1.0, rest);
    let summary = model.solve("out", &[]);
    assert_eq!(
        ["added", "erased", "cut", "springs_left"].map(|name| number(&summary, name)),
        [1.0, 3.0, 0.0, 0.0],
        "{summary:#}"
    );
    assert_eq!(
        summary["warnings"],
        serde_json::json!([
            "MISS does nothing: it crosses no spring",
            "LATE does nothing: its time, 4 s, is not before the end of the run",
            "AGAIN does nothing: its springs are there already",
        ])
    );
}
