//! Tables for devices, which step one block with many threads. In the plane: colours of elements, and fans of triangles round
//! nodes. In space: batches of elements, each in one block, and grids of hexahedra or tetrahedra.

mod batches;
mod colours;
#[cfg(test)]
mod damage;
mod fans;
pub(super) mod grids;
mod halo;
mod items;
mod joins;
mod rings;
mod solids;
#[cfg(test)]
mod tests;

use pogo_formats::explicit::block::corner::BATCH;
use pogo_formats::explicit::block::ring::shape;
use pogo_formats::explicit::block::{BlocksView, DeviceTables, FanRecord, Run};
use pogo_formats::mesh::{ElementKind, ElementLaw, ElementShape};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::timed;

use crate::rows::{concatenate, cut, offsets};

/// Blocks that one task works on.
const CHUNK: usize = 32;

/// The connectivity of a colour or run starts at a multiple of this many entries, for wide loads.
const ALIGNMENT: usize = 8;

/// Colours of elements in the plane, or runs of elements in space, of some blocks.
#[derive(Default)]
struct Batches {
    /// Their number in each block.
    n_of_block: Vec<u32>,
    /// Run of each, and whether it has elements of several runs.
    run: Vec<u32>,
    is_mixed: Vec<bool>,
    /// Elements and connectivity entries of each.
    n_elements: Vec<u32>,
    n_entries: Vec<u32>,
    elements: Vec<u32>,
    connectivity: Vec<u16>,
}

impl Batches {
    /// Puts the tables of all tasks one after the other.
    fn join(parts: &[Self], device: &mut DeviceTables) {
        device.colour_first = offsets(parts.iter().flat_map(|part| part.n_of_block.iter().copied()));
        device.colour_run = concatenate(parts.iter().map(|part| part.run.as_slice()));
        let is_mixed = (0..).zip(parts.iter().flat_map(|part| &part.is_mixed));
        device.mixed_colours = is_mixed.filter(|&(_, &is_mixed)| is_mixed).map(|(colour, _)| colour).collect();
        device.colour_element_first = offsets(parts.iter().flat_map(|part| part.n_elements.iter().copied()));
        device.colour_connectivity_first = offsets(parts.iter().flat_map(|part| part.n_entries.iter().copied()));
        device.coloured_elements = concatenate(parts.iter().map(|part| part.elements.as_slice()));
        device.coloured_connectivity = concatenate(parts.iter().map(|part| part.connectivity.as_slice()));
    }
}

/// Colours have elements of several runs if there would be more than so many times as many batches of [`BATCH`] otherwise.
const MOST_BATCHES: f64 = 2.0;

/// Colours that elements of a kind need at least: in the plane so many of them meet at an inner node of a regular mesh, and no two of a
/// colour do.
fn least_colours(kind: ElementKind) -> usize {
    match kind.shape() {
        ElementShape::Triangle => 6,
        ElementShape::Quadrilateral => 4,
        ElementShape::Tetrahedron | ElementShape::Wedge | ElementShape::Hexahedron => 1,
    }
}

/// Whether colours have elements of all runs of one kind in a block: where runs are short, as those of grains are, most threads of
/// a device would have no element of one run alone.
fn mixes_runs(blocks: &BlocksView) -> bool {
    let of_block = |block: usize| {
        let runs: Vec<Run> = blocks.runs(block).collect();
        let n_batches = |runs: &[Run]| {
            let most = BATCH * shape(runs[0].kind)[1];
            let n_elements: usize = runs.iter().map(|run| run.elements.len()).sum();
            n_elements.div_ceil(most).max(least_colours(runs[0].kind).min(n_elements))
        };
        [false, true].map(|is_mixed| together(&runs, is_mixed).map(n_batches).sum::<usize>())
    };
    let of_all = (0..blocks.n_blocks()).into_par_iter().map(of_block);
    let [alone, mixed] = of_all.reduce(Default::default, |[a, b], [c, d]| [a + c, b + d]);
    alone as f64 > MOST_BATCHES * mixed as f64
}

/// Runs of a block whose elements stand in colours together: each by itself, or all of a kind. Those of fluids are long.
fn together<'a, 'b>(runs: &'b [Run<'a>], is_mixed: bool) -> impl Iterator<Item = &'b [Run<'a>]> {
    runs.chunk_by(move |a, b| is_mixed && a.kind == b.kind && !a.kind.is_acoustic())
}

/// Makes the tables, without grids, in rayon's current pool. The result does not depend on the number of threads. With
/// `fans_alone`, blocks that have fans get no colours.
pub(super) fn device_tables(blocks: &BlocksView, fans_alone: bool) -> DeviceTables {
    let materials = Materials::new(blocks);
    let mut device = DeviceTables {
        material_kind: materials.pairs.iter().map(|pair| pair.0).collect(),
        material_section: materials.pairs.iter().map(|pair| pair.1).collect(),
        ..DeviceTables::default()
    };
    let mut planes: Vec<Vec<u16>> = (0..blocks.n_blocks()).map(|block| materials.of_block(blocks, block)).collect();
    let own = timed("fans", || fans::own(blocks, &materials, &planes, &mut device));
    let solid = |&kind: &u8| ElementKind::from_code(kind).is_some_and(|kind| kind.dimension() == 3);
    if blocks.run_kind.iter().any(solid) {
        timed("batches of solids", || solids::solids(blocks, &mut device));
        timed("joins", || joins::passed(blocks, &mut device));
    } else {
        timed("colours", || colours::colours(blocks, &|block| fans_alone && !planes[block].is_empty(), &mut device));
        device.later_first = vec![0; blocks.n_blocks() + 1];
    }
    let halo = timed("halo of fans", || halo::halo(blocks, &device, &planes, &own));
    timed("join tables", || halo::finish(blocks, &mut device, own, halo, &mut planes));
    name_planes(&planes, &mut device);
    device
}

/// Gives blocks the materials of their fans. Where none is mixed, no triangle needs one of its own.
fn name_planes(planes: &[Vec<u16>], device: &mut DeviceTables) {
    device.fan_plane_first.push(0);
    for planes in planes {
        device.fan_material.push(match planes[..] {
            [] => DeviceTables::NO_FANS,
            [material] => material,
            [..] => DeviceTables::MIXED,
        });
        if planes.len() > 1 {
            device.fan_planes.extend(planes.iter().map(|&material| u32::from(material)));
        }
        device.fan_plane_first.push(device.fan_planes.len() as u32);
    }
    if device.fan_planes.is_empty() {
        (device.fan_materials, device.halo_fan_materials, device.further_materials) = Default::default();
    }
}

/// The distinct pairs of kind and section, ascending, and which of them each run has.
struct Materials {
    pairs: Vec<(u8, u32)>,
    of_run: Vec<u16>,
    /// The law of the elements that have fans.
    law: ElementLaw,
}

impl Materials {
    fn new(blocks: &BlocksView) -> Self {
        let runs = || blocks.run_kind.iter().copied().zip(blocks.run_section.iter().copied());
        let mut pairs: Vec<(u8, u32)> = runs().collect();
        pairs.sort_unstable();
        pairs.dedup();
        // Materials with higher numbers have none in a fan: their blocks get no fans.
        let number = |pair| pairs.partition_point(|&other| other < pair).min(usize::from(DeviceTables::NO_FANS)) as u16;
        let of_run = runs().map(number).collect();
        // Beside solids the nodes of a fluid have more numbers than one, and it has colours alone.
        let is_acoustic = |pair: &(u8, u32)| ElementKind::from_code(pair.0).is_some_and(|kind| kind.is_acoustic());
        let law = match pairs.iter().all(is_acoustic) {
            true => ElementLaw::AcousticTriangle,
            false => ElementLaw::Triangle,
        };
        Self { pairs, of_run, law }
    }

    /// Whether a kind has fans.
    fn has_fans(&self, kind: u8) -> bool {
        ElementKind::from_code(kind).is_some_and(|kind| kind.law() == self.law)
    }

    /// The materials of a block's own triangles, ascending, which fans number from 0 on. None where it has no fans.
    fn of_block(&self, blocks: &BlocksView, block: usize) -> Vec<u16> {
        let runs = blocks.run_first[block] as usize..blocks.run_first[block + 1] as usize;
        let n_local = blocks.own_nodes(block).len() + blocks.halo(block).len();
        if n_local > FanRecord::LOCAL_NODES || !blocks.run_kind[runs.clone()].iter().all(|&kind| self.has_fans(kind)) {
            return Vec::new();
        }
        let mut own = self.of_run[runs].to_vec();
        if own.is_empty() {
            // A block without elements may have the material of any triangle.
            own.extend(self.pairs.iter().position(|pair| self.has_fans(pair.0)).map(|at| at as u16));
        }
        own.sort_unstable();
        own.dedup();
        let is_named = own.iter().all(|&material| material < DeviceTables::MIXED);
        if is_named && own.len() <= FanRecord::MATERIALS { own } else { Vec::new() }
    }
}

/// A record with the materials of its triangles.
#[derive(Debug, Clone, Copy)]
struct Fan {
    record: FanRecord,
    materials: u32,
}

/// A record after the first of a node.
#[derive(Debug, Clone, Copy)]
struct Further {
    /// Local index.
    node: u16,
    fan: Fan,
}

/// Part of the tables of first records: three planes, and materials if there are several.
struct Rows<'a> {
    planes: [&'a mut [u32]; 3],
    materials: &'a mut [u32],
}

impl<'a> Rows<'a> {
    /// The parts of the tables for blocks with these numbers of nodes. `materials` may be empty.
    fn cut(planes: &'a mut [u32], materials: &'a mut [u32], lengths: impl Iterator<Item = usize> + Clone) -> Vec<Self> {
        let n_nodes = (planes.len() / 3).max(1);
        let has_materials = usize::from(!materials.is_empty());
        let mut planes = planes.chunks_mut(n_nodes).map(|plane| cut(plane, lengths.clone()).into_iter());
        let mut plane = || planes.next().into_iter().flatten();
        let planes = plane().zip(plane()).zip(plane()).map(|((a, b), c)| [a, b, c]);
        let materials = cut(materials, lengths.map(|n| n * has_materials));
        planes.zip(materials).map(|(planes, materials)| Self { planes, materials }).collect()
    }

    fn set(&mut self, at: usize, fan: Fan) {
        for (plane, word) in self.planes.iter_mut().zip(fan.record.words()) {
            plane[at] = word;
        }
        if let Some(materials) = self.materials.get_mut(at) {
            *materials = fan.materials;
        }
    }
}
