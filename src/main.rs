//! The `chandler` command. Everything it does is in the library; see [`chandler::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    chandler::cli::run(std::env::args_os())
}
