//! Differences in words, one line each.

use std::fmt;

use super::{Change, Changes, Diff, PackageChange, PackageDiff, Summary};
use crate::catalog::fbc::Entry;

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines() {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl Diff {
    /// The differences in words.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (package, change) in &self.packages {
            match change {
                PackageDiff::Added(summary) => {
                    lines.push(format!("package {package} is new: {}", words(summary)));
                }
                PackageDiff::Removed(summary) => {
                    lines.push(format!("package {package} is gone: {}", words(summary)));
                }
                PackageDiff::Changed(change) => lines.extend(
                    change
                        .lines()
                        .into_iter()
                        .map(|line| format!("package {package}: {line}")),
                ),
            }
        }
        lines
    }
}

impl PackageChange {
    /// The differences in words, without the name of the package.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(change) = &self.default_channel {
            lines.push(format!("default channel: {}", from_to(change)));
        }
        lines.extend(self.fields.iter().map(|field| format!("{field} changed")));
        added_and_removed("channel", &self.channels, &mut lines);
        for (channel, change) in &self.channels.changed {
            let mut own = Vec::new();
            if let Some(head) = &change.head {
                own.push(format!("head: {}", from_to(head)));
            }
            added_and_removed("entry", &change.entries, &mut own);
            for (entry, change) in &change.entries.changed {
                let parts = entry_changes(change).join(", ");
                own.push(format!("entry {entry}: {parts}"));
            }
            if change.properties {
                own.push("properties changed".to_owned());
            }
            lines.extend(
                own.into_iter()
                    .map(|line| format!("channel {channel}: {line}")),
            );
        }
        added_and_removed("bundle", &self.bundles, &mut lines);
        for (bundle, change) in &self.bundles.changed {
            let mut parts = Vec::new();
            if let Some(version) = &change.version {
                parts.push(format!("version: {}", from_to(version)));
            }
            if let Some(image) = &change.image {
                parts.push(format!("image: {}", from_to(image)));
            }
            parts.extend(
                change
                    .properties
                    .iter()
                    .map(|kind| format!("{kind} changed")),
            );
            if change.related_images {
                parts.push("related images changed".to_owned());
            }
            lines.push(format!("bundle {bundle}: {}", parts.join(", ")));
        }
        added_and_removed("deprecation of", &self.deprecations, &mut lines);
        for (what, change) in &self.deprecations.changed {
            lines.push(format!("deprecation of {what}: {}", from_to(change)));
        }
        if self.others {
            lines.push("blobs of other schemas changed".to_owned());
        }
        lines
    }
}

fn words(summary: &Summary) -> String {
    format!(
        "{} bundles, channels {}, default {}",
        summary.bundles.len(),
        summary.channels.join(", "),
        summary.default_channel
    )
}

fn added_and_removed<T>(what: &str, changes: &Changes<T>, lines: &mut Vec<String>) {
    let added = changes.added.iter();
    lines.extend(added.map(|name| format!("{what} {name} is new")));
    let removed = changes.removed.iter();
    lines.extend(removed.map(|name| format!("{what} {name} is gone")));
}

fn entry_changes(change: &Change<Entry>) -> Vec<String> {
    let (from, to) = (&change.from, &change.to);
    let mut parts = Vec::new();
    let mut text = |what: &str, from: &str, to: &str| {
        if from != to {
            parts.push(format!("{what} {} → {}", or_none(from), or_none(to)));
        }
    };
    text("replaces", &from.replaces, &to.replaces);
    text("skips", &from.skips.join(" "), &to.skips.join(" "));
    text("skipRange", &from.skip_range, &to.skip_range);
    parts
}

fn from_to(change: &Change<String>) -> String {
    format!("{} → {}", or_none(&change.from), or_none(&change.to))
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
