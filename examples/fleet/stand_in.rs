//! In place of an operator whose product is not here: it answers probes, holds a Lease, converts objects, and
//! keeps a status on them, as the real one would. The status says that there is nothing behind it.

mod status;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use futures::future::join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::convert::{self, Webhook};
use crate::watching::{self, Kind, Targets};
use crate::{lease, serving};

/// How it is started.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// The operator it stands in for; its Lease has the same name
    #[arg(long)]
    name: String,
    /// A kind whose objects get a status, such as VmGroup.v1alpha1.vm.codeconnect.vmworld.com
    #[arg(long, value_name = "KIND.VERSION.GROUP", value_parser = gvk)]
    watch: Vec<GroupVersionKind>,
    /// Convert objects between their versions, at this address
    #[arg(long, value_name = "ADDRESS/PATH")]
    convert: Option<Webhook>,
    /// Where probes are answered
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    probes: SocketAddr,
}

/// `Kind.version.group`, as `kubectl get` has it.
fn gvk(text: &str) -> anyhow::Result<GroupVersionKind> {
    let (kind, rest) = text.split_once('.').context("no version")?;
    let (version, group) = rest.split_once('.').context("no group")?;
    Ok(GroupVersionKind::gvk(group, version, kind))
}

pub(crate) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    tracing::info!(
        name = args.name,
        "I only stand in for this operator: what I say in a status is made up"
    );
    let client = Client::try_default().await?;
    let lease = lease::Wanted::new(client.clone(), &args.name)?;
    let does_convert = args.convert.is_some();
    let keeps = lease.during(&stop, async {
        let keep = |gvk| keep(&client, &args.name, does_convert, gvk);
        join_all(args.watch.iter().map(keep)).await;
        // One that watches nothing holds its Lease all the same.
        std::future::pending().await
    });
    let probes = serving::serve(args.probes, serving::probes(), stop.clone());
    tokio::try_join!(probes, convert::serve(args.convert), keeps)?;
    Ok(())
}

/// Keeps the status of all objects of a kind, round after round.
async fn keep(client: &Client, name: &str, does_convert: bool, gvk: &GroupVersionKind) {
    let changed = Arc::new(Notify::new());
    let kind = Kind::served(client, gvk).await;
    let objects = kind
        .objects(client, &Targets::of_environment(), &changed)
        .await;
    let mut may_write = !does_convert;
    loop {
        may_write = may_write || is_converted(client, &kind).await;
        if may_write {
            for object in objects.all() {
                tell(client, name, &kind, &object).await;
            }
        }
        watching::something(&changed).await;
    }
}

/// Whether objects are given out as their version has them. Until the API server knows the webhook that
/// converts, fields that only the stored version has are missing, and would be lost by a write.
async fn is_converted(client: &Client, kind: &Kind) -> bool {
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
    let crd = match crds.get(&name).await {
        Ok(crd) => crd,
        Err(error) => {
            tracing::warn!(crd = name, "{error}");
            return false;
        }
    };
    let has_one_version = crd.spec.versions.iter().filter(|it| it.served).count() < 2;
    let conversion = crd.spec.conversion;
    has_one_version || conversion.is_some_and(|it| it.strategy == "Webhook")
}

/// Writes a status if it is news.
async fn tell(client: &Client, name: &str, kind: &Kind, object: &DynamicObject) {
    if object.metadata.deletion_timestamp.is_some() {
        return;
    }
    let Some(status) = status::status(name, object, Timestamp::now()) else {
        return;
    };
    let api = kind.api_of(client, object);
    let patch = Patch::Merge(json!({"status": status}));
    let what = object.name_any();
    let namespace = object.namespace().unwrap_or_default();
    match api
        .patch_status(&what, &PatchParams::default(), &patch)
        .await
    {
        Ok(_) => tracing::info!(kind = kind.resource.kind, namespace, name = what, "told"),
        Err(error) => tracing::warn!(kind = kind.resource.kind, namespace, name = what, "{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_as_kubectl_names_them() {
        let named = gvk("VmGroup.v1alpha1.vm.codeconnect.vmworld.com").expect("a kind");
        let wanted = GroupVersionKind::gvk("vm.codeconnect.vmworld.com", "v1alpha1", "VmGroup");
        assert_eq!(named, wanted);
        assert!(gvk("VmGroup").is_err() && gvk("VmGroup.v1").is_err());
    }
}
