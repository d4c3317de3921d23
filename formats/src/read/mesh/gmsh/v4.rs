//! Entities, nodes and elements of version 4.1.

use super::super::MeshFileError;
use super::super::scan::Scanner;
use super::{MOST_NODES, NumberFormat, Raw, kind};

pub(super) fn entities(scan: &mut Scanner, format: NumberFormat, raw: &mut Raw) -> Result<(), MeshFileError> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = format.size(scan)?;
    }
    for (dimension, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            let tag = format.int(scan)?;
            for _ in 0..if dimension == 0 { 3 } else { 6 } {
                format.real(scan, "a number")?;
            }
            let n = format.size(scan)?;
            let mut groups: Vec<i32> = scan.room(n as usize, 1)?;
            for _ in 0..n {
                // A negative group is the same one, oriented the other way.
                groups.push(format.int(scan)?.saturating_abs());
            }
            if dimension > 0 {
                for _ in 0..format.size(scan)? {
                    format.int(scan)?;
                }
            }
            raw.entities.insert((dimension, tag), groups);
        }
    }
    Ok(())
}

pub(super) fn nodes(scan: &mut Scanner, format: NumberFormat, raw: &mut Raw) -> Result<(), MeshFileError> {
    let (n_blocks, n) = (format.size(scan)?, format.size(scan)? as usize);
    let _range = (format.size(scan)?, format.size(scan)?);
    raw.tags = scan.room(n, 2)?;
    raw.coordinates = scan.room(n.saturating_mul(3), 2)?;
    for _ in 0..n_blocks {
        let (dimension, _entity, parametric) = (format.int(scan)?, format.int(scan)?, format.int(scan)?);
        let in_block = format.size(scan)? as usize;
        if in_block > n - raw.tags.len() {
            return Err(scan.error("the blocks of nodes do not add up to their number"));
        }
        for _ in 0..in_block {
            raw.tags.push(format.size(scan)?);
        }
        let further = if parametric != 0 { dimension.clamp(0, 3) } else { 0 };
        for _ in 0..in_block {
            for _ in 0..3 {
                raw.coordinates.push(format.real(scan, "a number")?);
            }
            for _ in 0..further {
                format.real(scan, "a number")?;
            }
        }
    }
    if raw.tags.len() != n {
        return Err(scan.error(format!("{} of {n} nodes", raw.tags.len())));
    }
    Ok(())
}

pub(super) fn elements(scan: &mut Scanner, format: NumberFormat, raw: &mut Raw) -> Result<(), MeshFileError> {
    let (n_blocks, n) = (format.size(scan)?, format.size(scan)? as usize);
    let _range = (format.size(scan)?, format.size(scan)?);
    let mut done = 0;
    for _ in 0..n_blocks {
        let (dimension, entity, element_type) = (format.int(scan)?, format.int(scan)?, format.int(scan)?);
        let in_block = format.size(scan)? as usize;
        if in_block > n - done {
            return Err(scan.error("the blocks of elements do not add up to their number"));
        }
        let (kind, n_nodes) = kind(scan, element_type)?;
        let groups = raw.entities.get(&(dimension.max(0) as usize, entity)).cloned().unwrap_or_default();
        for _ in 0..in_block {
            let line = if format == NumberFormat::Text { scan.line_of_next() } else { 0 };
            let tag = format.size(scan)?;
            let mut nodes = [0; MOST_NODES];
            for node in &mut nodes[..n_nodes] {
                *node = format.size(scan)?;
            }
            raw.element(scan, line, (kind, tag), &groups, &nodes[..n_nodes])?;
        }
        done += in_block;
    }
    if done != n {
        return Err(scan.error(format!("{done} of {n} elements")));
    }
    Ok(())
}
