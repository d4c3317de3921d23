//! The block file of a mass-spring-damper model: sections `provenance`, `setup` and `mesh`.

mod check;
#[cfg(test)]
mod tests;

use crate::block::check::Check;
use crate::block::sections;
use crate::physics::Physics;
use crate::spring::{SpringMesh, SpringSetup};

/// Mass-spring-damper models.
#[derive(Debug)]
pub struct Spring;

sections! {
    Spring: SpringContents, SpringView, SpringSections {
        /// Particles and springs.
        mesh: SpringMesh,
    }
}

impl Physics for Spring {
    const NAME: &'static str = "spring";
    type Setup = SpringSetup;
    type Sections = SpringSections;

    fn check(tables: &SpringView, setup: &SpringSetup) -> Check {
        check::all(&tables.mesh, setup)
    }

    fn agreement(tables: &SpringView) -> Check {
        check::agreement(&tables.mesh)
    }
}
