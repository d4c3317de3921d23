//! Arrival times on sub-domains that are computed apart and exchange the times that fell (Section 6.3 of Ganellari, Haase and
//! Zumbusch 2018). The active list of [`eikonal`](crate::eikonal) is faster.

mod domains;
mod gpu;
#[cfg(test)]
mod tests;

pub use domains::{Approach, SubDomainSolver};
pub use gpu::{GpuDomainSettings, sub_domains_on_gpu};
