//! What an operator needs, and whether another one is that.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::api::gvk::GroupVersionKind;
use crate::version::Range;

use super::budget::Budget;
use super::cel::{QUESTION, Rule};
use super::features::Features;

/// One need: an API, a package in a range of versions, a label, or a constraint of those.
///
/// Needs are the same if they say the same, word for word. Cheap to clone.
#[derive(Clone)]
pub struct Requirement(Arc<Inner>);

struct Inner {
    predicate: Predicate,
    message: Option<String>,
    /// The whole need as text, which tells one from another.
    key: String,
}

impl Requirement {
    pub(super) fn new(predicate: Predicate, message: Option<String>) -> Self {
        let mut key = String::new();
        predicate.write_key(&mut key);
        let _ = write!(key, "{message:?}");
        Self(Arc::new(Inner {
            predicate,
            message,
            key,
        }))
    }

    /// Whether an operator is what is needed. All of a constraint has to be true of this one
    /// operator. Constraints that take too long to look at do not match.
    pub fn matches(&self, features: &Features) -> bool {
        self.matches_within(features, &Budget::new(QUESTION))
    }

    /// As [`Self::matches`], at the cost of a budget for many such questions.
    pub(super) fn matches_within(&self, features: &Features, budget: &Budget) -> bool {
        let question = Budget::new(QUESTION);
        let holds = self.0.predicate.holds(features, &question) && !question.is_spent();
        budget.spend(question.spent());
        holds
    }

    /// Where to look for what could match.
    pub fn reach(&self) -> Reach {
        self.0.predicate.reach()
    }

    /// What its author wants to be said if nothing matches.
    pub fn failure_message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// Name and range, if a package is needed and nothing else.
    pub fn as_package(&self) -> Option<(&str, &Range)> {
        match &self.0.predicate {
            Predicate::Package(name, range) => Some((name, range)),
            _ => None,
        }
    }

    /// The API, if one is needed and nothing else.
    pub fn as_api(&self) -> Option<&GroupVersionKind> {
        match &self.0.predicate {
            Predicate::Api(api) => Some(api),
            _ => None,
        }
    }
}

impl PartialEq for Requirement {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Requirement {}

impl PartialOrd for Requirement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Requirement {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl Hash for Requirement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requirement")
            .field(&self.to_string())
            .finish()
    }
}

/// Reads after "needs".
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.predicate {
            plain @ (Predicate::Api(_) | Predicate::Package(..)) => fmt::Display::fmt(plain, f)?,
            Predicate::Label(label) => write!(f, "an operator labelled `{label}`")?,
            rule @ Predicate::Cel { .. } => return write!(f, "an operator for which {rule}"),
            compound => write!(f, "an operator with {compound}")?,
        }
        write_message(f, self.0.message.as_deref())
    }
}

/// Where candidates for a need can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere.
    Everything,
    /// Only in one of these packages, or where one of these APIs is provided.
    Some {
        /// Names of packages.
        packages: BTreeSet<String>,
        /// Provided APIs.
        apis: BTreeSet<GroupVersionKind>,
    },
}

impl Reach {
    fn nothing() -> Self {
        Self::Some {
            packages: BTreeSet::new(),
            apis: BTreeSet::new(),
        }
    }

    /// How many places there are to look at.
    fn width(&self) -> usize {
        match self {
            Self::Everything => usize::MAX,
            Self::Some { packages, apis } => packages.len() + apis.len(),
        }
    }

    fn union(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::Some {
                    mut packages,
                    mut apis,
                },
                Self::Some {
                    packages: more_packages,
                    apis: more_apis,
                },
            ) => {
                packages.extend(more_packages);
                apis.extend(more_apis);
                Self::Some { packages, apis }
            }
            _ => Self::Everything,
        }
    }
}

/// A statement about one operator.
#[derive(Debug)]
pub(super) enum Predicate {
    Api(GroupVersionKind),
    Package(String, Range),
    Label(String),
    All(Vec<Self>),
    Any(Vec<Self>),
    /// None of them.
    Not(Vec<Self>),
    Cel {
        rule: Rule,
        text: String,
        message: Option<String>,
    },
}

impl Predicate {
    fn holds(&self, features: &Features, budget: &Budget) -> bool {
        if !budget.spend(1) {
            return false;
        }
        match self {
            Self::Api(api) => features.provides(api),
            Self::Package(name, range) => features.is_package(name, range, budget),
            Self::Label(label) => features.is_labelled(label),
            Self::All(parts) => parts.iter().all(|part| part.holds(features, budget)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(features, budget)),
            Self::Not(parts) => !parts.iter().any(|part| part.holds(features, budget)),
            Self::Cel { rule, .. } => rule.holds(features.values(), budget),
        }
    }

    fn reach(&self) -> Reach {
        match self {
            Self::Api(api) => Reach::Some {
                packages: BTreeSet::new(),
                apis: BTreeSet::from([api.clone()]),
            },
            Self::Package(name, _) => Reach::Some {
                packages: BTreeSet::from([name.clone()]),
                apis: BTreeSet::new(),
            },
            Self::All(parts) => parts
                .iter()
                .map(Self::reach)
                .min_by_key(Reach::width)
                .unwrap_or(Reach::Everything),
            Self::Any(parts) => parts
                .iter()
                .map(Self::reach)
                .fold(Reach::nothing(), Reach::union),
            Self::Label(_) | Self::Not(_) | Self::Cel { .. } => Reach::Everything,
        }
    }

    /// Writes all that the statement says, so that no two statements are written alike.
    fn write_key(&self, key: &mut String) {
        let (name, parts) = match self {
            Self::Api(api) => return push(key, "api", &[&api.group, &api.version, &api.kind]),
            Self::Package(name, range) => return push(key, "package", &[name, range.as_str()]),
            Self::Label(label) => return push(key, "label", &[label]),
            Self::Cel { text, message, .. } => {
                return push(key, "cel", &[text, message.as_deref().unwrap_or_default()]);
            }
            Self::All(parts) => ("all", parts),
            Self::Any(parts) => ("any", parts),
            Self::Not(parts) => ("not", parts),
        };
        key.push_str(name);
        key.push('[');
        for part in parts {
            part.write_key(key);
        }
        key.push(']');
    }

    /// A statement within others.
    fn write_part(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(_) | Self::Any(_) | Self::Not(_) => write!(f, "({self})"),
            Self::Cel { .. } => write!(f, "the property that {self}"),
            _ => fmt::Display::fmt(self, f),
        }
    }
}

fn push(key: &mut String, name: &str, words: &[&str]) {
    // Quoted by `{:?}`, a word cannot be taken for the end of itself.
    let _ = write!(key, "{name}{words:?}");
}

/// How many parts of a list are told; catalogs can hold lists of thousands.
const TOLD: usize = 8;

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, parts) = match self {
            Self::Api(api) => return write!(f, "the API {} ({})", api.kind, api.api_version()),
            Self::Package(name, range) => return write!(f, "package {name} in version {range}"),
            Self::Label(label) => return write!(f, "the label `{label}`"),
            Self::Cel { text, message, .. } => {
                write!(f, "`{}` holds", Shortened(text))?;
                return write_message(f, message.as_deref());
            }
            Self::All(parts) => ("all of", parts),
            Self::Any(parts) => ("any of", parts),
            Self::Not(parts) => ("none of", parts),
        };
        write!(f, "{words}: ")?;
        for (index, part) in parts.iter().take(TOLD).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            part.write_part(f)?;
        }
        match parts.len() {
            0 => f.write_str("nothing"),
            count if count > TOLD => write!(f, " and {} more", count - TOLD),
            _ => Ok(()),
        }
    }
}

fn write_message(f: &mut fmt::Formatter<'_>, message: Option<&str>) -> fmt::Result {
    match message {
        Some(message) => write!(f, " ({})", Shortened(message)),
        None => Ok(()),
    }
}

/// A text on one line and not longer than a few.
struct Shortened<'a>(&'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LENGTH: usize = 300;
        for char in self.0.chars().take(LENGTH) {
            f.write_char(if char.is_control() { ' ' } else { char })?;
        }
        if self.0.chars().nth(LENGTH).is_some() {
            f.write_char('…')?;
        }
        Ok(())
    }
}
