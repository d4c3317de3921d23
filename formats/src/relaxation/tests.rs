use super::*;
use crate::material::Elasticity;

fn material(attenuation: Attenuation) -> Material {
    // A compression wave of 2500 m/s.
    let elasticity = Elasticity::Isotropic { young: 5e9, poisson: 0.0 };
    Material { attenuation, ..Material::new("m", 800.0, elasticity) }
}

fn fit(relaxation: &Relaxation, attenuation: Attenuation) -> Result<Fit, String> {
    Ok(relaxation.fit(&material(attenuation))?.expect("there is attenuation"))
}

/// Q of M = M_U (1 − Σ Y ω_l/(ω_l + iω)), and √(M_U/ρ)/c: complex numbers by hand.
fn attained(relaxation: &Relaxation, strengths: &[f64], frequency: f64) -> (f64, f64) {
    let omega = TAU * frequency;
    let (mut real, mut imaginary) = (1.0, 0.0);
    for (strength, rate) in strengths.iter().zip(relaxation.rates()) {
        // ω_l/(ω_l + iω) = 1/(1 + ix).
        let x = omega / rate;
        real -= strength / (1.0 + x * x);
        imaginary += strength * x / (1.0 + x * x);
    }
    // Re 1/√m from half the angle.
    let (size, angle) = (real.hypot(imaginary), imaginary.atan2(real));
    (real / imaginary, (0.5 * angle).cos() / size.sqrt())
}

#[test]
fn a_constant_quality_factor_is_met() {
    for (band, mechanisms, quality, most) in [
        ([1e5, 1e6], 3, 50.0, 0.04),
        ([1e5, 1e6], 3, 8.0, 0.05),
        ([1e5, 1e6], 2, 50.0, 0.04),
        ([2e5, 6e5], 2, 50.0, 0.06),
        ([1e4, 1e6], 3, 200.0, 0.05),
    ] {
        let relaxation = Relaxation::new(band, Some(mechanisms), None);
        let found = fit(&relaxation, Attenuation::Quality(quality)).unwrap();
        let of_target = |i: usize| {
            let frequency = band[0] * (band[1] / band[0]).powf(i as f64 / 500.0);
            (attained(&relaxation, &found.strengths, frequency).0 / quality - 1.0).abs()
        };
        let worst = (0..=500).map(of_target).fold(0.0, f64::max);
        eprintln!("{band:?}, {mechanisms} mechanisms, Q {quality}: within {:.2} %", 100.0 * worst);
        assert!(worst < most && (found.deviation.0 / worst - 1.0).abs() < 0.05, "{worst} {found:?}");
        // The given moduli hold at the reference frequency.
        let (_, slowness) = attained(&relaxation, &found.strengths, (band[0] * band[1]).sqrt());
        assert!((found.unrelaxed.sqrt() / slowness - 1.0).abs() < 1e-12 && found.unrelaxed > 1.0);
    }
}

#[test]
fn a_table_of_decibels_is_met() {
    // α ∝ f^1.25: 1/Q = α c/(8.686 π f) ∝ f^0.25.
    let frequency = vec![1e5, 3e5, 1e6];
    let db_per_m: Vec<f64> = frequency.iter().map(|f: &f64| 30.0 * (f / 1e5).powf(1.25)).collect();
    let relaxation = Relaxation::new([1e5, 1e6], None, Some(2e5));
    let table = Attenuation::Table { frequency, db_per_m };
    let found = fit(&relaxation, table.clone()).unwrap();
    for f in [1e5, 2e5, 5e5, 1e6] {
        let expected = 20.0 * std::f64::consts::LOG10_E * PI * f / (30.0 * (f / 1e5f64).powf(1.25) * 2500.0);
        let (quality, _) = attained(&relaxation, &found.strengths, f);
        assert!((quality / expected - 1.0).abs() < 0.1, "{f}: {quality} {expected}");
    }
    assert!((attained(&relaxation, &found.strengths, 2e5).1 / found.unrelaxed.sqrt() - 1.0).abs() < 1e-12);
    let wide = Relaxation::new([1e4, 1e6], None, None);
    let said = fit(&wide, table).unwrap_err();
    assert!(said.contains("must cover the `band`"), "{said}");
}

#[test]
fn fits_are_the_best_without_negative_values() {
    // Attenuation that falls steeply: the best fit has a mechanism of strength 0.
    let relaxation = Relaxation::new([1e5, 4e5], None, None);
    let target = |f: f64| 0.02 * (1e5 / f).powf(0.9);
    let x = relaxation.strengths(target);
    assert!(x.contains(&0.0) && x.iter().all(|&x| x >= 0.0), "{x:?}");
    let error = |x: &[f64]| -> f64 {
        let of = |f: f64| {
            let [real, imaginary] = relaxation.modulus(x, f);
            // The linear form: Im m/q − Re m.
            imaginary / target(f) + 1.0 - real - 1.0
        };
        relaxation.spaced(30).map(|f| of(f).powi(2)).sum()
    };
    let best = error(&x);
    for i in 0..3 {
        for step in [-1e-4, 1e-4] {
            let mut other = x;
            other[i] = (other[i] + step).max(0.0);
            assert!(error(&other) >= best, "{x:?} {other:?}");
        }
    }
}

#[test]
fn what_cannot_be_met_is_refused() {
    let relaxation = Relaxation::new([1e5, 1e6], None, None);
    for (relaxation, attenuation, expected) in [
        (relaxation.clone(), Attenuation::Quality(0.3), "take a narrower `band`"),
        (Relaxation::new([1e3, 1e6], Some(2), None), Attenuation::Quality(50.0), "2 mechanisms miss Q by"),
        (relaxation.clone(), Attenuation::Quality(-1.0), "`quality_factor` must be above 0"),
        (relaxation.clone(), Attenuation::Quality(f64::NAN), "`quality_factor` must be above 0"),
        (Relaxation::new([1e6, 1e5], None, None), Attenuation::Quality(50.0), "the lower one first"),
        (Relaxation::new([1e5, 1e6], Some(4), None), Attenuation::Quality(50.0), "must be 2 or 3, not 4"),
        (Relaxation::new([1e5, 1e6], None, Some(0.0)), Attenuation::Quality(50.0), "`reference_frequency`"),
        (
            relaxation.clone(),
            Attenuation::Table { frequency: vec![1e5, 1e6], db_per_m: vec![1.0] },
            "as many values of `db_per_m`",
        ),
        (relaxation.clone(), Attenuation::Table { frequency: vec![1e6, 1e5], db_per_m: vec![1.0, 1.0] }, "must ascend"),
        (relaxation.clone(), Attenuation::Table { frequency: vec![1e5], db_per_m: vec![0.0] }, "must be above 0"),
    ] {
        let said = fit(&relaxation, attenuation).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(relaxation.fit(&material(Attenuation::None)), Ok(None));
    let mut water = material(Attenuation::Quality(50.0));
    water.elasticity = Elasticity::Fluid { bulk: 2e9 };
    assert!(relaxation.fit(&water).unwrap_err().contains("in solids"));
}
