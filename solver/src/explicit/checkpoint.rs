//! Checkpoints of a run: the state, and everything that has been recorded so far.

use std::path::Path;

use pogo_formats::explicit::Setup;
use pogo_formats::write::checkpoint;
use pogo_formats::write::checkpoint::Checkpoint;
use pogo_formats::write::energy::EnergyRow;
use pogo_formats::write::traces::Traces;
use pogo_kernels::explicit::State;
use rkyv::api::high::{HighDeserializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::BoxedError;
use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SolveError;

/// File name in the output folder.
pub const FILE_NAME: &str = "checkpoint.pogo";

/// Tells runs apart whose checkpoints must not be mixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Of the block file.
    pub block_hash: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
    /// Of everything else that the solution depends on.
    pub fingerprint: u64,
}

/// Hash of the model as it is solved (overrides applied) and of its time steps.
pub fn fingerprint(setup: &Setup, n_steps: u64, time_increment: f64) -> u64 {
    // Serialising plain numbers into memory does not fail.
    let mut bytes = rkyv::to_bytes::<BoxedError>(setup).map(|bytes| bytes.to_vec()).unwrap_or_default();
    bytes.extend(n_steps.to_le_bytes());
    bytes.extend(time_increment.to_bits().to_le_bytes());
    xxh3_64(&bytes)
}

/// What a run keeps besides its state.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct Recorded {
    /// Rows so far.
    pub traces: Traces,
    /// Rows so far.
    pub energies: Vec<EnergyRow>,
    /// Energy at t = 0, J.
    pub initial_energy: f64,
    /// Largest energy so far and largest energy put in so far, J.
    pub largest_energies: [f64; 2],
}

/// Writes a checkpoint.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, identity: &Identity, state: &State, recorded: &Recorded) -> Result<(), SolveError> {
    let payload = rkyv::to_bytes::<BoxedError>(recorded)
        .map_err(|_| SolveError::Memory { what: "the traces in a checkpoint".into() })?;
    checkpoint::write(
        path,
        &Checkpoint {
            block_hash: identity.block_hash.as_str().into(),
            precision: identity.precision.into(),
            fingerprint: identity.fingerprint,
            step: state.step,
            external_work: state.external_work,
            damped_energy: state.damped_energy,
            displacement: state.displacement.as_slice().into(),
            increment: state.increment.as_slice().into(),
            payload: payload.as_slice().into(),
        },
    )?;
    Ok(())
}

/// Reads a checkpoint of the same run.
///
/// # Errors
/// No such file, damage, or a checkpoint of another block file, precision or settings.
pub fn read(path: &Path, identity: &Identity, n_dofs: usize) -> Result<(State, Recorded), SolveError> {
    let (found, recorded) = open(path, identity, n_dofs, "settings (--set, --time, --increment or --lumping)")?;
    let state = State {
        step: found.step,
        displacement: found.displacement.into_owned(),
        increment: found.increment.into_owned(),
        external_work: found.external_work,
        damped_energy: found.damped_energy,
    };
    Ok((state, recorded))
}

/// A checkpoint of the same run with as many degrees of freedom, and its payload; `settings` are the words for what else may differ.
///
/// # Errors
/// As [`read`].
pub fn open<P>(
    path: &Path,
    identity: &Identity,
    n_dofs: usize,
    settings: &'static str,
) -> Result<(Checkpoint<'static>, P), SolveError>
where
    P: Archive,
    P::Archived: for<'a> CheckBytes<HighValidator<'a, BoxedError>> + Deserialize<P, HighDeserializer<BoxedError>>,
{
    if matches!(path.try_exists(), Ok(false)) {
        return Err(SolveError::NoCheckpoint { path: path.into() });
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
        || found.displacement.len() != n_dofs
        || found.increment.len() != n_dofs
    {
        return Err(other(settings));
    }
    // The checkpoint's own checksum has held, so this fails only for one that another version wrote.
    let mut aligned = rkyv::util::AlignedVec::<16>::with_capacity(found.payload.len());
    aligned.extend_from_slice(&found.payload);
    let payload = rkyv::from_bytes::<P, BoxedError>(&aligned).map_err(|_| other("version of Pogo"))?;
    Ok((found, payload))
}
