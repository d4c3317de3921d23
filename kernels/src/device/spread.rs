//! Memory of several devices at one range of addresses.
//!
//! The driver reserves a range of addresses and maps memory of each device into a part of it. Kernels of every device use
//! these addresses like any others: what does not lie on the device itself is read and written over the connection between
//! the devices. The driver's own copies and memsets are split where the memory passes from one device to the next.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::context::find_device;
use super::driver::{self, Access, Address, Properties};
use super::{DeviceError, check};

/// Addresses inside mapped ranges where the next device begins.
static BORDERS: Mutex<BTreeSet<Address>> = Mutex::new(BTreeSet::new());

/// The bytes of arrays that begin at some addresses, cut where one of the arrays passes from one device to the next.
pub(super) fn pieces(starts: &[Address], bytes: usize) -> Vec<Range<usize>> {
    let borders = BORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let inside = |&start: &Address| borders.range(start + 1..start + bytes.max(1) as u64).map(move |at| at - start);
    let mut cuts: Vec<usize> = starts.iter().flat_map(inside).map(|cut| cut as usize).collect();
    drop(borders);
    cuts.extend([0, bytes]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
}

/// Whole pages of each device, of which there is one more than `cuts`: those of the bytes between the nearest cuts.
fn shares(bytes: usize, cuts: &[usize], page: usize) -> Vec<Range<usize>> {
    let end = bytes.max(1).next_multiple_of(page);
    let mut out = Vec::new();
    let mut at = 0;
    for &cut in cuts {
        let next = ((cut + page / 2) / page * page).clamp(at, end);
        out.push(at..next);
        at = next;
    }
    out.push(at..end);
    out
}

/// Size of the pages that all of these devices can map.
fn page_of(devices: &[driver::Device]) -> Result<usize, DeviceError> {
    let mut page = 1;
    for &device in devices {
        let mut least = 0;
        // SAFETY: plain query into a local.
        check("ask for the size of pages", unsafe {
            driver::cuMemGetAllocationGranularity(&mut least, &Properties::of(device), driver::LEAST_GRANULARITY)
        })?;
        page = page.max(least);
    }
    Ok(page)
}

/// Runs of pages that have bytes of the `kept` ranges, and of those that have none.
fn windows(n_pages: usize, kept: &[Range<usize>], page: usize) -> Vec<(bool, Range<usize>)> {
    let mut is_kept = vec![false; n_pages];
    for range in kept.iter().filter(|range| !range.is_empty()) {
        is_kept[(range.start / page).min(n_pages)..range.end.div_ceil(page).min(n_pages)].fill(true);
    }
    let mut at = 0;
    let runs = is_kept.chunk_by(|a, b| a == b);
    runs.map(|run| {
        at += run.len();
        (run[0], at - run.len()..at)
    })
    .collect()
}

/// A range of addresses, and the memory of several devices behind it.
#[derive(Debug)]
pub(super) struct Spread {
    devices: Vec<driver::Device>,
    start: Address,
    bytes: usize,
    mapped: Vec<(Range<usize>, driver::Memory)>,
    /// Memory of its own, which is released with it.
    owned: Vec<driver::Memory>,
}

// SAFETY: addresses and handles that the driver lets any thread use.
unsafe impl Send for Spread {}

impl Spread {
    /// Memory for `bytes` bytes, cut between the devices at `cuts`, as far as pages allow. All devices may read and write it.
    ///
    /// # Errors
    /// A device has too little memory, or the driver cannot map it.
    pub fn new(ordinals: &[u32], bytes: usize, cuts: &[usize]) -> Result<Self, DeviceError> {
        let devices = ordinals.iter().map(|&ordinal| find_device(ordinal)).collect::<Result<Vec<_>, _>>()?;
        let page = page_of(&devices)?;
        let shares = shares(bytes, cuts, page);
        let mut out = Self::reserve(devices.clone(), shares.last().map_or(page, |share| share.end))?;
        for (&device, share) in devices.iter().zip(shares).filter(|(_, share)| !share.is_empty()) {
            let memory = out.create(device, share.len())?;
            out.map(share, memory)?;
        }
        out.open()?;
        Ok(out)
    }

    /// Memory of one device for some of `bytes` bytes: for the `kept` ranges, in whole pages. All other pages are one and the same, so
    /// that what is written there is lost and does no harm.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn window(ordinal: u32, bytes: usize, kept: &[Range<usize>]) -> Result<Self, DeviceError> {
        let device = find_device(ordinal)?;
        let page = page_of(&[device])?;
        let mut out = Self::reserve(vec![device], bytes.max(1).next_multiple_of(page))?;
        let mut lost = None;
        for (is_kept, pages) in windows(out.bytes / page, kept, page) {
            if is_kept {
                let memory = out.create(device, pages.len() * page)?;
                out.map(pages.start * page..pages.end * page, memory)?;
                continue;
            }
            let memory = match lost {
                Some(memory) => memory,
                None => out.create(device, page)?,
            };
            lost = Some(memory);
            for at in pages {
                out.map(at * page..(at + 1) * page, memory)?;
            }
        }
        out.open()?;
        Ok(out)
    }

    /// Memory of a device that goes with this range.
    fn create(&mut self, device: driver::Device, bytes: usize) -> Result<driver::Memory, DeviceError> {
        let mut memory = 0;
        // SAFETY: the handle is kept for `drop`.
        check("allocate memory", unsafe { driver::cuMemCreate(&mut memory, bytes, &Properties::of(device), 0) })?;
        self.owned.push(memory);
        Ok(memory)
    }

    /// A second range for the memory of two ranges that are cut at the same places: of each device first what it has of
    /// `one`, then what it has of `other`. What is written here is seen there by launches that start later.
    ///
    /// # Errors
    /// The driver cannot map it.
    pub fn joined(one: &Self, other: &Self) -> Result<Self, DeviceError> {
        let mut out = Self::reserve(one.devices.clone(), one.bytes + other.bytes)?;
        let mut at = 0;
        for (share, memory) in one.mapped.iter().zip(&other.mapped).flat_map(|(one, other)| [one, other]) {
            out.map(at..at + share.len(), *memory)?;
            at += share.len();
        }
        out.open()?;
        Ok(out)
    }

    /// Addresses without memory.
    fn reserve(devices: Vec<driver::Device>, bytes: usize) -> Result<Self, DeviceError> {
        let mut start = 0;
        // SAFETY: the range is kept for `drop`.
        check("reserve addresses", unsafe { driver::cuMemAddressReserve(&mut start, bytes, 0, 0, 0) })?;
        Ok(Self { devices, start, bytes, mapped: Vec::new(), owned: Vec::new() })
    }

    /// Puts memory behind a part of the range.
    fn map(&mut self, share: Range<usize>, memory: driver::Memory) -> Result<(), DeviceError> {
        let at = self.start + share.start as u64;
        // SAFETY: a part of the reserved range, to which nothing was mapped yet, and memory as long as that.
        check("map memory", unsafe { driver::cuMemMap(at, share.len(), 0, memory, 0) })?;
        if share.start > 0 {
            BORDERS.lock().unwrap_or_else(PoisonError::into_inner).insert(at);
        }
        self.mapped.push((share, memory));
        Ok(())
    }

    /// Lets all devices read and write the range.
    fn open(&self) -> Result<(), DeviceError> {
        let access: Vec<Access> = self.devices.iter().map(|&device| Access::of(device)).collect();
        // SAFETY: all of the range has memory.
        check("let devices reach memory of each other", unsafe {
            driver::cuMemSetAccess(self.start, self.bytes, access.as_ptr(), access.len())
        })
    }

    pub fn start(&self) -> Address {
        self.start
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        for (share, _) in &self.mapped {
            let at = self.start + share.start as u64;
            BORDERS.lock().unwrap_or_else(PoisonError::into_inner).remove(&at);
            // SAFETY: mapped by this type, not used again.
            let _ = unsafe { driver::cuMemUnmap(at, share.len()) };
        }
        // SAFETY: reserved and made by this type; nothing is mapped here any more, and other mappings keep the memory.
        unsafe {
            let _ = driver::cuMemAddressFree(self.start, self.bytes);
            for &memory in &self.owned {
                let _ = driver::cuMemRelease(memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_all_devices_cover_an_array_once() {
        for (bytes, cuts) in
            [(0, vec![0]), (1, vec![0]), (100, vec![50]), (1000, vec![300, 301, 900]), (64, vec![64, 64])]
        {
            let shares = shares(bytes, &cuts, 16);
            assert_eq!(shares.len(), cuts.len() + 1);
            assert_eq!(shares[0].start, 0);
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            assert!(shares.iter().all(|share| share.start % 16 == 0 && share.end % 16 == 0));
            let end = shares.last().unwrap().end;
            assert!(end >= bytes.max(1) && end < bytes + 16 + usize::from(bytes == 0), "{shares:?}");
            assert!(shares.iter().zip(&cuts).all(|(share, cut)| share.end.abs_diff(*cut) <= 16), "{shares:?}");
        }
    }

    #[test]
    fn pages_are_kept_where_a_range_needs_them() {
        assert_eq!(windows(4, &[], 16), [(false, 0..4)]);
        assert_eq!(windows(4, &[0..64, 0..0], 16), [(true, 0..4)]);
        assert_eq!(
            windows(6, &[20..20, 17..33, 80..81], 16),
            [(false, 0..1), (true, 1..3), (false, 3..5), (true, 5..6)]
        );
        assert_eq!(windows(2, &[30..500, 700..800], 16), [(false, 0..1), (true, 1..2)]);
    }

    #[test]
    fn copies_are_split_where_one_of_both_arrays_passes_to_another_device() {
        // Addresses that no driver gives.
        let start = 1 << 60;
        BORDERS.lock().unwrap().extend([start + 100, start + 400, start + 1000]);
        assert_eq!(pieces(&[start], 1000), [0..100, 100..400, 400..1000]);
        assert_eq!(pieces(&[start + 100], 300), vec![0..300]);
        assert_eq!(pieces(&[start + 50, start + 350], 100), [0..50, 50..100]);
        assert_eq!(pieces(&[start + 90, start + 350], 100), [0..10, 10..50, 50..100]);
        assert_eq!(pieces(&[7], 5), vec![0..5]);
        assert!(pieces(&[7], 0).is_empty());
    }
}
