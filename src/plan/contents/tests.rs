use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::bundle::{FileTree, load};

fn csv() -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": "harbor.v1.0.0" },
        "spec": { "minKubeVersion": "1.25.0", "install": { "strategy": "deployment" } },
    })
}

fn named(kind: &str, name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name } })
}

fn property(object: &Value) -> (String, String) {
    let data = STANDARD.encode(object.to_string());
    (
        BUNDLE_OBJECT.to_owned(),
        json!({ "data": data }).to_string(),
    )
}

fn bundle(csv: &str) -> Bundle {
    let files = [
        (
            "metadata/annotations.yaml",
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: harbor\n",
        ),
        ("manifests/b.yaml", csv),
        (
            "manifests/c.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: pier}\n",
        ),
        (
            "manifests/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\n",
        ),
    ];
    let tree: FileTree = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    load(&tree).unwrap()
}

#[test]
fn a_bundle_has_its_csv_and_its_objects_in_the_order_of_its_files() {
    let bundle = bundle(&csv().to_string());
    let contents = Contents::of_bundle(&bundle).unwrap();
    assert_eq!(contents.name(), "harbor.v1.0.0");
    assert_eq!(contents.csv(), &csv());
    let chart = named("ConfigMap", "chart");
    assert_eq!(contents.objects(), [chart, named("Service", "pier")]);
}

#[test]
fn keys_in_the_wrong_case_are_written_right() {
    let bundle = bundle(
        &csv()
            .to_string()
            .replace("minKubeVersion", "MinKubeVersion"),
    );
    let contents = Contents::of_bundle(&bundle).unwrap();
    assert_eq!(contents.csv()["spec"]["minKubeVersion"], "1.25.0");
    assert_eq!(contents.csv()["spec"].get("MinKubeVersion"), None);
}

#[test]
fn a_bundle_without_image_is_read_from_its_properties() {
    let properties = [
        ("olm.package".to_owned(), "{}".to_owned()),
        property(&named("Service", "pier")),
        property(&csv()),
        property(&named("ConfigMap", "chart")),
    ];
    let contents = Contents::of_properties(&properties).unwrap();
    assert_eq!(contents.csv(), &csv());
    let pier = named("Service", "pier");
    assert_eq!(contents.objects(), [pier, named("ConfigMap", "chart")]);
}

#[test]
fn what_olm_unpacked_is_read_packed_or_not() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(csv().to_string().as_bytes()).unwrap();
    let packed = STANDARD.encode(gzip.finish().unwrap()).into_bytes();
    let binary = BTreeMap::from([("csv.yaml".to_owned(), packed)]);
    let data = BTreeMap::from([
        (
            "a.yaml".to_owned(),
            "kind: Service\napiVersion: v1\nmetadata: {name: pier}".to_owned(),
        ),
        ("readme".to_owned(), "just words".to_owned()),
    ]);
    let contents = Contents::of_config_map(&data, &binary).unwrap();
    assert_eq!(contents.csv(), &csv());
    assert_eq!(contents.objects().len(), 1);
}

#[rstest]
#[case(vec![named("Service", "pier")], "no ClusterServiceVersion")]
#[case(vec![csv(), csv()], "two ClusterServiceVersions, harbor.v1.0.0 and harbor.v1.0.0")]
#[case(vec![csv(), json!({ "apiVersion": "v1", "metadata": { "name": "a" } })], "object no. 2 of the bundle has no kind")]
#[case(vec![json!({ "apiVersion": "v1", "kind": "Service" })], "object no. 1 (Service) of the bundle has no metadata.name")]
#[case(vec![csv(), json!({ "kind": "Service", "metadata": { "name": "pier" } })], "Service pier of the bundle has no apiVersion")]
#[case(vec![csv(), json!("words")], "object no. 2 of the bundle cannot be read")]
fn what_is_wrong_is_told_with_its_place(#[case] objects: Vec<Value>, #[case] words: &str) {
    let error = Contents::of_objects(objects).unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(error.reason(), "ErrorPreventedUnpacking");
}

#[test]
fn a_csv_without_api_version_is_refused_in_olms_words() {
    let mut csv = csv();
    csv.as_object_mut().unwrap().remove("apiVersion");
    let error = Contents::of_objects(vec![csv]).unwrap_err().to_string();
    let words = "bundle CSV harbor.v1.0.0 missing APIVersion";
    assert!(error.starts_with(words), "{error}");
}

#[rstest]
#[case("{}", "missing field")]
#[case(r#"{"data":"?"}"#, "Invalid symbol")]
#[case(r#"{"data":""}"#, "empty")]
fn a_property_that_holds_no_manifest_is_refused(#[case] json: &str, #[case] words: &str) {
    let properties = [(BUNDLE_OBJECT.to_owned(), json.to_owned())];
    let error = Contents::of_properties(&properties)
        .unwrap_err()
        .to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_packed_entry_does_not_grow_without_end() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..=(UNPACKED_LIMIT >> 20) {
        gzip.write_all(&zeros).unwrap();
    }
    let packed = STANDARD.encode(gzip.finish().unwrap());
    let problem = unpack(packed.as_bytes()).unwrap_err();
    assert!(problem.contains("more than"), "{problem}");
}
