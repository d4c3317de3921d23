//! Every kind of load and boundary condition against exact statics, impulses and kinematics.

use crate::common::*;
use pogo_formats::dynamics::*;
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;

const KINDS_3D: [ElementKind; 5] =
    [ElementKind::C3d4, ElementKind::C3d6, ElementKind::C3d6f, ElementKind::C3d8, ElementKind::C3d8r];
const KINDS_2D: [ElementKind; 6] = [
    ElementKind::Cpe3,
    ElementKind::Cps3,
    ElementKind::Cpe4,
    ElementKind::Cps4,
    ElementKind::Cpe4r,
    ElementKind::Cps4r,
];

/// A free body under a constant force F for a time t moves with momentum F t; without rotation all of its mean.
fn mean_velocity(mesh: &Mesh, mut setup: Setup) -> (f64, [f64; 3]) {
    let dimension = mesh.dimension as u8;
    let all: Vec<u32> = (0..mesh.n_nodes() as u32).collect();
    let variables: Vec<_> = (0..dimension).map(|component| (NodalQuantity::Velocity, component)).collect();
    setup.histories = vec![history("ALL", all, &variables)];
    let lumped = nodal_masses(mesh, &setup);
    let (summary, traces) = traces_of(mesh, &setup);
    assert!(summary.energy.balance_error < 1e-9, "{}", summary.energy.balance_error);
    let total: f64 = lumped.iter().sum();
    let mut mean = [0.0; 3];
    for (index, mass) in lumped.iter().enumerate() {
        for (component, mean) in mean.iter_mut().enumerate().take(usize::from(dimension)) {
            *mean += mass / total * traces.get(&format!("ALL.{}.V{}", index + 1, component + 1)).last().unwrap();
        }
    }
    (summary.time, mean)
}

fn nodal_masses(mesh: &Mesh, setup: &Setup) -> Vec<f64> {
    let sections: Vec<_> = setup
        .sections
        .iter()
        .map(|section| {
            pogo_kernels::explicit::elements::section_properties(section, &setup.materials[section.material as usize])
                .unwrap()
        })
        .collect();
    pogo_kernels::explicit::elements::lumped_mass(&mesh.view(), &sections, setup.explicit.lumping).unwrap()
}

fn assert_close(found: [f64; 3], expected: [f64; 3], what: &str) {
    let scale = expected.iter().fold(0.0f64, |scale, value| scale.max(value.abs()));
    for axis in 0..3 {
        assert!((found[axis] - expected[axis]).abs() < 1e-9 * scale, "{what}: {found:?} is not {expected:?}");
    }
}

fn load(kind: LoadKind, magnitude: f64) -> Load {
    Load { name: "load".into(), kind, magnitude, amplitude: None }
}

#[test]
fn impulse_of_each_load_in_3d_is_momentum() {
    let (size, volume) = ([0.02, 0.03, 0.01], 6e-6);
    for kind in KINDS_3D {
        let mesh = grid_3d(kind, [2, 2, 2], size);
        let all: Vec<u32> = (0..mesh.n_elements() as u32).collect();
        let mass = DENSITY * volume;
        let top = || faces_where(&mesh, |x| x[2] == 0.01);
        let area = 6e-4;
        let direction = [0.6, 0.0, 0.8];
        let cases: Vec<(LoadKind, f64, [f64; 3])> = vec![
            (LoadKind::Pressure { faces: top().0, elements: top().1 }, 2e5, [0.0, 0.0, -2e5 * area]),
            (
                LoadKind::Traction { faces: top().0, elements: top().1, direction },
                3e5,
                direction.map(|d| d * 3e5 * area),
            ),
            (LoadKind::Body { elements: all.clone(), direction }, 5e6, direction.map(|d| d * 5e6 * volume)),
            (LoadKind::Gravity { elements: all, direction }, 9.81, direction.map(|d| d * 9.81 * mass)),
            (
                LoadKind::Concentrated { nodes: vec![0, 5, 9], weights: vec![1.0, 2.0, 0.5], direction },
                7.0,
                direction.map(|d| d * 7.0 * 3.5),
            ),
        ];
        for (load_kind, magnitude, force) in cases {
            let mut setup = steel(2e-5);
            setup.loads = vec![load(load_kind, magnitude)];
            let (time, mean) = mean_velocity(&mesh, setup);
            assert_close(mean, force.map(|f| f * time / mass), kind.name());
        }
    }
}

#[test]
fn impulse_of_each_load_in_2d_is_momentum() {
    let (size, thickness) = ([0.02, 0.03], 0.004);
    for kind in KINDS_2D {
        let mesh = grid_2d(kind, [3, 2], size);
        let all: Vec<u32> = (0..mesh.n_elements() as u32).collect();
        let volume = size[0] * size[1] * thickness;
        let mass = DENSITY * volume;
        let right = || faces_where(&mesh, |x| x[0] == 0.02);
        let area = 0.03 * thickness;
        let direction = [0.6, 0.8, 0.0];
        let cases: Vec<(LoadKind, f64, [f64; 3])> = vec![
            (LoadKind::Pressure { faces: right().0, elements: right().1 }, 2e5, [-2e5 * area, 0.0, 0.0]),
            (
                LoadKind::Traction { faces: right().0, elements: right().1, direction },
                3e5,
                direction.map(|d| d * 3e5 * area),
            ),
            (LoadKind::Body { elements: all.clone(), direction }, 5e6, direction.map(|d| d * 5e6 * volume)),
            (LoadKind::Gravity { elements: all, direction }, 9.81, direction.map(|d| d * 9.81 * mass)),
        ];
        for (load_kind, magnitude, force) in cases {
            let mut setup = steel(2e-5);
            setup.sections[0].thickness = thickness;
            setup.loads = vec![load(load_kind, magnitude)];
            let (time, mean) = mean_velocity(&mesh, setup);
            assert_close(mean, force.map(|f| f * time / mass), kind.name());
        }
    }
}

#[test]
fn gravity_is_a_free_fall_whatever_the_mass_scaling_of_inertia() {
    let mesh = grid_3d(ElementKind::C3d8, [2, 2, 2], [0.01, 0.01, 0.01]);
    for (mass_factor, lumping) in [(1.0, Lumping::RowSum), (4.0, Lumping::Hrz), (1.0, Lumping::Equal)] {
        let mut setup = steel(1e-4);
        setup.sections[0].mass_factor = mass_factor;
        setup.explicit.lumping = lumping;
        let elements = (0..mesh.n_elements() as u32).collect();
        setup.loads = vec![load(LoadKind::Gravity { elements, direction: [0.0, 0.0, -1.0] }, 9.81)];
        setup.histories = vec![history("P", vec![13, 26], &displacements(3))];
        let (summary, traces) = traces_of(&mesh, &setup);
        let t = summary.time;
        for name in ["P.14.U3", "P.27.U3"] {
            let u = *traces.get(name).last().unwrap();
            let exact = -0.5 * 9.81 / mass_factor * t * t;
            assert!((u - exact).abs() < 1e-9 * exact.abs(), "{name} {u} {exact}");
        }
    }
}

#[test]
fn slow_pressure_gives_the_static_column_and_its_reaction() {
    // Uniaxial strain: a column held sideways, pressed slowly at its top; u = −p L / M, and the base carries p A.
    let mesh = grid_3d(ElementKind::C3d8, [1, 1, 8], [0.001, 0.001, 0.008]);
    let pressure = 1e6;
    let modulus = YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    let mut setup = steel(4e-4);
    setup.amplitudes =
        vec![Amplitude::new("ramp", AmplitudeShape::SmoothStep { times: vec![0.0, 3e-4], values: vec![0.0, 1.0] })];
    let (faces, elements) = faces_where(&mesh, |x| x[2] == 0.008);
    setup.loads = vec![Load { amplitude: Some(0), ..load(LoadKind::Pressure { faces, elements }, pressure) }];
    let all: Vec<u32> = (0..mesh.n_nodes() as u32).collect();
    let base = nodes_where(&mesh, |x| x[2] == 0.0);
    setup.boundaries = vec![fix("x", all.clone(), 0), fix("y", all, 1), fix("base", base.clone(), 2)];
    let top = nodes_where(&mesh, |x| x[2] == 0.008);
    setup.histories = vec![
        history("TOP", top, &[(NodalQuantity::Displacement, 2), (NodalQuantity::Reaction, 2)]),
        history("BASE", base.clone(), &[(NodalQuantity::Reaction, 2), (NodalQuantity::Reaction, 0)]),
    ];
    let (_, traces) = traces_of(&mesh, &setup);
    let exact = -pressure * 0.008 / modulus;
    let last = traces.get("TOP.33.U3").last().unwrap();
    assert!((last - exact).abs() < 1e-3 * exact.abs(), "{last} is not {exact}");
    assert!(traces.get("TOP.33.RF3").iter().all(|&reaction| reaction == 0.0), "a free component has no reaction");
    let total: f64 = base.iter().map(|node| traces.get(&format!("BASE.{}.RF3", node + 1)).last().unwrap()).sum();
    assert!((total - pressure * 1e-6).abs() < 1e-3 * pressure * 1e-6, "base carries {total}");
    // Sideways the walls hold ν/(1−ν) of it.
    let sideways: f64 = traces.get("BASE.1.RF1").last().unwrap().abs();
    assert!(sideways > 0.0);
}

#[test]
fn reactions_balance_forces_on_the_support_itself() {
    let mesh = grid_2d(ElementKind::Cpe4, [2, 2], [0.002, 0.002]);
    let mut setup = steel(1e-6);
    setup.loads = vec![point_force(0, [1.0, 0.0, 0.0], 5.0, None)];
    setup.boundaries = vec![fix("x", (0..9).collect(), 0), fix("y", (0..9).collect(), 1)];
    setup.histories = vec![history("S", vec![0, 4], &[(NodalQuantity::Reaction, 0)])];
    let (_, traces) = traces_of(&mesh, &setup);
    assert!(traces.get("S.1.RF1").iter().all(|&reaction| reaction == -5.0));
    assert!(traces.get("S.5.RF1").iter().all(|&reaction| reaction == 0.0));
}

#[test]
fn reactions_of_a_damped_moving_support_obey_newton() {
    // All nodes move alike with acceleration a: the sum of reactions is M (a + α v).
    let mesh = grid_3d(ElementKind::C3d4, [2, 1, 1], [0.02, 0.01, 0.01]);
    let alpha = 3e3;
    let mut setup = steel(5e-5);
    setup.materials[0].damping_alpha = alpha;
    let all: Vec<u32> = (0..mesh.n_nodes() as u32).collect();
    setup.boundaries = vec![Boundary {
        name: "shake".into(),
        nodes: all.clone(),
        component: 1,
        kind: BoundaryKind::Acceleration,
        value: 40.0,
        amplitude: None,
    }];
    setup.histories = vec![history(
        "ALL",
        all.clone(),
        &[(NodalQuantity::Reaction, 1), (NodalQuantity::Velocity, 1), (NodalQuantity::Acceleration, 1)],
    )];
    let (summary, traces) = traces_of(&mesh, &setup);
    assert!(summary.energy.balance_error < 1e-9);
    let mass = DENSITY * 2e-6;
    for row in [0, 1, 7, 20] {
        let time = traces.get("time")[row];
        let sum: f64 = all.iter().map(|node| traces.get(&format!("ALL.{}.RF2", node + 1))[row]).sum();
        let exact = mass * (40.0 + alpha * 40.0 * time);
        assert!((sum - exact).abs() < 1e-6 * exact, "row {row}: {sum} is not {exact}");
        assert!((traces.get("ALL.3.V2")[row] - 40.0 * time).abs() < 1e-9 * 40.0 * summary.time);
        assert!((traces.get("ALL.3.A2")[row] - 40.0).abs() < 1e-4);
    }
}

#[test]
fn prescribed_motions_are_followed_and_later_ones_win() {
    let mesh = grid_2d(ElementKind::Cps3, [4, 4], [0.01, 0.01]);
    let mut setup = steel(1e-4);
    let ramp = |name, values| Amplitude::new(name, AmplitudeShape::Tabular { times: vec![0.0, 1e-4], values });
    setup.amplitudes = vec![ramp("up", vec![0.0, 1.0])];
    let prescribe = |name: &str, node, component, kind, value| Boundary {
        name: name.into(),
        nodes: vec![node],
        component,
        kind,
        value,
        amplitude: Some(0),
    };
    setup.boundaries = vec![
        fix("first", vec![0, 4, 20], 0),
        prescribe("u", 0, 0, BoundaryKind::Displacement, 3e-6),
        prescribe("v", 4, 0, BoundaryKind::Velocity, 0.5),
        prescribe("a", 20, 1, BoundaryKind::Acceleration, 2e4),
    ];
    setup.initial_velocities = vec![InitialVelocity { name: "v0".into(), nodes: vec![20], component: 1, value: 0.1 }];
    setup.histories = vec![
        history("N", vec![0, 4, 20], &displacements(2)),
        history("N", vec![4, 20], &[(NodalQuantity::Velocity, 0), (NodalQuantity::Velocity, 1)]),
    ];
    let (summary, traces) = traces_of(&mesh, &setup);
    assert!(summary.energy.balance_error < 1e-9, "{}", summary.energy.balance_error);
    let times = traces.get("time").to_vec();
    let end = 1e-4;
    for (row, &t) in times.iter().enumerate() {
        let close = |name: &str, exact: f64, scale: f64| {
            let found = traces.get(name)[row];
            assert!((found - exact).abs() < 1e-6 * scale, "{name} at {t}: {found} is not {exact}");
        };
        // The last time may lie beyond the table's end, where it is constant.
        if t <= end {
            close("N.1.U1", 3e-6 * t / end, 3e-6);
            close("N.5.U1", 0.25 * t * t / end, 2.5e-5);
            // Central differences of a linear acceleration are exact up to Δt² terms.
            close("N.21.U2", 0.1 * t + 2e4 * t * t * t / end / 6.0, 5e-4);
        }
        assert_eq!(traces.get("N.21.U1")[row], 0.0);
    }
    assert!((traces.get("N.21.V2")[0] - 0.1).abs() < 1e-12, "starts with its velocity");
}

#[test]
fn initial_velocity_is_momentum_and_starts_exactly() {
    let mesh = grid_3d(ElementKind::C3d6, [2, 2, 2], [0.01, 0.01, 0.01]);
    let mut setup = steel(1e-5);
    let all: Vec<u32> = (0..mesh.n_nodes() as u32).collect();
    setup.initial_velocities =
        vec![InitialVelocity { name: "v".into(), nodes: all.clone(), component: 0, value: 12.5 }];
    setup.histories = vec![history("P", vec![7], &[(NodalQuantity::Velocity, 0), (NodalQuantity::Displacement, 0)])];
    let (summary, traces) = traces_of(&mesh, &setup);
    assert!(traces.get("P.8.V1").iter().all(|v| (v - 12.5).abs() < 1e-9));
    assert!((traces.get("P.8.U1").last().unwrap() - 12.5 * summary.time).abs() < 1e-15);
    let kinetic = 0.5 * DENSITY * 1e-6 * 12.5 * 12.5;
    assert!((summary.energy.kinetic - kinetic).abs() < 1e-9 * kinetic);
}

#[test]
fn damping_makes_a_free_body_slow_down_exponentially() {
    let mesh = grid_2d(ElementKind::Cpe3, [4, 2], [0.01, 0.005]);
    let mut setup = steel(1e-4);
    let alpha = 2e4;
    let all: Vec<u32> = (0..mesh.n_nodes() as u32).collect();
    let elements: Vec<u32> = (0..mesh.n_elements() as u32).collect();
    setup.materials[0].damping_alpha = 0.5 * alpha;
    // The layer gives the other half at X = 1.
    setup.absorbing_layers = vec![AbsorbingLayer {
        name: "layer".into(),
        depth_fraction: vec![1.0; elements.len()],
        elements,
        profile: AbsorbingProfile::Damping { d_max: 0.5 * alpha, exponent: 3.0 },
    }];
    setup.initial_velocities = vec![InitialVelocity { name: "v".into(), nodes: all, component: 1, value: 2.0 }];
    setup.histories = vec![history("P", vec![3], &[(NodalQuantity::Velocity, 1)])];
    let (summary, traces) = traces_of(&mesh, &setup);
    for (time, velocity) in traces.get("time").iter().zip(traces.get("P.4.V2")) {
        let exact = 2.0 * (-alpha * time).exp();
        assert!((velocity - exact).abs() < 1e-4 * 2.0, "{time}: {velocity} is not {exact}");
    }
    assert!(summary.energy.damped > 0.9 * (0.5 * DENSITY * 5e-5 * 4.0));
    assert!(summary.energy.balance_error < 1e-9);
}
