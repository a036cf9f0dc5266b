//! Versions, and ranges of them.
//!
//! OLM compares versions and reads ranges with the Go package `blang/semver`, whose grammar is
//! neither Cargo's nor npm's. There are two kinds of range here:
//!
//! - [`Range`] is what catalogs and bundles contain (`olm.skipRange`, `olm.package` dependencies).
//!   It accepts, refuses and matches exactly what OLM does, oddities included.
//! - [`UserRange`] is what users write into a Subscription. It takes the same comparisons, and adds
//!   `^1.2.3`, `~1.2`, `1.2`, `1.x` and `*`. Pre-releases have to be asked for by name.

mod error;
mod number;
mod range;
mod user_range;

#[cfg(test)]
mod tests;

pub use error::{RangeError, VersionError};
pub use number::Version;
pub use range::Range;
pub use user_range::UserRange;
