//! Values that a job may write in more than one way.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};

use super::Amplitude;
use crate::dynamics::NodalQuantity;

/// A time increment: seconds, or `"automatic"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IncrementValue {
    /// s.
    Seconds(f64),
    /// The largest stable increment times the safety factor.
    Automatic,
}

/// A component: 1, 2, 3 or `"x"`, `"y"`, `"z"`; stored as 0, 1, 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component(pub u8);

/// Components: one, a list, or `"all"` (which is also the default).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Components {
    /// As many as the mesh has dimensions.
    #[default]
    All,
    /// These.
    These(Vec<Component>),
}

/// Sides of the bounding box: axis 0, 1, 2 and whether the upper one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides(pub Vec<(u8, bool)>);

/// Nodal variables: quantity and component, or all components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variables(pub Vec<(NodalQuantity, Option<u8>)>);

impl Default for Variables {
    fn default() -> Self {
        Self(vec![(NodalQuantity::Displacement, None)])
    }
}

/// An amplitude by its name, or written in place.
#[derive(Debug, Clone, PartialEq)]
pub enum AmplitudeReference {
    /// Name of an amplitude of the jobs or of the deck.
    Name(String),
    /// Written in place.
    Inline(Box<Amplitude>),
}

impl Sides {
    fn parse(text: &str) -> Option<(u8, bool)> {
        Some(match text {
            "xmin" => (0, false),
            "xmax" => (0, true),
            "ymin" => (1, false),
            "ymax" => (1, true),
            "zmin" => (2, false),
            "zmax" => (2, true),
            _ => return None,
        })
    }
}

impl Component {
    fn from_number<E: de::Error>(number: i64) -> Result<Self, E> {
        match number {
            1..=3 => Ok(Self(number as u8 - 1)),
            _ => Err(E::custom(format!("component {number} does not exist: write 1, 2, 3 or \"x\", \"y\", \"z\""))),
        }
    }

    fn from_name<E: de::Error>(name: &str) -> Result<Self, E> {
        match name {
            "x" => Ok(Self(0)),
            "y" => Ok(Self(1)),
            "z" => Ok(Self(2)),
            _ => Err(E::custom(format!("component \"{name}\" does not exist: write 1, 2, 3 or \"x\", \"y\", \"z\""))),
        }
    }
}

impl Variables {
    fn parse<E: de::Error>(text: &str) -> Result<(NodalQuantity, Option<u8>), E> {
        let upper = text.to_ascii_uppercase();
        let (name, component) = match upper.as_bytes().last() {
            Some(digit @ b'1'..=b'3') => (&upper[..upper.len() - 1], Some(digit - b'1')),
            _ => (upper.as_str(), None),
        };
        let quantity = match name {
            "U" => NodalQuantity::Displacement,
            "V" => NodalQuantity::Velocity,
            "A" => NodalQuantity::Acceleration,
            "RF" => NodalQuantity::Reaction,
            _ => {
                return Err(E::custom(format!(
                    "variable \"{text}\" does not exist: write U, V, A or RF, with a component 1, 2, 3 or without"
                )));
            }
        };
        Ok((quantity, component))
    }
}

/// Implements `Deserialize` by a visitor made of these methods.
macro_rules! visit {
    ($type:ty, $expecting:literal, { $($method:item)* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct V;
                impl<'de> Visitor<'de> for V {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    $($method)*
                }
                deserializer.deserialize_any(V)
            }
        }
    };
}

visit!(IncrementValue, "a number of seconds or \"automatic\"", {
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(IncrementValue::Seconds(value))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(IncrementValue::Seconds(value as f64))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        match value {
            "automatic" => Ok(IncrementValue::Automatic),
            _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }
});

visit!(Component, "a component: 1, 2, 3 or \"x\", \"y\", \"z\"", {
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Component::from_number(value)
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Component::from_name(value)
    }
});

visit!(Components, "components: \"all\", one, or a list", {
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Components::These(vec![Component::from_number(value)?]))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        if value == "all" { Ok(Components::All) } else { Ok(Components::These(vec![Component::from_name(value)?])) }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut components = Vec::new();
        while let Some(component) = list.next_element()? {
            components.push(component);
        }
        if components.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(Components::These(components))
    }
});

visit!(Sides, "one or several of \"xmin\", \"xmax\", \"ymin\", \"ymax\", \"zmin\", \"zmax\"", {
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        match Sides::parse(value) {
            Some(side) => Ok(Sides(vec![side])),
            None => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut sides = Vec::new();
        while let Some(Sides(side)) = list.next_element()? {
            sides.extend(side);
        }
        if sides.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(Sides(sides))
    }
});

visit!(Variables, "variables such as \"U\" or [\"U2\", \"RF\"]", {
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Variables(vec![Variables::parse(value)?]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut variables = Vec::new();
        while let Some(Variables(variable)) = list.next_element()? {
            variables.extend(variable);
        }
        if variables.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(Variables(variables))
    }
});

visit!(AmplitudeReference, "the name of an amplitude, or { kind = … }", {
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(AmplitudeReference::Name(value.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let amplitude = Amplitude::deserialize(MapAccessDeserializer::new(map))?;
        Ok(AmplitudeReference::Inline(Box::new(amplitude)))
    }
});
