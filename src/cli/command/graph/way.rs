//! The way that what is installed will go.

use super::installed::Found;
use crate::catalog::graph::Leg;
use crate::cli::command::explain::subscriptions_with;
use crate::cli::outcome;
use crate::cli::situation::Situation;
use crate::resolver::{Channel, Component, Course, Install, Subscription, course};

/// How many resolutions are looked ahead.
const AHEAD: usize = 50;

/// Where a Subscription goes from what it has.
pub(super) struct Way {
    /// What it has, if it has anything.
    pub(super) current: Option<String>,
    pub(super) course: Course,
}

impl Way {
    pub(super) fn find(situation: &Situation, wanted: &Subscription) -> Self {
        let request = situation.request(subscriptions_with(situation, wanted));
        let course = course(&request, &wanted.name, AHEAD);
        let kept = || {
            let Some(Component::Solved(solution)) = &course.end else {
                // What cannot be met stays as it is.
                let csv = situation.installed(&wanted.installed_csv);
                return csv.map(|csv| csv.name.clone());
            };
            let mut kept = solution.kept.iter();
            let kept = kept.find(|kept| kept.subscription == wanted.name);
            kept.map(|kept| kept.csv.clone())
        };
        let current = match course.steps.first() {
            Some(first) => Some(first.replaces.clone()).filter(|csv| !csv.is_empty()),
            None => kept(),
        };
        Self { current, course }
    }

    /// What it gets, if it has anything before.
    fn steps(&self) -> &[Install] {
        match self.current {
            Some(_) => &self.course.steps,
            None => &[],
        }
    }

    pub(super) fn legs(&self) -> Vec<Leg> {
        let leg = |step: &Install| Leg {
            from: step.replaces.clone(),
            to: step.bundle.clone(),
            channel: step.channel.clone(),
        };
        self.steps().iter().map(leg).collect()
    }

    /// The way in words, and why it ends where it does.
    pub(super) fn told(
        &self,
        situation: &Situation,
        wanted: &Subscription,
        found: &Found,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(current) = &self.current {
            let (who, goes, stays) = who(situation, wanted);
            lines.push(match self.steps() {
                [] => {
                    let newest = newest(found, &wanted.channel, current);
                    let newest = newest.map(|channel| format!(", the newest of channel {channel}"));
                    format!("{who} {stays} with {current}{}", newest.unwrap_or_default())
                }
                [only] => format!("{who} {goes} to {} next{}", only.bundle, end(found, only)),
                [first, .., last] => format!(
                    "{who} {goes} to {} next, and in {} steps to {}{}",
                    first.bundle,
                    self.steps().len(),
                    last.bundle,
                    end(found, last)
                ),
            });
        }
        match &self.course.end {
            Some(Component::Unsolvable(explanation)) => lines.push(format!(
                "no: {}; `chandler explain {}` tells why",
                explanation.summary, wanted.package
            )),
            _ if self.current.is_none() => {}
            None => lines.push("it goes on from there".to_owned()),
            Some(Component::Solved(solution)) => {
                let held_back = solution.held_back.iter();
                let own = held_back.filter(|held| held.subscription == wanted.name);
                lines.extend(own.map(|held| format!("{} waits: {}", held.bundle, held.because)));
                lines.extend(solution.notes.iter().map(|note| format!("note: {note}")));
            }
        }
        lines
    }
}

/// Who goes, and what it does: the Subscription that there is, or the one that somebody could make of it.
fn who(situation: &Situation, wanted: &Subscription) -> (String, &'static str, &'static str) {
    let mut all = situation.subscriptions.iter();
    match all.find(|subscription| subscription.name == wanted.name) {
        Some(own) if own.channel == wanted.channel => {
            (format!("Subscription {}", own.name), "goes", "stays")
        }
        Some(own) => {
            let who = format!("in channel {} Subscription {}", wanted.channel, own.name);
            (who, "would go", "would stay")
        }
        None => ("a Subscription".to_owned(), "would go", "would stay"),
    }
}

/// Where a step comes from, and whether it is the last that there is.
fn end(found: &Found, step: &Install) -> String {
    let place = outcome::place(&step.catalog_namespace, &step.catalog);
    let is_newest = found.offers(step) && newest(found, &step.channel, &step.bundle).is_some();
    let words = if is_newest { "the newest of" } else { "in" };
    format!(", {words} channel {} of {place}", step.channel)
}

/// The channel of which a bundle is the newest: the one that is named, or any.
fn newest<'f>(found: &'f Found, channel: &str, bundle: &str) -> Option<&'f str> {
    let named = |other: &&Channel| channel.is_empty() || other.name() == channel;
    let mut channels = found.package.channels.iter().filter(named);
    let channel = channels.find(|channel| {
        let newest = channel.order().ok().and_then(<[usize]>::first);
        let newest = newest.and_then(|&at| channel.entries().get(at));
        newest.is_some_and(|entry| entry.name == bundle)
    });
    channel.map(Channel::name)
}
