//! The block file of a mass-spring-damper model: sections `provenance`, `setup` and `mesh`.

mod check;
#[cfg(test)]
mod tests;

use crate::block::sections;
use crate::spring::{SpringMesh, SpringSetup};

sections! {
    /// Mass-spring-damper models.
    Spring("spring", SpringSetup): SpringContents, SpringView, SpringSections {
        /// Particles and springs.
        mesh: SpringMesh,
    }
}
