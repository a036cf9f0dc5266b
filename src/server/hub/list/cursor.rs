//! Where a package stands in a list, and how to find that place again.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::Sort;
use crate::catalog::index::Summary;
use crate::server::hub::error::Error;
use crate::server::hub::supply::Catalog;

/// Everything that decides where a package stands. A cursor is the key of the package that was
/// shown last: what was added or removed meanwhile moves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    score: u32,
    created: String,
    display: String,
    name: String,
    catalog: String,
}

impl Key {
    pub(super) fn new(order: Sort, catalog: &Catalog, summary: &Summary, score: u32) -> Self {
        let is_newest = order == Sort::Newest;
        Self {
            score,
            created: if is_newest {
                comparable(&summary.created_at)
            } else {
                String::new()
            },
            display: sorted_by(&summary.display_name),
            name: summary.name.clone(),
            catalog: catalog.id(),
        }
    }

    pub(super) fn compare(&self, other: &Self, order: Sort) -> Ordering {
        let first = match order {
            Sort::Relevance => other.score.cmp(&self.score),
            Sort::Name => Ordering::Equal,
            Sort::NameDescending => other.display.cmp(&self.display),
            Sort::Newest => other.created.cmp(&self.created),
        };
        first
            .then_with(|| self.display.cmp(&other.display))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.catalog.cmp(&other.catalog))
    }

    pub(super) fn encode(&self, order: Sort) -> String {
        // A key is strings and numbers, which always become JSON.
        let json = serde_json::to_vec(&(order, self)).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(json)
    }

    pub(super) fn decode(text: &str, order: Sort) -> Result<Self, Error> {
        let json = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        match serde_json::from_slice::<(Sort, Self)>(&json) {
            Ok((own, key)) if own == order => Ok(key),
            _ => Err(Error::not_found("`cursor` is no place in this list")
                .hint("take `next` of the part before, with the same query")),
        }
    }
}

/// What a name is sorted by: without the sign or the remark in brackets that it begins with, or those
/// who write `[DEPRECATED]` before a name would come first.
fn sorted_by(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut rest = lower.trim_start();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    if rest.is_empty() {
        return lower;
    }
    rest.to_owned()
}

/// The times that authors write are of many forms; those that begin with a year can be compared.
fn comparable(created: &str) -> String {
    let has_year = created
        .get(..4)
        .is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
    if has_year {
        return created.replace(['/', ' '], "-").replace('T', "-");
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::sorted_by;

    #[test]
    fn signs_and_remarks_before_a_name_do_not_move_it() {
        assert_eq!(sorted_by("[DEPRECATED] cert-manager"), "cert-manager");
        assert_eq!(sorted_by("\"Etcd\""), "etcd\"");
        assert_eq!(sorted_by("[old]"), "[old]");
        assert_eq!(sorted_by("…"), "…");
    }
}
