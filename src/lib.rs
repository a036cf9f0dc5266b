//! Chandler outfits Kubernetes clusters with operators.
//!
//! This library is everything but `main`. Its modules, from the bottom up:
//!
//! - [`yaml`]: the YAML that Kubernetes reads and writes
//! - [`version`]: semantic versions, and the ranges of OLM and of users
//! - [`api`]: the wire types, one file per kind, and their CRDs
//! - [`oci`]: images, built, pulled and pushed without a container engine
//! - [`bundle`]: operator bundles
//! - [`catalog`]: catalogs of bundles
//! - [`resolver`]: what to install, so that everything has what it needs
//! - [`plan`]: how to install it without harm
//! - [`lifecycle`]: what OperatorGroups, Operators and the OLMConfig say and bring about
//! - [`publish`]: bundles and catalogs for others
//! - [`controller`]: what keeps a cluster as its objects say
//! - [`server`]: what a running Chandler answers
//! - [`cli`]: the command line
//!
//! A module may use those above it in this list, never those below: `ARCHITECTURE.md` tells why,
//! and `tests/it/architecture.rs` keeps it so.

pub mod api;
pub mod bundle;
pub mod catalog;
pub mod cli;
pub mod controller;
pub mod lifecycle;
pub mod oci;
pub mod plan;
pub mod publish;
pub mod resolver;
pub mod server;
pub mod version;
pub mod yaml;
