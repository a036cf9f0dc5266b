//! CatalogSource: its content is read, kept current, and what came of it is said in the status.
//!
//! There is no pod: images are pulled, remote registries and ConfigMaps read, by this process. The
//! replica that leads decides what serves and writes its digest into the status; the others follow
//! that.

mod origin;
mod read;
mod status;
mod template;

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Resource as _;
use kube::api::{Api, Patch};
use kube::runtime::events::EventType;
use serde_json::json;
use tokio::time::Instant;

use self::origin::{Origin, Polling};
use self::read::Followed;
use self::status::Finding;
use super::catalogs::Known;
use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::metrics::Object;
use super::queue::Next;
use super::run::patching;
use crate::api::catalog_source::CatalogSource;
use crate::api::labels;
use crate::resolver::{CatalogKey, Curation};

/// How long after a failure a catalog is looked at again, at first and at most.
const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_mins(1);
/// How long after it was not its turn to be fetched a catalog is looked at again, if nobody calls it.
const NOT_YET: Duration = Duration::from_secs(10);

/// Looks at one CatalogSource.
pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Result<Next, Error> {
    let catalog = CatalogKey::new(&key.namespace, &key.name);
    let Some(object) = context.caches.catalog_sources.get(key) else {
        forget(context, &catalog);
        return Ok(Next::Wait);
    };
    if !context.leads() {
        return Ok(follow(context, &catalog, &object).await);
    }
    let origin = match Origin::of(&object.spec) {
        Ok(origin) => origin,
        Err(problem) => {
            let finding = Finding::invalid(problem.clone());
            fail(context, &catalog, problem);
            write(context, &object, &finding).await?;
            return Ok(Next::Wait);
        }
    };
    let template = object.metadata.annotations.as_ref();
    let template = template.and_then(|all| all.get(labels::CATALOG_IMAGE_TEMPLATE));
    let template = template.map(|text| template::fill(text, context.kube_version().as_ref()));
    if let Some(Ok(image)) = &template
        && *image != object.spec.image
    {
        // The watch brings the change back here.
        set_image(context, key, image).await?;
        return Ok(Next::Wait);
    }
    let polling = Polling::of(&object.spec);
    let name = origin.to_string();
    let known = context.catalogs.get(&catalog);
    let fresh = known.filter(|known| {
        let age = known.looked.elapsed();
        known.origin == name
            && known.problem.is_none()
            && !polling.is_due(&origin, age)
            && !origin.is_watched()
    });
    let known = if let Some(known) = fresh {
        known
    } else {
        let Some(known) = read::read(context, &catalog, &object, &origin).await else {
            return Ok(Next::After(NOT_YET));
        };
        if context.catalogs.set(&catalog, known.clone()) {
            context.tell_users_of(&catalog);
            let labels = label(&catalog);
            context
                .metrics
                .catalog_source_snapshots
                .get_or_create(&labels)
                .inc();
        }
        known
    };
    let finding = Finding {
        template,
        config_map: read::config_map_reference(context, &object),
        curation: Curation::new(&object.spec.packages)
            .err()
            .map(|error| error.to_string()),
        ..Finding::of(&known, &polling, &origin)
    };
    write(context, &object, &finding).await?;
    Ok(
        match (
            &known.problem,
            polling.pause(&origin, known.looked.elapsed()),
        ) {
            (Some(_), _) => Next::After(retry_pause(context, &catalog)),
            (None, Some(pause)) => Next::After(pause),
            (None, None) => Next::Wait,
        },
    )
}

/// What is wrong is looked at again soon, and less often the longer it lasts.
fn retry_pause(context: &Context, catalog: &CatalogKey) -> Duration {
    let failing = context.catalogs.failing_for(catalog);
    failing.clamp(SOON, LATE)
}

fn label(catalog: &CatalogKey) -> Object {
    Object {
        namespace: catalog.namespace.clone(),
        name: catalog.name.clone(),
    }
}

fn forget(context: &Context, catalog: &CatalogKey) {
    let snapshots = &context.metrics.catalog_source_snapshots;
    snapshots.remove(&label(catalog));
    if context.catalogs.remove(catalog) {
        context.tell_users_of(catalog);
    }
}

/// A spec that makes no sense names nothing that could serve.
fn fail(context: &Context, catalog: &CatalogKey, problem: String) {
    let known = Known {
        content: None,
        problem: Some(problem),
        warning: None,
        origin: String::new(),
        looked: Instant::now(),
        failing: None,
    };
    if context.catalogs.set(catalog, known) {
        context.tell_users_of(catalog);
    }
}

/// Serves what the replica that leads serves, and says the same of it.
async fn follow(context: &Context, catalog: &CatalogKey, object: &CatalogSource) -> Next {
    let Some(status) = &object.status else {
        return Next::Wait;
    };
    let problem = status::problem(status);
    if status.digest.is_empty() && problem.is_none() {
        return Next::Wait;
    }
    let known = context.catalogs.get(catalog);
    let served = known.and_then(|known| known.content);
    let (now, next) = match served {
        // Nothing serves any more.
        _ if status.digest.is_empty() => (None, Next::Wait),
        Some(served) if served.digest == status.digest => (Some(served), Next::Wait),
        served => match read::read_digest(context, catalog, object, &status.digest).await {
            Followed::Content(found) => (Some(found), Next::Wait),
            Followed::NotYet => (served, Next::After(NOT_YET)),
            // Nobody tells when the registry is back: the status stays as it is.
            Followed::Failed => (served, Next::Retry),
        },
    };
    if now.is_none() && problem.is_none() {
        return next;
    }
    let known = Known {
        content: now,
        problem,
        warning: None,
        origin: String::new(),
        looked: Instant::now(),
        failing: None,
    };
    if context.catalogs.set(catalog, known) {
        context.note_change();
    }
    next
}

async fn set_image(context: &Context, key: &ObjectKey, image: &str) -> Result<(), Error> {
    let api = Api::<CatalogSource>::namespaced(context.client.clone(), &key.namespace);
    let patch = json!({"spec": {"image": image}});
    api.patch(&key.name, &patching(), &Patch::Merge(patch))
        .await
        .map_err(Error::while_("setting the image of the template"))?;
    Ok(())
}

/// Writes the status if it says something new.
async fn write(context: &Context, object: &CatalogSource, finding: &Finding) -> Result<(), Error> {
    let before = object.status.clone().unwrap_or_default();
    let after = status::status(&before, finding, &context.now());
    if object.status.is_some() && status::same(&before, &after) {
        return Ok(());
    }
    let news = status::news(&before, &after);
    let mut object = object.clone();
    object.status = Some(after);
    context.write_status(&object).await?;
    if let Some(news) = news {
        tell(context, &object, news).await;
    }
    Ok(())
}

/// Tells in the log and in an Event what changed.
async fn tell(context: &Context, object: &CatalogSource, news: status::News) {
    let catalog = ObjectKey::of(object);
    let type_ = if news.is_bad {
        tracing::warn!(%catalog, why = news.note, "the catalog cannot be read");
        EventType::Warning
    } else {
        tracing::info!(%catalog, "the catalog can be read again");
        EventType::Normal
    };
    let about = object.object_ref(&());
    context
        .tell(&about, type_, "Read", &news.reason, &news.note)
        .await;
}

/// The data of a ConfigMap, or none.
type Data = BTreeMap<String, String>;
