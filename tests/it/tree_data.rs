//! The whole folder of OperatorHub.io's bundles, as a catalog.

use chandler::catalog::fbc::{PackageBlobs, validate};
use chandler::catalog::source::bundle_tree;

use crate::support::data::each_yaml_file;

#[test]
fn a_folder_of_real_bundles_is_a_catalog_that_keeps_all_rules() {
    let folder = tempfile::tempdir().unwrap();
    let found = each_yaml_file(
        "a_folder_of_real_bundles_is_a_catalog_that_keeps_all_rules",
        |file| {
            if let Some(inside) = file.path.strip_prefix("community/operators/") {
                let path = folder.path().join(inside);
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
                fs_err::write(path, file.text).unwrap();
            }
        },
    )
    .unwrap();
    if !found {
        return;
    }
    let loaded = bundle_tree::load(folder.path()).unwrap();
    assert_eq!(loaded.packages.len(), 70);
    let mut broken = Vec::new();
    for package in loaded.packages {
        let name = package.package.name.clone();
        let blobs = PackageBlobs {
            definitions: vec![package.package],
            channels: package.channels,
            bundles: package.bundles,
            ..PackageBlobs::default()
        };
        let problems = validate(&name, &blobs);
        let refused = problems.iter().filter(|problem| problem.rule.refuses());
        broken.extend(refused.map(ToString::to_string));
    }
    assert_eq!(broken, Vec::<String>::new());
}
