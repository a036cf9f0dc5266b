//! Graphs as shapes with places: what templates only have to write down as SVG. Plain functions, so
//! that a graph can be looked at by a test.

mod dependencies;
mod upgrades;

pub(super) use dependencies::DependencyDrawing;
pub(super) use upgrades::UpgradeDrawing;

/// At most so many characters, with a sign where something was left out.
fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
