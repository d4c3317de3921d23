//! What cardiac models make of arrival times: pseudo-ECG, Purkinje trees, derivatives. All against exact values or
//! independent computations.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use super::*;

/// A table of numbers under a heading, by column; texts are NaN.
fn columns(text: &str) -> BTreeMap<String, Vec<f64>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut table: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines {
        for (name, field) in names.iter().zip(line.split(',')) {
            table.entry((*name).to_owned()).or_default().push(field.parse().unwrap_or(f64::NAN));
        }
    }
    table
}

/// Solid angle of the square [0, 1]² at height x over the yz plane, seen from a point; with the sign of its side.
fn solid_angle(x: f64, eye: [f64; 3]) -> f64 {
    let h = eye[0] - x;
    let mut sum = 0.0;
    for (y, sign_y) in [(0.0, -1.0), (1.0, 1.0)] {
        for (z, sign_z) in [(0.0, -1.0), (1.0, 1.0)] {
            let (y, z) = (y - eye[1], z - eye[2]);
            sum += sign_y * sign_z * (y * z / (h * (h * h + y * y + z * z).sqrt())).atan();
        }
    }
    sum
}

const ECG: &str = "[ecg]\nconductivity = 0.3\ntorso = 0.2\nupstroke = 0.4\nstep = 0.05\nfrom = -1.0\nto = 4.0\n";

/// φ(t) of a plane wave of speed v through the unit cube: σ/(4π σ_T) ∫ U'(t − x/v) Ω(x) dx/v, by Simpson's rule.
fn plane_wave(t: f64, v: f64, eye: [f64; 3]) -> f64 {
    let n = 4000;
    let f = |x: f64| 115.0 / 0.4 / (2.0 * (t - x / v) / 0.4).cosh().powi(2) * solid_angle(x, eye) / v;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { [2.0, 4.0][i % 2] };
    let sum: f64 = (0..=n).map(|i| weight(i) * f(i as f64 / n as f64)).sum();
    0.3 / (4.0 * PI * 0.2) * sum / (3.0 * n as f64)
}

#[test]
fn the_ecg_of_a_plane_wave_is_that_of_its_solid_angle() {
    let folder = folder();
    let (v, eyes) = (0.5, [[2.0, 0.5, 0.5], [-0.5, 1.4, 0.3], [0.4, 0.3, 1.6]]);
    let mut job = format!("[[velocity]]\nspeed = {v}\n[[start]]\nbox = [[0, 0, 0], [0, 1, 1]]\n{ECG}");
    for (name, eye) in ["A", "B", "C"].into_iter().zip(eyes) {
        job += &format!("[[electrode]]\nname = \"{name}\"\nposition = {eye:?}\n");
    }
    job += "[[lead]]\nname = \"A-B\"\nplus = \"A\"\nminus = \"B\"\n\
            [[lead]]\nname = \"C-W\"\nplus = \"C\"\nminus = [\"A\", \"B\", \"C\"]\n";
    let mut errors = Vec::new();
    for n in [4, 8] {
        cubes(n).vtu(&folder.path().join("box.vtu"));
        let plot: &[&str] = if n == 4 { &["--plot"] } else { &[] };
        let run = Run::new(folder.path(), "box.vtu", &job, &[], &[&["--no-fields"], plot].concat());
        let table = columns(&run.text("ecg.csv"));
        let archive = npz(&run.folder.join("ecg.npz"));
        assert_eq!((table["time"].len(), &table["time"]), (101, &archive["time"].values));
        let (mut most, mut error) = (0.0_f64, 0.0_f64);
        for (name, eye) in ["A", "B", "C"].into_iter().zip(eyes) {
            assert_eq!(table[name], archive[name].values);
            for (t, found) in table["time"].iter().zip(&table[name]) {
                let exact = plane_wave(*t, v, eye);
                most = most.max(exact.abs());
                error = error.max((found - exact).abs());
            }
        }
        assert_eq!(table["A"].len(), 101);
        let of = |name: &str, at: usize| table[name][at];
        (0..101).for_each(|at| {
            let [a, b, c] = ["A", "B", "C"].map(|name| of(name, at));
            assert!((of("A-B", at) - (a - b)).abs() < 1e-12);
            assert!((of("C-W", at) - (c - (a + b + c) / 3.0)).abs() < 1e-12);
        });
        assert!(plot.is_empty() || run.text("ecg.svg").contains("A-B"));
        errors.push(error / most);
        // Threads and precision.
        let one = Run::solve(folder.path(), "one", &["--no-fields", "--threads", "1"]);
        assert_eq!(one.text("ecg.csv"), run.text("ecg.csv"));
    }
    eprintln!("ECG of a plane wave: relative errors {errors:?}");
    assert!(errors[1] < 0.01 && errors[0] / errors[1] > 3.0, "{errors:?}");
}

#[test]
fn a_closed_front_is_not_seen_and_opposite_electrodes_see_the_same() {
    let folder = folder();
    cubes(12).vtu(&folder.path().join("box.vtu"));
    // The tetrahedra of a cube go into each other when it is turned over its centre.
    let job = format!(
        "[[velocity]]\nspeed = 0.5\n[[start]]\nat = [0.5, 0.5, 0.5]\n[solver]\nexact_radius = 0.3\n{ECG}\
         [[electrode]]\nname = \"P\"\nposition = [1.7, 0.9, 0.6]\n[[electrode]]\nname = \"Q\"\nposition = [-0.7, 0.1, 0.4]\n\
         [[lead]]\nname = \"PQ\"\nplus = \"P\"\nminus = \"Q\"\n"
    );
    let run = Run::new(folder.path(), "box.vtu", &job, &[], &["--no-fields", "--set", "ecg.upstroke=0.2"]);
    let table = columns(&run.text("ecg.csv"));
    let most = table["P"].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(most > 1.0, "{most}");
    assert!(table["PQ"].iter().all(|x| x.abs() < 1e-9 * most), "{:?}", table["PQ"]);
    // Before 1 − 0.2 the front is a closed surface inside the cube, which has no solid angle.
    let early =
        table["time"].iter().zip(&table["P"]).filter(|(t, _)| **t < 0.7).map(|(_, x)| x.abs()).fold(0.0, f64::max);
    eprintln!("closed front: {early:.3} of {most:.3} mV");
    assert!(early < 0.02 * most, "{early} of {most}");
}

#[test]
fn many_starts_have_an_ecg_each_and_leads_are_standard() {
    let folder = folder();
    cubes(5).vtu(&folder.path().join("box.vtu"));
    let mut job = format!(
        "[[velocity]]\nspeeds = [0.6, 0.3]\nfibre = [1, 1, 0]\n[[start]]\nnode = 0\n{ECG}standard_leads = true\n"
    );
    job = job.replace("conductivity = 0.3", "conductivity = [0.3, 0.05]");
    for (at, name) in ["RA", "LA", "LL", "V1"].into_iter().enumerate() {
        let position = [2.0 + at as f64, -1.5 * at as f64, 0.3];
        job += &format!("[[electrode]]\nname = \"{name}\"\nposition = {position:?}\n");
    }
    std::fs::write(folder.path().join("starts.csv"), "case,node\na,0\nb,100\nc,215\n").unwrap();
    let starts = folder.path().join("starts.csv");
    let many = Run::new(folder.path(), "box.vtu", &job, &[], &["--starts", starts.to_str().unwrap()]);
    let ecgs = npy(&many.folder.join("ecgs.npy"));
    assert_eq!(ecgs.shape, [3, 101, 11]);
    let times = npy(&many.folder.join("ecg-times.npy")).values;
    let channels = many.text("ecg-channels.csv");
    for (case, node) in [0, 100, 215].into_iter().enumerate() {
        let set = format!("start.START1.node={node}");
        let one = Run::solve(folder.path(), "one", &["--no-fields", "--set", &set]);
        let table = columns(&one.text("ecg.csv"));
        assert_eq!(table["time"], times);
        for (at, line) in channels.lines().skip(1).enumerate() {
            let name = line.split(',').nth(1).unwrap();
            let own: Vec<f64> = (0..101).map(|sample| ecgs.values[(case * 101 + sample) * 11 + at]).collect();
            assert_eq!(table[name], own, "{name}");
        }
        (0..101).for_each(|at| {
            let of = |name: &str| table[name][at];
            assert!((of("II") - of("I") - of("III")).abs() < 1e-9, "Einthoven");
            assert!((of("aVR") + of("aVL") + of("aVF")).abs() < 1e-9, "Goldberger");
            let wct = (of("RA") + of("LA") + of("LL")) / 3.0;
            assert!((of("V1-WCT") - of("V1") + wct).abs() < 1e-9, "Wilson");
        });
    }
    let without = command("pogo-solve")
        .arg(folder.path().join("model.blk"))
        .args(["-q", "-o"])
        .arg(folder.path().join("fails"))
        .args(["--set", "ecg.step=1e-9"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&without.stderr).contains("too many"), "{without:?}");
}

/// n² squares of edge 1 / n in the plane, cut from their lower to their upper corners.
fn squares(n: u32) -> Mesh {
    let side = n + 1;
    let mut mesh = Mesh { corners: 3, ..Mesh::default() };
    for at in 0..side * side {
        mesh.points.push([f64::from(at % side) / f64::from(n), f64::from(at / side) / f64::from(n), 0.0]);
    }
    for at in 0..n * n {
        let low = at % n + side * (at / n);
        mesh.elements.extend([low, low + 1, low + 1 + side, low, low + 1 + side, low + side]);
        mesh.region.extend([1, 1]);
    }
    mesh
}

fn rows(rows: impl IntoIterator<Item = Vec<f64>>) -> String {
    let line = |row: Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    rows.into_iter().map(line).collect()
}

#[test]
fn a_fast_fibre_makes_a_head_wave_to_rounding() {
    let folder = folder();
    let n = 16;
    squares(n).vtu(&folder.path().join("sheet.vtu"));
    // A fibre along y = 0, a node of it at each node of the sheet.
    let at = |i: u32| f64::from(i) / f64::from(n);
    std::fs::write(folder.path().join("p.csv"), rows((0..=n).map(|i| vec![at(i), 0.0, 0.0]))).unwrap();
    std::fs::write(folder.path().join("e.csv"), rows((0..n).map(|i| vec![f64::from(i), f64::from(i + 1)]))).unwrap();
    let (v, fast) = (1.0_f64, 4.0_f64);
    let all: Vec<u32> = (0..=n).collect();
    let job = format!(
        "[[velocity]]\nspeed = {v}\n[[tree]]\nname = \"f\"\npoints = \"p.csv\"\nedges = \"e.csv\"\nspeed = {fast}\nstart_node = 0\n\
         start_time = 2.0\njunctions = {all:?}\n"
    );
    let run = Run::new(folder.path(), "sheet.vtu", &job, &[], &[]);
    let (arrival, tree) = (run.arrival(), npz(&run.folder.join("trees.npz"))["f"].values.clone());
    let slow = (1.0 / (v * v) - 1.0 / (fast * fast)).sqrt();
    for i in 0..=n {
        assert!((tree[i as usize] - 2.0 - at(i) / fast).abs() < 1e-14);
        // Behind the end of the fibre the front is round.
        for j in 0..=i {
            let expected = 2.0 + at(i) / fast + at(j) * slow;
            let found = arrival[(i + (n + 1) * j) as usize];
            assert!((found - expected).abs() < 1e-13, "{i} {j}: {found} {expected}");
        }
    }
    let summary = run.summary();
    assert!(summary["tree_rounds"].as_u64() == Some(1), "{}", summary["tree_rounds"]);
    assert!(run.folder.join("trees.vtu").exists());
    // A slow fibre is passed by the tissue, which comes in at its junctions.
    let slow = Run::solve(folder.path(), "slow", &["--set", "tree.f.speed=0.25", "--plot"]);
    assert!(slow.folder.join("trees.png").exists() && slow.summary()["files"].to_string().contains("trees.png"));
    let tree = npz(&slow.folder.join("trees.npz"))["f"].values.clone();
    assert!((tree[n as usize] - 3.0).abs() < 1e-13, "{tree:?}");
    assert!(slow.text("junctions.csv").contains(",to_tree"));
}

#[test]
fn a_wave_goes_back_into_a_tree_and_out_of_it_again() {
    let folder = folder();
    squares(10).vtu(&folder.path().join("sheet.vtu"));
    std::fs::write(folder.path().join("p.csv"), "x,y,z\n0,0.5,0\n0.5,9,0\n1,0.5,0\n").unwrap();
    std::fs::write(folder.path().join("e.csv"), "0 1 50\n1 2 100\n").unwrap();
    let job = "[[velocity]]\nspeed = 1.0\n[[start]]\nat = [0, 0.5, 0]\ntime = 1.0\n\
               [[tree]]\npoints = \"p.csv\"\nedges = \"e.csv\"\ndelay = 0.05\ndelay_back = 0.01\n";
    let run = Run::new(folder.path(), "sheet.vtu", job, &[], &[]);
    let half = (0.25_f64 + 8.5 * 8.5).sqrt();
    let expected = 1.0 + 0.01 + half / 50.0 + half / 100.0 + 0.05;
    let tree = npz(&run.folder.join("trees.npz"))["TREE1"].values.clone();
    assert!((tree[2] - (expected - 0.05)).abs() < 1e-14, "{tree:?}");
    // Node (10, 5).
    let arrival = run.arrival();
    assert!((arrival[10 + 11 * 5] - expected).abs() < 1e-14);
    let table = run.text("junctions.csv");
    assert!(table.contains("to_tree") && table.contains("to_tissue"), "{table}");
    assert_eq!(run.summary()["tree_rounds"], 2);
    // A long delay leaves it to the tissue, and f32 gives the same to its digits.
    let tissue = Run::solve(folder.path(), "late", &["--set", "tree.TREE1.delay=5"]);
    let at = tissue.arrival()[10 + 11 * 5];
    assert!((at - 2.0).abs() < 1e-12, "{at}");
    let single = Run::solve(folder.path(), "f32", &["--precision", "f32"]);
    assert!(largest_difference(&single.arrival(), &arrival) < 1e-6);
    // Many starts with the tree give what single runs give.
    std::fs::write(folder.path().join("s.csv"), "node,time\n55,1\n3,0\n65,2\n").unwrap();
    let starts = folder.path().join("s.csv");
    let many = Run::solve(folder.path(), "many", &["--starts", starts.to_str().unwrap()]);
    let all = npy(&many.folder.join("arrivals.npy"));
    assert_eq!(all.values[..121], arrival);
}

/// A generator of numbers in [0, 1).
fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Tetrahedra that touch each other nowhere, of which the wave uses one edge each, and a random net of fibres between the
/// ends of these: tissue and trees are a graph, whose shortest paths are found here by relaxing edges until nothing changes.
#[test]
fn random_nets_of_fibres_give_the_shortest_paths() {
    for seed in 1..6 {
        let mut random = numbers(seed);
        let folder = folder();
        let n = 30;
        let mut mesh = Mesh { corners: 4, ..Mesh::default() };
        for k in 0..n {
            let low = [10.0 * f64::from(k), 0.0, 0.0];
            let ends = [low, [low[0] + 0.5 + random(), 0.2 * random(), 0.1]];
            let far = [[low[0] + 0.4, 5.0, 0.0], [low[0] + 0.4, 5.0, 5.0]];
            mesh.points.extend(ends.into_iter().chain(far));
            mesh.elements.extend(4 * k..4 * k + 4);
            mesh.region.push(1);
        }
        mesh.vtu(&folder.path().join("m.vtu"));
        let active: Vec<u32> = (0..n).flat_map(|k| [4 * k, 4 * k + 1]).collect();
        let points = active.iter().map(|&node| mesh.points[node as usize].to_vec());
        std::fs::write(folder.path().join("p.csv"), rows(points)).unwrap();
        let edges: Vec<[usize; 2]> = (0..60)
            .map(|_| [0; 2].map(|_| (random() * active.len() as f64) as usize))
            .filter(|e| e[0] != e[1])
            .collect();
        let speeds: Vec<f64> = edges.iter().map(|_| 5.0 + 40.0 * random()).collect();
        let table = edges.iter().zip(&speeds).map(|(e, v)| vec![e[0] as f64, e[1] as f64, *v]);
        std::fs::write(folder.path().join("e.csv"), rows(table)).unwrap();
        let (v, delay, back) = (0.7, 0.03, 0.02);
        let all: Vec<usize> = (0..active.len()).collect();
        let job = format!(
            "[[velocity]]\nspeed = {v}\n[[start]]\nnode = 0\n[[tree]]\nname = \"net\"\npoints = \"p.csv\"\nedges = \"e.csv\"\n\
             factor = 1.5\ndelay = {delay}\ndelay_back = {back}\njunctions = {all:?}\n"
        );
        let run = Run::new(folder.path(), "m.vtu", &job, &[], &["--no-fields"]);
        // Tissue node k of `active`, then tree node k.
        let size = active.len();
        let place = |k: usize| mesh.points[active[k] as usize];
        let length = |a: [f64; 3], b: [f64; 3]| (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt();
        let mut links: Vec<(usize, usize, f64)> = Vec::new();
        for k in (0..size).step_by(2) {
            let time = length(place(k), place(k + 1)) / v;
            links.extend([(k, k + 1, time), (k + 1, k, time)]);
        }
        for ([a, b], speed) in edges.iter().zip(&speeds) {
            let time = length(place(*a), place(*b)) / (1.5 * speed);
            links.extend([(size + a, size + b, time), (size + b, size + a, time)]);
        }
        (0..size).for_each(|k| links.extend([(size + k, k, delay), (k, size + k, back)]));
        let mut time = vec![f64::INFINITY; 2 * size];
        time[0] = 0.0;
        let mut again = true;
        while again {
            again = false;
            for &(from, to, link) in &links {
                if time[from] + link < time[to] - 1e-15 {
                    (time[to], again) = (time[from] + link, true);
                }
            }
        }
        let (arrival, tree) = (run.arrival(), npz(&run.folder.join("trees.npz"))["net"].values.clone());
        let close = |a: f64, b: f64| a == b || (a - b).abs() < 1e-12 * (1.0 + b.abs());
        for k in 0..size {
            assert!(
                close(arrival[active[k] as usize], time[k]),
                "{seed} {k}: {} {}",
                arrival[active[k] as usize],
                time[k]
            );
            assert!(close(tree[k], time[size + k]), "{seed} {k}: {} {}", tree[k], time[size + k]);
        }
        eprintln!("net {seed}: {} solves of the tissue", run.summary()["tree_rounds"]);
    }
}

/// `of`, parameter and derivative of each row of gradient.csv.
fn gradient(run: &Run) -> Vec<(String, String, f64)> {
    let text = run.text("gradient.csv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), fields[2].to_owned(), fields[3].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn derivatives_are_the_differences_of_the_discrete_solution() {
    let folder = folder();
    let mut mesh = cubes(5);
    // Moved a little, so that no two ways take the same time.
    let mut random = numbers(7);
    mesh.points.iter_mut().flatten().for_each(|x| *x += 0.04 * (random() - 0.5));
    for (region, x) in mesh.region.iter_mut().zip(mesh.elements.chunks_exact(4)) {
        *region = if mesh.points[x[0] as usize][0] > 0.45 { 2 } else { 1 };
    }
    mesh.vtu(&folder.path().join("box.vtu"));
    std::fs::write(folder.path().join("p.csv"), "0,0,0\n0.5,1,1\n1,1,1\n").unwrap();
    std::fs::write(folder.path().join("e.csv"), "0,1\n1,2\n").unwrap();
    let job = "[[velocity]]\nname = \"a\"\nspeeds = [0.7, 0.5, 0.3]\nfibre = [1, 0.4, 0.2]\nsheet = [0, 1, 0.5]\n\
               [[velocity]]\nname = \"b\"\ntag = 2\nspeed = 0.4\n[[start]]\nname = \"s\"\nnode = 0\ntime = 0.3\n\
               [[tree]]\nname = \"t\"\npoints = \"p.csv\"\nedges = \"e.csv\"\nspeed = 1.1\ndelay = 0.02\ndelay_back = 0.03\n\
               [gradient]\nnodes = [215, 48, 113]\nelements = true\n[[measured]]\nnode = 100\ntime = 1.0\nweight = 2.0\n\
               [[measured]]\nnode = 200\ntime = 1.5\n";
    let parameters = [
        ("velocity.a.fibre", 0.7),
        ("velocity.a.sheet", 0.5),
        ("velocity.a.normal", 0.3),
        ("velocity.b.speed", 0.4),
        ("start.s.time", 0.3),
        ("tree.t.speed", 1.1),
        ("tree.t.delay", 0.02),
        ("tree.t.delay_back", 0.03),
    ];
    {
        let set = "solver.exact_radius=0.45";
        let run = Run::new(folder.path(), "box.vtu", job, &[], &["--no-fields", "--plot", "--set", set]);
        let found = gradient(&run);
        assert_eq!(found.len(), 4 * parameters.len());
        let misfit = |arrival: &[f64]| (arrival[100] - 1.0).powi(2) + 0.5 * (arrival[200] - 1.5).powi(2);
        let value = |of: &str, arrival: &[f64]| match of {
            "misfit" => misfit(arrival),
            node => arrival[node.parse::<usize>().unwrap()],
        };
        for (name, at) in parameters {
            let h = 1e-5 * at;
            let moved = |by: f64| {
                let set_too = format!("{name}={}", at + by);
                Run::solve(folder.path(), "h", &["--no-fields", "--set", set, "--set", &set_too]).arrival()
            };
            let (up, down) = (moved(h), moved(-h));
            for of in ["215", "48", "113", "misfit"] {
                let difference = (value(of, &up) - value(of, &down)) / (2.0 * h);
                let own = found.iter().find(|row| row.0 == of && row.1 == name).unwrap().2;
                let scale = if name.starts_with("velocity") { 1.0 / at } else { 1.0 };
                assert!((own - difference).abs() < 2e-6 * scale, "{of} by {name}: {own} {difference}");
            }
        }
        // Times fall with the first power of all speeds together: Σ v ∂T/∂v = −(T − starts − delays).
        let archive = npz(&run.folder.join("gradient.npz"));
        let arrival = run.arrival();
        for (row, of) in ["215", "48", "113"].into_iter().enumerate() {
            let of_row = |name: &str| found.iter().find(|own| own.0 == of && own.1 == name).unwrap().2;
            let sum: f64 = parameters
                .iter()
                .map(|(name, at)| {
                    at * of_row(name) * if name.contains("velocity") || name.ends_with("speed") { 1.0 } else { -1.0 }
                })
                .sum();
            let t = arrival[of.parse::<usize>().unwrap()];
            assert!((sum + t).abs() < 1e-12 * t, "{sum} {t}");
            // Elements add up to regions.
            let (first, last) = (archive["indptr"].values[row] as usize, archive["indptr"].values[row + 1] as usize);
            let mut in_b = 0.0;
            let mut all = 0.0;
            for entry in first..last {
                let element = archive["elements"].values[entry] as usize;
                all += archive["relative"].values[entry];
                if mesh.region[element] == 2 {
                    in_b += archive["speeds"].values[3 * entry];
                }
            }
            assert!((in_b - of_row("velocity.b.speed")).abs() < 1e-12);
            let speeds = ["velocity.a.fibre", "velocity.a.sheet", "velocity.a.normal", "velocity.b.speed"];
            let of_speeds: f64 =
                speeds.iter().map(|name| of_row(name) * parameters.iter().find(|p| p.0 == *name).unwrap().1).sum();
            assert!((all - of_speeds).abs() < 1e-12, "{all} {of_speeds}");
        }
        assert!(run.folder.join("gradient-215.png").exists());
    }
}
