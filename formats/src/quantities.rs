//! Quantities that can be written. Their names, units, components and keywords stand here alone: jobs, decks, traces, fields
//! and listings take them from these tables.

// rkyv's derive writes undocumented twins of enums.
#![allow(missing_docs)]

use rkyv::{Archive, Deserialize, Serialize};

use crate::words::Choice;

/// A nodal quantity that can be traced.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodalQuantity {
    Displacement,
    Velocity,
    Acceleration,
    /// Reaction force.
    Reaction,
    /// Pressure of a fluid.
    Pressure,
}

/// An element quantity that can be traced: of the mean strain of the element, in global axes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementQuantity {
    /// σ; components 11, 22, 33, 12, 13, 23.
    Stress,
    /// ε with engineering shears; components as of the stress.
    Strain,
    /// Equivalent stress of von Mises.
    Mises,
    /// Strain energy a volume.
    EnergyDensity,
}

/// A field over the whole mesh.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldQuantity {
    Displacement,
    Velocity,
    Acceleration,
    /// σ at element centres.
    Stress,
    /// ε at element centres.
    Strain,
    /// Strain energy a volume at element centres.
    EnergyDensity,
    /// Pressure at the nodes of fluids; 0 at those of solids.
    Pressure,
}

/// Components of tensors, in Abaqus's order.
const TENSOR: &[&str] = &["11", "22", "33", "12", "13", "23"];

/// What is written of a traced quantity.
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// Abaqus's name without the component, which heads the columns.
    pub symbol: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// Names of the components behind the symbol.
    pub components: &'static [&'static str],
    /// Names in decks and jobs.
    pub keywords: &'static [&'static str],
}

impl NodalQuantity {
    pub const ALL: [Self; 5] = [Self::Displacement, Self::Velocity, Self::Acceleration, Self::Reaction, Self::Pressure];

    pub const fn traced(self) -> Traced {
        let (symbol, unit, keywords): (_, _, &[&str]) = match self {
            Self::Displacement => ("U", "m", &["U", "UT"]),
            Self::Velocity => ("V", "m/s", &["V", "VT"]),
            Self::Acceleration => ("A", "m/s^2", &["A", "AT"]),
            Self::Reaction => ("RF", "N", &["RF", "RT"]),
            Self::Pressure => ("POR", "Pa", &["POR"]),
        };
        let components: &[&str] = if matches!(self, Self::Pressure) { &[""] } else { &["1", "2", "3"] };
        Traced { symbol, unit, components, keywords }
    }

    /// How many components the quantity has in a mesh of a dimension.
    pub const fn n_components(self, dimension: u8) -> u8 {
        if matches!(self, Self::Pressure) { 1 } else { dimension }
    }

    /// The quantity and the component that a name such as `U` or `RF2` means, in capital letters.
    pub fn named(name: &str) -> Option<(Self, Option<u8>)> {
        let (keyword, component) = match name.as_bytes().last() {
            Some(digit @ b'1'..=b'3') => (&name[..name.len() - 1], Some(digit - b'1')),
            _ => (name, None),
        };
        let quantity = Self::ALL.into_iter().find(|quantity| quantity.traced().keywords.contains(&keyword))?;
        (quantity != Self::Pressure || component.is_none()).then_some((quantity, component))
    }
}

impl ElementQuantity {
    pub const ALL: [Self; 4] = [Self::Stress, Self::Strain, Self::Mises, Self::EnergyDensity];

    pub const fn traced(self) -> Traced {
        let (symbol, unit, components, keywords): (_, _, _, &[&str]) = match self {
            Self::Stress => ("S", "Pa", TENSOR, &["S"]),
            Self::Strain => ("E", "1", TENSOR, &["E", "LE", "NE"]),
            Self::Mises => ("MISES", "Pa", &[""] as &[&str], &["MISES"]),
            Self::EnergyDensity => ("SENER", "J/m^3", &[""] as &[&str], &["ENER", "SENER", "ELEDEN", "ESEDEN"]),
        };
        Traced { symbol, unit, components, keywords }
    }

    /// How many components the quantity has.
    pub const fn n_components(self) -> u8 {
        self.traced().components.len() as u8
    }

    /// The quantity and the component that a name such as `S` or `LE12` means, in capital letters.
    pub fn named(name: &str) -> Option<(Self, Option<u8>)> {
        let keyword = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let quantity = Self::ALL.into_iter().find(|quantity| quantity.traced().keywords.contains(&keyword))?;
        let component = &name[keyword.len()..];
        if component.is_empty() {
            return Some((quantity, None));
        }
        let component = quantity.traced().components.iter().position(|known| *known == component)?;
        Some((quantity, Some(component as u8)))
    }
}

impl Choice for FieldQuantity {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("displacement", Self::Displacement),
        ("velocity", Self::Velocity),
        ("acceleration", Self::Acceleration),
        ("stress", Self::Stress),
        ("strain", Self::Strain),
        ("energy_density", Self::EnergyDensity),
        ("pressure", Self::Pressure),
        ("U", Self::Displacement),
        ("V", Self::Velocity),
        ("A", Self::Acceleration),
        ("S", Self::Stress),
        ("E", Self::Strain),
        ("ENER", Self::EnergyDensity),
        ("POR", Self::Pressure),
    ];
}

impl FieldQuantity {
    pub const AT_NODES: [Self; 3] = [Self::Displacement, Self::Velocity, Self::Acceleration];
    pub const AT_ELEMENTS: [Self; 3] = [Self::Stress, Self::Strain, Self::EnergyDensity];

    /// Name of the array in files for ParaView.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Whether the quantity stands at nodes.
    pub const fn at_nodes(self) -> bool {
        matches!(self, Self::Displacement | Self::Velocity | Self::Acceleration | Self::Pressure)
    }

    /// Whether the quantity stands at nodes with one value for each dimension.
    pub const fn is_vector(self) -> bool {
        self.at_nodes() && !matches!(self, Self::Pressure)
    }

    /// Values for each element of a quantity that stands at elements.
    pub const fn n_components(self) -> usize {
        if matches!(self, Self::EnergyDensity) { 1 } else { 6 }
    }

    /// The field that a nodal variable of a deck asks for.
    pub const fn of_nodes(quantity: NodalQuantity) -> Option<Self> {
        match quantity {
            NodalQuantity::Displacement => Some(Self::Displacement),
            NodalQuantity::Velocity => Some(Self::Velocity),
            NodalQuantity::Acceleration => Some(Self::Acceleration),
            NodalQuantity::Reaction => None,
            NodalQuantity::Pressure => Some(Self::Pressure),
        }
    }

    /// The field that an element variable of a deck asks for, without its component.
    pub fn of_elements(keyword: &str) -> Option<Self> {
        match ElementQuantity::named(keyword) {
            Some((ElementQuantity::Stress | ElementQuantity::Mises, _)) => Some(Self::Stress),
            Some((ElementQuantity::Strain, _)) => Some(Self::Strain),
            Some((ElementQuantity::EnergyDensity, _)) => Some(Self::EnergyDensity),
            None => (keyword == "SP").then_some(Self::Stress),
        }
    }
}
