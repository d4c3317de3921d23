//! A left ventricle for arrival times: a truncated ellipsoid whose fibres turn through the wall, with a scar.
//!
//! The surface is a disc of triangles in hexagonal rings, ring k with 6 k nodes, laid on an ellipsoid from the apex (−z) to the base;
//! layers of it from endocardium to epicardium make prisms of three tetrahedra each. In an element at angle φ round the axis,
//! θ from the apex and depth t, the fibre lies at the helix angle α = 60° − 120° t between the circumferential and the
//! longitudinal direction, and the sheet points through the wall: a rule, as in idealised models of the heart.

use std::path::Path;

use pogo_formats::write::simplices::{DataArray, Simplices, Values, grid};
use pogo_formats::write::vtu;

use super::{GenerateError, refuse};
use crate::elements::{cross, norm};

/// What the ventricle can be varied in.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct VentricleOptions {
    /// Rings of nodes from the apex to the base.
    #[arg(long, default_value_t = 24, value_name = "N")]
    pub rings: u32,
    /// Layers of elements through the wall.
    #[arg(long, default_value_t = 6, value_name = "N")]
    pub layers: u32,
    /// Radius of the scar in mm; 0 for none.
    #[arg(long, default_value_t = 14.0, value_name = "MM")]
    pub scar: f64,
}

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct VentricleSummary {
    pub nodes: u64,
    pub elements: u64,
    pub scar_elements: u64,
}

impl std::fmt::Display for VentricleSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = |n: u64| pogo_formats::words::grouped(n);
        write!(f, "{} tetrahedra, {} nodes, {} in the scar", n(self.elements), n(self.nodes), n(self.scar_elements))
    }
}

/// Semi-axes across and along the axis, mm: endocardium and what the wall adds.
const INNER: [f64; 2] = [17.0, 42.0];
const WALL: [f64; 2] = [11.0, 8.0];
/// Angle from the apex to the base.
const BASE: f64 = 1.95;
/// Angles (θ, φ) of the middle of the scar.
const SCAR: [f64; 2] = [1.25, 0.6];

fn place(theta: f64, phi: f64, depth: f64) -> [f64; 3] {
    let [a, b] = [INNER[0] + depth * WALL[0], INNER[1] + depth * WALL[1]];
    [a * theta.sin() * phi.cos(), a * theta.sin() * phi.sin(), -b * theta.cos()]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = norm(a);
    a.map(|x| x / length)
}

/// Writes the model as `.vtu` with the cell arrays `fibre`, `sheet` and `region`: 1 wall, 2 scar, 3 the innermost layer outside
/// the scar. Lengths are in mm. The same options give the same bits.
///
/// # Errors
/// Numbers out of range, or the file cannot be written.
pub fn save_ventricle(options: &VentricleOptions, path: &Path) -> Result<VentricleSummary, GenerateError> {
    let (rings, layers) = (options.rings, options.layers);
    if !(2..=2000).contains(&rings) || !(1..=500).contains(&layers) {
        return refuse("--rings must lie between 2 and 2000, --layers between 1 and 500");
    }
    if !(options.scar >= 0.0 && options.scar.is_finite()) {
        return refuse("--scar must be a number of at least 0");
    }
    let Wall { coordinates, elements, fibre, sheet, region } = Wall::new(options);
    let (points, cells): (Vec<u32>, Vec<u32>) =
        ((0..coordinates.len() as u32 / 3).collect(), (0..region.len() as u32).collect());
    let mesh = Simplices {
        coordinates: &coordinates,
        elements: &elements,
        corners: 4,
        point_of_node: &points,
        cell_of_element: &cells,
    };
    let arrays = [
        DataArray { name: "fibre", components: 3, values: Values::F32(&fibre) },
        DataArray { name: "sheet", components: 3, values: Values::F32(&sheet) },
        DataArray { name: "region", components: 1, values: Values::U32(&region) },
    ];
    vtu::write(path, &grid(path, &mesh, &[], &arrays)?)?;
    Ok(VentricleSummary {
        nodes: points.len() as u64,
        elements: cells.len() as u64,
        scar_elements: region.iter().filter(|&&region| region == 2).count() as u64,
    })
}

/// A disc of rings of triangles, which is mapped to each layer of the wall.
struct Disc {
    /// θ and φ of each node; ring k begins at node 1 + 3 k (k − 1).
    nodes: Vec<[f64; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Disc {
    fn new(rings: u32) -> Self {
        let mut nodes = vec![[0.0, 0.0]];
        for k in 1..=rings {
            let theta = BASE * f64::from(k) / f64::from(rings);
            nodes.extend((0..6 * k).map(|i| [theta, std::f64::consts::TAU * f64::from(i) / f64::from(6 * k)]));
        }
        let first = |k: u32| if k == 0 { 0 } else { 1 + 3 * k * (k - 1) };
        let mut triangles = Vec::new();
        for k in 1..=rings {
            let outer = |i: u32| first(k) + i % (6 * k);
            let inner = |i: u32| if k == 1 { 0 } else { first(k - 1) + i % (6 * (k - 1)) };
            for sector in 0..6 {
                for i in 0..k {
                    triangles.push([outer(sector * k + i), outer(sector * k + i + 1), inner(sector * (k - 1) + i)]);
                    if i + 1 < k {
                        let (a, b) = (inner(sector * (k - 1) + i), inner(sector * (k - 1) + i + 1));
                        triangles.push([outer(sector * k + i + 1), b, a]);
                    }
                }
            }
        }
        Self { nodes, triangles }
    }
}

/// The wall of the ventricle in tetrahedra.
#[derive(Default)]
struct Wall {
    coordinates: Vec<f64>,
    elements: Vec<u32>,
    fibre: Vec<f32>,
    sheet: Vec<f32>,
    region: Vec<u32>,
}

impl Wall {
    fn new(options: &VentricleOptions) -> Self {
        let disc = Disc::new(options.rings);
        let n_disc = disc.nodes.len() as u32;
        let mut wall = Self::default();
        for layer in 0..=options.layers {
            let depth = f64::from(layer) / f64::from(options.layers);
            wall.coordinates.extend(disc.nodes.iter().flat_map(|&[theta, phi]| place(theta, phi, depth)));
        }
        for layer in 0..options.layers {
            for triangle in &disc.triangles {
                // Diagonals run from the lower number, so that neighbours agree on them.
                let mut corner = *triangle;
                corner.sort_unstable();
                let low = corner.map(|node| node + layer * n_disc);
                let high = low.map(|node| node + n_disc);
                wall.add(options, &disc, layer, [low[0], low[1], low[2], high[2]]);
                wall.add(options, &disc, layer, [low[0], low[1], high[1], high[2]]);
                wall.add(options, &disc, layer, [low[0], high[0], high[1], high[2]]);
            }
        }
        wall
    }

    /// Adds a tetrahedron with its directions. Fibres turn from 60° inside to −60° outside against the circumference.
    fn add(&mut self, options: &VentricleOptions, disc: &Disc, layer: u32, mut nodes: [u32; 4]) {
        let n_disc = disc.nodes.len() as u32;
        let x = nodes.map(|node| &self.coordinates[3 * node as usize..3 * node as usize + 3]);
        let [a, b, c] = [1, 2, 3].map(|i: usize| [0, 1, 2].map(|k| x[i][k] - x[0][k]));
        let normal = cross(a, b);
        if (0..3).map(|k| normal[k] * c[k]).sum::<f64>() < 0.0 {
            nodes.swap(1, 2);
        }
        let centre: [f64; 3] = std::array::from_fn(|k| 0.25 * x.iter().map(|x| x[k]).sum::<f64>());
        let mean = |of: &dyn Fn(u32) -> f64| 0.25 * nodes.iter().map(|&node| of(node)).sum::<f64>();
        let theta = mean(&|node| disc.nodes[(node % n_disc) as usize][0]);
        let depth = mean(&|node| f64::from(node / n_disc)) / f64::from(options.layers);
        let phi = centre[1].atan2(centre[0]);
        let [a, b] = [INNER[0] + depth * WALL[0], INNER[1] + depth * WALL[1]];
        let round = [-phi.sin(), phi.cos(), 0.0];
        let along = unit([a * theta.cos() * phi.cos(), a * theta.cos() * phi.sin(), b * theta.sin()]);
        let helix = (60.0 - 120.0 * depth).to_radians();
        self.fibre.extend((0..3).map(|k| (helix.cos() * round[k] + helix.sin() * along[k]) as f32));
        self.sheet.extend(cross(round, along).map(|x| x as f32));
        let middle = place(SCAR[0], SCAR[1], 0.5);
        let distance = (0..3).map(|k| (centre[k] - middle[k]).powi(2)).sum::<f64>().sqrt();
        self.region.push(match (distance < options.scar, layer) {
            (true, _) => 2_u32,
            (false, 0) => 3,
            (false, _) => 1,
        });
        self.elements.extend(nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tetrahedra_fill_the_wall_and_fibres_lie_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.vtu");
        let mesh_of = |rings: u32| {
            let options = VentricleOptions { rings, layers: 4, scar: 14.0 };
            let summary = save_ventricle(&options, &path).unwrap();
            (summary, pogo_formats::read::mesh::read(&path, &Default::default()).unwrap())
        };
        let (summary, mesh) = mesh_of(12);
        assert_eq!((summary.nodes, summary.elements), (5 * 469, 6 * 144 * 4 * 3));
        assert!(summary.scar_elements > 100);
        let volume_of = |mesh: &pogo_formats::read::mesh::MeshFile| {
            let mut volume = 0.0;
            for nodes in mesh.elements.chunks_exact(4) {
                let x = [0, 1, 2, 3].map(|k| mesh.point(nodes[k]));
                let e = [1, 2, 3].map(|i: usize| [0, 1, 2].map(|k| x[i][k] - x[0][k]));
                let normal = [
                    e[0][1] * e[1][2] - e[0][2] * e[1][1],
                    e[0][2] * e[1][0] - e[0][0] * e[1][2],
                    e[0][0] * e[1][1] - e[0][1] * e[1][0],
                ];
                let part = (0..3).map(|k| normal[k] * e[2][k]).sum::<f64>().abs() / 6.0;
                assert!(part > 1e-3, "a flat tetrahedron");
                volume += part;
            }
            volume
        };
        // x = (A sin θ, −B cos θ) with A = a + s w, B = b + s w' across the wall: V = 2π ∫∫ A sin θ (w' A cos² θ + w B sin² θ) dθ ds.
        const STEPS: usize = 400;
        let at = |i: usize| (i as f64 + 0.5) / STEPS as f64;
        let pieces = (0..STEPS * STEPS).map(|i| {
            let (s, theta) = (at(i / STEPS), BASE * at(i % STEPS));
            let [a, b] = [0, 1].map(|k| INNER[k] + s * WALL[k]);
            a * theta.sin() * (WALL[1] * a * theta.cos().powi(2) + WALL[0] * b * theta.sin().powi(2))
        });
        let exact = std::f64::consts::TAU * BASE / (STEPS * STEPS) as f64 * pieces.sum::<f64>();
        // Flat faces on a round wall: less by a share that falls with the square of their size.
        let [coarse, fine] = [volume_of(&mesh), volume_of(&mesh_of(24).1)].map(|volume| 1.0 - volume / exact);
        assert!(0.0 < fine && fine < 0.3 * coarse && coarse < 0.07, "{coarse} {fine}");
        for (fibre, sheet) in mesh.arrays[0].values.chunks(3).zip(mesh.arrays[1].values.chunks(3)) {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!((dot(fibre, fibre) - 1.0).abs() < 1e-6 && dot(fibre, sheet).abs() < 1e-6);
        }
        let wrong = VentricleOptions { rings: 1, layers: 6, scar: 14.0 };
        assert!(save_ventricle(&wrong, &path).is_err());
    }
}
