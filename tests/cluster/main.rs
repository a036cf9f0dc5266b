//! Tests on a real Kubernetes: one cluster for the whole run, namespaces of its own for each test.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../support/support.rs"]
mod support;

mod accounts;
mod api_services;
mod apply;
mod apply_crd;
mod approvals;
mod catalog_sources;
mod catalog_trouble;
mod command;
mod command_uninstall;
mod copied_csvs;
mod crash_loops;
mod crds;
mod crowd;
mod csv;
mod csv_requirements;
mod csv_upgrades;
mod dependencies;
mod deploy;
mod fail_forward;
mod fleet;
mod fleet_gopher;
mod garbage;
mod given_up;
mod group_members;
mod hub;
mod install_plan;
mod killed;
mod lifecycle;
mod lifted_rights;
mod observed;
mod operator_conditions;
mod operator_groups;
mod operators;
mod packages;
mod plan;
mod plans_of_subscriptions;
mod plugin;
mod pods;
mod proxies;
mod publishing;
mod remote_catalogs;
mod renaming;
mod replicas;
mod rotation;
mod serving;
mod steady;
mod subscription_config;
mod subscriptions;
mod uninstall;
mod uninstall_killed;
mod uninstall_races;
mod uninstall_trouble;
mod unpacking;
mod upgrades;
mod webhooks;
mod writes;
