//! A model of explicit dynamics: materials, sections, absorbing layers, settings, and the whole.

// rkyv's derive writes undocumented twins of enum variants with named fields.
#![allow(missing_docs)]

use crate::dynamics::{
    Amplitude, Boundary, ElementHistoryRequest, FieldRequest, HistoryRequest, Increment, InitialVelocity, Load,
};
use crate::mesh::Mesh;
use rkyv::{Archive, Deserialize, Serialize};

/// Linear elasticity. Components in the material frame, Abaqus's Voigt order 11, 22, 33, 12, 13, 23 with engineering
/// shear strains.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Elasticity {
    /// Young's modulus E (Pa) and Poisson's ratio ν.
    Isotropic {
        /// E, Pa.
        young: f64,
        /// ν.
        poisson: f64,
    },
    /// E1, E2, E3, ν12, ν13, ν23, G12, G13, G23.
    EngineeringConstants([f64; 9]),
    /// D1111, D1122, D2222, D1133, D2233, D3333, D1212, D1313, D2323 (Pa).
    Orthotropic([f64; 9]),
    /// The 21 constants of `*ELASTIC, TYPE=ANISOTROPIC` in Abaqus's order (Pa).
    Anisotropic([f64; 21]),
}

/// A material.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Material {
    /// Name, as the deck writes it.
    pub name: String,
    /// ρ, kg/m³.
    pub density: f64,
    /// Stiffness.
    pub elasticity: Elasticity,
    /// Mass-proportional damping α in C = αM, 1/s.
    pub damping_alpha: f64,
}

/// What a region of elements is made of.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Section {
    /// The element set's name (with the instance in front where there are instances); unique.
    pub name: String,
    /// Index into [`Setup::materials`].
    pub material: u32,
    /// Rows are the material's 1, 2 and 3 axes in global components (row-major 3 × 3): v_material = R v_global.
    pub material_from_global: [f64; 9],
    /// Out-of-plane thickness of 2D elements, m; 1 in 3D.
    pub thickness: f64,
    /// Factor on the default hourglass stiffness of one-point elements; 1 unless `*SECTION CONTROLS` or
    /// `*HOURGLASS STIFFNESS` says otherwise.
    pub hourglass_factor: f64,
    /// `*FIXED MASS SCALING` factor on the density used for inertia; 1 by default.
    pub mass_factor: f64,
}

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

/// A region that absorbs waves.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct AbsorbingLayer {
    /// Unique name for overrides.
    pub name: String,
    /// Element indices.
    pub elements: Vec<u32>,
    /// X of each of them, in [0, 1].
    pub depth_fraction: Vec<f64>,
    /// Law.
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
    /// Mass lumping.
    pub lumping: Lumping,
}

/// Everything but the mesh: what a parametric study may change without a new block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Setup {
    /// First line under `*HEADING`, or empty.
    pub title: String,
    /// Materials.
    pub materials: Vec<Material>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Amplitudes.
    pub amplitudes: Vec<Amplitude>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Boundary conditions.
    pub boundaries: Vec<Boundary>,
    /// Velocities at t = 0.
    pub initial_velocities: Vec<InitialVelocity>,
    /// Absorbing layers.
    pub absorbing_layers: Vec<AbsorbingLayer>,
    /// Traces of nodes.
    pub histories: Vec<HistoryRequest>,
    /// Traces of elements.
    pub element_histories: Vec<ElementHistoryRequest>,
    /// Snapshots.
    pub fields: Vec<FieldRequest>,
    /// Solver settings.
    pub explicit: ExplicitSettings,
}

/// A whole model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Nodes, elements, sets.
    pub mesh: Mesh,
    /// Materials, loads, outputs, settings.
    pub setup: Setup,
}
