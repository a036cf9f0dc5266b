//! This binary run as another process: to be killed, and to have an environment of its own.

use std::process::{Command, Stdio};

use chandler::oci::auth::Keychain;
use chandler::oci::blob_store::BlobStore;
use chandler::oci::client::Registry as Client;

use crate::support::registry::settings;
use crate::{configs, pull};

const IMAGE: &str = "CHANDLER_CHILD_IMAGE";
const CACHE: &str = "CHANDLER_CHILD_CACHE";

/// What the child does: pulls an image into a cache, with the credentials of its environment.
#[tokio::test]
#[ignore = "only a part of other tests"]
async fn the_child_pulls() {
    let (Ok(image), Ok(cache)) = (std::env::var(IMAGE), std::env::var(CACHE)) else {
        return;
    };
    let registry = image.split('/').next().unwrap().to_owned();
    let mut settings = settings(&[&registry]);
    settings.keychain = Keychain::from_environment().unwrap();
    let store = BlobStore::open(cache).unwrap();
    match pull(&Client::new(settings), &image, &store).await {
        Ok(pulled) => println!("pulled {} files", configs(&pulled).len()),
        Err(error) => println!("error: {error}"),
    }
}

/// The command that runs the child.
pub(crate) fn child(image: &str, cache: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "child::the_child_pulls",
        ])
        .env(IMAGE, image)
        .env(CACHE, cache)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped());
    command
}
