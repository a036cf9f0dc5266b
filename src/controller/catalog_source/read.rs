//! The content of a CatalogSource, from wherever it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

use super::Data;
use super::origin::Origin;
use crate::api::catalog_source::{CatalogSource, ConfigMapReference};
use crate::api::labels;
use crate::catalog::source::{Opened, Source, Sources, index_digest};
use crate::controller::catalogs::{Content, Known};
use crate::controller::context::Context;
use crate::controller::images::{self, Access, Fetch, in_time};
use crate::controller::key::ObjectKey;
use crate::controller::run::MANAGER;
use crate::controller::words;
use crate::oci::{ImageReference, Location};
use crate::resolver::CatalogKey;

/// Reads the content. Where that fails, what was read before goes on serving. None if others are being
/// fetched: it is looked at again when it is its turn, and until then what was read before serves.
pub(super) async fn read(
    context: &Context,
    catalog: &CatalogKey,
    object: &CatalogSource,
    origin: &Origin,
) -> Option<Known> {
    let known = context.catalogs.get(catalog);
    let is_doubtful = known.as_ref().is_some_and(|known| known.problem.is_some());
    let before = match known.as_ref().and_then(|known| known.content.clone()) {
        Some(served) => Some(served),
        None => served_before(context, object, origin).await,
    };
    let found = current(context, object, origin, before.as_ref(), is_doubtful).await;
    let (served, problem, warning) = match found {
        Ok(Some(found)) => (Some(found.content), None, found.warning),
        Ok(None) => {
            let is_new = known.is_none_or(|known| known.content.is_none());
            if let Some(before) = before.filter(|_| is_new) {
                let serves = Known::serving(before);
                if context.catalogs.set(catalog, serves) {
                    context.tell_users_of(catalog);
                }
            }
            return None;
        }
        Err(error) => (before, Some(words::of(&error)), None),
    };
    Some(Known {
        content: served,
        problem,
        warning,
        origin: origin.to_string(),
        looked: Instant::now(),
        failing: None,
    })
}

/// What the status says that it serves, if that is still in the cache: after a restart there is
/// something to serve before any registry was asked.
async fn served_before(
    context: &Context,
    object: &CatalogSource,
    origin: &Origin,
) -> Option<Content> {
    let digest = object.status.as_ref().map(|status| status.digest.clone())?;
    if digest.is_empty() {
        return None;
    }
    let index = {
        let (sources, digest) = (context.images.plain().clone(), digest.clone());
        tokio::task::spawn_blocking(move || sources.cached(&digest)).await
    };
    if let Ok(Ok(Some(index))) = index {
        return Some(Content {
            digest,
            index: Arc::new(index),
        });
    }
    // The index may be gone, and the image still there.
    let Origin::Image { folder, .. } = origin else {
        return None;
    };
    let image = digest.get(..images::DIGEST)?.parse().ok()?;
    if index_digest(&image, folder.as_deref()) != digest {
        return None;
    }
    let _pulling = context.images.pulling().await;
    let namespace = object.namespace().unwrap_or_default();
    for sources in context.images.kept_for(&namespace).ok()? {
        let sources = sources.keeping(in_use(context));
        let kept = Box::pin(sources.kept(&image, folder.as_deref())).await;
        if let Some(opened) = kept.ok()? {
            return Some(content(opened, None));
        }
    }
    None
}

/// The digests of everything that serves, here or with another replica.
fn in_use(context: &Context) -> BTreeSet<String> {
    let objects = context.caches.catalog_sources.all();
    let statuses = objects.iter().filter_map(|it| it.status.as_ref());
    let digests = statuses.map(|status| status.digest.clone());
    digests.chain(context.catalogs.digests()).collect()
}

/// What was found.
struct Found {
    content: Content,
    warning: Option<String>,
}

/// The content as it is now; none if it is not its turn.
async fn current(
    context: &Context,
    object: &CatalogSource,
    origin: &Origin,
    before: Option<&Content>,
    is_doubtful: bool,
) -> anyhow::Result<Option<Found>> {
    let namespace = object.namespace().unwrap_or_default();
    let secrets = &object.spec.secrets;
    let Access { sources, lacks } = context.images.sources(&namespace, secrets).await?;
    let sources = sources.keeping(in_use(context));
    let found = fetch(context, object, origin, before, is_doubtful, &sources).await;
    let warning = (!lacks.is_empty()).then(|| lacks.join("; "));
    match (found, warning) {
        (Ok(found), warning) => Ok(found.map(|content| Found { content, warning })),
        (Err(error), Some(warning)) => {
            anyhow::bail!("{}; {warning}", words::of(&error))
        }
        (Err(error), None) => Err(error),
    }
}

async fn fetch(
    context: &Context,
    object: &CatalogSource,
    origin: &Origin,
    before: Option<&Content>,
    is_doubtful: bool,
    sources: &Sources,
) -> anyhow::Result<Option<Content>> {
    let key = ObjectKey::of(object);
    let turn = |fetch| {
        let fetch = if is_doubtful { Fetch::Doubtful } else { fetch };
        let (queue, key) = (context.queues.catalog_sources.clone(), key.clone());
        let catalog = CatalogKey::new(&key.namespace, &key.name);
        context.images.turn(fetch, &catalog, move || queue.add(key))
    };
    let opened = match origin {
        Origin::Image { image, folder } => {
            let reference: ImageReference = image.parse()?;
            // A registry that does not answer is found out before anybody has to wait for it.
            let digest = match reference.digest() {
                Some(digest) => digest.clone(),
                None => sources.options().registry.digest(&reference).await?,
            };
            if let Some(before) = before
                && index_digest(&digest, folder.as_deref()) == before.digest
            {
                return Ok(Some(before.clone()));
            }
            let Some(_turn) = turn(Fetch::Image) else {
                return Ok(None);
            };
            // Not before: nothing is cleared away meanwhile, and a registry may be silent for long.
            let _pulling = context.images.pulling().await;
            let location = Location::Registry(reference);
            let opened = Box::pin(sources.open_image_folder(&location, folder.as_deref()));
            in_time(image, async { anyhow::Ok(opened.await?) }).await?
        }
        Origin::Address(address) => {
            let address = look_up(context, address).await?;
            let Some(_turn) = turn(Fetch::Address) else {
                return Ok(None);
            };
            Box::pin(sources.open(&Source::Remote(address))).await?
        }
        Origin::ConfigMap(name) => {
            let data = config_map(context, object, name).await?;
            sources.open_config_map(data).await?
        }
    };
    Ok(Some(content(opened, before)))
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

/// What came of the attempt to serve what another replica serves.
pub(super) enum Followed {
    Content(Content),
    /// It is looked at again when it is its turn.
    NotYet,
    Failed,
}

/// Reads the content of a certain digest: what another replica serves.
pub(super) async fn read_digest(
    context: &Context,
    catalog: &CatalogKey,
    object: &CatalogSource,
    digest: &str,
) -> Followed {
    let Ok(origin) = Origin::of(&object.spec) else {
        return Followed::Failed;
    };
    if let Some(content) = served_before(context, object, &origin).await {
        return Followed::Content(content);
    }
    let Some(origin) = at_digest(origin, digest) else {
        return Followed::Failed;
    };
    match current(context, object, &origin, None, false).await {
        Ok(None) => Followed::NotYet,
        Ok(Some(found)) if found.content.digest == digest => Followed::Content(found.content),
        Ok(Some(Found { content: found, .. })) => {
            tracing::warn!(%catalog, served = digest, found = found.digest, "the content that the leader serves cannot be had any more");
            Followed::Failed
        }
        Err(error) => {
            tracing::warn!(%catalog, error = words::of(&error), "what the leader serves cannot be read");
            Followed::Failed
        }
    }
}

/// The same image, by the digest that serves.
fn at_digest(origin: Origin, digest: &str) -> Option<Origin> {
    let Origin::Image { image, folder } = origin else {
        return Some(origin);
    };
    let reference: ImageReference = image.parse().ok()?;
    let image = digest.get(..images::DIGEST)?.parse().ok()?;
    Some(Origin::Image {
        image: reference.at(image).to_string(),
        folder,
    })
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
    let owned_by = |owner: &OwnerReference| {
        let owners = found.owner_references();
        owners.iter().any(|it| it.uid == owner.uid)
    };
    // It goes with the last of those who use it. What is applied is all of ours, and so all are named.
    let users = context.caches.catalog_sources.in_namespace(&namespace);
    let users = users.iter().filter(|it| {
        matches!(Origin::of(&it.spec), Ok(Origin::ConfigMap(other)) if other == name)
            && it.uid() != object.uid()
    });
    let others = users.filter_map(|it| it.owner_ref(&()));
    let owners: Vec<OwnerReference> = object.owner_ref(&()).into_iter().chain(others).collect();
    if context.leads() && !(is_marked && owners.iter().all(owned_by)) {
        let patch = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "labels": {labels::MANAGED: "false"},
                "ownerReferences": owners,
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
