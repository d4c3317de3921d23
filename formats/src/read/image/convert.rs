//! Applies a material law to a stack, slab by slab: one is converted while the next is read.

use std::collections::HashSet;
use std::ops::Range;

use super::compile::{BAD, Rounding, Rule};
use super::plan::{Plan, Sampling, Scratch, Window};
use super::sample::SampleType;
use super::voxel_grid::VoxelModuli;
use super::{ImageError, Stack};
use crate::memory::filled;
use crate::system::parallel::iterate::*;

/// Classes that 8 bits can number beside void.
const MOST_CLASSES: usize = 255;

/// The range of the stored values of a piece of a stack, and whether the law gives one of them no class or modulus.
#[derive(Debug, Clone, Copy)]
struct Seen {
    low: f64,
    high: f64,
    is_bad: bool,
}

impl Seen {
    const NOTHING: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, is_bad: false };

    fn and(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), is_bad: self.is_bad | other.is_bad }
    }

    fn values(values: &[f64]) -> Self {
        let mut seen = Self::NOTHING;
        for &value in values {
            seen.low = seen.low.min(value);
            seen.high = seen.high.max(value);
        }
        seen
    }

    fn range(self) -> Option<[f64; 2]> {
        (self.low <= self.high).then_some([self.low, self.high])
    }
}

/// Calls `convert` for slab after slab of the model's layers with what they are made of, until it says false. The next slab
/// is read meanwhile.
fn for_each_slab(
    stack: &mut Stack,
    plan: &Plan,
    mut convert: impl FnMut(&Window, Range<usize>) -> Result<bool, (usize, usize, usize, String)> + Send,
) -> Result<(), ImageError> {
    let (n, step) = (plan.out[2], plan.layers_at_a_time());
    let slab = |start: usize| start..(start + step).min(n);
    let (mut now, mut next) = (Window::default(), Window::default());
    plan.load(stack, slab(0), &Window::default(), &mut now)?;
    let mut start = 0;
    while start < n {
        let here = slab(start);
        let after = here.end;
        let (read, converted) = rayon::join(
            || if after < n { plan.load(stack, slab(after), &now, &mut next) } else { Ok(()) },
            || convert(&now, here),
        );
        match converted {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err((i, j, k, message)) => return Err(stack.error(format!("{} {message}", stack.name_voxel([i, j, k])))),
        }
        read?;
        std::mem::swap(&mut now, &mut next);
        start = after;
    }
    Ok(())
}

/// Different moduli of solid voxels, listed until there are more than `most`, and their range.
struct Moduli {
    most: usize,
    listed: HashSet<u32>,
    /// The bits of the modulus that was listed last: neighbours are mostly alike.
    last: u32,
    least: f32,
    greatest: f32,
}

impl Moduli {
    fn new(most: usize) -> Self {
        Self { most, listed: HashSet::new(), last: 0, least: f32::INFINITY, greatest: 0.0 }
    }

    fn add(&mut self, modulus: f32) {
        if modulus == 0.0 || modulus.is_nan() {
            return;
        }
        self.least = self.least.min(modulus);
        self.greatest = self.greatest.max(modulus);
        if modulus.to_bits() != self.last && self.are_few() {
            self.last = modulus.to_bits();
            self.listed.insert(self.last);
        }
    }

    fn and(mut self, other: Self) -> Self {
        if self.are_few() {
            self.listed.extend(other.listed);
        }
        Self { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest), ..self }
    }

    fn are_few(&self) -> bool {
        self.listed.len() <= self.most
    }

    fn list(&self) -> Rounding {
        let mut moduli: Vec<f32> = self.listed.iter().map(|&bits| f32::from_bits(bits)).collect();
        moduli.sort_by(f32::total_cmp);
        Rounding::Exact(moduli)
    }
}

/// Looks at all moduli that a law gives: those that can be listed are; else, where the job asks for `classes`, their range
/// is cut into intervals; else voxels keep a modulus each.
pub(super) fn survey(
    stack: &mut Stack,
    plan: &Plan,
    rule: &Rule<'_>,
    classes: Option<usize>,
) -> Result<Option<Rounding>, ImageError> {
    let most = classes.unwrap_or(MOST_CLASSES);
    if plan.sample.bytes() == 1
        && matches!(plan.sampling, Sampling::Direct | Sampling::Nearest(_) | Sampling::Majority(_))
    {
        let mut moduli = Moduli::new(most);
        (0..=u8::MAX).for_each(|bits| moduli.add(rule.modulus(plan.sample.stored(bits.into()))));
        if moduli.are_few() {
            return Ok(Some(moduli.list()));
        }
    }
    let mut moduli = Moduli::new(most);
    let sampled = plan.before_majority();
    let [nx, ny, _] = sampled.out;
    for_each_slab(stack, &sampled, |window, layers| {
        let of_row = |(mut moduli, mut rows): (Moduli, Rows), row: usize| {
            rows.values.resize(nx, 0.0);
            sampled.values(window, row % ny, row / ny, &mut rows.values, &mut rows.scratch);
            rows.values.iter().for_each(|&stored| moduli.add(rule.modulus(stored)));
            (moduli, rows)
        };
        let here = (layers.start * ny..layers.end * ny)
            .into_par_iter()
            .fold(|| (Moduli::new(most), Rows::default()), of_row)
            .map(|(moduli, _)| moduli)
            .reduce(|| Moduli::new(most), Moduli::and);
        let before = std::mem::replace(&mut moduli, Moduli::new(most));
        moduli = before.and(here);
        Ok(moduli.are_few() || classes.is_some())
    })?;
    Ok(match classes {
        _ if moduli.are_few() => Some(moduli.list()),
        Some(n) => Some(Rounding::Intervals { least: moduli.least, greatest: moduli.greatest, n }),
        None => None,
    })
}

/// The conversion of the values of a stack to classes or moduli.
pub(super) struct Conversion<'a> {
    plan: &'a Plan,
    rule: &'a Rule<'a>,
    rounding: Option<Rounding>,
    /// Class of every stored value of 8 or 16 bits, by its bits.
    lookup: Option<Vec<u16>>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(plan: &'a Plan, rule: &'a Rule<'a>, rounding: Option<Rounding>) -> Self {
        let mut conversion = Self { plan, rule, rounding, lookup: None };
        if conversion.has_classes()
            && plan.sample.bytes() <= 2
            && matches!(plan.sampling, Sampling::Direct | Sampling::Majority(_))
        {
            let last = if plan.sample.bytes() == 1 { u8::MAX.into() } else { u16::MAX };
            let classes = (0..=last).map(|bits| conversion.class(plan.sample.stored(bits)));
            conversion.lookup = Some(classes.collect());
        }
        conversion
    }

    fn has_classes(&self) -> bool {
        self.rule.is_table || self.rounding.is_some()
    }

    fn class(&self, stored: f64) -> u16 {
        match &self.rounding {
            None => self.rule.class(stored),
            Some(rounding) => rounding.class(self.rule.modulus(stored)),
        }
    }

    /// Reads the stack; gives the moduli by the axes of the file, and the range of stored values.
    pub(super) fn run(&self, stack: &mut Stack) -> Result<(VoxelModuli, Option<[f64; 2]>), ImageError> {
        let n = self.plan.out.iter().product();
        let no_memory = |bytes: usize| {
            format!("{n} voxels of {bytes} B do not fit in memory: crop or downsample the stack, or give `classes`")
        };
        if self.has_classes() {
            let mut class = filled(n, 0).map_err(|_| stack.error(no_memory(1)))?;
            let values = self.fill(stack, &mut class, Self::class_row)?;
            let materials = match &self.rounding {
                None => self.rule.materials.clone(),
                Some(rounding) => rounding.materials(),
            };
            Ok((VoxelModuli::Classes { class, materials }, values))
        } else {
            let mut modulus = filled(n, 0.0).map_err(|_| stack.error(no_memory(4)))?;
            let values = self.fill(stack, &mut modulus, Self::modulus_row)?;
            Ok((VoxelModuli::Each(modulus), values))
        }
    }

    /// Fills `out` row by row.
    fn fill<T: Send>(
        &self,
        stack: &mut Stack,
        out: &mut [T],
        convert: impl Fn(&Self, &Window, usize, usize, &mut [T], &mut Rows) -> Seen + Sync + Send,
    ) -> Result<Option<[f64; 2]>, ImageError> {
        let [nx, ny, _] = self.plan.out;
        let mut all = Seen::NOTHING;
        let not_finite = |([i, j, k], value): ([usize; 3], f64)| {
            (
                i,
                j,
                k,
                format!("of the stack has the value {value}: mend the image first, since no modulus follows from it"),
            )
        };
        for_each_slab(stack, self.plan, |window, layers| {
            if let Some(found) = self.plan.not_finite(window) {
                return Err(not_finite(found));
            }
            let slab = &mut out[layers.start * nx * ny..layers.end * nx * ny];
            let seen = slab
                .par_chunks_mut(nx)
                .enumerate()
                .map_init(Rows::default, |rows, (row, out)| {
                    convert(self, window, row % ny, layers.start + row / ny, out, rows)
                })
                .reduce(|| Seen::NOTHING, Seen::and);
            all = all.and(seen);
            if seen.is_bad { Err(self.find_bad(window, layers)) } else { Ok(true) }
        })?;
        Ok(all.range())
    }

    fn class_row(&self, window: &Window, j: usize, k: usize, out: &mut [u8], rows: &mut Rows) -> Seen {
        if let Sampling::Majority(factor) = self.plan.sampling {
            return self.majority_row(window, j, k, factor, out, rows);
        }
        if self.lookup.is_some() {
            return self.stored_row(window, j, k, out, rows);
        }
        let Rows { values, scratch, .. } = rows;
        values.resize(out.len(), 0.0);
        self.plan.values(window, j, k, values, scratch);
        self.classify(values, out)
    }

    fn classify(&self, values: &[f64], out: &mut [u8]) -> Seen {
        let mut seen = Seen::values(values);
        let mut all = 0;
        for (class, &stored) in out.iter_mut().zip(values) {
            let found = self.class(stored);
            all |= found;
            *class = found as u8;
        }
        seen.is_bad = all & BAD != 0;
        seen
    }

    /// Classes of row (j, k) of the kept voxels.
    fn stored_row(&self, window: &Window, j: usize, k: usize, out: &mut [u8], rows: &mut Rows) -> Seen {
        let bytes = self.plan.row(window, j, k);
        let Some(lookup) = &self.lookup else {
            rows.values.resize(out.len(), 0.0);
            self.plan.sample.decode(bytes, &mut rows.values);
            return self.classify(&rows.values, out);
        };
        let mut all = 0;
        macro_rules! look_up {
            ($type:ty, $bits:ty, $n:expr) => {{
                let samples = bytes.as_chunks::<{ size_of::<$type>() }>().0;
                if let Ok(lookup) = <&[u16; $n]>::try_from(lookup.as_slice()) {
                    for (class, &stored) in out.iter_mut().zip(samples) {
                        let found = lookup[usize::from(<$bits>::from_le_bytes(stored))];
                        all |= found;
                        *class = found as u8;
                    }
                }
                let samples = samples.iter().map(|b| <$type>::from_le_bytes(*b));
                let (low, high) =
                    samples.fold((<$type>::MAX, <$type>::MIN), |(low, high), s| (low.min(s), high.max(s)));
                (f64::from(low), f64::from(high))
            }};
        }
        let (low, high) = match self.plan.sample {
            SampleType::Uint8 => look_up!(u8, u8, 1 << 8),
            SampleType::Int8 => look_up!(i8, u8, 1 << 8),
            SampleType::Int16 => look_up!(i16, u16, 1 << 16),
            _ => look_up!(u16, u16, 1 << 16),
        };
        Seen { low, high, is_bad: all & BAD != 0 }
    }

    fn majority_row(
        &self,
        window: &Window,
        j: usize,
        k: usize,
        factor: usize,
        out: &mut [u8],
        rows: &mut Rows,
    ) -> Seen {
        let n = self.plan.kept[0];
        let mut classes = std::mem::take(&mut rows.classes);
        classes.resize(n * factor * factor, 0);
        let mut seen = Seen::NOTHING;
        for (at, row) in classes.chunks_exact_mut(n).enumerate() {
            seen = seen.and(self.stored_row(window, factor * j + at % factor, factor * k + at / factor, row, rows));
        }
        let mut counts = [0u32; 256];
        for (i, class) in out.iter_mut().enumerate() {
            let group = || classes.chunks_exact(n).flat_map(|row| &row[factor * i..factor * (i + 1)]);
            group().for_each(|&c| counts[usize::from(c)] += 1);
            // Of equals the lower class: void before solid.
            let mut best = 0u8;
            for &c in group() {
                let (count, most) = (counts[usize::from(c)], counts[usize::from(best)]);
                if count > most || (count == most && c < best) {
                    best = c;
                }
            }
            *class = best;
            group().for_each(|&c| counts[usize::from(c)] = 0);
        }
        rows.classes = classes;
        seen
    }

    fn modulus_row(&self, window: &Window, j: usize, k: usize, out: &mut [f32], rows: &mut Rows) -> Seen {
        let Rows { values, scratch, .. } = rows;
        values.resize(out.len(), 0.0);
        self.plan.values(window, j, k, values, scratch);
        let mut seen = Seen::values(values);
        for (modulus, &stored) in out.iter_mut().zip(&*values) {
            *modulus = self.rule.modulus(stored);
            seen.is_bad |= modulus.is_nan();
        }
        seen
    }

    /// The first voxel of a slab that the law has no answer for.
    fn find_bad(&self, window: &Window, layers: Range<usize>) -> (usize, usize, usize, String) {
        let factor = if let Sampling::Majority(factor) = self.plan.sampling { factor } else { 1 };
        let [nx, ny, _] = if factor > 1 { self.plan.kept } else { self.plan.out };
        let (mut values, mut scratch) = (vec![0.0; nx], Scratch::default());
        for k in layers.start * factor..layers.end * factor {
            for j in 0..ny {
                self.plan.values(window, j, k, &mut values, &mut scratch);
                let bad = values.iter().position(|&stored| {
                    if self.has_classes() { self.class(stored) & BAD != 0 } else { self.rule.modulus(stored).is_nan() }
                });
                if let Some(i) = bad {
                    return (i, j, k, self.rule.complain(values[i]));
                }
            }
        }
        (0, 0, layers.start, "or one near it has a value without a modulus".to_owned())
    }
}

/// The rows that a thread works on.
#[derive(Debug, Default)]
struct Rows {
    values: Vec<f64>,
    classes: Vec<u8>,
    scratch: Scratch,
}
