//! The custom resources that an operator owns and needs.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use super::facts::{CrdFact, Facts};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::lifecycle::replacement::Lineage;

/// Each CRD once, by name. Of several versions the last owned one counts: it is the one that OLM
/// looks at, and operators list versions that are no longer served before those that are.
pub(super) fn statuses(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<RequirementStatus> {
    let crds = &csv.spec.custom_resource_definitions;
    let required = crds.required.iter().map(|crd| (crd, false));
    let owned = crds.owned.iter().map(|crd| (crd, true));
    let wanted: BTreeMap<&str, _> = required
        .chain(owned)
        .map(|(crd, is_owned)| (crd.name.as_str(), (crd.version.as_str(), is_owned)))
        .collect();
    let status = |(name, (version, is_owned)): (&str, (&str, bool))| {
        let fact = facts.crds.get(name);
        let (status, message) = judge(csv, &facts.lineage, fact, version, is_owned);
        let uuid = fact.filter(|_| status == RequirementState::Present);
        RequirementStatus {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            name: name.to_owned(),
            uuid: uuid.map(|fact| fact.uid.clone()).unwrap_or_default(),
            status,
            message,
            dependents: Vec::new(),
        }
    };
    wanted.into_iter().map(status).collect()
}

fn judge(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    fact: Option<&CrdFact>,
    version: &str,
    is_owned: bool,
) -> (RequirementState, String) {
    let told = |state, message: &str| (state, message.to_owned());
    let Some(fact) = fact else {
        return told(RequirementState::NotPresent, "CRD is not present");
    };
    let others = ancestors_alongside(csv, lineage, fact);
    if is_owned && !others.is_empty() {
        let names: Vec<String> = others.into_iter().collect();
        let message = format!("CRD installed alongside other CSV(s): {}", names.join(", "));
        return (RequirementState::PresentNotSatisfied, message);
    }
    if !fact.served.contains(version) {
        return told(RequirementState::NotPresent, "CRD version not served");
    }
    if !fact.available {
        return told(
            RequirementState::PresentNotAvailable,
            "CRD is present but the Established condition is False (not available)",
        );
    }
    told(
        RequirementState::Present,
        "CRD is present and Established condition is true",
    )
}

/// Versions that this one replaces, and that the CRD is still made for: it is not known to be made
/// for this one, and so its own is yet to come.
fn ancestors_alongside(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    fact: &CrdFact,
) -> BTreeSet<String> {
    let namespace = csv.namespace().unwrap_or_default();
    let name = csv.name_any();
    let alongside: BTreeSet<&str> = fact
        .alongside
        .iter()
        .filter(|(home, _)| *home == namespace)
        .map(|(_, name)| name.as_str())
        .collect();
    if alongside.contains(name.as_str()) {
        return BTreeSet::new();
    }
    let older = lineage.predecessors(csv).into_iter();
    // OLM only walks on over those that the CRD was installed with.
    let older = older.map(kube::ResourceExt::name_any);
    older
        .take_while(|older| alongside.contains(older.as_str()))
        .collect()
}
