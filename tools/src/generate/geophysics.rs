//! The paper's geophysical example (Section 4.3, Fig. 12, Tables 1 and 3).
//!
//! Fig. 12's dimensions are chosen here: 6 km of ground, 3.65 km deep, three folded layers and a lens, of the four rocks
//! of Table 3. Left, right and lower sides absorb over 600 m with α = 500 (x/L)³ s⁻¹ for each element; in the deck
//! this is one material a rock and level, `ROCK4-ABS-057`, with as many levels as elements fit in the depth (at most
//! 120), so that the levels are as fine as the mesh. At the paper's element size, 5 m, the mesh has the paper's
//! 1.01 million nodes.

use std::f64::consts::TAU;

use pogo_formats::explicit::{Material, Model};

use super::assemble::{Action, Signal, assemble, from_wave_speeds};
use super::outline::{Outline, Role};
use super::triangles::{centroid, fill};
use super::{GenerateError, ModelOptions, check_size, refuse};

/// Metres; y is upwards from the free surface.
const WIDTH: f64 = 6000.0;
const DEPTH: f64 = 3650.0;
const ABSORBING_DEPTH: f64 = 600.0;
/// d of the paper, 1/s.
const ABSORBING_DAMPING: f64 = 500.0;
const MOST_LEVELS: u32 = 120;
const SOURCE: [f64; 2] = [1800.0, -200.0];
const RECEIVER: f64 = 4600.0;
const LENS_CENTRE: [f64; 2] = [3500.0, -1200.0];
const LENS_AXES: [f64; 2] = [620.0, 190.0];
const LENS_ANGLE: f64 = 0.15;

/// Default element size, m.
pub const SIZE: f64 = 5.0;
/// The layers cannot be meshed with larger elements.
const LARGEST_SIZE: f64 = 100.0;

/// Depth of the two interfaces between layers at x (m).
fn interfaces(x: f64) -> [f64; 2] {
    let wave = |length: f64, phase: f64| (TAU * (x / length + phase)).sin();
    [-620.0 - 90.0 * wave(4000.0, 0.1) - 0.02 * x, -1850.0 - 220.0 * wave(5200.0, 0.55) - 60.0 * wave(1700.0, 0.0)]
}

/// Builds the model.
///
/// # Errors
/// An element size that the geometry cannot have, or options that are not for this model.
pub fn geophysics(options: &ModelOptions) -> Result<Model, GenerateError> {
    let scale = options.scale;
    if options.frequency.is_some() || options.cycles.is_some() {
        return refuse("geophysics has no tone burst: leave --frequency and --cycles out");
    }
    let size = check_size("geophysics", options, SIZE, LARGEST_SIZE)?;
    let mut outline = Outline::new(size);
    let mut at = |x: f64, y: f64| outline.point([x * scale, y * scale]);
    let [left, right] = [0.0, WIDTH].map(|x| {
        let [upper, lower] = interfaces(x);
        [0.0, upper, lower, -DEPTH].map(|y| at(x, y))
    });
    let source = at(SOURCE[0], SOURCE[1]);
    let receiver = at(RECEIVER, 0.0);
    outline.straight(right[0], receiver, Role::Wall);
    outline.straight(receiver, left[0], Role::Wall);
    outline.straight(left[3], right[3], Role::Wall);
    for side in [left, right] {
        for pair in side.windows(2) {
            outline.straight(pair[0], pair[1], Role::Wall);
        }
    }
    for layer in 0..2 {
        let curve = |s: f64| [s * WIDTH * scale, interfaces(s * WIDTH)[layer] * scale];
        outline.curve(left[layer + 1], right[layer + 1], Role::Line, curve);
    }
    outline.ellipse(LENS_CENTRE.map(|x| x * scale), LENS_AXES.map(|x| x * scale), LENS_ANGLE, Role::Line);

    let rock = |p: [f64; 2]| {
        let p = p.map(|x| x / scale);
        let [upper, lower] = interfaces(p[0]);
        let (sin, cos) = LENS_ANGLE.sin_cos();
        let (x, y) = (p[0] - LENS_CENTRE[0], p[1] - LENS_CENTRE[1]);
        let in_lens = ((cos * x + sin * y) / LENS_AXES[0]).powi(2) + ((cos * y - sin * x) / LENS_AXES[1]).powi(2) < 1.0;
        match p[1] {
            _ if in_lens => 2,
            y if y > upper => 0,
            y if y > lower => 3,
            _ => 1,
        }
    };
    let mut mesh = fill(&outline, rock)?;

    let n_levels = ((ABSORBING_DEPTH * scale / size).ceil() as u32).clamp(1, MOST_LEVELS);
    for (region, triangle) in mesh.regions.iter_mut().zip(&mesh.triangles) {
        let centre = centroid(triangle.map(|node| mesh.points[node as usize])).map(|x| x / scale);
        let inwards = centre[0].min(WIDTH - centre[0]).min(centre[1] + DEPTH);
        let fraction = 1.0 - inwards / ABSORBING_DEPTH;
        if fraction > 0.0 {
            let level = ((fraction * f64::from(n_levels)) as u32).min(n_levels - 1);
            *region = 4 + *region * n_levels + level;
        }
    }
    let action = Action {
        title: format!("Geophysics, element size {size:e} m"),
        source: vec![source],
        force: [1e6, 4e6],
        signal_name: "PULSE",
        signal: gaussian(1000.0, 0.25),
        monitors: vec![("RECEIVER", receiver)],
        node_sets: Vec::new(),
        time: options.time.unwrap_or(5.0),
        increment: options.increment_for(size, 0.2e-3 / SIZE),
        n_fields: options.fields,
    };
    Ok(assemble(mesh, materials(n_levels), action))
}

/// exp[−k (t − t₀)²], cut where it is below 1e-15.
fn gaussian(rate: f64, peak: f64) -> Signal {
    let half = (15.0 * 10f64.ln() / rate).sqrt();
    let value = move |t: f64| (-rate * (t - peak).powi(2)).exp();
    // The spectrum exp(−π²f²/k) is down to 1e-4 at this period.
    let period = std::f64::consts::PI / (rate * 4.0 * 10f64.ln()).sqrt();
    Signal { value: Box::new(value), support: [peak - half, peak + half], period }
}

/// Table 3, then each rock's absorbing levels: α at the middle of a level.
fn materials(n_levels: u32) -> Vec<Material> {
    let rocks = [
        from_wave_speeds("ROCK1", 2600.0, 4000.0, 2000.0),
        from_wave_speeds("ROCK2", 2700.0, 6000.0, 3500.0),
        from_wave_speeds("ROCK3", 2500.0, 3600.0, 2100.0),
        from_wave_speeds("ROCK4", 2650.0, 5000.0, 2500.0),
    ];
    let mut materials = rocks.to_vec();
    for rock in &rocks {
        materials.extend((0..n_levels).map(|level| {
            let fraction = (f64::from(level) + 0.5) / f64::from(n_levels);
            let mut graded = rock.clone();
            graded.name = format!("{}-ABS-{:03}", rock.name, level + 1);
            graded.damping_alpha = super::assemble::short(ABSORBING_DAMPING * fraction.powi(3));
            graded
        }));
    }
    materials
}
