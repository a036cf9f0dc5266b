//! Whether an operator may be replaced now, by what it and the administrator say.

use kube::ResourceExt as _;

use crate::api::conditions::operator_condition::UPGRADEABLE;
use crate::api::conditions::{Condition, ConditionStatus};
use crate::api::operator_condition::OperatorCondition;

/// Why an operator may not be replaced now; OLM's words, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUpgradeable {
    /// The administrator forbids it.
    #[error(
        "the operator is not upgradeable: {message}; the override {UPGRADEABLE} in spec.overrides \
         of OperatorCondition {name} says so: take it out, or set it to True"
    )]
    Overridden {
        /// The OperatorCondition.
        name: String,
        /// What the administrator says about it.
        message: String,
    },
    /// What the operator said was about an older state of the object.
    #[error(
        "the operatorcondition status \"{UPGRADEABLE}\"=\"{status}\" is outdated; wait until \
         OperatorCondition {name} is taken note of, or set {UPGRADEABLE} to True in its \
         spec.overrides"
    )]
    Outdated {
        /// The OperatorCondition.
        name: String,
        /// What it said.
        status: ConditionStatus,
    },
    /// The operator forbids it.
    #[error(
        "the operator is not upgradeable: {message}; wait until it is ready for it, or set \
         {UPGRADEABLE} to True in spec.overrides of OperatorCondition {name}"
    )]
    Refused {
        /// The OperatorCondition.
        name: String,
        /// What the operator says about it.
        message: String,
    },
}

/// Whether the operator of this OperatorCondition may be replaced. One that says nothing about it may;
/// the administrator overrules the operator.
pub fn check(condition: &OperatorCondition) -> Result<(), NotUpgradeable> {
    let name = condition.name_any();
    if let Some(said) = upgradeable(&condition.spec.overrides) {
        if said.status == ConditionStatus::True {
            return Ok(());
        }
        let message = said.message.clone();
        return Err(NotUpgradeable::Overridden { name, message });
    }
    let noted = condition.status.as_ref();
    let noted = upgradeable(
        noted
            .map(|status| status.conditions.as_slice())
            .unwrap_or_default(),
    );
    let Some(said) = noted else {
        // The operator has spoken, and nobody has taken note of it yet.
        return match upgradeable(&condition.spec.conditions) {
            Some(said) => Err(NotUpgradeable::Outdated {
                name,
                status: said.status.clone(),
            }),
            None => Ok(()),
        };
    };
    let generation = condition.metadata.generation.unwrap_or_default();
    if said.observed_generation.unwrap_or_default() != generation {
        let status = said.status.clone();
        return Err(NotUpgradeable::Outdated { name, status });
    }
    if said.status == ConditionStatus::False {
        let message = said.message.clone();
        return Err(NotUpgradeable::Refused { name, message });
    }
    Ok(())
}

fn upgradeable(conditions: &[Condition]) -> Option<&Condition> {
    conditions
        .iter()
        .find(|condition| condition.type_ == UPGRADEABLE)
}

#[cfg(test)]
mod tests;
