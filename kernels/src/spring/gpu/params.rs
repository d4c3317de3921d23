//! What the kernels are told: the mirrors of springs.cuh.

use pogo_formats::spring::N_DIRECTIONS;

use crate::device::Plain;
use crate::spring::law::Constants;

/// `Special` in springs.cuh.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Special {
    pub index: u32,
    pub signal: u32,
    pub kind: u32,
    pub unused: u32,
    pub value: f64,
}
// SAFETY: numbers, no padding.
unsafe impl Plain for Special {}

/// `Edit` in springs.cuh.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Edit {
    pub at: u32,
    pub clear: u32,
    pub set: u32,
}
// SAFETY: numbers.
unsafe impl Plain for Edit {}

/// `Params` in springs.cuh. Addresses are of the device.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Params<T> {
    pub u: [u64; 2],
    pub du: [u64; 2],
    pub drag: u64,
    pub mask: u64,
    pub material: u64,
    pub rules: u64,
    pub inertia: u64,
    pub ids: u64,
    pub place: u64,
    pub global_ids: u64,
    pub first: u64,
    pub halo_first: u64,
    pub halo: u64,
    pub rest: u64,
    pub class: u64,
    pub special_first: u64,
    pub special_of: u64,
    pub specials: u64,
    pub last: u64,
    pub work: u64,
    pub special_heat: u64,
    pub heat: u64,
    pub signals: u64,
    pub record: u64,
    pub recording: u64,
    pub monitors: u64,
    pub row: u64,
    pub log: u64,
    pub log_count: u64,
    pub particle: u64,
    pub exchange: u64,
    pub tickets: u64,
    pub whole: u64,
    pub friction: [f64; 2],
    pub inertia_factor: f64,
    pub time_increment: f64,
    pub n_signals: u32,
    pub n_monitors: u32,
    pub n_specials: u32,
    pub n: u32,
    pub len: u32,
    pub row_length: u32,
    pub plane: u32,
    pub pad: u32,
    pub block: u32,
    pub n_materials: u32,
    pub n_directions: u32,
    pub damped: u32,
    pub breaks: u32,
    /// Most particles of a halo, and most places of a block and its halo in shared memory.
    pub halo_most: u32,
    pub local_most: u32,
    pub wide: u32,
    pub id_bytes: u32,
    pub pairs: u32,
    pub follow: u32,
    pub depth: u32,
    pub whole_words: u32,
    pub size: [u32; 3],
    pub stride: [i32; N_DIRECTIONS],
    pub decay: T,
    pub uniform_inertia: T,
    pub rule: [Constants<T>; N_DIRECTIONS],
    pub pull: [T; N_DIRECTIONS],
}
