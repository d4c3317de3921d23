//! `[[material]]` and `[[springs]]`.

use serde::Deserialize;

use crate::job::List;
use crate::job::check::{at_most_one, given, in_range, named, positive};
use crate::parameters::Range;
use crate::spring::{SpringGroup, SpringGroupKind, SpringMaterial};

/// `[[material]]`: what particles weigh and, of a lattice, the springs between them.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MaterialTable {
    /// Name, for changes by name; in a lattice also the name of the set of its particles.
    pub name: String,
    /// Mass of each particle. Give this or `density`.
    pub mass: Option<f64>,
    /// Mass a volume: of a voxel, or of a particle's share of the elements of a deck.
    pub density: Option<f64>,
    /// Of a stack: value of its voxels, or a list of values. Voxels with other labels are no particles.
    pub label: Option<List<f64>>,
    /// Of a stack: its voxels have at least this value (and less than the next material's). Without `label` and `threshold`:
    /// all voxels above 0.
    pub threshold: Option<f64>,
    /// Of a deck: the nodes of this set; of several materials the later one holds. Without `nset` and `elset`: all nodes.
    pub nset: Option<String>,
    /// Of a deck: the nodes of the elements of this set.
    pub elset: Option<String>,
    /// Of a lattice, k: `{ axis = …, face = …, space = … }`; a group that is left out has no springs. A number alone is for
    /// axes and face diagonals (the paper's 18 neighbours).
    pub stiffness: Option<PerGroup>,
    /// Of a lattice, c; a number alone is for all springs; 0 when absent.
    pub damping: Option<PerGroup>,
    /// Of a lattice: springs break beyond this extension over their length; never when absent.
    pub max_strain: Option<PerGroup>,
    /// Of a lattice: length without force over the distance at rest; 1 when absent.
    pub rest_factor: Option<PerGroup>,
}

/// `[[springs]]`: springs of a deck, along the edges of elements and two-node elements; or, in any model, springs that `[[add]]` adds.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SpringsTable {
    /// Name, for changes by name.
    pub name: String,
    /// The edges of the elements of this set, and its two-node elements; of several tables the later one holds.
    pub elset: Option<String>,
    /// The edges of all elements, and all two-node elements of which the deck's `*SPRING` and `*DASHPOT` say nothing.
    #[serde(default)]
    pub all: bool,
    /// k, N/m. Give this or `axial_stiffness`.
    pub stiffness: Option<f64>,
    /// E A, N: k = E A over the length of each spring in the mesh.
    pub axial_stiffness: Option<f64>,
    /// c, N s/m.
    #[serde(default)]
    pub damping: f64,
    /// Springs break beyond this extension over their length; never when absent.
    pub max_strain: Option<f64>,
    /// Length without force over the distance at rest; 1 when absent.
    pub rest_factor: Option<f64>,
}

/// A number, or one for each group of a lattice.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(untagged, expecting = "expected a number, or { axis = …, face = …, space = … }")]
#[allow(missing_docs)]
pub enum PerGroup {
    One(f64),
    Each(Groups),
}

/// One for each group.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Groups {
    /// Along the axes.
    pub axis: Option<f64>,
    /// Along diagonals of faces.
    pub face: Option<f64>,
    /// Along diagonals of cells.
    pub space: Option<f64>,
}

impl PerGroup {
    /// The value of a group.
    pub fn of(&self, group: SpringGroupKind) -> Option<f64> {
        match self {
            Self::One(value) => Some(*value),
            Self::Each(groups) => match group {
                SpringGroupKind::Axis => groups.axis,
                SpringGroupKind::Face => groups.face,
                SpringGroupKind::Space => groups.space,
            },
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        SpringGroupKind::ALL.into_iter().filter_map(|group| self.of(group))
    }
}

impl MaterialTable {
    pub(super) fn check(&self) -> Result<(), String> {
        named(Some(&self.name))?;
        if self.mass.is_some() == self.density.is_some() {
            return Err("give `mass` (of a particle) or `density`".to_owned());
        }
        positive("mass", self.mass)?;
        positive("density", self.density)?;
        at_most_one([("label", given(&self.label)), ("threshold", given(&self.threshold))])?;
        at_most_one([("nset", given(&self.nset)), ("elset", given(&self.elset))])?;
        let each_in_range = |name: &str, values: Option<PerGroup>, range: Range| match values {
            Some(values) => values.values().try_for_each(|value| in_range(name, Some(value), range)),
            None => Ok(()),
        };
        each_in_range("stiffness", self.stiffness, Range::NotNegative)?;
        each_in_range("damping", self.damping, Range::NotNegative)?;
        let has = self.has_springs();
        let given = [("damping", self.damping), ("max_strain", self.max_strain), ("rest_factor", self.rest_factor)];
        for (key, values) in given.iter().filter_map(|(key, values)| Some((key, (*values)?))) {
            let of_none = |group: &SpringGroupKind| match values {
                PerGroup::One(_) => self.stiffness.is_none(),
                PerGroup::Each(_) => values.of(*group).is_some() && !has[*group as usize],
            };
            if let Some(group) = SpringGroupKind::ALL.into_iter().find(of_none) {
                let group = group.name();
                let text = "springs, and `stiffness` gives none there: give one, 0 for dampers alone";
                return Err(format!("`{key}` is for {group} {text}"));
            }
        }
        each_in_range("max_strain", self.max_strain, Range::Positive)?;
        each_in_range("rest_factor", self.rest_factor, Range::Positive)
    }

    /// What the particles weigh.
    pub fn material(&self) -> SpringMaterial {
        SpringMaterial { name: self.name.clone(), mass: self.mass.unwrap_or(0.0), density: self.density.unwrap_or(0.0) }
    }

    /// The groups of a lattice that have springs.
    pub fn has_springs(&self) -> [bool; 3] {
        SpringGroupKind::ALL.map(|group| match &self.stiffness {
            None => false,
            Some(PerGroup::One(_)) => group != SpringGroupKind::Space,
            Some(each) => each.of(group).is_some(),
        })
    }

    /// The three groups of a lattice.
    pub fn groups(&self) -> [SpringGroup; 3] {
        let has = self.has_springs();
        SpringGroupKind::ALL.map(|group| {
            let value = |given: &Option<PerGroup>, default: f64| {
                given.and_then(|given| given.of(group)).filter(|_| has[group as usize]).unwrap_or(default)
            };
            SpringGroup {
                name: format!("{}.{}", self.name, group.name()),
                stiffness: value(&self.stiffness, 0.0),
                axial_stiffness: 0.0,
                damping: value(&self.damping, 0.0),
                max_strain: value(&self.max_strain, f64::INFINITY),
                rest_factor: value(&self.rest_factor, 1.0),
            }
        })
    }
}

impl SpringsTable {
    pub(super) fn check(&self) -> Result<(), String> {
        named(Some(&self.name))?;
        at_most_one([("elset", given(&self.elset)), ("all", self.all.then_some(()))])?;
        if self.stiffness.is_some() == self.axial_stiffness.is_some() {
            return Err("give `stiffness` (k) or `axial_stiffness` (E A: k is E A over the length)".to_owned());
        }
        in_range("stiffness", self.stiffness, Range::NotNegative)?;
        in_range("axial_stiffness", self.axial_stiffness, Range::NotNegative)?;
        in_range("damping", Some(self.damping), Range::NotNegative)?;
        positive("max_strain", self.max_strain)?;
        positive("rest_factor", self.rest_factor)
    }

    /// It is for edges and elements of a deck, not only for springs that are added.
    pub fn says_where(&self) -> bool {
        self.all || self.elset.is_some()
    }

    /// The group of these springs.
    pub fn group(&self) -> SpringGroup {
        SpringGroup {
            name: self.name.clone(),
            stiffness: self.stiffness.unwrap_or(0.0),
            axial_stiffness: self.axial_stiffness.unwrap_or(0.0),
            damping: self.damping,
            max_strain: self.max_strain.unwrap_or(f64::INFINITY),
            rest_factor: self.rest_factor.unwrap_or(1.0),
        }
    }
}
