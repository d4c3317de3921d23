//! The block file of arrival times: sections `provenance`, `setup`, `mesh`, `domains` and `trees`.

mod check;
#[cfg(test)]
mod tests;

use crate::block::sections;
use crate::domains::SubDomains;
use crate::eikonal::{EikonalMesh, EikonalSetup, Trees};

sections! {
    /// Arrival times on a mesh: the Eikonal equation.
    Eikonal("eikonal", EikonalSetup): EikonalContents, EikonalView, EikonalSections {
        /// Nodes and elements in solver order.
        mesh: EikonalMesh,
        /// Sub-domains and their messages; one if the mesh is not cut.
        domains: SubDomains,
        /// Trees of fibres.
        trees: Trees,
    }
}
