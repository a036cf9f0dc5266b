//! Every file below `tests/fixtures/resolver` is a case.

use std::collections::BTreeSet;
use std::path::Path;

use chandler::resolver::{Component, Resolution, Solution, resolve, solve};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::scenario::{Input, World, files, folder};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) prose: String,
    #[serde(default)]
    olm: Option<String>,
    #[serde(default)]
    departs: Option<String>,
    expect: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    subscriptions: Vec<String>,
    #[serde(default)]
    solved: Option<Solved>,
    #[serde(default)]
    unsolvable: Option<Unsolvable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Solved {
    install: Vec<ExpectedInstall>,
    generated: Vec<String>,
    kept: Option<Vec<String>>,
    held_back: Option<Vec<String>>,
    because: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct ExpectedInstall {
    bundle: String,
    catalog: String,
    channel: String,
    replaces: String,
    requested_by: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Unsolvable {
    summary: Option<String>,
    nearest: Option<Vec<String>>,
    contains: Vec<String>,
    lacks: Vec<String>,
}

/// Reads a case: the input's keys and the scenario's own are in one document.
pub(crate) fn read(path: &Path) -> (Input, Scenario) {
    let text = fs_err::read_to_string(path).unwrap();
    let document: serde_json::Value = chandler::yaml::from_str(&path.display().to_string(), &text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let serde_json::Value::Object(mut input) = document else {
        panic!("{} is not a mapping", path.display())
    };
    let mut scenario = serde_json::Map::new();
    for key in ["prose", "olm", "departs", "expect"] {
        scenario.extend(input.remove(key).map(|value| (key.to_owned(), value)));
    }
    let error = |error: serde_json::Error| -> ! { panic!("{}: {error}", path.display()) };
    let input = serde_json::from_value(input.into()).unwrap_or_else(|e| error(e));
    let scenario = serde_json::from_value(scenario.into()).unwrap_or_else(|e| error(e));
    (input, scenario)
}

fn differences(expected: &[Expected], resolution: &Resolution) -> Vec<String> {
    let mut differences = Vec::new();
    let wanted: Vec<&[String]> = expected.iter().map(|one| &one.subscriptions[..]).collect();
    let got: Vec<&[String]> = resolution
        .components
        .iter()
        .map(Component::subscriptions)
        .collect();
    if wanted != got {
        differences.push(format!("outcomes for {got:?} instead of {wanted:?}"));
        return differences;
    }
    for (expected, component) in expected.iter().zip(&resolution.components) {
        match (&expected.solved, &expected.unsolvable, component) {
            (Some(expected), None, Component::Solved(solution)) => {
                let install: Vec<ExpectedInstall> = solution
                    .install
                    .iter()
                    .map(|install| ExpectedInstall {
                        bundle: install.bundle.clone(),
                        catalog: install.catalog.clone(),
                        channel: install.channel.clone(),
                        replaces: install.replaces.clone(),
                        requested_by: install.requested_by.clone(),
                    })
                    .collect();
                if install != expected.install {
                    differences.push(format!(
                        "installs {install:#?}\n  instead of {:#?}",
                        expected.install
                    ));
                }
                let generated: Vec<&String> =
                    solution.subscriptions.iter().map(|one| &one.name).collect();
                if generated != expected.generated.iter().collect::<Vec<_>>() {
                    differences.push(format!(
                        "generates {generated:?} instead of {:?}",
                        expected.generated
                    ));
                }
                let kept: Vec<String> = solution.kept.iter().map(|kept| kept.csv.clone()).collect();
                if expected.kept.as_ref().is_some_and(|wanted| *wanted != kept) {
                    differences.push(format!("keeps {kept:?} instead of {:?}", expected.kept));
                }
                let held_back = solution.held_back.iter();
                let held_back: Vec<String> = held_back.map(|held| held.bundle.clone()).collect();
                if expected
                    .held_back
                    .as_ref()
                    .is_some_and(|wanted| *wanted != held_back)
                {
                    differences.push(format!("holds back {held_back:?}"));
                }
                let reasons: Vec<&String> = solution
                    .held_back
                    .iter()
                    .map(|held| &held.because)
                    .collect();
                for because in &expected.because {
                    if !reasons.iter().any(|reason| reason.contains(because)) {
                        differences.push(format!("held back because of {reasons:?}"));
                    }
                }
                for note in &expected.notes {
                    if !solution.notes.iter().any(|said| said.contains(note)) {
                        differences.push(format!("no note with {note:?} in {:?}", solution.notes));
                    }
                }
            }
            (None, Some(expected), Component::Unsolvable(explanation)) => {
                let text = format!("{}\n{}", explanation.summary, explanation.text);
                for wanted in &expected.contains {
                    if !text.contains(wanted) {
                        differences.push(format!("no {wanted:?} in:\n{text}"));
                    }
                }
                for unwanted in &expected.lacks {
                    if text.contains(unwanted) {
                        differences.push(format!("{unwanted:?} in:\n{text}"));
                    }
                }
                if expected
                    .summary
                    .as_ref()
                    .is_some_and(|wanted| *wanted != explanation.summary)
                {
                    differences.push(format!("the summary is {:?}", explanation.summary));
                }
                let nearest: Vec<String> = explanation
                    .nearest
                    .iter()
                    .map(|near| near.change.clone())
                    .collect();
                if expected
                    .nearest
                    .as_ref()
                    .is_some_and(|wanted| *wanted != nearest)
                {
                    differences.push(format!("the nearest changes are {nearest:?}"));
                }
            }
            (_, _, component) => differences.push(format!("the outcome is {component:#?}")),
        }
    }
    differences
}

#[test]
fn every_scenario_ends_as_it_says() {
    let mut failed = Vec::new();
    for path in files() {
        let (input, scenario) = read(&path);
        let world = World::new(input);
        let resolution = resolve(&world.request());
        let differences = differences(&scenario.expect, &resolution);
        if !differences.is_empty() {
            let name = path.strip_prefix(folder()).unwrap().display().to_string();
            failed.push(format!(
                "{name}: {}\n  {}",
                scenario.prose.trim(),
                differences.join("\n  ")
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} scenarios fail:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

#[test]
fn a_second_run_gives_the_same_bytes() {
    for path in files() {
        let (input, _) = read(&path);
        let (first, second) = (World::new(input.clone()), World::new(input));
        let bytes = |world: &World| serde_json::to_vec(&resolve(&world.request())).unwrap();
        assert_eq!(bytes(&first), bytes(&second), "{}", path.display());
    }
}

#[test]
fn scenarios_say_what_they_show() {
    let mut names = BTreeSet::new();
    for path in files() {
        let (_, scenario) = read(&path);
        assert!(!scenario.prose.trim().is_empty(), "{}", path.display());
        for expected in &scenario.expect {
            let outcomes = [expected.solved.is_some(), expected.unsolvable.is_some()];
            assert!(outcomes[0] != outcomes[1], "{}", path.display());
        }
        names.extend(scenario.olm);
        let says_nothing = |departs: String| departs.trim().is_empty();
        assert!(
            !scenario.departs.is_some_and(says_nothing),
            "{}",
            path.display()
        );
    }
    assert!(names.len() >= 100, "{} cases of OLM", names.len());
}

/// A catalog can be of any size, and somebody may have made it so.
#[test]
fn ten_thousand_versions_that_cannot_be_had_end_in_words() {
    let version = |at: usize| format!("1.{at}.0");
    let name = |at: usize| format!("huge.v{}", version(at));
    let versions = 10_000;
    let bundles: Vec<serde_json::Value> = (0..versions)
        .map(|at| serde_json::json!({"name": name(at), "version": version(at), "requires": [{"api": "g/v/Missing"}]}))
        .collect();
    let entries: Vec<serde_json::Value> = (0..versions)
        .map(|at| serde_json::json!({"name": name(at), "replaces": if at == 0 { String::new() } else { name(at - 1) }}))
        .collect();
    let input: Input = serde_json::from_value(serde_json::json!({
        "catalogs": [{"name": "hostile", "packages": [{
            "name": "huge",
            "defaultChannel": "stable",
            "channels": [{"name": "stable", "entries": entries}],
            "bundles": bundles,
        }]}],
        "subscriptions": [{"name": "huge"}],
    }))
    .unwrap();
    let world = World::new(input);
    // A worker's stack, not that of the main thread.
    let resolution = std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        let handle = small
            .spawn_scoped(scope, || resolve(&world.request()))
            .unwrap();
        handle.join().unwrap()
    });
    let [Component::Unsolvable(explanation)] = &resolution.components[..] else {
        panic!("{resolution:?}")
    };
    assert!(!explanation.summary.is_empty());
    assert!(
        explanation.text.lines().count() < 100,
        "{}",
        explanation.text
    );
}

/// Each driver owns an API that a site has in all its versions, so that an app that needs a driver has none. A
/// search that goes back site by site does not find that out before it gives up. The first site, and a mate
/// that has nothing to do with that, need the same library.
fn hard(versions: Vec<Value>, more: &[&str]) -> Input {
    let library = json!([{"api": "g/v/Library"}]);
    let mut packages = vec![
        package("app", versions),
        package("library", vec![json!({"provides": ["g/v/Library"]})]),
        package("mate", vec![json!({"requires": library})]),
    ];
    for at in SITES {
        let apis = json!([format!("g/v/Site{at}")]);
        let site = json!({"provides": apis, "requires": if at == 0 { library.clone() } else { json!([]) }});
        packages.push(package(&format!("site{at}"), vec![site; 4]));
        let driver = json!({"provides": apis, "labels": ["driver"]});
        packages.push(package(&format!("driver{at}"), vec![driver]));
    }
    let sites = SITES.map(|at| format!("site{at}"));
    let others = more.iter().map(|&name| name.to_owned());
    let subscriptions: Vec<Value> = std::iter::once("app".to_owned())
        .chain(others)
        .chain(sites)
        .map(|name| json!({"name": name}))
        .collect();
    let input = json!({
        "catalogs": [{"name": "hard", "packages": packages}],
        "subscriptions": subscriptions,
    });
    serde_json::from_value(input).unwrap()
}

const SITES: std::ops::Range<usize> = 0..9;

fn needs_a_driver() -> Value {
    json!({"requires": [{"label": "driver"}]})
}

fn installed(solution: &Solution) -> Vec<String> {
    let installs = solution.install.iter();
    installs
        .map(|install| format!("{} for {}", install.bundle, install.requested_by.join(", ")))
        .collect()
}

#[test]
fn what_the_search_gives_up_pubgrub_finds() {
    let input = hard(vec![json!({}), needs_a_driver()], &[]);
    let resolution = solve(&World::new(input).request());
    let [Component::Solved(solution)] = &resolution.components[..] else {
        panic!("{resolution:?}")
    };
    let mut expected = vec![
        "app.v1.0.0 for app".to_owned(),
        "library.v1.0.0 for site0.v4.0.0".to_owned(),
    ];
    expected.extend(SITES.map(|at| format!("site{at}.v4.0.0 for site{at}")));
    assert_eq!(installed(solution), expected);
}

#[test]
fn what_is_hard_to_refuse_sets_nobody_aside_who_has_nothing_to_do_with_it() {
    let input = hard(vec![needs_a_driver()], &["mate"]);
    let resolution = solve(&World::new(input).request());
    let [Component::Unsolvable(refused), Component::Solved(solution)] = &resolution.components[..]
    else {
        panic!("{resolution:?}")
    };
    let mut conflicting = vec!["app".to_owned()];
    conflicting.extend(SITES.map(|at| format!("site{at}")));
    assert_eq!(refused.requests, conflicting);
    assert_eq!(
        installed(solution),
        ["library.v1.0.0 for mate.v1.0.0", "mate.v1.0.0 for mate"]
    );
}

/// A package of one channel, from the oldest bundle to the newest.
fn package(name: &str, bundles: Vec<Value>) -> Value {
    let csv = |version: usize| format!("{name}.v{version}.0.0");
    let entries: Vec<Value> = (1..=bundles.len())
        .map(|version| json!({"name": csv(version), "replaces": if version == 1 { String::new() } else { csv(version - 1) }}))
        .collect();
    let mut bundles = bundles;
    for (bundle, version) in bundles.iter_mut().zip(1..) {
        bundle["name"] = csv(version).into();
        bundle["version"] = format!("{version}.0.0").into();
    }
    json!({
        "name": name,
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": bundles,
    })
}

#[test]
fn in_which_order_subscriptions_and_catalogs_are_listed_changes_no_byte() {
    for path in files() {
        let (input, _) = read(&path);
        let bytes = |input: Input| {
            let resolution = resolve(&World::new(input).request());
            serde_json::to_string_pretty(&resolution).unwrap()
        };
        // Without a name, a Subscription takes the first catalog.
        let names_catalogs = input.subscriptions.iter().all(|one| one.catalog.is_some());
        let mut other = input.clone();
        other.subscriptions.reverse();
        if names_catalogs {
            other.catalogs.reverse();
        }
        assert!(bytes(input) == bytes(other), "{}", path.display());
    }
}
