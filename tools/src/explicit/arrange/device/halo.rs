//! Fans of the halo: those of the blocks that own its nodes, with the reader's local indices.

use pogo_formats::explicit::block::{BlocksView, DeviceTables, FanRecord, triangle_number};
use pogo_formats::system::parallel::iterate::*;

use super::{Fan, Further, Rows};
use crate::rows::rows_of;

/// Fans of the halo, and what each block needs for them.
pub(super) struct Halo {
    fan: Vec<u32>,
    materials: Vec<u32>,
    blocks: Vec<HaloBlock>,
}

struct HaloBlock {
    outer: Vec<u32>,
    further: Vec<Further>,
    /// The materials of the block's fans and of its halo's, by their numbers.
    planes: Vec<u16>,
}

/// Makes the fans of the halo if all blocks have fans, and none has too many nodes or materials for these.
pub(super) fn halo(
    blocks: &BlocksView,
    device: &DeviceTables,
    planes: &[Vec<u16>],
    own: &[Vec<Further>],
) -> Option<Halo> {
    if planes.iter().any(Vec::is_empty) {
        return None;
    }
    let n_blocks = blocks.n_blocks();
    let n_halo = blocks.halo_nodes.len();
    let mut fan = vec![0; 3 * n_halo];
    let mut materials = vec![0; if device.fan_materials.is_empty() { 0 } else { n_halo }];
    let rows = Rows::cut(&mut fan, &mut materials, (0..n_blocks).map(|block| blocks.halo(block).len()));
    let reader = Reader { blocks, device, planes, own };
    let found: Result<Vec<HaloBlock>, ()> = rows
        .into_par_iter()
        .enumerate()
        .with_min_len(8)
        .map_init(Vec::new, |neighbours, (block, rows)| reader.block(block, rows, neighbours).ok_or(()))
        .collect();
    Some(Halo { fan, materials, blocks: found.ok()? })
}

/// Puts the fans of the halo and the further records into the tables, and adds the materials of the halo's fans to those of blocks.
pub(super) fn finish(
    blocks: &BlocksView,
    device: &mut DeviceTables,
    own: Vec<Vec<Further>>,
    halo: Option<Halo>,
    planes: &mut [Vec<u16>],
) {
    let mut of_halo = Vec::new();
    device.outer_first = vec![0; blocks.n_blocks() + 1];
    if let Some(halo) = halo {
        (device.halo_fan, device.halo_fan_materials) = (halo.fan, halo.materials);
        device.outer_nodes.reserve_exact(halo.blocks.iter().map(|found| found.outer.len()).sum());
        for (block, found) in halo.blocks.into_iter().enumerate() {
            planes[block] = found.planes;
            device.outer_nodes.extend_from_slice(&found.outer);
            device.outer_first[block + 1] = device.outer_nodes.len() as u64;
            of_halo.push(found.further);
        }
    }
    of_halo.resize(own.len(), Vec::new());
    device.further_first = vec![0];
    for further in own.into_iter().zip(of_halo) {
        for Further { node, fan } in further.0.into_iter().chain(further.1) {
            device.further_node.push(node);
            device.further_fan.extend(fan.record.words());
            device.further_materials.push(fan.materials);
        }
        device.further_first.push(device.further_node.len() as u32);
    }
}

struct Reader<'a> {
    blocks: &'a BlocksView<'a>,
    device: &'a DeviceTables,
    planes: &'a [Vec<u16>],
    own: &'a [Vec<Further>],
}

/// A neighbour of a halo node: solver index, and local index unless it is an outer node.
type Neighbour = (u32, u16);

const OUTER: u16 = u16::MAX;

impl Reader<'_> {
    fn block(&self, block: usize, mut rows: Rows, neighbours: &mut Vec<Neighbour>) -> Option<HaloBlock> {
        let (own, halo) = (self.blocks.own_nodes(block), self.blocks.halo(block));
        let own = own.start as u32..own.end as u32;
        let mut outer = Vec::new();
        let mut planes = self.planes[block].clone();
        neighbours.clear();
        self.for_each_record(halo, |_, _, owner, fan| {
            for node in fan.record.neighbours() {
                let node = self.solver(owner, node);
                let local = if own.contains(&node) {
                    (node - own.start) as u16
                } else if let Ok(at) = halo.binary_search(&node) {
                    (own.len() + at) as u16
                } else {
                    outer.push(node);
                    OUTER
                };
                neighbours.push((node, local));
            }
            for material in self.materials_of(owner, fan) {
                if !planes.contains(&material) {
                    planes.push(material);
                }
            }
        });
        if planes.len() > FanRecord::MATERIALS {
            return None;
        }
        outer.sort_unstable();
        outer.dedup();
        let n_inner = own.len() + halo.len();
        if n_inner + outer.len() > FanRecord::LOCAL_NODES {
            return None;
        }
        let mut further = Vec::new();
        let mut rest = neighbours.as_slice();
        self.for_each_record(halo, |at, first, owner, fan| {
            let (these, after) = rest.split_at(fan.record.n_neighbours());
            rest = after;
            let local = these.iter().map(|&(node, local)| match local {
                OUTER => (n_inner + outer.partition_point(|&other| other < node)) as u16,
                local => local,
            });
            let record = FanRecord::new(local).with_further(fan.record.has_further());
            let number = |material: u16| planes.iter().position(|&plane| plane == material).unwrap_or_default() as u32;
            let numbers = self.materials_of(owner, fan).map(number).enumerate();
            let fan = Fan { record, materials: numbers.fold(0, |word, (k, number)| word | number << (4 * k)) };
            if first {
                rows.set(at, fan);
            } else {
                further.push(Further { node: (own.len() + at) as u16, fan });
            }
        });
        Some(HaloBlock { outer, further, planes })
    }

    /// The materials of the triangles of a record of another block.
    fn materials_of(&self, owner: usize, fan: Fan) -> impl Iterator<Item = u16> {
        let planes = &self.planes[owner];
        (0..fan.record.n_triangles()).map(move |k| planes[triangle_number(fan.materials, k)])
    }

    /// Calls with each record of each halo node: its place in the halo, whether it is the node's first, the block that
    /// owns the node, and the record with that block's local indices.
    fn for_each_record(&self, halo: &[u32], mut call: impl FnMut(usize, bool, usize, Fan)) {
        let n_nodes = self.device.fan.len() / 3;
        for ((at, &node), owner) in halo.iter().enumerate().zip(rows_of(self.blocks.node_first, halo)) {
            let planes = &self.device.fan;
            let words = [0, 1, 2].map(|plane| planes[plane * n_nodes + node as usize]);
            let materials = self.device.fan_materials.get(node as usize).copied().unwrap_or_default();
            let first = Fan { record: FanRecord::from_words(words), materials };
            call(at, true, owner, first);
            if first.record.has_further() {
                let local = (node - self.blocks.node_first[owner]) as u16;
                let further = &self.own[owner];
                let start = further.partition_point(|further| further.node < local);
                for record in further[start..].iter().take_while(|further| further.node == local) {
                    call(at, false, owner, record.fan);
                }
            }
        }
    }

    /// Solver index of a local index of a block.
    fn solver(&self, block: usize, local: u16) -> u32 {
        let own = self.blocks.own_nodes(block);
        match usize::from(local).checked_sub(own.len()) {
            None => own.start as u32 + u32::from(local),
            Some(at) => self.blocks.halo_nodes[self.blocks.halo_first[block] as usize + at],
        }
    }
}
