//! Checkpoints of a run: the state, the springs that came and went, and everything that has been recorded so far.

use std::path::Path;

use pogo_formats::spring::SpringSetup;
use pogo_formats::spring::results::SpringEnergy;
use pogo_formats::write::checkpoint;
use pogo_formats::write::checkpoint::Checkpoint;
use pogo_formats::write::traces::Traces;
use pogo_kernels::spring::{Cause, Change, State};
use rkyv::rancor::BoxedError;
use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SolveError;
use crate::explicit::checkpoint::{Identity, open};

/// Hash of the model as it is solved (overrides applied) and of its time steps.
pub fn fingerprint(setup: &SpringSetup, n_steps: u64, time_increment: f64, work: bool) -> u64 {
    // Serialising plain numbers into memory does not fail.
    let mut bytes = rkyv::to_bytes::<BoxedError>(setup).map(|bytes| bytes.to_vec()).unwrap_or_default();
    bytes.extend(n_steps.to_le_bytes());
    bytes.extend(time_increment.to_bits().to_le_bytes());
    bytes.push(u8::from(work));
    xxh3_64(&bytes)
}

/// What a run keeps besides its state.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct Recorded {
    /// Rows so far.
    pub traces: Traces,
    /// Rows so far.
    pub energies: Vec<SpringEnergy>,
    /// Largest energy put in so far, J.
    pub put_in: f64,
}

/// A change, as plain numbers.
#[derive(Archive, Serialize, Deserialize)]
struct Plain {
    step: u64,
    particles: [u32; 2],
    /// 0 broken, 1 cut, 2 erased, 3 added.
    cause: u8,
    index: u32,
}

#[derive(Archive, Serialize, Deserialize)]
struct Payload {
    recorded: Recorded,
    changes: Vec<Plain>,
}

/// Writes a checkpoint; `recorded` is given back.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    path: &Path,
    identity: &Identity,
    state: &State,
    recorded: Recorded,
) -> (Recorded, Result<(), SolveError>) {
    let changes = state.changes.iter().map(|change| {
        let (cause, index) = match change.cause {
            Cause::Broken => (0, 0),
            Cause::Cut(index) => (1, index),
            Cause::Erased(index) => (2, index),
            Cause::Added(index) => (3, index),
        };
        Plain { step: change.step, particles: change.particles, cause, index }
    });
    let payload = Payload { recorded, changes: changes.collect() };
    let written = rkyv::to_bytes::<BoxedError>(&payload)
        .map_err(|_| SolveError::Memory { what: "the traces in a checkpoint".into() })
        .and_then(|bytes| {
            checkpoint::write(
                path,
                &Checkpoint {
                    block_hash: identity.block_hash.as_str().into(),
                    precision: identity.precision.into(),
                    fingerprint: identity.fingerprint,
                    step: state.step,
                    external_work: state.external_work,
                    damped_energy: state.dissipated,
                    displacement: state.displacement.as_slice().into(),
                    increment: state.increment.as_slice().into(),
                    payload: bytes.as_slice().into(),
                },
            )?;
            Ok(())
        });
    (payload.recorded, written)
}

/// Reads a checkpoint of the same run.
///
/// # Errors
/// No such file, damage, or a checkpoint of another block file, precision or settings.
pub fn read(path: &Path, identity: &Identity, n_particles: usize) -> Result<(State, Recorded), SolveError> {
    let (found, Payload { recorded, changes }) =
        open(path, identity, 3 * n_particles, "settings (--set, --time, --increment or --no-work)")?;
    let changes = changes.into_iter().map(|plain| Change {
        step: plain.step,
        particles: plain.particles,
        cause: match plain.cause {
            0 => Cause::Broken,
            1 => Cause::Cut(plain.index),
            2 => Cause::Erased(plain.index),
            _ => Cause::Added(plain.index),
        },
    });
    let state = State {
        step: found.step,
        displacement: found.displacement.into_owned(),
        increment: found.increment.into_owned(),
        external_work: found.external_work,
        dissipated: found.damped_energy,
        changes: changes.collect(),
    };
    Ok((state, recorded))
}
