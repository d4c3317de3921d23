//! Points in Morton order: those that are near each other in space mostly stand near each other.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::morton_code;

/// Morton codes of points, (n, `dimension`), on a grid of 2²¹ cells along the longest side of their bounding box.
pub(crate) fn keys(coordinates: &[f64], dimension: usize) -> Vec<u64> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in coordinates.chunks_exact(dimension) {
        for (k, &x) in point.iter().enumerate() {
            low[k] = low[k].min(x);
            high[k] = high[k].max(x);
        }
    }
    let longest = (0..dimension).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let scale = if longest > 0.0 { f64::from((1_u32 << 21) - 1) / longest } else { 0.0 };
    let code =
        |point: &[f64]| morton_code([0, 1, 2].map(|k| point.get(k).map_or(0, |x| ((x - low[k]) * scale) as u32)));
    coordinates.par_chunks_exact(dimension).map(code).collect()
}

/// The points in the order of their keys; those with the same key keep their order.
pub(crate) fn order(keys: &[u64]) -> Vec<u32> {
    let mut sorted: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
    sorted.par_sort_unstable();
    sorted.into_iter().map(|(_, point)| point).collect()
}
