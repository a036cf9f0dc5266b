//! Which CRDs and custom resources go.

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::fates::Fates;
use super::{Blocker, Crd, CustomResource, Estate, Facts, Goes, Reference, Stays, Wish, csv_names};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::conditions::subscription::NOT_READABLE;
use crate::api::install_plan::InstallPlan;
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
    /// CRDs that stay only because they have objects and nobody named them.
    pub(super) unnamed: Vec<String>,
    pub(super) blockers: Vec<Blocker>,
}

/// Decides about each CRD, as if everybody who goes were gone.
pub(super) fn decide(estate: &Estate<'_>, wish: &Wish, fates: &Fates<'_>) -> Definitions {
    let mut all = Definitions::default();
    for crd in &estate.facts.crds {
        let users = users(estate, fates, crd);
        if users.is_empty() && lacks_its_name(wish, crd) {
            all.unnamed.push(crd.name.clone());
        }
        match why_not(wish, crd, users.first()) {
            Err(blocker) => all.blockers.push(blocker),
            Ok(Some(why)) => {
                all.stays.push(Stays {
                    object: Reference::crd(&crd.name),
                    why,
                });
                let can_go = wish.policy == RemovalPolicy::Everything
                    && wish.crds.contains(&crd.name)
                    && crd.labels.contains_key(&estate.mark)
                    && !is_found(crd);
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
        finalizers: crd.finalizers.clone(),
        uid: crd.uid.clone(),
    }
}

fn awaited(csv: &ClusterServiceVersion, crd: &Crd) -> Goes {
    Goes {
        object: Reference::csv(csv),
        why: format!("{} goes after it", crd.name),
        is_going: csv.metadata.deletion_timestamp.is_some(),
        finalizers: csv.finalizers().to_vec(),
        uid: csv.uid().unwrap_or_default(),
    }
}

/// Why a CRD stays, if it does; or why nobody can tell.
fn why_not(wish: &Wish, crd: &Crd, user: Option<&User<'_>>) -> Result<Option<String>, Blocker> {
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
    // Gone with it in any case.
    if crd.is_going {
        return Ok(None);
    }
    match &crd.objects {
        Ok(objects) if is_named || objects.is_empty() => Ok(None),
        Ok(objects) => Ok(Some(has_objects(objects))),
        Err(problem) if is_named => Err(Blocker {
            reason: NOT_READABLE,
            message: format!(
                "the objects of CRD {} cannot be listed, and so nobody knows what would go with it: \
                 {problem}; mend what serves them, or do not name the CRD",
                crd.name
            ),
        }),
        Err(problem) => Ok(Some(format!(
            "its objects cannot be listed, and so it goes only by name: {problem}"
        ))),
    }
}

fn has_objects(objects: &[CustomResource]) -> String {
    let first = objects.first();
    let first = first.map(|it| match it.namespace.as_str() {
        "" => it.name.clone(),
        namespace => format!("{namespace}/{}", it.name),
    });
    format!(
        "it has {}, such as {}; with them it goes only by name",
        match objects.len() {
            1 => "1 object".to_owned(),
            several => format!("{several} objects"),
        },
        first.unwrap_or_default()
    )
}

/// Whether only its name is missing for a CRD to go, with objects that are there.
fn lacks_its_name(wish: &Wish, crd: &Crd) -> bool {
    let has_none = crd.objects.as_ref().is_ok_and(Vec::is_empty);
    wish.policy == RemovalPolicy::Everything
        && !wish.crds.contains(&crd.name)
        && !is_found(crd)
        && !crd.is_going
        && !has_none
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
///
/// What an operator leaves on it goes, whichever of its versions that was. What another one left that is
/// there, or is about to come, does not.
pub fn unmark(crd: &Crd, facts: &Facts) -> Option<Value> {
    let estate = Estate::of(facts);
    let mut labels = Map::new();
    if crd.labels.contains_key(&estate.mark) {
        labels.insert(estate.mark.clone(), Value::Null);
    }
    let mut annotations = Map::new();
    for (key, csv) in alongside(crd) {
        let Some((namespace, name)) = csv.split_once('/') else {
            continue;
        };
        if namespace == estate.namespace && !is_anothers(&estate, name) {
            annotations.insert(key.to_owned(), Value::Null);
        }
    }
    let has_some = !labels.is_empty() || !annotations.is_empty();
    has_some.then(|| json!({"metadata": {"labels": labels, "annotations": annotations}}))
}

/// Whether a ClusterServiceVersion of the namespace, by its name, is of another package: it is there, or
/// another Subscription has it or is about to have it, or a plan is to bring it.
fn is_anothers(estate: &Estate<'_>, csv: &str) -> bool {
    let facts = estate.facts;
    let is_here = |namespace: Option<String>| namespace.unwrap_or_default() == estate.namespace;
    let is_own = |uid: &str| facts.subscription.uid().is_some_and(|own| own == uid);
    let mut others = estate.others.iter();
    let mut subscriptions = facts.subscriptions.iter();
    let mut plans = facts.plans.iter();
    others.any(|it| is_here(it.namespace()) && it.name_any() == csv)
        || subscriptions.any(|it| {
            is_here(it.namespace())
                && it.name_any() != facts.subscription.name_any()
                && csv_names(it).contains(&csv)
        })
        || plans.any(|plan| {
            let names = &plan.spec.cluster_service_version_names;
            !is_done(plan)
                && names.iter().any(|name| name == csv)
                && !plan
                    .owner_references()
                    .iter()
                    .any(|owner| is_own(&owner.uid))
        })
}

fn is_done(plan: &InstallPlan) -> bool {
    let status = plan.status.as_ref();
    status.is_some_and(|status| status.phase == InstallPlanPhase::Complete)
}
