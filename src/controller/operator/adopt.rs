//! Marks the objects of a namespace's packages.

use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::component;
use crate::api::labels;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::queue::Next;
use crate::controller::run::patching;
use crate::lifecycle::adoption::{self, Mark};
use crate::lifecycle::components::Component;

/// Marks what belongs to the packages that are installed in a namespace.
pub(in crate::controller) async fn adopt(
    context: &Context,
    namespace: &str,
) -> Result<Next, Error> {
    if !context.settings.cares_for(namespace) {
        return Ok(Next::Wait);
    }
    for mark in marks(context, namespace) {
        set(context, &mark).await?;
    }
    Ok(Next::Wait)
}

fn marks(context: &Context, namespace: &str) -> Vec<Mark> {
    let caches = &context.caches;
    let csvs = caches.csvs.in_namespace(namespace);
    let plans = caches.install_plans.in_namespace(namespace);
    let mut marks = Vec::new();
    for subscription in caches.subscriptions.in_namespace(namespace) {
        let csvs = csvs.iter().map(|csv| &**csv);
        let plans = plans.iter().map(|plan| &**plan);
        marks.extend(adoption::by_subscription(&subscription, csvs, plans));
    }
    // Only these have something to pass on, or to lose.
    let mut marked = csvs.iter().filter(|csv| is_marked(csv.labels())).peekable();
    if marked.peek().is_none() {
        return marks;
    }
    let near = context
        .components
        .filter(|it| it.namespace.is_empty() || it.namespace == namespace);
    let roles: Vec<Component> = caches
        .cluster_roles
        .all()
        .iter()
        .filter(|role| {
            let owner = role.labels().get(labels::OWNER_NAMESPACE);
            owner.is_some_and(|owner| owner == namespace)
        })
        .map(|role| component(&**role, None::<&()>))
        .collect();
    for csv in marked {
        let candidates = near.iter().map(|it| &**it).chain(&roles);
        marks.extend(adoption::by_csv(csv, candidates));
    }
    marks
}

fn is_marked(labels: &std::collections::BTreeMap<String, String>) -> bool {
    labels
        .keys()
        .any(|key| key.starts_with(labels::COMPONENT_PREFIX))
}

async fn set(context: &Context, mark: &Mark) -> Result<(), Error> {
    let (group, version) = match mark.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", mark.api_version.as_str()),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &mark.kind));
    let client = context.client.clone();
    let api: Api<DynamicObject> = if mark.namespace.is_empty() {
        Api::all_with(client, &resource)
    } else {
        Api::namespaced_with(client, &mark.namespace, &resource)
    };
    let value = if mark.wanted {
        Value::String(String::new())
    } else {
        Value::Null
    };
    let patch = json!({"metadata": {"labels": {&mark.label: value}}});
    let what = format!("labelling {} {}", mark.kind, mark.name);
    match api
        .patch_metadata(&mark.name, &patching(), &Patch::Merge(patch))
        .await
    {
        Ok(_) => Ok(()),
        // It went meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Error::while_(what)(error)),
    }
}
