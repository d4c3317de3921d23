//! Arrays on the device.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::time::Instant;

use super::context::{Gpu, Stream};
use super::driver::{self, Address};
use super::host::HostBuffer;
use super::spread::{Spread, pieces};
use super::values::{Plain, Pointer, plain_bytes, plain_bytes_mut};
use super::{DeviceError, check, finish_default_stream, staging};

/// An array on the device, or a part of one, which somebody else owns.
#[derive(Debug)]
pub(crate) struct Slice<T> {
    pointer: Address,
    len: usize,
    kind: PhantomData<T>,
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slice<T> {}

// SAFETY: an address of the device; the driver's calls are thread-safe.
unsafe impl<T: Send> Send for Slice<T> {}

impl<T: Plain> Slice<T> {
    /// Overwrites the first values; whatever is started afterwards, on any stream, finds them.
    ///
    /// # Panics
    /// If there are more values than the array holds.
    pub fn write(&self, values: &[T]) -> Result<(), DeviceError> {
        assert!(values.len() <= self.len, "more values than the array holds");
        if values.is_empty() {
            return Ok(());
        }
        let from = plain_bytes(values);
        for piece in pieces(&[self.pointer], from.len()) {
            let (to, from) = (self.pointer + piece.start as u64, &from[piece]);
            if staging::pays(from.len()) {
                staging::to_device(to, from)?;
                continue;
            }
            // SAFETY: both sides are as long as is copied.
            check("copy to the device", unsafe {
                driver::cuMemcpyHtoD_v2(to, from.as_ptr().cast::<c_void>(), from.len())
            })?;
        }
        finish_default_stream()
    }

    /// Copies the first values back.
    ///
    /// # Panics
    /// If more are asked for than the array holds.
    pub fn read(&self, values: &mut [T]) -> Result<(), DeviceError> {
        assert!(values.len() <= self.len, "more values than the array holds");
        if values.is_empty() {
            return Ok(());
        }
        self.read_pieces(plain_bytes_mut(values), |to, from| {
            if staging::pays(to.len()) { staging::from_device(to, from) } else { from_device(to, from) }
        })
    }

    /// Copies the first `len` values to memory that the device reaches.
    ///
    /// # Panics
    /// If either holds fewer.
    pub fn fetch(&self, to: &mut HostBuffer<T>, len: usize) -> Result<(), DeviceError> {
        assert!(len <= self.len, "more values than the array holds");
        self.read_pieces(plain_bytes_mut(&mut to.values_mut()[..len]), from_device)
    }

    fn read_pieces(
        &self,
        to: &mut [u8],
        copy: impl Fn(&mut [u8], Address) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let pieces = pieces(&[self.pointer], to.len());
        pieces.into_iter().try_for_each(|piece| copy(&mut to[piece.clone()], self.pointer + piece.start as u64))
    }

    /// Copies all values back.
    pub fn to_vec(self) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(&mut values)?;
        Ok(values)
    }

    /// Copies the first `len` values from another array, in the order of the stream.
    ///
    /// # Panics
    /// If either holds fewer.
    pub fn copy_from(&self, from: &Self, len: usize, stream: &Stream) -> Result<(), DeviceError> {
        assert!(len <= self.len && len <= from.len, "more values than the array holds");
        pieces(&[self.pointer, from.pointer], len * size_of::<T>()).into_iter().try_for_each(|piece| {
            let [to, from] = [self.pointer, from.pointer].map(|start| start + piece.start as u64);
            // SAFETY: both arrays are as long as is copied.
            check("copy on the device", unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, piece.len(), stream.handle()) })
        })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes all bits 0, in the order of the stream.
    pub fn clear(&self, stream: &Stream) -> Result<(), DeviceError> {
        pieces(&[self.pointer], self.len * size_of::<T>()).into_iter().try_for_each(|piece| {
            let at = self.pointer + piece.start as u64;
            // SAFETY: as long as is written.
            check("clear memory", unsafe { driver::cuMemsetD8Async(at, 0, piece.len(), stream.handle()) })
        })
    }

    /// The same memory as `len` values of another type, from value `first` on.
    ///
    /// # Panics
    /// If they do not lie inside.
    pub fn part<U: Plain>(&self, first: usize, len: usize) -> Slice<U> {
        assert!((first + len) * size_of::<U>() <= self.len * size_of::<T>(), "a part does not lie inside");
        Slice { pointer: self.pointer + (first * size_of::<U>()) as u64, len, kind: PhantomData }
    }

    /// Address on the device.
    pub fn pointer(&self) -> Address {
        self.pointer
    }

    /// Address as the kernels' structures hold it.
    pub fn at<P: Pointer<T>>(&self) -> P {
        P::from_address(self.pointer)
    }
}

/// Copies bytes from an address of the device.
fn from_device(to: &mut [u8], from: Address) -> Result<(), DeviceError> {
    // SAFETY: both sides are as long as is copied; any bytes are valid there.
    check("copy from the device", unsafe { driver::cuMemcpyDtoH_v2(to.as_mut_ptr().cast::<c_void>(), from, to.len()) })
}

/// An array on the device, or on several, that is freed when this is dropped.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    slice: Slice<T>,
    /// The memory of several devices.
    spread: Option<Spread>,
}

impl<T: Plain> Buffer<T> {
    /// `len` values, all bits 0.
    pub fn zeros(len: usize) -> Result<Self, DeviceError> {
        let bytes = len.max(1) * size_of::<T>();
        Self::allocate(len, bytes)?.cleared(bytes)
    }

    /// The same on several devices, the first of which is current; `cuts` are the first values on each of the others. Without
    /// cuts or other devices all lies on the current device.
    pub fn zeros_cut(len: usize, ordinals: &[u32], cuts: &[usize]) -> Result<Self, DeviceError> {
        if cuts.is_empty() || ordinals.len() < 2 {
            return Self::zeros(len);
        }
        Self::spread(len, ordinals, cuts)?.cleared(len * size_of::<T>())
    }

    /// A copy of a slice on several devices, as [`zeros_cut`](Self::zeros_cut) places it.
    pub fn of_cut(values: &[T], ordinals: &[u32], cuts: &[usize]) -> Result<Self, DeviceError> {
        if cuts.is_empty() || ordinals.len() < 2 {
            return Self::of(values);
        }
        let buffer = Self::spread(values.len(), ordinals, cuts)?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Memory of the device for some of `len` values: see [`Spread::window`].
    fn window(len: usize, ordinal: u32, kept: &[Range<usize>]) -> Result<Self, DeviceError> {
        let spread = Spread::window(ordinal, len * size_of::<T>(), kept)?;
        Ok(Self { slice: Slice { pointer: spread.start(), len, kind: PhantomData }, spread: Some(spread) })
    }

    fn spread(len: usize, ordinals: &[u32], cuts: &[usize]) -> Result<Self, DeviceError> {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut * size_of::<T>()).collect();
        let spread = Spread::new(ordinals, len * size_of::<T>(), &cuts)?;
        Ok(Self { slice: Slice { pointer: spread.start(), len, kind: PhantomData }, spread: Some(spread) })
    }

    /// The same with its first bytes 0.
    fn cleared(self, bytes: usize) -> Result<Self, DeviceError> {
        for piece in pieces(&[self.pointer], bytes) {
            // SAFETY: the memory is as long as is cleared.
            check("clear memory", unsafe { driver::cuMemsetD8_v2(self.pointer + piece.start as u64, 0, piece.len()) })?;
        }
        finish_default_stream()?;
        Ok(self)
    }

    /// A copy of a slice, which may lie in a mapped file.
    pub fn of(values: &[T]) -> Result<Self, DeviceError> {
        let buffer = Self::allocate(values.len(), size_of_val(values).max(size_of::<T>()))?;
        buffer.write(values)?;
        Ok(buffer)
    }

    fn allocate(len: usize, bytes: usize) -> Result<Self, DeviceError> {
        let mut pointer = 0;
        // SAFETY: the pointer is kept for `drop`.
        check("allocate memory", unsafe { driver::cuMemAlloc_v2(&mut pointer, bytes) })?;
        Ok(Self { slice: Slice { pointer, len, kind: PhantomData }, spread: None })
    }

    /// Makes room for at least `len` values; true if the array is new, and what it held is lost.
    pub fn grow(&mut self, len: usize) -> Result<bool, DeviceError> {
        if self.len >= len {
            return Ok(false);
        }
        *self = Self::zeros(len.next_power_of_two())?;
        Ok(true)
    }
}

impl<T> Deref for Buffer<T> {
    type Target = Slice<T>;

    fn deref(&self) -> &Slice<T> {
        &self.slice
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.spread.is_none() {
            // SAFETY: allocated by this type, freed once. A lost device has freed everything already.
            let _ = unsafe { driver::cuMemFree_v2(self.slice.pointer) };
        }
    }
}

/// What the arrays of a solver take on a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryReport {
    /// Name and bytes of each array.
    pub arrays: Vec<(&'static str, u64)>,
}

impl MemoryReport {
    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        self.arrays.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl fmt::Display for MemoryReport {
    /// The largest arrays first, one a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arrays = self.arrays.clone();
        arrays.sort_by_key(|&(name, bytes)| (std::cmp::Reverse(bytes), name));
        for (name, bytes) in arrays {
            writeln!(f, "{name:24} {:12.3} MB", bytes as f64 / 1e6)?;
        }
        Ok(())
    }
}

/// The named arrays of a solver, freed together.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    arrays: Vec<(&'static str, Buffer<u8>)>,
    /// The devices that share arrays, if there are several.
    ordinals: Vec<u32>,
    /// The part that the only device computes, of several.
    part: Option<usize>,
    /// Bytes copied to the device, and how long that took, s.
    pub uploaded: u64,
    pub upload_seconds: f64,
}

impl Arena {
    /// For arrays of several devices.
    pub fn of_devices(ordinals: Vec<u32>) -> Self {
        Self { ordinals, ..Self::default() }
    }

    /// For arrays of a device of which it computes one part, of several.
    pub fn of_part(ordinal: u32, part: usize) -> Self {
        Self { ordinals: vec![ordinal], part: Some(part), ..Self::default() }
    }

    /// A copy of values, which may lie in a mapped file.
    pub fn copy<T: Plain>(&mut self, name: &'static str, values: &[T]) -> Result<Slice<T>, DeviceError> {
        self.copy_cut(name, values, &[])
    }

    /// The same on several devices; `cuts` are the first values on each device but the first. Without cuts all lies on the
    /// current device.
    pub fn copy_cut<T: Plain>(
        &mut self,
        name: &'static str,
        values: &[T],
        cuts: &[usize],
    ) -> Result<Slice<T>, DeviceError> {
        let start = Instant::now();
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut * size_of::<T>()).collect();
        let buffer = Buffer::of_cut(plain_bytes(values), &self.ordinals, &cuts)?;
        self.upload_seconds += start.elapsed().as_secs_f64();
        self.uploaded += size_of_val(values) as u64;
        Ok(self.keep(name, buffer, values.len()))
    }

    /// `len` values, all bits 0.
    pub fn zeros<T: Plain>(&mut self, name: &'static str, len: usize) -> Result<Slice<T>, DeviceError> {
        self.zeros_cut(name, len, &[])
    }

    /// The same on several devices, as [`copy_cut`](Self::copy_cut) places it.
    pub fn zeros_cut<T: Plain>(
        &mut self,
        name: &'static str,
        len: usize,
        cuts: &[usize],
    ) -> Result<Slice<T>, DeviceError> {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut * size_of::<T>()).collect();
        let buffer = Buffer::zeros_cut(len * size_of::<T>(), &self.ordinals, &cuts)?;
        Ok(self.keep(name, buffer, len))
    }

    /// As [`copy_cut`](Self::copy_cut), where a device with one part needs only the values of that.
    pub fn copy_own<T: Plain>(
        &mut self,
        name: &'static str,
        values: &[T],
        cuts: &[usize],
    ) -> Result<Slice<T>, DeviceError> {
        let Some(own) = self.own::<T>(values.len(), cuts) else { return self.copy_cut(name, values, cuts) };
        let window = self.window::<T>(values.len(), std::slice::from_ref(&own))?;
        let out = self.keep(name, window, values.len());
        out.part::<T>(own.start, own.len()).write(&values[own])?;
        Ok(out)
    }

    /// As [`zeros_cut`](Self::zeros_cut), where a device with one part needs only the values of that, and those of `further` ranges.
    pub fn zeros_own<T: Plain>(
        &mut self,
        name: &'static str,
        len: usize,
        cuts: &[usize],
        further: &[Range<usize>],
    ) -> Result<Slice<T>, DeviceError> {
        let Some(own) = self.own::<T>(len, cuts) else { return self.zeros_cut(name, len, cuts) };
        let kept: Vec<Range<usize>> = further.iter().cloned().chain([own]).collect();
        let window = self.window::<T>(len, &kept)?.cleared(len * size_of::<T>())?;
        Ok(self.keep(name, window, len))
    }

    /// Whether an array with these cuts lies on several devices, or in part on one.
    pub fn divides<T: Plain>(&self, len: usize, cuts: &[usize]) -> bool {
        /// Arrays of which a part takes no less than the whole, in whole pages.
        const SMALL: usize = 4 << 20;
        let large = self.part.is_some() && len * size_of::<T>() > SMALL;
        !cuts.is_empty() && (self.ordinals.len() > 1 || large)
    }

    /// The values of this device's part, of several; none where it needs all.
    fn own<T: Plain>(&self, len: usize, cuts: &[usize]) -> Option<Range<usize>> {
        let part = self.part.filter(|_| self.divides::<T>(len, cuts))?;
        let first = part.checked_sub(1).map_or(0, |before| cuts[before]);
        Some(first..cuts.get(part).copied().unwrap_or(len))
    }

    /// Memory for some of `len` values: see [`Spread::window`].
    fn window<T: Plain>(&self, len: usize, kept: &[Range<usize>]) -> Result<Buffer<u8>, DeviceError> {
        let size = size_of::<T>();
        let bytes: Vec<Range<usize>> = kept.iter().map(|range| size * range.start..size * range.end).collect();
        Buffer::window(len * size, self.ordinals[0], &bytes)
    }

    /// `len` values on several devices in the memory of two arrays that are cut alike: see [`Spread::joined`].
    ///
    /// # Panics
    /// If these are no arrays of several devices of this arena, or too short.
    pub fn joined<T: Plain, U: Plain>(
        &mut self,
        name: &'static str,
        len: usize,
        parts: [&Slice<U>; 2],
    ) -> Result<Slice<T>, DeviceError> {
        assert!(len * size_of::<T>() <= parts.iter().map(|part| part.len * size_of::<U>()).sum());
        let find = |part: &Slice<U>| self.arrays.iter().find(|(_, buffer)| buffer.pointer == part.pointer);
        let spread = |part: &Slice<U>| find(part).and_then(|(_, buffer)| buffer.spread.as_ref());
        let (Some(one), Some(other)) = (spread(parts[0]), spread(parts[1])) else {
            panic!("not arrays of several devices");
        };
        let spread = Spread::joined(one, other)?;
        // It has no bytes of its own.
        let slice = Slice { pointer: spread.start(), len: 0, kind: PhantomData };
        Ok(self.keep(name, Buffer { slice, spread: Some(spread) }, len))
    }

    fn keep<T>(&mut self, name: &'static str, buffer: Buffer<u8>, len: usize) -> Slice<T> {
        let slice = Slice { pointer: buffer.pointer, len, kind: PhantomData };
        self.arrays.push((name, buffer));
        slice
    }

    /// An array by its name.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn slice<T: Plain>(&self, name: &str) -> Slice<T> {
        let found = self.arrays.iter().find(|(of, _)| *of == name);
        let (_, buffer) = found.unwrap_or_else(|| panic!("there is no array `{name}` on the device"));
        buffer.part(0, buffer.len() / size_of::<T>())
    }

    /// Takes over the arrays of another.
    pub fn append(&mut self, mut other: Self) {
        self.arrays.append(&mut other.arrays);
        self.uploaded += other.uploaded;
        self.upload_seconds += other.upload_seconds;
    }

    pub fn report(&self) -> MemoryReport {
        MemoryReport { arrays: self.arrays.iter().map(|(name, buffer)| (*name, buffer.len() as u64)).collect() }
    }
}

/// A field of a structure `P` by its name, for [`Plan`].
macro_rules! field {
    ($($name:tt)+) => {
        (stringify!($($name)+), |params| &mut params.$($name)+)
    };
}
pub(crate) use field;

/// Where the address of an array goes in the structure that a kernel takes.
type Field<P, Q> = (&'static str, fn(&mut P) -> &mut Q);

enum Contents<'a> {
    Copy(&'a [u8]),
    Zeros(usize),
}

/// Puts an address into a structure `P`.
type SetAddress<'a, P> = Box<dyn FnOnce(&mut P, Address) + 'a>;

struct Planned<'a, P> {
    name: &'static str,
    contents: Contents<'a>,
    set: SetAddress<'a, P>,
}

/// Arrays that are listed first, so that their sizes are known, and then placed on a device together. The addresses go into a
/// structure `P` that a kernel takes.
pub(crate) struct Plan<'a, P> {
    arrays: Vec<Planned<'a, P>>,
}

impl<'a, P> Default for Plan<'a, P> {
    fn default() -> Self {
        Self { arrays: Vec::new() }
    }
}

impl<'a, P: 'a> Plan<'a, P> {
    fn add<Q: 'a>(&mut self, field: Field<P, Q>, contents: Contents<'a>, from: fn(Address) -> Q) {
        let (name, place) = field;
        let set = Box::new(move |params: &mut P, address| *place(params) = from(address));
        self.arrays.push(Planned { name, contents, set });
    }

    /// A copy of values, whose address goes into a field.
    pub fn copy<T: Plain, Q: Pointer<T> + 'a>(&mut self, field: Field<P, Q>, values: &'a [T]) {
        self.add(field, Contents::Copy(plain_bytes(values)), Q::from_address);
    }

    /// As [`copy`](Self::copy), but a null pointer where there are no values.
    pub fn copy_if_any<T: Plain, Q: Pointer<T> + 'a>(&mut self, field: Field<P, Q>, values: &'a [T]) {
        if !values.is_empty() {
            self.copy(field, values);
        }
    }

    /// `len` values with all bits 0, whose address goes into a field.
    pub fn zeros<T: Plain, Q: Pointer<T> + 'a>(&mut self, field: Field<P, Q>, len: usize) {
        self.add(field, Contents::Zeros(len * size_of::<T>()), Q::from_address);
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        let bytes = |planned: &Planned<P>| match planned.contents {
            Contents::Copy(bytes) => bytes.len() as u64,
            Contents::Zeros(bytes) => bytes as u64,
        };
        self.arrays.iter().map(bytes).sum()
    }

    /// Places all arrays in the memory of the host, for kernels that run there.
    #[cfg(test)]
    pub fn place_on_host(self, params: &mut P) -> Vec<Vec<u128>> {
        let place = |Planned { contents, set, .. }: Planned<'a, P>| {
            let (from, len) = match contents {
                Contents::Copy(bytes) => (bytes, bytes.len()),
                Contents::Zeros(len) => (&[][..], len),
            };
            let mut array = vec![0_u128; len.div_ceil(16) + 1];
            // SAFETY: as long as what is copied, and another array.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), array.as_mut_ptr().cast(), from.len()) };
            set(params, array.as_ptr() as Address);
            array
        };
        self.arrays.into_iter().map(place).collect()
    }

    /// Places all arrays, and sets their addresses.
    ///
    /// # Errors
    /// With `reserve` bytes more they do not fit; `advice` says what to use instead.
    pub fn place(self, gpu: &Gpu, reserve: u64, advice: &'static str, params: &mut P) -> Result<Arena, DeviceError> {
        gpu.require(self.bytes() + reserve, advice)?;
        let mut arena = Arena::default();
        for Planned { name, contents, set } in self.arrays {
            let slice = match contents {
                Contents::Copy(bytes) => arena.copy(name, bytes)?,
                Contents::Zeros(bytes) => arena.zeros::<u8>(name, bytes)?,
            };
            set(params, slice.pointer);
        }
        Ok(arena)
    }
}

/// Bytes a second, read and written, of the fastest of a few large copies inside the first device.
///
/// # Errors
/// No device, or too little memory on it.
pub fn copy_bandwidth() -> Result<f64, DeviceError> {
    const WORDS: usize = 1 << 28;
    let _gpu = Gpu::open(0)?;
    let stream = Stream::new()?;
    let (from, to) = (Buffer::<u32>::zeros(WORDS)?, Buffer::<u32>::zeros(WORDS)?);
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..20 {
            to.copy_from(&from, WORDS, &stream)?;
        }
        stream.synchronize()?;
        best = best.min(start.elapsed().as_secs_f64() / 20.0);
    }
    Ok(8.0 * WORDS as f64 / best)
}
