//! Apparent properties of a sample, distributions over its voxels, and the estimate of its failure.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::VoxelSetup;
use pogo_formats::voxel::setup::{Analysis, VoxelOutput};
use pogo_formats::voxel::summary::{Apparent, Failure, Histogram};
use pogo_formats::words::Choice;

use super::case::coordinates;
use super::results::{Reactions, Solution, centre, extents, loaded_axis, side};

/// The apparent property of a test on two opposite faces; none of other cases.
pub(super) fn apparent(solution: &Solution<'_>, setup: &VoxelSetup, reactions: &Reactions) -> Option<Apparent> {
    let axis = loaded_axis(setup.analysis)?;
    let mesh = solution.mesh;
    let extents = extents(setup, mesh.spacing);
    let (low, high) = (side(mesh, setup, axis, false), side(mesh, setup, axis, true));
    let (length, area) = (extents[axis], extents[(axis + 1) % 3] * extents[(axis + 2) % 3]);
    let centre = centre(mesh, setup);
    let force = reactions.sum(&high);
    let moment = || reactions.moment(mesh, &high, centre);
    let turn = |nodes: &[u32], about, components: &[usize]| rotation(solution, nodes, centre, about, components);
    let difference = |d: usize| (solution.mean(&high)[d] - solution.mean(&low)[d]) / length;
    let (kind, strain, load, value) = match setup.analysis {
        Analysis::Uniaxial { confined, .. } => {
            let (strain, load) = (difference(axis), force[axis]);
            (if confined { "confined modulus" } else { "modulus" }, strain, load, load / area / strain)
        }
        Analysis::Shear { direction, .. } => {
            let (strain, load) = (difference(usize::from(direction)), force[usize::from(direction)]);
            ("shear modulus", strain, load, load / area / strain)
        }
        Analysis::Bending { about, .. } => {
            let about = usize::from(about);
            let curvature = (turn(&high, about, &[axis]) - turn(&low, about, &[axis])) / length;
            let load = moment()[about];
            ("bending stiffness", curvature, load, load / curvature)
        }
        _ => {
            let plane = [(axis + 1) % 3, (axis + 2) % 3];
            let twist = (turn(&high, axis, &plane) - turn(&low, axis, &plane)) / length;
            let load = moment()[axis];
            ("torsional stiffness", twist, load, load / twist)
        }
    };
    Some(Apparent { kind, strain, load, area, length, value })
}

/// Rotation about an axis through `centre` that fits the displacements of a face best, using some components.
fn rotation(solution: &Solution<'_>, nodes: &[u32], centre: [f64; 3], about: usize, components: &[usize]) -> f64 {
    let (mut along, mut square) = (0.0, 0.0);
    for &node in nodes {
        let x = coordinates(solution.mesh, node);
        let r = [0, 1, 2].map(|k| x[k] - centre[k]);
        let (b, c) = ((about + 1) % 3, (about + 2) % 3);
        let mut motion = [0.0; 3];
        (motion[b], motion[c]) = (-r[c], r[b]);
        for &d in components {
            along += motion[d] * solution.displacement[3 * node as usize + d];
            square += motion[d] * motion[d];
        }
    }
    if square > 0.0 { along / square } else { 0.0 }
}

/// Values that a thread takes at a time.
const PIECE: usize = 1 << 18;

/// Counts in classes of equal width up to the largest value.
pub(super) fn histogram(values: &[f32], bins: u32) -> Histogram {
    let largest = |piece: &[f32]| piece.iter().copied().fold(0.0_f32, f32::max);
    let maximum = f64::from(values.par_chunks(PIECE).map(largest).reduce(|| 0.0, f32::max));
    let n_classes = bins.max(1) as usize;
    let class = |value: f32| {
        let class = if maximum > 0.0 { f64::from(value) / maximum * n_classes as f64 } else { 0.0 };
        (class as usize).min(n_classes - 1)
    };
    let (n, counts) = (values.len(), || count(values, n_classes, |value| Some(class(value))));
    let median = || if n > 0 { f64::from(nth(values, n / 2)) } else { 0.0 };
    // The sum keeps one order.
    let sum = || values.iter().fold(0.0, |sum, &value| sum + f64::from(value));
    let (sum, (median, counts)) = rayon::join(sum, || rayon::join(median, counts));
    Histogram { maximum, mean: sum / n.max(1) as f64, median, counts }
}

/// How many of the values are in each of `n` classes.
fn count(values: &[f32], n: usize, class: impl Fn(f32) -> Option<usize> + Sync) -> Vec<u64> {
    let of_piece = |mut counts: Vec<u64>, piece: &[f32]| {
        piece.iter().filter_map(|&value| class(value)).for_each(|class| counts[class] += 1);
        counts
    };
    let none = || vec![0_u64; n];
    let add = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    values.par_chunks(PIECE).fold(none, of_piece).reduce(none, add)
}

/// The value with `n` values before it in the order of [`f32::total_cmp`].
fn nth(values: &[f32], n: usize) -> f32 {
    const HALF: u32 = 16;
    // Numbers in the same order; the upper half of the bits is found first, then the lower one.
    let key = |value: f32| {
        let bits = value.to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    let mut n = n as u64;
    let mut find = |counts: Vec<u64>| {
        let found = counts.iter().position(|&count| {
            let is_here = n < count;
            n -= if is_here { 0 } else { count };
            is_here
        });
        found.unwrap_or(0) as u32
    };
    let upper = find(count(values, 1 << HALF, |value| Some((key(value) >> HALF) as usize)));
    let lower = |value: f32| (key(value) >> HALF == upper).then(|| (key(value) & ((1 << HALF) - 1)) as usize);
    let found = upper << HALF | find(count(values, 1 << HALF, lower));
    f32::from_bits(if found >> 31 == 1 { found & !(1 << 31) } else { !found })
}

/// Pistoia et al. (Bone 30, 2002): failure when a share of the volume passes a strain, given the effective strains of all
/// voxels.
pub(super) fn failure(strains: &[f32], output: &VoxelOutput, load: [f64; 3]) -> Failure {
    let (share, strain) = (output.failure_volume, output.failure_strain);
    let n = strains.len();
    let above = ((share * n as f64).round() as usize).clamp(1, n.max(1));
    let passed = match n {
        0 => 0.0,
        n => f64::from(nth(strains, n - above)),
    };
    let factor = strain / passed;
    let energy = output.failure_energy.word();
    Failure { volume: share, energy, strain, strain_passed: passed, factor, load: load.map(|f| f * factor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_fails_is_counted_from_the_top() {
        let values: Vec<f32> = (1..=100).map(|n| n as f32 * 1e-4).collect();
        let failure = failure(&values, &VoxelOutput::default(), [0.0, 0.0, -10.0]);
        assert!((failure.strain_passed - 99e-4).abs() < 1e-9);
        assert!((failure.load[2] + 10.0 * 0.007 / 99e-4).abs() < 1e-5);
        let histogram = histogram(&values, 10);
        assert_eq!(histogram.counts.iter().sum::<u64>(), 100);
        assert!((histogram.mean - 50.5e-4).abs() < 1e-9);
        assert!((histogram.maximum - 1e-2).abs() < 1e-9);
    }

    #[test]
    fn values_are_found_by_their_place() {
        let values: Vec<f32> = (0..10_000_u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
        let values: Vec<f32> = values.into_iter().chain([0.0, -0.0, 1.0, 1.0, f32::INFINITY]).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        for (n, expected) in sorted.iter().enumerate().step_by(97) {
            assert_eq!(nth(&values, n).to_bits(), expected.to_bits(), "{n}");
        }
    }
}
