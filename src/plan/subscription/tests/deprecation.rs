//! What a catalog advises against.

use super::*;
use crate::catalog::fbc;
use crate::resolver::{Bundle, Channel, Package};
use SubscriptionConditionType::{
    BundleDeprecated, ChannelDeprecated, Deprecated, PackageDeprecated,
};

/// The package `ship` with `ship.v1` in channel `stable`, deprecated at all levels.
fn package() -> Package {
    let entry = fbc::Entry {
        name: "ship.v1".to_owned(),
        ..fbc::Entry::default()
    };
    let listed = fbc::Channel {
        package: "ship".to_owned(),
        name: "stable".to_owned(),
        entries: vec![entry],
        properties: Vec::new(),
    };
    let mut bundle = Bundle::new("ship", "ship.v1".to_owned(), "1.0.0", Vec::new());
    bundle.deprecation = Some("it leaks".to_owned());
    let channel = Channel::new(listed, Some("take another".to_owned()));
    let mut package = Package::new(
        "ship".to_owned(),
        "stable".to_owned(),
        vec![channel],
        vec![bundle],
    );
    package.deprecation = Some("no longer built".to_owned());
    package
}

fn case() -> Case {
    let mut case = Case::new()
        .solved(keeps("ship.v1"))
        .csv("ship.v1", CsvPhase::Succeeded);
    case.deprecations = Deprecations::of(&case.subscription.spec, &package(), "ship.v1");
    case
}

#[test]
fn every_level_has_its_condition_and_all_are_summed_up() {
    let status = case().status();
    assert_eq!(
        line(&status, &PackageDeprecated),
        "True : olm.package/ship: no longer built"
    );
    assert_eq!(
        line(&status, &ChannelDeprecated),
        "True : olm.channel/stable: take another"
    );
    assert_eq!(
        line(&status, &BundleDeprecated),
        "True : olm.bundle/ship.v1: it leaks"
    );
    assert_eq!(
        line(&status, &Deprecated),
        "True : olm.package/ship: no longer built; olm.channel/stable: take another; \
         olm.bundle/ship.v1: it leaks"
    );
}

#[test]
fn nobody_is_blamed_for_a_channel_that_they_did_not_choose() {
    let mut case = case().go_on();
    case.subscription.spec.channel.clear();
    let with = case.status();
    case.deprecations = None;
    for status in [with, case.status()] {
        assert_eq!(short(&status, &ChannelDeprecated), "-");
        assert_eq!(
            line(&status, &Deprecated),
            "True : olm.package/ship: no longer built; olm.bundle/ship.v1: it leaks"
        );
    }
}

#[test]
fn what_is_no_longer_deprecated_is_no_longer_mentioned() {
    let mut case = case().go_on();
    case.deprecations = Some(Deprecations {
        csv: "ship.v1".to_owned(),
        ..Deprecations::default()
    });
    let status = case.status();
    for type_ in [
        Deprecated,
        PackageDeprecated,
        ChannelDeprecated,
        BundleDeprecated,
    ] {
        assert_eq!(short(&status, &type_), "-");
    }
}

#[test]
fn a_catalog_that_says_nothing_leaves_what_was_said_about_the_same_things() {
    let mut case = case().go_on();
    case.deprecations = None;
    let before = case.subscription.status.clone().unwrap();
    assert_eq!(case.status(), before);
    let status = case
        .solved(keeps("ship.v2"))
        .csv("ship.v2", CsvPhase::Succeeded)
        .status();
    assert_eq!(short(&status, &BundleDeprecated), "-");
    assert_eq!(
        line(&status, &Deprecated),
        "True : olm.package/ship: no longer built; olm.channel/stable: take another"
    );
}

#[test]
fn a_csv_is_looked_up_in_the_channel_that_is_followed() {
    let mut spec = Case::new().subscription.spec;
    assert_eq!(Deprecations::of(&spec, &package(), "ship.v2"), None);
    assert!(Deprecations::of(&spec, &package(), "ship.v1").is_some());
    spec.channel = "beta".to_owned();
    assert_eq!(Deprecations::of(&spec, &package(), "ship.v1"), None);
    spec.channel.clear();
    assert!(Deprecations::of(&spec, &package(), "ship.v1").is_some());
}
