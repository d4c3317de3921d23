//! Large copies between host and device.
//!
//! The driver copies memory of the host that it has not locked by one thread: 6 GB/s to an H200 beside 16 cores, and 12 GB/s from
//! it. Here several threads copy pieces, each through locked memory of its own. They are no threads of a pool, so that a copy does
//! not wait for what a pool does meanwhile.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use pogo_formats::system::threads;

use super::context::Stream;
use super::driver::{self, Address, Context};
use super::host::HostBuffer;
use super::{DeviceError, check};

/// Bytes from which on this is faster: to lock memory takes some milliseconds, once.
pub(super) const LARGE: usize = 32 << 20;
/// Bytes of a piece, and most threads.
const PIECE: usize = 1 << 20;
const MOST_THREADS: usize = 8;

/// Locked memory that nobody uses now. Any device reaches it.
static FREE: Mutex<Vec<HostBuffer<u8>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a copy is large enough, and there are threads to share it.
pub(super) fn pays(bytes: usize) -> bool {
    bytes >= LARGE && rayon::current_num_threads() > 1
}

/// Copies bytes to an address of the device.
pub(super) fn to_device(to: Address, from: &[u8]) -> Result<(), DeviceError> {
    by_threads(from.chunks(PIECE).enumerate(), |(at, piece), buffer, stream| {
        buffer.values_mut()[..piece.len()].copy_from_slice(piece);
        let (to, from) = (to + (at * PIECE) as u64, buffer.values().as_ptr().cast::<c_void>());
        // SAFETY: both sides are as long as is copied, and the buffer is not touched before that is done.
        check("copy to the device", unsafe { driver::cuMemcpyHtoDAsync_v2(to, from, piece.len(), stream.handle()) })?;
        stream.synchronize()
    })
}

/// Copies bytes from an address of the device.
pub(super) fn from_device(to: &mut [u8], from: Address) -> Result<(), DeviceError> {
    by_threads(to.chunks_mut(PIECE).enumerate(), |(at, piece), buffer, stream| {
        let (to, from) = (buffer.values_mut().as_mut_ptr().cast::<c_void>(), from + (at * PIECE) as u64);
        // SAFETY: both sides are as long as is copied, and the buffer is not touched before that is done.
        check("copy from the device", unsafe { driver::cuMemcpyDtoHAsync_v2(to, from, piece.len(), stream.handle()) })?;
        stream.synchronize()?;
        piece.copy_from_slice(&buffer.values()[..piece.len()]);
        Ok(())
    })
}

/// The context of the calling thread, for other threads.
struct Current(Context);

// SAFETY: the driver lets any thread use a context.
unsafe impl Sync for Current {}

/// Takes pieces by some threads, each with locked memory and a stream of its own.
fn by_threads<P: Send>(
    pieces: impl Iterator<Item = P> + Send,
    act: impl Fn(P, &mut HostBuffer<u8>, &Stream) -> Result<(), DeviceError> + Sync,
) -> Result<(), DeviceError> {
    let mut context = Current(std::ptr::null_mut());
    // SAFETY: a place for the answer.
    check("find its context", unsafe { driver::cuCtxGetCurrent(&mut context.0) })?;
    let (context, pieces) = (&context, Mutex::new(pieces));
    let work = || -> Result<(), DeviceError> {
        // SAFETY: the context of the caller, which keeps it.
        check("enter its context", unsafe { driver::cuCtxSetCurrent(context.0) })?;
        let free = lock(&FREE).pop();
        let (mut buffer, stream) = (free.map_or_else(|| HostBuffer::zeros(PIECE), Ok)?, Stream::new()?);
        loop {
            let next = lock(&pieces).next();
            let Some(piece) = next else { break };
            act(piece, &mut buffer, &stream)?;
        }
        lock(&FREE).push(buffer);
        Ok(())
    };
    thread::scope(|scope| {
        let n_threads = rayon::current_num_threads().clamp(1, MOST_THREADS);
        let spawn = |_| threads::spawn_scoped(scope, "copy", work).map_err(DeviceError::Threads);
        let running: Vec<_> = (0..n_threads).map(spawn).collect::<Result<_, _>>()?;
        running
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
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
        for len in [LARGE - 1, LARGE, 3 * PIECE / 2 + LARGE + 5, 100 << 20] {
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
