//! A gopher, as gophers APIs know it.

use serde::{Deserialize, Serialize};

/// The longest text that a field may have.
const LONGEST: usize = 256;

/// One gopher.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Gopher {
    /// What it is known by, and nobody else.
    pub(crate) id: String,
    /// Which gopher it is; see [`crate::drawing`].
    pub(crate) name: String,
    /// What it is shown as.
    pub(crate) displayname: String,
    /// Its picture.
    pub(crate) url: String,
}

impl Gopher {
    /// What is wrong with it, if something is.
    pub(crate) fn problem(&self) -> Option<String> {
        let fields = [
            ("id", &self.id),
            ("name", &self.name),
            ("displayname", &self.displayname),
            ("url", &self.url),
        ];
        for (field, text) in fields {
            if text.is_empty() {
                return Some(format!("{field} is missing"));
            }
            if text.chars().count() > LONGEST {
                return Some(format!("{field} is longer than {LONGEST} characters"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gopher_needs_everything_and_at_reasonable_length() {
        let mut gopher = Gopher {
            id: "a".to_owned(),
            name: "captain".to_owned(),
            displayname: "A".to_owned(),
            ..Gopher::default()
        };
        assert_eq!(gopher.problem().as_deref(), Some("url is missing"));
        gopher.url = "é".repeat(LONGEST);
        assert_eq!(gopher.problem(), None);
        gopher.url.push('é');
        assert!(gopher.problem().is_some_and(|it| it.contains("longer")));
    }
}
