//! The packages of OperatorHub.io as problems of the resolver, for those who have the test data
//! (see `data.rs`): every bundle with its channels, edges, APIs and needs, without its manifests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use chandler::catalog::fbc;
use chandler::version::{Range, Version};
use serde::Deserialize;
use serde_json::Value;

use super::scenario::{BundleInput, ChannelInput, InstalledInput, PackageInput, Requires};

/// One bundle of the index.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Row {
    package: String,
    version: String,
    name: String,
    update_graph: Option<String>,
    channels: Vec<String>,
    default_channel: Option<String>,
    replaces: Option<String>,
    skips: Vec<String>,
    skip_range: Option<String>,
    provided: Vec<Api>,
    required: Vec<Api>,
    dependencies: Vec<Dependency>,
    min_kube_version: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Api {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Dependency {
    #[serde(rename = "type")]
    kind: String,
    value: Value,
}

impl Api {
    fn name(&self) -> String {
        format!("{}/{}/{}", self.group, self.version, self.kind)
    }
}

/// All packages by name; nothing when the data are not there.
pub fn packages() -> anyhow::Result<Option<Vec<PackageInput>>> {
    let folder = std::env::var_os("CHANDLER_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let index = folder.join("community-index.jsonl.zst");
    if !index.exists() {
        return Ok(None);
    }
    let decoder = zstd::Decoder::new(fs_err::File::open(index)?)?;
    let mut packages: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in BufReader::new(decoder).lines() {
        let row: Row = serde_json::from_str(&line?)?;
        packages.entry(row.package.clone()).or_default().push(row);
    }
    Ok(Some(
        packages
            .into_iter()
            .map(|(name, rows)| package(name, rows))
            .collect(),
    ))
}

/// A bundle as it is when it is installed.
pub fn installed(package: &str, bundle: &BundleInput) -> InstalledInput {
    InstalledInput {
        name: bundle.name.clone(),
        version: bundle.version.clone(),
        package: Some(package.to_owned()),
        provides: bundle.provides.clone(),
        requires: bundle.requires.clone(),
        ..InstalledInput::default()
    }
}

fn package(name: String, mut rows: Vec<Row>) -> PackageInput {
    rows.sort_by_cached_key(|row| Version::parse_tolerant(&row.version).ok());
    let mut channels: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        for channel in &row.channels {
            channels.entry(channel).or_default().push(row);
        }
    }
    let wanted = rows
        .iter()
        .rev()
        .find_map(|row| row.default_channel.as_deref());
    let default = wanted.filter(|name| channels.contains_key(name));
    let default_channel = default.or(channels.keys().next().copied());
    PackageInput {
        default_channel: default_channel.unwrap_or_default().to_owned(),
        channels: channels
            .iter()
            .map(|(name, rows)| channel(name, rows))
            .collect(),
        bundles: rows.iter().map(bundle).collect(),
        name,
        ..PackageInput::default()
    }
}

fn channel(name: &str, rows: &[&Row]) -> ChannelInput {
    let mut before: Option<&str> = None;
    let mut entries = Vec::new();
    for row in rows {
        // In the other modes the order of versions is the graph.
        let by_version = row
            .update_graph
            .as_deref()
            .is_some_and(|mode| mode.starts_with("semver"));
        let replaces = if by_version {
            before
        } else {
            row.replaces.as_deref()
        };
        entries.push(fbc::Entry {
            name: row.name.clone(),
            replaces: replaces.unwrap_or_default().to_owned(),
            skips: row.skips.clone(),
            skip_range: row.skip_range.clone().unwrap_or_default(),
        });
        before = Some(&row.name);
    }
    ChannelInput {
        name: name.to_owned(),
        entries,
        ..ChannelInput::default()
    }
}

fn bundle(row: &Row) -> BundleInput {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let needs = row.dependencies.iter().filter_map(|dependency| {
        let value = &dependency.value;
        match dependency.kind.as_str() {
            "olm.gvk" => Some(Requires::Api {
                api: ["group", "version", "kind"]
                    .map(|field| text(value, field))
                    .join("/"),
            }),
            "olm.package" => {
                let range = text(value, "version");
                let package = text(value, "packageName");
                Range::parse(&range).ok()?;
                Some(Requires::Package { package, range })
            }
            "olm.constraint" => Some(Requires::Constraint {
                constraint: value.clone(),
            }),
            _ => None,
        }
    });
    let mut requires: Vec<Requires> = needs.collect();
    if requires.is_empty() {
        let apis = row.required.iter();
        requires.extend(apis.map(|api| Requires::Api { api: api.name() }));
    }
    let min_kube_version = row.min_kube_version.as_deref();
    let min_kube_version =
        min_kube_version.and_then(|version| Version::parse_tolerant(version).ok());
    BundleInput {
        name: row.name.clone(),
        version: row.version.clone(),
        provides: row.provided.iter().map(Api::name).collect(),
        requires,
        min_kube_version: min_kube_version.map(|version| version.to_string()),
        ..BundleInput::default()
    }
}
