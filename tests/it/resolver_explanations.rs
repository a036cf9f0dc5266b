//! `docs/explanations.md` shows what the resolver really says.

use std::fmt::Write as _;

use chandler::resolver::{Component, resolve};

use crate::resolver_scenarios::read;
use crate::support::scenario::{World, folder};

/// The examples in the order of the page, which is that of how often they are met.
const EXAMPLES: [(&str, &str); 15] = [
    ("The package is misspelled", "misspelled_package"),
    ("The channel does not exist", "no_such_channel"),
    ("Another catalog has it", "other_catalog"),
    ("The catalog cannot be read", "unreadable_catalog"),
    (
        "A dependency is pinned to a version that is too old",
        "pinned_dependency",
    ),
    ("A dependency of a dependency is missing", "missing_api"),
    ("Two operators own one API", "two_owners_of_an_api"),
    (
        "Two Subscriptions want one package",
        "two_subscriptions_to_a_package",
    ),
    ("The cluster is too old", "old_cluster"),
    ("Dependencies are only checked", "nothing_by_itself"),
    (
        "The catalog's curation leaves a dependency out",
        "not_offered",
    ),
    ("The pinned version does not exist", "pin_that_is_not_there"),
    ("No upgrade leads to the pinned version", "no_way_there"),
    ("A channel is malformed", "malformed_channel"),
    ("An upgrade is held back", "upgrade_held_back"),
];

const INTRODUCTION: &str = "\
# Why not? Explanations by example

When Subscriptions cannot be met, Chandler says why: one line in the condition `ResolutionFailed` of
the Subscription, and the whole story from `chandler explain` and on the page. What would work was
tried before it is said.

This page is made from the scenarios in `tests/fixtures/resolver/explanations`, by
`UPDATE_DOCS=1 cargo test --test it explanations`.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, name) in EXAMPLES {
        let path = folder().join(format!("explanations/{name}.yaml"));
        let (input, scenario) = read(&path);
        let world = World::new(input);
        let resolution = resolve(&world.request());
        let prose = scenario.prose.trim();
        write!(page, "\n## {title}\n\n{prose}\n").unwrap();
        for component in &resolution.components {
            match component {
                Component::Unsolvable(explanation) => {
                    let (summary, text) = (&explanation.summary, &explanation.text);
                    write!(page, "\n> {summary}\n\n```text\n{text}\n```\n").unwrap();
                }
                Component::Solved(solution) => {
                    for held in &solution.held_back {
                        write!(page, "\n> {}\n", held.because).unwrap();
                    }
                }
            }
        }
    }
    page
}

#[test]
fn the_page_of_explanations_shows_what_is_said() {
    let path = folder().join("../../../docs/explanations.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs_err::write(&path, &page).unwrap();
    }
    let written = fs_err::read_to_string(&path).unwrap();
    assert_eq!(
        written, page,
        "UPDATE_DOCS=1 writes docs/explanations.md anew"
    );
}
