//! Partitions of a mesh into blocks (Huthwaite 2014, Section 3.1).
