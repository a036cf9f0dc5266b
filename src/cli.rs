//! The command line: arguments in, words and exit codes out.
//!
//! Commands are thin. They read their arguments, call the library, and hand what comes back to the
//! [`printer`]; nothing below this module writes to the terminal.

mod adoption;
mod args;
mod attached;
mod availability;
mod cluster;
mod command;
mod failure;
mod findings;
mod health;
mod operations;
mod operators;
mod outcome;
mod printer;
mod progress;
mod session;
mod shelves;
mod similar;
mod situation;
mod standing;
mod upgrade;
mod visitors;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use self::args::Args;

/// Runs the command that `arguments` ask for, and gives the code the process should end with:
/// 0 done, 1 the answer is no, 2 wrong usage, 3 something outside failed.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Help and version are answers, not errors, and go where answers go.
            let asked = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            // Nothing can be told to somebody who closed the pipe.
            let _ = error.print();
            return ExitCode::from(if asked { 0 } else { 2 });
        }
    };
    // Only one can be installed, and somebody else may have done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match command::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer::failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
