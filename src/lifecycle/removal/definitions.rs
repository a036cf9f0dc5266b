//! Which CRDs and custom resources go.

use std::time::Duration;

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::fates::Fates;
use super::users::{User, has, serves, users};
use super::{
    Blocker, Crd, CustomResource, Estate, Facts, Goes, Reference, Stays, Wish, csv_names,
    is_being_removed, is_of, mark, owns,
};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::conditions::subscription::NOT_READABLE;
use crate::api::install_plan::InstallPlan;
use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::lifecycle::install::conversion;

/// What becomes of CRDs and their objects.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) objects: Vec<Goes>,
    /// Objects that somebody else deleted, and whose finalizers the operator works off.
    pub(super) held: Vec<Goes>,
    /// Operators that go as well, and before a CRD does.
    pub(super) awaited: Vec<Goes>,
    /// Objects that go after all of these.
    pub(super) later: Vec<Goes>,
    pub(super) goes: Vec<Goes>,
    /// CRDs that stay with marks that are to go.
    pub(super) unmarked: Vec<Goes>,
    pub(super) stays: Vec<Stays>,
    /// CRDs that stay only because they have objects and nobody named them.
    pub(super) unnamed: Vec<String>,
    /// CRDs that are named and stay.
    pub(super) refused: Vec<Stays>,
    pub(super) blockers: Vec<Blocker>,
}

/// Decides about each CRD, as if everybody who goes were gone.
pub(super) fn decide(estate: &Estate<'_>, wish: &Wish, fates: &Fates<'_>) -> Definitions {
    let mut all = Definitions::default();
    for crd in &estate.facts.crds {
        let users = users(estate, fates, crd);
        if !estate.has_crd(&crd.name, &crd.labels) {
            if !is_for_others(estate, fates, crd) {
                all.refuse(
                    crd,
                    never(crd).unwrap_or_else(|| not_ours(crd, users.first())),
                );
            }
            continue;
        }
        if users.is_empty() && lacks_its_name(wish, crd) {
            all.unnamed.push(crd.name.clone());
        }
        let why_not = match never(crd) {
            Some(why) => Ok(Some(why)),
            None => why_not(wish, crd, users.first()),
        };
        match why_not {
            Err(blocker) => all.blockers.push(blocker),
            Ok(Some(mut why)) => {
                if is_converted_no_more(estate, crd) {
                    why.push_str(NO_CONVERSION);
                }
                if wish.crds.contains(&crd.name) {
                    all.refuse(crd, why);
                } else {
                    all.stays.push(stays(crd, why));
                }
                let can_go = wish.policy == RemovalPolicy::Everything
                    && wish.crds.contains(&crd.name)
                    && never(crd).is_none();
                let going = |object: &CustomResource| {
                    can_go
                        && is_served(estate, object)
                        && !users.iter().any(|user| user.serves(object))
                };
                all.split(estate, wish, fates, crd, &users, going);
                // What is on its way out takes its marks with it.
                if !crd.is_going && unmark(crd, estate.facts).is_some() {
                    all.unmarked
                        .push(goes(crd, "it stays without its operator"));
                }
            }
            Ok(None) => {
                all.split(estate, wish, fates, crd, &users, |_| true);
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
    let takes_something = !(all.goes.is_empty() && all.objects.is_empty() && all.later.is_empty());
    if takes_something && let Some(blocker) = unreadable(estate) {
        all.blockers.push(blocker);
    }
    all
}

/// What is said of a CRD whose objects nobody converts any more: they are there, and may not be what is asked for.
const NO_CONVERSION: &str = "; without the operator its objects are not converted: each is served in all versions as it is stored";

fn is_converted_no_more(estate: &Estate<'_>, crd: &Crd) -> bool {
    let converts =
        |csv: &&ClusterServiceVersion| conversion::crd_names(csv).contains(&crd.name.as_str());
    crd.is_converted && estate.own.iter().any(converts) && !estate.others.iter().any(converts)
}

/// Whoever cannot be read may use what would go.
fn unreadable(estate: &Estate<'_>) -> Option<Blocker> {
    let unreadable = &estate.facts.unreadable;
    (!unreadable.is_empty()).then(|| Blocker {
        reason: NOT_READABLE,
        message: format!(
            "nobody knows whether CRDs of {} are used by {}; mend what is wrong with that, or delete it",
            estate.package,
            unreadable.join(", ")
        ),
    })
}

/// Whether a CRD that is named goes with another Subscription, by the same name.
fn is_for_others(estate: &Estate<'_>, fates: &Fates<'_>, crd: &Crd) -> bool {
    let owned_by = |subscription: &Subscription| {
        let mut csvs = estate.others.iter();
        csvs.any(|csv| is_of(subscription, csv) && owns(csv, &crd.name))
    };
    let mut subscriptions = estate.facts.subscriptions.iter();
    fates.hands_over(&crd.name, &estate.facts.crds)
        || subscriptions.any(|it| {
            is_being_removed(it)
                && Wish::of(it).crds.contains(&crd.name)
                && (crd.labels.contains_key(&mark(it)) || owned_by(it))
        })
}

impl Definitions {
    /// A CRD that is named stays all the same.
    fn refuse(&mut self, crd: &Crd, why: String) {
        let stays = stays(crd, why);
        self.refused.push(stays.clone());
        self.stays.push(stays);
    }

    /// Divides the objects of a CRD into those that go and those that stay.
    fn split(
        &mut self,
        estate: &Estate<'_>,
        wish: &Wish,
        fates: &Fates<'_>,
        crd: &Crd,
        users: &[User<'_>],
        going: impl Fn(&CustomResource) -> bool,
    ) {
        // Others that go as well, but may yet stay, and did not name it.
        let others = fates.going().filter(|csv| owns(csv, &crd.name));
        let undecided: Vec<&ClusterServiceVersion> = others
            .filter(|csv| !fates.is_named(csv, &crd.name, &estate.facts.crds))
            .collect();
        for object in crd.objects.iter().flatten() {
            let goes = Goes {
                object: Reference {
                    api_version: crd.api_version.clone(),
                    kind: crd.kind.clone(),
                    namespace: object.namespace.clone(),
                    name: object.name.clone(),
                },
                why: format!("an object of {}", crd.name),
                is_going: object.is_going,
                finalizers: object.finalizers.clone(),
                uid: object.uid.clone(),
                ..Goes::default()
            };
            if !going(object) {
                let is_anothers = users.iter().any(|user| user.works_off(object));
                let is_served = is_served(estate, object);
                if object.is_going {
                    let waits = is_served && !is_anothers && estate.is_operated();
                    if waits && !object.finalizers.is_empty() && !wish.is_urgent {
                        self.held.push(goes);
                    }
                    continue;
                }
                let why = if is_served {
                    format!("{} stays", crd.name)
                } else {
                    "the operator does not serve its namespace".to_owned()
                };
                self.stays.push(Stays {
                    object: goes.object,
                    why,
                });
                continue;
            }
            let serving = undecided.iter().find(|csv| serves(csv, object));
            if let Some(csv) = serving.filter(|_| !object.is_going) {
                self.awaited.push(awaited(csv, crd));
                self.later.push(Goes {
                    why: format!("{}, which serves it, goes first", Reference::csv(csv)),
                    ..goes
                });
                continue;
            }
            let Some(since) = came_back_after(estate, object) else {
                self.objects.push(goes);
                continue;
            };
            let goes = Goes {
                comes_back: true,
                made_by: object.made_by.clone(),
                ..goes
            };
            // What has finalizers needs the operator.
            let is_free = object.finalizers.is_empty() && !object.is_going;
            if is_free && !estate.own.is_empty() {
                self.later.push(Goes {
                    why: "it came back when it was deleted, and goes after the operator".to_owned(),
                    ..goes
                });
            } else {
                self.objects.push(Goes {
                    rests: rests(estate, object, since),
                    ..goes
                });
            }
        }
    }
}

/// How long after the removal began an object was made, if it was. For all one knows somebody cannot do without
/// it, and makes it anew whenever it is deleted, be it the operator or somebody who keeps objects as they are
/// written down elsewhere.
fn came_back_after(estate: &Estate<'_>, object: &CustomResource) -> Option<Duration> {
    let metadata = &estate.facts.subscription.metadata;
    let (created, deleted) = (
        object.created.as_ref()?,
        metadata.deletion_timestamp.as_ref()?,
    );
    let after = Duration::try_from(created.0.duration_since(deleted.0)).ok()?;
    (!after.is_zero()).then_some(after)
}

/// What part of the time for which objects have come back is waited until one of them is deleted once more.
const PART: u32 = 4;
/// How long that is at most.
const LONGEST_REST: Duration = Duration::from_mins(2);

/// Whether an object that came back is left for a while: the longer it goes on, the less it helps to hurry. By a
/// clock that is behind that of the API server nothing is waited for.
fn rests(estate: &Estate<'_>, object: &CustomResource, since: Duration) -> bool {
    let (Some(created), Some(now)) = (&object.created, &estate.facts.now) else {
        return false;
    };
    let age = Duration::try_from(now.0.duration_since(created.0));
    age.is_ok_and(|age| age < (since / PART).min(LONGEST_REST))
}

fn stays(crd: &Crd, why: String) -> Stays {
    Stays {
        object: Reference::crd(&crd.name),
        why,
    }
}

fn goes(crd: &Crd, why: &str) -> Goes {
    Goes {
        object: Reference::crd(&crd.name),
        why: why.to_owned(),
        is_going: crd.is_going,
        finalizers: crd.finalizers.clone(),
        uid: crd.uid.clone(),
        resource_version: Some(crd.resource_version.clone()),
        ..Goes::default()
    }
}

fn awaited(csv: &ClusterServiceVersion, crd: &Crd) -> Goes {
    Goes {
        object: Reference::csv(csv),
        why: format!("{} goes after it", crd.name),
        is_going: csv.metadata.deletion_timestamp.is_some(),
        finalizers: csv.finalizers().to_vec(),
        uid: csv.uid().unwrap_or_default(),
        ..Goes::default()
    }
}

/// Why a CRD stays with all its objects whatever is wished, if it does.
fn never(crd: &Crd) -> Option<String> {
    let delete = format!("kubectl delete crd {}", crd.name);
    if crd.is_chandlers() {
        return Some("it is one of Chandler's own".to_owned());
    }
    crd.is_found().then(|| {
        format!("it was there before the operator, and stays with all its objects; `{delete}` if it should go")
    })
}

/// Why the name of a CRD says nothing that is not the package's.
fn not_ours(crd: &Crd, user: Option<&User<'_>>) -> String {
    match user {
        Some(user) => format!("it is not of this package, and {}", user.words()),
        None => format!(
            "it is not of this package; `kubectl delete crd {}` if it should go",
            crd.name
        ),
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
    // Gone with it in any case.
    if crd.is_going {
        return Ok(None);
    }
    match &crd.objects {
        Ok(objects) if is_named || objects.is_empty() => Ok(None),
        Ok(objects) => Ok(Some(has_objects(objects, crd.more))),
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

fn has_objects(objects: &[CustomResource], more: usize) -> String {
    let first = objects.first();
    let first = first.map(|it| match it.namespace.as_str() {
        "" => it.name.clone(),
        namespace => format!("{namespace}/{}", it.name),
    });
    format!(
        "it has {}, such as {}; with them it goes only by name",
        match objects.len().saturating_add(more) {
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
        && never(crd).is_none()
        && !crd.is_going
        && !has_none
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
    for (key, csv) in crd.alongside() {
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

pub(super) fn is_done(plan: &InstallPlan) -> bool {
    let status = plan.status.as_ref();
    status.is_some_and(|status| status.phase == InstallPlanPhase::Complete)
}
