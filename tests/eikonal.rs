//! Arrival times through the two commands: exact solutions, independent codes, every kind of mesh file, hearts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use pogo_tests::arrays::{self, Array, npy, npz};
use pogo_tests::{command, shared, succeed};

mod activation;

/// A mesh, and what its elements have.
#[derive(Clone, Default)]
struct Mesh {
    corners: usize,
    points: Vec<[f64; 3]>,
    elements: Vec<u32>,
    /// Name, components, values.
    data: Vec<(&'static str, usize, Vec<f64>)>,
    /// Region of each element.
    region: Vec<u32>,
}

impl Mesh {
    fn new(points: &Array, elements: &Array) -> Self {
        let width = points.shape[1];
        let point = |x: &[f64]| [x[0], x[1], *x.get(2).unwrap_or(&0.0)];
        Self {
            corners: elements.shape[1],
            points: points.values.chunks_exact(width).map(point).collect(),
            elements: elements.indices(),
            region: vec![1; elements.shape[0]],
            ..Self::default()
        }
    }

    fn cells(&self) -> impl Iterator<Item = &[u32]> {
        self.elements.chunks_exact(self.corners)
    }

    fn vtu(&self, path: &Path) {
        let (n, m) = (self.points.len(), self.region.len());
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">\n\
             <UnstructuredGrid>\n<Piece NumberOfPoints=\"{n}\" NumberOfCells=\"{m}\">\n"
        );
        let mut array = |name: &str, kind: &str, components: usize, values: &mut dyn Iterator<Item = f64>| {
            let words: Vec<String> = values.map(|value| format!("{value}")).collect();
            let _ = writeln!(
                text,
                "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"ascii\">\n{}\n</DataArray>",
                words.join(" ")
            );
            if name == "Points" {
                text += "</Points>\n<Cells>\n";
            } else if name == "types" {
                text += "</Cells>\n<CellData>\n";
            }
        };
        array("Points", "Float64", 3, &mut self.points.concat().into_iter());
        array("connectivity", "Int64", 1, &mut self.elements.iter().map(|&node| f64::from(node)));
        array("offsets", "Int64", 1, &mut (1..=m).map(|cell| (self.corners * cell) as f64));
        array("types", "UInt8", 1, &mut (0..m).map(|_| if self.corners == 4 { 10.0 } else { 5.0 }));
        for (name, components, values) in &self.data {
            array(name, "Float64", *components, &mut values.iter().copied());
        }
        array("region", "Int32", 1, &mut self.region.iter().map(|&region| f64::from(region)));
        let text = text.replacen("<DataArray", "<Points>\n<DataArray", 1)
            + "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
        std::fs::write(path, text).unwrap();
    }

    fn msh2(&self, path: &Path) {
        let mut text = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}\n", self.points.len());
        for (node, [x, y, z]) in self.points.iter().enumerate() {
            let _ = writeln!(text, "{} {x} {y} {z}", node + 1);
        }
        let _ = write!(text, "$EndNodes\n$Elements\n{}\n", self.region.len());
        let kind = if self.corners == 4 { 4 } else { 2 };
        for (element, (nodes, region)) in self.cells().zip(&self.region).enumerate() {
            let nodes: Vec<String> = nodes.iter().map(|node| (node + 1).to_string()).collect();
            let _ = writeln!(text, "{} {kind} 2 {region} 1 {}", element + 1, nodes.join(" "));
        }
        std::fs::write(path, text + "$EndElements\n").unwrap();
    }

    /// Binary, the nodes in two blocks.
    fn msh4(&self, path: &Path) {
        let mut out = b"$MeshFormat\n4.1 1 8\n".to_vec();
        let int = |out: &mut Vec<u8>, values: &[i32]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
        let size =
            |out: &mut Vec<u8>, values: &[usize]| values.iter().for_each(|&v| out.extend((v as u64).to_le_bytes()));
        int(&mut out, &[1]);
        out.extend(b"\n$EndMeshFormat\n$Nodes\n");
        let (n, m) = (self.points.len(), self.region.len());
        size(&mut out, &[2, n, 1, n]);
        for range in [0..n / 2, n / 2..n] {
            int(&mut out, &[3, 1, 0]);
            size(&mut out, &[range.len()]);
            size(&mut out, &range.clone().map(|node| node + 1).collect::<Vec<_>>());
            self.points[range].concat().iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
        out.extend(b"\n$EndNodes\n$Elements\n");
        size(&mut out, &[1, m, 1, m]);
        int(&mut out, &[self.corners as i32 - 1, 1, if self.corners == 4 { 4 } else { 2 }]);
        size(&mut out, &[m]);
        for (element, nodes) in self.cells().enumerate() {
            size(&mut out, &[element + 1]);
            size(&mut out, &nodes.iter().map(|&node| node as usize + 1).collect::<Vec<_>>());
        }
        out.extend(b"\n$EndElements\n");
        std::fs::write(path, out).unwrap();
    }

    fn deck(&self, path: &Path, kind: &str) {
        let mut text = String::from("*HEADING\nmesh\n*NODE\n");
        for (node, [x, y, z]) in self.points.iter().enumerate() {
            let _ = writeln!(text, "{}, {x}, {y}, {z}", node + 1);
        }
        let _ = writeln!(text, "*ELEMENT, TYPE={kind}, ELSET=ALL");
        for (element, nodes) in self.cells().enumerate() {
            let nodes: Vec<String> = nodes.iter().map(|node| (node + 1).to_string()).collect();
            let _ = writeln!(text, "{}, {}", element + 1, nodes.join(", "));
        }
        std::fs::write(path, text).unwrap();
    }

    fn opencarp(&self, path: &Path) {
        let points: String = self.points.iter().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
        std::fs::write(path.with_extension("pts"), format!("{}\n{points}", self.points.len())).unwrap();
        let name = if self.corners == 4 { "Tt" } else { "Tr" };
        let mut text = format!("{}\n", self.region.len());
        for (nodes, region) in self.cells().zip(&self.region) {
            let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
            let _ = writeln!(text, "{name} {} {region}", nodes.join(" "));
        }
        std::fs::write(path.with_extension("elem"), text).unwrap();
    }
}

/// Blocks, solves, and gives the results' folder.
struct Run {
    folder: PathBuf,
}

impl Run {
    fn new(folder: &Path, mesh: &str, job: &str, block: &[&str], solve: &[&str]) -> Self {
        let blocked = folder.join("model.blk");
        std::fs::write(folder.join("job.toml"), job).unwrap();
        let mut pogo_block = command("pogo-block");
        pogo_block
            .arg(folder.join(mesh))
            .arg("--job")
            .arg(folder.join("job.toml"))
            .args(["--quiet", "-o"])
            .arg(&blocked);
        succeed(pogo_block.args(block));
        succeed(command("pogo-info").arg(&blocked).args(["--check", "--quiet"]));
        Self::solve(folder, "out", solve)
    }

    /// Solves what was blocked before.
    fn solve(folder: &Path, name: &str, arguments: &[&str]) -> Self {
        let out = folder.join(name);
        succeed(command("pogo-solve").arg(folder.join("model.blk")).args(["--quiet", "-o"]).arg(&out).args(arguments));
        Self { folder: out }
    }

    fn arrival(&self) -> Vec<f64> {
        npy(&self.folder.join("arrival.npy")).values
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::from_str(&self.text("summary.json")).unwrap()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn tensor(d: &Array) -> String {
    let six: Vec<f64> = match d.shape[0] {
        3 => [0, 4, 8, 1, 5, 2].map(|at| d.values[at]).to_vec(),
        _ => vec![d.values[0], d.values[3], 1.0, d.values[1], 0.0, 0.0],
    };
    format!("[[velocity]]\ntensor = {six:?}\n")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// n³ cubes of edge 1 / n, six tetrahedra each.
fn cubes(n: u32) -> Mesh {
    let side = n + 1;
    let mut mesh = Mesh { corners: 4, ..Mesh::default() };
    for at in 0..side.pow(3) {
        mesh.points.push([at % side, at / side % side, at / side / side].map(|i| f64::from(i) / f64::from(n)));
    }
    for at in 0..n.pow(3) {
        let low = [at % n, at / n % n, at / n / n];
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut corner = low;
            let index = |c: [u32; 3]| c[0] + side * (c[1] + side * c[2]);
            mesh.elements.push(index(corner));
            for axis in axes {
                corner[axis] += 1;
                mesh.elements.push(index(corner));
            }
            mesh.region.push(1);
        }
    }
    mesh
}

#[test]
fn an_independent_code_and_the_exact_solution_whatever_the_sub_domains() {
    let Some(path) = shared("refs/eikonal/cube_gmsh_const.npz") else { return };
    let reference = npz(&path);
    let folder = folder();
    let mesh = Mesh::new(&reference["points"], &reference["elems"]);
    mesh.vtu(&folder.path().join("cube.vtu"));
    let job = tensor(&reference["D_const"]) + "[[start]]\nnode = 4611\n";
    let run = Run::new(folder.path(), "cube.vtu", &job, &[], &[]);
    let arrival = run.arrival();
    let difference = largest_difference(&arrival, &reference["arrival"].values);
    let error = largest_difference(&arrival, &reference["exact"].values);
    eprintln!("cube_gmsh_const: {difference:.1e} from the other code, {error:.4} from the exact solution");
    assert!(difference < 1e-10 && error < 0.2198);
    let summary = run.summary();
    assert_eq!((summary["nodes"].as_u64(), summary["elements"].as_u64()), (Some(9353), Some(45902)));
    let latest = reference["arrival"].values.iter().copied().fold(0.0, f64::max);
    assert!((summary["latest"]["time"].as_f64().unwrap() - latest).abs() < 1e-10);
    assert_eq!(summary["unreached"], 0);

    for domains in
        [&["--domains", "74"][..], &["--domains", "2700"], &["--domains", "74", "--domain-partition", "metis"]]
    {
        assert_eq!(Run::new(folder.path(), "cube.vtu", &job, domains, &[]).arrival(), arrival, "{domains:?}");
    }
    let single = Run::solve(folder.path(), "single", &["--precision", "f32", "--threads", "1"]).arrival();
    assert!(largest_difference(&single, &arrival) < 3e-6 * latest);
    for variant in ["eighteen", "on_the_fly"] {
        let set = format!("solver.local_solver={variant}");
        let other = Run::solve(folder.path(), variant, &["--set", &set]).arrival();
        assert!(largest_difference(&other, &arrival) < 1e-12 * latest, "{variant}");
    }
    // Exact values in a ball round the source: what is left of the error is that of the waves further out.
    let ball = Run::solve(folder.path(), "ball", &["--set", "solver.exact_radius=0.3"]).arrival();
    let better = largest_difference(&ball, &reference["exact"].values);
    eprintln!("  with a ball of radius 0.3: {better:.4}");
    assert!(better < 0.6 * error);
}

#[test]
fn every_kind_of_mesh_file_gives_the_same_bits() {
    let Some(path) = shared("refs/eikonal/cube_gmsh_const.npz") else { return };
    let reference = npz(&path);
    let folder = folder();
    let mesh = Mesh::new(&reference["points"], &reference["elems"]);
    let at = |name: &str| folder.path().join(name);
    mesh.vtu(&at("a.vtu"));
    mesh.msh2(&at("b.msh"));
    mesh.msh4(&at("c.msh"));
    mesh.deck(&at("d.inp"), "C3D4");
    mesh.opencarp(&at("e.elem"));
    let head = String::from("physics = \"eikonal\"\n") + &tensor(&reference["D_const"]);
    let mut first = None;
    for (name, label) in [("a.vtu", 4611), ("b.msh", 4612), ("c.msh", 4612), ("d.inp", 4612), ("e.elem", 4611)] {
        let job = format!("{head}[[start]]\nnode = {label}\n");
        let arrival = Run::new(folder.path(), name, &job, &[], &["--no-fields"]).arrival();
        assert_eq!(&arrival, first.get_or_insert_with(|| arrival.clone()), "{name}");
    }
}

#[test]
fn triangles_in_the_plane_and_on_a_surface() {
    let Some(path) = shared("refs/eikonal/tri2d_const.npz") else { return };
    let reference = npz(&path);
    let folder = folder();
    let mesh = Mesh::new(&reference["points"], &reference["elems"]);
    mesh.deck(&folder.path().join("flat.inp"), "CPE3");
    let d = &reference["D_const"];
    let job = format!("physics = \"eikonal\"\n{}[[start]]\nnode = 1489\n", tensor(d));
    let arrival = Run::new(folder.path(), "flat.inp", &job, &["--domains", "74"], &["--plot"]).arrival();
    assert!(largest_difference(&arrival, &reference["arrival"].values) < 1e-10);
    assert!(folder.path().join("out/isochrones.png").exists());

    // The same sheet turned in space: (x, y) goes to x a + y b with orthonormal a and b, and so does the tensor.
    let (a, b) = ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0]);
    let mut turned = mesh.clone();
    for x in &mut turned.points {
        *x = [0, 1, 2].map(|k| x[0] * a[k] + x[1] * b[k]);
    }
    turned.deck(&folder.path().join("turned.inp"), "S3");
    let [xx, xy, yy] = [0, 1, 3].map(|at| d.values[at]);
    let n = [-0.8, 0.0, 0.6];
    let part =
        |i: usize, j: usize| xx * a[i] * a[j] + yy * b[i] * b[j] + xy * (a[i] * b[j] + b[i] * a[j]) + 0.4 * n[i] * n[j];
    let six = [part(0, 0), part(1, 1), part(2, 2), part(0, 1), part(1, 2), part(2, 0)];
    let job = format!("physics = \"eikonal\"\n[[velocity]]\ntensor = {six:?}\n[[start]]\nnode = 1489\n");
    let surface = Run::new(folder.path(), "turned.inp", &job, &[], &["--plot"]).arrival();
    let latest = arrival.iter().copied().fold(0.0, f64::max);
    assert!(largest_difference(&surface, &arrival) < 1e-9 * latest);
}

#[test]
fn a_plane_wave_is_exact_to_rounding() {
    // φ = g·x with gᵀ D g = 1; all nodes on the inflow planes x = 0, y = 0, z = 0 are given.
    let folder = folder();
    let mesh = cubes(8);
    mesh.vtu(&folder.path().join("box.vtu"));
    let (speeds, fibre) = ([0.7, 0.5, 0.3], [1.0, 0.4, 0.2]);
    let job_velocity = format!("[[velocity]]\nspeeds = {speeds:?}\nfibre = {fibre:?}\nsheet = [0.0, 1.0, 0.5]\n");
    // D from the axes, as the documentation says.
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let unit = |a: [f64; 3]| a.map(|x| x / dot(a, a).sqrt());
    let f = unit(fibre);
    let s = [0.0, 1.0, 0.5];
    let s = unit([0, 1, 2].map(|k| s[k] - dot(s, f) * f[k]));
    let n = [f[1] * s[2] - f[2] * s[1], f[2] * s[0] - f[0] * s[2], f[0] * s[1] - f[1] * s[0]];
    let direction = [1.0, 0.7, 0.9];
    let d = |g: [f64; 3]| [f, s, n].iter().zip(speeds).map(|(&e, v): (_, f64)| (v * dot(e, g)).powi(2)).sum::<f64>();
    let g = direction.map(|x| x / d(direction).sqrt());
    let mut table = String::from("case,node,time\n");
    for (node, &x) in mesh.points.iter().enumerate().filter(|(_, x)| x.contains(&0.0)) {
        let _ = writeln!(table, "plane,{node},{:e}", dot(g, x));
    }
    std::fs::write(folder.path().join("inflow.csv"), table).unwrap();
    let job = job_velocity + "[[start]]\nnode = 0\n";
    let starts = folder.path().join("inflow.csv");
    let run = Run::new(folder.path(), "box.vtu", &job, &[], &["--starts", starts.to_str().unwrap()]);
    let found = npy(&run.folder.join("arrivals.npy"));
    assert_eq!(found.shape, [1, mesh.points.len()]);
    let exact: Vec<f64> = mesh.points.iter().map(|&x| dot(g, x)).collect();
    let error = largest_difference(&found.values, &exact);
    assert!(error < 1e-12, "{error:.1e}");
}

#[test]
fn another_solver_on_its_own_mesh_and_four_starts_in_one_run() {
    let Some(path) = shared("meshes/kit_box.npz") else { return };
    let box_ = npz(&path);
    let folder = folder();
    let mut mesh = Mesh::new(&box_["points"], &box_["elems"]);
    let angles = box_["phi"].values.iter().zip(&box_["theta"].values);
    let fibre = angles.flat_map(|(phi, theta)| [phi.cos() * theta.sin(), phi.sin() * theta.sin(), theta.cos()]);
    let fibre: Vec<f64> = fibre.collect();
    arrays::write_npy(&folder.path().join("fibre.npy"), &[mesh.region.len(), 3], &fibre);
    mesh.data.clear();
    mesh.vtu(&folder.path().join("box.vtu"));
    let mut table = String::from("case,node\n");
    for set in 1..=4 {
        for node in box_[&format!("seeds{set}")].indices() {
            let _ = writeln!(table, "seeds{set},{node}");
        }
    }
    let starts = folder.path().join("starts.csv");
    std::fs::write(&starts, table).unwrap();
    let job = "[mesh]\nfibre = \"fibre.npy\"\n[[velocity]]\nspeeds = [3, 1]\n[[start]]\nnode = 19057\n[output]\nfields = false\n";
    let alone = Run::new(folder.path(), "box.vtu", job, &["--domains", "74"], &[]);
    let run = Run::solve(folder.path(), "many", &["--starts", starts.to_str().unwrap()]);
    let many = npy(&run.folder.join("arrivals.npy"));
    let n = mesh.points.len();
    assert_eq!(many.shape, [4, n]);
    assert_eq!(many.values[3 * n..], alone.arrival(), "one run of many is the run of one");
    for set in 1..=4 {
        let (ours, theirs) = (&many.values[(set - 1) * n..set * n], &box_[&format!("sci_cuda_seed{set}")].values);
        let latest = ours.iter().copied().fold(0.0, f64::max);
        let above = ours.iter().zip(theirs).map(|(ours, theirs)| (theirs - ours) / latest);
        let (low, high) = above.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        eprintln!("kit_box seeds{set}: theirs lies {low:.1e} to {high:.1e} of the latest time above");
        assert!(low > -1e-4 && high < 0.0085, "{low} {high}");
    }
    let cases = run.text("cases.csv");
    assert_eq!(cases.lines().count(), 5);
    assert!(cases.lines().nth(1).unwrap().starts_with("seeds1,1089,"), "{cases}");
    assert_eq!(run.summary()["cases"], 4);
}

#[test]
fn a_heart_with_fibres_and_sheets() {
    let Some(path) = shared("meshes/biv_cobiveco_geo1.npz") else { return };
    let heart = npz(&path);
    let folder = folder();
    let mut mesh = Mesh::new(&heart["points"], &heart["elems"]);
    mesh.data = vec![("fibers", 3, heart["fibre"].values.clone()), ("sheets", 3, heart["sheet"].values.clone())];
    mesh.vtu(&folder.path().join("heart.vtu"));
    let site = heart["node_class"].values.iter().position(|&class| class == 3.0).unwrap();
    let job = format!(
        "title = \"Heart\"\n[[velocity]]\nname = \"wall\"\nspeeds = [0.6, 0.4, 0.2]\n[[start]]\nname = \"site\"\nnode = {site}\n\
         [output]\nviews = [\"ymin\", \"zmax\"]\npath_nodes = [100]\n"
    );
    let run =
        Run::new(folder.path(), "heart.vtu", &job, &["--domains", "74", "--domain-partition", "metis"], &["--plot"]);
    let (arrival, summary) = (run.arrival(), run.summary());
    let latest = summary["latest"]["time"].as_f64().unwrap();
    eprintln!("heart: latest {latest:.2} ms, {} sweeps", summary["sweeps"]);
    // The farthest point at the fastest and at the slowest speed.
    let distance =
        |node: usize| (0..3).map(|k| (mesh.points[node][k] - mesh.points[site][k]).powi(2)).sum::<f64>().sqrt();
    for (node, &time) in arrival.iter().enumerate() {
        assert!(time >= distance(node) / 0.6 - 1e-9, "node {node} at {time}");
    }
    assert!(latest > 100.0 && latest < 1000.0);
    assert_eq!(summary["unreached"], 0);
    for view in ["ymin", "zmax"] {
        assert!(run.folder.join(format!("isochrones-{view}.png")).metadata().unwrap().len() > 10_000);
    }
    // A path goes back in time, from the node to the start.
    let path = run.text("paths.csv");
    let rows: Vec<Vec<f64>> =
        path.lines().skip(1).map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    assert!(rows.windows(2).all(|pair| pair[1][6] <= pair[0][6]));
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    assert_eq!((first[3], first[6]), (mesh.points[100][0], arrival[100]));
    assert_eq!((last[6], &last[3..6]), (0.0, &mesh.points[site][..]));
    let activated: f64 =
        run.text("activation.csv").lines().last().unwrap().rsplit(',').next().unwrap().parse().unwrap();
    assert_eq!(activated, 1.0);

    // Half the speeds, twice the times; on the same block file.
    let halves = ["velocity.wall.fibre=0.3", "velocity.wall.sheet=0.2", "velocity.wall.normal=0.1"];
    let arguments: Vec<&str> = halves.iter().flat_map(|set| ["--set", set]).collect();
    let slow = Run::solve(folder.path(), "slow", &arguments).arrival();
    let twice: Vec<f64> = arrival.iter().map(|time| 2.0 * time).collect();
    assert!(largest_difference(&slow, &twice) < 1e-9 * latest);
}

#[test]
fn a_scar_is_gone_round_and_what_it_encloses_is_never_reached() {
    let folder = folder();
    let n = 10;
    let mut mesh = cubes(n);
    // A wall across the middle with a gap, and a closed box in a corner.
    for (element, region) in mesh.region.iter_mut().enumerate() {
        let at = element as u32 / 6;
        let [i, j, k] = [at % n, at / n % n, at / n / n];
        if i == 5 && j < 8 {
            *region = 2;
        }
        if i >= 7 && j <= 2 && k <= 2 && (i == 7 || j == 2 || k == 2) {
            *region = 3;
        }
    }
    mesh.opencarp(&folder.path().join("slab.elem"));
    let job = "[[velocity]]\nname = \"tissue\"\nspeed = 1\n[[velocity]]\nname = \"scar\"\ntag = [2, 3]\nspeed = 0\n\
               [[start]]\nname = \"site\"\nat = [0, 0, 0]\n[output]\npath_points = [[0.9, 0.35, 0.5]]\n";
    let run = Run::new(folder.path(), "slab.elem", job, &["--domains", "9"], &[]);
    let (arrival, summary) = (run.arrival(), run.summary());
    let unreached = arrival.iter().filter(|time| time.is_infinite()).count();
    // Nodes with i in 9..=10, j and k in 0..=1 are inside of the box; those of the wall alone are within the scar.
    assert!(unreached > 0 && summary["unreached"] == unreached);
    assert!(arrival[10].is_infinite(), "the corner of the box");
    // Blocked volume is not reached, though nodes of it are.
    let volume = |run: &Run| -> f64 {
        let text = run.text("activation.csv");
        text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<f64>().unwrap()).sum()
    };
    let blocked = mesh.region.iter().filter(|region| **region > 1).count() as f64 / mesh.region.len() as f64;
    assert!(volume(&run) < 1.0 - blocked + 1e-9, "{} of {}", volume(&run), 1.0 - blocked);
    let label = |i: usize, j: usize, k: usize| i + 11 * (j + 11 * k);
    // Straight through it would be 0.9; the gap at j ≥ 8 costs a way of about 0.5 + 0.8 and back.
    assert!(arrival[label(9, 4, 5)] > 1.2, "{}", arrival[label(9, 4, 5)]);
    // Exact times follow straight lines, which must not go through the scar in silence.
    for (radius, reached) in [("0.3", false), ("0.7", true)] {
        let ball = Run::solve(folder.path(), "ball", &["--set", &format!("solver.exact_radius={radius}")]);
        let warnings = ball.summary()["warnings"].to_string();
        assert_eq!(warnings.contains("without speed"), reached, "{radius}: {warnings}");
    }
    let healed = Run::solve(folder.path(), "healed", &["--set", "velocity.scar.speed=1"]);
    assert!(healed.arrival()[label(9, 4, 5)] < 1.2);
    assert_eq!(healed.summary()["unreached"], 0);
    assert!((volume(&healed) - 1.0).abs() < 1e-9);

    let fast = ["model.blk", "--device", "cpu", "--precision", "f32", "--set", "velocity.tissue.speed=1e20"];
    let said = failure(command("pogo-solve").current_dir(&folder).args(fast));
    assert!(said.contains("of velocity \"tissue\" is ") && said.contains("single precision cannot hold"), "{said}");

    // A study: speeds and sites on the same block file.
    let study = "[sweep]\n\"velocity.tissue.speed\" = [1, 2]\n\"start.site.x\" = [0.0, 1.0]\n";
    std::fs::write(folder.path().join("study.toml"), study).unwrap();
    let studied = Run::solve(folder.path(), "study", &["--study", folder.path().join("study.toml").to_str().unwrap()]);
    let index = studied.text("study.csv");
    assert_eq!(index.lines().filter(|line| line.contains(",completed,")).count(), 4, "{index}");
    assert!(index.lines().next().unwrap().ends_with(",latest.time,latest.node,unreached"), "{index}");
    let fast = npy(&studied.folder.join("x-0_speed-2/arrival.npy")).values;
    let finite = fast.iter().zip(&arrival).filter(|(_, time)| time.is_finite());
    finite.for_each(|(fast, time)| assert!((2.0 * fast - time).abs() < 1e-12));
}

/// The command fails; what it says.
fn failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{command:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Micrometres for millimetres: the nearest node would be some corner of the mesh.
#[test]
fn a_start_far_from_the_mesh_is_a_warning() {
    let folder = folder();
    cubes(2).vtu(&folder.path().join("a.vtu"));
    let job = "[[velocity]]\nspeed = 1\n[[start]]\nname = \"site\"\nat = [0.4, 0.1, 0.2]\n";
    std::fs::write(folder.path().join("j.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(&folder).args(["a.vtu", "--job", "j.toml", "--quiet"]));
    let said = |x: &str| {
        let set = format!("start.site.x={x}");
        let run = succeed(command("pogo-solve").current_dir(&folder).args(["a.blk", "--set", set.as_str()]));
        String::from_utf8(run.stderr).unwrap()
    };
    assert!(!said("0.4").contains("warning"));
    let far = said("400");
    assert!(far.contains("warning: start \"site\": [400.0, 0.1, 0.2] lies outside the mesh, 399."), "{far}");
    let points = "[output]\npath_points = [[0.1, 0.1, 0.1], [0, 0, 40]]\nprobe_points = [[0, 50, 0]]\n";
    std::fs::write(folder.path().join("j.toml"), format!("{}{points}", job.replace("0.4,", "30,"))).unwrap();
    let run = succeed(command("pogo-block").current_dir(&folder).args(["a.vtu", "--job", "j.toml", "--check"]));
    let said = String::from_utf8(run.stderr).unwrap();
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warning")).collect();
    let expected = [
        "j.toml:3: warning: start \"site\": [30",
        "j.toml:6: warning: `path_points`: [0.0, 0.0, 40",
        "j.toml:6: warning: `probe_points`",
    ];
    assert!(
        warnings.len() == 3 && warnings.iter().zip(expected).all(|(line, start)| line.starts_with(start)),
        "{said}"
    );
}

/// In a ball of exact times of an anisotropic tensor a node may be earlier than all round it.
#[test]
fn paths_end_at_starts_in_balls_of_exact_times() {
    let folder = folder();
    cubes(10).vtu(&folder.path().join("a.vtu"));
    let ends: Vec<u32> = (0..1331).step_by(7).collect();
    let job = format!(
        "[[velocity]]\ntensor = [0.3, 0.1, 0.06, -0.15, 0.02, -0.05]\n[[start]]\nat = [0.2, 0.1, 0.1]\n\
         [solver]\nexact_radius = 0.35\n[output]\npath_nodes = {ends:?}\n"
    );
    std::fs::write(folder.path().join("j.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(&folder).args(["a.vtu", "--job", "j.toml", "--quiet"]));
    succeed(command("pogo-solve").current_dir(&folder).args(["a.blk", "--quiet", "--device", "cpu"]));
    let paths = std::fs::read_to_string(folder.path().join("a.out/paths.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        paths.lines().skip(1).map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    let mut n_paths = 0;
    for (at, row) in rows.iter().enumerate() {
        if rows.get(at + 1).is_none_or(|next| next[0] != row[0]) {
            assert!([0.2, 0.1, 0.1, 0.0].iter().zip(&row[3..]).all(|(a, b)| (a - b).abs() < 1e-9), "{row:?}");
            n_paths += 1;
        }
    }
    assert_eq!(n_paths, ends.len());
}

#[test]
fn mistakes_are_named_with_their_place() {
    let folder = folder();
    let mut mesh = cubes(2);
    mesh.data = vec![("fibers", 3, vec![0.0; 3 * mesh.region.len()])];
    mesh.vtu(&folder.path().join("a.vtu"));
    mesh.opencarp(&folder.path().join("a.elem"));
    let block = |mesh: &str, job: &str| {
        std::fs::write(folder.path().join("j.toml"), job).unwrap();
        let mut block = command("pogo-block");
        block.arg(folder.path().join(mesh)).arg("--job").arg(folder.path().join("j.toml")).arg("--quiet");
        failure(&mut block)
    };
    let start = "[[start]]\nnode = 0\n";
    for (mesh, job, expected) in [
        ("a.vtu", format!("[[velocity]]\nspeeds = [2, 1]\n{start}"), "element 0 ("),
        (
            "a.vtu",
            format!("[[velocity]]\nspeeds = [2, 1]\n{start}"),
            "its fibre direction [0.0, 0.0, 0.0] has no length",
        ),
        ("a.elem", format!("[[velocity]]\nspeeds = [2, 1]\n{start}"), "j.toml:1: error: there are no fibre directions"),
        ("a.vtu", format!("[[velocity]]\ntensor = [1, 1, -1, 0, 0, 0]\n{start}"), "is not positive definite"),
        ("a.vtu", format!("[[velocity]]\ntag = 5\nspeed = 1\n{start}"), "no element has the tag 5"),
        (
            "a.vtu",
            format!("[[velocity]]\nspeed = 0\n{start}"),
            "j.toml:3: error: start \"START1\": every element round node 0 is blocked",
        ),
        (
            "a.vtu",
            "[[velocity]]\nspeed = 1\n[[start]]\nsphere = { centre = [9, 9, 9], radius = 1 }\n".into(),
            "the mesh is in [0, 1] × [0, 1] × [0, 1]",
        ),
        ("a.vtu", "[[velocity]]\nspeed = 1\n".into(), "no [[start]]"),
    ] {
        let error = block(mesh, &job);
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let mut twice = cubes(2);
    twice.elements.extend_from_within(..4);
    twice.region.push(2);
    twice.opencarp(&folder.path().join("t.elem"));
    let error = block("t.elem", &format!("[[velocity]]\nspeed = 1\n[[velocity]]\ntag = 2\nspeed = 0\n{start}"));
    let expected = "t.elem:50: error: elements 0 (velocity VELOCITY1) and 48 (velocity VELOCITY2) have the same nodes";
    assert!(error.contains(expected), "{error}");
    let error = failure(command("pogo-block").arg(folder.path().join("a.vtu")).arg("--quiet"));
    assert!(error.contains("an Eikonal model needs a job"), "{error}");

    std::fs::write(folder.path().join("j.toml"), format!("[[velocity]]\nspeed = 1\n{start}")).unwrap();
    let blk = folder.path().join("a.blk");
    succeed(
        command("pogo-block")
            .arg(folder.path().join("a.vtu"))
            .arg("--job")
            .arg(folder.path().join("j.toml"))
            .arg("--quiet"),
    );
    let solve = |arguments: &[&str]| {
        failure(command("pogo-solve").arg(&blk).args(["--quiet", "-o"]).arg(folder.path().join("out")).args(arguments))
    };
    assert!(solve(&["--set", "start.START1.node=99"]).contains("there is no node 99"));
    assert!(solve(&["--time", "1"]).contains("--time is for runs over time only"));
    let wrong = folder.path().join("s.csv");
    std::fs::write(&wrong, "node\n77\n").unwrap();
    assert!(solve(&["--starts", wrong.to_str().unwrap()]).contains("s.csv:2: error: there is no node 77"));
    std::fs::write(&wrong, "node\n1\n").unwrap();
    for idle in [&["--set", "start.START1.time=2"][..], &["--plot"], &["--movie"], &["--report"]] {
        let error = solve(&[&["--starts", wrong.to_str().unwrap()][..], idle].concat());
        assert!(error.contains(&format!("{} does nothing with --starts", idle[idle.len() - 1])), "{error}");
    }
    // A run without time says which sets it has not reached.
    std::fs::write(&wrong, "case,node\nA,1\nB,2\n").unwrap();
    let mut stopped = command("pogo-solve");
    stopped.arg(&blk).args(["--quiet", "--wall-time", "0.000001", "-o"]).arg(folder.path().join("out"));
    let output = stopped.arg("--starts").arg(&wrong).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let expected = "stopped by --wall-time after 0 of 2 sets of starts; the rows of the others are NaN";
    assert!(output.status.code() == Some(4) && error.contains(expected), "{error}");
    let times = npy(&folder.path().join("out/arrivals.npy"));
    assert!(times.shape[0] == 2 && times.values.iter().all(|time| time.is_nan()), "{times:?}");
    let parameters = succeed(command("pogo-info").arg(&blk).arg("--parameters"));
    assert!(String::from_utf8_lossy(&parameters.stdout).contains("velocity.VELOCITY1.speed"));
    let picture = folder.path().join("domains.png");
    succeed(command("pogo-info").arg(&blk).arg("--picture").arg(&picture));
    assert!(picture.exists());
}
