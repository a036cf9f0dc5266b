//! A catalog of the size of OperatorHub.io's: 446 packages, 7,714 bundles, about 210 MB of JSON.
//!
//! Where the test data are (see CONTRIBUTING.md), the packages of `community.tar.zst` are real, and
//! the others have the names, versions, channels and APIs of `community-index.jsonl.zst` with texts
//! that are made up, as long as real ones are. Without the data everything is made up, in the same
//! numbers.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use chandler::catalog::fbc::{PackageBlobs, meta_to_value, validate};
use chandler::catalog::source::bundle_tree;
use serde::Deserialize;
use serde_json::{Value, json};

const PACKAGES: usize = 446;
const BUNDLES: usize = 7_714;
/// What a bundle's blob weighs on average.
const BLOB: usize = 24_500;

/// One bundle of the index.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Row {
    package: String,
    version: String,
    name: String,
    channels: Vec<String>,
    default_channel: Option<String>,
    replaces: Option<String>,
    skip_range: Option<String>,
    provided: Vec<Value>,
    required: Vec<Value>,
    install_modes: Vec<String>,
    min_kube_version: Option<String>,
}

/// What the copies of a package bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// The same APIs, so that each API has as many packages that provide it.
    Alike,
    /// APIs of their own, and they need those of their own copy: other operators.
    Apart,
}

impl Copies {
    fn row(self, row: &Row, copy: usize) -> Row {
        let mut row = row.clone();
        if self == Self::Apart && copy > 0 {
            for api in row.provided.iter_mut().chain(&mut row.required) {
                let group = api["group"].as_str().unwrap_or_default();
                api["group"] = json!(format!("copy{copy}.{group}"));
            }
        }
        row
    }
}

/// Writes the catalog `times` over, one file per package, and gives its size in bytes.
pub(crate) fn write(folder: &Path, times: usize, copies: Copies) -> anyhow::Result<u64> {
    let mut packages: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows()? {
        packages.entry(row.package.clone()).or_default().push(row);
    }
    let real = real_packages()?;
    let mut size = 0;
    for copy in 0..times {
        for (package, rows) in &packages {
            if let Some(blobs) = real.get(package).filter(|_| copy == 0) {
                size += write_blobs(&folder.join(package), blobs)?;
                continue;
            }
            let name = if copy == 0 {
                package.clone()
            } else {
                format!("{package}-{copy}")
            };
            let rows: Vec<Row> = rows.iter().map(|row| copies.row(row, copy)).collect();
            size += write_blobs(&folder.join(&name), &blobs(&name, package, &rows, copy))?;
        }
    }
    Ok(size)
}

fn write_blobs(directory: &Path, blobs: &[Value]) -> anyhow::Result<u64> {
    fs_err::create_dir_all(directory)?;
    let file = fs_err::File::create(directory.join("catalog.json"))?;
    let mut file = std::io::BufWriter::new(file);
    let mut size = 0;
    for blob in blobs {
        let text = serde_json::to_string_pretty(blob)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        size += text.len() as u64 + 1;
    }
    file.flush()?;
    Ok(size)
}

/// The packages of the archive, rendered; those that opm refuses are left out.
fn real_packages() -> anyhow::Result<BTreeMap<String, Vec<Value>>> {
    let archive = data().join("community.tar.zst");
    if !archive.exists() {
        return Ok(BTreeMap::new());
    }
    let folder = tempfile::tempdir()?;
    let decoder = zstd::Decoder::new(fs_err::File::open(archive)?)?;
    tar::Archive::new(decoder).unpack(folder.path())?;
    let loaded = bundle_tree::load(&folder.path().join("community/operators"))?;
    let mut real = BTreeMap::new();
    for package in loaded.packages {
        let blobs = PackageBlobs {
            definitions: vec![package.package],
            channels: package.channels,
            bundles: package.bundles,
            ..PackageBlobs::default()
        };
        let name = blobs.definitions[0].name.clone();
        let problems = validate(&name, &blobs);
        if problems.is_empty() {
            real.insert(
                name,
                blobs
                    .into_blobs()
                    .map(|meta| meta_to_value(&meta))
                    .collect(),
            );
        } else {
            println!("{name} is made up: {}", problems[0]);
        }
    }
    Ok(real)
}

fn data() -> PathBuf {
    std::env::var_os("CHANDLER_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    )
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let index = data().join("community-index.jsonl.zst");
    if !index.exists() {
        return Ok(invented());
    }
    let decoder = zstd::Decoder::new(fs_err::File::open(index)?)?;
    let lines = BufReader::new(decoder).lines();
    lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

/// As many packages and bundles as there are, each a single chain. Some need the package before.
fn invented() -> Vec<Row> {
    let name_of = |package: usize| format!("operator-{package:03}");
    let api = |package: usize, kind: usize| {
        let group = format!("{}.example.com", name_of(package));
        json!({ "group": group, "version": "v1", "kind": format!("Kind{kind}") })
    };
    let mut rows = Vec::with_capacity(BUNDLES);
    for number in 0..BUNDLES {
        let (package, version) = (number % PACKAGES, number / PACKAGES);
        let name = name_of(package);
        let needs = package.checked_sub(1).filter(|_| package % 10 < 3);
        rows.push(Row {
            version: format!("1.{version}.0"),
            name: format!("{name}.v1.{version}.0"),
            channels: vec!["stable".to_owned()],
            default_channel: Some("stable".to_owned()),
            replaces: version
                .checked_sub(1)
                .map(|before| format!("{name}.v1.{before}.0")),
            provided: (0..5).map(|kind| api(package, kind)).collect(),
            required: needs.map(|needed| api(needed, 0)).into_iter().collect(),
            install_modes: vec!["AllNamespaces".to_owned()],
            package: name,
            ..Row::default()
        });
    }
    rows
}

fn blobs(name: &str, package: &str, rows: &[Row], copy: usize) -> Vec<Value> {
    // A copy of a package needs names of its own; its APIs may be the same.
    let renamed = |bundle: &str| {
        if copy == 0 {
            bundle.to_owned()
        } else {
            format!("{bundle}-{copy}")
        }
    };
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| chandler::version::Version::parse_tolerant(&row.version).ok());
    let newest = rows.last().copied();
    let mut channels: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        for channel in &row.channels {
            channels.entry(channel).or_default().push(row);
        }
    }
    let wanted = newest
        .and_then(|row| row.default_channel.as_deref())
        .unwrap_or_default();
    let default = if channels.contains_key(wanted) {
        wanted
    } else {
        channels.keys().next().copied().unwrap_or_default()
    };
    let mut blobs = vec![json!({
        "schema": "olm.package", "name": name, "defaultChannel": default,
        "icon": { "base64data": "PHN2Zy8+", "mediatype": "image/svg+xml" },
    })];
    for (channel, rows) in &channels {
        // One chain by version, whatever the real edges are: opm refuses a channel with two heads
        // and one with stranded bundles.
        let mut before: Option<&str> = None;
        let mut entries = Vec::new();
        for row in rows {
            let mut entry = json!({ "name": renamed(&row.name) });
            if let Some(replaced) = before.or(row.replaces.as_deref()) {
                entry["replaces"] = json!(renamed(replaced));
            }
            if let Some(range) = row.skip_range.as_deref().filter(|range| !range.is_empty()) {
                entry["skipRange"] = json!(range);
            }
            before = Some(&row.name);
            entries.push(entry);
        }
        blobs.push(json!({ "schema": "olm.channel", "package": name, "name": channel, "entries": entries }));
    }
    blobs.extend(
        rows.iter()
            .map(|row| bundle(name, package, row, &renamed(&row.name))),
    );
    blobs
}

fn bundle(name: &str, package: &str, row: &Row, bundle_name: &str) -> Value {
    let mut properties = vec![
        json!({ "type": "olm.package", "value": { "packageName": name, "version": row.version } }),
    ];
    properties.extend(
        row.provided
            .iter()
            .map(|api| json!({ "type": "olm.gvk", "value": api })),
    );
    properties.extend(
        row.required
            .iter()
            .map(|api| json!({ "type": "olm.gvk.required", "value": api })),
    );
    let descriptions: Vec<Value> = row
        .provided
        .iter()
        .map(|api| {
            let kind = api["kind"].as_str().unwrap_or_default();
            let group = api["group"].as_str().unwrap_or_default();
            json!({
                "name": format!("{}s.{group}", kind.to_lowercase()), "version": api["version"], "kind": kind,
                "displayName": kind, "description": text(kind, 300),
            })
        })
        .collect();
    let modes: Vec<Value> = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ]
    .iter()
    .map(|mode| json!({ "type": mode, "supported": row.install_modes.iter().any(|m| m == mode) }))
    .collect();
    let used =
        serde_json::to_string(&properties).map_or(0, |text| text.len()) + descriptions.len() * 450;
    let left = BLOB.saturating_sub(used).max(2_000);
    properties.push(json!({ "type": "olm.csv.metadata", "value": {
        "annotations": {
            "alm-examples": text(&row.version, left / 2),
            "capabilities": "Seamless Upgrades",
            "categories": "Database",
            "description": format!("Runs {package} on Kubernetes"),
        },
        "apiServiceDefinitions": {},
        "crdDescriptions": { "owned": descriptions },
        "description": text(package, left / 2),
        "displayName": package,
        "installModes": modes,
        "keywords": [package, "operator"],
        "maturity": "stable",
        "minKubeVersion": row.min_kube_version.clone().unwrap_or_default(),
        "provider": { "name": "Example" },
    } }));
    json!({
        "schema": "olm.bundle", "name": bundle_name, "package": name,
        "image": format!("registry.example.com/{name}:{}", row.version.replace('+', "-")),
        "properties": properties,
        "relatedImages": [{ "name": "operator", "image": format!("registry.example.com/{name}/operator:latest") }],
    })
}

/// Words that are different from bundle to bundle, but not random: real texts compress well too.
fn text(seed: &str, length: usize) -> String {
    const WORDS: [&str; 16] = [
        "cluster",
        "operator",
        "the",
        "custom",
        "resource",
        "manages",
        "\"spec\":",
        "backup",
        "of",
        "and",
        "{\n  ",
        "replicas",
        "storage",
        "upgrade",
        "}",
        "with",
    ];
    let mut state = seed.bytes().fold(0x9e37_79b9_u32, |state, byte| {
        state.rotate_left(5) ^ u32::from(byte)
    });
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(WORDS[(state >> 28) as usize]);
        text.push(' ');
    }
    text
}
