//! What `kubectl get` prints: a row for each package.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::package_manifest::PackageManifest;

/// The columns, as OLM has them.
pub(super) fn columns() -> Value {
    let column = |name: &str, format: &str, description: &str| {
        json!({
            "name": name, "type": "string", "format": format,
            "description": description, "priority": 0,
        })
    };
    json!([
        column("Name", "name", "Name of the package"),
        column("Catalog", "", "Name of the catalog for people"),
        column("Age", "", "For how long the catalog has been there"),
    ])
}

/// The row of a package.
pub(super) fn row(
    package: &PackageManifest,
    include: Include,
    version: &str,
    now: Timestamp,
) -> Value {
    let status = package.status.as_ref();
    let catalog = status.map_or("", |status| &status.catalog_source_display_name);
    let since = package.metadata.creation_timestamp.as_ref();
    let age = since.map_or("<unknown>".to_owned(), |since| age(since.0, now));
    let mut row = json!({ "cells": [package.metadata.name, catalog, age] });
    match include {
        Include::Nothing => {}
        Include::Metadata => row["object"] = metadata(package, version),
        Include::Object => row["object"] = json!(package),
    }
    row
}

/// What a row carries beside its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Reads `includeObject`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::Nothing),
            "Object" => Ok(Self::Object),
            other => Err(format!(
                "includeObject is None, Metadata or Object, not {other:?}"
            )),
        }
    }
}

/// Names and labels alone.
pub(super) fn metadata(package: &PackageManifest, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": package.metadata,
    })
}

/// How long ago something was, as kubectl writes it: two units at most, and one where it is old.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - since.as_second();
    // A clock that is a little behind is no reason to say so.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |large: i64, unit: &str, small: i64, of: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{of}"),
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        both(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        both(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        both(days, "d", hours % 24, "h")
    } else if days < 730 {
        format!("{days}d")
    } else if days < 8 * 365 {
        both(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-5, "<invalid>")]
    #[case(-1, "0s")]
    #[case(0, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(325, "5m25s")]
    #[case(600, "10m")]
    #[case(3 * 3600 - 1, "179m")]
    #[case(3 * 3600 + 60, "3h1m")]
    #[case(8 * 3600, "8h")]
    #[case(48 * 3600, "2d")]
    #[case(49 * 3600, "2d1h")]
    #[case(8 * 86_400, "8d")]
    #[case(729 * 86_400, "729d")]
    #[case(731 * 86_400, "2y1d")]
    #[case(9 * 365 * 86_400, "9y")]
    fn an_age_is_written_as_kubectl_writes_it(#[case] seconds: i64, #[case] expected: &str) {
        let since = Timestamp::from_second(1_800_000_000).unwrap();
        let now = Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        assert_eq!(age(since, now), expected);
    }

    #[test]
    fn a_row_carries_what_is_asked_for() {
        let mut package = PackageManifest::default();
        package.metadata.name = Some("gopher".to_owned());
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let row = |include| row(&package, Include::read(include).unwrap(), "v1", now);
        assert_eq!(row("None"), json!({ "cells": ["gopher", "", "<unknown>"] }));
        assert_eq!(row("")["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(row("Object")["object"]["kind"], "PackageManifest");
        assert!(Include::read("everything").is_err());
    }
}
