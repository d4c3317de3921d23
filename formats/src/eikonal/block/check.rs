//! What the solver of Eikonal problems relies on, checked once when a file is written and when it is opened.

use super::EikonalView;
use crate::block::Table;
use crate::block::check::{Check, PIECE, all_below, require};
use crate::domains::SubDomainsView;
use crate::eikonal::ecg::Ecg;
use crate::eikonal::setup::{Start, StartRegion, TreeSettings};
use crate::eikonal::{EikonalMesh, EikonalMeshView, EikonalSetup, sub_domains, trees};
use crate::system::parallel::iterate::*;

/// Everything that [`EikonalBlockFile::open`](super::EikonalBlockFile::open) promises.
pub(super) fn all(EikonalView { mesh, domains, trees }: &EikonalView, setup: &EikonalSetup) -> Check {
    self::mesh(mesh, setup.classes.len())?;
    self::domains(domains, mesh.n_nodes())?;
    self::setup(mesh, setup)?;
    trees::check(trees, &setup.trees)
}

fn mesh(mesh: &EikonalMeshView, n_classes: usize) -> Check {
    let (n, m, corners) = (mesh.n_nodes(), mesh.n_elements(), mesh.corners);
    require(corners == 3 || corners == 4, || format!("elements with {corners} corners"))?;
    require(n < u32::MAX as usize && m <= 1 << 30, || "mesh: more nodes or elements than tables can hold".into())?;
    EikonalMesh::check(mesh)?;
    let widths = [0, m, 3 * m];
    require(widths.contains(&mesh.velocities.len()), || format!("velocities: {} entries", mesh.velocities.len()))?;
    let right = mesh
        .incident
        .par_iter()
        .with_min_len(PIECE)
        .all(|&entry| ((entry / 4) as usize) < m && ((entry % 4) as usize) < corners);
    require(right, || "elements round nodes: an element or corner that does not exist".into())?;
    let classes = mesh.class.par_iter().with_min_len(PIECE).all(|&class| usize::from(class) < n_classes);
    require(classes, || "classes of elements: one that does not exist".into())?;
    for (name, members) in &mesh.node_sets {
        all_below(&format!("node set `{name}`"), members, n)?;
    }
    for (name, members) in &mesh.element_sets {
        all_below(&format!("element set `{name}`"), members, m)?;
    }
    Ok(())
}

/// Each sub-domain owns consecutive nodes, in turn.
fn domains(domains: &SubDomainsView, n_nodes: usize) -> Check {
    domains.check_items(n_nodes)?;
    let one_each = domains.range_first.windows(2).all(|ranges| ranges[1] == ranges[0] + 1);
    require(one_each && domains.ranges.is_sorted(), || "sub-domains: nodes that are not consecutive".into())
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
    for TreeSettings { name, speed, radius, delay, delay_back, start } in &setup.trees {
        let numbers = [*speed, *delay, *delay_back, radius.unwrap_or(0.0)];
        let right = numbers.iter().all(|value| *value >= 0.0 && value.is_finite()) && *speed > 0.0;
        require(right && start.is_none_or(|(_, time)| time.is_finite()), || format!("tree `{name}`: a wrong number"))?;
    }
    let settings = &setup.settings;
    let good = |value: f64| value >= 0.0 && value.is_finite();
    require(good(settings.tolerance) && good(settings.exact_radius), || "settings: a value is not a number".into())?;
    all_below("paths", &setup.outputs.path_nodes, n)?;
    all_below("probes", &setup.outputs.probe_nodes, n)?;
    all_below("gradient", &setup.gradient.nodes, n)?;
    let measured: Vec<u32> = setup.gradient.measured.iter().map(|measured| measured.node).collect();
    all_below("measured times", &measured, n)?;
    setup.ecg.as_ref().map_or(Ok(()), ecg)
}

/// Leads of electrodes that exist, and numbers that mean something.
fn ecg(ecg: &Ecg) -> Check {
    for lead in &ecg.leads {
        all_below(&format!("lead `{}`", lead.name), &lead.plus, ecg.electrodes.len())?;
        all_below(&format!("lead `{}`", lead.name), &lead.minus, ecg.electrodes.len())?;
    }
    let (template, sampling) = (&ecg.template, &ecg.sampling);
    let positive = [ecg.torso, template.upstroke, template.recovery, sampling.step];
    let positive = positive.into_iter().chain(ecg.conductivity).chain(template.duration);
    let finite = [template.rest, template.peak].into_iter().chain(sampling.from).chain(sampling.to);
    let points = ecg.electrodes.iter().flat_map(|electrode| electrode.position);
    let right = positive.clone().all(|value| value > 0.0) && positive.chain(finite).chain(points).all(f64::is_finite);
    require(right, || "ecg: a value that is no number, or not positive".into())
}

/// That every table says the same as the elements, and the interfaces the same as the neighbours.
pub(super) fn agreement(EikonalView { mesh, domains, .. }: &EikonalView) -> Check {
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
    let again = sub_domains(domains.method, &domains.starts(), &twin);
    require(again.view().same_messages(domains), || "the messages of sub-domains are not those of the mesh".into())
}
