//! `[[boundary]]` and `[[force]]`: conditions of one's own.

use serde::Deserialize;

use crate::job::check::{named, quoted};
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
                let text = |name: &Option<String>| name.is_some();
                let given = [
                    ("side", self.side.is_some()),
                    ("plane", self.plane.is_some()),
                    ("box", self.corners.is_some()),
                    ("at", self.at.is_some()),
                    ("nodes", self.nodes.is_some()),
                    ("material", text(&self.material)),
                    ("mask", text(&self.mask)),
                    ("table", text(&self.table)),
                    ("all", self.all),
                ];
                let names: Vec<&str> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
                match names.as_slice() {
                    [_] => {}
                    [] => return Err(format!("where? give one of {}", quoted(&given.map(|(name, _)| name)))),
                    [one, other, ..] => return Err(format!("give `{one}` or `{other}`, not both")),
                }
                if self.label.is_some() && self.mask.is_none() {
                    let message = "`label` goes with `mask`; the voxels of a material are found with `material`";
                    return Err(message.to_owned());
                }
                match self.plane {
                    Some(Plane { at: Some(_), index: Some(_), .. } | Plane { at: None, index: None, .. }) => {
                        return Err("`plane` needs `at` or `index`, such as { axis = \"z\", at = 1.25 }".to_owned());
                    }
                    _ => {}
                }
                Ok(match self {
                    Self { side: Some(sides), .. } => Where::Sides(&sides.0),
                    Self { plane: Some(plane), .. } => Where::Plane(*plane),
                    Self { corners: Some(corners), .. } => Where::Box(*corners),
                    Self { at: Some(at), .. } => Where::At(*at),
                    Self { nodes: Some(nodes), .. } => Where::Nodes(nodes),
                    Self { material: Some(name), .. } => Where::Material(name),
                    Self { mask: Some(file), .. } => Where::Mask(file, self.label),
                    Self { table: Some(file), .. } => Where::Table(file),
                    _ => Where::All,
                })
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
pub enum Where<'a> {
    /// Faces of the box: axis, and whether the upper one.
    Sides(&'a [(u8, bool)]),
    /// A plane.
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
pub enum Facing {
    /// Up the axis.
    Up,
    /// Down the axis.
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
        if self.value.is_some() && self.displacement.is_some() {
            return Err("give `value` or `displacement`, not both".to_owned());
        }
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
        let given = [self.force.is_some(), self.each.is_some(), self.traction.is_some()];
        let n = given.iter().filter(|given| **given).count();
        let has_faces = matches!(place, Where::Sides(_)) || self.plane.is_some() && self.facing.is_some();
        match (n, matches!(place, Where::Table(_))) {
            (1, false) | (0, true) => {}
            (_, true) => return Err("a table has its own values: give nothing else with it".to_owned()),
            _ => return Err("give exactly one of `force`, `each`, `traction`, such as force = [0, 0, -10]".to_owned()),
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
