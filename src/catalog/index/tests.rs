use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Builder, Error, Index, Problem};
use crate::api::gvk::GroupVersionKind;

fn package(name: &str, default_channel: &str) -> Value {
    json!({ "schema": "olm.package", "name": name, "defaultChannel": default_channel })
}

fn channel(package: &str, name: &str, entries: &Value) -> Value {
    json!({ "schema": "olm.channel", "package": package, "name": name, "entries": entries })
}

fn bundle(package: &str, version: &str) -> Value {
    json!({
        "schema": "olm.bundle",
        "package": package,
        "name": format!("{package}.v{version}"),
        "image": format!("example.com/{package}:{version}"),
        "properties": [
            { "type": "olm.package", "value": { "packageName": package, "version": version } },
            { "type": "olm.gvk", "value": { "group": format!("{package}.io"), "version": "v1", "kind": "Thing" } },
            { "type": "olm.csv.metadata", "value": {
                "displayName": format!("The {package}"),
                "description": "First paragraph\nof two.\n\nSecond.",
                "annotations": { "categories": "Database, Storage", "capabilities": "Full Lifecycle" },
                "keywords": ["one", "two"],
                "provider": { "name": "Example Inc." },
                "minKubeVersion": "1.25.0",
                "installModes": [{ "type": "AllNamespaces", "supported": true }],
            } },
        ],
    })
}

fn gopher() -> Vec<Value> {
    vec![
        bundle("gopher", "0.10.0"),
        bundle("gopher", "0.9.0"),
        channel(
            "gopher",
            "stable",
            &json!([
                { "name": "gopher.v0.9.0" },
                { "name": "gopher.v0.10.0", "replaces": "gopher.v0.9.0", "skipRange": "<0.10.0" },
            ]),
        ),
        package("gopher", "stable"),
        json!({ "schema": "olm.deprecations", "package": "gopher", "entries": [
            { "reference": { "schema": "olm.package" }, "message": "use marmot" },
            { "reference": { "schema": "olm.channel", "name": "stable" }, "message": "too stable" },
            { "reference": { "schema": "olm.bundle", "name": "gopher.v0.9.0" }, "message": "old" },
        ] }),
        json!({ "schema": "example.notes", "package": "gopher", "text": "hello" }),
    ]
}

fn write(folder: &Path, blobs: &[Value]) -> (std::path::PathBuf, Vec<Problem>) {
    let path = folder.join("catalog.index");
    let mut builder = Builder::new(folder).unwrap();
    let stream: Vec<String> = blobs.iter().map(Value::to_string).collect();
    builder
        .add_file("catalog.json", stream.join("\n").as_bytes())
        .unwrap();
    let problems = builder.finish(&path).unwrap();
    (path, problems)
}

#[test]
fn the_card_of_a_package_comes_from_the_head_of_its_default_channel() {
    let folder = TempDir::new().unwrap();
    let (path, problems) = write(folder.path(), &gopher());
    assert_eq!(problems, []);
    let index = Index::open(&path).unwrap();
    let card = index.summary("gopher").unwrap();
    assert_eq!(card.display_name, "The gopher");
    assert_eq!(card.version, "0.10.0");
    assert_eq!(card.description, "First paragraph of two.");
    assert_eq!(card.categories, ["Database", "Storage"]);
    assert_eq!(card.capability_level, "Full Lifecycle");
    assert_eq!(card.provider, "Example Inc.");
    assert_eq!(card.deprecation.as_deref(), Some("use marmot"));
    assert_eq!(card.bundles, 2);
    assert!(card.install_modes.all_namespaces && !card.install_modes.own_namespace);
    assert!(!card.has_icon);
}

#[test]
fn a_record_holds_bundles_by_version_and_channels_that_point_to_them() {
    let folder = TempDir::new().unwrap();
    let (path, _) = write(folder.path(), &gopher());
    let record = Index::open(&path)
        .unwrap()
        .package("gopher")
        .unwrap()
        .unwrap();
    let names: Vec<&str> = record
        .bundles
        .iter()
        .map(|bundle| bundle.name.as_str())
        .collect();
    assert_eq!(names, ["gopher.v0.9.0", "gopher.v0.10.0"]);
    let stable = record.channel("stable").unwrap();
    assert_eq!(stable.deprecation.as_deref(), Some("too stable"));
    assert_eq!(stable.entries[1].bundle, 1);
    assert_eq!(stable.entries[1].replaces, "gopher.v0.9.0");
    assert_eq!(stable.entries[1].skip_range, "<0.10.0");
    let old = record.bundle("gopher.v0.9.0").unwrap();
    assert_eq!(old.deprecation.as_deref(), Some("old"));
    assert_eq!(old.min_kube_version, "1.25.0");
    let kinds: Vec<&str> = record
        .properties_of(old)
        .map(|(kind, _)| kind.as_str())
        .collect();
    assert_eq!(
        kinds,
        ["olm.package", "olm.gvk"],
        "the large ones stay on the disk"
    );
    let api = record
        .properties
        .iter()
        .filter(|(kind, _)| kind == "olm.gvk");
    assert_eq!(api.count(), 1, "both bundles have it, it is kept once");
}

#[test]
fn every_blob_comes_back_as_it_was() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher();
    blobs.push(json!({ "schema": "example.loose", "text": "of no package" }));
    let (path, _) = write(folder.path(), &blobs);
    let index = Index::open(&path).unwrap();
    let record = index.package("gopher").unwrap().unwrap();
    let mut found: Vec<Value> = index
        .blobs(&record)
        .chain(index.loose_blobs())
        .map(Result::unwrap)
        .collect();
    let order = |value: &Value| format!("{} {}", value["schema"], value["name"]);
    found.sort_by_key(order);
    blobs.sort_by_key(order);
    assert_eq!(found, blobs);
    assert_eq!(
        index.bundle_blob(&record.bundles[0]).unwrap()["name"],
        "gopher.v0.9.0"
    );
}

#[test]
fn an_api_leads_to_the_packages_that_provide_it() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher();
    blobs.extend([package("etcd", "alpha"), bundle("etcd", "1.0.0")]);
    blobs.push(channel(
        "etcd",
        "alpha",
        &json!([{ "name": "etcd.v1.0.0" }]),
    ));
    let (path, _) = write(folder.path(), &blobs);
    let index = Index::open(&path).unwrap();
    let provided = |group: &str| -> Vec<String> {
        let api = GroupVersionKind::new(group, "v1", "Thing");
        index
            .providers(&api)
            .map(|summary| summary.name.clone())
            .collect()
    };
    assert_eq!(provided("etcd.io"), ["etcd"]);
    assert_eq!(provided("gopher.io"), ["gopher"]);
    assert_eq!(provided("nobody.io"), Vec::<String>::new());
}

#[test]
fn a_broken_package_is_reported_and_the_rest_is_served() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher();
    blobs.push(bundle("orphan", "1.0.0"));
    blobs.push(json!({ "package": "nothing" }));
    blobs.push(package("dangling", "a"));
    blobs.push(channel(
        "dangling",
        "a",
        &json!([{ "name": "dangling.v1.0.0" }]),
    ));
    let (path, problems) = write(folder.path(), &blobs);
    let index = Index::open(&path).unwrap();
    let names: Vec<&str> = index
        .packages()
        .iter()
        .map(|card| card.name.as_str())
        .collect();
    assert_eq!(names, ["gopher"]);
    let mut packages: Vec<&str> = problems
        .iter()
        .map(|problem| problem.package.as_str())
        .collect();
    packages.dedup();
    assert_eq!(packages, ["nothing", "dangling", "orphan"]);
    assert_eq!(index.problems().unwrap(), problems);
    assert_eq!(index.left_out().count, 3);
    let first: Vec<&str> = index
        .left_out()
        .first
        .iter()
        .map(|one| one.package.as_str())
        .collect();
    assert_eq!(first, packages);
}

/// The gopher with a channel of two heads, one of which no other channel lists.
fn gopher_with_a_broken_channel(name: &str) -> Vec<Value> {
    let mut blobs = gopher();
    blobs.push(bundle("gopher", "1.0.0-rc1"));
    blobs.push(channel(
        "gopher",
        name,
        &json!([{ "name": "gopher.v0.9.0" }, { "name": "gopher.v1.0.0-rc1" }]),
    ));
    blobs
}

#[test]
fn a_broken_channel_is_left_out_with_what_only_it_lists_and_the_package_is_served() {
    let folder = TempDir::new().unwrap();
    let (path, problems) = write(folder.path(), &gopher_with_a_broken_channel("candidate"));
    let index = Index::open(&path).unwrap();
    let record = index.package("gopher").unwrap().unwrap();
    let channels: Vec<&str> = record.channels.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(channels, ["stable"]);
    let bundles: Vec<&str> = record.bundles.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(bundles, ["gopher.v0.9.0", "gopher.v0.10.0"]);
    let [broken] = record.broken_channels.as_slice() else {
        panic!("{:?}", record.broken_channels);
    };
    assert_eq!(broken.name, "candidate");
    assert!(broken.problem.contains("has 2 heads"), "{}", broken.problem);
    assert_eq!(index.summary("gopher").unwrap().channels, ["stable"]);
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.package, "gopher");
    assert!(problem.message.contains("candidate"), "{}", problem.message);
    assert_eq!(index.left_out().count, 1);
    // What is handed on is a catalog that others take as well.
    let blobs: Vec<Value> = index.blobs(&record).collect::<Result<_, _>>().unwrap();
    let (_, problems) = write(folder.path(), &blobs);
    assert_eq!(problems, []);
}

#[test]
fn a_bundle_that_a_broken_channel_misspells_or_forgets_is_left_out_with_the_channel() {
    for entries in [json!([{ "name": "gopher.v1.0.00" }]), json!([])] {
        let folder = TempDir::new().unwrap();
        let mut blobs = gopher();
        blobs.push(bundle("gopher", "1.0.0"));
        blobs.push(channel("gopher", "candidate", &entries));
        let (path, problems) = write(folder.path(), &blobs);
        let index = Index::open(&path).unwrap();
        let record = index.package("gopher").unwrap().unwrap();
        let bundles: Vec<&str> = record.bundles.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(bundles, ["gopher.v0.9.0", "gopher.v0.10.0"]);
        let broken = record.broken_channels.iter().map(|it| it.name.as_str());
        assert_eq!(broken.collect::<Vec<_>>(), ["candidate"]);
        let is_said = |problem: &Problem| problem.message.contains("in no channel");
        assert!(problems.iter().any(is_said), "{problems:?}");
    }
}

#[test]
fn a_bundle_that_no_channel_lists_still_breaks_a_package_whose_channels_are_sound() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher();
    blobs.push(bundle("gopher", "1.0.0"));
    let (path, problems) = write(folder.path(), &blobs);
    let index = Index::open(&path).unwrap();
    assert!(index.package("gopher").unwrap().is_none());
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn what_is_wrong_is_told_in_the_same_order_whatever_the_order_of_blobs() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher_with_a_broken_channel("candidate");
    blobs.push(channel(
        "gopher",
        "another",
        &json!([{ "name": "gopher.v7.0.0" }]),
    ));
    let (_, problems) = write(folder.path(), &blobs);
    assert_eq!(problems.len(), 2, "{problems:?}");
    blobs.reverse();
    assert_eq!(write(folder.path(), &blobs).1, problems);
}

#[test]
fn a_package_whose_default_channel_is_broken_shows_the_newest_that_others_have() {
    let folder = TempDir::new().unwrap();
    let mut blobs = gopher_with_a_broken_channel("candidate");
    blobs.retain(|blob| blob["schema"] != "olm.package");
    blobs.push(package("gopher", "candidate"));
    let (path, _) = write(folder.path(), &blobs);
    let index = Index::open(&path).unwrap();
    let card = index.summary("gopher").unwrap();
    assert_eq!(card.default_channel, "candidate");
    assert_eq!(card.version, "0.10.0");
    assert_eq!(card.display_name, "The gopher");
}

#[test]
fn the_same_catalog_makes_the_same_file_whatever_the_order_of_other_packages() {
    let folder = TempDir::new().unwrap();
    let marmot = [
        package("marmot", "a"),
        bundle("marmot", "1.0.0"),
        channel("marmot", "a", &json!([{ "name": "marmot.v1.0.0" }])),
    ];
    let one: Vec<Value> = gopher().into_iter().chain(marmot.clone()).collect();
    let other: Vec<Value> = marmot.into_iter().chain(gopher()).collect();
    let bytes = |blobs: &[Value]| fs_err::read(write(folder.path(), blobs).0).unwrap();
    assert_eq!(bytes(&one), bytes(&other));
}

#[test]
fn a_cut_or_altered_file_is_called_damaged_wherever_the_damage_is() {
    let folder = TempDir::new().unwrap();
    let (path, _) = write(folder.path(), &gopher());
    let whole = fs_err::read(&path).unwrap();
    let read_all = |path: &Path| -> Result<(), Error> {
        let index = Index::open(path)?;
        index.problems()?;
        for card in index.packages() {
            let record = index.package(&card.name)?.unwrap();
            for blob in index.blobs(&record) {
                blob?;
            }
        }
        Ok(())
    };
    read_all(&path).unwrap();
    let damaged = folder.path().join("damaged");
    for length in 0..whole.len() {
        fs_err::write(&damaged, &whole[..length]).unwrap();
        assert!(
            matches!(read_all(&damaged), Err(Error::Corrupt { .. })),
            "cut at {length}"
        );
    }
    // The eight bytes at the start are only there for people who look at the file.
    for at in 8..whole.len() {
        let mut altered = whole.clone();
        altered[at] ^= 0x55;
        fs_err::write(&damaged, &altered).unwrap();
        assert!(
            matches!(read_all(&damaged), Err(Error::Corrupt { .. })),
            "altered at {at}"
        );
    }
}

#[test]
fn an_older_bundle_gives_its_card_from_the_manifests_it_carries() {
    use base64::Engine as _;
    let folder = TempDir::new().unwrap();
    let csv = json!({
        "kind": "ClusterServiceVersion",
        "metadata": { "annotations": { "capabilities": "Basic Install" } },
        "spec": { "displayName": "Older", "provider": { "name": "Us" }, "keywords": null },
    });
    let encode = |value: &str| base64::engine::general_purpose::STANDARD.encode(value);
    let blobs = [
        package("old", "a"),
        channel("old", "a", &json!([{ "name": "old.v1.0.0" }])),
        json!({ "schema": "olm.bundle", "package": "old", "name": "old.v1.0.0", "properties": [
            { "type": "olm.package", "value": { "packageName": "old", "version": "1.0.0" } },
            { "type": "olm.bundle.object", "value": { "data": encode("not json") } },
            { "type": "olm.bundle.object", "value": { "data": encode(&csv.to_string()) } },
        ] }),
    ];
    let (path, problems) = write(folder.path(), &blobs);
    assert_eq!(problems, []);
    let index = Index::open(&path).unwrap();
    let card = index.summary("old").unwrap();
    assert_eq!(
        (card.display_name.as_str(), card.capability_level.as_str()),
        ("Older", "Basic Install")
    );
}
