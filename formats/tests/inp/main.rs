//! The deck reader on small decks of our own: what each card gives, and what each mistake says.

mod advice;
mod cut;
mod linear;
mod mesh;
mod mistakes;
mod pieces;
mod second_order;
mod setup;

use std::path::Path;

use pogo_formats::dynamics::*;
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;
use pogo_formats::read::deck::{Deck, DeckError, ReadOptions, read, read_bytes};

fn try_read(text: &str, ignore: &[&str]) -> Result<Deck, DeckError> {
    let options = ReadOptions { ignore: ignore.iter().map(|s| (*s).into()).collect(), ..ReadOptions::default() };
    read_bytes(Path::new("deck.inp"), text.as_bytes(), &options)
}

fn deck(text: &str) -> Deck {
    try_read(text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn model(text: &str) -> Model {
    deck(text).finish().unwrap_or_else(|e| panic!("{e}")).0
}

fn refusal(text: &str) -> String {
    match try_read(text, &[]) {
        Err(e) => e.to_string(),
        Ok(deck) => deck.finish().expect_err("the deck is refused").to_string(),
    }
}

/// Two triangles in a unit square, with a section.
const SQUARE: &str = "\
*Node, nset=ALL
 1, 0, 0
 2, 1., 0.
 3, 1.D0, 1
 4, , 1.0e+000
*Element, type=CPE3, elset=PLATE
 1, 1, 2, 3
 2, 1, 3, 4
*Nset, nset=LEFT
 1, 4
*Elset, elset=SECOND
 2
*Solid Section, elset=PLATE, material=steel
 ,
*Material, name=STEEL
*Density
 7800.,
*Elastic
 2.1e11, 0.3
";

/// A unit cube, with a section.
const CUBE: &str = "\
*NODE
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
*ELEMENT, TYPE=C3D8R, ELSET=CUBE
1, 1, 2, 3, 4,
5, 6, 7, 8,
*SOLID SECTION, ELSET=CUBE, MATERIAL=M
*MATERIAL, NAME=M
*DENSITY
1
*ELASTIC
1, 0
";

fn with(head: &str, tail: &str) -> String {
    format!("{head}{tail}")
}
