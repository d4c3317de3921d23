//! How a model is run on a device, and what comes of it.

use crate::device::{DeviceError, MemoryReport};
use crate::spring::{Addressing, SpringError};

/// How a step is computed. The paper's names: *cached* reads neighbours where they are, *shared* through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// The fastest that the model allows.
    #[default]
    Automatic,
    /// One place or particle a thread, neighbours read from device memory through its caches.
    Cached,
    /// Implicit: columns of a tile, marched plane by plane. Explicit: a block and its halo.
    Shared,
    /// Explicit, small models: the kernel stays for many steps.
    Resident,
}

/// How a model is run on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuOptions {
    /// Which device, from 0.
    pub ordinal: u32,
    /// How a step is computed; [`GpuError::Scheme`] where the model does not allow it.
    pub scheme: Scheme,
    /// Particles a block of explicit addressing with local ids, 0 for what is best.
    pub block: usize,
    /// Planes that a thread block marches, 0 for what is best.
    pub depth: u32,
}

/// Why a stepper on a device cannot be made.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum GpuError {
    /// The model is wrong.
    #[error(transparent)]
    Problem(#[from] SpringError),
    /// The device cannot do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The model does not allow the scheme of the options.
    #[error("this model cannot be stepped by the scheme {scheme:?} with {addressing:?} addressing; needed: {needed}")]
    #[allow(missing_docs)]
    Scheme { scheme: Scheme, addressing: Addressing, needed: &'static str },
}

/// What a stepper on a device is and does.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuReport {
    /// The device's name.
    pub device: String,
    /// The addressing that was chosen.
    pub addressing: Addressing,
    /// The scheme that was chosen.
    pub scheme: Scheme,
    /// Arrays on the device.
    pub memory: MemoryReport,
    /// Kernel, threads a block, registers a thread, blocks resident on a multiprocessor.
    pub kernel: (String, u32, u32, u32),
    /// Bytes that a particle-step must move.
    pub bytes_per_particle_step: f64,
}
