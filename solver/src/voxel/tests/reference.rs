//! Conjugate gradients with Jacobi's preconditioner: slow, short, and independent of the kernels.

use pogo_kernels::voxel::{Solution, StaticProblem};

use crate::voxel::elements::{Matter, each_of_pieces, internal_force};

/// Solves a problem from rest.
pub(super) fn solve(
    problem: &StaticProblem<'_>,
    matter: &Matter<'_>,
    tolerance: f64,
    max_iterations: usize,
) -> Solution {
    let StaticProblem { bricks, spacing, .. } = problem;
    let n = 3 * bricks.n_nodes();
    let mut products = 0.0;
    let mut product = |u: &[f64]| {
        let mut out = vec![0.0; n];
        internal_force(
            bricks,
            matter,
            *spacing,
            u,
            |_| true,
            |node, force| {
                (0..3).for_each(|d| out[3 * node as usize + d] += force[d]);
            },
        );
        products += 1.0;
        out
    };
    let dof = |node: u32, direction: u8| 3 * node as usize + usize::from(direction);
    let mut free = vec![true; n];
    let mut prescribed = vec![0.0; n];
    for fixed in problem.fixed {
        free[dof(fixed.node, fixed.direction)] = false;
        prescribed[dof(fixed.node, fixed.direction)] = fixed.value;
    }
    let residual = |force: &[f64]| {
        let mut r: Vec<f64> = force.iter().zip(&free).map(|(f, free)| if *free { -f } else { 0.0 }).collect();
        for force in problem.forces.iter().filter(|force| free[dof(force.node, force.direction)]) {
            r[dof(force.node, force.direction)] += force.value;
        }
        r
    };
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();

    let load = norm(&residual(&product(&prescribed)));
    let mut u = prescribed;
    let mut diagonal = vec![0.0; n];
    let each = each_of_pieces(bricks, |values, element| {
        let diagonal = matter.cube(element.number).stiffness[0][0];
        values.push((element.nodes, matter.young(element.number) * diagonal));
    });
    let each = each.into_iter().flatten();
    for (nodes, stiffness) in each {
        for node in nodes {
            (0..3).for_each(|d| diagonal[3 * node as usize + d] += stiffness * spacing);
        }
    }
    let mut r = residual(&product(&u));
    let mut solved = Solution::default();
    let within = |norm: f64| norm <= tolerance * load;
    let mut p: Vec<f64> = Vec::new();
    let mut last = 0.0;
    while !within(norm(&r)) && solved.iterations < max_iterations {
        let z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| if *r == 0.0 { 0.0 } else { r / d }).collect();
        let now = dot(&r, &z);
        p = if p.is_empty() { z } else { p.iter().zip(&z).map(|(p, z)| z + now / last * p).collect() };
        last = now;
        let mut q = product(&p);
        q.iter_mut().zip(&free).filter(|(_, free)| !**free).for_each(|(q, _)| *q = 0.0);
        let alpha = now / dot(&p, &q);
        u.iter_mut().zip(&p).for_each(|(u, p)| *u += alpha * p);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
        solved.iterations += 1;
        solved.history.push(norm(&r) / load);
        if !(alpha.is_finite()) {
            break;
        }
    }
    let end = norm(&residual(&product(&u)));
    solved.relative_residual = if load == 0.0 { end } else { end / load };
    solved.converged = end <= 1.01 * tolerance * load;
    solved.displacement = u;
    solved.products = products;
    solved
}
