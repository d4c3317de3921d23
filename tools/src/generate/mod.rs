//! The three models of the paper, as decks (Huthwaite 2014, Section 4).
