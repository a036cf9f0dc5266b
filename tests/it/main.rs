//! Tests that need no cluster.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may panic as tests do"
)]

#[path = "../support/support.rs"]
mod support;

mod architecture;
mod bundle;
mod bundle_data;
mod bundle_tree;
mod command_bundle;
mod command_catalog;
mod command_explain;
mod command_graph;
mod command_help;
mod command_hub;
mod command_line;
mod command_plan;
mod command_situation;
mod crd_data;
mod crds;
mod csv;
mod fbc;
mod fbc_data;
mod fleet;
mod hub;
mod package_api;
mod resolver_advice;
mod resolver_course;
mod resolver_explanations;
mod resolver_hostile;
mod resolver_oracle;
mod resolver_parity;
mod resolver_scenarios;
mod resolver_sweep;
mod tree_data;
