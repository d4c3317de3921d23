//! Where the times are computed: the CPU or a CUDA device, in f32 or f64.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use pogo_formats::domains::SubDomains;
use pogo_formats::eikonal::EikonalMeshView;
use pogo_formats::eikonal::setup::Decomposition;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads;
use pogo_kernels::device::DeviceError;
use pogo_kernels::eikonal::{
    Arrival, EikonalError, EikonalPart, EikonalProblem, EikonalSettings, EikonalSolver, GpuPart, GpuSettings,
    GpuSolver, TeamSolver, cut, on_all_threads,
};
use pogo_kernels::papers::eikonal::{Approach, GpuDomainSettings, SubDomainSolver, sub_domains_on_gpu};
use pogo_kernels::ranks::Ranks;
use pogo_kernels::simd::Real;

use crate::call::Call;
use crate::config::DeviceChoice;
use crate::device::{Device, MayBeDevice};
use crate::error::SolveError;
use crate::observe::{Observer, Silent};
use crate::team::{Cells, Split};

/// A mesh that is ready to be solved on some machine.
pub(super) enum Engine<'a, T: Real> {
    Cpu(Box<EikonalSolver<'a, T>>),
    /// The paper's approaches.
    SubDomains(Box<SubDomainSolver<'a, T>>),
    Gpu(Box<GpuSolver<T>>),
    /// Several ranks, of which this one leads.
    Team(Box<TeamSolver<EikonalPart<T>>>),
    /// The same, with a CUDA device each, and what they are called.
    Devices(Box<TeamSolver<GpuPart<T>>>, String),
}

/// Nodes of a piece, the least that a rank gets.
const PIECE: usize = 256;
/// Parts of the mesh that each rank gets, far from each other: so the wave is in some of them all the time.
const PARTS_OF_RANK: usize = 4;

impl MayBeDevice for EikonalError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}

impl<'a, T: Real> Engine<'a, T> {
    /// # Errors
    /// Of the CPU's tables; a device that was asked for and cannot be used.
    pub fn new(
        problem: &EikonalProblem<'a>,
        settings: &EikonalSettings,
        decomposition: Decomposition,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<Self, EikonalError> {
        let approach = match decomposition {
            Decomposition::Automatic | Decomposition::Whole => None,
            Decomposition::First => Some(Approach::First),
            Decomposition::Second => Some(Approach::Second),
        };
        let cpu = |_: &mut dyn Observer| match approach {
            None => Ok(Self::Cpu(Box::new(EikonalSolver::new(problem, settings)?))),
            Some(approach) => Ok(Self::SubDomains(Box::new(SubDomainSolver::new(problem, settings, approach)?))),
        };
        let gpu = |ordinal, _: &mut dyn Observer| {
            let solver = match approach {
                None => GpuSolver::new(problem, settings, &GpuSettings { ordinal, ..GpuSettings::default() })?,
                Some(approach) => {
                    sub_domains_on_gpu(problem, settings, &GpuDomainSettings { ordinal, approach, inner: 1 })?
                }
            };
            Ok(Self::Gpu(Box::new(solver)))
        };
        device.choose(observer, cpu, gpu)
    }

    /// An engine on each device of a call.
    ///
    /// # Errors
    /// As for [`new`](Self::new); the first.
    pub fn on_each(
        problem: &EikonalProblem<'a>,
        settings: &EikonalSettings,
        decomposition: Decomposition,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Self>, EikonalError> {
        if call.device.n_parts() == 1 {
            return Ok(vec![Self::new(problem, settings, decomposition, &call.device, observer)?]);
        }
        let n_threads = call.team.threads_of_rank(call.settings.threads);
        // Not in a pool that they share: a device is current on the thread that made it so.
        let on = |device| Self::new(problem, settings, decomposition, &device, &mut Silent);
        threads::in_pools(call.device.split().into_iter(), n_threads, on)?.into_iter().collect()
    }

    /// The leader's engine of a mesh that is cut into a sub-domain for each rank. None in a process whose rank 0 leads, once
    /// that is done.
    pub fn together(
        problem: &EikonalProblem<'a>,
        settings: &EikonalSettings,
        decomposition: Decomposition,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>, SolveError>
    where
        T: 'static,
    {
        if matches!(decomposition, Decomposition::First | Decomposition::Second) {
            return Err(call.team.refuse("a mesh of arrival times with solver.decomposition first or second"));
        }
        let (domains, split) = split(&problem.mesh, call.team.n_ranks()).map_err(|reason| call.refuse(reason))?;
        let domains = domains.view();
        observer.note(&split.line("node", problem.mesh.n_nodes()));
        if call.device.choices().iter().any(|choice| matches!(choice, DeviceChoice::Cuda(_))) {
            call.n_devices_of_team()?;
            let set_up = |ranks: &Arc<dyn Ranks>, ordinal, exchange| {
                let part = GpuPart::<T>::new(problem, settings, &domains, ranks, ordinal, exchange);
                part.map_err(|error| match error {
                    EikonalError::Device(error) => SolveError::Device(error),
                    error => call.refuse(error),
                })
            };
            let parts = call.members_with_exchange(set_up, observer)?;
            let name = format!("{} x {}", call.team.n_ranks(), parts[0].device());
            observer.note(
                "note: several CUDA devices take longer for one set of starts than one did where it was measured; \
                 they are faster for tables of starts and for studies",
            );
            let leader = call.team.lead_or_serve(parts)?;
            let solver = |(ranks, part)| TeamSolver::new(problem, &domains, ranks, part);
            return Ok(leader.map(|leader| Self::Devices(Box::new(solver(leader)), name)));
        }
        let n_threads = call.team.threads_of_rank(call.settings.threads);
        let part = |ranks| EikonalPart::<T>::new(problem, settings, &domains, ranks, n_threads);
        let parts: Result<Vec<_>, EikonalError> = call.team.local.par_iter().map(part).collect();
        let parts = call.team.agree(parts.map_err(|error| call.refuse(error)))?;
        let leader = call.team.lead_or_serve(parts)?;
        Ok(leader.map(|(ranks, part)| Self::Team(Box::new(TeamSolver::new(problem, &domains, ranks, part)))))
    }

    /// Sets of starts that it solves at once, whose sweeps are counted as one.
    pub fn group(&self) -> usize {
        match self {
            Self::Cpu(_) | Self::SubDomains(_) | Self::Team(_) | Self::Devices(..) => 1,
            Self::Gpu(solver) => solver.sets(),
        }
    }

    /// `cpu`, or the name of the device.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(_) | Self::SubDomains(_) | Self::Team(_) => "cpu".into(),
            Self::Gpu(solver) => solver.device().to_owned(),
            Self::Devices(_, name) => name.clone(),
        }
    }

    /// Solves for one set of starts.
    pub fn solve(&mut self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        match self {
            Self::Cpu(solver) => solver.solve(starts),
            Self::SubDomains(solver) => solver.solve(starts),
            Self::Gpu(solver) => solver.solve(starts),
            Self::Team(solver) => solver.solve(starts),
            Self::Devices(solver, _) => solver.solve(starts),
        }
    }

    /// Solves for those of many sets of starts that `take` gives, until it gives none; results come in any order, perhaps from
    /// several threads.
    pub fn solve_many(
        &mut self,
        sets: &[Vec<(u32, f64)>],
        take: &(dyn Fn() -> Option<Range<usize>> + Sync),
        each: &(dyn Fn(usize, Arrival<T>) + Sync),
    ) -> Result<(), EikonalError> {
        match self {
            Self::Cpu(solver) => solver.solve_many(sets, take, each),
            Self::Gpu(solver) => solver.solve_many(sets, take, each),
            Self::SubDomains(solver) => on_all_threads(take, |case| {
                each(case, solver.solve(&sets[case])?);
                Ok(())
            }),
            Self::Team(_) | Self::Devices(..) => {
                while let Some(range) = take() {
                    for case in range {
                        each(case, self.solve(&sets[case])?);
                    }
                }
                Ok(())
            }
        }
    }
}

/// Cuts a mesh into sub-domains of about equal work for the ranks.
fn split(mesh: &EikonalMeshView, n_ranks: usize) -> Result<(SubDomains, Split), String> {
    let began = Instant::now();
    let n_nodes = mesh.n_nodes();
    let piece = PIECE.min(n_nodes / (4 * PARTS_OF_RANK * n_ranks)).max(1);
    let n_pieces = n_nodes.div_ceil(piece);
    let first: Vec<u32> = (0..=n_pieces).map(|at| (at * piece).min(n_nodes) as u32).collect();
    // As much as the elements round its nodes, and something for each node that is moved.
    let work = |nodes: &[u32]| {
        let entries = mesh.incident_first[nodes[1] as usize] - mesh.incident_first[nodes[0] as usize];
        (entries + 4 * (nodes[1] - nodes[0])) as i32
    };
    let cost = first.windows(2).map(work).collect();
    let piece_of = |node: usize| (node / piece) as u32;
    let shared = first.par_windows(2).flat_map_iter(|nodes| {
        let others = (nodes[0]..nodes[1]).flat_map(|node| mesh.neighbours_of(node as usize));
        let mut others: Vec<u32> = others.map(|&other| piece_of(other as usize)).collect();
        others.sort_unstable();
        let counted = |same: &[u32]| ((piece_of(nodes[0] as usize), same[0]), same.len() as i32);
        others.chunk_by(|a, b| a == b).map(counted).collect::<Vec<_>>()
    });
    let shared: Vec<_> = shared.collect();
    let cells = Cells::of_counted(cost, shared.into_iter());
    let n_parts = (PARTS_OF_RANK * n_ranks).min(n_pieces).max(n_ranks);
    let dealt = |part: u32| part % n_ranks as u32;
    let domain: Vec<u32> = cells.cut(n_parts)?.into_iter().map(dealt).collect();
    let domains = cut(mesh, &first, &domain, n_ranks);
    let split = Split::new(&domains.view(), &domain, &cells.cost, began.elapsed().as_secs_f64());
    Ok((domains, split))
}
