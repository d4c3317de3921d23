//! `[[electrode]]`, `[[lead]]` and `[ecg]`.

use serde::Deserialize;

use crate::eikonal::ecg::{self as model, Sampling, Template};
use crate::job::check::{in_range, named, positive};
use crate::job::{JobError, List, Located, Place};
use crate::parameters::Range;

/// `[[electrode]]`: a point at which the potential is found.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Electrode {
    /// Name; of the standard leads `RA`, `LA`, `LL` and `V1` to `V6`.
    pub name: String,
    /// Where it is, after `[mesh] scale`.
    pub position: [f64; 3],
}

/// `[[lead]]`: the mean potential of some electrodes less that of others.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// Name of its column.
    pub name: String,
    /// One electrode or several, by name.
    pub plus: List<String>,
    /// The same for what is subtracted; `["RA", "LA", "LL"]` is Wilson's central terminal.
    pub minus: Option<List<String>>,
}

/// `[ecg]`: the tissue, the torso, the action potential and the times of the samples.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Ecg {
    /// Conductivity inside the cells, S/m: of all directions, or along fibre, sheet and normal; with two numbers, along and
    /// across the fibre.
    pub conductivity: List<f64>,
    /// Conductivity of the torso, S/m; 0.2 when absent.
    pub torso: Option<f64>,
    /// Potential before the wave, mV; −85 when absent.
    pub rest: Option<f64>,
    /// Potential behind the upstroke, mV; 30 when absent.
    pub peak: Option<f64>,
    /// Width of the upstroke: its height over its steepest slope. 1 ms when absent.
    pub upstroke: Option<f64>,
    /// From the middle of the upstroke to that of the recovery; without it the tissue does not recover.
    pub duration: Option<f64>,
    /// Width of the recovery; a seventh of the duration when absent.
    pub recovery: Option<f64>,
    /// Time between samples; 1 ms when absent.
    pub step: Option<f64>,
    /// Time of the first sample; before the first upstroke when absent.
    pub from: Option<f64>,
    /// Time up to which there are samples; behind the last upstroke or recovery when absent.
    pub to: Option<f64>,
    /// The twelve standard leads of electrodes `RA`, `LA`, `LL`, `V1` … `V6`; without electrodes on the chest the six of the limbs.
    #[serde(default)]
    pub standard_leads: bool,
}

/// The arms and the leg, whose mean is Wilson's central terminal.
const LIMBS: [&str; 3] = ["RA", "LA", "LL"];
/// Name, plus and minus of the leads of the limbs: Einthoven's and Goldberger's.
const LIMB_LEADS: [(&str, &str, &[&str]); 6] = [
    ("I", "LA", &["RA"]),
    ("II", "LL", &["RA"]),
    ("III", "LL", &["LA"]),
    ("aVR", "RA", &["LA", "LL"]),
    ("aVL", "LA", &["RA", "LL"]),
    ("aVF", "LL", &["RA", "LA"]),
];
const CHEST: [&str; 6] = ["V1", "V2", "V3", "V4", "V5", "V6"];

/// The name of a column.
fn column(name: &str) -> Result<(), String> {
    if name.eq_ignore_ascii_case("time") {
        return Err("`name` must not be \"time\", which is the name of the first column".into());
    }
    named(Some(name))
}

impl Electrode {
    pub(super) fn check(&self) -> Result<(), String> {
        column(&self.name)
    }
}

impl Lead {
    pub(super) fn check(&self) -> Result<(), String> {
        column(&self.name)
    }
}

impl Ecg {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.conductivity.0.len() > 3 {
            return Err("`conductivity` has one number, or those along fibre, sheet and normal".into());
        }
        self.conductivity.0.iter().try_for_each(|&value| positive("conductivity", Some(value)))?;
        let times = [
            ("torso", self.torso),
            ("upstroke", self.upstroke),
            ("duration", self.duration),
            ("recovery", self.recovery),
            ("step", self.step),
        ];
        times.into_iter().try_for_each(|(name, value)| in_range(name, value, Range::Positive))?;
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err("`from` must not be later than `to`".into()),
            _ if self.recovery.is_some() && self.duration.is_none() => Err("`recovery` goes with `duration`".into()),
            _ => Ok(()),
        }
    }

    /// The conductivity along fibre, sheet and normal.
    pub(super) fn along_axes(&self) -> [f64; 3] {
        let given = &self.conductivity.0;
        let across = *given.get(1).unwrap_or(&given[0]);
        [given[0], across, *given.get(2).unwrap_or(&across)]
    }

    /// What the setup needs; `time_unit` is the job's.
    fn model(&self, time_unit: &str) -> Result<model::Ecg, String> {
        let one = |name: &str, value: Option<f64>| match value {
            Some(value) => Ok(value),
            None if time_unit == "ms" => Ok(1.0),
            None => Err(format!("give `{name}`: it is 1 ms when absent, and the unit of time is \"{time_unit}\"")),
        };
        Ok(model::Ecg {
            electrodes: Vec::new(),
            leads: Vec::new(),
            conductivity: self.along_axes(),
            torso: self.torso.unwrap_or(0.2),
            template: Template {
                rest: self.rest.unwrap_or(-85.0),
                peak: self.peak.unwrap_or(30.0),
                upstroke: one("upstroke", self.upstroke)?,
                duration: self.duration,
                recovery: self.recovery.or(self.duration.map(|duration| duration / 7.0)).unwrap_or(1.0),
            },
            sampling: Sampling { step: one("step", self.step)?, from: self.from, to: self.to },
        })
    }
}

/// Electrodes by their names.
struct Names<'a>(&'a [Located<Electrode>]);

impl Names<'_> {
    fn index(&self, name: &str) -> Option<u32> {
        self.0.iter().position(|item| item.value.name.eq_ignore_ascii_case(name)).map(|index| index as u32)
    }

    fn all<'n>(&self, names: impl IntoIterator<Item = &'n str>, place: &Place) -> Result<Vec<u32>, JobError> {
        let find = |name: &str| {
            let known: Vec<&str> = self.0.iter().map(|item| item.value.name.as_str()).collect();
            let wrong = || place.error(format!("there is no electrode \"{name}\" (electrodes: {})", known.join(", ")));
            self.index(name).ok_or_else(wrong)
        };
        names.into_iter().map(find).collect()
    }

    /// The leads that are standard, of the limbs and, if their electrodes are there, of the chest.
    fn standard(&self, place: &Place) -> Result<Vec<model::Lead>, JobError> {
        let mut leads = Vec::new();
        for (name, plus, minus) in LIMB_LEADS {
            let (plus, minus) = (self.all([plus], place)?, self.all(minus.iter().copied(), place)?);
            leads.push(model::Lead { name: name.into(), plus, minus });
        }
        for name in CHEST.into_iter().filter(|name| self.index(name).is_some()) {
            let minus = self.all(LIMBS, place)?;
            leads.push(model::Lead { name: format!("{name}-WCT"), plus: self.all([name], place)?, minus });
        }
        Ok(leads)
    }
}

/// The ECG that the tables of a job describe; none without any.
pub(super) fn ecg(
    table: Option<&Located<Ecg>>,
    electrodes: &[Located<Electrode>],
    leads: &[Located<Lead>],
    time_unit: &str,
) -> Result<Option<model::Ecg>, JobError> {
    let Some(Located { place, value }) = table else {
        let lone = electrodes.first().map(|item| &item.place).or_else(|| leads.first().map(|item| &item.place));
        let message = "electrodes and leads go with an [ecg] table, which needs the tissue's `conductivity`";
        return lone.map_or(Ok(None), |place| Err(place.error(message)));
    };
    if electrodes.is_empty() {
        return Err(place.error("an ECG needs [[electrode]] tables: name = \"V1\", position = [x, y, z]"));
    }
    let names = Names(electrodes);
    let mut found = value.model(time_unit).map_err(|message| place.error(message))?;
    let electrode =
        |item: &Located<Electrode>| model::Electrode { name: item.value.name.clone(), position: item.value.position };
    found.electrodes = electrodes.iter().map(electrode).collect();
    if value.standard_leads {
        found.leads = names.standard(place)?;
    }
    for Located { place, value: lead } in leads {
        let plus = names.all(lead.plus.0.iter().map(String::as_str), place)?;
        let minus = names.all(lead.minus.iter().flat_map(|list| &list.0).map(String::as_str), place)?;
        let taken = found.channels().any(|name| name.eq_ignore_ascii_case(&lead.name));
        if taken {
            return Err(place.error(format!("there is an electrode or a lead \"{}\" already", lead.name)));
        }
        found.leads.push(model::Lead { name: lead.name.clone(), plus, minus });
    }
    Ok(Some(found))
}
