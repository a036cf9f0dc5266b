//! The one place that writes to the terminal: data to standard output, words to standard error.
//!
//! Colour only on a terminal, and never as the only carrier of meaning.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use super::args::output::Output;
use super::failure::Failure;
use crate::catalog::text::is_hidden;
use crate::yaml;

/// Prints data. A reader that closed the pipe has all it wanted: that is no failure.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::outside(
            anyhow::Error::new(error).context("cannot write the output"),
        )),
        _ => Ok(()),
    }
}

/// Text for people that may hold the words of strangers: control characters, and those that turn
/// the direction of writing, are shown instead of obeyed.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| {
        if is_hidden(c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Prints data for programs. Text is for people, and printed by whoever knows how.
pub(super) fn structured(value: &impl Serialize, output: Output) -> Result<(), Failure> {
    let text = match output {
        Output::Yaml => yaml::to_string(value).map_err(Failure::outside)?,
        Output::Json | Output::Text => {
            let json = serde_json::to_string_pretty(value).map_err(Failure::outside)?;
            json + "\n"
        }
    };
    data(&text)
}

/// Whether a person looks at what is printed.
pub(super) fn on_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A table as wide as the terminal.
pub(super) fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| width.0);
    let mut table = Table::new();
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(header);
    table
}

/// Warns about something that does not keep the command from its work.
pub(super) fn warning(text: &str) {
    let style = AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(
        anstream::stderr(),
        "{style}warning{style:#}: {}",
        visible(text)
    );
}

/// Shows several lines beside the data.
pub(super) fn show(text: &str) {
    let _ = write!(anstream::stderr(), "{text}");
}

/// Says what happened, in one line.
pub(super) fn say(text: &str) {
    // Nothing can be told to somebody who closed the pipe; here and below.
    let _ = writeln!(anstream::stderr(), "{}", visible(text));
}

/// Asks something; the answer comes on the same line.
pub(super) fn prompt(text: &str) {
    let mut output = anstream::stderr();
    let _ = write!(output, "{}", visible(text));
    let _ = output.flush();
}

/// Says why a command failed and what to do next.
pub(super) fn failure(failure: &Failure) {
    let mut output = anstream::stderr().lock();
    for (label, text) in failure.lines() {
        let style = match label {
            "error" => AnsiColor::Red.on_default().bold(),
            "hint" => AnsiColor::Cyan.on_default().bold(),
            _ => Style::new().bold(),
        };
        // An error may have several lines of its own.
        let shown: Vec<_> = text.lines().map(visible).collect();
        let _ = writeln!(output, "{style}{label}{style:#}: {}", shown.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_would_move_the_cursor_or_turn_the_text_is_shown_instead() {
        assert_eq!(
            visible("a\n\u{1b}[31mred\u{202e}\0"),
            "a\\n\\u{1b}[31mred\\u{202e}\\u{0}"
        );
        assert_eq!(visible("Grüße, 世界"), "Grüße, 世界");
    }
}
