//! Whoever else has to do with a CRD.

use kube::ResourceExt as _;

use super::definitions::is_done;
use super::fates::Fates;
use super::{Crd, CustomResource, Estate, Reference, csv_names, owns};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::lifecycle::targets::Targets;

/// Whoever else has to do with a CRD.
pub(super) enum User<'a> {
    Owns(&'a ClusterServiceVersion),
    Needs(&'a ClusterServiceVersion),
    /// A Subscription or an InstallPlan that is about to install something that brings it.
    Awaits(String),
}

impl User<'_> {
    pub(super) fn words(&self) -> String {
        match self {
            Self::Owns(csv) => format!("{} owns it as well", Reference::csv(csv)),
            Self::Needs(csv) => format!("{} needs it", Reference::csv(csv)),
            Self::Awaits(installer) => format!("{installer} installs it as well"),
        }
    }

    /// Whether it is there for an object, or may be.
    pub(super) fn serves(&self, object: &CustomResource) -> bool {
        match self {
            Self::Owns(csv) => serves(csv, object),
            Self::Needs(_) | Self::Awaits(_) => true,
        }
    }

    /// Whether it works off the finalizers of an object.
    pub(super) fn works_off(&self, object: &CustomResource) -> bool {
        matches!(self, Self::Owns(csv) if serves(csv, object))
    }
}

/// Whether an operator that owns a CRD looks after an object of it, or may.
pub(super) fn serves(csv: &ClusterServiceVersion, object: &CustomResource) -> bool {
    let targets = csv.annotations().get(labels::TARGET_NAMESPACES);
    targets.is_none_or(|targets| {
        let names: Vec<String> = targets.split(',').map(str::to_owned).collect();
        object.namespace.is_empty() || Targets::from_status(&names).contains(&object.namespace)
    })
}

/// All who stay and have to do with a CRD, its owners first.
pub(super) fn users<'a>(estate: &Estate<'a>, fates: &Fates<'a>, crd: &Crd) -> Vec<User<'a>> {
    let owners = fates.staying().filter(|csv| owns(csv, &crd.name));
    let dependents = fates.staying().filter(|csv| needs(csv, crd));
    let mut users: Vec<User<'_>> = owners.map(User::Owns).collect();
    users.extend(dependents.map(User::Needs));
    users.extend(waiting(estate, fates, crd).map(User::Awaits));
    users
}

fn needs(csv: &ClusterServiceVersion, crd: &Crd) -> bool {
    let required = &csv.spec.custom_resource_definitions.required;
    required.iter().any(|it| it.name == crd.name)
}

pub(super) fn has(csv: &ClusterServiceVersion, crd: &Crd) -> bool {
    owns(csv, &crd.name) || needs(csv, crd)
}

/// What is about to install something that brings a CRD: a Subscription, or a plan of another namespace that
/// is not done.
fn waiting(estate: &Estate<'_>, fates: &Fates<'_>, crd: &Crd) -> Option<String> {
    let facts = estate.facts;
    let going = |key: &str| {
        let mut going = fates.going();
        going.any(|csv| {
            let (namespace, name) = (csv.namespace().unwrap_or_default(), csv.name_any());
            key == format!("{namespace}/{name}")
        })
    };
    let brings = |namespace: &str, csvs: &[&str]| {
        let mut keys = csvs.iter().map(|name| format!("{namespace}/{name}"));
        keys.any(|key| {
            crd.alongside().any(|(_, csv)| csv == key)
                && !facts.leaving.contains(&key)
                && !going(&key)
        })
    };
    let own = Reference::subscription(&facts.subscription);
    let mut subscriptions = facts.subscriptions.iter();
    let subscription = subscriptions.find(|it| {
        it.metadata.deletion_timestamp.is_none()
            && Reference::subscription(it) != own
            && brings(&it.namespace().unwrap_or_default(), &csv_names(it))
    });
    if let Some(it) = subscription {
        return Some(Reference::subscription(it).to_string());
    }
    let mut plans = facts.plans_elsewhere.iter();
    let plan = plans.find(|it| {
        let names = it.spec.cluster_service_version_names.iter();
        let names: Vec<&str> = names.map(String::as_str).collect();
        !is_done(it) && brings(&it.namespace().unwrap_or_default(), &names)
    })?;
    let namespace = plan.namespace().unwrap_or_default();
    let reference = Reference::olm("v1alpha1", "InstallPlan", &namespace, &plan.name_any());
    Some(reference.to_string())
}
