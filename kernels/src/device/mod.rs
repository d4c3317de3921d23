//! A CUDA device: driver, memory, compiled kernels and their launches, and the layouts that kernels and host share.
//!
//! | file | holds |
//! |---|---|
//! | `driver.rs` | the functions of `libcuda.so.1`, opened at run time |
//! | `context.rs` | `Gpu` (one device), streams, events, recorded launches |
//! | `memory.rs` | `Buffer` (one array), `Arena` (the named arrays of a solver), `Plan` (arrays that are placed together) |
//! | `kernel.rs` | `Kernel` (one function of a module) and its launches |
//! | `ptx.rs` | the compiled modules, which driver they need, and how they are loaded |
//! | `layout.rs` | `layouts!`: structures and constants that stand in Rust and in a header for the kernels |
//! | `values.rs` | values that host and device share: numbers, and addresses in structures for kernels |
//! | `start.rs` | `Starting`: a device that is prepared while the host does something else |

mod context;
mod driver;
mod kernel;
pub(crate) mod layout;
mod memory;
mod ptx;
mod start;
mod values;

pub use context::n_devices;
pub(crate) use context::{Event, Gpu, Graph, Stream};
pub(crate) use kernel::{Kernel, arguments};
pub(crate) use memory::{Arena, Buffer, Plan, Slice, field};
pub use memory::{MemoryReport, copy_bandwidth};
pub(crate) use ptx::Module;
pub use ptx::{DRIVER, Driver, use_ptx_from};
pub use start::Starting;
pub(crate) use values::{Plain, Pointer, append, read};

/// Why a device cannot be used, or cannot go on.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum DeviceError {
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
