//! Settings as text.

use std::time::Duration;

use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::Lumping;
use pogo_formats::parameters::DEFAULT_INCREMENT_FACTOR;

use super::{CheckpointInterval, DeviceChoice, Devices};

/// What a setting may be, of text that is something else.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[error("expected {0}")]
pub struct Expected(pub &'static str);

/// `row-sum`, `hrz` or `equal`.
///
/// # Errors
/// Any other word.
pub fn parse_lumping(text: &str) -> Result<Lumping, Expected> {
    match text {
        "row-sum" => Ok(Lumping::RowSum),
        "hrz" => Ok(Lumping::Hrz),
        "equal" => Ok(Lumping::Equal),
        _ => Err(Expected("row-sum, hrz or equal")),
    }
}

/// The word that `parse_lumping` reads.
pub const fn lumping_name(lumping: Lumping) -> &'static str {
    match lumping {
        Lumping::RowSum => "row-sum",
        Lumping::Hrz => "hrz",
        Lumping::Equal => "equal",
    }
}

/// A name that files begin with.
///
/// # Errors
/// Anything that is no name of a file in the folder of the results.
pub fn parse_base_name(text: &str) -> Result<String, Expected> {
    match text {
        "" | "." | ".." => Err(Expected("a name for files in the folder of the results")),
        _ if text.contains('/') => Err(Expected("a name without folders; the folder of the results is that of -o")),
        _ => Ok(text.to_owned()),
    }
}

/// A positive, finite number of seconds.
///
/// # Errors
/// Anything else.
pub fn parse_seconds(text: &str) -> Result<f64, Expected> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err(Expected("a positive number of seconds, such as 2e-8")),
    }
}

/// A relative residual.
///
/// # Errors
/// Anything that does not lie between 0 and 1.
pub fn parse_tolerance(text: &str) -> Result<f64, Expected> {
    match text.parse::<f64>() {
        Ok(tolerance) if tolerance > 0.0 && tolerance < 1.0 => Ok(tolerance),
        _ => Err(Expected("a number between 0 and 1, such as 1e-8")),
    }
}

/// `auto`, or seconds.
///
/// # Errors
/// Anything else.
pub fn parse_increment(text: &str) -> Result<Increment, Expected> {
    if text == "auto" {
        return Ok(Increment::Automatic { factor: DEFAULT_INCREMENT_FACTOR });
    }
    parse_seconds(text)
        .map(Increment::Fixed)
        .map_err(|_| Expected("auto, or a positive number of seconds such as 2e-8"))
}

/// `60`, `60s`, `10m`, `1h` of wall-clock time, or `5000steps`.
///
/// # Errors
/// Anything else.
pub fn parse_checkpoint_interval(text: &str) -> Result<CheckpointInterval, Expected> {
    let error = Expected("60, 60s, 10m or 1h of wall-clock time, or 5000steps");
    if let Some(steps) = text.strip_suffix("steps") {
        return match steps.trim().parse() {
            Ok(steps) if steps > 0 => Ok(CheckpointInterval::Steps(steps)),
            _ => Err(error),
        };
    }
    parse_wall_time(text).map(CheckpointInterval::Wall).map_err(|_| error)
}

/// `60`, `60s`, `10m` or `1h` of wall-clock time.
///
/// # Errors
/// Anything else.
pub fn parse_wall_time(text: &str) -> Result<Duration, Expected> {
    let error = Expected("60, 60s, 10m or 1h");
    let (number, unit) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3600.0),
        _ => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 => Duration::try_from_secs_f64(value * unit).map_err(|_| error),
        _ => Err(error),
    }
}

/// `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:all`, or a list.
///
/// # Errors
/// Any other word.
pub fn parse_devices(text: &str) -> Result<Devices, Expected> {
    let expected = Expected("auto, cpu, cuda, cuda:N, cuda:all, or a list such as cuda:0,1 or cpu,cpu");
    if text == "cuda:all" {
        return Ok(Devices::AllCuda);
    }
    let mut devices = Vec::new();
    for word in text.split(',') {
        let number = |text: &str| text.parse().ok().map(DeviceChoice::Cuda);
        // `cuda:0,1`: the kind stands before the first number.
        let after_cuda = matches!(devices.last(), Some(DeviceChoice::Cuda(_)));
        devices.push(match word {
            "cpu" => DeviceChoice::Cpu,
            "cuda" => DeviceChoice::Cuda(0),
            "auto" if text == "auto" => DeviceChoice::Auto,
            _ if after_cuda => number(word.strip_prefix("cuda:").unwrap_or(word)).ok_or(expected)?,
            _ => word.strip_prefix("cuda:").and_then(number).ok_or(expected)?,
        });
    }
    match devices[..] {
        [device] => Ok(Devices::One(device)),
        _ => Ok(Devices::Several(devices)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_or_refused_with_what_is_expected() {
        assert_eq!(parse_increment("auto"), Ok(Increment::Automatic { factor: DEFAULT_INCREMENT_FACTOR }));
        assert_eq!(parse_increment("2e-8"), Ok(Increment::Fixed(2e-8)));
        let [cpu, first, third] = [DeviceChoice::Cpu, DeviceChoice::Cuda(0), DeviceChoice::Cuda(2)];
        assert_eq!(parse_devices("auto"), Ok(Devices::default()));
        assert_eq!(parse_devices("cuda:2"), Ok(Devices::One(third)));
        assert_eq!(parse_devices("cuda:all"), Ok(Devices::AllCuda));
        assert_eq!(parse_devices("cuda:2,0"), Ok(Devices::Several(vec![third, first])));
        assert_eq!(parse_devices("cuda:0,cuda:2"), Ok(Devices::Several(vec![first, third])));
        assert_eq!(parse_devices("cpu,cpu"), Ok(Devices::Several(vec![cpu, cpu])));
        for bad in ["", "gpu", "cpu,", "0", "cpu,1", "auto,cpu", "cuda:-1", "cuda:0,all"] {
            assert!(parse_devices(bad).is_err(), "{bad}");
        }
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
}
