//! `$ElementData`: numbers on elements.

use std::collections::HashMap;
use std::path::Path;

use super::super::scan::Scanner;
use super::super::{CellArray, MeshFileError};
use super::NumberFormat;

/// A section `$ElementData`.
pub(super) struct ElementData {
    name: String,
    components: usize,
    tags: Vec<u64>,
    values: Vec<f64>,
}

pub(super) fn read(scan: &mut Scanner, format: NumberFormat) -> Result<ElementData, MeshFileError> {
    let n_strings: usize = scan.number("the number of string tags")?;
    scan.rest_of_line();
    let mut name = String::new();
    for at in 0..n_strings {
        let line =
            scan.next_line().ok_or_else(|| scan.error(format!("the file ends after {at} of {n_strings} names")))?;
        if at == 0 {
            name = String::from_utf8_lossy(line).trim().trim_matches('"').to_owned();
        }
    }
    let n_reals: usize = scan.number("the number of real tags")?;
    for _ in 0..n_reals {
        scan.number::<f64>("a number")?;
    }
    let n_whole: usize = scan.number("the number of integer tags")?;
    let mut whole = [0_usize; 8];
    for at in 0..n_whole {
        let value: i64 = scan.number("a whole number")?;
        if let Some(slot) = whole.get_mut(at) {
            *slot = usize::try_from(value).unwrap_or_default();
        }
    }
    let (components, n) = (whole[1], whole[2]);
    if !(1..=9).contains(&components) {
        return Err(scan.error(format!("data of {components} components: 1, 3 or 9 are expected")));
    }
    let (mut tags, mut values) = (scan.room(n, 2)?, scan.room(n.saturating_mul(components), 2)?);
    format.begin(scan);
    for _ in 0..n {
        tags.push(format.tag(scan, "an element")?);
        for _ in 0..components {
            values.push(format.real(scan, "a number")?);
        }
    }
    Ok(ElementData { name, components, tags, values })
}

impl ElementData {
    /// The data in the order of the elements; none where no element of the mesh has any.
    ///
    /// # Errors
    /// Some elements have data and others have none.
    pub fn array(
        self,
        path: &Path,
        cell_of_element: &[u32],
        cell_tags: &[u64],
    ) -> Result<Option<CellArray>, MeshFileError> {
        let at: HashMap<u64, usize> = self.tags.iter().enumerate().map(|(at, &tag)| (tag, at)).collect();
        let mut values = Vec::with_capacity(cell_of_element.len() * self.components);
        let mut missing = None;
        let mut found = false;
        for &cell in cell_of_element {
            let tag = cell_tags[cell as usize];
            match at.get(&tag) {
                Some(&at) => {
                    found = true;
                    values.extend_from_slice(&self.values[self.components * at..][..self.components]);
                }
                None => missing = missing.or(Some(tag)),
            }
        }
        match missing {
            _ if !found => Ok(None),
            Some(tag) => {
                let message = format!("$ElementData \"{}\" has nothing for element {tag}", self.name);
                Err(MeshFileError::new(path, 0, message))
            }
            None => {
                let whole = self.components == 1 && values.iter().all(|value| value.fract() == 0.0);
                Ok(Some(CellArray { name: self.name, components: self.components, whole, values }))
            }
        }
    }
}
