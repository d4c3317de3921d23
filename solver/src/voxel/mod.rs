//! Voxel statics: from a block file to displacements, reactions, apparent properties and fields.
//!
//! | module | what |
//! |---|---|
//! | [`conditions`] | load cases as values of degrees of freedom |
//! | [`support`] | connected parts, hinges, rigid motions that nothing stops |
//! | [`periodic`] | opposite faces that move alike |
//! | [`engine`] | the call of the kernels |
//! | [`element`], [`elements`], [`reference`](mod@reference) | the trilinear cube as plainly as can be: results, and an independent check |
//! | [`results`], [`tensor`], [`fields`], [`picture`] | what comes out |
//! | [`run`] | one run with its files |

pub mod conditions;
pub mod dense;
pub mod element;
pub mod elements;
pub mod engine;
pub mod fields;
pub mod periodic;
pub mod picture;
pub mod reference;
pub mod results;
pub mod run;
pub mod support;
pub mod tensor;
