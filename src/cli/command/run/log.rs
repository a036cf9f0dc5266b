//! Where a running Chandler says what it does: lines of a log, and traces if it was built for them.

use std::io::IsTerminal as _;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use super::traces::Traces;
use crate::cli::failure::Failure;

/// Lines for people on a terminal, JSON everywhere else. What this gives has to be kept to the end.
pub(in crate::cli::command) fn start(filter: &str) -> Result<Traces, Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(error).hint("write it like `info` or `chandler=debug,warn`")
    })?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if std::io::stderr().is_terminal() {
        lines.boxed()
    } else {
        lines.json().flatten_event(true).boxed()
    };
    let (traces, layer) = Traces::start()?;
    let subscriber = tracing_subscriber::registry();
    // Nobody else sets one: this process runs one command.
    let _ = subscriber.with(layer).with(lines).with(filter).try_init();
    Ok(traces)
}
