//! Times, sizes, and what somebody else wrote.

use super::super::text::{MESSAGE_LIMIT, bounded};
use super::*;
use SubscriptionConditionType::{Healthy, Resolved};

#[test]
fn nothing_changes_when_nothing_changed_not_even_a_time() {
    let case = Case::new().solved(keeps("ship.v1"));
    let case = case.csv("ship.v1", CsvPhase::Succeeded).go_on();
    let status = case.status_at(1000);
    assert_eq!(Some(&status), case.subscription.status.as_ref());
    assert_eq!(status.last_updated, Some(time(1)));
}

#[test]
fn only_a_condition_whose_status_changes_gets_a_new_time() {
    let case = Case::new().solved(keeps("ship.v1"));
    let case = case.csv("ship.v1", CsvPhase::Installing).go_on();
    let later = case.csv("ship.v1", CsvPhase::Succeeded).status_at(9);
    let changed = |type_| later.condition(type_).unwrap().last_transition_time.clone();
    assert_eq!(changed(&Healthy), Some(time(9)));
    assert_eq!(changed(&Resolved), Some(time(1)));
    assert_eq!(later.last_updated, Some(time(9)));
}

#[test]
fn the_order_of_conditions_and_all_times_are_nothing_to_write_about() {
    let a = Case::new().status_at(1);
    let mut b = Case::new().status_at(2);
    b.conditions.reverse();
    assert!(same(&a, &b));
    b.conditions[0].message.push('!');
    assert!(!same(&a, &b));
}

#[test]
fn a_time_that_is_required_and_missing_is_worth_a_write() {
    let mut case = Case::new().go_on();
    case.subscription.status.as_mut().unwrap().last_updated = None;
    assert_eq!(case.status_at(3).last_updated, Some(time(3)));
    let mut case = Case::new().go_on();
    let status = case.subscription.status.as_mut().unwrap();
    status.catalog_health[0].last_updated = None;
    let health = &case.status_at(3).catalog_health[0];
    assert_eq!(health.last_updated, Some(time(3)));
}

#[test]
fn conditions_of_others_stay() {
    let foreign = json!({ "type": "Painted", "status": "True", "reason": "Blue" });
    let case = Case::new().said(json!({ "conditions": [foreign] }));
    let status = case.status();
    assert_eq!(
        short(
            &status,
            &SubscriptionConditionType::Other("Painted".to_owned())
        ),
        "True Blue"
    );
}

#[test]
fn a_message_fits_and_no_character_is_cut() {
    let case = Case::new().answered(Answer::Error("ü".repeat(MESSAGE_LIMIT)));
    let status = case.status();
    let message = &status.condition(&Resolved).unwrap().message;
    assert!(message.len() <= MESSAGE_LIMIT && message.len() > MESSAGE_LIMIT - 4);
    assert!(message.ends_with("ü…"));
    let fits = "x".repeat(MESSAGE_LIMIT);
    assert_eq!(bounded(fits.clone()), fits);
}
