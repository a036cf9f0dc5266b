//! Which CRDs and custom resources go.

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::fates::Fates;
use super::{Blocker, Crd, CustomResource, Estate, Facts, Goes, Reference, Stays, Wish, csv_names};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::subscription::NOT_READABLE;
use crate::api::labels;
use crate::api::subscription::RemovalPolicy;
use crate::lifecycle::targets::Targets;

/// What becomes of CRDs and their objects.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) objects: Vec<Goes>,
    /// Operators that go as well, and before a CRD does.
    pub(super) awaited: Vec<Goes>,
    pub(super) goes: Vec<Goes>,
    /// CRDs that stay with marks that are to go.
    pub(super) unmarked: Vec<Goes>,
    pub(super) stays: Vec<Stays>,
    pub(super) blockers: Vec<Blocker>,
}

/// Decides about each CRD, as if everybody who goes were gone.
pub(super) fn decide(estate: &Estate<'_>, wish: &Wish, fates: &Fates<'_>) -> Definitions {
    let mut all = Definitions::default();
    for crd in &estate.facts.crds {
        let users = users(estate, fates, crd);
        match why_not(estate, wish, crd, users.first()) {
            Err(blocker) => all.blockers.push(blocker),
            Ok(Some(why)) => {
                all.stays.push(Stays {
                    object: Reference::crd(&crd.name),
                    why,
                });
                let can_go = wish.policy == RemovalPolicy::Everything && !is_found(crd);
                let going = |object: &CustomResource| {
                    can_go
                        && is_served(estate, object)
                        && !users.iter().any(|user| user.serves(object))
                };
                all.split(estate, crd, going);
                if unmark(crd, estate.facts).is_some() {
                    all.unmarked
                        .push(goes(crd, "it stays without its operator"));
                }
            }
            Ok(None) => {
                all.split(estate, crd, |_| true);
                let why = if wish.crds.contains(&crd.name) {
                    "it is named"
                } else {
                    "it came with the operator"
                };
                all.goes.push(goes(crd, why));
                let others = fates.going().filter(|csv| has(csv, crd));
                all.awaited.extend(others.map(|csv| awaited(csv, crd)));
            }
        }
    }
    all
}

impl Definitions {
    /// Divides the objects of a CRD into those that go and those that stay.
    fn split(&mut self, estate: &Estate<'_>, crd: &Crd, going: impl Fn(&CustomResource) -> bool) {
        for object in crd.objects.iter().flatten() {
            let reference = Reference {
                api_version: crd.api_version.clone(),
                kind: crd.kind.clone(),
                namespace: object.namespace.clone(),
                name: object.name.clone(),
            };
            if going(object) {
                self.objects.push(Goes {
                    object: reference,
                    why: format!("an object of {}", crd.name),
                    is_going: object.is_going,
                    finalizers: object.finalizers.clone(),
                    uid: object.uid.clone(),
                });
            } else {
                let why = if is_served(estate, object) {
                    format!("{} stays", crd.name)
                } else {
                    "the operator does not serve its namespace".to_owned()
                };
                self.stays.push(Stays {
                    object: reference,
                    why,
                });
            }
        }
    }
}

fn goes(crd: &Crd, why: &str) -> Goes {
    Goes {
        object: Reference::crd(&crd.name),
        why: why.to_owned(),
        is_going: crd.is_going,
        finalizers: Vec::new(),
        uid: crd.uid.clone(),
    }
}

fn awaited(csv: &ClusterServiceVersion, crd: &Crd) -> Goes {
    Goes {
        object: Reference::csv(csv),
        why: format!("{} goes after it", crd.name),
        is_going: true,
        finalizers: csv.finalizers().to_vec(),
        uid: csv.uid().unwrap_or_default(),
    }
}

/// Why a CRD stays, if it does; or why nobody can tell.
fn why_not(
    estate: &Estate<'_>,
    wish: &Wish,
    crd: &Crd,
    user: Option<&User<'_>>,
) -> Result<Option<String>, Blocker> {
    let is_named = wish.crds.contains(&crd.name);
    if let Some(user) = user {
        return Ok(Some(user.words()));
    }
    if wish.policy != RemovalPolicy::Everything && !is_named {
        return Ok(Some("CRDs and their objects are kept".to_owned()));
    }
    if is_found(crd) && !is_named {
        return Ok(Some(
            "it was there before the operator; it goes only by name".to_owned(),
        ));
    }
    let objects = match &crd.objects {
        Ok(objects) => objects,
        // Gone with it in any case.
        Err(_) if crd.is_going => return Ok(None),
        Err(problem) => {
            return Err(Blocker {
                reason: NOT_READABLE,
                message: format!(
                    "the objects of CRD {} cannot be listed, and so nobody knows what would go \
                     with it: {problem}",
                    crd.name
                ),
            });
        }
    };
    if is_named {
        return Ok(None);
    }
    let outside: Vec<&CustomResource> = objects
        .iter()
        .filter(|object| !is_served(estate, object))
        .collect();
    Ok(outside.first().map(|first| {
        format!(
            "{} of its objects are in namespaces that the operator does not serve, such as {}/{}; \
             it goes only by name",
            outside.len(),
            first.namespace,
            first.name
        )
    }))
}

/// Whoever else has to do with a CRD.
enum User<'a> {
    Owns(&'a ClusterServiceVersion),
    Needs(&'a ClusterServiceVersion),
    /// A Subscription that is about to install something that brings it.
    Awaits(String),
}

impl User<'_> {
    fn words(&self) -> String {
        match self {
            Self::Owns(csv) => format!("{} owns it as well", Reference::csv(csv)),
            Self::Needs(csv) => format!("{} needs it", Reference::csv(csv)),
            Self::Awaits(subscription) => {
                format!("Subscription {subscription} installs it as well")
            }
        }
    }

    /// Whether it is there for an object, or may be.
    fn serves(&self, object: &CustomResource) -> bool {
        match self {
            Self::Owns(csv) => {
                let targets = csv.annotations().get(labels::TARGET_NAMESPACES);
                targets.is_none_or(|targets| {
                    let names: Vec<String> = targets.split(',').map(str::to_owned).collect();
                    object.namespace.is_empty()
                        || Targets::from_status(&names).contains(&object.namespace)
                })
            }
            Self::Needs(_) | Self::Awaits(_) => true,
        }
    }
}

/// All who stay and have to do with a CRD, its owners first.
fn users<'a>(estate: &Estate<'a>, fates: &Fates<'a>, crd: &Crd) -> Vec<User<'a>> {
    let owners = fates.staying().filter(|csv| owns(csv, crd));
    let dependents = fates.staying().filter(|csv| needs(csv, crd));
    let mut users: Vec<User<'_>> = owners.map(User::Owns).collect();
    users.extend(dependents.map(User::Needs));
    users.extend(waiting(estate, fates, crd).map(User::Awaits));
    users
}

fn owns(csv: &ClusterServiceVersion, crd: &Crd) -> bool {
    let owned = &csv.spec.custom_resource_definitions.owned;
    owned.iter().any(|it| it.name == crd.name)
}

fn needs(csv: &ClusterServiceVersion, crd: &Crd) -> bool {
    let required = &csv.spec.custom_resource_definitions.required;
    required.iter().any(|it| it.name == crd.name)
}

fn has(csv: &ClusterServiceVersion, crd: &Crd) -> bool {
    owns(csv, crd) || needs(csv, crd)
}

/// A Subscription that is about to install something that brings a CRD.
fn waiting(estate: &Estate<'_>, fates: &Fates<'_>, crd: &Crd) -> Option<String> {
    let key = |csv: &ClusterServiceVersion| {
        format!("{}/{}", csv.namespace().unwrap_or_default(), csv.name_any())
    };
    let going: Vec<String> = fates.going().map(key).collect();
    let alongside: Vec<&str> = alongside(crd).map(|(_, csv)| csv).collect();
    let own = Reference::subscription(&estate.facts.subscription);
    let waiting = estate.facts.subscriptions.iter().find(|it| {
        let namespace = it.namespace().unwrap_or_default();
        let csvs = csv_names(it);
        let mut keys = csvs.iter().map(|name| format!("{namespace}/{name}"));
        it.metadata.deletion_timestamp.is_none()
            && Reference::subscription(it) != own
            && keys.any(|key| {
                alongside.contains(&key.as_str())
                    && !estate.facts.leaving.contains(&key)
                    && !going.contains(&key)
            })
    });
    waiting.map(|it| format!("{}/{}", it.namespace().unwrap_or_default(), it.name_any()))
}

/// Whether it was there before any plan brought it.
fn is_found(crd: &Crd) -> bool {
    crd.annotations.contains_key(labels::FOUND)
}

/// Whether the operator looks after an object. What is in no namespace is everybody's.
fn is_served(estate: &Estate<'_>, object: &CustomResource) -> bool {
    if object.namespace.is_empty() {
        return true;
    }
    match &estate.facts.targets {
        Some(targets) => targets.contains(&object.namespace),
        None => object.namespace == estate.namespace,
    }
}

/// The annotations that tell which ClusterServiceVersions it came with.
fn alongside(crd: &Crd) -> impl Iterator<Item = (&str, &str)> {
    let annotations = crd.annotations.iter();
    let annotations = annotations.map(|(key, value)| (key.as_str(), value.as_str()));
    annotations.filter(|(key, _)| key.starts_with(labels::INSTALLED_ALONGSIDE_PREFIX))
}

/// Takes the marks of the package off a CRD that stays: a merge patch, if it has any.
pub fn unmark(crd: &Crd, facts: &Facts) -> Option<Value> {
    let estate = Estate::of(facts);
    let mut labels = Map::new();
    if crd.labels.contains_key(&estate.mark) {
        labels.insert(estate.mark.clone(), Value::Null);
    }
    let mut annotations = Map::new();
    for (key, csv) in alongside(crd) {
        let stays = estate.others.iter().any(|it| {
            let namespace = it.namespace().unwrap_or_default();
            format!("{namespace}/{}", it.name_any()) == csv
        });
        let is_ours =
            csv.split_once('/').map(|(namespace, _)| namespace) == Some(estate.namespace.as_str());
        if is_ours && !stays {
            annotations.insert(key.to_owned(), Value::Null);
        }
    }
    let has_some = !labels.is_empty() || !annotations.is_empty();
    has_some.then(|| json!({"metadata": {"labels": labels, "annotations": annotations}}))
}
