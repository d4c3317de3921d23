//! Threads, which the system may refuse.
//!
//! The limit on processes (`ulimit -u`), that of a container, or too little memory for a stack let no thread be made. One
//! thread needs none: the calling thread does all the work. More than can be made are an error that says what to do. So
//! nothing in Pogo makes a thread in another way than here, where failing is a result and no panic.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::{io, panic};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::memory;
use crate::words::counted;

/// The system makes fewer threads than are needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot start {}: {reason}; give fewer with --threads (--threads 1 needs none), or raise the limits of processes and memory \
     (ulimit -u, ulimit -v)", counted(*.threads, "thread")
)]
pub struct ThreadError {
    /// How many were needed.
    pub threads: usize,
    /// The system's answer.
    pub reason: String,
}

impl ThreadError {
    fn new(threads: usize, reason: impl ToString) -> Self {
        Self { threads, reason: reason.to_string() }
    }
}

/// Threads that this process makes work by themselves, without the process's pool.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Makes the pool of this process, which does all parallel work for which no other pool is made: with the number of threads
/// asked for, or one for each core. One thread is the calling one. Where none are asked for and the system makes none, the
/// calling thread works alone, too; then the reason is given. A program calls it once, from its main thread.
///
/// # Errors
/// The system does not make as many threads as were asked for.
pub fn start(asked: Option<usize>) -> Result<Option<String>, ThreadError> {
    if asked == Some(1) {
        work_alone();
        return Ok(None);
    }
    let made = ThreadPoolBuilder::new().num_threads(asked.unwrap_or(0)).build_global();
    let Err(error) = made else { return Ok(None) };
    match asked {
        Some(threads) => Err(ThreadError::new(threads, error)),
        None => {
            work_alone();
            Ok(Some(error.to_string()))
        }
    }
}

/// Makes the calling thread do all of its work by itself, and each thread that this process makes from now on.
fn work_alone() {
    ALONE.store(true, Ordering::Relaxed);
    be_a_pool();
}

/// Makes the calling thread a pool of one, until it ends. A thread that belongs to a pool already stays there.
fn be_a_pool() {
    // Dropped, a pool would be told to end.
    std::mem::forget(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build());
}

/// Does parallel work on so many threads.
///
/// # Errors
/// The system does not make them. A single one is always there: if need be, the calling one.
pub fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R, ThreadError> {
    if rayon::current_thread_index().is_some() && rayon::current_num_threads() == threads {
        return Ok(work());
    }
    match ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Ok(pool.install(work)),
        Err(_) if threads == 1 => {
            be_a_pool();
            Ok(work())
        }
        Err(error) => Err(ThreadError::new(threads, error)),
    }
}

/// A pool of so many threads; none where the calling thread is enough.
///
/// # Errors
/// The system does not make them.
pub fn pool(threads: usize) -> Result<Option<ThreadPool>, ThreadError> {
    if threads <= 1 {
        return Ok(None);
    }
    let made = ThreadPoolBuilder::new().num_threads(threads).build();
    made.map(Some).map_err(|error| ThreadError::new(threads, error))
}

/// As [`std::thread::spawn`].
///
/// # Errors
/// The system makes no thread.
pub fn spawn<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, ThreadError> {
    named(name).spawn(|| in_own_pool(work)).map_err(|error| ThreadError::new(1, error))
}

/// As [`Scope::spawn`].
///
/// # Errors
/// The system makes no thread.
pub fn spawn_scoped<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>, ThreadError> {
    named(name).spawn_scoped(scope, || in_own_pool(work)).map_err(|error| ThreadError::new(1, error))
}

fn named(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}

fn in_own_pool<R>(work: impl FnOnce() -> R) -> R {
    if ALONE.load(Ordering::Relaxed) {
        be_a_pool();
    }
    work()
}

/// Does the same with each item, all at the same time, each on a thread of its own. Results are in the order of the items.
///
/// # Errors
/// The system does not make as many threads. Then none has begun: each may wait for what the others send.
pub fn at_the_same_time<I: Send, R: Send>(
    items: impl Iterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Result<Vec<R>, ThreadError> {
    let (items, work): (Vec<I>, _) = (items.collect(), &work);
    let n = items.len();
    std::thread::scope(|scope| {
        let start = |item| -> io::Result<_> {
            let (go, gone) = sync_channel(1);
            // A sender that is dropped says that there are too few threads.
            let wait_and_work = move || gone.recv().ok().map(|()| in_own_pool(|| work(item)));
            Ok((named("part").spawn_scoped(scope, wait_and_work)?, go))
        };
        let started: io::Result<Vec<_>> = items.into_iter().map(start).collect();
        let started = started.map_err(|error| ThreadError::new(n, error))?;
        for (_, go) in &started {
            // Each thread waits for it.
            let _ = go.send(());
        }
        let ended = started.into_iter().map(|(thread, _)| thread.join());
        Ok(ended.filter_map(|result| result.unwrap_or_else(|panic| panic::resume_unwind(panic))).collect())
    })
}

/// As [`at_the_same_time`], each in a pool of so many threads of its own.
///
/// # Errors
/// The system makes too few threads. Then nothing has begun.
pub fn in_pools<I: Send, R: Send>(
    items: impl Iterator<Item = I>,
    threads: usize,
    work: impl Fn(I) -> R + Sync,
) -> Result<Vec<R>, ThreadError> {
    let with_pools: Result<Vec<_>, ThreadError> = items.map(|item| Ok((item, pool(threads)?))).collect();
    at_the_same_time(with_pools?.into_iter(), |(item, pool)| match pool {
        Some(pool) => pool.install(|| work(item)),
        None => {
            be_a_pool();
            work(item)
        }
    })
}

/// Does one thing while the calling thread does another, on as many threads of its own as the current pool has: each goes on
/// where the other waits for the disk. In one pool the other's work would stand behind all of the caller's. Where the system
/// makes no more threads, where its memory is limited, and where the calling thread works alone, it does its own first: that
/// must not wait for the other.
pub fn beside<A: Send, B>(other: impl FnOnce() -> A + Send, own: impl FnOnce() -> B) -> (A, B) {
    let make = || ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build().ok();
    let Some(pool) = (if ALONE.load(Ordering::Relaxed) || memory::is_limited() { None } else { make() }) else {
        let own = own();
        return (other(), own);
    };
    let mut done = None;
    let own = pool.in_place_scope(|scope| {
        scope.spawn(|_| done = Some(other()));
        own()
    });
    // The scope has waited for it, and a panic there is one here.
    (done.expect("what a scope has begun has ended"), own)
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    #[test]
    fn all_items_are_worked_on_at_once_and_keep_their_order() {
        let barrier = Barrier::new(3);
        let work = |item: usize| {
            barrier.wait();
            item * 10
        };
        assert_eq!(at_the_same_time([1, 2, 3].into_iter(), work), Ok(vec![10, 20, 30]));
    }

    #[test]
    fn work_is_done_on_as_many_threads_as_asked_for() {
        for n in [1, 3] {
            assert_eq!(in_pool(n, rayon::current_num_threads), Ok(n));
            assert_eq!(in_pool(n, || in_pool(n, rayon::current_num_threads)), Ok(Ok(n)));
        }
        assert_eq!(in_pools([3, 2].into_iter(), 2, |item| item + rayon::current_num_threads()), Ok(vec![5, 4]));
        assert_eq!(in_pools([3, 2].into_iter(), 1, |item| item + rayon::current_num_threads()), Ok(vec![4, 3]));
        assert!(pool(1).unwrap().is_none());
        assert_eq!(pool(2).unwrap().unwrap().current_num_threads(), 2);
    }

    #[test]
    fn two_things_go_on_beside_each_other_from_within_a_pool_too() {
        let one_waits_for_the_other = || {
            let (sender, receiver) = mpsc::channel();
            beside(move || receiver.recv().unwrap(), move || sender.send(3).is_ok())
        };
        assert_eq!(one_waits_for_the_other(), (3, true));
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(one_waits_for_the_other), (3, true));
    }

    #[test]
    fn the_message_says_what_to_do() {
        let text = ThreadError::new(64, "Resource temporarily unavailable").to_string();
        assert!(
            text.starts_with("cannot start 64 threads: Resource temporarily unavailable; give fewer with --threads")
        );
    }
}
