//! What it takes to run an operator.

pub mod state;
