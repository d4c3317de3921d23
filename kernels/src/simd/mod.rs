//! Numbers, registers of them, and the instruction sets that kernels are compiled for.
//!
//! A kernel is written once, generic over an `InstructionSet`, and marked `#[inline(always)]`. `Level::run` compiles it
//! for each instruction set and calls the form of the given level. Arithmetic goes through `Lanes`: the registers of
//! x86-64 (`x86`), or arrays of numbers (`Array`) that the compiler lays out in registers itself.
//!
//! No multiplication and addition are fused but those written as `Lanes::fma`, so a kernel without them gives the same
//! bits at every level.

mod lanes;
mod precision;
mod real;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::marker::PhantomData;
use std::sync::OnceLock;

pub(crate) use lanes::{Array, Index, Lanes, Records, ScatterLanes, prefetch};
pub use precision::Precision;
pub use real::Real;
pub(crate) use real::{same_numbers, same_numbers_mut, same_value, same_value_mut};

/// An instruction set that this machine has.
///
/// There is no other way to a level than [`Level::detect`], [`Level::available`] and [`Level::PORTABLE`]: whoever has one
/// may run the code compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// What every machine has.
    pub const PORTABLE: Self = Self(Set::Portable);

    /// The best level of this machine.
    #[inline]
    pub fn detect() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::PORTABLE))
    }

    /// All levels of this machine, the best last.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("popcnt") {
                levels.push(Self(Set::Avx2));
                if has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq") {
                    levels.push(Self(Set::Avx512));
                }
            }
        }
        levels
    }

    /// AVX-512 with VL, BW and DQ, beside AVX2, FMA and POPCNT.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn has_avx512(self) -> bool {
        self.0 == Set::Avx512
    }

    /// Runs a kernel, compiled for this level.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Set::Portable => kernel.run::<Portable>(),
            // SAFETY: the machine has the instructions of every level that was made.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { run_avx512(kernel) },
        }
    }

    /// Numbers in one of [`InstructionSet::Wide`].
    pub(crate) fn wide_lanes<T: Real>(self) -> usize {
        self.lanes::<T>()[0]
    }

    /// Numbers in one of [`InstructionSet::Narrow`].
    pub(crate) fn narrow_lanes<T: Real>(self) -> usize {
        self.lanes::<T>()[1]
    }

    fn lanes<T: Real>(self) -> [usize; 2] {
        struct Count<T>(PhantomData<T>);
        impl<T: Real> Kernel for Count<T> {
            type Output = [usize; 2];
            #[inline(always)]
            fn run<I: InstructionSet>(self) -> [usize; 2] {
                [I::Wide::<T>::N, I::Narrow::<T>::N]
            }
        }
        self.run(Count::<T>(PhantomData))
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,popcnt")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

/// Code that [`Level::run`] compiles for each instruction set.
pub(crate) trait Kernel {
    type Output;
    /// Must be `#[inline(always)]`, as all that it calls in its loops: else they are not compiled for the instruction set.
    fn run<I: InstructionSet>(self) -> Self::Output;
}

/// An instruction set, as a type.
pub(crate) trait InstructionSet: Copy + Send + Sync + 'static {
    /// A product and a sum take one instruction.
    const FMA: bool;
    /// AVX-512 with VL, BW and DQ.
    const AVX512: bool;
    /// The widest registers.
    type Wide<T: Real>: Lanes<Scalar = T>;
    /// Registers of at most 256 bits: a record of four numbers fills a half or a whole of one.
    type Narrow<T: Real>: ScatterLanes<Scalar = T>;
}

/// No assumption about the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

impl InstructionSet for Portable {
    const FMA: bool = false;
    const AVX512: bool = false;
    type Wide<T: Real> = Array<T, 1, Self>;
    type Narrow<T: Real> = Array<T, 1, Self>;
}

/// x86-64 with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl InstructionSet for Avx2 {
    const FMA: bool = true;
    const AVX512: bool = false;
    type Wide<T: Real> = T::Avx2;
    type Narrow<T: Real> = T::Avx2;
}

/// x86-64 with AVX-512 F, VL, BW and DQ.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl InstructionSet for Avx512 {
    const FMA: bool = true;
    const AVX512: bool = true;
    type Wide<T: Real> = T::Avx512;
    type Narrow<T: Real> = T::Avx2;
}
