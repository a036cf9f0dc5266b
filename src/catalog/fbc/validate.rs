//! What has to be right with a package before it is served: the rules of `opm validate`.
//!
//! opm stops at the first thing it cannot read and refuses the whole catalog. Here every rule is
//! checked, everything that is wrong is told, and only the package at hand is refused.

mod bundle;
mod channel;
mod package;
mod problem;
mod property;
mod pullspec;
mod release;

pub use problem::{Problem, Rule};
pub use property::PackageProperty;
pub use pullspec::check_pull_spec;
pub use release::Release;

use super::catalog::PackageBlobs;
use problem::Findings;

/// Everything that is wrong with a package.
///
/// `name` is the package that the blobs say they belong to; empty for blobs that name none.
pub fn validate(name: &str, blobs: &PackageBlobs) -> Vec<Problem> {
    let mut findings = Findings::new(name);
    if name.is_empty() {
        package::nameless(blobs, &mut findings);
        return findings.into_problems();
    }
    package::check(name, blobs, &mut findings);
    for channel in &blobs.channels {
        channel::check(channel, blobs, &mut findings);
    }
    bundle::check(name, blobs, &mut findings);
    package::deprecations(blobs, &mut findings);
    package::others(blobs, &mut findings);
    findings.into_problems()
}
