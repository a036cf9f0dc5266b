//! Every real bundle, of all versions and in both formats, can be read and rendered.

use chandler::bundle::{self, FileTree, lint, package_manifest};

use crate::support::data::each_yaml_file;

/// What the files of one folder are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Folder {
    Bundle(String),
    Package(String),
}

/// The folder that a file belongs to, and its path inside.
fn place(path: &str) -> Option<(Folder, String)> {
    for part in ["/manifests/", "/metadata/"] {
        if let Some(at) = path.find(part) {
            let (folder, inside) = path.split_at(at);
            return Some((Folder::Bundle(folder.to_owned()), inside[1..].to_owned()));
        }
    }
    let older = path.contains("/litmuschaos/") || path.contains("legacy/");
    let package = if path.contains("legacy/") { 3 } else { 2 };
    let at = path.match_indices('/').nth(package - 1)?.0;
    older.then(|| {
        (
            Folder::Package(path[..at].to_owned()),
            path[at + 1..].to_owned(),
        )
    })
}

#[derive(Default)]
struct Seen {
    bundles: usize,
    versions_of_packages: usize,
    findings: usize,
    failures: Vec<String>,
}

impl Seen {
    fn folder(&mut self, folder: &Folder, tree: &FileTree) {
        match folder {
            Folder::Bundle(path) => match bundle::load(tree) {
                Ok(bundle) => {
                    self.bundles += 1;
                    self.bundle(path, &bundle);
                }
                Err(error) => self.failures.push(format!("{path}: {error}")),
            },
            Folder::Package(path) => match package_manifest::load_package(tree) {
                Ok(package) => {
                    self.versions_of_packages += package.bundles.len();
                    for bundle in &package.bundles {
                        self.bundle(path, bundle);
                    }
                    let broken = package.broken.iter();
                    self.failures
                        .extend(broken.map(|(folder, error)| format!("{path}/{folder}: {error}")));
                }
                Err(error) => self.failures.push(format!("{path}: {error}")),
            },
        }
    }

    fn bundle(&mut self, path: &str, bundle: &bundle::Bundle) {
        // All of them would take a minute longer without optimisation.
        if self.bundles.is_multiple_of(20) {
            self.findings += lint::lint(bundle).len();
        }
        match bundle::render(bundle, "registry.example.com/bundle:1") {
            Ok(rendered) => {
                let has = |kind: &str| rendered.properties.iter().any(|p| p.kind == kind);
                assert!(has("olm.package") && has("olm.csv.metadata"), "{path}");
            }
            Err(error) => self.failures.push(format!("{path}: {error}")),
        }
    }
}

#[test]
fn every_real_bundle_of_all_versions_loads() {
    let test = "every_real_bundle_of_all_versions_loads";
    let mut seen = Seen::default();
    let mut done: Vec<Folder> = Vec::new();
    let mut current: Option<(Folder, FileTree)> = None;
    let found = each_yaml_file(test, |file| {
        let Some((folder, inside)) = place(file.path.trim_start_matches("community/")) else {
            return;
        };
        if let Some((last, tree)) = current.take_if(|(last, _)| *last != folder) {
            seen.folder(&last, &tree);
            done.push(last);
        }
        let (_, tree) = current.get_or_insert_with(|| (folder, FileTree::new()));
        tree.insert(inside, file.text.into_bytes());
    })
    .unwrap();
    if !found {
        return;
    }
    if let Some((last, tree)) = current {
        seen.folder(&last, &tree);
        done.push(last);
    }
    let folders = done.len();
    done.sort();
    done.dedup();
    assert_eq!(done.len(), folders, "a folder is not in one piece");
    assert_eq!(seen.failures, Vec::<String>::new());
    assert_eq!(seen.bundles, 1_179 + 138);
    assert_eq!(seen.versions_of_packages, 28);
    assert!(seen.findings > 100, "lint is blind");
}
