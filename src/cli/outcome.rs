//! What the resolver answered, for people: tables on a terminal, lines in a pipe.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::failure::Failure;
use super::printer;
use super::situation::Situation;
use crate::resolver::{
    Component, Explanation, GeneratedSubscription, Install, Kept, Reason, Resolution, Solution,
    Unreadable,
};
use crate::version::Version;

/// What happens to one operator.
struct Row {
    change: &'static str,
    package: String,
    /// `1.0.0 → 1.1.0`
    version: String,
    bundle: String,
    channel: String,
    catalog: String,
    asked_by: String,
}

/// A whole plan.
pub(super) fn plan(resolution: &Resolution, situation: &Situation) -> String {
    if resolution.components.is_empty() {
        return format!(
            "nothing is asked for in namespace {}\n",
            printer::visible(&resolution.namespace)
        );
    }
    let parts: Vec<String> = resolution
        .components
        .iter()
        .map(|component| match component {
            Component::Solved(solution) => solved(solution, situation),
            Component::Unsolvable(explanation) => unsolvable(explanation),
        })
        .collect();
    let between = if printer::on_terminal() { "\n" } else { "" };
    parts.join(between)
}

/// What will be done for Subscriptions that can be met.
pub(super) fn solved(solution: &Solution, situation: &Situation) -> String {
    let installs = solution.install.iter();
    let mut rows: Vec<Row> = installs
        .map(|install| of_install(install, situation))
        .collect();
    rows.extend(solution.kept.iter().map(|kept| of_kept(kept, situation)));
    let mut text = if printer::on_terminal() {
        table(&rows)
    } else {
        lines(&rows)
    };
    for subscription in &solution.subscriptions {
        let _ = writeln!(text, "{}", printer::visible(&generated(subscription)));
    }
    for held in &solution.held_back {
        let words = format!("{} waits: {}", held.bundle, held.because);
        let _ = writeln!(text, "note: {}", printer::visible(&words));
    }
    for note in &solution.notes {
        let _ = writeln!(text, "note: {}", printer::visible(note));
    }
    text
}

/// Why Subscriptions cannot be met, and what would help.
pub(super) fn unsolvable(explanation: &Explanation) -> String {
    let mut text = format!("no: {}\n", printer::visible(&explanation.summary));
    let told = explanation.text.trim_end();
    if told != explanation.summary {
        for line in told.lines() {
            let _ = writeln!(text, "  {}", printer::visible(line));
        }
    }
    // The story usually ends with them.
    let untold = explanation.nearest.iter();
    let mut untold = untold
        .filter(|change| !told.contains(&change.change))
        .peekable();
    if untold.peek().is_some() {
        text.push_str("What would work:\n");
    }
    for change in untold {
        let gives = if change.gives.is_empty() {
            String::new()
        } else {
            format!(" (gives {})", change.gives.join(", "))
        };
        let line = format!("{}{gives}", change.change);
        let _ = writeln!(text, "  - {}", printer::visible(&line));
    }
    text
}

/// The answer is no, for these.
pub(super) fn refusal(unsolvable: &[&Component]) -> Failure {
    let names: Vec<_> = unsolvable
        .iter()
        .flat_map(|component| component.subscriptions())
        .map(|name| printer::visible(name))
        .collect();
    let error = match names.as_slice() {
        [one] => anyhow!("Subscription {one} cannot be met"),
        many => anyhow!("Subscriptions {} cannot be met", many.join(", ")),
    };
    let has_advice = unsolvable.iter().any(|component| match component {
        Component::Unsolvable(explanation) => !explanation.nearest.is_empty(),
        Component::Solved(_) => false,
    });
    Failure::no(error).hint(if has_advice {
        "each change that the explanation ends with would make it work"
    } else {
        "correct what the explanation names"
    })
}

/// A Subscription that cannot be understood gets nothing, and says why.
pub(super) fn broken(problem: &Unreadable) -> Component {
    let says = problem.to_string();
    Component::Unsolvable(Box::new(Explanation {
        requests: vec![problem.object.name.clone()],
        summary: says.clone(),
        text: says.clone(),
        nearest: Vec::new(),
        tree: Reason {
            says,
            because: Vec::new(),
        },
    }))
}

fn of_install(install: &Install, situation: &Situation) -> Row {
    let replaced = situation.installed(&install.replaces);
    let from = replaced.and_then(|csv| csv.version.as_ref());
    let to = Version::parse_tolerant(&install.version).ok();
    // A Subscription may have gone from one package to another, whose versions do not compare.
    let other = replaced.and_then(|csv| csv.package.as_deref());
    let other = other.filter(|package| *package != install.package);
    let change = match (install.replaces.is_empty(), from, &to) {
        (true, ..) => "install",
        (false, Some(from), Some(to)) if to < from && other.is_none() => "downgrade",
        _ => "upgrade",
    };
    let before = match (other, from) {
        (Some(package), Some(version)) => format!("{package} {version}"),
        (None, Some(version)) => version.to_string(),
        (_, None) => install.replaces.clone(),
    };
    Row {
        change,
        package: install.package.clone(),
        version: match change {
            "install" => install.version.clone(),
            _ => format!("{before} → {}", install.version),
        },
        bundle: install.bundle.clone(),
        channel: install.channel.clone(),
        catalog: place(&install.catalog_namespace, &install.catalog),
        asked_by: install.requested_by.join(", "),
    }
}

fn of_kept(kept: &Kept, situation: &Situation) -> Row {
    let mut all = situation.subscriptions.iter();
    let subscription = all.find(|subscription| subscription.name == kept.subscription);
    let csv = situation.installed(&kept.csv);
    let version = csv.and_then(|csv| csv.version.as_ref());
    let package = csv.and_then(|csv| csv.package.as_deref());
    let package = package.or(subscription.map(|subscription| subscription.package.as_str()));
    // What is of another package came from elsewhere than where the Subscription looks now.
    let follows = subscription.filter(|subscription| Some(&*subscription.package) == package);
    Row {
        change: if kept.adopted { "adopt" } else { "keep" },
        package: package.unwrap_or_default().to_owned(),
        version: version.map(ToString::to_string).unwrap_or_default(),
        bundle: kept.csv.clone(),
        channel: follows.map_or_else(String::new, |s| s.channel.clone()),
        catalog: follows.map_or_else(String::new, |s| s.catalog.to_string()),
        asked_by: kept.subscription.clone(),
    }
}

/// `namespace/name`
pub(super) fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}/{name}")
}

fn generated(subscription: &GeneratedSubscription) -> String {
    format!(
        "subscribe {}: package {}, channel {}, catalog {}",
        subscription.name,
        subscription.package,
        subscription.channel,
        place(&subscription.catalog_namespace, &subscription.catalog)
    )
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let header = ["", "PACKAGE", "VERSION", "CHANNEL", "CATALOG", "FOR"];
    let mut table = printer::table(header);
    for row in rows {
        let cells = [
            row.change,
            &row.package,
            &row.version,
            &row.channel,
            &row.catalog,
            &row.asked_by,
        ];
        table.add_row(cells.map(|cell| printer::visible(cell).into_owned()));
    }
    format!("{table}\n")
}

fn lines(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{} {} {}", row.change, row.package, row.version);
        let _ = write!(line, " ({})", row.bundle);
        if !row.channel.is_empty() {
            let _ = write!(line, " from channel {}", row.channel);
        }
        if !row.catalog.is_empty() {
            let of = if row.channel.is_empty() { "from" } else { "of" };
            let _ = write!(line, " {of} {}", row.catalog);
        }
        if !row.asked_by.is_empty() {
            let _ = write!(line, " for {}", row.asked_by);
        }
        let _ = writeln!(text, "{}", printer::visible(&line));
    }
    text
}
