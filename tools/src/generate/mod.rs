//! Models for benchmarks: the three of the paper (Huthwaite 2014, Section 4) and boxes, at any element size; voxel stacks of
//! noise or mirrored ones; a ventricle.
//!
//! Each model is a [`Model`](pogo_formats::explicit::Model) that [`save`] writes as an Abaqus deck; stacks are written layer by
//! layer. The same options give the same bits.

mod assemble;
mod command;
mod cuboid;
mod deck;
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
pub enum GenerateError {
    /// An element size that the geometry cannot have.
    #[error(
        "error: element size {size:e} m is not possible for {model}: at this --scale choose {smallest:.1e} to {largest:.1e} m"
    )]
    Size {
        /// Name of the model.
        model: &'static str,
        /// Requested element size, m.
        size: f64,
        /// Smallest possible, m.
        smallest: f64,
        /// Largest possible, m.
        largest: f64,
    },
    /// More nodes than 32-bit indices can count.
    #[error("error: element size {size} m would give more than 500 million nodes: use a larger --size")]
    TooManyNodes {
        /// Requested element size, m.
        size: f64,
    },
    /// The outline cannot be meshed.
    #[error("error: the outline cannot be meshed: {what}")]
    Outline {
        /// What is wrong with it.
        what: String,
    },
    /// An option that makes no sense.
    #[error("error: {what}")]
    Option {
        /// The option, and what it must be.
        what: String,
    },
    /// The deck writer does not write this part of a model.
    #[error("error: decks with {what} are not written")]
    Unsupported {
        /// The part.
        what: &'static str,
    },
    /// A stack to mirror cannot be read.
    #[error(transparent)]
    Image(#[from] pogo_formats::read::image::ImageError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] pogo_formats::write::OutputError),
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
                return Err(GenerateError::Option { what: format!("{name} must be a number above 0") });
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
        return Err(GenerateError::Option { what: format!("{model} has no crack: leave --no-crack out") });
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
