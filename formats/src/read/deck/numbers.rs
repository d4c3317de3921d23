//! Numbers as Fortran and Abaqus write them: `1.D-3`, `7.-1` (0.7), `.5`, `3.0e+000`.

/// Skips blanks and tabs.
pub(super) fn skip_blanks(bytes: &[u8], at: &mut usize) {
    while matches!(bytes.get(*at), Some(b' ' | b'\t' | b'\r')) {
        *at += 1;
    }
}

/// Reads an unsigned label at `at`; nothing where there is none or it exceeds 32 bits.
pub(super) fn scan_label(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let start = *at;
    let mut value = 0u64;
    while let Some(digit) = bytes.get(*at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value * 10 + u64::from(digit);
        if value > u64::from(u32::MAX) {
            return None;
        }
        *at += 1;
    }
    (*at > start).then_some(value as u32)
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Reads a real number at `at`, correctly rounded; nothing where there is none or it is not finite.
///
/// Up to 15 digits and powers of ten to 22 are exact in one operation; the rest goes to the standard library.
pub(super) fn scan_real(bytes: &[u8], at: &mut usize) -> Option<f64> {
    let start = *at;
    let negative = scan_sign(bytes, at);
    let mut mantissa = 0u64;
    let mut n_digits = 0usize;
    let mut significant = 0usize;
    let mut after_point = 0i64;
    let mut point = false;
    loop {
        match bytes.get(*at) {
            Some(b) if b.is_ascii_digit() => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(b - b'0'));
                n_digits += 1;
                significant += usize::from(mantissa != 0);
                after_point += i64::from(point);
            }
            Some(b'.') if !point => point = true,
            _ => break,
        }
        *at += 1;
    }
    if n_digits == 0 {
        return None;
    }
    let mantissa_end = *at;
    let exponent = scan_exponent(bytes, at)?;
    let power = exponent - after_point;
    let value = if significant <= 15 && (-22..=22).contains(&power) {
        let m = mantissa as f64;
        if power < 0 { m / POWERS[(-power) as usize] } else { m * POWERS[power as usize] }
    } else {
        let digits = std::str::from_utf8(bytes.get(start..mantissa_end)?).ok()?;
        let digits = digits.trim_start_matches(['+', '-']);
        format!("{digits}e{exponent}").parse().ok()?
    };
    value.is_finite().then_some(if negative { -value } else { value })
}

/// Passes over a sign; true for a minus.
fn scan_sign(bytes: &[u8], at: &mut usize) -> bool {
    let sign = bytes.get(*at);
    *at += usize::from(matches!(sign, Some(b'+' | b'-')));
    sign == Some(&b'-')
}

/// The exponent after a mantissa: `e5`, `D-3`, or a bare signed number; 0 where there is none.
fn scan_exponent(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let lettered = matches!(bytes.get(*at), Some(b'e' | b'E' | b'd' | b'D' | b'q' | b'Q'));
    if lettered {
        *at += 1;
    } else if !matches!(bytes.get(*at), Some(b'+' | b'-')) {
        return Some(0);
    }
    let negative = scan_sign(bytes, at);
    let mut value = 0i64;
    let mut n_digits = 0;
    while let Some(b) = bytes.get(*at).filter(|b| b.is_ascii_digit()) {
        value = (value * 10 + i64::from(b - b'0')).min(100_000);
        n_digits += 1;
        *at += 1;
    }
    (n_digits > 0).then_some(if negative { -value } else { value })
}

/// A whole field as a real number.
pub(super) fn real(field: &[u8]) -> Option<f64> {
    let mut at = 0;
    let value = scan_real(field, &mut at)?;
    (at == field.len()).then_some(value)
}

/// A whole field as a label or count.
pub(super) fn label(field: &[u8]) -> Option<u32> {
    let mut at = 0;
    let value = scan_label(field, &mut at)?;
    (at == field.len()).then_some(value)
}

/// A whole field as a count that some writers give as a real (`100.`).
pub(super) fn whole(field: &[u8]) -> Option<u32> {
    label(field).or_else(|| real(field).filter(|v| v.fract() == 0. && (0. ..4e9).contains(v)).map(|v| v as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fortran_forms() {
        for (text, value) in [
            ("1.D-3", 1e-3),
            ("7.-1", 0.7),
            ("2+3", 2e3),
            ("-.5", -0.5),
            ("+1.", 1.),
            ("3.535534e-001", 3.535534e-1),
            ("1E5", 1e5),
            ("0", 0.),
            ("0.00000000000000000000000000001", 1e-29),
            ("123456789012345678901234567890", 123456789012345678901234567890.),
            ("0.1234567890123456789", 0.123_456_789_012_345_68),
        ] {
            assert_eq!(real(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", ".", "-", "e5", "1e", "1.2.3", "nan", "inf", "1e999", "0x1", "1 2", "<A>"] {
            assert_eq!(real(text.as_bytes()), None, "{text}");
        }
        assert_eq!(label(b"4294967295"), Some(u32::MAX));
        assert_eq!(label(b"4294967296"), None);
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO, digits in 0usize..18) {
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:.digits$e}")] {
                prop_assert_eq!(real(text.as_bytes()), Some(text.parse::<f64>().unwrap()));
            }
        }
    }
}
