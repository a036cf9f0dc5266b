//! The one place that writes to the terminal: data to standard output, words to standard error.
//!
//! Colour only on a terminal, and never as the only carrier of meaning.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};

use super::failure::Failure;

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
