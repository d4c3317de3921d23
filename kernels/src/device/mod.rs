//! A CUDA device: driver, memory, compiled kernels and their launches, and the layouts that kernels and host share.
//!
//! | file | holds |
//! |---|---|
//! | `driver.rs` | the functions of `libcuda.so.1`, opened at run time |
//! | `context.rs` | `Gpu` (one device), streams, events, recorded launches |
//! | `devices.rs` | `Devices`: devices that compute together, and how they wait for each other |
//! | `spread.rs` | memory of several devices at one range of addresses |
//! | `memory.rs` | `Buffer` (one array), `Arena` (the named arrays of a solver), `Plan` (arrays that are placed together) |
//! | `staging.rs` | large copies between host and device |
//! | `kernel.rs` | `Kernel` (one function of a module) and its launches |
//! | `ptx.rs` | the compiled modules, which driver they need, and how they are loaded |
//! | `layout.rs` | `layouts!`: structures and constants that stand in Rust and in a header for the kernels |
//! | `values.rs` | values that host and device share: numbers, and addresses in structures for kernels |
//! | `start.rs` | `Starting`: a device that is prepared while the host does something else |

mod calls;
mod context;
mod devices;
mod driver;
mod host;
mod kernel;
pub(crate) mod layout;
mod lend;
mod memory;
mod ptx;
mod spread;
mod staging;
mod start;
mod values;

pub(crate) use calls::{Calls, GIVEN_UP, Mapped, bytes_at, bytes_at_mut};
pub(crate) use context::{Event, Gpu, Graph, Stream};
pub use context::{free_memory, identity, n_devices};
pub(crate) use devices::Devices;
pub(crate) use driver::Address;
pub(crate) use host::HostBuffer;
pub(crate) use kernel::{Kernel, arguments};
pub(crate) use lend::{Lent, Opened};
pub(crate) use memory::{Arena, Buffer, Plan, Slice, field};
pub use memory::{MemoryReport, copy_bandwidth};
pub(crate) use ptx::Module;
pub use ptx::{DRIVER, Driver, use_ptx_from};
pub use start::Starting;
pub(crate) use values::{Plain, Pointer, append, plain_bytes, plain_bytes_mut, read};

/// Why a device cannot be used, or cannot go on.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum DeviceError {
    /// The system makes too few threads.
    #[error(transparent)]
    Threads(pogo_formats::system::threads::ThreadError),
    /// No `libcuda.so.1`.
    #[error("there is no CUDA driver on this machine; use --device cpu")]
    NoDriver,
    /// The driver cannot load the compiled kernels.
    #[error(
        "the CUDA driver is too old: it supports CUDA {}.{}, the kernels need CUDA {}.{} (driver {} or later); \
         update the driver, or use --device cpu",
        found / 1000, found % 1000 / 10, DRIVER.cuda / 1000, DRIVER.cuda % 1000 / 10, DRIVER.linux
    )]
    OldDriver {
        /// As the driver gives it: 1000 × major + 10 × minor.
        found: u32,
    },
    /// A driver without devices, or with fewer than were asked for.
    #[error("there is no CUDA device {ordinal}: the driver has {found} (0 counts first); use --device cpu")]
    NoDevice {
        /// Asked for.
        ordinal: u32,
        /// Number of devices.
        found: u32,
    },
    /// The compute capability is below 8.0.
    #[error("{name} has compute capability {major}.{minor}; 8.0 or later is needed: use --device cpu")]
    Old {
        /// Device.
        name: String,
        /// Compute capability before the dot.
        major: i32,
        /// Compute capability after the dot.
        minor: i32,
    },
    /// More memory is needed than is free.
    #[error(
        "the run needs {:.2} GB of memory on {name}, where {:.2} GB are free: use {advice}",
        *needed as f64 / 1e9, *free as f64 / 1e9
    )]
    Memory {
        /// Device.
        name: String,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
        /// What to use instead.
        advice: &'static str,
    },
    /// More memory is needed than is free on several devices.
    #[error(
        "the run needs {:.2} GB of memory on each of {names}, where {:.2} GB are free: use {n_needed} devices of this size, \
         {advice}",
        *needed as f64 / 1e9, *free as f64 / 1e9
    )]
    MemoryOfDevices {
        /// Devices.
        names: String,
        /// Bytes on each device.
        needed: u64,
        /// Bytes on the device with the least.
        free: u64,
        /// Number of devices like that which have enough memory.
        n_needed: u64,
        /// What else to use.
        advice: &'static str,
    },
    /// A thread block needs more shared memory than a multiprocessor has.
    #[error(
        "a block needs {needed} B of shared memory and a multiprocessor of {name} has {available}: block the model with \
         a smaller --block-nodes"
    )]
    Shared {
        /// Device.
        name: String,
        /// Bytes.
        needed: u32,
        /// Bytes.
        available: u32,
    },
    /// Linear constraints that hang together in too large a set.
    #[error("linear constraints join {n} unknowns, and devices solve for {most} at most: use --device cpu")]
    Constraints {
        /// Unknowns that hang together.
        n: usize,
        /// The most.
        most: usize,
    },
    /// The block file was made without tables for devices.
    #[error("the blocks have no tables for devices; write the block file again, or use --device cpu")]
    NoTables,
    /// Another rank lost its device.
    #[error("rank {rank}: {reason}")]
    OnRank {
        /// Its number.
        rank: usize,
        /// What it says.
        reason: String,
    },
    /// The driver reports an error.
    #[error("CUDA cannot {what}: {reason}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// The driver's words.
        reason: String,
    },
}

/// Checks that `needed` bytes fit in equal shares on devices with so much `free` memory, beside `reserve` bytes on each.
fn check_memory(names: &str, free: &[u64], needed: u64, reserve: u64, advice: &'static str) -> Result<(), DeviceError> {
    let least = free.iter().copied().min().unwrap_or(0);
    let share = needed.div_ceil(free.len().max(1) as u64) + reserve;
    if share <= least {
        return Ok(());
    }
    let n_needed = needed.div_ceil(least.saturating_sub(reserve).max(1));
    Err(DeviceError::MemoryOfDevices { names: names.to_owned(), needed: share, free: least, n_needed, advice })
}

/// Turns the driver's status into an error that says what was tried.
pub(crate) fn check(what: &'static str, status: driver::Status) -> Result<(), DeviceError> {
    if status == driver::SUCCESS {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: the driver gives a pointer to a constant string.
    let reason = unsafe {
        if driver::cuGetErrorString(status, &mut text) == driver::SUCCESS && !text.is_null() {
            std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned()
        } else {
            format!("error {status}")
        }
    };
    Err(DeviceError::Failed { what, reason })
}

/// Waits for what the default stream has been given. Copies from the host and clearing go there and may return before they are
/// done, and the streams of the solvers do not wait for it.
fn finish_default_stream() -> Result<(), DeviceError> {
    // SAFETY: the null handle is the default stream.
    check("finish its work", unsafe { driver::cuStreamSynchronize(std::ptr::null_mut()) })
}

/// The name of a device that can be used.
///
/// # Errors
/// There is no device of this number, or it or its driver is too old.
pub fn device_name(ordinal: u32) -> Result<String, DeviceError> {
    Gpu::open(ordinal).map(|gpu| gpu.name)
}

/// The name of the first device, if there is a driver and a device that can be used.
pub fn first_device() -> Option<String> {
    device_name(0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_too_large_names_the_number_of_devices_that_it_needs() {
        assert!(check_memory("two", &[10 << 30, 9 << 30], 16 << 30, 1 << 30, "--device cpu").is_ok());
        let error =
            check_memory("2 × A", &[10_000_000_000, 9_000_000_000], 26_000_000_000, 500_000_000, "--device cpu");
        assert_eq!(
            error.unwrap_err().to_string(),
            "the run needs 13.50 GB of memory on each of 2 × A, where 9.00 GB are free: use 4 devices of this size, --device cpu"
        );
    }
}
