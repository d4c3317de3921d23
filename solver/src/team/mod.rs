//! Who computes a model: this process alone, several parts of it, or several processes.
//!
//! All ranks do the same until their steppers stand: they map the block file, assemble the model and cut it. Then they
//! [agree](Team::agree) that all are ready, or all end with the message of the first that is not. From then on rank 0 leads
//! and the others serve; see [`pogo_kernels::ranks`].

#[cfg(feature = "mpi")]
pub mod mpi;
mod split;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pogo_formats::system::threads::{self, ThreadError};
use pogo_kernels::device::DeviceError;
use pogo_kernels::ranks::{Ranks, Reader, Serves, Threads, Writer};

pub(crate) use split::{Cells, Split};

use crate::error::SolveError;

/// The rank that leads, with its member.
type Leader<'a, M> = (&'a Arc<dyn Ranks>, M);

/// The ranks of a run.
#[derive(Debug)]
pub(crate) struct Team {
    /// Those of this process: one, or one for each part.
    pub local: Vec<Arc<dyn Ranks>>,
    /// Processes on this machine that share its cores.
    on_this_machine: usize,
    agreed: AtomicBool,
}

impl Team {
    /// The ranks of `processes`, one in each; in a process that was started alone, `n_parts` threads.
    pub fn new(processes: Option<&Arc<dyn Ranks>>, n_parts: usize) -> Self {
        let local = match processes {
            Some(processes) => vec![processes.clone()],
            None => Threads::new(n_parts).into_iter().map(|thread| Arc::new(thread) as Arc<dyn Ranks>).collect(),
        };
        let on_this_machine = processes.map_or(1, |processes| processes.n_sharing());
        Self { local, on_this_machine, agreed: AtomicBool::new(false) }
    }

    /// Number of ranks, in all processes.
    pub fn n_ranks(&self) -> usize {
        self.local[0].n_ranks()
    }

    /// More than one rank.
    pub fn is_several(&self) -> bool {
        self.n_ranks() > 1
    }

    /// Whether this process runs the time loop and writes the results.
    pub fn leads(&self) -> bool {
        self.local[0].leads()
    }

    /// What was made, if all processes could make theirs; otherwise an error in all of them. Every process calls it once in
    /// a run: with what it has when it is ready, or with its error.
    ///
    /// # Errors
    /// This process's own, or that of the first that has one.
    pub fn agree<T>(&self, made: Result<T, SolveError>) -> Result<T, SolveError> {
        self.settle(made, true)
    }

    /// As [`agree`](Self::agree), at an earlier place where processes can fail.
    ///
    /// # Errors
    /// As there.
    pub fn agree_so_far<T>(&self, made: Result<T, SolveError>) -> Result<T, SolveError> {
        self.settle(made, false)
    }

    /// As [`agree`](Self::agree), at a place where all processes come once or more after that.
    ///
    /// # Errors
    /// As there.
    pub fn agree_each_time<T>(&self, made: Result<T, SolveError>) -> Result<T, SolveError> {
        self.agreed.store(false, Ordering::Relaxed);
        self.settle(made, true)
    }

    fn settle<T>(&self, made: Result<T, SolveError>, last: bool) -> Result<T, SolveError> {
        if self.local.len() > 1 || !self.is_several() || self.agreed.load(Ordering::Relaxed) {
            return made;
        }
        let said = match &made {
            // The other rank says it itself.
            Ok(_) | Err(SolveError::Device(DeviceError::OnRank { .. })) => String::new(),
            Err(error) => error.to_string(),
        };
        let all = self.local[0].all_gather(said.into_bytes());
        let errors = all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let first = errors.enumerate().find(|(_, error)| !error.is_empty());
        self.agreed.store(last || made.is_err() || first.is_some(), Ordering::Relaxed);
        match first {
            Some((rank, message)) if rank != self.local[0].rank() => Err(SolveError::Rank { rank, message }),
            _ => made,
        }
    }

    /// Sums over the ranks of all processes.
    pub fn sum(&self, own: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let own = own.fold([0.0; 2], add);
        if self.local.len() > 1 || !self.is_several() {
            return own;
        }
        let mut said = Writer::default();
        said.put(&own);
        let all = self.local[0].all_gather(said.into_bytes());
        all.iter().map(|bytes| Reader::new(bytes).take::<f64>()).fold([0.0; 2], |sum, of| add(sum, [of[0], of[1]]))
    }

    /// Threads of each rank: the number asked for, or its share of the cores that this process may use.
    pub fn threads_of_rank(&self, asked: Option<usize>) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let sharing = if self.local.len() > 1 { self.local.len() } else { self.on_this_machine };
        asked.unwrap_or_else(|| (cores() / sharing).max(1))
    }

    /// Threads of this process, if it is one of several: those asked for, or its share of the cores.
    pub fn threads_of_process(&self, asked: Option<usize>) -> Option<usize> {
        let is_one_of_several = self.local.len() == 1 && self.is_several();
        asked.or_else(|| is_one_of_several.then(|| self.threads_of_rank(None)))
    }

    /// The leader with its member. Members of other ranks serve: in threads of this process, or here until the leader of
    /// another process is done; then none is returned.
    ///
    /// # Errors
    /// The system makes too few threads.
    pub fn lead_or_serve<M: Serves + 'static>(&self, members: Vec<M>) -> Result<Option<Leader<'_, M>>, ThreadError> {
        self.lead_or_serve_in(members, |serve| threads::spawn("part", serve).map(drop))
    }

    /// As [`lead_or_serve`](Self::lead_or_serve), where `start` starts a thread of a member that borrows.
    pub fn lead_or_serve_in<'m, M: Serves + 'm>(
        &self,
        members: Vec<M>,
        start: impl Fn(Box<dyn FnOnce() + Send + 'm>) -> Result<(), ThreadError>,
    ) -> Result<Option<Leader<'_, M>>, ThreadError> {
        let mut leader = None;
        let mut started = Ok(());
        for (ranks, member) in self.local.iter().zip(members) {
            if ranks.leads() {
                leader = Some((ranks, member));
            } else if self.local.len() > 1 {
                let ranks = ranks.clone();
                started = started.and_then(|()| start(Box::new(move || member.serve(&*ranks))));
            } else {
                member.serve(&**ranks);
            }
        }
        if let (Err(_), Some((ranks, _))) = (&started, &leader) {
            // Those that serve already are done.
            ranks.broadcast(Vec::new());
        }
        started.map(|()| leader)
    }

    /// What a run came to. A process whose run failed before it could [agree](Self::agree) does so now.
    pub fn agree_at_end<T>(&self, outcome: Result<T, SolveError>) -> Result<T, SolveError> {
        match outcome {
            Err(error) => self.agree(Err(error)),
            done => done,
        }
    }

    /// What rank 0 says. Every process calls it.
    pub fn as_the_leader_says(&self, word: bool) -> bool {
        self.message_of_the_leader(vec![u8::from(word)]) == [1]
    }

    /// The bytes of rank 0. Every process calls it.
    pub fn message_of_the_leader(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.local.len() > 1 || !self.is_several() {
            return bytes;
        }
        self.local[0].broadcast(bytes)
    }

    /// The error of a model that this team cannot share.
    pub fn refuse(&self, physics: impl Display) -> SolveError {
        SolveError::NotShared { physics: physics.to_string(), n_ranks: self.n_ranks() }
    }
}
