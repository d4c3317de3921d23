//! What a run is asked to do, checked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::{ExplicitSettings, Lumping};
use pogo_formats::parameters::DEFAULT_INCREMENT_FACTOR;
use pogo_formats::write::fields::FieldFormat;
use serde::{Deserialize, Serialize};

/// Floating-point format of the stepped arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Half the memory traffic; traces within about 1e-6 of `F64` (5e-4 for bodies that fly freely).
    F32,
    /// The default: a result never depends on rounding unless the user asks for speed.
    #[default]
    F64,
}

impl Precision {
    /// `f32` or `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DeviceChoice {
    /// The first CUDA device if it can be used and has the memory, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// This CUDA device, from 0.
    Cuda(u32),
}

/// `auto`, `cpu`, `cuda` or `cuda:N`.
///
/// # Errors
/// Any other word.
pub fn parse_device(text: &str) -> Result<DeviceChoice, SettingError> {
    let number = |text: &str| text.strip_prefix("cuda:")?.parse().ok();
    match text {
        "auto" => Ok(DeviceChoice::Auto),
        "cpu" => Ok(DeviceChoice::Cpu),
        "cuda" => Ok(DeviceChoice::Cuda(0)),
        _ => number(text)
            .map(DeviceChoice::Cuda)
            .ok_or_else(|| SettingError::new("device", format!("`{text}`"), "auto, cpu, cuda or cuda:N")),
    }
}

/// How the springs of a lattice are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AddressingChoice {
    /// By the grid where there is one and no springs are added, else by lists.
    #[default]
    Auto,
    /// By the grid.
    Implicit,
    /// By lists with ids of 16 bits.
    Explicit,
    /// By lists with ids of 32 bits.
    ExplicitGlobal,
}

/// When the state is written so that the run can go on from there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckpointInterval {
    /// Wall-clock time.
    Wall(Duration),
    /// Steps.
    Steps(u64),
}

/// Solver settings of one run. `None` leaves what the block file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Stepped arrays.
    pub precision: Precision,
    /// Where to compute.
    pub device: DeviceChoice,
    /// Threads; none means all cores.
    pub threads: Option<usize>,
    /// Mass lumping.
    pub lumping: Option<Lumping>,
    /// Length of the run, s.
    pub time: Option<f64>,
    /// Δt.
    pub increment: Option<Increment>,
    /// Step even if Δt is above the stable increment.
    pub allow_unstable: bool,
    /// Samples of the energy balance over the run; none chooses by the number of steps.
    pub energy_samples: Option<u32>,
    /// Write the field snapshots that the model asks for.
    pub fields: bool,
    /// Kind of files that fields go to.
    pub field_format: FieldFormat,
    /// Draw traces and snapshots.
    pub plot: bool,
    /// Write checkpoints.
    pub checkpoint: Option<CheckpointInterval>,
    /// Springs: how they are found.
    pub addressing: AddressingChoice,
    /// Springs: follow the work of forces and dampers.
    pub follow_work: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            device: DeviceChoice::default(),
            threads: None,
            lumping: None,
            time: None,
            increment: None,
            allow_unstable: false,
            energy_samples: None,
            fields: true,
            field_format: FieldFormat::default(),
            plot: false,
            checkpoint: None,
            addressing: AddressingChoice::default(),
            follow_work: true,
        }
    }
}

impl Settings {
    /// What the command line says of the model's own settings wins; an automatic increment keeps the model's factor.
    pub fn apply_to(&self, explicit: &mut ExplicitSettings) {
        if let Some(time) = self.time {
            explicit.time = time;
        }
        if let Some(lumping) = self.lumping {
            explicit.lumping = lumping;
        }
        match (self.increment, explicit.increment) {
            (None, _) | (Some(Increment::Automatic { .. }), Increment::Automatic { .. }) => {}
            (Some(increment), _) => explicit.increment = increment,
        }
    }
}

/// Where a run starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Start {
    /// At t = 0.
    #[default]
    Beginning,
    /// From a checkpoint; none means the one in the output folder.
    Checkpoint(Option<PathBuf>),
}

/// One call of the solver.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Block file.
    pub block_file: PathBuf,
    /// Output folder; none means `NAME.out` in the current folder for a block file `NAME.blk`.
    pub output: Option<PathBuf>,
    /// `NAME=VALUE`, in order.
    pub overrides: Vec<String>,
    /// Study file: several cases instead of one.
    pub study: Option<PathBuf>,
    /// Settings.
    pub settings: Settings,
    /// Where to start.
    pub start: Start,
    /// Voxel statics: displacements to start from, a `.npy` file or the output folder of an earlier run.
    pub start_vector: Option<PathBuf>,
    /// Eikonal: a table of many sets of starts, all run on the mapped mesh.
    pub starts: Option<PathBuf>,
}

impl Config {
    /// Folder that the results go to.
    pub fn output_folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| default_output(&self.block_file))
    }
}

/// `NAME.out` in the current folder.
fn default_output(block_file: &Path) -> PathBuf {
    let mut name = block_file.file_stem().unwrap_or_else(|| "pogo".as_ref()).to_os_string();
    name.push(".out");
    PathBuf::from(name)
}

/// A setting that means nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("error: {setting}: {found}; expected {expected}")]
pub struct SettingError {
    /// Which.
    pub setting: String,
    /// What was given.
    pub found: String,
    /// What may be given.
    pub expected: &'static str,
}

impl SettingError {
    fn new(setting: &str, found: impl Into<String>, expected: &'static str) -> Self {
        Self { setting: setting.into(), found: found.into(), expected }
    }
}

/// `row-sum`, `hrz` or `equal`.
///
/// # Errors
/// Any other word.
pub fn parse_lumping(text: &str) -> Result<Lumping, SettingError> {
    match text {
        "row-sum" => Ok(Lumping::RowSum),
        "hrz" => Ok(Lumping::Hrz),
        "equal" => Ok(Lumping::Equal),
        _ => Err(SettingError::new("lumping", format!("`{text}`"), "row-sum, hrz or equal")),
    }
}

/// The word that [`parse_lumping`] reads.
pub const fn lumping_name(lumping: Lumping) -> &'static str {
    match lumping {
        Lumping::RowSum => "row-sum",
        Lumping::Hrz => "hrz",
        Lumping::Equal => "equal",
    }
}

/// A positive, finite number of seconds.
///
/// # Errors
/// Anything else.
pub fn parse_seconds(setting: &str, text: &str) -> Result<f64, SettingError> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err(SettingError::new(setting, format!("`{text}`"), "a positive number of seconds, such as 2e-8")),
    }
}

/// `auto`, or seconds.
///
/// # Errors
/// Anything else.
pub fn parse_increment(text: &str) -> Result<Increment, SettingError> {
    if text == "auto" {
        return Ok(Increment::Automatic { factor: DEFAULT_INCREMENT_FACTOR });
    }
    parse_seconds("increment", text)
        .map(Increment::Fixed)
        .map_err(|error| SettingError { expected: "auto, or a positive number of seconds such as 2e-8", ..error })
}

/// `60`, `60s`, `10m`, `1h` of wall-clock time, or `5000steps`.
///
/// # Errors
/// Anything else.
pub fn parse_checkpoint_interval(text: &str) -> Result<CheckpointInterval, SettingError> {
    let error = || {
        SettingError::new(
            "checkpoint interval",
            format!("`{text}`"),
            "60, 60s, 10m or 1h of wall-clock time, or 5000steps",
        )
    };
    if let Some(steps) = text.strip_suffix("steps") {
        return match steps.trim().parse() {
            Ok(steps) if steps > 0 => Ok(CheckpointInterval::Steps(steps)),
            _ => Err(error()),
        };
    }
    let (number, unit) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3600.0),
        _ => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 => {
            Duration::try_from_secs_f64(value * unit).map(CheckpointInterval::Wall).map_err(|_| error())
        }
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_or_refused_with_what_is_expected() {
        assert_eq!(parse_increment("auto"), Ok(Increment::Automatic { factor: DEFAULT_INCREMENT_FACTOR }));
        assert_eq!(parse_increment("2e-8"), Ok(Increment::Fixed(2e-8)));
        for bad in ["0", "-1", "nan", "inf", "fast", ""] {
            assert!(parse_increment(bad).unwrap_err().to_string().contains("auto"), "{bad}");
        }
        assert_eq!(parse_checkpoint_interval("90"), Ok(CheckpointInterval::Wall(Duration::from_secs(90))));
        assert_eq!(parse_checkpoint_interval("1.5m"), Ok(CheckpointInterval::Wall(Duration::from_secs(90))));
        assert_eq!(parse_checkpoint_interval("500 steps"), Ok(CheckpointInterval::Steps(500)));
        for bad in ["0", "0steps", "-1s", "s", "1e300h", "é"] {
            assert!(parse_checkpoint_interval(bad).is_err(), "{bad}");
        }
        for lumping in [Lumping::RowSum, Lumping::Hrz, Lumping::Equal] {
            assert_eq!(parse_lumping(lumping_name(lumping)), Ok(lumping));
        }
    }

    #[test]
    fn results_go_beside_where_the_user_stands() {
        let config = Config { block_file: "models/weld.v2.blk".into(), ..Config::default() };
        assert_eq!(config.output_folder(), PathBuf::from("weld.v2.out"));
    }
}
