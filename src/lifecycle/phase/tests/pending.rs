//! New and Pending.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use rstest::rstest;
use serde_json::json;

use super::world::{Csv as _, World, api_service, csv};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::gvk::GroupVersionKind;
use crate::lifecycle::phase::Event;
use crate::lifecycle::requirements::AccountFact;

// SingleCSVNoneToPending/CRD
#[test]
fn a_new_csv_is_to_be_checked() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]);
    world.sync();
    let reason = CsvReason::RequirementsUnknown;
    let words = "requirements not yet checked";
    world.expect("csv1", &CsvPhase::Pending, &reason, words);
    let event = Event {
        warning: false,
        reason,
        message: words.to_owned(),
    };
    assert_eq!(world.events, [event]);
}

// SingleCSVNoneToPending/APIService/Required
#[test]
fn a_new_csv_that_needs_an_api_is_to_be_checked() {
    let new = csv("csv1", &CsvPhase::Unset).without_crds().requiring_api();
    let mut world = World::new([new]);
    world.sync().expect_phase("csv1", &CsvPhase::Pending);
}

// SingleCSVPendingToFailed/BadStrategyPermissions
#[test]
fn a_rule_for_resources_and_paths_fails_it() {
    let mut bad = csv("csv1", &CsvPhase::Pending);
    bad.spec.install.spec.permissions = serde_json::from_value(json!([{
        "serviceAccountName": "sa",
        "rules": [{"verbs": ["*"], "resources": ["*"], "nonResourceURLs": ["/osb"]}],
    }]))
    .unwrap();
    let mut world = World::new([bad]);
    let owner = OwnerReference {
        kind: "ClusterServiceVersion".to_owned(),
        uid: "csv1-uid".to_owned(),
        ..OwnerReference::default()
    };
    world.accounts.insert(
        "sa".to_owned(),
        AccountFact {
            owners: vec![owner],
        },
    );
    world.sync();
    let words = "install strategy invalid: rule invalid: rule cannot apply to both regular \
                 resources and non-resource URLs";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::InvalidInstallStrategy,
        words,
    );
    assert!(world.events[0].warning);
}

#[track_caller]
fn expect_unmet(world: &mut World, missing: &str) {
    world.sync();
    let words = format!("one or more requirements couldn't be found: {missing}");
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsNotMet,
        &words,
    );
    assert!(!world.status("csv1").requirement_status.is_empty());
}

// SingleCSVPendingToPending/CRD
#[test]
fn a_crd_that_is_missing_is_waited_for() {
    let mut world = World::new([csv("csv1", &CsvPhase::Pending)]).without_crd();
    expect_unmet(
        &mut world,
        "CustomResourceDefinition c1.g1: CRD is not present",
    );
}

// SingleCSVPendingToPending/APIService/Required/Missing, /Unavailable and /Unknown: a condition
// that is not True is not true.
#[rstest]
#[case::missing(None)]
#[case::unavailable(Some(false))]
#[case::unknown(Some(false))]
fn a_needed_api_that_does_not_answer_is_waited_for(#[case] available: Option<bool>) {
    let needy = csv("csv1", &CsvPhase::Pending)
        .without_crds()
        .requiring_api();
    let mut world = World::new([needy]);
    world
        .served
        .insert(GroupVersionKind::new("a1", "v1", "a1Kind"));
    if let Some(available) = available {
        let fact = api_service(available, "csv1", Some(CsvPhase::Pending));
        world.api_services.insert("v1.a1".to_owned(), fact);
    }
    expect_unmet(&mut world, "APIService v1.a1: NotPresent");
}

// SingleCSVPendingToPending/APIService/Owned/DeploymentNotFound
#[test]
fn an_owned_api_without_a_deployment_is_a_requirement_that_is_missing() {
    let csv = csv("csv1", &CsvPhase::Pending).owning_api("a1");
    let mut world = World::new([csv]).provided("c1.v1.g1,a1Kind.v1.a1");
    expect_unmet(&mut world, "APIService v1.a1: DeploymentNotFound");
}

// CSVPendingToFailed/CRDOwnerConflict
#[test]
fn a_crd_of_another_operator_of_the_namespace_fails_it() {
    let (owner, late) = (
        csv("csv1", &CsvPhase::Succeeded),
        csv("csv2", &CsvPhase::Pending),
    );
    let mut world = World::new([owner, late]).with_installed("csv1", super::world::running());
    world.sync().expect_phase("csv1", &CsvPhase::Succeeded);
    let words = "conflicting CRD owner in namespace: CustomResourceDefinition c1.g1 belongs to \
                 ClusterServiceVersion csv1";
    world.expect("csv2", &CsvPhase::Failed, &CsvReason::OwnerConflict, words);
}

// CSVPendingToFailed/APIServiceOwnerConflict
#[test]
fn an_api_service_of_another_operator_fails_it() {
    let serving = |name, phase| {
        csv(name, phase)
            .without_crds()
            .owning_api(&format!("{name}-dep1"))
    };
    let mut world = World::new([
        serving("csv1", &CsvPhase::Succeeded),
        serving("csv2", &CsvPhase::Pending),
    ])
    .provided("a1Kind.v1.a1")
    .with_installed("csv1", super::world::running());
    let fact = api_service(true, "csv1", Some(CsvPhase::Succeeded));
    world.api_services.insert("v1.a1".to_owned(), fact);
    world.sync().expect_phase("csv1", &CsvPhase::Succeeded);
    let words = "unable to adopt APIService: v1.a1 belongs to ClusterServiceVersion ns/csv1";
    world.expect("csv2", &CsvPhase::Failed, &CsvReason::OwnerConflict, words);
}

// SingleCSVPendingToInstallReady/CRD
#[test]
fn a_csv_whose_crd_is_there_is_ready_to_be_installed() {
    let mut world = World::new([csv("csv1", &CsvPhase::Pending)]);
    world.sync();
    let words = "all requirements found, attempting install";
    world.expect(
        "csv1",
        &CsvPhase::InstallReady,
        &CsvReason::AllRequirementsMet,
        words,
    );
}

// SingleCSVPendingToInstallReady/APIService/Required
#[test]
fn a_csv_whose_api_answers_is_ready_to_be_installed() {
    let needy = csv("csv1", &CsvPhase::Pending)
        .without_crds()
        .requiring_api();
    let mut world = World::new([needy]);
    world
        .served
        .insert(GroupVersionKind::new("a1", "v1", "a1Kind"));
    let fact = api_service(true, "csv1", Some(CsvPhase::Pending));
    world.api_services.insert("v1.a1".to_owned(), fact);
    world.sync().expect_phase("csv1", &CsvPhase::InstallReady);
}

#[test]
fn a_webhook_that_is_asked_about_everything_fails_it() {
    let mut greedy = csv("csv1", &CsvPhase::Pending);
    greedy.spec.webhook_definitions = serde_json::from_value(json!([{
        "generateName": "greedy", "rules": [{"apiGroups": ["*"], "resources": ["pods"]}],
    }]))
    .unwrap();
    let mut world = World::new([greedy]);
    world.sync();
    let words = "webhook rules cannot include all groups: see the rules of greedy";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::InvalidWebhookDescription,
        words,
    );
}
