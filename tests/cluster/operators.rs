//! Operators on a real cluster: what belongs to a package is shown, and marked.

use anyhow::Context as _;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::install_plan::InstallPlan;
use chandler::api::operator::{Operator, OperatorSpec};
use chandler::api::operator_group::OperatorGroup;
use chandler::api::subscription::Subscription;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

use crate::support::case::{Case, on_cluster};
use crate::support::controllers::Running;

const ALPHA: &str = "operators.coreos.com/v1alpha1";

#[tokio::test]
async fn an_operator_shows_its_components_as_they_come_and_go() {
    on_cluster(async |case| {
        let (one, two) = (case.namespace().await?, case.namespace().await?);
        let _chandler = Running::start(case, &[&one, &two]).await?;
        let name = format!("thing.{one}");
        let operators = Api::<Operator>::all(case.client.clone());
        let by_hand = Operator::new(&name, OperatorSpec::default());
        operators.create(&PostParams::default(), &by_hand).await?;
        let label = format!("operators.coreos.com/{name}");
        let selects = {
            let label = label.clone();
            move |operator: Option<&Operator>| {
                let status = operator.and_then(|operator| operator.status.as_ref());
                let components = status.and_then(|status| status.components.as_ref());
                components.is_some_and(|components| {
                    let requirements = components.label_selector.match_expressions.iter();
                    let mut requirements = requirements.flatten();
                    requirements.any(|it| it.key == label && it.operator == "Exists")
                })
            }
        };
        case.wait(&operators, &name, "showing what it selects", selects)
            .await?;

        let marked = json!({"metadata": {"labels": {&label: "", "olm.managed": "true"}}});
        let namespaces = Api::<Namespace>::all(case.client.clone());
        patch(&namespaces, &one, &marked).await?;
        shows(case, &name, &["Namespace", "", &one], true).await?;

        for namespace in [&one, &two] {
            account(case, namespace, "robot", &marked["metadata"]).await?;
            shows(case, &name, &["ServiceAccount", namespace, "robot"], true).await?;
        }
        let unmarked = json!({"metadata": {"labels": {&label: null}}});
        let accounts = Api::<ServiceAccount>::namespaced(case.client.clone(), &two);
        patch(&accounts, "robot", &unmarked).await?;
        shows(case, &name, &["ServiceAccount", &two, "robot"], false).await?;

        let uid = operators.get(&name).await?.uid();
        operators.delete(&name, &DeleteParams::default()).await?;
        let made_anew = move |operator: Option<&Operator>| {
            operator.is_some_and(|operator| operator.uid() != uid)
        };
        case.wait(&operators, &name, "made anew", made_anew).await?;
        shows(case, &name, &["ServiceAccount", &one, "robot"], true).await?;

        patch(&namespaces, &one, &unmarked).await?;
        let accounts = Api::<ServiceAccount>::namespaced(case.client.clone(), &one);
        accounts.delete("robot", &DeleteParams::default()).await?;
        let is_gone = |operator: Option<&Operator>| operator.is_none();
        case.wait(&operators, &name, "gone with its last component", is_gone)
            .await
    })
    .await;
}

#[tokio::test]
async fn what_a_subscription_brought_is_adopted() {
    on_cluster(async |case| {
        let home = case.namespace().await?;
        let csv = csv(case, &home, &json!({})).await?;
        let owner = json!([{
            "apiVersion": ALPHA, "kind": "ClusterServiceVersion",
            "name": csv.name_any(), "uid": csv.uid(),
        }]);
        let metadata = json!({"labels": {"olm.managed": "true"}, "ownerReferences": owner});
        account(case, &home, "robot", &metadata).await?;
        account(
            case,
            &home,
            "stranger",
            &json!({"labels": {"olm.managed": "true"}}),
        )
        .await?;
        let plan: InstallPlan = serde_json::from_value(json!({
            "apiVersion": ALPHA,
            "kind": "InstallPlan",
            "metadata": {"name": "install-1"},
            "spec": {"approval": "Manual", "approved": false,
                     "clusterServiceVersionNames": ["widget.v1"]},
        }))?;
        let plans = Api::<InstallPlan>::namespaced(case.client.clone(), &home);
        plans.create(&PostParams::default(), &plan).await?;
        let subscription: Subscription = serde_json::from_value(json!({
            "apiVersion": ALPHA,
            "kind": "Subscription",
            "metadata": {"name": "widget"},
            "spec": {"name": "widget", "source": "catalog", "sourceNamespace": home},
        }))?;
        let subscriptions = Api::<Subscription>::namespaced(case.client.clone(), &home);
        subscriptions
            .create(&PostParams::default(), &subscription)
            .await?;
        let status = json!({"status": {
            "installedCSV": "widget.v1",
            "installPlanRef": {"apiVersion": ALPHA, "kind": "InstallPlan",
                               "namespace": home, "name": "install-1"},
            "lastUpdated": "2026-01-01T00:00:00Z",
        }});
        subscriptions
            .patch_status("widget", &PatchParams::default(), &Patch::Merge(status))
            .await?;
        let _chandler = Running::start(case, &[&home]).await?;
        let name = format!("widget.{home}");
        for component in [
            ["Subscription", &home, "widget"],
            ["InstallPlan", &home, "install-1"],
            ["ClusterServiceVersion", &home, "widget.v1"],
            ["ServiceAccount", &home, "robot"],
        ] {
            shows(case, &name, &component, true).await?;
        }
        shows(case, &name, &["ServiceAccount", &home, "stranger"], false).await
    })
    .await;
}

#[tokio::test]
async fn a_copied_csv_is_not_adopted() {
    on_cluster(async |case| {
        let (home, other) = (case.namespace().await?, case.namespace().await?);
        let name = format!("widget.{home}");
        let label = format!("operators.coreos.com/{name}");
        group(case, &home, &[&home, &other]).await?;
        let original = json!({"labels": {&label: ""}});
        csv(case, &home, &original).await?;
        let _chandler = Running::start(case, &[&home, &other]).await?;
        shows(
            case,
            &name,
            &["ClusterServiceVersion", &home, "widget.v1"],
            true,
        )
        .await?;
        let csvs = Api::<ClusterServiceVersion>::namespaced(case.client.clone(), &other);
        let unmarked = move |csv: Option<&ClusterServiceVersion>| {
            csv.is_some_and(|csv| csv.is_copied() && !csv.labels().contains_key(&label))
        };
        case.wait(&csvs, "widget.v1", "a copy without the mark", unmarked)
            .await?;
        shows(
            case,
            &name,
            &["ClusterServiceVersion", &other, "widget.v1"],
            false,
        )
        .await
    })
    .await;
}

async fn patch<K>(api: &Api<K>, name: &str, patch: &Value) -> anyhow::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug + Serialize,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

async fn account(case: &Case, namespace: &str, name: &str, metadata: &Value) -> anyhow::Result<()> {
    let mut account: ServiceAccount = serde_json::from_value(json!({"metadata": metadata}))?;
    account.metadata.name = Some(name.to_owned());
    let api = Api::<ServiceAccount>::namespaced(case.client.clone(), namespace);
    api.create(&PostParams::default(), &account).await?;
    Ok(())
}

async fn group(case: &Case, namespace: &str, targets: &[&String]) -> anyhow::Result<()> {
    let group = serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "group"}, "spec": {"targetNamespaces": targets},
    }))?;
    let api = Api::<OperatorGroup>::namespaced(case.client.clone(), namespace);
    api.create(&PostParams::default(), &group).await?;
    Ok(())
}

async fn csv(
    case: &Case,
    namespace: &str,
    metadata: &Value,
) -> anyhow::Result<ClusterServiceVersion> {
    let mut csv: ClusterServiceVersion = serde_json::from_value(json!({
        "apiVersion": ALPHA,
        "kind": "ClusterServiceVersion",
        "metadata": metadata,
        "spec": {
            "displayName": "Widget",
            "installModes": [{"type": "MultiNamespace", "supported": true},
                             {"type": "OwnNamespace", "supported": true}],
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
        },
    }))?;
    csv.metadata.name = Some("widget.v1".to_owned());
    let api = Api::<ClusterServiceVersion>::namespaced(case.client.clone(), namespace);
    Ok(api.create(&PostParams::default(), &csv).await?)
}

/// Waits until an Operator shows a component (kind, namespace, name), or no longer does.
async fn shows(
    case: &Case,
    operator: &str,
    component: &[&str; 3],
    expected: bool,
) -> anyhow::Result<()> {
    let wanted = component.map(ToOwned::to_owned);
    let what = format!("showing {component:?}: {expected}");
    let is_so = move |operator: Option<&Operator>| {
        let status = operator.and_then(|operator| operator.status.as_ref());
        let components = status.and_then(|status| status.components.as_ref());
        components.is_some_and(|components| {
            let mut refs = components.refs.iter().map(|entry| {
                let reference = entry.reference.clone();
                let parts = [reference.kind, reference.namespace, reference.name];
                parts.map(Option::unwrap_or_default)
            });
            refs.any(|it| it == wanted) == expected
        })
    };
    let api = Api::<Operator>::all(case.client.clone());
    case.wait(&api, operator, &what, is_so)
        .await
        .with_context(|| format!("Operator {operator}"))
}
