//! The paper's mechanical component (Section 4.2, Fig. 10 and Table 1).
//!
//! Fig. 10's dimensions are chosen here: a spur gear of 24 involute teeth (module 5 mm, pressure angle 20°) with a
//! keyed bore and six lightening holes: seven internal boundaries. All nodes on one flank of the top tooth are pushed in
//! direction (−1, −0.8); the monitor is on the tip of the opposite tooth. At the paper's element size, 80 µm, the mesh
//! has the paper's 1.45 million nodes.

use std::f64::consts::{FRAC_PI_2, TAU};

use pogo_formats::explicit::Model;

use super::assemble::{Action, Signal, assemble, isotropic};
use super::outline::{Outline, Role};
use super::triangles::fill;
use super::{GenerateError, ModelOptions, check_size};

const N_TEETH: u32 = 24;
/// Radii in metres: tip, pitch, base (pitch × cos 20°), root; the fillet between root and flank.
const TIP: f64 = 65e-3;
const PITCH: f64 = 60e-3;
const ROOT: f64 = 53.75e-3;
const FILLET: f64 = 1.5e-3;
/// Pressure angle at the pitch circle, rad.
const PRESSURE_ANGLE: f64 = 20.0 * std::f64::consts::PI / 180.0;
const BORE: f64 = 15e-3;
/// Keyway: half its width, and its height above the centre.
const KEY_HALF_WIDTH: f64 = 2.5e-3;
const KEY_TOP: f64 = 18e-3;
const N_HOLES: u32 = 6;
const HOLE_RADIUS: f64 = 11.3e-3;
const HOLE_CIRCLE: f64 = 35e-3;

/// Default element size, m.
pub const SIZE: f64 = 80e-6;
/// Fillets and keyway cannot be meshed with larger elements.
const LARGEST_SIZE: f64 = 2e-3;

/// Builds the model.
///
/// # Errors
/// An element size that the geometry cannot have, or options that are not for this model.
pub fn gear(options: &ModelOptions) -> Result<Model, GenerateError> {
    let scale = options.scale;
    let size = check_size("gear", options, SIZE, LARGEST_SIZE)?;
    let mut outline = Outline::new(size);
    let (source, monitor) = teeth(&mut outline, scale);
    bore(&mut outline, scale);
    for hole in 0..N_HOLES {
        let angle = FRAC_PI_2 + TAU * (f64::from(hole) + 0.5) / f64::from(N_HOLES);
        outline.circle(polar(HOLE_CIRCLE * scale, angle), HOLE_RADIUS * scale, Role::Wall);
    }
    let mesh = fill(&outline, |_| 0)?;
    let action = Action {
        title: format!("Gear, element size {size:e} m"),
        source,
        force: [-1.0, -0.8],
        signal_name: "BURST",
        signal: Signal::hann_burst(options.frequency.unwrap_or(500e3), options.cycles.unwrap_or(2.0)),
        monitors: vec![("MONITOR", monitor)],
        node_sets: Vec::new(),
        time: options.time.unwrap_or(1e-3),
        increment: options.increment_for(size, 2e-9 / SIZE),
        n_fields: options.fields,
    };
    Ok(assemble(mesh, vec![isotropic("STEEL", 7850.0, 210e9, 0.3)], action))
}

fn polar(radius: f64, angle: f64) -> [f64; 2] {
    [radius * angle.cos(), radius * angle.sin()]
}

/// Involute function tan a − a of the angle a at which the involute has this radius.
fn involute(radius: f64, base: f64) -> f64 {
    let angle = (base / radius).min(1.0).acos();
    angle.tan() - angle
}

/// The toothed rim, counter-clockwise from the top tooth's right flank; gives that flank's nodes and the monitor's node.
fn teeth(outline: &mut Outline, scale: f64) -> (Vec<u32>, u32) {
    let base = PITCH * PRESSURE_ANGLE.cos();
    let tooth_pitch = TAU / f64::from(N_TEETH);
    // Half the angle that a tooth covers at a radius, which is constant below the base circle.
    let half_angle = |radius: f64| {
        0.25 * tooth_pitch + involute(PITCH, base) - if radius > base { involute(radius, base) } else { 0.0 }
    };
    // The fillet touches the radial part of the flank and the root circle.
    let fillet_centre = ROOT + FILLET;
    let fillet_angle = (FILLET / fillet_centre).asin();
    let fillet_top = (fillet_centre * fillet_centre - FILLET * FILLET).sqrt();
    let at = |radius: f64, angle: f64| polar(radius * scale, angle);
    // From the flank (s = 0) to the root circle (s = 1), on the side that `side` points to.
    let fillet = |middle: f64, side: f64, s: f64| {
        let centre_angle = middle + side * (half_angle(base) + fillet_angle);
        let centre = at(fillet_centre, centre_angle);
        // Directions from its centre: at a right angle to the flank, and to the gear's centre.
        let start = middle + side * half_angle(base) - side * FRAC_PI_2;
        let turn = -side * (FRAC_PI_2 - fillet_angle);
        let offset = at(FILLET, start + s * turn);
        [centre[0] + offset[0], centre[1] + offset[1]]
    };
    // Equal steps of the squared radius are nearly equal steps of arc length, as they are on an involute.
    let flank = |middle: f64, side: f64, s: f64| {
        let radius = (fillet_top.powi(2) + s * (TIP.powi(2) - fillet_top.powi(2))).sqrt();
        at(radius, middle + side * half_angle(radius))
    };

    let mut source = Vec::new();
    let mut monitor = 0;
    let first = outline.point(flank(FRAC_PI_2, -1.0, 0.0));
    let mut start = first;
    for tooth in 0..N_TEETH {
        let middle = FRAC_PI_2 + tooth_pitch * f64::from(tooth);
        let tip_right = outline.point(flank(middle, -1.0, 1.0));
        let tip_middle = outline.point(at(TIP, middle));
        let tip_left = outline.point(flank(middle, 1.0, 1.0));
        let foot_left = outline.point(flank(middle, 1.0, 0.0));
        let root_left = outline.point(fillet(middle, 1.0, 1.0));
        let next = middle + tooth_pitch;
        let root_right = outline.point(fillet(next, -1.0, 1.0));
        let foot_right = if tooth + 1 == N_TEETH { first } else { outline.point(flank(next, -1.0, 0.0)) };

        let right = outline.curve(start, tip_right, Role::Wall, |s| flank(middle, -1.0, s));
        let tip = half_angle(TIP);
        outline.curve(tip_right, tip_middle, Role::Wall, |s| at(TIP, middle - tip * (1.0 - s)));
        outline.curve(tip_middle, tip_left, Role::Wall, |s| at(TIP, middle + tip * s));
        outline.curve(tip_left, foot_left, Role::Wall, |s| flank(middle, 1.0, 1.0 - s));
        outline.curve(foot_left, root_left, Role::Wall, |s| fillet(middle, 1.0, s));
        let root = half_angle(base) + 2.0 * fillet_angle;
        let root = [middle + half_angle(base) + fillet_angle, next - root + fillet_angle];
        outline.curve(root_left, root_right, Role::Wall, |s| at(ROOT, root[0] + s * (root[1] - root[0])));
        outline.curve(root_right, foot_right, Role::Wall, |s| fillet(next, -1.0, 1.0 - s));
        start = foot_right;
        if tooth == 0 {
            source = right;
        }
        if tooth == N_TEETH / 2 {
            monitor = tip_middle;
        }
    }
    (source, monitor)
}

/// The bore with its keyway on top.
fn bore(outline: &mut Outline, scale: f64) {
    let half = (KEY_HALF_WIDTH / BORE).asin();
    let at = |x: f64, y: f64| [x * scale, y * scale];
    let right = outline.point(polar(BORE * scale, FRAC_PI_2 - half));
    let left = outline.point(polar(BORE * scale, FRAC_PI_2 + half));
    let top_right = outline.point(at(KEY_HALF_WIDTH, KEY_TOP));
    let top_left = outline.point(at(-KEY_HALF_WIDTH, KEY_TOP));
    outline.curve(left, right, Role::Wall, |s| polar(BORE * scale, FRAC_PI_2 + half + s * (TAU - 2.0 * half)));
    outline.straight(right, top_right, Role::Wall);
    outline.straight(top_right, top_left, Role::Wall);
    outline.straight(top_left, left, Role::Wall);
}
