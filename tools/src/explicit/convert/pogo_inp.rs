//! `.pogo-inp` files of P. Huthwaite's Pogo, version 1.07 to 1.15. docs/pogo-files.md says what lies where in time.

mod actions;
mod contents;
mod outputs;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use pogo_formats::explicit::Model;
use pogo_formats::write::write_atomically;

use super::sampled::Steps;
use super::{Findings, PogoVersion, Written};

/// Bytes of a real.
const PRECISION: i32 = 8;
/// "None" of unsigned numbers.
const NONE: u32 = u32::MAX;

/// Writes the file, unless there are problems.
pub(super) fn save(model: &Model, version: PogoVersion, path: &Path, findings: &mut Findings) -> Written {
    let steps = Steps::of(&model.setup, findings);
    contents::check(model, findings);
    let materials = contents::materials(model, findings);
    let Some(steps) = steps else { return Ok(()) };
    let (fixed, shots) = actions::shots(model, steps, findings);
    let outputs = outputs::Outputs::new(model, steps, findings);
    let largest_code = actions::code(model.mesh.n_nodes() as u32, 0);
    if !version.has(10) && largest_code > i32::MAX as u64 {
        findings.refuse(format!("version {version} cannot number that many nodes; write 1.10 or a later one"));
    }
    if !version.has(8) && outputs.has_groups() {
        findings.refuse(format!("version {version} has no weighted sums of displacements; write 1.08 or a later one"));
    }
    if !model.setup.impedances.is_empty() {
        findings.refuse("impedance boundaries and infinite elements, which such files cannot hold");
    }
    if !model.setup.linear.is_empty() {
        findings.refuse("linear constraints (*EQUATION, *TIE, …), which such files cannot hold");
    }
    if !version.has(15) && !model.setup.copied.is_empty() {
        findings.refuse(format!("version {version} has no periodic sides; write 1.15"));
    }
    if !findings.problems.is_empty() {
        return Ok(());
    }
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    write_atomically(path, |out| {
        let mut file = Out { out, version };
        file.header()?;
        if version.has(11) {
            file.section("metadata", |out| {
                // Before sections had sizes, the metadata had one: that of the number of values.
                if version.has(14) { out.integers(&[0]) } else { out.integers(&[4, 0]) }
            })?;
        }
        file.section("generalInfo", |out| contents::general_info(out, model, steps, &stem))?;
        file.section("nodes", |out| contents::nodes(out, &model.mesh))?;
        file.section("elements", |out| contents::elements(out, &model.mesh, &materials))?;
        file.section("pml", |out| out.integers(&[0, 0]))?;
        file.section("elTypes", |out| contents::element_types(out, &model.mesh))?;
        file.section("matTypes", |out| contents::material_types(out, &materials))?;
        file.section("orientations", |out| out.integers(&[0]))?;
        file.section("fixDof", |out| actions::fixed(out, &fixed))?;
        file.section("ties", |out| out.integers(&[0]))?;
        if version.has(8) {
            file.section("dofGroups", |out| outputs.dof_groups(out))?;
        }
        file.section("signals", |out| actions::write(out, &shots, steps))?;
        file.section("measurements", |out| outputs.measurements(out))?;
        file.section("fieldStores", |out| outputs.field_stores(out))?;
        if version.has(15) {
            file.section("mpi", |out| outputs::exchange(out, &model.setup.copied))?;
        }
        Ok(())
    })
}

/// The file while it is written.
struct Out<'a> {
    out: &'a mut BufWriter<File>,
    version: PogoVersion,
}

impl Out<'_> {
    fn header(&mut self) -> io::Result<()> {
        let PogoVersion(minor) = self.version;
        match self.version.has(12) {
            true => {
                self.text("%pogo-inp", 20)?;
                self.integers(&[1, minor.into()])
            }
            false => self.text(&format!("%pogo-inp{}", self.version), 20),
        }
    }

    /// A part of the file, with its name and its length from version 1.14 on.
    fn section(&mut self, name: &str, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if !self.version.has(14) {
            return write(self);
        }
        self.text(name, 40)?;
        self.integers(&[1])?;
        let length_at = self.out.stream_position()?;
        self.out.write_all(&[0; 8])?;
        write(self)?;
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(length_at))?;
        self.out.write_all(&(end - length_at - 8).to_le_bytes())?;
        self.out.seek(SeekFrom::Start(end))?;
        Ok(())
    }

    /// Text of `n` bytes with NULs behind it, cut if need be.
    fn text(&mut self, text: &str, n: usize) -> io::Result<()> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.truncate(n - 1);
        bytes.resize(n, 0);
        self.out.write_all(&bytes)
    }

    fn integers(&mut self, values: &[i32]) -> io::Result<()> {
        values.iter().try_for_each(|value| self.out.write_all(&value.to_le_bytes()))
    }

    fn unsigned(&mut self, value: u32) -> io::Result<()> {
        self.out.write_all(&value.to_le_bytes())
    }

    fn reals(&mut self, values: impl IntoIterator<Item = f64>) -> io::Result<()> {
        values.into_iter().try_for_each(|value| self.out.write_all(&value.to_le_bytes()))
    }

    /// A number of degrees of freedom: 8 bytes from version 1.10 on.
    fn long(&mut self, value: u64) -> io::Result<()> {
        if self.version.has(10) { self.out.write_all(&value.to_le_bytes()) } else { self.unsigned(value as u32) }
    }

    /// Degrees of freedom, which are no group of them.
    fn degrees_of_freedom(&mut self, codes: impl Iterator<Item = u64>) -> io::Result<()> {
        if self.version.has(8) {
            self.out.write_all(&[0])?;
        }
        self.codes(codes)
    }

    /// Groups of degrees of freedom.
    fn groups(&mut self, numbers: impl Iterator<Item = u64>) -> io::Result<()> {
        self.out.write_all(&[1])?;
        self.codes(numbers)
    }

    fn codes(&mut self, mut codes: impl Iterator<Item = u64>) -> io::Result<()> {
        codes.try_for_each(|code| self.long(code))
    }
}
