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
    let offered = arrays.and_then(|arrays| offer(&**ranks, gpu, arrays));
    let all = ranks.all_gather(offered.as_ref().map_or_else(|_| Vec::new(), |offer| offer.clone().into_bytes()));
    offered?;
    all.iter().enumerate().map(|(rank, bytes)| accept(&**ranks, rank, gpu, bytes, opened)).collect()
}

fn offer(ranks: &dyn Ranks, gpu: &Gpu, arrays: &[u64]) -> Result<Writer, DeviceError> {
    let mut offer = Writer::default();
    // Ranks of one host have the same numbers there as among all.
    let is_on_first_host = ranks.is_one_process() || ranks.rank_on_host() == ranks.rank();
    offer.put(&[u64::from(gpu.ordinal), u64::from(is_on_first_host)]);
    offer.put(&gpu.uuid()?);
    offer.put(arrays);
    let lent: Vec<Lent> = match ranks.is_one_process() {
        true => Vec::new(),
        false => arrays.iter().map(|&at| Lent::of(at)).collect::<Result<_, _>>()?,
    };
    offer.put(lent.iter().map(|lent| lent.handle).collect::<Vec<_>>().as_flattened());
    offer.put(&lent.iter().map(|lent| lent.offset).collect::<Vec<u64>>());
    Ok(offer)
}

/// What `rank` has offered.
fn accept(
    ranks: &dyn Ranks,
    rank: usize,
    gpu: &Gpu,
    offer: &[u8],
    opened: &mut Opened,
) -> Result<Reached, DeviceError> {
    let failed = |reason: &str| {
        let reason = format!("rank {rank} {reason}");
        DeviceError::Failed { what: "reach the device of another rank", reason }
    };
    if offer.is_empty() {
        return Err(failed("could not offer its memory"));
    }
    let mut reader = Reader::new(offer);
    let about = reader.take::<u64>();
    if about[1] == 0 {
        return Err(failed("is on another host than rank 0; start all processes on one host, or use --device cpu"));
    }
    let is_other = reader.take::<u8>() != gpu.uuid()?;
    let addresses = reader.take::<u64>();
    if rank == ranks.rank() || ranks.is_one_process() {
        if is_other {
            gpu.reach(about[0] as u32)?;
        }
        return Ok(Reached { addresses, is_other });
    }
    let (handles, offsets) = (reader.take::<u8>(), reader.take::<u64>());
    let lent = handles.as_chunks().0.iter().zip(offsets).map(|(&handle, offset)| Lent { handle, offset });
    let addresses: Result<_, _> = lent.map(|lent| opened.open(&lent)).collect();
    Ok(Reached { addresses: addresses?, is_other })
}
