//! How fast manifests and ranges are read.
//!
//! The manifest is a generated ClusterServiceVersion of about the size that real ones have.

use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::version::{Range, Version};
use chandler::yaml;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

fn main() {
    divan::main();
}

fn manifest() -> String {
    let mut text = include_str!("../tests/fixtures/csv/gopher.v1.0.0.yaml").to_owned();
    let deployment = text
        .split("      deployments:\n")
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    for _ in 0..20 {
        text.push_str(&deployment);
    }
    text
}

#[divan::bench]
fn yaml_to_json(bencher: Bencher) {
    let text = manifest();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| yaml::from_str::<serde_json::Value>("csv.yaml", divan::black_box(&text)));
}

#[divan::bench]
fn yaml_to_a_cluster_service_version(bencher: Bencher) {
    let text = manifest();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| yaml::from_str::<ClusterServiceVersion>("csv.yaml", divan::black_box(&text)));
}

#[divan::bench]
fn ranges_parsed(bencher: Bencher) {
    let texts = [
        ">=1.0.0 <2.0.0 || !1.5.0",
        ">=2.1.x <2.2.1",
        "<1.14.0",
        "1.2.3",
    ];
    bencher
        .counter(ItemsCount::new(texts.len()))
        .bench(|| texts.map(|text| divan::black_box(text).parse::<Range>()));
}

#[divan::bench]
fn versions_matched(bencher: Bencher) {
    let range: Range = ">=1.0.0 <2.0.0 || !1.5.0".parse().expect("it is a range");
    let versions: Vec<Version> = (0..100)
        .map(|minor| format!("1.{minor}.0").parse().expect("it is a version"))
        .collect();
    bencher.counter(ItemsCount::new(versions.len())).bench(|| {
        versions
            .iter()
            .filter(|version| range.contains(version))
            .count()
    });
}
