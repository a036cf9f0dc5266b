//! What a namespace gets: from catalogs, Subscriptions and what is installed to what is installed
//! next, or to the reason why not.
//!
//! ```text
//! Request ─▶ Problem (needs, candidates in order, slots) ─▶ groups ─▶ search ─▶ Solution
//!              ▲                                                        │ none
//!           Market (packages of the visible catalogs)                   ▼
//!                                                     proof (pubgrub) ─▶ Explanation
//! ```
//!
//! Everything here is a function of the [`Request`]: no clock, no cluster, no chance. The order of
//! preference is OLM's where OLM has one; `docs/adr/0007-search-and-proof.md` tells how the search finds the
//! first solution in that order, and why pubgrub explains and does not choose.

mod budget;
mod candidates;
mod cel;
mod constraint;
mod course;
mod curation;
mod explain;
mod explanation;
mod features;
mod group;
mod held_back;
mod market;
mod nearest;
mod notes;
mod numbers;
mod objects;
mod package;
mod predicate;
mod present;
mod problem;
mod progress;
mod proof;
mod request;
mod resolve;
mod search;
mod snapshot;
mod solution;
mod story;
mod tree;
mod words;

pub use constraint::{ConstraintError, requirements};
pub use course::{Course, course};
pub use curation::{Curation, CurationError};
pub use explanation::{Change, Explanation, Reason};
pub use features::Features;
pub use objects::{
    Listing, ObjectKey, ReadOut, Unreadable, catalogs, held, installed, subscriptions,
};
pub use package::{Bundle, Channel, Malformed, Package};
pub use predicate::{Reach, Requirement};
pub use progress::fails_after;
pub use request::{
    Catalog, CatalogKey, Contents, Dependencies, Held, Installed, Progress, Request, Subscription,
};
pub use resolve::{resolve, solve};
pub use snapshot::{Packages, Snapshot};
pub use solution::{
    Component, GeneratedSubscription, HeldBack, Install, Kept, Resolution, Solution,
};
