//! Checkpoints of a run in time: the state, and everything that has been recorded so far.

use std::path::Path;

use pogo_formats::write::checkpoint::{self, Checkpoint};
use pogo_formats::write::summary::Status;
use pogo_formats::write::traces::Traces;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::BoxedError;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::schedule::Clock;
use crate::error::SolveError;
use crate::folder::read_summary;

/// Name of the checkpoint in the output folder.
pub(crate) const FILE_NAME: &str = "checkpoint.pogo";
/// Name of the file with the state of a diverged run.
pub(crate) const DIVERGED_FILE_NAME: &str = "diverged.pogo";

/// What can be archived into a checkpoint and read back.
pub(crate) trait Archived:
    Sized
    + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, BoxedError>>
    + Archive<
        Archived: for<'a> CheckBytes<HighValidator<'a, BoxedError>> + Deserialize<Self, HighDeserializer<BoxedError>>,
    >
{
}

impl<T> Archived for T where
    T: for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, BoxedError>>
        + Archive<
            Archived: for<'a> CheckBytes<HighValidator<'a, BoxedError>> + Deserialize<T, HighDeserializer<BoxedError>>,
        >
{
}

/// A state of a stepper, split into what every checkpoint has and what only this model has.
pub(crate) trait State: Sized {
    /// What the state holds beside motion, work and damping.
    type Extra: Archived;

    /// Step, u, Δu, external work and damped energy; the other fields are empty.
    fn motion(&self) -> Checkpoint<'_>;
    fn extra(&self) -> Self::Extra;
    fn restore(motion: Checkpoint<'static>, extra: Self::Extra) -> Self;
}

/// Tells runs apart whose checkpoints must not be mixed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity {
    pub block_hash: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
    /// Hash of everything else that the solution depends on: see [`fingerprint`].
    pub fingerprint: u64,
    /// The command line's words for what the fingerprint is made of.
    pub settings: &'static str,
    pub clock: Clock,
    /// Number of degrees of freedom.
    pub n_dofs: usize,
}

/// Hash of the model as it is solved (overrides applied), of its increment, and of `options` that change the solution. The time
/// of the run is left out of `setup`: a run may go on to a longer one.
pub(crate) fn fingerprint(setup: &impl Archived, time_increment: f64, options: &[bool]) -> u64 {
    // Serialising plain numbers into memory does not fail.
    let mut bytes = rkyv::to_bytes::<BoxedError>(setup).map(|bytes| bytes.to_vec()).unwrap_or_default();
    bytes.extend(time_increment.to_bits().to_le_bytes());
    bytes.extend(options.iter().map(|&option| u8::from(option)));
    xxh3_64(&bytes)
}

/// What a run records up to a checkpoint; `E` is a row of `energy.csv`.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct Recorded<E> {
    pub traces: Traces,
    pub energies: Vec<E>,
}

impl<E> Default for Recorded<E> {
    fn default() -> Self {
        Self { traces: Traces::default(), energies: Vec::new() }
    }
}

#[derive(Archive, Serialize, Deserialize)]
struct Payload<E, X> {
    recorded: Recorded<E>,
    extra: X,
}

/// Writes a checkpoint; `recorded` is given back.
pub(crate) fn write<S: State, E: Archived>(
    path: &Path,
    identity: &Identity,
    state: &S,
    recorded: Recorded<E>,
) -> (Recorded<E>, Result<(), SolveError>) {
    let payload = Payload { recorded, extra: state.extra() };
    let written = rkyv::to_bytes::<BoxedError>(&payload)
        .map_err(|_| SolveError::Memory { what: "the traces in a checkpoint".into() })
        .and_then(|bytes| {
            let checkpoint = Checkpoint {
                block_hash: identity.block_hash.as_str().into(),
                precision: identity.precision.into(),
                fingerprint: identity.fingerprint,
                time_increment: identity.clock.time_increment,
                payload: bytes.as_slice().into(),
                ..state.motion()
            };
            Ok(checkpoint::write(path, &checkpoint)?)
        });
    (payload.recorded, written)
}

/// The increment of a checkpoint, s; none where it cannot be read, which [`read`] then says.
pub(crate) fn time_increment(path: &Path) -> Option<f64> {
    checkpoint::time_increment(path)
}

/// Reads a checkpoint of the same run.
///
/// # Errors
/// No such file, damage, or a checkpoint of another block file, precision or settings.
pub(crate) fn read<S: State, E: Archived>(path: &Path, identity: &Identity) -> Result<(S, Recorded<E>), SolveError> {
    if matches!(path.try_exists(), Ok(false)) {
        let folder = path.parent().unwrap_or(path);
        let is_finished = read_summary(folder).is_some_and(|summary| summary["status"] == Status::Completed.name());
        let path = path.into();
        return Err(if is_finished { SolveError::NothingKept { path } } else { SolveError::NoCheckpoint { path } });
    }
    let found = checkpoint::read(path)?;
    let other = |what| SolveError::OtherRun { path: path.into(), what };
    if found.block_hash != identity.block_hash {
        return Err(other("block file"));
    }
    if found.precision != identity.precision {
        return Err(other("precision"));
    }
    if found.fingerprint != identity.fingerprint
        || found.displacement.len() != identity.n_dofs
        || found.increment.len() != identity.n_dofs
    {
        return Err(other(identity.settings));
    }
    if found.step > identity.clock.n_steps {
        let time = identity.clock.time(found.step);
        return Err(SolveError::BeyondTime { path: path.into(), time });
    }
    // The checkpoint's own checksum has held, so this fails only for one that another version wrote.
    let mut aligned = AlignedVec::<16>::with_capacity(found.payload.len());
    aligned.extend_from_slice(&found.payload);
    let Payload { recorded, extra } =
        rkyv::from_bytes::<Payload<E, S::Extra>, BoxedError>(&aligned).map_err(|_| other("version of Pogo"))?;
    Ok((S::restore(found, extra), recorded))
}
