//! What ClusterServiceVersions, OperatorGroups, Operators and the OLMConfig say and bring about, as
//! functions of what was read before.
//!
//! - [`targets`]: the namespaces that a group covers, and whether an operator supports them
//! - [`group_status`]: what the status of a group should say
//! - [`provided_apis`]: which APIs a group has, and what happens when another has them as well
//! - [`aggregate_roles`]: ClusterRoles by which users get at those APIs
//! - [`namespace_labels`]: labels by which webhooks find the namespaces of a group
//! - [`components`]: what belongs to an installed package
//! - [`adoption`]: which objects are to be marked as belonging to it
//! - [`operator_conditions`]: by which an operator says whether it may be upgraded
//! - [`copied_csvs`]: what the OLMConfig says about copies
//! - [`phase`]: how far a ClusterServiceVersion is, and what comes next
//! - [`requirements`]: what an operator needs, and whether the cluster has it
//! - [`install`]: what it takes to run an operator
//! - [`install_modes`]: whether an operator is a member of its group and supports its namespaces
//! - [`owner_conflicts`]: whether an API that it owns belongs to another
//! - [`package_api`]: how the API of packages is served and registered
//! - [`replacement`]: which version takes the place of which
//! - [`removal`]: what goes when a Subscription does, what stays, and in which order
//! - [`upgrade_gate`]: whether an operator lets itself be replaced now
//!
//! No client, no clock, no file: "now" is passed in.

pub mod adoption;
pub mod aggregate_roles;
pub mod components;
mod condition;
pub mod copied_csvs;
pub mod group_status;
pub mod install;
pub mod install_modes;
pub mod namespace_labels;
pub mod operator_conditions;
pub mod owner_conflicts;
pub mod package_api;
pub mod phase;
pub mod provided_apis;
pub mod removal;
pub mod replacement;
pub mod requirements;
pub mod targets;
mod text;
pub mod upgrade_gate;
