//! Lattices of masses and springs: the full box and a sample like the heart of Rasmusson, Mosegaard and Sørensen (2008,
//! Table 1), as a stack of voxels and a job.

use std::path::{Path, PathBuf};

use pogo_formats::write::write_atomically;

use super::stack::{StackSummary, save_stack};
use super::{GenerateError, refuse};

/// The paper's heart: places along the sides of the box, and the number of particles.
const HEART: ([usize; 3], usize) = ([51, 46, 60], 29_449);

/// Distance of particles, m.
const SPACING: f64 = 1e-3;

/// Writes the stack of a box or of the heart, and beside it the job with the extension `.toml`. Gives the path of the job, too.
/// `size` is empty for the heart: two chambers with thick walls, open at the top. With `space` there are springs along space
/// diagonals, too: 26 neighbours instead of the paper's 18.
///
/// # Errors
/// [`GenerateError::Option`] for numbers out of range and a name with an unknown extension; [`GenerateError::Write`].
pub fn save_lattice(
    size: &[usize],
    with_heart: bool,
    space: bool,
    path: &Path,
) -> Result<(StackSummary, PathBuf), GenerateError> {
    let size = match (size, with_heart) {
        ([], true) => HEART.0,
        (&[n], false) => [n; 3],
        (&[x, y, z], false) => [x, y, z],
        (_, true) => return refuse("the heart has its own size: give no numbers with --heart"),
        _ => return refuse("a lattice has one number of particles, or three: along x, y and z"),
    };
    if size.iter().any(|n| !(1..=2048).contains(n)) {
        return refuse("a lattice has 1 to 2048 particles along an axis");
    }
    let wall = with_heart.then(heart);
    let layer = size[0] * size[1];
    let summary = save_stack(path, size, 1e3 * SPACING, |first, voxels| match &wall {
        None => voxels.fill(1),
        Some(wall) => voxels.copy_from_slice(&wall[first * layer..][..voxels.len()]),
    })?;
    let job = path.with_extension("toml");
    write_atomically(&job, |out| std::io::Write::write_all(out, job_text(with_heart, space, size).as_bytes()))?;
    Ok((summary, job))
}

/// 1 for the voxels nearest to the walls of two ellipsoids; as many as the paper's heart has particles.
fn heart() -> Vec<u8> {
    let ([nx, ny, nz], n) = HEART;
    // Centre and half axes in voxels: left and right chamber.
    let chambers = [([20.0, 22.5, 30.0], [15.0, 18.0, 27.0]), ([34.0, 22.5, 33.0], [13.0, 15.0, 23.0])];
    let distance = |at: usize| {
        let p = [at % nx, at / nx % ny, at / nx / ny].map(|p| p as f64 + 0.5);
        let to_wall = |(centre, half): ([f64; 3], [f64; 3])| {
            let scaled: f64 = (0..3).map(|c| ((p[c] - centre[c]) / half[c]).powi(2)).sum::<f64>().sqrt();
            (scaled - 1.0).abs() * half[0].min(half[1])
        };
        // Open at the top, where the vessels would be.
        if p[2] > 0.85 * nz as f64 { f64::INFINITY } else { to_wall(chambers[0]).min(to_wall(chambers[1])) }
    };
    let mut order: Vec<(f64, usize)> = (0..nx * ny * nz).map(|at| (distance(at), at)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut wall = vec![0; nx * ny * nz];
    for &(_, at) in &order[..n] {
        wall[at] = 1;
    }
    wall
}

fn job_text(with_heart: bool, space: bool, [nx, ny, nz]: [usize; 3]) -> String {
    let what = if with_heart { "A sample like the heart" } else { "The box" };
    let space = if space { ", space = 5.0" } else { "" };
    format!(
        "# {what} of Rasmusson, Mosegaard and Sorensen (2008): {nx} x {ny} x {nz} places, hung at the top.

physics = \"spring\"
title = \"lattice {nx} x {ny} x {nz}\"

[image]
unit = \"m\"
spacing = {SPACING}

[solver]
time = 0.1
alpha = 5.0

[[material]]
name = \"tissue\"
density = 1000.0
stiffness = {{ axis = 10.0, face = 10.0{space} }}

[[boundary]]
side = \"zmax\"

[[gravity]]
vector = [0, 0, -9.81]

[[monitor]]
name = \"BOTTOM\"
at = [{x}, {y}, 0]
variables = \"U\"
",
        x = 0.5 * nx as f64 * SPACING,
        y = 0.5 * ny as f64 * SPACING,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pogo_formats::job::JobFile as _;
    use pogo_formats::spring::job::SpringJob;

    #[test]
    fn the_heart_is_the_papers_and_hangs_together() {
        let ([nx, ny, nz], n) = HEART;
        assert_eq!(nx * ny * nz, 140_760);
        let wall = heart();
        assert_eq!(wall.iter().filter(|&&v| v == 1).count(), n);
        let mut seen = vec![false; wall.len()];
        let mut stack = vec![wall.iter().position(|&v| v == 1).unwrap()];
        seen[stack[0]] = true;
        let mut count = 0;
        while let Some(at) = stack.pop() {
            count += 1;
            let (x, y, z) = (at % nx, at / nx % ny, at / nx / ny);
            let next = [
                (x > 0).then(|| at - 1),
                (x + 1 < nx).then_some(at + 1),
                (y > 0).then(|| at - nx),
                (y + 1 < ny).then_some(at + nx),
                (z > 0).then(|| at - nx * ny),
                (z + 1 < nz).then_some(at + nx * ny),
            ];
            for next in next.into_iter().flatten().filter(|&next| wall[next] == 1) {
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push(next);
                }
            }
        }
        assert_eq!(count, n);
    }

    #[test]
    fn the_job_is_one() {
        for space in [false, true] {
            let job = SpringJob::parse(&job_text(false, space, [4; 3]), "box.toml", Path::new("")).unwrap();
            assert_eq!(job.materials[0].value.has_springs(), [true, true, space]);
        }
    }
}
