//! `[[crack]]`: defects that open a mesh along the faces of its elements.

use serde::Deserialize;

use crate::job::check::{exactly_one, named, positive};

/// `[[crack]]`: the element faces nearest to a line (2D) or a surface (3D) are opened: their nodes are doubled, so that
/// nothing is carried across. Nodes of the tip or front stay single.
///
/// | keys | the crack is |
/// |---|---|
/// | `line` | 2D: straight pieces between points |
/// | `polygon` | 3D: a flat convex polygon, by its corners |
/// | `centre`, `normal`, `radius` | 3D: a disc |
/// | `file` | 3D: triangles of a `.vtu`, `.vtk` or `.msh` file |
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Crack {
    /// Name of its node sets `NAME.plus`, `NAME.minus` and `NAME.front`; `CRACK` and a number when absent.
    pub name: Option<String>,
    /// Points of two coordinates, m.
    pub line: Option<Vec<[f64; 2]>>,
    /// Corners in order, m.
    pub polygon: Option<Vec<[f64; 3]>>,
    /// Centre of the disc, m.
    pub centre: Option<[f64; 3]>,
    /// Normal of the disc, of any length.
    pub normal: Option<[f64; 3]>,
    /// Radius of the disc, m.
    pub radius: Option<f64>,
    /// Mesh of triangles, relative to the job.
    pub file: Option<String>,
}

/// Where a [`Crack`] lies.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum CrackShape<'a> {
    /// Points of a line, in the plane.
    Line(&'a [[f64; 2]]),
    /// Corners of a flat convex polygon.
    Polygon(&'a [[f64; 3]]),
    Disc {
        centre: [f64; 3],
        normal: [f64; 3],
        radius: f64,
    },
    /// Triangles of a file, by its name relative to the job.
    File(&'a str),
}

impl Crack {
    pub(super) fn check(&self) -> Result<(), String> {
        named(self.name.as_deref())?;
        positive("radius", self.radius)?;
        self.shape().map(|_| ())
    }

    /// Where the keys say that the crack lies.
    ///
    /// # Errors
    /// A message when no key says where or several do, and for too few points.
    pub fn shape(&self) -> Result<CrackShape<'_>, String> {
        let is_disc = self.centre.is_some() || self.normal.is_some() || self.radius.is_some();
        exactly_one([
            ("line", self.line.as_ref().map(|_| ())),
            ("polygon", self.polygon.as_ref().map(|_| ())),
            ("centre", is_disc.then_some(())),
            ("file", self.file.as_ref().map(|_| ())),
        ])?;
        match (&self.line, &self.polygon, &self.file) {
            (Some(points), _, _) if points.len() < 2 => Err("`line` needs two points or more".to_owned()),
            (Some(points), _, _) => Ok(CrackShape::Line(points)),
            (_, Some(corners), _) if corners.len() < 3 => Err("`polygon` needs three corners or more".to_owned()),
            (_, Some(corners), _) => Ok(CrackShape::Polygon(corners)),
            (_, _, Some(file)) => Ok(CrackShape::File(file)),
            _ => match (self.centre, self.normal, self.radius) {
                (Some(centre), Some(normal), Some(radius)) if normal.iter().any(|&x| x != 0.0) => {
                    Ok(CrackShape::Disc { centre, normal, radius })
                }
                (Some(_), Some(_), Some(_)) => Err("`normal` is zero".to_owned()),
                _ => Err("a disc needs `centre`, `normal` and `radius`".to_owned()),
            },
        }
    }
}
