//! What cannot be shown with a folder of files.

use std::collections::BTreeMap;

use super::*;

const CSV: &str = "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: gopher.v1.0.0}
spec: {version: 1.0.0}
";

fn tree(files: &[(&str, &str)]) -> FileTree {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn annotations(extra: &str) -> String {
    format!("annotations:\n  {}: gopher\n{extra}", labels::PACKAGE)
}

#[test]
fn the_labels_of_an_image_stand_in_for_annotations() {
    let files = tree(&[("manifests/csv.yaml", CSV)]);
    let image_labels = BTreeMap::from([
        (labels::PACKAGE.to_owned(), "gopher".to_owned()),
        (labels::CHANNELS.to_owned(), "alpha,beta".to_owned()),
    ]);
    let bundle = load_with_labels(&files, &image_labels).unwrap();
    assert_eq!(bundle.channels, ["alpha", "beta"]);
    assert!(matches!(load(&files), Err(Error::NoAnnotations { .. })));
}

#[test]
fn annotations_in_files_take_precedence_over_labels() {
    let files = tree(&[
        ("manifests/csv.yaml", CSV),
        ("metadata/annotations.yaml", &annotations("")),
    ]);
    let image_labels = BTreeMap::from([(labels::PACKAGE.to_owned(), "other".to_owned())]);
    let bundle = load_with_labels(&files, &image_labels).unwrap();
    assert_eq!(bundle.package, "gopher");
}

#[test]
fn annotations_may_name_other_folders() {
    let named = annotations(&format!("  {}: ./deploy/\n", labels::MANIFESTS));
    let files = tree(&[("deploy/csv.yaml", CSV), ("about/annotations.yaml", &named)]);
    let image_labels = BTreeMap::from([(labels::METADATA.to_owned(), "/about/".to_owned())]);
    let bundle = load_with_labels(&files, &image_labels).unwrap();
    assert_eq!(bundle.csv.file, "deploy/csv.yaml");
}

#[test]
fn a_folder_that_is_named_but_missing_is_the_usual_one() {
    let named = annotations(&format!("  {}: elsewhere/\n", labels::MANIFESTS));
    let files = tree(&[
        ("manifests/csv.yaml", CSV),
        ("metadata/annotations.yaml", &named),
    ]);
    assert_eq!(load(&files).unwrap().csv.file, "manifests/csv.yaml");
}

#[test]
fn a_bundle_without_package_is_refused() {
    let nameless = format!("annotations:\n  {}: alpha\n", labels::CHANNELS);
    let files = tree(&[
        ("manifests/csv.yaml", CSV),
        ("metadata/annotations.yaml", &nameless),
    ]);
    let error = load(&files).unwrap_err();
    assert!(matches!(error, Error::NoPackage { .. }), "{error}");
}

#[test]
fn a_release_may_be_a_number() {
    let csv = CSV.replace("1.0.0}", "1.0.0, release: 2}").replacen(
        "gopher.v1.0.0, release: 2",
        "gopher.v1.0.0",
        1,
    );
    let files = tree(&[
        ("manifests/csv.yaml", &csv),
        ("metadata/annotations.yaml", &annotations("")),
    ]);
    let bundle = load(&files).unwrap();
    assert_eq!(bundle.release, "2");
    let rendered = render(&bundle, "").unwrap();
    assert_eq!(rendered.properties[0].value["release"], "2");
}

#[test]
fn a_csv_without_spec_or_name_is_refused() {
    for broken in [
        CSV.replace("spec: {version: 1.0.0}", "spec:"),
        CSV.replace("{name: gopher.v1.0.0}", "{}"),
    ] {
        let files = tree(&[
            ("manifests/csv.yaml", &broken),
            ("metadata/annotations.yaml", &annotations("")),
        ]);
        let error = load(&files).unwrap_err();
        assert!(matches!(error, Error::Object { .. }), "{error}");
    }
}

#[test]
fn a_link_out_of_the_folder_is_refused_and_one_inside_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("bundle");
    fs_err::create_dir_all(root.join("manifests")).unwrap();
    fs_err::write(root.join("manifests/csv.yaml"), CSV).unwrap();
    std::os::unix::fs::symlink("csv.yaml", root.join("manifests/again.yaml")).unwrap();
    let files = read_dir(&root).unwrap();
    assert_eq!(files["manifests/again.yaml"], CSV.as_bytes());

    fs_err::write(folder.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
    let error = read_dir(&root).unwrap_err();
    assert!(matches!(error, Error::Outside { .. }), "{error}");
}

#[test]
fn a_link_to_the_folder_itself_ends_at_the_limit_of_depth() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("again")).unwrap();
    let error = read_dir(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
}

#[test]
fn files_beyond_the_limits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("a"), "12345").unwrap();
    fs_err::write(folder.path().join("b"), "12345").unwrap();
    let limits = Limits::default();
    for limits in [
        Limits { file: 4, ..limits },
        Limits { total: 9, ..limits },
        Limits { files: 1, ..limits },
    ] {
        let error = read_dir_within(folder.path(), &limits).unwrap_err();
        assert!(matches!(error, Error::Limit { .. }), "{error}");
    }
}

#[test]
fn go_finds_fields_without_regard_to_case_and_the_exact_name_wins() {
    #[derive(serde::Deserialize)]
    struct Spec {
        #[serde(rename = "minKubeVersion")]
        min: String,
    }
    for (json, expected) in [
        (r#"{"MINkubeversion": "1"}"#, "1"),
        (r#"{"minKubeVersion": "1", "MinKubeVersion": "2"}"#, "1"),
        (r#"{"MinKubeVersion": "2", "minKubeVersion": "1"}"#, "1"),
    ] {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(go::decode::<Spec>(&value).unwrap().min, expected);
        assert_eq!(go::get(&value, "minKubeVersion").unwrap(), expected);
    }
}

#[test]
fn what_does_not_fit_is_told_with_the_way_to_it() {
    let value = serde_json::json!({"deployments": [{"name": "a"}, {"name": 1}]});
    let mismatch = go::decode::<crate::api::cluster_service_version::install::InstallSpec>(&value)
        .unwrap_err();
    assert_eq!(mismatch.path(), "deployments[1].name");
}

#[test]
fn json_is_written_as_go_writes_it() {
    let value = serde_json::json!({"b": "<a&b>\u{2028}\n\u{1}", "a": [1, 1.5, null, true]});
    assert_eq!(
        go::to_json(&value),
        r#"{"a":[1,1.5,null,true],"b":"\u003ca\u0026b\u003e\u2028\n\u0001"}"#
    );
}

proptest::proptest! {
    #[test]
    fn nothing_that_is_written_into_files_makes_loading_panic(
        csv in "[ -~\n]{0,200}",
        metadata in "[ -~\n]{0,100}",
    ) {
        let csv = format!("{CSV}{csv}");
        let metadata = format!("{}{metadata}", annotations(""));
        let files = tree(&[("manifests/csv.yaml", &csv), ("metadata/a.yaml", &metadata)]);
        if let Ok(bundle) = load(&files) {
            let _ = render(&bundle, "image");
        }
    }
}
