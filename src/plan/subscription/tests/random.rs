//! Random situations: nothing panics, the status can be written, and asking again changes nothing.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::api::labels;
use crate::resolver::{Explanation, Reason};

/// Few names, so that they often meet.
fn name() -> impl Strategy<Value = String> {
    select(vec![
        "", "ship", "ship.v1", "ship.v2", "boat.v1", "olm", "hub", "a", "b",
    ])
    .prop_map(str::to_owned)
}

/// The name of an object, which is never empty.
fn object() -> impl Strategy<Value = String> {
    name().prop_filter("objects have names", |name| !name.is_empty())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{0,9}", Just("ü".repeat(40_000))]
}

fn phase() -> impl Strategy<Value = InstallPlanPhase> {
    select(vec![
        "",
        "Planning",
        "RequiresApproval",
        "Installing",
        "Complete",
        "Failed",
        "Odd",
    ])
    .prop_map(InstallPlanPhase::from)
}

fn plan() -> impl Strategy<Value = Plan> {
    (
        object(),
        name(),
        0..4_i64,
        vec(name(), 0..3),
        phase(),
        text(),
    )
        .prop_map(|(name, uid, generation, csvs, phase, message)| Plan {
            name,
            uid,
            generation,
            csvs,
            phase,
            failure: message.clone(),
            is_tried_again: message.is_empty(),
            message,
        })
}

fn csv() -> impl Strategy<Value = Csv> {
    let phases = ["", "Pending", "Succeeded", "Failed", "Replacing", "Odd"];
    (
        select(phases.to_vec()),
        select(vec!["", "InstallWaiting"]),
        text(),
    )
        .prop_map(|(phase, reason, message)| Csv {
            phase: phase.into(),
            reason: reason.into(),
            message,
        })
}

fn health() -> impl Strategy<Value = Health> {
    prop_oneof![
        Just(Health::Healthy),
        text().prop_map(Health::Stale),
        text().prop_map(Health::Unhealthy),
    ]
}

fn groups() -> impl Strategy<Value = Groups> {
    prop_oneof![
        3 => any::<bool>().prop_map(|fails_forward| Groups::One { fails_forward }),
        1 => (name(), text()).prop_map(|(name, problem)| Groups::Unreadable { name, problem }),
        1 => vec(name(), 0..20).prop_map(|names| Groups::Not1 { names }),
    ]
}

fn surroundings() -> impl Strategy<Value = Surroundings> {
    let catalog = (name(), name(), name(), health());
    let catalog = catalog.prop_map(|(namespace, name, uid, health)| Catalog {
        namespace,
        name,
        uid,
        health,
    });
    (
        groups(),
        vec(catalog, 0..4),
        btree_map(object(), csv(), 0..4),
        vec(plan(), 0..4),
    )
        .prop_map(|(groups, catalogs, csvs, plans)| Surroundings {
            groups,
            catalogs,
            csvs,
            plans: plans
                .into_iter()
                .map(|plan| (plan.name.clone(), plan))
                .collect(),
        })
}

fn solution() -> impl Strategy<Value = Solution> {
    let install = (name(), name(), vec(name(), 0..3));
    let kept = (name(), name(), any::<bool>());
    (
        vec(install, 0..3),
        vec(kept, 0..3),
        vec((name(), name(), text()), 0..3),
        vec(text(), 0..3),
    )
        .prop_map(|(installs_, kept, held_back, notes)| Solution {
            install: installs_
                .into_iter()
                .map(|(bundle, replaces, requested_by)| Install {
                    requested_by,
                    ..installs(&bundle, &replaces).install.remove(0)
                })
                .collect(),
            kept: kept
                .into_iter()
                .map(|(subscription, csv, adopted)| Kept {
                    subscription,
                    csv,
                    adopted,
                })
                .collect(),
            held_back: held_back
                .into_iter()
                .map(|(subscription, bundle, because)| HeldBack {
                    subscription,
                    bundle,
                    because,
                })
                .collect(),
            notes,
            ..Solution::default()
        })
}

fn answer() -> impl Strategy<Value = Answer> {
    let unsolvable = |summary: String| {
        Answer::Component(Component::Unsolvable(Box::new(Explanation {
            requests: Vec::new(),
            summary,
            text: String::new(),
            nearest: Vec::new(),
            tree: Reason {
                says: String::new(),
                because: Vec::new(),
            },
        })))
    };
    prop_oneof![
        Just(()).prop_map(|()| Answer::Pending),
        solution().prop_map(|solution| Answer::Component(Component::Solved(solution))),
        solution().prop_map(|solution| Answer::Component(Component::Solved(solution))),
        text().prop_map(unsolvable),
        text().prop_map(Answer::Unreadable),
        text().prop_map(Answer::Error),
    ]
}

fn bundles() -> impl Strategy<Value = Bundles> {
    prop_oneof![
        Just(Bundles::Ready),
        text().prop_map(Bundles::Fetching),
        text().prop_map(Bundles::Failed),
        text().prop_map(Bundles::Unusable),
        text().prop_map(Bundles::PlanNotWritten),
    ]
}

fn deprecations() -> impl Strategy<Value = Deprecations> {
    let maybe = || proptest::option::of(text());
    (name(), maybe(), maybe(), maybe()).prop_map(|(csv, package, channel, bundle)| Deprecations {
        csv,
        package,
        channel,
        bundle,
    })
}

/// A status as anybody may have written it.
fn old() -> impl Strategy<Value = Value> {
    let reference = || proptest::option::of((name(), name()));
    let types = SubscriptionConditionType::KNOWN.iter().copied();
    let types: Vec<&str> = types.chain(["Painted", ""]).collect();
    let condition = (
        select(types),
        select(vec!["True", "False", "Unknown", ""]),
        text(),
    );
    (
        name(),
        name(),
        reference(),
        reference(),
        vec(condition, 0..5),
        any::<bool>(),
    )
        .prop_map(
            |(current, installed, reference, legacy, conditions, is_new)| {
                let mut status = json!({
                    "currentCSV": current,
                    "installedCSV": installed,
                    "state": "UpgradePending",
                    "conditions": conditions
                        .into_iter()
                        .map(|(type_, status, message)| {
                            json!({ "type": type_, "status": status, "message": message })
                        })
                        .collect::<Vec<_>>(),
                });
                if let Some((name, uid)) = reference {
                    status["installPlanRef"] = json!({ "name": name, "uid": uid });
                }
                if let Some((name, uid)) = legacy {
                    status["installplan"] =
                        json!({ "apiVersion": "", "kind": "", "name": name, "uuid": uid });
                }
                if !is_new {
                    status["lastUpdated"] = json!("2024-01-01T00:00:00Z");
                }
                status
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    (
        old(),
        surroundings(),
        answer(),
        bundles(),
        proptest::option::of(select(vec!["ship", "ship.v1", "a", "b"])),
        proptest::option::of(deprecations()),
        (name(), name(), name(), proptest::option::of(name())),
    )
        .prop_map(
            |(old, surroundings, outcome, bundles, plan, deprecations, spec)| {
                let mut case = Case {
                    surroundings,
                    outcome,
                    bundles,
                    plan,
                    deprecations,
                    ..Case::new().said(old)
                };
                let (channel, source, starting_csv, generated_by) = spec;
                case.subscription.spec.channel = channel;
                case.subscription.spec.source = source;
                case.subscription.spec.starting_csv = starting_csv;
                if let Some(plan) = generated_by {
                    let annotations = &mut case.subscription.metadata.annotations;
                    annotations
                        .get_or_insert_default()
                        .insert(labels::GENERATED_BY.to_owned(), plan);
                }
                case
            },
        )
}

/// What the CRD asks of a status, beyond what the types make sure of.
fn assert_can_be_written(status: &SubscriptionStatus) {
    assert!(status.last_updated.is_some());
    for health in &status.catalog_health {
        assert!(health.last_updated.is_some());
    }
    let ours = |type_: &str| SubscriptionConditionType::KNOWN.contains(&type_);
    for condition in &status.conditions {
        assert!(!ours(condition.type_.as_str()) || condition.last_transition_time.is_some());
        assert!(condition.message.len() <= 32 * 1024 || !ours(condition.type_.as_str()));
    }
    for type_ in [
        "Resolved",
        "Installed",
        "Healthy",
        "CatalogSourcesUnhealthy",
    ] {
        let of_type = status.conditions.iter();
        let count = of_type
            .filter(|found| found.type_.as_str() == type_)
            .count();
        assert_eq!(count, 1, "{type_}");
    }
}

proptest! {
    #[test]
    fn any_situation_has_a_status_that_can_be_written_and_does_not_change(case in case()) {
        // Asks twice and compares.
        let status = case.status();
        assert_can_be_written(&status);
        let json = serde_json::to_value(&status).unwrap();
        let read: SubscriptionStatus = serde_json::from_value(json).unwrap();
        assert!(same(&read, &status), "{read:?}");
    }
}
