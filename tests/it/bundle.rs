//! Bundles are read, and rendered for a catalog, as `opm` does it.

use std::path::{Path, PathBuf};

use chandler::bundle::{self, Bundle, Form};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::cluster::repository;

pub(crate) fn fixture(name: &str) -> PathBuf {
    repository().join("tests/fixtures/bundles").join(name)
}

pub(crate) fn load(folder: &Path) -> Result<Bundle, bundle::Error> {
    bundle::load(&bundle::read_dir(folder)?)
}

fn rendered(bundle: &Bundle, form: Form) -> Value {
    let image = format!(
        "registry.example.com/{}-bundle:v{}",
        bundle.package, bundle.version
    );
    let rendered = bundle::render_as(bundle, &image, form).unwrap();
    json!({
        "schema": "olm.bundle",
        "name": rendered.name,
        "package": rendered.package,
        "image": rendered.image,
        "properties": rendered.properties,
        "relatedImages": rendered.related_images,
    })
}

fn golden(name: &str, file: &str) -> Value {
    let text = fs_err::read_to_string(fixture(name).join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[rstest]
#[case::plain("plain")]
#[case::duplicate_keys_anchors_tabs_line_ends("odd-yaml")]
#[case::several_documents_in_a_file("many-documents")]
#[case::nulls_numbers_and_keys_in_another_case("odd-types")]
#[case::files_of_any_name("odd-metadata")]
#[case::files_that_do_not_belong_there("odd-files")]
fn a_bundle_is_rendered_as_opm_renders_it(#[case] name: &str) {
    let bundle = load(&fixture(name)).unwrap();
    assert_eq!(
        rendered(&bundle, Form::CsvMetadata),
        golden(name, "rendered.json")
    );
}

#[rstest]
#[case("plain")]
#[case("odd-yaml")]
#[case("odd-files")]
fn the_older_form_carries_all_manifests_as_opm_does(#[case] name: &str) {
    let bundle = load(&fixture(name)).unwrap();
    assert_eq!(
        rendered(&bundle, Form::BundleObjects),
        golden(name, "rendered-objects.json")
    );
}

#[test]
fn the_parts_of_a_plain_bundle_are_found() {
    let bundle = load(&fixture("plain")).unwrap();
    assert_eq!(bundle.name, "gopher.v1.0.0");
    assert_eq!(bundle.package, "gopher");
    assert_eq!(bundle.version, "1.0.0");
    assert_eq!(bundle.channels, ["alpha"]);
    assert_eq!(bundle.default_channel, "alpha");
    assert_eq!(
        bundle.csv.file,
        "manifests/gopher.clusterserviceversion.yaml"
    );
    assert_eq!(bundle.csv.value["spec"]["provider"]["name"], "Gophers");
    assert_eq!(bundle.objects.len(), 1);
    assert_eq!(bundle.objects[0].name(), "burrows.gophers.example.com");
    assert_eq!(bundle.warnings, []);
}

#[rstest]
#[case("plain", &[])]
#[case("odd-yaml", &[])]
#[case("many-documents", &["manifests/services.yaml:6: this document and all behind it are ignored"])]
#[case("odd-metadata", &["metadata/created-at: is ignored: it holds neither"])]
#[case("odd-files", &[
    "manifests/README.md:3: ",
    "manifests/empty.yaml: is ignored: it is empty",
    "manifests/kindless.yaml: is ignored: expected a Kubernetes object with a `kind`",
    "manifests/latin1.yaml:4: is ignored: expected UTF-8",
    "manifests/B_second.yaml: is ignored: manifests/A_first.yaml is already",
    "manifests/A_first.yaml: expected `apiVersion: operators.coreos.com/v1alpha1`, found `v1alpha1`",
])]
fn what_does_no_harm_is_warned_of(#[case] name: &str, #[case] expected: &[&str]) {
    let bundle = load(&fixture(name)).unwrap();
    let warnings: Vec<String> = bundle.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), expected.len(), "{warnings:#?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning} / {expected}");
    }
}

#[rstest]
#[case(
    "no-csv",
    "no ClusterServiceVersion in manifests/ (manifests/gopher.clusterserviceversion.yaml:4:"
)]
#[case(
    "no-annotations",
    "no annotations in metadata/: expected a file such as metadata/annotations.yaml"
)]
#[case(
    "owned-not-shipped",
    "manifests/gopher.clusterserviceversion.yaml: spec.customresourcedefinitions.owned: \
     Burrow.v1.gophers.example.com (burrows) is in no CustomResourceDefinition"
)]
#[case(
    "version-is-a-number",
    "manifests/gopher.clusterserviceversion.yaml:13:12: spec.version: "
)]
fn what_opm_refuses_is_refused_with_file_and_reason(#[case] name: &str, #[case] expected: &str) {
    let error = load(&fixture(&format!("broken/{name}")))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with(expected), "{error}");
}
