//! The release of a bundle: which build of a version it is.

use std::fmt;

/// A release such as `2` or `alpha.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release(String);

impl Release {
    /// Reads a release; the empty text is none.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        if text.len() > 20 {
            return Err("it is longer than 20 characters".to_owned());
        }
        for part in text.split('.') {
            if part.is_empty() {
                return Err("a part of it is empty".to_owned());
            }
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && part.len() > 1 && part.starts_with('0') {
                return Err(format!("the number {part} begins with a zero"));
            }
            if is_number && part.parse::<u64>().is_err() {
                return Err(format!("the number {part} is too great"));
            }
            let wrong = part
                .chars()
                .find(|c| !c.is_ascii_alphanumeric() && *c != '-');
            if let Some(wrong) = wrong {
                return Err(format!("{wrong:?} is not allowed"));
            }
        }
        Ok(Some(Self(text.to_owned())))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
