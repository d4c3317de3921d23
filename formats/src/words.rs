//! Numbers in messages for people, and choices that people write as words.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 node`, `1,234 nodes`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n as u64), if n == 1 { "" } else { "s" })
}

/// `; there are A, B, C`, at most ten names: what a name that is not there could have been.
pub fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "; there are none".to_owned(),
        n if n > 10 => format!("; there are {} and {} more", names[..10].join(", "), n - 10),
        _ => format!("; there are {}", names.join(", ")),
    }
}

/// A value that people write as one of a few words, in a job and on the command line.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with what they mean. Where several words mean the same, the first one is shown.
    const WORDS: &'static [(&'static str, Self)];

    /// The value that a word means.
    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// The word for this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// A [`Choice`] as a job writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Word<T>(pub T);

impl<'de, T: Choice> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words<T>(PhantomData<T>);
        impl<T: Choice> Visitor<'_> for Words<T> {
            type Value = Word<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                write!(f, "one of {}", words.join(", "))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Word<T>, E> {
                T::named(text).map(Word).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Words(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_and_nouns_agree() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (100_000, "100,000")] {
            assert_eq!(grouped(n), text);
        }
        assert_eq!([0, 1, 2, 4321].map(|n| counted(n, "node")), ["0 nodes", "1 node", "2 nodes", "4,321 nodes"]);
    }
}
