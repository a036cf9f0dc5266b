//! What a failed test leaves: events, objects and logs of its namespaces.

use std::io::Write as _;
use std::path::PathBuf;

use super::cluster::Cluster;

/// Where what a test leaves is.
pub fn folder(test: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("test-artifacts")
        .join(test.replace("::", "-"))
}

/// Writes everything that is in the namespaces to `target/test-artifacts/TEST/`, and shows the
/// events, which most often tell the story.
pub async fn namespaces(test: &str, cluster: &Cluster, namespaces: &[String]) {
    let folder = folder(test);
    // What can be had is kept; a dump that fails must not hide why the test did.
    let _ = fs_err::create_dir_all(&folder);
    for namespace in namespaces {
        let events = run(
            cluster,
            &["get", "events", "-n", namespace, "--sort-by=.lastTimestamp"],
        )
        .await;
        eprintln!("events of {namespace}:\n{events}");
        let _ = fs_err::write(folder.join(format!("{namespace}-events.txt")), events);
        let _ = fs_err::write(
            folder.join(format!("{namespace}-objects.yaml")),
            objects(cluster, namespace).await,
        );
        let logs = logs(cluster, namespace).await;
        let _ = fs_err::write(folder.join(format!("{namespace}-logs.txt")), logs);
    }
    let _ = writeln!(
        std::io::stderr(),
        "{test} failed; its namespaces are dumped in {}",
        folder.display()
    );
}

async fn objects(cluster: &Cluster, namespace: &str) -> String {
    let kinds = run(
        cluster,
        &[
            "api-resources",
            "--namespaced",
            "--verbs=list",
            "-o",
            "name",
        ],
    )
    .await;
    let kinds: Vec<&str> = kinds
        .lines()
        .filter(|kind| !kind.starts_with("events"))
        .collect();
    run(
        cluster,
        &[
            "get",
            &kinds.join(","),
            "-n",
            namespace,
            "-o",
            "yaml",
            "--ignore-not-found",
        ],
    )
    .await
}

async fn logs(cluster: &Cluster, namespace: &str) -> String {
    let pods = run(cluster, &["get", "pods", "-n", namespace, "-o", "name"]).await;
    let mut text = String::new();
    for pod in pods.lines() {
        let log = run(
            cluster,
            &["logs", "-n", namespace, pod, "--all-containers", "--prefix"],
        )
        .await;
        text.extend(["== ", pod, "\n", &log, "\n"]);
    }
    text
}

async fn run(cluster: &Cluster, arguments: &[&str]) -> String {
    cluster
        .kubectl(arguments)
        .await
        .unwrap_or_else(|error| format!("{error:#}"))
}
