//! What the applier does to objects on a real API server.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::StepStatus;
use chandler::plan::apply::{Applier, Error, FIELD_MANAGER, How};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};

#[tokio::test]
async fn an_object_is_created_and_then_present_and_fields_of_others_stay() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let wanted = config_map(&namespace, &json!({"ours": "1"}));
        let first = applier.apply(&wanted, How::ServerSideApply).await?;
        assert_eq!(first.status, StepStatus::Created);
        assert!(first.warnings.is_empty(), "{:?}", first.warnings);

        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        let theirs = Patch::Merge(json!({
            "data": {"theirs": "2"}, "metadata": {"labels": {"their": "label"}},
        }));
        api.patch("settings", &PatchParams::default(), &theirs)
            .await?;
        let version = api.get("settings").await?.resource_version();

        let second = applier.apply(&wanted, How::ServerSideApply).await?;
        assert_eq!(second.status, StepStatus::Present);
        assert_eq!(second.uid, first.uid);
        let live = api.get("settings").await?;
        assert_eq!(
            live.resource_version(),
            version,
            "nothing changed, and yet it was written"
        );
        let data = live.data.clone().context("no data")?;
        assert_eq!(data["ours"], "1");
        assert_eq!(data["theirs"], "2");
        assert_eq!(live.labels()["their"], "label");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_is_no_longer_wanted_vanishes() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let before = config_map(&namespace, &json!({"old": "1", "both": "1"}));
        applier.apply(&before, How::ServerSideApply).await?;
        let after = config_map(&namespace, &json!({"both": "2"}));
        applier.apply(&after, How::ServerSideApply).await?;
        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        let data = api.get("settings").await?.data.context("no data")?;
        assert_eq!(
            data.into_iter().collect::<Vec<_>>(),
            [("both".to_owned(), "2".to_owned())]
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_object_that_olm_wrote_is_taken_over_and_its_old_values_go() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        // OLM's catalog operator writes by plain creates and updates, under the name of its binary.
        let olm = PostParams {
            field_manager: Some("catalog".to_owned()),
            ..PostParams::default()
        };
        let written =
            serde_json::from_value(config_map(&namespace, &json!({"old": "1", "both": "1"})))?;
        api.create(&olm, &written).await?;
        let theirs = Patch::Merge(json!({"data": {"theirs": "2"}}));
        api.patch("settings", &PatchParams::default(), &theirs)
            .await?;

        let applier = Applier::new(case.client.clone());
        let wanted = config_map(&namespace, &json!({"both": "2"}));
        let outcome = applier.apply(&wanted, How::ServerSideApply).await?;
        assert_eq!(outcome.status, StepStatus::Present);
        let live = api.get("settings").await?;
        let data = live.data.clone().context("no data")?;
        assert_eq!(data.keys().collect::<Vec<_>>(), ["both", "theirs"]);
        let managers: Vec<String> = live
            .managed_fields()
            .iter()
            .filter_map(|entry| entry.manager.clone())
            .collect();
        ensure!(!managers.contains(&"catalog".to_owned()), "{managers:?}");
        ensure!(managers.contains(&FIELD_MANAGER.to_owned()), "{managers:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_is_only_created_keeps_the_edits_of_users() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let wanted = config_map(&namespace, &json!({"a": "1"}));
        let first = applier.apply(&wanted, How::CreateOnly).await?;
        assert_eq!(first.status, StepStatus::Created);
        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        let edit = Patch::Merge(json!({"data": {"a": "edited"}}));
        api.patch("settings", &PatchParams::default(), &edit)
            .await?;
        let second = applier.apply(&wanted, How::CreateOnly).await?;
        assert_eq!(
            (second.status, second.uid),
            (StepStatus::Present, first.uid)
        );
        assert_eq!(
            api.get("settings").await?.data.context("no data")?["a"],
            "edited"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn warnings_of_the_api_server_come_back() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let deprecated = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "old", "namespace": namespace},
        });
        let outcome = applier.apply(&deprecated, How::ServerSideApply).await?;
        ensure!(
            outcome
                .warnings
                .iter()
                .any(|warning| warning.contains("Endpoints is deprecated")),
            "{:?}",
            outcome.warnings
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn fields_that_the_api_does_not_know_are_left_out_with_a_warning() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "door", "namespace": namespace, "shade": "dark"},
            "spec": {"colour": "red", "ports": [{"port": 80, "gloss": 3}], "selector": {"a": "b"}},
        });
        let outcome = applier.apply(&service, How::ServerSideApply).await?;
        let mut warnings = outcome.warnings;
        warnings.sort();
        assert_eq!(
            warnings,
            [
                "unknown field \"metadata.shade\"",
                "unknown field \"spec.colour\"",
                "unknown field \"spec.ports[port=80,protocol=\"TCP\"].gloss\"",
            ]
        );
        let other = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "colour": "red",
            "metadata": {"name": "plain", "namespace": namespace},
        });
        let outcome = applier.apply(&other, How::CreateOnly).await?;
        assert_eq!(outcome.warnings, ["unknown field \"colour\""]);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_service_keeps_its_address_and_an_account_its_pull_secrets() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let service = |port: u16| {
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "door", "namespace": namespace},
                "spec": {"ports": [{"port": port, "targetPort": 8080}], "selector": {"a": "b"}},
            })
        };
        applier.apply(&service(80), How::ServerSideApply).await?;
        let api = Api::<Service>::namespaced(case.client.clone(), &namespace);
        let address = |service: Service| service.spec.and_then(|spec| spec.cluster_ip);
        let before = address(api.get("door").await?);
        applier.apply(&service(81), How::ServerSideApply).await?;
        let after = api.get("door").await?;
        let ports = after.spec.clone().and_then(|spec| spec.ports).unwrap_or_default();
        assert_eq!(ports.iter().map(|port| port.port).collect::<Vec<_>>(), [81]);
        assert_eq!(address(after), before);

        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "runner", "namespace": namespace},
        });
        applier.apply(&account, How::ServerSideApply).await?;
        let api = Api::<ServiceAccount>::namespaced(case.client.clone(), &namespace);
        let theirs = Patch::Merge(json!({"imagePullSecrets": [{"name": "pull"}], "secrets": [{"name": "token"}]}));
        api.patch("runner", &PatchParams::default(), &theirs).await?;
        applier.apply(&account, How::ServerSideApply).await?;
        let live = api.get("runner").await?;
        assert_eq!(live.image_pull_secrets.unwrap_or_default()[0].name, "pull");
        assert_eq!(live.secrets.unwrap_or_default()[0].name.as_deref(), Some("token"));

        // The `default` account is everybody's: it is neither labelled nor owned.
        let default = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": namespace, "labels": {"olm.managed": "true"}},
        });
        let accounts = api.clone();
        case.wait(&accounts, "default", "there", |account: Option<&ServiceAccount>| account.is_some())
            .await?;
        let outcome = applier.apply(&default, How::ServerSideApply).await?;
        assert_eq!(outcome.status, StepStatus::Present);
        assert!(api.get("default").await?.labels().is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn csvs_that_own_an_object_stay_its_owners() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let mut uids = Vec::new();
        for name in ["ship.v1", "ship.v2"] {
            let csv = json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"displayName": "Ship", "install": {"strategy": "deployment"}},
            });
            let uid = applier.apply(&csv, How::CreateOnly).await?.uid;
            let mut secret = json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "shared", "namespace": namespace},
            });
            secret["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "name": name, "uid": uid, "controller": false, "blockOwnerDeletion": false,
            }]);
            applier.apply(&secret, How::ServerSideApply).await?;
            uids.push(uid);
        }
        let api = Api::<Secret>::namespaced(case.client.clone(), &namespace);
        let mut owners: Vec<String> = api
            .get("shared")
            .await?
            .owner_references()
            .iter()
            .map(|owner| owner.uid.clone())
            .collect();
        owners.sort();
        uids.sort();
        assert_eq!(owners, uids);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_binding_to_another_role_is_made_anew() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let binding = |role: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": "b", "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": namespace}],
            })
        };
        let first = applier.apply(&binding("one"), How::ServerSideApply).await?;
        let same = applier.apply(&binding("one"), How::ServerSideApply).await?;
        assert_eq!(same.uid, first.uid);
        let other = applier.apply(&binding("two"), How::ServerSideApply).await?;
        assert_ne!(other.uid, first.uid);
        let api = Api::<RoleBinding>::namespaced(case.client.clone(), &namespace);
        assert_eq!(api.get("b").await?.role_ref.name, "two");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_service_account_without_rights_is_told_which_ones_to_get() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone()).acting_as(&namespace, "installer");
        let wanted = config_map(&namespace, &json!({"a": "1"}));
        let error = refused(&applier, &wanted).await?;
        let user = format!("system:serviceaccount:{namespace}:installer");
        ensure!(
            matches!(error, Error::Forbidden { .. }) && !error.is_permanent(),
            "{error}"
        );
        let said = error.to_string();
        ensure!(said.contains(&user), "{said}");
        ensure!(
            said.contains(&format!(
                "grant ServiceAccount {namespace}/installer the verb patch on configmaps"
            )),
            "{said}"
        );

        // What OLM got along with is not enough, and the message says what is missing.
        grant(case, &namespace, &["get", "create", "update"]).await?;
        let said = refused(&applier, &wanted).await?.to_string();
        ensure!(
            said.contains("cannot patch resource \"configmaps\""),
            "{said}"
        );
        ensure!(said.contains("which needs create and patch"), "{said}");
        // What is only created needs no more than that.
        applier
            .apply(&config_map(&namespace, &json!({})), How::CreateOnly)
            .await?;

        grant(case, &namespace, &["create", "patch"]).await?;
        let outcome = applier.apply(&wanted, How::ServerSideApply).await?;
        assert_eq!(outcome.status, StepStatus::Present);
        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        assert_eq!(
            api.get("settings").await?.data.context("no data")?["a"],
            "1"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_service_account_cannot_grant_what_it_does_not_have() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let own = Applier::new(case.client.clone());
        // Bound by its group, which the API server has to add by itself.
        own.apply(
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": "writer", "namespace": namespace},
                "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create", "patch"]}],
            }),
            How::ServerSideApply,
        )
        .await?;
        own.apply(
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": "writer", "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writer"},
                "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": format!("system:serviceaccounts:{namespace}")}],
            }),
            How::ServerSideApply,
        )
        .await?;
        may(case, &namespace, "patch", "roles").await?;
        let applier = own.acting_as(&namespace, "installer");
        let role = |name: &str, resource: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": name, "namespace": namespace},
                "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": [resource], "verbs": ["create"]}],
            })
        };
        applier.apply(&role("same", "roles"), How::ServerSideApply).await?;
        let error = refused(&applier, &role("more", "rolebindings")).await?;
        let said = error.to_string();
        ensure!(said.contains("attempting to grant RBAC permissions not currently held"), "{said}");
        ensure!(said.contains(&format!("give ServiceAccount {namespace}/installer the permissions")), "{said}");
        let api = Api::<Role>::namespaced(case.client.clone(), &namespace);
        ensure!(api.get_opt("more").await?.is_none());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn refusals_are_told_apart() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let removed = json!({
            "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "gone", "namespace": namespace},
        });
        let error = refused(&applier, &removed).await?;
        ensure!(matches!(error, Error::NoSuchKind { .. }), "{error}");
        ensure!(
            error.to_string().contains(
                "GroupVersionKind policy/v1beta1, Kind=PodDisruptionBudget not found on the cluster"
            ),
            "{error}"
        );
        let error = refused(&applier, &config_map("no-such-namespace", &json!({}))).await?;
        ensure!(matches!(error, Error::NoNamespace { .. }), "{error}");
        let error = refused(
            &applier,
            &config_map(&namespace, &json!({"no good key!": "1"})),
        )
        .await?;
        ensure!(
            matches!(error, Error::Invalid { .. }) && error.is_permanent(),
            "{error}"
        );
        let error = refused(&applier, &config_map(&namespace, &json!({"number": 1}))).await?;
        ensure!(matches!(error, Error::Invalid { .. }), "{error}");

        applier
            .apply(
                &json!({
                    "apiVersion": "v1", "kind": "ResourceQuota",
                    "metadata": {"name": "tight", "namespace": namespace},
                    "spec": {"hard": {"count/secrets": "0"}},
                }),
                How::ServerSideApply,
            )
            .await?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace},
        });
        let api = Api::<k8s_openapi::api::core::v1::ResourceQuota>::namespaced(
            case.client.clone(),
            &namespace,
        );
        case.wait(
            &api,
            "tight",
            "counted",
            |quota: Option<&k8s_openapi::api::core::v1::ResourceQuota>| {
                quota
                    .and_then(|quota| quota.status.as_ref())
                    .is_some_and(|status| status.used.is_some())
            },
        )
        .await?;
        let error = refused(&applier, &secret).await?;
        ensure!(
            matches!(error, Error::Quota { .. }) && !error.is_permanent(),
            "{error}"
        );
        Ok(())
    })
    .await;
}

fn config_map(namespace: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace, "creationTimestamp": null},
        "data": data,
    })
}

async fn refused(applier: &Applier, object: &Value) -> anyhow::Result<Error> {
    match applier.apply(object, How::ServerSideApply).await {
        Ok(outcome) => anyhow::bail!("taken: {outcome:?}"),
        Err(error) => Ok(error),
    }
}

/// Gives the ServiceAccount `installer` these rights on ConfigMaps, and waits until they hold.
async fn grant(case: &Case, namespace: &str, verbs: &[&str]) -> anyhow::Result<()> {
    let own = Applier::new(case.client.clone());
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "installer", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "installer", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "installer"},
        "subjects": [{"kind": "ServiceAccount", "name": "installer", "namespace": namespace}],
    });
    own.apply(&role, How::ServerSideApply).await?;
    own.apply(&binding, How::ServerSideApply).await?;
    let last = verbs.last().context("no verbs")?;
    may(case, namespace, last, "configmaps").await
}

/// Waits until the ServiceAccount `installer` may do that: the API server learns of roles a little later.
async fn may(case: &Case, namespace: &str, verb: &str, resource: &str) -> anyhow::Result<()> {
    let user = format!("--as=system:serviceaccount:{namespace}:installer");
    let question = ["auth", "can-i", verb, resource, "-n", namespace, &user];
    case.eventually("allowed", async || {
        Ok(case.cluster.kubectl(&question).await.is_ok())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_that_bring_the_same_object_at_once_leave_all_their_marks_on_it() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let namespaces = Api::<Namespace>::all(case.client.clone());
        let owner = namespaces.get(&namespace).await?.owner_ref(&());
        let applier = Applier::new(case.client.clone());
        // Another process: a replica that has just lost its Lease.
        let other = Applier::new(case.client.clone());
        for round in 0..4 {
            let name = format!("{namespace}-{round}");
            let marked = |at: usize| {
                json!({
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000,
                    "metadata": {
                        "name": name, "ownerReferences": [owner],
                        "labels": {
                            "olm.managed": "true", format!("operators.coreos.com/p{at}.{namespace}"): "",
                        },
                    },
                })
            };
            let writes = (0..4).map(|at| {
                let (applier, wanted) = (applier.clone(), marked(at));
                async move { applier.apply(&wanted, How::ServerSideApply).await }
            });
            futures::future::try_join_all(writes).await?;
            let (one, two) = (marked(4), marked(5));
            tokio::try_join!(
                applier.apply(&one, How::ServerSideApply),
                other.apply(&two, How::ServerSideApply)
            )?;
            let live = Api::<PriorityClass>::all(case.client.clone())
                .get(&name)
                .await?;
            let marks = live.labels().keys();
            let marks = marks.filter(|it| it.starts_with("operators.coreos.com/"));
            ensure!(marks.count() == 6, "{:?}", live.labels());
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_was_there_before_is_marked_and_owned_by_nobody_and_what_olm_brought_is_taken_over() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let applier = Applier::new(case.client.clone());
        let api = Api::<ConfigMap>::namespaced(case.client.clone(), &namespace);
        let namespaces = Api::<Namespace>::all(case.client.clone());
        let owner = namespaces.get(&namespace).await?.owner_ref(&());
        for (labels, is_found) in [(json!({}), true), (json!({"olm.managed": "true"}), false)] {
            let mut map = config_map(&namespace, &json!({"theirs": "1"}));
            map["metadata"]["labels"] = labels;
            let theirs: ConfigMap = serde_json::from_value(map)?;
            api.create(&PostParams::default(), &theirs).await?;
            let mut wanted = config_map(&namespace, &json!({"ours": "1"}));
            wanted["metadata"]["labels"] = json!({"olm.managed": "true"});
            wanted["metadata"]["ownerReferences"] = json!([owner]);
            // The mark is kept by whoever comes later.
            for _ in 0..2 {
                applier.apply(&wanted, How::ServerSideApply).await?;
            }
            let live = api.get("settings").await?;
            let mark = live.annotations().get("chandler.found");
            ensure!(mark.is_some() == is_found, "{live:?}");
            ensure!(live.owner_references().is_empty() == is_found, "{live:?}");
            api.delete("settings", &DeleteParams::default()).await?;
        }
        Ok(())
    })
    .await;
}
