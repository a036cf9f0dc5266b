//! Everything in a cluster that has to do with a test: all kinds that the API server serves, so that
//! before and after can be compared whatever somebody left behind.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::bail;
use futures::{StreamExt as _, stream};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client};
use regex::Regex;
use serde_json::{Value, json};

use super::case::DEADLINE;
use super::snapshot::differences;

pub type Inventory = BTreeMap<String, Value>;

/// What is looked at.
#[derive(Debug, Clone)]
pub enum Extent {
    /// What is in these namespaces, and whatever else names one of them.
    Of(Vec<String>),
    /// Everything. For a test that has the cluster for itself.
    Whole,
}

/// Takes an inventory, without Events and Leases, and without what says when and in which turn something
/// was written.
pub async fn take(client: &Client, extent: &Extent) -> anyhow::Result<Inventory> {
    let all = Discovery::new(client.clone()).run_aggregated().await?;
    let mut kinds: Vec<(ApiResource, Scope)> = Vec::new();
    for group in all.groups() {
        // Each kind in a version that it has: of a group's preferred version alone, half of our own kinds would be missing.
        for (resource, abilities) in group.resources_by_stability() {
            let is_left_out = ["Event", "Lease"].contains(&resource.kind.as_str());
            if abilities.supports_operation(verbs::LIST) && !is_left_out {
                kinds.push((resource, abilities.scope));
            }
        }
    }
    let lists = kinds.into_iter().map(|(resource, _)| {
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        async move { (api.list(&ListParams::default()).await, resource) }
    });
    let mut inventory = Inventory::new();
    let mut lists = stream::iter(lists).buffer_unordered(8);
    while let Some((listed, resource)) = lists.next().await {
        let objects = match listed {
            Ok(objects) => objects,
            // It went, is only written to, or is an API whose server does not answer.
            Err(kube::Error::Api(status)) if [404, 405, 503].contains(&status.code) => continue,
            // An API that another test broke.
            Err(kube::Error::Api(status))
                if status.code == 500 && extent.is_elsewhere(&resource.group) =>
            {
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for object in objects {
            let mut object = json!(object);
            // A namespace of others that goes tells which APIs it cannot list just then, ours among them.
            if resource.kind == "Namespace" {
                object["status"]["conditions"] = Value::Null;
            }
            // A node keeps the images that it once ran.
            if resource.kind == "Node" {
                object["status"]["images"] = Value::Null;
            }
            if !extent.has(&object) {
                continue;
            }
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let key = format!(
                "{}.{} {}/{}",
                resource.kind,
                resource.group,
                text("namespace"),
                text("name")
            );
            inventory.insert(key, essence(object));
        }
    }
    Ok(inventory)
}

impl Extent {
    /// Whether an API has nothing to do with it: groups of tests are called after their namespaces.
    fn is_elsewhere(&self, group: &str) -> bool {
        let Self::Of(namespaces) = self else {
            return false;
        };
        group.ends_with(".example.com") && !namespaces.iter().any(|it| group.contains(it.as_str()))
    }

    fn has(&self, object: &Value) -> bool {
        let Self::Of(namespaces) = self else {
            return true;
        };
        let text = object.to_string();
        namespaces
            .iter()
            .any(|namespace| text.contains(namespace.as_str()))
    }
}

static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$").expect("a valid pattern")
});

/// An object without what differs from one time to another, and without what says nothing.
fn essence(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        // What was made anew is another object, and so the uid counts.
        for field in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(field);
        }
    }
    // What a role collects is Kubernetes' to fill in, in an order that follows from hashes.
    if object["aggregationRule"].is_object() {
        object["rules"] = Value::Null;
    }
    plain(object).unwrap_or(Value::Null)
}

fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if TIMES.is_match(&text) => Some(json!("TIME")),
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(plain).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.filter(|(key, _)| key != "observedGeneration");
            let fields: serde_json::Map<_, _> = fields
                .filter_map(|(key, it)| Some((key, plain(it)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        other => Some(other),
    }
}

/// Takes inventories until two in a row are the same.
pub async fn settled(client: &Client, extent: &Extent) -> anyhow::Result<Inventory> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let mut before = take(client, extent).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = take(client, extent).await?;
        let changes = differences(&before, &now);
        if changes.is_empty() {
            return Ok(now);
        }
        if tokio::time::Instant::now() > deadline {
            bail!("it never settles:\n{}", changes.join("\n"));
        }
        before = now;
    }
}

/// Waits until an inventory is as this one, but for objects that may be there as well.
pub async fn is_as(
    client: &Client,
    extent: &Extent,
    expected: &Inventory,
    may_be: impl Fn(&str) -> bool,
) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let mut found = take(client, extent).await?;
        found.retain(|key, _| expected.contains_key(key) || !may_be(key));
        let differences = differences(expected, &found);
        if differences.is_empty() {
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            bail!("not as before:\n{}", differences.join("\n"));
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
