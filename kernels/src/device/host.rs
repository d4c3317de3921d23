//! Memory of the host that devices read and write.

use std::ffi::c_void;
use std::marker::PhantomData;

use super::driver::{self, Address};
use super::values::Plain;
use super::{DeviceError, check};

/// An array in the memory of the host, at the same address for kernels; freed when this is dropped.
#[derive(Debug)]
pub(crate) struct HostBuffer<T> {
    start: *mut c_void,
    len: usize,
    kind: PhantomData<T>,
}

// SAFETY: memory that this value owns; kernels that use it are waited for before the host does.
unsafe impl<T: Send> Send for HostBuffer<T> {}

impl<T: Plain> HostBuffer<T> {
    /// `len` values, all bits 0.
    pub fn zeros(len: usize) -> Result<Self, DeviceError> {
        let (mut start, bytes) = (std::ptr::null_mut(), len.max(1) * size_of::<T>());
        // SAFETY: a context is current; the address is kept for `drop`.
        check("allocate memory of the host", unsafe {
            driver::cuMemHostAlloc(&mut start, bytes, driver::HOST_MEMORY_OF_DEVICES)
        })?;
        // SAFETY: as many bytes as were allocated.
        unsafe { std::ptr::write_bytes(start.cast::<u8>(), 0, bytes) };
        Ok(Self { start, len, kind: PhantomData })
    }

    /// Its address, for kernels.
    pub fn pointer(&self) -> Address {
        self.start as Address
    }

    /// All values, which no kernel writes now.
    pub fn values(&self) -> &[T] {
        // SAFETY: as many values as were allocated; any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.start.cast::<T>(), self.len) }
    }

    /// The same, which no kernel uses now.
    pub fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as many values as were allocated, which this value alone has; any bytes are valid.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast::<T>(), self.len) }
    }
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by this type, freed once.
        let _ = unsafe { driver::cuMemFreeHost(self.start) };
    }
}
