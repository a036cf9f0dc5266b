//! The custom resources that an operator owns and needs.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use super::facts::{CrdFact, Facts};
use super::requirement::Requirement;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::RequirementStatus;
use crate::api::conditions::RequirementState;
use crate::api::labels;
use crate::lifecycle::replacement::Lineage;
use crate::lifecycle::text::few;

/// What is said of a CRD: its state, OLM's words for it, and what to do.
type Verdict = (RequirementState, String, String);

/// Each CRD once, by name. Of several versions the last owned one counts: it is the one that OLM
/// looks at, and operators list versions that are no longer served before those that are.
pub(super) fn requirements(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<Requirement> {
    let crds = &csv.spec.custom_resource_definitions;
    let required = crds.required.iter().map(|crd| (crd, false));
    let owned = crds.owned.iter().map(|crd| (crd, true));
    let wanted: BTreeMap<&str, _> = required
        .chain(owned)
        .map(|(crd, is_owned)| (crd.name.as_str(), (crd.version.as_str(), is_owned)))
        .collect();
    let requirement = |(name, (version, is_owned)): (&str, (&str, bool))| {
        let fact = facts.crds.get(name);
        let (status, message, advice) = match fact {
            None => missing(csv, version, is_owned),
            Some(fact) => judge(csv, &facts.lineage, name, fact, version, is_owned),
        };
        let uuid = fact.filter(|_| status == RequirementState::Present);
        let status = RequirementStatus {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            name: name.to_owned(),
            uuid: uuid.map(|fact| fact.uid.clone()).unwrap_or_default(),
            status,
            message,
            dependents: Vec::new(),
        };
        Requirement { status, advice }
    };
    wanted.into_iter().map(requirement).collect()
}

fn missing(csv: &ClusterServiceVersion, version: &str, is_owned: bool) -> Verdict {
    let advice = if is_owned {
        format!(
            "it is the operator's own: create it from the operator's bundle, or delete \
             ClusterServiceVersion {}/{}, if a Subscription asks for that, to have all installed anew",
            csv.namespace().unwrap_or_default(),
            csv.name_any()
        )
    } else {
        format!("install an operator that owns it in version {version}, or create it")
    };
    let message = "CRD is not present".to_owned();
    (RequirementState::NotPresent, message, advice)
}

fn judge(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    crd: &str,
    fact: &CrdFact,
    version: &str,
    is_owned: bool,
) -> Verdict {
    let others = ancestors_alongside(csv, lineage, fact);
    if is_owned && !others.is_empty() {
        let namespace = csv.namespace().unwrap_or_default();
        let name = csv.name_any();
        let advice = format!(
            "the CRD of this version is yet to come: its InstallPlan brings it; who does without creates \
             it with the annotation {}: {namespace}/{name}",
            labels::installed_alongside(&namespace, &name)
        );
        let names: Vec<String> = others.into_iter().collect();
        let message = format!("CRD installed alongside other CSV(s): {}", names.join(", "));
        return (RequirementState::PresentNotSatisfied, message, advice);
    }
    if !fact.served.contains(version) {
        let served = match few(&fact.served) {
            none if none.is_empty() => "none".to_owned(),
            some => some,
        };
        let who = if is_owned {
            "correct spec.customresourcedefinitions.owned of the ClusterServiceVersion, or apply a CRD that"
        } else {
            "install a version of the operator that owns the CRD which"
        };
        let advice =
            format!("version {version} is wanted, and {served} is served: {who} serves {version}");
        let message = "CRD version not served".to_owned();
        return (RequirementState::NotPresent, message, advice);
    }
    if !fact.available {
        let message = "CRD is present but the Established condition is False (not available)";
        let advice = format!("`kubectl describe crd {crd}` tells why");
        return (
            RequirementState::PresentNotAvailable,
            message.to_owned(),
            advice,
        );
    }
    let message = "CRD is present and Established condition is true";
    (RequirementState::Present, message.to_owned(), String::new())
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
