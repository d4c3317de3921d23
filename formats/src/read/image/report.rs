//! What reading a stack tells the user.

use std::fmt;

use serde::Serialize;

use crate::words::counted;

/// What was read, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    /// The stack as the user named it.
    pub file: String,
    pub format: &'static str,
    /// Voxels along x, y and z.
    pub stack_size: [usize; 3],
    /// Edges of a voxel, in `unit`.
    pub stack_spacing: [f64; 3],
    /// Type of the samples.
    pub sample: &'static str,
    /// Least and greatest native value (stored, or by the slope and intercept of the header) of the voxels that were read.
    pub values: Option<[f64; 2]>,
    pub unit: &'static str,
    /// Voxels of the model along x, y and z.
    pub size: [usize; 3],
    /// Edge of a voxel of the model, in `unit`.
    pub spacing: f64,
    /// The material law.
    pub law: &'static str,
    pub solid: u64,
    pub void: u64,
    /// Voxels of each class; empty where each voxel has a modulus of its own.
    pub materials: Vec<MaterialCount>,
    /// Least and greatest modulus of a solid voxel.
    pub moduli: [f64; 2],
    /// What `keep = "largest"` left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// What `fill_cavities` filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filled: Option<Filled>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What is probably a mistake in the stack or its description; reported with the warnings about other inputs.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// A class of voxels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct MaterialCount {
    pub name: String,
    pub young: f64,
    pub voxels: u64,
}

/// Parts that are not connected to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Dropped {
    pub parts: u64,
    pub voxels: u64,
}

/// Cavities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Filled {
    pub cavities: u64,
    pub voxels: u64,
}

fn times(size: [usize; 3]) -> String {
    format!("{} × {} × {}", size[0], size[1], size[2])
}

impl fmt::Display for Report {
    /// A few lines for people; no line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |n: u64, what: &str| counted(n as usize, what);
        let [dx, dy, dz] = self.stack_spacing;
        let edge = if dx == dy && dy == dz { format!("{dx}") } else { format!("{dx} × {dy} × {dz}") };
        write!(
            f,
            "{}: {}, {} voxels of {edge} {}, {}",
            self.file,
            self.format,
            times(self.stack_size),
            self.unit,
            self.sample
        )?;
        if let Some([least, greatest]) = self.values {
            write!(f, ", values {least} to {greatest}")?;
        }
        if self.size != self.stack_size || [self.spacing; 3] != self.stack_spacing {
            write!(f, "\n  model of {} voxels of {} {}", times(self.size), self.spacing, self.unit)?;
        }
        let all = (self.solid + self.void) as f64;
        write!(f, "\n  {} solid voxels, {:.1} %", self.solid, 100.0 * self.solid as f64 / all)?;
        if self.materials.is_empty() || self.materials.len() > 16 {
            let [least, greatest] = self.moduli;
            write!(f, "; moduli {least} to {greatest} by law \"{}\"", self.law)?;
            if !self.materials.is_empty() {
                write!(f, " in {} classes", self.materials.len())?;
            }
        }
        if self.materials.len() <= 16 {
            for material in &self.materials {
                write!(f, "\n    {}: {} voxels, E = {}", material.name, material.voxels, material.young)?;
            }
        }
        if let Some(dropped) = self.dropped {
            let before = (self.solid - self.filled.map_or(0, |filled| filled.voxels) + dropped.voxels) as f64;
            let share = 100.0 * dropped.voxels as f64 / before;
            let (voxels, parts) = (n(dropped.voxels, "voxel"), n(dropped.parts, "loose part"));
            write!(f, "\n  left out {voxels} ({share:.3} %) in {parts}")?;
        }
        if let Some(filled) = self.filled {
            let cavities = if filled.cavities == 1 { "cavity" } else { "cavities" };
            write!(f, "\n  filled {} in {} {cavities}", n(filled.voxels, "voxel"), filled.cavities)?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}
