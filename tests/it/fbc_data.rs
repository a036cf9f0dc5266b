//! The rendered catalogs and templates of real operators, for those who have them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chandler::catalog::diff::{Diff, diff};
use chandler::catalog::fbc::{Catalog, Loaded, read, write_json, write_yaml};
use chandler::catalog::graph::{Chain, Graph, order, walk};
use chandler::catalog::template::{Rendered, Template};

use crate::support::data::{DataFile, each_yaml_file, skipped};

/// The files below `prod/` that are catalogs or templates, read once. None if they are not there.
fn files(test: &str) -> Option<&'static [DataFile]> {
    static FILES: OnceLock<Option<Vec<DataFile>>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let mut files = Vec::new();
        let found = each_yaml_file(test, |file| {
            if is_catalog(&file) || is_template(&file) {
                files.push(file);
            }
        });
        found.unwrap().then_some(files)
    });
    if files.is_none() {
        skipped(test, "the real catalogs are not there");
    }
    files.as_deref()
}

fn is_catalog(file: &DataFile) -> bool {
    file.path.contains("prod/catalogs/") && file.path.ends_with("/catalog.yaml")
}

fn is_template(file: &DataFile) -> bool {
    file.path.contains("prod/operators/") && file.path.contains("/catalog-templates/")
}

fn catalog(file: &DataFile) -> Catalog {
    let mut loaded = Loaded::default();
    loaded.read(&file.path, file.text.as_bytes());
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let checked = loaded.check();
    assert!(checked.broken.is_empty(), "{:#?}", checked.broken);
    assert!(checked.warnings.is_empty(), "{:#?}", checked.warnings);
    checked.catalog
}

#[test]
fn every_rendered_catalog_is_sound_and_says_the_same_when_written() {
    let test = "every_rendered_catalog_is_sound_and_says_the_same_when_written";
    let Some(files) = files(test) else { return };
    let mut count = 0;
    for file in files.iter().filter(|file| is_catalog(file)) {
        let catalog = catalog(file);
        for write in [write_json, write_yaml] {
            let mut out = Vec::new();
            write(catalog.clone(), &mut out).unwrap();
            let again: Catalog = read("written", out.as_slice())
                .map(|blob| blob.unwrap().meta)
                .collect();
            let sorted: Catalog = catalog.clone().into_blobs().collect();
            assert!(again == sorted, "{} is not the same", file.path);
            assert!(diff(&catalog, &again).is_empty());
        }
        count += 1;
    }
    assert_eq!(count, 29);
}

#[test]
fn every_channel_of_a_rendered_catalog_has_an_order_and_a_way_to_its_head() {
    let test = "every_channel_of_a_rendered_catalog_has_an_order_and_a_way_to_its_head";
    let Some(files) = files(test) else { return };
    for file in files.iter().filter(|file| is_catalog(file)) {
        for blobs in catalog(file).packages.values() {
            let versions = blobs.versions();
            assert_eq!(versions.len(), blobs.bundles.len());
            for channel in &blobs.channels {
                let chain = Chain::of(channel);
                let graph = Graph::of_channel(channel, &versions);
                assert_eq!(graph.heads(), chain.heads);
                assert_eq!(order(channel).unwrap().first(), chain.heads.first());
                assert!(graph.cycles().is_empty() && graph.stuck().is_empty());
                for entry in &channel.entries {
                    let short = graph.path_to_head(&entry.name).unwrap();
                    let steps = walk(channel, &versions, &entry.name).unwrap();
                    assert!(
                        short.len() <= steps.len(),
                        "{}: {short:?} {steps:?}",
                        file.path
                    );
                    let end = steps.last().map_or(entry.name.as_str(), |step| &step.to);
                    assert_eq!(end, chain.heads[0], "{}", file.path);
                }
            }
        }
    }
}

#[test]
fn every_template_is_read() {
    let test = "every_template_is_read";
    let Some(files) = files(test) else { return };
    let (mut basic, mut semver, mut images) = (0, 0, 0);
    for file in files.iter().filter(|file| is_template(file)) {
        let template = Template::parse(&file.path, &file.text).unwrap();
        match template {
            Template::Basic(_) => basic += 1,
            Template::Semver(_) => semver += 1,
        }
        assert!(!template.images().is_empty());
        images += template.images().len();
    }
    assert_eq!((basic, semver), (59, 4));
    assert!(images > 800, "only {images} images");
}

/// Expands the template with the bundles of the rendered catalog in place of the images. Images
/// are told apart by their tag, which is the version in these templates.
fn expand(files: &[DataFile], package: &str, version: &str) -> (Catalog, Catalog) {
    let named = |path: &str| {
        let file = files.iter().find(|file| file.path.ends_with(path));
        file.unwrap()
    };
    let rendered = catalog(named(&format!(
        "prod/catalogs/{version}/{package}/catalog.yaml"
    )));
    let template = named(&format!(
        "operators/{package}/catalog-templates/semver.yaml"
    ));
    let template = Template::parse(&template.path, &template.text).unwrap();
    let blobs = rendered.packages.values().next().unwrap();
    let by_version: BTreeMap<String, _> = blobs
        .bundles
        .iter()
        .map(|bundle| (bundle.version().unwrap().to_string(), bundle))
        .collect();
    let definition = blobs.definition().unwrap();
    let expanded = template
        .expand(|image| {
            let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
            let bundle = by_version.get(tag).ok_or(format!("no bundle {tag}"))?;
            Ok::<_, String>(Rendered {
                bundle: (*bundle).clone(),
                description: definition.description.clone(),
                icon: definition.icon.clone(),
            })
        })
        .unwrap();
    (rendered, expanded)
}

#[test]
fn semver_templates_give_the_catalogs_that_opm_made_of_them() {
    let test = "semver_templates_give_the_catalogs_that_opm_made_of_them";
    let Some(files) = files(test) else { return };
    for (package, version) in [
        ("konflux", "v4.20"),
        ("kairos-operator", "v4.16"),
        ("kairos-operator", "v4.22"),
        ("dotvirt-operator", "v4.22"),
    ] {
        let (rendered, expanded) = expand(files, package, version);
        let difference: Diff = diff(&rendered, &expanded);
        assert!(difference.is_empty(), "{package} {version}:\n{difference}");
        let checked = Loaded {
            catalog: expanded,
            errors: Vec::new(),
        }
        .check();
        assert!(checked.broken.is_empty(), "{:?}", checked.broken);
    }
}
