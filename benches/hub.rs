//! The hub over a whole catalog: how long lists, searches and packages take, and how much memory.
//!
//! Requests go through the router as they would through a socket, but without one: what is measured
//! is the server's own time. `CHANDLER_BENCH_SECONDS` says for how long (2 for each by default).

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "support/memory.rs"]
mod memory;
#[path = "support/whole_catalog.rs"]
mod whole_catalog;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use axum::Router;
use axum::body::Body;
use chandler::catalog::source::{Source, Sources};
use chandler::oci::client::{Registry, Settings};
use chandler::oci::pull::PullOptions;
use chandler::resolver::CatalogKey;
use chandler::server::hub::{Hub, Standalone, Supply as _};
use http::Request;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

/// What is asked, with a name for it.
const QUESTIONS: [(&str, &str); 9] = [
    ("first part of the list", "/api/v1/packages"),
    ("the whole list", "/api/v1/packages?limit=1000"),
    ("search, one word", "/api/v1/packages?q=database"),
    ("search, beginning of a word", "/api/v1/packages?q=post"),
    ("search, with a typo", "/api/v1/packages?q=prometeus"),
    (
        "search, several words",
        "/api/v1/packages?q=cluster%20operator%20backup",
    ),
    (
        "filter",
        "/api/v1/packages?category=Database&installMode=AllNamespaces",
    ),
    ("package", "/api/v1/packages/{package}"),
    ("graph", "/api/v1/packages/{package}/graph"),
];

fn main() -> anyhow::Result<()> {
    let seconds = std::env::var("CHANDLER_BENCH_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(2);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(measure(Duration::from_secs(seconds)))
}

async fn measure(time: Duration) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("catalog");
    whole_catalog::write(&source, 1)?;
    let options = PullOptions::new(Registry::new(Settings::default()));
    let sources = Sources::new(&folder.path().join("cache"), options)?;
    let key = CatalogKey::new("", "whole");
    let supply = Standalone::new(sources, vec![(key, Source::Folder(source))]);
    for (_, outcome) in supply.refresh().await {
        outcome?;
    }
    let catalogs = supply.catalogs();
    let content = catalogs.first().and_then(|catalog| catalog.content.clone());
    let content = content.ok_or_else(|| anyhow::anyhow!("there is no catalog"))?;
    let packages = content.index.packages();
    let largest = packages.iter().max_by_key(|summary| summary.bundles);
    let largest = largest
        .map(|summary| summary.name.clone())
        .unwrap_or_default();
    println!("{} packages, the largest is {largest}", packages.len());
    let router = chandler::server::site(Arc::new(Hub::new(Arc::new(supply))));
    for (name, path) in QUESTIONS {
        ask(&router, name, &path.replace("{package}", &largest), time).await?;
    }
    let resident = memory::memory(std::process::id(), "VmRSS")?;
    println!("memory: {resident:.0} MB resident");
    Ok(())
}

async fn ask(router: &Router, name: &str, path: &str, time: Duration) -> anyhow::Result<()> {
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut size = 0;
    while begin.elapsed() < time {
        let asked = Instant::now();
        let request = Request::get(path).body(Body::empty())?;
        let response = router.clone().oneshot(request).await?;
        ensure!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        size = response.into_body().collect().await?.to_bytes().len();
        times.push(asked.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a position in a list of some thousands"
        )]
        let place = (times.len() as f64 * share) as usize;
        times.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    println!(
        "{name:<28} p50 {:>7.2} ms   p99 {:>7.2} ms   {:>6}/s   {:>5} KiB",
        at(0.5),
        at(0.99),
        times.len() as u64 / time.as_secs().max(1),
        size >> 10
    );
    Ok(())
}
