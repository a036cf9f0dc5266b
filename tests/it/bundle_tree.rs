//! A folder of bundles becomes a catalog.

use chandler::catalog::source::bundle_tree::{self, Error, Loaded, PackageBlobs};

use crate::bundle::fixture;

fn tree() -> Loaded {
    bundle_tree::load(&fixture("tree")).unwrap()
}

fn package<'a>(loaded: &'a Loaded, name: &str) -> &'a PackageBlobs {
    let found = loaded.packages.iter().find(|p| p.package.name == name);
    found.unwrap()
}

/// `name<replaces` of each entry of a channel.
fn edges(package: &PackageBlobs, channel: &str) -> Vec<String> {
    let channel = package.channels.iter().find(|c| c.name == channel).unwrap();
    let entries = channel.entries.iter();
    entries
        .map(|entry| format!("{}<{}", entry.name, entry.replaces))
        .collect()
}

#[test]
fn each_package_has_its_channels_and_bundles() {
    let loaded = tree();
    let names: Vec<&str> = loaded
        .packages
        .iter()
        .map(|p| p.package.name.as_str())
        .collect();
    assert_eq!(names, ["broken", "chain", "older", "semver"]);

    let chain = package(&loaded, "chain");
    assert_eq!(
        edges(chain, "alpha"),
        ["chain.v1.0.0<", "chain.v1.1.0<chain.v1.0.0"]
    );
    assert_eq!(chain.bundles.len(), 2);
    assert_eq!(chain.bundles[0].image, "quay.io/operatorhubio/chain:v1.0.0");
    assert!(chain.folders["chain.v1.1.0"].ends_with("operators/chain/1.1.0"));

    let semver = package(&loaded, "semver");
    assert_eq!(
        edges(semver, "alpha"),
        ["semver.v1.0.0<", "semver.v1.0.1<semver.v1.0.0"]
    );
    assert_eq!(edges(semver, "stable"), ["semver.v1.0.1<"]);
    assert_eq!(semver.package.default_channel, "stable");
}

#[test]
fn a_package_has_the_icon_and_description_of_the_head_of_its_default_channel() {
    let loaded = tree();
    let chain = &package(&loaded, "chain").package;
    assert_eq!(chain.description, "Digs burrows.");
    assert_eq!(chain.icon.as_ref().unwrap().base64data, "Z29waGVy");
    assert_eq!(package(&loaded, "semver").package.icon, None);
}

#[test]
fn the_older_format_is_read_too() {
    let loaded = tree();
    let older = package(&loaded, "older");
    assert_eq!(
        edges(older, "stable"),
        ["older.v0.1.0<", "older.v0.2.0<older.v0.1.0"]
    );
    assert_eq!(edges(older, "old"), ["older.v0.1.0<"]);
    assert_eq!(older.package.default_channel, "stable");
}

#[test]
fn what_is_broken_is_reported_with_its_path_and_left_out() {
    let loaded = tree();
    let root = fixture("tree/operators");
    let mut problems: Vec<(String, bool, &str)> = loaded
        .problems
        .iter()
        .map(|problem| {
            let path = problem.path.strip_prefix(&root).unwrap();
            (
                path.to_string_lossy().into_owned(),
                problem.left_out,
                problem.why.as_str(),
            )
        })
        .collect();
    problems.sort();
    let expected = [
        (
            "broken/1.0.0-copy",
            true,
            "`broken.v1.0.0` 1.0.0 is already there as",
        ),
        ("broken/1.1.0", true, "no annotations in metadata/"),
        (
            "broken/one",
            true,
            "manifests/broken.clusterserviceversion.yaml: spec.version: invalid version",
        ),
        ("chain/0.9.0", true, "`chain.v0.9.0` is in no channel"),
        ("empty", true, "holds no bundles"),
        (
            "semver/1.0.0",
            false,
            "manifests/semver.clusterserviceversion.yaml: olm.skipRange is ignored",
        ),
        (
            "semver/ci.yaml",
            false,
            "updateGraph: expected replaces-mode, semver-mode or semver-skippatch, found `semver`; taken for `semver-mode`",
        ),
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert_eq!((problem.0.as_str(), problem.1), (expected.0, expected.1));
        assert!(problem.2.starts_with(expected.2), "{problem:?}");
    }
    assert_eq!(package(&loaded, "broken").bundles.len(), 1);
}

#[test]
fn a_package_or_a_bundle_alone_will_do() {
    let chain = bundle_tree::load(&fixture("tree/operators/chain")).unwrap();
    assert_eq!(chain.packages.len(), 1);
    assert_eq!(chain.packages[0].bundles.len(), 2);
    let bundle = bundle_tree::load(&fixture("plain")).unwrap();
    assert_eq!(bundle.packages[0].package.name, "gopher");
    let packages = bundle_tree::load(&fixture("tree/operators")).unwrap();
    assert_eq!(packages.packages.len(), 4);
}

#[test]
fn a_folder_without_bundles_is_no_catalog() {
    let folder = tempfile::tempdir().unwrap();
    let error = bundle_tree::load(folder.path()).unwrap_err();
    assert!(matches!(error, Error::NoBundles(_)), "{error}");
    let error = bundle_tree::load(&folder.path().join("missing")).unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
}
