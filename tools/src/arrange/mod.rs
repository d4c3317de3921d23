//! Memory arrangement of a partition (Huthwaite 2014, Section 3.2).
