//! Our CRDs on a real API server, seen through kubectl.

use anyhow::{Context as _, ensure};
use chandler::plan::crd::upgrade_v1beta1;
use chandler::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use serde_json::Value;

use crate::support::case::{Case, DEADLINE, on_cluster};
use crate::support::cluster::repository;
use crate::support::data::each_yaml_file;

const KINDS: [&str; 8] = [
    "catalogsources",
    "clusterserviceversions",
    "installplans",
    "olmconfigs",
    "operatorconditions",
    "operatorgroups",
    "operators",
    "subscriptions",
];

#[tokio::test]
async fn plain_kubectl_apply_establishes_every_crd() {
    on_cluster(async |case| {
        // Applied when the run began; again, it must change nothing.
        let folder = repository().join("deploy/crds");
        let said = case
            .cluster
            .kubectl(&["apply", "-f", &folder.to_string_lossy()])
            .await?;
        assert_eq!(said.matches(" unchanged").count(), KINDS.len(), "{said}");
        let api = Api::<CustomResourceDefinition>::all(case.client.clone());
        for kind in KINDS {
            let crd = api.get(&format!("{kind}.operators.coreos.com")).await?;
            let conditions = crd
                .status
                .and_then(|status| status.conditions)
                .unwrap_or_default();
            let holds = |wanted: &str| {
                conditions
                    .iter()
                    .any(|c| c.type_ == wanted && c.status == "True")
            };
            ensure!(
                holds("Established") && holds("NamesAccepted"),
                "{kind}: {conditions:?}"
            );
            let complaint = conditions.iter().find(|c| c.type_ == "NonStructuralSchema");
            ensure!(complaint.is_none(), "{kind}: {complaint:?}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn kubectl_get_shows_the_columns_of_olm() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        apply(case, &namespace, OBJECTS).await?;
        let mut shown = Vec::new();
        for kind in ["sub", "csv", "installplans", "catsrc", "og"] {
            let table = case
                .cluster
                .kubectl(&["get", kind, "-n", &namespace])
                .await?;
            let mut lines = table
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>());
            let header = lines.next().context("no header")?.join(" ");
            let first = lines.next().context("no row")?.join(" ");
            shown.push((kind, header, first));
        }
        let shown: Vec<_> = shown
            .iter()
            .map(|(kind, header, row)| (*kind, header.as_str(), row.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                (
                    "sub",
                    "NAME PACKAGE SOURCE CHANNEL",
                    "gopher gopher-operator hub stable"
                ),
                (
                    "csv",
                    "NAME DISPLAY VERSION RELEASE REPLACES PHASE",
                    "gopher.v1.0.0 Gopher 1.0.0 2 gopher.v0.2.0"
                ),
                (
                    "installplans",
                    "NAME CSV APPROVAL APPROVED",
                    "install-abcde gopher.v1.0.0 Manual false"
                ),
                ("catsrc", "NAME DISPLAY TYPE PUBLISHER AGE", shown[3].2),
                ("og", "NAME AGE", shown[4].2),
            ]
        );
        assert!(shown[3].2.starts_with("hub Hub grpc Us "), "{}", shown[3].2);
        assert!(shown[4].2.starts_with("group "), "{}", shown[4].2);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn kubectl_explain_tells_what_every_field_of_a_subscription_means() {
    on_cluster(async |case| {
        // Published a moment after the CRD is established: kubectl fails until then.
        let deadline = tokio::time::Instant::now() + DEADLINE;
        let text = loop {
            match case
                .cluster
                .kubectl(&["explain", "subscription.spec"])
                .await
            {
                Ok(text) => break text,
                Err(error) if tokio::time::Instant::now() > deadline => return Err(error),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(200)).await,
            }
        };
        for field in [
            "channel",
            "config",
            "installPlanApproval",
            "name",
            "source",
            "sourceNamespace",
            "startingCSV",
        ] {
            let (_, after) = text
                .split_once(&format!("  {field}\t<"))
                .with_context(|| format!("{field}: {text}"))?;
            let description = after.lines().nth(1).unwrap_or_default().trim();
            ensure!(description.len() > 10, "{field} is not described: {text}");
            ensure!(
                !after.starts_with("Object>\n    <no description>"),
                "{field}"
            );
        }
        ensure!(
            text.contains("sourceNamespace\t<string> -required-"),
            "{text}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn the_api_server_refuses_what_olm_refuses() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let refused = [
            (
                "kind: Subscription\nmetadata: {name: x}\nspec: {name: p, source: s}",
                "v1alpha1",
                "sourceNamespace",
            ),
            (
                "kind: CatalogSource\nmetadata: {name: x}\nspec: {image: i}",
                "v1alpha1",
                "sourceType",
            ),
            (
                "kind: InstallPlan\nmetadata: {name: x}\nspec: {approval: Manual, approved: false}",
                "v1alpha1",
                "clusterServiceVersionNames",
            ),
            (
                "kind: ClusterServiceVersion\nmetadata: {name: x}\nspec: {displayName: d}",
                "v1alpha1",
                "install",
            ),
            (
                "kind: OperatorGroup\nmetadata: {name: x}\nspec: {upgradeStrategy: Nonsense}",
                "v1",
                "upgradeStrategy",
            ),
        ];
        for (object, version, field) in refused {
            let text = format!("apiVersion: operators.coreos.com/{version}\n{object}\n");
            let error = match apply(case, &namespace, &text).await {
                Ok(()) => anyhow::bail!("taken:\n{text}"),
                Err(error) => format!("{error:#}"),
            };
            ensure!(error.contains(field), "{error}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_group_gets_the_default_upgrade_strategy_and_is_read_in_both_versions() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        apply(
            case,
            &namespace,
            "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: group}\n",
        )
        .await?;
        let strategy = case
            .cluster
            .kubectl(&[
                "get",
                "og",
                "group",
                "-n",
                &namespace,
                "-o",
                "jsonpath={.spec.upgradeStrategy}",
            ])
            .await?;
        assert_eq!(strategy, "Default");
        let old = case
            .cluster
            .kubectl(&[
                "get",
                "operatorgroups.v1alpha2.operators.coreos.com",
                "-n",
                &namespace,
                "-o",
                "name",
            ])
            .await?;
        assert_eq!(old.trim(), "operatorgroup.operators.coreos.com/group");
        Ok(())
    })
    .await;
}

async fn apply(case: &Case, namespace: &str, objects: &str) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs_err::write(file.path(), objects)?;
    let path = file.path().to_string_lossy();
    case.cluster
        .kubectl(&["apply", "-n", namespace, "-f", &path])
        .await
        .map(|_| ())
}

const OBJECTS: &str = "
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: gopher}
spec: {name: gopher-operator, channel: stable, source: hub, sourceNamespace: somewhere}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: hub}
spec: {sourceType: grpc, image: example.com/hub, displayName: Hub, publisher: Us}
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-abcde}
spec: {approval: Manual, approved: false, clusterServiceVersionNames: [gopher.v1.0.0]}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: group}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: gopher.v1.0.0}
spec:
  displayName: Gopher
  version: 1.0.0
  release: \"2\"
  replaces: gopher.v0.2.0
  install: {strategy: deployment}
";

#[tokio::test]
async fn the_api_server_takes_real_crds_of_v1beta1_once_they_are_upgraded() {
    on_cluster(async |case| {
        let mut upgraded: Vec<(String, CustomResourceDefinition)> = Vec::new();
        let found = each_yaml_file(&case.name, |file| {
            if !file.text.contains("apiextensions.k8s.io/v1beta1") {
                return;
            }
            for value in yaml::values(&file.path, &file.text).unwrap_or_default() {
                if value.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
                    continue;
                }
                // What is refused in words does not get to the API server.
                if let Ok(it) = upgrade_v1beta1(value) {
                    upgraded.push((file.path.clone(), it.crd));
                }
            }
        })?;
        if !found {
            return Ok(());
        }
        ensure!(upgraded.len() > 100, "only {} were found", upgraded.len());
        let api = Api::<CustomResourceDefinition>::all(case.client.clone());
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let mut refused = Vec::new();
        for (path, mut crd) in upgraded {
            crd.status = None;
            match api.create(&dry_run, &crd).await {
                // Another test may have it.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) if is_known_gap(&error.to_string()) => {}
                Err(error) => refused.push(format!("{path}: {error}")),
                Ok(_) => {}
            }
        }
        ensure!(refused.is_empty(), "{}: {refused:#?}", refused.len());
        Ok(())
    })
    .await;
}

/// What the upgrade leaves as it is, and the API server refuses: lists of anything, an int-or-string
/// that says so only in `anyOf`, an empty scope, and groups that Kubernetes has to approve.
fn is_known_gap(refusal: &str) -> bool {
    const GAPS: [&str; 4] = [
        "items: Required value: must be specified",
        "type: Forbidden: must be empty to be structural",
        "spec.scope: Required value",
        "annotations[api-approved.kubernetes.io]: Required value",
    ];
    let is_about_metadata = refusal.contains("properties[metadata]: Forbidden");
    !is_about_metadata && GAPS.iter().any(|gap| refusal.contains(gap))
}
