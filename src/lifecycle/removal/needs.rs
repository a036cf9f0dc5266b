//! Who needs what goes, and what nobody needs once it is gone.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use super::{Blocker, Estate, Reference, csv_names};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::conditions::subscription::STILL_NEEDED;
use crate::api::labels;
use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::resolver::{self, Features, Requirement};

/// How many of those who need something are told.
const TOLD: usize = 3;

/// Whether the operator runs, as far as anybody knows.
pub(super) fn is_running(csv: &ClusterServiceVersion) -> bool {
    let status = csv.status.as_ref();
    status.is_some_and(|status| status.phase == CsvPhase::Succeeded)
}

/// An operator with what it has and what it needs.
struct Party<'a> {
    csv: &'a ClusterServiceVersion,
    namespace: String,
    features: std::sync::Arc<Features>,
    requirements: Vec<Requirement>,
    /// Whether it is about to go by itself.
    is_going: bool,
}

impl<'a> Party<'a> {
    fn of(estate: &Estate<'_>, csv: &'a ClusterServiceVersion) -> Self {
        // Without Subscriptions the package of a CSV that has no properties is not known, and so nobody
        // can be found to need it by that; its APIs are known all the same.
        let read = resolver::installed(std::slice::from_ref(csv), &[]);
        let features = read.items.into_iter().next().map(|it| it.features);
        let features =
            features.unwrap_or_else(|| std::sync::Arc::new(Features::new(None, None, Vec::new())));
        // What cannot be read was refused when it was to be installed.
        let requirements = resolver::requirements(features.properties()).unwrap_or_default();
        Self {
            csv,
            namespace: csv.namespace().unwrap_or_default(),
            features,
            requirements,
            is_going: is_going(estate, csv),
        }
    }

    /// What this one needs that the other one has, and none of the rest. Who is about to go counts for
    /// nothing among these: two that are removed at once would each rely on the other.
    fn needs(&self, other: &Party<'_>, rest: &[&Party<'_>]) -> Option<String> {
        let rest: Vec<&Party<'_>> = rest.iter().copied().filter(|it| !it.is_going).collect();
        let is_met = |requirement: &Requirement| {
            let is_met_by = |it: &Party<'_>| {
                // An API is everybody's; anything else is a matter of the namespace.
                let counts = requirement.as_api().is_some() || it.namespace == self.namespace;
                counts && requirement.matches(&it.features)
            };
            is_met_by(self) || rest.iter().any(|it| is_met_by(it))
        };
        let by_property = self.requirements.iter().find(|requirement| {
            let counts = requirement.as_api().is_some() || other.namespace == self.namespace;
            counts && requirement.matches(&other.features) && !is_met(requirement)
        });
        if let Some(requirement) = by_property {
            return Some(requirement.to_string());
        }
        let owns = |party: &Party<'_>, name: &str| {
            let owned = &party.csv.spec.custom_resource_definitions.owned;
            owned.iter().any(|crd| crd.name == name)
        };
        let required = &self.csv.spec.custom_resource_definitions.required;
        let by_name = required.iter().find(|crd| {
            owns(other, &crd.name)
                && !owns(self, &crd.name)
                && !rest.iter().any(|it| owns(it, &crd.name))
        });
        by_name.map(|crd| format!("CRD {}", crd.name))
    }
}

fn parties<'a>(estate: &Estate<'_>, csvs: &[&'a ClusterServiceVersion]) -> Vec<Party<'a>> {
    csvs.iter().map(|csv| Party::of(estate, csv)).collect()
}

/// Operators that stay and could not do without what goes. Those of `handed_over` Subscriptions are
/// about to go with it.
pub(super) fn blockers(estate: &Estate<'_>, handed_over: &[&Subscription]) -> Vec<Blocker> {
    let own = parties(estate, &estate.own);
    if own.is_empty() {
        return Vec::new();
    }
    let staying = parties(estate, &estate.staying);
    let is_handed_over = |party: &Party<'_>| {
        let name = party.csv.name_any();
        party.namespace == estate.namespace
            && handed_over
                .iter()
                .any(|it| csv_names(it).contains(&name.as_str()))
    };
    let companions = companions(&own, &staying, is_handed_over);
    let mut told = Vec::new();
    let mut are_all_going = true;
    for party in &staying {
        // Of those that need each other none can be the first, and so all go.
        if is_handed_over(party) || companions.iter().any(|it| std::ptr::eq(it.csv, party.csv)) {
            continue;
        }
        let rest = others(&staying, party);
        if let Some(what) = own.iter().find_map(|it| party.needs(it, &rest)) {
            told.push(format!("{} needs {what}", Reference::csv(party.csv)));
            are_all_going &= party.is_going;
        }
    }
    if told.is_empty() {
        return Vec::new();
    }
    told.sort();
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    let mut message = told.join("; ");
    if more > 0 {
        message = format!("{message}; and {more} more");
    }
    let package = estate.package;
    let message = if are_all_going {
        format!("{message}, which only {package} has, and is being removed before it")
    } else {
        format!("{message}, which only {package} has; remove those who need it first, or keep it")
    };
    vec![Blocker {
        reason: STILL_NEEDED,
        message,
    }]
}

/// Those on their way out that what goes needs itself, be it through others on their way out; but none
/// that somebody else still needs, and that therefore stays for now.
fn companions<'p, 'a>(
    own: &'p [Party<'a>],
    staying: &'p [Party<'a>],
    is_handed_over: impl Fn(&Party<'_>) -> bool,
) -> Vec<&'p Party<'a>> {
    let mut found: Vec<&Party<'_>> = Vec::new();
    let mut front: Vec<&Party<'_>> = own.iter().collect();
    while let Some(one) = front.pop() {
        let next = staying.iter().filter(|it| {
            let is_new = !found.iter().any(|known| std::ptr::eq(known.csv, it.csv));
            it.is_going && is_new && one.needs(it, &[]).is_some()
        });
        let next: Vec<&Party<'_>> = next.collect();
        found.extend(&next);
        front.extend(next);
    }
    let is_held = |one: &Party<'_>, found: &[&Party<'_>]| {
        staying.iter().any(|it| {
            let goes_along = found.iter().any(|known| std::ptr::eq(known.csv, it.csv));
            let rest = others(staying, it);
            let rest: Vec<&Party<'_>> = rest
                .into_iter()
                .filter(|other| !std::ptr::eq(other.csv, one.csv))
                .collect();
            !goes_along && !is_handed_over(it) && it.needs(one, &rest).is_some()
        })
    };
    while let Some(at) = found.iter().position(|one| is_held(one, &found)) {
        found.remove(at);
    }
    found
}

/// Whether a ClusterServiceVersion is about to go by itself.
fn is_going(estate: &Estate<'_>, csv: &ClusterServiceVersion) -> bool {
    let mut subscriptions = estate.facts.subscriptions.iter();
    csv.metadata.deletion_timestamp.is_some()
        || subscriptions.any(|it| {
            it.metadata.deletion_timestamp.is_some()
                && it.spec.removal() != RemovalPolicy::Keep
                && it.namespace() == csv.namespace()
                && csv_names(it).contains(&csv.name_any().as_str())
        })
}

fn others<'p, 'a>(all: &'p [Party<'a>], one: &Party<'_>) -> Vec<&'p Party<'a>> {
    all.iter()
        .filter(|it| !std::ptr::eq(it.csv, one.csv))
        .collect()
}

/// What was installed because the one that goes needs it.
#[derive(Default)]
pub(super) struct Dependencies<'a> {
    /// Nobody needs them when it is gone.
    pub(super) unneeded: Vec<&'a Subscription>,
    /// Somebody else does, and who.
    pub(super) needed: Vec<(&'a Subscription, String)>,
}

struct Candidate<'a> {
    subscription: &'a Subscription,
    csvs: Vec<Party<'a>>,
}

/// Finds the Subscriptions that were generated for what goes, and for those in turn.
pub(super) fn dependencies<'a>(estate: &Estate<'a>) -> Dependencies<'a> {
    let mut reached: Vec<Candidate<'a>> = Vec::new();
    let mut unreached = candidates(estate);
    let mut front: Vec<Party<'a>> = parties(estate, &estate.own);
    while !front.is_empty() {
        let (next, rest): (Vec<_>, Vec<_>) = unreached.into_iter().partition(|candidate| {
            let mut csvs = candidate.csvs.iter();
            csvs.any(|csv| front.iter().any(|it| it.needs(csv, &[]).is_some()))
        });
        unreached = rest;
        front = next
            .iter()
            .flat_map(|candidate| candidate.csvs.iter().map(|it| Party::of(estate, it.csv)))
            .collect();
        reached.extend(next);
    }
    let mut found = Dependencies::default();
    // Whoever is needed stays, and so does what that one needs, until nothing changes any more.
    loop {
        let names: BTreeSet<String> = reached
            .iter()
            .flat_map(|candidate| candidate.csvs.iter().map(|it| it.csv.name_any()))
            .collect();
        let staying = estate.staying.iter().filter(|csv| {
            csv.namespace().unwrap_or_default() != estate.namespace
                || !names.contains(&csv.name_any())
        });
        let staying: Vec<Party<'_>> = staying.map(|csv| Party::of(estate, csv)).collect();
        let needed = reached.iter().enumerate().find_map(|(at, candidate)| {
            let user = staying.iter().find(|party| {
                let rest = others(&staying, party);
                let mut csvs = candidate.csvs.iter();
                csvs.any(|csv| party.needs(csv, &rest).is_some())
            })?;
            Some((at, format!("{} needs it", Reference::csv(user.csv))))
        });
        let Some((at, why)) = needed else {
            break;
        };
        found.needed.push((reached.remove(at).subscription, why));
    }
    found.unneeded = reached.into_iter().map(|it| it.subscription).collect();
    found
}

/// The Subscriptions of the namespace that plans made, with their ClusterServiceVersions.
fn candidates<'a>(estate: &Estate<'a>) -> Vec<Candidate<'a>> {
    let generated = estate
        .neighbours()
        .filter(|it| it.annotations().contains_key(labels::GENERATED_BY));
    let with_csvs = generated.map(|subscription| {
        let names = csv_names(subscription);
        let csvs = estate.staying.iter().filter(|csv| {
            csv.namespace().unwrap_or_default() == estate.namespace
                && names.contains(&csv.name_any().as_str())
        });
        Candidate {
            subscription,
            csvs: csvs.map(|csv| Party::of(estate, csv)).collect(),
        }
    });
    with_csvs
        .filter(|candidate| !candidate.csvs.is_empty())
        .collect()
}
