//! `chandler explain`

mod version;
mod why;

use anyhow::Context as _;

use crate::cli::args::output::Output;
use crate::cli::args::plan::Explain as Args;
use crate::cli::failure::Failure;
use crate::cli::situation::{self, Asks, Situation};
use crate::cli::{outcome, printer, similar};
use crate::resolver::{CatalogKey, Component, Explanation, Snapshot, Subscription, resolve};
use crate::version::UserRange;

pub(super) use self::why::{package_of, read};

use self::why::Answer;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (package, range) = asked(&args.package)?;
    let situation = situation::read(
        &args.situation,
        args.subscriptions.as_ref(),
        Asks::ForOne,
        &args.registry,
    )?;
    situation.warn_of_what_is_broken(package);
    let usual = subscription(&situation, package, args.channel.as_deref());
    let wanted = Subscription {
        version: range.clone().or_else(|| usual.version.clone()),
        ..usual.clone()
    };
    let Some(component) = component_for(&situation, &wanted) else {
        // Every Subscription has a component; were there none, there is nothing to say about it.
        return Err(Failure::no(anyhow::anyhow!(
            "nothing is known about package `{package}`"
        )));
    };
    situation.warn_of_groups(std::slice::from_ref(&component));
    if args.output == Output::Text {
        let mut text = told(&situation, &wanted, &component);
        if range.is_some() {
            text.push_str(&beside(&situation, &usual, &wanted, &component));
            text.push_str(&pinned(&usual));
        }
        printer::data(&text)?;
    } else {
        printer::structured(&component, args.output)?;
    }
    match &component {
        Component::Solved(_) => Ok(()),
        Component::Unsolvable(_) => Err(refusal(&situation, package, &component)),
    }
}

/// The answer is no; for a package that nobody has, with what may be meant.
fn refusal(situation: &Situation, package: &str, component: &Component) -> Failure {
    let failure = outcome::refusal(&[component]);
    let names: Vec<String> = situation
        .catalogs
        .iter()
        .filter_map(|catalog| catalog.snapshot())
        .flat_map(Snapshot::names)
        .collect();
    if names.iter().any(|name| name == package) {
        return failure;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match similar::names(package, &names) {
        Some(similar) => failure.hint(similar),
        None => failure,
    }
}

/// `PACKAGE[@RANGE]`
fn asked(text: &str) -> Result<(&str, Option<UserRange>), Failure> {
    let (package, range) = match text.split_once('@') {
        Some((package, range)) => (package, Some(range)),
        None => (text, None),
    };
    if package.trim().is_empty() {
        let error = anyhow::anyhow!("there is no package in `{text}`");
        return Err(Failure::usage(error).hint("name one as in `etcd` or `etcd@0.9.4`"));
    }
    let Some(range) = range else {
        return Ok((package, None));
    };
    let range = UserRange::parse(range)
        .with_context(|| format!("`{range}` is neither a version nor a range"))
        .map_err(|error| {
            Failure::usage(error)
                .hint("write it as in `etcd@0.9.4`, `etcd@^0.9` or `etcd@>=1.2 <2`")
        })?;
    Ok((package, Some(range)))
}

/// The Subscription of the package, or the one that somebody would make.
pub(super) fn subscription(
    situation: &Situation,
    package: &str,
    channel: Option<&str>,
) -> Subscription {
    let mut all = situation.subscriptions.iter();
    let mut subscription = all
        .find(|subscription| subscription.package == package)
        .cloned()
        .unwrap_or_else(|| {
            let is_taken = |name: &str| situation.subscriptions.iter().any(|s| s.name == name);
            let names = std::iter::once(package.to_owned())
                .chain((2..).map(|number| format!("{package}-{number}")));
            Subscription {
                name: names
                    .into_iter()
                    .find(|name| !is_taken(name))
                    .unwrap_or_default(),
                package: package.to_owned(),
                // Where there is only one there is nothing to choose.
                catalog: match situation.catalogs.as_slice() {
                    [only] => only.listing.key.clone(),
                    _ => CatalogKey::default(),
                },
                ..Subscription::default()
            }
        });
    if let Some(channel) = channel {
        channel.clone_into(&mut subscription.channel);
    }
    subscription
}

/// What becomes of a Subscription among all others.
pub(super) fn component_for(situation: &Situation, wanted: &Subscription) -> Option<Component> {
    let mut components = components_with(situation, wanted);
    components.retain(|component| component.subscriptions().contains(&wanted.name));
    // Where it is part of a contradiction, but not the one that yields to it, it has both.
    components.sort_by_key(|component| matches!(component, Component::Unsolvable(_)));
    components.into_iter().next()
}

/// What becomes of all Subscriptions when one of them is as wanted.
fn components_with(situation: &Situation, wanted: &Subscription) -> Vec<Component> {
    resolve(&situation.request(subscriptions_with(situation, wanted))).components
}

/// All Subscriptions, one of them as wanted.
pub(super) fn subscriptions_with(
    situation: &Situation,
    wanted: &Subscription,
) -> Vec<Subscription> {
    let others = situation.subscriptions.iter();
    let others = others.filter(|subscription| subscription.name != wanted.name);
    others.chain([wanted]).cloned().collect()
}

/// Whom a wish is at the cost of: the other Subscriptions that could not be met any more, and why.
fn cost(situation: &Situation, usual: &Subscription, wanted: &Subscription) -> Vec<Explanation> {
    let unmet = |wish: &Subscription| -> Vec<Explanation> {
        let components = components_with(situation, wish).into_iter();
        let explanations = components.filter_map(|component| match component {
            Component::Unsolvable(explanation) => Some(*explanation),
            Component::Solved(_) => None,
        });
        explanations
            .filter(|explanation| !explanation.requests.contains(&wish.name))
            .collect()
    };
    let anyway = unmet(usual);
    let is_new = |explanation: &Explanation| {
        let mut anyway = anyway.iter();
        !anyway.any(|known| known.requests == explanation.requests)
    };
    unmet(wanted).into_iter().filter(is_new).collect()
}

/// Who has to do without, in a sentence that goes on.
fn unmet(explanation: &Explanation) -> String {
    let names = explanation.requests.join(", ");
    let noun = match explanation.requests.as_slice() {
        [_] => "Subscription",
        _ => "Subscriptions",
    };
    format!("{noun} {names} cannot be met: {}", explanation.summary)
}

fn told(situation: &Situation, wanted: &Subscription, component: &Component) -> String {
    match component {
        Component::Unsolvable(explanation) => outcome::unsolvable(explanation),
        Component::Solved(solution) => match Answer::find(wanted, solution) {
            Some(answer) => why::told(situation, wanted, &answer, solution),
            None => outcome::solved(solution, situation),
        },
    }
}

/// The pin that a Subscription has and the question leaves out.
fn pinned(usual: &Subscription) -> String {
    let Some(range) = &usual.version else {
        return String::new();
    };
    let (name, range) = (&usual.name, range.as_str());
    let text = format!("as it is, Subscription {name} holds it to `version: {range}`");
    format!("{}\n", printer::visible(&text))
}

/// What there would be without the range.
fn beside(
    situation: &Situation,
    usual: &Subscription,
    wanted: &Subscription,
    component: &Component,
) -> String {
    let Some(Component::Solved(other)) = component_for(situation, usual) else {
        return String::new();
    };
    let Some(other_answer) = Answer::find(usual, &other) else {
        return String::new();
    };
    let range = wanted.version.as_ref().map(UserRange::as_str);
    let range = range.unwrap_or_default();
    let other_name = other_answer.words(situation);
    let text = match component {
        Component::Solved(solution) => {
            let answer = Answer::find(wanted, solution);
            let before = answer
                .as_ref()
                .and_then(|answer| version::comes_before(situation, wanted, answer));
            let same = answer.is_some_and(|answer| answer.bundle() == other_answer.bundle());
            if same && let Some(before) = before {
                format!("`version: {range}` asks for what cannot be had at once: {before}\n")
            } else if same {
                format!("it is the same without `version: {range}`\n")
            } else {
                let why = version::version(situation, usual, &other_answer).join("; ");
                let lost: Vec<String> = cost(situation, usual, wanted).iter().map(unmet).collect();
                let lost = match lost.as_slice() {
                    [] => String::new(),
                    lost => format!(", but then {}", lost.join("; ")),
                };
                format!(
                    "it can be had with `version: {range}`{lost}; without it {other_name} is chosen: {why}\n"
                )
            }
        }
        Component::Unsolvable(_) => {
            let why = version::version(situation, usual, &other_answer).join("; ");
            format!("without `version: {range}` {other_name} is chosen: {why}\n")
        }
    };
    // One line, of which only the end is ours.
    format!("{}\n", printer::visible(text.trim_end()))
}
