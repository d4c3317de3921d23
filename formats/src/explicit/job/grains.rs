//! `[[grains]]`: a crystal's orientation for each grain or element.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::Plane;
use crate::job::check::positive;
use crate::job::rows_of_numbers;
use crate::system::inputs;
use crate::words::{Choice, Word};

/// `[[grains]]`: gives elements one material in many orientations.
///
/// A grain is an element set (`poly1`, `poly2`, …, as Neper names them), the elements that a table gives it, or an element.
#[derive(Deserialize, Debug, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Grains {
    /// Name of a material of this job or of the deck: the crystal.
    pub material: String,
    /// Table of Euler angles, relative to the job: a number and φ1, Φ, φ2 in degrees (Bunge) on each line, or the three angles
    /// alone, of grains 1, 2, 3, ….
    pub file: String,
    /// What the numbers of `file` are: `"grain"`, the default, or `"element"`, the labels of elements.
    #[serde(default = "of_grains")]
    pub of: Word<Numbered>,
    /// The set of grain 12 is this name and `12`; `"poly"` when absent.
    pub elsets: Option<String>,
    /// Instead of sets: table of an element's label and its grain on each line, relative to the job.
    pub elements: Option<String>,
    /// As in a section.
    pub plane: Option<Word<Plane>>,
    /// As in a section, m.
    pub thickness: Option<f64>,
    /// The table of angles as it was read.
    #[serde(skip)]
    pub orientations: Vec<Orientation>,
    /// The elements' labels and grains that `elements` gives, as they were read, by label.
    #[serde(skip)]
    pub grain_of: Vec<(u32, u32)>,
}

/// What a table of orientations counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Numbered {
    Grains,
    Elements,
}

impl Choice for Numbered {
    const WORDS: &'static [(&'static str, Self)] = &[("grain", Self::Grains), ("element", Self::Elements)];
}

fn of_grains() -> Word<Numbered> {
    Word(Numbered::Grains)
}

/// An orientation of a grain or element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orientation {
    /// Number of the grain, or label of the element.
    pub number: u32,
    /// φ1, Φ, φ2, degrees.
    pub angles: [f64; 3],
}

impl Orientation {
    /// Rows are the crystal's axes in global components: v_crystal = R v_global with R = R_z(φ2) R_x(Φ) R_z(φ1), each of which
    /// turns the axes (Bunge, Texture Analysis in Materials Science, 1982, eq. 2.50).
    pub fn material_from_global(&self) -> [f64; 9] {
        let [(s1, c1), (s, c), (s2, c2)] = self.angles.map(|angle| angle.to_radians().sin_cos());
        [
            c1 * c2 - s1 * s2 * c,
            s1 * c2 + c1 * s2 * c,
            s2 * s,
            -c1 * s2 - s1 * c2 * c,
            -s1 * s2 + c1 * c2 * c,
            c2 * s,
            s1 * s,
            -c1 * s,
            c,
        ]
    }
}

impl Grains {
    pub(super) fn check(&self) -> Result<(), String> {
        positive("thickness", self.thickness)?;
        match (self.of.0, &self.elsets, &self.elements) {
            (Numbered::Elements, Some(_), _) | (Numbered::Elements, _, Some(_)) => {
                Err("`elsets` and `elements` go with `of = \"grain\"`".to_owned())
            }
            (_, Some(_), Some(_)) => Err("give `elsets` or `elements`, not both".to_owned()),
            _ => Ok(()),
        }
    }

    /// Reads the tables, so that nothing later needs the job's folder.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), String> {
        self.orientations = orientations(&folder.join(&self.file))?;
        if let Some(file) = &self.elements {
            self.grain_of = grain_of(&folder.join(file))?;
        }
        Ok(())
    }
}

/// Calls with the numbers on each line of a table, and the line.
fn for_rows(path: &Path, mut row: impl FnMut(usize, &[f64]) -> Result<(), String>) -> Result<(), String> {
    let name = path.display();
    let text = inputs::read(path).map_err(|error| format!("{name}: error: cannot read: {error}"))?;
    let text = String::from_utf8(text).map_err(|_| format!("{name}: error: it is no text"))?;
    let mut numbers = Vec::new();
    for (line, fields) in rows_of_numbers(&text) {
        numbers.clear();
        for field in fields {
            let number = field.parse::<f64>().ok().filter(|number| number.is_finite());
            numbers.push(number.ok_or_else(|| format!("{name}:{line}: error: `{field}` is no finite number"))?);
        }
        row(line, &numbers).map_err(|text| format!("{name}:{line}: error: {text}"))?;
    }
    Ok(())
}

fn whole(number: f64, what: &str) -> Result<u32, String> {
    let is_whole = number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
    is_whole.then_some(number as u32).ok_or_else(|| format!("{number} is no {what}"))
}

/// Refuses a second line of one number.
fn once(lines: &mut HashMap<u32, usize>, number: u32, line: usize, what: &str) -> Result<(), String> {
    match lines.insert(number, line) {
        Some(earlier) => Err(format!("{what} {number} stands on line {earlier} already")),
        None => Ok(()),
    }
}

fn orientations(path: &Path) -> Result<Vec<Orientation>, String> {
    let (mut found, mut lines, mut width) = (Vec::new(), HashMap::new(), None);
    for_rows(path, |line, row| {
        let expected = *width.get_or_insert(row.len());
        let (number, angles) = match *row {
            _ if row.len() != expected => {
                return Err(format!("{} numbers after lines of {expected}", row.len()));
            }
            [number, phi1, phi, phi2] => (whole(number, "number of a grain or element")?, [phi1, phi, phi2]),
            [phi1, phi, phi2] => (found.len() as u32 + 1, [phi1, phi, phi2]),
            _ => return Err("expected a number and the angles φ1, Φ, φ2 in degrees, or the angles alone".to_owned()),
        };
        once(&mut lines, number, line, "number")?;
        found.push(Orientation { number, angles });
        Ok(())
    })?;
    if found.is_empty() {
        return Err(format!("{}: error: there are no angles in it", path.display()));
    }
    Ok(found)
}

fn grain_of(path: &Path) -> Result<Vec<(u32, u32)>, String> {
    let (mut found, mut lines) = (Vec::new(), HashMap::new());
    for_rows(path, |line, row| {
        let &[element, grain] = row else { return Err("expected the label of an element and its grain".to_owned()) };
        let element = whole(element, "label of an element")?;
        once(&mut lines, element, line, "element")?;
        found.push((element, whole(grain, "number of a grain")?));
        Ok(())
    })?;
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bunge's definition step by step: about z by φ1, about the new x by Φ, about the new z by φ2.
    #[test]
    fn angles_turn_axes_one_after_the_other() {
        let about_z = |angle: f64| {
            let (s, c) = angle.to_radians().sin_cos();
            [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
        };
        let about_x = |angle: f64| {
            let (s, c) = angle.to_radians().sin_cos();
            [[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]
        };
        let product = |a: [[f64; 3]; 3], b: [[f64; 3]; 3]| -> [[f64; 3]; 3] {
            std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
        };
        let angles = [37.0, 61.0, -113.0];
        let expected = product(about_z(angles[2]), product(about_x(angles[1]), about_z(angles[0])));
        let found = Orientation { number: 1, angles }.material_from_global();
        for (found, expected) in found.iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn tables_are_read_with_and_without_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("euler.csv");
            std::fs::write(&path, text).unwrap();
            orientations(&path).map_err(|error| error.replace(&folder.path().display().to_string(), ""))
        };
        let expected =
            [(3, [1.0, 2.0, 3.0]), (1, [4.0, 5.0, 6.5])].map(|(number, angles)| Orientation { number, angles });
        assert_eq!(read("grain,phi1,Phi,phi2\n3,1,2,3\n1;4;5;6.5\n").unwrap(), expected);
        let bare = read("# Neper\n1 2 3\n4 5 6.5\n").unwrap();
        assert_eq!(bare.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2]);
        for (text, error) in [
            ("1,2,3,4\n1,2,3,4\n", "/euler.csv:2: error: number 1 stands on line 1 already"),
            ("1,2,3,4\n1,2,3\n", "/euler.csv:2: error: 3 numbers after lines of 4"),
            ("1.5,2,3,4\n", "/euler.csv:1: error: 1.5 is no number of a grain or element"),
            ("1,2,x,4\n", "/euler.csv:1: error: `x` is no finite number"),
            ("1,2\n", "/euler.csv:1: error: expected a number and the angles"),
            ("grain,phi1,Phi,phi2\n", "/euler.csv: error: there are no angles in it"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
