//! What can be checked of a job without the mesh.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Amplitude, AmplitudeReference, Job, JobError, Located, Solver};

/// 1-based line of a byte offset.
pub(crate) fn line_of(text: &str, start: usize) -> usize {
    let start = start.min(text.len());
    1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count()
}

/// The TOML library's error as one of ours; its message is one or several lines, of which the first says what is wrong.
pub(crate) fn toml_error(text: &str, name: &str, error: &toml::de::Error) -> JobError {
    let start = error.span().map_or(0, |span| span.start);
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    JobError { file: name.to_owned(), line: line_of(text, start), message }
}

/// `nan`, `inf` and numbers that overflow are legal TOML, and no job means them.
pub(crate) fn numbers_are_finite(text: &str, name: &str) -> Result<(), JobError> {
    fn find(value: &DeValue<'_>, start: usize) -> Option<usize> {
        match value {
            DeValue::Float(number) => {
                let finite = number.as_str().replace('_', "").parse::<f64>().is_ok_and(f64::is_finite);
                (!finite).then_some(start)
            }
            DeValue::Array(items) => items.iter().find_map(|item| find(item.get_ref(), item.span().start)),
            DeValue::Table(table) => table.iter().find_map(|(_, item)| find(item.get_ref(), item.span().start)),
            _ => None,
        }
    }
    let document = DeTable::parse(text).map_err(|error| toml_error(text, name, &error))?;
    match document.get_ref().iter().find_map(|(_, item)| find(item.get_ref(), item.span().start)) {
        Some(start) => {
            let message = "this number is not finite".to_owned();
            Err(JobError { file: name.to_owned(), line: line_of(text, start), message })
        }
        None => Ok(()),
    }
}

/// Reads the file of a tabular amplitude.
fn load(amplitude: &mut Amplitude, folder: &Path) -> Result<(), String> {
    let Some(file) = amplitude.file.take() else { return Ok(()) };
    if amplitude.times.is_some() || amplitude.values.is_some() {
        return Err("give `file`, or `times` and `values`, not both".to_owned());
    }
    let path = folder.join(&file);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read amplitude file {}: {error}", path.display()))?;
    let (mut times, mut values) = (Vec::new(), Vec::new());
    // Spreadsheets begin with a mark.
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        let is_heading = times.is_empty() && line.starts_with(|c: char| c.is_alphabetic() || c == '"');
        if line.is_empty() || line.starts_with('#') || is_heading {
            continue;
        }
        let fields = line.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|f| !f.is_empty());
        let numbers: Vec<_> = fields.map(|field| field.parse::<f64>().ok().filter(|x| x.is_finite())).collect();
        // A third field is a second signal, or comes of a decimal comma.
        let &[Some(time), Some(value)] = numbers.as_slice() else {
            let text = "expected a time and a value, two numbers with decimal points";
            return Err(format!("{}:{}: {text}", path.display(), number + 1));
        };
        times.push(time);
        values.push(value);
    }
    (amplitude.times, amplitude.values) = (Some(times), Some(values));
    Ok(())
}

/// Reads the file of an amplitude that is written where it is used.
pub(crate) fn load_file(amplitude: Option<&mut AmplitudeReference>, folder: &Path) -> Result<(), String> {
    match amplitude {
        Some(AmplitudeReference::Inline(amplitude)) => load(amplitude, folder),
        _ => Ok(()),
    }
}

/// Reads the files of tabular amplitudes, so that nothing later needs the job's folder.
pub(crate) fn load_files(job: &mut Job, folder: &Path) -> Result<(), JobError> {
    for item in &mut job.amplitudes {
        load(&mut item.value, folder).map_err(|message| item.place.error(message))?;
    }
    let sources = job.sources.iter_mut().map(|item| (&item.place, &mut item.value.amplitude));
    let boundaries = job.boundaries.iter_mut().map(|item| (&item.place, &mut item.value.amplitude));
    for (place, amplitude) in sources.chain(boundaries) {
        load_file(amplitude.as_mut(), folder).map_err(|message| place.error(message))?;
    }
    Ok(())
}

/// Checks every table, in the order of the reference.
pub(crate) fn job(job: &Job) -> Result<(), JobError> {
    if let Some(solver) = &job.solver {
        solver_keys(&solver.value).map_err(|message| solver.place.error(message))?;
    }
    each(&job.materials, |material| material.elasticity().map(|_| ()))?;
    each(&job.sections, |section| {
        match (&section.elset, section.all) {
            (Some(_), false) | (None, true) => {}
            _ => return Err("give `elset = \"…\"` or `all = true`".to_owned()),
        }
        for (name, value) in [
            ("thickness", section.thickness),
            ("hourglass_factor", section.hourglass_factor),
            ("mass_factor", section.mass_factor),
        ] {
            positive(name, value)?;
        }
        section.material_from_global().map(|_| ())
    })?;
    each(&job.amplitudes, |amplitude| {
        named(&amplitude.name)?;
        amplitude.shape().map(|_| ())
    })?;
    each(&job.sources, |source| {
        if let Some(name) = &source.name {
            named(name)?;
        }
        source.region()?;
        source.action()?;
        source.check_direction()?;
        inline(source.amplitude.as_ref())
    })?;
    each(&job.boundaries, |boundary| {
        boundary.region()?;
        inline(boundary.amplitude.as_ref())
    })?;
    each(&job.initial_velocities, |velocity| velocity.region().map(|_| ()))?;
    each(&job.monitors, |monitor| {
        if let Some(name) = &monitor.name {
            named(name)?;
        }
        monitor.region()?;
        match monitor.points {
            Some(_) if monitor.line.is_none() => return Err("`points` goes with `line`".to_owned()),
            Some(0 | 1 | 100_001..) => return Err("`points` must lie between 2 and 100000".to_owned()),
            _ => {}
        }
        monitor.when().map(|_| ())
    })?;
    each(&job.fields, |field| {
        if field.quantities.is_empty() {
            return Err("`quantities` is empty".to_owned());
        }
        field.when().map(|_| ())
    })?;
    each(&job.absorbing, |layer| {
        if let Some(name) = &layer.name {
            named(name)?;
        }
        positive("depth", Some(layer.depth))?;
        layer.law().map(|_| ())
    })?;
    unique("material", &job.materials, |item| Some(&item.name))?;
    unique("amplitude", &job.amplitudes, |item| Some(&item.name))?;
    unique("source", &job.sources, |item| item.name.as_deref())?;
    unique("monitor", &job.monitors, |item| item.name.as_deref())?;
    unique("absorbing", &job.absorbing, |item| item.name.as_deref())
}

pub(crate) fn each<T>(items: &[Located<T>], check: impl Fn(&T) -> Result<(), String>) -> Result<(), JobError> {
    items.iter().try_for_each(|item| check(&item.value).map_err(|message| item.place.error(message)))
}

pub(crate) fn unique<T>(table: &str, items: &[Located<T>], name: impl Fn(&T) -> Option<&str>) -> Result<(), JobError> {
    for (index, item) in items.iter().enumerate() {
        let Some(mine) = name(&item.value) else { continue };
        let same = |other: &&Located<T>| name(&other.value).is_some_and(|theirs| theirs.eq_ignore_ascii_case(mine));
        if let Some(earlier) = items[..index].iter().find(same) {
            let message = format!("{table} \"{mine}\" is there already, on line {}", earlier.place.line);
            return Err(item.place.error(message));
        }
    }
    Ok(())
}

fn named(name: &str) -> Result<(), String> {
    if name.trim().is_empty() { Err("`name` is missing".to_owned()) } else { Ok(()) }
}

fn inline(amplitude: Option<&AmplitudeReference>) -> Result<(), String> {
    match amplitude {
        Some(AmplitudeReference::Inline(amplitude)) => amplitude.shape().map(|_| ()),
        _ => Ok(()),
    }
}

/// `value`, where there is one, must be above 0.
pub(crate) fn positive(name: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if value <= 0.0 => Err(format!("`{name}` must be positive, not {value}")),
        _ => Ok(()),
    }
}

fn solver_keys(solver: &Solver) -> Result<(), String> {
    positive("time", solver.time)?;
    if let Some(super::IncrementValue::Seconds(increment)) = solver.increment {
        positive("increment", Some(increment))?;
        if solver.increment_factor.is_some() {
            return Err("`increment_factor` goes with `increment = \"automatic\"`".to_owned());
        }
    }
    match solver.increment_factor {
        Some(factor) if !(factor > 0.0 && factor <= 1.0) => {
            Err(format!("`increment_factor` must lie in (0, 1], not {factor}"))
        }
        _ => Ok(()),
    }
}
