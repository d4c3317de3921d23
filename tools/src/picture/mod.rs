//! Pictures of a partition.
