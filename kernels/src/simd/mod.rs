//! Numbers, registers of them, and the instructions that this machine has.

/// Instruction set that the step is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// No assumption.
    Portable,
    /// x86-64 with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The same lanes with the registers of AVX-512 VL, where that pays.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this machine has.
    pub fn detect() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    /// All that this machine has, the best last.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            levels.push(Self::Avx2);
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                levels.push(Self::Avx512);
            }
        }
        levels
    }
}
