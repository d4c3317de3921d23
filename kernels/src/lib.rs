//! What runs in the inner loop, one folder a kernel. Kernels know no files: they see slices.

pub mod elements;
pub mod explicit;
