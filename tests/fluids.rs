//! Fluids, and fluids that touch solids, against exact solutions: plane waves, a point source, reflection and transmission at
//! an interface for all angles, the Scholte wave; the energy balance, parts of a model and restarts.

mod damped;
mod joined;
mod ties;
mod walls;

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Traces, angular_frequency, command, relative_error, succeed};

/// Bulk modulus and density of water.
const BULK: f64 = 2.2e9;
const WATER: f64 = 1000.0;

fn sound() -> f64 {
    (BULK / WATER).sqrt()
}

/// Young's modulus, Poisson's ratio and density of a solid.
#[derive(Clone, Copy)]
struct Solid(f64, f64, f64);

const STEEL: Solid = Solid(210e9, 0.3, 7800.0);
/// Its shear waves are slower than sound in water.
const PERSPEX: Solid = Solid(5.7e9, 0.336, 1180.0);

impl Solid {
    fn shear(&self) -> f64 {
        self.0 / (2.0 * (1.0 + self.1))
    }

    /// c_P and c_S.
    fn speeds(&self) -> [f64; 2] {
        let modulus = self.shear() * (2.0 - 2.0 * self.1) / (1.0 - 2.0 * self.1);
        [modulus, self.shear()].map(|modulus| (modulus / self.2).sqrt())
    }
}

/// A box of cells of edge `h`, node (i, j, k) labelled from 1 with i running fastest. Rows of cells along the first axis are of
/// the fluid for i < `n_fluid`, and of the solid beyond.
struct Tank {
    solid: Solid,
    n: [usize; 3],
    h: f64,
    n_fluid: usize,
    /// Elements of the fluid; the solid has those of the same shape.
    element: &'static str,
}

impl Tank {
    fn label(&self, [i, j, k]: [usize; 3]) -> usize {
        1 + i + (self.n[0] + 1) * (j + (self.n[1] + 1) * k)
    }

    fn is_plane(&self) -> bool {
        self.n[2] == 0
    }

    /// Elements of a cell by their corners, numbered as those of a hexahedron.
    fn cells(&self) -> &'static [&'static [usize]] {
        match &self.element[2..5] {
            "2D3" => &[&[0, 1, 2], &[0, 2, 3]],
            "2D4" => &[&[0, 1, 2, 3]],
            "3D4" => &[&[0, 1, 2, 6], &[0, 2, 3, 6], &[0, 3, 7, 6], &[0, 7, 4, 6], &[0, 4, 5, 6], &[0, 5, 1, 6]],
            "3D6" => &[&[0, 1, 2, 4, 5, 6], &[0, 2, 3, 4, 6, 7]],
            _ => &[&[0, 1, 2, 3, 4, 5, 6, 7]],
        }
    }

    fn kind_of_solid(&self) -> String {
        self.element.replace("AC2D", "CPE").replace("AC3D", "C3D")
    }

    fn deck(&self) -> String {
        let mut text = String::from("*Heading\n*Node\n");
        let [nx, ny, nz] = self.n;
        let all = || (0..=nz).flat_map(move |k| (0..=ny).flat_map(move |j| (0..=nx).map(move |i| [i, j, k])));
        for node in all() {
            let [x, y, z] = node.map(|i| i as f64 * self.h);
            let label = self.label(node);
            match self.is_plane() {
                true => writeln!(text, "{label}, {x:e}, {y:e}").unwrap(),
                false => writeln!(text, "{label}, {x:e}, {y:e}, {z:e}").unwrap(),
            }
        }
        let mut number = 0;
        for (name, kind, range) in
            [("FLUID", self.element.to_owned(), 0..self.n_fluid), ("SOLID", self.kind_of_solid(), self.n_fluid..nx)]
        {
            if range.is_empty() {
                continue;
            }
            writeln!(text, "*Element, type={kind}, elset={name}").unwrap();
            for k in 0..nz.max(1) {
                for (i, j) in (0..ny).flat_map(|j| range.clone().map(move |i| (i, j))) {
                    let square = [[0, 0], [1, 0], [1, 1], [0, 1]];
                    let corner = |c: usize| self.label([i + square[c % 4][0], j + square[c % 4][1], k + c / 4]);
                    for cell in self.cells() {
                        number += 1;
                        let nodes: Vec<String> = cell.iter().map(|&c| corner(c).to_string()).collect();
                        writeln!(text, "{number}, {}", nodes.join(", ")).unwrap();
                    }
                }
            }
        }
        if self.n_fluid > 0 {
            write!(text, "*Solid Section, elset=FLUID, material=WATER\n,\n").unwrap();
            write!(text, "*Material, name=WATER\n*Density\n{WATER},\n*Acoustic Medium, bulk modulus\n{BULK:e},\n")
                .unwrap();
        }
        if self.n_fluid < nx {
            write!(text, "*Solid Section, elset=SOLID, material=STEEL\n,\n").unwrap();
            let Solid(young, poisson, density) = self.solid;
            write!(text, "*Material, name=STEEL\n*Density\n{density},\n*Elastic\n{young:e}, {poisson}\n").unwrap();
        }
        for (name, i) in [("START", 0), ("END", nx)] {
            writeln!(text, "*Nset, nset={name}").unwrap();
            all().filter(|node| node[0] == i).for_each(|node| writeln!(text, "{},", self.label(node)).unwrap());
        }
        writeln!(text, "*Nset, nset=EVERY, generate\n1, {}, 1", (nx + 1) * (ny + 1) * (nz + 1)).unwrap();
        text
    }
}

/// A step of fixed increments with an amplitude P, and traces at every increment.
fn step(increment: f64, time: f64, loads: &str, output: &str) -> String {
    format!(
        "*Step\n*Dynamic, Explicit, direct user control\n{increment:e}, {time:e}\n{loads}\
         *Output, history, frequency=1\n*Node Output, nset=REC\n{output},\n*End Step\n"
    )
}

/// A table of a function at intervals of `dt`, from t = 0, under the name P.
fn amplitude(function: impl Fn(f64) -> f64, dt: f64, n: usize) -> String {
    let mut text = String::from("*Amplitude, name=P\n");
    (0..=n).for_each(|k| writeln!(text, "{:e}, {:e}", k as f64 * dt, function(k as f64 * dt)).unwrap());
    text
}

fn block(folder: &Path, deck: &str) {
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet"]));
}

fn solve(folder: &Path, out: &str, arguments: &[&str]) -> [Traces; 2] {
    let solve = ["model.blk", "--quiet", "-o", out];
    succeed(command("pogo-solve").current_dir(folder).args(solve).args(arguments));
    ["traces.csv", "energy.csv"].map(|file| Traces::read(&folder.join(out).join(file)))
}

const ALONE: [&str; 4] = ["--threads", "1", "--precision", "f64"];

/// Largest error of the balance over the largest energy.
fn imbalance(energy: &Traces) -> f64 {
    let largest = |name: &str| energy.column(name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    largest("balance") / ["kinetic", "strain", "external", "damped"].map(largest).into_iter().fold(0.0, f64::max)
}

/// Sends a pulse of this pressure, Pa, width and length of a run, s, from START of a model through it: traces and energies, which
/// balance.
fn send_pulse(deck: String, pressure: f64, [width, dt, time]: [f64; 3], output: &str) -> [Traces; 2] {
    let load = format!("*Boundary, amplitude=P\nSTART, 8, 8, {pressure:e}\n");
    let pulse = amplitude(|t| pulse(t, width), dt, (width / dt) as usize + 1);
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &(deck + &pulse + &step(dt, time, &load, output)));
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    [traces, energy]
}

/// sin⁴ pulse that begins at t = 0.
fn pulse(t: f64, length: f64) -> f64 {
    if (0.0..length).contains(&t) { (PI * t / length).sin().powi(4) } else { 0.0 }
}

/// Error of a wave that a prescribed pressure sends along a strip of `n` elements.
fn strip_error(element: &'static str, n: usize) -> f64 {
    let (length, c) = (0.1, sound());
    let h = length / n as f64;
    let solid = &element[2..4] == "3D";
    let tank = Tank { solid: STEEL, n: [n, 2, if solid { 2 } else { 0 }], h, n_fluid: n, element };
    let (receiver, width) = (n / 2, 0.25 * length / c);
    let (dt, time) = (0.2 * h / c, 0.8 * length / c);
    let rec = tank.label([receiver, 1, 0]);
    let mut deck = tank.deck();
    write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
    let [traces, _] = send_pulse(deck, 3e5, [width, dt, time], "POR");
    let expected: Vec<f64> = traces.time().iter().map(|t| 3e5 * pulse(t - receiver as f64 * h / c, width)).collect();
    relative_error(traces.column(&format!("REC.{rec}.POR")), &expected)
}

#[test]
fn plane_waves_converge_at_second_order() {
    for element in ["AC2D3", "AC2D4", "AC2D4R", "AC3D4", "AC3D6", "AC3D8", "AC3D8R"] {
        let errors = [60, 120, 240].map(|n| strip_error(element, n));
        let order = (errors[1] / errors[2]).log2();
        eprintln!("{element}: errors {errors:?}, order {order:.3}");
        assert!(order > 1.9 && errors[2] < 0.01, "{element}: order {order} from {errors:?}");
    }
}

/// A volume acceleration A at a point gives p = ρ A(t − r/c) / (4πr). One octant of space, whose planes of symmetry are walls.
#[test]
fn a_point_source_has_the_pressure_of_a_monopole() {
    let (n, h, c) = (36, 1e-3, sound());
    let tank = Tank { solid: STEEL, n: [n; 3], h, n_fluid: n, element: "AC3D8" };
    let width = 26.0 * h / c;
    let (dt, time) = (0.3 * h / c, 40.0 * h / c);
    let at = [[12, 0, 0], [9, 9, 0], [7, 7, 7]];
    let labels = at.map(|node| tank.label(node));
    let mut deck = tank.deck();
    write!(deck, "*Nset, nset=REC\n{}, {}, {}\n", labels[0], labels[1], labels[2]).unwrap();
    deck += &amplitude(|t| pulse(t, width), dt, (width / dt) as usize + 1);
    // An eighth of 1 m³/s².
    deck += &step(dt, time, "*Cload, amplitude=P\n1, 8, 0.125\n", "POR");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11);
    for (node, label) in at.into_iter().zip(labels) {
        let r = h * node.iter().map(|&i| (i * i) as f64).sum::<f64>().sqrt();
        let expected: Vec<f64> =
            traces.time().iter().map(|t| WATER / (4.0 * PI * r) * pulse(t - r / c, width)).collect();
        let error = relative_error(traces.column(&format!("REC.{label}.POR")), &expected);
        eprintln!("r = {r}: {error}");
        assert!(error < 0.03, "{node:?}: {error}");
    }
}

/// At normal incidence R = (Z₂ − Z₁) / (Z₂ + Z₁), and the steel moves by 2 p / (Z₁ + Z₂).
#[test]
fn a_wave_in_water_is_reflected_by_steel_and_enters_it() {
    let c = [sound(), STEEL.speeds()[0]];
    let z = [WATER * c[0], STEEL.2 * c[1]];
    for element in ["AC2D3", "AC2D4", "AC2D4R", "AC3D4", "AC3D6", "AC3D8", "AC3D8R"] {
        let (n, h) = ([240, 2, if &element[2..4] == "3D" { 2 } else { 0 }], 1e-3);
        let tank = Tank { solid: STEEL, n, h, n_fluid: 120, element };
        let (width, time) = (50.0 * h / c[0], 205.0 * h / c[0]);
        let [wet, dry] = [[60, 1, 0], [140, 1, 0]].map(|node| tank.label(node));
        let dt = 0.15 * h / c[1];
        let mut deck = tank.deck();
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}\n*Boundary\nEVERY, 2, 3\n").unwrap();
        let [traces, _] = send_pulse(deck, 1e5, [width, dt, time], "POR, V1");
        assert!(!traces.names.contains(&format!("REC.{wet}.V1")), "a fluid has no velocity: {:?}", traces.names);
        let x = |i: f64| i * h / c[0];
        let reflection = (z[1] - z[0]) / (z[1] + z[0]);
        // What comes back is reflected at the prescribed pressure after the run's end at the receiver.
        let p = |t: f64| 1e5 * (pulse(t - x(60.0), width) + reflection * pulse(t - x(180.0), width));
        let transmitted = |t: f64| 2e5 / (z[0] + z[1]) * pulse(t - x(120.0) - 20.0 * h / c[1], width);
        // Before the end of the steel answers.
        let end = x(120.0) + 210.0 * h / c[1];
        let rows = traces.time().partition_point(|&t| t < end);
        let found = |name: String| traces.column(&name).to_vec();
        let expected = |f: &dyn Fn(f64) -> f64| traces.time().iter().map(|&t| f(t)).collect::<Vec<_>>();
        let of_water = relative_error(&found(format!("REC.{wet}.POR")), &expected(&p));
        let of_steel = relative_error(&found(format!("REC.{dry}.V1"))[..rows], &expected(&transmitted));
        eprintln!("{element}: pressure {of_water:.2e}, velocity {of_steel:.2e}");
        assert!(of_water < 0.02 && of_steel < 0.02, "{element}: {of_water} {of_steel}");
    }
}

/// A mesh of CPE4 alone and a job: the material makes a fluid of it, the source a burst, and a layer at the end takes it away.
#[test]
fn a_job_makes_water_of_a_mesh_and_absorbs_waves_in_it() {
    let (n, h) = (300, 1e-3);
    let tank = Tank { solid: STEEL, n: [n, 2, 0], h, n_fluid: 0, element: "AC2D4" };
    let mesh: Vec<String> = tank.deck().lines().map(str::to_owned).collect();
    let is_section = |line: &String| line.starts_with("*Solid") || line.starts_with("*Material");
    let first = mesh.iter().position(is_section).unwrap();
    let sets = mesh.iter().position(|line| line.starts_with("*Nset")).unwrap();
    let deck = [&mesh[..first], &mesh[sets..]].concat().join("\n");
    let c = sound();
    let (frequency, time) = (c / (20.0 * h), 2.0 * n as f64 * h / c);
    let job = format!(
        "[solver]\ntime = {time:e}\nincrement_factor = 0.5\n[[material]]\nname = \"water\"\ndensity = {WATER:e}\nsound_speed = {c}\n\
         [[source]]\nnset = \"START\"\npressure = 2.0\namplitude = {{ kind = \"hann\", frequency = {frequency:e}, cycles = 3 }}\n\
         [[monitor]]\nname = \"M\"\nat = [0.06, 0.001]\nvariables = \"POR\"\n\
         [[absorbing]]\nside = \"xmax\"\ndepth = 0.06\nprofile = \"damping\"\nd_max = 6e5\n\
         [[field]]\nquantities = [\"pressure\", \"displacement\"]\ncount = 2\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    let output = succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("AC2D4"), "{said}");
    let [traces, energy] = solve(folder, "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    let p = &traces.columns[1];
    assert!(traces.names[1].starts_with("M.") && traces.names[1].ends_with(".POR"), "{:?}", traces.names);
    let largest = |p: &[f64]| p.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let passed = traces.time().partition_point(|&t| t < 1.2 * (0.06 / c + 3.0 / frequency));
    let (sent, back) = (largest(p), largest(&p[passed..]));
    assert!((sent / 1.89 - 1.0).abs() < 0.02 && back < 0.01 * sent, "{sent} {back}");
    let fields = std::fs::read_dir(folder.join("out/fields")).unwrap().map(|entry| entry.unwrap().path());
    let vtu = fields.into_iter().find(|path| path.extension().is_some_and(|end| end == "vtu")).unwrap();
    assert!(String::from_utf8_lossy(&std::fs::read(vtu).unwrap()).contains("Name=\"pressure\""));
}

/// What has no meaning in a fluid is refused where it stands, and what is not computed says so.
#[test]
fn mistakes_with_fluids_are_told() {
    let tank = Tank { solid: STEEL, n: [8, 4, 0], h: 1e-3, n_fluid: 4, element: "AC2D4" };
    let deck = |loads: &str| tank.deck() + "*Nset, nset=REC\n3,\n" + &step(1e-8, 1e-7, loads, "POR");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |deck: &str| {
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        let output = command("pogo-block").current_dir(folder).args(["model.inp", "-q"]).output().unwrap();
        assert!(!output.status.success() && !folder.join("model.blk").exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (deck, expected) in [
        (deck("*Cload\nSTART, 1, 1.\n"), "force on node 1 of a fluid"),
        (deck("*Boundary\nEND, 8, 8, 1.\n"), "none of its nodes is one of a fluid"),
        (deck("*Dload\nFLUID, P1, 1.\n"), "acts on faces of a fluid"),
        (deck("").replace("*Acoustic Medium, bulk modulus\n2.2e9,", "*Elastic\n1e9, 0.3"), "which is no fluid"),
        (deck("").replace("2.2e9,", "-1.,"), "positive bulk modulus"),
        (deck("").replace("bulk modulus", "volumetric drag"), "VOLUMETRIC DRAG"),
    ] {
        let said = refused(&deck);
        assert!(said.contains(expected) && said.contains("model.inp"), "{expected}: {said}");
    }
    block(folder, &deck("*Boundary\nSTART, 8, 8\n"));
    for (arguments, expected) in
        [(&["--set", "section.FLUID.material=STEEL"][..], "which is no fluid"), (&["--pogo-files"], "no pressures")]
    {
        let solve =
            command("pogo-solve").current_dir(folder).args(["model.blk", "-q"]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&solve.stderr);
        assert!(!solve.status.success() && said.contains(expected), "{expected}: {said}");
    }
    let [traces, _] = solve(folder, "out", &["--set", "material.WATER.bulk=2e9", "--device", "auto"]);
    assert_eq!(traces.names, ["time", "REC.3.POR"]);
}

/// Complex numbers, for spectra.
#[derive(Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    fn exp(self) -> Self {
        let size = self.0.exp();
        Self(size * self.1.cos(), size * self.1.sin())
    }

    fn inverse(self) -> Self {
        let square = self.0 * self.0 + self.1 * self.1;
        Self(self.0 / square, -self.1 / square)
    }

    /// The root with a positive real part.
    fn sqrt(self) -> Self {
        let size = self.0.hypot(self.1);
        let re = (0.5 * (size + self.0)).max(0.0).sqrt();
        Self(re, (0.5 * (size - self.0)).max(0.0).sqrt().copysign(self.1))
    }
}

impl std::ops::Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

impl std::ops::Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }
}

impl std::ops::Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }
}

fn real(value: f64) -> Complex {
    Complex(value, 0.0)
}

/// Decay rate along the depth of a wave of speed `c`: √(k² − ω²/c²), s = iω (Laplace).
fn decay(k: f64, s: Complex, c: f64) -> Complex {
    (real(k * k) + s * s * real(1.0 / (c * c))).sqrt()
}

/// Pressure on a half space over the displacement of its surface into it, for waves e^{ikx + st} (Lamb):
/// μ [(b² + k²)² − 4abk²] c_S² / (a s²) with a² = k² + s²/c_P², b² = k² + s²/c_S².
fn stiffness(solid: &Solid, k: f64, s: Complex) -> Complex {
    let ([p, t], shear) = (solid.speeds(), solid.shear());
    let (a, b) = (decay(k, s, p), decay(k, s, t));
    let square = b * b + real(k * k);
    let rayleigh = square * square - real(4.0 * k * k) * a * b;
    real(shear * t * t) * rayleigh * (a * s * s).inverse()
}

/// Pressure at depth `z` of water of depth `depth` over a half space of steel, for 1 Pa cos(kx) at its top.
fn response(k: f64, s: Complex, z: f64, depth: f64) -> Complex {
    let a = decay(k, s, sound());
    // p = A e^{−az} + B e^{az}; u = −p′/(ρ s²), and p = K u at the bottom: a wave (A e^{−az}) has p = Z u, Z = ρ s²/a.
    let z_water = real(WATER) * s * s * a.inverse();
    let z_steel = stiffness(&STEEL, k, s);
    let reflection = (z_steel - z_water) * (z_steel + z_water).inverse();
    let down = (real(-z) * a).exp();
    let up = reflection * (real(z - 2.0 * depth) * a).exp();
    (down + up) * (real(1.0) + reflection * (real(-2.0 * depth) * a).exp()).inverse()
}

/// A column of water over a solid between walls where cos(kx) has its extremes, so that a pressure cos(kx) at the top stays one.
/// Its angle of incidence is asin(k c/ω).
fn column(solid: Solid, per_half_wave: usize, [n_water, n_solid]: [usize; 2], half_wave: f64) -> (Tank, String) {
    let h = half_wave / per_half_wave as f64;
    let tank = Tank { solid, n: [n_water + n_solid, per_half_wave, 0], h, n_fluid: n_water, element: "AC2D4" };
    let mut deck = tank.deck();
    writeln!(deck, "*Nset, nset=WALLS").unwrap();
    for j in [0, per_half_wave] {
        (0..=tank.n[0]).for_each(|i| writeln!(deck, "{},", tank.label([i, j, 0])).unwrap());
    }
    deck += "*Boundary\nWALLS, 2, 2\n";
    (tank, deck)
}

/// Largest error of the pressure in water over steel, for a burst that comes at an angle: its lateral wavenumber is
/// k = ω sin θ / c, that of the column. The mesh has 15 `fine` elements for a wave in water along its way.
fn reflection_error(degrees: f64, fine: usize) -> f64 {
    let (frequency, n_water, n_steel, receiver) = (1e6, 30 * fine, 200 * fine, 20 * fine);
    let k = 2.0 * PI * frequency * degrees.to_radians().sin() / sound();
    let n = fine * (PI / k / 0.1e-3).round() as usize;
    let (tank, mut deck) = column(STEEL, n, [n_water, n_steel], PI / k);
    let (h, length) = (tank.h, 2.0 / frequency);
    let burst = move |t: f64| match (0.0..length).contains(&t) {
        true => 0.5 * (1.0 - (2.0 * PI * t / length).cos()) * (2.0 * PI * frequency * t).sin(),
        false => 0.0,
    };
    let dt = 0.6 * h / 6100.0;
    // The end of the steel is not heard.
    let time = (2.0 * n_steel as f64 * h / 6100.0).min(6.5e-6);
    let n_steps = (time / dt) as usize;
    let rec = tank.label([receiver, 0, 0]);
    write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
    deck += &amplitude(burst, dt, (length / dt) as usize + 1);
    let mut held = String::from("*Boundary, amplitude=P\n");
    for j in 0..=n {
        writeln!(held, "{}, 8, 8, {:e}", tank.label([0, j, 0]), (k * j as f64 * h).cos()).unwrap();
    }
    deck += &step(dt, n_steps as f64 * dt, &held, "POR");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{degrees}°: {}", imbalance(&energy));
    let found = traces.column(&format!("REC.{rec}.POR"));
    let expected = exact(burst, (k, receiver as f64 * h, n_water as f64 * h), traces.time());
    let error = relative_error(found, &expected);
    eprintln!("{degrees}°: {n} × {} elements, {n_steps} steps, error {error:.4}", tank.n[0]);
    error
}

/// The error is that of the mesh: it falls to a quarter with half the element size.
fn check_reflection(degrees: f64) {
    let errors = [1, 2].map(|fine| reflection_error(degrees, fine));
    assert!(errors[1] < 0.12 && errors[0] > 3.2 * errors[1], "{degrees}°: {errors:?}");
}

/// Between the critical angles of P (14°) and S (27°), and beyond both, against the exact solution in the Laplace domain.
#[test]
fn waves_are_reflected_by_steel_as_theory_says() {
    [20.0, 50.0].into_iter().for_each(check_reflection);
}

#[test]
#[ignore = "slow, a wide column for each angle: .ci/run --slow runs it"]
fn waves_are_reflected_by_steel_as_theory_says_at_all_angles() {
    [8.0, 13.0, 16.0, 24.0, 26.0, 28.0, 35.0, 70.0].into_iter().for_each(check_reflection);
}

/// The pressure at some times by a numerical inverse Laplace transform (Fourier along Re s = const).
fn exact(burst: impl Fn(f64) -> f64, (k, z, depth): (f64, f64, f64), times: &[f64]) -> Vec<f64> {
    let end = times[times.len() - 1];
    // Period twice the run, damped by e^{−9} over it, so that what comes round again is not seen.
    let (period, sigma) = (2.0 * end, 9.0 / (2.0 * end));
    let (n_samples, n_frequencies) = (4000, 120);
    let dt = period / f64::from(n_samples);
    let mut spectrum = Vec::new();
    for m in 0..n_frequencies {
        let s = Complex(sigma, 2.0 * PI * f64::from(m) / period);
        let mut source = real(0.0);
        for n in 0..n_samples {
            let t = f64::from(n) * dt;
            let a = burst(t);
            if a != 0.0 {
                source = source + real(a * dt) * (real(-t) * s).exp();
            }
        }
        spectrum.push((s, source * response(k, s, z, depth)));
    }
    let value = |&t: &f64| {
        let terms = spectrum.iter().enumerate().map(|(m, &(s, value))| {
            let term = value * (real(t) * s).exp();
            if m == 0 { 0.5 * term.0 } else { term.0 }
        });
        2.0 / period * terms.sum::<f64>()
    };
    times.iter().map(value).collect()
}

/// Speed of the Scholte wave of water and perspex: the root of K_solid + ρ s²/a = 0 for s = ikv.
fn scholte() -> f64 {
    let k = 1.0;
    let function = |v: f64| {
        let s = Complex(0.0, k * v);
        (stiffness(&PERSPEX, k, s) + real(WATER) * s * s * decay(k, s, sound()).inverse()).0
    };
    let (mut low, mut high) = (0.5 * PERSPEX.speeds()[1], 0.99999 * PERSPEX.speeds()[1]);
    assert!(function(low) * function(high) < 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if function(low) * function(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// The only wave that is slower than sound in water and shear waves in perspex stays at the interface and rings on.
#[test]
fn scholte_waves_have_their_speed() {
    let (half_wave, n) = (1e-3, 24);
    let speed = scholte();
    let (tank, mut deck) = column(PERSPEX, n, [4 * n, 4 * n], half_wave);
    let period = 2.0 * half_wave / speed;
    let dt = 0.6 * tank.h / 2750.0;
    let rec = tank.label([tank.n_fluid, 0, 0]);
    write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
    deck += &amplitude(|t| (2.0 * PI * t / period).sin() * pulse(t, 12.0 * period), dt, (12.0 * period / dt) as usize);
    let mut loads = String::from("*Cload, amplitude=P\n");
    for j in 0..=n {
        writeln!(loads, "{}, 8, {:e}", tank.label([tank.n_fluid, j, 0]), (PI * j as f64 / n as f64).cos()).unwrap();
    }
    deck += &step(dt, 30.0 * period, &loads, "POR");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, _] = solve(folder.path(), "out", &ALONE);
    let from = traces.time().partition_point(|&t| t < 14.0 * period);
    let p = traces.column(&format!("REC.{rec}.POR"));
    let found = angular_frequency(&traces.time()[from..], &p[from..]) * half_wave / PI;
    eprintln!("Scholte: {found} m/s, theory {speed}, sound {}", sound());
    assert!((found / speed - 1.0).abs() < 1e-3, "{found} instead of {speed}");
}

/// The bound on the increment holds where the fluid is stiff beside a light solid, and the other way round, also where both are
/// damped in proportion to their stiffness: at 0.9999 of it nothing grows.
#[test]
fn the_increment_is_stable_whatever_touches() {
    let foam = || Solid(1e6, 0.2, 30.0);
    let pairs = [(foam(), 13500.0, 2.8e10), (STEEL, WATER, BULK), (STEEL, 1.2, 1.4e5)];
    for ((solid, density, bulk), damping) in pairs.into_iter().flat_map(|pair| [(pair, 0.0), (pair, 0.3)]) {
        let beta = damping * 1e-3 / solid.speeds()[0];
        let tank = Tank { solid, n: [16, 10, 0], h: 1e-3, n_fluid: 8, element: "AC2D4" };
        let [wet, dry] = [[2, 2, 0], [14, 2, 0]].map(|node| tank.label(node));
        let mesh = tank.deck().replace(&format!("{WATER},"), &format!("{density},"));
        let mesh = mesh.replace(&format!("{BULK:e},"), &format!("{bulk:e},")) + &format!("*Nset, nset=REC\n{wet},\n");
        let mesh = mesh.replace("*Elastic", &format!("*Damping, beta={beta:e}\n*Elastic"));
        let of_fluid = damping * 1e-3 / (bulk / density).sqrt();
        let mesh = mesh.replace("*Acoustic", &format!("*Damping, beta={of_fluid:e}\n*Acoustic"));
        let loads = format!("*Cload, amplitude=P\n{wet}, 8, 1.\n{dry}, 1, 1.\n");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let run = |dt: f64, n_steps: usize| {
            let pulse = amplitude(|t| pulse(t, 40.0 * dt), dt, 40);
            block(folder, &(mesh.clone() + &pulse + &step(dt, n_steps as f64 * dt, &loads, "POR")));
            let [_, energy] = solve(folder, "out", &ALONE);
            let text = std::fs::read_to_string(folder.join("out/summary.json")).unwrap();
            let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
            (energy, summary["stable_increment"].as_f64().unwrap())
        };
        let limit = run(1e-12, 5).1;
        let (energy, _) = run(0.9999 * limit, 5000);
        let largest = |name: &str| energy.column(name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let put_in = largest("external");
        assert!(largest("kinetic") < 1.1 * put_in && largest("strain") < 1.1 * put_in && imbalance(&energy) < 1e-11);
        // The foam's nodes are light for the stiff fluid that they move.
        assert!(density < 2000.0 || limit < 0.1e-3 / (bulk / density).sqrt(), "{limit}");
    }
}

/// A tank of water and steel with all that acts on either: the same bits for every number of threads and parts, and after a
/// Runs `model.blk` of a folder by several threads, by parts, and across a restart: traces and energies are the same bytes as those of
/// `whole`, its run alone in f64. In f32 the trace `name` is near that, and the energies balance.
fn same_bits_in_all_ways(folder: &Path, what: &str, whole: &Traces, name: &str) {
    let bytes =
        |out: &str| ["traces.csv", "energy.csv"].map(|file| std::fs::read(folder.join(out).join(file)).unwrap());
    for (out, arguments) in [("threads", ["--threads", "3"]), ("parts", ["--device", "cpu,cpu,cpu"])] {
        let _ = solve(folder, out, &[&arguments[..], &["--precision", "f64"]].concat());
        assert!(bytes("whole") == bytes(out), "{what}: {out}");
    }
    for precision in ["f64", "f32"] {
        let [first, all] = [format!("half-{precision}"), format!("all-{precision}")];
        let long = ["--precision", precision, "--threads", "1"];
        let [single, energy] = solve(folder, &all, &long);
        let halved = [&long[..], &["--time", "12.8e-6", "--keep-checkpoint"]].concat();
        let _ = solve(folder, &first, &halved);
        let _ = solve(folder, &first, &[&long[..], &["--restart"]].concat());
        assert!(bytes(&all)[0] == bytes(&first)[0], "{what}, {precision}: restart");
        let error = relative_error(single.column(name), whole.column(name));
        assert!(error < 1e-4 && imbalance(&energy) < 1e-4, "{what}: {error}, {}", imbalance(&energy));
    }
}

/// restart; single precision near double.
#[test]
fn coupled_models_have_the_same_bits_in_parts_and_after_a_restart() {
    for (element, n) in [("AC2D4", [60, 40, 0]), ("AC2D3", [60, 40, 0]), ("AC3D8", [16, 12, 12])] {
        let h = 1e-3;
        let tank = Tank { solid: STEEL, n, h, n_fluid: n[0] / 2, element };
        let middle = n[2] / 2;
        let [wet, dry, joint, far] =
            [[4, 3, middle], [n[0] - 3, 5, middle], [n[0] / 2, 7, middle], [n[0], 2, middle]].map(|at| tank.label(at));
        let mut deck = tank.deck();
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}, {joint}, {far}\n*Boundary\nEND, 1, 1\n").unwrap();
        deck = deck.replace("*Elastic", "*Damping, alpha=2e4\n*Elastic");
        deck += &amplitude(|t| pulse(t, 8e-6), 1e-7, 80);
        let loads =
            format!("*Cload, amplitude=P\n{wet}, 8, 1e-3\n{dry}, 1, 5.\n*Boundary, amplitude=P\n{joint}, 1, 1, 1e-9\n");
        deck += &step(8e-8, 320.0 * 8e-8, &loads, "POR, U, V, RF");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet", "--block-nodes", "128"]));
        let [whole, energy] = solve(folder, "whole", &ALONE);
        assert!(imbalance(&energy) < 1e-11, "{element}: {}", imbalance(&energy));
        let largest = |name: String| whole.column(&name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for name in [format!("REC.{joint}.POR"), format!("REC.{joint}.U2"), format!("REC.{far}.RF1")] {
            assert!(largest(name.clone()) > 0.0, "{element}: {name}");
        }
        same_bits_in_all_ways(folder, element, &whole, &format!("REC.{wet}.POR"));
    }
}
