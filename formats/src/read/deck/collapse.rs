//! Elements with repeated nodes → the simpler elements that they are.

use super::finish::renumber_elements;
use crate::explicit::Model;
use crate::mesh::{ElementGroup, ElementKind};
use crate::words::counted;

/// Gives every element with repeated nodes its simpler kind, and says which.
pub(super) fn collapse(model: &mut Model) -> Option<String> {
    let mut moved: Vec<(ElementKind, ElementKind, usize, u32)> = Vec::new();
    let mut groups: Vec<(ElementGroup, Vec<u32>)> = Vec::new();
    let mut n_elements = 0;
    let repeated = |nodes: &[u32]| nodes.iter().enumerate().any(|(i, node)| nodes[..i].contains(node));
    let all = || model.mesh.groups.iter().flat_map(|g| g.connectivity.chunks_exact(g.kind.n_nodes()));
    if !all().any(repeated) {
        return None;
    }
    for group in std::mem::take(&mut model.mesh.groups) {
        for (at, nodes) in group.connectivity.chunks_exact(group.kind.n_nodes()).enumerate() {
            let simpler = repeated(nodes).then(|| group.kind.collapsed(nodes)).flatten();
            if let Some((kind, _)) = simpler {
                match moved.iter_mut().find(|m| (m.0, m.1) == (group.kind, kind)) {
                    Some(entry) => entry.2 += 1,
                    None => moved.push((group.kind, kind, 1, group.labels[at])),
                }
            }
            let (kind, nodes) = simpler.unwrap_or_else(|| (group.kind, nodes.to_vec()));
            let k = groups.iter().position(|(g, _)| g.kind == kind).unwrap_or_else(|| {
                groups.push((ElementGroup::new(kind), Vec::new()));
                groups.len() - 1
            });
            let (to, old) = &mut groups[k];
            to.labels.push(group.labels[at]);
            to.instance.push(group.instance[at]);
            to.section.push(group.section[at]);
            to.connectivity.extend_from_slice(&nodes);
            old.push(n_elements);
            n_elements += 1;
        }
    }
    let mut map = vec![0; n_elements as usize];
    for (old, new) in groups.iter().flat_map(|(_, old)| old).zip(0..) {
        map[*old as usize] = new;
    }
    model.mesh.groups = groups.into_iter().map(|(group, _)| group).collect();
    renumber_elements(model, &map);
    let each = moved.iter().map(|(from, to, n, label)| {
        let elements = counted(*n, &format!("{} element", from.name()));
        let are = if *n == 1 { "is a" } else { "are" };
        format!("{elements} {are} {} (element {label})", to.name())
    });
    let each: Vec<String> = each.collect();
    Some(format!("nodes are repeated: {}; stiffness and lumped mass are those of that kind", each.join(", ")))
}
