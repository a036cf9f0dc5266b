mod advice;
mod authorizer;
mod permissions;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::api::conditions::CsvPhase;
use crate::api::gvk::GroupVersionKind;
use crate::lifecycle::replacement::Lineage;
use rstest::rstest;
use serde_json::{Value, json};

fn csv(spec: &Value) -> ClusterServiceVersion {
    let mut spec = spec.clone();
    let install = json!({"strategy": "deployment", "spec": {"deployments": [{"name": "dep"}]}});
    spec.as_object_mut()
        .unwrap()
        .entry("install")
        .or_insert(install);
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "csv", "namespace": "ns", "uid": "csv-uid"},
        "spec": spec,
    }))
    .unwrap()
}

fn crd(served: &[&str]) -> CrdFact {
    CrdFact {
        uid: "crd-uid".to_owned(),
        served: served.iter().map(|&version| version.to_owned()).collect(),
        available: true,
        alongside: BTreeSet::new(),
    }
}

fn only(requirements: &Requirements) -> (&RequirementStatus, bool) {
    assert_eq!(requirements.statuses.len(), 1);
    (&requirements.statuses[0], requirements.met)
}

#[rstest]
#[case::is_met(
    "1.25.0",
    Some("v1.33.2-eks-1"),
    "CSV minKubeVersion (1.25.0) less than server version (v1.33.2-eks-1)"
)]
#[case::is_just_met(
    "v1.33.2",
    Some("v1.33.2"),
    "CSV minKubeVersion (v1.33.2) less than server version (v1.33.2)"
)]
#[case::is_unmet(
    "999.999.999",
    Some("v1.33.2"),
    "!CSV version requirement not met: minKubeVersion (999.999.999) > server version (1.33.2)"
)]
#[case::is_invalid("a.b.c", Some("v1.33.2"), "!CSV version parsing error")]
#[case::server_is_silent("1.25.0", None, "!Server version discovery error")]
#[case::server_is_strange("1.25.0", Some("latest"), "!Server version parsing error")]
fn kubernetes_has_to_be_new_enough(
    #[case] wanted: &str,
    #[case] server: Option<&str>,
    #[case] words: &str,
) {
    let facts = Facts {
        server_version: server.map(ToOwned::to_owned),
        ..Facts::default()
    };
    let requirements = check(&csv(&json!({"minKubeVersion": wanted})), &facts).unwrap();
    let (status, met) = only(&requirements);
    assert_eq!(status.message, words.trim_start_matches('!'));
    assert_eq!(
        (status.kind.as_str(), status.name.as_str()),
        ("ClusterServiceVersion", "csv")
    );
    assert_eq!(met, !words.starts_with('!'));
    let state = if met {
        RequirementState::Present
    } else {
        RequirementState::PresentNotSatisfied
    };
    assert_eq!(status.status, state);
}

#[test]
fn an_operator_that_asks_for_nothing_has_all_it_needs() {
    let requirements = check(&csv(&json!({})), &Facts::default()).unwrap();
    assert_eq!(
        requirements,
        Requirements {
            met: true,
            ..Requirements::default()
        }
    );
}

#[rstest]
#[case::present(Some(crd(&["v1"])), RequirementState::Present, "CRD is present and Established condition is true")]
#[case::missing(None, RequirementState::NotPresent, "CRD is not present")]
#[case::not_served(Some(crd(&["v2"])), RequirementState::NotPresent, "CRD version not served")]
#[case::not_established(Some(CrdFact { available: false, ..crd(&["v1"]) }), RequirementState::PresentNotAvailable,
    "CRD is present but the Established condition is False (not available)")]
fn a_crd_has_to_be_there_served_and_established(
    #[case] fact: Option<CrdFact>,
    #[case] state: RequirementState,
    #[case] message: &str,
) {
    let owned = json!({"owned": [{"name": "a.g", "version": "v1", "kind": "A"}]});
    let crds = fact
        .map(|fact| ("a.g".to_owned(), fact))
        .into_iter()
        .collect();
    let facts = Facts {
        crds,
        ..Facts::default()
    };
    let csv = csv(&json!({"customresourcedefinitions": owned}));
    let requirements = check(&csv, &facts).unwrap();
    let (status, met) = only(&requirements);
    assert_eq!((&status.status, status.message.as_str()), (&state, message));
    assert_eq!(met, state == RequirementState::Present);
    assert_eq!(status.uuid, if met { "crd-uid" } else { "" });
}

#[test]
fn of_several_versions_of_a_crd_the_last_owned_one_counts() {
    let crds = json!({
        "required": [{"name": "a.g", "version": "v9"}],
        "owned": [{"name": "a.g", "version": "v1alpha1"}, {"name": "a.g", "version": "v1"}],
    });
    let facts = Facts {
        crds: BTreeMap::from([("a.g".to_owned(), crd(&["v1"]))]),
        ..Facts::default()
    };
    let csv = csv(&json!({"customresourcedefinitions": crds}));
    assert!(only(&check(&csv, &facts).unwrap()).1);
}

fn sibling(name: &str, replaces: &str, reason: &str) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replaces": replaces},
        "status": {"reason": reason},
    }))
    .unwrap()
}

#[rstest]
#[case::of_another_namespace(&[("far", "b")], "b", &[("b", "", "")], "")]
#[case::with_this_one(&[("ns", "csv"), ("ns", "b")], "b", &[("b", "", "")], "")]
#[case::with_a_copy(&[("ns", "b")], "b", &[("b", "", "Copied")], "")]
#[case::with_a_stranger(&[("ns", "b")], "", &[("b", "", "")], "")]
#[case::with_ancestors(&[("ns", "b"), ("ns", "c")], "b", &[("b", "c", ""), ("c", "", "")], "b, c")]
#[case::with_descendants(&[("ns", "b"), ("ns", "c")], "", &[("b", "csv", ""), ("c", "b", "")], "")]
#[case::with_the_oldest_of_a_circle(&[("ns", "b"), ("ns", "c")], "b", &[("b", "c", ""), ("c", "csv", "")], "b")]
#[case::with_one_that_came_later(&[("ns", "later")], "later", &[("later", "csv", "")], "")]
#[case::with_one_that_is_gone(&[("ns", "b")], "b", &[], "")]
fn an_owned_crd_that_was_only_installed_with_ancestors_is_not_yet_its_own(
    #[case] alongside: &[(&str, &str)],
    #[case] replaces: &str,
    #[case] siblings: &[(&str, &str, &str)],
    #[case] others: &str,
) {
    let csv = csv(&json!({
        "replaces": replaces,
        "customresourcedefinitions": {"owned": [{"name": "a.g", "version": "v1"}]},
    }));
    let siblings: Vec<_> = siblings.iter().map(|(a, b, c)| sibling(a, b, c)).collect();
    let alongside = alongside
        .iter()
        .map(|&(a, b)| (a.to_owned(), b.to_owned()))
        .collect();
    let fact = CrdFact {
        alongside,
        ..crd(&["v1"])
    };
    let facts = Facts {
        crds: BTreeMap::from([("a.g".to_owned(), fact)]),
        lineage: Lineage::new(siblings.iter().chain([&csv])),
        ..Facts::default()
    };
    let requirements = check(&csv, &facts).unwrap();
    let (status, met) = only(&requirements);
    assert_eq!(met, others.is_empty(), "{}", status.message);
    if !met {
        let message = format!("CRD installed alongside other CSV(s): {others}");
        assert_eq!(status.message, message);
        assert_eq!(status.status, RequirementState::PresentNotSatisfied);
    }
}

#[test]
fn apis_are_listed_by_kind_and_name() {
    let api = |group: &str| json!({"group": group, "version": "v1", "kind": "K", "deploymentName": "dep"});
    let csv = csv(&json!({
        "apiservicedefinitions": {
            "required": [api("z"), api("b"), api("shared")],
            "owned": [api("shared"), {"group": "x", "version": "v1", "deploymentName": "none"}],
        },
        "nativeAPIs": [{"group": "n", "version": "v1", "kind": "N"}, {"group": "m", "version": "v1", "kind": "M"}],
    }));
    let available = ApiServiceFact {
        uid: "uid".to_owned(),
        available: true,
        owner: None,
    };
    let facts = Facts {
        api_services: BTreeMap::from([
            ("v1.b".to_owned(), available.clone()),
            ("v1.z".to_owned(), available),
        ]),
        served: [
            GroupVersionKind::new("b", "v1", "K"),
            GroupVersionKind::new("n", "v1", "N"),
        ]
        .into(),
        ..Facts::default()
    };
    let requirements = check(&csv, &facts).unwrap();
    let told: Vec<_> = requirements
        .statuses
        .iter()
        .map(|status| {
            format!(
                "{} {} {}{}",
                status.kind, status.name, status.status, status.uuid
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "APIService v1.b Presentuid",
            "APIService v1.z NotPresent",
            "APIService v1.shared DeploymentFound",
            "APIService v1.x DeploymentNotFound",
            "N v1.n Present",
            "M v1.m NotPresent",
        ]
    );
    assert!(!requirements.met && !requirements.only_rules_unmet);
    assert_eq!(
        requirements.missing,
        "APIService v1.z: NotPresent (whoever serves z/v1 does not have kind K: install a version of it \
         that does); APIService v1.x: DeploymentNotFound (its deploymentName is \"none\", and no deployment \
         in spec.install.spec of the ClusterServiceVersion is called like that: correct one of them); \
         M v1.m: Native API does not exist (the API server has no kind M in m/v1: install what brings it, \
         or use a cluster that has it)"
    );
}

#[test]
fn only_one_strategy_is_known() {
    let csv = csv(&json!({"install": {"strategy": "helm"}}));
    let error = check(&csv, &Facts::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("unrecognized install strategy: "),
        "{error}"
    );
}

#[test]
fn what_matters_of_a_crd_is_read_from_it() {
    let crd = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "a.g",
            "uid": "crd-uid",
            "annotations": {"operatorframework.io/installed-alongside-1f": "ns/csv", "other": "x/y"},
        },
        "spec": {
            "group": "g", "scope": "Namespaced", "names": {"plural": "a", "kind": "A"},
            "versions": [
                {"name": "v1", "served": true, "storage": true},
                {"name": "v1beta1", "served": false, "storage": false},
            ],
        },
        "status": {"conditions": [
            {"type": "Established", "status": "True"},
            {"type": "NamesAccepted", "status": "True"},
        ]},
    }))
    .unwrap();
    let alongside = BTreeSet::from([("ns".to_owned(), "csv".to_owned())]);
    assert_eq!(
        CrdFact::of(&crd),
        CrdFact {
            alongside,
            ..super::tests::crd(&["v1"])
        }
    );
}

#[rstest]
#[case::of_a_csv("ClusterServiceVersion", Some(CsvPhase::Succeeded))]
#[case::of_something_else("Helm", None)]
fn what_matters_of_an_api_service_is_read_from_it(
    #[case] kind: &str,
    #[case] phase: Option<CsvPhase>,
) {
    let api_service = serde_json::from_value(json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.g", "uid": "uid", "labels": {
            "olm.owner": "csv", "olm.owner.namespace": "ns", "olm.owner.kind": kind,
        }},
        "status": {"conditions": [{"type": "Available", "status": "True"}]},
    }))
    .unwrap();
    let fact = ApiServiceFact::of(&api_service, |namespace, name| {
        assert_eq!((namespace, name), ("ns", "csv"));
        Some(CsvPhase::Succeeded)
    });
    assert!(fact.available);
    assert_eq!(fact.owner.map(|owner| owner.phase), phase.map(Some));
}
