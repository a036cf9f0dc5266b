//! `chandler plan`, `chandler explain` and `chandler graph` on what is in a cluster.

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::case::{Case, on_cluster};

const CSVS: &str = "
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: gopher.v2.0.0}
  spec:
    displayName: Gopher
    version: 2.0.0
    minKubeVersion: 99.0.0
    replaces: gopher.v1.0.0
    install: {strategy: deployment}
- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: gopher.v1.0.0}
  spec: {displayName: Gopher, version: 1.0.0, install: {strategy: deployment}}
";
const PACKAGES: &str =
    "- packageName: gopher\n  channels: [{name: alpha, currentCSV: gopher.v2.0.0}]\n";

#[tokio::test]
async fn plan_explain_and_graph_answer_for_what_is_in_the_cluster() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        create(case, &namespace, json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gophers"},
            "data": {"clusterServiceVersions": CSVS, "customResourceDefinitions": "", "packages": PACKAGES},
        }))
        .await?;
        create(case, &namespace, json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "burrow"},
            "spec": {"sourceType": "internal", "configMap": "gophers"},
        }))
        .await?;
        create(case, &namespace, json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "my-gopher"},
            "spec": {"name": "gopher", "source": "burrow", "sourceNamespace": namespace},
        }))
        .await?;
        let plan: Value = serde_json::from_str(&chandler(case, &namespace, "plan -o json").await?)?;
        ensure!(plan["namespace"] == json!(namespace), "{plan:#}");
        let install = &plan["components"][0]["install"][0];
        // The newer one asks for a Kubernetes that this is not.
        ensure!(install["bundle"] == "gopher.v1.0.0", "{plan:#}");
        ensure!(install["catalog"] == "burrow", "{plan:#}");
        ensure!(install["requestedBy"] == json!(["my-gopher"]), "{plan:#}");
        let said = chandler(case, &namespace, "explain gopher").await?;
        ensure!(said.contains("not 2.0.0: needs Kubernetes 99.0.0, and here is 1."), "{said}");
        let drawn = chandler(case, &namespace, "graph gopher -o text").await?;
        let whole = "gopher.v2.0.0 (alpha, head)\ngopher.v1.0.0 (alpha)\n  replaced by gopher.v2.0.0\n";
        ensure!(drawn == whole, "{drawn}");

        create(case, &namespace, json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "gopher.v1.0.0"},
            "spec": {"displayName": "Gopher", "version": "1.0.0", "install": {"strategy": "deployment"}},
        }))
        .await?;
        let said = chandler(case, &namespace, "plan").await?;
        ensure!(said.starts_with("adopt gopher 1.0.0 (gopher.v1.0.0)"), "{said}");
        let drawn = chandler(case, &namespace, "graph gopher -o text").await?;
        ensure!(drawn.contains("gopher.v1.0.0 (alpha, installed)\n"), "{drawn}");
        ensure!(drawn.contains("Subscription my-gopher stays with gopher.v1.0.0\n"), "{drawn}");
        ensure!(drawn.contains("needs Kubernetes 99.0.0 or newer"), "{drawn}");
        Ok(())
    })
    .await;
}

async fn create(case: &Case, namespace: &str, object: Value) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs_err::write(file.path(), object.to_string())?;
    let path = file.path().to_string_lossy().into_owned();
    case.cluster
        .kubectl(&["create", "-n", namespace, "-f", &path])
        .await?;
    Ok(())
}

/// Runs a command that has to succeed.
async fn chandler(case: &Case, namespace: &str, line: &str) -> anyhow::Result<String> {
    let cache = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_chandler"))
        .args(line.split(' '))
        .args(["-n", namespace, "--kubeconfig"])
        .arg(case.cluster.kubeconfig())
        .env("CHANDLER_CACHE_DIR", cache.path())
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "chandler {line}: {said}{error}");
    Ok(said)
}
