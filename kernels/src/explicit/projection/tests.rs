use super::*;
use crate::explicit::dashpot::Dashpot;

const N_DOFS: u64 = 40;

fn rows(list: &[&[(u64, f64)]], n_massless: usize) -> LinearRows {
    let mut rows = LinearRows { first: vec![0], n_dofs: N_DOFS, n_massless, ..LinearRows::default() };
    for terms in list {
        rows.dofs.extend(terms.iter().map(|term| term.0));
        rows.coefficients.extend(terms.iter().map(|term| term.1));
        rows.first.push(rows.dofs.len() as u32);
    }
    rows
}

fn mass(dof: u64) -> f64 {
    1.0 + 0.3 * (dof % 5) as f64
}

/// One degree of freedom a node, with these constraints.
fn inertia<'a>(masses: &'a [f64], constraints: &'a [Constraint]) -> Inertia<'a> {
    Inertia {
        dimension: 1,
        components: 1,
        lumped_mass: masses,
        damping_rate: &[],
        dashpots: &[],
        time_increment: 0.0,
        constraints,
    }
}

fn masses() -> Vec<f64> {
    (0..N_DOFS).map(mass).collect()
}

fn motion() -> Vec<f64> {
    (0..N_DOFS).map(|dof| (1.3 * dof as f64 + 0.4).sin()).collect()
}

/// Σ c u of each row over degrees of freedom with mass.
fn violations(rows: &LinearRows, u: &[f64]) -> Vec<f64> {
    let terms = |row| rows.terms(row).filter(|(dof, _)| *dof < N_DOFS);
    (0..rows.n_rows()).map(|row| terms(row).map(|(dof, c)| c * u[dof as usize]).sum()).collect()
}

#[test]
fn a_projected_motion_satisfies_the_rows_and_is_the_nearest_one() {
    // Degree of freedom 0 is in many rows, so that it stays an unknown.
    let star: Vec<Vec<(u64, f64)>> = (1..20).map(|k| vec![(k, 1.0), (0, -1.0), (k + 19, 0.25)]).collect();
    let star = rows(&star.iter().map(Vec::as_slice).collect::<Vec<_>>(), 0);
    let projection = Projection::new(&star, &inertia(&masses(), &[])).unwrap();
    let mut u = motion();
    projection.project(&mut u, |_| 0.0);
    assert!(violations(&star, &u).iter().all(|v| v.abs() < 1e-14));
    // M (u − u*) is normal to every motion that the rows allow: u_0 = −u_k/4 = 1 of one k, all else 0 but u_k+19.
    let free = motion();
    for k in 1..20_u64 {
        let force = |dof: u64| mass(dof) * (u[dof as usize] - free[dof as usize]);
        // u_k = 1, u_{k+19} = −4.
        assert!((force(k) - 4.0 * force(k + 19)).abs() < 1e-13);
    }
    let again = {
        let mut again = u.clone();
        projection.project(&mut again, |_| 0.0);
        again
    };
    assert!(again.iter().zip(&u).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn massless_unknowns_join_their_rows() {
    // u_k = z for four k: all become their weighted mean.
    let joined = rows(&[&[(2, 1.0), (40, -1.0)], &[(3, 1.0), (40, -1.0)], &[(4, 1.0), (40, -1.0)]], 1);
    let projection = Projection::new(&joined, &inertia(&masses(), &[])).unwrap();
    let (mut u, free) = (motion(), motion());
    projection.project(&mut u, |_| 0.0);
    let sum = |f: &dyn Fn(u64) -> f64| (2..5).map(f).sum::<f64>();
    let mean = sum(&|dof| mass(dof) * free[dof as usize]) / sum(&mass);
    assert!((2..5).all(|dof: usize| (u[dof] - mean).abs() < 1e-14));
    // Prescribed, they follow.
    let held = Constraint { dof: 0, signal: 3, value: 2.0 };
    let held = LinearRows { prescribed: vec![held], ..joined.clone() };
    let projection = Projection::new(&held, &inertia(&masses(), &[])).unwrap();
    projection.project(&mut u, |signal| if signal == 3 { 0.7 } else { f64::NAN });
    assert!((2..5).all(|dof: usize| (u[dof] - 1.4).abs() < 1e-14));
    // A force on z is spread evenly.
    let carried = joined.carried(0).unwrap();
    assert_eq!(carried.iter().map(|force| force.0).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(carried.iter().all(|force| (force.1 - 1.0 / 3.0).abs() < 1e-15));
    assert_eq!(rows(&[&[(2, 1.0), (40, -1.0), (41, 1.0)]], 2).carried(1), None);
}

#[test]
fn repeated_rows_are_left_out_and_contradictions_found() {
    let repeated = rows(
        &[
            &[(2, 1.0), (3, -1.0)],
            &[(3, 1.0), (4, -1.0)],
            &[(4, -2.0), (2, 2.0)],
            &[(8, 1.0), (9, -2.0)],
            &[(10, 1.0), (9, 1.0)],
        ],
        0,
    );
    let held = |dof, value| Constraint { dof, signal: 0, value };
    let prescribed = |constraints: &[Constraint]| Projection::new(&repeated, &inertia(&masses(), constraints)).unwrap();
    let projection = prescribed(&[]);
    assert_eq!(projection.n_redundant(), 1);
    let mut u = motion();
    projection.project(&mut u, |_| 0.0);
    assert!(violations(&repeated, &u).iter().all(|v| v.abs() < 1e-14));
    let good = [held(2, 0.5), held(3, 0.5), held(8, 2.0), held(9, 1.0)];
    assert_eq!(prescribed(&good).check(&good), Ok(()));
    assert_eq!(prescribed(&good).n_redundant(), 3);
    let wrong = [held(8, 2.0), held(9, 1.5)];
    assert_eq!(prescribed(&wrong).check(&wrong), Err(ProjectionError::Contradiction { row: 3 }));
    let wrong = [held(2, 0.5), held(4, 0.4)];
    assert!(prescribed(&wrong).check(&wrong).is_err());
}

/// M (u − u*) is normal to all motions that the rows allow, M with the dashpots' part.
#[test]
fn dashpots_are_part_of_the_metric() {
    let (d, dt) = (2, 0.3);
    let n_nodes = N_DOFS as usize / d;
    let lumped_mass: Vec<f64> = (0..n_nodes as u64).map(mass).collect();
    let damping_rate: Vec<f64> = (0..n_nodes).map(|node| 0.2 * (node % 3) as f64).collect();
    let dashpot = |node: u32| {
        let [a, b] = [3.0 + f64::from(node), 1.0];
        Dashpot { node, matrix: [[a, b, 0.0], [b, 2.0, 0.0], [0.0; 3]] }
    };
    let dashpots: Vec<Dashpot> = [9, 3, 4, 15].map(dashpot).to_vec();
    // Node 4 has one component that rows name and one that is prescribed, node 9 one of each, node 15 is apart.
    let rows = rows(
        &[
            &[(2, 1.0), (6, -1.0)],
            &[(7, 1.0), (3, 0.5), (8, -0.7), (18, 0.2)],
            &[(8, 1.0), (12, 1.0), (40, -1.0)],
            &[(19, 1.0), (40, 0.5)],
        ],
        1,
    );
    let constraints = [9, 18].map(|dof| Constraint { dof, signal: 0, value: 0.0 });
    let inertia = Inertia {
        dimension: d,
        components: d,
        lumped_mass: &lumped_mass,
        damping_rate: &damping_rate,
        dashpots: &dashpots,
        time_increment: dt,
        constraints: &constraints,
    };
    let projection = Projection::new(&rows, &inertia).unwrap();
    assert_eq!(projection.touched(), [2, 3, 6, 7, 8, 9, 12, 18, 19]);
    let mut free = motion();
    constraints.iter().for_each(|held| free[held.dof as usize] = 0.0);
    let mut u = free.clone();
    projection.project(&mut u, |_| 0.0);
    let (change, z) = (u.iter().zip(&free).map(|(u, free)| u - free).collect::<Vec<f64>>(), u[8] + u[12]);
    assert!((u[2] - u[6]).abs() < 1e-14 && (u[19] + 0.5 * z).abs() < 1e-14);
    assert!((u[7] + 0.5 * u[3] - 0.7 * u[8]).abs() < 1e-14 && u[9] == 0.0 && u[18] == 0.0);
    let momentum = |dof: usize| {
        let node = dof / d;
        let lumped = (1.0 + 0.5 * damping_rate[node] * dt) * lumped_mass[node] * change[dof];
        let dashpot = dashpots.iter().find(|dashpot| dashpot.node as usize == node);
        let part = |dashpot: &Dashpot| (0..d).map(|c| dashpot.matrix[dof % d][c] * change[d * node + c]).sum::<f64>();
        lumped + 0.5 * dt * dashpot.map_or(0.0, part)
    };
    // Motions that the rows allow, by their components.
    for allowed in
        [&[(2, 1.0), (6, 1.0)][..], &[(3, 2.0), (7, -1.0)], &[(7, 0.7), (8, 1.0), (12, -1.0)], &[(12, 1.0), (19, -0.5)]]
    {
        let work: f64 = allowed.iter().map(|&(dof, u)| momentum(dof) * u).sum();
        assert!(work.abs() < 1e-13, "{allowed:?}: {work:e}");
    }
    assert!(
        momentum(7).abs() > 1e-2
            && (0..40).all(|dof| projection.touched().contains(&dof) || change[dof as usize] == 0.0)
    );
}
