//! Why Subscriptions cannot be met.

use serde::Serialize;
use utoipa::ToSchema;

/// Why Subscriptions cannot be met, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The Subscriptions it is about, by name.
    #[serde(rename = "for")]
    pub requests: Vec<String>,
    /// One line, for a condition's message.
    pub summary: String,
    /// The whole story, in lines.
    #[serde(rename = "explanation")]
    pub text: String,
    /// The smallest changes that would help, the smallest first. Each was tried.
    pub nearest: Vec<Change>,
    /// How the contradiction follows.
    pub tree: Reason,
}

/// A change that would make it work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What to do, in words.
    pub change: String,
    /// What would be installed then, as package and version.
    pub gives: Vec<String>,
}

/// A conclusion and what it follows from; a fact follows from nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// What follows, or what is so.
    pub says: String,
    /// What it follows from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    #[allow(clippy::use_self, reason = "the OpenAPI document calls it by its name")]
    pub because: Vec<Reason>,
}
