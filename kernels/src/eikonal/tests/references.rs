//! Results of independent codes in `$POGO_SHARED/refs/eikonal`.

use std::io::Read;

use super::*;

/// The numbers of an array of an `.npz` file.
fn array(path: &std::path::Path, name: &str) -> Vec<f64> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let index = archive.index_for_name(&format!("{name}.npy")).unwrap();
    let mut entry = archive.by_index_raw(index).unwrap();
    let mut packed = Vec::new();
    entry.read_to_end(&mut packed).unwrap();
    let mut bytes = Vec::new();
    match entry.compression() {
        zip::CompressionMethod::DEFLATE => {
            flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        }
        _ => bytes = packed,
    }
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..data]).into_owned();
    let bytes = &bytes[data..];
    match header.split('\'').find(|word| word.starts_with('<')).unwrap() {
        "<f4" => bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect(),
        "<i4" => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect(),
        _ => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
    }
}

/// fimpy 1.2.2 with its tolerance at 1e-12, confirmed by a second code to 3e-12.
fn compare<const N: usize>(file: &str, dimension: usize, worst_exact: f64) {
    let Some(folder) = pogo_tests::shared("refs/eikonal") else { return };
    let path = folder.join(file);
    let points: Vec<[f64; 3]> = array(&path, "points")
        .chunks_exact(dimension)
        .map(|x| std::array::from_fn(|c| if c < dimension { x[c] } else { 0.0 }))
        .collect();
    let elements: Vec<[u32; N]> =
        array(&path, "elems").as_chunks::<N>().0.iter().map(|nodes| nodes.map(|node| node as u32)).collect();
    let mesh = ordered(&points, &elements);
    let d = array(&path, "D_const");
    let metric = if dimension == 3 {
        inverse(std::array::from_fn(|i| std::array::from_fn(|j| d[3 * i + j])))
    } else {
        inverse([[d[0], d[1], 0.0], [d[2], d[3], 0.0], [0.0, 0.0, 1.0]])
    };
    let start = array(&path, "start_nodes")[0] as u32;
    let start = mesh.original_node.iter().position(|&old| old == start).unwrap() as u32;
    let (arrival, exact) = (array(&path, "arrival"), array(&path, "exact"));
    let in_order = |values: &[f64]| mesh.original_node.iter().map(|&old| values[old as usize]).collect::<Vec<f64>>();
    let (expected, exact) = (in_order(&arrival), in_order(&exact));
    for local_solver in VARIANTS {
        let settings = EikonalSettings { local_solver, ..Default::default() };
        let found = solve::<f64>(&problem(&mesh, &[metric]), &[(start, 0.0)], &settings).unwrap();
        let (apart, error) = (worst(&found.time, &expected), worst(&found.time, &exact));
        assert!(apart < 1e-9, "{file}: {apart:e}");
        assert!(error <= worst_exact, "{file}: {error} from exact");
        let single = solve::<f32>(&problem(&mesh, &[metric]), &[(start, 0.0)], &settings).unwrap();
        let expected: Vec<f32> = expected.iter().map(|&t| t as f32).collect();
        let apart = worst(&single.time, &expected) / expected.iter().fold(0.0_f32, |a, &b| a.max(b)).to_f64();
        assert!(apart < 2e-6, "{file}: {apart:e} of the latest time in f32");
    }
}

/// Of a symmetric matrix: xx, yy, zz, xy, yz, zx.
fn inverse(d: [[f64; 3]; 3]) -> [f64; 6] {
    let minor = |i: usize, j: usize| {
        let ([a, b], [c, e]) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
        d[a][c] * d[b][e] - d[a][e] * d[b][c]
    };
    let determinant: f64 = (0..3).map(|j| d[0][j] * minor(0, j)).sum();
    [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)].map(|(i, j)| minor(i, j) / determinant)
}

#[test]
fn tetrahedra_agree_with_an_independent_code() {
    compare::<4>("cube_gmsh_const.npz", 3, 0.2198);
}

#[test]
fn triangles_agree_with_an_independent_code() {
    compare::<3>("tri2d_const.npz", 2, 0.2);
}
