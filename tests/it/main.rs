//! Tests that need no cluster.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../support/support.rs"]
mod support;

mod architecture;
mod bundle;
mod bundle_data;
mod bundle_tree;
mod command_bundle;
mod command_catalog;
mod command_help;
mod command_line;
mod crd_data;
mod crds;
mod csv;
mod fbc;
mod fbc_data;
mod resolver_explanations;
mod resolver_scenarios;
mod tree_data;
