//! Values that a job may write in more than one way.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};

use super::check::{in_range, positive};
use crate::dynamics::NodalQuantity;
use crate::parameters::Range;
use crate::words::{Choice, Word};

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
#[allow(missing_docs)]
pub enum Components {
    /// As many as the mesh has dimensions.
    #[default]
    All,
    These(Vec<Component>),
}

/// One value, or a list of at least one: `key = 1.0` or `key = [1.0, 2.0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

/// Sides of the bounding box: axis 0, 1, 2 and whether it is the upper side.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(from = "List<Word<(u8, bool)>>")]
pub struct Sides(pub Vec<(u8, bool)>);

/// Nodal variables: quantity and component, or all components.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(from = "List<Variable>")]
pub struct Variables(pub Vec<(NodalQuantity, Option<u8>)>);

impl Default for Variables {
    fn default() -> Self {
        Self(vec![(NodalQuantity::Displacement, None)])
    }
}

impl Choice for (u8, bool) {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("xmin", (0, false)),
        ("xmax", (0, true)),
        ("ymin", (1, false)),
        ("ymax", (1, true)),
        ("zmin", (2, false)),
        ("zmax", (2, true)),
    ];
}

impl From<List<Word<(u8, bool)>>> for Sides {
    fn from(list: List<Word<(u8, bool)>>) -> Self {
        Self(list.0.into_iter().map(|Word(side)| side).collect())
    }
}

impl From<List<Variable>> for Variables {
    fn from(list: List<Variable>) -> Self {
        Self(list.0.into_iter().map(|Variable(quantity, component)| (quantity, component)).collect())
    }
}

impl IncrementValue {
    /// Checks an increment and the safety factor beside it.
    pub(crate) fn check(increment: Option<Self>, factor: Option<f64>) -> Result<(), String> {
        if let Some(Self::Seconds(increment)) = increment {
            positive("increment", Some(increment))?;
            if factor.is_some() {
                return Err("`increment_factor` goes with `increment = \"automatic\"`".to_owned());
            }
        }
        in_range("increment_factor", factor, Range::Fraction)
    }
}

impl Component {
    fn of<E: de::Error>(found: Option<u8>, text: impl fmt::Display) -> Result<Self, E> {
        found
            .map(Self)
            .ok_or_else(|| E::custom(format!("component {text} does not exist: write 1, 2, 3 or \"x\", \"y\", \"z\"")))
    }

    fn from_number<E: de::Error>(number: i64) -> Result<Self, E> {
        Self::of((1..=3).contains(&number).then(|| number as u8 - 1), number)
    }

    fn from_name<E: de::Error>(name: &str) -> Result<Self, E> {
        Self::of(
            ["x", "y", "z"].iter().position(|axis| *axis == name).map(|axis| axis as u8),
            format_args!("\"{name}\""),
        )
    }
}

/// Implements `Deserialize` by a visitor made of these methods.
macro_rules! visit {
    ($type:ty, $expecting:literal, { $($method:item)* }) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct V;
                impl<'de> serde::de::Visitor<'de> for V {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    $($method)*
                }
                deserializer.deserialize_any(V)
            }
        }
    };
}
pub(super) use visit;

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
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        ListVisitor(PhantomData).visit_seq(list).map(|List(components)| Components::These(components))
    }
});

/// A nodal variable, such as `"U"` or `"RF2"`.
struct Variable(NodalQuantity, Option<u8>);

visit!(Variable, "a variable such as \"U\" or \"RF2\"", {
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match NodalQuantity::named(&text.to_ascii_uppercase()) {
            Some((quantity, component)) => Ok(Variable(quantity, component)),
            None => Err(E::custom(format!(
                "variable \"{text}\" does not exist: write U, V, A or RF, with a component 1, 2, 3 or without, or POR"
            ))),
        }
    }
});

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of at least one value")
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<List<T>, E> {
        Ok(List(vec![T::deserialize(value.into_deserializer())?]))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<List<T>, E> {
        Ok(List(vec![T::deserialize(value.into_deserializer())?]))
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<List<T>, E> {
        Ok(List(vec![T::deserialize(value.into_deserializer())?]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        if values.is_empty() { Err(de::Error::invalid_length(0, &self)) } else { Ok(List(values)) }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}
