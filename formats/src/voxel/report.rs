//! A field on voxels for a report: layers along every axis, and the outer faces in space.

use serde_json::json;

use super::slice::metres;
use crate::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use crate::write::plot::{Look, Spread};
use crate::write::report::{Report, view_of};

/// Most cells of a field.
const MOST_CELLS: usize = 1 << 20;

/// Adds the field with `value(element, its eight nodes)` to a report. It takes at most `room` bytes: of a large model, each cell is
/// the mean of the voxels in a cube of 2, 3, … voxels a side.
pub fn show(
    report: &mut Report,
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    (look, room): (&Look, usize),
    mut value: impl FnMut(u32, &[u32; 8]) -> f64,
) {
    let Some([low, high]) = mesh.bricks.bounds() else { return };
    let voxels = [0, 1, 2].map(|axis| (high[axis] - low[axis]) as usize);
    let most = room.min(MOST_CELLS);
    let cells_of = |side: usize| voxels.map(|n| n.div_ceil(side));
    let side = (1..).find(|&side| cells_of(side).iter().product::<usize>() <= most).unwrap_or(1);
    let size = cells_of(side);
    let mut sum = vec![0.0_f64; size.iter().product()];
    let mut count = vec![0_u32; sum.len()];
    let (bricks, mut table) = (&mesh.bricks, BrickNodes::default());
    for brick in 0..bricks.n_bricks() {
        table.load(bricks, brick);
        let corner = bricks.corner(brick);
        let elements = bricks.element_first[brick]..bricks.element_first[brick + 1];
        for (at, element) in bricks.element_positions(brick).zip(elements) {
            let [i, j, k] = [0, 1, 2].map(|axis| (at[axis] - low[axis]) as usize / side);
            let cell = i + size[0] * (j + size[1] * k);
            sum[cell] += value(element, &table.element([0, 1, 2].map(|axis| at[axis] - corner[axis])));
            count[cell] += 1;
        }
    }
    let mean = |(sum, &count): (&f64, &u32)| match count {
        0 => f32::NAN,
        n => Some((sum / f64::from(n)) as f32).filter(|mean| mean.is_finite()).unwrap_or(f32::INFINITY),
    };
    let values: Vec<f32> = sum.iter().zip(&count).map(mean).collect();
    drop((sum, count));
    let mut spread = Spread::default();
    spread.add(values.iter().copied());
    let (scale, finite) = (look.scale(&spread), || values.iter().copied().filter(|value| value.is_finite()));
    let range = [finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max)].map(f64::from);
    let range = if range[0] <= range[1] { range } else { [scale.low, scale.high] };
    let field = report.field(values.iter().copied(), (values.len(), room), range, &scale);
    let metres = metres(setup);
    let normal = usize::from(setup.output.slice.0.min(2));
    let mut view = field.keys(view_of(look, &scale));
    view["kind"] = json!("volume");
    view["size"] = json!(size);
    view["spacing"] = json!(metres * mesh.spacing * side as f64);
    view["origin"] = json!([0, 1, 2].map(|axis| metres * (mesh.origin[axis] + mesh.spacing * f64::from(low[axis]))));
    view["shown"] = json!({ "unit": setup.unit, "factor": metres });
    view["normal"] = json!(normal);
    view["start"] = json!(((setup.output.slice.1 * size[normal] as f64) as usize).min(size[normal].saturating_sub(1)));
    let coarse =
        if side > 1 { format!("Each cell is the mean of {side} × {side} × {side} voxels") } else { String::new() };
    let notes = [scale.notes(&look.unit).join(" "), coarse];
    let note = notes.iter().filter(|note| !note.is_empty()).cloned().collect::<Vec<_>>().join(". ");
    report.show_field(&look.subtitle, &note, view);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{VoxelMesh, build, morton_code};

    #[test]
    fn large_models_are_shown_by_means() {
        // A bar of 40 × 8 × 8 voxels.
        let codes: Vec<u64> = (0..5).map(|i| morton_code([i, 0, 0])).collect();
        let bricks = build::with_nodes([40, 8, 8], &codes, &vec![u64::MAX; 8 * 5]).unwrap();
        let mesh = VoxelMesh { bricks, spacing: 0.5, ..VoxelMesh::default() };
        let (view, setup) = (mesh.view(), VoxelSetup::default());
        for (room, size) in [(1 << 20, [40, 8, 8]), (1000, [20, 4, 4]), (100, [10, 2, 2])] {
            let mut report = Report::new("bar", String::new());
            let look = Look { subtitle: "U".into(), ..Look::default() };
            show(&mut report, &view, &setup, (&look, room), |element, _| f64::from(element));
            let text = format!("{report:?}");
            assert!(
                text.contains(&format!(
                    "\"size\": Array [Number({}), Number({}), Number({})]",
                    size[0], size[1], size[2]
                )),
                "{text}"
            );
        }
    }
}
