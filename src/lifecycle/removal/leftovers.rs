//! What is left of a package when its ClusterServiceVersions are gone.

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::{Blocker, CSV, Estate, Facts, Goes, Marked, Reference, Stays, Unlisted};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::subscription::NOT_READABLE;
use crate::api::labels;

/// What becomes of it.
#[derive(Default)]
pub(super) struct Leftovers {
    pub(super) goes: Vec<Goes>,
    pub(super) stays: Vec<Stays>,
    /// What stays with marks that are to go.
    pub(super) unmarked: Vec<Goes>,
    pub(super) blockers: Vec<Blocker>,
    /// Kinds that cannot be listed, and of which the package is not known to have anything.
    pub(super) unlisted: Vec<Unlisted>,
}

/// What carries the mark of the package goes, unless it is somebody else's as well.
pub(super) fn decide(estate: &Estate<'_>) -> Leftovers {
    let mut all = Leftovers::default();
    for marked in &estate.facts.marked {
        match why_not(estate, marked) {
            None => all.goes.push(goes(marked, "it belongs to the operator")),
            Some(why) => {
                all.stays.push(Stays {
                    object: marked.object.clone(),
                    why,
                });
                // What is on its way out takes its marks with it.
                if !marked.is_going {
                    all.unmarked
                        .push(goes(marked, "it stays without its operator"));
                }
            }
        }
    }
    for unlisted in &estate.facts.unlisted {
        if may_be_ours(estate, unlisted) {
            all.blockers.push(blocker(estate, unlisted));
        } else {
            all.unlisted.push(unlisted.clone());
        }
    }
    all
}

fn goes(marked: &Marked, why: &str) -> Goes {
    Goes {
        object: marked.object.clone(),
        why: why.to_owned(),
        is_going: marked.is_going,
        finalizers: marked.finalizers.clone(),
        uid: marked.uid.clone(),
        ..Goes::default()
    }
}

/// Whose it is as well, if it is.
fn why_not(estate: &Estate<'_>, marked: &Marked) -> Option<String> {
    if marked.is_found {
        return Some("it was there before the operator".to_owned());
    }
    let mut others = estate.others.iter();
    let owner = others.find(|csv| {
        csv.uid().is_some_and(|uid| marked.owners.contains(&uid)) || names(marked, csv)
    });
    if let Some(csv) = owner {
        return Some(format!("it is {}'s as well", Reference::csv(csv)));
    }
    let mark = other_mark(estate, marked)?;
    Some(format!("it carries the label {mark} as well"))
}

fn other_mark<'m>(estate: &Estate<'_>, marked: &'m Marked) -> Option<&'m String> {
    let mut keys = marked.labels.keys();
    keys.find(|key| **key != estate.mark && estate.has_other(key))
}

/// Whether labels name a ClusterServiceVersion as the owner of what cannot have an owner.
fn names(marked: &Marked, csv: &ClusterServiceVersion) -> bool {
    let label = |key: &str| marked.labels.get(key).map(String::as_str);
    label(labels::OWNER_KIND) == Some(CSV)
        && label(labels::OWNER) == Some(&labels::owner_value(&csv.name_any()))
        && label(labels::OWNER_NAMESPACE) == csv.namespace().as_deref()
}

/// Takes the mark of the package off an object that stays: a merge patch, if it has it. What cannot have an owner
/// and was of both is the other one's alone from then on, and goes with that.
pub fn disown(marked: &Marked, facts: &Facts) -> Option<Value> {
    let estate = Estate::of(facts);
    let mut changes = Map::new();
    changes.insert(
        marked
            .labels
            .contains_key(&estate.mark)
            .then(|| estate.mark.clone())?,
        Value::Null,
    );
    let mut heirs = estate.others.iter().filter(|csv| {
        let mut marks = csv.labels().keys();
        marks.any(|mark| {
            mark.starts_with(labels::COMPONENT_PREFIX) && marked.labels.contains_key(mark)
        })
    });
    if let (true, Some(heir), None) = (
        marked.object.namespace.is_empty() && !marked.is_found,
        heirs.next(),
        heirs.next(),
    ) {
        for (key, value) in [
            (labels::OWNER, labels::owner_value(&heir.name_any())),
            (
                labels::OWNER_NAMESPACE,
                heir.namespace().unwrap_or_default(),
            ),
            (labels::OWNER_KIND, CSV.to_owned()),
        ] {
            changes.insert(key.to_owned(), json!(value));
        }
    }
    if marked.is_found && other_mark(&estate, marked).is_none() {
        // It was there before anybody brought it, and now nobody does any more. The note of that stays, for those
        // who bring it again.
        let ours = [
            labels::MANAGED,
            labels::OWNER,
            labels::OWNER_NAMESPACE,
            labels::OWNER_KIND,
        ];
        let keys = marked.labels.keys();
        for key in keys
            .filter(|key| ours.contains(&key.as_str()) || key.starts_with(labels::COMPONENT_PREFIX))
        {
            changes.insert(key.clone(), Value::Null);
        }
    }
    Some(json!({"metadata": {"labels": changes}}))
}

/// The groups of Kubernetes itself that have a dot in them. Others that end in `.k8s.io` are of CRDs.
const BUILT_IN: [&str; 16] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Whether the package may have objects of a kind that cannot be listed: it is one of Kubernetes' own, or one
/// that a plan brought for it.
fn may_be_ours(estate: &Estate<'_>, unlisted: &Unlisted) -> bool {
    let group = unlisted.group.as_str();
    let is_kubernetes = !group.contains('.') || BUILT_IN.contains(&group);
    let own = estate.facts.subscription.uid();
    let mut plans = estate.facts.plans.iter();
    is_kubernetes
        || plans.any(|plan| {
            let mut owners = plan.owner_references().iter();
            let steps = plan.status.iter().flat_map(|status| &status.plan);
            let mut resources = steps.map(|step| &step.resource);
            owners.any(|owner| own.as_ref() == Some(&owner.uid))
                && resources.any(|it| it.group == unlisted.group && it.kind == unlisted.kind)
        })
}

fn blocker(estate: &Estate<'_>, unlisted: &Unlisted) -> Blocker {
    Blocker {
        reason: NOT_READABLE,
        message: format!(
            "{}, and so nobody knows what is left of {}: mend what serves them",
            unlisted, estate.package
        ),
    }
}
