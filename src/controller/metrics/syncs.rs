//! How often each Subscription was looked at.
//!
//! The labels are OLM's and do not tell namespaces apart: Subscriptions that agree in all of them
//! share a counter, which stays as long as one of them does.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kube::ResourceExt as _;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::api::subscription::Subscription;
use crate::controller::key::ObjectKey;

/// What tells the counters of Subscriptions apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Labels {
    name: String,
    installed: String,
    channel: String,
    package: String,
    approval: String,
}

impl Labels {
    fn of(subscription: &Subscription) -> Self {
        let spec = &subscription.spec;
        let status = subscription.status.as_ref();
        Self {
            name: subscription.name_any(),
            installed: status.map_or(String::new(), |status| status.installed_csv.clone()),
            channel: spec.channel.clone(),
            package: spec.name.clone(),
            approval: spec.install_plan_approval.to_string(),
        }
    }
}

/// How often each Subscription was looked at.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    pub(super) counters: Family<Labels, Counter>,
    known: Mutex<BTreeMap<ObjectKey, Labels>>,
}

impl Syncs {
    /// Takes note of a look at a namespace, which has these Subscriptions and no others.
    pub(super) fn looked_at(&self, namespace: &str, subscriptions: &[Subscription]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let old: Vec<Labels> = known
            .extract_if(.., |key, _| key.namespace == namespace)
            .map(|(_, labels)| labels)
            .collect();
        for subscription in subscriptions {
            let labels = Labels::of(subscription);
            self.counters.get_or_create(&labels).inc();
            known.insert(ObjectKey::of(subscription), labels);
        }
        for labels in old {
            if !known.values().any(|it| *it == labels) {
                self.counters.remove(&labels);
            }
        }
    }
}
