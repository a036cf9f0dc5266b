//! Whether the Subscription has what it should have: the conditions about bundles and plans, and
//! `Installed`.

use kube::ResourceExt as _;

use super::conditions::Conditions;
use super::resolution;
use super::share::Share;
use super::situation::{Bundles, Outcome, Plan, Situation};
use super::standing::Standing;
use super::text;
use crate::api::conditions::subscription::{
    BUNDLE_UNPACK_FAILED, CSV_MISSING, CSV_PRESENT, ENSURE_INSTALL_PLAN_FAILED,
    ERROR_PREVENTED_UNPACKING, INSTALL_PLAN_AWAITED, INSTALL_PLAN_FAILED,
    INSTALL_PLAN_NOT_YET_RECONCILED, NOT_INSTALLED, NOT_RESOLVED,
    REFERENCED_INSTALL_PLAN_NOT_FOUND, UNPACKING_IN_PROGRESS,
};
use crate::api::conditions::{ConditionStatus, InstallPlanPhase, SubscriptionConditionType};
use crate::api::subscription::Subscription;
use SubscriptionConditionType::{
    BundleUnpackFailed, BundleUnpacking, InstallPlanFailed, InstallPlanMissing, InstallPlanPending,
    Installed,
};

/// Says how far bundles and plan are, and whether all is installed.
pub(super) fn conditions(
    subscription: &Subscription,
    situation: &Situation<'_>,
    share: &Share<'_>,
    standing: &Standing<'_>,
    said: &mut Conditions<'_>,
) {
    bundles(situation, share, said);
    plan(subscription, standing, said);
    installed(subscription, situation, share, standing, said);
}

/// What became of the bundles that the Subscription's component installs. Where nothing is to be
/// installed, nothing is said.
fn bundles(situation: &Situation<'_>, share: &Share<'_>, said: &mut Conditions<'_>) {
    if matches!(situation.outcome, Outcome::Pending) {
        said.repeat(&BundleUnpacking);
        said.repeat(&BundleUnpackFailed);
        return;
    }
    match trouble_with_bundles(situation, share) {
        None => {}
        Some((UNPACKING_IN_PROGRESS, message)) => {
            said.say(
                BundleUnpacking,
                ConditionStatus::True,
                UNPACKING_IN_PROGRESS,
                message,
            );
        }
        Some((reason, message)) => {
            said.say(BundleUnpackFailed, ConditionStatus::True, reason, message);
        }
    }
}

/// Why there is no plan yet: a reason and a message.
fn trouble_with_bundles(
    situation: &Situation<'_>,
    share: &Share<'_>,
) -> Option<(&'static str, String)> {
    if !resolution::is_resolved(situation) || !share.installs_something {
        return None;
    }
    match situation.bundles {
        Bundles::Ready => None,
        Bundles::Fetching(how) => Some((UNPACKING_IN_PROGRESS, how.clone())),
        Bundles::Failed(why) => Some((
            BUNDLE_UNPACK_FAILED,
            format!("Bundle unpacking failed: {why}; it is tried again"),
        )),
        Bundles::Unusable(why) => Some((ERROR_PREVENTED_UNPACKING, why.clone())),
        Bundles::PlanNotWritten(why) => Some((
            ENSURE_INSTALL_PLAN_FAILED,
            format!("error ensuring InstallPlan: {why}; it is tried again"),
        )),
    }
}

/// How the referenced plan is, as OLM says it: of a plan that is done, nothing.
fn plan(subscription: &Subscription, standing: &Standing<'_>, said: &mut Conditions<'_>) {
    if standing.misses_plan() {
        said.say(
            InstallPlanMissing,
            ConditionStatus::True,
            REFERENCED_INSTALL_PLAN_NOT_FOUND,
            missing(subscription, standing),
        );
        return;
    }
    let Some(plan) = standing.plan else {
        return;
    };
    if plan.is_pending() {
        said.say(
            InstallPlanPending,
            ConditionStatus::True,
            phase(plan),
            plan.message.as_str(),
        );
    } else if plan.is_failed() {
        said.say(
            InstallPlanFailed,
            ConditionStatus::True,
            failure(plan),
            plan.message.as_str(),
        );
    }
}

/// A plan that is gone is only remembered if it did its work.
fn missing(subscription: &Subscription, standing: &Standing<'_>) -> String {
    format!(
        "InstallPlan {}/{} is gone; {} is there, and nothing has to be done",
        subscription.namespace().unwrap_or_default(),
        standing.plan_name().unwrap_or_default(),
        standing.current
    )
}

fn phase(plan: &Plan) -> &str {
    match plan.phase.as_str() {
        "" => INSTALL_PLAN_NOT_YET_RECONCILED,
        phase => phase,
    }
}

fn failure(plan: &Plan) -> &str {
    match plan.failure.as_str() {
        "" => INSTALL_PLAN_FAILED,
        reason => reason,
    }
}

/// Whether what the Subscription should have now is installed, and if not, what it waits for.
fn installed(
    subscription: &Subscription,
    situation: &Situation<'_>,
    share: &Share<'_>,
    standing: &Standing<'_>,
    said: &mut Conditions<'_>,
) {
    if let Some((reason, message)) = obstacle(subscription, situation, share, standing) {
        said.say(Installed, ConditionStatus::False, reason, message);
        return;
    }
    let name = &standing.installed;
    if resolution::is_resolved(situation) {
        let mut message = format!("{name} is installed");
        for held in resolution::held_back(share) {
            message.push_str("; ");
            message.push_str(&held);
        }
        said.say(Installed, ConditionStatus::True, CSV_PRESENT, message);
        return;
    }
    let is_pending = matches!(situation.outcome, Outcome::Pending);
    if !(is_pending && said.repeat(&Installed)) {
        let message = format!(
            "{name} is installed; whether that is what the Subscription should have is not known, \
             see condition Resolved"
        );
        said.say(Installed, ConditionStatus::Unknown, NOT_RESOLVED, message);
    }
}

/// What stands between the Subscription and what it should have: a reason and a message.
fn obstacle<'a>(
    subscription: &Subscription,
    situation: &Situation<'_>,
    share: &Share<'_>,
    standing: &Standing<'a>,
) -> Option<(&'a str, String)> {
    let namespace = subscription.namespace().unwrap_or_default();
    let is_there = |csv: &str| situation.surroundings.csvs.contains_key(csv);
    if let Some(plan) = standing.plan {
        if plan.is_pending() {
            return Some((phase(plan), pending(plan, &namespace)));
        }
        if plan.is_failed() {
            return Some((
                failure(plan),
                failed(plan, &namespace, is_there(&standing.current)),
            ));
        }
    }
    if let Some((reason, message)) = trouble_with_bundles(situation, share) {
        let message = match message.as_str() {
            "" => "bundles are being fetched".to_owned(),
            _ => message,
        };
        return Some((reason, message));
    }
    if let Some(install) = share.install.filter(|_| resolution::is_resolved(situation)) {
        let message = format!("the InstallPlan for {} is about to be made", install.bundle);
        return Some((INSTALL_PLAN_AWAITED, message));
    }
    if standing.installed.is_empty() {
        let message = "nothing is installed yet, see condition Resolved".to_owned();
        return Some((NOT_INSTALLED, message));
    }
    if !is_there(&standing.installed) {
        let message = format!(
            "ClusterServiceVersion {namespace}/{} is gone, see condition Resolved",
            standing.installed
        );
        return Some((CSV_MISSING, message));
    }
    None
}

fn pending(plan: &Plan, namespace: &str) -> String {
    let name = &plan.name;
    let csvs = text::names(&plan.csvs);
    if plan.phase == InstallPlanPhase::RequiresApproval {
        return format!(
            "InstallPlan {namespace}/{name} for {csvs} waits for approval: `chandler approve \
             {name} -n {namespace}`, or `kubectl patch installplan {name} -n {namespace} --type \
             merge -p '{{\"spec\":{{\"approved\":true}}}}'`"
        );
    }
    let what = format!("InstallPlan {namespace}/{name} for {csvs} is not done yet");
    text::about(&what, &plan.message)
}

fn failed(plan: &Plan, namespace: &str, is_there: bool) -> String {
    let name = &plan.name;
    let what = format!("InstallPlan {namespace}/{name} failed");
    let what = text::about(&what, &plan.message);
    if is_there {
        format!(
            "{what}; parts of {} may be missing",
            text::names(&plan.csvs)
        )
    } else if plan.is_tried_again {
        format!("{what}; mend the cause, and it goes on by itself")
    } else {
        format!(
            "{what}; mend the cause, then have it tried again: `kubectl delete installplan {name} \
             -n {namespace}`"
        )
    }
}
