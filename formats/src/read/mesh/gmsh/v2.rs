//! Nodes and elements of version 2.2.

use super::super::MeshFileError;
use super::super::scan::{Scanner, parse};
use super::{Form, Raw, kind};

/// A 4-byte integer.
pub(super) fn int(scan: &mut Scanner, swap: bool) -> Result<i32, MeshFileError> {
    let bytes = scan.array()?;
    Ok(if swap { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) })
}

/// An 8-byte number.
pub(super) fn double(scan: &mut Scanner, swap: bool) -> Result<f64, MeshFileError> {
    let bytes = scan.array()?;
    Ok(if swap { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) })
}

fn positive(scan: &Scanner, value: i32, what: &str) -> Result<u64, MeshFileError> {
    u64::try_from(value).map_err(|_| scan.error(format!("{what} is {value}")))
}

pub(super) fn nodes(scan: &mut Scanner, form: Form, raw: &mut Raw) -> Result<(), MeshFileError> {
    let n: usize = scan.number("the number of nodes")?;
    raw.tags = scan.room(n, 4)?;
    raw.coordinates = scan.room(n.saturating_mul(3), 2)?;
    match form {
        Form::Text => {
            for _ in 0..n {
                let tag = scan.number("a node")?;
                raw.tags.push(tag);
                raw.coordinates.extend(scan.point()?);
            }
        }
        Form::Binary(swap) => {
            scan.rest_of_line();
            for _ in 0..n {
                let tag = int(scan, swap)?;
                raw.tags.push(positive(scan, tag, "a node's tag")?);
                for _ in 0..3 {
                    raw.coordinates.push(double(scan, swap)?);
                }
            }
        }
    }
    Ok(())
}

pub(super) fn elements(scan: &mut Scanner, form: Form, raw: &mut Raw) -> Result<(), MeshFileError> {
    let n: usize = scan.number("the number of elements")?;
    scan.rest_of_line();
    match form {
        Form::Text => {
            let mut numbers: Vec<i64> = Vec::new();
            for at in 0..n {
                if scan.peek().is_none() {
                    return Err(scan.error(format!("{at} of {n} elements: the file is cut")));
                }
                let line = scan.line;
                let text = scan.next_line().unwrap_or_default();
                let here = |message: &str| {
                    let mut error = scan.error(message);
                    error.line = line;
                    error
                };
                numbers.clear();
                for word in text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()) {
                    numbers.push(parse(word).ok_or_else(|| here("an element is a line of whole numbers"))?);
                }
                let [tag, element_type, n_tags, rest @ ..] = numbers.as_slice() else {
                    return Err(here("an element is: tag, type, number of tags, tags, nodes"));
                };
                let (kind, n_nodes) = i32::try_from(*element_type)
                    .ok()
                    .and_then(kind)
                    .ok_or_else(|| here("elements of this type are not read"))?;
                let n_tags = usize::try_from(*n_tags).unwrap_or(usize::MAX);
                if rest.len() != n_tags.saturating_add(n_nodes) {
                    return Err(here("the line has not as many numbers as its type and tags need"));
                }
                let (tags, nodes) = rest.split_at(n_tags);
                let group = [tags.first().and_then(|&group| i32::try_from(group).ok()).unwrap_or_default()];
                let mut node_tags = [0_u64; 32];
                for (to, &from) in node_tags.iter_mut().zip(nodes) {
                    *to = u64::try_from(from).map_err(|_| here("a node's tag is negative"))?;
                }
                let tag = u64::try_from(*tag).map_err(|_| here("an element's tag is negative"))?;
                let groups = if group[0] == 0 { &[][..] } else { &group[..] };
                raw.element(scan, line, (kind, tag), groups, &node_tags[..n_nodes]).map_err(|mut error| {
                    error.line = line;
                    error
                })?;
            }
        }
        Form::Binary(swap) => {
            let mut done = 0;
            while done < n {
                let (element_type, follow, n_tags) = (int(scan, swap)?, int(scan, swap)?, int(scan, swap)?);
                let (kind, n_nodes) = kind(element_type)
                    .ok_or_else(|| scan.error(format!("elements of type {element_type} are not read")))?;
                let follow = positive(scan, follow, "the number of elements that follow")? as usize;
                let n_tags = positive(scan, n_tags, "the number of tags")? as usize;
                if follow == 0 || follow > n - done {
                    return Err(scan.error("the blocks of elements do not add up to their number"));
                }
                for _ in 0..follow {
                    let tag = int(scan, swap)?;
                    let mut group = 0;
                    for at in 0..n_tags {
                        let value = int(scan, swap)?;
                        if at == 0 {
                            group = value;
                        }
                    }
                    let mut node_tags = [0_u64; 32];
                    for node in &mut node_tags[..n_nodes] {
                        let tag = int(scan, swap)?;
                        *node = positive(scan, tag, "a node's tag")?;
                    }
                    let tag = positive(scan, tag, "an element's tag")?;
                    let group = [group];
                    let groups = if group[0] == 0 { &[][..] } else { &group[..] };
                    raw.element(scan, 0, (kind, tag), groups, &node_tags[..n_nodes])?;
                }
                done += follow;
            }
        }
    }
    Ok(())
}
