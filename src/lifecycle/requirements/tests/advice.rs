//! What is told to do about requirements that are not met.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};

use super::{check, crd, csv, sibling};
use crate::lifecycle::replacement::Lineage;
use crate::lifecycle::requirements::{ApiServiceFact, CrdFact, Facts};

/// What is missing of an operator, and what to do about it.
fn missing(spec: &Value, facts: &Facts<'_>) -> String {
    let requirements = check(&csv(spec), facts).unwrap();
    assert!(!requirements.met);
    requirements.missing
}

fn with_crd(fact: CrdFact) -> Facts<'static> {
    Facts {
        crds: BTreeMap::from([("a.g".to_owned(), fact)]),
        ..Facts::default()
    }
}

#[rstest]
#[case::is_too_old(
    "999.0.0",
    Some("v1.33.2"),
    "CSV version requirement not met: minKubeVersion (999.0.0) > server \
    version (1.33.2) (upgrade the cluster, or install a version of the operator that works with Kubernetes 1.33.2)"
)]
#[case::is_not_told(
    "1.0.0",
    None,
    "Server version discovery error (the API server does not tell its version; it is \
    asked again)"
)]
#[case::is_strange(
    "1.0.0",
    Some("latest"),
    "Server version parsing error (the API server calls itself \"latest\": \
    remove spec.minKubeVersion from the ClusterServiceVersion if the operator works with it)"
)]
#[case::is_misspelt(
    "a.b",
    Some("v1.33.2"),
    "CSV version parsing error (spec.minKubeVersion of the \
    ClusterServiceVersion is \"a.b\": write it like 1.25.0)"
)]
fn a_kubernetes_that_does_not_fit_comes_with_what_would(
    #[case] wanted: &str,
    #[case] server: Option<&str>,
    #[case] words: &str,
) {
    let facts = Facts {
        server_version: server.map(ToOwned::to_owned),
        ..Facts::default()
    };
    let told = missing(&json!({"minKubeVersion": wanted}), &facts);
    assert_eq!(told, format!("ClusterServiceVersion csv: {words}"));
}

#[rstest]
#[case::required_and_missing(
    "required",
    Facts::default(),
    "CRD is not present (install an operator that owns it in \
    version v1, or create it)"
)]
#[case::owned_and_missing(
    "owned",
    Facts::default(),
    "CRD is not present (it is the operator's own: create it from \
    the operator's bundle, or delete ClusterServiceVersion ns/csv, if a Subscription asks for that, to have all \
    installed anew)"
)]
#[case::required_in_another_version("required", with_crd(crd(&["v2", "v3"])), "CRD version not served (version v1 is \
    wanted, and v2, v3 is served: install a version of the operator that owns the CRD which serves v1)")]
#[case::owned_in_another_version("owned", with_crd(crd(&["v2"])), "CRD version not served (version v1 is wanted, and \
    v2 is served: correct spec.customresourcedefinitions.owned of the ClusterServiceVersion, or apply a CRD that \
    serves v1)")]
#[case::in_no_version("required", with_crd(crd(&[])), "CRD version not served (version v1 is wanted, and none \
    is served: install a version of the operator that owns the CRD which serves v1)")]
#[case::not_established("required", with_crd(CrdFact { available: false, ..crd(&["v1"]) }), "CRD is present but the \
    Established condition is False (not available) (`kubectl describe crd a.g` tells why)")]
fn a_crd_that_is_missing_comes_with_who_could_bring_it(
    #[case] list: &str,
    #[case] facts: Facts<'_>,
    #[case] words: &str,
) {
    let spec = json!({"customresourcedefinitions": {list: [{"name": "a.g", "version": "v1"}]}});
    let told = missing(&spec, &facts);
    assert_eq!(told, format!("CustomResourceDefinition a.g: {words}"));
}

#[test]
fn a_crd_of_the_version_before_comes_with_what_makes_it_this_ones() {
    let csv = csv(&json!({
        "replaces": "b",
        "customresourcedefinitions": {"owned": [{"name": "a.g", "version": "v1"}]},
    }));
    let older = sibling("b", "", "");
    let mut fact = crd(&["v1"]);
    fact.alongside.insert(("ns".to_owned(), "b".to_owned()));
    let facts = Facts {
        lineage: Lineage::new([&older, &csv]),
        ..with_crd(fact)
    };
    let told = check(&csv, &facts).unwrap().missing;
    let key = crate::api::labels::installed_alongside("ns", "csv");
    assert_eq!(
        told,
        format!(
            "CustomResourceDefinition a.g: CRD installed alongside other CSV(s): b (the CRD of this version \
             is yet to come: its InstallPlan brings it; who does without creates it with the annotation \
             {key}: ns/csv)"
        )
    );
}

#[rstest]
#[case::nobody_has(None, "install an operator that owns the API g/v1, kind K")]
#[case::does_not_answer(
    Some(false),
    "nobody answers for it: `kubectl describe apiservice v1.g` tells why"
)]
#[case::lacks_the_kind(
    Some(true),
    "whoever serves g/v1 does not have kind K: install a version of it that does"
)]
fn an_api_that_is_needed_comes_with_what_is_wrong_with_it(
    #[case] available: Option<bool>,
    #[case] advice: &str,
) {
    let fact = available.map(|available| ApiServiceFact {
        available,
        ..ApiServiceFact::default()
    });
    let facts = Facts {
        api_services: fact
            .map(|fact| ("v1.g".to_owned(), fact))
            .into_iter()
            .collect(),
        ..Facts::default()
    };
    let spec = json!({"apiservicedefinitions": {"required": [{"group": "g", "version": "v1", "kind": "K"}]}});
    let told = missing(&spec, &facts);
    assert_eq!(told, format!("APIService v1.g: NotPresent ({advice})"));
}

#[test]
fn the_words_of_the_status_stay_olms() {
    let spec =
        json!({"customresourcedefinitions": {"required": [{"name": "a.g", "version": "v1"}]}});
    let requirements = check(&csv(&spec), &Facts::default()).unwrap();
    assert_eq!(requirements.statuses[0].message, "CRD is not present");
}
