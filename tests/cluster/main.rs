//! Tests on a real Kubernetes: one cluster for the whole run, namespaces of its own for each test.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../support/support.rs"]
mod support;

mod apply;
mod apply_crd;
mod approvals;
mod catalog_sources;
mod command;
mod crds;
mod csv;
mod dependencies;
mod deploy;
mod install_plan;
mod killed;
mod lifecycle;
mod observed;
mod olm_config;
mod operator_groups;
mod operators;
mod plan;
mod plans_of_subscriptions;
mod pods;
mod remote_catalogs;
mod replicas;
mod steady;
mod subscriptions;
mod unpacking;
mod upgrades;
