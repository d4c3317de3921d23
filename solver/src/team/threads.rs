//! Items that are worked on at the same time.

/// Does the same with each item, all at the same time, each in a pool of threads of its own.
pub(crate) fn in_threads<I: Send, R: Send>(
    items: impl Iterator<Item = I>,
    n_threads: usize,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let in_pool = |item| match rayon::ThreadPoolBuilder::new().num_threads(n_threads).build() {
        Ok(pool) => pool.install(|| work(item)),
        // The threads of all others do it, too.
        Err(_) => work(item),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.map(|item| scope.spawn(|| in_pool(item))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
