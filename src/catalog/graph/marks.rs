//! What is installed of a package, and where it goes from there.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Graph;
use crate::version::Version;

/// What is installed, and how it goes on. Without any, a graph is that of the catalog alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// The bundles that are installed, with their versions as far as they are known.
    pub installed: BTreeMap<String, Option<Version>>,
    /// The upgrades that come, one after the other.
    pub way: Vec<Leg>,
}

/// An upgrade that comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leg {
    /// The bundle that is installed before.
    pub from: String,
    /// The bundle that is installed after.
    pub to: String,
    /// The channel that it is from.
    pub channel: String,
}

impl Marks {
    /// What is said of an upgrade that no bundle offers, but a Subscription asks for: the way back.
    pub const ELSEWHERE: &'static str = "goes to";

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.installed.is_empty()
    }
}

impl Graph {
    /// What is marked.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether a bundle is installed.
    pub fn is_installed(&self, name: &str) -> bool {
        self.marks.installed.contains_key(name)
    }
}
