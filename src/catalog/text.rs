//! The words of catalogs as people may see them. Strangers write them: a name may be a book, or turn
//! the direction of writing so that it reads as the name of somebody else.

use std::borrow::Cow;

/// How long a name may be; the longest of OperatorHub.io has half of that.
const LONGEST_NAME: usize = 120;
/// How long a keyword or a category may be, and how many of them count.
const LONGEST_WORD: usize = 80;
const MOST_KEYWORDS: usize = 64;
const MOST_CATEGORIES: usize = 16;

/// Whether a character is not seen itself, but changes how others are: those that control, and those
/// that turn the direction of writing.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        )
}

/// A text without what is not seen; its lines stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    let goes = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    if text.contains(goes) {
        return Cow::Owned(text.chars().filter(|c| !goes(*c)).collect());
    }
    Cow::Borrowed(text)
}

/// At most so many characters.
pub fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A text in one line, with nothing hidden, of at most so many characters.
pub fn label(text: &str, longest: usize) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !is_hidden(*c)).collect::<String>());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    cut(&words.join(" "), longest)
}

/// The name of an operator, of who makes it, and the like.
pub fn name(text: &str) -> String {
    label(text, LONGEST_NAME)
}

/// Words to find an operator by.
pub fn keywords(all: &[String]) -> Vec<String> {
    words(all.iter().map(String::as_str), MOST_KEYWORDS)
}

/// Where an operator belongs, out of an annotation that lists it.
pub fn categories(list: &str) -> Vec<String> {
    words(list.split(','), MOST_CATEGORIES)
}

fn words<'a>(all: impl Iterator<Item = &'a str>, most: usize) -> Vec<String> {
    all.map(|word| label(word, LONGEST_WORD))
        .filter(|word| !word.is_empty())
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_KEYWORDS, categories, keywords, label, name, plain};

    #[test]
    fn nothing_turns_the_direction_of_a_name() {
        assert_eq!(name("\u{202e}elgooG\u{202c}"), "elgooG");
        assert_eq!(name("a\u{2066}b\u{61c}c\u{200f}\u{0}\u{1b}[31m"), "abc[31m");
        assert_eq!(name(" two\n lines\u{2028}"), "two lines");
        assert_eq!(name("شركة"), "شركة");
    }

    #[test]
    fn names_and_words_have_a_length_and_a_number() {
        assert_eq!(name(&"W".repeat(10_000)).chars().count(), 121);
        let many = vec!["word".to_owned(); 300_000];
        assert_eq!(keywords(&many).len(), MOST_KEYWORDS);
        assert_eq!(
            categories("Database, ,\u{202e} Storage"),
            ["Database", "Storage"]
        );
        assert_eq!(label("grüße", 3), "grü…");
    }

    #[test]
    fn the_lines_of_a_text_stay() {
        assert_eq!(plain("a:\n\tb\r\n\u{202e}c"), "a:\n\tb\nc");
        assert!(matches!(plain("as it is\n"), std::borrow::Cow::Borrowed(_)));
    }
}
