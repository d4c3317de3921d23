//! One run: block file → conditions → solution of each load case → results in a folder.

use std::path::Path;
use std::time::Instant;

use pogo_formats::system::threads;
use pogo_formats::timings::{self, peak_memory, timed};
use pogo_formats::voxel::setup::{Analysis, LoadCase};
use pogo_formats::voxel::summary::{CaseSummary, VoxelSummary};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_formats::words::counted;
use pogo_formats::write::report::{Curve, NAME, Panel};
use pogo_formats::write::summary::{Ending, Status};
use pogo_formats::write::write_atomically;
use pogo_kernels::voxel::{FixedDof, Grid, Lame, Moduli, Ratios, Solution as Solved, StaticProblem, most_ranks};

use super::conditions::{Prepared, prepare};
use super::elements::Matter;
use super::engine::{Engine, Watcher};
use super::periodic::Periodic;
use super::results::{Solution, extents, scale};
use super::summary::summarise;
use super::support::Bodies;
use super::tensor::TensorCases;
use super::{check, files, settings};
use crate::RunSummary;
use crate::call::Call;
use crate::error::SolveError;
use crate::folder::ResultFolder;
use crate::heap;
use crate::observe::Observer;

/// Degrees of freedom from which on memory that is free is kept.
const LARGE: usize = 3_000_000;

/// Runs a model and writes its results. `grid` says how the solver finds nodes; periodic cases have a table of their own.
///
/// # Errors
/// A model with a loose part, a start vector of another model, a file that cannot be written. Non-convergence and
/// interruption are no errors: see [`VoxelSummary::ending`].
pub(super) fn run(
    mesh: &VoxelMeshView<'_>,
    grid: Grid<'_>,
    setup: &VoxelSetup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    let began = Instant::now();
    let young: Vec<f64> = setup.materials.iter().map(|material| material.young).collect();
    let moduli = if mesh.element_class.is_empty() {
        Moduli::Each { modulus: mesh.element_modulus, scale: setup.modulus_scale }
    } else {
        Moduli::Classes { class: mesh.element_class, young: &young }
    };
    if let Some(reason) = timed("check moduli", || check::bad_modulus(mesh, &moduli)) {
        return Err(call.refuse(reason));
    }
    let mut bodies = timed("find parts", || Bodies::find(&mesh.bricks));
    let mut periodic = None;
    if settings::is_periodic(setup) {
        periodic = Some(Periodic::new(mesh, setup, &mut bodies).map_err(|error| call.refuse(error))?);
    }
    let periodic = periodic.as_ref();
    let grid = periodic.map_or(grid, |periodic| Grid::Joined(&periodic.joined));
    setup.solver.check().map_err(|reason| call.refuse(format!("solver settings: {reason}")))?;
    call.check_memory(files::need(mesh, setup, call))?;
    let engine = Engine::new(setup, most_ranks(&mesh.bricks), grid, call, observer)?;
    if 3 * mesh.bricks.n_nodes() >= LARGE {
        heap::keep_freed_blocks();
    } else {
        heap::return_large_blocks();
    }
    observer.note(&format!(
        "{}, {} ({} degrees of freedom), {}; {}, {}",
        counted(mesh.bricks.n_elements(), "voxel"),
        counted(mesh.bricks.n_nodes(), "node"),
        3 * mesh.bricks.n_nodes(),
        counted(setup.cases.len(), "load case"),
        engine.device_name,
        counted(call.n_threads(), "thread")
    ));
    if bodies.len() > 1 {
        observer.note(&format!("{} of voxels that share no face", counted(bodies.len(), "part")));
    }
    // Before the first solve, so that a mistake in the last case is seen at once.
    let prepared =
        timed("conditions", || prepare(mesh, setup, periodic, &bodies)).map_err(|error| call.refuse(error))?;
    let mut summary = start_summary(mesh, setup, call);
    summary.warnings = match periodic {
        Some(periodic) => periodic.warnings(),
        None => timed("find unloaded parts", || check::unloaded(mesh, setup, &bodies, &prepared)).into_iter().collect(),
    };
    drop(bodies);
    if call.team.is_several() {
        // Every rank reads them; none may fail where others go on.
        let read = |case| files::start_vector(call.config.start.as_deref(), setup, case, mesh.bricks.n_nodes());
        setup.cases.iter().try_for_each(|case| read(case).map(drop))?;
    }
    call.team.agree(Ok(()))?;

    // Load cases begin one after the other from displacements that may lie here.
    let is_start = |name: &str| call.config.start.is_some() && files::is_displacement(name);
    let results = call.team.leads().then(|| ResultFolder::take(call.folder, is_start));
    let matter = Matter::new(moduli, setup);
    let lame: Vec<Lame> = setup.ratios().into_iter().map(Lame::new).collect();
    let ratios = if lame.is_empty() { Ratios::One(setup.one_ratio()) } else { Ratios::Classes(&lame) };
    let model = Model { mesh, setup, matter: &matter, ratios, periodic, prepared: &prepared, call };
    let mut run = Run {
        model,
        engine,
        history: "case,iteration,relative_residual\n".into(),
        tensor: TensorCases::default(),
        positions: Ok(()),
        summary,
    };
    run.solve_cases(observer)?;
    match results {
        Some(results) => run.finish(began, results, observer),
        None => Ok(RunSummary::of_another_rank()),
    }
}

/// A model with everything that its load cases share.
#[derive(Clone, Copy)]
struct Model<'a> {
    mesh: &'a VoxelMeshView<'a>,
    setup: &'a VoxelSetup,
    matter: &'a Matter<'a>,
    ratios: Ratios<'a>,
    periodic: Option<&'a Periodic>,
    /// One for each load case.
    prepared: &'a [Prepared],
    call: &'a Call<'a>,
}

/// A run with what it has found so far.
struct Run<'a> {
    model: Model<'a>,
    engine: Engine<'a>,
    /// Lines of `residual.csv`.
    history: String,
    tensor: TensorCases,
    /// Whether the places of the nodes were written.
    positions: Result<(), SolveError>,
    summary: VoxelSummary,
}

impl<'a> Run<'a> {
    fn solve_cases(&mut self, observer: &mut dyn Observer) -> Result<(), SolveError> {
        let n_cases = self.model.setup.cases.len();
        for index in 0..n_cases {
            if index > 0
                && self.model.call.interrupts.stop_requested()
                && self.summary.ending.status == Status::Completed
            {
                let done = format!(
                    "{} after {index} of {}",
                    self.model.call.interrupts.stopped(),
                    counted(n_cases, "load case")
                );
                self.summary.ending = Ending::new(Status::Interrupted, done);
            }
            let team = &self.model.call.team;
            // Ranks that compute the same case end with the one that leads.
            if !team.as_the_leader_says(self.summary.ending.status != Status::Interrupted) {
                break;
            }
            let (solved, setup_seconds) = match index {
                0 => self.first_displacements(observer)?,
                _ => self.displacements(index, observer)?,
            };
            if index + 1 == n_cases {
                self.engine.release();
            }
            if team.leads()
                && let Err(error) = self.keep(index, solved, setup_seconds, observer)
            {
                if index + 1 < n_cases {
                    team.as_the_leader_says(false);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Solves the first case. The places of the nodes, which are known before, are written meanwhile.
    fn first_displacements(&mut self, observer: &mut dyn Observer) -> Result<(Solved, f64), SolveError> {
        let Model { mesh, setup, call, .. } = self.model;
        if !(setup.output.displacement && call.team.leads()) {
            return self.displacements(0, observer);
        }
        self.summary.files.push("nodes.npy".into());
        let write = || timed("write nodes", || files::write_positions(mesh, call.folder));
        let (written, solved) = threads::beside(write, || self.displacements(0, observer));
        self.positions = written;
        solved
    }

    /// Writes and notes what comes of a case.
    fn keep(
        &mut self,
        index: usize,
        mut solved: Solved,
        setup_seconds: f64,
        observer: &mut dyn Observer,
    ) -> Result<(), SolveError> {
        let Model { mesh, setup, matter, prepared, call, .. } = self.model;
        let _results = timings::stage("results");
        std::mem::replace(&mut self.positions, Ok(()))?;
        let (case, conditions) = (&setup.cases[index], &prepared[index].conditions);
        for (iteration, residual) in solved.history.iter().enumerate() {
            self.history += &format!("{},{},{residual:e}\n", case.name, iteration + 1);
        }
        observer.note(&outcome_line(case, &solved, setup_seconds));
        let solution = Solution { mesh, matter, displacement: &solved.displacement };
        let mut reactions = timed("reactions", || solution.reactions(conditions));
        let factor = scale(mesh, setup, case, &reactions);
        if let Some(factor) = factor {
            solved.displacement.iter_mut().for_each(|u| *u *= factor);
            reactions.forces.iter_mut().flatten().for_each(|f| *f *= factor);
        }
        let solution = Solution { mesh, matter, displacement: &solved.displacement };
        if matches!(setup.analysis, Analysis::Tensor(_)) {
            self.tensor.add(mesh, setup, &reactions, conditions, prepared, &solved.displacement);
        }
        // What is written waits for the disk most of the time.
        let (found, written) = rayon::join(
            || timed("summarise", || summarise(&solution, setup, case, conditions, &reactions)),
            || timed("write", || files::write_case(call, setup, case, &solution, &mut self.summary)),
        );
        written?;
        let found = CaseSummary {
            scale: factor.unwrap_or(1.0),
            converged: solved.converged,
            iterations: solved.iterations as u64,
            relative_residual: solved.relative_residual,
            products: solved.products,
            solve_seconds: solved.seconds,
            setup_seconds,
            ..found
        };
        self.judge(case, &solved);
        self.summary.cases.push(found);
        Ok(())
    }

    /// Solves for the displacements of a case, and tells the time of the set-up, s.
    fn displacements(&mut self, index: usize, observer: &mut dyn Observer) -> Result<(Solved, f64), SolveError> {
        let Model { mesh, setup, matter, periodic, prepared, call, .. } = self.model;
        let (case, prepared) = (&setup.cases[index], &prepared[index]);
        let start_vector = call.config.start.as_deref();
        let mut start = files::start_vector(start_vector, setup, case, mesh.bricks.n_nodes())?;
        let n_kept = if setup.output.displacement { index } else { 0 };
        let Some(periodic) = periodic else {
            let problem = self.problem(&prepared.conditions.fixed);
            return self.solve(&problem, &prepared.free_forces, start, n_kept, observer);
        };
        let mut mean = periodic.mean(mesh, setup, case);
        let forces = periodic.forces(mesh, matter, &mean);
        start = start.map(|start| periodic.fluctuation(&start, &mean));
        let problem = self.problem(&periodic.fixed);
        let (mut solved, setup_seconds) = self.solve(&problem, &forces, start, n_kept, observer)?;
        periodic.add(&solved.displacement, &mut mean);
        solved.displacement = mean;
        Ok((solved, setup_seconds))
    }

    fn problem(&self, fixed: &'a [FixedDof]) -> StaticProblem<'a> {
        let Model { mesh, matter, ratios, .. } = self.model;
        let (bricks, moduli, spacing) = (mesh.bricks, matter.moduli, mesh.spacing);
        StaticProblem { bricks, moduli, ratios, spacing, fixed, forces: &[] }
    }

    fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        forces: &[pogo_kernels::voxel::NodalForce],
        start: Option<Vec<f64>>,
        n_kept: usize,
        observer: &mut dyn Observer,
    ) -> Result<(Solved, f64), SolveError> {
        if let Some(reason) = timed("check numbers", || check::beyond_numbers(problem, forces)) {
            return Err(self.model.call.refuse(reason));
        }
        let mut watcher = Watcher::new(observer, self.model.call.interrupts);
        self.engine.solve(problem, forces, start.as_deref(), n_kept, &mut watcher)
    }

    /// Notes a case that was stopped or did not converge.
    fn judge(&mut self, case: &LoadCase, solved: &Solved) {
        if solved.converged {
            return;
        }
        let interrupts = self.model.call.interrupts;
        let (status, message) = if interrupts.stop_requested() {
            let advice = "go on with --start and the output folder";
            (Status::Interrupted, format!("{} while iterating; {advice}", interrupts.stopped()))
        } else {
            let message = format!(
                "{}no convergence: relative residual {:.2e} after {}, {:.0e} was asked for; see residual.csv",
                prefix(case),
                solved.relative_residual,
                counted(solved.iterations, "iteration"),
                self.model.setup.solver.tolerance
            );
            (Status::NotConverged, message)
        };
        self.summary.ending = Ending::new(status, message);
    }

    /// Works out what follows from all cases, and writes it.
    fn finish(
        self,
        began: Instant,
        results: ResultFolder<'_>,
        observer: &mut dyn Observer,
    ) -> Result<RunSummary, SolveError> {
        let Self { model: Model { mesh, setup, call, .. }, engine, history, tensor, mut summary, .. } = self;
        if summary.cases.len() == setup.cases.len()
            && let Analysis::Tensor(boundary) = setup.analysis
        {
            summary.tensor = tensor.apparent(mesh, setup, boundary);
            if summary.tensor.is_none() {
                summary.warnings.push("the six cases do not give a regular stiffness tensor".into());
            }
        }
        summary.grid = engine.grid_name();
        summary.domains = if let Grid::Domains(domains) = engine.grid { domains.n_domains() as u64 } else { 1 };
        summary.device = engine.device_name;
        summary.device_bytes = engine.device_bytes;
        write_residuals(call.folder, &history)?;
        summary.files.push("residual.csv".into());
        if let Some(mut report) = call.report() {
            report.curves("Residual", "", &[residuals(&history)]);
            summary.files.push(NAME.into());
        }
        complete(&mut summary, began);
        results.settle(&mut summary.files, |_| false);
        let line = last_line(&summary);
        let summary = RunSummary::write(call, summary, |s| (&s.ending, s.total_seconds, &s.warnings))?;
        observer.note(&line);
        Ok(summary)
    }
}

/// The relative residual of each case over its iterations.
fn residuals(history: &str) -> Panel {
    let mut curves: Vec<Curve> = Vec::new();
    for line in history.lines().skip(1) {
        // The name of a case may hold commas.
        let mut fields = line.rsplitn(3, ',');
        let number = |field: Option<&str>| field.and_then(|field| field.parse().ok()).unwrap_or(f64::NAN);
        let (residual, iteration) = (number(fields.next()), number(fields.next()));
        let name = fields.next().filter(|name| !name.is_empty()).unwrap_or("residual");
        if curves.last().is_none_or(|curve| curve.name != name) {
            curves.push(Curve::new(name, Vec::new(), Vec::new()));
        }
        if let Some(curve) = curves.last_mut() {
            curve.x.push(iteration);
            curve.y.push(residual);
        }
    }
    let across = ("iteration".into(), String::new());
    Panel { label: "relative residual".into(), unit: String::new(), across, log: true, curves }
}

fn write_residuals(folder: &Path, history: &str) -> Result<(), SolveError> {
    Ok(write_atomically(&folder.join("residual.csv"), |out| std::io::Write::write_all(out, history.as_bytes()))?)
}

fn start_summary(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, call: &Call<'_>) -> VoxelSummary {
    let box_voxels: f64 = extents(setup, 1.0).iter().product();
    VoxelSummary {
        physics: "static",
        origin: call.origin(&setup.title),
        unit: setup.unit.clone(),
        dof: 3 * mesh.bricks.n_nodes() as u64,
        nodes: mesh.bricks.n_nodes() as u64,
        elements: mesh.bricks.n_elements() as u64,
        spacing: mesh.spacing,
        solid_fraction: mesh.bricks.n_elements() as f64 / box_voxels,
        threads: call.n_threads() as u32,
        tolerance: setup.solver.tolerance,
        ..VoxelSummary::default()
    }
}

/// `case NAME: `, or nothing where there is only one case.
fn prefix(case: &LoadCase) -> String {
    if case.name.is_empty() { String::new() } else { format!("case {}: ", case.name) }
}

fn outcome_line(case: &LoadCase, solved: &Solved, setup_seconds: f64) -> String {
    format!(
        "{}{} in {:.2} s (set-up {setup_seconds:.2} s), {:.0} products, relative residual {:.2e}",
        prefix(case),
        counted(solved.iterations, "iteration"),
        solved.seconds,
        solved.products,
        solved.relative_residual
    )
}

/// Sums over the cases, memory and time.
fn complete(summary: &mut VoxelSummary, began: Instant) {
    let cases = &summary.cases;
    summary.iterations = cases.iter().map(|case| case.iterations).sum();
    summary.products = cases.iter().map(|case| case.products).sum();
    summary.solve_seconds = cases.iter().map(|case| case.solve_seconds).sum();
    summary.setup_seconds = cases.iter().map(|case| case.setup_seconds).sum();
    summary.relative_residual = cases.iter().map(|case| case.relative_residual).fold(0.0, f64::max);
    if let [only] = cases.as_slice() {
        summary.reaction = only.reaction.clone();
    }
    summary.peak_memory_bytes = peak_memory();
    let over_dofs = |bytes: u64| bytes as f64 / summary.dof.max(1) as f64;
    summary.bytes_per_dof = summary.peak_memory_bytes.map(over_dofs);
    summary.device_bytes_per_dof = summary.device_bytes.map(over_dofs);
    summary.total_seconds = began.elapsed().as_secs_f64();
}

fn last_line(summary: &VoxelSummary) -> String {
    let status = match summary.ending.status {
        Status::Completed => "done",
        _ => summary.ending.message.as_deref().unwrap_or_default(),
    };
    let mut line = format!("{status}: {:.2} s", summary.total_seconds);
    if let [CaseSummary { apparent: Some(apparent), .. }] = summary.cases.as_slice() {
        line += &format!(", apparent {} {:.6e}", apparent.kind, apparent.value);
    }
    if let Some(tensor) = &summary.tensor {
        let [x, y, z] = tensor.orthotropic.young;
        line += &format!(", apparent moduli {x:.5e}, {y:.5e}, {z:.5e}");
    }
    line
}
