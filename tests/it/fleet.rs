//! The bundles and the catalog of this repository.

use crate::command_line::Shell;
use crate::support::cluster::repository;
use crate::support::fleet::bundles;

#[test]
fn the_catalog_is_what_the_bundles_render_to() {
    let shell = Shell::new();
    let mut packages: Vec<String> = bundles().unwrap().into_iter().map(|it| it.0).collect();
    packages.dedup();
    assert_eq!(packages.len(), 13);
    for package in packages {
        let folder = repository().join("bundles").join(&package);
        let rendered = shell.done(&format!(
            "catalog render {} -o yaml --image registry.example.com/fleet/{{package}}-bundle:v{{version}}",
            folder.display()
        ));
        let file = repository()
            .join("catalog")
            .join(&package)
            .join("catalog.yaml");
        let written = fs_err::read_to_string(file).unwrap();
        assert!(
            rendered == written,
            "catalog/{package} is not made of bundles/{package}: catalog/README.md says how to"
        );
    }
    let catalog = repository().join("catalog");
    shell.done(&format!("catalog lint {}", catalog.display()));
}

#[test]
fn no_bundle_has_a_mistake_in_it() {
    let shell = Shell::new();
    for (package, version) in bundles().unwrap() {
        let folder = repository().join("bundles").join(package).join(version);
        shell.done(&format!("bundle lint {}", folder.display()));
    }
}
