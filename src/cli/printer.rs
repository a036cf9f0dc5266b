//! The one place that writes to the terminal: data to standard output, words to standard error.
//!
//! Colour only on a terminal, and never as the only carrier of meaning.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use super::args::output::Output;
use super::failure::Failure;
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
    let _ = writeln!(anstream::stderr(), "{style}warning{style:#}: {text}");
}

/// Says what happened, in one line.
pub(super) fn say(text: &str) {
    // Nothing can be told to somebody who closed the pipe; here and below.
    let _ = writeln!(anstream::stderr(), "{text}");
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
        let _ = writeln!(output, "{style}{label}{style:#}: {text}");
    }
}
