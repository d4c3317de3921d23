//! What the solver of Eikonal problems relies on, checked once when a file is written and when it is opened.

use rayon::prelude::*;

use crate::block::check::{Check, PIECE, all_below, all_finite, offsets, require};
use crate::eikonal::setup::{Start, StartRegion};
use crate::eikonal::{EikonalDomains, EikonalDomainsView, EikonalMesh, EikonalMeshView, EikonalSetup};

/// Everything that [`EikonalBlockFile::open`](super::EikonalBlockFile::open) promises.
pub(super) fn all(mesh: &EikonalMeshView, domains: &EikonalDomainsView, setup: &EikonalSetup) -> Check {
    self::mesh(mesh, setup.classes.len())?;
    self::domains(domains, mesh.n_nodes())?;
    self::setup(mesh, setup)
}

fn mesh(mesh: &EikonalMeshView, n_classes: usize) -> Check {
    let (n, m, corners) = (mesh.n_nodes(), mesh.n_elements(), mesh.corners);
    require(corners == 3 || corners == 4, || format!("elements with {corners} corners"))?;
    require(n < u32::MAX as usize && m <= 1 << 30, || "mesh: more nodes or elements than tables can hold".into())?;
    let lengths = [
        ("coordinates", mesh.coordinates.len(), 3 * n),
        ("nodes of elements", mesh.elements.len(), corners * m),
        ("labels of nodes", mesh.node_labels.len(), n),
        ("labels of elements", mesh.element_labels.len(), m),
        ("classes of elements", mesh.class.len(), m),
        ("elements round nodes", mesh.incident.len(), corners * m),
    ];
    for (what, found, expected) in lengths {
        require(found == expected, || format!("{what}: {found} entries where {expected} are expected"))?;
    }
    let optional = [
        ("instances of nodes", mesh.node_instance.len(), n),
        ("fibres", mesh.fibre.len(), 3 * m),
        ("sheets", mesh.sheet.len(), 3 * m),
        ("tensors", mesh.tensor.len(), 6 * m),
    ];
    for (what, found, expected) in optional {
        require(found == 0 || found == expected, || format!("{what}: {found} entries where {expected} are expected"))?;
    }
    let widths = [0, m, 3 * m];
    require(widths.contains(&mesh.velocities.len()), || format!("velocities: {} entries", mesh.velocities.len()))?;
    all_finite("node positions", mesh.coordinates)?;
    all_below("nodes of elements", mesh.elements, n)?;
    offsets("elements round nodes", mesh.incident_first, n, mesh.incident.len())?;
    let right = mesh
        .incident
        .par_iter()
        .with_min_len(PIECE)
        .all(|&entry| ((entry / 4) as usize) < m && ((entry % 4) as usize) < corners);
    require(right, || "elements round nodes: an element or corner that does not exist".into())?;
    offsets("neighbours", mesh.neighbour_first, n, mesh.neighbours.len())?;
    all_below("neighbours", mesh.neighbours, n)?;
    all_below("original nodes", mesh.original_node, n)?;
    all_below("original elements", mesh.original_element, m)?;
    let classes = mesh.class.par_iter().with_min_len(PIECE).all(|&class| usize::from(class) < n_classes);
    require(classes, || "classes of elements: one that does not exist".into())?;
    let instances = mesh.node_instance.iter().all(|&instance| usize::from(instance) < mesh.instances.len());
    require(instances, || "instances of nodes: one that does not exist".into())?;
    for (name, members) in &mesh.node_sets {
        all_below(&format!("node set `{name}`"), members, n)?;
    }
    for (name, members) in &mesh.element_sets {
        all_below(&format!("element set `{name}`"), members, m)?;
    }
    Ok(())
}

fn domains(domains: &EikonalDomainsView, n_nodes: usize) -> Check {
    require(!domains.node_first.is_empty() && !domains.pair_first.is_empty(), || "no sub-domains".into())?;
    let (n, n_pairs) = (domains.n_domains(), domains.n_pairs());
    offsets("nodes of sub-domains", domains.node_first, n, n_nodes)?;
    offsets("halo of sub-domains", domains.halo_first, n, domains.halo.len())?;
    offsets("interfaces of sub-domains", domains.sent_first, n, n_pairs)?;
    require(domains.pair.len() == 2 * n_pairs && domains.interface.len().is_multiple_of(2), || {
        "interfaces: tables of different lengths".into()
    })?;
    offsets("entries of interfaces", domains.pair_first, n_pairs, domains.interface.len() / 2)?;
    all_below("halo nodes", domains.halo, n_nodes)?;
    all_below("pairs of sub-domains", domains.pair, n)?;
    (0..n_pairs).into_par_iter().try_for_each(|pair| {
        let boundary = domains.boundary(pair);
        let (owner, reader) = (boundary.owner as usize, boundary.reader as usize);
        let (own, local) = (domains.own(owner).len(), domains.own(reader).len() + domains.halo_of(reader).len());
        let right = boundary.nodes.iter().all(|&[at, there]| (at as usize) < own && (there as usize) < local);
        require(right, || format!("interface {pair}: a local number that does not exist"))
    })
}

fn setup(mesh: &EikonalMeshView, setup: &EikonalSetup) -> Check {
    let n = mesh.n_nodes();
    require(!setup.classes.is_empty(), || "no velocity classes".into())?;
    for Start { name, region, time } in &setup.starts {
        require(time.is_finite(), || format!("start `{name}`: its time is no finite number"))?;
        match region {
            StartRegion::Nodes(nodes) => all_below(&format!("start `{name}`"), nodes, n)?,
            StartRegion::Set(set) => require((*set as usize) < mesh.node_sets.len(), || {
                format!("start `{name}`: node set {set} where {} exist", mesh.node_sets.len())
            })?,
            StartRegion::Label(_) | StartRegion::Box { .. } | StartRegion::Sphere { .. } | StartRegion::Nearest(_) => {}
        }
    }
    let settings = &setup.settings;
    let good = |value: f64| value >= 0.0 && value.is_finite();
    require(good(settings.tolerance) && good(settings.exact_radius), || "settings: a value is not a number".into())?;
    all_below("paths", &setup.outputs.path_nodes, n)?;
    all_below("probes", &setup.outputs.probe_nodes, n)
}

/// That every table says the same as the elements, and the interfaces the same as the neighbours.
pub(super) fn agreement(mesh: &EikonalMeshView, domains: &EikonalDomainsView) -> Check {
    let mut twin = EikonalMesh { corners: mesh.corners as u32, elements: mesh.elements.to_vec(), ..Default::default() };
    twin.connect(mesh.n_nodes());
    let same = twin.incident_first == mesh.incident_first
        && twin.incident == mesh.incident
        && twin.neighbour_first == mesh.neighbour_first
        && twin.neighbours == mesh.neighbours;
    require(same, || "the lists round nodes are not those of the elements".into())?;
    for (what, original) in [("nodes", mesh.original_node), ("elements", mesh.original_element)] {
        let mut seen = vec![false; original.len()];
        original.iter().for_each(|&index| seen[index as usize] = true);
        require(seen.iter().all(|&seen| seen), || format!("original {what} are no permutation"))?;
    }
    let again = EikonalDomains::new(domains.method, domains.node_first.to_vec(), mesh.neighbour_first, mesh.neighbours);
    let same = again.halo_first == domains.halo_first
        && again.halo == domains.halo
        && again.sent_first == domains.sent_first
        && again.pair == domains.pair
        && again.pair_first == domains.pair_first
        && again.interface == domains.interface;
    require(same, || "the interfaces of sub-domains are not those of the mesh".into())
}
