//! Arrays on a device that the devices of other ranks read and write.
//!
//! Ranks that are threads of one process have one address space. Ranks that are processes of one host exchange handles,
//! which the driver opens at other addresses.

use std::sync::Arc;

use super::{Ranks, Reader, Writer};
use crate::device::{DeviceError, Gpu, Lent, Opened};

/// The arrays of a rank, as this rank reaches them.
#[derive(Debug)]
pub(crate) struct Reached {
    pub addresses: Vec<u64>,
    /// Whether they lie on another device.
    pub is_other: bool,
}

/// Offers arrays to the devices of all ranks, given their addresses or the reason why there are none. Returns those of all ranks.
/// Collective.
///
/// # Errors
/// The reason; no connection between the devices; devices of different hosts; another rank that could not offer its arrays.
pub(crate) fn exchange_arrays(
    ranks: &Arc<dyn Ranks>,
    gpu: &Gpu,
    arrays: Result<&[u64], DeviceError>,
    opened: &mut Opened,
) -> Result<Vec<Reached>, DeviceError> {
    let offered = arrays.and_then(|arrays| offer(gpu, arrays, ranks.is_one_process()));
    let all = ranks.all_gather(offered.as_ref().map_or_else(|_| Vec::new(), |offer| offer.clone().into_bytes()));
    offered?;
    all.iter().map(|bytes| accept(gpu, bytes, opened)).collect()
}

fn offer(gpu: &Gpu, arrays: &[u64], is_one_process: bool) -> Result<Writer, DeviceError> {
    let mut offer = Writer::default();
    offer.put(&[u64::from(std::process::id()), u64::from(gpu.ordinal)]);
    offer.put(&gpu.uuid()?);
    offer.put(arrays);
    let lent: Vec<Lent> = match is_one_process {
        true => Vec::new(),
        false => arrays.iter().map(|&at| Lent::of(at)).collect::<Result<_, _>>()?,
    };
    offer.put(lent.iter().map(|lent| lent.handle).collect::<Vec<_>>().as_flattened());
    offer.put(&lent.iter().map(|lent| lent.offset).collect::<Vec<u64>>());
    Ok(offer)
}

fn accept(gpu: &Gpu, offer: &[u8], opened: &mut Opened) -> Result<Reached, DeviceError> {
    if offer.is_empty() {
        let reason = "that rank could not offer its memory".into();
        return Err(DeviceError::Failed { what: "reach the device of another rank", reason });
    }
    let mut reader = Reader::new(offer);
    let about = reader.take::<u64>();
    let is_other = reader.take::<u8>() != gpu.uuid()?;
    let addresses = reader.take::<u64>();
    if about[0] == u64::from(std::process::id()) {
        if is_other {
            gpu.reach(about[1] as u32)?;
        }
        return Ok(Reached { addresses, is_other });
    }
    let (handles, offsets) = (reader.take::<u8>(), reader.take::<u64>());
    let lent = handles.as_chunks().0.iter().zip(offsets).map(|(&handle, offset)| Lent { handle, offset });
    let addresses: Result<_, _> = lent.map(|lent| opened.open(&lent)).collect();
    Ok(Reached { addresses: addresses?, is_other })
}
