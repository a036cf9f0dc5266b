//! Catalogs from a registry, a layout, a folder and a remote registry.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chandler::catalog::index::Index;
use chandler::catalog::source::{Error, Source, Sources};
use chandler::oci::image::{Image, Start};
use chandler::oci::layout::Layout;
use chandler::oci::pull::PullOptions;

use crate::support::data::skipped;
use crate::support::opm::Opm;
use crate::support::registry::{Registry, client};
use crate::{file, reference, start};

const CATALOG: &str = "
schema: olm.package
name: gopher
defaultChannel: stable
description: Keeps gophers.
---
schema: olm.channel
package: gopher
name: stable
entries:
- {name: gopher.v1.0.0}
- {name: gopher.v1.1.0, replaces: gopher.v1.0.0}
---
schema: olm.bundle
package: gopher
name: gopher.v1.0.0
image: example.com/gopher:1.0.0
properties:
- {type: olm.package, value: {packageName: gopher, version: 1.0.0}}
- {type: olm.gvk, value: {group: example.com, version: v1, kind: Gopher}}
---
schema: olm.bundle
package: gopher
name: gopher.v1.1.0
image: example.com/gopher:1.1.0
properties:
- {type: olm.package, value: {packageName: gopher, version: 1.1.0}}
- {type: olm.gvk, value: {group: example.com, version: v1, kind: Gopher}}
- {type: olm.package.required, value: {packageName: etcd, versionRange: '>=0.9.0'}}
- {type: olm.csv.metadata, value: {displayName: The Gopher, provider: {name: Us}}}
---
schema: olm.deprecations
package: gopher
entries:
- {reference: {schema: olm.bundle, name: gopher.v1.0.0}, message: too old}
";

fn catalog_image(start: &Start) -> Image {
    Image::build(
        vec![file("configs/gopher/catalog.yaml", CATALOG.into())],
        start,
    )
    .unwrap()
}

fn sources(cache: &Path, registry: &str) -> Sources {
    Sources::new(cache, PullOptions::new(client(&[registry]))).unwrap()
}

/// Everything the index says, line by line.
fn content(index: &Index) -> Vec<String> {
    let mut lines = Vec::new();
    for card in index.packages() {
        let record = index.package(&card.name).unwrap().unwrap();
        lines.push(format!(
            "{} {} {} {:?}",
            card.name, card.display_name, card.version, card.channels
        ));
        let bundles = record.bundles.iter();
        lines.extend(bundles.map(|b| {
            let properties: Vec<_> = record.properties_of(b).collect();
            format!("{} {} {properties:?} {:?}", b.name, b.image, b.deprecation)
        }));
        lines.extend(record.channels.iter().map(|channel| format!("{channel:?}")));
    }
    lines
}

#[tokio::test]
async fn a_catalog_is_the_same_from_a_registry_a_layout_and_a_folder() {
    let registry = Registry::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let image = catalog_image(&start());
    let target = reference(&registry.address, "hub/catalog:v1");
    client(&[&registry.address])
        .push_image(&image, &target)
        .await
        .unwrap();
    let layout = folder.path().join("layout");
    Layout::create(&layout)
        .unwrap()
        .put(&image, Some("v1"))
        .unwrap();
    let files = folder.path().join("files/gopher");
    fs_err::create_dir_all(&files).unwrap();
    fs_err::write(files.join("any-name"), CATALOG).unwrap();

    let sources = sources(&folder.path().join("cache"), &registry.address);
    let mut contents = Vec::new();
    for name in [
        target.to_string(),
        format!("oci:{}:v1", layout.display()),
        layout.display().to_string(),
        folder.path().join("files").display().to_string(),
    ] {
        let source = Source::parse(&name).unwrap();
        let opened = sources.open(&source).await.unwrap();
        assert_eq!(opened.index.problems().unwrap(), [], "{name}");
        contents.push(content(&opened.index));
    }
    let all = contents[0].join(" ");
    assert!(
        all.contains("The Gopher") && all.contains("too old"),
        "{all}"
    );
    assert!(
        contents.iter().all(|content| *content == contents[0]),
        "{contents:#?}"
    );
}

#[tokio::test]
async fn a_catalog_that_is_in_the_cache_by_its_digest_needs_no_registry() {
    let registry = Registry::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let image = catalog_image(&start());
    let target = reference(&registry.address, "hub/catalog:v1");
    client(&[&registry.address])
        .push_image(&image, &target)
        .await
        .unwrap();
    let sources = sources(folder.path(), &registry.address);
    let pinned = target
        .at(image.manifest.digest.parse().unwrap())
        .to_string();
    let source = Source::parse(&pinned).unwrap();
    let before = content(&sources.open(&source).await.unwrap().index);
    drop(registry);
    assert_eq!(content(&sources.open(&source).await.unwrap().index), before);
}

#[tokio::test]
async fn what_an_indexignore_of_an_image_leaves_out_is_left_out_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![
        file("configs/.indexignore", b"notes\n".to_vec()),
        file("configs/a/catalog.yaml", CATALOG.into()),
        file("configs/b/notes", b"{ this is no catalog".to_vec()),
    ];
    let layout = folder.path().join("layout");
    let image = Image::build(files, &start()).unwrap();
    Layout::create(&layout).unwrap().put(&image, None).unwrap();
    let sources = sources(&folder.path().join("cache"), "127.0.0.1:1");
    let opened = sources
        .open(&Source::parse(&layout.display().to_string()).unwrap())
        .await
        .unwrap();
    assert_eq!(opened.index.problems().unwrap(), []);
    assert_eq!(opened.index.packages().len(), 1);
}

#[tokio::test]
async fn images_of_another_kind_are_refused_with_what_to_do_instead() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(&folder.path().join("cache"), "127.0.0.1:1");
    let labelled = |label: &str| Start {
        labels: [(label.to_owned(), "x".to_owned())].into(),
        ..Start::default()
    };
    let cases = [
        (
            "operators.operatorframework.io.index.database.v1",
            "opm migrate",
        ),
        (
            "operators.operatorframework.io.bundle.mediatype.v1",
            "chandler catalog add",
        ),
    ];
    for (label, advice) in cases {
        let layout = folder.path().join(label);
        let image = catalog_image(&labelled(label));
        Layout::create(&layout).unwrap().put(&image, None).unwrap();
        let source = Source::parse(&layout.display().to_string()).unwrap();
        let error = sources.open(&source).await.unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
    }
    let empty = folder.path().join("empty");
    let image = Image::build(vec![file("other/x", Vec::new())], &Start::default()).unwrap();
    Layout::create(&empty).unwrap().put(&image, None).unwrap();
    let source = Source::parse(&empty.display().to_string()).unwrap();
    let error = sources.open(&source).await.unwrap_err();
    assert!(matches!(error, Error::NoCatalog { .. }), "{error}");
}

#[tokio::test]
async fn a_remote_registry_of_opm_gives_what_its_files_say() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs_err::create_dir_all(&files).unwrap();
    fs_err::write(files.join("catalog.yaml"), CATALOG).unwrap();
    let Some(opm) = Opm::serve(&files).unwrap() else {
        skipped(
            "a_remote_registry_of_opm_gives_what_its_files_say",
            "opm cannot be built here",
        );
        return;
    };
    let sources = sources(&folder.path().join("cache"), "127.0.0.1:1");
    let remote = Source::parse(&format!("grpc://127.0.0.1:{}", opm.port)).unwrap();
    let remote = sources.open(&remote).await.unwrap();
    let local = sources.open(&Source::Folder(files)).await.unwrap();
    assert_eq!(remote.index.problems().unwrap(), []);
    assert_eq!(content(&remote.index), content(&local.index));
    let properties = |index: &Index| {
        let package = index.package("gopher").unwrap().unwrap();
        let bundle = package.bundle("gopher.v1.1.0").unwrap();
        let kinds = package.properties_of(bundle);
        let mut kinds: Vec<String> = kinds.map(|(kind, _)| kind.clone()).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(properties(&remote.index), properties(&local.index));
}

#[tokio::test]
async fn a_remote_registry_that_is_not_there_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path(), "127.0.0.1:1");
    let error = sources
        .open(&Source::Remote("127.0.0.1:1".to_owned()))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("127.0.0.1:1 cannot be reached"),
        "{error}"
    );
    let error = sources
        .open(&Source::Remote("nonsense".to_owned()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("expected HOST:PORT"), "{error}");
}

const ROUNDS: u32 = 100;
const PACKAGES: usize = 100;
const CHILD: &str = "CHANDLER_CHILD_CATALOG";

/// What the child does: opens a catalog with a cache, and says what it found.
#[tokio::test]
#[ignore = "only a part of other tests"]
async fn the_child_indexes() {
    let Ok(arguments) = std::env::var(CHILD) else {
        return;
    };
    let (catalog, cache) = arguments.split_once('|').unwrap();
    println!("begun");
    let opened = sources(Path::new(cache), "127.0.0.1:1")
        .open(&Source::parse(catalog).unwrap())
        .await;
    println!("found {}", opened.unwrap().index.packages().len());
}

#[tokio::test]
async fn a_cache_works_however_often_those_who_write_its_index_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = folder.path().join("catalog");
    for number in 0..PACKAGES {
        let package = format!("gopher{number:03}");
        let text = CATALOG.replace("gopher", &package);
        fs_err::create_dir_all(catalog.join(&package)).unwrap();
        fs_err::write(catalog.join(&package).join("catalog.yaml"), text).unwrap();
    }
    let cache = folder.path().join("cache");
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "catalog::the_child_indexes",
            ])
            .env(CHILD, format!("{}|{}", catalog.display(), cache.display()))
            .stderr(Stdio::null())
            .stdout(Stdio::piped());
        command
    };
    // How long an undisturbed one takes tells where to strike.
    let start = Instant::now();
    let whole = child().output().unwrap();
    let whole_time = start.elapsed();
    assert!(
        String::from_utf8_lossy(&whole.stdout).contains(&format!("found {PACKAGES}")),
        "{whole:?}"
    );
    let mut killed = 0;
    for round in 0..ROUNDS {
        fs_err::remove_dir_all(cache.join("catalogs")).ok();
        let mut child = child().spawn().unwrap();
        let strike = Instant::now() + whole_time * round / ROUNDS;
        while Instant::now() < strike && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever is there now is either whole or not there at all.
        let catalogs = cache.join("catalogs");
        if catalogs.exists() {
            for entry in fs_err::read_dir(&catalogs).unwrap() {
                let path = entry.unwrap().path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "index")
                {
                    assert_eq!(
                        Index::open(&path).unwrap().packages().len(),
                        PACKAGES,
                        "round {round}"
                    );
                }
            }
        }
        if round % 10 == 9 {
            let opened = sources(&cache, "127.0.0.1:1")
                .open(&Source::Folder(catalog.clone()))
                .await;
            assert_eq!(
                opened.unwrap().index.packages().len(),
                PACKAGES,
                "round {round}"
            );
        }
    }
    println!("{killed} killed at work");
    assert!(killed > ROUNDS / 2, "only {killed} were still at work");
}
