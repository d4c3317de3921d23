//! Nodes and elements of version 2.2.

use super::super::MeshFileError;
use super::super::scan::{Scanner, parse, words};
use super::{MOST_NODES, NumberFormat, Raw, kind};

pub(super) fn nodes(scan: &mut Scanner, format: NumberFormat, raw: &mut Raw) -> Result<(), MeshFileError> {
    let n: usize = scan.number("the number of nodes")?;
    raw.tags = scan.room(n, 4)?;
    raw.coordinates = scan.room(n.saturating_mul(3), 2)?;
    format.begin(scan);
    for _ in 0..n {
        raw.tags.push(format.tag(scan, "a node")?);
        for _ in 0..3 {
            raw.coordinates.push(format.real(scan, "a coordinate")?);
        }
    }
    Ok(())
}

pub(super) fn elements(scan: &mut Scanner, format: NumberFormat, raw: &mut Raw) -> Result<(), MeshFileError> {
    let n: usize = scan.number("the number of elements")?;
    scan.rest_of_line();
    if format != NumberFormat::Text {
        return binary_elements(scan, format, n, raw);
    }
    let mut numbers = Vec::new();
    for at in 0..n {
        if scan.peek().is_none() {
            return Err(scan.error(format!("{at} of {n} elements: the file is cut")));
        }
        let line = scan.line;
        let text = scan.next_line().unwrap_or_default();
        text_element(scan, line, text, &mut numbers, raw).map_err(|error| MeshFileError { line, ..error })?;
    }
    Ok(())
}

/// An element on a line of text; `numbers` is room for those of the line.
fn text_element(
    scan: &Scanner,
    line: u64,
    text: &[u8],
    numbers: &mut Vec<i64>,
    raw: &mut Raw,
) -> Result<(), MeshFileError> {
    numbers.clear();
    for word in words(text) {
        numbers.push(parse(word).ok_or_else(|| scan.error("an element is a line of whole numbers"))?);
    }
    let [tag, element_type, n_tags, rest @ ..] = numbers.as_slice() else {
        return Err(scan.error("an element is: tag, type, number of tags, tags, nodes"));
    };
    let (kind, n_nodes) = kind(scan, i32::try_from(*element_type).unwrap_or_default())?;
    let n_tags = usize::try_from(*n_tags).unwrap_or(usize::MAX);
    if rest.len() != n_tags.saturating_add(n_nodes) {
        return Err(scan.error("the line has not as many numbers as its type and tags need"));
    }
    let (tags, nodes) = rest.split_at(n_tags);
    let group = tags.first().and_then(|&group| i32::try_from(group).ok()).unwrap_or_default();
    let mut node_tags = [0; MOST_NODES];
    for (to, &from) in node_tags.iter_mut().zip(nodes) {
        *to = u64::try_from(from).map_err(|_| scan.error("a node's tag is negative"))?;
    }
    let tag = u64::try_from(*tag).map_err(|_| scan.error("an element's tag is negative"))?;
    raw.element(scan, line, (kind, tag), groups(&group), &node_tags[..n_nodes])
}

fn binary_elements(scan: &mut Scanner, format: NumberFormat, n: usize, raw: &mut Raw) -> Result<(), MeshFileError> {
    let mut done = 0;
    while done < n {
        let [element_type, follow, n_tags] = [format.int(scan)?, format.int(scan)?, format.int(scan)?];
        let (kind, n_nodes) = kind(scan, element_type)?;
        let count = |value: i32, what: &str| {
            usize::try_from(value).map_err(|_| scan.error(format!("the number of {what} is {value}")))
        };
        let (follow, n_tags) = (count(follow, "elements that follow")?, count(n_tags, "tags")?);
        if follow == 0 || follow > n - done {
            return Err(scan.error("the blocks of elements do not add up to their number"));
        }
        for _ in 0..follow {
            let tag = format.tag(scan, "an element")?;
            let mut group = 0;
            for at in 0..n_tags {
                let value = format.int(scan)?;
                if at == 0 {
                    group = value;
                }
            }
            let mut node_tags = [0; MOST_NODES];
            for node in &mut node_tags[..n_nodes] {
                *node = format.tag(scan, "a node")?;
            }
            raw.element(scan, 0, (kind, tag), groups(&group), &node_tags[..n_nodes])?;
        }
        done += follow;
    }
    Ok(())
}

/// The physical group of an element, 0 for none.
fn groups(group: &i32) -> &[i32] {
    if *group == 0 { &[] } else { std::slice::from_ref(group) }
}
