//! What to install: operators that are what Subscriptions and other operators need.
//!
//! - [`Features`] is what an operator has, [`Requirement`] what it needs, [`requirements`] reads
//!   the latter from the properties of a bundle
//! - [`Curation`] is which packages of a catalog are offered at all

mod cel;
mod constraint;
mod curation;
mod features;
mod predicate;

pub use constraint::{ConstraintError, requirements};
pub use curation::{Curation, CurationError};
pub use features::Features;
pub use predicate::{Reach, Requirement};
