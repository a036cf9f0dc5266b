//! Where a Subscription goes from what it has, one upgrade after the other.

use chandler::resolver::{Component, Course, course};
use serde_json::{Value, json};

use crate::support::scenario::{Input, World};

/// Packages of one channel in which each version replaces the one before, by name and versions.
fn follow(packages: &Value, installed: &Value, subscriptions: &Value, most: usize) -> Course {
    let input: Input = serde_json::from_value(json!({
        "catalogs": [{"name": "hub", "packages": packages}],
        "installed": installed,
        "subscriptions": subscriptions,
    }))
    .unwrap();
    course(&World::new(input).request(), "app", most)
}

fn package(name: &str, bundles: &[Value]) -> Value {
    let csv = |number: usize| format!("{name}.v{number}.0.0");
    let entries: Vec<Value> = (1..=bundles.len())
        .map(|number| match number {
            1 => json!({"name": csv(1)}),
            _ => json!({"name": csv(number), "replaces": csv(number - 1)}),
        })
        .collect();
    let bundles: Vec<Value> = bundles
        .iter()
        .zip(1..)
        .map(|(bundle, number)| {
            let mut bundle = bundle.clone();
            bundle["name"] = csv(number).into();
            bundle["version"] = format!("{number}.0.0").into();
            bundle
        })
        .collect();
    json!({
        "name": name,
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": bundles,
    })
}

fn csv(package: &str, number: usize) -> Value {
    json!({
        "name": format!("{package}.v{number}.0.0"),
        "version": format!("{number}.0.0"),
        "package": package,
    })
}

fn subscription(package: &str, number: usize) -> Value {
    json!({"name": package, "installedCSV": format!("{package}.v{number}.0.0")})
}

fn names(course: &Course) -> Vec<String> {
    let steps = course.steps.iter();
    steps
        .map(|step| format!("{} → {}", step.replaces, step.bundle))
        .collect()
}

#[test]
fn it_goes_one_step_after_the_other_to_the_newest() {
    let packages = json!([package("app", &[json!({}), json!({}), json!({})])]);
    let installed = json!([csv("app", 1)]);
    let subscriptions = json!([subscription("app", 1)]);
    let whole = follow(&packages, &installed, &subscriptions, 10);
    assert_eq!(
        names(&whole),
        ["app.v1.0.0 → app.v2.0.0", "app.v2.0.0 → app.v3.0.0"]
    );
    let Some(Component::Solved(end)) = &whole.end else {
        panic!("{whole:?}")
    };
    assert_eq!(end.kept[0].csv, "app.v3.0.0");
    // Who looks no further is not told that this is the end.
    let part = follow(&packages, &installed, &subscriptions, 1);
    assert_eq!(names(&part), ["app.v1.0.0 → app.v2.0.0"]);
    assert_eq!(part.end, None);
}

#[test]
fn it_ends_where_something_is_missing_and_says_what() {
    let lacks = json!({"requires": [{"api": "g/v/Missing"}]});
    let packages = json!([package("app", &[json!({}), json!({}), lacks])]);
    let found = follow(
        &packages,
        &json!([csv("app", 1)]),
        &json!([subscription("app", 1)]),
        10,
    );
    assert_eq!(names(&found), ["app.v1.0.0 → app.v2.0.0"]);
    let Some(Component::Solved(end)) = &found.end else {
        panic!("{found:?}")
    };
    assert_eq!(end.held_back[0].bundle, "app.v3.0.0");
    assert!(end.held_back[0].because.contains("Missing"), "{end:?}");
}

#[test]
fn what_a_step_brings_is_there_for_the_next() {
    // The third needs what the second brought with it, in its second version.
    let first_lib = json!({"requires": [{"package": "lib", "range": ">=1.0.0"}]});
    let second_lib = json!({"requires": [{"package": "lib", "range": ">=2.0.0"}]});
    let packages = json!([
        package("app", &[json!({}), first_lib, second_lib]),
        package("lib", &[json!({}), json!({})]),
    ]);
    let found = follow(
        &packages,
        &json!([csv("app", 1), csv("lib", 1)]),
        &json!([subscription("app", 1), subscription("lib", 1)]),
        10,
    );
    let last = found.steps.last().map(|step| step.bundle.as_str());
    assert_eq!(last, Some("app.v3.0.0"), "{found:?}");
}

#[test]
fn it_stays_within_the_versions_that_it_asks_for_and_goes_back_to_them() {
    let packages = json!([package("app", &[json!({}), json!({}), json!({})])]);
    let mut pinned = subscription("app", 1);
    pinned["version"] = "<3".into();
    let found = follow(&packages, &json!([csv("app", 1)]), &json!([pinned]), 10);
    assert_eq!(names(&found), ["app.v1.0.0 → app.v2.0.0"]);
    let mut older = subscription("app", 3);
    older["version"] = "1.0.0".into();
    let found = follow(&packages, &json!([csv("app", 3)]), &json!([older]), 10);
    assert_eq!(names(&found), ["app.v3.0.0 → app.v1.0.0"]);
    assert!(found.end.is_some(), "{found:?}");
}

#[test]
fn an_upgrade_under_way_is_taken_for_done() {
    let packages = json!([package("app", &[json!({}), json!({}), json!({})])]);
    let mut new = csv("app", 2);
    new["replaces"] = "app.v1.0.0".into();
    new["phase"] = "Installing".into();
    let found = follow(
        &packages,
        &json!([csv("app", 1), new]),
        &json!([subscription("app", 1)]),
        10,
    );
    assert_eq!(names(&found), ["app.v2.0.0 → app.v3.0.0"]);
}

#[test]
fn what_cannot_be_met_goes_nowhere() {
    let packages = json!([package("other", &[json!({})])]);
    let found = follow(&packages, &json!([]), &json!([{"name": "app"}]), 10);
    assert_eq!(found.steps, []);
    assert!(
        matches!(found.end, Some(Component::Unsolvable(_))),
        "{found:?}"
    );
}
