//! Processes that are killed while they pull.

use std::time::{Duration, Instant};

use chandler::oci::blob_store::BlobStore;

use crate::child::child;
use crate::support::proxy::{Fault, Proxy};
use crate::support::registry::{Registry, client};
use crate::{configs, image, noise, pull, reference};

const ROUNDS: u32 = 100;
const SIZE: usize = 2_000_000;

/// Two processes share a cache and are killed, again and again, at other moments each time. In
/// between, the cache has to be one that works.
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_works_however_often_those_who_fill_it_are_killed() {
    let registry = Registry::start().unwrap();
    let proxy = Proxy::start(&registry.address).await.unwrap();
    let direct = client(&[&registry.address, &proxy.address]);
    let target = reference(&registry.address, "hub/catalog:v1");
    direct.push_image(&image(SIZE), &target).await.unwrap();
    let image = reference(&proxy.address, "hub/catalog:v1").to_string();

    let folder = tempfile::tempdir().unwrap();
    let mut killed = 0;
    for round in 0..ROUNDS {
        // Now and then from an empty cache, otherwise on what the last ones left.
        let cache = folder.path().join(format!("cache-{}", round / 10));
        // A slow line, so that there is something to interrupt.
        let drip = Fault::Drip(50_000, Duration::from_millis(1));
        proxy.fault("GET", "blobs", drip, 4);
        let before = sent(&proxy);
        let mut children = [child(&image, &cache), child(&image, &cache)]
            .map(|mut command| command.spawn().unwrap());
        // From the very beginning to the very end of what is on its way.
        let moment = SIZE as u64 * 2 * u64::from(round * 37 % ROUNDS) / u64::from(ROUNDS);
        let deadline = Instant::now() + Duration::from_secs(30);
        while sent(&proxy) - before < moment
            && children
                .iter_mut()
                .any(|child| child.try_wait().unwrap().is_none())
        {
            assert!(Instant::now() < deadline, "the children do not get on");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for child in &mut children {
            killed += u32::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // Sometimes the next ones go on with what these left.
        if round % 4 == 0 {
            continue;
        }
        let store = BlobStore::open(&cache).unwrap();
        let pulled = pull(&direct, &image, &store).await.unwrap();
        assert_eq!(configs(&pulled)["catalog.json"], noise(SIZE));
        // The next round has something to do again.
        fs_err::remove_file(&pulled.layers[0].path).unwrap();
    }
    let requests = proxy.requests("blobs");
    let resumed = requests.iter().filter(|r| r.range.is_some()).count();
    println!("{killed} killed at work, {resumed} downloads resumed");
    assert!(killed > ROUNDS / 2, "only {killed} were still at work");
    assert!(resumed > 10, "only {resumed} downloads went on");
}

/// How many bytes of blobs came by.
fn sent(proxy: &Proxy) -> u64 {
    let requests = proxy.requests("blobs");
    requests.iter().map(|request| request.sent).sum()
}
