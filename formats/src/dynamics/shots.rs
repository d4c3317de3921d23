//! Shots: runs over one mesh that differ in the sources that act.
//!
//! A source is a load or a constraint, or all those whose names begin with its name and a dot: `FIX.1` and `FIX.2` are
//! the source `FIX`. A source that some shot has acts in its shots alone; any other acts in every shot.

use std::collections::BTreeSet;
use std::path::Path;

use rkyv::{Archive, Deserialize, Serialize};

use super::{Amplitude, Boundary, Load};
use crate::read::CsvTable;
use crate::words::listed;

/// A run of its own over the mesh that it shares with others.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct Shot {
    /// Unique; its results are in a folder of this name.
    pub name: String,
    pub sources: Vec<ShotSource>,
}

/// A source of a shot.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct ShotSource {
    /// Of the load or the constraint, or of several; see the module.
    pub name: String,
    /// Multiplies its value.
    pub scale: f64,
    /// It acts so much later, s.
    pub delay: f64,
}

/// What acts on a model, to be reduced to one shot.
#[derive(Debug)]
pub struct Sources<'a> {
    /// Functions of time; delayed ones are added.
    pub amplitudes: &'a mut Vec<Amplitude>,
    /// Loads.
    pub loads: &'a mut Vec<Load>,
    /// Constraints.
    pub boundaries: &'a mut Vec<Boundary>,
}

/// Whether an item is, or belongs to, the source of this name.
pub(crate) fn belongs(item: &str, source: &str) -> bool {
    item.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Checks shots against the names of all loads and constraints.
///
/// # Errors
/// A source that does not exist, or that a shot has twice; a number that is not finite; a name that no folder can have, or
/// that two shots have.
pub fn check<'a>(shots: &[Shot], names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let names: Vec<&str> = names.collect();
    let mut taken = BTreeSet::new();
    for Shot { name, sources } in shots {
        if !is_folder_name(name) {
            return Err(format!("shot name {name:?} cannot be a folder's name; choose another"));
        }
        if !taken.insert(name.as_str()) {
            return Err(format!("two shots are named {name:?}; give each its own name"));
        }
        let mut items = BTreeSet::new();
        for source in sources {
            let ShotSource { name: of, scale, delay } = source;
            if !scale.is_finite() || !delay.is_finite() {
                return Err(format!("shot {name}: scale and delay of source {of} must be finite numbers"));
            }
            let before = items.len();
            for item in names.iter().filter(|item| belongs(item, of)) {
                if !items.insert(*item) {
                    return Err(format!("shot {name} has the source {item} twice; give it once"));
                }
            }
            if items.len() == before {
                return Err(format!("shot {name}: {}", no_source(of, &names)));
            }
        }
    }
    Ok(())
}

/// What is said of a source that no load and no constraint is.
fn no_source(of: &str, names: &[&str]) -> String {
    format!("there is no source {of}{}", listed(names.iter().copied()))
}

/// Whether a run's results can be in a folder of this name, beside the files of all runs.
pub fn is_folder_name(name: &str) -> bool {
    !(name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) || name.len() > 200)
}

impl Sources<'_> {
    /// Leaves what acts in one of these shots, with its scale and delay. The shots must have passed [`check`].
    ///
    /// # Errors
    /// A source that is to be delayed and has no function of time.
    pub fn reduce_to(&mut self, shots: &[Shot], shot: &Shot) -> Result<(), String> {
        let is_of_shots =
            |item: &str| shots.iter().flat_map(|shot| &shot.sources).any(|source| belongs(item, &source.name));
        let of_shot = |item: &str| shot.sources.iter().find(|source| belongs(item, &source.name));
        self.loads.retain(|load| of_shot(&load.name).is_some() || !is_of_shots(&load.name));
        self.boundaries.retain(|boundary| of_shot(&boundary.name).is_some() || !is_of_shots(&boundary.name));
        let loads = self.loads.iter_mut().map(|load| (&load.name, &mut load.magnitude, &mut load.amplitude));
        let boundaries = self.boundaries.iter_mut().map(|held| (&held.name, &mut held.value, &mut held.amplitude));
        for (name, value, amplitude) in loads.chain(boundaries) {
            let Some(&ShotSource { scale, delay, .. }) = of_shot(name) else { continue };
            let function = amplitude.and_then(|index| self.amplitudes.get(index as usize)).cloned();
            match function {
                None if delay != 0.0 => {
                    return Err(format!(
                        "shot {}: source {name} has no amplitude that a delay could shift; give it one",
                        shot.name
                    ));
                }
                Some(mut function) if delay != 0.0 || function.absolute && scale != 1.0 => {
                    function.name = format!("{} of {name} in shot {}", function.name, shot.name);
                    function.delay += delay;
                    if function.absolute {
                        function.scale *= scale;
                    }
                    *amplitude = Some(self.amplitudes.len() as u32);
                    self.amplitudes.push(function);
                }
                _ => {}
            }
            *value *= scale;
        }
        Ok(())
    }
}

/// Reads a table of shots: CSV with the columns `shot` and `source`, perhaps `scale` (1 when absent) and `delay` (s, 0 when
/// absent), and a row for each source of a shot. Rows of one shot need not follow one another. `names` are those of all loads
/// and constraints.
///
/// # Errors
/// `file:line: error: …`.
pub fn read_table(path: &Path, names: &[&str]) -> Result<Vec<Shot>, String> {
    let table = CsvTable::read(path, &["shot", "source", "scale", "delay"], ("shots", "shot,source,scale,delay"))?;
    let (Some(shot), Some(source)) = (table.column("shot"), table.column("source")) else {
        return Err(table.error(table.heading, "the columns must hold `shot` and `source`"));
    };
    let mut shots: Vec<Shot> = Vec::new();
    for (line, fields) in &table.rows {
        let number = |name: &str, default: f64| match table.column(name).map(|at| fields[at].as_str()) {
            None | Some("") => Ok(default),
            Some(field) => table.number(field).map_err(|message| table.error(*line, &message)),
        };
        let (shot, source) = (&fields[shot], fields[source].clone());
        if shot.is_empty() || source.is_empty() {
            return Err(table.error(*line, "a row needs a shot and a source"));
        }
        if !names.iter().any(|item| belongs(item, &source)) {
            return Err(table.error(*line, &no_source(&source, names)));
        }
        let taken = ShotSource { name: source, scale: number("scale", 1.0)?, delay: number("delay", 0.0)? };
        match shots.iter_mut().find(|known| known.name == *shot) {
            Some(known) => known.sources.push(taken),
            None => shots.push(Shot { name: shot.clone(), sources: vec![taken] }),
        }
    }
    Ok(shots)
}
