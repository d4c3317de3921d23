use serde::Deserialize;

use crate::dynamics::shots::{ShotSource, is_folder_name};

/// `[[shot]]`: a run of its own in which only some of the sources act, such as one element of an array. A source that some
/// shot names acts in its shots alone; any other source or boundary condition acts in every shot.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Shot {
    /// Name of the folder of its results; `shot` and a number when absent.
    pub name: Option<String>,
    /// Names of sources, loads or boundary conditions that act.
    pub sources: Vec<String>,
    /// Multiplies each of them; 1 when absent.
    #[serde(default)]
    pub scales: Vec<f64>,
    /// Delay of each of them, s; 0 when absent.
    #[serde(default)]
    pub delays: Vec<f64>,
}

impl Shot {
    pub(crate) fn check(&self) -> Result<(), String> {
        let n = self.sources.len();
        if n == 0 {
            return Err("`sources` is empty".to_owned());
        }
        for (key, values) in [("scales", &self.scales), ("delays", &self.delays)] {
            if !values.is_empty() && values.len() != n {
                return Err(format!("{} `{key}` for {n} `sources`; give one each, or none", values.len()));
            }
        }
        match &self.name {
            Some(name) if !is_folder_name(name) => {
                Err(format!("`name` {name:?} cannot be a folder's name; choose another"))
            }
            _ => Ok(()),
        }
    }

    /// What acts in the shot.
    pub fn sources(&self) -> Vec<ShotSource> {
        let value = |values: &[f64], at: usize, absent: f64| values.get(at).copied().unwrap_or(absent);
        let source = |(at, name): (usize, &String)| ShotSource {
            name: name.clone(),
            scale: value(&self.scales, at, 1.0),
            delay: value(&self.delays, at, 0.0),
        };
        self.sources.iter().enumerate().map(source).collect()
    }
}
