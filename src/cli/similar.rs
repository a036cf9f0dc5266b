//! What somebody may have meant.

/// More than this is no hint any more.
const MANY: usize = 10;

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
    let shown = names.iter().take(MANY).map(|name| format!("`{name}`"));
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
    is_part(wanted, name) || is_part(name, wanted) || distance(wanted, name) <= 2
}

/// How many characters have to be put in, taken out or changed. Long texts are just far apart.
fn distance(a: &str, b: &str) -> usize {
    const LONG: usize = 100;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > LONG || b.len() > LONG {
        return LONG;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, in_a) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        let mut last = i + 1;
        for (j, (in_b, above)) in b.iter().zip(row.windows(2)).enumerate() {
            let (diagonal, up) = match above {
                [diagonal, up] => (*diagonal, *up),
                // Windows are of two.
                _ => (j, j + 1),
            };
            last = (diagonal + usize::from(in_a != in_b))
                .min(up + 1)
                .min(last + 1);
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{distance, names, or_all};

    #[rstest]
    #[case("", "", 0)]
    #[case("kialy", "kiali", 1)]
    #[case("kitten", "sitting", 3)]
    #[case("", "abc", 3)]
    fn distance_counts_changes(#[case] a: &str, #[case] b: &str, #[case] expected: usize) {
        assert_eq!(distance(a, b), expected);
        assert_eq!(distance(b, a), expected);
    }

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
