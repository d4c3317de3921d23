//! The part of a model that one of several devices has.

use std::cell::Cell;
use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::explicit::block::DeviceView;

use super::halo::HaloLists;
use super::peers::{Peers, Sent};
use super::tables::Tables;
use super::{GpuError, GpuOptions, GpuReport, GpuStepper};
use crate::device::{DeviceError, Plain as _};
use crate::dynamics::signals::Signals;
use crate::dynamics::{Advance, OwnMonitors, Part, SignalTable, State, Stepper};
use crate::explicit::team::{Answer, ElementMember};
use crate::explicit::{ElementStepper, Problem};
use crate::ranks::{Ranks, Writer, exchange_arrays};
use crate::simd::Real;

/// How the model is shared.
#[derive(Debug)]
pub(super) struct Shared {
    ranks: Arc<dyn Ranks>,
    part: Part,
    /// Device of each block.
    domain: Vec<u32>,
    /// The host waits for all devices after each pass.
    plain: bool,
    /// A device has failed, and all ranks know.
    failed: Cell<bool>,
}

/// What one device computes and sends.
pub(super) enum Lists {
    /// Triangles alone.
    Fans(Sent),
    Others(HaloLists),
}

impl Lists {
    /// The blocks of this device, where triangles are all.
    pub fn own_fans(&self) -> Option<&[u32]> {
        match self {
            Self::Fans(sent) => Some(&sent.own),
            Self::Others(_) => None,
        }
    }
}

impl Shared {
    /// What this device computes and sends; the other blocks leave its tables.
    pub fn lists<T: Real>(&self, problem: &Problem, view: &DeviceView, tables: &mut Tables<T>) -> Lists {
        let (me, n) = (self.ranks.rank() as u32, self.ranks.n_ranks());
        if tables.by_colours.is_empty() && problem.mesh.dimension == 2 {
            return Lists::Fans(Sent::new(&problem.blocks, view, tables.two_steps, &self.domain, me));
        }
        let lists = HaloLists::new(problem, view, &self.domain, n, me);
        tables.keep_part(&lists.roles);
        Lists::Others(lists)
    }

    /// Number of own nodes.
    pub fn n_own(&self) -> usize {
        self.part.n_own()
    }

    /// What this rank has come to; an error on all ranks if it is one on any. Collective until the first error: a rank whose
    /// device fails must come here once, or the others would wait for ever.
    pub fn agree<V, E: From<DeviceError>>(&self, outcome: Result<V, E>) -> Result<V, E> {
        if self.failed.get() {
            return outcome;
        }
        let all = self.ranks.all_gather(vec![u8::from(outcome.is_ok())]);
        let Some(rank) = all.iter().position(|well| *well == [0]) else { return outcome };
        self.failed.set(true);
        // The rank itself says why.
        outcome.and_then(|_| Err(DeviceError::OnRank { rank, reason: "its device has failed".into() }.into()))
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
        let (gpu, ranks) = (&stepper.gpu, &self.ranks);
        let memory = (&mut stepper.arena, &mut stepper.opened);
        let (u, du, done) = (stepper.u, stepper.du, stepper.done);
        let (mut peers, mut halo) = (Peers::zeroed(), None);
        let placed = match (gpu.enter(), lists) {
            // The other ranks wait for what this one offers.
            (Err(error), _) => exchange_arrays(ranks, gpu, Err(error), memory.1).map(|_| 0),
            (Ok(()), Lists::Fans(sent)) => sent.place(gpu, ranks, memory, (u, du, done)).map(|placed| {
                peers = placed;
                peers.waits
            }),
            (Ok(()), Lists::Others(lists)) => lists.place(gpu, ranks, memory, u, unknowns).map(|placed| {
                halo = Some((placed, lists.n_sent()));
                placed.waits
            }),
        };
        let waits = self.agree(placed)?;
        // Thread blocks of one device that wait for others of it may keep them from starting.
        let all = self.ranks.all_gather(vec![waits as u8]);
        let one_pass = self.plain || all.contains(&vec![0]);
        if one_pass {
            peers.waits = 0;
        }
        stepper.peers = peers;
        if let Some((mut halo, n_sent)) = halo {
            halo.waits = u32::from(!one_pass);
            stepper.launches.exchange_after_steps(gpu, halo, n_sent)?;
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
    /// block. `plain`: the host waits for all devices after each pass, instead of blocks for their neighbours. Collective.
    ///
    /// # Errors
    /// As for [`GpuStepper::new`]; no connection between the devices.
    pub fn new(
        (problem, domains, domain): (&Problem, &SubDomainsView, &[u32]),
        ranks: &Arc<dyn Ranks>,
        state: &State,
        signals: &Signals<'_>,
        options: GpuOptions,
        plain: bool,
    ) -> Result<Self, GpuError> {
        let part = Part::of(domains, ranks.rank());
        let shared = Shared {
            ranks: ranks.clone(),
            part: part.clone(),
            domain: domain.to_vec(),
            plain,
            failed: Cell::new(false),
        };
        let stepper = GpuStepper::of_part(problem, state, signals, options, shared)?;
        let monitors = OwnMonitors::new(&problem.monitors, problem.mesh.dimension, &part);
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
        Ok(Answer { recording: self.monitors.select(&recording), energies: Vec::new() })
    }

    fn own_state(&mut self) -> Result<Writer, DeviceError> {
        let state = self.stepper.state()?;
        let mut answer = Writer::default();
        answer.put(&self.part.select(&state.displacement, self.dimension));
        answer.put(&self.part.select(&state.increment, self.dimension));
        answer.put(&self.stepper.energies.to_vec()?);
        Ok(answer)
    }

    fn own_force(&mut self, displacement: &[f64], _: &[f64]) -> Result<Vec<f64>, DeviceError> {
        let force = ElementStepper::internal_force(&mut self.stepper, displacement)?;
        Ok(self.part.select(&force, self.dimension))
    }

    fn own_sums(&mut self) -> Result<Option<Writer>, DeviceError> {
        let Some(sums) = self.stepper.energy_sums()? else { return Ok(None) };
        let mut answer = Writer::default();
        answer.put(&[sums.kinetic, sums.strain]);
        answer.put(&self.stepper.energies.to_vec()?);
        Ok(Some(answer))
    }
}
