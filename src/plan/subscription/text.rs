//! Texts that fit.

/// The greatest length of a condition's message in bytes: what Kubernetes allows in its own.
pub(super) const MESSAGE_LIMIT: usize = 32 * 1024;
/// How many names are told; the others are counted.
const NAMED: usize = 10;

/// The text, or as much of it as fits, which an ellipsis shows. No character is cut in two.
pub(super) fn bounded(mut text: String) -> String {
    const ELLIPSIS: char = '…';
    if text.len() > MESSAGE_LIMIT {
        let end = text.floor_char_boundary(MESSAGE_LIMIT - ELLIPSIS.len_utf8());
        text.truncate(end);
        text.push(ELLIPSIS);
    }
    text
}

/// The first of some names, and how many more there are.
pub(super) fn names<T: AsRef<str>>(names: &[T]) -> String {
    let told: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let told = told.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// `what`, and after a colon what there is to say about it, if anything.
pub(super) fn about(what: &str, message: &str) -> String {
    if message.is_empty() {
        return what.to_owned();
    }
    format!("{what}: {message}")
}
