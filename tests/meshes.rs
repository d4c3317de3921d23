//! Models of explicit dynamics from mesh files and from what mesh generators write, against the same models as decks.

use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Traces, command, succeed};

/// Cells along the plate's edges.
const N: [usize; 2] = [12, 8];

/// Nodes of the plate, 1 mm apart.
fn nodes() -> Vec<[f64; 2]> {
    (0..=N[1]).flat_map(|j| (0..=N[0]).map(move |i| [1e-3 * i as f64, 1e-3 * j as f64])).collect()
}

/// Quadrilaterals, nodes from 1.
fn cells() -> Vec<[usize; 4]> {
    let node = |i: usize, j: usize| 1 + i + (N[0] + 1) * j;
    (0..N[1])
        .flat_map(|j| (0..N[0]).map(move |i| [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)]))
        .collect()
}

/// Lines of the lower edge, and of the upper edge.
fn edges() -> [Vec<[usize; 2]>; 2] {
    [0, N[1]].map(|j| (0..N[0]).map(|i| [1 + i + (N[0] + 1) * j, 2 + i + (N[0] + 1) * j]).collect())
}

/// The soft half of the plate.
fn is_soft(cell: usize) -> bool {
    cell % N[0] >= N[0] / 2
}

/// As Gmsh writes it: lines, then quadrilaterals, then sets of elements alone.
fn gmsh_deck(element: &str) -> String {
    let mut deck = String::from("*Heading\n plate\n*NODE\n");
    for (at, [x, y]) in nodes().iter().enumerate() {
        writeln!(deck, "{}, {x}, {y}, 0", at + 1).unwrap();
    }
    let mut label = 0;
    for (line, edge) in edges().iter().enumerate() {
        writeln!(deck, "*ELEMENT, type=T3D2, ELSET=Line{}", line + 1).unwrap();
        for [a, b] in edge {
            label += 1;
            writeln!(deck, "{label}, {a}, {b}").unwrap();
        }
    }
    writeln!(deck, "*ELEMENT, type={element}, ELSET=Surface1").unwrap();
    for [a, b, c, d] in cells() {
        label += 1;
        writeln!(deck, "{label}, {a}, {b}, {c}, {d}").unwrap();
    }
    let mut set = |name: &str, members: Vec<usize>| {
        writeln!(deck, "*ELSET,ELSET={name}").unwrap();
        members.iter().for_each(|member| writeln!(deck, "{member}, ").unwrap());
    };
    let (n, first) = (N[0], 2 * N[0] + 1);
    set("BASE", (1..=n).collect());
    set("TOP", (n + 1..=2 * n).collect());
    set("SOFT", (0..cells().len()).filter(|&cell| is_soft(cell)).map(|cell| first + cell).collect());
    set("HARD", (0..cells().len()).filter(|&cell| !is_soft(cell)).map(|cell| first + cell).collect());
    deck
}

/// The same as a `.msh` file, version 2.2.
fn msh() -> String {
    let mut mesh = String::from(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n1 1 \"BASE\"\n1 2 \"TOP\"\n2 3 \"SOFT\"\n2 4 \"HARD\"\n\
         $EndPhysicalNames\n",
    );
    writeln!(mesh, "$Nodes\n{}", nodes().len()).unwrap();
    for (at, [x, y]) in nodes().iter().enumerate() {
        writeln!(mesh, "{} {x} {y} 0", at + 1).unwrap();
    }
    writeln!(mesh, "$EndNodes\n$Elements\n{}", 2 * N[0] + cells().len()).unwrap();
    let mut label = 0;
    for (group, edge) in edges().iter().enumerate() {
        for [a, b] in edge {
            label += 1;
            writeln!(mesh, "{label} 1 2 {0} {0} {a} {b}", group + 1).unwrap();
        }
    }
    for (at, [a, b, c, d]) in cells().into_iter().enumerate() {
        label += 1;
        writeln!(mesh, "{label} 3 2 {0} {0} {a} {b} {c} {d}", if is_soft(at) { 3 } else { 4 }).unwrap();
    }
    mesh + "$EndElements\n"
}

/// The same as a `.vtu` file, with the materials as a cell array.
fn vtu() -> String {
    let list = |numbers: Vec<String>| numbers.join(" ");
    let (points, cells) = (nodes(), cells());
    let coordinates = list(points.iter().map(|[x, y]| format!("{x} {y} 0")).collect());
    let connectivity = list(cells.iter().flatten().map(|node| (node - 1).to_string()).collect());
    let offsets = list((1..=cells.len()).map(|at| (4 * at).to_string()).collect());
    let types = list(vec!["9".to_owned(); cells.len()]);
    let phase = list((0..cells.len()).map(|at| u8::from(is_soft(at)).to_string()).collect());
    format!(
        "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\"><UnstructuredGrid>\
         <Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\"><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" \
         format=\"ascii\">{coordinates}</DataArray></Points><Cells><DataArray type=\"Int64\" Name=\"connectivity\" \
         format=\"ascii\">{connectivity}</DataArray><DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">{offsets}\
         </DataArray><DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">{types}</DataArray></Cells><CellData>\
         <DataArray type=\"Int32\" Name=\"phase\" format=\"ascii\">{phase}</DataArray></CellData></Piece></UnstructuredGrid></VTKFile>\n",
        points.len(),
        cells.len()
    )
}

/// A plate that stands on BASE and is hit on TOP; `base` and `top` say where these are.
fn job(sets: [&str; 2], [base, top]: [&str; 2], more: &str) -> String {
    format!(
        "[solver]\ntime = 4e-6\n[[material]]\nname = \"steel\"\ndensity = 7800\nyoung = 210e9\npoisson = 0.3\n[[material]]\nname = \"lead\"\n\
         density = 11000\nyoung = 16e9\npoisson = 0.4\n[[section]]\nelset = \"{}\"\nmaterial = \"lead\"\nplane = \"strain\"\n{more}\
         [[section]]\nelset = \"{}\"\nmaterial = \"steel\"\nplane = \"strain\"\n{more}[[boundary]]\n{base}\n\
         [[source]]\n{top}\ncomponent = 2\nvelocity = 1e-3\namplitude = {{ kind = \"hann\", frequency = 1e6, cycles = 2 }}\n\
         [[monitor]]\nname = \"M\"\n{top}\ninterval = 1e-7\n",
        sets[0], sets[1]
    )
}

fn run(folder: &Path, input: &str, content: &str, job: &str) -> (Traces, String) {
    std::fs::write(folder.join(input), content).expect("the mesh is written");
    std::fs::write(folder.join("job.toml"), job).expect("the job is written");
    let block = command("pogo-block").current_dir(folder).args([input, "--job", "job.toml", "-o", "a.blk"]).output();
    let block = block.expect("it runs");
    let said = String::from_utf8_lossy(&block.stderr).into_owned();
    assert!(block.status.success(), "{input}: {said}");
    succeed(command("pogo-solve").current_dir(folder).args(["a.blk", "-q", "-o", "out", "--threads", "1"]));
    (Traces::read(&folder.join("out/traces.csv")), said)
}

/// Columns by label from 1, whatever the labels begin with.
fn columns(traces: &Traces, shift: usize) -> Vec<(String, Vec<f64>)> {
    let name = |name: &String| {
        let mut words: Vec<String> = name.split('.').map(str::to_owned).collect();
        if let Some(label) = words.get(1).and_then(|label| label.parse::<usize>().ok()) {
            words[1] = (label + shift).to_string();
        }
        words.join(".")
    };
    traces.names.iter().map(name).zip(traces.columns.iter().cloned()).collect()
}

#[test]
fn a_mesh_file_and_a_deck_give_the_same_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let sides = ["side = \"ymin\"", "side = \"ymax\""];
    for reduced in ["", "reduced = true\n"] {
        let element = if reduced.is_empty() { "CPE4" } else { "CPE4R" };
        let in_deck = job(["SOFT", "HARD"], sides, "");
        let (deck, _) = run(folder.path(), "plate.inp", &gmsh_deck(element), &in_deck);
        assert!(deck.columns[2].iter().any(|u| u.abs() > 1e-12), "{:?}", deck.names);
        let (gmsh, said) = run(folder.path(), "plate.msh", &msh(), &job(["SOFT", "HARD"], sides, reduced));
        assert!(said.contains("24 lines left out beside the quadrilaterals"), "{said}");
        assert!(said.contains("quadrilaterals are CPE4; `reduced = true`"), "{said}");
        assert!(columns(&gmsh, 0) == columns(&deck, 0), "{element}");
        let (vtu, _) = run(folder.path(), "plate.vtu", &vtu(), &job(["phase=1", "phase=0"], sides, reduced));
        assert!(columns(&vtu, 1) == columns(&deck, 0), "{element}");
        // Physical curves are sets of nodes.
        let of_sets = job(["SOFT", "HARD"], ["nset = \"BASE\"", "nset = \"TOP\""], reduced);
        let (gmsh, _) = run(folder.path(), "plate.msh", &msh(), &of_sets);
        assert!(columns(&gmsh, 0) == columns(&deck, 0), "{element}");
    }
}

/// Gmsh writes physical curves as elements and element sets, and leaves node sets out.
#[test]
fn nodes_of_lines_beside_the_model_are_found_by_the_name_of_their_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let (by_side, _) = run(
        folder.path(),
        "a.inp",
        &gmsh_deck("CPE4"),
        &job(["SOFT", "HARD"], ["side = \"ymin\"", "side = \"ymax\""], ""),
    );
    let sets = job(["SOFT", "HARD"], ["nset = \"BASE\"", "nset = \"TOP\""], "");
    let (by_set, said) = run(folder.path(), "b.inp", &gmsh_deck("CPE4"), &sets);
    assert!(columns(&by_set, 0) == columns(&by_side, 0), "{said}");
    assert!(said.contains("are also node sets of their nodes") && said.contains("BASE, TOP"), "{said}");
    // The set of elements of the model: their nodes, with a note where it is used.
    let sets = job(["SOFT", "HARD"], ["nset = \"BASE\"", "nset = \"soft\""], "");
    let (soft, said) = run(folder.path(), "c.inp", &gmsh_deck("CPE4"), &sets);
    let n = (N[0] / 2 + 1) * (N[1] + 1);
    assert!(said.contains(&format!("no node set soft: took the {n} nodes of the element set SOFT")), "{said}");
    assert_eq!(soft.names.len(), 1 + 2 * n);
    // A real node set goes before.
    let named = gmsh_deck("CPE4") + "*NSET, NSET=TOP\n105, 106\n";
    let sets = job(["SOFT", "HARD"], ["nset = \"BASE\"", "nset = \"TOP\""], "");
    let (named, _) = run(folder.path(), "d.inp", &named, &sets);
    assert_eq!(named.names[1..], ["M.105.U1", "M.105.U2", "M.106.U1", "M.106.U2"]);
}

#[test]
fn what_a_mesh_file_cannot_be_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |input: &str, content: &str, job: &str| {
        std::fs::write(folder.path().join(input), content).expect("the mesh is written");
        std::fs::write(folder.path().join("job.toml"), job).expect("the job is written");
        let output =
            command("pogo-block").current_dir(&folder).args([input, "--job", "job.toml", "-o", "a.blk"]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{input}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let good = job(["SOFT", "HARD"], ["side = \"ymin\"", "side = \"ymax\""], "");
    let second = msh().replacen(" 3 2 4 4 1 2 15 14", " 16 2 4 4 1 2 15 14 3 4 5 6", 1);
    let said = refused("a.msh", &second, &good);
    assert!(said.contains("1 second-order quadrilaterals: only first-order") && said.contains("-order 1"), "{said}");
    let said = refused("a.msh", &msh().replacen(" 0\n", " 0.5\n", 1), &good);
    assert!(said.contains("a.msh: error: ") && said.contains("plane"), "{said}");
    let said = refused("a.msh", &msh(), &good.replace("elset = \"SOFT\"", "elset = \"SOFTER\""));
    assert!(said.contains("there is no element set SOFTER") && said.contains("there are SOFT, HARD"), "{said}");
    let said = refused("a.pts", "1\n0 0 0\n", &good);
    assert!(said.contains("models of explicit dynamics are read from .inp, .pogo-inp, .msh, .vtu and .vtk"), "{said}");
    let said = refused("a.msh", &msh(), "physics = \"explicit\"\n[solver]\ntime = 1e-6\n");
    assert!(said.contains("no element has a section"), "{said}");
}
