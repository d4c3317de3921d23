//! `*MATERIAL`: `*DENSITY`, `*ELASTIC`, `*ACOUSTIC MEDIUM`, `*DAMPING`.

use super::DeckMaterial;
use super::data::{first_number, numbers};
use super::keywords::IgnoreList;
use super::lexer::{Card, Place};
use super::log::Log;
use super::numbers::real;
use super::raw::RawMaterial;
use crate::material::Elasticity;

/// A material of which nothing is known, named at a place.
pub(super) fn empty_material(name: &str, place: Place, log: &Log) -> DeckMaterial {
    let (name, file) = (name.to_owned(), log.file(place));
    DeckMaterial {
        name,
        file,
        line: place.line,
        density: None,
        elasticity: None,
        damping_alpha: 0.,
        damping_beta: 0.0,
        attenuation: Default::default(),
    }
}

/// A material from its cards. Where TEMPERATURE is ignored, the first entry of a table by temperature counts.
pub(super) fn material(raw: &RawMaterial, ignore: &IgnoreList, log: &mut Log) -> DeckMaterial {
    let mut material = empty_material(&raw.name, raw.place, log);
    for (at, card) in raw.cards.iter().enumerate() {
        if raw.cards[..at].iter().any(|before| before.keyword.key == card.keyword.key) {
            let text = format!("*{} stands twice in material `{}`", card.keyword.name, raw.name);
            log.error(card.keyword.place, text);
        }
        if card.keyword.has("DEPENDENCIES") && !ignore.covers(&["TEMPERATURE"]) {
            let text = format!("*{} depends on field variables: give constants", card.keyword.name);
            log.error(card.keyword.place, text + "; --ignore TEMPERATURE takes the first entry");
        }
        match card.keyword.key.as_str() {
            "DENSITY" => material.density = density(card, ignore, log),
            "ELASTIC" | "ACOUSTICMEDIUM" if material.elasticity.is_some() => {
                let text = "is a solid and a fluid: give *ELASTIC or *ACOUSTIC MEDIUM, and elements of two kinds two materials";
                log.error(card.keyword.place, format!("material `{}` {text}", raw.name));
            }
            "ELASTIC" => material.elasticity = elasticity(card, ignore, log),
            "ACOUSTICMEDIUM" => material.elasticity = fluid(card, ignore, log),
            _ => [material.damping_alpha, material.damping_beta] = damping(card, log),
        }
    }
    material
}

fn density(card: &Card, ignore: &IgnoreList, log: &mut Log) -> Option<f64> {
    check_temperature(card, card.data.len() > 1, ignore, log);
    let density = first_number(card, log).filter(|density| *density > 0.);
    if density.is_none() {
        log.error(card.keyword.place, "*DENSITY needs a positive density");
    }
    density
}

fn elasticity(card: &Card, ignore: &IgnoreList, log: &mut Log) -> Option<Elasticity> {
    let lines = numbers(card, log);
    let place = card.keyword.place;
    let word = card.keyword.word("TYPE");
    let kind = ["ISOTROPIC", "ENGINEERINGCONSTANTS", "ORTHOTROPIC", "ANISOTROPIC"]
        .into_iter()
        .find(|name| (word.is_empty() && *name == "ISOTROPIC") || (word.len() >= 3 && name.starts_with(word.as_str())));
    let Some(kind) = kind else {
        let text = format!("*ELASTIC, TYPE={} is not supported", card.keyword.get("TYPE").unwrap_or_default());
        if word != "TRACTION" {
            log.error(place, text + ": ISOTROPIC, ENGINEERING CONSTANTS, ORTHOTROPIC or ANISOTROPIC");
        } else if !ignore.covers(&["COHESIVE SECTION"]) {
            log.error(place, text + "; --ignore \"COHESIVE SECTION\" leaves it out with the cohesive elements");
        }
        return None;
    };
    let (n_lines, n_values) = match kind {
        "ISOTROPIC" => (1, 2),
        "ANISOTROPIC" => (3, 21),
        _ => (2, 9),
    };
    let mut values: Vec<f64> = lines.iter().take(n_lines).flatten().copied().collect();
    if kind == "ISOTROPIC" && values.len() == 1 {
        values.push(0.);
        log.note(place, "*ELASTIC has no Poisson's ratio: ν = 0");
    }
    if values.len() < n_values {
        log.error(place, format!("*ELASTIC, TYPE={kind} needs {n_values} constants and has {}", values.len()));
        return None;
    }
    check_temperature(card, lines.len() > n_lines, ignore, log);
    if values.len() > n_values {
        let text = format!("the field behind its {n_values} constants ({}) is without effect", values[n_values]);
        log.note(place, format!("*ELASTIC, TYPE={kind}: {text}"));
    }
    let elasticity = match kind {
        "ISOTROPIC" => {
            let (young, poisson) = (values[0], values[1]);
            if !(young > 0. && poisson > -1. && poisson < 0.5) {
                log.error(place, format!("E = {young} and ν = {poisson}: E > 0 and -1 < ν < 0.5 are needed"));
                return None;
            }
            Some(Elasticity::Isotropic { young, poisson })
        }
        "ENGINEERINGCONSTANTS" => values[..9].try_into().ok().map(Elasticity::EngineeringConstants),
        "ORTHOTROPIC" => values[..9].try_into().ok().map(Elasticity::Orthotropic),
        _ => values[..21].try_into().ok().map(Elasticity::Anisotropic),
    };
    if elasticity.as_ref().is_some_and(|e| e.matrix().is_none()) {
        let text = "the stiffness is not positive definite (it would create energy)";
        log.error(place, format!("*ELASTIC, TYPE={kind}: {text}"));
    }
    elasticity
}

/// The bulk modulus of `*ACOUSTIC MEDIUM`, real and constant.
fn fluid(card: &Card, ignore: &IgnoreList, log: &mut Log) -> Option<Elasticity> {
    let place = card.keyword.place;
    check_temperature(card, card.data.len() > 1, ignore, log);
    let bulk = first_number(card, log).filter(|bulk| *bulk > 0. && bulk.is_finite());
    if bulk.is_none() {
        log.error(place, "*ACOUSTIC MEDIUM needs a positive bulk modulus");
    }
    Some(Elasticity::Fluid { bulk: bulk? })
}

fn check_temperature(card: &Card, depends: bool, ignore: &IgnoreList, log: &mut Log) {
    let name = &card.keyword.name;
    if depends && ignore.covers(&["TEMPERATURE"]) {
        log.note(card.keyword.place, format!("*{name} varies with temperature: its first entry is used"));
    } else if depends {
        let text = format!("*{name} varies with temperature: give one entry; --ignore TEMPERATURE takes the first");
        log.error(card.keyword.place, text);
    }
}

/// α, 1/s, and β, s.
fn damping(card: &Card, log: &mut Log) -> [f64; 2] {
    let place = card.keyword.place;
    let mut value = |key: &str| match card.keyword.get(key) {
        None => 0.,
        Some(word) => real(word.as_bytes()).unwrap_or_else(|| {
            log.error(place, format!("*DAMPING: {key}={word} is not a number"));
            0.
        }),
    };
    let (alpha, beta, structural) = (value("ALPHA"), value("BETA"), value("STRUCTURAL"));
    let ignore = "--ignore DAMPING leaves all damping out";
    if structural != 0. {
        log.error(place, format!("*DAMPING, STRUCTURAL=: structural damping is not computed; {ignore}"));
    }
    for (key, value) in [("ALPHA", alpha), ("BETA", beta)] {
        if value < 0. {
            log.error(place, format!("*DAMPING, {key}={value} feeds energy in: give a positive value; {ignore}"));
        }
    }
    [alpha, beta]
}
