//! Situations, and what the status says then.

mod catalogs;
mod deprecation;
mod random;
mod resolution;
mod standing;
mod times;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::api::conditions::{
    CsvPhase, CsvReason, InstallPlanPhase, SubscriptionConditionType, SubscriptionState,
};
use crate::resolver::{Component, HeldBack, Install, Kept, Solution};

/// A Subscription in its namespace, and everything around it. Nothing is wrong at first: one group,
/// one healthy catalog.
#[derive(Clone, Debug)]
struct Case {
    subscription: Subscription,
    surroundings: Surroundings,
    outcome: Answer,
    bundles: Bundles,
    /// The plan that was made for what is to be installed.
    plan: Option<&'static str>,
    deprecations: Option<Deprecations>,
}

/// An outcome that owns what it says.
#[derive(Clone, Debug)]
enum Answer {
    Pending,
    Component(Component),
    Unreadable(String),
    Error(String),
}

impl Case {
    fn new() -> Self {
        let subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "Subscription",
            "metadata": { "name": "ship", "namespace": "port" },
            "spec": {
                "name": "ship", "channel": "stable",
                "source": "hub", "sourceNamespace": "olm"
            },
        });
        Self {
            subscription: serde_json::from_value(subscription).unwrap(),
            surroundings: Surroundings {
                groups: Groups::One {
                    fails_forward: false,
                },
                catalogs: vec![catalog("olm", "hub", Health::Healthy)],
                ..Surroundings::default()
            },
            outcome: Answer::Pending,
            bundles: Bundles::Ready,
            plan: None,
            deprecations: None,
        }
    }

    /// With this status so far.
    fn said(mut self, status: Value) -> Self {
        self.subscription.status = Some(serde_json::from_value(status).unwrap());
        self
    }

    /// With a CSV in the namespace.
    fn csv(mut self, name: &str, phase: CsvPhase) -> Self {
        let csv = Csv {
            phase,
            ..Csv::default()
        };
        self.surroundings.csvs.insert(name.to_owned(), csv);
        self
    }

    /// With a plan in the namespace.
    fn plan(mut self, name: &str, csv: &str, phase: InstallPlanPhase) -> Self {
        let plan = Plan {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            generation: 7,
            csvs: vec![csv.to_owned()],
            phase,
            ..Plan::default()
        };
        self.surroundings.plans.insert(name.to_owned(), plan);
        self
    }

    /// With the plan of that name made for what is to be installed.
    fn made(mut self, plan: &'static str) -> Self {
        self.plan = Some(plan);
        self
    }

    /// With this solution.
    fn solved(mut self, solution: Solution) -> Self {
        self.outcome = Answer::Component(Component::Solved(solution));
        self
    }

    /// With an outcome.
    fn answered(mut self, outcome: Answer) -> Self {
        self.outcome = outcome;
        self
    }

    fn status_at(&self, second: i64) -> SubscriptionStatus {
        let situation = Situation {
            surroundings: &self.surroundings,
            outcome: match &self.outcome {
                Answer::Pending => Outcome::Pending,
                Answer::Component(component) => Outcome::Component(component),
                Answer::Unreadable(problem) => Outcome::Unreadable(problem),
                Answer::Error(problem) => Outcome::Error(problem),
            },
            bundles: &self.bundles,
            plan: self.plan.and_then(|name| self.surroundings.plans.get(name)),
            deprecations: self.deprecations.as_ref(),
        };
        status(&self.subscription, &situation, &time(second))
    }

    /// The status, which is the same when it is asked for again.
    fn status(&self) -> SubscriptionStatus {
        let status = self.status_at(1);
        let mut again = self.clone();
        again.subscription.status = Some(status.clone());
        assert_eq!(again.status_at(99), status);
        status
    }

    /// Takes what the status says now for what it said before.
    fn go_on(mut self) -> Self {
        self.subscription.status = Some(self.status());
        self
    }
}

fn time(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn catalog(namespace: &str, name: &str, health: Health) -> Catalog {
    Catalog {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        health,
    }
}

/// A solution that installs a bundle for the Subscription.
fn installs(bundle: &str, replaces: &str) -> Solution {
    let install = Install {
        bundle: bundle.to_owned(),
        package: "ship".to_owned(),
        version: String::new(),
        catalog: "hub".to_owned(),
        catalog_namespace: "olm".to_owned(),
        channel: "stable".to_owned(),
        image: String::new(),
        replaces: replaces.to_owned(),
        requested_by: vec!["ship".to_owned()],
    };
    Solution {
        requests: vec!["ship".to_owned()],
        install: vec![install],
        ..Solution::default()
    }
}

/// A solution that leaves the Subscription what it has.
fn keeps(csv: &str) -> Solution {
    let kept = Kept {
        subscription: "ship".to_owned(),
        csv: csv.to_owned(),
        adopted: false,
    };
    Solution {
        requests: vec!["ship".to_owned()],
        kept: vec![kept],
        ..Solution::default()
    }
}

/// The status of a Subscription that has a CSV by a plan.
fn has(csv: &str, plan: &str) -> Value {
    on_its_way(csv, csv, plan, "AtLatestKnown")
}

fn on_its_way(from: &str, to: &str, plan: &str, state: &str) -> Value {
    json!({
        "currentCSV": to, "installedCSV": from, "state": state,
        "installPlanGeneration": 7,
        "installPlanRef": {
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "namespace": "port", "name": plan, "uid": format!("uid-of-{plan}"),
            "resourceVersion": "42",
        },
        "lastUpdated": "2024-01-01T00:00:00Z",
    })
}

/// A condition as one line: `status reason: message`.
fn line(status: &SubscriptionStatus, type_: &SubscriptionConditionType) -> String {
    status.condition(type_).map_or_else(
        || "-".to_owned(),
        |found| format!("{} {}: {}", found.status, found.reason, found.message),
    )
}

/// The status and reason of a condition.
fn short(status: &SubscriptionStatus, type_: &SubscriptionConditionType) -> String {
    status.condition(type_).map_or_else(
        || "-".to_owned(),
        |found| format!("{} {}", found.status, found.reason),
    )
}
