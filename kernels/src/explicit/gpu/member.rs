//! The part of a model that one of several devices has.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::explicit::block::DeviceView;

use super::halo::Devices;
use super::held::Joints;
use super::peers::{Peers, Sent, fans_by_messages};
use super::tables::Tables;
use super::{GpuError, GpuOptions, GpuReport, GpuStepper};
use crate::device::{DeviceError, Plain as _};
use crate::dynamics::signals::Signals;
use crate::dynamics::{Advance, Exchange, HaloLists, NodeLayout, OwnMonitors, Part, SignalTable, State, Stepper};
use crate::explicit::team::{Answer, ElementMember};
use crate::explicit::{ElementStepper, Problem};
use crate::ranks::{Accord, Ranks, Writer, exchange_arrays};
use crate::simd::Real;

/// How the model is shared.
#[derive(Debug)]
pub(super) struct Shared {
    pub accord: Accord,
    part: Part,
    /// Device of each block.
    domain: Vec<u32>,
    exchange: Exchange,
}

/// What one device computes and sends.
pub(super) enum Lists {
    /// Triangles alone, by the memory of the other devices.
    Fans(Sent),
    /// After each step, with the number of arrays of the state that are sent: u, or u and Δu.
    Others { sent: HaloLists, n_arrays: usize, of_joined: Option<HaloLists> },
}

impl Lists {
    /// The blocks of this device, where triangles are all and are stepped by the memory of the other devices.
    pub fn own_fans(&self) -> Option<&[u32]> {
        match self {
            Self::Fans(sent) => Some(&sent.own),
            Self::Others { .. } => None,
        }
    }
}

impl Shared {
    /// Which device has what.
    pub fn devices(&self, problem: &Problem) -> Devices<'_> {
        let ranks = &self.accord.ranks;
        Devices::new(&problem.blocks, &self.domain, ranks.n_ranks(), ranks.rank() as u32)
    }

    /// What this device computes and sends.
    pub fn lists<T: Real>(
        &self,
        problem: &Problem,
        view: &DeviceView,
        joints: &Joints,
        tables: &mut Tables<T>,
    ) -> Lists {
        if tables.are_fans_alone() {
            let of_part = (view, tables.two_steps, &self.domain[..]);
            if self.exchange == Exchange::Messages {
                let devices = self.devices(problem);
                let (sent, border, inside) = fans_by_messages(&problem.blocks, of_part, &devices);
                tables.n_early_fans = border.len();
                tables.by_fans = [border, inside].concat();
                return Lists::Others { sent, n_arrays: 2, of_joined: None };
            }
            let me = self.accord.ranks.rank() as u32;
            return Lists::Fans(Sent::new(&problem.blocks, view, tables.two_steps, &self.domain, me));
        }
        tables.ground.keep(|node| self.part.local_own(node).is_some());
        let mut sent = std::mem::take(&mut tables.sent);
        let joined = joints.nodes(problem.mesh.dimension);
        let of_joined = (!joined.is_empty()).then(|| sent.take_joined(&self.devices(problem), &joined));
        Lists::Others { sent: sent.lists(), n_arrays: 1, of_joined }
    }

    /// Number of own nodes.
    pub fn n_own(&self) -> usize {
        self.part.n_own()
    }

    /// The lumped mass, 0 on nodes of other devices, for sums.
    pub fn own_mass(&self, problem: &Problem) -> Vec<f64> {
        let mut mass = vec![0.0; problem.lumped_mass.len()];
        self.part.own().for_each(|node| mass[node] = problem.lumped_mass[node]);
        mass
    }

    /// Learns where the other devices have their arrays. Returns whether the host has to wait for all devices after each
    /// pass. Collective.
    pub fn place<T: Real>(
        &self,
        lists: &Lists,
        stepper: &mut GpuStepper<T>,
        unknowns: usize,
    ) -> Result<bool, DeviceError> {
        let gpu = &stepper.gpu;
        let memory = (&mut stepper.arena, &mut stepper.opened);
        let sent = match lists {
            Lists::Others { sent, n_arrays, of_joined } => {
                let layout = NodeLayout { n_numbers: unknowns, pitch: unknowns, stride: 1 };
                let arrays = [stepper.u, stepper.du];
                let (accord, arena, opened) = (&self.accord, memory.0, memory.1);
                let mut connect = |lists: &HaloLists, how, n_arrays: usize| {
                    lists.connect(gpu, (accord, how), (&mut *arena, &mut *opened), &arrays[..n_arrays], layout)
                };
                let n_arrays = if stepper.viscous.is_some() { 2 } else { *n_arrays };
                let mut exchange = connect(sent, self.exchange, n_arrays)?;
                if let Some(of_joined) = of_joined {
                    let mut how = self.exchange;
                    if exchange.host_waits() {
                        // Devices join nodes between two exchanges, where no host waits for all of them.
                        how = Exchange::Messages;
                        exchange = connect(sent, how, n_arrays)?;
                    }
                    stepper.launches.exchange_before_joining(connect(of_joined, how, 2)?);
                }
                let host_waits = exchange.host_waits();
                stepper.launches.exchange_after_steps(exchange);
                return Ok(host_waits);
            }
            Lists::Fans(sent) => sent,
        };
        let (u, du, done) = (stepper.u, stepper.du, stepper.done);
        let placed = match gpu.enter() {
            // The other ranks wait for what this one offers.
            Err(error) => exchange_arrays(&self.accord.ranks, gpu, Err(error), memory.1).map(|_| Peers::zeroed()),
            Ok(()) => sent.place(gpu, &self.accord.ranks, memory, (u, du, done)),
        };
        stepper.peers = self.accord.agree(placed)?;
        // Thread blocks of one device that wait for others of it may keep them from starting.
        let one_pass = !self.accord.all(stepper.peers.waits == 1) || self.exchange == Exchange::Plain;
        if one_pass {
            stepper.peers.waits = 0;
        }
        Ok(one_pass)
    }
}

/// The part of a model that one of several devices has.
#[derive(Debug)]
pub struct GpuMember<T: Real> {
    stepper: GpuStepper<T>,
    part: Part,
    monitors: OwnMonitors,
    dimension: usize,
}

impl<T: Real> GpuMember<T> {
    /// The stepper of this rank's sub-domain on a device, from the state of the whole model. `domain` is the sub-domain of each
    /// block. All ranks exchange in the same way, which [`Exchange::settled`] gives. Collective.
    ///
    /// # Errors
    /// As for [`GpuStepper::new`]; no connection between the devices.
    pub fn new(
        (problem, domains, domain): (&Problem, &SubDomainsView, &[u32]),
        ranks: &Arc<dyn Ranks>,
        state: &State,
        signals: &Signals<'_>,
        options: GpuOptions,
        exchange: Exchange,
    ) -> Result<Self, GpuError> {
        let part = Part::of(domains, ranks.rank());
        let shared = Shared { accord: Accord::new(ranks), part: part.clone(), domain: domain.to_vec(), exchange };
        let stepper = GpuStepper::of_part(problem, state, signals, options, shared)?;
        // Forces of constraints and memory variables are listed behind all degrees of freedom, and belong to the owner of their node.
        let n_dofs = (problem.mesh.n_nodes() * problem.mesh.dimension) as u64;
        let dofs: Vec<u64> = problem.monitors.iter().map(|dof| dof % n_dofs).collect();
        let monitors = OwnMonitors::new(&dofs, problem.mesh.dimension, &part);
        Ok(Self { stepper, part, monitors, dimension: problem.mesh.dimension })
    }

    /// What it runs on, and with what.
    pub fn report(&self) -> &GpuReport {
        self.stepper.report()
    }
}

impl<T: Real> ElementMember for GpuMember<T> {
    fn about(&self) -> (Vec<u32>, Vec<u32>) {
        (self.monitors.columns.clone(), Vec::new())
    }

    fn advance(&mut self, order: &Advance) -> Result<Answer, DeviceError> {
        let mut recording = Vec::new();
        self.stepper.advance(order.n_steps, &SignalTable::default(), &order.record, &mut recording)?;
        Ok(Answer { recording: self.monitors.select(&recording), energies: Vec::new(), of_rows: Vec::new() })
    }

    fn own_state(&mut self) -> Result<Writer, DeviceError> {
        let state = self.stepper.state()?;
        let mut answer = Writer::default();
        answer.put(&self.part.select(&state.displacement, self.dimension));
        answer.put(&self.part.select(&state.increment, self.dimension));
        let tables = state.memory.chunks_exact(state.displacement.len().max(1));
        let memory: Vec<f64> = tables.flat_map(|table| self.part.select(table, self.dimension)).collect();
        answer.put(&memory);
        answer.put(&self.stepper.counted_energies()?);
        Ok(answer)
    }

    fn own_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        let [displacement, increment, _] = motion;
        let force = match increment.is_empty() {
            true => ElementStepper::internal_force(&mut self.stepper, displacement)?,
            false => self.stepper.viscous_force(motion)?,
        };
        Ok(self.part.select(&force, self.dimension))
    }

    fn own_sums(&mut self) -> Result<Option<Writer>, DeviceError> {
        let Some(sums) = self.stepper.energy_sums()? else { return Ok(None) };
        let mut answer = Writer::default();
        answer.put(&[sums.kinetic, sums.strain]);
        answer.put(&self.stepper.counted_energies()?);
        Ok(Some(answer))
    }
}
