//! How templates write the words of strangers.

use std::fmt::{self, Write};

use askama::filters::{Escaper, Html};

use crate::catalog::text::plain;

/// Escapes what HTML would understand, and leaves out what is not seen but changes how the rest is: a
/// name that turns the direction of writing would look like another name. `askama.toml` makes all
/// templates use it.
#[derive(Debug, Clone, Copy)]
pub(in crate::server::pages) struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, dest: W, string: &str) -> fmt::Result {
        Html.write_escaped_str(dest, &plain(string))
    }
}

#[cfg(test)]
mod tests {
    use askama::filters::Escaper as _;

    use super::Visible;

    #[test]
    fn words_are_escaped_and_read_in_their_own_direction() {
        let mut text = String::new();
        let name = "<b>\u{202e}elgooG\u{2069}\u{7}\n";
        Visible.write_escaped_str(&mut text, name).unwrap();
        assert_eq!(text, "&#60;b&#62;elgooG\n");
    }
}
