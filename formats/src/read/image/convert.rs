//! Applies a material law to a stack, slab by slab: one is converted while the next is read.

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;

use super::compile::{BAD, Rounding, Rule};
use super::plan::{Plan, Sampling, Scratch, Window};
use super::sample::SampleType;
use super::voxel_grid::VoxelModuli;
use super::{ImageError, Stack};

/// Classes of 8 bits less void.
const MOST_CLASSES: usize = 255;

/// What was seen of a piece of a stack.
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

/// Looks at all moduli that a law gives: those that can be listed are; else, where the job asks for `classes`, their range
/// is cut into intervals; else voxels keep a modulus each.
pub(super) fn survey(
    stack: &mut Stack,
    plan: &Plan,
    rule: &Rule<'_>,
    classes: Option<usize>,
) -> Result<Option<Rounding>, ImageError> {
    let most = classes.unwrap_or(MOST_CLASSES);
    let list = |moduli: &HashSet<u32>| {
        let mut moduli: Vec<f32> = moduli.iter().map(|&bits| f32::from_bits(bits)).collect();
        moduli.sort_by(f32::total_cmp);
        Rounding::Exact(moduli)
    };
    let is_solid = |modulus: f32| modulus != 0.0 && !modulus.is_nan();
    if plan.sample.bytes() == 1
        && matches!(plan.sampling, Sampling::Direct | Sampling::Nearest(_) | Sampling::Majority(_))
    {
        let low = if plan.sample == SampleType::Int8 { -128 } else { 0 };
        let moduli = (low..low + 256).map(|stored| rule.modulus(f64::from(stored))).filter(|&m| is_solid(m));
        let moduli: HashSet<u32> = moduli.map(f32::to_bits).collect();
        if moduli.len() <= most {
            return Ok(Some(list(&moduli)));
        }
    }
    let mut moduli: HashSet<u32> = HashSet::new();
    let (mut least, mut greatest) = (f32::INFINITY, 0f32);
    let sampled = plan.before_majority();
    let [nx, ny, _] = sampled.out;
    for_each_slab(stack, &sampled, |window, layers| {
        let seen = (layers.start * ny..layers.end * ny)
            .into_par_iter()
            .fold(
                || (HashSet::new(), f32::INFINITY, 0f32, Vec::new(), Scratch::default()),
                |(mut moduli, mut least, mut greatest, mut values, mut scratch), row| {
                    values.resize(nx, 0.0);
                    sampled.values(window, row % ny, row / ny, &mut values, &mut scratch);
                    let mut last = 0u32;
                    for &stored in &values {
                        let modulus = rule.modulus(stored);
                        if is_solid(modulus) {
                            least = least.min(modulus);
                            greatest = greatest.max(modulus);
                            if modulus.to_bits() != last && moduli.len() <= most {
                                last = modulus.to_bits();
                                moduli.insert(last);
                            }
                        }
                    }
                    (moduli, least, greatest, values, scratch)
                },
            )
            .map(|(moduli, least, greatest, _, _)| (moduli, least, greatest))
            .reduce(
                || (HashSet::new(), f32::INFINITY, 0.0),
                |mut a, b| {
                    a.0.extend(b.0);
                    (a.0, a.1.min(b.1), a.2.max(b.2))
                },
            );
        if moduli.len() <= most {
            moduli.extend(seen.0);
        }
        least = least.min(seen.1);
        greatest = greatest.max(seen.2);
        Ok(moduli.len() <= most || classes.is_some())
    })?;
    Ok(match classes {
        _ if moduli.len() <= most => Some(list(&moduli)),
        Some(n) => Some(Rounding::Intervals { least, greatest, n }),
        None => None,
    })
}

/// A law made ready for a stack.
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
        if conversion.has_classes() && matches!(plan.sampling, Sampling::Direct | Sampling::Majority(_)) {
            conversion.lookup = match plan.sample {
                SampleType::Uint8 => Some((0..=u8::MAX).map(|s| conversion.class(f64::from(s))).collect()),
                SampleType::Int8 => Some((0..=u8::MAX).map(|s| conversion.class(f64::from(s as i8))).collect()),
                SampleType::Uint16 => Some((0..=u16::MAX).map(|s| conversion.class(f64::from(s))).collect()),
                SampleType::Int16 => Some((0..=u16::MAX).map(|s| conversion.class(f64::from(s as i16))).collect()),
                _ => None,
            };
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
            let mut class: Vec<u8> = Vec::new();
            class.try_reserve_exact(n).map_err(|_| stack.error(no_memory(1)))?;
            class.resize(n, 0);
            let values = self.fill(stack, &mut class, Self::class_row)?;
            let materials = match &self.rounding {
                None => self.rule.materials.clone(),
                Some(rounding) => rounding.materials(),
            };
            Ok((VoxelModuli::Classes { class, materials }, values))
        } else {
            let mut modulus: Vec<f32> = Vec::new();
            modulus.try_reserve_exact(n).map_err(|_| stack.error(no_memory(4)))?;
            modulus.resize(n, 0.0);
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
        for_each_slab(stack, self.plan, |window, layers| {
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
        macro_rules! range {
            ($type:ty, $samples:expr) => {{
                let samples = $samples.map(|b| <$type>::from_le_bytes(*b));
                let (low, high) =
                    samples.fold((<$type>::MAX, <$type>::MIN), |(low, high), s: $type| (low.min(s), high.max(s)));
                (f64::from(low), f64::from(high))
            }};
        }
        let (low, high) = if self.plan.sample.bytes() == 1 {
            let samples = bytes.as_chunks::<1>().0;
            if let Ok(lookup) = <&[u16; 256]>::try_from(lookup.as_slice()) {
                for (class, &[stored]) in out.iter_mut().zip(samples) {
                    let found = lookup[usize::from(stored)];
                    all |= found;
                    *class = found as u8;
                }
            }
            if self.plan.sample == SampleType::Int8 { range!(i8, samples.iter()) } else { range!(u8, samples.iter()) }
        } else {
            let samples = bytes.as_chunks::<2>().0;
            if let Ok(lookup) = <&[u16; 1 << 16]>::try_from(lookup.as_slice()) {
                for (class, &stored) in out.iter_mut().zip(samples) {
                    let found = lookup[usize::from(u16::from_le_bytes(stored))];
                    all |= found;
                    *class = found as u8;
                }
            }
            if self.plan.sample == SampleType::Int16 {
                range!(i16, samples.iter())
            } else {
                range!(u16, samples.iter())
            }
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

/// Rows that are worked on.
#[derive(Debug, Default)]
struct Rows {
    values: Vec<f64>,
    classes: Vec<u8>,
    scratch: Scratch,
}
