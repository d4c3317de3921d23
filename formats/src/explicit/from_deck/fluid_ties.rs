//! `*TIE` between a surface of a fluid and one of a solid → how the nodes of the fluid's faces share these with nodes of the solid.
//! `*TIE` between two fluids, and `*MPC, TIE` of their nodes → rows of pressures.
//!
//! Whether an element is one of a fluid is known once it has its section, which a job may give. So the reader of the deck makes rows
//! of displacements of every `*TIE`, and here those of fluids become rows of pressures, or are taken out again.

use std::collections::{HashMap, HashSet};

use super::Findings;
use super::overlap::{Face, Grid, Share, shares};
use crate::dynamics::{LinearConstraints, LinearTerm};
use crate::explicit::{FluidTies, TieShare};
use crate::mesh::Mesh;
use crate::read::deck::linear::{DeckTie, TieSide};
use crate::read::deck::regroup::{new_index, remap};
use crate::read::deck::{Deck, Note};
use crate::system::parallel::iterate::*;
use crate::vector::Vector;
use crate::words::counted;

/// A corner may be shared out a little more than once by rounding, and no more.
const MOST_SHARED: f64 = 1.01;

/// A face of an element.
struct Owned {
    face: Face,
    is_fluid: bool,
}

type Key = [u32; 4];

fn key(mut face: Key) -> Key {
    face.sort_unstable();
    face
}

/// What a side of a tie is made of.
enum Side {
    Fluid(Vec<Face>),
    Solid(Vec<Face>),
}

/// What a row of displacements becomes.
#[derive(Debug, Clone, Copy)]
struct Fate {
    /// It stays.
    holds_displacements: bool,
    /// The row of first components becomes one of pressures.
    holds_pressures: bool,
}

/// The shares of all ties of fluids to solids, whose rows are taken out of the deck. Those of fluids to fluids become rows of
/// pressures. `map` gives the new index of each node, or none where all stay.
pub(super) fn take(deck: &mut Deck, map: Option<&[u32]>, findings: &mut Findings) -> FluidTies {
    let ties = std::mem::take(&mut deck.linear.ties);
    let mut found = FluidTies::default();
    if !deck.mesh.groups.iter().any(|group| group.kind.is_acoustic()) {
        return found;
    }
    let ties: Vec<DeckTie> = ties.into_iter().map(|tie| renumbered(tie, map)).collect();
    let owned = faces_at(&deck.mesh, &ties);
    let is_fluid = nodes_of(&deck.mesh, true);
    let stays = Fate { holds_displacements: true, holds_pressures: false };
    let mut fates = vec![stays; deck.linear.rows.n_rows()];
    let mut shared = HashMap::new();
    for tie in &ties {
        let remark = |text: String| Note::new(tie.file.as_str(), tie.line, format!("{}: {text}", tie.name));
        let sides = tie.sides.each_ref().map(|side| matter(side, &owned, &is_fluid));
        let mut holds_pressures = false;
        let result = match sides {
            [Err(text), _] | [_, Err(text)] => Err(text),
            [Ok(Side::Solid(_)), Ok(Side::Solid(_))] => continue,
            [Ok(Side::Fluid(_)), Ok(Side::Fluid(_))] => {
                holds_pressures = true;
                Ok("a fluid is tied to a fluid: their pressures are the same".to_owned())
            }
            [Ok(Side::Fluid(fluid)), Ok(Side::Solid(solid))] | [Ok(Side::Solid(solid)), Ok(Side::Fluid(fluid))] => {
                add(tie, &fluid, &solid, &mut found, &mut shared)
            }
        };
        fates[tie.rows.clone()].fill(Fate { holds_displacements: false, holds_pressures });
        match result {
            Ok(text) => findings.notes.push(remark(text)),
            Err(text) => findings.problems.push(remark(text)),
        }
    }
    let is_solid = nodes_of(&deck.mesh, false);
    let rows = &deck.linear.rows;
    for at in std::mem::take(&mut deck.linear.joins).into_iter().flatten() {
        let nodes = || rows.row(at).iter().map(|term| map.map_or(Some(term.node), |map| new_index(map, term.node)));
        let all = |is: &[bool]| nodes().all(|node| node.is_some_and(|node| is[node as usize]));
        if all(&is_fluid) {
            fates[at] = Fate { holds_displacements: all(&is_solid), holds_pressures: true };
        }
    }
    apply(&mut deck.linear.rows, &fates);
    found
}

/// A tie with the new indices of its nodes; what no element uses is left out.
fn renumbered(mut tie: DeckTie, map: Option<&[u32]>) -> DeckTie {
    let Some(map) = map else { return tie };
    for TieSide { faces, nodes, .. } in &mut tie.sides {
        faces.retain_mut(|face| {
            let mut corners = face.iter_mut().filter(|node| **node != u32::MAX);
            corners.all(|node| new_index(map, *node).map(|new| *node = new).is_some())
        });
        remap(nodes, map);
        nodes.sort_unstable();
    }
    tie
}

/// Whether each node belongs to an element of a fluid, or of a solid.
pub(super) fn nodes_of(mesh: &Mesh, fluids: bool) -> Vec<bool> {
    let mut is_there = vec![false; mesh.n_nodes()];
    for group in mesh.groups.iter().filter(|group| group.kind.is_acoustic() == fluids) {
        group.connectivity.iter().for_each(|&node| is_there[node as usize] = true);
    }
    is_there
}

fn positions(mesh: &Mesh, nodes: &[u32]) -> Vec<Vector> {
    let d = mesh.dimension as usize;
    let position = |&node: &u32| {
        let x = &mesh.coordinates[node as usize * d..][..d];
        std::array::from_fn(|c| x.get(c).copied().unwrap_or(0.))
    };
    nodes.iter().map(position).collect()
}

/// All faces of elements whose nodes are among those of some tie, in the order of the elements.
fn faces_at(mesh: &Mesh, ties: &[DeckTie]) -> HashMap<Key, Vec<Owned>> {
    let mut is_named = vec![false; mesh.n_nodes()];
    let sides = ties.iter().flat_map(|tie| &tie.sides);
    sides.flat_map(|side| &side.nodes).for_each(|&node| is_named[node as usize] = true);
    let mut owned: HashMap<Key, Vec<Owned>> = HashMap::new();
    let mut element = 0;
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for local in group.kind.faces() {
                let round: Vec<u32> = local.iter().map(|&local| nodes[usize::from(local)]).collect();
                if round.iter().all(|&node| is_named[node as usize]) {
                    let mut padded = [u32::MAX; 4];
                    padded[..round.len()].copy_from_slice(&round);
                    let all = positions(mesh, nodes);
                    let inside = std::array::from_fn(|k| all.iter().map(|x| x[k]).sum::<f64>() / all.len() as f64);
                    let face = Face::new(padded, element, positions(mesh, &round), inside);
                    let is_fluid = group.kind.is_acoustic();
                    owned.entry(key(padded)).or_default().push(Owned { face, is_fluid });
                }
            }
            element += 1;
        }
    }
    owned
}

/// The faces of one side of a tie: those of its surface, or of a surface of nodes the free faces that have these nodes. Faces that a
/// fluid and a solid have in common are left out, as they are joined already.
///
/// # Errors
/// Faces of both, or none of a fluid.
fn matter(side: &TieSide, owned: &HashMap<Key, Vec<Owned>>, is_fluid: &[bool]) -> Result<Side, String> {
    let has_nodes = |face: &Key| {
        let mut corners = face.iter().filter(|node| **node != u32::MAX);
        corners.all(|node| side.nodes.binary_search(node).is_ok())
    };
    let mut keys: Vec<Key> = match side.is_of_nodes {
        true => owned.keys().copied().filter(has_nodes).collect(),
        false => side.faces.iter().copied().filter(has_nodes).map(key).collect(),
    };
    keys.sort_unstable();
    keys.dedup();
    let (mut of_fluid, mut of_solid) = (Vec::new(), Vec::new());
    let mut n_common = 0;
    for owners in keys.iter().filter_map(|key| owned.get(key)) {
        match owners.as_slice() {
            [Owned { face, is_fluid: true }] => of_fluid.push(face.clone()),
            [Owned { face, is_fluid: false }] => of_solid.push(face.clone()),
            several => n_common += usize::from(several.iter().any(|owner| owner.is_fluid)),
        }
    }
    let reaches_fluid = side.nodes.iter().any(|&node| is_fluid[node as usize]);
    match (of_fluid.is_empty(), of_solid.is_empty()) {
        (false, false) => {
            Err("one surface has faces of a fluid and of a solid: give each of them its own surface".to_owned())
        }
        (false, true) => Ok(Side::Fluid(of_fluid)),
        (true, true) if n_common > 0 => {
            Err("a surface lies inside the mesh, where elements share their nodes: they need no *TIE".to_owned())
        }
        (true, true) if reaches_fluid => {
            Err("the nodes of a fluid make up no face of it: name a surface of faces of elements".to_owned())
        }
        (true, _) => Ok(Side::Solid(of_solid)),
    }
}

/// Adds the shares of a tie. `shared` is how much of each corner of a face is shared out already. Returns what was tied, in words.
///
/// # Errors
/// Nothing is near enough, or a face has been tied before.
fn add(
    tie: &DeckTie,
    fluid: &[Face],
    solid: &[Face],
    ties: &mut FluidTies,
    shared: &mut HashMap<(Key, usize), f64>,
) -> Result<String, String> {
    let grid = Grid::new(solid);
    let found: Vec<Vec<Share>> =
        fluid.par_iter().map(|face| shares(face, grid.near(face, tie.tolerance), tie.tolerance)).collect();
    let (mut n_tied, mut covered) = (0, 0.);
    let mut solids = HashSet::new();
    for (face, shares) in fluid.iter().zip(&found) {
        if shares.is_empty() {
            continue;
        }
        n_tied += 1;
        let at = ties.faces.len() as u32;
        ties.faces.push(face.nodes);
        ties.elements.push(face.element);
        for &Share { corner, solid, weight } in shares {
            ties.shares.push(TieShare { face: at, corner: corner as u32, solid, weight });
            let sum = shared.entry((key(face.nodes), corner)).or_insert(0.);
            *sum += weight;
            if *sum > MOST_SHARED {
                return Err("a face of the fluid is tied twice: name it in one surface of one *TIE".to_owned());
            }
            covered += weight * face.area / face.corners.len() as f64;
            solids.insert(solid);
        }
    }
    if n_tied == 0 {
        let text = "no face of the solid lies near enough over one of the fluid; give a larger POSITION TOLERANCE=";
        return Err(format!("{text} than {:.3e}", tie.tolerance));
    }
    let (faces, nodes) = (counted(n_tied, "face"), counted(solids.len(), "node"));
    let percent = 100. * covered / fluid.iter().map(|face| face.area).sum::<f64>();
    Ok(format!("a fluid is tied to a solid: {faces} to {nodes}, {percent:.1} % of the fluid's surface"))
}

/// Leaves rows as they are, or puts rows of pressures in the place of the first components.
fn apply(rows: &mut LinearConstraints, fates: &[Fate]) {
    let all = std::mem::take(rows);
    for (at, (terms, fate)) in all.rows().zip(fates).enumerate() {
        if fate.holds_displacements {
            rows.push(all.name(at), terms.iter().copied());
        }
        if fate.holds_pressures && terms.iter().all(|term| term.component == 0) {
            let pressures = terms.iter().map(|term| LinearTerm { component: LinearTerm::PRESSURE, ..*term });
            rows.push(all.name(at), pressures);
        }
    }
    let LinearConstraints { massless, prescribed, loads, .. } = all;
    (rows.massless, rows.prescribed, rows.loads) = (massless, prescribed, loads);
}
