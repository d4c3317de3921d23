//! Models for benchmarks: the three of the paper (Huthwaite 2014, Section 4) and boxes, at any element size; voxel stacks of
//! noise or mirrored ones; a ventricle.
//!
//! Each model is a [`Model`](pogo_formats::explicit::Model) that is written as an Abaqus deck; stacks are written layer by
//! layer. The same options give the same bits.

mod assemble;
mod command;
mod cuboid;
pub(crate) mod deck;
mod gear;
mod geophysics;
mod lattice;
mod mirror;
mod outline;
mod perlin;
mod quality;
mod stack;
mod triangles;
mod ventricle;
mod weld;

pub use command::{Generated, Generator};
pub use gear::gear;
pub use geophysics::geophysics;
pub use weld::weld;

/// Why a model could not be made or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum GenerateError {
    #[error(
        "error: element size {size:e} m is not possible for {model}: at this --scale choose {smallest:.1e} to {largest:.1e} m"
    )]
    Size { model: &'static str, size: f64, smallest: f64, largest: f64 },
    #[error("error: element size {0} m would give more than 500 million nodes: use a larger --size")]
    TooManyNodes(f64),
    #[error("error: the outline cannot be meshed: {0}")]
    Outline(String),
    #[error("error: {0}")]
    Option(String),
    #[error(transparent)]
    Image(#[from] pogo_formats::read::image::ImageError),
    #[error(transparent)]
    Write(#[from] pogo_formats::write::OutputError),
}

/// Refuses an option: what it is, and what it must be.
fn refuse<T>(what: impl Into<String>) -> Result<T, GenerateError> {
    Err(GenerateError::Option(what.into()))
}

/// Numbers along x, y and z, or one number for all three.
fn one_or_three(option: &str, numbers: &[usize]) -> Result<[usize; 3], GenerateError> {
    match *numbers {
        [n] => Ok([n; 3]),
        [x, y, z] => Ok([x, y, z]),
        _ => refuse(format!("{option} takes one number or three")),
    }
}

/// What the paper's models can be varied in; the default is the paper.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct ModelOptions {
    /// Element side length, m [default: the paper's].
    #[arg(long, value_name = "METRES")]
    pub size: Option<f64>,
    /// Factor on all lengths of the geometry.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Centre frequency of the tone burst, Hz (weld, gear).
    #[arg(long, value_name = "HZ")]
    pub frequency: Option<f64>,
    /// Cycles of the tone burst (weld, gear).
    #[arg(long, value_name = "N")]
    pub cycles: Option<f64>,
    /// Length of the run, s.
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<f64>,
    /// Time increment, s [default: follows the element size in the paper's ratio].
    #[arg(long, value_name = "SECONDS")]
    pub increment: Option<f64>,
    /// Displacement fields to write over the run.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub fields: u32,
    /// Leave the weld's crack closed.
    #[arg(long)]
    pub no_crack: bool,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            size: None,
            scale: 1.0,
            frequency: None,
            cycles: None,
            time: None,
            increment: None,
            fields: 0,
            no_crack: false,
        }
    }
}

impl ModelOptions {
    /// The paper's model with elements of this size (m).
    pub fn with_size(size: f64) -> Self {
        Self { size: Some(size), ..Self::default() }
    }

    /// Three significant digits, rounded down so that it stays stable.
    fn increment_for(&self, size: f64, per_metre: f64) -> f64 {
        self.increment.unwrap_or_else(|| {
            let increment = size * per_metre;
            let unit = 10f64.powf((increment.log10() - 2.0).floor());
            assemble::short((increment / unit * (1.0 + 1e-12)).floor() * unit)
        })
    }

    /// Every number must be finite and positive.
    fn check(&self) -> Result<(), GenerateError> {
        let numbers = [
            ("--scale", Some(self.scale)),
            ("--frequency", self.frequency),
            ("--cycles", self.cycles),
            ("--time", self.time),
            ("--increment", self.increment),
        ];
        for (name, value) in numbers {
            if value.is_some_and(|value| !(value.is_finite() && value > 0.0)) {
                return refuse(format!("{name} must be a number above 0"));
            }
        }
        Ok(())
    }
}

/// Gives the size back if the geometry, scaled, can have it: not above `largest`, nor so far below the paper's that the
/// nodes (500 million) could not be numbered.
fn check_size(model: &'static str, options: &ModelOptions, default: f64, largest: f64) -> Result<f64, GenerateError> {
    options.check()?;
    if options.no_crack && model != "weld" {
        return refuse(format!("{model} has no crack: leave --no-crack out"));
    }
    let size = options.size.unwrap_or(default);
    let (smallest, largest) = (default * options.scale / 18.0, largest * options.scale);
    if (smallest..=largest).contains(&size) {
        Ok(size)
    } else {
        Err(GenerateError::Size { model, size, smallest, largest })
    }
}

#[cfg(test)]
mod tests;
