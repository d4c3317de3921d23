//! What runs in the inner loop, one folder a kernel. Kernels know no files: they see slices.

// Tensors are written with their indices, as in the literature; and `!(x > 0.0)` is meant to catch NaN.
#![allow(clippy::needless_range_loop, clippy::neg_cmp_op_on_partial_ord)]

pub mod device;
pub mod dynamics;
pub mod eikonal;
pub mod exchange;
pub mod explicit;
pub mod papers;
pub mod ranks;
pub mod simd;
pub mod spring;
pub mod union;
pub mod voxel;

// Test support is shared with the examples, which see this crate by name.
#[cfg(test)]
extern crate self as pogo_kernels;

#[cfg(test)]
#[path = "../examples/support/mod.rs"]
mod test_support;

#[cfg(test)]
#[path = "../examples/support/spring.rs"]
mod spring_support;

#[cfg(test)]
#[path = "../examples/support/eikonal.rs"]
mod test_meshes;
