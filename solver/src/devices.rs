//! CUDA devices of several processes of one host that one of them runs.

use pogo_kernels::ranks::{Reader, Writer};

use crate::config::DeviceChoice;
use crate::error::SolveError;
use crate::team::Team;

/// The devices of all processes for the leading one, where each process has named one and all see the same devices of one host; none
/// where they use none, where they are on several hosts or see different devices, or where there is one process. Collective.
///
/// # Errors
/// Only some processes have a device.
pub(crate) fn of_host(team: &Team, choices: &[DeviceChoice]) -> Result<Option<Vec<DeviceChoice>>, SolveError> {
    if !team.is_several() {
        return Ok(None);
    }
    let [DeviceChoice::Cuda(own)] = *choices else {
        let others = gather(team, None);
        return if others.iter().all(Option::is_none) { Ok(None) } else { Err(SolveError::MixedDevices) };
    };
    let others = gather(team, Some(own));
    let Some(all) = others.into_iter().collect::<Option<Vec<Seen>>>() else { return Err(SolveError::MixedDevices) };
    let on_one_host = all.iter().filter(|seen| seen.rank_on_host == 0).count() == 1;
    if !on_one_host || all.iter().any(|seen| seen.visible != all[0].visible) {
        return Ok(None);
    }
    let mut ordinals: Vec<u32> = all.iter().map(|seen| seen.ordinal).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    Ok(Some(ordinals.into_iter().map(DeviceChoice::Cuda).collect()))
}

/// A device as a process sees it.
struct Seen {
    ordinal: u32,
    rank_on_host: u32,
    /// `CUDA_VISIBLE_DEVICES`.
    visible: Vec<u8>,
}

/// What each process says of its device. Collective.
fn gather(team: &Team, own: Option<u32>) -> Vec<Option<Seen>> {
    let mut said = Writer::default();
    if let Some(ordinal) = own {
        said.put(&[ordinal, team.local[0].rank_on_host() as u32]);
        said.put(std::env::var_os("CUDA_VISIBLE_DEVICES").unwrap_or_default().as_encoded_bytes());
    }
    let seen = |bytes: Vec<u8>| {
        let mut reader = Reader::new(&bytes);
        let [ordinal, rank_on_host] = *reader.take::<u32>().first_chunk()?;
        Some(Seen { ordinal, rank_on_host, visible: reader.take() })
    };
    let all = team.local[0].all_gather(said.into_bytes());
    all.into_iter().map(|bytes| if bytes.is_empty() { None } else { seen(bytes) }).collect()
}
