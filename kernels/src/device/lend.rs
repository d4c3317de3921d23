//! Memory that a device lends to other processes of its host.

use std::collections::BTreeMap;

use super::driver::{self, Address, IPC_PEER_ACCESS, MemoryHandle};
use super::{DeviceError, check};

/// An array for other processes: the handle of the memory that it lies in, and its place there, bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lent {
    pub handle: [u8; 64],
    pub offset: u64,
}

impl Lent {
    /// An array at an address of this process.
    ///
    /// # Errors
    /// The driver lends no memory to other processes.
    pub fn of(address: Address) -> Result<Self, DeviceError> {
        let (mut base, mut bytes, mut handle) = (0, 0, MemoryHandle([0; 64]));
        // SAFETY: queries into locals, of an array that this process has allocated.
        unsafe {
            check("find an array's memory", driver::cuMemGetAddressRange_v2(&mut base, &mut bytes, address))?;
            check("lend memory to other processes", driver::cuIpcGetMemHandle(&mut handle, base))?;
        }
        Ok(Self { handle: handle.0, offset: address - base })
    }
}

/// Memory of other processes, which is closed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Opened(BTreeMap<[u8; 64], Address>);

impl Opened {
    /// Address of an array of another process, for kernels of the current device.
    ///
    /// # Errors
    /// There is no connection between the devices, or they belong to different hosts.
    pub fn open(&mut self, lent: &Lent) -> Result<Address, DeviceError> {
        if let Some(&at) = self.0.get(&lent.handle) {
            return Ok(at + lent.offset);
        }
        let mut at = 0;
        // SAFETY: a handle that the driver has made for another process.
        let status = unsafe { driver::cuIpcOpenMemHandle_v2(&mut at, MemoryHandle(lent.handle), IPC_PEER_ACCESS) };
        check("reach the memory of another process, which must see the same devices on the same host", status)?;
        self.0.insert(lent.handle, at);
        Ok(at + lent.offset)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        for &at in self.0.values() {
            // SAFETY: opened by this, closed once. A lost device has closed everything already.
            let _ = unsafe { driver::cuIpcCloseMemHandle(at) };
        }
    }
}
