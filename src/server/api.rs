//! The browse API: the hub's answers as JSON, and pictures, feeds and streams.
//!
//! ```text
//! router ─▶ limits ─▶ handlers by resource ─▶ hub ─▶ views ─▶ respond (JSON, ETag)
//!                          └── error: one form for every failure
//! ```

mod catalogd;
mod cluster;
mod error;
mod feeds;
mod icons;
mod install;
mod limits;
mod openapi;
mod operatorhub;
mod packages;
mod request;
mod respond;
mod router;
mod versions;
mod visitor;
mod writes;

pub use openapi::document;
pub(super) use respond::knows;
pub use router::router;
