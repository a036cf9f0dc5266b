//! The hub over a whole catalog: how long answers take, what the home page weighs, and what a minute of
//! requests at full speed does to a process.
//!
//! Single questions go through the router without a socket: what is measured is the server's own time.
//! `CHANDLER_BENCH_SECONDS` says for how long (2 by default); the load lasts thirty times that.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "support/hub_process.rs"]
mod hub_process;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/whole_catalog.rs"]
mod whole_catalog;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
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

use hub_process::HubProcess;
use whole_catalog::Copies;

/// What is asked, with a name for it.
const QUESTIONS: [(&str, &str); 11] = [
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
    ("home page", "/"),
    ("page of a package", "/packages/{package}"),
];
/// How long the server may take for a search.
const SEARCH: f64 = 10.0;
/// What may go over the wire for the home page, in bytes.
const HOME_PAGE: usize = 200_000;

/// How long answers took, the shortest first, in milliseconds.
struct Times(Vec<f64>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times.iter().map(|time| time.as_secs_f64() * 1e3).collect())
    }

    fn at(&self, percent: usize) -> f64 {
        let place = self.0.len() * percent / 100;
        self.0.get(place).copied().unwrap_or_default()
    }
}

fn main() -> anyhow::Result<()> {
    // The client that brings the load wants one, although it speaks no TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
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
    let cache = folder.path().join("cache");
    whole_catalog::write(&source, 1, Copies::Alike)?;
    let options = PullOptions::new(Registry::new(Settings::default()));
    let sources = Sources::new(&cache, options)?;
    let key = CatalogKey::new("", "whole");
    let supply = Standalone::new(sources, vec![(key, Source::Folder(source.clone()))]);
    for (_, outcome) in supply.refresh().await {
        outcome?;
    }
    let catalogs = supply.catalogs();
    let content = catalogs.first().and_then(|catalog| catalog.content.clone());
    let content = content.context("there is no catalog")?;
    let packages = content.index.packages();
    let names: Vec<String> = packages.iter().map(|it| it.name.clone()).collect();
    let largest = packages.iter().max_by_key(|summary| summary.bundles);
    let largest = largest
        .map(|summary| summary.name.clone())
        .unwrap_or_default();
    println!("{} packages, the largest is {largest}", names.len());
    let router = chandler::server::site(Arc::new(Hub::new(Arc::new(supply))));
    for (name, path) in QUESTIONS {
        let times = ask(&router, name, &path.replace("{package}", &largest), time).await?;
        let is_search = name.starts_with("search");
        ensure!(
            !is_search || times.at(99) < SEARCH,
            "{name} took longer than {SEARCH} ms"
        );
    }
    weigh(&router).await?;
    load(&source, &cache, &names, time * 30).await
}

async fn ask(router: &Router, name: &str, path: &str, time: Duration) -> anyhow::Result<Times> {
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut size = 0;
    while begin.elapsed() < time {
        let asked = Instant::now();
        size = get(router, path).await?.len();
        times.push(asked.elapsed());
    }
    let times = Times::new(times);
    println!(
        "{name:<28} p50 {:>7.2} ms   p99 {:>7.2} ms   {:>6}/s   {:>5} KiB",
        times.at(50),
        times.at(99),
        times.0.len() as u64 / time.as_secs().max(1),
        size >> 10
    );
    Ok(times)
}

/// What a browser fetches for the home page: itself, style, scripts, and the pictures of its cards.
async fn weigh(router: &Router) -> anyhow::Result<()> {
    let home = get(router, "/").await?;
    let text = String::from_utf8_lossy(&home).replace("&amp;", "&");
    let mut paths: Vec<&str> = text
        .split(['"', '\''])
        .filter(|part| part.starts_with("/assets/") || part.contains("/icon?"))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut size = packed(router, "/").await?;
    for path in &paths {
        size += packed(router, path).await?;
    }
    println!(
        "home page: {} KB on the wire in {} requests",
        size / 1000,
        paths.len() + 1
    );
    ensure!(size < HOME_PAGE, "the home page has {size} bytes");
    Ok(())
}

async fn get(router: &Router, path: &str) -> anyhow::Result<Vec<u8>> {
    let request = Request::get(path).body(Body::empty())?;
    body(router, request).await
}

/// How much goes over the wire.
async fn packed(router: &Router, path: &str) -> anyhow::Result<usize> {
    // About what headers take.
    const HEADERS: usize = 350;
    let request = Request::get(path).header("accept-encoding", "gzip");
    let body = body(router, request.body(Body::empty())?).await;
    Ok(body.with_context(|| path.to_owned())?.len() + HEADERS)
}

async fn body(router: &Router, request: Request<Body>) -> anyhow::Result<Vec<u8>> {
    let path = request.uri().clone();
    let response = router.clone().oneshot(request).await?;
    let status = response.status();
    ensure!(status.is_success(), "{path}: {status}");
    Ok(response.into_body().collect().await?.to_bytes().to_vec())
}

/// Lists, searches and pages of packages at full speed, on a core that the server has to itself; and
/// what it has taken when it is over.
async fn load(source: &Path, cache: &Path, names: &[String], time: Duration) -> anyhow::Result<()> {
    const CONNECTIONS: usize = 4;
    const REST: Duration = Duration::from_secs(5);
    let process = HubProcess::start(source, cache).await?;
    println!("memory: {:.0} MB before the load", process.memory("VmRSS")?);
    let begin = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for at in 0..CONNECTIONS {
        let address = process.address.clone();
        let names = names.to_vec();
        clients.spawn(async move {
            let client = reqwest::Client::new();
            let mut times = Vec::new();
            let mut number = at;
            while begin.elapsed() < time {
                let path = path_of(number, &names);
                number += CONNECTIONS;
                let asked = Instant::now();
                let answer = client.get(format!("{address}{path}")).send().await?;
                ensure!(answer.status().is_success(), "{path}: {}", answer.status());
                answer.bytes().await?;
                times.push(asked.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(outcome) = clients.join_next().await {
        times.extend(outcome??);
    }
    let times = Times::new(times);
    println!(
        "load of {} s: {}/s   p50 {:.2} ms   p99 {:.2} ms",
        time.as_secs(),
        times.0.len() as u64 / time.as_secs().max(1),
        times.at(50),
        times.at(99)
    );
    let most = process.memory("VmHWM")?;
    tokio::time::sleep(REST).await;
    println!(
        "memory: {most:.0} MB at most, {:.0} MB afterwards",
        process.memory("VmRSS")?
    );
    Ok(())
}

/// What is asked after so many other questions.
fn path_of(number: usize, names: &[String]) -> String {
    let name = names.get(number / 6 % names.len().max(1));
    let name = name.map_or("", String::as_str);
    match number % 6 {
        0 => "/api/v1/packages".to_owned(),
        1 => format!("/api/v1/packages?q={name}"),
        2 => format!("/browse?q={}", name.get(..3).unwrap_or(name)),
        3 => format!("/api/v1/packages/{name}"),
        4 => format!("/packages/{name}"),
        _ => "/".to_owned(),
    }
}
