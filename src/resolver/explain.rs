//! From what is stuck to its explanation.

use std::collections::BTreeSet;

use super::candidates::Obstacle;
use super::explanation::{Explanation, Reason};
use super::nearest::{self, Tries};
use super::problem::{Problem, What};
use super::proof::Proof;
use super::request::CatalogKey;
use super::resolve::Stuck;
use super::story::Story;
use super::tree;
use super::words;

/// How long a summary is at most: a condition of a Subscription has it, and people read that in a table.
pub(super) const SUMMARY: usize = 1_000;
/// How long a line of the whole text is at most.
const LINE: usize = 4_000;

/// Explains why the Subscriptions that were set aside cannot be met; with `tries` also what would help.
pub(super) fn explain(problem: &Problem<'_>, stuck: &Stuck, tries: Option<&Tries>) -> Explanation {
    let requests = stuck
        .aside
        .iter()
        .map(|&at| problem.subscription(at).name.clone())
        .collect();
    let Some(proof) = &stuck.proof else {
        return unexplained(requests, tries.is_some());
    };
    let mut story = Story::new(problem, proof);
    let summary = story.summary(&stuck.aside);
    story.tell(stuck);
    let nearest = tries.map(|tries| nearest::changes(problem, stuck, tries));
    let nearest = nearest.unwrap_or_default();
    if !nearest.is_empty() {
        story.lines.push("What would work:".to_owned());
        for change in &nearest {
            story.lines.push(format!(
                "  - {}, which gives {}",
                change.change,
                words::list(&change.gives)
            ));
        }
    }
    if tries.is_some() && nearest.is_empty() {
        let steps = next_steps(problem, proof);
        if !steps.is_empty() {
            story.lines.push("What to do next:".to_owned());
            story
                .lines
                .extend(steps.iter().map(|step| format!("  - {step}")));
        }
    }
    let lines = story.lines.iter();
    let lines: Vec<String> = lines.map(|line| in_one_line(line, LINE)).collect();
    Explanation {
        requests,
        summary: in_one_line(&summary, SUMMARY),
        text: lines.join("\n"),
        nearest,
        tree: tree::reason(problem, &proof.tree),
    }
}

/// How many steps are told.
const STEPS: usize = 3;

/// What people can do where no change of Subscriptions helps: look after catalogs, or find others.
fn next_steps(problem: &Problem<'_>, proof: &Proof) -> BTreeSet<String> {
    let mut steps = BTreeSet::new();
    let inner = proof.needs.iter().map(|(_, need)| need);
    for need in inner.chain(&proof.roots).map(|need| &problem.needs[*need]) {
        for obstacle in &need.obstacles {
            steps.extend(step(problem, obstacle));
        }
        if let What::Requirement { requirement, .. } = &need.what
            && need.candidates.is_empty()
            && need.obstacles.is_empty()
        {
            steps.insert(format!("add a catalog that has {requirement}"));
        }
    }
    steps.into_iter().take(STEPS).collect()
}

fn step(problem: &Problem<'_>, obstacle: &Obstacle) -> Option<String> {
    let key = |catalog: &usize| &problem.market.catalog(*catalog).key;
    match obstacle {
        Obstacle::UnreadableCatalog { catalog, .. } => {
            let CatalogKey { namespace, name } = key(catalog);
            Some(format!(
                "mend catalog {}: `kubectl describe catalogsource {name} -n {namespace}` tells what is wrong with it",
                key(catalog)
            ))
        }
        Obstacle::Malformed { catalog, .. } | Obstacle::LeftOut { catalog, .. } => Some(format!(
            "tell whoever publishes catalog {}, who has to mend it; `chandler catalog lint` shows them what is wrong",
            key(catalog)
        )),
        _ => None,
    }
}

/// Names and messages are the words of strangers: a line break in one of them must not look like a
/// line of ours.
pub(super) fn in_one_line(text: &str, length: usize) -> String {
    let shown = |c: char| {
        let hidden = c.is_control().then(|| c.escape_default().to_string());
        hidden.unwrap_or_else(|| c.to_string())
    };
    let line: String = text.chars().take(length + 1).map(shown).collect();
    words::bounded(&line, length)
}

/// Nobody wants to know, or nobody can tell.
fn unexplained(requests: Vec<String>, is_wanted: bool) -> Explanation {
    let summary = if is_wanted {
        "no solution was found, and there are too many candidates to say why; name a channel or a version to have fewer"
    } else {
        "cannot be met"
    };
    let summary = summary.to_owned();
    Explanation {
        requests,
        text: summary.clone(),
        nearest: Vec::new(),
        tree: Reason {
            says: summary.clone(),
            because: Vec::new(),
        },
        summary,
    }
}
