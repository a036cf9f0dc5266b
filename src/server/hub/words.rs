//! Small texts: addresses, links, lists.

use std::fmt::Display;

pub(crate) use crate::catalog::text::cut;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a part of an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A text as a part of an address, whatever is in it.
pub(crate) fn encoded(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, PLAIN)
}

/// The address if a browser may be sent there, and else nothing: catalogs are written by strangers,
/// and `javascript:` is an address as well.
pub(crate) fn safe_url(url: &str) -> String {
    let url = url.trim();
    let is_safe = ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| starts_with_ignoring_case(url, scheme));
    let is_plain = !url.contains(|c: char| c.is_control() || c.is_whitespace());
    if is_safe && is_plain {
        return url.to_owned();
    }
    String::new()
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{encoded, listed, safe_url};

    #[rstest]
    #[case("https://example.com/a?b#c", true)]
    #[case(" HTTP://example.com ", true)]
    #[case("mailto:a@example.com", true)]
    #[case("javascript:alert(1)", false)]
    #[case("java\nscript:alert(1)", false)]
    #[case("https://example.com/\nx", false)]
    #[case("data:text/html,x", false)]
    #[case("//example.com", false)]
    #[case("é", false)]
    fn only_harmless_addresses_are_links(#[case] url: &str, #[case] is_safe: bool) {
        assert_eq!(!safe_url(url).is_empty(), is_safe, "{url}");
    }

    #[test]
    fn a_text_becomes_a_part_of_an_address() {
        assert_eq!(encoded("a/b c-1.2~_é").to_string(), "a%2Fb%20c-1.2~_%C3%A9");
    }

    #[test]
    fn lists_read_well() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
