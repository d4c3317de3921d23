//! How fast the finest level is.

use std::time::Instant;

use super::product::FineLevel;
use super::remote::Parts;
use crate::device::{Buffer, DeviceError, Devices, Kernel};
use crate::voxel::StaticProblem;

/// One kind of launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Name of what a launch computes.
    pub name: &'static str,
    /// Least and median of the times of one launch, ms.
    pub milliseconds: [f64; 2],
    /// Bytes that have to be read and written once: vectors, inverse diagonal, tables, moduli.
    pub bytes: f64,
    /// Registers of a thread.
    pub registers: u32,
    /// Warps on a multiprocessor at a time.
    pub warps: u32,
}

/// The finest level of a problem on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct FineReport {
    /// Name of the device.
    pub device: String,
    /// Making the tables, and bringing them to the device, s.
    pub setup_seconds: f64,
    /// Bytes of the tables, moduli and inverse diagonal.
    pub table_bytes: u64,
    /// One for each kind of launch.
    pub launches: Vec<Measurement>,
}

/// Times the launches of a voxel problem's finest level on the first device, `repeats` times 10 of each.
///
/// # Errors
/// No device, too little memory on it, or what the driver says.
pub fn measure_fine_level(problem: &StaticProblem, repeats: usize) -> Result<FineReport, DeviceError> {
    let devices = Devices::open(&[0])?;
    let start = Instant::now();
    let level = FineLevel::new(&devices, problem, 2.3, Parts::of_devices(1))?;
    devices.synchronize()?;
    let setup_seconds = start.elapsed().as_secs_f64();
    let n = level.n_dofs();
    let values: Vec<f32> =
        (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5).collect();
    let (x, b, z, r) = (Buffer::of(&values)?, Buffer::of(&values)?, Buffer::of(&values)?, Buffer::of(&values)?);
    let d = Buffer::zeros(n)?;
    let wide = Buffer::of(&values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>())?;
    drop(values);
    let out = Buffer::<f64>::zeros(n)?;
    let (s, kernels) = (&devices, &level.sides[0].kernels);
    // Names, kernels, bytes of vectors a degree of freedom, and what launches them.
    type Launch<'a> = &'a dyn Fn() -> Result<(), DeviceError>;
    let forms: [(&'static str, Kernel, f64, Launch<'_>); 7] = [
        ("product", kernels.store, 8.0, &|| level.apply(s, &x, &d, false)),
        ("product f64", kernels.store_f64, 16.0, &|| level.apply_f64(s, &wide, &out, false)),
        ("residual", kernels.residual, 12.0, &|| level.residual(s, &b, &x, &r)),
        ("step", kernels.step, 24.0, &|| level.step(s, 3, 2, &r, (&x, Some(&d)), &r, &z)),
        ("product for a sum", kernels.dot, 8.0, &|| level.dot(s, &b, &x)),
        ("two steps", kernels.pair, 8.0, &|| level.pair(s, &b, &z, 0.5, false)),
        ("true residual f64", kernels.forces_f64, 12.0, &|| level.true_residual(s, &wide, &r)),
    ];
    let mut launches = Vec::new();
    for (name, kernel, vectors, launch) in forms {
        let mut times = Vec::new();
        launch()?;
        devices.synchronize()?;
        for _ in 0..repeats.max(1) {
            let start = Instant::now();
            for _ in 0..10 {
                launch()?;
            }
            devices.synchronize()?;
            times.push(100.0 * start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let inverse = if matches!(name, "step" | "two steps") { 0.0 } else { 2.0 * n as f64 / 3.0 };
        launches.push(Measurement {
            name,
            milliseconds: [times[0], times[times.len() / 2]],
            bytes: vectors * n as f64 + level.bytes as f64 - inverse,
            registers: kernel.registers,
            warps: kernel.resident * kernel.threads / 32,
        });
    }
    Ok(FineReport { device: devices.names(), setup_seconds, table_bytes: level.bytes, launches })
}
