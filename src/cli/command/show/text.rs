//! A package for people.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use anstyle::Style;

use crate::cli::printer;
use crate::server::hub::views::{About, Dependent, PackagePage, VersionSummary, VersionView};

/// How many versions are shown one by one.
const VERSIONS: usize = 10;
/// How wide text is at most: longer lines are hard to read.
const WIDTH: usize = 100;

/// A page that grows.
struct Page {
    text: String,
    title: Style,
}

impl Page {
    fn new() -> Self {
        let is_terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let title = if is_terminal {
            Style::new().bold()
        } else {
            Style::new()
        };
        Self {
            text: String::new(),
            title,
        }
    }

    fn title(&mut self, text: &str) {
        let style = self.title;
        // Writing to a string cannot fail; here and below.
        let _ = writeln!(self.text, "{style}{}{style:#}", printer::visible(text));
    }

    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.title(text);
    }

    /// A line with a name and what there is to say; nothing if there is nothing.
    fn fact(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let _ = writeln!(self.text, "  {name:<12} {}", printer::visible(value));
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {}", printer::visible(text));
    }

    /// A paragraph, broken into lines.
    fn paragraph(&mut self, text: &str) {
        let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
        let width = width.clamp(40, WIDTH) - 2;
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                self.line(&std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            self.line(&line);
        }
    }
}

fn counted(versions: usize) -> String {
    match versions {
        1 => "1 version".to_owned(),
        many => format!("{many} versions"),
    }
}

pub(super) fn package(
    page: &PackagePage,
    head: Option<&VersionView>,
    dependents: &[Dependent],
) -> String {
    let mut out = Page::new();
    let card = &page.card;
    out.title(&format!("{} {}", card.display_name, card.version));
    out.paragraph(&card.description);
    out.text.push('\n');
    out.fact("package", &card.name);
    out.fact("catalog", &card.catalog);
    about(&mut out, &page.about);
    let modes: Vec<&str> = card
        .install_modes
        .iter()
        .map(|mode| mode.as_str())
        .collect();
    out.fact("installs in", &modes.join(", "));
    if let Some(head) = head {
        out.fact("Kubernetes", &at_least(&head.summary));
    }
    if !page.deprecations.is_empty() {
        out.heading("Deprecated");
        for deprecation in &page.deprecations {
            let message = in_one_line(&deprecation.message);
            out.line(&format!("{}: {message}", deprecation.name));
        }
    }
    out.heading("Channels");
    for channel in &page.channels {
        let mark = if channel.is_default { " (default)" } else { "" };
        out.line(&format!(
            "{}{mark}: {}, of {}",
            channel.name,
            channel.version,
            counted(channel.entries.len())
        ));
    }
    for broken in &page.broken_channels {
        out.line(&format!(
            "{} is broken and left out: {}",
            broken.name, broken.why
        ));
    }
    out.heading("Versions");
    for version in page.versions.iter().take(VERSIONS) {
        out.line(&in_a_line(version));
    }
    let more = page.versions.len().saturating_sub(VERSIONS);
    if more > 0 {
        out.line(&format!("and {more} older ones"));
    }
    if let Some(head) = head {
        contents(&mut out, head);
    }
    if !dependents.is_empty() {
        out.heading("Needed by");
        for dependent in dependents {
            out.line(&format!(
                "{}, which needs {}",
                dependent.package, dependent.needs
            ));
        }
    }
    out.heading("Install");
    out.line(&format!(
        "chandler install {} --channel {}",
        card.name,
        usual_channel(page)
    ));
    out.text
}

/// The channel to install from: the default, or the first if that one is broken.
fn usual_channel(page: &PackagePage) -> &str {
    let mut channels = page.channels.iter();
    let default = channels.find(|channel| channel.is_default);
    let usual = default.or_else(|| page.channels.first());
    usual.map_or(&page.card.default_channel, |channel| &channel.name)
}

pub(super) fn version(page: &PackagePage, view: &VersionView) -> String {
    let mut out = Page::new();
    let summary = &view.summary;
    out.title(&format!("{} {}", page.card.display_name, summary.version));
    out.paragraph(&view.about.summary);
    out.text.push('\n');
    out.fact("bundle", &summary.name);
    out.fact("package", &page.card.name);
    out.fact("catalog", &page.card.catalog);
    out.fact("channels", &summary.channels.join(", "));
    about(&mut out, &view.about);
    let modes: Vec<&str> = summary
        .install_modes
        .iter()
        .map(|mode| mode.as_str())
        .collect();
    out.fact("installs in", &modes.join(", "));
    out.fact("Kubernetes", &at_least(summary));
    out.fact("image", &summary.image);
    let deprecation = summary.deprecation.as_deref().unwrap_or_default();
    out.fact("deprecated", &in_one_line(deprecation));
    contents(&mut out, view);
    let places = [
        ("Upgrades from", &view.upgrades_from),
        ("Upgrades to", &view.upgrades_to),
    ];
    for (title, bundles) in places {
        if !bundles.is_empty() {
            out.heading(title);
            out.paragraph(&bundles.join(", "));
        }
    }
    if !view.related_images.is_empty() {
        out.heading("Images");
        for related in &view.related_images {
            out.line(&related.image);
        }
    }
    out.text
}

fn about(out: &mut Page, about: &About) {
    out.fact("provider", &about.provider.name);
    out.fact("categories", &about.categories.join(", "));
    out.fact("capability", &about.capability_level);
    out.fact("maturity", &about.maturity);
    out.fact("repository", &about.repository);
    out.fact("created", &about.created_at);
}

fn contents(out: &mut Page, view: &VersionView) {
    if !view.provides.is_empty() {
        out.heading("Brings");
        for api in &view.provides {
            let group = if api.group.is_empty() {
                api.version.clone()
            } else {
                format!("{}/{}", api.group, api.version)
            };
            out.line(&format!("{} ({group})", api.kind));
        }
    }
    if !view.requires.is_empty() {
        out.heading("Needs");
        for need in &view.requires {
            out.line(need);
        }
    }
}

/// Authors wrap their messages wherever their editor does.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn at_least(summary: &VersionSummary) -> String {
    match summary.min_kube_version.as_str() {
        "" => String::new(),
        version => format!("{version} or newer"),
    }
}

fn in_a_line(version: &VersionSummary) -> String {
    let mut text = format!("{:<16} {}", version.version, version.channels.join(", "));
    if !version.head_of.is_empty() {
        let _ = write!(text, " (head of {})", version.head_of.join(", "));
    }
    if version.deprecation.is_some() {
        text.push_str(" (deprecated)");
    }
    text
}
