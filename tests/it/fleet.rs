//! The repository's own bundles, and the catalog that is made of them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::command_line::Shell;
use crate::support::cluster::repository;

/// What bundles are called in the catalog.
const IMAGES: &str = "registry.example.com/fleet/{package}-bundle:v{version}";

/// The packages of which the catalog is not what our command makes of their bundles.
fn differing(bundles: &Path, catalog: &Path) -> Vec<String> {
    let shell = Shell::new();
    let packages: BTreeSet<String> = folders(bundles).union(&folders(catalog)).cloned().collect();
    let differs = |package: &String| {
        let source = bundles.join(package);
        let render = ["catalog", "render", &source.to_string_lossy(), "-o", "yaml"];
        let made = shell.run_words(&[&render[..], &["--image", IMAGES]].concat());
        let kept = fs_err::read_to_string(catalog.join(package).join("catalog.yaml"));
        made.code != Some(0) || kept.ok() != Some(made.out)
    };
    packages.into_iter().filter(differs).collect()
}

fn folders(path: &Path) -> BTreeSet<String> {
    fs_err::read_dir(path)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_catalog_is_what_our_commands_make_of_the_bundles() {
    let differing = differing(&repository().join("bundles"), &repository().join("catalog"));
    assert!(
        differing.is_empty(),
        "{differing:?}: make them anew as catalog/README.md says"
    );
}

#[test]
fn a_change_of_a_bundle_that_is_not_in_the_catalog_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = repository().join("catalog");
    let copy = |package: &str| {
        let bundles = folder.path().join(package);
        let from = repository().join("bundles").join(package);
        let copied = std::process::Command::new("cp")
            .args(["-r"])
            .args([&from, &bundles])
            .status();
        assert!(copied.unwrap().success());
        bundles
    };
    for package in folders(&catalog) {
        copy(&package);
    }
    assert!(differing(folder.path(), &catalog).is_empty());
    let csv = "0.2.0/manifests/gopher.clusterserviceversion.yaml";
    let csv = folder.path().join("gopher").join(csv);
    let text = fs_err::read_to_string(&csv).unwrap();
    fs_err::write(&csv, text.replace("maturity: ", "maturity: very ")).unwrap();
    fs_err::remove_dir_all(folder.path().join("etcd")).unwrap();
    fs_err::rename(folder.path().join("mysql"), folder.path().join("yoursql")).unwrap();
    let noticed = differing(folder.path(), &catalog);
    assert_eq!(noticed, ["etcd", "gopher", "mysql", "yoursql"]);
}

#[test]
fn nothing_is_wrong_with_the_fleet() {
    let shell = Shell::new();
    let catalog = repository().join("catalog");
    shell.done(&format!("catalog lint {}", catalog.display()));
    let bundles = repository().join("bundles");
    for package in folders(&bundles) {
        for version in folders(&bundles.join(&package)) {
            let bundle = bundles.join(&package).join(version);
            shell.done(&format!("bundle lint {}", bundle.display()));
        }
    }
}
