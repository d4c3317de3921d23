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

    /// Copies values from `first` on as bytes, which replace those of `bytes`. No kernel writes them now.
    ///
    /// # Panics
    /// If there are too few values.
    pub fn read(&self, first: usize, len: usize, bytes: &mut Vec<u8>) {
        assert!(first + len <= self.len, "fewer values than are read");
        bytes.clear();
        // SAFETY: inside the array; numbers have no padding.
        let values = unsafe {
            std::slice::from_raw_parts(self.start.cast::<u8>().add(first * size_of::<T>()), len * size_of::<T>())
        };
        bytes.extend_from_slice(values);
    }

    /// Overwrites values from `first` on. No kernel uses them now.
    ///
    /// # Panics
    /// If there are more than the array holds.
    pub fn write(&mut self, first: usize, bytes: &[u8]) {
        assert!(first * size_of::<T>() + bytes.len() <= self.len * size_of::<T>(), "more values than the array holds");
        // SAFETY: inside the array.
        unsafe {
            let to = self.start.cast::<u8>().add(first * size_of::<T>());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by this type, freed once.
        let _ = unsafe { driver::cuMemFreeHost(self.start) };
    }
}
