//! What Kubernetes takes for a name.

/// Why a text cannot be the name of an object, if it cannot.
pub(crate) fn why_no_subdomain(name: &str) -> Option<&'static str> {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(inner)
            && bytes.last().copied().is_some_and(inner)
            && bytes.iter().all(|&byte| inner(byte) || byte == b'-')
    };
    if name.len() > 253 {
        Some("a name has at most 253 characters")
    } else if !name.split('.').all(label) {
        Some(
            "a name consists of lower case letters, digits, `-` and `.`, with a letter or digit at both ends of each part",
        )
    } else {
        None
    }
}

/// Why a text cannot be the value of a label, if it cannot.
pub(super) fn why_no_label_value(value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    if value.len() > 63 {
        Some("it becomes the value of a label, which has at most 63 characters")
    } else if !ends.into_iter().flatten().all(u8::is_ascii_alphanumeric)
        || !bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    {
        Some("it becomes the value of a label, which consists of letters, digits, `-`, `_` and `.`")
    } else {
        None
    }
}
