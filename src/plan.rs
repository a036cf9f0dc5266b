//! From a solution to a plan: what has to happen in the cluster, and whether it may.
//!
//! Everything here is a function of what was read before: no client, no clock, no file.

pub mod crd;
pub mod subscription;
