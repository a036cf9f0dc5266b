//! How a value fails to fit its type: the error that serde hands around.

use std::fmt::{self, Write as _};

use serde::de;

use super::node::Position;

/// A value that does not fit its type.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) at: Option<Position>,
    pub(super) problem: String,
    /// From the value outwards.
    steps: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Mismatch {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            at: None,
            problem: problem.into(),
            steps: Vec::new(),
        }
    }

    /// The innermost position is the one that counts.
    pub(super) fn at(mut self, at: Position) -> Self {
        self.at.get_or_insert(at);
        self
    }

    pub(super) fn under(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The way from the document to the value.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            match step {
                // Writing to a string cannot fail.
                Step::Index(index) => _ = write!(path, "[{index}]"),
                Step::Key(key) if is_simple(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
                Step::Key(key) => _ = write!(path, "[{key:?}]"),
            }
        }
        path
    }
}

fn is_simple(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_$".contains(&byte))
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem.to_string())
    }
}
