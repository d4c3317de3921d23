//! The problem to solve, and when it counts as solved.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::BricksView;

use super::cube::{Cube, lame};

/// Young's modulus of each element.
#[derive(Debug, Clone, Copy)]
pub enum Moduli<'a> {
    /// Elements have classes, and each class has a modulus.
    Classes {
        /// Index into `young`, (n_elements,).
        class: &'a [u8],
        /// Young's modulus of each class, positive.
        young: &'a [f64],
    },
    /// Each element has a modulus of its own, positive.
    Each {
        /// Modulus of each element over `scale`, (n_elements,).
        modulus: &'a [f32],
        /// Factor of all moduli.
        scale: f64,
    },
}

impl Moduli<'_> {
    /// Young's modulus of element `e`.
    #[inline(always)]
    pub fn young(&self, e: usize) -> f64 {
        match *self {
            Self::Classes { class, young } => young[usize::from(class[e])],
            Self::Each { modulus, scale } => f64::from(modulus[e]) * scale,
        }
    }
}

/// Lamé's constants of a class of elements, over its Young's modulus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lame(pub(super) [f64; 2]);

impl Lame {
    /// Of Poisson's ratio ν in (−1, 0.5).
    pub fn new(poisson: f64) -> Self {
        Self(lame(poisson))
    }

    /// The stiffness of a cube of edge and modulus 1.
    pub(crate) fn cube(&self) -> Cube {
        Cube::of_lame(self.0)
    }
}

/// Poisson's ratio of each element.
#[derive(Debug, Clone, Copy)]
pub enum Ratios<'a> {
    /// That of all elements, in (−1, 0.5).
    One(f64),
    /// Those of the classes of [`Moduli::Classes`].
    Classes(&'a [Lame]),
}

/// Stiffness s_p of fine elements, by element and part p; see [`Voxels`].
pub(crate) type Stiffness<'a> = dyn Fn(usize, usize) -> f64 + Sync + 'a;

/// Voxels of one size with their stiffness.
///
/// The matrix of an element is a sum over *parts* p: s_p K_p with numbers s_p of the element and cubes K_p of all. Elements of
/// one Poisson's ratio ν have one part, s = E h and the cube of ν and of modulus 1. Others have two, s = λ h and s = μ h
/// with the cubes of λ = 1, μ = 0 and of λ = 0, μ = 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Voxels<'a> {
    pub bricks: BricksView<'a>,
    pub moduli: Moduli<'a>,
    pub ratios: Ratios<'a>,
    /// Edge of a voxel h.
    pub spacing: f64,
}

impl Voxels<'_> {
    /// s_p of element `e`.
    #[inline(always)]
    pub fn stiffness(&self, e: usize, part: usize) -> f64 {
        let stiffness = self.spacing * self.moduli.young(e);
        match (self.ratios, self.moduli) {
            (Ratios::Classes(lame), Moduli::Classes { class, .. }) => lame[usize::from(class[e])].0[part] * stiffness,
            _ => stiffness,
        }
    }

    /// Whether elements may differ in Poisson's ratio: the stiffness then has two parts.
    pub fn has_ratios(&self) -> bool {
        matches!(self.ratios, Ratios::Classes(_))
    }

    /// s_p of all parts of each class, one class after the other; none where each element has a modulus of its own.
    pub fn of_classes(&self) -> Vec<f64> {
        match (self.moduli, self.ratios) {
            (Moduli::Each { .. }, _) => Vec::new(),
            (Moduli::Classes { young, .. }, Ratios::One(_)) => young.iter().map(|young| young * self.spacing).collect(),
            (Moduli::Classes { young, .. }, Ratios::Classes(lame)) => young
                .iter()
                .zip(lame)
                .flat_map(|(young, lame)| lame.0.map(|part| part * (self.spacing * young)))
                .collect(),
        }
    }

    /// K_p of all parts.
    pub fn cubes(&self) -> Vec<Cube> {
        match self.ratios {
            Ratios::One(poisson) => vec![Cube::new(poisson)],
            Ratios::Classes(_) => vec![Cube::of_lame([1.0, 0.0]), Cube::of_lame([0.0, 1.0])],
        }
    }
}

/// A prescribed displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedDof {
    /// Index of the node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Displacement, in the unit of the edge length.
    pub value: f64,
}

impl FixedDof {
    /// Number of the degree of freedom, 3 node + direction.
    pub(crate) fn dof(&self) -> usize {
        3 * self.node as usize + usize::from(self.direction)
    }
}

/// A force on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodalForce {
    /// Index of the node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Force, modulus × length².
    pub value: f64,
}

impl NodalForce {
    /// Number of the degree of freedom, 3 node + direction.
    pub(crate) fn dof(&self) -> usize {
        3 * self.node as usize + usize::from(self.direction)
    }
}

/// One linear problem on a voxel mesh.
#[derive(Debug, Clone, Copy)]
pub struct StaticProblem<'a> {
    /// Elements and nodes of the mesh.
    pub bricks: BricksView<'a>,
    /// Young's moduli E.
    pub moduli: Moduli<'a>,
    /// Poisson's ratios ν.
    pub ratios: Ratios<'a>,
    /// Edge of a voxel h.
    pub spacing: f64,
    /// Prescribed displacements, ascending by node and direction, each degree of freedom at most once.
    pub fixed: &'a [FixedDof],
    /// Forces, ascending by node and direction, each degree of freedom at most once.
    pub forces: &'a [NodalForce],
}

impl<'a> StaticProblem<'a> {
    /// The voxels of the problem.
    pub(crate) fn voxels(&self) -> Voxels<'a> {
        let Self { bricks, moduli, ratios, spacing, .. } = *self;
        Voxels { bricks, moduli, ratios, spacing }
    }

    /// Poisson's ratio, if all elements have the same.
    pub(crate) fn one_ratio(&self) -> Option<f64> {
        if let Ratios::One(poisson) = self.ratios { Some(poisson) } else { None }
    }

    /// Upper bound of the rounding error in ‖f − K x‖ for displacements of size 1.
    pub(crate) fn rounding(&self) -> f64 {
        let size = |e: usize| match (self.ratios, self.moduli) {
            (Ratios::Classes(lame), Moduli::Classes { class, young }) => {
                let Lame([lambda, mu]) = lame[usize::from(class[e])];
                young[usize::from(class[e])] * (lambda.abs() + 2.0 * mu)
            }
            _ => self.moduli.young(e),
        };
        let sizes = (0..self.bricks.n_elements()).into_par_iter().map(size);
        1e-14 * (3.0 * self.bricks.n_nodes() as f64).sqrt() * self.spacing * sizes.reduce(|| 0.0, f64::max)
    }
}

/// When an iteration stops, and the unit in which it reports ‖r‖.
pub(crate) struct Stopping {
    /// ‖r‖ at which it stops.
    pub limit: f64,
    /// Relative residuals are ‖r‖ over this.
    pub unit: f64,
}

impl Stopping {
    /// Stops at `tolerance` ‖r₀‖. Where ‖r₀‖ is no more than the rounding error (see [`StaticProblem::rounding`]), the
    /// prescribed displacements themselves are the solution; their relative residual is 0.
    pub fn new(norm0: f64, tolerance: f64, rounding: f64, fixed: &[FixedDof]) -> Self {
        let negligible = rounding * fixed.iter().fold(0.0_f64, |most, dof| most.max(dof.value.abs()));
        if norm0 > negligible {
            Self { limit: tolerance * norm0, unit: norm0 }
        } else {
            Self { limit: negligible, unit: f64::INFINITY }
        }
    }
}
