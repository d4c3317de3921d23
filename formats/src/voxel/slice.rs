//! Slices of voxels in colours.

use std::path::Path;

use crate::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use crate::write::OutputError;
use crate::write::plot::{Camera, Look, Spread, quantity_text, sheet};

/// Voxels with values below this share decide the end of the scale where few others are far above them: stress concentrates at
/// the corners of voxels.
pub const VOXELS: f64 = 0.99;

/// The layers of a voxel model along an axis, as pictures of one size.
#[derive(Debug)]
pub struct Layers<'a> {
    mesh: &'a VoxelMeshView<'a>,
    /// The axis.
    normal: usize,
    /// The other two.
    plane: [usize; 2],
    /// Lowest and highest indices of the voxels' box, the highest not included.
    bounds: [[u32; 3]; 2],
    /// m in a unit of length.
    metres: f64,
    /// From where; the same for all layers.
    pub camera: Camera,
}

/// The unit of length of a voxel model in metres.
pub fn metres(setup: &VoxelSetup) -> f64 {
    match setup.unit.as_str() {
        "um" => 1e-6,
        "mm" => 1e-3,
        "cm" => 1e-2,
        _ => 1.0,
    }
}

impl<'a> Layers<'a> {
    /// The layers across the axis that the setup's output asks for, in pictures of this width; none of a model without voxels.
    pub fn new(mesh: &'a VoxelMeshView<'a>, setup: &VoxelSetup, width: usize) -> Option<Self> {
        let bounds: [[u32; 3]; 2] = mesh.bricks.bounds()?;
        let normal = usize::from(setup.output.slice.0.min(2));
        let plane = [[1, 2], [0, 2], [0, 1]][normal];
        let metres = metres(setup);
        let place = |axis: usize, index: u32| metres * (mesh.origin[axis] + mesh.spacing * f64::from(index));
        let corner = |end: usize| [place(plane[0], bounds[end][plane[0]]), place(plane[1], bounds[end][plane[1]]), 0.0];
        let camera = Camera::new([corner(0), corner(1)], true, None, sheet::plot_width(width, true, true));
        Some(Self { mesh, normal, plane, bounds, metres, camera })
    }

    /// Number of layers.
    pub fn len(&self) -> usize {
        (self.bounds[1][self.normal] - self.bounds[0][self.normal]) as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The layer that the setup's output asks for.
    pub fn asked_for(&self, setup: &VoxelSetup) -> usize {
        ((setup.output.slice.1 * self.len() as f64) as usize).min(self.len().saturating_sub(1))
    }

    /// Names of the axes of the pictures.
    pub fn axes(&self) -> [&'static str; 2] {
        self.plane.map(|axis| ["x", "y", "z"][axis])
    }

    /// Which layer it is: `plane x-y at z = 1.5 mm, layer 12 of 40`.
    pub fn words(&self, layer: usize) -> String {
        let index = f64::from(self.bounds[0][self.normal]) + layer as f64 + 0.5;
        let at = self.metres * (self.mesh.origin[self.normal] + self.mesh.spacing * index);
        let [a, b] = self.axes();
        let normal = ["x", "y", "z"][self.normal];
        format!("plane {a}-{b} at {normal} = {}, layer {} of {}", quantity_text(at, "m"), layer + 1, self.len())
    }

    /// The value of each pixel in a layer, each voxel with `value(element, its eight nodes)`; NaN where there is no voxel. None
    /// where the layer has no voxel at all.
    pub fn values(&self, layer: usize, mut value: impl FnMut(u32, &[u32; 8]) -> f64) -> Option<Vec<f32>> {
        let (bricks, [low, high]) = (&self.mesh.bricks, self.bounds);
        let index = low[self.normal] + layer as u32;
        let size = self.plane.map(|axis| (high[axis] - low[axis]) as usize);
        let mut cells = vec![f32::NAN; size[0] * size[1]];
        let mut table = BrickNodes::default();
        let mut is_empty = true;
        for brick in 0..bricks.n_bricks() {
            let corner = bricks.corner(brick);
            if corner[self.normal] != index / 8 * 8 {
                continue;
            }
            table.load(bricks, brick);
            let elements = bricks.element_first[brick]..bricks.element_first[brick + 1];
            let voxels = bricks.element_positions(brick).zip(elements);
            for (at, element) in voxels.filter(|(at, _)| at[self.normal] == index) {
                let [a, b] = self.plane.map(|axis| (at[axis] - low[axis]) as usize);
                let nodes = table.element([0, 1, 2].map(|axis| at[axis] - corner[axis]));
                let found = value(element, &nodes);
                cells[b * size[0] + a] = if found.is_finite() { found as f32 } else { f32::INFINITY };
                is_empty = false;
            }
        }
        (!is_empty).then(|| self.pixels(&cells, size))
    }

    /// Each pixel has the value of the cell that its centre lies in.
    fn pixels(&self, cells: &[f32], size: [usize; 2]) -> Vec<f32> {
        let (camera, [low, high]) = (&self.camera, self.camera.bounds);
        let [left, top, _] = camera.project([low[0], high[1], 0.0]);
        let [right, bottom, _] = camera.project([high[0], low[1], 0.0]);
        let index = |at: f64, n: usize| (at >= 0.0 && at < n as f64).then_some(at as usize);
        let column = |x: usize| index((x as f64 + 0.5 - left) / (right - left) * size[0] as f64, size[0]);
        let row = |y: usize| index((bottom - y as f64 - 0.5) / (bottom - top) * size[1] as f64, size[1]);
        let columns: Vec<Option<usize>> = (0..camera.width).map(column).collect();
        let rows = (0..camera.height).map(row);
        let of_row = |b: Option<usize>| {
            let cell = move |a: &Option<usize>| a.zip(b).map(|(a, b)| b * size[0] + a);
            columns.iter().map(move |a| cell(a).map_or(f32::NAN, |cell| cells[cell]))
        };
        rows.flat_map(of_row).collect()
    }
}

/// Draws the slice that the setup's output asks for, each voxel with the value of `value(element, its eight nodes)`; false
/// where it would cut no voxel.
///
/// # Errors
/// [`OutputError::Io`].
pub fn draw(
    path: &Path,
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    look: Look,
    value: impl FnMut(u32, &[u32; 8]) -> f64,
) -> Result<bool, OutputError> {
    let Some(layers) = Layers::new(mesh, setup, look.width) else { return Ok(false) };
    let layer = layers.asked_for(setup);
    let Some(values) = layers.values(layer, value) else { return Ok(false) };
    let mut spread = Spread::default();
    spread.add(values.iter().copied());
    let look = Look { axes: layers.axes(), ..look };
    look.picture(&layers.camera, &values, &[], &look.scale(&spread), &layers.words(layer)).write_png(path)?;
    Ok(true)
}
