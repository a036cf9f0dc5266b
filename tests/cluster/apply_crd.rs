//! CRDs that replace others on a real API server, with objects in the way.

use anyhow::{Context as _, ensure};
use chandler::api::conditions::StepStatus;
use chandler::api::gvk::GroupVersionKind;
use chandler::api::labels;
use chandler::plan::apply::{AppliedCrd, Applier, Conversion, Error, How};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::case::{Case, on_cluster};

#[tokio::test]
async fn a_new_crd_is_waited_for_until_it_is_established() {
    on_cluster(async |case| {
        let crd = Crd::new("established");
        let applier = Applier::new(case.client.clone());
        assert_eq!(applier.crd_is_established(&crd.name()).await?, None);
        let outcome = apply(&applier, &crd.of(&json!({}))).await?;
        assert_eq!(outcome.applied.status, StepStatus::Created);
        established(case, &crd).await?;
        assert_eq!(applier.crd_is_established(&crd.name()).await?, Some(true));
        let again = apply(&applier, &crd.of(&json!({}))).await?;
        assert_eq!(again.applied.status, StepStatus::Present);
        ensure!(again.is_established && again.doubts.is_empty(), "{again:?}");
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_crd_of_v1beta1_is_written_as_one_of_v1() {
    on_cluster(async |case| {
        let crd = Crd::new("beta");
        let applier = Applier::new(case.client.clone());
        let old = json!({
            "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
            "metadata": {"name": crd.name()},
            "spec": {
                "group": crd.group, "version": "v1", "scope": "Namespaced",
                "names": {"kind": "Ship", "plural": "ships"},
                "validation": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"size": {"type": "integer"}}}}}},
            },
        });
        apply(&applier, &old).await?;
        established(case, &crd).await?;
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_version_that_takes_the_place_of_another_and_drops_a_field_is_refused_with_its_objects() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("unserved");
        let applier = Applier::new(case.client.clone());
        let old = crd.of(&json!({"size": {"type": "integer"}, "mast": {"type": "string"}}));
        apply(&applier, &old).await?;
        established(case, &crd).await?;
        let (argo, ark) = (json!({"size": 50, "mast": "oak"}), json!({"size": 300}));
        for (name, spec) in [("argo", &argo), ("ark", &ark)] {
            crd.ship(&applier, &namespace, name, spec).await?;
        }
        let mut new = old.clone();
        let mut second =
            crd.of(&json!({"size": {"type": "integer"}}))["spec"]["versions"][0].clone();
        second["name"] = json!("v2");
        new["spec"]["versions"][0]["served"] = json!(false);
        new["spec"]["versions"][0]["storage"] = json!(false);
        new["spec"]["versions"]
            .as_array_mut()
            .context("a list")?
            .push(second);
        let error = apply(&applier, &new).await.err().context("taken")?;
        ensure!(matches!(error, Error::CrdUnsafe { .. }), "{error}");
        let said = error.to_string();
        ensure!(
            said.contains("spec.mast") && said.contains(&format!("{namespace}/argo")),
            "{said}"
        );
        ensure!(!said.contains("ark"), "{said}");
        crd.ship(&applier, &namespace, "argo", &ark).await?;
        apply(&applier, &new).await?;
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_schema_that_live_objects_break_is_refused_with_their_names_and_fields() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("unsafe");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({"size": {"type": "integer"}}))).await?;
        established(case, &crd).await?;
        for (name, size) in [("argo", 50), ("ark", 300)] {
            crd.ship(&applier, &namespace, name, &json!({"size": size})).await?;
        }
        let tighter = crd.of(&json!({"size": {"type": "integer", "maximum": 100}}));
        let error = apply(&applier, &tighter).await.err().context("taken")?;
        ensure!(matches!(error, Error::CrdUnsafe { .. }) && error.is_permanent(), "{error}");
        let said = error.to_string();
        let olm = format!(
            "error validating existing CRs against new CRD's schema for \"{}\": error validating {}/v1, Kind=Ship \"{namespace}/ark\": updated validation is too restrictive: spec.size ",
            crd.name(),
            crd.group
        );
        ensure!(said.starts_with(&olm), "{said}");
        ensure!(!said.contains("argo"), "{said}");
        let live = api(case).get(&crd.name()).await?;
        let live = serde_json::to_value(&live.spec.versions[0])?;
        ensure!(!live.to_string().contains("maximum"), "{live}");

        // As soon as nobody is harmed, it goes through.
        crd.ship(&applier, &namespace, "ark", &json!({"size": 99})).await?;
        let outcome = apply(&applier, &tighter).await?;
        assert_eq!(outcome.applied.status, StepStatus::Present);
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn an_object_that_breaks_the_schema_is_found_behind_hundreds_that_do_not() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("pages");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({"size": {"type": "integer"}}))).await?;
        established(case, &crd).await?;
        // More than one page of a list, and the one that matters comes last by name.
        let ships = (0..520)
            .map(|at| (format!("a-{at}"), 1))
            .chain([("z".to_owned(), 300)]);
        let (crd, applier, namespace) = (&crd, &applier, &namespace);
        let created = futures::stream::iter(ships).map(|(name, size)| async move {
            crd.ship(applier, namespace, &name, &json!({"size": size}))
                .await
        });
        created.buffer_unordered(16).try_collect::<()>().await?;
        let tighter = crd.of(&json!({"size": {"type": "integer", "maximum": 100}}));
        let error = apply(applier, &tighter).await.err().context("taken")?;
        ensure!(
            error.to_string().contains("one object would be invalid"),
            "{error}"
        );
        ensure!(
            error.to_string().contains(&format!("{namespace}/z")),
            "{error}"
        );
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_live_objects_break_is_refused_too() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("rule");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({"size": {"type": "integer"}}))).await?;
        established(case, &crd).await?;
        crd.ship(&applier, &namespace, "odd", &json!({"size": 3})).await?;
        let even = json!({"size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0", "message": "must be even"}]}});
        let said = apply(&applier, &crd.of(&even)).await.err().context("taken")?.to_string();
        ensure!(said.contains("/odd") && said.contains("spec.size") && said.contains("must be even"), "{said}");
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn with_a_conversion_webhook_broken_objects_are_a_doubt_only() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("converted");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({"size": {"type": "integer"}}))).await?;
        established(case, &crd).await?;
        crd.ship(&applier, &namespace, "ark", &json!({"size": 300}))
            .await?;
        let mut tighter = crd.of(&json!({"size": {"type": "integer", "maximum": 100}}));
        tighter["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "nobody", "namespace": namespace}},
        }});
        let outcome = apply(&applier, &tighter).await?;
        let doubts = outcome.doubts.join("\n");
        ensure!(
            doubts.contains("/ark") && doubts.contains("spec.size"),
            "{doubts}"
        );
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn with_a_conversion_webhook_of_the_csv_broken_objects_are_a_doubt_only() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("by-csv");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({"size": {"type": "integer"}}))).await?;
        established(case, &crd).await?;
        crd.ship(&applier, &namespace, "ark", &json!({"size": 300}))
            .await?;
        let tighter = crd.of(&json!({"size": {"type": "integer", "maximum": 100}}));
        ensure!(apply(&applier, &tighter).await.is_err());
        let outcome = applier.apply_crd(&tighter, Conversion::ByCsv).await?;
        let doubts = outcome.doubts.join("\n");
        ensure!(
            doubts.contains("/ark") && doubts.contains("spec.size"),
            "{doubts}"
        );
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_stored_version_cannot_be_removed() {
    on_cluster(async |case| {
        let crd = Crd::new("stored");
        let applier = Applier::new(case.client.clone());
        apply(&applier, &crd.of(&json!({}))).await?;
        established(case, &crd).await?;
        let mut other = crd.of(&json!({}));
        other["spec"]["versions"][0]["name"] = json!("v2");
        let error = apply(&applier, &other).await.err().context("taken")?;
        let olm = format!(
            "risk of data loss updating \"{}\": new CRD removes version v1 that is listed as a stored version on the existing CRD",
            crd.name()
        );
        ensure!(error.to_string().starts_with(&olm), "{error}");
        ensure!(error.to_string().contains("status.storedVersions"), "{error}");

        // With the old one still there it may go on.
        let mut both = other.clone();
        let mut old = crd.of(&json!({}))["spec"]["versions"][0].clone();
        old["storage"] = json!(false);
        both["spec"]["versions"].as_array_mut().context("no versions")?.push(old);
        apply(&applier, &both).await?;
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn the_csvs_that_a_crd_was_installed_with_stay_in_it_while_they_exist() {
    on_cluster(async |case| {
        let namespace = case.namespace().await?;
        let crd = Crd::new("alongside");
        let applier = Applier::new(case.client.clone());
        for name in ["a.v1", "b.v1"] {
            let csv = json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"displayName": "Ship", "install": {"strategy": "deployment"}},
            });
            applier.apply(&csv, How::CreateOnly).await?;
        }
        let with = |csv: &str| {
            let mut crd = crd.of(&json!({}));
            let annotation = labels::installed_alongside(&namespace, csv);
            crd["metadata"]["annotations"] = json!({annotation: format!("{namespace}/{csv}")});
            crd
        };
        for csv in ["a.v1", "never.v1", "b.v1"] {
            apply(&applier, &with(csv)).await?;
        }
        // What somebody else wrote stays in any case.
        let theirs = Patch::Merge(json!({"metadata": {"annotations": {"their": "note"}}}));
        api(case)
            .patch(&crd.name(), &PatchParams::default(), &theirs)
            .await?;
        apply(&applier, &with("b.v1")).await?;
        let live = api(case).get(&crd.name()).await?;
        let mut values: Vec<String> = live.annotations().values().cloned().collect();
        values.sort();
        let mut wanted = vec![
            format!("{namespace}/a.v1"),
            format!("{namespace}/b.v1"),
            "note".to_owned(),
        ];
        wanted.sort();
        assert_eq!(values, wanted);
        crd.delete(case).await
    })
    .await;
}

#[tokio::test]
async fn a_conversion_that_the_lifecycle_wrote_is_left_to_it() {
    on_cluster(async |case| {
        let crd = Crd::new("lifecycle");
        let applier = Applier::new(case.client.clone());
        let mut manifest = crd.of(&json!({}));
        manifest["spec"]["conversion"] = json!({"strategy": "None"});
        apply(&applier, &manifest).await?;
        established(case, &crd).await?;
        let conversion = Patch::Apply(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "converter", "namespace": "somewhere"}},
            }}},
        }));
        let lifecycle = PatchParams::apply("chandler-lifecycle").force();
        api(case)
            .patch(&crd.name(), &lifecycle, &conversion)
            .await?;
        apply(&applier, &manifest).await?;
        let live = api(case).get(&crd.name()).await?;
        assert_eq!(
            live.spec.conversion.context("no conversion")?.strategy,
            "Webhook"
        );
        crd.delete(case).await
    })
    .await;
}

async fn apply(applier: &Applier, crd: &Value) -> Result<AppliedCrd, Error> {
    applier.apply_crd(crd, Conversion::AsWritten).await
}

/// A CRD in a group of its own, so that tests do not meet.
struct Crd {
    group: String,
}

impl Crd {
    fn new(test: &str) -> Self {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        Self {
            group: format!("{test}-{}.apply.test", now.as_millis()),
        }
    }

    fn name(&self) -> String {
        format!("ships.{}", self.group)
    }

    fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, "v1", "Ship")
    }

    /// With one version, whose `spec` has these fields.
    fn of(&self, fields: &Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name(), "creationTimestamp": null},
            "spec": {
                "group": self.group, "scope": "Namespaced",
                "names": {"kind": "Ship", "plural": "ships", "singular": "ship", "listKind": "ShipList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": fields},
                    }}},
                }],
            },
            "status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []},
        })
    }

    async fn ship(
        &self,
        applier: &Applier,
        namespace: &str,
        name: &str,
        spec: &Value,
    ) -> anyhow::Result<()> {
        let ship = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Ship",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        });
        applier.apply(&ship, How::ServerSideApply).await?;
        Ok(())
    }

    async fn delete(&self, case: &Case) -> anyhow::Result<()> {
        api(case)
            .delete(&self.name(), &DeleteParams::default())
            .await?;
        Ok(())
    }
}

fn api(case: &Case) -> Api<CustomResourceDefinition> {
    Api::all(case.client.clone())
}

async fn established(case: &Case, crd: &Crd) -> anyhow::Result<()> {
    let condition = kube::runtime::conditions::is_crd_established();
    case.wait(&api(case), &crd.name(), "established", condition)
        .await?;
    // Discovery may hear of it a moment later.
    let applier = Applier::new(case.client.clone());
    let gvk = crd.gvk();
    case.eventually("served", async || Ok(applier.serves(&gvk).await?))
        .await
}
