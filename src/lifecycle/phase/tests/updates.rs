//! A chain of three versions that appear at once, looked at in any order.

use kube::ResourceExt as _;
use rstest::rstest;

use super::world::{Csv as _, World, csv};
use crate::api::conditions::CsvPhase;

/// How far one of them is: nothing if it is gone.
fn phase(world: &World, name: &str) -> Option<CsvPhase> {
    world.exists(name).then(|| world.status(name).phase)
}

#[rstest]
#[case::abc(["a", "b", "c"])]
#[case::acb(["a", "c", "b"])]
#[case::bac(["b", "a", "c"])]
#[case::bca(["b", "c", "a"])]
#[case::cba(["c", "b", "a"])]
#[case::cab(["c", "a", "b"])]
fn each_version_runs_before_the_next_takes_over_and_only_the_last_is_left(
    #[case] order: [&str; 3],
) {
    let mut world = World::new([
        csv("a", &CsvPhase::Unset),
        csv("b", &CsvPhase::Unset).replaces("a"),
        csv("c", &CsvPhase::Unset).replaces("b"),
    ]);
    let mut ran: Vec<String> = Vec::new();
    for _ in 0..24 {
        for name in order {
            world.sync_one(name);
            for csv in &world.csvs {
                let name = csv.name_any();
                if world.status(&name).phase == CsvPhase::Succeeded && !ran.contains(&name) {
                    ran.push(name);
                }
            }
            for (older, newer) in [("a", "b"), ("b", "c")] {
                let (older, newer) = (phase(&world, older), phase(&world, newer));
                let waits = matches!(newer, Some(CsvPhase::Unset | CsvPhase::Pending));
                let left = matches!(older, None | Some(CsvPhase::Replacing | CsvPhase::Deleting));
                assert!(waits || left, "{newer:?} while the older one is {older:?}");
            }
        }
    }
    assert_eq!(ran, ["a", "b", "c"]);
    assert_eq!(world.csvs.len(), 1);
    world.expect_phase("c", &CsvPhase::Succeeded);
    assert!(!world.sync_one("c"));
}
