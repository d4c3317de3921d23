//! The block file of arrival times: sections `provenance`, `setup`, `mesh`, `domains` and `trees`.

mod check;
#[cfg(test)]
mod tests;

use crate::block::check::Check;
use crate::block::sections;
use crate::domains::SubDomains;
use crate::eikonal::{EikonalMesh, EikonalSetup, Trees};
use crate::physics::Physics;

/// Arrival times on a mesh: the Eikonal equation.
#[derive(Debug)]
pub struct Eikonal;

sections! {
    Eikonal: EikonalContents, EikonalView, EikonalSections {
        /// Nodes and elements in solver order.
        mesh: EikonalMesh,
        /// Sub-domains and their messages; one if the mesh is not cut.
        domains: SubDomains,
        /// Trees of fibres.
        trees: Trees,
    }
}

impl Physics for Eikonal {
    const NAME: &'static str = "eikonal";
    type Setup = EikonalSetup;
    type Sections = EikonalSections;

    fn check(tables: &EikonalView, setup: &EikonalSetup) -> Check {
        check::all(&tables.mesh, &tables.domains, setup)?;
        crate::eikonal::trees::check(&tables.trees, &setup.trees)
    }

    fn agreement(tables: &EikonalView) -> Check {
        check::agreement(&tables.mesh, &tables.domains)
    }
}
