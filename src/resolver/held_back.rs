//! Why an installed operator is not upgraded although there is something newer.

use super::budget::Effort;
use super::explain::{SUMMARY, in_one_line};
use super::problem::{ChoiceId, Group, Need, NeedId, Problem, What};
use super::proof::{Verdict, refute};
use super::resolve::{Outcome, task};
use super::search::{Answer, Selection, search};
use super::solution::HeldBack;
use super::story::Story;
use super::words;

/// The upgrades of a group that its solution leaves out, each with the reason.
pub(super) fn held_back(
    problem: &mut Problem<'_>,
    group: &Group,
    outcome: Outcome<'_>,
    effort: &Effort,
) -> Vec<HeldBack> {
    let mut held_back = Vec::new();
    for &at in &group.subscriptions {
        let Some(upgrade) = passed_over(problem, at, outcome.selection) else {
            continue;
        };
        held_back.push(HeldBack {
            subscription: problem.subscription(at).name.clone(),
            bundle: problem.name(upgrade).to_owned(),
            because: in_one_line(
                &because(problem, group, at, upgrade, outcome.ignored, effort),
                SUMMARY,
            ),
        });
    }
    held_back
}

/// The upgrade that a Subscription would have liked best, if it got none.
fn passed_over(problem: &Problem<'_>, at: usize, selection: &Selection) -> Option<ChoiceId> {
    let current = problem.present.current.get(at).copied().flatten()?;
    let current = problem.installed.get(&current)?;
    let preferred = problem.needs[problem.roots[at]].candidates.first()?;
    (selection.choices.contains(current) && preferred != current).then_some(*preferred)
}

/// What is in the way of one candidate: a need that nothing but this candidate meets is put in the
/// place of the Subscription's.
fn because(
    problem: &mut Problem<'_>,
    group: &Group,
    at: usize,
    upgrade: ChoiceId,
    ignored: &[(ChoiceId, NeedId)],
    effort: &Effort,
) -> String {
    problem.needs.push(Need {
        what: What::Subscription(at),
        candidates: vec![upgrade],
        obstacles: Vec::new(),
    });
    let only = problem.needs.len() - 1;
    let mut task = task(problem, &group.subscriptions, &group.facts);
    // What is installed may contradict itself, and that is no reason for anything else.
    task.ignored = ignored.iter().copied().collect();
    for need in &mut task.needs {
        if *need == problem.roots[at] {
            *need = only;
        }
    }
    let verdict = match search(problem, &task, effort) {
        Answer::Impossible => refute(problem, &task, effort),
        Answer::Solution(_) | Answer::TooHard => Verdict::TooHard,
    };
    let because = match verdict {
        Verdict::Impossible(proof) => Story::new(problem, &proof).short_of(only),
        Verdict::Possible(_) | Verdict::TooHard => format!(
            "{} does not go with what other Subscriptions get, which come first by name",
            words::choice(problem, upgrade)
        ),
    };
    problem.needs.pop();
    because
}
