//! Which descriptions of webhooks are refused: two of one name, and rules by which an operator could
//! lock out its own installer.

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;

use crate::api::cluster_service_version::webhook::WebhookDefinition;
use crate::lifecycle::text::bounded;

/// The group that nobody's webhook may be asked about.
const OLM_GROUP: &str = "operators.coreos.com";
const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";

/// The kinds as OLM compares them, and the resources that rules really name.
const ADMISSION_RESOURCES: [&str; 4] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
];

/// What is wrong with a webhook; OLM's words, where to look, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhook {
    /// A name is there twice.
    #[error(
        "CSV contains repeated WebhookDescription name: {0} in spec.webhookdefinitions; give each \
         its own generateName"
    )]
    RepeatedName(String),
    /// It is asked about everything.
    #[error(
        "webhook rules cannot include all groups: see the rules of {0} in spec.webhookdefinitions; \
         name the API groups that it is for instead of \"*\""
    )]
    AllGroups(String),
    /// It is asked about ClusterServiceVersions and the like.
    #[error(
        "webhook rules cannot include the OLM group: see the rules of {0} in \
         spec.webhookdefinitions; take operators.coreos.com out of their apiGroups, because such a \
         webhook could keep its own operator from being mended"
    )]
    OlmGroup(String),
    /// It is asked about webhooks.
    #[error(
        "webhook rules cannot include MutatingWebhookConfiguration or \
         ValidatingWebhookConfiguration resources: see the rules of {0} in spec.webhookdefinitions; \
         take {1} out of the resources of those for admissionregistration.k8s.io, because such a webhook \
         could keep itself from being mended"
    )]
    Admission(String, String),
}

/// How long a name may be that is told, in characters.
const LONGEST: usize = 200;

/// Finds the first webhook that is refused.
pub fn check(webhooks: &[WebhookDefinition]) -> Result<(), InvalidWebhook> {
    let mut names = BTreeSet::new();
    for webhook in webhooks {
        let name = &webhook.generate_name;
        if !names.insert(name) {
            return Err(InvalidWebhook::RepeatedName(bounded(name, LONGEST)));
        }
        for rule in &webhook.rules {
            check_rule(name, rule)?;
        }
    }
    Ok(())
}

fn check_rule(name: &str, rule: &RuleWithOperations) -> Result<(), InvalidWebhook> {
    let name = || bounded(name, LONGEST);
    let groups = rule.api_groups.as_deref().unwrap_or_default();
    let includes = |group: &str| groups.iter().any(|included| included == group);
    if includes("*") {
        return Err(InvalidWebhook::AllGroups(name()));
    }
    if includes(OLM_GROUP) {
        return Err(InvalidWebhook::OlmGroup(name()));
    }
    let mut resources = rule.resources.as_deref().unwrap_or_default().iter();
    let about_webhooks = resources.find(|resource| {
        resource.starts_with('*') || ADMISSION_RESOURCES.contains(&resource.as_str())
    });
    match about_webhooks {
        Some(resource) if includes(ADMISSION_GROUP) => {
            Err(InvalidWebhook::Admission(name(), resource.clone()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
