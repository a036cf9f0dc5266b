//! What a solution has for one Subscription.

use kube::ResourceExt as _;

use super::situation::Outcome;
use crate::api::subscription::Subscription;
use crate::resolver::{Component, HeldBack, Install, Kept, Solution};

/// What a solution has for one Subscription; nothing if there is none.
#[derive(Debug, Default)]
pub(super) struct Share<'a> {
    /// Whether anything is installed, for this Subscription or for those it hangs together with.
    pub(super) installs_something: bool,
    /// What it gets.
    pub(super) install: Option<&'a Install>,
    /// What it has and keeps.
    pub(super) kept: Option<&'a Kept>,
    /// The upgrades it cannot have now.
    pub(super) held_back: Vec<&'a HeldBack>,
    /// What is worth knowing.
    pub(super) notes: &'a [String],
}

impl<'a> Share<'a> {
    pub(super) fn of(subscription: &Subscription, outcome: &Outcome<'a>) -> Self {
        match outcome {
            Outcome::Component(Component::Solved(solution)) => Self::in_(subscription, solution),
            _ => Self::default(),
        }
    }

    fn in_(subscription: &Subscription, solution: &'a Solution) -> Self {
        let name = subscription.name_any();
        // The names of bundles are among those that need an install, too, and one may be that of the
        // Subscription: hence the package.
        let is_for_it = |install: &&Install| {
            install.package == subscription.spec.name && install.requested_by.contains(&name)
        };
        let held_back = solution.held_back.iter();
        Self {
            installs_something: !solution.install.is_empty(),
            install: solution.install.iter().find(is_for_it),
            kept: solution.kept.iter().find(|kept| kept.subscription == name),
            held_back: held_back.filter(|held| held.subscription == name).collect(),
            notes: &solution.notes,
        }
    }
}
