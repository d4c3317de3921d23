//! One run: block file → conditions → solution of each load case → results in a folder.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pogo_formats::voxel::setup::{Analysis, LoadCase, TensorBoundary};
use pogo_formats::voxel::summary::{CaseSummary, Tensor, VoxelStatus, VoxelSummary};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_formats::words::counted;
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::summary;
use pogo_formats::write::summary::BlockFileSummary;
use pogo_formats::write::{npy, write_atomically};
use pogo_kernels::voxel::{Grid, Moduli, NodalForce, StaticProblem};

use super::conditions::{ConditionError, Conditions, conditions, coordinates, magnitude};
use super::element::Cube;
use super::engine::{Engine, Solved};
use super::periodic::Periodic;
use super::results::{Reactions, Solution, centre, extents, scale, side, summarise};
use super::support::Bodies;
use super::tensor::{Matrix6, tensor};
use super::{dense, fields, picture};
use crate::config::Settings;
use crate::error::SolveError;
use crate::folder::{ResultFolder, peak_memory};
use crate::interrupt::Interrupts;
use crate::memory;
use crate::observe::Observer;

/// Between two lines about the iteration.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Degrees of freedom from which on memory that is free is kept.
const LARGE: usize = 3_000_000;

/// A model as it is solved, and where it came from.
pub struct VoxelModel<'a> {
    /// The grid.
    pub mesh: VoxelMeshView<'a>,
    /// How the solver finds nodes; periodic cases have a way of their own.
    pub grid: Grid<'a>,
    /// Everything else, overrides applied.
    pub setup: VoxelSetup,
    /// Path, hash and source of the block file.
    pub block_file: BlockFileSummary,
    /// Name of the case in a study.
    pub case: Option<String>,
    /// `NAME=VALUE` in force.
    pub overrides: Vec<String>,
    /// Displacements to start from: a file, or the output folder of an earlier run.
    pub start: Option<PathBuf>,
}

/// Runs a model and writes its results into `folder`, which must exist.
///
/// # Errors
/// A model with a loose part, a start vector of another model, a file that cannot be written. Non-convergence and
/// interruption are no errors: see [`VoxelSummary::status`].
pub fn run(
    model: &VoxelModel<'_>,
    settings: &Settings,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<VoxelSummary, SolveError> {
    let began = Instant::now();
    let VoxelModel { mesh, setup, .. } = model;
    let path = PathBuf::from(&model.block_file.path);
    let refuse = |error: ConditionError| SolveError::Problem { path: path.clone(), reason: error.to_string() };
    let young: Vec<f64> = setup.materials.iter().map(|material| material.young).collect();
    let moduli = if mesh.element_class.is_empty() {
        Moduli::Each { modulus: mesh.element_modulus, scale: setup.modulus_scale }
    } else {
        Moduli::Classes { class: mesh.element_class, young: &young }
    };
    if let Some(element) = first_bad_modulus(&moduli) {
        let [i, j, k] = mesh.bricks.element_position(element);
        let reason = format!(
            "voxel ({i}, {j}, {k}) has no positive modulus; 0 in the image is void, other values must be above 0"
        );
        return Err(SolveError::Problem { path, reason });
    }
    let n_nodes = mesh.bricks.n_nodes();
    let threads = rayon::current_num_threads();
    let mut bodies = Bodies::find(&mesh.bricks);
    let mut periodic = None;
    if setup.analysis == Analysis::Tensor(TensorBoundary::Periodic) {
        periodic = Some(Periodic::new(mesh, setup, &mut bodies).map_err(refuse)?);
    }
    let periodic = periodic.as_ref();
    let grid = periodic.map_or(model.grid, |periodic| Grid::Joined(&periodic.joined));
    let mut engine = Engine::new(&setup.solver, grid, settings.device)
        .map_err(|reason| SolveError::Problem { path: path.clone(), reason })?;
    if engine.on_cpu() && 3 * n_nodes >= LARGE {
        memory::keep_freed_blocks();
    } else {
        memory::return_large_blocks();
    }
    observer.note(&format!(
        "{}, {} ({} degrees of freedom), {}; {}, {}",
        counted(mesh.bricks.n_elements(), "voxel"),
        counted(n_nodes, "node"),
        3 * n_nodes,
        counted(setup.cases.len(), "load case"),
        engine.device_name,
        counted(threads, "thread")
    ));
    engine.notes.drain(..).for_each(|note| observer.note(&note));
    if bodies.len() > 1 {
        observer.note(&format!("{} of voxels that share no face", counted(bodies.len(), "part")));
    }
    // Before the first solve, so that a mistake in the last case is seen at once.
    let mut prepared: Vec<(Conditions, Vec<NodalForce>)> = Vec::new();
    for case in &setup.cases {
        if let Some(periodic) = periodic {
            prepared.push((periodic.surface(), Vec::new()));
            continue;
        }
        let conditions = conditions(mesh, setup, case, &bodies).map_err(refuse)?;
        let forces = conditions.free_forces();
        prepared.push((conditions, forces));
    }
    let mut warnings = periodic.map_or_else(Vec::new, Periodic::warnings);
    warnings.extend(unloaded(mesh, setup, &bodies, &prepared).filter(|_| periodic.is_none()));
    drop(bodies);

    let results = ResultFolder::take(folder);
    let mut summary = start_summary(model, threads);
    summary.warnings = warnings;
    let cube = Cube::new(setup.poisson);
    let bare = StaticProblem {
        bricks: mesh.bricks,
        moduli,
        poisson: setup.poisson,
        spacing: mesh.spacing,
        fixed: &[],
        forces: &[],
    };
    let (mut history, mut columns, mut works) =
        (String::from("case,iteration,relative_residual\n"), Vec::new(), Vec::new());
    for (index, (case, (conditions, forces))) in setup.cases.iter().zip(&prepared).enumerate() {
        if index > 0 && interrupts.stop_requested() && summary.status == VoxelStatus::Completed {
            let done = format!("stopped after {} of {}", index, counted(setup.cases.len(), "load case"));
            (summary.status, summary.message) = (VoxelStatus::Interrupted, Some(done));
        }
        if summary.status == VoxelStatus::Interrupted {
            break;
        }
        let mut start = start_vector(model, case, n_nodes)?;
        let mut mean = periodic.map(|periodic| periodic.mean(mesh, setup, case));
        let (mut fixed, mut case_forces) = (&conditions.fixed, Vec::new());
        if let (Some(periodic), Some(mean)) = (periodic, &mean) {
            fixed = &periodic.fixed;
            case_forces = periodic.forces(mesh, &moduli, &cube, mean);
            start = start.map(|start| periodic.fluctuation(&start, mean));
        }
        let forces = if periodic.is_some() { &case_forces } else { forces };
        let problem = StaticProblem { fixed, ..bare };
        beyond_numbers(&problem, forces)
            .map_or(Ok(()), |reason| Err(SolveError::Problem { path: path.clone(), reason }))?;
        let mut last_line = Instant::now();
        let mut progress = |iteration: usize, residual: f64| {
            if last_line.elapsed() >= LOG_INTERVAL {
                observer.note(&format!("iteration {iteration}, relative residual {residual:.1e}"));
                last_line = Instant::now();
            }
            if interrupts.stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut solved = engine
            .solve(&problem, forces, start.as_deref(), &mut progress)
            .map_err(|reason| SolveError::Problem { path: path.clone(), reason })?;
        engine.notes.drain(..).for_each(|note| observer.note(&note));
        drop(start);
        if let (Some(periodic), Some(mut mean)) = (periodic, mean.take()) {
            periodic.add(&solved.displacement, &mut mean);
            solved.displacement = mean;
        }
        if index + 1 == setup.cases.len() {
            engine.release();
        }
        for (iteration, residual) in solved.history.iter().enumerate() {
            history += &format!("{},{},{residual:e}\n", case.name, iteration + 1);
        }
        observer.note(&outcome_line(case, &solved));
        let solution = Solution { mesh, moduli, cube: &cube, displacement: &solved.displacement };
        let mut reactions = solution.reactions(conditions);
        let factor = scale(mesh, setup, case, &reactions);
        if let Some(factor) = factor {
            solved.displacement.iter_mut().for_each(|u| *u *= factor);
            reactions.forces.iter_mut().flatten().for_each(|f| *f *= factor);
        }
        let solution = Solution { mesh, moduli, cube: &cube, displacement: &solved.displacement };
        if matches!(setup.analysis, Analysis::Tensor(_)) {
            columns.push(mean_stress(mesh, setup, &reactions, conditions));
            works.push(prepared.iter().map(|(other, _)| work(other, &solved.displacement)).collect::<Vec<f64>>());
        }
        let mut found = summarise(&solution, setup, case, conditions, &reactions);
        found.scale = factor.unwrap_or(1.0);
        take_over(&mut found, &solved);
        if !solved.converged && interrupts.stop_requested() {
            let done = "stopped while iterating; go on with --start and the output folder";
            (summary.status, summary.message) = (VoxelStatus::Interrupted, Some(done.into()));
        } else if !solved.converged {
            summary.status = VoxelStatus::NotConverged;
            summary.message = Some(format!(
                "{}no convergence: relative residual {:.2e} after {}, {:.0e} was asked for; see residual.csv",
                if case.name.is_empty() { String::new() } else { format!("case {}: ", case.name) },
                solved.relative_residual,
                counted(solved.iterations, "iteration"),
                setup.solver.tolerance
            ));
        }
        write_case(model, settings, folder, case, &solution, index == 0, &mut summary)?;
        summary.cases.push(found);
    }
    if summary.cases.len() == setup.cases.len()
        && let Analysis::Tensor(boundary) = setup.analysis
    {
        summary.tensor = apparent_tensor(model, boundary, &columns, &works);
        if summary.tensor.is_none() {
            summary.warnings.push("the six cases do not give a regular stiffness tensor".into());
        }
    }
    (summary.grid, summary.domains) = match engine.grid {
        Grid::Bricks => ("brick", 1),
        Grid::Offset(_) => ("offset", 1),
        Grid::Hash(_) => ("hash", 1),
        Grid::Domains(domains) => ("domains", domains.n_domains() as u64),
        Grid::Joined(_) => ("periodic", 1),
    };
    summary.device = engine.device_name.clone();
    summary.device_bytes = engine.device_bytes;
    summary.device_bytes_per_dof = engine.device_bytes.map(|bytes| bytes as f64 / summary.dof.max(1) as f64);
    write_atomically(&folder.join("residual.csv"), |out| std::io::Write::write_all(out, history.as_bytes()))?;
    summary.files.push("residual.csv".into());
    finish(&mut summary, began);
    let summary_path = results.settle(&mut summary.files, |_| false);
    summary::write(&summary, &summary_path)?;
    observer.note(&last_line(&summary));
    Ok(summary)
}

/// What to say of loads that do nothing: they are 0, or no part of the sample leads from the moving face to the other.
fn unloaded(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    bodies: &Bodies,
    prepared: &[(Conditions, Vec<NodalForce>)],
) -> Option<String> {
    let scaled_to_nothing = |case: &LoadCase| {
        case.scale_to.as_ref().is_some_and(|target| magnitude(&setup.magnitudes, Some(target.magnitude)) == 0.0)
    };
    let is_loaded = |(conditions, _): &(Conditions, Vec<NodalForce>)| {
        conditions.fixed.iter().any(|fixed| fixed.value != 0.0) || conditions.forces.iter().any(|f| f.value != 0.0)
    };
    if !prepared.iter().any(is_loaded) || setup.cases.iter().all(scaled_to_nothing) {
        return Some("all displacements and forces that are prescribed are 0: nothing moves".into());
    }
    let moves = |(conditions, free): &(Conditions, Vec<NodalForce>)| {
        conditions.fixed.iter().any(|fixed| fixed.value != 0.0) || free.iter().any(|force| force.value != 0.0)
    };
    if !prepared.iter().any(moves) {
        return Some("all forces stand where the sample is held: nothing moves".into());
    }
    let axis = match setup.analysis {
        Analysis::Uniaxial { axis, .. }
        | Analysis::Shear { axis, .. }
        | Analysis::Bending { axis, .. }
        | Analysis::Torsion { axis } => usize::from(axis),
        Analysis::Own | Analysis::Tensor(_) => return None,
    };
    if bodies.len() == 1 {
        return None;
    }
    let [low, high] = [false, true].map(|upper| side(mesh, setup, axis, upper));
    let name = ["x", "y", "z"][axis];
    (!bodies.join_nodes(&low, &high)).then(|| {
        format!("no part of the sample leads from {name}min to {name}max: what is apparent is of a sample in pieces")
    })
}

fn first_bad_modulus(moduli: &Moduli<'_>) -> Option<u32> {
    let good = |young: f64| young > 0.0 && young.is_finite();
    match *moduli {
        Moduli::Each { modulus, scale } => modulus.iter().position(|&e| !good(f64::from(e) * scale)),
        Moduli::Classes { class, young } => {
            class.iter().position(|&class| !young.get(usize::from(class)).is_some_and(|&young| good(young)))
        }
    }
    .map(|element| element as u32)
}

/// Forces whose squares, or which in single precision, are no numbers any more: the residual would be that of nothing.
fn beyond_numbers(problem: &StaticProblem<'_>, forces: &[NodalForce]) -> Option<String> {
    let young = match problem.moduli {
        Moduli::Each { modulus, scale } => scale * f64::from(modulus.iter().copied().fold(0.0, f32::max)),
        Moduli::Classes { young, .. } => young.iter().copied().fold(0.0, f64::max),
    };
    let stiffness = young * problem.spacing;
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
    let moved = largest(&mut problem.fixed.iter().map(|fixed| fixed.value));
    let force = (stiffness * moved).max(largest(&mut forces.iter().map(|force| force.value)));
    let bad = |size: f64| !(1e-30..=1e30).contains(&size);
    let what = if bad(stiffness) {
        format!("a stiffness (modulus times edge) of {stiffness:.0e}")
    } else if force > 0.0 && bad(force) {
        format!("a force (or modulus times edge times displacement) of {force:.0e}")
    } else if moved > 0.0 && force == 0.0 {
        format!("a displacement of {moved:.0e}")
    } else {
        return None;
    };
    Some(format!("{what} is beyond what is computed with, 1e-30 to 1e30: choose other units"))
}

fn start_summary(model: &VoxelModel<'_>, threads: usize) -> VoxelSummary {
    let VoxelModel { mesh, setup, .. } = model;
    let box_voxels: f64 = extents(setup, 1.0).iter().product();
    VoxelSummary {
        physics: "static",
        version: pogo_formats::VERSION.into(),
        title: setup.title.clone(),
        case: model.case.clone(),
        block_file: model.block_file.clone(),
        overrides: model.overrides.clone(),
        unit: setup.unit.clone(),
        dof: 3 * mesh.bricks.n_nodes() as u64,
        nodes: mesh.bricks.n_nodes() as u64,
        elements: mesh.bricks.n_elements() as u64,
        spacing: mesh.spacing,
        solid_fraction: mesh.bricks.n_elements() as f64 / box_voxels,
        device: "cpu".into(),
        threads: threads as u32,
        tolerance: setup.solver.tolerance,
        ..VoxelSummary::default()
    }
}

/// `stem.extension`, or `stem-CASE.extension` where there are several cases.
fn file_name(stem: &str, case: &LoadCase, extension: &str) -> String {
    if case.name.is_empty() { format!("{stem}.{extension}") } else { format!("{stem}-{}.{extension}", case.name) }
}

fn start_vector(model: &VoxelModel<'_>, case: &LoadCase, n_nodes: usize) -> Result<Option<Vec<f64>>, SolveError> {
    let Some(path) = &model.start else { return Ok(None) };
    let mut file = path.clone();
    if path.is_dir() {
        let of = |case| path.join(file_name("displacement", case, "npy"));
        file = of(case);
        // A run that was stopped has no answer to its last cases yet.
        if !file.exists() && model.setup.cases.iter().any(|case| of(case).exists()) {
            return Ok(None);
        }
    }
    Ok(Some(npy::read_rows(&file, n_nodes)?))
}

fn outcome_line(case: &LoadCase, solved: &Solved) -> String {
    format!(
        "{}{} in {:.2} s (set-up {:.2} s), {:.0} products, relative residual {:.2e}",
        if case.name.is_empty() { String::new() } else { format!("case {}: ", case.name) },
        counted(solved.iterations, "iteration"),
        solved.seconds,
        solved.setup_seconds,
        solved.products,
        solved.relative_residual
    )
}

fn take_over(found: &mut CaseSummary, solved: &Solved) {
    found.converged = solved.converged;
    found.iterations = solved.iterations as u64;
    found.relative_residual = solved.relative_residual;
    found.products = solved.products;
    found.solve_seconds = solved.seconds;
    found.setup_seconds = solved.setup_seconds;
}

/// Files of one case.
fn write_case(
    model: &VoxelModel<'_>,
    settings: &Settings,
    folder: &Path,
    case: &LoadCase,
    solution: &Solution<'_>,
    first: bool,
    summary: &mut VoxelSummary,
) -> Result<(), SolveError> {
    let (mesh, output) = (&model.mesh, &model.setup.output);
    if output.displacement {
        let n = mesh.bricks.n_nodes();
        if first {
            let positions = (0..mesh.bricks.n_bricks()).flat_map(|brick| mesh.bricks.node_positions(brick));
            npy::write_rows(&folder.join("nodes.npy"), n, positions)?;
            summary.files.push("nodes.npy".into());
        }
        let name = file_name("displacement", case, "npy");
        let rows = solution.displacement.chunks_exact(3).map(|u| [u[0], u[1], u[2]]);
        npy::write_rows(&folder.join(&name), n, rows)?;
        summary.files.push(name);
    }
    if settings.fields && !output.fields.is_empty() {
        let extension = match settings.field_format {
            FieldFormat::Vtu => "vti",
            FieldFormat::VtkHdf => "vtkhdf",
        };
        let name = file_name("fields", case, extension);
        fields::write(&folder.join(&name), settings.field_format, solution, &output.fields)?;
        summary.files.push(name);
    }
    if settings.plot {
        let name = file_name("slice", case, "png");
        if picture::slice(&folder.join(&name), solution, &model.setup)? {
            summary.files.push(name);
        } else {
            summary.warnings.push("the slice to draw cuts no voxel; choose another with output.slice_at".into());
        }
    }
    Ok(())
}

/// Mean stress over the box, 1/V Σ sym(f ⊗ x) over all boundary forces.
fn mean_stress(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    reactions: &Reactions,
    conditions: &Conditions,
) -> [f64; 6] {
    let volume: f64 = extents(setup, mesh.spacing).iter().product();
    let mut moment = [[0.0; 3]; 3];
    // From the centre: the forces balance only to the tolerance, which a specimen far from the origin would multiply.
    let centre = centre(mesh, setup);
    let mut add = |node: u32, force: [f64; 3]| {
        let at = coordinates(mesh, node);
        let x: [f64; 3] = std::array::from_fn(|k| at[k] - centre[k]);
        (0..9).for_each(|at| moment[at / 3][at % 3] += force[at / 3] * x[at % 3]);
    };
    reactions.nodes.iter().zip(&reactions.forces).for_each(|(&node, &force)| add(node, force));
    for force in &conditions.forces {
        add(force.node, std::array::from_fn(|d| if d == usize::from(force.direction) { force.value } else { 0.0 }));
    }
    [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)].map(|(i, j)| 0.5 * (moment[i][j] + moment[j][i]) / volume)
}

/// f · u.
fn work(conditions: &Conditions, displacement: &[f64]) -> f64 {
    let along = |force: &NodalForce| force.value * displacement[3 * force.node as usize + usize::from(force.direction)];
    conditions.forces.iter().map(along).sum()
}

/// C from six solved cases.
fn apparent_tensor(
    model: &VoxelModel<'_>,
    boundary: TensorBoundary,
    stresses: &[[f64; 6]],
    works: &[Vec<f64>],
) -> Option<Tensor> {
    let setup = &model.setup;
    let size = magnitude(&setup.magnitudes, Some(0));
    if stresses.len() != 6 {
        return None;
    }
    if boundary != TensorBoundary::Static {
        let stiffness: Matrix6 = std::array::from_fn(|i| std::array::from_fn(|case| stresses[case][i] / size));
        return tensor(stiffness, if boundary == TensorBoundary::Periodic { "periodic" } else { "kinematic" });
    }
    let volume: f64 = extents(setup, model.mesh.spacing).iter().product();
    // Row a is σ̄ of case a: works / V = Σ S Σᵀ.
    let sigma: Matrix6 = std::array::from_fn(|a| stresses[a]);
    let both: Matrix6 = std::array::from_fn(|a| std::array::from_fn(|b| works[b][a] / volume));
    let left = dense::inverse(sigma)?;
    let compliance = dense::product(&dense::product(&left, &both), &dense::transposed(&left));
    tensor(dense::inverse(compliance)?, "static")
}

fn finish(summary: &mut VoxelSummary, began: Instant) {
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
    summary.bytes_per_dof = summary.peak_memory_bytes.map(|bytes| bytes as f64 / summary.dof.max(1) as f64);
    summary.total_seconds = began.elapsed().as_secs_f64();
}

fn last_line(summary: &VoxelSummary) -> String {
    let status = match summary.status {
        VoxelStatus::Completed => "done".to_owned(),
        VoxelStatus::Interrupted | VoxelStatus::NotConverged => summary.message.clone().unwrap_or_default(),
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
