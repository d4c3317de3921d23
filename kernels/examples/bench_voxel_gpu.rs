//! Times the finest level of a voxel problem on a device beside its copy bandwidth:
//! `bench_voxel_gpu [N] [FILL] [RADIUS] [REPEATS] [MATERIALS]`, smoothed noise of N³ voxels (440) of which FILL (0.35) is solid;
//! RADIUS (4) is that of three box filters, 0 for a solid cube. MATERIALS are `one`, two of different `moduli`, or two that
//! differ in Poisson's ratio, too (`ratios`).
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::bricks_of;
use pogo_kernels::voxel::*;

fn main() {
    // Kernels of another compiler: `cargo xtask kernels --toolkit VERSION --out FOLDER`.
    if let Some(folder) = std::env::var_os("POGO_PTX") {
        pogo_kernels::device::use_ptx_from(folder);
    }
    let argument = |i: usize, or: f64| std::env::args().nth(i).map_or(or, |a| a.parse().expect("a number"));
    let (n, fill, radius, repeats) =
        (argument(1, 440.0) as usize, argument(2, 0.35), argument(3, 4.0) as usize, argument(4, 5.0) as usize);
    let noise = if radius > 0 { noise(n, radius) } else { vec![1.0; n * n * n] };
    let mut sample: Vec<f32> = noise.iter().step_by((noise.len() >> 20).max(1)).copied().collect();
    sample.sort_by(f32::total_cmp);
    let level = sample[((1.0 - fill) * sample.len() as f64) as usize];
    let bricks = bricks_of([n as u32; 3], |[x, y, z]| noise[(z as usize * n + y as usize) * n + x as usize] >= level);
    drop(noise);
    let view = bricks.view();
    let materials = std::env::args().nth(5).unwrap_or_else(|| "one".into());
    let n_materials = if materials == "one" { 1 } else { 2 };
    let class: Vec<u8> = (0..view.n_elements()).map(|e| (e / 64 % n_materials) as u8).collect();
    let moduli = Moduli::Classes { class: &class, young: &[10e3, 5e3] };
    let lame = [0.3, 0.1].map(Lame::new);
    let ratios = if materials == "ratios" { Ratios::Classes(&lame) } else { Ratios::One(0.3) };
    // The lowest layer of nodes is held.
    let positions = (0..view.n_bricks()).flat_map(|b| view.node_positions(b));
    let held = (0_u32..).zip(positions).filter(|(_, at)| at[2] == 0);
    let fixed: Vec<FixedDof> =
        held.flat_map(|(node, _)| (0..3).map(move |direction| FixedDof { node, direction, value: 0.0 })).collect();
    let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 1.0, fixed: &fixed, forces: &[] };
    let report = measure_fine_level(&problem, repeats).expect("a device");
    let copy = pogo_kernels::device::copy_bandwidth().expect("a device");
    let dof = 3.0 * view.n_nodes() as f64;
    println!(
        "{}: {} elements, {dof} dof, tables {:.2} B a dof, made in {:.2} s; copy {:.0} GB/s",
        report.device,
        view.n_elements(),
        report.table_bytes as f64 / dof,
        report.setup_seconds,
        copy / 1e9
    );
    for launch in &report.launches {
        let [least, median] = launch.milliseconds;
        let speed = launch.bytes / median / 1e6;
        println!(
            "{:18} {median:7.3} ms (least {least:.3}), {:5.2} B a dof, {speed:5.0} GB/s, {:3.0} % of copy, {:3} registers, {} warps",
            launch.name,
            launch.bytes / dof,
            100.0 * speed * 1e9 / copy,
            launch.registers,
            launch.warps
        );
    }
}

/// Random numbers smoothed by three box filters, periodic.
fn noise(n: usize, radius: usize) -> Vec<f32> {
    let mut field: Vec<f32> = (0..n * n * n).into_par_iter().map(|i| random(i as u64)).collect();
    let mut turned = vec![0.0; field.len()];
    // Each pass smooths along x and turns x, y, z into y, z, x.
    for _ in 0..9 {
        turned.par_chunks_mut(n * n).enumerate().for_each(|(x, plane)| {
            for (line, to) in plane.iter_mut().enumerate() {
                *to = field[line * n + x];
            }
        });
        let smooth = |line: &mut [f32]| {
            let copy = line.to_vec();
            let mut sum: f32 = (0..2 * radius + 1).map(|i| copy[(n - radius + i) % n]).sum();
            for x in 0..n {
                line[x] = sum;
                sum += copy[(x + radius + 1) % n] - copy[(x + n - radius) % n];
            }
        };
        turned.par_chunks_mut(n).for_each(smooth);
        std::mem::swap(&mut field, &mut turned);
    }
    field
}

fn random(i: u64) -> f32 {
    let mut x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 40) as f32 / (1 << 24) as f32 - 0.5
}
