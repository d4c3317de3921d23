//! A model of explicit dynamics: absorbing layers, settings, and the whole.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use crate::dynamics::{
    Amplitude, Boundary, CopiedDisplacements, ElementHistoryRequest, FieldRequest, HistoryRequest, Increment,
    InitialVelocity, LinearConstraints, Load, Shot, Start, shots,
};
use crate::material::{Material, Section};
use crate::mesh::Mesh;
use crate::relaxation::{Fit, Relaxation};
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

/// Where a fluid touches a solid: faces that have a node of each at the same place, and ties. The pressure of the fluid acts on the solid,
/// and the solid's motion moves the fluid.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct Interface {
    /// Nodes of the fluid, a face each, padded with `u32::MAX`.
    pub fluid: Vec<[u32; 4]>,
    /// Nodes of the solid, in the same order.
    pub solid: Vec<[u32; 4]>,
    /// Element of the fluid that has the face.
    pub elements: Vec<u32>,
    /// Where faces of fluids and solids are tied, whose nodes are not at the same places.
    pub ties: FluidTies,
}

/// Faces of fluids that `*TIE` joins to solids.
///
/// Each corner of a face has a part of its surface, A = ∫ N n dS. A node of a solid has a share w of that, and the area w A belongs
/// to both. Where the solid covers the face, the shares of a corner have the sum 1.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct FluidTies {
    /// Nodes of the fluid, a face each, padded with `u32::MAX`.
    pub faces: Vec<[u32; 4]>,
    /// Element of the fluid that has the face.
    pub elements: Vec<u32>,
    pub shares: Vec<TieShare>,
}

/// The part of a corner of a face of a fluid that belongs to a node of a solid.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq)]
pub struct TieShare {
    /// Index of the face among those of the ties.
    pub face: u32,
    /// Corner of the face, from 0.
    pub corner: u32,
    /// Node of the solid.
    pub solid: u32,
    /// w, 1.
    pub weight: f64,
}

impl FluidTies {
    /// Whether nothing is tied.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Nodes of fluids and solids, with repetitions.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        let of_fluids = self.faces.as_flattened().iter().filter(|node| **node != u32::MAX);
        of_fluids.copied().chain(self.shares.iter().map(|share| share.solid))
    }

    /// Replaces the nodes of faces, and leaves the padding.
    pub fn renumber_fluid(&mut self, new: impl Fn(u32) -> u32) {
        let nodes = self.faces.as_flattened_mut().iter_mut();
        nodes.filter(|node| **node != u32::MAX).for_each(|node| *node = new(*node));
    }
}

impl Interface {
    /// Whether no fluid shares a face with a solid.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Nodes of fluid and solid, a pair for each corner of each face that they share.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let corners = self.fluid.as_flattened().iter().zip(self.solid.as_flattened());
        corners.filter(|(fluid, _)| **fluid != u32::MAX).map(|(&fluid, &solid)| (fluid, solid))
    }

    /// Replaces node indices, and leaves the padding.
    pub fn renumber(&mut self, new_from_old: &[u32]) {
        let nodes = self.fluid.as_flattened_mut().iter_mut().chain(self.solid.as_flattened_mut());
        nodes.filter(|node| **node != u32::MAX).for_each(|node| *node = new_from_old[*node as usize]);
        self.ties.renumber_fluid(|node| new_from_old[node as usize]);
        self.ties.shares.iter_mut().for_each(|share| share.solid = new_from_old[share.solid as usize]);
    }
}

/// Faces on which dashpots take waves away (Lysmer and Kuhlemeyer, J. Eng. Mech. Div. ASCE 95, 1969): what would go on beyond
/// a face is replaced by the traction −Z v, with the impedance Z of plane waves along its normal.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ImpedanceBoundary {
    /// Unique name.
    pub name: String,
    /// Nodes of each face, padded with `u32::MAX`.
    pub faces: Vec<[u32; 4]>,
    /// The element that each face belongs to.
    pub elements: Vec<u32>,
    /// The section whose material lies beyond each face.
    pub sections: Vec<u32>,
}

/// How element masses go to nodes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lumping {
    /// Row sums of the consistent mass, ∫ ρ N dV.
    #[default]
    RowSum,
    /// Hinton, Rock and Zienkiewicz: the consistent diagonal, scaled to the element's mass.
    Hrz,
    /// Element mass over the number of nodes.
    Equal,
}

/// Settings of the explicit solver.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct ExplicitSettings {
    /// Length of the run, s.
    pub time: f64,
    /// Δt.
    pub increment: Increment,
    pub lumping: Lumping,
    pub start: Start,
}

/// Everything but the mesh: what a parametric study may change without a new block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
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
    pub impedances: Vec<ImpedanceBoundary>,
    pub histories: Vec<HistoryRequest>,
    pub element_histories: Vec<ElementHistoryRequest>,
    pub fields: Vec<FieldRequest>,
    /// Runs that differ in the sources that act; none is one run with all of them.
    pub shots: Vec<Shot>,
    /// Periodic sides.
    pub copied: CopiedDisplacements,
    /// Rows between displacements: equations, ties, rigid bodies.
    pub linear: LinearConstraints,
    /// Between fluids and solids.
    pub interface: Interface,
    /// What the relaxation mechanisms of materials have in common.
    pub relaxation: Option<Relaxation>,
    pub explicit: ExplicitSettings,
}

impl Setup {
    /// The relaxation mechanisms of a material; none where it has no attenuation.
    ///
    /// # Errors
    /// A message where there is no `[relaxation]` for it, or its attenuation cannot be met.
    pub fn relaxation_of(&self, material: &Material) -> Result<Option<Fit>, String> {
        match &self.relaxation {
            Some(relaxation) => relaxation.fit(material),
            None if material.attenuation.is_none() => Ok(None),
            None => Err("attenuation needs a [relaxation] table with a `band` of frequencies".to_owned()),
        }
    }

    /// Checks the shots.
    ///
    /// # Errors
    /// As [`shots::check`].
    pub fn check_shots(&self) -> Result<(), String> {
        shots::check(&self.shots, self.names_of_sources())
    }

    /// Names of all loads and constraints.
    pub fn names_of_sources(&self) -> impl Iterator<Item = &str> {
        let loads = self.loads.iter().map(|load| load.name.as_str());
        let held = self.boundaries.iter().chain(&self.linear.prescribed).map(|held| held.name.as_str());
        loads.chain(self.linear.loads.iter().map(|load| load.name.as_str())).chain(held)
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
        sources.reduce_to(&shots, &shots[shot])?;
        let mut massless = shots::Sources {
            amplitudes: &mut self.amplitudes,
            loads: &mut self.linear.loads,
            boundaries: &mut self.linear.prescribed,
        };
        massless.reduce_to(&shots, &shots[shot])
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
