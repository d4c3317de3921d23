//! Scanco ISQ: 512-byte blocks of header, then 16-bit voxels.

use std::io::Read;

use super::sample::SampleType;
use super::source::{Encoding, vax_double};
use super::{Format, Header, Opened, Problem, ScancoCalibration};
use crate::system::inputs::Input;

const BLOCK: usize = 512;
/// Blocks of header that are looked through for the calibration.
const MOST_BLOCKS: usize = 256;

fn int(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_le_bytes)
}

/// Opens an ISQ file.
pub(super) fn open(mut file: Input) -> Result<Opened, Problem> {
    let mut start = vec![0; BLOCK];
    file.read_exact(&mut start).map_err(|_| "the ISQ header is cut short: this file is damaged")?;
    let three = |at: usize| [int(&start, at), int(&start, at + 4), int(&start, at + 8)];
    let (dim, micrometres) = (three(44), three(56));
    if int(&start, 16) == 9 || micrometres[2] == 0 {
        return Err("this is a radiograph (RAD), not a stack".into());
    }
    let size = dim.map(|n| usize::try_from(n).unwrap_or(0));
    let mut header = Header::new(Format::Isq, size, SampleType::Int16);
    header.bytes()?;
    if micrometres.iter().all(|&length| length > 0) {
        header.spacing = Some([0, 1, 2].map(|axis| f64::from(micrometres[axis]) * 1e-3 / f64::from(dim[axis])));
    }
    let blocks =
        u64::try_from(int(&start, 508)).map_err(|_| "the ISQ header claims a negative length: it is damaged")?;
    let offset = (blocks + 1) * BLOCK as u64;
    let mut rest = Vec::new();
    let looked_at = (offset.min((MOST_BLOCKS * BLOCK) as u64) as usize).saturating_sub(BLOCK);
    file.by_ref()
        .take(looked_at as u64)
        .read_to_end(&mut rest)
        .map_err(|error| format!("cannot read the header: {error}"))?;
    header.calibration = calibration(&rest).unwrap_or_default();
    header.calibration.mu_scaling = Some(f64::from(int(&start, 88))).filter(|&scaling| scaling > 0.0);
    // The last block is filled up.
    Opened::flat_before(header, Encoding::Little, file, offset, BLOCK as u64 - 1)
}

/// The calibration block of the extended header, which starts with a list of up to four blocks, their names and lengths,
/// itself behind a block called `MultiHeader`.
fn calibration(extended: &[u8]) -> Option<ScancoCalibration> {
    let name = |at: usize| extended.get(at + 8..at + 24);
    let list = if name(0)? == b"MultiHeader     " { BLOCK } else { 0 };
    let mut block = list + BLOCK;
    for entry in 0..4 {
        let at = list + 128 * entry;
        let length = usize::try_from(int(extended, at + 24)).ok()?.checked_mul(BLOCK)?;
        if name(at)? == b"Calibration     " && length >= 2 * BLOCK {
            let there = extended.get(block..)?.get(..2 * BLOCK)?;
            let double = |at: usize| there[at..at + 8].try_into().ok().map(vax_double).filter(|x| x.is_finite());
            let unit: String =
                there[648..664].iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect();
            return Some(ScancoCalibration {
                mu_scaling: None,
                density_slope: double(664).filter(|&slope| slope != 0.0),
                density_intercept: double(672),
                density_unit: Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty()),
                mu_water: double(688).filter(|&water| water > 0.0),
            });
        }
        block = block.checked_add(length)?;
    }
    None
}
