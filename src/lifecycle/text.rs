//! Texts that fit. What a ClusterServiceVersion says and asks for are the words of strangers, and may be as long as a
//! book.

/// How many of some names are told; the others are counted.
const NAMED: usize = 4;

/// As much of a text as so many characters are.
pub(super) fn bounded(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first of some names, and how many more there are.
pub(super) fn few<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let told: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let told = told.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_a_few_are_told() {
        assert_eq!(few(["a", "b"]), "a, b");
        assert_eq!(few(["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(bounded("éé", 2), "éé");
        assert_eq!(bounded("ééé", 2), "éé…");
    }
}
