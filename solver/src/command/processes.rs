//! Whether this process is one of several that `mpirun` or `srun` has started together.

use std::sync::Arc;

use pogo_kernels::ranks::Ranks;

/// Variables that launchers set to the number of processes: Open MPI, and MPICH or SLURM.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// A launcher's variable that says that there are several processes, and how many.
fn launched() -> Option<(&'static str, usize)> {
    let size = |name| Some((name, std::env::var(name).ok()?.trim().parse().ok()?));
    SIZES.into_iter().find_map(size).filter(|&(_, n)| n > 1)
}

/// The processes that compute together; none where this one was started alone.
///
/// # Errors
/// The MPI library cannot be used.
#[cfg(feature = "mpi")]
pub fn join() -> anyhow::Result<Option<Arc<dyn Ranks>>> {
    // SLURM's PMIx plugin gives no number of processes.
    if launched().is_none() && std::env::var_os("PMIX_RANK").is_none() {
        return Ok(None);
    }
    let Some(processes) = crate::Processes::join() else {
        anyhow::bail!("error: the MPI library cannot be started");
    };
    Ok((processes.n_ranks() > 1).then(|| Arc::new(processes) as Arc<dyn Ranks>))
}

/// None: this program was built without MPI.
///
/// # Errors
/// It was started by a launcher all the same: every process would write the same files.
#[cfg(not(feature = "mpi"))]
pub fn join() -> anyhow::Result<Option<Arc<dyn Ranks>>> {
    match launched() {
        None => Ok(None),
        Some((name, n)) => anyhow::bail!(
            "error: this pogo-solve was built without MPI, but {name} says that it is one of {n} processes; build it with \
             `cargo install --features mpi`, or unset {name} if the processes are to run by themselves"
        ),
    }
}
