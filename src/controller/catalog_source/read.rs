//! The content of a CatalogSource, from wherever it is.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

use super::Data;
use super::origin::Origin;
use crate::api::catalog_source::{CatalogSource, ConfigMapReference};
use crate::api::labels;
use crate::catalog::source::{Opened, Source, index_digest};
use crate::controller::catalogs::{Content, Known};
use crate::controller::context::Context;
use crate::controller::images::{self, Fetch};
use crate::controller::key::ObjectKey;
use crate::controller::run::MANAGER;
use crate::controller::words;
use crate::oci::{ImageReference, Location};
use crate::resolver::CatalogKey;

/// Reads the content. Where that fails, what was read before goes on serving.
pub(super) async fn read(
    context: &Context,
    catalog: &CatalogKey,
    object: &CatalogSource,
    origin: &Origin,
) -> Known {
    let before = match context
        .catalogs
        .get(catalog)
        .and_then(|known| known.content)
    {
        Some(served) => Some(served),
        None => served_before(context, catalog, object).await,
    };
    let known = context.catalogs.get(catalog);
    let is_doubtful = known.is_some_and(|known| known.problem.is_some());
    let found = current(context, object, origin, before.as_ref(), is_doubtful).await;
    let (served, problem) = match found {
        Ok(found) => (Some(found), None),
        Err(error) => (before, Some(words::of(&error))),
    };
    Known {
        content: served,
        problem,
        origin: origin.to_string(),
        looked: Instant::now(),
        failing: None,
    }
}

/// What the status says that it serves, if that is still in the cache: after a restart there is
/// something to serve before any registry was asked.
async fn served_before(
    context: &Context,
    catalog: &CatalogKey,
    object: &CatalogSource,
) -> Option<Content> {
    let digest = object.status.as_ref().map(|status| status.digest.clone())?;
    if digest.is_empty() {
        return None;
    }
    let sources = context.images.sources(&catalog.namespace, &[]).await.ok()?;
    let found = {
        let digest = digest.clone();
        tokio::task::spawn_blocking(move || sources.cached(&digest)).await
    };
    let index = found.ok()?.ok()??;
    Some(Content {
        digest,
        index: Arc::new(index),
    })
}

async fn current(
    context: &Context,
    object: &CatalogSource,
    origin: &Origin,
    before: Option<&Content>,
    is_doubtful: bool,
) -> anyhow::Result<Content> {
    let turn = |fetch| {
        let fetch = if is_doubtful { Fetch::Doubtful } else { fetch };
        context.images.turn(fetch)
    };
    let namespace = object.namespace().unwrap_or_default();
    let sources = context
        .images
        .sources(&namespace, &object.spec.secrets)
        .await?;
    let _pulling = context.images.pulling().await;
    let opened = match origin {
        Origin::Image { image, folder } => {
            let location: Location = image.parse()?;
            // A registry that does not answer is found out before anybody has to wait for it.
            if let Location::Registry(reference) = &location {
                let digest = match reference.digest() {
                    Some(digest) => digest.clone(),
                    None => sources.options().registry.digest(reference).await?,
                };
                if let Some(before) = before
                    && index_digest(&digest, folder.as_deref()) == before.digest
                {
                    return Ok(before.clone());
                }
            }
            let _turn = turn(Fetch::Image).await;
            sources
                .open_image_folder(&location, folder.as_deref())
                .await?
        }
        Origin::Address(address) => {
            let address = look_up(context, address).await?;
            let _turn = turn(Fetch::Address).await;
            sources.open(&Source::Remote(address)).await?
        }
        Origin::ConfigMap(name) => {
            let data = config_map(context, object, name).await?;
            sources.open_config_map(data).await?
        }
    };
    Ok(content(opened, before))
}

fn content(opened: Opened, before: Option<&Content>) -> Content {
    match before {
        Some(before) if before.digest == opened.digest => before.clone(),
        _ => Content {
            digest: opened.digest,
            index: Arc::new(opened.index),
        },
    }
}

/// Reads the content of a certain digest: what another replica serves.
pub(super) async fn read_digest(
    context: &Context,
    catalog: &CatalogKey,
    object: &CatalogSource,
    digest: &str,
) -> Option<Known> {
    let known = |content: Content| Known {
        content: Some(content),
        problem: None,
        origin: String::new(),
        looked: Instant::now(),
        failing: None,
    };
    if let Some(content) = served_before(context, catalog, object).await {
        return Some(known(content));
    }
    let origin = Origin::of(&object.spec).ok()?;
    let origin = match origin {
        Origin::Image { image, folder } => {
            let reference: ImageReference = image.parse().ok()?;
            let image = digest.get(..images::DIGEST)?.parse().ok()?;
            Origin::Image {
                image: reference.at(image).to_string(),
                folder,
            }
        }
        other => other,
    };
    match current(context, object, &origin, None, false).await {
        Ok(found) if found.digest == digest => Some(known(found)),
        Ok(found) => {
            tracing::warn!(%catalog, served = digest, found = found.digest, "the content that the leader serves cannot be had any more");
            None
        }
        Err(error) => {
            tracing::warn!(%catalog, error = words::of(&error), "what the leader serves cannot be read");
            None
        }
    }
}

/// The address of a Service is asked from the API: there may be no DNS where this process runs.
async fn look_up(context: &Context, address: &str) -> anyhow::Result<String> {
    let Some((host, port)) = address.rsplit_once(':') else {
        return Ok(address.to_owned());
    };
    let host = host.strip_suffix(".cluster.local").unwrap_or(host);
    let parts: Vec<&str> = host.split('.').collect();
    let [name, namespace, "svc"] = parts.as_slice() else {
        return Ok(address.to_owned());
    };
    let api = Api::<Service>::namespaced(context.client.clone(), namespace);
    let service = api.get(name).await.map_err(|error| {
        let why = words::of_api(&error);
        anyhow::anyhow!("Service {namespace}/{name} of the address cannot be read: {why}")
    })?;
    let spec = service.spec.unwrap_or_default();
    // It stands for something outside of the cluster.
    if let Some(host) = spec.external_name.filter(|host| !host.is_empty()) {
        return Ok(format!("{host}:{port}"));
    }
    match spec.cluster_ip.filter(|ip| !ip.is_empty() && ip != "None") {
        Some(ip) if ip.contains(':') => Ok(format!("[{ip}]:{port}")),
        Some(ip) => Ok(format!("{ip}:{port}")),
        None => anyhow::bail!(
            "Service {namespace}/{name} has no cluster IP: name a Service with one, or an address"
        ),
    }
}

/// The data of the ConfigMap. It is marked, as in OLM, so that changes of it are heard of.
async fn config_map(context: &Context, object: &CatalogSource, name: &str) -> anyhow::Result<Data> {
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
    let found = api.get_opt(name).await?;
    let Some(found) = found else {
        anyhow::bail!("ConfigMap {namespace}/{name} is not there: create it, or name another one");
    };
    let is_marked = found
        .labels()
        .get(labels::MANAGED)
        .is_some_and(|it| it == "false");
    if context.leads() && !is_marked {
        let owner = object.owner_ref(&());
        let patch = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "labels": {labels::MANAGED: "false"},
                "ownerReferences": owner.into_iter().collect::<Vec<_>>(),
            },
        });
        api.patch(
            name,
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(patch),
        )
        .await?;
    }
    Ok(found.data.unwrap_or_default())
}

/// The ConfigMap that serves, as it was last seen.
pub(super) fn config_map_reference(
    context: &Context,
    object: &CatalogSource,
) -> Option<ConfigMapReference> {
    let namespace = object.namespace().unwrap_or_default();
    let name = &object.spec.config_map;
    let found = context
        .caches
        .config_maps
        .get(&ObjectKey::new(&namespace, name))?;
    Some(ConfigMapReference {
        name: name.clone(),
        namespace,
        uid: found.uid().unwrap_or_default(),
        resource_version: found.resource_version().unwrap_or_default(),
        last_update_time: None,
    })
}
