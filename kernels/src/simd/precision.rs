use pogo_formats::words::Choice;

/// Floating-point format of the arrays that are stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Half the memory traffic; traces within about 1e-6 of `F64` (5e-4 for bodies that fly freely).
    F32,
    /// The default: a result never depends on rounding unless the user asks for speed.
    #[default]
    F64,
}

impl Precision {
    /// Bytes of a number.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::F32 => 4.0,
            Self::F64 => 8.0,
        }
    }

    /// `f32` or `f64`.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl Choice for Precision {
    const WORDS: &'static [(&'static str, Self)] = &[("f32", Self::F32), ("f64", Self::F64)];
}
