//! Archived little-endian numbers as native slices: the one place that reinterprets mapped bytes.

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("block files are used in place: a 64-bit little-endian machine is needed");

use rkyv::{
    primitive::{ArchivedF32, ArchivedF64, ArchivedU16, ArchivedU32, ArchivedU64},
    vec::ArchivedVec,
};

/// An archived number whose bytes are those of a native one on a little-endian machine.
///
/// # Safety
/// `Native` has the same size, alignment and byte layout as `Self`, and every bit pattern is valid for it.
pub(crate) unsafe trait SameBytes {
    /// The native number.
    type Native;
}

macro_rules! same_bytes {
    ($($archived:ty: $native:ty),*) => {$(
        // SAFETY: rend's aligned little-endian numbers are `repr(C)` structs with the native type as their only field, at its
        // alignment. `native` asserts size and alignment when it is compiled, and the machine is little-endian (above). All bit
        // patterns are valid for integers and floats. A byte is the same type.
        unsafe impl SameBytes for $archived {
            type Native = $native;
        }
    )*};
}
same_bytes!(ArchivedF64: f64, ArchivedF32: f32, ArchivedU64: u64, ArchivedU32: u32, ArchivedU16: u16, u8: u8);

/// The numbers of an archived vector, in place.
pub(crate) fn native<T: SameBytes>(archived: &ArchivedVec<T>) -> &[T::Native] {
    const {
        assert!(size_of::<T>() == size_of::<T::Native>() && align_of::<T>() == align_of::<T::Native>());
    }
    let slice = archived.as_slice();
    // SAFETY: the pointer and the length are those of a slice whose elements have the same size and alignment (asserted when
    // compiled), and every bit pattern is valid (`SameBytes`). The result borrows from `archived`, so that nobody writes there.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<T::Native>(), slice.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        assert_eq!(ArchivedU32::from_native(0x0102_0304), 0x0102_0304);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![1.5_f64, -0.0, f64::MAX]).unwrap();
        let archived = rkyv::access::<ArchivedVec<ArchivedF64>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [1.5, -0.0, f64::MAX]);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![1.5_f32, f32::MIN]).unwrap();
        let archived = rkyv::access::<ArchivedVec<ArchivedF32>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [1.5, f32::MIN]);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![1_u32, u32::MAX - 1]).unwrap();
        let archived = rkyv::access::<ArchivedVec<ArchivedU32>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [1, u32::MAX - 1]);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![1_u64, u64::MAX - 1]).unwrap();
        let archived = rkyv::access::<ArchivedVec<ArchivedU64>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [1, u64::MAX - 1]);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![7_u8, 255]).unwrap();
        let archived = rkyv::access::<ArchivedVec<u8>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [7, 255]);
        let bytes = rkyv::to_bytes::<rkyv::rancor::BoxedError>(&vec![1_u16, 0xfffe]).unwrap();
        let archived = rkyv::access::<ArchivedVec<ArchivedU16>, rkyv::rancor::BoxedError>(&bytes).unwrap();
        assert_eq!(native(archived), [1, 0xfffe]);
    }
}
