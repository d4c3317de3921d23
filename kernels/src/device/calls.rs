//! Calls of a kernel that runs, to the host.
//!
//! ```text
//! kernel   writes what the host is to have, counts a call          waits          reads the answer
//! host                                                   answers, counts the answer
//! ```
//!
//! Both counts lie in the memory of the host. The kernel makes one call at a time. `wait_for_host` in flags.cuh is the other end.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Address, DeviceError, HostBuffer};

/// The count of answers after which no more calls are answered.
pub(crate) const GIVEN_UP: u32 = u32::MAX;

/// Gives memory of the host that kernels use, too.
pub(crate) trait Mapped {
    /// Address of so many bytes, all 0.
    fn zeros(&mut self, bytes: usize) -> Result<Address, DeviceError>;
}

impl Mapped for Vec<HostBuffer<u8>> {
    fn zeros(&mut self, bytes: usize) -> Result<Address, DeviceError> {
        let buffer = HostBuffer::zeros(bytes)?;
        let address = buffer.pointer();
        self.push(buffer);
        Ok(address)
    }
}

/// Answers the calls of one kernel at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls {
    /// Number of calls, and what the last one is for.
    pub calls: Address,
    /// Number of answers.
    pub answered: Address,
}

impl Calls {
    /// # Errors
    /// Too little memory.
    pub fn new(shared: &mut impl Mapped) -> Result<Self, DeviceError> {
        Ok(Self { calls: shared.zeros(8)?, answered: shared.zeros(4)? })
    }

    /// Forgets the calls of the kernel before. No kernel runs.
    pub fn reset(&self) {
        self.made()[0].store(0, Ordering::Relaxed);
        self.answered().store(0, Ordering::Release);
    }

    /// Answers calls by `answer`, which gets what each is for, until `is_done` says that the kernel has ended.
    ///
    /// # Errors
    /// The kernel has failed, or `answer`. Then the kernel gets no more answers but that.
    pub fn serve(
        &self,
        mut answer: impl FnMut(u32) -> Result<(), DeviceError>,
        is_done: &mut dyn FnMut() -> Result<bool, DeviceError>,
    ) -> Result<(), DeviceError> {
        /// Looks for a call between two questions of whether the kernel has ended.
        const LOOKS: u32 = 200;
        let mut n_answered = 0;
        loop {
            for _ in 0..LOOKS {
                if self.made()[0].load(Ordering::Acquire) > n_answered {
                    let what = self.made()[1].load(Ordering::Relaxed);
                    if let Err(error) = answer(what) {
                        self.answered().store(GIVEN_UP, Ordering::Release);
                        return Err(error);
                    }
                    n_answered += 1;
                    self.answered().store(n_answered, Ordering::Release);
                }
                std::hint::spin_loop();
            }
            if is_done()? {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    fn made(&self) -> &[AtomicU32; 2] {
        // SAFETY: two numbers of the host's memory, which live as long as this; the kernel writes them one at a time.
        unsafe { &*(self.calls as *const [AtomicU32; 2]) }
    }

    fn answered(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*(self.answered as *const AtomicU32) }
    }
}

/// Memory as bytes.
///
/// # Safety
/// There are as many bytes at the address, and nobody writes them.
pub(crate) unsafe fn bytes_at<'a>(address: Address, n: usize) -> &'a [u8] {
    // SAFETY: what the caller says.
    unsafe { std::slice::from_raw_parts(address as *const u8, n) }
}

/// The same to be written.
///
/// # Safety
/// There are as many bytes at the address, and nobody else uses them.
pub(crate) unsafe fn bytes_at_mut<'a>(address: Address, n: usize) -> &'a mut [u8] {
    // SAFETY: what the caller says.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, n) }
}
