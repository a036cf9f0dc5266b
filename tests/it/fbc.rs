//! File-based catalogs from folders: what is read, what is refused and why, what is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chandler::bundle::FileTree;
use chandler::catalog::fbc::validate::{Release, check_pull_spec};
use chandler::catalog::fbc::{
    Catalog, Checked, Loaded, load_dir, load_tree, read, walk, write_json, write_yaml,
};
use rstest::rstest;

use crate::support::cluster::repository;

pub(crate) fn fixtures() -> PathBuf {
    repository().join("tests/fixtures/fbc")
}

fn sound() -> Catalog {
    let loaded = load_dir(&fixtures().join("sound")).unwrap();
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    loaded.catalog
}

#[test]
fn every_file_belongs_to_the_catalog_unless_indexignore_says_otherwise() {
    let found = walk(&fixtures().join("sound")).unwrap();
    let expected = [
        "KEEP.md",
        "buoy/bundles.json",
        "buoy/package.json",
        "lighthouse/catalog.yaml",
        "notes.yaml",
    ];
    assert_eq!(found, expected.map(PathBuf::from));
}

#[test]
fn a_sound_catalog_is_served_whole() {
    let checked = Loaded {
        catalog: sound(),
        errors: Vec::new(),
    }
    .check();
    assert!(checked.broken.is_empty(), "{:?}", checked.broken);
    assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
    let lighthouse = &checked.catalog.packages["lighthouse"];
    let counts = (
        lighthouse.definitions.len(),
        lighthouse.channels.len(),
        lighthouse.bundles.len(),
        lighthouse.deprecations.len(),
        lighthouse.others.len(),
    );
    assert_eq!(counts, (1, 2, 3, 1, 1));
    assert_eq!(checked.catalog.packages["buoy"].bundles.len(), 2);
    let others = checked.catalog.others.iter();
    let others: Vec<_> = others.map(|other| (&*other.schema, &*other.name)).collect();
    let expected = [
        ("example.com/kept", ""),
        ("example.com/notes", "first"),
        ("example.com/notes", "second"),
    ];
    assert_eq!(others, expected);
}

#[test]
fn a_folder_in_memory_is_the_same_catalog() {
    let root = fixtures().join("sound");
    let mut tree = FileTree::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let inside = path.strip_prefix(&root).unwrap().to_str().unwrap();
                tree.insert(inside.to_owned(), fs_err::read(&path).unwrap());
            }
        }
    }
    let loaded = load_tree(&tree);
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    assert_eq!(loaded.catalog, sound());
}

#[test]
fn json_is_written_byte_for_byte_as_opm_writes_it() {
    let mut catalog = sound();
    catalog.tidy();
    let mut out = Vec::new();
    write_json(catalog, &mut out).unwrap();
    let expected = fs_err::read_to_string(fixtures().join("sound.opm.json")).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn yaml_is_written_with_the_meaning_and_the_order_of_opm() {
    let mut catalog = sound();
    catalog.tidy();
    let mut out = Vec::new();
    write_yaml(catalog, &mut out).unwrap();
    let keys = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with(' '));
        lines
            .filter_map(|line| Some(line.split_once(':')?.0.to_owned()))
            .collect()
    };
    let blobs = |text: &str| -> Vec<_> {
        read("yaml", text.as_bytes())
            .map(|blob| blob.unwrap().meta)
            .collect()
    };
    let ours = String::from_utf8(out).unwrap();
    let theirs = fs_err::read_to_string(fixtures().join("sound.opm.yaml")).unwrap();
    assert_eq!(keys(&ours), keys(&theirs));
    assert_eq!(blobs(&ours), blobs(&theirs));
}

fn check_file(path: &Path) -> Checked {
    load_dir(path).unwrap().check()
}

#[test]
fn every_rule_is_broken_by_a_fixture_and_told() {
    let mut told = BTreeSet::new();
    for entry in fs_err::read_dir(fixtures().join("rules")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let rule = stem.split('.').next().unwrap().to_owned();
        let checked = check_file(&path);
        let problems: Vec<_> = checked
            .broken
            .values()
            .flatten()
            .chain(&checked.warnings)
            .collect();
        let rules: BTreeSet<String> = problems
            .iter()
            .map(|problem| serde_json::to_value(problem.rule).unwrap())
            .map(|rule| rule.as_str().unwrap().to_owned())
            .collect();
        if rule == "unreadable" {
            assert!(!checked.errors.is_empty(), "{stem} is read");
        } else {
            assert!(rules.contains(&rule), "{stem}: {problems:?}");
            assert!(checked.errors.is_empty(), "{stem}: {:?}", checked.errors);
        }
        for problem in &problems {
            let words = problem.to_string();
            assert!(
                words.starts_with("package \"") && !problem.advice.is_empty(),
                "{words}"
            );
        }
        told.insert(rule);
    }
    let all = [
        "unreadable",
        "package-name",
        "package-once",
        "icon",
        "has-channels",
        "default-channel",
        "channel-name",
        "channel-entries",
        "entry-name",
        "entry-bundle",
        "skip",
        "skip-range",
        "one-head",
        "no-cycle",
        "not-stranded",
        "bundle-name",
        "bundle-in-channel",
        "package-property",
        "property",
        "version",
        "release",
        "release-name",
        "version-once",
        "image",
        "related-image",
        "deprecation-once",
        "deprecation-reference",
        "deprecation-message",
    ];
    assert_eq!(told, all.map(str::to_owned).into());
}

#[test]
fn one_mistake_is_told_once() {
    // What follows from a mistake is not told as a second one.
    let exceptions = [
        "has-channels",
        "deprecation-reference.package-missing",
        "unreadable.property-without-value",
        "package-name.missing-in-package",
        "release.with-build",
        "entry-name.missing",
        "bundle-name.twice",
    ];
    for entry in fs_err::read_dir(fixtures().join("rules")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let checked = check_file(&path);
        let problems: Vec<String> = checked
            .broken
            .values()
            .flatten()
            .map(ToString::to_string)
            .collect();
        let at_most = if exceptions.contains(&&*stem) { 3 } else { 1 };
        assert!(problems.len() <= at_most, "{stem}: {problems:#?}");
    }
}

#[rstest]
#[case("unreadable.keys", "buoy")]
#[case("unreadable.type", "buoy")]
#[case("unreadable.yaml", "buoy")]
#[case("deprecation-reference.package-missing", "harbour")]
#[case("package-name.missing-in-bundle", "")]
fn a_broken_package_takes_no_other_with_it(#[case] fixture: &str, #[case] broken: &str) {
    let checked = check_file(&fixtures().join(format!("rules/{fixture}.yaml")));
    let names: Vec<&String> = checked.catalog.packages.keys().collect();
    assert_eq!(names, ["lighthouse"]);
    let names: Vec<&String> = checked.broken.keys().collect();
    assert_eq!(names, [broken]);
}

#[test]
fn several_mistakes_are_told_together() {
    let mut files = FileTree::new();
    let text = "schema: olm.package\nname: p\n---\nschema: olm.bundle\npackage: p\nname: b\n";
    files.insert("p.yaml".to_owned(), text.as_bytes().to_vec());
    let checked = load_tree(&files).check();
    let rules: Vec<String> = checked.broken["p"]
        .iter()
        .map(|problem| format!("{:?}", problem.rule))
        .collect();
    let expected = [
        "HasChannels",
        "DefaultChannel",
        "BundleInChannel",
        "Image",
        "PackageProperty",
    ];
    assert_eq!(rules, expected);
}

#[test]
fn blobs_of_unknown_schemas_may_have_the_same_name_but_it_is_told() {
    let mut files = FileTree::new();
    let root = fixtures().join("sound/lighthouse/catalog.yaml");
    let mut text = fs_err::read_to_string(root).unwrap();
    text.push_str("---\nschema: lighthouse.example.com/notes\npackage: lighthouse\nname: notes\n");
    files.insert("catalog.yaml".to_owned(), text.into_bytes());
    let checked = load_tree(&files).check();
    assert!(checked.broken.is_empty(), "{:?}", checked.broken);
    assert_eq!(checked.warnings.len(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let error = load_dir(Path::new("no/such/folder")).unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

#[rstest]
#[case("lighthouse")]
#[case("lighthouse:1.0")]
#[case("localhost/lighthouse")]
#[case("localhost:5000/a/b_c/d__e/f---g/h.i:v1_2.3-4")]
#[case("Registry.Example.com/lighthouse")]
#[case("lighthouse@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
#[case("a/b:c@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
fn names_of_images_are_accepted(#[case] image: &str) {
    check_pull_spec(image).unwrap();
}

#[rstest]
#[case(" lighthouse")]
#[case("Lighthouse")]
#[case("UPPER/lighthouse")]
#[case("[::1]:5000/lighthouse")]
#[case("registry.example.com/")]
#[case("registry.example.com//lighthouse")]
#[case("registry.example.com/light house")]
#[case("registry..example.com/lighthouse")]
#[case("registry.example.com:port/lighthouse")]
#[case("-registry.example.com/lighthouse")]
#[case("a/b___c")]
#[case("a/b..c")]
#[case("a/-b")]
#[case("a:")]
#[case("a:.b")]
#[case("a:b:c")]
#[case("a@sha256:0123")]
#[case("a@md5:0123456789abcdef0123456789abcdef")]
#[case("a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef")]
#[case("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
#[case("https://registry.example.com/lighthouse")]
fn what_names_no_image_is_refused(#[case] image: &str) {
    assert!(check_pull_spec(image).is_err());
    let long = format!("registry.example.com/{}", "a".repeat(240));
    assert!(check_pull_spec(&long).is_err());
}

#[rstest]
#[case("", true)]
#[case("2", true)]
#[case("alpha.1", true)]
#[case("a-b.0", true)]
#[case("01", false)]
#[case("1..2", false)]
#[case("a_b", false)]
#[case("123456789012345678901", false)]
fn releases_are_read_as_opm_reads_them(#[case] text: &str, #[case] good: bool) {
    assert_eq!(Release::parse(text).is_ok(), good);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_folder_is_told_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let checked = check_file(folder.path());
    let told: Vec<String> = checked.errors.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("is not a regular file"), "{told:?}");
}
