//! Operator: shows everything that belongs to an installed package.
//!
//! It is made when something belongs to it and deleted when nothing is left; one that somebody made
//! by hand stays. Objects are marked as belonging to a package by [`adopt`].

mod adopt;

use kube::api::{Api, DeleteParams, Preconditions};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde_json::Value;

pub(super) use self::adopt::adopt;
use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::queue::Next;
use super::run::as_manager;
use crate::api::labels;
use crate::api::operator::{Operator, OperatorSpec, OperatorStatus};
use crate::lifecycle::components::{self, Component};

/// Looks at the Operator of this name, which may not exist.
pub(super) async fn reconcile(context: &Context, name: &str) -> Result<Next, Error> {
    if !is_ours(context, name) {
        return Ok(Next::Wait);
    }
    let members = members(context, &labels::component(name));
    let status = components::status(name, &members);
    let operator = context.caches.operators.get(&ObjectKey::new("", name));
    let Some(operator) = operator else {
        if !components::is_empty(&status) {
            let made = create(context, name).await?;
            write(context, made, status).await?;
        }
        return Ok(Next::Wait);
    };
    if operator.metadata.deletion_timestamp.is_some() {
        return Ok(Next::Wait);
    }
    let before = operator.status.clone().unwrap_or_default();
    let is_left = components::is_empty(&status)
        && (operator.labels().contains_key(labels::MANAGED) || !components::is_empty(&before));
    let mut operator = (*operator).clone();
    if operator.status.is_none() || !components::same(&before, &status) {
        // Also before it is deleted: who watches it sees that nothing is left.
        operator = write(context, operator, status).await?;
    }
    if is_left {
        delete(context, &operator).await?;
    }
    Ok(Next::Wait)
}

/// A process that cares for some namespaces only leaves the packages of others to others.
fn is_ours(context: &Context, name: &str) -> bool {
    let settings = &context.settings;
    let namespace = name.rsplit_once('.').map(|(_, namespace)| namespace);
    settings.watched_namespaces.is_empty()
        || namespace.is_some_and(|namespace| settings.cares_for(namespace))
}

/// Everything that carries a label.
fn members(context: &Context, label: &str) -> Vec<Component> {
    let caches = &context.caches;
    let marked = context
        .components
        .filter(|component| component.labels.contains_key(label));
    let mut members: Vec<Component> = marked.iter().map(|it| (**it).clone()).collect();
    for it in with_label(caches.subscriptions.all(), label) {
        members.push(component(&*it, it.status.as_ref()));
    }
    for it in with_label(caches.csvs.all(), label) {
        members.push(component(&*it, it.status.as_ref()));
    }
    for it in with_label(caches.install_plans.all(), label) {
        members.push(component(&*it, it.status.as_ref()));
    }
    for it in with_label(caches.cluster_roles.all(), label) {
        members.push(component(&*it, None::<&()>));
    }
    for it in with_label(caches.namespaces.all(), label) {
        members.push(component(&*it, None::<&()>));
    }
    members
}

fn with_label<'a, K: kube::ResourceExt + 'a>(
    objects: Vec<std::sync::Arc<K>>,
    label: &'a str,
) -> impl Iterator<Item = std::sync::Arc<K>> + 'a {
    objects
        .into_iter()
        .filter(move |object| object.labels().contains_key(label))
}

/// Keeps of an object what is needed to show it.
pub(super) fn component<K>(object: &K, status: Option<&impl Serialize>) -> Component
where
    K: Resource<DynamicType = ()>,
{
    let status = status.and_then(|status| serde_json::to_value(status).ok());
    Component::new(
        &K::api_version(&()),
        &K::kind(&()),
        object.meta().clone(),
        &status.unwrap_or(Value::Null),
    )
}

async fn create(context: &Context, name: &str) -> Result<Operator, Error> {
    let mut operator = Operator::new(name, OperatorSpec::default());
    let mark = (labels::MANAGED.to_owned(), "true".to_owned());
    operator.metadata.labels = Some([mark].into());
    let api = Api::<Operator>::all(context.client.clone());
    api.create(&as_manager(), &operator)
        .await
        .map_err(Error::while_("making the Operator"))
}

async fn write(
    context: &Context,
    mut operator: Operator,
    status: OperatorStatus,
) -> Result<Operator, Error> {
    operator.status = Some(status);
    let api = Api::<Operator>::all(context.client.clone());
    api.replace_status(&operator.name_any(), &as_manager(), &operator)
        .await
        .map_err(Error::while_("writing the status"))
}

async fn delete(context: &Context, operator: &Operator) -> Result<(), Error> {
    let api = Api::<Operator>::all(context.client.clone());
    let this_one = DeleteParams::default().preconditions(Preconditions {
        uid: operator.uid(),
        resource_version: operator.resource_version(),
    });
    api.delete(&operator.name_any(), &this_one)
        .await
        .map_err(Error::while_(
            "deleting the Operator that nothing is left of",
        ))?;
    Ok(())
}
