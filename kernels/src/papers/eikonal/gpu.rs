//! Sub-domains on a CUDA device: domains.cu. The last bits of the times may differ from run to run.

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;

use super::Approach;
use crate::device::{Arena, DeviceError, Gpu, Kernel, Module, Plain as _};
use crate::eikonal::gpu::layout::{DomainParams, PART};
use crate::eikonal::gpu::{DeviceElements, FormParams, Setup};
use crate::eikonal::{EikonalError, EikonalProblem, EikonalSettings, GpuSolver, LocalSolver, check};
use crate::simd::Real;

/// How to compute sub-domains on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuDomainSettings {
    /// Which device, from 0.
    pub ordinal: u32,
    /// How threads share the sub-domains.
    pub approach: Approach,
    /// Sweeps of a sub-domain between two exchanges, in the second approach.
    pub inner: u32,
}

/// Puts a mesh in sub-domains on a device.
///
/// # Errors
/// Arrays that do not fit the mesh, or a problem without sub-domains; no device, too little memory on it, or sub-domains too large
/// for its shared memory.
pub fn sub_domains_on_gpu<T: Real>(
    problem: &EikonalProblem,
    settings: &EikonalSettings,
    device: &GpuDomainSettings,
) -> Result<GpuSolver<T>, EikonalError> {
    // The kernels read six squares an element.
    const SOLVER: LocalSolver = LocalSolver::Six;
    check(problem)?;
    let (mesh, n, approach) = (&problem.mesh, problem.mesh.n_nodes(), device.approach);
    let domains = problem.domains.ok_or(EikonalError::Length { what: "sub-domains", found: 0, expected: 1 })?;
    let mut setup = Setup::new(device.ordinal)?;
    let tables = 4 * (mesh.neighbours.len() + 3 * domains.halo.len() + 4 * n) + 2 * size_of::<T>() * n;
    setup.require(DeviceElements::<T>::bytes(mesh, SOLVER) + tables as u64)?;
    let elements = DeviceElements::<T>::new(problem, SOLVER, &mut setup.arena)?;
    let (module, kernel, most_own) = domain_kernel::<T>(&setup.gpu, mesh.corners, &domains, approach)?;
    let params = DomainParams {
        stored: elements.stored,
        incident_first: elements.incident_first.at(),
        incident: elements.incident.at(),
        most_own,
        inner: device.inner.max(1),
        ..DomainParams::zeroed()
    };
    let params = put_domains(mesh, &domains, approach, params, &mut setup.arena)?;
    Ok(setup.finish((module, kernel), FormParams::Domains(Box::new(params)), (1, n), settings.tolerance)?)
}

/// The kernel of sub-domains in the first or the second approach, and the most own nodes of one.
fn domain_kernel<T>(
    gpu: &Gpu,
    corners: usize,
    domains: &SubDomainsView,
    approach: Approach,
) -> Result<(Module, Kernel, u32), EikonalError> {
    let module = gpu.module(if size_of::<T>() == 8 { "eikonal_domains_f64" } else { "eikonal_domains_f32" })?;
    let most_own = (0..domains.n_domains()).map(|d| domains.n_own(d) as u32).max().unwrap_or(0);
    let (name, shared) = match (approach, corners) {
        (Approach::First, 3) => ("first_three", 0),
        (Approach::First, _) => ("first_six", 0),
        (Approach::Second, 3) => ("second_three", second_shared::<T>(most_own)),
        (Approach::Second, _) => ("second_six", second_shared::<T>(most_own)),
    };
    let kernel = Kernel::new(gpu, &module, name, shared).map_err(|error| match error {
        DeviceError::Shared { name, .. } => EikonalError::DomainSize { name, nodes: most_own },
        error => error.into(),
    })?;
    Ok((module, kernel, most_own))
}

/// Tables of the block file as they are, and the state of the sweeps. Lists of the first approach are of parts of sub-domains.
fn put_domains<T: Real>(
    mesh: &EikonalMeshView,
    domains: &SubDomainsView,
    approach: Approach,
    params: DomainParams<T>,
    arena: &mut Arena,
) -> Result<DomainParams<T>, DeviceError> {
    let (n, n_domains) = (mesh.n_nodes(), domains.n_domains());
    let node_first = domains.starts();
    let halo_first: Vec<u32> = (0..=n_domains).map(|domain| domains.halo_first(domain) as u32).collect();
    // Messages by owner: owner and reader, and of each node its local number at both.
    let (mut pairs, mut pair_first, mut entries) = (Vec::new(), vec![0_u32], Vec::new());
    for message in (0..n_domains).flat_map(|domain| domains.sent(domain)) {
        pairs.push([message.owner, message.reader]);
        let first = (domains.n_own(message.reader as usize) + message.halo_first) as u32;
        let owner = node_first[message.owner as usize];
        entries.extend(message.items.iter().zip(first..).map(|(node, there)| [node - owner, there]));
        pair_first.push(entries.len() as u32);
    }
    let parts = approach == Approach::First;
    // Two words a part.
    let list = if parts { 2 * (n / PART as usize + n_domains) } else { n_domains };
    Ok(DomainParams {
        neighbour_first: arena.copy("first neighbours", mesh.neighbour_first)?.at(),
        neighbours: arena.copy("neighbours", mesh.neighbours)?.at(),
        node_first: arena.copy("first own nodes", &node_first)?.at(),
        halo_first: arena.copy("first halo nodes", &halo_first)?.at(),
        halo: arena.copy("halo", domains.halo)?.at(),
        sent_first: arena.copy("first pairs", domains.sent_first)?.at(),
        pair_first: arena.copy("first entries of pairs", &pair_first)?.at(),
        pair: arena.copy("pairs", &pairs)?.at(),
        entries: arena.copy("entries of pairs", &entries)?.at(),
        bits: arena.zeros::<T>("times as words", n)?.at(),
        news: arena.zeros::<u32>("news", (n + domains.halo.len()).div_ceil(32))?.at(),
        changed: arena.zeros::<u32>("changed", n + n_domains)?.at(),
        active: arena.zeros::<u32>("active nodes", if parts { 2 * n } else { 0 })?.at(),
        n_active: arena.zeros::<u32>("numbers of active nodes", 2 * n_domains)?.at(),
        list: [arena.zeros::<u32>("lists", list)?.at(), arena.zeros::<u32>("lists", list)?.at()],
        mark: arena.zeros::<u32>("marks", n_domains)?.at(),
        n_domains: n_domains as u32,
        n_pairs: domains.n_messages() as u32,
        ..params
    })
}

/// Shared memory of the second approach, bytes: times, list, and two bits a node (domains.cu).
fn second_shared<T>(most_own: u32) -> u32 {
    most_own.saturating_mul(size_of::<T>() as u32 + 4).saturating_add(8 * most_own.div_ceil(32))
}
