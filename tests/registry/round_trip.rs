//! What goes into a registry comes out again.

use std::sync::Mutex;

use bytes::Bytes;
use chandler::oci::client::{Content, Pushed, RawManifest};
use chandler::oci::image::{Compression, Image, index};
use chandler::oci::layer::Limits;
use chandler::oci::layout::Layout;
use chandler::oci::manifest::Platform;
use chandler::oci::mirror::Mirrors;
use chandler::oci::pull::{PullOptions, files_of, pull_image};
use chandler::oci::{Digest, Error, Reporter, Silent};
use serde_json::json;

use crate::support::registry::{Registry, client, settings};
use crate::{configs, file, image, noise, pull, reference, start, store};

#[tokio::test]
async fn what_is_pushed_is_pulled_back_with_the_same_digest_and_the_same_files() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let (_folder, store) = store();
    let image = image(100_000);
    let target = reference(&registry.address, "hub/catalog:v1");

    let pushed = client.push_image(&image, &target).await.unwrap();
    assert_eq!(pushed.digest().unwrap().as_str(), image.manifest.digest);
    assert_eq!(
        client.digest(&target).await.unwrap(),
        *pushed.digest().unwrap()
    );

    let pulled = pull(&client, &target.to_string(), &store).await.unwrap();
    assert_eq!(pulled.digest.as_str(), image.manifest.digest);
    assert_eq!(pulled.labels.values().collect::<Vec<_>>(), ["/configs"]);
    assert_eq!(configs(&pulled)["catalog.json"], noise(100_000));
    assert_eq!(client.tags(&target).await.unwrap(), ["v1"]);
}

#[tokio::test]
async fn a_layout_and_a_registry_give_the_same_image() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let image = image(1000);
    let (folder, store) = store();
    let layout = folder.path().join("layout");
    Layout::create(&layout)
        .unwrap()
        .put(&image, Some("v1"))
        .unwrap();
    let target = reference(&registry.address, "a/b:v1");
    client.push_image(&image, &target).await.unwrap();

    let one = pull(&client, &target.to_string(), &store).await.unwrap();
    let other_store = crate::store();
    let location = format!("oci:{}:v1", layout.display());
    let other = pull(&client, &location, &other_store.1).await.unwrap();
    assert_eq!(one.digest, other.digest);
    assert_eq!(one.blobs(), other.blobs());
    assert_eq!(configs(&one), configs(&other));
}

#[tokio::test]
async fn an_image_that_is_in_the_cache_by_its_digest_needs_no_registry() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let (_folder, store) = store();
    let target = reference(&registry.address, "a/b:v1");
    let pushed = client.push_image(&image(1000), &target).await.unwrap();
    pull(&client, &pushed.to_string(), &store).await.unwrap();
    drop(registry);
    let again = pull(&client, &pushed.to_string(), &store).await.unwrap();
    assert_eq!(configs(&again).len(), 1);
}

#[tokio::test]
async fn a_layer_that_was_damaged_on_disk_is_fetched_again() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let (_folder, store) = store();
    let target = reference(&registry.address, "a/b:v1");
    client.push_image(&image(1000), &target).await.unwrap();
    let pulled = pull(&client, &target.to_string(), &store).await.unwrap();
    let path = &pulled.layers[0].path;
    let mut bytes = fs_err::read(path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs_err::write(path, bytes).unwrap();
    let error = files_of(&pulled, "/configs", &Limits::default()).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert!(
        error.to_string().contains("pull the image again"),
        "{error}"
    );
    assert!(!path.exists());

    let again = pull(&client, &target.to_string(), &store).await.unwrap();
    assert_eq!(configs(&again)["catalog.json"], noise(1000));
}

#[tokio::test]
async fn an_index_leads_to_this_platform_and_says_what_else_there_is() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let (_folder, store) = store();
    let platform = |architecture: &str| Platform {
        os: "linux".into(),
        architecture: architecture.into(),
    };
    let target = reference(&registry.address, "a/multi:v1");
    let (ours, theirs) = (image(10), image(20));
    for image in [&ours, &theirs] {
        let digest: Digest = image.manifest.digest.parse().unwrap();
        client.push_image(image, &target.at(digest)).await.unwrap();
    }
    let index = index(&[(platform("s390x"), &theirs), (Platform::default(), &ours)]).unwrap();
    client.push_manifest(&target, &index).await.unwrap();

    let pulled = pull(&client, &target.to_string(), &store).await.unwrap();
    assert_eq!(pulled.digest, index.digest);
    assert_eq!(pulled.manifest_digest.as_str(), ours.manifest.digest);
    assert_eq!(client.digest(&target).await.unwrap(), pulled.digest);

    let options = PullOptions {
        platform: platform("riscv64"),
        ..PullOptions::new(client)
    };
    let location = target.to_string().parse().unwrap();
    let error = pull_image(&location, &options, &store).await.unwrap_err();
    let message = error.to_string();
    for part in ["linux/riscv64", "linux/s390x", &target.to_string()] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn layers_of_every_compression_are_stacked_and_read() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    for compression in [Compression::Zstd, Compression::Gzip, Compression::None] {
        let (_folder, store) = store();
        let low = vec![
            file("configs/a", b"low".to_vec()),
            file("configs/b", b"low".to_vec()),
        ];
        let high = vec![
            file("configs/a", b"high".to_vec()),
            file("configs/.wh.b", Vec::new()),
        ];
        let image = Image::build_layers(vec![low, high], &start(), compression).unwrap();
        let target = reference(&registry.address, "a/b:v1");
        client.push_image(&image, &target).await.unwrap();
        let pulled = pull(&client, &target.to_string(), &store).await.unwrap();
        let files = configs(&pulled);
        assert_eq!(files.len(), 1, "{compression:?}");
        assert_eq!(files["a"], b"high");
    }
}

#[tokio::test]
async fn a_mirror_rule_leads_to_the_local_registry() {
    let registry = Registry::start().unwrap();
    let mut settings = settings(&[&registry.address]);
    let rule = format!(
        "quay.io/org=127.0.0.1:9/nobody,{}/mirror!",
        registry.address
    );
    settings.plain_http.insert("127.0.0.1:9".into());
    settings.retry.times = 0;
    settings.mirrors = Mirrors::parse([rule.as_str()]).unwrap();
    let client = chandler::oci::client::Registry::new(settings);
    let target = reference(&registry.address, "mirror/catalog:v1");
    let image = image(10);
    client.push_image(&image, &target).await.unwrap();
    let (_folder, store) = store();

    let pulled = pull(&client, "quay.io/org/catalog:v1", &store)
        .await
        .unwrap();
    assert_eq!(pulled.digest.as_str(), image.manifest.digest);

    let error = pull(&client, "quay.io/org/catalog:v2", &store)
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, Error::NoSource { .. }), "{message}");
    for part in ["quay.io/org/catalog:v2", "127.0.0.1:9", "manifest `v2`"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_blob_that_is_there_or_nearby_does_not_travel() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blob");
    fs_err::write(&path, noise(200_000)).unwrap();
    let digest = Digest::of(&noise(200_000));
    let content = Content::File(path);
    let push = async |target: &str, from: Option<&str>| {
        let target = reference(&registry.address, target);
        let pushed = client.push_blob(&target, &digest, 200_000, &content, from);
        pushed.await.unwrap()
    };
    assert_eq!(push("one", None).await, Pushed::Sent);
    assert_eq!(push("one", None).await, Pushed::Existed);
    assert_eq!(push("two", Some("one")).await, Pushed::Mounted);
    assert_eq!(push("three", Some("nowhere")).await, Pushed::Sent);
    let (_folder, store) = store();
    let target = reference(&registry.address, "three");
    client
        .pull_blob(&target, &digest, 200_000, &store, &Silent)
        .await
        .unwrap();
    assert!(store.verify(&digest).unwrap());
}

#[tokio::test]
async fn a_second_tag_and_what_refers_to_an_image_are_found() {
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let target = reference(&registry.address, "a/b:v1");
    let image = image(10);
    let pushed = client.push_image(&image, &target).await.unwrap();
    let digest = pushed.digest().unwrap();
    client.tag(&pushed, "latest").await.unwrap();
    let mut tags = client.tags(&target).await.unwrap();
    tags.sort();
    assert_eq!(tags, ["latest", "v1"]);

    let none = client.referrers(&target, digest, None).await.unwrap();
    assert!(none.manifests.is_empty());
    let empty = Digest::of(b"{}");
    let content = Content::Bytes(Bytes::from_static(b"{}"));
    client
        .push_blob(&target, &empty, 2, &content, None)
        .await
        .unwrap();
    let config = json!({ "mediaType": "application/vnd.oci.empty.v1+json", "digest": empty.as_str(), "size": 2 });
    let bytes = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/example.signature",
        "config": config,
        "layers": [config],
        "subject": image.manifest.descriptor(),
    })
    .to_string()
    .into_bytes();
    let signature = RawManifest {
        media_type: "application/vnd.oci.image.manifest.v1+json".into(),
        digest: Digest::of(&bytes),
        bytes,
    };
    // Distribution has no such question, so this is the tag that takes its place.
    let by_digest = target.at(signature.digest.clone());
    client.push_manifest(&by_digest, &signature).await.unwrap();
    let list = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": signature.media_type,
            "digest": signature.digest.as_str(),
            "size": signature.bytes.len(),
            "artifactType": "application/example.signature",
        }],
    })
    .to_string()
    .into_bytes();
    let list = RawManifest {
        media_type: "application/vnd.oci.image.index.v1+json".into(),
        digest: Digest::of(&list),
        bytes: list,
    };
    let tag = reference(&registry.address, &format!("a/b:sha256-{}", digest.hex()));
    client.push_manifest(&tag, &list).await.unwrap();
    for (kind, count) in [
        (None, 1),
        (Some("application/example.signature"), 1),
        (Some("application/other"), 0),
    ] {
        let found = client.referrers(&target, digest, kind).await.unwrap();
        assert_eq!(found.manifests.len(), count, "{kind:?}");
    }
}

#[tokio::test]
async fn progress_is_told_up_to_the_end_and_a_pull_may_move_between_threads() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<(u64, u64)>>);
    impl Reporter for Seen {
        fn progress(&self, _digest: &Digest, done: u64, total: u64) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let target = reference(&registry.address, "a/b:v1");
    client.push_image(&image(500_000), &target).await.unwrap();
    let seen = std::sync::Arc::new(Seen::default());
    let options = PullOptions {
        reporter: seen.clone(),
        ..PullOptions::new(client)
    };
    let (_folder, store) = store();
    let location = target.to_string().parse().unwrap();
    // Spawned, as a controller would.
    let task = tokio::spawn(async move { pull_image(&location, &options, &store).await });
    let pulled = task.await.unwrap().unwrap();
    let total = pulled.layers[0].size;
    let seen = seen.0.lock().unwrap();
    assert!(seen.contains(&(total, total)), "{seen:?}");
    assert!(seen.iter().any(|(done, of)| *of == total && *done < total));
}
