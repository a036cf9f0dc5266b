//! What somebody may have meant.

use super::printer;
use crate::catalog::search::within_distance;

/// More than this is no hint any more.
const MANY: usize = 10;
/// How many letters a name may be off.
const TYPOS: usize = 2;

/// Asks whether names that are nearly the one that was asked for are meant.
pub(super) fn names(wanted: &str, names: &[&str]) -> Option<String> {
    let near = near(wanted, names);
    (!near.is_empty()).then(|| format!("did you mean {}?", listed(&near)))
}

/// Names that are nearly the one that was asked for, or else all there are.
pub(super) fn or_all(wanted: &str, names: &[&str]) -> String {
    let near = near(wanted, names);
    match (near.as_slice(), names) {
        ([], []) => "there is none at all".to_owned(),
        ([], all) => format!("there are {}", listed(all)),
        (near, _) => format!("there are {}", listed(near)),
    }
}

fn near<'n>(wanted: &str, names: &[&'n str]) -> Vec<&'n str> {
    let mut near: Vec<&str> = names
        .iter()
        .filter(|name| is_near(wanted, name))
        .copied()
        .collect();
    near.sort_unstable();
    near.dedup();
    near
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MANY);
    let shown = names
        .iter()
        .take(MANY)
        .map(|name| format!("`{}`", printer::visible(name)));
    let shown: Vec<String> = shown.collect();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

fn is_near(wanted: &str, name: &str) -> bool {
    let is_part = |part: &str, whole: &str| part.len() > 2 && whole.contains(part);
    is_part(wanted, name) || is_part(name, wanted) || within_distance(wanted, name, TYPOS)
}

#[cfg(test)]
mod tests {
    use super::{names, or_all};

    #[test]
    fn what_is_near_is_named_and_else_everything() {
        let all = ["etcd", "kiali", "vault"];
        assert_eq!(names("kialy", &all).unwrap(), "did you mean `kiali`?");
        assert_eq!(
            names("etcd-operator", &all).unwrap(),
            "did you mean `etcd`?"
        );
        assert_eq!(names("prometheus", &all), None);
        assert_eq!(or_all("prometheus", &["a", "b"]), "there are `a`, `b`");
        assert_eq!(or_all("prometheus", &[]), "there is none at all");
    }
}
