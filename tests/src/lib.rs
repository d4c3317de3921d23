//! End-to-end tests: real commands on real files.
