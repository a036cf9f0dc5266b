//! Whether somebody has to approve a plan, and what generated Subscriptions inherit.
//!
//! A bundle is approved as its strictest requester demands: the Subscriptions that ask for it, and
//! those that ask for whatever needs it. A plan waits if one of its bundles has to.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use crate::api::install_plan::Approval;
use crate::api::subscription::{ApprovalPolicy, Subscription};
use crate::resolver::{Install, Solution};
use crate::version::Version;

/// Whether a plan has to be approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    /// For the whole plan.
    pub plan: Approval,
    /// Why somebody has to approve it, one sentence for each bundle that has to be approved.
    pub reasons: Vec<String>,
    /// What the generated Subscriptions say, by their name.
    pub generated: BTreeMap<String, Inherited>,
}

/// What a generated Subscription says of approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inherited {
    /// `spec.installPlanApproval`.
    pub install_plan_approval: Approval,
    /// `spec.policy.approval`; unset if the other field says it all.
    pub policy: ApprovalPolicy,
}

/// What a bundle is to the one that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// Nothing was installed before.
    First,
    /// It takes the place of another version. A version that cannot be read is unknown.
    From {
        /// The version that is installed.
        installed: Option<Version>,
        /// The version to come.
        next: Option<Version>,
    },
}

/// Whether a policy wants somebody to approve a move.
pub fn needs_approval(policy: &ApprovalPolicy, change: &Move) -> bool {
    let allows = |fits: fn(&Version, &Version) -> bool| match change {
        Move::First => true,
        Move::From {
            installed: Some(installed),
            next: Some(next),
        } => next.precedence(installed).is_ge() && fits(installed, next),
        Move::From { .. } => false,
    };
    match policy {
        ApprovalPolicy::Unset | ApprovalPolicy::Automatic => false,
        ApprovalPolicy::Patch => !allows(|a, b| (a.major(), a.minor()) == (b.major(), b.minor())),
        ApprovalPolicy::Minor => !allows(|a, b| a.major() == b.major()),
        // A word that nobody knows was meant to limit something.
        ApprovalPolicy::Manual | ApprovalPolicy::Other(_) => true,
    }
}

/// Decides for a solution. `versions` are those of the namespace's CSVs, by name.
pub fn decide(
    solution: &Solution,
    subscriptions: &[&Subscription],
    versions: &BTreeMap<String, String>,
) -> Approvals {
    let requesters = Requesters {
        solution,
        subscriptions: subscriptions
            .iter()
            .map(|&subscription| (subscription.name_any(), subscription))
            .collect(),
    };
    let mut reasons = Vec::new();
    for install in &solution.install {
        let change = change_of(install, versions);
        if let Some((who, policy)) = strictest(&requesters.of(&install.bundle))
            && needs_approval(&policy, &change)
        {
            reasons.push(reason(install, &change, who, &policy));
        }
    }
    let generated = solution.subscriptions.iter().map(|generated| {
        let inherited = inherit(&requesters.of(&generated.starting_csv));
        (generated.name.clone(), inherited)
    });
    Approvals {
        plan: if reasons.is_empty() {
            Approval::Automatic
        } else {
            Approval::Manual
        },
        generated: generated.collect(),
        reasons,
    }
}

fn change_of(install: &Install, versions: &BTreeMap<String, String>) -> Move {
    if install.replaces.is_empty() {
        return Move::First;
    }
    let read = |text: &str| Version::parse_tolerant(text).ok();
    Move::From {
        installed: versions.get(&install.replaces).and_then(|text| read(text)),
        next: read(&install.version),
    }
}

fn reason(install: &Install, change: &Move, who: &str, policy: &ApprovalPolicy) -> String {
    let bundle = &install.bundle;
    let what = match change {
        Move::First => format!("{bundle} is new"),
        Move::From {
            installed: Some(installed),
            next: Some(next),
        } => format!(
            "{bundle} replaces {} and goes from {installed} to {next}",
            install.replaces
        ),
        Move::From { .. } => format!(
            "{bundle} replaces {} and their versions cannot be compared",
            install.replaces
        ),
    };
    format!("{what}, and Subscription {who} has approval {policy}")
}

/// Who wants a bundle.
struct Requesters<'a> {
    solution: &'a Solution,
    subscriptions: BTreeMap<String, &'a Subscription>,
}

impl<'a> Requesters<'a> {
    /// The Subscriptions that ask for a bundle, or for something that needs it, by name. If there is
    /// none, all that the solution is for: it would not be there without one of them.
    fn of(&self, bundle: &str) -> Vec<(&str, &'a Subscription)> {
        let mut names = BTreeSet::new();
        let mut seen = BTreeSet::new();
        self.collect(bundle, &mut seen, &mut names);
        if names.is_empty() {
            names.extend(self.solution.requests.iter().map(String::as_str));
        }
        let known = self.subscriptions.iter();
        known
            .filter(|(name, _)| names.contains(name.as_str()))
            .map(|(name, subscription)| (name.as_str(), *subscription))
            .collect()
    }

    fn collect(&self, bundle: &str, seen: &mut BTreeSet<&'a str>, names: &mut BTreeSet<&'a str>) {
        let installs = self.solution.install.iter();
        for install in installs.filter(|install| install.bundle == bundle) {
            for requester in &install.requested_by {
                if !seen.insert(requester) {
                    continue;
                }
                if self.subscriptions.contains_key(requester) {
                    names.insert(requester);
                }
                let kept = self.solution.kept.iter();
                let kept = kept.filter(|kept| kept.csv == *requester);
                names.extend(kept.map(|kept| kept.subscription.as_str()));
                self.collect(requester, seen, names);
            }
        }
    }
}

/// The greater, the less goes ahead by itself.
fn strictness(policy: &ApprovalPolicy) -> u8 {
    match policy {
        ApprovalPolicy::Unset | ApprovalPolicy::Automatic => 0,
        ApprovalPolicy::Minor => 1,
        ApprovalPolicy::Patch => 2,
        ApprovalPolicy::Manual | ApprovalPolicy::Other(_) => 3,
    }
}

/// The strictest policy, and the first who has it.
fn strictest<'a>(requesters: &[(&'a str, &Subscription)]) -> Option<(&'a str, ApprovalPolicy)> {
    let policies = requesters
        .iter()
        .map(|(name, subscription)| (*name, subscription.spec.approval()));
    policies.reduce(|strictest, other| {
        if strictness(&other.1) > strictness(&strictest.1) {
            other
        } else {
            strictest
        }
    })
}

fn inherit(requesters: &[(&str, &Subscription)]) -> Inherited {
    let is_manual = requesters
        .iter()
        .any(|(_, subscription)| subscription.spec.install_plan_approval == Approval::Manual);
    let policy = match strictest(requesters) {
        None | Some((_, ApprovalPolicy::Unset)) => ApprovalPolicy::Automatic,
        Some((_, ApprovalPolicy::Other(_))) => ApprovalPolicy::Manual,
        Some((_, policy)) => policy,
    };
    let says_it_all = match policy {
        ApprovalPolicy::Automatic => !is_manual,
        ApprovalPolicy::Manual => is_manual,
        _ => false,
    };
    Inherited {
        install_plan_approval: if is_manual {
            Approval::Manual
        } else {
            Approval::Automatic
        },
        policy: if says_it_all {
            ApprovalPolicy::Unset
        } else {
            policy
        },
    }
}
