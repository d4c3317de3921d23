//! Pseudo-ECG of one set of starts, or of many.

use std::fmt::Write as _;

use pogo_formats::eikonal::ecg::{Ecg, Sampling};
use pogo_formats::eikonal::{EikonalMeshView, EikonalSetup, Symmetric, second};
use pogo_formats::write::npy::{self, Stored};
use pogo_formats::write::plot::{Panel, Series, traces_svg};
use pogo_formats::write::report;
use pogo_formats::write::write_atomically;
use pogo_kernels::eikonal::{Conductor, EikonalProblem, Samples, potentials};
use pogo_kernels::simd::Real;

use super::context::Context;
use super::histogram::finite_range;
use crate::error::SolveError;
use crate::report::columns;

/// An ECG that is asked for.
pub(super) struct Electric<'a> {
    ecg: &'a Ecg,
    electrodes: Vec<[f64; 3]>,
    conductivity: Vec<Symmetric>,
}

impl<'a> Electric<'a> {
    /// None where no ECG is asked for.
    ///
    /// # Errors
    /// An element without a direction that its conductivity needs.
    pub fn new(mesh: &EikonalMeshView, setup: &'a EikonalSetup, metric: &[Symmetric]) -> Result<Option<Self>, String> {
        let Some(ecg) = &setup.ecg else { return Ok(None) };
        let conductivity = ecg.conductivities(mesh, &setup.classes, metric).map_err(|error| {
            format!("ecg.conductivity of element {}: {}", mesh.element_labels[error.element], error.reason)
        })?;
        let electrodes = ecg.electrodes.iter().map(|electrode| electrode.position).collect();
        Ok(Some(Self { ecg, electrodes, conductivity }))
    }

    /// Electrodes and leads.
    pub fn n_channels(&self) -> usize {
        self.ecg.channels().count()
    }

    /// The samples of arrivals between two times.
    ///
    /// # Errors
    /// There would be none, or too many.
    pub fn samples(&self, range: [f64; 2]) -> Result<Samples, String> {
        let Sampling { step, .. } = self.ecg.sampling;
        let found = self.ecg.sampling.samples(&self.ecg.template, range);
        let found = found.map(|(from, n)| Samples { from, step, n });
        found.ok_or_else(|| "[ecg]: between `from` and `to` lie no samples, or too many: change them, or `step`".into())
    }

    /// The samples of many sets of starts, which share their times.
    ///
    /// # Errors
    /// The end is not known.
    pub fn samples_of_many(&self, first: f64) -> Result<Samples, String> {
        match self.ecg.sampling.to {
            Some(to) => self.samples([first, to]),
            None => Err("[ecg] needs `to` with --starts: all cases have the same samples".into()),
        }
    }

    /// Electrodes, then leads, (samples, channels).
    pub fn channels<T: Real>(&self, problem: &EikonalProblem, time: &[T], samples: &Samples) -> Vec<f64> {
        let Self { ecg, electrodes, conductivity } = self;
        let conductor = Conductor { electrodes, conductivity, torso: ecg.torso };
        let found = potentials(problem, &conductor, time, &ecg.template, samples);
        let mut rows = Vec::with_capacity(samples.n * self.n_channels());
        for row in found.chunks_exact(electrodes.len()) {
            let mean = |list: &[u32]| match list.len() {
                0 => 0.0,
                n => list.iter().map(|&electrode| row[electrode as usize]).sum::<f64>() / n as f64,
            };
            rows.extend_from_slice(row);
            rows.extend(ecg.leads.iter().map(|lead| mean(&lead.plus) - mean(&lead.minus)));
        }
        rows
    }
}

fn times(samples: &Samples) -> Vec<f64> {
    (0..samples.n).map(|at| samples.from + at as f64 * samples.step).collect()
}

/// Writes `ecg.csv` and `ecg.npz`, and with `--plot` `ecg.svg`; gives their names and a warning.
pub(super) fn write<T: Real>(context: &Context<'_>, time: &[T]) -> Result<(Vec<String>, Option<String>), SolveError> {
    let Some(electric) = &context.electric else { return Ok(Default::default()) };
    let (folder, setup) = (context.call.folder, context.setup);
    let finite: Vec<f64> = time.iter().map(|t| t.to_f64()).collect();
    let Some(range) = finite_range(&finite) else { return Ok(Default::default()) };
    drop(finite);
    let samples = electric.samples(range).map_err(|reason| context.call.refuse(reason))?;
    let values = electric.channels(&context.problem, time, &samples);
    let (times, names) = (times(&samples), electric.ecg.channels().collect::<Vec<_>>());
    let width = names.len();
    let mut text = format!("# units: time {}, potentials mV\ntime", setup.time_unit);
    names.iter().for_each(|name| text += &format!(",{}", crate::study::quote(name)));
    text.push('\n');
    for (time, row) in times.iter().zip(values.chunks_exact(width)) {
        let _ = write!(text, "{time:e}");
        row.iter().for_each(|value| _ = write!(text, ",{value:e}"));
        text.push('\n');
    }
    write_atomically(&folder.join("ecg.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
    if let Some(mut report) = context.call.report() {
        let mut curves = columns(&text, second(setup));
        curves.iter_mut().flat_map(|curve| &mut curve.y).for_each(|potential| *potential *= 1e-3);
        report.curves("Pseudo-ECG", "", &[report::Panel::over_time("potential", "V", curves)]);
    }
    let column = |at: usize| values.iter().skip(at).step_by(width).copied().collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..width).map(column).collect();
    let shape = [samples.n];
    let mut arrays = vec![("time", &shape[..], Stored::F64(&times))];
    arrays.extend(names.iter().zip(&columns).map(|(name, column)| (*name, &shape[..], Stored::F64(column))));
    npy::write_arrays(&folder.join("ecg.npz"), &arrays)?;
    let mut files = vec!["ecg.csv".to_owned(), "ecg.npz".to_owned()];
    if context.call.settings.plot {
        let title = if setup.title.is_empty() { "Pseudo-ECG" } else { &setup.title };
        plot(&folder.join("ecg.svg"), title, second(setup), &times, &names, &columns)?;
        files.push("ecg.svg".into());
    }
    let lost = names.iter().zip(&columns).find(|(_, column)| column.iter().any(|value| !value.is_finite()));
    let warning = lost
        .map(|(name, _)| format!("the potential of {name} is not finite: an electrode lies on an edge of a triangle"));
    Ok((files, warning))
}

/// One panel a channel, leads before electrodes.
fn plot(
    path: &std::path::Path,
    title: &str,
    second: f64,
    times: &[f64],
    names: &[&str],
    columns: &[Vec<f64>],
) -> Result<(), SolveError> {
    const MOST: usize = 12;
    let seconds: Vec<f64> = times.iter().map(|time| second * time).collect();
    // The last are the leads.
    let shown = names.iter().zip(columns).skip(names.len().saturating_sub(MOST));
    let panels: Vec<Panel<'_>> = shown
        .map(|(name, column)| Panel {
            label: (*name).to_owned(),
            unit: "V".into(),
            series: vec![Series {
                name: (*name).to_owned(),
                times: &seconds,
                values: column.iter().map(|value| 1e-3 * value).collect(),
            }],
        })
        .collect();
    let note = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!("{n} more in ecg.csv"),
    };
    Ok(traces_svg(path, title, &note, &panels)?)
}

/// Writes what all rows of `ecgs.npy` have in common: `ecg-times.npy` and `ecg-channels.csv`; gives the names of the files.
pub(super) fn write_axes(context: &Context<'_>, samples: &Samples) -> Result<Vec<String>, SolveError> {
    let Some(electric) = &context.electric else { return Ok(Vec::new()) };
    let folder = context.call.folder;
    npy::write_values(&folder.join("ecg-times.npy"), &[samples.n], times(samples).into_iter())?;
    let mut text = String::from("channel,name\n");
    for (at, name) in electric.ecg.channels().enumerate() {
        let _ = writeln!(text, "{at},{}", crate::study::quote(name));
    }
    write_atomically(&folder.join("ecg-channels.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
    Ok(vec!["ecgs.npy".into(), "ecg-times.npy".into(), "ecg-channels.csv".into()])
}
