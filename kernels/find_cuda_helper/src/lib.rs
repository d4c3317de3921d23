//! Stands in for the crate of this name, which looks for a CUDA toolkit when `cust` is built and stops where there is none.
//!
//! Pogo defines the functions of the driver's library itself and opens that library when it runs (`device/driver.rs` of
//! `pogo-kernels`). So there is nothing to find and nothing to link.

/// Would tell Cargo where CUDA's libraries are.
pub fn include_cuda() {}
