//! Tests on a real registry, each with one of its own, and on a network that is bad on purpose.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../support/support.rs"]
mod support;

mod access;
mod catalog;
mod child;
mod faults;
mod killed;
mod publish;
mod round_trip;
mod skopeo;

use std::collections::BTreeMap;

use chandler::oci::blob_store::BlobStore;
use chandler::oci::client::Registry as Client;
use chandler::oci::image::{File, Image, Start};
use chandler::oci::layer::Limits;
use chandler::oci::pull::{PullOptions, PulledImage, files_of, pull_image};
use chandler::oci::{Error, ImageReference};

/// A catalog of one layer that does not compress, so that its blob has a size worth cutting.
fn image(size: usize) -> Image {
    Image::build(vec![file("configs/catalog.json", noise(size))], &start()).unwrap()
}

fn start() -> Start {
    let label = "operators.operatorframework.io.index.configs.v1";
    Start {
        labels: [(label.to_owned(), "/configs".to_owned())].into(),
        ..Start::default()
    }
}

fn file(path: &str, content: Vec<u8>) -> File {
    File {
        path: path.to_owned(),
        mode: 0o644,
        content,
    }
}

/// Bytes that look random and are the same every time.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..size).map(|_| next()).collect()
}

fn reference(registry: &str, rest: &str) -> ImageReference {
    format!("{registry}/{rest}").parse().unwrap()
}

async fn pull(client: &Client, image: &str, store: &BlobStore) -> Result<PulledImage, Error> {
    let options = PullOptions::new(client.clone());
    pull_image(&image.parse()?, &options, store).await
}

fn configs(image: &PulledImage) -> BTreeMap<String, Vec<u8>> {
    files_of(image, "/configs", &Limits::default()).unwrap()
}

fn store() -> (tempfile::TempDir, BlobStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::open(folder.path().join("cache")).unwrap();
    (folder, store)
}
