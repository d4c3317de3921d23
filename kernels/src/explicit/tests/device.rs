//! The tables for devices, followed node by node and colour by colour as a device does, in plain arithmetic.

use pogo_formats::explicit::block::corner::{ABSENT, BATCH, FLAG, TURNS, local_node, turn_of};
use pogo_formats::explicit::block::ring::{ring_tetrahedra, shape};
use pogo_formats::explicit::block::{BlocksView, DeviceTables, DeviceView, FanRecord};
use pogo_formats::mesh::{ElementLaw, ElementShape};
use pogo_tools::explicit::arrange::{ArrangeOptions, arrange};
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};

use super::*;

/// A problem with its tables, and u.
struct Twin<'a> {
    problem: &'a Problem<'a>,
    device: DeviceView<'a>,
    displacement: &'a [f64],
}

impl Twin<'_> {
    /// Force of an element on its nodes, (n, dimension).
    fn element_force(&self, kind: ElementKind, section: usize, nodes: &[u32]) -> Vec<f64> {
        let d = self.problem.mesh.dimension;
        let mut x = [[0.0; 3]; 8];
        let mut u = vec![];
        for (row, &node) in x.iter_mut().zip(nodes) {
            let dofs = node as usize * d..node as usize * d + d;
            row[..d].copy_from_slice(&self.problem.mesh.coordinates[dofs.clone()]);
            u.extend_from_slice(&self.displacement[dofs]);
        }
        let k = element_stiffness(kind, &x, &self.problem.sections[section]);
        k.chunks_exact(u.len()).map(|row| row.iter().zip(&u).map(|(k, u)| k * u).sum()).collect()
    }

    /// f_int of all nodes in space, corner by corner as a device adds it: of all rows of a batch the sums are read before any is
    /// written, so that two that meet lose something.
    fn by_batches(&self) -> Vec<f64> {
        let blocks = self.problem.blocks;
        let mut force = vec![[0.0; 3]; self.displacement.len() / 3];
        for block in 0..blocks.n_blocks() {
            let (own, later) = (blocks.own_nodes(block), self.device.later(block));
            let node = |local: u16| match usize::from(local).checked_sub(own.len()) {
                None => (own.start + usize::from(local)) as u32,
                Some(at) => later[at],
            };
            let run_of = blocks.run_of_elements(block);
            for run in self.device.colours(block) {
                let kind = ElementKind::from_code(blocks.run_kind[run.run]).unwrap();
                let [width, depth] = shape(kind);
                let rows: Vec<(&[u16], &[u32])> =
                    run.connectivity.chunks_exact(width).zip(run.elements.chunks_exact(depth)).collect();
                for batch in rows.chunks(BATCH) {
                    let mut corners: Vec<(usize, usize, [f64; 3])> = vec![];
                    for (row, elements) in batch.iter().filter(|(row, _)| row[0] != ABSENT) {
                        let section = blocks.run_section[run_of[&elements[0]]] as usize;
                        let ring = kind.shape() == ElementShape::Tetrahedron;
                        let elements: Vec<Vec<u16>> = if ring {
                            ring_tetrahedra(row).map(|nodes| nodes.to_vec()).collect()
                        } else {
                            vec![row.iter().map(|&corner| local_node(corner)).collect()]
                        };
                        let mut sums = vec![[0.0; 3]; width];
                        for locals in elements {
                            let nodes: Vec<u32> = locals.iter().map(|&local| node(local)).collect();
                            let f = self.element_force(kind, section, &nodes);
                            for (k, f) in f.chunks_exact(3).enumerate() {
                                let named = row.iter().position(|&corner| local_node(corner) == locals[k]).unwrap();
                                let slot = if ring { named } else { k };
                                (0..3).for_each(|i| sums[slot][i] += f[i]);
                            }
                        }
                        for (slot, &corner) in row.iter().enumerate() {
                            let turn = usize::from(turn_of(corner));
                            let round = if turn == 0 { slot } else { width + turn };
                            if slot == 0 || corner & FLAG == 0 {
                                corners.push((round, node(local_node(corner)) as usize, sums[slot]));
                            }
                        }
                    }
                    for round in 0..=width + usize::from(TURNS) {
                        let now = corners.iter().filter(|corner| corner.0 == round);
                        let sums: Vec<(usize, [f64; 3])> =
                            now.map(|&(_, node, f)| (node, std::array::from_fn(|i| force[node][i] + f[i]))).collect();
                        sums.into_iter().for_each(|(node, sum)| force[node] = sum);
                    }
                }
            }
        }
        force.concat()
    }

    /// f_int of each block's own nodes: in the plane colour by colour.
    fn by_colours(&self) -> Vec<f64> {
        if self.problem.mesh.dimension == 3 {
            return self.by_batches();
        }
        let (blocks, d) = (self.problem.blocks, self.problem.mesh.dimension);
        let mut force = vec![0.0; self.displacement.len()];
        for block in 0..blocks.n_blocks() {
            let own = blocks.own_nodes(block);
            let run_of = blocks.run_of_elements(block);
            for colour in self.device.colours(block) {
                let kind = ElementKind::from_code(blocks.run_kind[colour.run]).unwrap();
                let mut touched = vec![false; own.len()];
                for (element, local) in colour.elements.iter().zip(colour.connectivity.chunks_exact(kind.n_nodes())) {
                    let section = blocks.run_section[run_of[element]] as usize;
                    let nodes: Vec<u32> = local.iter().map(|&local| solver_index(blocks, &[], block, local)).collect();
                    let f = self.element_force(kind, section, &nodes);
                    for ((&node, &local), f) in nodes.iter().zip(local).zip(f.chunks_exact(d)) {
                        let Some(touched) = touched.get_mut(usize::from(local)) else { continue };
                        assert!(!std::mem::replace(touched, true), "two elements of a colour add to one node");
                        for (i, f) in f.iter().enumerate() {
                            force[node as usize * d + i] += f;
                        }
                    }
                }
            }
        }
        force
    }

    /// f_int by the triangles round each node: of each block's own nodes, or of its halo.
    fn by_fans(&self, of_halo: bool) -> Vec<f64> {
        let (blocks, device) = (self.problem.blocks, self.device);
        let mut force = vec![0.0; self.displacement.len()];
        for block in 0..blocks.n_blocks() {
            let (n_own, first) = (blocks.own_nodes(block).len(), blocks.own_nodes(block).start);
            let outer = &device.outer_nodes[device.outer_first[block] as usize..device.outer_first[block + 1] as usize];
            let mut further = device.further_first[block] as usize;
            for local in 0..n_own + blocks.halo(block).len() {
                let (mut record, mut materials) = if local < n_own {
                    (device.fan(first + local), device.fan_materials.get(first + local))
                } else {
                    let entry = blocks.halo_first[block] as usize + local - n_own;
                    (device.halo_fan(entry), device.halo_fan_materials.get(entry))
                };
                let mut sum = [0.0; 2];
                loop {
                    let f = self.fan_force(block, outer, local, record, materials.copied());
                    sum = [sum[0] + f[0], sum[1] + f[1]];
                    if !record.has_further() {
                        break;
                    }
                    assert_eq!(usize::from(device.further_node[further]), local);
                    (record, materials) = (device.further_fan(further), device.further_materials.get(further));
                    further += 1;
                }
                if of_halo == (local >= n_own) {
                    let node = solver_index(blocks, outer, block, local as u16) as usize;
                    force[2 * node..2 * node + 2].copy_from_slice(&sum);
                }
            }
        }
        force
    }

    fn fan_force(
        &self,
        block: usize,
        outer: &[u32],
        node: usize,
        record: FanRecord,
        materials: Option<u32>,
    ) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for (k, [a, b]) in record.triangles().enumerate() {
            let material = self.device.triangle_material(block, materials, k);
            let kind = ElementKind::from_code(self.device.material_kind[material]).unwrap();
            let section = self.device.material_section[material] as usize;
            let nodes = [node as u16, a, b].map(|local| solver_index(self.problem.blocks, outer, block, local));
            let f = self.element_force(kind, section, &nodes);
            sum = [sum[0] + f[0], sum[1] + f[1]];
        }
        sum
    }
}

fn solver_index(blocks: BlocksView, outer: &[u32], block: usize, local: u16) -> u32 {
    let (own, halo, local) = (blocks.own_nodes(block), blocks.halo(block), usize::from(local));
    match local.checked_sub(own.len()) {
        None => (own.start + local) as u32,
        Some(at) if at < halo.len() => halo[at],
        Some(at) => outer[at - halo.len()],
    }
}

#[test]
fn forces_by_colours_and_by_fans_are_those_of_the_step() {
    for kind in ElementKind::ALL {
        let mut mesh = box_mesh(kind, [13, 11, 5], 1e-3, 0.2);
        let n_elements = mesh.n_elements();
        mesh.groups[0].section = (0..n_elements as u32).map(|element| element / 70 % 2).collect();
        let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity: 40 };
        let cut = partition(&mesh.view(), &options, &|_| ()).unwrap();
        let arranged = arrange(mesh, cut, &ArrangeOptions::default()).unwrap();
        let case = Case {
            mesh: arranged.mesh,
            blocks: arranged.blocks,
            sections: vec![section(anisotropic()), section(isotropic(70e9, 0.2))],
            lags: Vec::new(),
        };
        let problem = Problem { device: Some(arranged.device.view()), ..case.problem() };
        let u = case.noise(1e-6);
        let expected = CpuStepper::<f64>::new(&problem, &case.rest(), CpuOptions::new(1)).unwrap().internal_force(&u);
        let twin = Twin { problem: &problem, device: arranged.device.view(), displacement: &u };
        let error = difference(&twin.by_colours(), &expected);
        assert!(error < 1e-13, "{kind:?} by colours: {error:e}");
        if !matches!(kind.law(), ElementLaw::Triangle | ElementLaw::AcousticTriangle) {
            assert!(twin.device.fan.is_empty(), "{kind:?}");
            continue;
        }
        let error = difference(&twin.by_fans(false), &expected);
        assert!(error < 1e-13, "{kind:?} by fans: {error:e}");
        // The halo's forces as the reading block computes them: what a second step at once needs.
        let found = twin.by_fans(true);
        let halo = &case.blocks.halo_nodes;
        let expected: Vec<f64> =
            (0..expected.len()).map(|dof| if halo.contains(&(dof as u32 / 2)) { expected[dof] } else { 0.0 }).collect();
        let error = difference(&found, &expected);
        assert!(error < 1e-13 && !twin.device.outer_nodes.is_empty(), "{kind:?} of the halo: {error:e}");
        assert!(twin.device.fan_material.contains(&DeviceTables::MIXED));
    }
}
