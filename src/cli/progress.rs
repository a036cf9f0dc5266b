//! How far a transfer is: bars on a terminal, a line for each image in a pipe.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::printer;
use crate::oci::{Digest, Reporter};
use crate::publish::Progress;

/// Blobs below this size are there before anybody could read a bar.
const WORTH_A_BAR: u64 = 256 * 1024;

/// Shows progress.
pub(super) struct Bars {
    /// Nothing if standard error is no terminal.
    terminal: Option<MultiProgress>,
    by_blob: Mutex<HashMap<Digest, ProgressBar>>,
}

impl Bars {
    pub(super) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal().then(MultiProgress::new),
            by_blob: Mutex::default(),
        }
    }
}

impl Reporter for Bars {
    fn progress(&self, digest: &Digest, done: u64, total: u64) {
        let Some(terminal) = &self.terminal else {
            return;
        };
        if total < WORTH_A_BAR {
            return;
        }
        // A thread that panicked changed all of the map or nothing.
        let mut bars = self.by_blob.lock().unwrap_or_else(PoisonError::into_inner);
        if done >= total {
            if let Some(bar) = bars.remove(digest) {
                bar.finish_and_clear();
                terminal.remove(&bar);
            }
            return;
        }
        let bar = bars.entry(digest.clone()).or_insert_with(|| {
            let short: String = digest.as_str().chars().take(19).collect();
            let style = ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(total).with_style(style).with_prefix(short);
            terminal.add(bar)
        });
        bar.set_position(done);
    }
}

impl Progress for Bars {
    fn begins(&self, what: &str) {
        match &self.terminal {
            // Above the bars, which tell the rest.
            Some(terminal) => terminal.suspend(|| printer::say(what)),
            None => printer::say(what),
        }
    }
}
