//! The plans that are being carried out at this moment.
//!
//! A plan that somebody deletes is gone at once, and a write of it may be on its way all the same. Whoever
//! removes what it brings waits until that is over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::install_plan::InstallPlan;
use crate::controller::key::ObjectKey;

/// The plans that are being carried out.
#[derive(Debug, Default)]
pub(crate) struct PlansAtWork(Mutex<BTreeMap<ObjectKey, Arc<InstallPlan>>>);

/// A plan is at work until this is dropped.
pub(super) struct AtWork<'a> {
    plans: &'a PlansAtWork,
    key: ObjectKey,
}

impl PlansAtWork {
    /// Takes note of a plan. One plan is only ever carried out by one worker.
    pub(super) fn note(&self, plan: &InstallPlan) -> AtWork<'_> {
        let key = ObjectKey::of(plan);
        self.all().insert(key.clone(), Arc::new(plan.clone()));
        AtWork { plans: self, key }
    }

    /// Those of a namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<InstallPlan>> {
        let all = self.all();
        let plans = all.iter().filter(|(key, _)| key.namespace == namespace);
        plans.map(|(_, plan)| plan.clone()).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Arc<InstallPlan>>> {
        // Whoever panicked with it left a whole map: changes are single calls.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.plans.all().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_at_work_in_its_namespace_until_whoever_carries_it_out_is_done() {
        let plans = PlansAtWork::default();
        let mut plan = InstallPlan::default();
        plan.metadata.name = Some("install-1".to_owned());
        plan.metadata.namespace = Some("port".to_owned());
        let at_work = plans.note(&plan);
        assert_eq!(plans.in_namespace("port").len(), 1);
        assert!(plans.in_namespace("quay").is_empty());
        drop(at_work);
        assert!(plans.in_namespace("port").is_empty());
    }
}
