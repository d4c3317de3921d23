//! Ranks that are processes, started by `mpirun` or `srun`.
//!
//! Point-to-point messages are raw requests of the MPI library, as they outlive the call that starts them. Everything else
//! goes through the safe interface. A failure within MPI ends all processes: that is the library's own way.

use std::ffi::c_int;
use std::fmt;
use std::sync::Mutex;

use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::traits::{Communicator, Destination, Root, Source};
use pogo_kernels::ranks::{Parcel, Pending, Ranks};

/// Bytes that one call of the library moves at most: it counts in 32 bits.
const MOST_BYTES: usize = 1 << 30;
/// Tag of messages between two ranks.
const TAG: c_int = 7;

/// All processes that were started together.
pub struct Processes {
    universe: Universe,
    rank: usize,
    n_ranks: usize,
    n_sharing: usize,
    rank_on_host: usize,
    /// Keeps calls of the library one after the other, from whichever thread they come.
    lock: Mutex<()>,
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Processes({} of {})", self.rank, self.n_ranks)
    }
}

impl Processes {
    /// Joins the other processes. None where the library refuses to start.
    pub fn join() -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Serialized)?;
        let world = universe.world();
        let (rank, n_ranks) = (world.rank() as usize, world.size() as usize);
        let mut this = Self { universe, rank, n_ranks, n_sharing: 1, rank_on_host: 0, lock: Mutex::new(()) };
        // Processes that may run on the same cores of the same machine: those that are bound to different ones do not share.
        let all = this.all_gather(cores());
        this.n_sharing = all.iter().filter(|other| **other == all[rank]).count();
        let hosts = this.all_gather(host().into_bytes());
        this.rank_on_host = hosts[..rank].iter().filter(|other| **other == hosts[rank]).count();
        Some(this)
    }

    fn one_at_a_time(&self) -> std::sync::MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Which machine this process runs on.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Which machine this process runs on, and on which of its cores it may.
fn cores() -> Vec<u8> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default();
    format!("{} {allowed}", host()).into_bytes()
}

/// Starts to receive bytes of a rank.
///
/// # Safety
/// The buffer stays where it is, and nobody uses it, until the request is done.
unsafe fn receive(rank: usize, bytes: &mut [u8]) -> ffi::MPI_Request {
    let mut request = std::mem::MaybeUninit::uninit();
    // SAFETY: the buffer is as long as it says; the caller keeps it.
    unsafe {
        let (buffer, length) = (bytes.as_mut_ptr().cast(), count(bytes.len()));
        let (from, kind, world) = (rank as c_int, ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        ffi::MPI_Irecv(buffer, length, kind, from, TAG, world, request.as_mut_ptr());
        request.assume_init()
    }
}

/// Starts to send bytes to a rank.
///
/// # Safety
/// The buffer stays where it is and as it is until the request is done.
unsafe fn send(rank: usize, bytes: &[u8]) -> ffi::MPI_Request {
    let mut request = std::mem::MaybeUninit::uninit();
    // SAFETY: the buffer is as long as it says; the caller keeps it.
    unsafe {
        let (buffer, length) = (bytes.as_ptr().cast(), count(bytes.len()));
        let (to, kind, world) = (rank as c_int, ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        ffi::MPI_Isend(buffer, length, kind, to, TAG, world, request.as_mut_ptr());
        request.assume_init()
    }
}

/// Waits until all requests are done.
fn wait_for(requests: &mut [ffi::MPI_Request]) -> Vec<ffi::MPI_Status> {
    let mut statuses = vec![ffi::MPI_Status::default_status(); requests.len()];
    // SAFETY: requests that were started, and as many statuses.
    unsafe { ffi::MPI_Waitall(requests.len() as c_int, requests.as_mut_ptr(), statuses.as_mut_ptr()) };
    statuses
}

/// Bytes of a receive that is done.
fn n_received(status: &ffi::MPI_Status) -> usize {
    let mut n_bytes = 0;
    // SAFETY: the status of a receive of bytes that is done.
    unsafe { ffi::MPI_Get_count(status, ffi::RSMPI_UINT8_T, &mut n_bytes) };
    n_bytes.max(0) as usize
}

/// Requests with their buffers, which must not move or go before they are done.
struct Requests {
    requests: Vec<ffi::MPI_Request>,
    outgoing: Vec<Parcel>,
    incoming: Vec<Parcel>,
}

// SAFETY: requests are handles of the library, which one thread at a time uses; buffers are plain memory.
unsafe impl Send for Requests {}

impl Pending for Requests {
    fn finish(mut self: Box<Self>) -> [Vec<Parcel>; 2] {
        let statuses = wait_for(&mut self.requests);
        for (parcel, status) in self.incoming.iter_mut().zip(&statuses) {
            parcel.bytes.truncate(n_received(status));
        }
        [std::mem::take(&mut self.outgoing), std::mem::take(&mut self.incoming)]
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if !self.outgoing.is_empty() || !self.incoming.is_empty() {
            // SAFETY: requests under way; a thread that unwinds must not free their buffers before they are done.
            unsafe {
                let (n, first) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
                ffi::MPI_Waitall(n, first, ffi::RSMPI_STATUSES_IGNORE);
            }
        }
    }
}

/// An empty status.
trait DefaultStatus {
    fn default_status() -> Self;
}

impl DefaultStatus for ffi::MPI_Status {
    fn default_status() -> Self {
        // SAFETY: a structure of numbers, which the library overwrites.
        unsafe { std::mem::zeroed() }
    }
}

impl Ranks for Processes {
    fn rank(&self) -> usize {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    fn n_sharing(&self) -> usize {
        self.n_sharing
    }

    fn is_one_process(&self) -> bool {
        self.n_ranks == 1
    }

    fn rank_on_host(&self) -> usize {
        self.rank_on_host
    }

    fn start(&self, outgoing: Vec<Parcel>, mut incoming: Vec<Parcel>) -> Box<dyn Pending> {
        let _guard = self.one_at_a_time();
        // SAFETY: the buffers stay in `Requests` until all is done.
        let received = incoming.iter_mut().map(|parcel| unsafe { receive(parcel.rank, &mut parcel.bytes) });
        let mut requests: Vec<_> = received.collect();
        // SAFETY: as above.
        requests.extend(outgoing.iter().map(|parcel| unsafe { send(parcel.rank, &parcel.bytes) }));
        Box::new(Requests { requests, outgoing, incoming })
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Vec<usize> {
        let _guard = self.one_at_a_time();
        // SAFETY: the buffers stay borrowed until all is done, which is before this returns.
        let received = incoming.iter_mut().map(|(rank, bytes)| unsafe { receive(*rank, bytes) });
        let mut requests: Vec<_> = received.collect();
        // SAFETY: as above.
        requests.extend(outgoing.iter().map(|(rank, bytes)| unsafe { send(*rank, bytes) }));
        let statuses = wait_for(&mut requests);
        statuses[..incoming.len()].iter().map(n_received).collect()
    }

    fn broadcast(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let _guard = self.one_at_a_time();
        let world = self.universe.world();
        let root = world.process_at_rank(0);
        let mut length = [bytes.len() as u64];
        root.broadcast_into(&mut length);
        bytes.resize(length[0] as usize, 0);
        bytes.chunks_mut(MOST_BYTES).for_each(|chunk| root.broadcast_into(chunk));
        bytes
    }

    fn gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let _guard = self.one_at_a_time();
        let world = self.universe.world();
        if self.rank > 0 {
            let root = world.process_at_rank(0);
            root.send(&[bytes.len() as u64]);
            bytes.chunks(MOST_BYTES).for_each(|chunk| root.send(chunk));
            return Vec::new();
        }
        let mut all = vec![bytes];
        for rank in 1..self.n_ranks {
            let from = world.process_at_rank(rank as c_int);
            let mut length = [0_u64];
            from.receive_into(&mut length);
            let mut bytes = vec![0; length[0] as usize];
            for chunk in bytes.chunks_mut(MOST_BYTES) {
                from.receive_into(chunk);
            }
            all.push(bytes);
        }
        all
    }
}

/// A number of bytes as the library counts.
fn count(n_bytes: usize) -> c_int {
    c_int::try_from(n_bytes).expect("a halo of over 2 GiB between two ranks")
}
