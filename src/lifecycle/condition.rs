//! Conditions of Kubernetes' own form, put into a list and taken out of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::conditions::Condition;

/// Puts a condition in the place of the one of its type. Its time stays while its status does.
pub(super) fn set(conditions: &mut Vec<Condition>, mut condition: Condition, now: &Time) {
    let same_type = |other: &&mut Condition| other.type_ == condition.type_;
    let Some(present) = conditions.iter_mut().find(same_type) else {
        condition.last_transition_time = Some(now.clone());
        conditions.push(condition);
        return;
    };
    condition.last_transition_time = if present.status == condition.status {
        let since = present.last_transition_time.take();
        since.or_else(|| Some(now.clone()))
    } else {
        Some(now.clone())
    };
    *present = condition;
}

/// Takes the conditions of a type out.
pub(super) fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// Whether two lists say the same, whenever they began to.
pub(super) fn same(left: &[Condition], right: &[Condition]) -> bool {
    let timeless = |condition: &Condition| Condition {
        last_transition_time: None,
        ..condition.clone()
    };
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| timeless(left) == timeless(right))
}
