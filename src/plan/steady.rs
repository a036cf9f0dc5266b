//! Texts of errors without what is different each time.

use std::sync::LazyLock;

use regex::Regex;

/// What changes from one attempt to the next although nothing else does, and what stands there instead.
static CHANGING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        // The port that a connection comes from: `read tcp 192.0.2.1:54321->192.0.2.2:443: …`.
        (r":\d+->", "->"),
        // The time, as Go tells it of a certificate that has expired, and as rustls does.
        (r"current time \S+ is", "now is"),
        (r"verification time \d+ \(UNIX\), but ", ""),
        (r" \(\d+ seconds (ago|in future)\)", ""),
    ];
    let compiled = patterns.into_iter().filter_map(|(pattern, instead)| {
        // They are ours, and a test has each of them.
        Some((Regex::new(pattern).ok()?, instead))
    });
    compiled.collect()
});

/// A text that is the same for the same error, however often it happens. A status that says something new is written,
/// and calls whoever watches it: what failed would be tried again at once, for ever.
pub fn steady(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, instead) in &*CHANGING {
        if pattern.is_match(&text) {
            text = pattern.replace_all(&text, *instead).into_owned();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "failed calling webhook \"w\": read tcp 192.0.2.1:54321->192.0.2.2:443: read: connection reset by peer",
        "failed calling webhook \"w\": read tcp 192.0.2.1->192.0.2.2:443: read: connection reset by peer"
    )]
    #[case(
        "read tcp [2001:db8::1]:54321->[2001:db8::2]:443: i/o timeout",
        "read tcp [2001:db8::1]->[2001:db8::2]:443: i/o timeout"
    )]
    #[case(
        "certificate has expired or is not yet valid: current time 2026-02-14T06:57:20Z is after 2026-02-13T00:00:00Z",
        "certificate has expired or is not yet valid: now is after 2026-02-13T00:00:00Z"
    )]
    #[case(
        "certificate expired: verification time 1763420000 (UNIX), but certificate is not valid after 1763410000 (10000 seconds ago)",
        "certificate expired: certificate is not valid after 1763410000"
    )]
    #[case(
        "exceeded quota: tight, requested: pods=1, used: pods=5, limited: pods=5",
        "exceeded quota: tight, requested: pods=1, used: pods=5, limited: pods=5"
    )]
    fn the_same_error_says_the_same_each_time(#[case] said: &str, #[case] steady_text: &str) {
        assert_eq!(steady(said), steady_text);
        // What is steady stays as it is.
        assert_eq!(steady(steady_text), steady_text);
    }
}
