//! Whether an API that an operator is about to own belongs to another already.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use super::replacement::{self, Lineage};
use super::requirements::ApiServiceFact;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::labels;

/// An API that belongs to another; OLM's words, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerConflict {
    /// Another operator of the namespace owns a CRD.
    #[error(
        "conflicting CRD owner in namespace: CustomResourceDefinition {crd} belongs to \
         ClusterServiceVersion {owner}; remove that one, or install this one in another namespace"
    )]
    Crd {
        /// The CRD.
        crd: String,
        /// The ClusterServiceVersion that owns it.
        owner: String,
    },
    /// Another operator of the namespace has a Deployment of the same name.
    #[error(
        "conflicting Deployment owner in namespace: Deployment {deployment} belongs to \
         ClusterServiceVersion {owner}; remove that one, or install this one in another namespace"
    )]
    Deployment {
        /// The Deployment.
        deployment: String,
        /// The ClusterServiceVersion that has it.
        owner: String,
    },
    /// An APIService belongs to another operator, or to nobody we know.
    #[error(
        "unable to adopt APIService: {api_service} belongs to {owner}; remove that one, or delete \
         the APIService if nothing needs it"
    )]
    ApiService {
        /// The APIService.
        api_service: String,
        /// Who owns it.
        owner: String,
    },
}

/// The first API or Deployment that belongs to another. What an operator of the same chain of versions owns is
/// no conflict: it is taken over.
pub fn find(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    api_services: &BTreeMap<String, ApiServiceFact>,
) -> Option<OwnerConflict> {
    let chain = lineage.chain(csv);
    crd(csv, lineage, &chain)
        .or_else(|| api_service(csv, &chain, api_services))
        .or_else(|| deployment(csv, lineage, &chain))
}

/// The first Deployment that belongs to another, as [`find`] has it. Also asked of operators that run: two that got to
/// one by another way, as with OLM, would write it by turns.
pub fn find_deployment(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
) -> Option<OwnerConflict> {
    deployment(csv, lineage, &lineage.chain(csv))
}

/// Two operators of a namespace cannot both have a Deployment of one name: each would write it back for ever. One that
/// did not get to install it has none.
fn deployment(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    chain: &BTreeSet<String>,
) -> Option<OwnerConflict> {
    let mut ours = csv.spec.install.spec.deployments.iter();
    ours.find_map(|ours| {
        let has = |csv: &ClusterServiceVersion| {
            let mut deployments = csv.spec.install.spec.deployments.iter();
            deployments.any(|it| it.name == ours.name)
        };
        let owner = first(csv, lineage, chain, has).filter(|it| replacement::was_installed(it))?;
        Some(OwnerConflict::Deployment {
            deployment: ours.name.clone(),
            owner: owner.name_any(),
        })
    })
}

fn crd(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    chain: &BTreeSet<String>,
) -> Option<OwnerConflict> {
    let mut ours = csv.spec.custom_resource_definitions.owned.iter();
    ours.find_map(|ours| {
        let has = |csv: &ClusterServiceVersion| {
            let mut crds = csv.spec.custom_resource_definitions.owned.iter();
            crds.any(|it| it.name == ours.name)
        };
        let owner = first(csv, lineage, chain, has)?;
        Some(OwnerConflict::Crd {
            crd: ours.name.clone(),
            owner: owner.name_any(),
        })
    })
}

/// Who comes first of all operators that ask for something which only one of them can have, unless it is a version of this
/// one: who was installed, and of these who was there first. One that was refused takes nothing away from one that runs,
/// nor from its next version.
fn first<'a>(
    csv: &'a ClusterServiceVersion,
    lineage: &Lineage<'a>,
    chain: &BTreeSet<String>,
    has: impl Fn(&ClusterServiceVersion) -> bool,
) -> Option<&'a ClusterServiceVersion> {
    let members = lineage.members().iter().copied();
    let asking = members.chain([csv]).filter(|csv| has(csv));
    let first = asking.min_by_key(|csv| {
        let is_installed = replacement::was_installed(csv);
        (!is_installed, csv.creation_timestamp(), csv.name_any())
    });
    first.filter(|first| !chain.contains(&first.name_any()))
}

fn api_service(
    csv: &ClusterServiceVersion,
    chain: &BTreeSet<String>,
    api_services: &BTreeMap<String, ApiServiceFact>,
) -> Option<OwnerConflict> {
    let mut descriptions = csv.spec.api_service_definitions.owned.iter();
    descriptions.find_map(|description| {
        let name = description.api_service_name();
        let fact = api_services.get(&name)?;
        if is_adoptable(csv, chain, fact) {
            return None;
        }
        let owner = fact.owner.as_ref().map_or_else(
            || "no ClusterServiceVersion".to_owned(),
            |owner| format!("ClusterServiceVersion {}/{}", owner.namespace, owner.name),
        );
        Some(OwnerConflict::ApiService {
            api_service: name,
            owner,
        })
    })
}

/// Whether an APIService belongs to this operator, to another version of it, to one of the namespace that is being
/// replaced by whichever, or to one that is gone and left it behind.
///
/// One that is being replaced in another namespace keeps it: an upgrade may be held for weeks, in which the API is
/// served, and it is the newer version's afterwards.
fn is_adoptable(
    csv: &ClusterServiceVersion,
    chain: &BTreeSet<String>,
    fact: &ApiServiceFact,
) -> bool {
    let Some(owner) = &fact.owner else {
        return false;
    };
    let is_named = |name: &String| labels::owner_value(name) == owner.name;
    let is_neighbour = csv.namespace().as_deref() == Some(&owner.namespace);
    let is_ours = chain.iter().any(is_named) || is_named(&csv.spec.replaces);
    let leaves = match owner.phase {
        None | Some(CsvPhase::Deleting) => true,
        Some(CsvPhase::Replacing) => is_neighbour,
        Some(_) => false,
    };
    is_neighbour && is_ours || leaves
}

#[cfg(test)]
mod tests;
