//! Values that host and device share: numbers, and addresses of the device in structures for kernels.

use std::marker::PhantomData;

use super::driver::Address;

/// Values that may lie on a device as they lie here.
///
/// # Safety
/// Every bit pattern is valid, and nothing reads what may lie between fields.
pub(crate) unsafe trait Plain: Copy {
    /// All bits 0.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is valid.
        unsafe { std::mem::zeroed() }
    }
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $number {}
    )*};
}
plain!(u8, u16, u32, u64, i16, i32, f32, f64);
// SAFETY: numbers one behind the other.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Writes numbers as bytes behind others.
pub(crate) fn append<T: Plain>(numbers: &[T], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(plain_bytes(numbers));
}

/// Reads the number that `bytes` begin with.
pub(crate) fn read<T: Plain>(bytes: &[u8]) -> T {
    assert!(bytes.len() >= size_of::<T>());
    // SAFETY: as many bytes as a number has, of which any are valid.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

/// Numbers as bytes.
pub(crate) fn plain_bytes<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: plain values seen as bytes.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The same to be written.
pub(crate) fn plain_bytes_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: every bit pattern is valid for plain values.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// An address of the device in a structure for kernels.
pub(crate) trait Pointer<T>: Copy {
    fn from_address(address: Address) -> Self;
}

macro_rules! pointers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name<T>(Address, PhantomData<*mut T>);

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        // SAFETY: a number.
        unsafe impl<T> Plain for $name<T> {}
        // SAFETY: a number.
        unsafe impl<T> Send for $name<T> {}

        impl<T> Pointer<T> for $name<T> {
            fn from_address(address: Address) -> Self {
                Self(address, PhantomData)
            }
        }

        #[allow(dead_code)]
        impl<T> $name<T> {
            /// The null pointer.
            pub fn null() -> Self {
                Self(0, PhantomData)
            }

            pub fn address(self) -> Address {
                self.0
            }

            /// The address of the value so many further on.
            pub fn at(self, n: usize) -> Self {
                Self(self.0 + (n * size_of::<T>()) as Address, PhantomData)
            }
        }
    )*};
}

pointers! {
    /// `const T *`.
    In;
    /// `T *`.
    Out;
}
