//! OLMConfig: its status says whether ClusterServiceVersions are copied.

use kube::ResourceExt as _;
use kube::api::Api;

use super::context::Context;
use super::error::Error;
use super::key::ObjectKey;
use super::queue::Next;
use super::run::as_manager;
use crate::api::olm_config::{self, OlmConfig};
use crate::lifecycle::copied_csvs::{self, Csv, Reach};
use crate::lifecycle::targets::Targets;

/// Looks at the only OLMConfig.
pub(super) async fn reconcile(context: &Context) -> Result<Next, Error> {
    let key = ObjectKey::new("", olm_config::NAME);
    let Some(config) = context.caches.olm_configs.get(&key) else {
        return Ok(Next::Wait);
    };
    let copies = copies(context, config.spec.copies_csvs());
    let status = copied_csvs::status(&config, copies, &context.now());
    if config.status.as_ref() == Some(&status) {
        return Ok(Next::Wait);
    }
    // Others may care for other namespaces, and two who see different parts of a cluster would
    // contradict each other for ever.
    let sees_all = context.settings.watched_namespaces.is_empty();
    if !sees_all && copied_csvs::is_answered(&config, copies) {
        return Ok(Next::Wait);
    }
    let mut config = (*config).clone();
    config.status = Some(status);
    let api = Api::<OlmConfig>::all(context.client.clone());
    let parameters = as_manager();
    api.replace_status(&config.name_any(), &parameters, &config)
        .await
        .map_err(Error::while_("writing the status"))?;
    Ok(Next::Wait)
}

fn copies(context: &Context, are_wanted: bool) -> copied_csvs::Copies {
    let caches = &context.caches;
    let groups = caches.operator_groups.all();
    let homes = groups
        .iter()
        .filter(|group| {
            let status = group.status.as_ref();
            status.is_some_and(|it| Targets::from_status(&it.namespaces) == Targets::All)
        })
        .filter_map(|group| group.namespace())
        .collect();
    let namespaces = caches
        .namespaces
        .all()
        .iter()
        .filter(|namespace| namespace.metadata.deletion_timestamp.is_none())
        .map(|namespace| namespace.name_any())
        .filter(|namespace| context.settings.cares_for(namespace))
        .collect();
    let csvs = caches.csvs.all();
    let copies = caches.copies.all();
    let originals = csvs.iter().map(|csv| Csv {
        namespace: csv.metadata.namespace.as_deref().unwrap_or_default(),
        name: csv.metadata.name.as_deref().unwrap_or_default(),
        copied_from: None,
        is_copyable: copied_csvs::is_copyable(csv),
    });
    let copies = copies.iter().map(|copy| Csv {
        namespace: &copy.namespace,
        name: &copy.name,
        copied_from: Some(&copy.copied_from),
        is_copyable: false,
    });
    let csvs: Vec<Csv> = originals.chain(copies).collect();
    let reach = if are_wanted {
        Reach::Everywhere
    } else {
        Reach::Protected(&context.settings.protected_copies)
    };
    copied_csvs::judge(reach, &homes, &namespaces, &csvs)
}
