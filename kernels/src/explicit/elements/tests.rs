//! Materials, masses and errors; the rest is tested through the steppers.

use pogo_formats::explicit::{Elasticity, Lumping, Material, Section};
use pogo_formats::mesh::ElementKind;
use pogo_formats::mesh::MeshView;
use proptest::prelude::*;

use super::SectionProperties;
use super::elasticity::global_elasticity;
use super::*;
use crate::test_support::{anisotropic, box_mesh, isotropic, section};

fn properties(elasticity: Elasticity, rotation: [f64; 9]) -> Result<SectionProperties, MaterialError> {
    let material = Material::new("M", 7900.0, elasticity);
    let section = Section {
        name: "S".into(),
        material: 0,
        material_from_global: rotation,
        thickness: 2.0,
        hourglass_factor: 1.0,
        mass_factor: 3.0,
    };
    section_properties(&section, &material)
}

const IDENTITY: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// Rotation by `angle` about z, then by `tilt` about x.
fn rotation(angle: f64, tilt: f64) -> [f64; 9] {
    let ((s, c), (q, p)) = (angle.sin_cos(), tilt.sin_cos());
    [c, s, 0.0, -s * p, c * p, q, s * q, -c * q, p]
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    let scale = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * scale, "{a} {b}");
    }
}

#[test]
fn isotropic_forms_agree() {
    let (e, nu) = (200e9, 0.3);
    let g = e / 2.6;
    let plain = properties(Elasticity::Isotropic { young: e, poisson: nu }, IDENTITY).unwrap();
    assert_eq!(plain.density, 3.0 * 7900.0);
    close(&plain.elasticity, &isotropic(e, nu), 1e-15);
    let constants = Elasticity::EngineeringConstants([e, e, e, nu, nu, nu, g, g, g]);
    close(&properties(constants, IDENTITY).unwrap().elasticity, &plain.elasticity, 1e-12);
    let d = &plain.elasticity;
    let orthotropic = Elasticity::Orthotropic([d[0], d[1], d[7], d[2], d[8], d[14], g, g, g]);
    close(&properties(orthotropic, IDENTITY).unwrap().elasticity, d, 1e-12);
    let mut upper = Vec::new();
    for column in 0..6 {
        upper.extend((0..=column).map(|row| d[6 * row + column]));
    }
    let anisotropic = Elasticity::Anisotropic(upper.try_into().unwrap());
    close(&properties(anisotropic, rotation(0.4, -1.1)).unwrap().elasticity, d, 1e-12);
}

#[test]
fn engineering_constants_rotate_with_the_axes() {
    // Young's modulus along a direction n is 1 / (n n : S : n n).
    let constants = [140e9, 10e9, 9e9, 0.3, 0.32, 0.4, 5e9, 4.5e9, 3.5e9];
    let quarter = rotation(std::f64::consts::FRAC_PI_2, 0.0);
    let turned = properties(Elasticity::EngineeringConstants(constants), quarter).unwrap().elasticity;
    let straight = properties(Elasticity::EngineeringConstants(constants), IDENTITY).unwrap().elasticity;
    // The material's 1 axis is the global y axis.
    assert!((turned[7] - straight[0]).abs() < 1e-6 * straight[0]);
    assert!((turned[0] - straight[7]).abs() < 1e-6 * straight[0]);
    // 13 and 23 shears change places.
    assert!((turned[35] - 4.5e9).abs() < 1.0 && (turned[28] - 3.5e9).abs() < 1.0);
    // Plane stress gives back E1 along y: 1 / S_yy of the condensed 3 × 3.
    let p = plane_elasticity(&turned, true);
    let young = p[1][1] - p[0][1] * p[0][1] / p[0][0];
    assert!((young - 140e9).abs() < 1e-3 * 140e9, "{young}");
}

#[test]
fn plane_stress_of_an_isotropic_solid() {
    let (e, nu) = (70e9, 0.33);
    let p = plane_elasticity(&isotropic(e, nu), true);
    let c = e / (1.0 - nu * nu);
    close(&p[0], &[c, nu * c, 0.0], 1e-12);
    close(&p[2], &[0.0, 0.0, e / (2.0 * (1.0 + nu))], 1e-12);
}

#[test]
fn bad_materials_are_named() {
    let bad = |elasticity| properties(elasticity, IDENTITY).unwrap_err().to_string();
    assert!(bad(Elasticity::Isotropic { young: 1e9, poisson: 0.5 }).contains("material M"));
    assert!(bad(Elasticity::Isotropic { young: f64::NAN, poisson: 0.3 }).contains("positive definite"));
    let engineering = |nu| Elasticity::EngineeringConstants([1e9, 1e9, 1e9, nu, nu, nu, 1e9, 1e9, 1e9]);
    assert!(bad(engineering(0.9)).contains("positive definite"));
    assert!(bad(Elasticity::Anisotropic([0.0; 21])).contains("positive definite"));
    let error = properties(engineering(0.1), [2.0; 9]).unwrap_err().to_string();
    assert!(error.contains("section S"), "{error}");
}

#[test]
fn masses_add_up() {
    for kind in ElementKind::ALL {
        let mesh = box_mesh(kind, [5, 4, 3], 1e-3, 0.2);
        let mut sections = vec![section(isotropic(200e9, 0.3))];
        sections[0].thickness = 4e-3;
        let view = mesh.view();
        let volume = 20e-6 * if kind.dimension() == 2 { 4e-3 } else { 3e-3 };
        let mass = 7900.0 * volume;
        for lumping in [Lumping::RowSum, Lumping::Hrz, Lumping::Equal] {
            let lumped = lumped_mass(&view, &sections, lumping).unwrap();
            assert!((lumped.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12, "{kind:?} {lumping:?}");
            assert!(lumped.iter().all(|&m| m > 0.0));
            if lumping == Lumping::RowSum {
                // ∫ρ N dV keeps the first moment Σ m x = ∫ρ x dV.
                let d = mesh.dimension as usize;
                let moment: f64 = lumped.iter().zip(mesh.coordinates.chunks(d)).map(|(m, x)| m * x[0]).sum();
                assert!((moment / (mass * 2.5e-3) - 1.0).abs() < 1e-2, "{kind:?}: {moment}");
            }
            let damping = nodal_damping(&view, &sections, &vec![7.0; mesh.n_elements()], lumping).unwrap();
            assert!(damping.iter().all(|rate| (rate - 7.0).abs() < 1e-12));
        }
    }
}

#[test]
fn elements_inside_out_are_reported() {
    for kind in ElementKind::SOLIDS {
        let mut mesh = box_mesh(kind, [3, 3, 3], 1e-3, 0.0);
        let n = kind.n_nodes();
        let sections = [section(isotropic(200e9, 0.3))];
        let nodes = &mut mesh.groups[0].connectivity[2 * n..3 * n];
        match kind {
            ElementKind::Cpe3 | ElementKind::Cps3 | ElementKind::C3d4 => nodes.swap(0, 1),
            ElementKind::C3d6 | ElementKind::C3d6f => (0..3).for_each(|i| nodes.swap(i, i + 3)),
            ElementKind::C3d8 | ElementKind::C3d8r => (0..4).for_each(|i| nodes.swap(i, i + 4)),
            _ => nodes.reverse(),
        }
        let error = lumped_mass(&mesh.view(), &sections, Lumping::RowSum).unwrap_err();
        assert_eq!(error, ElementError::NonPositiveVolume { count: 1, first: 2, elements: vec![2] }, "{kind:?}");
        mesh.groups[0].section[1] = 4;
        let error = lumped_mass(&mesh.view(), &sections, Lumping::RowSum).unwrap_err();
        assert_eq!(error, ElementError::Reference { element: 1 });
    }
}

/// Every way in which corners of an element may coincide: where a simpler kind is given for it, the element's own quadrature
/// gives the stiffness and the row sums of that kind.
#[test]
fn collapsed_elements_are_the_simpler_ones() {
    // Affine images of the reference elements, in the order of the simpler kind's nodes.
    let places = |kind: ElementKind| -> Vec<[f64; 3]> {
        let corners: &[[f64; 3]] = match kind {
            ElementKind::C3d6 | ElementKind::C3d6f => {
                &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 0., 1.], [0., 1., 1.]]
            }
            _ => &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]],
        };
        let image = |[x, y, z]: [f64; 3]| [1.1 * x + 0.2 * y - 0.3 * z, 0.9 * y + 0.4 * z - 0.1 * x, 1.3 * z + 0.2 * y];
        let flat = |[x, y, _]: [f64; 3]| [1.1 * x + 0.2 * y, 0.9 * y - 0.1 * x, 0.];
        let d = kind.dimension();
        corners.iter().take(kind.n_nodes()).map(|x| if d == 2 { flat(*x) } else { image(*x) }).collect()
    };
    let mut section = section(anisotropic());
    let mut found = Vec::new();
    for kind in ElementKind::SOLIDS {
        section.thickness = if kind.dimension() == 2 { 3. } else { 1. };
        let n = kind.n_nodes();
        let mut nodes = vec![0u32; n];
        // All partitions: each corner is one of the nodes before it, or the next.
        loop {
            if let Some((simpler, kept)) = kind.collapsed(&nodes) {
                found.push((kind, simpler));
                let mut x = [[0.; 3]; 8];
                let mut y = [[0.; 3]; 8];
                for (node, place) in kept.iter().zip(places(simpler)) {
                    (0..n).filter(|i| nodes[*i] == *node).for_each(|i| x[i] = place);
                }
                y[..kept.len()].copy_from_slice(&places(simpler));
                let (d, m) = (kind.dimension(), kept.len());
                let whole = element_stiffness(kind, &x, &section);
                let expected = element_stiffness(simpler, &y, &section);
                let at = |i: usize| kept.iter().position(|node| *node == nodes[i]).unwrap();
                let mut k = vec![0.; (m * d).pow(2)];
                for i in 0..n * d {
                    for j in 0..n * d {
                        k[(at(i / d) * d + i % d) * m * d + at(j / d) * d + j % d] += whole[i * n * d + j];
                    }
                }
                close(&k, &expected, 1e-13);
                let volumes = mass::nodal_volumes(simpler, &y, Lumping::RowSum).unwrap();
                let mut merged = [0.; 8];
                for point in full_quadrature(kind) {
                    let dv = point.weight * shape::jacobian(point, kind, &x).1;
                    (0..n).for_each(|i| merged[at(i)] += point.n[i] * dv);
                }
                close(&merged, &volumes, 1e-13);
            }
            let most = |nodes: &[u32], i: usize| nodes[..i].iter().max().map_or(0, |most| most + 1);
            let Some(i) = (0..n).rev().find(|i| nodes[*i] < most(&nodes, *i)) else { break };
            nodes[i] += 1;
            nodes[i + 1..].fill(0);
        }
    }
    let count = |from, to| found.iter().filter(|f| **f == (from, to)).count();
    use ElementKind::*;
    for (from, to) in [(Cpe4, Cpe3), (Cps4, Cps3), (Cpe4r, Cpe3), (Cps4r, Cps3)] {
        assert_eq!(count(from, to), 4, "{from:?}");
    }
    // A wedge loses an end, two upright edges, or one upright edge and one across from it.
    assert_eq!((count(C3d6, C3d4), count(C3d6f, C3d4)), (11, 11));
    // A hexahedron that becomes a wedge loses two opposite edges of one face.
    assert_eq!((count(C3d8, C3d6), count(C3d8, C3d6f)), (0, 6 * 2));
    assert_eq!((count(C3d8, C3d4), count(C3d8r, C3d4)), (102, 102));
    assert_eq!(found.len(), 4 * 4 + 2 * 11 + 12 + 2 * 102);
}

/// min 2/ω over every element, without a short cut, and its element.
fn full_search(mesh: &MeshView, sections: &[SectionProperties], factor: &[f64], mass: &[f64]) -> (f64, usize) {
    let weights = |element: &Element| {
        let section = &sections[element.section];
        let modulus: f64 = (0..6).map(|i| section.elasticity[7 * i]).sum();
        let mut out = [0.0; 8];
        for point in quadrature(element.kind) {
            let (dx, det) = shape::gradients(point, element.kind, &element.positions);
            for (out, g) in out.iter_mut().zip(dx) {
                let squares: f64 = g.iter().map(|g| g * g).sum();
                *out += factor[element.index] * modulus * section.thickness * point.weight * det * squares;
            }
        }
        out
    };
    let (sums, _) = sum_to_nodes(mesh, sections.len(), |element| Some(weights(element))).unwrap();
    let all = map_elements(mesh, sections.len(), |element| {
        let d = element.kind.dimension();
        let n = d * element.kind.n_nodes();
        let weights = weights(element);
        let share = |dof: usize| {
            let node = element.nodes[dof / d] as usize;
            mass[node] * weights[dof / d] / sums[node]
        };
        let mut k = element_stiffness(element.kind, &element.positions, &sections[element.section]);
        for i in 0..n {
            for j in 0..n {
                k[i * n + j] *= factor[element.index] / (share(i) * share(j)).sqrt();
            }
        }
        2.0 / stable::largest_eigenvalue(k, n).sqrt()
    })
    .unwrap();
    let worst = (0..all.len()).fold(0, |worst, i| if all[i] < all[worst] { i } else { worst });
    (all[worst], worst)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The search that passes over most elements finds the same one.
    #[test]
    fn the_stiffest_element_is_not_missed(
        kind in 0..ElementKind::ALL.len(),
        cells in proptest::array::uniform3(2usize..7),
        jitter in 0.05..0.3f64,
        full in any::<bool>(),
        seed in 0..1000u64,
    ) {
        let kind = ElementKind::ALL[kind];
        // Up to several chunks of elements.
        let cells = if kind.dimension() == 2 { [20 * cells[0], 10 * cells[1], 0] } else { cells };
        let mut mesh = box_mesh(kind, cells, 1e-3, jitter);
        let n = mesh.n_elements();
        let mut sections = vec![section(if full { anisotropic() } else { isotropic(200e9, 0.3) }); 2];
        sections[1].density *= 1.5;
        sections[1].thickness = if kind.dimension() == 2 { 3.0 } else { 1.0 };
        let random = |i: usize| (crate::test_support::noise(i as u64 + seed * n as u64) + 1.0) / 2.0;
        for i in 0..n {
            mesh.groups[0].section[i] = u32::from(random(i) > 0.7);
        }
        let factor: Vec<f64> = (0..n).map(|i| 0.3 + 0.7 * random(n + i)).collect();
        let view = mesh.view();
        let mass = lumped_mass(&view, &sections, Lumping::RowSum);
        // Strong jitter turns some hexahedra inside out.
        prop_assume!(mass.is_ok());
        let mass = mass.unwrap();
        let (increment, element) = full_search(&view, &sections, &factor, &mass);
        let found = stable_increment(&view, &sections, &factor, &mass).unwrap();
        prop_assert_eq!(found.element, element);
        prop_assert!(found.increment <= increment && found.increment > increment * (1.0 - 1e-8), "{} {}", found.increment, increment);
        // The same bits on one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(pool.install(|| stable_increment(&view, &sections, &factor, &mass)).unwrap(), found);
    }
}

proptest! {
    /// The energy of a strain does not depend on the frame in which it is computed.
    #[test]
    fn rotation_keeps_the_energy(angle in -3.0..3.0f64, tilt in -3.0..3.0f64, gradient in proptest::array::uniform9(-1.0..1.0f64)) {
        let d = anisotropic();
        let r = rotation(angle, tilt);
        let voigt = |g: &dyn Fn(usize, usize) -> f64| {
            [g(0, 0), g(1, 1), g(2, 2), g(0, 1) + g(1, 0), g(0, 2) + g(2, 0), g(1, 2) + g(2, 1)]
        };
        let energy = |d: &[f64; 36], e: [f64; 6]| -> f64 {
            (0..6).map(|i| (0..6).map(|j| e[i] * d[6 * i + j] * e[j]).sum::<f64>()).sum()
        };
        let global = voigt(&|i, j| gradient[3 * i + j]);
        let material = voigt(&|a, b| {
            (0..3).map(|i| (0..3).map(|j| r[3 * a + i] * gradient[3 * i + j] * r[3 * b + j]).sum::<f64>()).sum()
        });
        let expected = energy(&d, material);
        let found = energy(&global_elasticity(&d, &r), global);
        prop_assert!((found - expected).abs() < 1e-9 * expected.abs().max(1e9));
    }
}
