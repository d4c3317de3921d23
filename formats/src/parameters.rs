//! Parameters by name: listing and overriding what is in a [`Setup`](crate::model::Setup).
