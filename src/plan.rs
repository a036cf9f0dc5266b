//! From a solution to a plan: what has to happen in the cluster, and whether it may.
//!
//! Everything here is a function of what was read before: no client, no clock, no file. Only [`apply`]
//! talks to the cluster.

pub mod apply;
pub mod crd;
