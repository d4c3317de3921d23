//! `[[boundary]]` and `[[force]]`: conditions of one's own.

use serde::Deserialize;

use crate::job::check::{at_most_one, exactly_one, given, named};
use crate::job::{Component, Components, Sides};

/// A table of its own keys and those that say where.
macro_rules! placed {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Deserialize, Debug, Clone, PartialEq)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// Faces of the specimen's box: `"xmin"`, …, or a list.
            pub side: Option<Sides>,
            /// `{ axis = "z", at = 1.25 }`: the plane of nodes nearest to this position; or `{ axis = "z", index = 20 }`.
            pub plane: Option<Plane>,
            /// Two corners, the unit of length.
            #[serde(rename = "box")]
            pub corners: Option<[[f64; 3]; 2]>,
            /// The node nearest to this position.
            pub at: Option<[f64; 3]>,
            /// Nodes by indices (i, j, k).
            pub nodes: Option<Vec<[u32; 3]>>,
            /// Nodes of the voxels of a material.
            pub material: Option<String>,
            /// Nodes of the voxels that are not 0 in another stack of the model's size, relative to this job.
            pub mask: Option<String>,
            /// Only those voxels of `mask` that have this value.
            pub label: Option<f64>,
            /// A CSV file of `i, j, k, direction, value`, relative to this job; direction 0, 1, 2 or x, y, z.
            pub table: Option<String>,
            /// Every node.
            #[serde(default)]
            pub all: bool,
        }

        impl $name {
            /// Where.
            ///
            /// # Errors
            /// A message when there is no answer or more than one.
            pub fn place(&self) -> Result<Where<'_>, String> {
                let place = exactly_one([
                    ("side", self.side.as_ref().map(|sides| Where::Sides(&sides.0))),
                    ("plane", self.plane.map(Where::Plane)),
                    ("box", self.corners.map(Where::Box)),
                    ("at", self.at.map(Where::At)),
                    ("nodes", self.nodes.as_deref().map(Where::Nodes)),
                    ("material", self.material.as_deref().map(Where::Material)),
                    ("mask", self.mask.as_deref().map(|file| Where::Mask(file, self.label))),
                    ("table", self.table.as_deref().map(Where::Table)),
                    ("all", self.all.then_some(Where::All)),
                ])?;
                if self.label.is_some() && self.mask.is_none() {
                    let message = "`label` goes with `mask`; the voxels of a material are found with `material`";
                    return Err(message.to_owned());
                }
                if self.plane.is_some_and(|plane| plane.at.is_some() == plane.index.is_some()) {
                    return Err("`plane` needs `at` or `index`, such as { axis = \"z\", at = 1.25 }".to_owned());
                }
                Ok(place)
            }
        }
    };
}

placed! {
    /// `[[boundary]]`: prescribed displacements.
    ///
    /// Where: exactly one of `side`, `plane`, `box`, `at`, `nodes`, `material`, `mask`, `table`, `all`. Where conditions
    /// meet, the later one holds, and tables win over the others.
    pub struct Boundary {
        /// Name for messages, results and parameters; `FIX1`, … when absent.
        pub name: Option<String>,
        /// Which components: `"all"` (default), one, or a list.
        #[serde(default)]
        pub components: Components,
        /// Displacement of each of those components; 0 when absent.
        pub value: Option<f64>,
        /// Instead: a vector, of which the named components are prescribed.
        pub displacement: Option<[f64; 3]>,
        /// A, three rows: adds A (x − `centre`), such as [[0, 0, 0], [0, 0, 0], [0, 0, -0.01]].
        pub gradient: Option<[[f64; 3]; 3]>,
        /// x₀ of `gradient`; the origin of coordinates when absent.
        pub centre: Option<[f64; 3]>,
    }
}

placed! {
    /// `[[force]]`: forces. Where: as for `[[boundary]]`. How much: exactly one of `force`, `each`, `traction`, `table`.
    pub struct Force {
        /// Name for messages, results and parameters; `FORCE1`, … when absent.
        pub name: Option<String>,
        /// Total force, shared by area on a side or a plane with `facing`, in equal parts elsewhere.
        pub force: Option<[f64; 3]>,
        /// Force on each node.
        pub each: Option<[f64; 3]>,
        /// Force an area of the solid faces on a side, or on a plane with `facing`.
        pub traction: Option<[f64; 3]>,
        /// Of `plane`: which faces of the voxels are meant, those that look `"up"` or `"down"` the axis.
        pub facing: Option<Facing>,
    }
}

/// Which nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Where<'a> {
    /// Faces of the box: axis, and whether the upper one.
    Sides(&'a [(u8, bool)]),
    Plane(Plane),
    /// Between two corners.
    Box([[f64; 3]; 2]),
    /// The nearest one.
    At([f64; 3]),
    /// By indices.
    Nodes(&'a [[u32; 3]]),
    /// Of a material's voxels.
    Material(&'a str),
    /// Of the voxels of another stack, with this value or any but 0.
    Mask(&'a str, Option<f64>),
    /// Of a file.
    Table(&'a str),
    All,
}

/// Which way a face looks.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Facing {
    Up,
    Down,
}

/// A plane of nodes.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// Its normal.
    pub axis: Component,
    /// Its position, the unit of length.
    pub at: Option<f64>,
    /// Instead: the index of its nodes.
    pub index: Option<u32>,
}

impl Boundary {
    /// Its name; `index` is its place among the boundaries of the job.
    pub(super) fn name(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("FIX{}", index + 1))
    }

    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        let place = self.place()?;
        at_most_one([("value", given(&self.value)), ("displacement", given(&self.displacement))])?;
        if self.centre.is_some() && self.gradient.is_none() {
            return Err("`centre` goes with `gradient`".to_owned());
        }
        let says_more = self.value.is_some()
            || self.displacement.is_some()
            || self.gradient.is_some()
            || self.components != Components::All;
        if matches!(place, Where::Table(_)) && says_more {
            return Err("a table has its own directions and values: give nothing else with it".to_owned());
        }
        Ok(())
    }
}

impl Force {
    /// Its name; `index` is its place among the forces of the job.
    pub(super) fn name(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("FORCE{}", index + 1))
    }

    /// What can be checked without the stack.
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        let place = self.place()?;
        let amounts = [("force", self.force), ("each", self.each), ("traction", self.traction)];
        let has_faces = matches!(place, Where::Sides(_)) || self.plane.is_some() && self.facing.is_some();
        if !matches!(place, Where::Table(_)) {
            exactly_one(amounts)?;
        } else if amounts.iter().any(|(_, amount)| amount.is_some()) {
            return Err("a table has its own values: give nothing else with it".to_owned());
        }
        if self.facing.is_some() && self.plane.is_none() {
            return Err("`facing` goes with `plane`".to_owned());
        }
        if self.traction.is_some() && !has_faces {
            return Err("`traction` goes with `side`, or with `plane` and `facing`".to_owned());
        }
        Ok(())
    }
}
