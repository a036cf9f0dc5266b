//! What others make of our images.

use std::process::Command;

use chandler::oci::image::{Compression, Image};
use serde_json::Value;

use crate::support::data::skipped;
use crate::support::registry::{Registry, client};
use crate::{configs, file, image, noise, pull, reference, start, store};

fn skopeo(arguments: &[&str]) -> String {
    let output = Command::new("skopeo").args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "skopeo {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn installed(test: &str) -> bool {
    let found = Command::new("skopeo").arg("--version").output().is_ok();
    if !found {
        skipped(test, "skopeo is not installed");
    }
    found
}

#[tokio::test]
async fn skopeo_reads_what_we_push_and_copies_it_without_a_change() {
    if !installed("skopeo_reads_what_we_push_and_copies_it_without_a_change") {
        return;
    }
    let registry = Registry::start().unwrap();
    let client = client(&[&registry.address]);
    let target = reference(&registry.address, "hub/catalog:v1");
    let image = image(5000);
    client.push_image(&image, &target).await.unwrap();

    let url = format!("docker://{target}");
    let said = skopeo(&["inspect", "--tls-verify=false", &url]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["Digest"], image.manifest.digest);
    let label = "operators.operatorframework.io.index.configs.v1";
    assert_eq!(said["Labels"][label], "/configs");

    // Into a layout, and from there by us.
    let (folder, cache) = store();
    let layout = format!("oci:{}:copied", folder.path().join("layout").display());
    skopeo(&["copy", "--src-tls-verify=false", &url, &layout]);
    let pulled = pull(&client, &layout, &cache).await.unwrap();
    assert_eq!(pulled.digest.as_str(), image.manifest.digest);
    assert_eq!(configs(&pulled)["catalog.json"], noise(5000));

    // And into a registry, as an image of Docker's kind, which is another one with the same files.
    let docker = reference(&registry.address, "hub/docker:v1");
    let tls = ["--src-tls-verify=false", "--dest-tls-verify=false"];
    let to = format!("docker://{docker}");
    skopeo(&["copy", tls[0], tls[1], "--format", "v2s2", &url, &to]);
    let pulled = pull(&client, &docker.to_string(), &cache).await.unwrap();
    assert_ne!(pulled.digest.as_str(), image.manifest.digest);
    assert_eq!(configs(&pulled)["catalog.json"], noise(5000));
}

#[tokio::test]
async fn skopeo_reads_our_layouts_whatever_their_compression() {
    if !installed("skopeo_reads_our_layouts_whatever_their_compression") {
        return;
    }
    for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
        let folder = tempfile::tempdir().unwrap();
        let layers = vec![
            vec![file("configs/a", b"a".to_vec())],
            vec![file("configs/b", b"b".to_vec())],
        ];
        let image = Image::build_layers(layers, &start(), compression).unwrap();
        let layout = folder.path().join("ours");
        chandler::oci::layout::write(&layout, "v1", &image).unwrap();
        let ours = format!("oci:{}:v1", layout.display());
        let theirs = format!("oci:{}:v1", folder.path().join("theirs").display());
        skopeo(&["copy", "--preserve-digests", &ours, &theirs]);
        let said: Value = serde_json::from_str(&skopeo(&["inspect", &theirs])).unwrap();
        assert_eq!(said["Digest"], image.manifest.digest, "{compression:?}");
    }
}
