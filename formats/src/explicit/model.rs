//! A model of explicit dynamics: absorbing layers, settings, and the whole.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use crate::dynamics::{
    Amplitude, Boundary, ElementHistoryRequest, FieldRequest, HistoryRequest, Increment, InitialVelocity, Load, Shot,
    shots,
};
use crate::material::{Material, Section};
use crate::mesh::Mesh;
use rkyv::{Archive, Deserialize, Serialize};

/// How an absorbing layer damps. X is the depth fraction x/L of an element's centre, 0 at the inner face, 1 outside.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub enum AbsorbingProfile {
    /// α = d_max Xᵖ, p = 3 in the paper (Section 4.3).
    Damping {
        /// d_max, 1/s.
        d_max: f64,
        /// p.
        exponent: f64,
    },
    /// Stiffness reduction: α = 2πf X³, E′ = E exp(−a X³ k₀ X l), k₀ = 2πf/c, a = −ln(0.01)/(k₀ l).
    StiffnessReduction {
        /// f, Hz.
        frequency: f64,
        /// c, m/s.
        wave_speed: f64,
        /// l, m.
        thickness: f64,
    },
}

impl AbsorbingProfile {
    /// (α, E′/E) at a depth fraction X: the damping rate in 1/s that is added, and the factor on the stiffness.
    pub fn at(&self, depth: f64) -> (f64, f64) {
        match *self {
            Self::Damping { d_max, exponent } => (d_max * depth.max(0.0).powf(exponent), 1.0),
            Self::StiffnessReduction { frequency, wave_speed, thickness } => {
                let omega = std::f64::consts::TAU * frequency;
                let k0 = omega / wave_speed;
                let a = -(0.01f64.ln()) / (k0 * thickness);
                let cube = depth.powi(3);
                (omega * cube, (-a * cube * k0 * depth * thickness).exp())
            }
        }
    }
}

/// A region that absorbs waves.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct AbsorbingLayer {
    /// Unique name for overrides.
    pub name: String,
    pub elements: Vec<u32>,
    /// X of each of them, in [0, 1].
    pub depth_fraction: Vec<f64>,
    pub profile: AbsorbingProfile,
}

/// How element masses go to nodes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lumping {
    /// Row sums of the consistent mass, ∫ ρ N dV.
    RowSum,
    /// Hinton, Rock and Zienkiewicz: the consistent diagonal, scaled to the element's mass.
    Hrz,
    /// Element mass over the number of nodes.
    Equal,
}

/// Settings of the explicit solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ExplicitSettings {
    /// Length of the run, s.
    pub time: f64,
    /// Δt.
    pub increment: Increment,
    pub lumping: Lumping,
}

/// Everything but the mesh: what a parametric study may change without a new block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Setup {
    /// First line under `*HEADING`, or empty.
    pub title: String,
    pub materials: Vec<Material>,
    pub sections: Vec<Section>,
    pub amplitudes: Vec<Amplitude>,
    pub loads: Vec<Load>,
    pub boundaries: Vec<Boundary>,
    pub initial_velocities: Vec<InitialVelocity>,
    pub absorbing_layers: Vec<AbsorbingLayer>,
    pub histories: Vec<HistoryRequest>,
    pub element_histories: Vec<ElementHistoryRequest>,
    pub fields: Vec<FieldRequest>,
    /// Runs that differ in the sources that act; none is one run with all of them.
    pub shots: Vec<Shot>,
    pub explicit: ExplicitSettings,
}

impl Setup {
    /// Checks the shots.
    ///
    /// # Errors
    /// As [`shots::check`].
    pub fn check_shots(&self) -> Result<(), String> {
        let names = self.loads.iter().map(|load| load.name.as_str());
        shots::check(&self.shots, names.chain(self.boundaries.iter().map(|held| held.name.as_str())))
    }

    /// Leaves one shot of a setup whose shots have passed [`check_shots`](Self::check_shots).
    ///
    /// # Errors
    /// A source that is to be delayed and has no amplitude.
    pub fn reduce_to_shot(&mut self, shot: usize) -> Result<(), String> {
        let shots = std::mem::take(&mut self.shots);
        let mut sources = shots::Sources {
            amplitudes: &mut self.amplitudes,
            loads: &mut self.loads,
            boundaries: &mut self.boundaries,
        };
        sources.reduce_to(&shots, &shots[shot])
    }
}

/// A whole model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub mesh: Mesh,
    pub setup: Setup,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_their_laws() {
        let (alpha, factor) = AbsorbingProfile::Damping { d_max: 8.0, exponent: 3.0 }.at(0.5);
        assert_eq!((alpha, factor), (1.0, 1.0));
        let law = AbsorbingProfile::StiffnessReduction { frequency: 2.0, wave_speed: 7.0, thickness: 3.0 };
        let (alpha, factor) = law.at(1.0);
        assert!((alpha - 2.0 * std::f64::consts::TAU).abs() < 1e-12 && (factor - 0.01).abs() < 1e-14);
        assert_eq!(law.at(0.0), (0.0, 1.0));
    }
}
