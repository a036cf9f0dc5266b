//! What keeps a cluster as its objects say.
//!
//! ```text
//! watches ─▶ caches ─▶ queues ─▶ reconcile: read caches, call the core, write what it said
//! ```
//!
//! Every replica watches and reads catalogs; only the one that holds the Lease writes. A reconcile
//! looks at how things are, never at what happened: killed between any two writes, the next one
//! finishes the job.

mod bundles;
mod cache;
mod catalog_source;
mod catalogs;
mod census;
mod cluster_service_version;
mod components;
mod context;
mod error;
mod fetches;
mod images;
mod install_plan;
mod key;
mod leader;
mod metrics;
mod namespace;
mod olm_config;
mod operator;
mod operator_condition;
mod operator_group;
mod overview;
mod package_api;
mod proxy;
mod queue;
pub(crate) mod removal;
mod run;
mod settings;
mod upkeep;
mod watch;
pub(crate) mod words;

pub use overview::{ListedCatalog, Overview};
pub use run::{Controllers, Error, Health};
pub use settings::Settings;
