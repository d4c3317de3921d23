//! Large copies between host and device.
//!
//! The driver copies memory of the host that it has not locked by one thread: 6 GB/s to an H200 beside 16 cores, and 12 GB/s from
//! it. Here all threads copy to or from two buffers of locked memory, while the device has the other: some 20 GB/s.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::context::{Event, Stream};
use super::driver::{self, Address};
use super::host::HostBuffer;
use super::{DeviceError, check};

/// Bytes from which on this is faster: to lock the buffers takes some milliseconds, once.
pub(super) const LARGE: usize = 32 << 20;
/// Bytes of a buffer, and those that a thread copies at once.
const BUFFER: usize = 4 << 20;
const SHARE: usize = 256 << 10;

type Buffers = [HostBuffer<u8>; 2];

/// Buffers that nobody uses now. Any device reaches them.
static FREE: Mutex<Vec<Buffers>> = Mutex::new(Vec::new());

/// Two buffers, what orders their use, and the stream of the copies.
struct Staging {
    buffers: Buffers,
    copied: [Event; 2],
    stream: Stream,
}

impl Staging {
    /// For the device that is current. `act` ends when all copies are done.
    fn with(act: impl FnOnce(&mut Self) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffers = free.map_or_else(|| Ok([HostBuffer::zeros(BUFFER)?, HostBuffer::zeros(BUFFER)?]), Ok)?;
        let mut staging = Self { buffers, copied: [Event::new()?, Event::new()?], stream: Stream::new()? };
        act(&mut staging)?;
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(staging.buffers);
        Ok(())
    }
}

/// Copies bytes to an address of the device.
pub(super) fn to_device(to: Address, from: &[u8]) -> Result<(), DeviceError> {
    Staging::with(|Staging { buffers, copied, stream }| {
        for (at, piece) in from.chunks(BUFFER).enumerate() {
            let side = at % 2;
            if at >= 2 {
                copied[side].synchronize()?;
            }
            let buffer = &mut buffers[side].values_mut()[..piece.len()];
            copy(buffer, piece);
            let (to, from) = (to + (at * BUFFER) as u64, buffer.as_ptr().cast::<c_void>());
            // SAFETY: both sides are as long as is copied, and the buffer is not touched before the event.
            check("copy to the device", unsafe {
                driver::cuMemcpyHtoDAsync_v2(to, from, piece.len(), stream.handle())
            })?;
            copied[side].record(stream)?;
        }
        stream.synchronize()
    })
}

/// Copies bytes from an address of the device.
pub(super) fn from_device(to: &mut [u8], from: Address) -> Result<(), DeviceError> {
    Staging::with(|Staging { buffers, copied, stream }| {
        let lengths: Vec<usize> = to.chunks(BUFFER).map(<[u8]>::len).collect();
        let fetch = |at: usize, buffers: &mut Buffers| -> Result<(), DeviceError> {
            let Some(&length) = lengths.get(at) else { return Ok(()) };
            let buffer = buffers[at % 2].values_mut().as_mut_ptr().cast::<c_void>();
            // SAFETY: both sides are as long as is copied, and the buffer is not touched before the event.
            check("copy from the device", unsafe {
                driver::cuMemcpyDtoHAsync_v2(buffer, from + (at * BUFFER) as u64, length, stream.handle())
            })?;
            copied[at % 2].record(stream)
        };
        fetch(0, buffers)?;
        for (at, piece) in to.chunks_mut(BUFFER).enumerate() {
            fetch(at + 1, buffers)?;
            copied[at % 2].synchronize()?;
            copy(piece, &buffers[at % 2].values()[..piece.len()]);
        }
        Ok(())
    })
}

/// Copies by all threads.
fn copy(to: &mut [u8], from: &[u8]) {
    to.par_chunks_mut(SHARE).zip(from.par_chunks(SHARE)).for_each(|(to, from)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Buffer, Gpu, HostBuffer, n_devices};

    #[test]
    #[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
    fn large_copies_come_back_as_they_went() {
        let every: Vec<u32> = (0..n_devices().unwrap().min(4)).collect();
        Gpu::open(0).unwrap();
        for len in [LARGE - 1, LARGE, 3 * BUFFER / 2 + LARGE + 5, 100 << 20] {
            let values: Vec<u8> = (0..len).map(|at| (at * 7 + at / 1000) as u8).collect();
            for array in [Buffer::of(&values).unwrap(), Buffer::of_cut(&values, &every, &[len / 3]).unwrap()] {
                assert!(array.to_vec().unwrap() == values, "{len}");
                let mut locked = HostBuffer::zeros(len).unwrap();
                array.fetch(&mut locked, len).unwrap();
                assert!(locked.values() == values, "{len}");
            }
        }
    }
}
