//! What OperatorHub.io asks for.

use super::Findings;
use crate::bundle::Bundle;

const CAPABILITIES: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

const CATEGORIES: [&str; 16] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Database",
    "Developer Tools",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "Observability",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
];

const PICTURES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];

pub(super) fn check(bundle: &Bundle, findings: &mut Findings) {
    people(bundle, findings);
    icon(bundle, findings);
    words(bundle, findings);
}

fn people(bundle: &Bundle, findings: &mut Findings) {
    let spec = &bundle.csv.spec;
    let file = bundle.csv.file.as_str();
    if spec.provider.name.trim().is_empty() {
        let place = (file, "spec.provider.name");
        findings.error(
            "hub-provider",
            place,
            "it is missing",
            "say who publishes the operator",
        );
    }
    for (index, maintainer) in spec.maintainers.iter().enumerate() {
        let path = format!("spec.maintainers[{index}]");
        if maintainer.name.is_empty() || maintainer.email.is_empty() {
            let message = "a maintainer has a name and a mail address";
            findings.error(
                "hub-maintainer",
                (file, &path),
                message,
                "add what is missing",
            );
        } else if !is_mail(&maintainer.email) {
            let message = format!("`{}` is no mail address", maintainer.email);
            findings.error("hub-maintainer", (file, &path), message, "correct it");
        }
    }
    for (index, link) in spec.links.iter().enumerate() {
        let path = format!("spec.links[{index}]");
        if link.name.is_empty() || link.url.is_empty() {
            let message = "a link has a name and a url";
            findings.error("hub-link", (file, &path), message, "add what is missing");
        } else if !is_url(&link.url) {
            let message = format!("`{}` is no url", link.url);
            let advice = "write it with its scheme, such as https://";
            findings.error("hub-link", (file, &path), message, advice);
        }
    }
}

fn icon(bundle: &Bundle, findings: &mut Findings) {
    let icons = &bundle.csv.spec.icon;
    let place = (bundle.csv.file.as_str(), "spec.icon");
    let Some(icon) = icons.first() else {
        findings.warning("hub-icon", place, "there is no picture", "add one");
        return;
    };
    if icons.len() > 1 {
        let message = "there is more than one picture; only the first is used";
        findings.error("hub-icon", place, message, "keep one");
    }
    if icon.base64data.is_empty() || icon.mediatype.is_empty() {
        let advice = "add base64data and mediatype";
        findings.error("hub-icon", place, "the picture is incomplete", advice);
    } else if !PICTURES.contains(&icon.mediatype.as_str()) {
        let message = format!("`{}` is no known kind of picture", icon.mediatype);
        let advice = format!("use one of {}", PICTURES.join(", "));
        findings.error("hub-icon", place, message, advice);
    }
}

fn words(bundle: &Bundle, findings: &mut Findings) {
    let file = bundle.csv.file.as_str();
    let annotation = |key: &str| bundle.csv.annotations.get(key);
    if let Some(level) = annotation("capabilities")
        && !CAPABILITIES.contains(&level.as_str())
    {
        let message = format!("`{level}` is no capability level");
        let advice = format!("use one of {}", CAPABILITIES.join(", "));
        let place = (file, "metadata.annotations[capabilities]");
        findings.error("capabilities", place, message, advice);
    }
    for category in annotation("categories")
        .into_iter()
        .flat_map(|list| list.split(','))
    {
        if !CATEGORIES.contains(&category.trim()) {
            let message = format!("`{}` is no category", category.trim());
            let advice = format!("use some of {}", CATEGORIES.join(", "));
            let place = (file, "metadata.annotations[categories]");
            findings.error("categories", place, message, advice);
        }
    }
}

/// Whether a text may be a mail address, with or without a name before it.
fn is_mail(text: &str) -> bool {
    let address = match (text.rfind('<'), text.trim_end().strip_suffix('>')) {
        (Some(start), Some(rest)) => rest.get(start + 1..).unwrap_or(""),
        _ => text.trim(),
    };
    let mut parts = address.split('@');
    matches!(
        (parts.next(), parts.next(), parts.next()),
        (Some(user), Some(host), None)
            if !user.is_empty() && !host.is_empty() && !address.contains(char::is_whitespace)
    )
}

/// Whether a text is a url with a scheme, or an absolute path.
fn is_url(text: &str) -> bool {
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
            && !rest.is_empty()
    });
    (has_scheme || text.starts_with('/')) && !text.contains(' ')
}
