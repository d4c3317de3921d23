//! Fields over the voxels as a `.vti` or VTKHDF file, layer by layer.

use std::path::Path;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::BrickNodes;
use pogo_formats::voxel::setup::VoxelQuantity;
use pogo_formats::write::OutputError;
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::image_data::{ImageArray, ImageGrid};

use super::element::von_mises;
use super::elements::{Element, for_brick, gather, internal_force, unit_energies};
use super::results::Solution;

const VOIGT: &[&str] = &["XX", "YY", "ZZ", "YZ", "XZ", "XY"];

fn array(quantity: VoxelQuantity) -> ImageArray {
    let (name, components, at_points): (_, &'static [&'static str], _) = match quantity {
        VoxelQuantity::Displacement => ("displacement", &["X", "Y", "Z"], true),
        VoxelQuantity::Force => ("force", &["X", "Y", "Z"], true),
        VoxelQuantity::Strain => ("strain", VOIGT, false),
        VoxelQuantity::Stress => ("stress", VOIGT, false),
        VoxelQuantity::VonMises => ("von_mises", &[""], false),
        VoxelQuantity::EnergyDensity => ("energy_density", &[""], false),
        VoxelQuantity::EffectiveStrain => ("effective_strain", &[""], false),
        VoxelQuantity::Modulus => ("modulus", &[""], false),
    };
    ImageArray { name, components, at_points }
}

/// Values of an element's quantity.
fn values(solution: &Solution<'_>, quantity: VoxelQuantity, element: &Element) -> [f64; 6] {
    let h = solution.mesh.spacing;
    let (young, cube) = (solution.matter.young(element.number), solution.matter.cube(element.number));
    let u = gather(solution.displacement, &element.nodes);
    let strain = || cube.strain(&u).map(|e| e / h);
    let stress = || cube.stress(&strain()).map(|s| s * young);
    let unit_energy = || unit_energies(solution.matter, solution.displacement, &[*element]).mean[0];
    let scalar = |value: f64| [value, 0.0, 0.0, 0.0, 0.0, 0.0];
    match quantity {
        VoxelQuantity::Strain => strain(),
        VoxelQuantity::Stress => stress(),
        VoxelQuantity::VonMises => scalar(von_mises(&stress())),
        VoxelQuantity::EnergyDensity => scalar(unit_energy() * young / (h * h)),
        VoxelQuantity::EffectiveStrain => scalar((2.0 * unit_energy().max(0.0)).sqrt() / h),
        VoxelQuantity::Modulus => scalar(young),
        VoxelQuantity::Displacement | VoxelQuantity::Force => [0.0; 6],
    }
}

/// Writes fields over the bounding box of the voxels; void is 0 in all of them (threshold by `modulus` to see the solid).
pub(super) fn write(
    path: &Path,
    format: FieldFormat,
    solution: &Solution<'_>,
    quantities: &[VoxelQuantity],
) -> Result<(), OutputError> {
    let (mesh, bricks) = (solution.mesh, &solution.mesh.bricks);
    let Some([low, high]) = bricks.bounds() else { return Ok(()) };
    let cells = [0, 1, 2].map(|axis| (high[axis] - low[axis]) as usize);
    let grid = ImageGrid {
        cells,
        origin: [0, 1, 2].map(|axis| mesh.origin[axis] + mesh.spacing * f64::from(low[axis])),
        spacing: mesh.spacing,
        layer: 8,
        first_layer: 8 - low[2] as usize % 8,
    };
    let mut layers: Vec<(u32, usize)> = (0..bricks.n_bricks()).map(|brick| (bricks.corner(brick)[2], brick)).collect();
    layers.sort_unstable();
    let force = if quantities.contains(&VoxelQuantity::Force) { nodal_force(solution) } else { Vec::new() };
    let arrays: Vec<ImageArray> = quantities.iter().map(|&quantity| array(quantity)).collect();
    format.write_image(path, &grid, &arrays, |index, range, out| {
        let (quantity, array) = (quantities[index], &arrays[index]);
        let (first, last) = (low[2] + range.start as u32, low[2] + range.end as u32);
        let from = layers.partition_point(|&(z, _)| z + 8 <= first);
        let to = layers.partition_point(|&(z, _)| z < last);
        let n = array.components.len();
        let extra = usize::from(array.at_points);
        let (nx, ny) = (cells[0] + extra, cells[1] + extra);
        let found: Vec<Vec<([u32; 3], [f64; 6])>> = layers[from..to]
            .par_iter()
            .map(|&(_, brick)| {
                let mut found = Vec::new();
                if array.at_points {
                    let source = if quantity == VoxelQuantity::Force { &force } else { solution.displacement };
                    let nodes = bricks.node_first[brick] as usize..bricks.node_first[brick + 1] as usize;
                    for (at, node) in bricks.node_positions(brick).zip(nodes) {
                        found.push((at, std::array::from_fn(|c| if c < 3 { source[3 * node + c] } else { 0.0 })));
                    }
                } else {
                    for_brick(bricks, brick, &mut BrickNodes::default(), |element| {
                        found.push((element.position, values(solution, quantity, &element)));
                    });
                }
                found
            })
            .collect();
        for (at, values) in found.into_iter().flatten().filter(|(at, _)| at[2] >= first && at[2] < last) {
            let [x, y, z] = [(at[0] - low[0]) as usize, (at[1] - low[1]) as usize, (at[2] - first) as usize];
            let place = n * (x + nx * (y + ny * z));
            out[place..place + n].iter_mut().zip(values).for_each(|(out, value)| *out = value as f32);
        }
    })
}

/// K u at every node.
fn nodal_force(solution: &Solution<'_>) -> Vec<f64> {
    let mesh = solution.mesh;
    let mut out = vec![0.0; 3 * mesh.bricks.n_nodes()];
    let u = solution.displacement;
    internal_force(
        &mesh.bricks,
        solution.matter,
        mesh.spacing,
        u,
        |_| true,
        |node, force| {
            (0..3).for_each(|d| out[3 * node as usize + d] += force[d]);
        },
    );
    out
}
