//! Applies a TOML job to a model: nearest nodes, absorbing layers, materials.
