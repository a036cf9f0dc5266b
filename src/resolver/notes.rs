//! What is worth knowing about a solution although it stops nothing.

use std::collections::BTreeSet;

use super::candidates::Obstacle;
use super::explain::{SUMMARY, in_one_line};
use super::problem::{ChoiceId, Group, NeedId, Origin, Problem, What};
use super::request::Contents;
use super::words;

/// The notes to a solution, each once.
pub(super) fn notes(
    problem: &Problem<'_>,
    group: &Group,
    choices: &BTreeSet<ChoiceId>,
    ignored: &[(ChoiceId, NeedId)],
) -> Vec<String> {
    let mut notes = Vec::new();
    for &at in &group.subscriptions {
        of_subscription(problem, at, choices, &mut notes);
    }
    for &choice in choices {
        match &problem.choices[choice].origin {
            Origin::Installed(_) => {}
            Origin::Offered(offer) => {
                let catalog = problem.market.catalog(offer.catalog);
                if let Contents::Stale(_, problem) = catalog.contents {
                    notes.push(format!(
                        "catalog {} is served from its last good snapshot: {problem}",
                        catalog.key
                    ));
                }
                let deprecations = [
                    (
                        format!("package {}", offer.package.name),
                        &offer.package.deprecation,
                    ),
                    (
                        format!("channel {}", offer.channel().name()),
                        &offer.channel().deprecation,
                    ),
                    (offer.bundle().name.clone(), &offer.bundle().deprecation),
                ];
                for (what, deprecation) in deprecations {
                    notes.extend(
                        deprecation
                            .as_ref()
                            .map(|why| format!("{what} is deprecated: {why}")),
                    );
                }
            }
        }
    }
    notes.extend(lacking(problem, choices, ignored));
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    notes
        .into_iter()
        .map(|note| in_one_line(&note, SUMMARY))
        .collect()
}

/// What installed operators need that are among these choices, and do not get.
pub(super) fn lacking(
    problem: &Problem<'_>,
    choices: &BTreeSet<ChoiceId>,
    ignored: &[(ChoiceId, NeedId)],
) -> Vec<String> {
    let never = problem.lacking.iter().filter(|(at, _)| {
        let own = problem.installed.get(at);
        own.is_some_and(|choice| choices.contains(choice))
    });
    let never = never.map(|(at, what)| format!("installed {} {what}", problem.installed(*at).name));
    let ignored = ignored
        .iter()
        .filter(|(choice, _)| choices.contains(choice));
    let ignored = ignored.filter_map(|(choice, need)| match &problem.needs[*need].what {
        What::Requirement { requirement, .. } => Some(format!(
            "installed {} needs {requirement}, which cannot be had beside what else is installed",
            problem.name(*choice)
        )),
        What::Subscription(_) => None,
    });
    never.chain(ignored).collect()
}

fn of_subscription(
    problem: &Problem<'_>,
    at: usize,
    choices: &BTreeSet<ChoiceId>,
    notes: &mut Vec<String>,
) {
    let subscription = problem.subscription(at);
    let Some(current) = problem.present.current.get(at).copied().flatten() else {
        return;
    };
    let is_kept = problem
        .installed
        .get(&current)
        .is_some_and(|choice| choices.contains(choice));
    if !is_kept {
        return;
    }
    let csv = problem.installed(current);
    if problem.present.underway.contains(&current) {
        notes.push(format!("further upgrades wait until {} runs", csv.name));
        return;
    }
    let need = &problem.needs[problem.roots[at]];
    for obstacle in &need.obstacles {
        if let Obstacle::UnreadableCatalog { .. }
        | Obstacle::Malformed { .. }
        | Obstacle::NoDefault { .. }
        | Obstacle::LeftOut { .. }
        | Obstacle::Curated { .. } = obstacle
        {
            let why = words::obstacle(problem, obstacle, Some(subscription));
            notes.push(format!("{} stays as it is: {why}", csv.name));
        }
    }
    let barred: Vec<&Obstacle> = need
        .obstacles
        .iter()
        .filter(|obstacle| matches!(obstacle, Obstacle::Barred { .. }))
        .collect();
    let reasons = words::barred(problem, &barred, Some(subscription)).into_iter();
    notes.extend(reasons.map(|why| format!("{} stays as it is: {why}", csv.name)));
    if need.candidates.len() == 1
        && need.obstacles.is_empty()
        && !words::is_newest(problem, subscription, &csv.name)
    {
        notes.push(format!(
            "{} stays as it is: {} lists nothing that upgrades it (what others skip upgrades nothing)",
            csv.name,
            words::place(subscription)
        ));
    }
}
