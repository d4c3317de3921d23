//! Abaqus decks → [`Model`](crate::model::Model).
