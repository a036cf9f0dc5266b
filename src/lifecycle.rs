//! What OperatorGroups, Operators and the OLMConfig say and bring about, as functions of what was
//! read before.
//!
//! - [`targets`]: the namespaces that a group covers, and whether an operator supports them
//! - [`group_status`]: what the status of a group should say
//! - [`provided_apis`]: which APIs a group has, and what happens when another has them as well
//! - [`aggregate_roles`]: ClusterRoles by which users get at those APIs
//! - [`namespace_labels`]: labels by which webhooks find the namespaces of a group
//! - [`components`]: what belongs to an installed package
//! - [`adoption`]: which objects are to be marked as belonging to it
//! - [`copied_csvs`]: copies of ClusterServiceVersions, and what the OLMConfig says about them
//! - [`install`]: what it takes to run an operator, and how that stands
//!
//! No client, no clock, no file: "now" is passed in.

pub mod adoption;
pub mod aggregate_roles;
pub mod components;
mod condition;
pub mod copied_csvs;
pub mod group_status;
pub mod install;
pub mod namespace_labels;
pub mod provided_apis;
pub mod targets;
