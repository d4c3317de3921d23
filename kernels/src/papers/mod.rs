//! Forms of the papers that the product's own methods are compared with. They keep working; nothing else uses them.
//!
//! | paper | form | here |
//! |---|---|---|
//! | Arbenz, Flaig, Kellenberger; Kellenberger 2013 | multigrid on averaged moduli | [`voxel::solve_averaged`] |
//! | the same | nodes of elements from offset tables or a perfect hash | [`voxel::OffsetTables`], [`voxel::HashTables`] |
//! | Ganellari, Haase, Zumbusch | arrival times on sub-domains that exchange their halos | [`eikonal::SubDomainSolver`] |

pub mod eikonal;
pub mod voxel;
