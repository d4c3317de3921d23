//! TOML jobs: what a deck cannot say.
