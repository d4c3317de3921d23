//! Polynomial smoothing of A z = b.

use crate::simd::Real;

/// Factors (p, s λ) of step k = 1, 2, … of Chebyshev smoothing of the fourth kind (Lottes 2023, "Optimal polynomial
/// smoothers for multigrid V-cycles", Algorithm 1).
pub(crate) fn factors(k: usize) -> (f32, f32) {
    let k = k as f32;
    ((2.0 * k - 3.0) / (2.0 * k + 1.0), (8.0 * k - 4.0) / (2.0 * k + 1.0))
}

/// Weights of the steps that make the smoother best for a V-cycle (the same paper, Table 1); 1 for more than four steps.
pub(crate) fn weight(degree: usize, k: usize) -> f32 {
    const WEIGHTS: [&[f32]; 4] = [
        &[1.125],
        &[1.023_872_9, 1.264_089_1],
        &[1.008_425_4, 1.088_678_4, 1.337_531_3],
        &[1.003_913, 1.040_358, 1.148_635, 1.382_688_7],
    ];
    WEIGHTS.get(degree - 1).map_or(1.0, |weights| weights[k - 1])
}

/// A polynomial smoother as steps d ← p d + s D⁻¹ (b − A z), z ← z + w d.
///
/// No vector is stored for d: it is the difference between the iterate `z` and the one before it, `before`. That is so
/// for w = 1. Other weights are made good at the end by adding Σ (w − 1) d, which needs a vector `surplus`; of two steps
/// they are made good in the second.
#[derive(Debug, Clone)]
pub(crate) struct Smoother {
    /// p, s λ and w of each step.
    steps: Vec<[f64; 3]>,
}

impl Smoother {
    pub fn new(degree: usize, ratio: Option<f64>) -> Self {
        let Some(ratio) = ratio else {
            let step = |k| {
                let (p, s) = factors(k);
                [f64::from(p), f64::from(s), f64::from(weight(degree, k))]
            };
            return Self { steps: (1..=degree).map(step).collect() };
        };
        Self { steps: chebyshev(degree, ratio) }
    }

    /// Whether a vector `surplus` is needed.
    pub fn has_surplus(&self) -> bool {
        self.steps.len() > 2 && self.steps.iter().any(|step| step[2] != 1.0)
    }

    /// The steps for matrices with the largest eigenvalue `lambda` of D⁻¹ A, from 0 or from an iterate.
    pub fn steps<T: Real>(&self, lambda: f64, from_zero: bool) -> impl Iterator<Item = Step<T>> {
        let degree = self.steps.len();
        let first_weight = self.steps[0][2];
        (1..).zip(&self.steps).map(move |(k, &[p, s, w])| Step {
            k,
            degree,
            from_zero,
            p: T::from_f64(p),
            s: T::from_f64(s / lambda),
            first_weight: T::from_f64(first_weight),
            weight: T::from_f64(w),
            surplus: T::from_f64(w - 1.0),
        })
    }
}

/// p, s λ and w = 1 of Chebyshev steps on [λ / ratio, λ].
fn chebyshev(degree: usize, ratio: f64) -> Vec<[f64; 3]> {
    let (theta, delta) = (0.5 + 0.5 / ratio, 0.5 - 0.5 / ratio);
    let sigma = theta / delta;
    let mut rho = 1.0 / sigma;
    let mut steps = vec![[0.0, 1.0 / theta, 1.0]];
    for _ in 1..degree {
        let next = 1.0 / (2.0 * sigma - rho);
        steps.push([next * rho, 2.0 * next / delta, 1.0]);
        rho = next;
    }
    steps
}

/// Parts of the vectors of a smoothing step.
pub(crate) struct StepVectors<'a, T> {
    /// Diagonal of D⁻¹.
    pub inverse: &'a [T],
    pub b: &'a [T],
    /// A z; not read by the first step from 0.
    pub product: &'a [T],
    /// The iterate; not read by the first step from 0.
    pub z: &'a [T],
    /// The iterate before; it becomes the next one.
    pub before: &'a mut [T],
    /// Σ (w − 1) d, if the smoother has it.
    pub surplus: &'a mut [T],
}

/// One smoothing step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<T> {
    k: usize,
    degree: usize,
    from_zero: bool,
    p: T,
    s: T,
    first_weight: T,
    weight: T,
    /// Weight w − 1 of the surplus.
    surplus: T,
}

impl<T: Real> Step<T> {
    /// Whether the iterate is 0, so that A z is not needed.
    pub fn is_first_from_zero(&self) -> bool {
        self.from_zero && self.k == 1
    }

    /// The next iterate, in `before`, on parts of the vectors.
    #[inline(always)]
    pub fn advance(&self, vectors: StepVectors<T>) {
        let StepVectors { inverse, b, product, z, before, surplus } = vectors;
        let (n, s, p) = (before.len(), self.s, self.p);
        let only = if self.degree == 1 { self.weight } else { T::from_f64(1.0) };
        if self.is_first_from_zero() {
            assert!(inverse.len() == n && b.len() == n);
            (0..n).for_each(|i| before[i] = only * s * inverse[i] * b[i]);
            surplus.iter_mut().zip(&*before).for_each(|(surplus, &d)| *surplus = self.surplus * d);
            return;
        }
        assert!(inverse.len() == n && b.len() == n && product.len() == n && z.len() == n);
        let correction = |i: usize| s * inverse[i] * (b[i] - product[i]);
        if self.k == 1 {
            (0..n).for_each(|i| before[i] = z[i] + only * correction(i));
            surplus.iter_mut().enumerate().for_each(|(i, surplus)| *surplus = self.surplus * correction(i));
            return;
        }
        if self.from_zero && self.k == 2 {
            before.fill(T::default());
        }
        let d = |i: usize, before: T| p * (z[i] - before) + correction(i);
        surplus.iter_mut().enumerate().for_each(|(i, surplus)| *surplus += self.surplus * d(i, before[i]));
        if self.degree == 2 {
            // The first step was made with w = 1.
            let (first, last) = (self.first_weight, self.weight);
            (0..n).for_each(|i| before[i] = before[i] + first * (z[i] - before[i]) + last * d(i, before[i]));
        } else {
            (0..n).for_each(|i| before[i] = z[i] + d(i, before[i]));
        }
    }
}
