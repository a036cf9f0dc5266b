//! `deploy/crds` is what the code says.

use std::collections::BTreeMap;

use chandler::{api, yaml};

use crate::support::cluster::repository;

/// What `kubectl apply` can still keep in its annotation.
const ANNOTATION_LIMIT: usize = 256 * 1024;

#[test]
fn the_files_in_deploy_are_those_that_make_crds_writes() {
    let mut expected: BTreeMap<String, String> = api::all_crds()
        .iter()
        .map(|crd| {
            (
                format!("{}.yaml", crd.spec.names.plural),
                yaml::to_string(crd).unwrap(),
            )
        })
        .collect();
    let mut files = String::new();
    for file in expected.keys() {
        files.push_str("  - ");
        files.push_str(file);
        files.push('\n');
    }
    expected.insert(
        "Kustomization".to_owned(),
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{files}"
        ),
    );
    let folder = repository().join("deploy/crds");
    let mut found = BTreeMap::new();
    for entry in fs_err::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.insert(name, fs_err::read_to_string(&path).unwrap());
    }
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, text) in &expected {
        assert!(
            found[name] == *text,
            "deploy/crds/{name} differs from the code: run `make crds`"
        );
    }
}

#[test]
fn every_crd_fits_into_the_annotation_of_a_plain_kubectl_apply() {
    for crd in api::all_crds() {
        let size = serde_json::to_string(&crd).unwrap().len();
        assert!(
            size < ANNOTATION_LIMIT,
            "{}: {size} bytes",
            crd.spec.names.plural
        );
    }
}
