//! Traces: `traces.csv` and `traces.npz`.
//!
//! Requests that are sampled at the same steps form a *group*. The first group is `traces.csv`, the n-th
//! `traces-<n>.csv`. One `traces.npz` holds all of them under the names of the columns, with `time` for the first group and
//! `time-<n>` for the n-th; a column that is in an earlier group already has `@<n>` behind its name there.
//!
//! Columns are named `SET.LABEL.U1`, and `SET.INSTANCE.LABEL.U1` where the model has instances; those of elements
//! `ELSET.LABEL.S11`, and those of weighted sums `SET.U2` or `SET.U`. The traces stay in memory until the end: 8 bytes a value, so 40,000 rows of 50 columns are 16 MB.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use super::npy::write_archive;
use super::{OutputError, write_atomically};
use crate::dynamics::{ElementHistoryRequest, HistoryRequest, OutputInterval};
use crate::mesh::{GroupView, NodeNames};
use crate::quantities::{ElementQuantity, NodalQuantity, Traced};

/// What a trace shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub enum TraceQuantity {
    /// At a node.
    Nodal(NodalQuantity),
    /// The mean over an element.
    Element(ElementQuantity),
}

/// A part of a weighted sum: weight × component of a node.
#[derive(Debug, Clone, Copy, PartialEq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct TraceTerm {
    /// Node index.
    pub node: u32,
    /// 0, 1 or 2.
    pub component: u8,
    pub weight: f64,
}

/// One trace: a component of a quantity, or a weighted sum of components of a nodal quantity.
#[derive(Debug, Clone, PartialEq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct TraceColumn {
    /// `SET.LABEL.U1` or `SET.INSTANCE.LABEL.U1`, of a sum `SET.U`; unique in its group.
    pub name: String,
    /// Node or element index, in the mesh's order as the request has it; `u32::MAX` of a sum.
    pub index: u32,
    pub quantity: TraceQuantity,
    /// 0, 1 or 2 of nodal quantities, 0 to 5 (11, 22, 33, 12, 13, 23) of tensors; 0 of a sum.
    pub component: u8,
    /// What is summed; empty for what is no sum.
    pub sum: Vec<TraceTerm>,
}

/// Traces that are sampled at the same times.
#[derive(Debug, Clone, PartialEq, Default, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct TraceGroup {
    pub columns: Vec<TraceColumn>,
    /// Times, s, (n_rows,).
    pub times: Vec<f64>,
    /// Values in SI units, (n_rows, n_columns), row-major.
    pub values: Vec<f64>,
}

/// All traces of a run.
#[derive(Debug, Clone, PartialEq, Default, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct Traces {
    /// One for each distinct sampling, in the order of the requests.
    pub groups: Vec<TraceGroup>,
}

impl TraceQuantity {
    const fn traced(self) -> Traced {
        match self {
            Self::Nodal(quantity) => quantity.traced(),
            Self::Element(quantity) => quantity.traced(),
        }
    }

    /// The name that Abaqus gives it, without the component.
    pub const fn symbol(self) -> &'static str {
        self.traced().symbol
    }

    /// SI unit.
    pub const fn unit(self) -> &'static str {
        self.traced().unit
    }

    /// Symbol and component: `U1`, `S12`, `MISES`.
    pub fn label(self, component: u8) -> String {
        let Traced { symbol, components, .. } = self.traced();
        format!("{symbol}{}", components.get(usize::from(component)).unwrap_or(&""))
    }
}

impl TraceGroup {
    /// Appends the row at a time; `row` has one value a column.
    ///
    /// A row of another length is cut or filled with NaN: an output must not stop a run.
    pub fn push(&mut self, time: f64, row: &[f64]) {
        let n = self.columns.len();
        self.times.push(time);
        self.values.extend(row.iter().copied().chain(std::iter::repeat(f64::NAN)).take(n));
    }

    /// Values of a column, one a row.
    pub fn column(&self, index: usize) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().skip(index).step_by(self.columns.len().max(1)).copied()
    }
}

impl Traces {
    /// Plans the columns of all requests. `sampling` resolves an interval to whatever tells samplings apart (the list of
    /// steps, or the interval itself); equal ones share a group. What several requests of a group name alike is there once.
    ///
    /// Requests refer to `nodes` and to the elements of `groups` by index; those that are not there are left out. Returns the
    /// groups, without rows, and the sampling of each.
    pub fn plan<K: PartialEq>(
        nodal: &[HistoryRequest],
        nodes: NodeNames<'_>,
        elemental: &[ElementHistoryRequest],
        groups: &[GroupView<'_>],
        sampling: impl Fn(&OutputInterval) -> K,
    ) -> (Self, Vec<K>) {
        let mut plan = Plan { groups: Vec::new(), names: Vec::new(), samplings: Vec::new() };
        for request in nodal {
            let group = plan.group(sampling(&request.interval));
            if !request.weights.is_empty() {
                plan.add_sum(group, request, nodes.labels.len());
                continue;
            }
            for &node in &request.nodes {
                let Some(&label) = nodes.labels.get(node as usize) else { continue };
                let instance = nodes.instance.get(node as usize).copied().unwrap_or_default();
                let stem = stem(&request.set, instance, label, nodes.instances);
                for &(quantity, component) in &request.variables {
                    plan.add(group, &stem, node, TraceQuantity::Nodal(quantity), component, Vec::new());
                }
            }
        }
        let firsts: Vec<usize> =
            groups.iter().scan(0, |next, group| Some(std::mem::replace(next, *next + group.labels.len()))).collect();
        for request in elemental {
            let group = plan.group(sampling(&request.interval));
            for &element in &request.elements {
                let Some(kind) = firsts.partition_point(|&first| first <= element as usize).checked_sub(1) else {
                    continue;
                };
                let at = element as usize - firsts[kind];
                let Some(&label) = groups[kind].labels.get(at) else { continue };
                let instance = groups[kind].instance.get(at).copied().unwrap_or_default();
                let stem = stem(&request.set, instance, label, nodes.instances);
                for &(quantity, component) in &request.variables {
                    plan.add(group, &stem, element, TraceQuantity::Element(quantity), component, Vec::new());
                }
            }
        }
        (Self { groups: plan.groups }, plan.samplings)
    }

    /// Writes `traces.csv` (with `traces-<n>.csv` for further groups) and `traces.npz` into a folder and returns the files'
    /// names. Without any group it writes nothing. `comments` become the first `#` lines of each CSV file: provenance.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Shape`] when a group has not one value a column and row.
    pub fn write(&self, folder: &Path, comments: &[String]) -> Result<Vec<String>, OutputError> {
        let mut files = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            let name = csv_name(index);
            group.write_csv(&folder.join(&name), comments)?;
            files.push(name);
        }
        if !self.groups.is_empty() {
            self.write_npz(&folder.join("traces.npz"))?;
            files.push("traces.npz".to_owned());
        }
        Ok(files)
    }

    /// Writes every column as a float64 array of a NumPy `.npz` archive (uncompressed, as `numpy.savez` does).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_npz(&self, path: &Path) -> Result<(), OutputError> {
        for group in &self.groups {
            group.check(path)?;
        }
        let mut keys: HashSet<String> = HashSet::new();
        write_archive(path, |archive| {
            for (index, group) in self.groups.iter().enumerate() {
                let time = if index == 0 { "time".to_owned() } else { format!("time-{}", index + 1) };
                write_npy(archive, &time, group.times.len(), group.times.iter().copied())?;
                keys.insert(time);
                for (column, TraceColumn { name, .. }) in group.columns.iter().enumerate() {
                    let mut key = name.clone();
                    while !keys.insert(key.clone()) {
                        key = format!("{key}@{}", index + 1);
                    }
                    write_npy(archive, &key, group.times.len(), group.column(column))?;
                }
            }
            Ok(())
        })
    }
}

impl TraceGroup {
    pub(super) fn check(&self, path: &Path) -> Result<(), OutputError> {
        let (rows, columns) = (self.times.len(), self.columns.len());
        if rows.checked_mul(columns) == Some(self.values.len()) {
            return Ok(());
        }
        let found = self.values.len();
        Err(OutputError::shape(path, format!("{rows} rows of {columns} traces do not have {found} values")))
    }

    /// Writes this group as CSV: `#` lines with provenance and units, the header `time,NAME,…`, then one row an output,
    /// every number in the fewest digits that give it back exactly.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Shape`] when there is not one value a column and row.
    pub fn write_csv(&self, path: &Path, comments: &[String]) -> Result<(), OutputError> {
        self.check(path)?;
        let columns = self.columns.len();
        write_atomically(path, |out| {
            write_comments(out, comments)?;
            write!(out, "# units: time s")?;
            let mut quantities: Vec<TraceQuantity> = self.columns.iter().map(|column| column.quantity).collect();
            quantities.sort_unstable();
            quantities.dedup();
            for quantity in quantities {
                write!(out, ", {} {}", quantity.symbol(), quantity.unit())?;
            }
            if self.columns.iter().any(|column| matches!(column.quantity, TraceQuantity::Element(_))) {
                write!(
                    out,
                    "\n# elements: mean over the integration points (by volume), global axes, shear strains E12 = 2 eps12"
                )?;
            }
            write!(out, "\ntime")?;
            for column in &self.columns {
                write!(out, ",{}", csv_field(&column.name))?;
            }
            writeln!(out)?;
            for (row, time) in self.times.iter().enumerate() {
                write!(out, "{time:?}")?;
                for value in &self.values[row * columns..(row + 1) * columns] {
                    write!(out, ",{value:?}")?;
                }
                writeln!(out)?;
            }
            Ok(())
        })
    }
}

fn csv_name(group: usize) -> String {
    if group == 0 { "traces.csv".to_owned() } else { format!("traces-{}.csv", group + 1) }
}

/// Groups while they are planned.
struct Plan<K> {
    groups: Vec<TraceGroup>,
    /// Index of each column of each group by its name.
    names: Vec<HashMap<String, usize>>,
    samplings: Vec<K>,
}

impl<K: PartialEq> Plan<K> {
    /// The group of this sampling.
    fn group(&mut self, sampling: K) -> usize {
        self.samplings.iter().position(|known| *known == sampling).unwrap_or_else(|| {
            self.samplings.push(sampling);
            self.groups.push(TraceGroup::default());
            self.names.push(HashMap::new());
            self.samplings.len() - 1
        })
    }

    /// Adds a column unless the same one is there; another node's or element's of that name gets a number behind it.
    fn add(
        &mut self,
        group: usize,
        stem: &str,
        index: u32,
        quantity: TraceQuantity,
        component: u8,
        sum: Vec<TraceTerm>,
    ) {
        let (columns, names) = (&mut self.groups[group].columns, &mut self.names[group]);
        let label = if sum.is_empty() { quantity.label(component) } else { label_of_sum(quantity, &sum) };
        let plain = format!("{stem}.{label}");
        let mut name = plain.clone();
        let mut number = 1;
        while let Some(&known) = names.get(&name) {
            if columns[known].index == index && columns[known].sum == sum {
                return;
            }
            number += 1;
            name = format!("{plain}#{number}");
        }
        names.insert(name.clone(), columns.len());
        columns.push(TraceColumn { name, index, quantity, component, sum });
    }

    /// Adds the sum that a request with weights asks for, over nodes that are there.
    fn add_sum(&mut self, group: usize, request: &HistoryRequest, n_nodes: usize) {
        let pairs =
            request.nodes.iter().flat_map(|&node| request.variables.iter().map(move |variable| (node, variable)));
        let is_there = |(node, weight): &(u32, f64)| (*node as usize) < n_nodes && *weight != 0.0;
        let terms = pairs.zip(&request.weights).filter(|((node, _), weight)| is_there(&(*node, **weight)));
        let term = |((node, &(_, component)), &weight): ((u32, &(NodalQuantity, u8)), &f64)| TraceTerm {
            node,
            component,
            weight,
        };
        let sum: Vec<TraceTerm> = terms.map(term).collect();
        if let (Some(&(quantity, _)), false) = (request.variables.first(), sum.is_empty()) {
            self.add(group, &printable(&request.set), u32::MAX, TraceQuantity::Nodal(quantity), 0, sum);
        }
    }
}

/// `U2` of a sum over one component, `U` of one over several.
fn label_of_sum(quantity: TraceQuantity, sum: &[TraceTerm]) -> String {
    let component = sum[0].component;
    let one = sum.iter().all(|term| term.component == component);
    if one { quantity.label(component) } else { quantity.symbol().to_owned() }
}

/// `SET.LABEL`, or `SET.INSTANCE.LABEL` in a named instance; a set that is named `INSTANCE.SET` because it is inside the
/// instance does not repeat it.
fn stem(set: &str, instance: u16, label: u32, instances: &[&str]) -> String {
    let stem = match instances.get(usize::from(instance)) {
        Some(instance) if !instance.is_empty() => {
            let inside = set.strip_prefix(instance).and_then(|rest| rest.strip_prefix('.'));
            format!("{}.{instance}.{label}", inside.unwrap_or(set))
        }
        _ => format!("{set}.{label}"),
    };
    printable(&stem)
}

/// The header is one line, whatever a quoted name contains.
fn printable(stem: &str) -> String {
    stem.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `#` lines; line breaks inside a comment start a new one.
pub(crate) fn write_comments(out: &mut impl Write, comments: &[String]) -> io::Result<()> {
    for line in comments.iter().flat_map(|comment| comment.lines()) {
        writeln!(out, "# {line}")?;
    }
    Ok(())
}

/// A field of a CSV line, quoted where RFC 4180 asks for it.
fn csv_field(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text.into() }
}

/// One `.npy` entry (format version 1.0) of little-endian float64.
fn write_npy<W: Write + io::Seek>(
    archive: &mut zip::ZipWriter<W>,
    key: &str,
    n: usize,
    values: impl Iterator<Item = f64>,
) -> io::Result<()> {
    super::npy::start_entry(archive, key, 8 * n as u64)?;
    super::npy::write_header(archive, "<f8", &[n])?;
    let mut buffer = Vec::with_capacity(1 << 16);
    for value in values {
        buffer.extend_from_slice(&value.to_le_bytes());
        if buffer.len() >= 1 << 16 {
            archive.write_all(&buffer)?;
            buffer.clear();
        }
    }
    archive.write_all(&buffer)
}

#[cfg(test)]
mod tests;
