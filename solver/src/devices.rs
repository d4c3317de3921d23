//! CUDA devices of several processes of one host that one of them runs.

use pogo_kernels::device::identity;
use pogo_kernels::ranks::{Reader, Writer};

use crate::config::DeviceChoice;
use crate::error::SolveError;
use crate::team::Team;

/// The devices of all processes for the leading one, where each process has named one, all are on one host, and the leading one sees
/// the device of each under the same number; none where they use none, where one process could not run them all, or where there is one
/// process. Collective.
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
    // Each process may see one device as number 0, and another one than the others see: numbers alone tell nothing.
    let sees_all = all.iter().all(|seen| identity_of(seen.ordinal) == seen.identity);
    if !team.as_the_leader_says(on_one_host && sees_all) {
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
    /// What tells it from all others; nothing where it cannot be used, which whoever opens it will say.
    identity: Vec<u8>,
}

/// What tells a device from all others, if there is one of this number.
fn identity_of(ordinal: u32) -> Vec<u8> {
    identity(ordinal).map_or(Vec::new(), |identity| identity.to_vec())
}

/// What each process says of its device. Collective.
fn gather(team: &Team, own: Option<u32>) -> Vec<Option<Seen>> {
    let mut said = Writer::default();
    if let Some(ordinal) = own {
        said.put(&[ordinal, team.local[0].rank_on_host() as u32]);
        said.put(&identity_of(ordinal));
    }
    let seen = |bytes: Vec<u8>| {
        let mut reader = Reader::new(&bytes);
        let [ordinal, rank_on_host] = *reader.take::<u32>().first_chunk()?;
        Some(Seen { ordinal, rank_on_host, identity: reader.take() })
    };
    let all = team.local[0].all_gather(said.into_bytes());
    all.into_iter().map(|bytes| if bytes.is_empty() { None } else { seen(bytes) }).collect()
}
