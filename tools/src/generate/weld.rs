//! The paper's weld inspection (Section 4.1, Fig. 6 and Table 1).
//!
//! Fig. 6's dimensions are chosen here: a steel plate with a single-V butt weld of a second steel, its cap and its root
//! bead, and a crack along the left fusion line. A force at 45° downwards to the right on part of the top surface
//! sends a shear beam that is reflected at the bottom and meets the crack at a right angle: the usual angle-beam inspection.
//! At the paper's element size, 40 µm, the mesh has the paper's 0.96 million nodes.

use pogo_formats::explicit::Model;
use pogo_formats::mesh::NamedSet;

use super::assemble::{Action, Signal, assemble, isotropic};
use super::outline::{Outline, Role};
use super::triangles::{fill, open_slit};
use super::{GenerateError, ModelOptions, check_size};

/// Dimensions in metres, x along the plate, y upwards from its lower face.
mod plate {
    pub const LENGTH: f64 = 64.8e-3;
    pub const THICKNESS: f64 = 20e-3;
    pub const WELD_CENTRE: f64 = 40e-3;
    pub const ROOT_HALF_WIDTH: f64 = 1.5e-3;
    /// Half the included angle of the V, rad.
    pub const HALF_ANGLE: f64 = 30.0 * std::f64::consts::PI / 180.0;
    pub const CAP_HEIGHT: f64 = 2e-3;
    pub const ROOT_HEIGHT: f64 = 0.8e-3;
    /// Heights of the ends of the crack.
    pub const CRACK: [f64; 2] = [6e-3, 10e-3];
    pub const SOURCE: [f64; 2] = [3e-3, 9e-3];
    pub const MONITORS: [f64; 2] = [14e-3, 60e-3];
}

/// Default element size, m.
pub const SIZE: f64 = 40e-6;
/// The weld's root cannot be meshed with larger elements.
const LARGEST_SIZE: f64 = 1.2e-3;

/// Builds the model.
///
/// # Errors
/// An element size that the geometry cannot have, or options that are not for this model.
pub fn weld(options: &ModelOptions) -> Result<Model, GenerateError> {
    let scale = options.scale;
    let size = check_size("weld", options, SIZE, LARGEST_SIZE)?;
    let mut outline = Outline::new(size);
    let mut at = |x: f64, y: f64| outline.point([x * scale, y * scale]);

    let top = plate::THICKNESS;
    let half_width = |y: f64| plate::ROOT_HALF_WIDTH + y * plate::HALF_ANGLE.tan();
    let fusion = |side: f64, y: f64| (plate::WELD_CENTRE + side * half_width(y), y);
    let corners = [at(0.0, 0.0), at(plate::LENGTH, 0.0), at(plate::LENGTH, top), at(0.0, top)];
    let [root_left, root_right, cap_left, cap_right] =
        [(-1.0, 0.0), (1.0, 0.0), (-1.0, top), (1.0, top)].map(|(side, y)| fusion(side, y)).map(|(x, y)| at(x, y));
    let crack = plate::CRACK.map(|y| fusion(-1.0, y)).map(|(x, y)| at(x, y));
    let source = plate::SOURCE.map(|x| at(x, top));
    let monitors = plate::MONITORS.map(|x| at(x, top));

    outline.straight(corners[0], root_left, Role::Wall);
    outline.straight(root_right, corners[1], Role::Wall);
    outline.straight(corners[1], corners[2], Role::Wall);
    outline.straight(corners[2], monitors[1], Role::Wall);
    outline.straight(monitors[1], cap_right, Role::Wall);
    outline.straight(cap_left, monitors[0], Role::Wall);
    outline.straight(monitors[0], source[1], Role::Wall);
    let source_nodes = outline.straight(source[1], source[0], Role::Wall);
    outline.straight(source[0], corners[3], Role::Wall);
    outline.straight(corners[3], corners[0], Role::Wall);
    bead(&mut outline, cap_right, cap_left, plate::CAP_HEIGHT * scale);
    bead(&mut outline, root_left, root_right, -plate::ROOT_HEIGHT * scale);
    outline.straight(root_left, crack[0], Role::Line);
    let crack_nodes = outline.straight(crack[0], crack[1], Role::Line);
    outline.straight(crack[1], cap_left, Role::Line);
    outline.straight(root_right, cap_right, Role::Line);

    let in_weld = |p: [f64; 2]| {
        let y = (p[1] / scale).clamp(0.0, top);
        (p[0] / scale - plate::WELD_CENTRE).abs() < half_width(y)
    };
    let mut mesh = fill(&outline, |p| u32::from(in_weld(p)))?;
    let mut node_sets = Vec::new();
    if !options.no_crack {
        let copies = open_slit(&mut mesh, &crack_nodes);
        let faces = copies.iter().map(|&(node, _)| node).chain(copies.iter().map(|&(_, copy)| copy));
        node_sets.push(NamedSet { name: "CRACK".to_owned(), members: faces.collect() });
    }

    let frequency = options.frequency.unwrap_or(5e6);
    let cycles = options.cycles.unwrap_or(5.0);
    // 1 kN a metre of plate width in all, so that displacements do not depend on the element size.
    let force = 1e3 * 0.5f64.sqrt() / source_nodes.len() as f64;
    let materials = vec![isotropic("BASE", 7850.0, 210e9, 0.3), isotropic("WELD", 7950.0, 193e9, 0.29)];
    let action = Action {
        title: format!("Weld inspection, element size {size:e} m"),
        source: source_nodes,
        force: [force, -force],
        signal_name: "BURST",
        signal: Signal::hann_burst(frequency, cycles),
        monitors: vec![("MONITOR-A", monitors[0]), ("MONITOR-B", monitors[1])],
        node_sets,
        time: options.time.unwrap_or(40e-6),
        increment: options.increment_for(size, 1e-9 / SIZE),
        n_fields: options.fields,
    };
    Ok(assemble(mesh, materials, action))
}

/// A circular arc between two points that rises `height` over the middle of its chord, to the right of from → to.
fn bead(outline: &mut Outline, from: u32, to: u32, height: f64) {
    let (a, b) = (outline.points[from as usize], outline.points[to as usize]);
    let half = 0.5 * (a[0] - b[0]).abs();
    let rise = height.abs();
    let radius = (half * half + rise * rise) / (2.0 * rise);
    let angle = (half / radius).asin();
    let (middle, sign) = (0.5 * (a[0] + b[0]), height.signum());
    let direction = (b[0] - a[0]).signum();
    outline.curve(from, to, Role::Wall, |s| {
        let theta = angle * (2.0 * s - 1.0);
        [middle + direction * radius * theta.sin(), a[1] + sign * (radius * theta.cos() - radius + rise)]
    });
}
