//! A bad network, and registries that are not themselves.

use std::time::{Duration, Instant};

use chandler::oci::client::Registry as Client;
use chandler::oci::{Error, ImageReference};

use crate::support::proxy::{Fault, Proxy};
use crate::support::registry::{Registry, settings};
use crate::{configs, image, noise, pull, reference, store};

/// A registry with an image, behind a proxy.
struct Behind {
    _registry: Registry,
    proxy: Proxy,
    client: Client,
    target: ImageReference,
    /// The layer's path at the registry, and its size.
    layer: String,
    size: u64,
}

const SIZE: usize = 1_000_000;

impl Behind {
    async fn start() -> Self {
        let registry = Registry::start().unwrap();
        let proxy = Proxy::start(&registry.address).await.unwrap();
        let mut settings = settings(&[&registry.address, &proxy.address]);
        settings.read_timeout = Duration::from_millis(500);
        let client = Client::new(settings);
        let image = image(SIZE);
        let direct = reference(&registry.address, "hub/catalog:v1");
        client.push_image(&image, &direct).await.unwrap();
        let layer = &image.layers[0];
        Self {
            target: reference(&proxy.address, "hub/catalog:v1"),
            layer: format!("blobs/{}", layer.digest),
            size: layer.bytes.len() as u64,
            _registry: registry,
            proxy,
            client,
        }
    }

    async fn pull_fails(&self) -> Error {
        let (_folder, store) = store();
        let error = pull(&self.client, &self.target.to_string(), &store)
            .await
            .unwrap_err();
        let message = error.to_string();
        assert!(message.contains(&self.target.to_string()), "{message}");
        assert!(message.contains(&self.proxy.address), "{message}");
        error
    }

    async fn pull_works(&self) {
        let (_folder, store) = store();
        let pulled = pull(&self.client, &self.target.to_string(), &store)
            .await
            .unwrap();
        assert_eq!(configs(&pulled)["catalog.json"], noise(SIZE));
    }
}

#[tokio::test]
async fn a_cut_download_goes_on_with_only_the_rest() {
    let behind = Behind::start().await;
    let (first, second) = (300_000, 200_000);
    let proxy = &behind.proxy;
    proxy.fault("GET", &behind.layer, Fault::Cut(first), 1);
    proxy.fault("GET", &behind.layer, Fault::Cut(second), 1);
    behind.pull_works().await;
    let requests = proxy.requests(&behind.layer);
    let ranges: Vec<_> = requests.iter().map(|request| &request.range).collect();
    assert_eq!(ranges.len(), 3, "{ranges:?}");
    assert_eq!(*ranges[0], None);
    // What was on its way when the connection broke may be lost, but nothing else.
    let offset = |range: &Option<String>| -> u64 {
        let range = range.as_deref().unwrap();
        let digits = range.trim_start_matches("bytes=").trim_end_matches('-');
        digits.parse().unwrap()
    };
    assert!(offset(ranges[1]) > 0 && offset(ranges[1]) <= first);
    assert!(offset(ranges[2]) >= offset(ranges[1]));
    let rest = behind.size - offset(ranges[2]);
    assert_eq!(requests[2].sent, rest);
    let sent: u64 = requests.iter().map(|request| request.sent).sum();
    assert!(sent < behind.size + first, "{sent} of {}", behind.size);
}

#[tokio::test]
async fn a_download_goes_on_in_another_process_with_the_same_cache() {
    let behind = Behind::start().await;
    let proxy = &behind.proxy;
    proxy.fault("GET", &behind.layer, Fault::Cut(400_000), 1);
    proxy.fault("GET", &behind.layer, Fault::status(404, &[]), 1);
    let (_folder, store) = store();
    let target = behind.target.to_string();
    let error = pull(&behind.client, &target, &store).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    // Another client, which only knows the folder.
    let client = Client::new(behind.client.settings().clone());
    let pulled = pull(&client, &target, &store).await.unwrap();
    assert_eq!(configs(&pulled)["catalog.json"], noise(SIZE));
    let requests = proxy.requests(&behind.layer);
    let last = requests.last().unwrap();
    assert!(last.range.is_some());
    assert!(last.sent < behind.size, "{} of {}", last.sent, behind.size);
}

#[tokio::test]
async fn a_registry_that_cannot_resume_is_read_from_the_start() {
    let behind = Behind::start().await;
    let proxy = &behind.proxy;
    proxy.fault("GET", &behind.layer, Fault::Cut(400_000), 1);
    proxy.fault("GET", &behind.layer, Fault::status(416, &[]), 1);
    behind.pull_works().await;
}

#[tokio::test]
async fn a_bad_rest_of_an_earlier_attempt_is_thrown_away() {
    let behind = Behind::start().await;
    let (_folder, store) = store();
    let digest = behind.layer.trim_start_matches("blobs/").parse().unwrap();
    let mut download = store.download(&digest).unwrap();
    download.write(b"not what it should begin with").unwrap();
    drop(download);
    let target = behind.target.to_string();
    let pulled = pull(&behind.client, &target, &store).await.unwrap();
    assert_eq!(configs(&pulled)["catalog.json"], noise(SIZE));
}

#[tokio::test]
async fn a_registry_that_says_too_many_requests_is_left_alone_as_long_as_it_says() {
    let behind = Behind::start().await;
    let limit = Fault::status(429, &["Retry-After: 1"]);
    behind.proxy.fault("GET", "manifests", limit, 1);
    let began = Instant::now();
    behind.pull_works().await;
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_registry_that_wants_to_be_left_alone_for_long_is_not_waited_for() {
    let behind = Behind::start().await;
    let limit = Fault::status(429, &["Retry-After: 3600"]);
    behind.proxy.fault("GET", "manifests", limit, 100);
    let error = behind.pull_fails().await;
    assert!(error.is_transient());
    assert!(error.to_string().contains("wait 3600 s"), "{error}");
    assert_eq!(behind.proxy.requests("manifests").len(), 1);
}

#[tokio::test]
async fn errors_of_the_server_are_tried_again_and_told_in_its_words_if_they_stay() {
    let behind = Behind::start().await;
    let proxy = &behind.proxy;
    proxy.fault("GET", "manifests", Fault::status(503, &[]), 2);
    proxy.fault("GET", &behind.layer, Fault::status(500, &[]), 3);
    behind.pull_works().await;

    let broken = Fault::Answer {
        status: 502,
        headers: Vec::new(),
        body: r#"{"errors": [{"code": "UNKNOWN", "message": "the disk is full"}]}"#.into(),
    };
    proxy.fault("GET", "manifests", broken, 4);
    let before = proxy.requests("manifests").len();
    let error = behind.pull_fails().await;
    assert!(error.is_transient());
    let message = error.to_string();
    assert!(
        message.contains("502: UNKNOWN the disk is full"),
        "{message}"
    );
    assert_eq!(proxy.requests("manifests").len() - before, 4);
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_is_not_tried_again() {
    for (status, word) in [
        (404, "has no manifest `v1`"),
        (401, "no credentials"),
        (403, "refused access (403)"),
    ] {
        let behind = Behind::start().await;
        let fault = Fault::status(status, &[]);
        behind.proxy.fault("GET", "manifests", fault, 100);
        let error = behind.pull_fails().await;
        assert!(!error.is_transient());
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(behind.proxy.requests("manifests").len(), 1);
    }
}

#[tokio::test]
async fn wrong_bytes_are_a_digest_mismatch_and_leave_nothing_behind() {
    let behind = Behind::start().await;
    behind.proxy.fault("GET", &behind.layer, Fault::Corrupt, 1);
    let error = behind.pull_fails().await;
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
    behind.pull_works().await;

    behind.proxy.fault("GET", "manifests", Fault::Corrupt, 1);
    let error = behind.pull_fails().await;
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[tokio::test]
async fn a_blob_that_is_always_truncated_is_an_error_that_says_so() {
    let behind = Behind::start().await;
    let layer = &behind.layer;
    behind.proxy.fault("GET", layer, Fault::Cut(1000), 1);
    behind.proxy.fault("GET", layer, Fault::Cut(0), 100);
    let error = behind.pull_fails().await;
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off() {
    let behind = Behind::start().await;
    behind.proxy.fault("GET", "manifests", Fault::Endless, 1);
    let error = behind.pull_fails().await;
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");

    let layer = &behind.layer;
    behind.proxy.fault("GET", layer, Fault::Endless, 1);
    let error = behind.pull_fails().await;
    assert!(error.to_string().contains("expected"), "{error}");
    let sent = behind.proxy.requests(layer).last().unwrap().sent;
    assert!(sent < 20 * behind.size, "{sent}");
}

#[tokio::test]
async fn a_silent_registry_is_unreachable_after_the_timeout() {
    let behind = Behind::start().await;
    behind.proxy.fault("GET", "manifests", Fault::Silence, 100);
    let error = behind.pull_fails().await;
    assert!(
        error.to_string().contains("did not answer in time"),
        "{error}"
    );
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_download_that_only_drips_is_begun_again_where_it_stands() {
    let behind = Behind::start().await;
    let drip = Fault::Drip(100, Duration::from_millis(50));
    behind.proxy.fault("GET", &behind.layer, drip, 1);
    behind.pull_works().await;
    let requests = behind.proxy.requests(&behind.layer);
    assert_eq!(requests.len(), 2);
    assert!(requests[1].range.is_some());
}

#[tokio::test]
async fn a_push_survives_errors_of_the_server() {
    let behind = Behind::start().await;
    let proxy = &behind.proxy;
    proxy.fault("HEAD", "blobs", Fault::status(500, &[]), 1);
    proxy.fault("POST", "uploads", Fault::status(503, &[]), 1);
    proxy.fault("PUT", "uploads", Fault::status(500, &[]), 1);
    proxy.fault("PUT", "manifests", Fault::status(429, &[]), 1);
    let target = reference(&proxy.address, "other/catalog:v1");
    let image = image(2000);
    let pushed = behind.client.push_image(&image, &target).await.unwrap();
    assert_eq!(pushed.digest().unwrap().as_str(), image.manifest.digest);
    let (_folder, store) = store();
    let pulled = pull(&behind.client, &target.to_string(), &store).await;
    assert_eq!(configs(&pulled.unwrap())["catalog.json"], noise(2000));
}

#[tokio::test]
async fn a_registry_where_nobody_listens_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let client = Client::new(settings(&[&address]));
    let (_folder, store) = store();
    let error = pull(&client, &format!("{address}/a/b:v1"), &store)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}
